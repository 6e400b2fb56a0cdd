// Replacing a file so that whoever looks, at whatever moment, finds the old
// bytes or the new ones.
//
// All of it happens under a lock that stands beside the target:
// `.NAME.kevin-lock`, held with flock(), so that the kernel lets go of it when
// its owner dies, however that happens. The file's text ("host pid") tells
// people who holds it and covers file systems on which the lock of another
// host is not seen: a fresh lock file of another host is respected even though
// flock() would grant it. Temporaries of a target are made only under its lock,
// so that whoever holds the lock knows that every temporary it finds belongs to
// a dead process, and removes it. No process number is ever guessed at.
//
// Between the last look at the target (its hash) and the rename an editor can
// still save; that gap is a few microseconds and cannot be closed with what
// POSIX gives.

#include "replace.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "../evaluator/base/mem.h"
#include "rewriter.h"

enum {
  REPLACE_WAIT_MS = 5000,      // for another process that is writing the same file
  REPLACE_POLL_MS = 5,
  REPLACE_FOREIGN_AGE_S = 120, // a lock file of another host is stale after this
  REPLACE_SLOTS = 16
};

// --- what must go when the process ends ---

// The signal path only unlinks, from memory set up beforehand. `owner` is 0 for
// a free slot, else the process that made the file: a forked child must not
// remove its parent's.
static struct replace_slot {
  atomic_int owner;
  atomic_int ready;
  char path[PATH_MAX];
} replace_slots[REPLACE_SLOTS];

void kr_replace_cleanup(void)
{
  int saved_errno = errno;
  int self = (int)getpid();
  for (int i = 0; i < REPLACE_SLOTS; i++) {
    if (atomic_load(&replace_slots[i].ready) && atomic_load(&replace_slots[i].owner) == self) {
      unlink(replace_slots[i].path);
      atomic_store(&replace_slots[i].ready, 0);
      atomic_store(&replace_slots[i].owner, 0);
    }
  }
  errno = saved_errno;
}

static struct replace_slot *slot_take(const char *path)
{
  static atomic_int registered;
  if (!atomic_exchange(&registered, 1))
    atexit(kr_replace_cleanup);
  if (strlen(path) >= PATH_MAX)
    return NULL;
  for (int i = 0; i < REPLACE_SLOTS; i++) {
    int expected = 0;
    if (atomic_compare_exchange_strong(&replace_slots[i].owner, &expected, (int)getpid())) {
      strcpy(replace_slots[i].path, path);
      atomic_store(&replace_slots[i].ready, 1);
      return &replace_slots[i];
    }
  }
  return NULL;
}

static void slot_drop(struct replace_slot *slot)
{
  if (!slot)
    return;
  atomic_store(&slot->ready, 0);
  atomic_store(&slot->owner, 0);
}

// --- the lock ---

struct replace_lock {
  int fd; // -1: not held
  char *path;
  struct replace_slot *slot;
};

// "DIR/" of a path, "" when it has none; the caller frees it.
static char *path_folder(const char *path)
{
  const char *slash = strrchr(path, '/');
  return slash ? kr_xstrndup(path, (size_t)(slash - path) + 1) : kr_xstrdup("");
}

// "DIR/.NAME.kevin-" of a target; NAME is cut to a fingerprint where the
// longest name we make of it would not fit a directory entry.
static char *path_prefix(const char *path)
{
  char *folder = path_folder(path);
  const char *name = path + strlen(folder);
  char *out;
  if (strlen(name) <= 200) {
    out = kr_xasprintf("%s.%s.kevin-", folder, name);
  } else {
    char hex[KR_HASH_HEX + 1];
    kr_hash_hex(kr_hash_of(name, strlen(name)), hex);
    out = kr_xasprintf("%s.%s.kevin-", folder, hex);
  }
  free(folder);
  return out;
}

// A folder's name for people.
static const char *folder_shown(const char *folder)
{
  return *folder ? folder : "./";
}

static void sleep_ms(long ms)
{
  struct timespec t = {ms / 1000, ms % 1000 * 1000000};
  nanosleep(&t, NULL);
}

