#include "compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "number.h"
#include "scope.h"

struct tolerance {
  bool exact;
  double rtol, atol; // atol < 0: rms takes its place
};

double compare_rtol(enum kr_kind kind)
{
  return kind == KR_F64 ? 1e-12 : kind == KR_F32 ? 1e-5 : kind == KR_F16 ? 2e-3
         : kind == KR_BF16 ? 1.6e-2 : 0;
}

double compare_rtol_most(enum kr_kind kind)
{
  return kind == KR_F64 ? 1e-9 : kind == KR_F32 ? 1e-4 : kind == KR_F16 ? 1e-2
         : kind == KR_BF16 ? 4e-2 : 0;
}

static int tolerance_of(const struct compare_input *q, size_t buffer, size_t l,
                        struct tolerance *t, struct kr_err *err)
{
  const struct kr_instance *in = q->in;
  const struct kr_section *section = &in->contract->sections[in->buffers[buffer].section];
  enum kr_kind kind = in->buffers[buffer].type->leaves[l].kind;
  *t = (struct tolerance){!kr_kind_is_float(kind) || section->compare == KR_CMP_EXACT,
                          q->raised ? fmax(compare_rtol(kind), q->raised[buffer][l])
                                    : compare_rtol(kind), -1};
  if (t->exact || section->compare != KR_CMP_TOL)
    return 0;
  struct scope s = {.contract = in->contract,
                    .names = in->names,
                    .n_names = in->n_names,
                    .geometry = &in->contract->geometry};
  struct kr_value v;
  if (scope_eval(&s, section->rtol, "compare(tol(...))", &v, err))
    return -1;
  t->rtol = kr_value_as_real(v);
  if (section->atol) {
    if (scope_eval(&s, section->atol, "compare(tol(...))", &v, err))
      return -1;
    t->atol = kr_value_as_real(v);
  }
  if (!(t->rtol >= 0 && t->rtol < 1) || (section->atol && !(t->atol >= 0 && isfinite(t->atol))))
    return kr_err_set(err, "tol(%g, %g) of `%s` is no tolerance: the first is in [0, 1), the "
                      "second at least 0", t->rtol, t->atol < 0 ? 0 : t->atol, section->path);
  return 0;
}

// One leaf of one output, as strided arrays.
struct column {
  const unsigned char *ref[2], *got[2];
  size_t stride, size;
  int64_t count;
  enum kr_kind kind;
  bool may_be_unwritten;
};

static bool all_poison(const unsigned char *at, size_t size, unsigned char poison)
{
  for (size_t i = 0; i < size; i++) {
    if (at[i] != poison)
      return false;
  }
  return true;
}

static bool unwritten(const unsigned char *const runs[2], size_t offset, size_t size,
                      const unsigned char poison[2])
{
  return all_poison(runs[0] + offset, size, poison[0]) &&
         all_poison(runs[1] + offset, size, poison[1]);
}

// Root mean square of the finite values, scaled against overflow.
static double column_rms(const struct column *c, const struct compare_input *q)
{
  double largest = 0, sum = 0;
  int64_t n = 0;
  for (int pass = 0; pass < 2; pass++) {
    for (int64_t i = 0; i < c->count; i++) {
      size_t at = (size_t)i * c->stride;
      double r = number_get_real(c->kind, c->ref[0] + at);
      if (!isfinite(r) ||
          (c->may_be_unwritten && unwritten(c->ref, at, c->size, q->ref_poison)))
        continue;
      if (!pass) {
        largest = fmax(largest, fabs(r));
      } else {
        sum += r / largest * (r / largest);
        n++;
      }
    }
    if (!largest)
      return 0;
  }
  return largest * sqrt(sum / (double)n);
}

