#include "store.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <sqlite3.h>

#include "../evaluator/base/log.h"
#include "../evaluator/base/mem.h"

extern const char store_schema[]; // store.sql

enum { STORE_BUSY_MS = 60000, STORE_WAIT_MS = 100, STORE_MAX_DAMAGED = 1000 };

// Step N makes version N + 1 of version N. All of them run in one transaction.
static const char *const migrations[] = {store_schema};
enum { STORE_VERSION = sizeof migrations / sizeof *migrations };

struct store {
  sqlite3 *db;
  char *path;
  int lock; // FILE.lock: byte N is held by the run that works on search N
};

struct store_search {
  struct store *store;
  int64_t id;
  char *base;
  bool broken; // something could not be kept
};

// --- SQLite, with sentences ---

static int store_failed(const struct store *s, const char *doing, struct kr_err *err)
{
  return kr_err_set(err, "the store %s: %s: %s", s->path, doing, sqlite3_errmsg(s->db));
}

static int store_exec(struct store *s, const char *sql, struct kr_err *err)
{
  return sqlite3_exec(s->db, sql, NULL, NULL, NULL) == SQLITE_OK
             ? 0
             : store_failed(s, "cannot be used", err);
}

// A statement with its values: `types` has a letter for each, as in "ist": i
// (int64_t), d (double), t (const char *, NULL is NULL).
static int store_prepare(struct store *s, sqlite3_stmt **out, struct kr_err *err, const char *sql,
                         const char *types, va_list ap)
{
  if (sqlite3_prepare_v2(s->db, sql, -1, out, NULL) != SQLITE_OK)
    return store_failed(s, "cannot be used", err);
  for (int i = 0; types[i]; i++) {
    if (types[i] == 'i') {
      sqlite3_bind_int64(*out, i + 1, va_arg(ap, int64_t));
    } else if (types[i] == 'd') {
      sqlite3_bind_double(*out, i + 1, va_arg(ap, double));
    } else {
      const char *text = va_arg(ap, const char *);
      sqlite3_bind_text(*out, i + 1, text, -1, SQLITE_STATIC); // NULL binds NULL
    }
  }
  return 0;
}

static int store_select(struct store *s, sqlite3_stmt **out, struct kr_err *err, const char *sql,
                        const char *types, ...)
{
  va_list ap;
  va_start(ap, types);
  int rc = store_prepare(s, out, err, sql, types, ap);
  va_end(ap);
  return rc;
}

static int store_run(struct store *s, struct kr_err *err, const char *sql, const char *types, ...)
{
  sqlite3_stmt *stmt = NULL;
  va_list ap;
  va_start(ap, types);
  int rc = store_prepare(s, &stmt, err, sql, types, ap);
  va_end(ap);
  if (!rc && sqlite3_step(stmt) != SQLITE_DONE)
    rc = store_failed(s, "cannot be written", err);
  sqlite3_finalize(stmt);
  return rc;
}

static char *column_text(sqlite3_stmt *stmt, int i)
{
  const char *text = (const char *)sqlite3_column_text(stmt, i);
  return text ? kr_xstrdup(text) : NULL;
}

// --- opening ---

char *store_default_path(struct kr_err *err)
{
  const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
  if (state && *state == '/') // a relative one is invalid and ignored
    return kr_xasprintf("%s/kevin-rewrite/store.sqlite", state);
  if (home && *home == '/')
    return kr_xasprintf("%s/.local/state/kevin-rewrite/store.sqlite", home);
  kr_err_set(err, "no place for the store: neither XDG_STATE_HOME nor HOME is set; say --store=FILE");
  return NULL;
}

// Makes the folders above `path`; those that are made are the user's alone.
static int store_folders(const char *path, struct kr_err *err)
{
  char *copy = kr_xstrdup(path);
  int rc = 0;
  for (char *p = copy + 1; !rc && (p = strchr(p, '/')); p++) {
    *p = 0;
    if (mkdir(copy, 0700) && errno != EEXIST)
      rc = kr_err_errno(err, "cannot make the folder %s", copy);
    *p = '/';
  }
  free(copy);
  return rc;
}

