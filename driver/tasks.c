#include "tasks.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "../evaluator/base/log.h"
#include "../evaluator/base/mem.h"
#include "assemble.h"
#include "talk.h"

static struct task *tasks_add(struct tasks *t, struct input *in, const struct kr_marker *m)
{
  t->items = kr_xreallocarray(t->items, t->n + 1, sizeof *t->items);
  t->items[t->n] = (struct task){.in = in, .marker = m};
  return &t->items[t->n++];
}

// The first error among the diagnostics added since `before`, as the reason.
static char *tasks_reason(const struct kr_diags *d, size_t before)
{
  for (size_t i = before; i < d->n; i++)
    if (d->items[i].severity == KR_SEV_ERROR)
      return kr_xstrdup(d->items[i].text);
  return kr_xstrdup("refused");
}

static void tasks_kernel(struct tasks *t, struct input *in, const struct kr_marker *m,
                         const struct options *o, struct kr_diags *diags)
{
  const struct kr_pkernel *k = input_kernel(in, m);
  if (!k || (o->kernel && fnmatch(o->kernel, k->qualified, 0)))
    return; // assemble_attach() tells of markers above nothing
  struct task *task = tasks_add(t, in, m);
  task->kernel = k;
  if (k->refused) {
    size_t at = k->refused_at.length ? k->refused_at.offset : k->at.offset;
    kr_diags_add(diags, KR_SEV_ERROR, at, k->refused_at.length, "%s is refused: %s", k->qualified,
                 k->refused);
    task->refused = kr_xstrdup(k->refused);
    t->n_failed++;
    return;
  }
  size_t before = diags->n;
  struct assemble_request req = {.src = &in->src,
                                 .marker = m,
                                 .unit = &in->unit,
                                 .kernel = k,
                                 .file = in->rel,
                                 .flags = (const char *const *)in->flags.items,
                                 .n_flags = in->flags.n,
                                 .archs = (const char *const *)in->archs,
                                 .n_archs = in->n_archs};
  if (assemble_contract(&req, &task->contract, diags)) {
    task->refused = tasks_reason(diags, before);
    t->n_failed++;
    return;
  }
  if (o->min_speedup > 0)
    task->contract.min_speedup = o->min_speedup;
  task->ok = true;
}

// What the scan of a file found is told once, however often its tasks are collected.
static void tasks_tell(struct tasks *t, struct input *in)
{
  if (!in->told)
    talk_diags(&in->diags, &in->src);
  in->told = true;
  t->n_failed += in->diags.n_errors;
}

static void tasks_input(struct tasks *t, struct project *p, struct input *in,
                        const struct options *o)
{
  struct kr_err err = {""};
  tasks_tell(t, in);
  if (input_parse(p, in, o, &err)) {
    kr_error("%s", err.text);
    in->failed = true;
    t->n_failed++;
    if (!t->environment)
      t->why = err;
    t->environment = true;
    return;
  }
  t->n_kernels += in->unit.n_kernels;
  struct kr_diags diags = {0};
  assemble_attach(&in->src, &in->markers, &in->unit, &diags);
  t->n_failed += diags.n_errors;
  for (size_t i = 0; i < in->markers.n; i++) {
    const struct kr_marker *m = &in->markers.items[i];
    t->n_off += m->verb == KR_MARKER_OFF;
    if (m->verb == KR_MARKER_OPTIMIZE)
      tasks_kernel(t, in, m, o, &diags);
  }
  in->failed |= diags.n_errors > 0;
  talk_diags(&diags, &in->src);
  kr_diags_release(&diags);
}

void tasks_collect(struct tasks *t, struct project *p, const struct options *o, bool all)
{
  *t = (struct tasks){.n_failed = p->n_failed};
  size_t parsed = 0, broken = 0;
  for (size_t i = 0; i < p->n; i++) {
    struct input *in = &p->inputs[i];
    if (!in->n_marked && !all) {
      tasks_tell(t, in);
      continue;
    }
    tasks_input(t, p, in, o);
    parsed += in->parsed;
    broken += !in->parsed;
  }
  if (o->kernel && !all && parsed && !t->n)
    kr_warn("no marked kernel matches --kernel=%s", o->kernel);
  // One file that breaks the parser is that file's trouble; all of them is ours.
  t->environment = broken && !parsed;
}

void tasks_release(struct tasks *t)
{
  for (size_t i = 0; i < t->n; i++) {
    if (t->items[i].ok)
      kr_contract_release(&t->items[i].contract);
    free(t->items[i].refused);
  }
  free(t->items);
  *t = (struct tasks){0};
}
