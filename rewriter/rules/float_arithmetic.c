#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../evaluator/base/mem.h"
#include "list.h"
#include "rule.h"

// Double arithmetic that nobody asked for: an expression whose variables are all
// float (or integers) and whose result goes into a float, computed in double
// because of a literal `0.5`, a constant of the file, or a function that such an
// argument makes double. A double variable, parameter or cast is taken for meant
// and keeps its expression as it is.

static void propose(const struct kr_rule_input *in, struct kr_proposals *out);

const struct kr_rule float_arithmetic_rule = {
    "float-arithmetic", "double arithmetic that ends in a float, made float", propose};

static bool is_double(const struct syntax *s, size_t e)
{
  struct syntax_type t = syntax_type_of(s, e);
  return t.known && !t.pointers && t.kind == KR_F64;
}

static bool is_float(struct syntax_type t)
{
  return t.known && !t.pointers && t.kind == KR_F32;
}

// A literal that float can hold, if not exactly.
static bool literal_fits(const struct syntax *s, size_t e)
{
  char text[64];
  size_t n = kr_token_text(s->text, s->toks[s->exprs[e].span.first], text, sizeof text);
  if (n >= sizeof text || strchr(text, '\''))
    return false;
  double v = strtod(text, NULL);
  return isfinite(v) && v <= FLT_MAX && (v == 0 || v >= FLT_MIN);
}

// Adds the edits that make a double expression float; false when something in it
// is double on purpose or not understood.
static bool demote(const struct syntax *s, size_t e, struct syntax_edits *edits, bool *calls)
{
  const struct syntax_expr *x = &s->exprs[e];
  if (!is_double(s, e)) {
    // Below an integer or a float there may be double again: that is another
    // expression with an end of its own.
    struct syntax_type t = syntax_type_of(s, e);
    return t.known && !t.pointers;
  }
  switch (x->kind) {
  case EXPR_NUMBER:
    if (!literal_fits(s, e))
      return false;
    syntax_after(edits, s, x->span.first, "f");
    return true;
  case EXPR_NAME:
    if (x->name != SYNTAX_NONE)
      return false;
    syntax_before(edits, s, x->span.first, "(float)");
    return true;
  case EXPR_PAREN:
    return demote(s, x->child, edits, calls);
  case EXPR_UNARY:
    if (!syntax_is(s, x->op, "-") && !syntax_is(s, x->op, "+"))
      return false;
    return demote(s, x->child, edits, calls);
  case EXPR_BINARY:
    return demote(s, x->child, edits, calls) && demote(s, s->exprs[x->child].next, edits, calls);
  case EXPR_COND:
    return demote(s, syntax_arg(s, e, 1), edits, calls) &&
           demote(s, syntax_arg(s, e, 2), edits, calls);
  case EXPR_CALL: {
    char *name = syntax_callee(s, e);
    bool minmax = name && (!strcmp(name, "min") || !strcmp(name, "max"));
    bool fine = name && (minmax || syntax_has_float_twin(name));
    if (fine && !minmax) {
      *calls = true;
      syntax_replace(edits, s, s->exprs[x->child].span, "%sf", name);
    } else if (fine) {
      syntax_replace(edits, s, s->exprs[x->child].span, "f%sf", name);
    }
    free(name);
    for (size_t a = syntax_arg(s, e, 1); fine && a != SYNTAX_NONE; a = s->exprs[a].next)
      fine = demote(s, a, edits, calls);
    return fine;
  }
  default:
    return false;
  }
}

// Where the value of a whole double expression goes: into a float, or into a
// comparison with one.
static bool ends_in_float(const struct syntax *s, size_t e)
{
  size_t p = s->exprs[e].parent, child = e;
  while (p != SYNTAX_NONE && s->exprs[p].kind == EXPR_PAREN) {
    child = p;
    p = s->exprs[p].parent;
  }
  if (p == SYNTAX_NONE) {
    for (size_t i = 0; i < s->n_names; i++) {
      if (s->names[i].init == child || s->names[i].init == e)
        return !s->names[i].n_dims && !s->names[i].type.is_reference && is_float(s->names[i].type);
    }
    const struct syntax_stmt *st = &s->stmts[s->exprs[child].stmt];
    if (st->kind != STMT_RETURN || st->expr != child)
      return false;
    const struct syntax_function *f = &s->functions[st->function];
    // Attributes and one word `float` in front of the name.
    return f->name_token && syntax_is(s, f->name_token - 1, "float");
  }
  const struct syntax_expr *x = &s->exprs[p];
  switch (x->kind) {
  case EXPR_ASSIGN:
    return s->exprs[x->child].next == child && is_float(syntax_type_of(s, x->child));
  case EXPR_CAST:
    // `(float)CONSTANT` is as good as it gets.
    return x->type.known && !x->type.pointers && x->type.kind == KR_F32 &&
           s->exprs[e].kind != EXPR_NAME;
  case EXPR_CALL: {
    char *name = syntax_callee(s, p);
    bool fine = name && x->child != child && is_float(syntax_type_of(s, p)) &&
                syntax_is_float_function(name);
    free(name);
    return fine;
  }
  case EXPR_BINARY: {
    static const char *const compare[] = {"<", ">", "<=", ">=", "==", "!="};
    size_t other = x->child == child ? s->exprs[child].next : x->child;
    for (size_t i = 0; i < sizeof compare / sizeof *compare; i++) {
      if (syntax_is(s, x->op, compare[i]))
        return is_float(syntax_type_of(s, other));
    }
    return false;
  }
  default:
    return false;
  }
}

static void propose(const struct kr_rule_input *in, struct kr_proposals *out)
{
  struct syntax s;
  struct syntax_edits all = {0};
  size_t n = 0;
  bool any_calls = false;
  syntax_parse(&s, in->code, in->contract);
  if (s.kernel == SYNTAX_NONE)
    goto out;
  struct kr_proposals ones = {0};
  for (size_t e = 0; e < s.n_exprs; e++) {
    if (s.exprs[e].kind == EXPR_PAREN || !is_double(&s, e) ||
        s.functions[s.exprs[e].function].opaque || s.functions[s.exprs[e].function].is_template ||
        !ends_in_float(&s, e))
      continue;
    struct syntax_edits one = {0};
    bool calls = false;
    if (!demote(&s, e, &one, &calls)) {
      syntax_edits_release(&one);
      continue;
    }
    n++;
    any_calls = any_calls || calls;
    bool dummy = false;
    demote(&s, e, &all, &dummy);
    char *place = rule_place(&s, s.exprs[e].span);
    rule_propose(&ones, in, &float_arithmetic_rule, place, syntax_apply(&one, &s), calls ? 2 : 1.5,
                 NULL, "Computes `%.120s` in float instead of double.", place);
  }
  if (n > 1)
    rule_propose(out, in, &float_arithmetic_rule, kr_xstrdup("all"), syntax_apply(&all, &s),
                 any_calls ? 4 : 3, NULL,
                 "Computes in float what was double only for its literals or its functions.");
  for (size_t i = 0; i < ones.n; i++)
    kr_proposals_add(out, &ones.items[i]);
  kr_proposals_release(&ones);
out:
  syntax_edits_release(&all);
  syntax_release(&s);
}
