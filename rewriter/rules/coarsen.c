#include <stdlib.h>
#include <string.h>

#include "../../evaluator/base/mem.h"
#include "list.h"
#include "rule.h"

// Several elements a thread, a block apart, in a kernel that does one index
// behind a guard:
//
//   int i = blockIdx.x * (blockDim.x * 4) + threadIdx.x;
//   #pragma unroll
//   for (int part = 0; part < 4; ++part, i += blockDim.x) {
//     if (i < n) ...
//   }
//
// Neighbouring threads still touch neighbouring elements, several loads are under
// way at once, and what is the same for all elements is computed once. Where the
// launch may change, the grid shrinks with it; where it may not, the last blocks
// find nothing left to do.

static void propose(const struct kr_rule_input *in, struct kr_proposals *out);

const struct kr_rule coarsen_rule = {"coarsen", "several elements a thread", propose};

// A `return` in what becomes a loop's body would skip the elements that follow.
static bool returns_within(const struct syntax *s, size_t first, const struct elementwise *e)
{
  for (size_t st = 0; st < s->n_stmts; st++) {
    if (s->stmts[st].kind == STMT_RETURN && s->stmts[st].function == s->kernel &&
        s->stmts[st].span.first >= s->stmts[first].span.first &&
        !(e->returns && syntax_within(s->stmts[st].span, s->stmts[e->guard].span)))
      return true;
  }
  return false;
}

static void remove_const(struct syntax_edits *edits, const struct syntax *s,
                         const struct syntax_name *n)
{
  for (size_t t = n->specifiers.first; t < n->specifiers.end; t++) {
    if (!syntax_is(s, t, "const"))
      continue;
    // With the blank behind it.
    struct syntax_span word = {t, t + 1};
    syntax_replace(edits, s, word, "%s", "");
    edits->items[edits->n - 1].length = s->toks[t + 1].offset - s->toks[t].offset;
  }
}

// Do the names declared beside the index hang on it? `int i = ..., j = i + 1;`
static bool declared_alone(const struct syntax *s, size_t name)
{
  for (size_t i = 0; i < s->n_names; i++) {
    if (i != name && s->names[i].stmt == s->names[name].stmt)
      return false;
  }
  return true;
}

static void coarsen(const struct kr_rule_input *in, struct syntax *s, const struct elementwise *e,
                    int a, int k, struct kr_proposals *out)
{
  const struct elementwise_axis *axis = &e->axes[a];
  const struct syntax_name *n = &s->names[axis->name];
  size_t body = s->functions[s->kernel].body, last = s->stmts[body].span.end - 1;
  // From the statement behind the declaration of the index.
  size_t first = s->stmts[n->stmt].next;
  if (first == SYNTAX_NONE || s->stmts[n->stmt].parent != body || !declared_alone(s, axis->name) ||
      returns_within(s, first, e))
    return;
  struct syntax_edits edits = {0};
  char *factor = syntax_text(s, s->exprs[axis->factor].span);
  char *part = syntax_fresh(s, "part");
  char *indent = syntax_indent(s, s->stmts[first].span.first);
  const char *step = syntax_indent_step(s);
  syntax_replace(&edits, s, s->exprs[axis->factor].span, "(%s * %d)", factor, k);
  remove_const(&edits, s, n);
  if (e->returns) {
    // The loop ends where the kernel did.
    for (size_t st = 0; st < s->n_stmts; st++) {
      if (s->stmts[st].kind == STMT_RETURN && syntax_within(s->stmts[st].span, s->stmts[e->guard].span))
        syntax_replace(&edits, s, s->stmts[st].span, "break;");
    }
  }
  syntax_line_before(&edits, s, s->stmts[first].span.first,
                     "#pragma unroll\nfor (int %s = 0; %s < %d; ++%s, %s += %s) {", part, part, k,
                     part, n->name, factor);
  // Indent what is inside, line by line.
  size_t from = s->toks[s->stmts[first].span.first].offset, to = s->toks[last].offset;
  size_t end = to;
  while (end > from && s->text[end - 1] != '\n')
    end--;
  for (size_t i = from; i < end; i++) {
    bool begins = i == from ? false : s->text[i - 1] == '\n';
    if (begins && s->text[i] != '\n') {
      syntax_before(&edits, s, last, "%s", step);
      edits.items[edits.n - 1].offset = i;
    }
  }
  syntax_before(&edits, s, s->stmts[first].span.first, "%s", step);
  // The brace on a line of its own before the kernel's closing one.
  syntax_before(&edits, s, last, "%s}\n", indent);
  edits.items[edits.n - 1].offset = end > from ? end : to;
  char *code = syntax_apply(&edits, s);
  struct kr_geometry g = {0};
  bool tunable = in->contract->tunable && !rule_sections_follow_launch(in->contract);
  if (tunable) {
    rule_geometry_copy(in->geometry, &g);
    free(g.grid[a]);
    g.grid[a] = kr_xasprintf("ceil_div(%s, %lld)", axis->bound_text, (long long)axis->block * k);
  }
  rule_propose(out, in, &coarsen_rule, kr_xasprintf("%s x%d", n->name, k), code,
               k == 4 ? 1.06 : k == 2 ? 1.05 : 1.02, tunable ? &g : NULL,
               "Gives each thread %d elements along `%s`, a block apart.", k, n->name);
  rule_geometry_release(&g);
  free(factor);
  free(part);
  free(indent);
}

static void propose(const struct kr_rule_input *in, struct kr_proposals *out)
{
  struct syntax s;
  struct elementwise e;
  syntax_parse(&s, in->code, in->contract);
  if (elementwise_view(&s, in, &e)) {
    int used = e.axes[0].used + e.axes[1].used + e.axes[2].used;
    for (int a = 0; a < 3 && e.alone; a++) {
      // Along the slow axis of two: rows are shared by what stays in registers.
      if (!e.axes[a].used || (used > 1 && a != 1))
        continue;
      for (int k = 2; k <= 8; k *= 2)
        coarsen(in, &s, &e, a, k, out);
    }
    elementwise_release(&e);
  }
  syntax_release(&s);
}
