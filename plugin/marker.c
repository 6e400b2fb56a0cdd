#include "marker.h"

#include <stdlib.h>
#include <string.h>

#include "../evaluator/base/hash.h"
#include "../evaluator/base/lex.h"
#include "marker_internal.h"

void marker_mexpr_release(struct kr_mexpr *e)
{
  if (e->e)
    kr_expr_free(e->e);
  free(e->text);
  *e = (struct kr_mexpr){0};
}

static void marker_section_release(struct kr_msection *s)
{
  free(s->path);
  for (size_t i = 0; i < s->n_ranges; i++) {
    marker_mexpr_release(&s->ranges[i].start);
    marker_mexpr_release(&s->ranges[i].length);
  }
  free(s->ranges);
  for (size_t i = 0; i < s->n_fills; i++) {
    marker_mexpr_release(&s->fills[i].expr);
    free(s->fills[i].path);
  }
  free(s->fills);
}

static void marker_binding_release(struct kr_mbinding *b)
{
  for (size_t i = 0; i < b->n_paths; i++)
    free(b->paths[i]);
  free(b->paths);
  free(b->path_at);
  for (size_t i = 0; i < b->n_rows * b->n_paths; i++)
    marker_mexpr_release(&b->values[i]);
  free(b->values);
}

static void marker_targ_release(struct kr_mtarg *a)
{
  free(a->name);
  for (size_t i = 0; i < a->n_values; i++)
    free(a->values[i]);
  free(a->values);
  free(a->value_at);
}

void marker_release(struct kr_marker *m)
{
  free(m->text);
  free(m->reason);
  for (size_t i = 0; i < m->n_bindings; i++)
    marker_binding_release(&m->bindings[i]);
  free(m->bindings);
  for (size_t i = 0; i < m->n_sections; i++)
    marker_section_release(&m->sections[i]);
  free(m->sections);
  for (size_t i = 0; i < m->n_requires; i++)
    marker_mexpr_release(&m->requires_[i]);
  free(m->requires_);
  for (size_t i = 0; i < 3; i++) {
    marker_mexpr_release(&m->grid[i]);
    marker_mexpr_release(&m->block[i]);
  }
  marker_mexpr_release(&m->shared);
  marker_mexpr_release(&m->min_speedup);
  for (size_t i = 0; i < m->n_compares; i++) {
    free(m->compares[i].path);
    marker_mexpr_release(&m->compares[i].rtol);
    marker_mexpr_release(&m->compares[i].atol);
  }
  free(m->compares);
  for (size_t i = 0; i < m->n_aligns; i++) {
    free(m->aligns[i].path);
    marker_mexpr_release(&m->aligns[i].bytes);
  }
  free(m->aligns);
  for (size_t i = 0; i < m->n_instantiates; i++) {
    for (size_t j = 0; j < m->instantiates[i].n_args; j++)
      marker_targ_release(&m->instantiates[i].args[j]);
    free(m->instantiates[i].args);
  }
  free(m->instantiates);
  *m = (struct kr_marker){0};
}

void kr_markers_release(struct kr_markers *m)
{
  for (size_t i = 0; i < m->n; i++)
    marker_release(&m->items[i]);
  free(m->items);
  *m = (struct kr_markers){0};
}

struct kr_hash kr_marker_hash(const struct kr_marker *m)
{
  // The reason of `off` is a remark and counts for nothing.
  struct kr_hash tokens = kr_lex_hash(m->text, strlen(m->text));
  struct kr_hasher h;
  unsigned char verb = (unsigned char)m->verb;
  kr_hasher_init(&h);
  kr_hasher_field(&h, &verb, 1);
  kr_hasher_field(&h, tokens.bytes, sizeof tokens.bytes);
  return kr_hasher_end(&h);
}

const struct kr_marker *kr_markers_above(const struct kr_markers *m, size_t offset,
                                         enum kr_marker_verb verb)
{
  for (size_t i = 0; i < m->n; i++)
    if (m->items[i].verb == verb && m->items[i].target == offset)
      return &m->items[i];
  return NULL;
}
