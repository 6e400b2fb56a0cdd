#include "marker_internal.h"

#include <stdlib.h>
#include <string.h>

#include "../evaluator/base/mem.h"

// Marker text as people write it, made from tokens alone: equal tokens give
// equal text, whatever the white space was.

static bool text_is(const char *text, struct kr_token tok, const char *set)
{
  // `set` is a blank-separated list of punctuators.
  if (tok.kind != KR_TOK_PUNCT)
    return false;
  for (const char *p = set; *p;) {
    size_t n = strcspn(p, " ");
    if (n == tok.length && !memcmp(p, text + tok.offset, n))
      return true;
    p += n;
    p += *p == ' ';
  }
  return false;
}

static bool text_is_operand(const char *text, struct kr_token tok)
{
  return tok.kind == KR_TOK_IDENTIFIER || tok.kind == KR_TOK_NUMBER ||
         tok.kind == KR_TOK_STRING || tok.kind == KR_TOK_CHAR || text_is(text, tok, ") ] }");
}

// True when the two spellings side by side would be read as other tokens.
static bool text_would_merge(const struct kr_bytes *out, size_t before, const char *next,
                             size_t n)
{
  char both[64];
  if (!before)
    return false;
  if (before + n >= sizeof both)
    return marker_is_word(out->data[out->len - 1]) && marker_is_word(next[0]);
  memcpy(both, out->data + out->len - before, before);
  memcpy(both + before, next, n);
  struct kr_lexer lx;
  kr_lexer_init(&lx, both, before + n);
  return kr_lexer_next(&lx).length != before;
}

char *marker_join(const char *text, const struct kr_token *toks, size_t n)
{
  struct kr_bytes out;
  kr_bytes_init(&out, KR_BYTES_DEFAULT_MAX);
  bool space = false, operand = false; // a blank is wanted; the token before was an operand
  size_t before = 0;                   // length of the token before
  for (size_t i = 0; i < n; i++) {
    struct kr_token tok = toks[i];
    char stack[64], *word = stack;
    size_t len = kr_token_text(text, tok, stack, sizeof stack);
    if (len >= sizeof stack) {
      word = kr_xmalloc(len + 1);
      kr_token_text(text, tok, word, len + 1);
    }
    bool glue = text_is(text, tok, ". ::");
    bool binary = !glue && tok.kind == KR_TOK_PUNCT && !text_is(text, tok, "( ) [ ] { } , ~ !") &&
                  (operand || text_is(text, tok, "= == ? :"));
    bool member = tok.kind == KR_TOK_NUMBER && word[0] == '.' && operand;
    if (text_is(text, tok, ") ] } ,") || glue || member)
      space = false;
    else if (operand && text_is(text, tok, "( ["))
      space = false;
    else if (binary && !(i > 0 && text_is(text, toks[i - 1], "( [ {")))
      space = true;
    else if (operand && text_is_operand(text, tok))
      space = true;
    if (!space && text_would_merge(&out, before, word, len))
      space = true;
    if (space && out.len)
      kr_bytes_addc(&out, ' ');
    kr_bytes_add(&out, word, len);
    space = text_is(text, tok, ",") || binary;
    operand = text_is_operand(text, tok);
    before = len;
    if (word != stack)
      free(word);
  }
  char *joined = kr_bytes_take(&out);
  kr_bytes_release(&out);
  return joined;
}

void marker_clean(char *text, size_t begin, size_t end, bool pragma)
{
  bool line_start = true;
  for (size_t i = begin; i < end; i++) {
    char c = text[i];
    if (c == '\n' || c == '\r') {
      size_t back = i;
      while (back > begin && (text[back - 1] == ' ' || text[back - 1] == '\t'))
        back--;
      bool spliced = back > begin && text[back - 1] == '\\';
      if (spliced && pragma)
        text[back - 1] = ' ';
      // Behind a backslash the newline becomes a blank, so that the lexer shows
      // the backslash as a token of its own instead of looking through it.
      bool crlf = c == '\r' && i + 1 < end && text[i + 1] == '\n';
      text[i] = crlf || spliced ? ' ' : '\n';
      if (crlf)
        text[++i] = spliced ? ' ' : '\n';
      line_start = true;
    } else if (line_start && c != ' ' && c != '\t' && c != '\v' && c != '\f') {
      line_start = false;
      if (!pragma && c == '/' && i + 1 < end && text[i + 1] == '/')
        text[i] = text[i + 1] = ' ';
    }
  }
}

struct kr_span kr_marker_expr_place(const struct kr_source *src, const struct kr_mexpr *e,
                                    size_t offset, size_t length)
{
  // The same tokens stand in `text` and in the source; they are walked together.
  struct kr_span whole = e->at, found = {0, 0};
  if (!e->text || whole.offset > src->len || whole.length > src->len - whole.offset)
    return whole;
  size_t end = whole.offset + whole.length;
  char *copy = kr_xmalloc(whole.length + 1);
  memcpy(copy, src->data + whole.offset, whole.length);
  copy[whole.length] = '\0';
  // Whether it is a pragma does not matter here: backslashes go in both.
  marker_clean(copy, 0, whole.length, true);
  bool start = false;
  for (size_t i = 0; i < whole.length; i++) {
    if (start && copy[i] == '/' && i + 1 < whole.length && copy[i + 1] == '/')
      copy[i] = copy[i + 1] = ' ';
    if (copy[i] == '\n')
      start = true;
    else if (copy[i] != ' ' && copy[i] != '\t')
      start = false;
  }
  struct kr_lexer a, b;
  kr_lexer_init(&a, e->text, strlen(e->text));
  kr_lexer_init(&b, copy, whole.length);
  bool any = false, broken = false;
  for (;;) {
    struct kr_token x = kr_lexer_next(&a), y = kr_lexer_next(&b);
    while (y.kind == KR_TOK_IDENTIFIER && kr_token_is(copy, y, "kevin") &&
           y.offset + y.length < whole.length && copy[y.offset + y.length] == ':' &&
           !(y.offset + y.length + 1 < whole.length && copy[y.offset + y.length + 1] == ':')) {
      kr_lexer_next(&b);
      y = kr_lexer_next(&b);
    }
    if (x.kind == KR_TOK_END || y.kind == KR_TOK_END) {
      broken = x.kind != y.kind;
      break;
    }
    if (x.length != y.length || memcmp(e->text + x.offset, copy + y.offset, x.length)) {
      broken = true;
      break;
    }
    if (x.offset + x.length <= offset || x.offset >= offset + length)
      continue;
    if (!any)
      found.offset = whole.offset + y.offset;
    any = true;
    found.length = whole.offset + y.offset + y.length - found.offset;
  }
  free(copy);
  if (!any || broken || found.offset + found.length > end)
    return whole;
  return found;
}