// What stands in a lock file: 1 with the host and process it names, 0 when it
// is empty or torn.
static int lock_read(int fd, char host[65], long *pid)
{
  char text[128];
  ssize_t n = pread(fd, text, sizeof text - 1, 0);
  if (n <= 0)
    return 0;
  text[n] = '\0';
  return sscanf(text, "%64s %ld", host, pid) == 2;
}

static void lock_host(char host[65])
{
  if (gethostname(host, 64) || !host[0])
    strcpy(host, "localhost");
  host[64] = '\0';
  for (char *p = host; *p; p++) {
    if (*p <= ' ')
      *p = '_';
  }
}

// Takes the lock of `target`. Waits up to `wait_ms` for another process.
// Returns 0; 1 when someone else holds it; -1 with `err`.
static int lock_take(struct replace_lock *lock, const char *target, long wait_ms,
                     struct kr_err *err)
{
  char *prefix = path_prefix(target);
  char *folder = path_folder(target);
  char self[65], host[65] = "";
  long pid = 0;
  int rc = -1;
  struct stat st, at;
  *lock = (struct replace_lock){.fd = -1, .path = kr_xasprintf("%slock", prefix)};
  lock_host(self);
  for (long waited = 0;; waited += REPLACE_POLL_MS) {
    if (lock->fd >= 0)
      close(lock->fd);
    lock->fd = open(lock->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (lock->fd < 0) {
      kr_err_errno(err, "cannot replace %s: cannot make a file in its folder %s", target,
                   folder_shown(folder));
      goto out;
    }
    bool held = false;
    if (flock(lock->fd, LOCK_EX | LOCK_NB)) {
      if (errno != EWOULDBLOCK && errno != EINTR) {
        kr_err_errno(err, "cannot lock %s", lock->path);
        goto out;
      }
      held = true;
    } else if (fstat(lock->fd, &st) || stat(lock->path, &at) || st.st_ino != at.st_ino ||
               st.st_dev != at.st_dev) {
      // The holder removed the file between our open and our lock: again, at once.
      waited -= REPLACE_POLL_MS;
      continue;
    } else if (lock_read(lock->fd, host, &pid) && strcmp(host, self) &&
               time(NULL) - st.st_mtime < REPLACE_FOREIGN_AGE_S) {
      held = true;
    }
    if (!held)
      break;
    if (waited >= wait_ms) {
      if (!lock_read(lock->fd, host, &pid))
        strcpy(host, "?");
      kr_err_set(err, "%s is being written by process %ld on %s (lock file %s)", target, pid, host,
                 lock->path);
      rc = 1;
      goto out;
    }
    sleep_ms(REPLACE_POLL_MS);
  }
  lock->slot = slot_take(lock->path);
  char text[128];
  int n = snprintf(text, sizeof text, "%s %ld\n", self, (long)getpid());
  // A full disk must be found by the write of the file itself, which says so;
  // without its text the lock still holds on this host.
  if (ftruncate(lock->fd, 0) || pwrite(lock->fd, text, (size_t)n, 0) != n)
    errno = 0;
  rc = 0;
out:
  if (rc) {
    if (lock->fd >= 0)
      close(lock->fd);
    lock->fd = -1;
    free(lock->path);
    lock->path = NULL;
  }
  free(folder);
  free(prefix);
  return rc;
}

static void lock_drop(struct replace_lock *lock)
{
  if (lock->fd < 0)
    return;
  unlink(lock->path); // while it is held, so that nobody's next lock is hit
  slot_drop(lock->slot);
  close(lock->fd);
  free(lock->path);
  *lock = (struct replace_lock){.fd = -1};
}

// Removes every temporary of `target`; its lock is held.
static void sweep_locked(const char *target)
{
  char *prefix = path_prefix(target);
  char *folder = path_folder(target);
  const char *start = prefix + strlen(folder);
  size_t len = strlen(start);
  DIR *dir = opendir(*folder ? folder : ".");
  if (dir) {
    struct dirent *e;
    int fd = dirfd(dir);
    while (fd >= 0 && (e = readdir(dir))) {
      size_t n = strlen(e->d_name);
      if (n > len + 4 && !strncmp(e->d_name, start, len) && !strcmp(e->d_name + n - 4, ".tmp"))
        unlinkat(fd, e->d_name, 0);
    }
    closedir(dir);
  }
  free(folder);
  free(prefix);
}

void kr_replace_sweep(const char *path)
{
  char *real = realpath(path, NULL);
  const char *target = real ? real : path;
  char *prefix = path_prefix(target);
  char *folder = path_folder(target);
  const char *start = prefix + strlen(folder);
  size_t len = strlen(start);
  bool found = false;
  // Nothing is made in a folder that has nothing to sweep.
  DIR *dir = opendir(*folder ? folder : ".");
  if (dir) {
    struct dirent *e;
    while (!found && (e = readdir(dir)))
      found = !strncmp(e->d_name, start, len);
    closedir(dir);
  }
  struct replace_lock lock;
  if (found && !lock_take(&lock, target, 0, NULL)) {
    sweep_locked(target);
    lock_drop(&lock);
  }
  free(folder);
  free(prefix);
  free(real);
}

// --- the replacement ---

static int write_all(int fd, const char *data, size_t len)
{
  while (len) {
    ssize_t n = write(fd, data, len);
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return -1;
    data += n;
    len -= (size_t)n;
  }
  return 0;
}

static int sync_retry(int fd)
{
  int rc;
  do
    rc = fsync(fd);
  while (rc && errno == EINTR);
  return rc;
}

// Owner, access lists and mode of the old file, in the order in which none of
// them undoes another and the new file is never wider open than the old one.
static int copy_access(int from, int to, const struct stat *st, const char *path,
                       struct kr_err *err)
{
  struct stat now;
  if (fstat(to, &now))
    return kr_err_errno(err, "cannot stat the new text of %s", path);
  if ((now.st_uid != st->st_uid || now.st_gid != st->st_gid) &&
      fchown(to, st->st_uid, st->st_gid)) {
    if (errno != EPERM || now.st_uid != st->st_uid)
      return kr_err_errno(err, "cannot keep the owner (user %ld, group %ld) of %s",
                          (long)st->st_uid, (long)st->st_gid, path);
    return kr_err_errno(err, "cannot keep the group %ld of %s", (long)st->st_gid, path);
  }
  char names[4096], value[65536];
  ssize_t n = flistxattr(from, names, sizeof names);
  for (char *name = names; n > 0 && name < names + n; name += strlen(name) + 1) {
    bool access = !strcmp(name, "system.posix_acl_access");
    if (!access && strncmp(name, "user.", 5))
      continue;
    ssize_t v = fgetxattr(from, name, value, sizeof value);
    if ((v < 0 || fsetxattr(to, name, value, (size_t)v, 0)) && access)
      return kr_err_errno(err, "cannot keep the access list of %s", path);
  }
  if (fchmod(to, st->st_mode & 07777))
    return kr_err_errno(err, "cannot keep the mode of %s", path);
  return 0;
}

static int sync_folder(const char *folder, const char *path, struct kr_err *err)
{
  int fd = open(*folder ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0)
    return kr_err_errno(err, "%s is written, but its folder %s cannot be opened to sync it", path,
                        folder_shown(folder));
  int rc = sync_retry(fd);
  int saved_errno = errno;
  close(fd);
  errno = saved_errno;
  // Some file systems have nothing to sync in a folder.
  if (rc && errno != EINVAL && errno != ENOTSUP && errno != EROFS)
    return kr_err_errno(err, "%s is written, but its folder %s cannot be synced", path,
                        folder_shown(folder));
  return 0;
}

// What is there now: its status, its bytes' hash and, when `text` is wanted, the bytes.
static int look_at(int fd, const char *path, struct stat *st, struct kr_hash *hash,
                   struct kr_bytes *text, struct kr_err *err)
{
  if (fstat(fd, st))
    return kr_err_errno(err, "cannot stat %s", path);
  if (!S_ISREG(st->st_mode))
    return kr_err_set(err, "%s is not a regular file", path);
  struct kr_hasher h;
  kr_hasher_init(&h);
  char chunk[1 << 16];
  for (off_t at = 0;;) {
    ssize_t n = pread(fd, chunk, sizeof chunk, at);
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return kr_err_errno(err, "cannot read %s", path);
    if (n == 0)
      break;
    kr_hasher_add(&h, chunk, (size_t)n);
    if (text && kr_bytes_add(text, chunk, (size_t)n))
      return kr_err_set(err, "%s is larger than %zu bytes", path, text->max);
    at += n;
  }
  *hash = kr_hasher_end(&h);
  return 0;
}

// What is to be written: bytes that are there already, or a function that makes
// them of the old ones while the lock is held.
struct replace_text {
  const char *data;
  size_t len;
  replace_make *make;
  void *arg;
};

// Puts `text` at `real` (links resolved). `shown` is the path for messages.
// With `expected` the file must exist and have that hash; without it may be
// missing and gets `mode` then. Returns 0, 1 for equal bytes, -1.
static int replace_commit(const char *real, const char *shown, const struct kr_hash *expected,
                          struct replace_text text, unsigned mode, struct kr_err *err)
{
  int rc = -1, old = -1, tmp = -1, again = -1;
  char *prefix = path_prefix(real), *folder = path_folder(real), *temp = NULL;
  struct replace_slot *slot = NULL;
  struct replace_lock lock = {.fd = -1};
  struct stat st, now;
  struct kr_hash seen;
  struct kr_bytes before, after;
  bool made = false;

