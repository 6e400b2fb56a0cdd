#include "marker_internal.h"

#include <stdlib.h>
#include <string.h>

#include "../evaluator/base/mem.h"

// Taking one item out of a run. A marker goes on as long as a bracket is open or
// the next word is a clause's name with `(` directly behind it; so where it ends
// is known without understanding it. Provenance lines have fixed shapes.

static bool read_is(const char *text, struct kr_token tok, const char *spelling)
{
  return kr_token_is(text, tok, spelling);
}

static char read_open_of(const char *text, struct kr_token tok)
{
  if (tok.kind != KR_TOK_PUNCT || tok.length != 1 || !strchr("([{", text[tok.offset]))
    return 0;
  return text[tok.offset];
}

static char read_close_of(const char *text, struct kr_token tok)
{
  if (tok.kind != KR_TOK_PUNCT || tok.length != 1)
    return 0;
  switch (text[tok.offset]) {
  case ')':
    return '(';
  case ']':
    return '[';
  case '}':
    return '{';
  default:
    return 0;
  }
}

static void read_push(struct marker_tokens *t, struct kr_token tok)
{
  if (t->n + 1 >= t->cap) {
    t->cap = t->cap ? 2 * t->cap : 64;
    t->toks = kr_xreallocarray(t->toks, t->cap, sizeof *t->toks);
    t->match = kr_xreallocarray(t->match, t->cap, sizeof *t->match);
  }
  t->match[t->n] = SIZE_MAX;
  t->toks[t->n++] = tok;
  t->toks[t->n] = (struct kr_token){KR_TOK_END, 0, tok.offset + tok.length, 0};
}

// Inside brackets a provenance verb may be a name: `from[n]`, `by,`. It begins
// an item only where another word or number follows it.
static bool read_item_begins(const char *text, size_t end, size_t pos, size_t depth)
{
  size_t length;
  int v = marker_verb_at(text, end, pos, &length);
  if (v < 0)
    return false;
  if (depth == 0)
    return true;
  size_t after = marker_skip_space(text, end, pos + length);
  return after == end || marker_is_word(text[after]);
}

// The clause around the innermost open bracket, for messages.
static struct kr_token read_clause_of(const struct marker_tokens *t, size_t outermost)
{
  return outermost > 0 ? t->toks[outermost - 1] : t->toks[outermost];
}

struct read_state {
  struct marker_scan *s;
  const struct marker_run *run;
  struct marker_tokens *t;
  size_t open[MARKER_MAX_DEPTH];
  size_t depth;
  size_t end; // of the last token taken
};

static bool read_unclosed(struct read_state *r)
{
  const char *text = r->s->text;
  const struct kr_source *src = r->s->src;
  struct kr_token at = r->t->toks[r->open[r->depth - 1]];
  struct kr_token clause = read_clause_of(r->t, r->open[0]);
  unsigned line, col;
  kr_source_place(src, r->end ? r->end - 1 : 0, &line, &col);
  struct kr_bytes before;
  kr_bytes_init(&before, 256);
  if (r->run->target != SIZE_MAX) {
    struct kr_lexer lx;
    kr_lexer_init(&lx, src->data, src->len);
    lx.pos = r->run->target;
    struct kr_token tok = kr_lexer_next_code(&lx);
    kr_bytes_addf(&before, ", before `%.*s`", tok.length > 60 ? 60 : (int)tok.length,
                  src->data + tok.offset);
  }
  kr_diags_add(r->s->diags, KR_SEV_ERROR, at.offset, 1,
               "`%c` of clause `%.*s` is not closed; the marker ends at line %u%s",
               text[at.offset], (int)clause.length, text + clause.offset, line, before.data);
  kr_bytes_release(&before);
  return false;
}

