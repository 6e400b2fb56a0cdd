#include <stdlib.h>
#include <string.h>

#include "../../evaluator/base/mem.h"
#include "list.h"
#include "rule.h"

// __ldg() on elements of const buffers that the kernel only reads. It says of
// one load what __restrict__ says of a pointer, so it is proposed only where
// that word stands already: there every launch site was found to allow it.
// Compilers do this by themselves in plain cases; behind a local pointer or a
// loop they give up.

static void propose(const struct kr_rule_input *in, struct kr_proposals *out);

const struct kr_rule read_only_loads_rule = {
    "read-only-loads", "__ldg() for elements of buffers that are only read", propose};

static bool loadable(enum kr_kind kind)
{
  return kind != KR_BOOL && kind != KR_F16 && kind != KR_BF16 && kind != KR_POINTER;
}

// Is the subscript a plain read of an element, by value?
static bool plain_read(const struct syntax *s, size_t e)
{
  const struct syntax_expr *x = &s->exprs[e];
  if (x->kind != EXPR_SUBSCRIPT || x->use != SYNTAX_READ)
    return false;
  // The operand of `&` or of __ldg(&...) is no value.
  size_t parent = x->parent;
  while (parent != SYNTAX_NONE && s->exprs[parent].kind == EXPR_PAREN)
    parent = s->exprs[parent].parent;
  return parent == SYNTAX_NONE || s->exprs[parent].kind != EXPR_UNARY ||
         !syntax_is(s, s->exprs[parent].op, "&");
}

// A reference would bind to the element itself.
static bool bound_to_reference(const struct syntax *s, size_t e)
{
  for (size_t p = s->exprs[e].parent; p != SYNTAX_NONE; p = s->exprs[p].parent) {
    if (s->exprs[p].kind != EXPR_CALL)
      continue;
    char *name = syntax_callee(s, p);
    bool fine = name && syntax_is(s, s->exprs[p].span.first, name) && syntax_takes_only_values(s, name);
    free(name);
    if (!fine)
      return true;
  }
  return false;
}

static void propose(const struct kr_rule_input *in, struct kr_proposals *out)
{
  struct syntax s;
  syntax_parse(&s, in->code, in->contract);
  for (size_t p = 0; s.kernel != SYNTAX_NONE && p < s.n_names; p++) {
    const struct syntax_name *n = &s.names[p];
    if (n->storage != SYNTAX_PARAM || n->function != s.kernel || n->type.pointers != 1 ||
        !n->type.known || !n->type.is_const || !n->restricted || !loadable(n->type.kind) ||
        s.functions[s.kernel].opaque)
      continue;
    const struct kr_section *sec = syntax_section(in->contract, n->name);
    if (!sec || sec->role != KR_IN)
      continue;
    struct syntax_edits edits = {0};
    size_t count = 0;
    for (size_t e = 0; e < s.n_exprs; e++) {
      if (s.exprs[e].kind != EXPR_SUBSCRIPT || s.exprs[e].function != s.kernel ||
          !plain_read(&s, e) || bound_to_reference(&s, e))
        continue;
      size_t base = syntax_strip(&s, s.exprs[e].child);
      if (s.exprs[base].kind != EXPR_NAME || s.exprs[base].name == SYNTAX_NONE ||
          syntax_root(&s, s.exprs[base].name) != p)
        continue;
      syntax_before(&edits, &s, s.exprs[e].span.first, "__ldg(&");
      syntax_after(&edits, &s, s.exprs[e].span.end - 1, ")");
      count++;
    }
    if (count)
      rule_propose(out, in, &read_only_loads_rule, kr_xstrdup(n->name), syntax_apply(&edits, &s),
                   1.003, NULL, "Reads `%s` through the read-only cache: nothing writes it.", n->name);
    else
      syntax_edits_release(&edits);
  }
  syntax_release(&s);
}
