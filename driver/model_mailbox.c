// A folder instead of a line: prompts are put there, one file each, and replies
// are picked up where they have come, by this run or by a later one. For
// machines without a network and for batch interfaces.
//
//   saxpy-2-1-3f9a41c2e07b.prompt.md   kernel, trajectory, turn, hash
//   saxpy-2-1-3f9a41c2e07b.reply.md    what is to be put there
//
// The hash is of the prompt's bytes and the kernel's file, so a reply is never
// taken for an answer to another question.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../evaluator/base/hash.h"
#include "../evaluator/base/mem.h"
#include "../evaluator/base/source.h"
#include "model.h"
#include "../evaluator/base/utf8.h"

enum { MAILBOX_MAX_REPLY = 16 << 20, MAILBOX_MAX_KERNEL = 80 };

struct mailbox {
  char *dir;
};

static void mailbox_close(void *self)
{
  struct mailbox *m = self;
  free(m->dir);
  free(m);
}

int model_mailbox_open(const char *dir, void **self, char **where, struct kr_err *err)
{
  struct stat st;
  if (mkdir(dir, 0777) && errno != EEXIST)
    return kr_err_errno(err, "cannot make the folder %s", dir);
  if (stat(dir, &st))
    return kr_err_errno(err, "cannot use %s", dir);
  if (!S_ISDIR(st.st_mode))
    return kr_err_set(err, "--model=mailbox: %s is not a folder", dir);
  if (access(dir, R_OK | W_OK | X_OK))
    return kr_err_errno(err, "cannot read and write in %s", dir);
  struct mailbox *m = kr_xcalloc(1, sizeof *m);
  m->dir = kr_xstrdup(dir);
  *where = kr_xasprintf("prompts and replies in %s (no network)", dir);
  *self = m;
  return 0;
}

// "ns::saxpy<float>" as part of a file's name.
static void mailbox_kernel(const char *kernel, char out[MAILBOX_MAX_KERNEL + 1])
{
  size_t n = 0;
  for (const char *p = kernel; *p && n < MAILBOX_MAX_KERNEL; p++) {
    bool plain = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') ||
                 (*p >= '0' && *p <= '9') || *p == '_';
    if (p[0] == ':' && p[1] == ':')
      p++;
    out[n++] = plain ? *p : '.';
  }
  out[n] = 0;
  if (out[0] == '.')
    out[0] = '_'; // never a hidden file
}

static char *mailbox_path(const struct mailbox *m, const struct model_request *req)
{
  char kernel[MAILBOX_MAX_KERNEL + 1], hex[KR_HASH_HEX + 1];
  struct kr_hasher h;
  mailbox_kernel(req->kernel, kernel);
  kr_hasher_init(&h);
  kr_hasher_field(&h, req->file ? req->file : "", req->file ? strlen(req->file) : 0);
  kr_hasher_field(&h, req->kernel, strlen(req->kernel));
  kr_hasher_field(&h, req->prompt, strlen(req->prompt));
  kr_hash_hex(kr_hasher_end(&h), hex);
  return kr_xasprintf("%s/%s-%u-%u-%.*s", m->dir, kernel, req->trajectory, req->turn,
                      KR_HASH_SHOWN, hex);
}

// Puts the prompt there, whole or not at all. One that is there is left alone: its
// name says what is in it.
static int mailbox_put(const char *path, const char *prompt, struct kr_err *err)
{
  int rc = -1;
  size_t len = strlen(prompt), done = 0;
  struct stat st;
  char *temp = NULL;
  int fd = -1;
  if (!lstat(path, &st) && S_ISREG(st.st_mode) && (size_t)st.st_size == len)
    return 0;
  temp = kr_xasprintf("%s.%ld.tmp", path, (long)getpid());
  unlink(temp);
  fd = open(temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd < 0) {
    kr_err_errno(err, "cannot write %s", temp);
    goto out;
  }
  while (done < len) {
    ssize_t put = write(fd, prompt + done, len - done);
    if (put < 0 && errno == EINTR)
      continue;
    if (put < 0) {
      kr_err_errno(err, "cannot write %s", temp);
      goto out;
    }
    done += (size_t)put;
  }
  if (fsync(fd) || rename(temp, path)) {
    kr_err_errno(err, "cannot write %s", path);
    goto out;
  }
  rc = 0;
out:
  if (fd >= 0)
    close(fd);
  if (rc && temp)
    unlink(temp);
  free(temp);
  return rc;
}

// Fills `reply` with the file's text; a file that is none is an error to be mended.
static int mailbox_take(const char *path, struct model_reply *reply, struct kr_err *err)
{
  struct kr_source src;
  if (kr_source_read(&src, path, err))
    return -1;
  size_t from = src.bom ? 3 : 0;
  const char *text = src.data + from;
  size_t len = src.len - from;
  int rc = -1;
  if (len > MAILBOX_MAX_REPLY)
    kr_err_set(err, "%s: the reply is longer than %d MiB", path, MAILBOX_MAX_REPLY >> 20);
  else if (memchr(text, 0, len))
    kr_err_set(err, "%s: the reply holds a NUL byte", path);
  else if (kr_utf8_check(text, len) < len)
    kr_err_set(err, "%s: the reply is not UTF-8 at byte %zu", path, kr_utf8_check(text, len));
  else
    rc = 0;
  if (!rc) {
    reply->text = kr_xstrndup(text, len);
    reply->len = len;
  }
  kr_source_release(&src);
  return rc;
}

static int mailbox_complete(void *self, const struct model_request *req,
                            struct model_reply *reply, struct kr_err *err)
{
  const struct mailbox *m = self;
  char *base = mailbox_path(m, req);
  char *prompt = kr_xasprintf("%s.prompt.md", base), *answer = kr_xasprintf("%s.reply.md", base);
  struct stat st;
  int rc = -1;
  reply->tries = 1;
  reply->failure = MODEL_CONFIG;
  // An empty file is one that somebody is about to fill.
  bool there = !stat(answer, &st) && (!S_ISREG(st.st_mode) || st.st_size > 0);
  if (mailbox_put(prompt, req->prompt, err))
    goto out;
  if (!there) {
    reply->failure = MODEL_WAITING;
    kr_err_set(err, "no reply yet to %s", prompt);
    goto out;
  }
  if (!S_ISREG(st.st_mode)) {
    kr_err_set(err, "%s is not a regular file", answer);
    goto out;
  }
  reply->failure = MODEL_NONSENSE;
  if (mailbox_take(answer, reply, err))
    goto out;
  reply->failure = MODEL_FINE;
  rc = 0;
out:
  free(base);
  free(prompt);
  free(answer);
  return rc;
}

const struct model_kind model_mailbox = {.complete = mailbox_complete, .close = mailbox_close};
