#include "screen_tokens.h"

#include <stdint.h>
#include <string.h>

// A variant as statements: jumps, loops that wait, variables that stay.

size_t screen_past_group(const struct screen *s, size_t i)
{
  const struct kr_token *toks = s->decls.toks;
  size_t depth = 0;
  for (; i + 1 < s->decls.n_toks; i++) {
    depth += is(s, toks[i], "(") || is(s, toks[i], "{") || is(s, toks[i], "[");
    if (is(s, toks[i], ")") || is(s, toks[i], "}") || is(s, toks[i], "]"))
      depth -= depth > 0;
    if (!depth)
      return i + 1;
  }
  return i;
}

bool screen_is_atomic(const struct screen *s, struct kr_token t)
{
  return t.kind == KR_TOK_IDENTIFIER && t.length > 6 && !strncmp(s->code + t.offset, "atomic", 6);
}

// Loops that do nothing but wait: on another thread of a grid they may wait for ever.
void screen_check_spin(struct screen *s)
{
  const struct kr_token *toks = s->decls.toks;
  for (size_t i = 0; i + 1 < s->decls.n_toks; i++) {
    size_t cond = SIZE_MAX, end = 0, body = 0;
    bool empty = false;
    if (is(s, toks[i], "while") && is(s, toks[i + 1], "(")) {
      cond = i + 1;
      end = screen_past_group(s, cond);
      body = end;
      bool do_while = i && is(s, toks[i - 1], "}");
      empty = is(s, toks[body], ";") && !do_while;
      empty = empty || (is(s, toks[body], "{") && is(s, toks[body + 1], "}"));
    } else if (is(s, toks[i], "for") && is(s, toks[i + 1], "(")) {
      cond = i + 1;
      end = screen_past_group(s, cond);
      empty = is(s, toks[end], ";") || (is(s, toks[end], "{") && is(s, toks[end + 1], "}"));
    } else if (is(s, toks[i], "do") && is(s, toks[i + 1], "{") && is(s, toks[i + 2], "}")) {
      cond = i + 3;
      end = screen_past_group(s, cond + 1);
      empty = true;
    }
    if (cond == SIZE_MAX || !empty)
      continue;
    bool memory = false;
    for (size_t k = cond; k < end; k++)
      memory = memory || screen_is_atomic(s, toks[k]) || is(s, toks[k], "[") || is(s, toks[k], "->") ||
               (is(s, toks[k], "*") && !(toks[k - 1].kind == KR_TOK_NUMBER ||
                                         toks[k - 1].kind == KR_TOK_IDENTIFIER)) ||
               is(s, toks[k], "load") || is(s, toks[k], "test_and_set") || is(s, toks[k], "exchange");
    if (memory && !words_have(&s->orig.own, "atomicCAS"))
      screen_refuse(s->out, "spin", line_of(s, toks[i]),
                    "a loop does nothing but wait for memory to change");
  }
}

static bool original_has_linkage(const struct screen *s)
{
  struct kr_lexer lx;
  bool after = false;
  kr_lexer_init(&lx, s->orig.code, s->orig.len);
  for (;;) {
    struct kr_token t = kr_lexer_next_code(&lx);
    if (t.kind == KR_TOK_END)
      return false;
    if (after && t.kind == KR_TOK_STRING)
      return true;
    after = t.kind == KR_TOK_IDENTIFIER && kr_token_is(s->orig.code, t, "extern");
  }
}