static enum compare_kind real_passes(double c, double r, const struct tolerance *t, double rms,
                                     bool exact_values, double *rel)
{
  if (!isfinite(c) || !isfinite(r)) {
    if (isnan(c) && isnan(r))
      return COMPARE_EQUAL;
    return c == r ? COMPARE_EQUAL : COMPARE_NONFINITE;
  }
  if (c == r)
    return COMPARE_EQUAL;
  double off = fabs(c - r), scale = fabs(r) + rms;
  *rel = scale > 0 ? off / scale : INFINITY;
  if (exact_values)
    return COMPARE_VALUE;
  double allowed = t->atol < 0 ? t->rtol * scale : t->atol + t->rtol * fabs(r);
  return off <= allowed ? COMPARE_EQUAL : COMPARE_VALUE;
}

// Nought where the original has a value, too small for a tolerance that is
// relative to the output as a whole: one may be cancellation, many are work not
// done. What may be flushed to zero is not counted.
enum { MISSING_SHARE = 8, MISSING_LEAST = 4 };

static double least_counted(enum kr_kind kind)
{
  return kind == KR_F64 ? 1e-280 : kind == KR_F16 ? 1e-4 : 1e-30;
}

static bool too_many_missing(int64_t missing, int64_t compared)
{
  return missing >= MISSING_LEAST && missing > compared / MISSING_SHARE;
}

static void first_wrong(struct compare_result *out, enum compare_kind kind, int64_t index,
                        double expected, double got)
{
  if (!out->n_wrong++) {
    out->kind = kind;
    out->index = index;
    out->expected = expected;
    out->got = got;
  }
}

// The honest case of float and double at full speed: every value finite, in
// tolerance, and alike in both launches. Anything else is left to the slow way,
// which says what it is. Only for columns in which nothing is unwritten.
#define FAST_COLUMN(name, type)                                                                    \
  static bool name(const struct column *c, const struct tolerance *t, bool exact_values,           \
                   struct compare_result *out)                                                     \
  {                                                                                                \
    const type *ref = (const type *)(const void *)c->ref[0];                                       \
    const type *got = (const type *)(const void *)c->got[0];                                       \
    const type *twin = (const type *)(const void *)c->got[1];                                      \
    double sum = 0, worst = 0;                                                                     \
    bool nonzero = false;                                                                          \
    int64_t missing = 0;                                                                           \
    const double least = least_counted(c->kind);                                                   \
    if (c->stride != sizeof(type))                                                                 \
      return false;                                                                                \
    for (int64_t i = 0; i < c->count; i++)                                                         \
      sum += (double)ref[i] * (double)ref[i];                                                      \
    if (!isfinite(sum) || memcmp(got, twin, (size_t)c->count * sizeof(type)))                      \
      return false;                                                                                \
    double rms = sqrt(sum / (double)c->count);                                                     \
    for (int64_t i = 0; i < c->count; i++) {                                                       \
      double r = (double)ref[i], g = (double)got[i], off = fabs(g - r), scale = fabs(r) + rms;     \
      double allowed = t->atol < 0 ? t->rtol * scale : t->atol + t->rtol * fabs(r);                \
      if (exact_values)                                                                            \
        allowed = 0;                                                                               \
      if (!(off <= allowed))                                                                       \
        return false;                                                                              \
      nonzero |= g != 0;                                                                           \
      missing += g == 0 && fabs(r) > least && t->atol < 0;                                         \
      if (off > worst * scale)                                                                     \
        worst = off / scale;                                                                       \
    }                                                                                              \
    if ((sum > 0 && !nonzero) || too_many_missing(missing, c->count))                              \
      return false;                                                                                \
    out->max_rel_err = worst > out->max_rel_err ? worst : out->max_rel_err;                        \
    out->exact &= !memcmp(ref, got, (size_t)c->count * sizeof(type));                              \
    out->n_compared = c->count;                                                                    \
    return true;                                                                                   \
  }

FAST_COLUMN(fast_column_f32, float)
FAST_COLUMN(fast_column_f64, double)

