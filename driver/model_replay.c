// Replies written down beforehand, as JSON lines; driver/README.md has the form.
// A reply is found by kernel, trajectory and turn. Lines that name no turn are
// taken in order within their kernel and trajectory, so that the shortest
// useful file is {"kernel": "saxpy", "reply": "..."} a line. Everything is read
// and checked at opening: a run never fails in the middle for a typo.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "../evaluator/base/mem.h"
#include "../evaluator/base/source.h"
#include "model.h"
#include "../evaluator/base/utf8.h"

struct replay_line {
  char *file, *kernel, *reply;
  unsigned trajectory, turn, line;
  bool truncated;
};

struct replay {
  char *path;
  struct replay_line *lines;
  size_t n, cap;
};

static bool replay_same_kernel(const struct replay_line *a, const char *file, const char *kernel)
{
  return !strcmp(a->kernel, kernel) && (!a->file || !file || !strcmp(a->file, file));
}

static void replay_close(void *self)
{
  struct replay *r = self;
  for (size_t i = 0; i < r->n; i++) {
    free(r->lines[i].file);
    free(r->lines[i].kernel);
    free(r->lines[i].reply);
  }
  free(r->lines);
  free(r->path);
  free(r);
}

// Reads the text of `reply_file`, a path relative to the folder of the replay file.
static char *replay_text_file(const struct replay *r, const char *name, struct kr_err *err)
{
  const char *slash = strrchr(r->path, '/');
  char *path = name[0] == '/' || !slash
                   ? kr_xstrdup(name)
                   : kr_xasprintf("%.*s/%s", (int)(slash - r->path), r->path, name);
  struct kr_source src;
  char *text = NULL;
  if (!kr_source_read(&src, path, err)) {
    if (memchr(src.data, 0, src.len))
      kr_err_set(err, "%s holds a NUL byte", path);
    else
      text = kr_xstrndup(src.data, src.len);
    kr_source_release(&src);
  }
  free(path);
  return text;
}

static int replay_number(const struct replay *r, unsigned line, const cJSON *item, unsigned *out,
                         struct kr_err *err)
{
  double d = cJSON_IsNumber(item) ? item->valuedouble : 0;
  if (d < 1 || d > 1e6 || d != (double)(unsigned)d)
    return kr_err_set(err, "%s:%u: `%s` must be a whole number from 1", r->path, line,
                      item->string);
  *out = (unsigned)d;
  return 0;
}

static int replay_string(const struct replay *r, unsigned line, const cJSON *item, char **out,
                         struct kr_err *err)
{
  if (!cJSON_IsString(item))
    return kr_err_set(err, "%s:%u: `%s` must be a string", r->path, line, item->string);
  free(*out);
  *out = kr_xstrdup(item->valuestring);
  return 0;
}

