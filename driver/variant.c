#include "variant.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "../evaluator/base/expr.h"
#include "../evaluator/base/lex.h"
#include "../evaluator/base/mem.h"
#include "babble.h"
#include "redact.h"
#include "../evaluator/base/utf8.h"

struct text_span {
  const char *at;
  size_t len;
};

static int variant_refuse(struct variant *v, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static int variant_refuse(struct variant *v, const char *fmt, ...)
{
  va_list ap;
  va_start(ap, fmt);
  char small[512];
  vsnprintf(small, sizeof small, fmt, ap);
  va_end(ap);
  free(v->why);
  v->why = kr_xstrdup(small);
  return 1;
}

// --- fenced blocks ---

struct fence {
  size_t indent, run; // blanks before it, length of the run
  char mark;          // '`' or '~'
  struct text_span info;
};

static struct text_span line_at(struct text_span text, size_t pos)
{
  const char *begin = text.at + pos;
  const char *end = memchr(begin, '\n', text.len - pos);
  return (struct text_span){begin, end ? (size_t)(end - begin) : text.len - pos};
}

static struct text_span trimmed(struct text_span s)
{
  while (s.len && (*s.at == ' ' || *s.at == '\t')) {
    s.at++;
    s.len--;
  }
  while (s.len && (s.at[s.len - 1] == ' ' || s.at[s.len - 1] == '\t'))
    s.len--;
  return s;
}

static bool fence_read(struct text_span line, struct fence *f)
{
  size_t i = 0;
  while (i < line.len && (line.at[i] == ' ' || line.at[i] == '\t'))
    i++;
  f->indent = i;
  if (i == line.len || (line.at[i] != '`' && line.at[i] != '~'))
    return false;
  f->mark = line.at[i];
  while (i < line.len && line.at[i] == f->mark)
    i++;
  f->run = i - f->indent;
  f->info = trimmed((struct text_span){line.at + i, line.len - i});
  // ```a``` on one line is text, not a fence.
  return f->run >= 3 && !(f->mark == '`' && memchr(f->info.at, '`', f->info.len));
}

static bool fence_closes(const struct fence *f, const struct fence *open)
{
  return f->mark == open->mark && f->run >= open->run && !f->info.len;
}

static bool fence_is_code(const struct fence *f)
{
  static const char *const tags[] = {"cuda", "cu", "cuh", "c++", "cpp", "cxx", "cc", "c", "cuda-cpp",
                                     "cuda-c++", "cudac++", "h", "hpp"};
  struct text_span tag = f->info;
  size_t n = 0;
  while (n < tag.len && tag.at[n] != ' ' && tag.at[n] != '\t' && tag.at[n] != '{')
    n++;
  if (!n)
    return true;
  for (size_t i = 0; i < sizeof tags / sizeof *tags; i++) {
    if (strlen(tags[i]) == n && !strncasecmp(tag.at, tags[i], n))
      return true;
  }
  return false;
}

struct blocks {
  bool found;
  struct text_span body;   // of the last complete block of code
  size_t indent;           // of its fence
  size_t begin, end;       // of the block with its fences, in the text
  bool unclosed;           // the text ends inside a block
  struct text_span other;  // tag of a complete block in another language
};

static void blocks_find(struct text_span text, struct blocks *b)
{
  struct fence open = {0}, f;
  bool inside = false;
  size_t body = 0, begin = 0;
  memset(b, 0, sizeof *b);
  for (size_t pos = 0; pos < text.len;) {
    struct text_span line = line_at(text, pos);
    size_t next = pos + line.len < text.len ? pos + line.len + 1 : text.len;
    if (fence_read(line, &f)) {
      if (!inside) {
        inside = true;
        open = f;
        begin = pos;
        body = next;
      } else if (fence_closes(&f, &open)) {
        inside = false;
        if (fence_is_code(&open)) {
          b->found = true;
          b->body = (struct text_span){text.at + body, pos - body};
          b->indent = open.indent;
          b->begin = begin;
          b->end = next;
        } else {
          b->other = open.info;
        }
      }
    }
    pos = next;
  }
  b->unclosed = inside;
}

// --- the launch line ---

enum { LAUNCH_GRID, LAUNCH_BLOCK, LAUNCH_SHARED };

static void launch_unknown_call(void *arg, const struct kr_expr *name, bool is_call)
{
  const struct kr_expr **found = arg;
  if (is_call && !*found)
    *found = name;
}

// Reads one parenthesised list of expressions into `out`, at most `max` of them.
static int launch_list(struct variant *v, const char *text, const struct kr_token *toks, size_t n,
                       size_t *pos, const char *what, char **out, size_t max)
{
  struct kr_expr_error error;
  for (size_t i = 0;; i++) {
    if (i == max)
      return variant_refuse(v, "its launch line gives %s(...) more than %zu values", what, max);
    struct kr_expr *e = kr_expr_parse_tokens(text, toks, n, pos, &error);
    if (!e)
      return variant_refuse(v, "its launch line: in %s(...): %s", what, error.text);
    const struct kr_expr *call = NULL;
    kr_expr_names(e, launch_unknown_call, &call);
    if (call) {
      variant_refuse(v, "its launch line calls `%s`, which is not a function of launch expressions",
                     call->name);
      kr_expr_free(e);
      return 1;
    }
    out[i] = kr_xstrndup(text + e->offset, e->length);
    kr_expr_free(e);
    bool comma = kr_token_is(text, toks[*pos], ",");
    if (!comma && !kr_token_is(text, toks[*pos], ")"))
      return variant_refuse(v, "its launch line: `,` or `)` is wanted after `%s`", out[i]);
    (*pos)++;
    if (!comma)
      return 0;
  }
}

// `text` is what stands behind `// launch:`.
static int launch_read(struct variant *v, struct text_span line, const struct kr_geometry *original)
{
  static const char *const names[] = {"grid", "block", "shared"};
  struct kr_geometry *g = &v->candidate.geometry;
  char *text = kr_xstrndup(line.at, line.len);
  size_t n, pos = 0;
  struct kr_token *toks = kr_lex_all(text, strlen(text), true, &n);
  bool seen[3] = {false};
  int rc = 1;
  memset(g, 0, sizeof *g);
  v->candidate.has_geometry = true;
  while (toks[pos].kind != KR_TOK_END) {
    unsigned which = 0;
    while (which < 3 && !kr_token_is(text, toks[pos], names[which]))
      which++;
    if (which == 3) {
      char *shown = redact_line(text + toks[pos].offset, strlen(text + toks[pos].offset), 60);
      variant_refuse(v, "its launch line: grid(...), block(...) or shared(...) is wanted at `%s`",
                     shown);
      free(shown);
      goto out;
    }
    if (seen[which]) {
      variant_refuse(v, "its launch line has %s(...) twice", names[which]);
      goto out;
    }
    seen[which] = true;
    pos++;
    if (!kr_token_is(text, toks[pos], "(")) {
      variant_refuse(v, "its launch line: `(` is wanted after `%s`", names[which]);
      goto out;
    }
    pos++;
    char **out = which == LAUNCH_GRID ? g->grid : which == LAUNCH_BLOCK ? g->block : &g->shared;
    if (launch_list(v, text, toks, n, &pos, names[which], out, which == LAUNCH_SHARED ? 1 : 3))
      goto out;
  }
  if (!seen[LAUNCH_GRID] && !seen[LAUNCH_BLOCK] && !seen[LAUNCH_SHARED]) {
    variant_refuse(v, "its launch line is empty: `// launch: grid(...) block(...) shared(...)`");
    goto out;
  }
  struct kr_geometry rest;
  variant_geometry_copy(original, &rest);
  for (size_t i = 0; i < 3; i++) {
    if (!seen[LAUNCH_GRID]) {
      g->grid[i] = rest.grid[i];
      rest.grid[i] = NULL;
    }
    if (!seen[LAUNCH_BLOCK]) {
      g->block[i] = rest.block[i];
      rest.block[i] = NULL;
    }
    free(rest.grid[i]);
    free(rest.block[i]);
  }
  if (!seen[LAUNCH_SHARED]) {
    g->shared = rest.shared;
    rest.shared = NULL;
  }
  free(rest.shared);
  g->cooperative = original->cooperative;
  rc = 0;
out:
  free(toks);
  free(text);
  return rc;
}

static bool is_launch_line(struct text_span line, struct text_span *rest)
{
  line = trimmed(line);
  if (line.len < 2 || memcmp(line.at, "//", 2))
    return false;
  line = trimmed((struct text_span){line.at + 2, line.len - 2});
  if (line.len < 7 || memcmp(line.at, "launch:", 7))
    return false;
  *rest = (struct text_span){line.at + 7, line.len - 7};
  return true;
}

// --- code and summary ---

// The block's lines without the fence's indentation, blank lines at either end
// and trailing blanks.
static void code_dedent(struct text_span body, size_t indent, struct kr_bytes *out)
{
  for (size_t pos = 0; pos < body.len;) {
    struct text_span line = line_at(body, pos);
    pos += line.len + 1;
    for (size_t i = 0; i < indent && line.len && (*line.at == ' ' || *line.at == '\t'); i++) {
      line.at++;
      line.len--;
    }
    while (line.len && (line.at[line.len - 1] == ' ' || line.at[line.len - 1] == '\t'))
      line.len--;
    if (!line.len && !out->len)
      continue;
    kr_bytes_add(out, line.at, line.len);
    kr_bytes_addc(out, '\n');
  }
  while (out->len && out->data[out->len - 1] == '\n')
    out->data[--out->len] = 0;
}

// Prose on one line; runs of fence marks are broken, so that a summary never
// opens a block in a later prompt. Cut behind a sentence where one ends in the
// second half, else behind a word.
static char *summary_make(struct text_span prose)
{
  struct kr_bytes text;
  kr_bytes_init(&text, prose.len + 1);
  size_t run = 0;
  for (size_t i = 0; i < prose.len; i++) {
    char c = prose.at[i];
    run = c == '`' || c == '~' ? run + 1 : 0;
    if (run < 3)
      kr_bytes_addc(&text, c);
  }
  char *line = redact_line(text.data, text.len, text.len * 4 + 1);
  kr_bytes_release(&text);
  size_t n = strlen(line);
  if (n <= VARIANT_MAX_SUMMARY)
    return line;
  size_t end = VARIANT_MAX_SUMMARY - 3, stop = 0, word = 0;
  for (size_t i = 1; i <= end; i++) {
    if (line[i] != ' ')
      continue;
    word = i;
    if (strchr(".!?", line[i - 1]))
      stop = i;
  }
  if (stop > VARIANT_MAX_SUMMARY / 2) {
    line[stop] = 0;
    return line;
  }
  end = word > VARIANT_MAX_SUMMARY / 2 ? word : end;
  while (end && ((unsigned char)line[end] & 0xc0) == 0x80)
    end--;
  memcpy(line + end, "...", 4);
  return line;
}

// The prose of a text: what stands outside its blocks.
static void prose_of(struct text_span text, struct kr_bytes *out)
{
  struct fence open = {0}, f;
  bool inside = false;
  for (size_t pos = 0; pos < text.len;) {
    struct text_span line = line_at(text, pos);
    pos += line.len + 1;
    if (fence_read(line, &f) && (!inside || fence_closes(&f, &open))) {
      if (!inside)
        open = f;
      inside = !inside;
      continue;
    }
    if (!inside) {
      kr_bytes_add(out, line.at, line.len);
      kr_bytes_addc(out, '\n');
    }
  }
}

static struct kr_hash variant_hash(const struct kr_candidate *c)
{
  struct kr_hasher h;
  kr_hasher_init(&h);
  struct kr_hash code = kr_lex_hash(c->code, strlen(c->code));
  kr_hasher_field(&h, code.bytes, sizeof code.bytes);
  if (c->has_geometry) {
    for (size_t i = 0; i < 7; i++) {
      const char *s = i < 3   ? c->geometry.grid[i]
                      : i < 6 ? c->geometry.block[i - 3]
                              : c->geometry.shared;
      struct kr_hash one = kr_lex_hash(s ? s : "", s ? strlen(s) : 0);
      kr_hasher_field(&h, one.bytes, sizeof one.bytes);
    }
  }
  return kr_hasher_end(&h);
}

// Line ends of Windows and old Macs become LF; byte order marks, which a lexer
// skips at the start of a text alone, go.
static void text_normalise(const char *reply, size_t len, struct kr_bytes *out)
{
  for (size_t i = 0; i < len;) {
    size_t n = 0;
    while (i + n < len && reply[i + n] != '\r' && reply[i + n] != '\xef')
      n++;
    kr_bytes_add(out, reply + i, n);
    i += n;
    if (i < len && reply[i] == '\xef') {
      if (memcmp(reply + i, "\xef\xbb\xbf", 3)) // it is UTF-8: three bytes are there
        kr_bytes_add(out, reply + i, 3);
      i += 3;
    } else if (i < len) {
      kr_bytes_addc(out, '\n');
      i += i + 1 < len && reply[i + 1] == '\n' ? 2 : 1;
    }
  }
}

// The text behind the last `</think>`.
static struct text_span without_reasoning(struct text_span text)
{
  static const char mark[] = "</think>";
  size_t n = sizeof mark - 1;
  for (size_t i = text.len >= n ? text.len - n + 1 : 0; i-- > 0;) {
    if (!memcmp(text.at + i, mark, n))
      return (struct text_span){text.at + i + n, text.len - i - n};
  }
  return text;
}

// "I'm sorry, but I can't help with that." Looked for at the beginning alone, and only
// where there is no code, so that nothing is lost when it is not meant so.
static bool is_refusal(struct text_span said)
{
  static const char *const cannot[] = {"i cannot ", "i can't ", "i can not ", "i am unable to ",
                                       "i'm unable to ", "i am not able to ", "i'm not able to ",
                                       "i won't ", "i will not ", "i must decline",
                                       "i have to decline", "i decline to "};
  static const char *const verbs[] = {"", "help", "assist", "comply", "provide", "fulfil",
                                      "continue", "create", "write", "generate", "answer",
                                      "support", "engage", "share", "produce", "do that",
                                      "do this", "optimi", "rewrite"};
  char text[400];
  size_t n = 0;
  for (size_t i = 0; i < said.len && n + 1 < sizeof text; i++) {
    unsigned char c = (unsigned char)said.at[i];
    if (c == 0xe2 && i + 2 < said.len && !memcmp(said.at + i, "\xe2\x80\x99", 3)) {
      c = '\''; // the curly one
      i += 2;
    }
    text[n++] = (char)(c == '\n' ? ' ' : c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  }
  text[n] = 0;
  for (size_t i = 0; i < sizeof cannot / sizeof *cannot; i++) {
    const char *at = strstr(text, cannot[i]);
    size_t len = strlen(cannot[i]);
    // What has no blank behind it says all by itself.
    for (size_t k = cannot[i][len - 1] != ' ' ? 0 : 1; at && k < sizeof verbs / sizeof *verbs; k++)
      if (!strncmp(at + len, verbs[k], strlen(verbs[k])))
        return true;
  }
  return false;
}

int variant_parse(const char *reply, size_t len, bool truncated,
                  const struct kr_geometry *original, struct variant *out)
{
  // Whether it was our limit or the server's that ended it is the same to its author.
  const char *cut = truncated && babble_at_end(reply, len)
                        ? "the reply repeated itself and was cut"
                        : "the reply was cut off at the limit of its length";
  memset(out, 0, sizeof *out);
  out->summary = kr_xstrdup("");
  struct kr_bytes text, code, prose;
  kr_bytes_init(&text, len + 1);
  kr_bytes_init(&code, VARIANT_MAX_CODE);
  kr_bytes_init(&prose, 2 * len + 16);
  int rc = 1;

  size_t bad = kr_utf8_check(reply, len);
  if (bad < len) {
    variant_refuse(out, "the reply is not UTF-8 at byte %zu", bad);
    goto out;
  }
  if (memchr(reply, 0, len)) {
    variant_refuse(out, "the reply holds a NUL character");
    goto out;
  }
  text_normalise(reply, len, &text);
  struct text_span said = without_reasoning((struct text_span){text.data, text.len});
  size_t blank = strspn(said.at, " \t\n");
  if (said.at == text.data && !strncmp(said.at + blank, "<think>", 7)) {
    variant_refuse(out, "%s while it was still reasoning",
                   truncated ? cut : "the reply ended");
    goto out;
  }
  if (blank == said.len) {
    variant_refuse(out, "%s", truncated ? cut : "the reply is empty");
    goto out;
  }
  struct blocks b;
  blocks_find(said, &b);
  if (!b.found) {
    if (b.unclosed)
      variant_refuse(out, "%s%s", truncated ? cut : "its code block is not closed",
                     truncated ? ", inside its code block" : "");
    else if (truncated)
      variant_refuse(out, "%s, before a code block", cut);
    else if (b.other.len) {
      char *tag = redact_line(b.other.at, b.other.len, 30);
      variant_refuse(out, "its only code block is tagged `%s`, not `cuda`", tag);
      free(tag);
    } else if (is_refusal(said))
      variant_refuse(out, "the reply declines the task, and holds no code");
    else
      variant_refuse(out, "there is no fenced code block in the reply");
    goto out;
  }

  prose_of((struct text_span){said.at + b.end, said.len - b.end}, &prose);
  if (strspn(prose.data, " \t\n") == prose.len) {
    kr_bytes_reset(&prose);
    prose_of((struct text_span){said.at, b.begin}, &prose);
  }
  free(out->summary);
  out->summary = summary_make((struct text_span){prose.data, prose.len});

  code_dedent(b.body, b.indent, &code);
  if (code.toobig) {
    variant_refuse(out, "its code block is longer than %d bytes", VARIANT_MAX_CODE);
    goto out;
  }
  size_t begin = 0;
  struct text_span rest, all = {code.data, code.len};
  for (size_t pos = 0, line_number = 1; pos < code.len; line_number++) {
    struct text_span line = line_at(all, pos);
    pos += line.len + 1;
    if (!is_launch_line(line, &rest))
      continue;
    if (line_number > 1) {
      variant_refuse(out, "its launch line is line %zu of the block; it must be the first",
                     line_number);
      goto out;
    }
    if (launch_read(out, rest, original))
      goto out;
    begin = pos < code.len ? pos : code.len;
    out->lines_before = 1;
  }
  while (code.data[begin] == '\n')
    begin++;
  if (begin == code.len) {
    variant_refuse(out, "its code block is empty");
    goto out;
  }
  out->candidate.code = kr_xstrdup(code.data + begin);
  out->tokens = variant_hash(&out->candidate);
  rc = 0;
out:
  if (rc && out->candidate.has_geometry) {
    kr_candidate_release(&out->candidate);
    memset(&out->candidate, 0, sizeof out->candidate);
    out->lines_before = 0;
  }
  kr_bytes_release(&text);
  kr_bytes_release(&code);
  kr_bytes_release(&prose);
  return rc;
}

void variant_release(struct variant *v)
{
  kr_candidate_release(&v->candidate);
  free(v->summary);
  free(v->why);
  memset(v, 0, sizeof *v);
}

// --- showing ---

void variant_geometry_copy(const struct kr_geometry *from, struct kr_geometry *to)
{
  memset(to, 0, sizeof *to);
  for (size_t i = 0; i < 3; i++) {
    to->grid[i] = from->grid[i] ? kr_xstrdup(from->grid[i]) : NULL;
    to->block[i] = from->block[i] ? kr_xstrdup(from->block[i]) : NULL;
  }
  to->shared = from->shared ? kr_xstrdup(from->shared) : NULL;
  to->cooperative = from->cooperative;
}

static void geometry_list(const char *name, char *const *values, size_t n, struct kr_bytes *out)
{
  while (n && !values[n - 1])
    n--;
  kr_bytes_addf(out, "%s(", name);
  for (size_t i = 0; i < n; i++)
    kr_bytes_addf(out, "%s%s", i ? ", " : "", values[i] ? values[i] : "1");
  kr_bytes_adds(out, n ? ")" : "1)");
}

void variant_geometry(const struct kr_geometry *g, struct kr_bytes *out)
{
  geometry_list("grid", g->grid, 3, out);
  kr_bytes_addc(out, ' ');
  geometry_list("block", g->block, 3, out);
  if (g->shared && strcmp(g->shared, "0")) {
    kr_bytes_addc(out, ' ');
    geometry_list("shared", &g->shared, 1, out);
  }
}

void variant_show(const char *code, const struct kr_geometry *geometry, struct kr_bytes *out)
{
  if (geometry) {
    kr_bytes_adds(out, "// launch: ");
    variant_geometry(geometry, out);
    kr_bytes_addc(out, '\n');
  }
  struct kr_lexer lx;
  size_t len = strlen(code), at = 0;
  kr_lexer_init(&lx, code, len);
  for (struct kr_token t = kr_lexer_next(&lx); t.kind != KR_TOK_END; t = kr_lexer_next(&lx)) {
    if (t.kind != KR_TOK_LINE_COMMENT && t.kind != KR_TOK_BLOCK_COMMENT)
      continue;
    kr_bytes_add(out, code + at, t.offset - at);
    at = t.offset + t.length;
    size_t lines = 0;
    for (size_t i = t.offset; i < at; i++)
      lines += code[i] == '\n';
    bool at_line_end = lines || at == len || code[at] == '\n';
    if (at_line_end) {
      while (out->len && (out->data[out->len - 1] == ' ' || out->data[out->len - 1] == '\t'))
        out->data[--out->len] = 0;
    } else if (out->len && !strchr(" \t\n", out->data[out->len - 1])) {
      kr_bytes_addc(out, ' '); // a comment parts tokens as a blank does
    }
    // A directive goes on behind a comment of several lines, so it must here.
    size_t rest = at + strspn(code + at, " \t");
    bool goes_on = t.kind == KR_TOK_BLOCK_COMMENT && t.flags & KR_TOK_DIRECTIVE && rest < len &&
                   code[rest] != '\n';
    while (lines--)
      kr_bytes_adds(out, goes_on ? " \\\n" : "\n");
  }
  kr_bytes_add(out, code + at, len - at);
}