// Compares one column. Fills the figures of `out`; its kind is set at the first
// element that fails.
static void compare_column(const struct column *c, const struct compare_input *q,
                           const struct tolerance *t, struct compare_result *out)
{
  double rms = t->exact ? 0 : column_rms(c, q);
  bool ref_nonzero = false, got_nonzero = false;
  int64_t missing = 0;
  for (int64_t i = 0; i < c->count; i++) {
    size_t at = (size_t)i * c->stride;
    const unsigned char *r = c->ref[0] + at, *g[2] = {c->got[0] + at, c->got[1] + at};
    double expected = number_get(c->kind, r);
    bool got_unwritten =
        c->may_be_unwritten && !q->timed && unwritten(c->got, at, c->size, q->got_poison);
    if (c->may_be_unwritten && unwritten(c->ref, at, c->size, q->ref_poison)) {
      if (!got_unwritten && !q->timed)
        first_wrong(out, COMPARE_OVERWRITTEN, i, expected, number_get(c->kind, g[0]));
      continue;
    }
    out->n_compared++;
    if (got_unwritten) {
      first_wrong(out, COMPARE_UNWRITTEN, i, expected, number_get(c->kind, g[0]));
      continue;
    }
    bool twins = !memcmp(g[0], g[1], c->size);
    enum compare_kind kind = COMPARE_EQUAL;
    double got = number_get(c->kind, g[0]);
    ref_nonzero |= expected != 0 && isfinite(expected);
    got_nonzero |= got != 0;
    missing += got == 0 && !t->exact && t->atol < 0 && fabs(expected) > least_counted(c->kind);
    for (int run = 0; run < (twins ? 1 : 2) && kind == COMPARE_EQUAL; run++) {
      if (!memcmp(g[run], r, c->size))
        continue;
      out->exact = false;
      got = number_get(c->kind, g[run]);
      if (t->exact) {
        kind = COMPARE_VALUE;
      } else {
        double rel = 0;
        kind = real_passes(got, expected, t, rms, q->exact_values, &rel);
        out->max_rel_err = fmax(out->max_rel_err, rel);
      }
    }
    // Two launches that differ are told as such even where one of them is wrong:
    // it is what its author has to know.
    if (!twins && q->stable) {
      kind = COMPARE_UNSTABLE;
      expected = number_get(c->kind, g[0]);
      got = number_get(c->kind, g[1]);
    }
    if (kind != COMPARE_EQUAL)
      first_wrong(out, kind, i, expected, got);
  }
  bool all_zero = ref_nonzero && !got_nonzero;
  if (out->kind == COMPARE_EQUAL && (all_zero || too_many_missing(missing, out->n_compared))) {
    for (int64_t i = 0; i < c->count; i++) {
      double expected = number_get(c->kind, c->ref[0] + (size_t)i * c->stride);
      if (expected != 0 && isfinite(expected) &&
          number_get(c->kind, c->got[0] + (size_t)i * c->stride) == 0) {
        first_wrong(out, all_zero ? COMPARE_ALL_ZERO : COMPARE_MISSING, i, expected, 0);
        break;
      }
    }
  }
}

static bool input_unchanged(const struct kr_buffer *b, const unsigned char *after,
                            struct compare_result *out)
{
  if (!after || !b->bytes || !memcmp(b->init, after, b->bytes)) // NULL: seen by the back end
    return true;
  size_t at = 0;
  while (b->init[at] == after[at])
    at++;
  out->kind = COMPARE_CONST;
  out->index = (int64_t)(at / b->type->size);
  out->leaf = 0;
  for (size_t l = 0; l < b->type->n_leaves; l++) {
    const struct kr_leaf *leaf = &b->type->leaves[l];
    size_t in_element = at % b->type->size;
    if (in_element >= leaf->offset && in_element < leaf->offset + kr_kind_size(leaf->kind)) {
      size_t offset = (size_t)out->index * b->type->size + leaf->offset;
      out->leaf = l;
      out->expected = number_get(leaf->kind, b->init + offset);
      out->got = number_get(leaf->kind, after + offset);
    }
  }
  out->n_wrong = 1;
  return false;
}

