// The token screen: what a variant may contain, from its text alone, before
// anything is compiled.
//
// It fails closed twice over. Words with two underscores and words in capitals
// are refused unless they are known; declarations are refused unless they are
// of a kind that is allowed. And a word counts as used when a macro, alias or
// declaration of the user's own file brings it, so that `#define NOW clock64()`
// in a header opens no door.

#include "screen_tokens.h"

#include <stdlib.h>
#include <string.h>

static int screen_begin(struct screen *s, const struct kr_screen_input *in, struct kr_screen *out)
{
  *s = (struct screen){.in = in, .out = out, .code = in->code, .len = strlen(in->code)};
  if (s->len > SCREEN_MAX_CODE) {
    screen_refuse(out, "size", 0, "the code has %zu bytes; at most %d are read", s->len,
                  SCREEN_MAX_CODE);
    return -1;
  }
  original_init(&s->orig, in);
  kr_source_from_text(&s->text, "variant", s->code, s->len);
  s->all = kr_lex_all(s->code, s->len, true, &s->n_all);
  decls_scan(&s->decls, s->code, s->len);
  return 0;
}

static void screen_end(struct screen *s)
{
  free(s->all);
  decls_release(&s->decls);
  words_release(&s->declared);
  kr_source_release(&s->text);
  original_release(&s->orig);
}

void kr_screen_tokens(const struct kr_screen_input *in, struct kr_screen *out)
{
  struct screen s;
  if (screen_begin(&s, in, out))
    return;
  if (!*s.orig.name || !s.orig.len) {
    screen_refuse(out, "kernel", 0, "the original is not known, so nothing can be compared with it");
    screen_end(&s);
    return;
  }
  screen_check_bytes(&s);
  screen_check_shapes(&s);
  screen_check_directives(&s);
  screen_check_comments(&s);
  screen_check_words(&s);
  screen_check_strings(&s);
  screen_check_attributes(&s);
  screen_check_statements(&s);
  screen_check_spin(&s);
  screen_check_float(&s);
  screen_check_declarations(&s);
  screen_end(&s);
}

void kr_screen_notes(const struct kr_screen_input *in, struct kr_screen *out)
{
  struct screen s;
  if (screen_begin(&s, in, out))
    return;
  const struct kr_contract *c = in->contract;
  for (size_t i = 0; i + 1 < s.decls.n_toks; i++) {
    struct kr_token t = s.decls.toks[i];
    char word[256];
    word_of(&s, t, word);
    if (t.kind == KR_TOK_IDENTIFIER && screen_is_fast_math(word) && !words_have(&s.orig.closure, word))
      screen_refuse(out, "fast-math", line_of(&s, t), "`%s` is less exact than what it replaces", word);
    if (t.kind == KR_TOK_IDENTIFIER && screen_is_atomic(&s, t) && i > 1) {
      for (size_t k = i; k > 0 && k + 8 > i; k--) {
        if (is(&s, s.decls.toks[k], "while"))
          screen_refuse(out, "spin", line_of(&s, t), "a loop waits on `%s`", word);
      }
    }
    if (is(&s, t, "reinterpret_cast") && !words_have(&s.orig.own, "reinterpret_cast"))
      screen_refuse(out, "wide-load", line_of(&s, t),
                    "a cast to another pointer type may need more alignment than callers give");
    if (t.kind == KR_TOK_NUMBER && c && !words_have(&s.orig.own, word)) {
      for (size_t k = 0; k < c->n_cases; k++) {
        for (size_t b = 0; b < c->cases[k].n_bindings; b++) {
          const struct kr_binding *bind = &c->cases[k].bindings[b];
          if (!bind->fixed && bind->expr && !strcmp(bind->expr, word) && strlen(word) > 2 &&
              !memmem(s.orig.code, s.orig.len, word, strlen(word)))
            screen_refuse(out, "tested-size", line_of(&s, t), "%s is the tested value of `%s`", word,
                          bind->path);
        }
      }
    }
  }
  screen_end(&s);
}