static int store_connect(struct store *s, bool readonly, struct kr_err *err)
{
  // Made by us, for SQLite would make it readable by others.
  int fd = open(s->path, (readonly ? O_RDONLY : O_RDWR | O_CREAT) | O_CLOEXEC | O_NOCTTY, 0600);
  struct stat st;
  if (fd < 0 || fstat(fd, &st)) {
    kr_err_errno(err, "cannot open the store %s", s->path);
    if (fd >= 0)
      close(fd);
    return -1;
  }
  bool shared = (st.st_mode & 077) != 0;
  close(fd);
  if (!S_ISREG(st.st_mode))
    return kr_err_set(err, "the store %s is not a regular file", s->path);
  if (shared && !readonly && chmod(s->path, 0600))
    return kr_err_errno(err, "the store %s can be read by others", s->path);
  if (sqlite3_open_v2(s->path, &s->db, readonly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE,
                      NULL) != SQLITE_OK)
    return store_failed(s, "cannot be opened", err);
  sqlite3_busy_timeout(s->db, STORE_BUSY_MS);
  return 0;
}

// 1 when the file is damaged, 0 when it is fine, -1 with `err` for anything else.
static int store_examine(struct store *s, int *version, struct kr_err *err)
{
  sqlite3_stmt *stmt = NULL;
  int rc = -1, step = SQLITE_OK;
  if (sqlite3_prepare_v2(s->db, "PRAGMA quick_check(1)", -1, &stmt, NULL) == SQLITE_OK)
    step = sqlite3_step(stmt);
  if (step == SQLITE_ROW) {
    const char *says = (const char *)sqlite3_column_text(stmt, 0);
    rc = says && !strcmp(says, "ok") ? 0 : 1;
    // A heading goes before the finding.
    const char *last = says ? strrchr(says, '\n') : NULL;
    if (rc)
      kr_err_set(err, "%s", last ? last + 1 : says ? says : "no answer");
  } else {
    int code = sqlite3_errcode(s->db);
    kr_err_set(err, "%s", sqlite3_errmsg(s->db));
    rc = code == SQLITE_NOTADB || code == SQLITE_CORRUPT ? 1 : -1;
  }
  sqlite3_finalize(stmt);
  stmt = NULL;
  if (!rc && sqlite3_prepare_v2(s->db, "PRAGMA user_version", -1, &stmt, NULL) == SQLITE_OK &&
      sqlite3_step(stmt) == SQLITE_ROW)
    *version = sqlite3_column_int(stmt, 0);
  sqlite3_finalize(stmt);
  if (rc < 0)
    kr_err_prefix(err, "the store %s", s->path);
  return rc;
}

// Renames file and companions to a name that is free.
static int store_set_aside(struct store *s, const char *why, struct kr_err *err)
{
  static const char *const parts[] = {"", "-wal", "-shm"};
  char *aside = NULL;
  for (int i = 1; i <= STORE_MAX_DAMAGED; i++) {
    free(aside);
    aside = kr_xasprintf("%s.damaged-%d", s->path, i);
    if (access(aside, F_OK))
      break;
  }
  int rc = 0;
  for (size_t i = 0; i < 3 && !rc; i++) {
    char *from = kr_xasprintf("%s%s", s->path, parts[i]);
    char *to = kr_xasprintf("%s%s", aside, parts[i]);
    if (rename(from, to) && (errno != ENOENT || !i))
      rc = kr_err_errno(err, "cannot set the damaged store %s aside", from);
    free(from);
    free(to);
  }
  if (!rc)
    kr_warn("the store %s is damaged (%s); it is set aside as %s, and an empty one begun", s->path,
            why, aside);
  free(aside);
  return rc;
}

static int store_migrate(struct store *s, struct kr_err *err)
{
  // Two runs may find the same old file: what is to be done is asked under the lock.
  int version = 0, rc = store_exec(s, "BEGIN IMMEDIATE", err);
  if (rc)
    return -1;
  sqlite3_stmt *stmt = NULL;
  rc = store_select(s, &stmt, err, "PRAGMA user_version", "");
  if (!rc && sqlite3_step(stmt) == SQLITE_ROW)
    version = sqlite3_column_int(stmt, 0);
  sqlite3_finalize(stmt);
  char set[64];
  snprintf(set, sizeof set, "PRAGMA user_version = %d", (int)STORE_VERSION);
  for (int i = version; !rc && i < (int)STORE_VERSION; i++)
    rc = store_exec(s, migrations[i], err);
  if (!rc)
    rc = store_exec(s, set, err);
  if (!rc)
    rc = store_exec(s, "COMMIT", err);
  if (rc)
    sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
  return rc;
}