int compare_runs(const struct compare_input *q, struct compare_result *out, struct kr_err *err)
{
  memset(out, 0, sizeof *out);
  out->exact = true;
  for (size_t i = 0; i < q->in->n_buffers; i++) {
    const struct kr_buffer *b = &q->in->buffers[i];
    if (b->null || !b->bytes)
      continue;
    out->buffer = i;
    if (b->role == KR_IN && q->timed)
      continue;
    if (b->role == KR_IN) {
      for (int run = 0; run < 2; run++) {
        if (!input_unchanged(b, q->got[run][i], out))
          return 0;
      }
      continue;
    }
    // Equal bytes everywhere, nothing left of the poisons: the common honest case.
    bool ref_equal = !memcmp(q->ref[0][i], q->ref[1][i], b->bytes);
    if (ref_equal && !memcmp(q->ref[0][i], q->got[0][i], b->bytes) &&
        !memcmp(q->ref[0][i], q->got[1][i], b->bytes))
      continue;
    for (size_t l = 0; l < b->type->n_leaves; l++) {
      const struct kr_leaf *leaf = &b->type->leaves[l];
      struct tolerance t;
      if (tolerance_of(q, i, l, &t, err))
        return -1;
      struct column c = {.stride = b->type->size,
                         .size = kr_kind_size(leaf->kind),
                         .count = b->count,
                         .kind = leaf->kind,
                         .may_be_unwritten = b->role == KR_OUT};
      for (int run = 0; run < 2; run++) {
        c.ref[run] = q->ref[run][i] + leaf->offset;
        c.got[run] = q->got[run][i] + leaf->offset;
      }
      out->leaf = l;
      out->n_wrong = out->n_compared = 0;
      bool fast = !t.exact && (b->role != KR_OUT || ref_equal) && c.count;
      if (fast && c.kind == KR_F32)
        fast = fast_column_f32(&c, &t, q->exact_values, out);
      else
        fast = fast && c.kind == KR_F64 && fast_column_f64(&c, &t, q->exact_values, out);
      if (!fast)
        compare_column(&c, q, &t, out);
      if (out->kind != COMPARE_EQUAL) {
        out->exact = false;
        return 0;
      }
    }
  }
  return 0;
}

void compare_where(const struct kr_instance *in, const struct compare_result *r,
                   struct kr_bytes *out)
{
  kr_buffer_place(in, r->buffer, r->index, out);
  const struct kr_type *type = in->buffers[r->buffer].type;
  if (r->leaf < type->n_leaves && type->leaves[r->leaf].path[0])
    kr_bytes_addf(out, ".%s", type->leaves[r->leaf].path);
}

void compare_describe(const struct compare_input *q, const struct compare_result *r,
                      struct kr_bytes *out)
{
  const struct kr_section *section =
      &q->in->contract->sections[q->in->buffers[r->buffer].section];
  struct kr_bytes where;
  kr_bytes_init(&where, 4096);
  compare_where(q->in, r, &where);
  switch (r->kind) {
  case COMPARE_EQUAL:
    kr_bytes_adds(out, "equal");
    break;
  case COMPARE_VALUE:
  case COMPARE_NONFINITE:
    kr_bytes_addf(out, "%s is %.9g, expected %.9g", where.data, r->got, r->expected);
    break;
  case COMPARE_MISSING:
    kr_bytes_addf(out, "more than an eighth of `%s` is zero where the original has values; %s "
                  "should be %.9g", section->path, where.data, r->expected);
    break;
  case COMPARE_ALL_ZERO:
    kr_bytes_addf(out, "all of `%s` is zero; %s should be %.9g", section->path, where.data,
                  r->expected);
    break;
  case COMPARE_CONST:
    kr_bytes_addf(out, "%s is an input and was changed from %.9g to %.9g", where.data, r->expected,
                  r->got);
    break;
  case COMPARE_UNWRITTEN:
    kr_bytes_addf(out, "%s was not written, expected %.9g", where.data, r->expected);
    break;
  case COMPARE_OVERWRITTEN:
    kr_bytes_addf(out, "%s was written; the original leaves it as it was", where.data);
    break;
  case COMPARE_UNSTABLE:
    kr_bytes_addf(out, "%s differs between two launches on equal inputs: %.9g and %.9g",
                  where.data, r->expected, r->got);
    break;
  }
  if (r->kind == COMPARE_VALUE || r->kind == COMPARE_UNWRITTEN || r->kind == COMPARE_NONFINITE)
    kr_bytes_addf(out, " (%lld of %lld elements of `%s` are wrong)", (long long)r->n_wrong,
                  (long long)r->n_compared, section->path);
  kr_bytes_addf(out, ", in the case %s", q->in->label);
  kr_bytes_release(&where);
}

