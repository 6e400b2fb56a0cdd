#include "model.h"

#include <stdlib.h>
#include <string.h>

#include "../evaluator/base/clock.h"
#include "../evaluator/base/hash.h"
#include "../evaluator/base/mem.h"
#include "../evaluator/base/source.h"
#include "redact.h"
#include "../evaluator/base/utf8.h"

struct model {
  const struct model_kind *kind;
  void *self;
  char *where, *name, *identity;
  const char *folder; // within `identity`, or `folders`
  char *folders;      // of several
  bool remote;
  enum model_keeping keeping;
};

// What stands before the colon. A name goes into provenance, so it must be text.
enum model_id { ID_OPENAI, ID_ANTHROPIC, ID_EXEC, ID_MAILBOX, ID_REPLAY, N_IDS };
static const struct model_row {
  const char *kind, *argument;
  const struct model_kind *table;
  bool remote, named;
  enum model_keeping keeping;
} rows[N_IDS] = {
    [ID_OPENAI] = {"openai", "NAME", &model_openai, true, true, MODEL_KEEP},
    [ID_ANTHROPIC] = {"anthropic", "NAME", &model_anthropic, true, true, MODEL_KEEP},
    [ID_EXEC] = {"exec", "CMD", &model_exec, true, false, MODEL_KEEP},
    [ID_MAILBOX] = {"mailbox", "DIR", &model_mailbox, false, false, MODEL_KEEP_NEEDED},
    [ID_REPLAY] = {"replay", "FILE", &model_replay, false, false, MODEL_KEEP_ASKED},
};

static int model_open_kind(struct model *m, enum model_id id, const char *what,
                           const struct model_options *options, struct kr_err *err)
{
  const struct model_row *row = &rows[id];
  if (!*what)
    return row->named ? kr_err_set(err, "--model=%s: names no model: %s:NAME", row->kind, row->kind)
                      : kr_err_set(err, "--model=%s: needs a %s: %s:%s", row->kind,
                                   id == ID_EXEC      ? "command"
                                   : id == ID_MAILBOX ? "folder"
                                                      : "file",
                                   row->kind, row->argument);
  if (row->named && kr_utf8_check(what, strlen(what)) != strlen(what))
    return kr_err_set(err, "the name of the model is not UTF-8");
  m->kind = row->table;
  m->name = kr_xstrdup(row->named ? what : row->kind);
  m->remote = row->remote;
  m->keeping = row->keeping;
  switch (id) {
  case ID_OPENAI:
    return model_openai_open(what, options, &m->self, &m->where, err);
  case ID_ANTHROPIC:
    return model_anthropic_open(what, options, &m->self, &m->where, err);
  case ID_EXEC:
    return model_exec_open(what, options, &m->self, &m->where, err);
  case ID_MAILBOX:
    return model_mailbox_open(what, &m->self, &m->where, err);
  default:
    return model_replay_open(what, &m->self, &m->where, err);
  }
}

// A server's address is in `where`, in front of where its key comes from; a file of
// replies is what is in it, a folder is where it is.
static char *model_identify(const struct model *m, enum model_id id, const char *what)
{
  const char *at = strstr(m->where, " at "), *key = strrchr(m->where, '(');
  if (rows[id].named && at && key > at + 4)
    return kr_xasprintf("%s:%s at %.*s", rows[id].kind, what, (int)(key - at - 5), at + 4);
  if (id == ID_MAILBOX) {
    char *real = realpath(what, NULL);
    char *text = kr_xasprintf("mailbox:%s", real ? real : what);
    free(real);
    return text;
  }
  struct kr_source src;
  struct kr_err err;
  if (id == ID_EXEC) {
    // The arguments may hold what nobody else is to see.
    char hex[KR_HASH_HEX + 1];
    kr_hash_hex(kr_hash_of(what, strlen(what)), hex);
    return kr_xasprintf("exec:%s (%.*s)", strrchr(m->where, ' ') + 1, KR_HASH_SHOWN, hex);
  }
  if (id == ID_REPLAY && !kr_source_read(&src, what, &err)) {
    char hex[KR_HASH_HEX + 1];
    kr_hash_hex(kr_hash_of(src.data, src.len), hex);
    kr_source_release(&src);
    return kr_xasprintf("replay:%s", hex);
  }
  return kr_xasprintf("%s:%s", rows[id].kind, what);
}

int model_open(const char *spec, const struct model_options *options, struct model **out,
               struct kr_err *err)
{
  struct model *m = kr_xcalloc(1, sizeof *m);
  int rc = -1;
  size_t n = strcspn(spec, ":");
  enum model_id id = 0;
  while (id < N_IDS && (!spec[n] || strlen(rows[id].kind) != n || strncmp(spec, rows[id].kind, n)))
    id++;
  if (!strcmp(spec, "builtin")) {
    m->kind = &model_builtin;
    m->name = kr_xstrdup("builtin");
    m->identity = kr_xstrdup("builtin");
    rc = model_builtin_open(&m->self, &m->where, err);
  } else if (id < N_IDS) {
    rc = model_open_kind(m, id, spec + n + 1, options, err);
    if (!rc) {
      m->identity = model_identify(m, id, spec + n + 1);
      m->folder = id == ID_MAILBOX ? m->identity + strlen("mailbox:") : NULL;
    }
  } else {
    // Guessing would send a kernel to whoever answers for a misspelt name.
    kr_err_set(err, "--model is builtin, openai:NAME, anthropic:NAME, exec:CMD, mailbox:DIR or "
                    "replay:FILE, not `%s`", spec);
  }
  redact_err(rc ? err : NULL);
  if (rc) {
    model_close(m);
    m = NULL;
  }
  *out = m;
  return rc;
}