// Byte `id` of the lock file, until the process ends: nothing is left by a death.
// Byte 0 is held while a store is opened.
static int store_lock(struct store *s, int64_t id, bool lock, bool wait)
{
  struct flock l = {.l_type = lock ? F_WRLCK : F_UNLCK, .l_whence = SEEK_SET, .l_start = id,
                    .l_len = 1};
  int rc;
  do
    rc = fcntl(s->lock, wait ? F_OFD_SETLKW : F_OFD_SETLK, &l);
  while (rc && wait && errno == EINTR);
  return rc;
}

// SQLite does not wait when a file is to become one with a WAL and somebody reads it.
static int store_use_wal(struct store *s, struct kr_err *err)
{
  int rc = -1;
  for (int waited = 0; rc && waited < STORE_BUSY_MS; waited += STORE_WAIT_MS) {
    rc = store_exec(s, "PRAGMA journal_mode = WAL", err);
    if (rc && sqlite3_errcode(s->db) != SQLITE_BUSY)
      return rc;
    struct timespec ts = {0, STORE_WAIT_MS * 1000000L};
    if (rc)
      nanosleep(&ts, NULL);
  }
  return rc;
}

static int store_open_lock(struct store *s, struct kr_err *err)
{
  char *path = kr_xasprintf("%s.lock", s->path);
  s->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  int rc = s->lock < 0 || store_lock(s, 0, true, true) ? kr_err_errno(err, "cannot lock %s", path) : 0;
  free(path);
  return rc;
}

int store_open(const char *path, bool readonly, struct store **out, struct kr_err *err)
{
  struct store *s = kr_xcalloc(1, sizeof *s);
  struct kr_err why = {""};
  int rc = -1, version = 0;
  s->path = kr_xstrdup(path);
  s->lock = -1;
  *out = NULL;
  if ((!readonly && (store_folders(path, err) || store_open_lock(s, err))) ||
      store_connect(s, readonly, err))
    goto out;
  int state = store_examine(s, &version, &why);
  if (state > 0 && readonly) {
    kr_err_set(err, "the store %s is damaged: %s", path, why.text);
    goto out;
  }
  if (state > 0) {
    sqlite3_close(s->db);
    s->db = NULL;
    if (store_set_aside(s, why.text, err) || store_connect(s, false, err))
      goto out;
  } else if (state < 0) {
    *err = why;
    goto out;
  }
  if (version > (int)STORE_VERSION) {
    kr_err_set(err, "the store %s was written by a later version of this program (%d, this one "
               "knows %d); say --store=FILE", path, version, (int)STORE_VERSION);
    goto out;
  }
  if (readonly) {
    if (version < (int)STORE_VERSION) {
      kr_err_set(err, "the store %s holds nothing yet", path);
      goto out;
    }
    rc = 0;
    goto out;
  }
  if (store_use_wal(s, err) ||
      store_exec(s, "PRAGMA synchronous = FULL", err) ||
      store_exec(s, "PRAGMA foreign_keys = ON", err) ||
      (version < (int)STORE_VERSION && store_migrate(s, err)))
    goto out;
  rc = store_lock(s, 0, false, false) ? kr_err_errno(err, "cannot unlock %s.lock", path) : 0;
out:
  if (rc) {
    store_close(s);
    s = NULL;
  }
  *out = s;
  return rc;
}

void store_close(struct store *s)
{
  if (!s)
    return;
  sqlite3_close(s->db);
  if (s->lock >= 0)
    close(s->lock);
  free(s->path);
  free(s);
}

// --- searches ---

static int search_find(struct store *s, const struct store_key *k, const char *hash, int64_t *id,
                       bool *ended, char **base, struct kr_err *err)
{
  sqlite3_stmt *stmt = NULL;
  if (store_select(s, &stmt, err,
                   "SELECT id, ended IS NOT NULL, base FROM search WHERE contract = ? AND model = ?"
                   " AND options = ? AND backend = ? AND device = ? AND tool = ? AND superseded = 0",
                   "tttttt", hash, k->model, k->options, k->backend, k->device, KR_VERSION))
    return -1;
  int step = sqlite3_step(stmt), rc = 0;
  *id = 0;
  if (step == SQLITE_ROW) {
    *id = sqlite3_column_int64(stmt, 0);
    *ended = sqlite3_column_int(stmt, 1);
    *base = column_text(stmt, 2);
  } else if (step != SQLITE_DONE) {
    rc = store_failed(s, "cannot be read", err);
  }
  sqlite3_finalize(stmt);
  return rc;
}

