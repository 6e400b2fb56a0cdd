#include "fill.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "number.h"

enum { CHUNK = 1 << 15, BATCH = 1024, LARGE_SCALE = 1024, MAX_THREADS = 16 };
#define MAX_OFFSET (INT64_C(1) << 46)

// A bijection of 0 ... n - 1 without a table: a Feistel network on the next even
// number of bits, walked until it lands inside (fewer than four steps on
// average), so that element i needs no other element.
static uint64_t permuted(uint64_t seed, uint32_t stream, uint64_t i, uint64_t n)
{
  int half_bits = 1;
  while (half_bits < 32 && 1ull << 2 * half_bits < n)
    half_bits++;
  uint64_t mask = (1ull << half_bits) - 1;
  do {
    uint64_t left = i >> half_bits, right = i & mask;
    for (uint32_t round = 0; round < 6; round++) {
      uint64_t f[2];
      fill_bits_pair(seed, stream, 0x50000000u + round, right, f);
      uint64_t next = left ^ (f[0] & mask);
      left = right;
      right = next;
    }
    i = left << half_bits | right;
  } while (i >= n);
  return i;
}

// --- one buffer ---

enum fill_mode { BY_DIST, CONSTANT, UNIFORM, NORMAL, INDEX, PERMUTATION, OFFSETS, PER_ELEMENT };

struct fill_job {
  const struct fill_request *q;
  unsigned char *into;
  enum fill_mode mode;
  struct kr_value a, b; // arguments of the generator, or the constant
  int64_t k;            // of index() and offsets()
  atomic_llong next;    // first element of the next chunk
  pthread_mutex_t lock;
  int64_t failed_at; // first element that failed; INT64_MAX: none
  int rc;
  char why[512];
};

static const struct {
  const char *name;
  enum fill_mode mode;
  size_t n_args;
} generators[] = {{"uniform", UNIFORM, 2},
                  {"normal", NORMAL, 2},
                  {"index", INDEX, 1},
                  {"permutation", PERMUTATION, 0},
                  {"offsets", OFFSETS, 1}};

static const char *const later_generators[] = {"sorted", "bits", "sym", "file", "curand"};

static int generator_find(const char *name)
{
  for (size_t i = 0; i < sizeof generators / sizeof *generators; i++) {
    if (!strcmp(generators[i].name, name))
      return (int)i;
  }
  return -1;
}

bool fill_is_index_name(const char *name)
{
  return name[0] == 'i' && (!name[1] || (name[1] >= '0' && name[1] <= '7' && !name[2]));
}

// Values in [i, i + 1) * total / (n - 1), floored: non-decreasing, and rows of
// all lengths from nothing to twice the mean.
static int64_t offset_at(uint64_t bits, int64_t i, int64_t n, int64_t total)
{
  if (i == 0)
    return 0;
  if (i >= n - 1)
    return total;
  fill_u128 place = (fill_u128)(uint64_t)i << 32 | bits >> 32;
  fill_u128 span = (fill_u128)(uint64_t)(n - 1) << 32;
  // i and total are below 2^46 (MAX_OFFSET), so the product stays below 2^124.
  return (int64_t)(place * (uint64_t)total / span);
}

static double signed_unit_exponent(uint64_t bits, int lo, int hi)
{
  int e = lo + (int)((bits >> 52 & 0x7ff) * (uint64_t)(hi - lo + 1) >> 11);
  uint64_t out = (bits & ((1ull << 52) - 1)) | (uint64_t)(e + 1023) << 52 | (bits >> 63) << 63;
  double d;
  memcpy(&d, &out, sizeof d);
  return d;
}

static double real_by_dist(enum kr_kind kind, enum kr_distribution dist, uint64_t bits)
{
  switch (dist) {
  case KR_DIST_LARGE:
    return fill_normal(bits) * LARGE_SCALE;
  case KR_DIST_INTEGER:
    return (double)((int)fill_below(bits, 5) - 2);
  case KR_DIST_ZERO:
    return 0;
  case KR_DIST_MIXED:
    return kind == KR_F16   ? signed_unit_exponent(bits, -8, 3)
           : kind == KR_F64 ? signed_unit_exponent(bits, -40, 40)
                            : signed_unit_exponent(bits, -16, 16);
  default:
    return fill_normal(bits);
  }
}

