#ifndef KR_REWRITER_SCREEN_TOKENS_H
#define KR_REWRITER_SCREEN_TOKENS_H

#include <string.h>

#include "screen.h"

// What the files of the token screen share: a variant's text, its tokens, and the
// original beside them. Every check adds its refusals to `out` and goes on, so
// that a reply learns of all that is wrong with it.

enum {
  SCREEN_MAX_CODE = 256 << 10,
  SCREEN_MAX_COMMENT = 400,
  SCREEN_MAX_COMMENTS = 8 << 10,
  SCREEN_MAX_RUN = 1500, // of `//` lines below each other
  SCREEN_MAX_LINE = 1000,
  SCREEN_MAX_MESSAGE = 200 // of a static_assert
};

struct screen {
  const struct kr_screen_input *in;
  struct kr_screen *out;
  const char *code;
  size_t len;
  struct kr_source text; // of the code, for lines
  struct kr_token *all;  // with comments
  size_t n_all;
  struct decls decls;
  struct original orig;
  struct words declared; // words in capitals that the variant declares itself
};

static inline unsigned line_of(const struct screen *s, struct kr_token t)
{
  unsigned line, col;
  kr_source_place(&s->text, t.offset, &line, &col);
  return line;
}

static inline bool is(const struct screen *s, struct kr_token t, const char *spelling)
{
  return (t.kind == KR_TOK_PUNCT || t.kind == KR_TOK_IDENTIFIER) &&
         kr_token_is(s->code, t, spelling);
}

static inline void word_of(const struct screen *s, struct kr_token t, char out[256])
{
  kr_token_text(s->code, t, out, 256);
}

static inline bool screen_spelled_in(const char *const *list, const char *word)
{
  for (; *list; list++) {
    if (!strcmp(*list, word))
      return true;
  }
  return false;
}

// screen_text.c: bytes, directives, shapes of tokens, comments.
void screen_check_bytes(struct screen *s);
void screen_check_directives(struct screen *s);
void screen_check_shapes(struct screen *s);
void screen_check_comments(struct screen *s);
// Does a text name the tool, as markers and provenance lines do?
bool screen_names_kevin(const char *text);

// screen_names.c: which words, literals and attributes may be used.
void screen_check_words(struct screen *s);
void screen_check_strings(struct screen *s);
void screen_check_attributes(struct screen *s);
void screen_check_float(struct screen *s);

// screen_body.c: statements.
void screen_check_statements(struct screen *s);
void screen_check_spin(struct screen *s);
// Behind the group of brackets that begins at token `i`.
size_t screen_past_group(const struct screen *s, size_t i);
bool screen_is_atomic(const struct screen *s, struct kr_token t);

// screen_decls.c: what the variant declares, and its kernel against the original's.
void screen_check_declarations(struct screen *s);

#endif
