#ifndef KR_TEST_RULES_KIT_H
#define KR_TEST_RULES_KIT_H

#include "../unit.h"

#include "../../evaluator/base/mem.h"
#include "../../rewriter/rules/rule.h"

// A contract made from a kernel's own head: every pointer a section of `n`
// elements, const ones `in`, the others `inout`; launched as given.

struct kit {
  struct kr_contract c;
  struct kr_case one;
  struct kr_proposals ps;
};

static inline void kit_param(struct kr_contract *c, const struct syntax_name *n)
{
  struct kr_param *p = &c->params[c->n_params++];
  struct kr_leaf leaf = {.path = kr_xstrdup(""), .kind = n->type.kind, .is_const = n->type.is_const};
  if (n->type.pointers) {
    leaf.kind = KR_POINTER;
    leaf.type = c->n_types;
    struct kr_type *t = &c->types[c->n_types++];
    *t = (struct kr_type){.name = kr_xstrdup(kr_kind_name(n->type.kind)),
                          .size = kr_kind_size(n->type.kind),
                          .align = kr_kind_size(n->type.kind),
                          .leaves = kr_xcalloc(1, sizeof *t->leaves),
                          .n_leaves = 1};
    t->leaves[0] = (struct kr_leaf){.path = kr_xstrdup(""), .kind = n->type.kind};
    struct kr_section *s = &c->sections[c->n_sections++];
    *s = (struct kr_section){.path = kr_xstrdup(n->name),
                             .role = n->type.is_const ? KR_IN : KR_INOUT,
                             .dims = kr_xcalloc(1, sizeof *s->dims),
                             .n_dims = 1,
                             .align = kr_xstrdup("16")};
    s->dims[0] = kr_xstrdup("n");
  }
  *p = (struct kr_param){.name = kr_xstrdup(n->name),
                         .type_name = kr_xstrdup(""),
                         .size = kr_kind_size(leaf.kind),
                         .align = kr_kind_size(leaf.kind),
                         .leaves = kr_xcalloc(1, sizeof leaf),
                         .n_leaves = 1};
  p->leaves[0] = leaf;
}

// `grid` and `block` may hold two, parted by a bar: "ceil_div(n, 32)|ceil_div(m, 8)".
static inline void kit_geometry(char *out[3], const char *text)
{
  const char *bar = strchr(text, '|');
  out[0] = kr_xstrndup(text, bar ? (size_t)(bar - text) : strlen(text));
  out[1] = bar ? kr_xstrdup(bar + 1) : NULL;
}

static inline void kit_make(struct kit *k, const char *before, const char *code, const char *grid,
                            const char *block, bool tunable)
{
  memset(k, 0, sizeof *k);
  struct kr_contract *c = &k->c;
  struct syntax s;
  syntax_parse(&s, code, NULL);
  c->before = kr_xstrdup(before);
  c->after = kr_xstrdup("\n");
  c->code = kr_xstrdup(code);
  c->kernel = kr_xstrdup(s.kernel == SYNTAX_NONE ? "k" : s.functions[s.kernel].name);
  c->params = kr_xcalloc(s.n_names + 1, sizeof *c->params);
  c->types = kr_xcalloc(s.n_names + 1, sizeof *c->types);
  c->sections = kr_xcalloc(s.n_names + 1, sizeof *c->sections);
  for (size_t i = 0; i < s.n_names; i++) {
    if (s.names[i].storage == SYNTAX_PARAM && s.names[i].function == s.kernel)
      kit_param(c, &s.names[i]);
  }
  kit_geometry(c->geometry.grid, grid);
  kit_geometry(c->geometry.block, block);
  c->tunable = tunable;
  c->shared_limit = 48 << 10;
  c->cases = kr_xcalloc(1, sizeof *c->cases);
  c->n_cases = 1;
  c->cases[0].label = kr_xstrdup("n = 1000");
  c->cases[0].fillings = kr_xcalloc(c->n_sections + 1, sizeof *c->cases[0].fillings);
  syntax_release(&s);
}

static inline const struct kr_proposals *kit_propose(struct kit *k, const struct kr_rule *rule)
{
  struct kr_rule_input in = {&k->c, k->c.code, &k->c.geometry};
  kr_proposals_release(&k->ps);
  rule->propose(&in, &k->ps);
  return &k->ps;
}

static inline const struct kr_proposal *kit_at(const struct kit *k, const char *place)
{
  for (size_t i = 0; i < k->ps.n; i++) {
    if (!strcmp(k->ps.items[i].place, place))
      return &k->ps.items[i];
  }
  fprintf(stderr, "no proposal at `%s`; there are:\n", place);
  for (size_t i = 0; i < k->ps.n; i++)
    fprintf(stderr, "  `%s`\n", k->ps.items[i].place);
  unit_failures++;
  return NULL;
}

static inline void kit_release(struct kit *k)
{
  kr_proposals_release(&k->ps);
  kr_contract_release(&k->c);
}

// One proposal at `place` whose code holds `want` and not `gone` (either may be NULL).
static inline void kit_expect(struct kit *k, const char *place, const char *want, const char *gone)
{
  const struct kr_proposal *p = kit_at(k, place);
  unit_checks++;
  if (!p)
    return;
  if ((want && !strstr(p->code, want)) || (gone && strstr(p->code, gone))) {
    unit_failures++;
    fprintf(stderr, "at `%s`: wanted `%s`, without `%s`:\n%s\n", place, want ? want : "",
            gone ? gone : "", p->code);
  }
}

#endif