void screen_check_statements(struct screen *s)
{
  const struct kr_token *toks = s->decls.toks;
  size_t braces = 0;
  for (size_t i = 0; i + 1 < s->decls.n_toks; i++) {
    struct kr_token t = toks[i];
    if (t.flags & KR_TOK_DIRECTIVE)
      continue;
    braces += is(s, t, "{");
    braces -= is(s, t, "}") && braces;
    // A lambda's stands between `)` and its body; a member's can be written
    // where the object is a constant that outlives a launch.
    if (is(s, t, "mutable") && !words_have(&s->orig.own, "mutable") &&
        !(i && is(s, toks[i - 1], ")") && (is(s, toks[i + 1], "{") || is(s, toks[i + 1], "->"))))
      screen_refuse(s->out, "state", line_of(s, t),
                    "a `mutable` member can be written in a constant, which outlives a launch");
    static const char *const inner[] = {"detail", "details", "__detail", "__v1", "__4", NULL};
    char word[256];
    word_of(s, t, word);
    if (t.kind == KR_TOK_IDENTIFIER && is(s, toks[i + 1], "::") && screen_spelled_in(inner, word) &&
        !words_have(&s->orig.closure, word))
      screen_refuse(s->out, "unknown-word", line_of(s, t),
                    "`%s::` is the inside of a library, which is nobody's to use", word);
    if (is(s, t, "goto") && is(s, toks[i + 1], "*"))
      screen_refuse(s->out, "goto", line_of(s, t), "a computed `goto`");
    if (is(s, t, "&&") && toks[i + 1].kind == KR_TOK_IDENTIFIER && i &&
        (is(s, toks[i - 1], "=") || is(s, toks[i - 1], "(") || is(s, toks[i - 1], ",") ||
         is(s, toks[i - 1], "{") || is(s, toks[i - 1], "return")))
      screen_refuse(s->out, "goto", line_of(s, t), "the address of a label");
    if (braces && is(s, t, "static")) {
      // Up to what tells a function from a variable.
      size_t k = i + 1;
      bool fine = false, device = false;
      for (size_t b = i; b > 0 && toks[b - 1].kind == KR_TOK_IDENTIFIER; b--) {
        fine = fine || is(s, toks[b - 1], "__shared__") || is(s, toks[b - 1], "constexpr");
        device = device || is(s, toks[b - 1], "__device__");
      }
      while (k + 1 < s->decls.n_toks && !is(s, toks[k], "(") && !is(s, toks[k], ";") &&
             !is(s, toks[k], "=") && !is(s, toks[k], "{") && !is(s, toks[k], "[")) {
        fine = fine || is(s, toks[k], "constexpr") || is(s, toks[k], "__shared__");
        device = device || is(s, toks[k], "__device__");
        k++;
      }
      // `static __device__ int x(0);` has the look of a function and no body.
      bool function = is(s, toks[k], "(") && !is(s, toks[screen_past_group(s, k)], ";") &&
                      !is(s, toks[screen_past_group(s, k)], ",");
      if (!fine && device && !function)
        screen_refuse(s->out, "state", line_of(s, t), "a static device variable outlives a launch");
      else if (!fine && !device)
        screen_refuse(s->out, "static-local", line_of(s, t),
                      "a static variable outlives a launch; `constexpr` is allowed");
    }
    if (is(s, t, "extern")) {
      bool linkage = toks[i + 1].kind == KR_TOK_STRING;
      bool shared = is(s, toks[i + 1], "__shared__") || (i && is(s, toks[i - 1], "__shared__"));
      if (shared && braces) {
        size_t k = i;
        while (k + 1 < s->decls.n_toks && !is(s, toks[k], "[") && !is(s, toks[k], ";"))
          k++;
        word_of(s, toks[k - 1], word);
        if (!screen_has_prefix(&s->orig, word) && !words_have(&s->orig.own, word) &&
            words_have(&s->orig.taken, word))
          screen_refuse(s->out, "name-prefix", line_of(s, t),
                        "another kernel of the file may declare `%s` with another type; name it "
                        "`%s_%s`",
                        word, s->orig.name, word);
      } else if (!linkage || !original_has_linkage(s)) {
        screen_refuse(s->out, linkage ? "linkage" : "state", line_of(s, t),
                      linkage ? "`extern \"C\"` is not what the original has"
                              : "`extern` reaches outside of the variant");
      }
    }
  }
}
