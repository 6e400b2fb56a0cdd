#include "syntax_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../evaluator/base/mem.h"

// Changing token spans of a text and nothing else.

static void edit_add(struct syntax_edits *e, size_t offset, size_t length, char *text)
{
  KR_GROW(e->items, e->n, e->cap);
  e->items[e->n] = (struct syntax_edit){offset, length, text, e->n};
  e->n++;
}

static char *format(const char *fmt, va_list ap)
{
  va_list copy;
  va_copy(copy, ap);
  int n = vsnprintf(NULL, 0, fmt, copy);
  va_end(copy);
  char *text = kr_xmalloc((size_t)n + 1);
  vsnprintf(text, (size_t)n + 1, fmt, ap);
  return text;
}

static size_t token_end(const struct syntax *s, size_t token)
{
  return s->toks[token].offset + s->toks[token].length;
}

void syntax_replace(struct syntax_edits *e, const struct syntax *s, struct syntax_span span,
                    const char *fmt, ...)
{
  va_list ap;
  va_start(ap, fmt);
  char *text = format(fmt, ap);
  va_end(ap);
  size_t from = s->toks[span.first].offset;
  size_t to = span.end > span.first ? token_end(s, span.end - 1) : from;
  edit_add(e, from, to - from, text);
}

void syntax_before(struct syntax_edits *e, const struct syntax *s, size_t token, const char *fmt, ...)
{
  va_list ap;
  va_start(ap, fmt);
  edit_add(e, s->toks[token].offset, 0, format(fmt, ap));
  va_end(ap);
}

void syntax_after(struct syntax_edits *e, const struct syntax *s, size_t token, const char *fmt, ...)
{
  va_list ap;
  va_start(ap, fmt);
  edit_add(e, token_end(s, token), 0, format(fmt, ap));
  va_end(ap);
}

static size_t line_begin(const struct syntax *s, size_t offset)
{
  while (offset && s->text[offset - 1] != '\n')
    offset--;
  return offset;
}

char *syntax_indent(const struct syntax *s, size_t token)
{
  size_t from = line_begin(s, s->toks[token].offset);
  size_t n = strspn(s->text + from, " \t");
  return kr_xstrndup(s->text + from, n);
}

char *syntax_reindent(const char *text, const char *from, const char *to)
{
  struct kr_bytes b;
  kr_bytes_init(&b, KR_BYTES_DEFAULT_MAX);
  size_t n = strlen(from);
  for (const char *p = text; *p; p++) {
    kr_bytes_addc(&b, *p);
    if (*p != '\n' || !p[1] || p[1] == '\n')
      continue;
    if (!strncmp(p + 1, from, n))
      p += n;
    kr_bytes_adds(&b, to);
  }
  return kr_bytes_take(&b);
}

void syntax_line_before(struct syntax_edits *e, const struct syntax *s, size_t token,
                        const char *fmt, ...)
{
  va_list ap;
  va_start(ap, fmt);
  char *text = format(fmt, ap), *indent = syntax_indent(s, token);
  va_end(ap);
  char *lines = syntax_reindent(text, "", indent);
  size_t from = line_begin(s, s->toks[token].offset);
  bool begins = from + strlen(indent) == s->toks[token].offset;
  // On a line that begins with something else the new lines part it.
  edit_add(e, begins ? from : s->toks[token].offset, 0,
           begins ? kr_xasprintf("%s%s\n", indent, lines)
                  : kr_xasprintf("\n%s%s\n%s", indent, lines, indent));
  free(lines);
  free(indent);
  free(text);
}

void syntax_remove(struct syntax_edits *e, const struct syntax *s, struct syntax_span span)
{
  if (span.first >= span.end)
    return;
  size_t from = s->toks[span.first].offset, to = token_end(s, span.end - 1);
  size_t begin = line_begin(s, from), end = to + strspn(s->text + to, " \t");
  if (begin + strspn(s->text + begin, " \t") == from && (s->text[end] == '\n' || !s->text[end])) {
    from = begin;
    to = s->text[end] ? end + 1 : end;
  }
  edit_add(e, from, to - from, kr_xstrdup(""));
}

static int edit_compare(const void *a, const void *b)
{
  const struct syntax_edit *x = a, *y = b;
  if (x->offset != y->offset)
    return x->offset < y->offset ? -1 : 1;
  // What is put before a place stands before what replaces it.
  if (!x->length != !y->length)
    return x->length ? 1 : -1;
  return x->order < y->order ? -1 : x->order > y->order;
}

char *syntax_apply(struct syntax_edits *e, const struct syntax *s)
{
  struct kr_bytes out;
  kr_bytes_init(&out, KR_BYTES_DEFAULT_MAX);
  size_t at = 0;
  bool fine = true;
  if (e->n)
    qsort(e->items, e->n, sizeof *e->items, edit_compare);
  for (size_t i = 0; i < e->n && fine; i++) {
    const struct syntax_edit *one = &e->items[i];
    fine = one->offset >= at;
    if (!fine)
      break;
    kr_bytes_add(&out, s->text + at, one->offset - at);
    kr_bytes_adds(&out, one->text);
    at = one->offset + one->length;
  }
  if (fine)
    kr_bytes_add(&out, s->text + at, s->len - at);
  syntax_edits_release(e);
  char *text = kr_bytes_take(&out);
  if (fine)
    return text;
  free(text);
  return NULL;
}

void syntax_edits_release(struct syntax_edits *e)
{
  for (size_t i = 0; i < e->n; i++)
    free(e->items[i].text);
  free(e->items);
  *e = (struct syntax_edits){0};
}

const char *syntax_indent_step(const struct syntax *s)
{
  static const char spaces[] = "        ";
  if (s->kernel == SYNTAX_NONE)
    return spaces + 6;
  const struct syntax_stmt *body = &s->stmts[s->functions[s->kernel].body];
  if (body->child == SYNTAX_NONE)
    return spaces + 6;
  char *indent = syntax_indent(s, s->stmts[body->child].span.first);
  size_t n = strlen(indent);
  bool tab = strchr(indent, '\t') != NULL;
  free(indent);
  return tab ? "\t" : n >= 1 && n <= 8 ? spaces + 8 - n : spaces + 6;
}

static bool taken(const char *text, const char *name)
{
  struct kr_lexer lx;
  if (!text)
    return false;
  kr_lexer_init(&lx, text, strlen(text));
  for (;;) {
    struct kr_token t = kr_lexer_next_code(&lx);
    if (t.kind == KR_TOK_END)
      return false;
    if (t.kind == KR_TOK_IDENTIFIER && kr_token_is(text, t, name))
      return true;
  }
}

char *syntax_fresh(const struct syntax *s, const char *base)
{
  for (int i = 1;; i++) {
    char *name = i == 1 ? kr_xstrdup(base) : kr_xasprintf("%s_%d", base, i);
    if (!taken(s->text, name) &&
        !(s->contract && (taken(s->contract->before, name) || taken(s->contract->after, name))))
      return name;
    free(name);
  }
}

char *syntax_fresh_helper(const struct syntax *s, const char *base)
{
  const char *kernel = s->kernel == SYNTAX_NONE ? "kernel" : s->functions[s->kernel].name;
  char *with = kr_xasprintf("%s_%s", kernel, base);
  char *name = syntax_fresh(s, with);
  free(with);
  return name;
}
