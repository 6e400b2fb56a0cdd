#include "judge_internal.h"

#include <math.h>

#include "fill.h"
#include "number.h"

// Does it look at all of its input? One term among 64 Ki is less than a float's
// tolerance, so a kernel that drops the last one, or every one behind some place,
// passes on inputs of one size. So a few elements of every floating input are made
// large: the last, those near it, some anywhere, in as many rows as there are.
// What the original makes of these is what the candidate must make of them.

enum { SPIKED_ROWS = 64, SPIKES_A_ROW = 16 };

static bool may_spike(const struct kr_buffer *b)
{
  if (b->null || !b->count || !b->init || b->role == KR_OUT)
    return false;
  for (size_t l = 0; l < b->type->n_leaves; l++) {
    if (kr_kind_is_float(b->type->leaves[l].kind))
      return true;
  }
  return false;
}

// What the user wrote to fill a section keeps its sign and its zeros.
static void spike(const struct kr_instance *in, struct kr_buffer *b, int64_t element, uint64_t bits)
{
  const struct kr_filling *f = &in->contract->cases[in->case_index].fillings[b->section];
  for (size_t l = 0; l < b->type->n_leaves; l++) {
    const struct kr_leaf *leaf = &b->type->leaves[l];
    if (!kr_kind_is_float(leaf->kind))
      continue;
    unsigned char *at = b->init + (size_t)element * b->type->size + leaf->offset;
    double was = number_get_real(leaf->kind, at), by = 8 + 8 * fill_unit(bits);
    double value = f->kind == KR_FILLED_EXPR ? was * by : bits & 1 ? -by : by;
    number_put_value(leaf->kind, at, kr_value_real(value));
  }
}

static void spike_buffer(struct judgement *j, const struct kr_instance *in, struct kr_buffer *b)
{
  int64_t cols = b->n_dims ? b->dims[b->n_dims - 1] : b->count;
  int64_t rows = cols ? b->count / cols : 0;
  int64_t n_rows = rows < SPIKED_ROWS ? rows : SPIKED_ROWS;
  for (int64_t r = 0; r < n_rows; r++) {
    int64_t row = rows <= SPIKED_ROWS ? r : (int64_t)fill_below(judge_draw(j), (uint64_t)rows);
    // Where there are many rows one each will do, of another kind in each.
    int spikes = n_rows > SPIKES_A_ROW ? 1 : SPIKES_A_ROW / (int)n_rows;
    for (int s = 0; s < spikes; s++) {
      uint64_t bits = judge_draw(j);
      int kind = (int)((r + s) % 4);
      int64_t near = cols < 32 ? cols : 32;
      int64_t col = kind == 0   ? cols - 1
                    : kind == 1 ? cols - 1 - (int64_t)fill_below(bits, (uint64_t)near)
                                : (int64_t)fill_below(bits, (uint64_t)cols);
      spike(in, b, row * cols + col, judge_draw(j));
    }
  }
}

static int spiked(struct judgement *j, const struct sizes_point *p)
{
  struct kr_evaluator *e = j->e;
  struct kr_instance in;
  struct kr_err err = {{0}};
  if (evaluator_instance(e, p->case_index, judge_draw(j), KR_DIST_NORMAL, p->overrides, p->n, &in,
                         &err))
    return JUDGE_PASSED;
  in.held_out = p->n > 0;
  bool any = false;
  for (size_t i = 0; i < in.n_buffers; i++) {
    if (!may_spike(&in.buffers[i]))
      continue;
    spike_buffer(j, &in, &in.buffers[i]);
    any = true;
  }
  j->extreme = true;
  int rc = any ? judge_instance(j, KR_STAGE_CHECK, &in) : JUDGE_PASSED;
  j->extreme = false;
  kr_instance_release(&in);
  return rc;
}

int judge_sensitive(struct judgement *j)
{
  struct kr_evaluator *e = j->e;
  struct sizes_point p;
  int rc = judge_largest_cheap(e, &p) ? spiked(j, &p) : JUDGE_PASSED;
  for (size_t k = 0; k < e->c->n_cases && rc == JUDGE_PASSED && j->o->thorough; k++) {
    struct sizes_point declared = {.case_index = k};
    if (e->cases[k].bytes <= EVALUATOR_LARGE_BYTES)
      rc = spiked(j, &declared);
  }
  return rc;
}
