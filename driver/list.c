#include "list.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../evaluator/base/log.h"
#include "exit.h"
#include "fresh.h"
#include "results.h"
#include "prompt.h"
#include "suggest.h"
#include "talk.h"
#include "tasks.h"

static int list_status(const struct tasks *t)
{
  if (t->environment)
    return EXIT_NO_ENVIRONMENT;
  return t->n_failed ? EXIT_PARTIAL : EXIT_DONE;
}

static const char *list_state(const struct task *t)
{
  if (!t->ok)
    return "refused";
  struct kr_ledger l;
  struct fresh f = {.state = FRESH_MISSING};
  if (kr_ledger_load(&l, t->in->root, NULL))
    return "unknown";
  fresh_check(t->in, t->marker, &l, fresh_outside(t->in), &f);
  const char *state = f.state == FRESH_MISSING ? "new"
                      : f.state == FRESH_STALE ? "stale"
                      : f.entry->outcome == KR_REWRITTEN ? "rewritten"
                                                         : "kept";
  if (f.state == FRESH_UNSURE && !kr_hash_equal(fresh_slice(t->kernel), f.entry->slice))
    state = "stale";
  kr_ledger_release(&l);
  return state;
}

static void list_section(const struct kr_section *s, struct kr_bytes *b)
{
  static const char *const roles[] = {[KR_IN] = "in", [KR_INOUT] = "inout", [KR_OUT] = "out"};
  kr_bytes_addf(b, "%s(%s", roles[s->role], s->path);
  for (size_t d = 0; d < s->n_dims; d++)
    if (d == 0 && s->start)
      kr_bytes_addf(b, "[%s : %s]", s->start, s->dims[d]);
    else
      kr_bytes_addf(b, "[%s]", s->dims[d]);
  kr_bytes_addc(b, ')');
}

static void list_dims(const char *name, char *const dims[3], struct kr_bytes *b)
{
  kr_bytes_addf(b, "%s(", name);
  for (int i = 0; i < 3 && (i == 0 || dims[i]); i++)
    kr_bytes_addf(b, "%s%s", i ? ", " : "", dims[i] ? dims[i] : "1");
  kr_bytes_addc(b, ')');
}

static void list_sites(const struct kr_pkernel *k, struct kr_bytes *b)
{
  for (size_t i = 0; i < k->n_sites; i++) {
    const struct kr_psite *s = &k->sites[i];
    kr_bytes_addf(b, "  launched at %s:%u:%u", s->file, s->line, s->col);
    if (s->enclosing)
      kr_bytes_addf(b, " in %s", s->enclosing);
    if (!s->editable && s->why_not)
      kr_bytes_addf(b, " (%s)", s->why_not);
    kr_bytes_addc(b, '\n');
  }
  if (!k->n_sites)
    kr_bytes_adds(b, "  launched nowhere in this file\n");
}

static void list_text(const struct task *t, struct kr_bytes *b)
{
  const struct kr_pkernel *k = t->kernel;
  kr_bytes_addf(b, "%s:%u:%u: %s%s: %s\n", t->in->src.path, k->line, k->col, k->qualified,
                k->signature ? k->signature : "", list_state(t));
  if (!t->ok) {
    kr_bytes_addf(b, "  %s\n", t->refused);
    return;
  }
  const struct kr_contract *c = &t->contract;
  for (size_t i = 0; i < c->n_cases; i++)
    kr_bytes_addf(b, "  case %s\n", c->cases[i].label);
  kr_bytes_adds(b, "  ");
  for (size_t i = 0; i < c->n_sections; i++) {
    if (i)
      kr_bytes_addc(b, ' ');
    list_section(&c->sections[i], b);
  }
  kr_bytes_adds(b, "\n  ");
  list_dims("grid", c->geometry.grid, b);
  list_dims(" block", c->geometry.block, b);
  if (c->geometry.shared)
    kr_bytes_addf(b, " shared(%s)", c->geometry.shared);
  kr_bytes_addf(b, "%s: %s%s%s\n", c->geometry.cooperative ? " cooperative" : "",
                c->tunable ? "tunable" : "fixed", c->tunable_why ? ", because " : "",
                c->tunable_why ? c->tunable_why : "");
  list_sites(k, b);
}

static void list_json(const struct task *t, struct results *js)
{
  const struct kr_pkernel *k = t->kernel;
  results_open(js, NULL, '{');
  results_string(js, "file", t->in->src.path);
  results_integer(js, "line", k->line);
  results_integer(js, "column", k->col);
  results_string(js, "kernel", k->qualified);
  results_string(js, "signature", k->signature);
  results_string(js, "state", list_state(t));
  results_integer(js, "byteOffset", (int64_t)k->at.offset);
  results_integer(js, "byteLength", (int64_t)k->at.length);
  if (!t->ok)
    results_string(js, "why", t->refused);
  results_open(js, "launches", '[');
  for (size_t i = 0; i < k->n_sites; i++) {
    results_open(js, NULL, '{');
    results_string(js, "file", k->sites[i].file);
    results_integer(js, "line", k->sites[i].line);
    results_integer(js, "column", k->sites[i].col);
    results_bool(js, "editable", k->sites[i].editable);
    results_close(js, '}');
  }
  results_close(js, ']');
  if (t->ok) {
    struct kr_bytes c;
    kr_bytes_init(&c, KR_BYTES_DEFAULT_MAX);
    kr_contract_to_json(&t->contract, &c);
    results_raw(js, "contract", c.data);
    kr_bytes_release(&c);
  }
  results_close(js, '}');
}

