#include "marker_internal.h"

#include <stdlib.h>
#include <string.h>

#include "../evaluator/base/mem.h"

// The code below a marker, as far as tokens show it: which function begins
// there, whether it is a declaration, where its body ends. Macros stay closed,
// so nothing here decides what a kernel is.

// Walks code tokens with brackets counted. Branches of `#if` are alternatives:
// each starts with the brackets that stood open at the `#if`.
struct head_walk {
  const char *text;
  struct kr_lexer lx;
  size_t round, curly, square;
  struct {
    size_t round, curly, square;
  } branch[32];
  size_t n_branches, lost_branches;
};

static void head_init(struct head_walk *w, const struct kr_source *src, size_t offset)
{
  *w = (struct head_walk){.text = src->data};
  kr_lexer_init(&w->lx, src->data, src->len);
  w->lx.pos = offset;
}

static void head_directive(struct head_walk *w, struct kr_token word)
{
  bool opens = kr_token_is(w->text, word, "if") || kr_token_is(w->text, word, "ifdef") ||
               kr_token_is(w->text, word, "ifndef");
  bool turns = kr_token_is(w->text, word, "else") || kr_token_is(w->text, word, "elif");
  if (opens && w->n_branches == sizeof w->branch / sizeof *w->branch) {
    w->lost_branches++;
  } else if (opens) {
    w->branch[w->n_branches].round = w->round;
    w->branch[w->n_branches].curly = w->curly;
    w->branch[w->n_branches++].square = w->square;
  } else if (turns && !w->lost_branches && w->n_branches) {
    w->round = w->branch[w->n_branches - 1].round;
    w->curly = w->branch[w->n_branches - 1].curly;
    w->square = w->branch[w->n_branches - 1].square;
  } else if (kr_token_is(w->text, word, "endif")) {
    if (w->lost_branches)
      w->lost_branches--;
    else if (w->n_branches)
      w->n_branches--;
  }
}

static bool head_is(const char *text, struct kr_token tok, char c)
{
  if (tok.kind != KR_TOK_PUNCT)
    return false;
  if (tok.length == 1)
    return text[tok.offset] == c;
  return (tok.flags & KR_TOK_DIGRAPH) &&
         kr_token_is(text, tok, c == '{' ? "<%" : c == '}' ? "%>" : c == '[' ? "<:" : ":>") &&
         strchr("{}[]", c);
}

// The next token of code, directives skipped. Brackets are counted after it.
static struct kr_token head_next(struct head_walk *w)
{
  for (;;) {
    struct kr_token tok = kr_lexer_next_code(&w->lx);
    if (tok.flags & KR_TOK_DIRECTIVE) {
      struct kr_lexer ahead = w->lx;
      struct kr_token word = kr_lexer_next_code(&ahead);
      if ((tok.flags & KR_TOK_DIRECTIVE_START) && (word.flags & KR_TOK_DIRECTIVE))
        head_directive(w, word);
      continue;
    }
    const char *t = w->text;
    if (head_is(t, tok, '('))
      w->round++;
    else if (head_is(t, tok, ')') && w->round)
      w->round--;
    else if (head_is(t, tok, '['))
      w->square++;
    else if (head_is(t, tok, ']') && w->square)
      w->square--;
    else if (head_is(t, tok, '{'))
      w->curly++;
    else if (head_is(t, tok, '}') && w->curly)
      w->curly--;
    return tok;
  }
}

// Skips `<...>` after `template`; the walk stands behind it.
static void head_skip_angles(struct head_walk *w)
{
  struct head_walk saved = *w;
  struct kr_token tok = head_next(w);
  if (!kr_token_is(w->text, tok, "<")) {
    *w = saved;
    return;
  }
  size_t angles = 1;
  size_t round = w->round;
  while (angles && tok.kind != KR_TOK_END) {
    tok = head_next(w);
    if (tok.kind != KR_TOK_PUNCT || w->round > round || head_is(w->text, tok, ')'))
      continue;
    if (w->text[tok.offset] == '<' && tok.length <= 3 && !kr_token_is(w->text, tok, "<="))
      angles += tok.length;
    else if (w->text[tok.offset] == '>' && !kr_token_is(w->text, tok, ">="))
      angles = angles > tok.length ? angles - tok.length : 0;
  }
}