static int search_new(struct store *s, const struct store_key *k, const char *hash,
                      struct kr_err *err)
{
  // Another run may have been faster: then its row is the one.
  return store_run(s, err,
                   "INSERT OR IGNORE INTO search (contract, model, options, backend, device, tool,"
                   " kernel, file) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                   "tttttttt", hash, k->model, k->options, k->backend, k->device, KR_VERSION,
                   k->kernel, k->file);
}

int store_search_open(struct store *s, const struct store_key *key, enum store_begin begin,
                      const volatile sig_atomic_t *stop, struct store_search **out,
                      struct kr_err *err)
{
  char hash[KR_HASH_HEX + 1], *base = NULL;
  int64_t id = 0;
  bool ended = false, told = false, anew = begin != STORE_CONTINUE;
  kr_hash_hex(key->contract, hash);
  *out = NULL;
  for (;;) {
    free(base);
    base = NULL;
    if (search_find(s, key, hash, &id, &ended, &base, err))
      return -1;
    if (!id) {
      if (search_new(s, key, hash, err))
        return -1;
      anew = false; // it is
      continue;
    }
    if (store_lock(s, id, true, false)) {
      int why = errno;
      if (why != EAGAIN && why != EACCES) {
        free(base);
        errno = why;
        return kr_err_errno(err, "the store %s: cannot lock", s->path);
      }
      if (!told)
        kr_note("another run is at kernel `%s`; waiting for it", key->kernel);
      told = true;
      struct timespec ts = {0, STORE_WAIT_MS * 1000000L};
      nanosleep(&ts, NULL);
      if (stop && *stop) {
        free(base);
        return kr_err_set(err, "interrupted");
      }
      continue;
    }
    // What was found before the lock was had may be out of date.
    int64_t now = 0;
    free(base);
    base = NULL;
    if (search_find(s, key, hash, &now, &ended, &base, err)) {
      store_lock(s, id, false, false);
      return -1;
    }
    bool leave = anew && now == id && (begin == STORE_ANEW || ended);
    if (now == id && !leave)
      break;
    int rc = leave ? store_run(s, err, "UPDATE search SET superseded = 1 WHERE id = ?", "i", id) : 0;
    store_lock(s, id, false, false);
    if (rc) {
      free(base);
      return -1;
    }
    if (leave)
      anew = false;
  }
  struct store_search *search = kr_xcalloc(1, sizeof *search);
  *search = (struct store_search){.store = s, .id = id, .base = base};
  *out = search;
  return 0;
}

void store_search_close(struct store_search *s)
{
  if (!s)
    return;
  store_lock(s->store, s->id, false, false);
  free(s->base);
  free(s);
}

const char *store_search_base(const struct store_search *s)
{
  return s->base;
}

// --- reading ---

void store_turns_release(struct store_turns *turns)
{
  for (size_t i = 0; i < turns->n; i++) {
    free(turns->items[i].prompt);
    free(turns->items[i].reply);
    free(turns->items[i].verdict);
    free(turns->items[i].told);
  }
  free(turns->items);
  *turns = (struct store_turns){0};
}

int store_turns_of(struct store *s, int64_t search, struct store_turns *out, struct kr_err *err)
{
  sqlite3_stmt *stmt = NULL;
  size_t cap = 0;
  int step, rc = 0;
  *out = (struct store_turns){0};
  if (store_select(s, &stmt, err,
                   "SELECT t.trajectory, t.turn, p.trajectory, p.turn, w.trajectory, w.turn,"
                   " q.text, t.reply, t.truncated, t.tokens_in, t.tokens_out, t.model_ms,"
                   " t.judge_ms, t.verdict, t.told FROM turn t LEFT JOIN turn p ON p.id = t.parent"
                   " LEFT JOIN turn w ON w.id = t.same_as LEFT JOIN prompt q ON q.hash = t.prompt"
                   " WHERE t.search = ? ORDER BY t.position IS NULL, t.position, t.id",
                   "i", search))
    return -1;
  while ((step = sqlite3_step(stmt)) == SQLITE_ROW) {
    KR_GROW(out->items, out->n, cap);
    out->items[out->n++] = (struct store_turn){
        .trajectory = (unsigned)sqlite3_column_int64(stmt, 0),
        .turn = (unsigned)sqlite3_column_int64(stmt, 1),
        .parent_trajectory = (unsigned)sqlite3_column_int64(stmt, 2),
        .parent_turn = (unsigned)sqlite3_column_int64(stmt, 3),
        .same_trajectory = (unsigned)sqlite3_column_int64(stmt, 4),
        .same_turn = (unsigned)sqlite3_column_int64(stmt, 5),
        .prompt = column_text(stmt, 6),
        .reply = column_text(stmt, 7),
        .truncated = sqlite3_column_int(stmt, 8),
        .tokens_in = (uint64_t)sqlite3_column_int64(stmt, 9),
        .tokens_out = (uint64_t)sqlite3_column_int64(stmt, 10),
        .model_ms = sqlite3_column_double(stmt, 11),
        .judge_ms = sqlite3_column_double(stmt, 12),
        .verdict = column_text(stmt, 13),
        .told = column_text(stmt, 14)};
  }
  if (step != SQLITE_DONE)
    rc = store_failed(s, "cannot be read", err);
  sqlite3_finalize(stmt);
  if (rc)
    store_turns_release(out);
  return rc;
}