// One token that stands in the marker. Returns false when an error was told.
static bool read_take(struct read_state *r, struct kr_token tok)
{
  const char *text = r->s->text;
  struct kr_diags *diags = r->s->diags;
  if (tok.kind == KR_TOK_LINE_COMMENT || tok.kind == KR_TOK_BLOCK_COMMENT) {
    kr_diags_add(diags, KR_SEV_ERROR, tok.offset, 2, "no comment inside a marker");
    return false;
  }
  if (tok.kind == KR_TOK_OTHER && text[tok.offset] == '\\' && !r->run->pragma) {
    kr_diags_add(diags, KR_SEV_ERROR, tok.offset, 1,
                 "no backslash here: a `//` marker continues on the next `// kevin:` line");
    return false;
  }
  if (tok.flags & KR_TOK_UNTERMINATED) {
    kr_diags_add(diags, KR_SEV_ERROR, tok.offset, 1, "this %s is not closed on its line",
                 tok.kind == KR_TOK_CHAR ? "quote" : "string");
    return false;
  }
  if (tok.kind == KR_TOK_OTHER || (tok.flags & (KR_TOK_DIGRAPH | KR_TOK_RAW_STRING)) ||
      tok.kind == KR_TOK_CHAR) {
    size_t n = tok.length > 40 ? 40 : tok.length;
    kr_diags_add(diags, KR_SEV_ERROR, tok.offset, n, "`%.*s` has no place in a marker", (int)n,
                 text + tok.offset);
    return false;
  }
  size_t index = r->t->n;
  read_push(r->t, tok);
  r->end = tok.offset + tok.length;
  if (read_open_of(text, tok)) {
    if (r->depth == MARKER_MAX_DEPTH) {
      kr_diags_add(diags, KR_SEV_ERROR, tok.offset, 1, "brackets are nested deeper than %d",
                   MARKER_MAX_DEPTH);
      return false;
    }
    r->open[r->depth++] = index;
  }
  char opener = read_close_of(text, tok);
  if (!opener)
    return true;
  struct kr_token at = r->t->toks[r->open[r->depth - 1]];
  if (text[at.offset] != opener) {
    unsigned line, col, here;
    kr_source_place(r->s->src, at.offset, &line, &col);
    kr_source_place(r->s->src, tok.offset, &here, &(unsigned){0});
    kr_diags_add(diags, KR_SEV_ERROR, tok.offset, 1,
                 here == line ? "`%c` does not close the `%c` in column %u"
                              : "`%c` does not close the `%c` in column %u, line %u",
                 text[tok.offset], text[at.offset], col, line);
    return false;
  }
  r->depth--;
  r->t->match[r->open[r->depth]] = index;
  r->t->match[index] = r->open[r->depth];
  return true;
}

// Fills `t` with the marker's tokens. Returns false when an error was told.
static bool read_tokens(struct read_state *r, size_t pos)
{
  const char *text = r->s->text;
  size_t begin = pos;
  struct kr_lexer lx;
  kr_lexer_init(&lx, text, r->run->end);
  lx.pos = pos;
  for (;;) {
    struct kr_token tok = kr_lexer_next(&lx);
    if (tok.kind == KR_TOK_END)
      break;
    if (tok.offset + tok.length - begin > MARKER_MAX_TEXT) {
      kr_diags_add(r->s->diags, KR_SEV_ERROR, tok.offset, 1,
                   "the marker is longer than %d KiB", MARKER_MAX_TEXT >> 10);
      return false;
    }
    size_t after = tok.kind == KR_TOK_IDENTIFIER
                       ? marker_kevin_at(text, r->run->begin, r->run->end, tok.offset)
                       : 0;
    if (after) {
      if (!r->run->pragma &&
          read_item_begins(text, r->run->end, marker_skip_space(text, r->run->end, after),
                           r->depth))
        break;
      lx.pos = after;
      continue;
    }
    if (r->depth == 0) {
      bool name = tok.kind == KR_TOK_IDENTIFIER && marker_is_clause(text + tok.offset, tok.length);
      struct kr_token next = kr_lexer_next(&lx);
      bool bracket = read_is(text, next, "(") &&
                     (r->run->pragma || next.offset == tok.offset + tok.length);
      if (!name || !bracket)
        break;
      if (!read_take(r, tok))
        return false;
      tok = next;
    }
    if (!read_take(r, tok))
      return false;
  }
  return r->depth == 0 || read_unclosed(r);
}

// --- off ---

// The reason may have been broken over lines by a formatter; it is a remark and
// counts for nothing, so its line ends become blanks.
static bool read_off(struct read_state *r, size_t pos, struct kr_marker *m)
{
  const char *text = r->s->text;
  size_t end = r->run->end;
  size_t open = r->run->pragma ? marker_skip_space(text, end, pos) : pos;
  r->end = pos;
  if (open >= end || text[open] != '(')
    return true;
  struct kr_bytes reason;
  kr_bytes_init(&reason, MARKER_MAX_TEXT);
  size_t p = marker_skip_space(text, end, open + 1);
  bool good = p < end && text[p] == '"';
  for (p++; good && p < end && text[p] != '"' && text[p] != '\\'; p++) {
    if (text[p] != '\n') {
      kr_bytes_addc(&reason, text[p]);
      continue;
    }
    p = marker_skip_space(text, end, p) - 1;
    kr_bytes_addc(&reason, ' ');
  }
  good = good && p < end && text[p] == '"' && !reason.toobig;
  size_t close = good ? marker_skip_space(text, end, p + 1) : p;
  good = good && close < end && text[close] == ')';
  if (good) {
    m->reason = kr_bytes_take(&reason);
    r->end = close + 1;
  } else {
    kr_diags_add(r->s->diags, KR_SEV_ERROR, open, 1,
                 "a reason is a string in brackets: off(\"too small to matter\")");
  }
  kr_bytes_release(&reason);
  return good;
}