size_t kr_definition_end(const struct kr_source *src, size_t offset)
{
  if (offset >= src->len)
    return 0;
  struct head_walk w;
  head_init(&w, src, offset);
  bool begun = false;
  for (;;) {
    struct kr_token tok = head_next(&w);
    if (tok.kind == KR_TOK_END)
      return 0;
    if (!begun && kr_token_is(w.text, tok, "template"))
      head_skip_angles(&w);
    if (!begun && !w.round && !w.square && head_is(w.text, tok, ';'))
      return 0;
    if (!begun && !w.round && !w.square && head_is(w.text, tok, '}'))
      return 0; // of something around it
    if (!begun && !w.round && !w.square && head_is(w.text, tok, '{'))
      begun = true;
    else if (begun && !w.curly && head_is(w.text, tok, '}'))
      return tok.offset + tok.length;
  }
}

// Words that look like a call in a kernel's head and name no function.
static bool head_is_attribute(const char *text, struct kr_token tok)
{
  static const char *const words[] = {
      "__launch_bounds__", "__attribute__",  "__attribute", "__declspec",      "alignas",
      "__maxnreg__",       "__cluster_dims__", "__block_size__", "noexcept",   "decltype",
      "explicit",          "__align__",      "requires",    "__local_maxnreg__"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (kr_token_is(text, tok, words[i]))
      return true;
  return false;
}

void marker_head_read(const struct kr_source *src, size_t offset, struct marker_head *out)
{
  *out = (struct marker_head){{0, 0}, false, false};
  if (offset >= src->len)
    return;
  struct head_walk w;
  head_init(&w, src, offset);
  struct kr_token last = {0}, before_angle = {0};
  for (size_t count = 0; count < 4096; count++) {
    bool outside = !w.round && !w.square;
    struct kr_token tok = head_next(&w);
    if (tok.kind == KR_TOK_END ||
        (outside && (head_is(w.text, tok, '{') || head_is(w.text, tok, '}'))))
      return;
    if (outside && head_is(w.text, tok, ';')) {
      out->declaration = out->name.length > 0;
      return;
    }
    if (outside && kr_token_is(w.text, tok, "template")) {
      struct head_walk ahead = w;
      out->instantiation = !kr_token_is(w.text, head_next(&ahead), "<");
      head_skip_angles(&w);
      last = (struct kr_token){0};
      continue;
    }
    if (outside && kr_token_is(w.text, tok, "<"))
      before_angle = last;
    if (outside && kr_token_is(w.text, tok, "=") )
      return; // a variable
    if (outside && head_is(w.text, tok, '(')) {
      struct kr_token name = last.kind == KR_TOK_PUNCT ? before_angle : last;
      if (name.kind == KR_TOK_IDENTIFIER && !head_is_attribute(w.text, name))
        out->name = (struct kr_span){name.offset, name.length};
    }
    last = tok;
  }
}

size_t marker_definition_of(const struct kr_source *src, struct kr_span name)
{
  struct head_walk w;
  head_init(&w, src, 0);
  for (;;) {
    struct kr_token tok = head_next(&w);
    if (tok.kind == KR_TOK_END)
      return SIZE_MAX;
    if (tok.kind != KR_TOK_IDENTIFIER || tok.length != name.length ||
        memcmp(src->data + tok.offset, src->data + name.offset, name.length))
      continue;
    struct head_walk ahead = w;
    struct kr_token t = head_next(&ahead);
    if (kr_token_is(w.text, t, "<")) {
      ahead = w;
      head_skip_angles(&ahead);
      t = head_next(&ahead);
    }
    if (!head_is(w.text, t, '('))
      continue;
    size_t depth = ahead.round;
    while (t.kind != KR_TOK_END && ahead.round >= depth)
      t = head_next(&ahead);
    if (head_is(w.text, head_next(&ahead), '{'))
      return tok.offset;
  }
}

char *marker_code_words(const struct kr_source *src, size_t offset)
{
  struct kr_lexer lx;
  struct kr_bytes out;
  kr_bytes_init(&out, 256);
  kr_lexer_init(&lx, src->data, src->len);
  lx.pos = offset;
  size_t begin = offset, end = offset;
  for (int i = 0; i < 24; i++) {
    struct kr_token tok = kr_lexer_next_code(&lx);
    if (tok.kind == KR_TOK_END || head_is(src->data, tok, ';'))
      break;
    if (head_is(src->data, tok, '{'))
      break;
    if (i > 0 && (tok.flags & KR_TOK_LINE_START) && (src->data[begin] == '#'))
      break;
    if (i > 0 && (tok.flags & KR_TOK_SPACE_BEFORE))
      kr_bytes_addc(&out, ' ');
    kr_bytes_add(&out, src->data + tok.offset, tok.length);
    end = tok.offset + tok.length;
    if (head_is(src->data, tok, '(')) {
      kr_bytes_adds(&out, "…)");
      break;
    }
    if (end - begin > 60)
      break;
  }
  char *words = kr_bytes_take(&out);
  kr_bytes_release(&out);
  return words;
}
