#include "model.h"

#include <stdlib.h>
#include <string.h>

#include "../evaluator/base/clock.h"
#include "../evaluator/base/mem.h"
#include "redact.h"
#include "utf8.h"

struct model {
  const struct model_kind *kind;
  void *self;
  char *where, *name;
  bool remote;
};

int model_open(const char *spec, const struct model_options *options, struct model **out,
               struct kr_err *err)
{
  static const char *const later[] = {"anthropic", "exec", "mailbox"};
  *out = NULL;
  for (size_t i = 0; i < sizeof later / sizeof *later; i++) {
    size_t n = strlen(later[i]);
    if (!strncmp(spec, later[i], n) && (!spec[n] || spec[n] == ':'))
      return kr_err_set(err, "--model=%s is not there yet; use builtin, openai:NAME or replay:FILE",
                        later[i]);
  }
  struct model *m = kr_xcalloc(1, sizeof *m);
  int rc = -1;
  if (!strcmp(spec, "builtin")) {
    m->kind = &model_builtin;
    m->name = kr_xstrdup("builtin");
    rc = model_builtin_open(&m->self, &m->where, err);
  } else if (!strncmp(spec, "replay:", 7)) {
    if (!spec[7]) {
      kr_err_set(err, "--model=replay: needs a file: replay:FILE");
      goto out;
    }
    m->kind = &model_replay;
    m->name = kr_xstrdup("replay");
    rc = model_replay_open(spec + 7, &m->self, &m->where, err);
  } else if (strncmp(spec, "openai:", 7)) {
    // Guessing would send a kernel to whoever answers for a misspelt name.
    kr_err_set(err, "--model is builtin, openai:NAME or replay:FILE, not `%s`", spec);
    goto out;
  } else {
    const char *name = spec + 7;
    if (!*name) {
      kr_err_set(err, "--model=%s names no model: openai:NAME", spec);
      goto out;
    }
    if (utf8_check(name, strlen(name)) != strlen(name)) {
      kr_err_set(err, "the name of the model is not UTF-8");
      goto out;
    }
    m->kind = &model_openai;
    m->name = kr_xstrdup(name);
    m->remote = true;
    rc = model_openai_open(name, options, &m->self, &m->where, err);
  }
out:
  redact_err(rc ? err : NULL);
  if (rc) {
    model_close(m);
    m = NULL;
  }
  *out = m;
  return rc;
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
  free(m);
}