// Calls for every value of every floating output.
static bool each_real(const struct kr_instance *in, unsigned char *const *after,
                      bool (*visit)(enum kr_kind kind, double v, void *arg), void *arg)
{
  for (size_t i = 0; i < in->n_buffers; i++) {
    const struct kr_buffer *b = &in->buffers[i];
    if (b->null || b->role == KR_IN)
      continue;
    for (size_t l = 0; l < b->type->n_leaves; l++) {
      const struct kr_leaf *leaf = &b->type->leaves[l];
      if (!kr_kind_is_float(leaf->kind))
        continue;
      const unsigned char *at = after[i] + leaf->offset;
      for (int64_t k = 0; k < b->count; k++, at += b->type->size) {
        if (!visit(leaf->kind, number_get_real(leaf->kind, at), arg))
          return false;
      }
    }
  }
  return true;
}

static bool is_whole(enum kr_kind kind, double v, void *arg)
{
  (void)arg;
  double most = kind == KR_F64 ? 0x1p53 : kind == KR_F32 ? 0x1p24 : kind == KR_F16 ? 0x1p11 : 0x1p8;
  return fabs(v) <= most && v == trunc(v);
}

bool compare_all_whole(const struct kr_instance *in, unsigned char *const *after)
{
  return each_real(in, after, is_whole, NULL);
}

// Small enough that sums of products of a million of them are still exact.
static bool small_whole(enum kr_kind kind, const unsigned char *at)
{
  double v = number_get_real(kind, at);
  return fabs(v) <= 16 && v == trunc(v);
}

bool compare_inputs_whole(const struct kr_instance *in)
{
  const struct kr_param *params = kr_case_params(in->contract, in->case_index);
  for (size_t i = 0; i < in->contract->n_params; i++) {
    for (size_t l = 0; l < params[i].n_leaves; l++) {
      const struct kr_leaf *leaf = &params[i].leaves[l];
      if (kr_kind_is_float(leaf->kind) && !small_whole(leaf->kind, in->params[i] + leaf->offset))
        return false;
    }
  }
  for (size_t i = 0; i < in->n_buffers; i++) {
    const struct kr_buffer *b = &in->buffers[i];
    for (size_t l = 0; b->init && l < b->type->n_leaves; l++) {
      const struct kr_leaf *leaf = &b->type->leaves[l];
      const unsigned char *at = b->init + leaf->offset;
      for (int64_t k = 0; kr_kind_is_float(leaf->kind) && k < b->count; k++, at += b->type->size) {
        if (!small_whole(leaf->kind, at))
          return false;
      }
    }
  }
  return true;
}

static bool count_nonfinite(enum kr_kind kind, double v, void *arg)
{
  (void)kind;
  *(size_t *)arg += !isfinite(v);
  return true;
}

size_t compare_count_nonfinite(const struct kr_instance *in, unsigned char *const *after)
{
  size_t n = 0;
  each_real(in, after, count_nonfinite, &n);
  return n;
}