// Integers may be counts or places for the kernel, so every distribution stays
// within what is documented for them: 0 ... 127, any bits for 8-bit ones.
static int64_t int_by_dist(enum kr_kind kind, enum kr_distribution dist, uint64_t bits)
{
  if (dist == KR_DIST_ZERO)
    return 0;
  if (kind == KR_BOOL)
    return (int64_t)(bits >> 63);
  if (dist == KR_DIST_INTEGER)
    return (int64_t)fill_below(bits, 3);
  if (kind == KR_I8)
    return (int64_t)(bits >> 56) - 128;
  return (int64_t)(kind == KR_U8 ? bits >> 56 : bits >> 57);
}

static void job_fail(struct fill_job *job, int64_t element, int rc, const char *why)
{
  pthread_mutex_lock(&job->lock);
  if (element < job->failed_at) {
    job->failed_at = element;
    job->rc = rc;
    snprintf(job->why, sizeof job->why, "%s", why);
  }
  pthread_mutex_unlock(&job->lock);
}

static double uniform_real(enum kr_kind kind, uint64_t bits, double lo, double hi)
{
  double d = lo + fill_unit(bits) * (hi - lo);
  if (!kr_kind_is_float(kind))
    return d < hi ? floor(d) : lo;
  // Rounding to the kind must not reach `hi`, which is promised not to occur.
  return number_round(kind, d) < hi ? d : lo;
}

// Floating values of at most 32 bits, a batch at once. False for what is made one by
// one.
static bool batch_reals(const struct fill_job *job, const struct kr_leaf *leaf,
                        const uint32_t *words, unsigned char *at, size_t n)
{
  double values[BATCH];
  size_t stride = job->q->type->size;
  enum kr_distribution dist = job->q->dist;
  if (!kr_kind_is_float(leaf->kind) || kr_kind_size(leaf->kind) > 4)
    return false;
  if (job->mode == NORMAL) {
    double a = kr_value_as_real(job->a), b = kr_value_as_real(job->b);
    fill_normals(words, n, values);
    for (size_t i = 0; i < n; i++)
      values[i] = a + b * values[i];
  } else if (job->mode != BY_DIST) {
    return false;
  } else if (dist == KR_DIST_NORMAL || dist == KR_DIST_LARGE) {
    fill_normals(words, n, values);
    for (size_t i = 0; dist == KR_DIST_LARGE && i < n; i++)
      values[i] *= LARGE_SCALE;
  } else {
    for (size_t i = 0; i < n; i++)
      values[i] = real_by_dist(leaf->kind, dist, words[i] | (uint64_t)words[i] << 32);
  }
  if (leaf->kind == KR_F32) {
    float floats[BATCH];
    fill_round_to_floats(values, n, floats);
    if (stride == sizeof *floats)
      memcpy(at, floats, n * sizeof *floats);
    for (size_t i = 0; stride != sizeof *floats && i < n; i++, at += stride)
      memcpy(at, &floats[i], sizeof *floats);
  } else {
    for (size_t i = 0; i < n; i++, at += stride)
      number_put_real(leaf->kind, at, values[i]);
  }
  return true;
}

static void put_simple(struct fill_job *job, const struct kr_leaf *leaf, uint32_t stream,
                       int64_t i, uint64_t bits, unsigned char *at)
{
  const struct fill_request *q = job->q;
  bool is_float = kr_kind_is_float(leaf->kind);
  double a = kr_value_as_real(job->a), b = kr_value_as_real(job->b), d = 0;
  int64_t v = 0;
  switch (job->mode) {
  case UNIFORM:
    d = uniform_real(leaf->kind, bits, a, b);
    v = (int64_t)d;
    break;
  case NORMAL:
    d = a + b * fill_normal(bits);
    break;
  case INDEX:
    v = (int64_t)fill_below(bits, (uint64_t)job->k);
    d = (double)v;
    break;
  case PERMUTATION:
    v = (int64_t)permuted(q->seed, stream, (uint64_t)i, (uint64_t)q->count);
    d = (double)v;
    break;
  case OFFSETS:
    v = offset_at(bits, i, q->count, job->k);
    d = (double)v;
    break;
  default:
    if (is_float)
      d = real_by_dist(leaf->kind, q->dist, bits);
    else
      v = int_by_dist(leaf->kind, q->dist, bits);
  }
  if (job->mode == NORMAL && !is_float) {
    if (number_put_value(leaf->kind, at, kr_value_real(floor(d + 0.5))))
      job_fail(job, i, -1, "a value of normal() does not fit");
  } else if (is_float) {
    number_put_real(leaf->kind, at, d);
  } else {
    number_put_int(leaf->kind, at, v);
  }
}