// A ledger that cannot be read is told once, and its kernels' state is unknown.
static void list_ledgers(struct tasks *t)
{
  for (size_t i = 0; i < t->n; i++) {
    bool told = false;
    for (size_t k = 0; k < i && !told; k++)
      told = !strcmp(t->items[k].in->root, t->items[i].in->root);
    struct kr_ledger l;
    struct kr_err err = {""};
    if (told)
      continue;
    if (kr_ledger_load(&l, t->items[i].in->root, &err)) {
      kr_error("%s", err.text);
      t->n_failed++;
    } else {
      kr_ledger_release(&l);
    }
  }
}

int list_run(struct project *p, const struct options *o)
{
  struct tasks t;
  tasks_collect(&t, p, o, false);
  list_ledgers(&t);
  if (o->format == FORMAT_JSON) {
    struct results js;
    results_start(&js, "list");
    results_open(&js, "kernels", '[');
    for (size_t i = 0; i < t.n; i++)
      list_json(&t.items[i], &js);
    results_close(&js, ']');
    results_end(&js);
  } else {
    struct kr_bytes b, escaped;
    kr_bytes_init(&b, KR_BYTES_DEFAULT_MAX);
    kr_bytes_init(&escaped, KR_BYTES_DEFAULT_MAX);
    for (size_t i = 0; i < t.n; i++)
      list_text(&t.items[i], &b);
    talk_escape(&escaped, b.data, b.len, true);
    talk_out(escaped.data, escaped.len);
    kr_bytes_release(&escaped);
    kr_bytes_release(&b);
  }
  int status = list_status(&t);
  tasks_release(&t);
  return status;
}

// Nothing was printed: says why.
static void suggest_nothing(const struct tasks *t, const struct options *o)
{
  if (!t->n_kernels)
    talk_say("no kernels found; those in an included file are found by naming that file");
  else if (o->kernel)
    talk_say("%zu kernel%s found, none without a marker matches %s", t->n_kernels,
             t->n_kernels == 1 ? "" : "s", o->kernel);
  else
    talk_say("%zu kernel%s found, %s marked", t->n_kernels, t->n_kernels == 1 ? "" : "s",
             t->n_kernels == 1 ? "and it is" : "all of them");
}

int suggest_run(struct project *p, const struct options *o)
{
  struct tasks t;
  struct kr_bytes b;
  tasks_collect(&t, p, o, true);
  kr_bytes_init(&b, KR_BYTES_DEFAULT_MAX);
  for (size_t i = 0; i < p->n; i++) {
    const struct input *in = &p->inputs[i];
    for (size_t k = 0; in->parsed && k < in->unit.n_kernels; k++) {
      const struct kr_pkernel *kernel = &in->unit.kernels[k];
      if (kr_markers_above(&in->markers, kernel->at.offset, KR_MARKER_OPTIMIZE) ||
          kr_markers_above(&in->markers, kernel->at.offset, KR_MARKER_OFF) ||
          (o->kernel && fnmatch(o->kernel, kernel->qualified, 0)))
        continue;
      kr_bytes_addf(&b, "%s:%u:%u: %s\n", in->src.path, kernel->line, kernel->col,
                    kernel->qualified);
      if (kernel->refused)
        kr_bytes_addf(&b, "  cannot be taken: %s\n", kernel->refused);
      else
        suggest_marker(kernel, &b);
    }
  }
  talk_out(b.data, b.len);
  if (!b.len && !t.environment && !p->n_failed)
    suggest_nothing(&t, o);
  kr_bytes_release(&b);
  int status = t.environment ? EXIT_NO_ENVIRONMENT : p->n_failed ? EXIT_PARTIAL : EXIT_DONE;
  tasks_release(&t);
  return status;
}

int show_prompt_run(struct project *p, const struct options *o)
{
  struct tasks t;
  struct kr_err err = {""};
  struct prompt_set *templates;
  if (prompt_set_open(o->profile, o->prompts, &templates, &err)) {
    kr_error("%s", err.text);
    return EXIT_USAGE;
  }
  tasks_collect(&t, p, o, false);
  for (size_t i = 0; i < t.n; i++) {
    if (!t.items[i].ok)
      continue;
    struct kr_bytes b;
    struct prompt_task task = {.contract = &t.items[i].contract, .templates = templates};
    kr_bytes_init(&b, KR_BYTES_DEFAULT_MAX);
    if (prompt_build(&task, NULL, 0, 1, &b, &err)) {
      kr_error("%s", err.text);
      t.n_failed++;
    } else {
      talk_out(b.data, b.len);
    }
    kr_bytes_release(&b);
  }
  int status = list_status(&t);
  tasks_release(&t);
  prompt_set_free(templates);
  return status;
}
