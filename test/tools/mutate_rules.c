// Damages the kernels of a `kevin-rewrite --list --format=json` (standard input)
// in many small ways, as no contract saw them, and asks the rules. Whatever they
// are given, what they propose must be whole: the same kernel with the same
// parameters, brackets that match, something changed, the same twice. A kernel
// with something in it that is not understood is left alone but for its head.
//
//   mutate_rules ROUNDS < LIST.json

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "evaluator/base/mem.h"
#include "rewriter/rules/rule.h"

static uint64_t state = 0x9e3779b97f4a7c15u;
static unsigned asked, proposed, failures;

static size_t chance(size_t n)
{
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return n ? (size_t)(state % n) : 0;
}

static void fail(const char *what, const struct kr_proposal *p, const char *code)
{
  failures++;
  fprintf(stderr, "%s: %s at `%s`\n--- given\n%s\n--- proposed\n%s\n", what, p->rule, p->place, code,
          p->code);
}

// The words of the kernel's parameters without __restrict__.
static char *head_of(const struct syntax *s)
{
  struct kr_bytes b;
  kr_bytes_init(&b, KR_BYTES_DEFAULT_MAX);
  const struct syntax_function *f = &s->functions[s->kernel];
  for (size_t t = f->name_token; t <= f->close; t++) {
    if (syntax_is(s, t, "__restrict__"))
      continue;
    kr_bytes_add(&b, s->text + s->toks[t].offset, s->toks[t].length);
    kr_bytes_addc(&b, ' ');
  }
  return kr_bytes_take(&b);
}

static void check(const struct kr_contract *c, const char *code)
{
  struct kr_rule_input in = {c, code, &c->geometry};
  struct kr_proposals ps = {0}, again = {0};
  struct syntax before;
  syntax_parse(&before, code, c);
  kr_rules_propose(&in, &ps);
  kr_rules_propose(&in, &again);
  asked++;
  proposed += (unsigned)ps.n;
  bool opaque = before.kernel == SYNTAX_NONE || before.functions[before.kernel].opaque;
  char *head = before.kernel == SYNTAX_NONE ? NULL : head_of(&before);
  for (size_t i = 0; i < ps.n; i++) {
    const struct kr_proposal *p = &ps.items[i];
    if (!p->code || !p->place || !*p->place || !p->summary || !*p->summary || !(p->gain >= 1))
      fail("not whole", p, code);
    if (!strcmp(p->code, code) && !p->has_geometry)
      fail("nothing changed", p, code);
    if (p->has_geometry && (!c->tunable || !p->geometry.block[0] || !p->geometry.grid[0]))
      fail("a launch that may not be", p, code);
    if (i >= again.n || strcmp(again.items[i].code, p->code) || strcmp(again.items[i].place, p->place))
      fail("not the same twice", p, code);
    if (opaque && strcmp(p->rule, "restrict"))
      fail("what is not understood was changed", p, code);
    struct syntax after;
    syntax_parse(&after, p->code, c);
    char *now = after.kernel == SYNTAX_NONE ? NULL : head_of(&after);
    if (after.broken || !now || !head || strcmp(now, head))
      fail("another kernel", p, code);
    if (!opaque && now && after.functions[after.kernel].opaque)
      fail("no longer understood", p, code);
    free(now);
    syntax_release(&after);
  }
  free(head);
  syntax_release(&before);
  kr_proposals_release(&ps);
  kr_proposals_release(&again);
}

// One token gone, twice there, exchanged with another, or replaced by a word that
// changes much.
static char *damage(const char *code)
{
  static const char *const words[] = {"return;", "switch", "asm(\"\");", "goto",  "volatile", "&",
                                      "__syncthreads();", "++", "{", "}", "(", ")", ";", ",", "=",
                                      "[0]", "*", "break;", "if (n)", "for (;;)", "i", "1.0", "/* */",
                                      "#pragma unroll\n", "else", "[&]", "->", "<", "static", "?", ":"};
  size_t n;
  struct kr_token *toks = kr_lex_all(code, strlen(code), false, &n);
  struct kr_bytes out;
  kr_bytes_init(&out, KR_BYTES_DEFAULT_MAX);
  size_t at = chance(n - 1), other = chance(n - 1), kind = chance(4), from = 0;
  for (size_t i = 0; i + 1 < n; i++) {
    kr_bytes_add(&out, code + from, toks[i].offset - from);
    from = toks[i].offset + toks[i].length;
    const struct kr_token *t = &toks[i];
    if (i == at && kind == 0)
      continue;
    if (kind == 1 && (i == at || i == other))
      t = &toks[i == at ? other : at];
    if (i == at && kind == 2)
      kr_bytes_addf(&out, "%s ", words[chance(sizeof words / sizeof *words)]);
    if (i == at && kind == 3) {
      kr_bytes_addf(&out, "%s ", words[chance(sizeof words / sizeof *words)]);
      continue;
    }
    kr_bytes_add(&out, code + t->offset, t->length);
  }
  kr_bytes_adds(&out, code + from);
  free(toks);
  return kr_bytes_take(&out);
}

int main(int argc, char **argv)
{
  size_t rounds = argc == 2 ? strtoul(argv[1], NULL, 10) : 0;
  struct kr_bytes text;
  char part[4096];
  size_t n;
  kr_bytes_init(&text, KR_BYTES_DEFAULT_MAX);
  while ((n = fread(part, 1, sizeof part, stdin)) > 0)
    kr_bytes_add(&text, part, n);
  cJSON *list = cJSON_Parse(text.data);
  const cJSON *k;
  cJSON_ArrayForEach(k, cJSON_GetObjectItemCaseSensitive(list, "kernels"))
  {
    const cJSON *contract = cJSON_GetObjectItemCaseSensitive(k, "contract");
    struct kr_contract c;
    struct kr_err err = {""};
    if (!contract)
      continue;
    char *json = cJSON_PrintUnformatted(contract);
    if (kr_contract_from_json(&c, json, strlen(json), &err)) {
      fprintf(stderr, "%s\n", err.text);
      return 2;
    }
    check(&c, c.code);
    for (size_t i = 0; i < rounds; i++) {
      char *code = damage(c.code);
      if (chance(3) == 0) {
        char *twice = damage(code);
        free(code);
        code = twice;
      }
      check(&c, code);
      free(code);
    }
    kr_contract_release(&c);
    free(json);
  }
  cJSON_Delete(list);
  kr_bytes_release(&text);
  printf("%u kernels, %u proposals, %u failures\n", asked, proposed, failures);
  return failures || !proposed ? 1 : 0;
}