// --- provenance ---

// The words of a run from `pos`, split at blanks, `kevin:` without a verb left out.
struct read_words {
  const char *text;
  size_t begin, end, pos;
};

static struct kr_span read_word(struct read_words *w)
{
  for (;;) {
    size_t p = marker_skip_space(w->text, w->end, w->pos);
    size_t after = marker_kevin_at(w->text, w->begin, w->end, p);
    if (after && read_item_begins(w->text, w->end, marker_skip_space(w->text, w->end, after), 0))
      return (struct kr_span){0, 0};
    if (after) {
      w->pos = after;
      continue;
    }
    size_t q = p;
    while (q < w->end && !strchr(" \t\n\r\v\f", w->text[q]))
      q++;
    w->pos = q;
    return (struct kr_span){p, q - p};
  }
}

static bool read_word_is(const char *text, struct kr_span w, const char *what)
{
  return w.length == strlen(what) && !memcmp(text + w.offset, what, w.length);
}

// Each line's last words are known, so that prose which a formatter moved behind
// it stays prose. A line of another shape ends where its own line does.
static size_t read_provenance(struct read_state *r, enum kr_marker_verb verb, size_t pos,
                              struct kr_marker *m)
{
  struct read_words w = {r->s->text, r->run->begin, r->run->end, pos};
  struct kr_bytes out, line;
  kr_bytes_init(&out, MARKER_MAX_TEXT);
  kr_bytes_init(&line, MARKER_MAX_TEXT);
  size_t end = pos, line_end = pos;
  size_t newline = pos;
  while (newline < w.end && w.text[newline] != '\n')
    newline++;
  unsigned until = 0; // words left after the one that announces the end
  bool shaped = false;
  for (;;) {
    struct kr_span word = read_word(&w);
    if (!word.length || out.toobig)
      break;
    if (out.len)
      kr_bytes_addc(&out, ' ');
    kr_bytes_add(&out, w.text + word.offset, word.length);
    end = word.offset + word.length;
    if (end <= newline) {
      if (line.len)
        kr_bytes_addc(&line, ' ');
      kr_bytes_add(&line, w.text + word.offset, word.length);
      line_end = end;
    }
    if (until) {
      until--;
      if (!until) {
        shaped = true;
        break;
      }
    }
    // Shapes: "... 64.3 -> 35.2 us", "... kevin-rewrite 0.1.0", "... marker 77aa...".
    if (until)
      continue;
    if ((verb == KR_MARKER_VERIFIED || verb == KR_MARKER_MODELLED) &&
        read_word_is(w.text, word, "->"))
      until = 2;
    else if (verb == KR_MARKER_BY && read_word_is(w.text, word, "kevin-rewrite"))
      until = 1;
    else if (verb == KR_MARKER_FROM && read_word_is(w.text, word, "marker"))
      until = 1;
  }
  if (!shaped)
    end = line_end;
  m->text = kr_bytes_take(shaped ? &out : &line);
  kr_bytes_release(&out);
  kr_bytes_release(&line);
  return end;
}

// --- items ---

size_t marker_read(struct marker_scan *s, const struct marker_run *run, size_t kevin, size_t verb,
                   bool *failed)
{
  struct marker_tokens t = {0};
  struct read_state r = {.s = s, .run = run, .t = &t};
  size_t length = 0;
  struct kr_marker m = {.verb = (enum kr_marker_verb)marker_verb_at(s->text, run->end, verb, &length),
                        .pragma = run->pragma,
                        .target = run->target};
  size_t pos = verb + length;
  read_push(&t, (struct kr_token){KR_TOK_END, 0, pos, 0});
  t.n = 0;
  r.end = pos;
  if (m.verb == KR_MARKER_OPTIMIZE) {
    *failed = !read_tokens(&r, pos);
    if (!*failed)
      *failed = !marker_clauses(s, &t, &m);
    m.text = marker_join(s->text, t.toks, t.n);
  } else if (m.verb == KR_MARKER_OFF) {
    *failed = !read_off(&r, pos, &m);
    m.text = kr_xstrdup("");
  } else {
    r.end = read_provenance(&r, m.verb, pos, &m);
  }
  m.at = (struct kr_span){kevin, r.end - kevin};
  free(t.toks);
  free(t.match);
  if (*failed) {
    marker_release(&m);
  } else {
    KR_GROW(s->items, s->n_items, s->cap_items);
    s->items[s->n_items++] = m;
  }
  return r.end;
}