// Chunks begin at a multiple of four elements, and so at a block of the generator.
static void chunk_simple(struct fill_job *job, const struct kr_leaf *leaf, uint32_t stream,
                         int64_t begin, int64_t end)
{
  const struct fill_request *q = job->q;
  size_t stride = q->type->size;
  // Kinds of at most 32 bits get a word of the generator each, doubled, others two.
  size_t words_each = kr_kind_size(leaf->kind) > 4 ? 2 : 1;
  uint32_t words[2 * BATCH];
  for (int64_t i = begin; i < end; i += BATCH) {
    size_t n = end - i < BATCH ? (size_t)(end - i) : BATCH;
    unsigned char *at = job->into + leaf->offset + (size_t)i * stride;
    fill_words(q->seed, stream, (uint64_t)i * words_each / 4, (n * words_each + 3) / 4, words);
    if (batch_reals(job, leaf, words, at, n))
      continue;
    for (size_t k = 0; k < n; k++, at += stride) {
      uint64_t bits = words_each == 1 ? words[k] | (uint64_t)words[k] << 32
                                      : words[2 * k] | (uint64_t)words[2 * k + 1] << 32;
      put_simple(job, leaf, stream, i + (int64_t)k, bits, at);
    }
  }
}

// --- general expressions ---

struct element_env {
  const struct fill_request *q;
  uint32_t stream;
  int64_t i;
  uint32_t draw; // ordinal of the generator call within this element
  bool no_value; // a generator had nothing to give
};

static int element_lookup(void *arg, const char *name, struct kr_value *out,
                          struct kr_expr_error *error)
{
  (void)error;
  const struct element_env *env = arg;
  if (!fill_is_index_name(name))
    return 1;
  if (!name[1]) {
    *out = kr_value_int(env->i);
    return 0;
  }
  size_t which = (size_t)(name[1] - '0');
  if (which >= env->q->n_dims)
    return 1;
  int64_t rest = env->i;
  for (size_t k = env->q->n_dims - 1; k > which; k--)
    rest /= env->q->dims[k];
  *out = kr_value_int(which ? rest % env->q->dims[which] : rest);
  return 0;
}

static int element_call(void *arg, const char *name, const struct kr_value *args, size_t n,
                        struct kr_value *out, struct kr_expr_error *error)
{
  struct element_env *env = arg;
  for (size_t i = 0; i < sizeof later_generators / sizeof *later_generators; i++) {
    if (!strcmp(name, later_generators[i])) {
      snprintf(error->text, sizeof error->text, "`%s` is not there yet", name);
      return -1;
    }
  }
  int g = generator_find(name);
  if (g < 0)
    return 1;
  if (n != generators[g].n_args) {
    snprintf(error->text, sizeof error->text, "%s() takes %zu arguments, not %zu", name,
             generators[g].n_args, n);
    return -1;
  }
  uint32_t draw = env->draw++;
  uint64_t pair[2];
  fill_bits_pair(env->q->seed, env->stream, draw, (uint64_t)env->i >> 1, pair);
  uint64_t bits = pair[env->i & 1];
  int64_t k = 0;
  if (generators[g].mode == INDEX || generators[g].mode == OFFSETS) {
    if (kr_value_as_int(args[0], &k)) {
      snprintf(error->text, sizeof error->text, "%s() needs a whole number", name);
      return -1;
    }
  }
  switch (generators[g].mode) {
  case UNIFORM:
    *out = kr_value_real(uniform_real(KR_F64, bits, kr_value_as_real(args[0]),
                                      kr_value_as_real(args[1])));
    return 0;
  case NORMAL:
    *out = kr_value_real(kr_value_as_real(args[0]) + kr_value_as_real(args[1]) * fill_normal(bits));
    return 0;
  case INDEX:
    if (k < 1) {
      env->no_value = true;
      snprintf(error->text, sizeof error->text, "index(%lld) has no value", (long long)k);
      return -1;
    }
    *out = kr_value_int((int64_t)fill_below(bits, (uint64_t)k));
    return 0;
  case PERMUTATION:
    *out = kr_value_int((int64_t)permuted(env->q->seed, env->stream + (draw << 24),
                                          (uint64_t)env->i, (uint64_t)env->q->count));
    return 0;
  default:
    if (k < 0 || k >= MAX_OFFSET || (env->q->count == 1 && k)) {
      env->no_value = true;
      snprintf(error->text, sizeof error->text, "offsets(%lld) has no value", (long long)k);
      return -1;
    }
    *out = kr_value_int(offset_at(bits, env->i, env->q->count, k));
    return 0;
  }
}

