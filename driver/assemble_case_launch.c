#include "assemble_case.h"

#include <stdio.h>
#include <string.h>

#include "../evaluator/base/mem.h"

// The launch of one case: within what devices take, over all the elements, and
// as the program makes it.

enum {
  CASE_BLOCK_THREADS = 1024,
  CASE_SHARED_BYTES = 48 << 10
};

static struct kr_span geo_place(const struct case_env *v, const struct asm_geo *g)
{
  const struct kr_psite *site = v->a->site;
  if (g->written)
    return g->written->at;
  return site && site->in_file ? site->config : asm_marker_place(v->a);
}

static bool geo_value(struct case_env *v, const struct asm_geo *g, bool *busy, const char *what,
                      int64_t lo, int64_t hi, int64_t *out)
{
  struct kr_expr_error error = {0};
  struct kr_value value;
  char text[512];
  *out = lo ? 1 : 0;
  if (!g->e)
    return true;
  if (busy)
    *busy = true;
  int rc = case_eval_raw(v, g->e, &value, &error);
  if (busy)
    *busy = false;
  if (rc) {
    struct kr_span at = g->written ? kr_marker_expr_place(v->a->r->src, g->written, error.offset,
                                                          error.length)
                                   : geo_place(v, g);
    if (g->written)
      return case_fail(v, at, error.text);
    snprintf(text, sizeof text, "%.200s, in the %.20s `%.200s`", error.text, what, g->text);
    return case_fail(v, at, text);
  }
  if (kr_value_as_int(value, out)) {
    snprintf(text, sizeof text, "the %s `%.200s` is no whole number", what, g->text);
    return case_fail(v, geo_place(v, g), text);
  }
  if (*out < lo || *out > hi) {
    snprintf(text, sizeof text, "the %s `%.200s` is %lld, outside %lld … %lld", what, g->text,
             (long long)*out, (long long)lo, (long long)hi);
    return case_fail(v, geo_place(v, g), text);
  }
  return true;
}

// `grid(n / 256)`: blocks of 256 that leave the rest of n alone.
static void geo_coverage(struct case_env *v, const struct asm_geo *g, int64_t blocks,
                         const int64_t block[3])
{
  struct assembly *a = v->a;
  struct kr_value over, by;
  struct kr_expr_error error;
  int64_t n, d;
  if (a->uncovered_told || !g->e || g->e->kind != KR_EXPR_BINARY || strcmp(g->e->op, "/"))
    return;
  // `(n + 255) / 256` rounds up already.
  const struct kr_expr *top = g->e->args[0];
  if (top->kind == KR_EXPR_BINARY && (!strcmp(top->op, "+") || !strcmp(top->op, "-")))
    return;
  if (case_eval_raw(v, g->e->args[0], &over, &error) || case_eval_raw(v, g->e->args[1], &by, &error) ||
      kr_value_as_int(over, &n) || kr_value_as_int(by, &d) || d <= 0 || n <= 0 || n % d == 0)
    return;
  if (d != block[0] && d != block[1] && d != block[2] && d != block[0] * block[1] * block[2])
    return;
  a->uncovered_told = true;
  long long covered = blocks * d;
  struct kr_bytes name, divisor;
  kr_bytes_init(&name, 1 << 16);
  kr_bytes_init(&divisor, 1 << 16);
  kr_expr_print(g->e->args[0], false, NULL, NULL, &name, NULL);
  kr_expr_print(g->e->args[1], false, NULL, NULL, &divisor, NULL);
  asm_tell(a, KR_SEV_NOTE, geo_place(v, g),
           "at %s = %lld the grid covers %lld threads; `ceil_div(%s, %s)` covers all", name.data,
           (long long)n, covered, name.data, divisor.data);
  kr_bytes_release(&name);
  kr_bytes_release(&divisor);
}

