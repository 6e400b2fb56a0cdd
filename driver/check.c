#include "check.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../evaluator/base/log.h"
#include "../evaluator/base/mem.h"
#include "exit.h"
#include "fresh.h"
#include "results.h"
#include "talk.h"

// The ledgers of a run, one a root, read when first asked for.
struct ledgers {
  struct kr_ledger *items;
  size_t n;
};

static struct kr_ledger *ledgers_get(struct ledgers *ls, const char *root, struct kr_err *err)
{
  for (size_t i = 0; i < ls->n; i++)
    if (!strcmp(ls->items[i].root, root))
      return &ls->items[i];
  struct kr_ledger l;
  if (kr_ledger_load(&l, root, err))
    return NULL;
  ls->items = kr_xreallocarray(ls->items, ls->n + 1, sizeof *ls->items);
  ls->items[ls->n] = l;
  return &ls->items[ls->n++];
}

static void ledgers_release(struct ledgers *ls)
{
  for (size_t i = 0; i < ls->n; i++)
    kr_ledger_release(&ls->items[i]);
  free(ls->items);
}

// The file around the kernel changed: only the parser can say whether that
// reaches the kernel.
static void check_slice(struct project *p, struct input *in, const struct options *o,
                        const struct kr_marker *m, struct fresh *f)
{
  struct kr_err err = {""};
  if (input_parse(p, in, o, &err)) {
    f->state = FRESH_STALE;
    kr_debug("cache", "%s: %s", in->src.path, err.text);
    char why[256];
    snprintf(why, sizeof why, "%.120s, and the file could not be parsed to see whether it matters",
             f->why);
    memcpy(f->why, why, sizeof why);
    return;
  }
  const struct kr_pkernel *k = input_kernel(in, m);
  bool same = k && !k->refused && kr_hash_equal(fresh_slice(k), f->entry->slice);
  kr_debug("cache", "%s: %s, %s", in->src.path, f->why,
           same ? "but what the kernel is made of is the same" : "and it reaches the kernel");
  f->state = same ? FRESH_OK : FRESH_STALE;
  if (!same) {
    char why[256];
    snprintf(why, sizeof why, "what it depends on changed (%.180s)", f->why);
    memcpy(f->why, why, sizeof why);
  }
}

struct counts {
  size_t marked, fresh, work, failed;
};

// Does --kernel mean it? Tokens know the unqualified name alone; where that does
// not do, for want of an entry, the parser is asked.
static bool check_selects(struct project *p, struct input *in, const struct options *o,
                          const struct kr_marker *m, const struct kr_ledger_entry *e,
                          const char *name)
{
  if (!o->kernel)
    return true;
  if (e || !strchr(o->kernel, ':'))
    return !fnmatch(o->kernel, e ? e->kernel : name, 0);
  const struct kr_pkernel *k = input_parse(p, in, o, NULL) ? NULL : input_kernel(in, m);
  return !k || !fnmatch(o->kernel, k->qualified, 0);
}

static void check_input(struct project *p, struct input *in, const struct options *o,
                        struct ledgers *ls, struct counts *c, struct results *js)
{
  talk_diags(&in->diags, &in->src);
  if (in->failed)
    c->failed++;
  if (!in->n_marked)
    return;
  struct kr_err err = {""};
  const struct kr_ledger *l = ledgers_get(ls, in->root, &err);
  if (!l) {
    kr_error("%s", err.text);
    c->failed++;
    return;
  }
  struct kr_diags diags = {0};
  struct kr_hash outside = fresh_outside(in);
  for (size_t i = 0; i < in->markers.n; i++) {
    const struct kr_marker *m = &in->markers.items[i];
    if (m->verb != KR_MARKER_OPTIMIZE)
      continue;
    char *name = m->target == SIZE_MAX ? kr_xstrdup("?") : fresh_name(&in->src, m->target);
    struct fresh f;
    fresh_check(in, m, l, outside, &f);
    if (!check_selects(p, in, o, m, f.entry, name)) {
      free(name);
      continue;
    }
    c->marked++;
    if (f.state == FRESH_UNSURE)
      check_slice(p, in, o, m, &f);
    if (f.state == FRESH_OK) {
      c->fresh++;
    } else {
      c->work++;
      size_t at = m->target == SIZE_MAX ? m->at.offset : m->target;
      kr_diags_add(&diags, KR_SEV_ERROR, at, 0, "%s is %s: %s", name,
                   f.state == FRESH_MISSING ? "not in the ledger" : "stale", f.why);
    }
    if (js) {
      unsigned line, col;
      kr_source_place(&in->src, m->target == SIZE_MAX ? m->at.offset : m->target, &line, &col);
      results_open(js, NULL, '{');
      results_string(js, "file", in->src.path);
      results_integer(js, "line", line);
      results_string(js, "kernel", f.entry ? f.entry->kernel : name);
      results_string(js, "state", f.state == FRESH_OK ? "fresh" : f.state == FRESH_MISSING ? "missing" : "stale");
      if (f.state != FRESH_OK)
        results_string(js, "why", f.why);
      results_close(js, '}');
    }
    free(name);
  }
  talk_diags(&diags, &in->src);
  kr_diags_release(&diags);
}

int check_run(struct project *p, const struct options *o)
{
  struct ledgers ls = {0};
  struct counts c = {.failed = p->n_failed};
  struct results js;
  bool as_json = o->format == FORMAT_JSON;
  if (as_json) {
    results_start(&js, "check");
    results_open(&js, "kernels", '[');
  }
  for (size_t i = 0; i < p->n; i++)
    check_input(p, &p->inputs[i], o, &ls, &c, as_json ? &js : NULL);
  if (as_json) {
    results_close(&js, ']');
    results_end(&js);
  }
  ledgers_release(&ls);
  if (o->kernel && !c.marked && !c.failed)
    kr_warn("no marked kernel matches --kernel=%s", o->kernel);
  if (c.work)
    talk_say("%zu of %zu marked kernels want work; kevin-rewrite -i does it", c.work, c.marked);
  return c.failed ? EXIT_PARTIAL : c.work ? EXIT_WORK_LEFT : EXIT_DONE;
}
