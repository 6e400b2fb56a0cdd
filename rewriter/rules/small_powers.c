#include <stdlib.h>
#include <string.h>

#include "../../evaluator/base/mem.h"
#include "list.h"
#include "rule.h"

// pow(x, 2), powf(v, 3.0f): a small whole power as a product. A general power is
// some hundred instructions.

static void propose(const struct kr_rule_input *in, struct kr_proposals *out);

const struct kr_rule small_powers_rule = {"small-powers", "pow(x, 2) to pow(x, 4) as products",
                                          propose};

static int exponent(const struct syntax *s, size_t e)
{
  e = syntax_strip(s, e);
  if (s->exprs[e].kind != EXPR_NUMBER)
    return 0;
  char text[32], *end;
  size_t n = kr_token_text(s->text, s->toks[s->exprs[e].span.first], text, sizeof text);
  if (n >= sizeof text)
    return 0;
  double v = strtod(text, &end);
  if (*end && strcmp(end, "f") && strcmp(end, "F"))
    return 0;
  return v == 2 ? 2 : v == 3 ? 3 : v == 4 ? 4 : 0;
}

// Short, and the same however often it is read.
static bool repeatable(const struct syntax *s, size_t e)
{
  bool reads = false;
  return syntax_pure(s, e, &reads) && !reads &&
         s->exprs[e].span.end - s->exprs[e].span.first <= 7;
}

static void propose(const struct kr_rule_input *in, struct kr_proposals *out)
{
  struct syntax s;
  struct syntax_edits all = {0};
  size_t n = 0;
  syntax_parse(&s, in->code, in->contract);
  struct kr_proposals ones = {0};
  for (size_t e = 0; s.kernel != SYNTAX_NONE && e < s.n_exprs; e++) {
    if (s.exprs[e].kind != EXPR_CALL || s.exprs[e].n_children != 3 ||
        s.functions[s.exprs[e].function].opaque ||
        (!syntax_calls(&s, e, "pow") && !syntax_calls(&s, e, "powf")))
      continue;
    size_t base = syntax_arg(&s, e, 1);
    int k = exponent(&s, syntax_arg(&s, e, 2));
    struct syntax_type t = syntax_type_of(&s, base);
    if (!k || !repeatable(&s, base) || !t.known || t.pointers ||
        (t.kind != KR_F32 && t.kind != KR_F64))
      continue;
    char *text = syntax_text(&s, s.exprs[base].span);
    bool single = s.exprs[syntax_strip(&s, base)].kind == EXPR_NAME;
    const char *l = single ? "" : "(", *r = single ? "" : ")";
    struct kr_bytes b;
    kr_bytes_init(&b, 1 << 16);
    for (int i = 0; i < k; i++)
      kr_bytes_addf(&b, "%s%s%s%s", i ? " * " : "", l, text, r);
    struct syntax_edits one = {0};
    syntax_replace(&one, &s, s.exprs[e].span, "(%s)", b.data);
    syntax_replace(&all, &s, s.exprs[e].span, "(%s)", b.data);
    char *place = rule_place(&s, s.exprs[e].span);
    rule_propose(&ones, in, &small_powers_rule, place, syntax_apply(&one, &s), 2, NULL,
                 "Writes `%.100s` as a product.", place);
    n++;
    kr_bytes_release(&b);
    free(text);
  }
  if (n > 1)
    rule_propose(out, in, &small_powers_rule, kr_xstrdup("all"), syntax_apply(&all, &s), 2.5, NULL,
                 "Writes small powers as products.");
  syntax_edits_release(&all);
  for (size_t i = 0; i < ones.n; i++)
    kr_proposals_add(out, &ones.items[i]);
  kr_proposals_release(&ones);
  syntax_release(&s);
}
