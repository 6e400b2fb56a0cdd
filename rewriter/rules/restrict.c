#include <stdlib.h>
#include <string.h>

#include "../../evaluator/base/mem.h"
#include "list.h"
#include "rule.h"

// __restrict__ on pointers, where the contract says that no section overlaps
// another: the compiler may then keep what it read in registers across stores
// and read const buffers through the read-only cache. Whether the launch sites
// agree is the screen's business.

static void propose(const struct kr_rule_input *in, struct kr_proposals *out);

const struct kr_rule restrict_rule = {
    "restrict", "__restrict__ on pointers whose sections do not overlap", propose};

// A pointer to scalars whose declarator the rule can put the word into.
static bool can_take(const struct syntax *s, size_t name, const struct kr_contract *c)
{
  const struct syntax_name *n = &s->names[name];
  return n->storage == SYNTAX_PARAM && n->function == s->kernel && n->type.pointers == 1 &&
         !n->type.is_reference && !n->restricted && !n->n_dims && n->param < c->n_params &&
         c->params[n->param].n_leaves == 1 && syntax_section(c, n->name) &&
         // `p[]` has no star to put it behind
         syntax_is(s, n->declarator.first, "*") && n->token == n->declarator.end - 1;
}

static void add_word(struct syntax_edits *e, const struct syntax *s, size_t name)
{
  const struct syntax_name *n = &s->names[name];
  // Behind the star, in front of a `const` or the name, with the blanks that are there.
  size_t star = n->declarator.first, next = star + 1;
  bool spaced = s->toks[next].offset > s->toks[star].offset + s->toks[star].length;
  syntax_after(e, s, star, spaced ? " __restrict__" : "__restrict__ ");
}

static void propose(const struct kr_rule_input *in, struct kr_proposals *out)
{
  struct syntax s;
  struct syntax_edits all = {0};
  size_t n = 0, pointers = 0;
  if (!syntax_disjoint(in->contract))
    return;
  syntax_parse(&s, in->code, in->contract);
  for (size_t i = 0; s.kernel != SYNTAX_NONE && i < s.n_names; i++) {
    pointers += s.names[i].storage == SYNTAX_PARAM && s.names[i].function == s.kernel &&
                s.names[i].type.pointers;
    if (!can_take(&s, i, in->contract))
      continue;
    add_word(&all, &s, i);
    n++;
  }
  // One pointer alone has nothing to overlap with.
  if (!n || pointers < 2) {
    syntax_edits_release(&all);
    goto out;
  }
  rule_propose(out, in, &restrict_rule, kr_xstrdup("all"), syntax_apply(&all, &s), 1.03, NULL,
               "Declares the pointers __restrict__: the sections do not overlap.");
  for (size_t i = 0; n > 1 && i < s.n_names; i++) {
    if (!can_take(&s, i, in->contract))
      continue;
    struct syntax_edits one = {0};
    add_word(&one, &s, i);
    rule_propose(out, in, &restrict_rule, kr_xstrdup(s.names[i].name), syntax_apply(&one, &s),
                 1.005, NULL, "Declares `%s` __restrict__: its section overlaps no other.",
                 s.names[i].name);
  }
out:
  syntax_release(&s);
}