// --- several ---

struct several {
  size_t n;
  struct model *items[];
};

static struct model *several_of(const struct several *s, unsigned trajectory)
{
  return s->items[(trajectory - 1) % s->n];
}

static int several_complete(void *self, const struct model_request *req,
                            struct model_reply *reply, struct kr_err *err)
{
  struct model *m = several_of(self, req->trajectory);
  return m->kind->complete(m->self, req, reply, err);
}

static void several_close(void *self)
{
  struct several *s = self;
  for (size_t i = 0; i < s->n; i++)
    model_close(s->items[i]);
  free(s);
}

static const struct model_kind model_several = {.complete = several_complete,
                                                .close = several_close};

// What they have as text, in one: "a + b".
static char *several_text(const struct several *s, const char *(*get)(const struct model *m))
{
  struct kr_bytes b;
  kr_bytes_init(&b, 1 << 20);
  for (size_t i = 0; i < s->n; i++) {
    const char *text = get(s->items[i]);
    if (text)
      kr_bytes_addf(&b, "%s%s", b.len ? " + " : "", text);
  }
  return kr_bytes_take(&b);
}

int model_open_several(const char *const *specs, size_t n, const struct model_options *options,
                       struct model **out, struct kr_err *err)
{
  *out = NULL;
  if (n == 1)
    return model_open(specs[0], options, out, err);
  struct model *m = kr_xcalloc(1, sizeof *m);
  struct several *s = kr_xcalloc(1, sizeof *s + n * sizeof *s->items);
  m->kind = &model_several;
  m->self = s;
  int rc = 0;
  for (; !rc && s->n < n; s->n += !rc) {
    if (!strcmp(specs[s->n], "builtin"))
      rc = kr_err_set(err, "--model=builtin cannot be one of several");
    else
      rc = model_open(specs[s->n], options, &s->items[s->n], err);
  }
  for (size_t i = 0; !rc && i < n; i++) {
    m->remote |= s->items[i]->remote;
    if (s->items[i]->keeping > m->keeping)
      m->keeping = s->items[i]->keeping;
  }
  if (rc) {
    model_close(m);
    return rc;
  }
  m->where = several_text(s, model_where);
  m->name = several_text(s, model_name);
  m->identity = several_text(s, model_identity);
  m->folders = several_text(s, model_folder);
  m->folder = *m->folders ? m->folders : NULL;
  *out = m;
  return 0;
}

const char *model_name_of(const struct model *m, unsigned trajectory)
{
  return m->kind == &model_several ? several_of(m->self, trajectory)->name : m->name;
}

int model_complete(struct model *m, const struct model_request *req, struct model_reply *reply,
                   struct kr_err *err)
{
  memset(reply, 0, sizeof *reply);
  double begin = kr_now_ms();
  int rc = m->kind->complete(m->self, req, reply, err);
  reply->wall_ms = kr_now_ms() - begin;
  if (rc)
    redact_err(err);
  return rc;
}

bool model_is_concurrent(const struct model *m)
{
  return m->kind->begin != NULL;
}

void model_begin(struct model *m, const struct model_request *req, size_t tag)
{
  m->kind->begin(m->self, req, tag);
}

bool model_next(struct model *m, bool wait, size_t *tag, struct model_reply *reply,
                struct kr_err *err)
{
  bool took = m->kind->next(m->self, wait, tag, reply, err);
  if (took && reply->failure != MODEL_FINE)
    redact_err(err);
  return took;
}

void model_cancel(struct model *m)
{
  m->kind->cancel(m->self);
}

void model_reply_release(struct model_reply *r)
{
  free(r->text);
  r->text = NULL;
  r->len = 0;
}

const char *model_where(const struct model *m)
{
  return m->where;
}

const char *model_name(const struct model *m)
{
  return m->name;
}

enum model_keeping model_keeping(const struct model *m)
{
  return m->keeping;
}

const char *model_identity(const struct model *m)
{
  return m->identity;
}

const char *model_folder(const struct model *m)
{
  return m->folder;
}

bool model_is_remote(const struct model *m)
{
  return m->remote;
}

bool model_reads_prompts(const struct model *m)
{
  return !m->kind->needs_no_prompt;
}

void model_close(struct model *m)
{
  if (!m)
    return;
  if (m->self)
    m->kind->close(m->self);
  free(m->where);
  free(m->name);
  free(m->identity);
  free(m->folders);
  free(m);
}