int store_search_load(struct store_search *s, struct store_turns *out, struct kr_err *err)
{
  return store_turns_of(s->store, s->id, out, err);
}

int store_each(struct store *s, const char *pattern,
               int (*each)(void *arg, const struct store_found *found, struct kr_err *err),
               void *arg, struct kr_err *err)
{
  sqlite3_stmt *stmt = NULL;
  int step = SQLITE_DONE, rc = 0;
  if (store_select(s, &stmt, err,
                   "SELECT id, kernel, file, model, options, backend, device, tool, ended, why"
                   " FROM search WHERE superseded = 0 ORDER BY id", ""))
    return -1;
  while (!rc && (step = sqlite3_step(stmt)) == SQLITE_ROW) {
    const char *texts[10] = {0};
    for (int i = 1; i < 10; i++)
      texts[i] = (const char *)sqlite3_column_text(stmt, i);
    struct store_found f = {.id = sqlite3_column_int64(stmt, 0),
                            .kernel = texts[1], .file = texts[2], .model = texts[3],
                            .options = texts[4], .backend = texts[5], .device = texts[6],
                            .tool = texts[7], .ended = texts[8], .why = texts[9]};
    if (!fnmatch(pattern, f.kernel, 0))
      rc = each(arg, &f, err);
  }
  if (!rc && step != SQLITE_DONE)
    rc = store_failed(s, "cannot be read", err);
  sqlite3_finalize(stmt);
  return rc;
}

// --- writing ---

static void search_finish(struct store_search *s, int rc, const struct kr_err *err)
{
  if (!rc)
    return;
  sqlite3_exec(s->store->db, "ROLLBACK", NULL, NULL, NULL);
  s->broken = true;
  kr_warn("%s; nothing more of this kernel is kept", err->text);
}

void store_set_base(struct store_search *s, const char *base)
{
  struct kr_err err;
  free(s->base);
  s->base = kr_xstrdup(base);
  if (!s->broken)
    search_finish(s, store_run(s->store, &err, "UPDATE search SET base = ? WHERE id = ?", "ti", base,
                               s->id), &err);
}

// The id of a turn as a subquery; three values.
#define TURN_ID "(SELECT id FROM turn WHERE search = ? AND trajectory = ? AND turn = ?)"

void store_asked(struct store_search *s, const struct store_turn *t)
{
  struct kr_err err;
  char hash[KR_HASH_HEX + 1];
  if (s->broken)
    return;
  if (t->prompt)
    kr_hash_hex(kr_hash_of(t->prompt, strlen(t->prompt)), hash);
  int rc = store_exec(s->store, "BEGIN IMMEDIATE", &err);
  if (!rc && t->prompt)
    rc = store_run(s->store, &err, "INSERT OR IGNORE INTO prompt (hash, text) VALUES (?, ?)", "tt",
                   hash, t->prompt);
  if (!rc)
    rc = store_run(s->store, &err,
                   "INSERT INTO turn (search, trajectory, turn, parent, prompt) VALUES (?, ?, ?, "
                   TURN_ID ", ?) ON CONFLICT (search, trajectory, turn) DO UPDATE SET"
                   " parent = excluded.parent, prompt = excluded.prompt",
                   "iiiiiit", s->id, (int64_t)t->trajectory, (int64_t)t->turn, s->id,
                   (int64_t)t->parent_trajectory, (int64_t)t->parent_turn,
                   t->prompt ? hash : NULL);
  if (!rc)
    rc = store_exec(s->store, "COMMIT", &err);
  search_finish(s, rc, &err);
}