// What the marker says of a launch must be so where a site shows it: a version
// proved under another geometry than the program's is not proved.
static bool geo_as_launched(struct case_env *v, const struct asm_geo *g, const char *what,
                            const char *text, const struct kr_psite *site, int64_t value)
{
  struct kr_expr_error error = {0};
  struct kr_value there;
  int64_t i;
  bool ok = true;
  // `sms` has a value of the device's, which is not known here.
  if (!g->written || !text || strstr(g->text, "sms"))
    return true;
  struct kr_expr *e = kr_expr_parse(text, strlen(text), &error);
  if (e && !case_eval_raw(v, e, &there, &error) && !kr_value_as_int(there, &i) && i != value) {
    char say[512];
    snprintf(say, sizeof say, "the launch at line %u has %s %lld (`%.200s`), not %lld",
             site->line, what, (long long)i, text, (long long)value);
    ok = case_fail(v, g->written->at, say);
  }
  kr_expr_free(e);
  return ok;
}

static bool case_as_launched(struct case_env *v, const int64_t grid[3], const int64_t block[3],
                             int64_t shared)
{
  static const char *const grids[] = {"grid.x", "grid.y", "grid.z"};
  static const char *const blocks[] = {"block.x", "block.y", "block.z"};
  const struct assembly *a = v->a;
  bool ok = true;
  for (size_t s = 0; s < a->k->n_sites; s++) {
    const struct kr_psite *site = &a->k->sites[s];
    if (!asm_site_is_of(a, s, v->inst))
      continue;
    for (int d = 0; d < 3; d++) {
      // A dimension that one of the two leaves out is 1.
      const struct asm_geo *g = a->grid[d].e ? &a->grid[d] : &a->grid[0];
      const struct asm_geo *b = a->block[d].e ? &a->block[d] : &a->block[0];
      ok &= geo_as_launched(v, g, grids[d], site->grid[0] && !site->grid[d] ? "1" : site->grid[d],
                            site, grid[d]);
      ok &= geo_as_launched(v, b, blocks[d],
                            site->block[0] && !site->block[d] ? "1" : site->block[d], site,
                            block[d]);
    }
    const char *none = site->shared_text ? NULL : "0";
    ok &= geo_as_launched(v, &a->shared, "shared memory", site->shared ? site->shared : none, site,
                          shared);
  }
  return ok;
}

bool case_launch(struct case_env *v)
{
  static const int64_t block_max[3] = {1024, 1024, 64};
  static const int64_t grid_max[3] = {INT32_MAX, 65535, 65535};
  struct assembly *a = v->a;
  int64_t block[3], grid[3], shared;
  for (int d = 0; d < 3; d++)
    if (!geo_value(v, &a->block[d], &v->busy[d], "block", 1,
                   d < 2 ? INT32_MAX : block_max[d], &block[d]))
      return false;
  char text[256];
  if (block[0] > CASE_BLOCK_THREADS || block[1] > CASE_BLOCK_THREADS ||
      block[0] * block[1] * block[2] > CASE_BLOCK_THREADS) {
    snprintf(text, sizeof text, "%.0f threads exceed the limit of %d a block",
             (double)block[0] * (double)block[1] * (double)block[2], CASE_BLOCK_THREADS);
    return case_fail(v, geo_place(v, &a->block[0]), text);
  }
  for (int d = 0; d < 3; d++)
    if (!geo_value(v, &a->grid[d], &v->busy[3 + d], "grid", 1, grid_max[d], &grid[d]))
      return false;
  if (!geo_value(v, &a->shared, NULL, "shared size", 0, INT64_MAX, &shared))
    return false;
  if (shared > CASE_SHARED_BYTES) {
    snprintf(text, sizeof text,
             "%lld bytes of shared memory exceed the %d that a launch may have without an "
             "attribute; more is not there yet",
             (long long)shared, CASE_SHARED_BYTES);
    return case_fail(v, geo_place(v, &a->shared), text);
  }
  for (int d = 0; d < 3; d++)
    geo_coverage(v, &a->grid[d], grid[d], block);
  return case_as_launched(v, grid, block, shared);
}
