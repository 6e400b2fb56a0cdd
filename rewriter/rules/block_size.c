#include <stdlib.h>
#include <string.h>

#include "../../evaluator/base/mem.h"
#include "list.h"
#include "rule.h"

// Other block sizes, where the launch may change and the kernel hangs on it in a
// way that is understood:
//
// - one index a thread behind a guard: any block, the grid follows from the bound;
//   a constant in the place of blockDim gives way to it;
// - one block a row, the threads stepping through it by blockDim.x: any power of
//   two, the grid stays.

static void propose(const struct kr_rule_input *in, struct kr_proposals *out);

const struct kr_rule block_size_rule = {"block-size", "other block sizes", propose};

// The N of __launch_bounds__(N), 1024 without one, 0 when it is no number.
static int64_t most_threads(struct syntax *s)
{
  const struct syntax_function *f = &s->functions[s->kernel];
  for (size_t t = f->span.first; t < f->name_token; t++) {
    if (!syntax_is(s, t, "__launch_bounds__"))
      continue;
    if (s->match[t + 1] != t + 3 || s->toks[t + 2].kind != KR_TOK_NUMBER)
      return 0;
    return strtoll(s->text + s->toks[t + 2].offset, NULL, 0);
  }
  return 1024;
}

static void set(char **place, char *text)
{
  free(*place);
  *place = text;
}

static void propose_elementwise(const struct kr_rule_input *in, struct syntax *s,
                                const struct elementwise *e, struct kr_proposals *out)
{
  static const int one[][2] = {{128, 1}, {256, 1}, {512, 1}, {64, 1}, {1024, 1}, {0, 0}};
  static const int two[][2] = {{32, 8}, {32, 4},  {64, 4}, {128, 2}, {128, 1},
                               {256, 1}, {16, 16}, {32, 16}, {64, 1}, {32, 2}, {0, 0}};
  bool flat = !e->axes[1].used;
  int64_t most = most_threads(s);
  if (!e->axes[0].used || e->axes[2].used)
    return;
  for (const int(*size)[2] = flat ? one : two; (*size)[0]; size++) {
    int x = (*size)[0], y = (*size)[1];
    if (x == e->axes[0].block && (flat || y == e->axes[1].block))
      continue;
    if ((int64_t)x * y > most)
      continue;
    struct syntax_edits edits = {0};
    struct kr_geometry g;
    rule_geometry_copy(in->geometry, &g);
    for (int a = 0; a <= !flat; a++) {
      const struct elementwise_axis *axis = &e->axes[a];
      int size_a = a ? y : x;
      if (!axis->factor_is_dim)
        syntax_replace(&edits, s, s->exprs[axis->factor].span, "blockDim.%c", "xyz"[a]);
      set(&g.block[a], kr_xasprintf("%d", size_a));
      set(&g.grid[a], size_a == 1 ? kr_xstrdup(axis->bound_text)
                                  : kr_xasprintf("ceil_div(%s, %d)", axis->bound_text, size_a));
    }
    char *place = flat ? kr_xasprintf("block %d", x) : kr_xasprintf("block %dx%d", x, y);
    double gain = 1.02 - 0.001 * (double)(size - (flat ? one : two));
    rule_propose(out, in, &block_size_rule, place, syntax_apply(&edits, s), gain, &g,
                 "Launches with %s.", place);
    rule_geometry_release(&g);
  }
}

// A constant of the code or the slice with the value of the block's size, or shared
// memory of a constant size: something else hangs on the launch.
static bool hangs_on_size(struct syntax *s, int64_t block)
{
  for (size_t e = 0; e < s->n_exprs; e++) {
    int64_t v;
    enum syntax_expr_kind k = s->exprs[e].kind;
    if ((k == EXPR_NUMBER || (k == EXPR_NAME && s->exprs[e].name == SYNTAX_NONE)) &&
        syntax_constant(s, e, &v) && (v == block || v == block / 2 || v == block / 32 || v == block - 1))
      return true;
  }
  for (size_t i = 0; i < s->n_names; i++) {
    if (s->names[i].storage == SYNTAX_SHARED && !s->names[i].is_extern)
      return true;
  }
  for (size_t t = 0; t < s->n_slice_toks; t++) {
    const char *text = s->contract->before;
    if (kr_token_is(text, s->slice_toks[t], "__shared__") &&
        !(t && kr_token_is(text, s->slice_toks[t - 1], "extern")))
      return true;
    if (s->slice_toks[t].kind == KR_TOK_NUMBER &&
        strtoll(text + s->slice_toks[t].offset, NULL, 0) == block)
      return true;
  }
  return false;
}