static void element_name(struct fill_job *job, int64_t i, int rc, const char *why)
{
  char text[512];
  snprintf(text, sizeof text, "element %lld: %s", (long long)i, why);
  job_fail(job, i, rc, text);
}

// Puts a value into a leaf. A real that is not whole is cut for an integer, as
// an assignment in C does; what is out of range is an error.
static int leaf_put(const struct kr_leaf *leaf, unsigned char *at, struct kr_value v, char *why,
                    size_t size)
{
  struct kr_value whole = v;
  if (v.is_real && !kr_kind_is_float(leaf->kind))
    whole = kr_value_real(trunc(v.d));
  if (!number_put_value(leaf->kind, at, whole))
    return 0;
  struct kr_bytes text;
  kr_bytes_init(&text, 128);
  kr_value_print(v, &text);
  snprintf(why, size, "%s does not fit (%s)", text.data, number_c_name(leaf->kind));
  kr_bytes_release(&text);
  return -1;
}

static void chunk_expression(struct fill_job *job, const struct kr_leaf *leaf, uint32_t stream,
                             int64_t begin, int64_t end)
{
  const struct fill_request *q = job->q;
  struct element_env env = {q, stream, 0, 0, false};
  struct kr_expr_env names = {element_lookup, NULL, element_call, &env};
  for (int64_t i = begin; i < end; i++) {
    struct kr_expr_error error = {0};
    struct kr_value v;
    char why[256];
    env.i = i;
    env.draw = 0;
    env.no_value = false;
    if (kr_expr_eval(q->e, &names, &v, &error)) {
      element_name(job, i, env.no_value ? 1 : -1, error.text);
      return;
    }
    unsigned char *at = job->into + leaf->offset + (size_t)i * q->type->size;
    if (leaf_put(leaf, at, v, why, sizeof why)) {
      element_name(job, i, -1, why);
      return;
    }
  }
}

static void chunk_constant(struct fill_job *job, const struct kr_leaf *leaf, int64_t begin,
                           int64_t end)
{
  unsigned char value[8];
  char why[256];
  size_t size = kr_kind_size(leaf->kind), stride = job->q->type->size;
  if (leaf_put(leaf, value, job->a, why, sizeof why)) {
    job_fail(job, begin, -1, why);
    return;
  }
  unsigned char *at = job->into + leaf->offset + (size_t)begin * stride;
  for (int64_t i = begin; i < end; i++, at += stride)
    memcpy(at, value, size);
}

// --- over all elements ---

static void *job_work(void *arg)
{
  struct fill_job *job = arg;
  const struct kr_type *type = job->q->type;
  for (;;) {
    int64_t begin = atomic_fetch_add(&job->next, CHUNK);
    if (begin >= job->q->count)
      return NULL;
    int64_t end = job->q->count - begin < CHUNK ? job->q->count : begin + CHUNK;
    for (size_t l = 0; l < type->n_leaves; l++) {
      uint32_t stream = job->q->section | (uint32_t)l << 12;
      if (job->mode == PER_ELEMENT)
        chunk_expression(job, &type->leaves[l], stream, begin, end);
      else if (job->mode == CONSTANT)
        chunk_constant(job, &type->leaves[l], begin, end);
      else
        chunk_simple(job, &type->leaves[l], stream, begin, end);
    }
  }
}

static void note_varying(void *arg, const struct kr_expr *name, bool is_call)
{
  bool *varies = arg;
  *varies |= is_call || (name->kind == KR_EXPR_NAME && fill_is_index_name(name->name));
}

static bool expr_varies(const struct kr_expr *e)
{
  bool varies = false;
  kr_expr_names(e, note_varying, &varies);
  return varies;
}

// True when one leaf's kind cannot hold every value in [lo, hi].
static bool out_of_range(const struct kr_type *type, int64_t lo, int64_t hi, enum kr_kind *kind)
{
  for (size_t l = 0; l < type->n_leaves; l++) {
    unsigned char memory[8];
    *kind = type->leaves[l].kind;
    if (number_put_value(*kind, memory, kr_value_int(lo)) ||
        number_put_value(*kind, memory, kr_value_int(hi)))
      return true;
  }
  return false;
}

