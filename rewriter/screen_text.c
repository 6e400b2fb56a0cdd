#include "screen_tokens.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "../evaluator/base/mem.h"

// A variant as text: what it is spelt in, and what its comments say.

// --- bytes and directives ---

void screen_check_bytes(struct screen *s)
{
  unsigned line = 1;
  for (size_t i = 0, begin = 0; i < s->len; i++) {
    unsigned char c = (unsigned char)s->code[i];
    if (c == '\n') {
      line++;
      begin = i + 1;
    } else if (i - begin == SCREEN_MAX_LINE) {
      screen_refuse(s->out, "size", line, "a line is longer than %d bytes", SCREEN_MAX_LINE);
    }
    if (c >= 0x80) {
      screen_refuse(s->out, "ascii", line, "the code holds a byte that is not ASCII (0x%02x)", c);
      return;
    }
    if ((c < 0x20 && c != '\n' && c != '\t' && !(c == '\r' && s->code[i + 1] == '\n')) || c == 0x7f) {
      screen_refuse(s->out, "ascii", line, "the code holds a control character (0x%02x)", c);
      return;
    }
    if (c == '?' && i + 2 < s->len && s->code[i + 1] == '?' && strchr("=/'()!<>-", s->code[i + 2])) {
      screen_refuse(s->out, "trigraph", line, "`%.3s` is a trigraph for some compilers",
                    s->code + i);
      return;
    }
    // A backslash at a line's end, blanks after it or not, joins lines.
    if (c == '\\') {
      size_t k = i + 1;
      while (s->code[k] == ' ' || s->code[k] == '\t' || s->code[k] == '\r')
        k++;
      if (s->code[k] == '\n' || k == s->len)
        screen_refuse(s->out, "splice", line, "a backslash joins two lines");
    }
  }
}

void screen_check_directives(struct screen *s)
{
  for (size_t i = 0; i < s->n_all; i++) {
    struct kr_token t = s->all[i];
    if (!(t.flags & KR_TOK_DIRECTIVE_START))
      continue;
    struct kr_token w[4] = {{0}};
    size_t n = 0, k = i + 1;
    for (; k < s->n_all && (s->all[k].flags & KR_TOK_DIRECTIVE) &&
           !(s->all[k].flags & KR_TOK_DIRECTIVE_START);
         k++) {
      if (s->all[k].kind == KR_TOK_END)
        break;
      if (n < 4)
        w[n] = s->all[k];
      n++;
    }
    char word[256] = "";
    if (n)
      word_of(s, w[0], word);
    bool unroll = n >= 2 && !strcmp(word, "pragma") && is(s, w[1], "unroll");
    // #pragma unroll, #pragma unroll 4, #pragma unroll (4), #pragma unroll NAME
    for (size_t j = i + 3; unroll && j < k; j++) {
      struct kr_token a = s->all[j];
      unroll = a.kind == KR_TOK_NUMBER || a.kind == KR_TOK_IDENTIFIER || is(s, a, "(") || is(s, a, ")");
    }
    if (!strcmp(word, "include") || !strcmp(word, "include_next") || !strcmp(word, "import") ||
        !strcmp(word, "embed"))
      screen_refuse(s->out, "include", line_of(s, t),
                    "`#%s` is not allowed; what the file includes is there already", word);
    else if (!unroll)
      screen_refuse(s->out, "directive", line_of(s, t),
                    "`#%s` is not allowed; the only directive is `#pragma unroll`", word);
  }
}

void screen_check_shapes(struct screen *s)
{
  for (size_t i = 0; i < s->n_all; i++) {
    struct kr_token t = s->all[i];
    const char *p = s->code + t.offset;
    bool comment = t.kind == KR_TOK_LINE_COMMENT || t.kind == KR_TOK_BLOCK_COMMENT;
    if (t.flags & KR_TOK_SPLICED)
      screen_refuse(s->out, "splice", line_of(s, t), "a backslash joins two lines");
    if (t.flags & KR_TOK_DIGRAPH)
      screen_refuse(s->out, "digraph", line_of(s, t), "`%.*s` is a digraph; write the character",
                    (int)t.length, p);
    if (t.flags & KR_TOK_UNTERMINATED)
      screen_refuse(s->out, "unbalanced", line_of(s, t), "a %s is not closed",
                    comment ? "comment" : "literal");
    bool literal = t.kind == KR_TOK_STRING || t.kind == KR_TOK_CHAR;
    if (!comment && !literal && t.kind != KR_TOK_END && memchr(p, '\\', t.length))
      screen_refuse(s->out, "escape", line_of(s, t),
                    "a backslash outside of literals spells a name in escapes");
    else if (t.kind == KR_TOK_OTHER)
      screen_refuse(s->out, "character", line_of(s, t), "`%.*s` begins no token",
                    (int)(t.length > 8 ? 8 : t.length), p);
    if (t.kind == KR_TOK_IDENTIFIER && memchr(p, '$', t.length))
      screen_refuse(s->out, "character", line_of(s, t), "`%.*s` holds a `$`",
                    (int)(t.length > 60 ? 60 : t.length), p);
  }
}

// --- comments ---

static bool original_has_comment(const struct screen *s, const char *text, size_t n)
{
  return memmem(s->orig.code, s->orig.len, text, n) != NULL;
}

// "kevin" in any case, alone or followed by what a marker needs.
bool screen_names_kevin(const char *text)
{
  for (const char *p = text; *p; p++) {
    if (!strncasecmp(p, "kevin", 5) && (p == text || !isalnum((unsigned char)p[-1])) &&
        !isalnum((unsigned char)p[5]))
      return true;
  }
  return false;
}

void screen_check_comments(struct screen *s)
{
  size_t total = 0, run = 0, run_end = 0;
  for (size_t i = 0; i < s->n_all; i++) {
    struct kr_token t = s->all[i];
    if (t.kind != KR_TOK_LINE_COMMENT && t.kind != KR_TOK_BLOCK_COMMENT)
      continue;
    const char *p = s->code + t.offset;
    char *text = kr_xstrndup(p, t.length);
    if (screen_names_kevin(text))
      screen_refuse(s->out, "provenance", line_of(s, t),
                    "a comment looks like a marker or a provenance line; only the user and the "
                    "tool write those");
    total += t.length;
    bool joined = t.kind == KR_TOK_LINE_COMMENT && run_end &&
                  t.offset - run_end <= 80 &&
                  strspn(s->code + run_end, " \t\r\n") >= t.offset - run_end;
    run = joined ? run + t.length : t.length;
    run_end = t.offset + t.length;
    if (!original_has_comment(s, p, t.length)) {
      if (screen_elides(text))
        screen_refuse(s->out, "elision", line_of(s, t),
                      "a comment stands for code that is left out (`%.60s`); the whole kernel is "
                      "wanted",
                      text);
      if (screen_talks(text))
        screen_refuse(s->out, "comment", line_of(s, t),
                      "a comment speaks to a reader or tool instead of saying what the code does");
      if (t.length > SCREEN_MAX_COMMENT || run > SCREEN_MAX_RUN)
        screen_refuse(s->out, "comment", line_of(s, t), "a comment is longer than %d bytes",
                      t.length > SCREEN_MAX_COMMENT ? SCREEN_MAX_COMMENT : SCREEN_MAX_RUN);
    }
    free(text);
  }
  if (total > SCREEN_MAX_COMMENTS && total > 2 * s->orig.len)
    screen_refuse(s->out, "comment", 0, "there are %zu bytes of comments", total);
}