void store_replied(struct store_search *s, const struct store_turn *t)
{
  struct kr_err err;
  if (s->broken)
    return;
  int rc = store_run(s->store, &err,
                     "UPDATE turn SET reply = ?, truncated = ?, tokens_in = ?, tokens_out = ?,"
                     " model_ms = ? WHERE search = ? AND trajectory = ? AND turn = ?",
                     "tiiidiii", t->reply, (int64_t)t->truncated, (int64_t)t->tokens_in,
                     (int64_t)t->tokens_out, t->model_ms, s->id, (int64_t)t->trajectory,
                     (int64_t)t->turn);
  search_finish(s, rc, &err);
}

static int store_put_variant(struct store_search *s, const struct variant *v, struct kr_err *err)
{
  char tokens[KR_HASH_HEX + 1];
  struct kr_bytes launch;
  kr_bytes_init(&launch, 1 << 20);
  kr_hash_hex(v->tokens, tokens);
  if (v->candidate.has_geometry)
    variant_geometry(&v->candidate.geometry, &launch);
  int rc = store_run(s->store, err,
                     "INSERT OR IGNORE INTO variant (search, tokens, code, launch, summary)"
                     " VALUES (?, ?, ?, ?, ?)", "itttt", s->id, tokens, v->candidate.code,
                     v->candidate.has_geometry ? launch.data : NULL, v->summary ? v->summary : "");
  kr_bytes_release(&launch);
  return rc;
}

static int store_put_samples(struct store_search *s, const struct store_turn *t,
                             const struct kr_verdict *v, struct kr_err *err)
{
  int rc = store_run(s->store, err, "DELETE FROM sample WHERE turn = " TURN_ID, "iii", s->id,
                     (int64_t)t->trajectory, (int64_t)t->turn);
  for (size_t i = 0; !rc && i < v->n_times; i++) {
    const struct kr_case_time *c = &v->times[i];
    double lo = isnan(c->lo) ? 0 : c->lo, hi = isnan(c->hi) ? 0 : c->hi; // NaN would be NULL
    rc = store_run(s->store, err,
                   "INSERT INTO sample (turn, label, base_us, cand_us, ratio, lo, hi, n) VALUES ("
                   TURN_ID ", ?, ?, ?, ?, ?, ?, ?)", "iiitdddddi", s->id, (int64_t)t->trajectory,
                   (int64_t)t->turn, c->label ? c->label : "", c->base_us, c->cand_us, isnan(c->ratio) ? 0 : c->ratio, lo, hi,
                   (int64_t)c->n);
  }
  return rc;
}

void store_judged(struct store_search *s, const struct store_turn *t, const struct variant *variant,
                  const struct kr_verdict *v, double score)
{
  struct kr_err err;
  struct kr_bytes json;
  char tokens[KR_HASH_HEX + 1];
  bool has = variant->candidate.code != NULL;
  if (s->broken)
    return;
  kr_bytes_init(&json, KR_BYTES_DEFAULT_MAX);
  kr_verdict_to_json(v, &json);
  kr_hash_hex(variant->tokens, tokens);
  int rc = store_exec(s->store, "BEGIN IMMEDIATE", &err);
  if (!rc && has)
    rc = store_put_variant(s, variant, &err);
  if (!rc)
    rc = store_run(s->store, &err,
                   "UPDATE turn SET position = (SELECT 1 + COALESCE(MAX(position), 0) FROM turn"
                   " WHERE search = ?), variant = (SELECT id FROM variant WHERE search = ? AND"
                   " tokens = ?), same_as = " TURN_ID ", verdict = ?, told = ?, score = ?,"
                   " judge_ms = ? WHERE search = ? AND trajectory = ? AND turn = ?",
                   "iitiiittddiii", s->id, s->id, has ? tokens : NULL, s->id,
                   (int64_t)t->same_trajectory, (int64_t)t->same_turn, json.data, t->told, score,
                   t->judge_ms, s->id, (int64_t)t->trajectory, (int64_t)t->turn);
  if (!rc)
    rc = store_put_samples(s, t, v, &err);
  if (!rc)
    rc = store_exec(s->store, "COMMIT", &err);
  kr_bytes_release(&json);
  search_finish(s, rc, &err);
}

void store_ended(struct store_search *s, const char *how, const char *why)
{
  struct kr_err err;
  if (!s->broken)
    search_finish(s, store_run(s->store, &err, "UPDATE search SET ended = ?, why = ? WHERE id = ?",
                               "tti", how, why, s->id), &err);
}