// Reads the expression: a constant and a single generator have fast ways.
static int job_plan(struct fill_job *job, struct kr_err *err)
{
  const struct fill_request *q = job->q;
  const struct kr_expr *e = q->e;
  struct kr_expr_env nothing = {0};
  struct kr_expr_error error = {0};
  if (!e) {
    job->mode = BY_DIST;
    return 0;
  }
  if (!expr_varies(e)) {
    job->mode = CONSTANT;
    if (kr_expr_eval(e, &nothing, &job->a, &error))
      return kr_err_set(err, "%s, in the filler of `%s`", error.text, q->path);
    return 0;
  }
  job->mode = PER_ELEMENT;
  int g = e->kind == KR_EXPR_CALL ? generator_find(e->name) : -1;
  if (g < 0 || e->n_args != generators[g].n_args)
    return 0;
  struct kr_value args[2] = {{0}, {0}};
  for (size_t i = 0; i < e->n_args; i++) {
    if (expr_varies(e->args[i]))
      return 0;
    if (kr_expr_eval(e->args[i], &nothing, &args[i], &error))
      return kr_err_set(err, "%s, in the filler of `%s`", error.text, q->path);
  }
  job->mode = generators[g].mode;
  job->a = args[0];
  job->b = args[1];
  int64_t lo = 0, hi = 0;
  enum kr_kind kind;
  switch (job->mode) {
  case UNIFORM: {
    double from = kr_value_as_real(args[0]), to = kr_value_as_real(args[1]);
    if (!isfinite(from) || !isfinite(to) || !(from < to))
      return kr_err_set(err, "uniform(%g, %g) of `%s` has no value: the first must be less", from,
                        to, q->path);
    if (fabs(from) >= 0x1p62 || fabs(to) >= 0x1p62)
      return 0;
    lo = (int64_t)floor(from);
    hi = (int64_t)ceil(to) - 1;
    break;
  }
  case NORMAL:
    return 0;
  case PERMUTATION:
    hi = q->count - 1;
    break;
  default:
    if (kr_value_as_int(args[0], &job->k))
      return kr_err_set(err, "%s() of `%s` needs a whole number", e->name, q->path);
    if (job->k < (job->mode == INDEX) ||
        (job->mode == OFFSETS && (job->k >= MAX_OFFSET || (q->count == 1 && job->k)))) {
      kr_err_set(err, "%s(%lld) has no value for the %lld elements of `%s`", e->name,
                 (long long)job->k, (long long)q->count, q->path);
      return 1;
    }
    hi = job->mode == INDEX ? job->k - 1 : job->k;
  }
  if (out_of_range(q->type, lo, hi, &kind))
    return kr_err_set(err, "values of %s() up to %lld do not fit an element of `%s` (%s)", e->name,
                      (long long)hi, q->path, number_c_name(kind));
  return 0;
}

int fill_buffer(unsigned char *into, const struct fill_request *q, struct kr_err *err)
{
  if (!q->count)
    return 0;
  for (size_t l = 0; l < q->type->n_leaves; l++) {
    if (q->type->leaves[l].kind == KR_POINTER)
      return kr_err_set(err, "elements of `%s` hold pointers (%s); these are not there yet",
                        q->path, q->type->name);
  }
  struct fill_job job = {.q = q, .into = into, .failed_at = INT64_MAX};
  int rc = job_plan(&job, err);
  if (rc)
    return rc;
  atomic_init(&job.next, 0);
  pthread_mutex_init(&job.lock, NULL);
  long cpus = sysconf(_SC_NPROCESSORS_ONLN);
  int64_t worth = q->count / (4 * CHUNK);
  unsigned n = q->threads ? q->threads : (unsigned)(cpus < 1 ? 1 : cpus);
  if (!q->threads && n > worth)
    n = (unsigned)worth;
  if (n > MAX_THREADS)
    n = MAX_THREADS;
  pthread_t threads[MAX_THREADS];
  unsigned started = 0;
  // This thread works too, and does all of it where no other can be had.
  while (started + 1 < n && !pthread_create(&threads[started], NULL, job_work, &job))
    started++;
  job_work(&job);
  for (unsigned i = 0; i < started; i++)
    pthread_join(threads[i], NULL);
  pthread_mutex_destroy(&job.lock);
  if (job.failed_at == INT64_MAX)
    return 0;
  kr_err_set(err, "filler of `%s`: %s", q->path, job.why);
  return job.rc;
}