  kr_bytes_init(&before, KR_BYTES_DEFAULT_MAX);
  kr_bytes_init(&after, KR_BYTES_DEFAULT_MAX);
  if (lock_take(&lock, real, REPLACE_WAIT_MS, err))
    goto out;
  sweep_locked(real);
  old = open(real, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (old < 0 && (errno != ENOENT || expected)) {
    kr_err_errno(err, errno == ENOENT ? "%s was removed meanwhile" : "cannot open %s", shown);
    goto out;
  }
  if (old >= 0) {
    if (look_at(old, shown, &st, &seen, text.make ? &before : NULL, err))
      goto out;
    if (expected && !kr_hash_equal(seen, *expected)) {
      kr_err_set(err, "%s was changed meanwhile; it is left as it is now", shown);
      goto out;
    }
  }
  if (text.make) {
    if (text.make(text.arg, before.data, before.len, &after, err))
      goto out;
    text.data = after.data;
    text.len = after.len;
  }
  if (old >= 0) {
    if (kr_hash_equal(seen, kr_hash_of(text.data, text.len))) {
      rc = 1;
      goto out;
    }
    if (st.st_nlink > 1) {
      kr_err_set(err,
                 "%s has %lu hard links; replacing it would split them, so it is left as it is",
                 shown, (unsigned long)st.st_nlink);
      goto out;
    }
    // Also where the user is root, for whom access() grants everything.
    if (!(st.st_mode & 0222) || faccessat(AT_FDCWD, real, W_OK, AT_EACCESS)) {
      kr_err_set(err, "%s is read-only (mode %04o); it is left as it is", shown,
                 (unsigned)st.st_mode & 07777);
      goto out;
    }
  }

  static atomic_uint serial;
  temp = kr_xasprintf("%s%ld-%u.tmp", prefix, (long)getpid(), atomic_fetch_add(&serial, 1));
  slot = slot_take(temp);
  tmp = open(temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (tmp < 0) {
    kr_err_errno(err, "cannot replace %s: cannot make a file in its folder %s", shown,
                 folder_shown(folder));
    goto out;
  }
  made = true;
  if (write_all(tmp, text.data, text.len)) {
    kr_err_errno(err, "cannot write the new text of %s, which is as it was", shown);
    goto out;
  }
  if (old >= 0) {
    if (copy_access(old, tmp, &st, shown, err))
      goto out;
  } else if (fchmod(tmp, mode & 07777)) {
    kr_err_errno(err, "cannot set the mode of %s", shown);
    goto out;
  }
  if (sync_retry(tmp)) {
    kr_err_errno(err, "cannot write the new text of %s, which is as it was", shown);
    goto out;
  }
  int closed = close(tmp);
  tmp = -1;
  if (closed && errno != EINTR) {
    kr_err_errno(err, "cannot write the new text of %s, which is as it was", shown);
    goto out;
  }

  // The last look, as late as can be: by name, since an editor may have put
  // another file there.
  if (old >= 0) {
    again = open(real, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (again < 0) {
      kr_err_errno(err, errno == ENOENT ? "%s was removed meanwhile" : "cannot open %s", shown);
      goto out;
    }
    struct kr_hash last;
    if (look_at(again, shown, &now, &last, NULL, err))
      goto out;
    if (!kr_hash_equal(last, seen) || now.st_nlink > 1) {
      kr_err_set(err, "%s was changed meanwhile; it is left as it is now", shown);
      goto out;
    }
  }
  if (rename(temp, real)) {
    kr_err_errno(err, "cannot put the new text of %s in its place", shown);
    goto out;
  }
  made = false;
  rc = sync_folder(folder, shown, err);
out:
  if (tmp >= 0)
    close(tmp);
  if (made)
    unlink(temp);
  slot_drop(slot);
  if (old >= 0)
    close(old);
  if (again >= 0)
    close(again);
  lock_drop(&lock);
  kr_bytes_release(&before);
  kr_bytes_release(&after);
  free(temp);
  free(folder);
  free(prefix);
  return rc;
}

int kr_replace(const struct kr_source *src, const void *data, size_t len, struct kr_err *err)
{
  if (len == src->len && !memcmp(data, src->data, len))
    return 1;
  char *real = realpath(src->path, NULL);
  if (!real)
    return kr_err_errno(err, errno == ENOENT ? "%s was removed meanwhile" : "cannot resolve %s",
                        src->path);
  int rc;
  if (strcmp(real, src->real))
    rc = kr_err_set(err, "%s was changed meanwhile: it now leads to %s", src->path, real);
  else
    rc = replace_commit(real, src->path, &src->hash, (struct replace_text){data, len, NULL, NULL}, 0,
                        err);
  free(real);
  return rc;
}

static int make_folders(const char *path, struct kr_err *err)
{
  char *folder = path_folder(path);
  int rc = 0;
  for (char *p = folder + (*folder == '/'); !rc && *p; p++) {
    if (*p != '/')
      continue;
    *p = '\0';
    if (mkdir(folder, 0777) && errno != EEXIST)
      rc = kr_err_errno(err, "cannot make the folder %s", folder);
    *p = '/';
  }
  free(folder);
  return rc;
}

static int replace_own(const char *path, struct replace_text text, unsigned mode,
                       struct kr_err *err)
{
  struct stat st;
  if (make_folders(path, err))
    return -1;
  char *real = realpath(path, NULL);
  if (!real) {
    if (errno != ENOENT)
      return kr_err_errno(err, "cannot resolve %s", path);
    if (!lstat(path, &st))
      return kr_err_set(err, "%s is a link that leads nowhere", path);
    real = kr_xstrdup(path);
  }
  mode_t mask = umask(0);
  umask(mask);
  int rc = replace_commit(real, path, NULL, text, mode & ~(unsigned)mask, err);
  free(real);
  return rc;
}

int kr_replace_path(const char *path, const void *data, size_t len, unsigned mode,
                    struct kr_err *err)
{
  return replace_own(path, (struct replace_text){data, len, NULL, NULL}, mode, err);
}

int replace_update(const char *path, unsigned mode, replace_make *make, void *arg,
                   struct kr_err *err)
{
  return replace_own(path, (struct replace_text){NULL, 0, make, arg}, mode, err);
}

int replace_plain(const char *root, const char *path, struct kr_err *err)
{
  static const char *const names[] = {"", "/ledger", "/baselines", "/.gitattributes"};
  enum { N = sizeof names / sizeof *names };
  for (size_t i = 0; i < N + (path != NULL); i++) {
    struct stat st;
    char *own = i < N ? kr_xasprintf("%s/.kevin%s", root, names[i]) : kr_xstrdup(path);
    bool link = !lstat(own, &st) && S_ISLNK(st.st_mode);
    if (link)
      kr_err_set(err, "%s is a symbolic link; nothing is read or written through it", own);
    free(own);
    if (link)
      return -1;
  }
  return 0;
}