// Every loop that starts at threadIdx.x goes on by blockDim.x, and there is one.
static bool steps_by_block(struct syntax *s)
{
  unsigned thread = syntax_builtin_symbol(s, SYMBOL_THREAD, 0);
  unsigned dim = syntax_builtin_symbol(s, SYMBOL_BLOCK_DIM, 0);
  unsigned found = 0;
  for (size_t st = 0; st < s->n_stmts; st++) {
    struct syntax_loop l;
    if (s->stmts[st].kind != STMT_FOR)
      continue;
    if (!syntax_loop(s, st, &l))
      return false;
    struct affine init = syntax_affine(s, l.init);
    struct affine of_thread = affine_coefficient(&init, thread);
    int64_t v;
    if (!affine_is_constant(&of_thread, &v))
      return false;
    if (!v)
      continue;
    struct affine step = syntax_affine(s, l.step), rest = affine_without(&init, thread);
    if (v != 1 || !affine_is_constant(&rest, &v) || v || strcmp(l.step_op, "+=") || !step.known ||
        step.n_terms != 1 || step.terms[0].coefficient != 1 || step.terms[0].n_factors != 1 ||
        step.terms[0].factors[0] != dim)
      return false;
    found++;
  }
  return found > 0;
}

static void propose_rows(const struct kr_rule_input *in, struct syntax *s, struct kr_proposals *out)
{
  static const int sizes[] = {128, 512, 256, 1024, 64, 0};
  int64_t block, one, most = most_threads(s);
  const struct kr_geometry *g = in->geometry;
  if (s->functions[s->kernel].opaque || !syntax_block_dim(in->contract, g, 0, &block) ||
      !syntax_block_dim(in->contract, g, 1, &one) || one != 1 ||
      !syntax_block_dim(in->contract, g, 2, &one) || one != 1 || !steps_by_block(s) ||
      hangs_on_size(s, block))
    return;
  // The grid must not follow from the block, and the shared memory must.
  for (int a = 0; a < 3; a++) {
    if (g->grid[a] && strstr(g->grid[a], "block."))
      return;
  }
  int64_t bytes = 0;
  if (g->shared && strcmp(g->shared, "0") && !strstr(g->shared, "block.x") &&
      !(syntax_geometry_constant(in->contract, g->shared, &bytes) && !bytes))
    return;
  if (g->grid[0] && strstr(g->grid[0], "ceil_div"))
    return;
  for (size_t i = 0; sizes[i]; i++) {
    if (sizes[i] == block || sizes[i] > most)
      continue;
    struct kr_geometry changed;
    rule_geometry_copy(g, &changed);
    set(&changed.block[0], kr_xasprintf("%d", sizes[i]));
    rule_propose(out, in, &block_size_rule, kr_xasprintf("block %d", sizes[i]), kr_xstrdup(in->code),
                 1.02 - 0.001 * (double)i, &changed, "Blocks of %d threads.", sizes[i]);
    rule_geometry_release(&changed);
  }
}

static void propose(const struct kr_rule_input *in, struct kr_proposals *out)
{
  struct syntax s;
  struct elementwise e;
  if (!in->contract->tunable || rule_sections_follow_launch(in->contract))
    return;
  syntax_parse(&s, in->code, in->contract);
  if (s.kernel == SYNTAX_NONE)
    goto out;
  if (elementwise_view(&s, in, &e)) {
    if (e.alone)
      propose_elementwise(in, &s, &e, out);
    elementwise_release(&e);
  } else {
    propose_rows(in, &s, out);
  }
out:
  syntax_release(&s);
}