static int replay_read_line(struct replay *r, unsigned number, const char *text, size_t len,
                            struct kr_err *err)
{
  struct replay_line l = {.trajectory = 1, .line = number};
  int rc = -1;
  char *reply_file = NULL;
  cJSON *json = cJSON_ParseWithLength(text, len);
  if (kr_utf8_json_has_nul(text, len)) {
    kr_err_set(err, "%s:%u: a NUL character (\\u0000) is not code", r->path, number);
    goto out;
  }
  if (!cJSON_IsObject(json)) {
    kr_err_set(err, "%s:%u: not a JSON object on one line", r->path, number);
    goto out;
  }
  for (const cJSON *item = json->child; item; item = item->next) {
    int bad = 0;
    if (!strcmp(item->string, "kernel"))
      bad = replay_string(r, number, item, &l.kernel, err);
    else if (!strcmp(item->string, "file"))
      bad = replay_string(r, number, item, &l.file, err);
    else if (!strcmp(item->string, "reply"))
      bad = replay_string(r, number, item, &l.reply, err);
    else if (!strcmp(item->string, "reply_file"))
      bad = replay_string(r, number, item, &reply_file, err);
    else if (!strcmp(item->string, "trajectory"))
      bad = replay_number(r, number, item, &l.trajectory, err);
    else if (!strcmp(item->string, "turn"))
      bad = replay_number(r, number, item, &l.turn, err);
    else if (!strcmp(item->string, "truncated") && cJSON_IsBool(item))
      l.truncated = cJSON_IsTrue(item);
    else
      bad = kr_err_set(err,
                       "%s:%u: `%s` is not known here; a line has kernel, reply or reply_file, "
                       "and may have file, trajectory, turn, truncated (true or false)",
                       r->path, number, item->string);
    if (bad)
      goto out;
  }
  if (!l.kernel || !*l.kernel) {
    kr_err_set(err, "%s:%u: `kernel` is missing", r->path, number);
    goto out;
  }
  if (!l.reply == !reply_file) {
    kr_err_set(err, "%s:%u: one of `reply` and `reply_file` is wanted", r->path, number);
    goto out;
  }
  if (reply_file) {
    l.reply = replay_text_file(r, reply_file, err);
    if (!l.reply) {
      kr_err_prefix(err, "%s:%u", r->path, number);
      goto out;
    }
  }
  if (!l.turn) {
    l.turn = 1;
    for (size_t i = 0; i < r->n; i++) {
      if (replay_same_kernel(&r->lines[i], l.file, l.kernel) &&
          r->lines[i].trajectory == l.trajectory && r->lines[i].turn >= l.turn)
        l.turn = r->lines[i].turn + 1;
    }
  }
  for (size_t i = 0; i < r->n; i++) {
    if (replay_same_kernel(&r->lines[i], l.file, l.kernel) &&
        r->lines[i].trajectory == l.trajectory && r->lines[i].turn == l.turn) {
      kr_err_set(err, "%s:%u: kernel `%s`, trajectory %u, turn %u has a reply in line %u already",
                 r->path, number, l.kernel, l.trajectory, l.turn, r->lines[i].line);
      goto out;
    }
  }
  KR_GROW(r->lines, r->n, r->cap);
  r->lines[r->n++] = l;
  memset(&l, 0, sizeof l);
  rc = 0;
out:
  free(l.file);
  free(l.kernel);
  free(l.reply);
  free(reply_file);
  cJSON_Delete(json);
  return rc;
}

int model_replay_open(const char *path, void **self, char **where, struct kr_err *err)
{
  struct kr_source src;
  if (kr_source_read(&src, path, err))
    return -1;
  int rc = -1;
  struct replay *r = kr_xcalloc(1, sizeof *r);
  r->path = kr_xstrdup(path);
  size_t bad = kr_utf8_check(src.data, src.len);
  unsigned number = 0;
  for (size_t at = src.bom ? 3 : 0; at < src.len;) {
    const char *end = memchr(src.data + at, '\n', src.len - at);
    size_t len = end ? (size_t)(end - src.data) - at : src.len - at;
    const char *line = src.data + at;
    number++;
    if (bad < at + len && bad >= at) {
      kr_err_set(err, "%s:%u: not UTF-8", path, number);
      goto out;
    }
    at += len + 1;
    while (len && strchr(" \t\r", line[len - 1]) && line[len - 1])
      len--;
    if (!len || line[0] == '#')
      continue;
    if (replay_read_line(r, number, line, len, err))
      goto out;
  }
  if (!r->n) {
    kr_err_set(err, "%s holds no replies", path);
    goto out;
  }
  *where = kr_xasprintf("replies from %s (%zu, no network)", path, r->n);
  *self = r;
  rc = 0;
out:
  if (rc)
    replay_close(r);
  kr_source_release(&src);
  return rc;
}

static int replay_complete(void *self, const struct model_request *req, struct model_reply *reply,
                           struct kr_err *err)
{
  const struct replay *r = self;
  unsigned last = 0;
  for (size_t i = 0; i < r->n; i++) {
    const struct replay_line *l = &r->lines[i];
    if (!replay_same_kernel(l, req->file, req->kernel) || l->trajectory != req->trajectory)
      continue;
    if (l->turn > last)
      last = l->turn;
    if (l->turn != req->turn)
      continue;
    reply->text = kr_xstrdup(l->reply);
    reply->len = strlen(l->reply);
    reply->truncated = l->truncated;
    reply->tries = 1;
    return 0;
  }
  reply->failure = MODEL_CONFIG;
  if (last)
    return kr_err_set(err, "%s has no reply for kernel `%s`, trajectory %u, turn %u (the last is "
                      "turn %u)", r->path, req->kernel, req->trajectory, req->turn, last);
  return kr_err_set(err, "%s has no reply for kernel `%s`, trajectory %u, turn %u", r->path,
                    req->kernel, req->trajectory, req->turn);
}

const struct model_kind model_replay = {.complete = replay_complete, .close = replay_close};
