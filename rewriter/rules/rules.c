#include "rules.h"

#include <stdlib.h>
#include <string.h>

#include "../../evaluator/base/mem.h"
#include "list.h"

const struct kr_rule *const kr_rules[] = {
    &matmul_tile_rule,
    &transpose_tile_rule,
    &private_histogram_rule,
    &warp_shuffle_rule,
    &vector4_rule,
    NULL};

void kr_proposals_add(struct kr_proposals *ps, struct kr_proposal *p)
{
  KR_GROW(ps->items, ps->n, ps->cap);
  ps->items[ps->n++] = *p;
  memset(p, 0, sizeof *p);
}

static void geometry_release(struct kr_geometry *g)
{
  for (int i = 0; i < 3; i++) {
    free(g->grid[i]);
    free(g->block[i]);
  }
  free(g->shared);
}

void kr_proposals_release(struct kr_proposals *ps)
{
  for (size_t i = 0; i < ps->n; i++) {
    struct kr_proposal *p = &ps->items[i];
    free(p->place);
    free(p->code);
    free(p->summary);
    geometry_release(&p->geometry);
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
