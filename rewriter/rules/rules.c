#include "rules.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../evaluator/base/mem.h"
#include "list.h"
#include "rule.h"

// The table of all rules, and what they hand their proposals over with.

const struct kr_rule *const kr_rules[] = {
    &matmul_tile_rule,
    &transpose_tile_rule,
    &private_histogram_rule,
    &row_per_warp_rule,
    &row_lanes_rule,
    &float_arithmetic_rule,
    &small_powers_rule,
    &shared_pad_rule,
    &warp_shuffle_rule,
    &vector4_rule,
    &coarsen_rule,
    &unroll_rule,
    &restrict_rule,
    &block_size_rule,
    NULL};

void kr_proposals_add(struct kr_proposals *ps, struct kr_proposal *p)
{
  KR_GROW(ps->items, ps->n, ps->cap);
  ps->items[ps->n++] = *p;
  memset(p, 0, sizeof *p);
}

void rule_geometry_release(struct kr_geometry *g)
{
  for (int i = 0; i < 3; i++) {
    free(g->grid[i]);
    free(g->block[i]);
  }
  free(g->shared);
  *g = (struct kr_geometry){0};
}

void rule_geometry_copy(const struct kr_geometry *from, struct kr_geometry *to)
{
  *to = (struct kr_geometry){.cooperative = from->cooperative};
  for (int i = 0; i < 3; i++) {
    to->grid[i] = from->grid[i] ? kr_xstrdup(from->grid[i]) : NULL;
    to->block[i] = from->block[i] ? kr_xstrdup(from->block[i]) : NULL;
  }
  to->shared = from->shared ? kr_xstrdup(from->shared) : NULL;
}

void rule_propose(struct kr_proposals *out, const struct kr_rule_input *in,
                  const struct kr_rule *rule, char *place, char *code, double gain,
                  const struct kr_geometry *geometry, const char *fmt, ...)
{
  if (!code || (!geometry && !strcmp(code, in->code))) {
    free(place);
    free(code);
    return;
  }
  char summary[400];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(summary, sizeof summary, fmt, ap);
  va_end(ap);
  struct kr_proposal p = {.rule = rule->name,
                          .place = place,
                          .code = code,
                          .has_geometry = geometry != NULL,
                          .summary = kr_xstrdup(summary),
                          .gain = gain};
  if (geometry)
    rule_geometry_copy(geometry, &p.geometry);
  kr_proposals_add(out, &p);
}

char *rule_place(const struct syntax *s, struct syntax_span span)
{
  char *text = syntax_squeeze(s, span);
  if (strlen(text) > 80)
    strcpy(text + 77, "...");
  return text;
}

void kr_proposals_release(struct kr_proposals *ps)
{
  for (size_t i = 0; i < ps->n; i++) {
    struct kr_proposal *p = &ps->items[i];
    free(p->place);
    free(p->code);
    free(p->summary);
    rule_geometry_release(&p->geometry);
  }
  free(ps->items);
  *ps = (struct kr_proposals){0};
}

static size_t rule_rank(const char *name)
{
  size_t i = 0;
  while (kr_rules[i] && strcmp(kr_rules[i]->name, name))
    i++;
  return i;
}

static int proposal_compare(const void *a, const void *b)
{
  const struct kr_proposal *x = a, *y = b;
  if (x->gain != y->gain)
    return x->gain > y->gain ? -1 : 1;
  size_t rx = rule_rank(x->rule), ry = rule_rank(y->rule);
  if (rx != ry)
    return rx < ry ? -1 : 1;
  return strcmp(x->place, y->place);
}

void kr_rules_propose(const struct kr_rule_input *in, struct kr_proposals *out)
{
  for (size_t i = 0; kr_rules[i]; i++)
    kr_rules[i]->propose(in, out);
  if (out->n)
    qsort(out->items, out->n, sizeof *out->items, proposal_compare);
}
