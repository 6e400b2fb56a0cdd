// The edits that put a variant in a kernel's place.
//
// A marker must stand directly above its kernel, so a variant is cut in two: its
// helpers go above the marker (above the comment block that the marker is part
// of), the kernel goes where the old one was. Launches are edited inside their
// `<<<...>>>` alone: a `dim3` variable may serve other launches, and the one
// that is no longer used costs nothing.

#include "rewriter.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../evaluator/base/mem.h"
#include "decl.h"

// --- places in the source ---

static size_t line_begin(const struct kr_source *src, size_t offset)
{
  unsigned line, col;
  kr_source_place(src, offset, &line, &col);
  return offset - (col - 1);
}

static bool blank_between(const struct kr_source *src, size_t from, size_t to)
{
  for (size_t i = from; i < to; i++) {
    if (src->data[i] != ' ' && src->data[i] != '\t')
      return false;
  }
  return true;
}

// Where the last token of code before `offset` ends; directives are no code here.
static size_t code_end_before(const struct kr_source *src, size_t offset)
{
  size_t end = src->bom ? 3 : 0;
  struct kr_lexer lx;
  kr_lexer_init(&lx, src->data, src->len);
  for (;;) {
    struct kr_token t = kr_lexer_next_code(&lx);
    if (t.kind == KR_TOK_END || t.offset >= offset)
      return end;
    if (!(t.flags & KR_TOK_DIRECTIVE))
      end = t.offset + t.length;
  }
}

// The line at which the comments begin that `offset` (of the marker, or of a
// kernel without one) is part of or stands below, blank lines and directives
// being their edge; never before `floor`.
static size_t comment_block_begin(const struct kr_source *src, size_t offset, size_t floor)
{
  struct comment {
    size_t begin, end;
  } *comments = NULL;
  size_t n = 0, cap = 0;
  struct kr_lexer lx;
  kr_lexer_init(&lx, src->data, src->len);
  for (;;) {
    struct kr_token t = kr_lexer_next(&lx);
    if (t.kind == KR_TOK_END || t.offset >= offset)
      break;
    bool comment = t.kind == KR_TOK_LINE_COMMENT || t.kind == KR_TOK_BLOCK_COMMENT;
    if (comment && t.offset >= floor && (t.flags & KR_TOK_LINE_START) &&
        !(t.flags & KR_TOK_DIRECTIVE)) {
      KR_GROW(comments, n, cap);
      comments[n++] = (struct comment){t.offset, t.offset + t.length};
    }
  }
  size_t begin = line_begin(src, offset);
  if (src->bom && begin < 3)
    begin = 3;
  while (n) {
    struct comment c = comments[--n];
    if (c.end > begin) { // on the line itself
      if (c.begin < begin && line_begin(src, c.begin) >= floor)
        begin = line_begin(src, c.begin);
      continue;
    }
    // Nothing but one line end between the comment and what stands below it.
    size_t lines = 0, i = c.end;
    for (; i < begin && (src->data[i] == '\n' || src->data[i] == '\r' || src->data[i] == ' ' ||
                         src->data[i] == '\t');
         i++)
      lines += src->data[i] == '\n' || (src->data[i] == '\r' && src->data[i + 1] != '\n');
    if (i < begin || lines != 1 || line_begin(src, c.begin) < floor)
      break;
    begin = line_begin(src, c.begin);
  }
  free(comments);
  return begin;
}

// --- the variant's text ---

struct parts {
  char *helpers; // "" when there are none; owned
  char *lead;    // comments above the kernel; owned
  char *kernel;  // owned
};

static void parts_release(struct parts *p)
{
  free(p->helpers);
  free(p->lead);
  free(p->kernel);
}

// The text with \n for line ends, no blanks at line ends, `indent` before every
// line that is not empty, the first one left to the caller; the lines inside a
// raw string stay as they are.
static char *dress(const char *text, size_t len, const char *indent)
{
  struct kr_bytes out;
  kr_bytes_init(&out, SIZE_MAX / 2);
  size_t n;
  struct kr_token *toks = kr_lex_all(text, len, true, &n);
  size_t t = 0;
  for (size_t i = 0; i < len;) {
    const char *nl = memchr(text + i, '\n', len - i);
    size_t end = nl ? (size_t)(nl - text) : len, stop = end;
    while (t + 1 < n && toks[t].offset + toks[t].length <= end)
      t++;
    bool raw = (toks[t].flags & KR_TOK_RAW_STRING) && toks[t].offset < end;
    while (!raw && stop > i && (text[stop - 1] == ' ' || text[stop - 1] == '\t' ||
                                text[stop - 1] == '\r'))
      stop--;
    bool inside = false;
    for (size_t k = 0; k < n && toks[k].offset < i; k++)
      inside = inside || ((toks[k].flags & KR_TOK_RAW_STRING) &&
                          toks[k].offset + toks[k].length > i);
    if (i && stop > i && !inside)
      kr_bytes_adds(&out, indent);
    kr_bytes_add(&out, text + i, stop - i);
    if (nl)
      kr_bytes_addc(&out, '\n');
    i = end + 1;
  }
  free(toks);
  char *result = kr_bytes_take(&out);
  kr_bytes_release(&out);
  return result;
}

static size_t trim_lines_end(const char *text, size_t begin, size_t end)
{
  while (end > begin && strchr(" \t\r\n", text[end - 1]))
    end--;
  return end;
}

static int parts_cut(const struct kr_rewrite *r, const char *indent, struct parts *out,
                     struct kr_err *err)
{
  int rc = -1;
  const char *code = r->code;
  struct decls d;
  decls_scan(&d, code, strlen(code));
  size_t kernel = SIZE_MAX;
  for (size_t i = 0; i < d.n; i++) {
    size_t body, at = decl_name(&d, &d.items[i], code, &body);
    if (at == SIZE_MAX || body == SIZE_MAX || !kr_token_is(code, d.toks[at], r->kernel->name))
      continue;
    if (kernel != SIZE_MAX) {
      kr_err_set(err, "%s: the variant of %s defines it twice", r->source->path, r->kernel->name);
      goto out;
    }
    kernel = i;
  }
  if (kernel == SIZE_MAX || d.unbalanced != SIZE_MAX || kernel + 1 != d.n) {
    kr_err_set(err, "%s: the variant of %s is not its helpers followed by its definition",
               r->source->path, r->kernel->name);
    goto out;
  }
  size_t begin = 0, lead = 0, at = d.items[kernel].offset;
  while (strchr(" \t\r\n", code[begin]) && code[begin])
    begin++;
  lead = begin;
  if (kernel) {
    // What stands behind a helper on its line is the helper's.
    lead = d.items[kernel - 1].offset + d.items[kernel - 1].length;
    const char *nl = memchr(code + lead, '\n', at - lead);
    lead = nl ? (size_t)(nl - code) + 1 : at;
    while (lead < at && strchr(" \t\r\n", code[lead]))
      lead++;
  }
  // Comments above an empty line are the helpers', or the block's.
  out->helpers = kernel ? dress(code + begin, trim_lines_end(code, begin, lead) - begin, indent)
                        : kr_xstrdup("");
  out->lead = dress(code + lead, trim_lines_end(code, lead, at) - lead, indent);
  out->kernel = dress(code + at, d.items[kernel].length, indent);
  rc = 0;
out:
  decls_release(&d);
  return rc;
}

// --- launches ---

struct launch {
  const struct kr_rewrite *r;
  const struct kr_psite *site;
  char *block[3], *grid[3]; // printed for this site; owned
  char **owned;             // replacements handed to kr_expr_print(); owned
  size_t n_owned, cap_owned;
  const char *part; // "grid", "block", "shared"
  bool wide;        // arguments are taken as 64-bit integers
  char why[512];    // the first thing that is wrong
};

__attribute__((format(printf, 2, 3))) static void launch_fail(struct launch *l, const char *fmt,
                                                              ...)
{
  if (l->why[0])
    return;
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(l->why, sizeof l->why, fmt, ap);
  va_end(ap);
}

static const char *launch_own(struct launch *l, char *text)
{
  KR_GROW(l->owned, l->n_owned, l->cap_owned);
  return l->owned[l->n_owned++] = text;
}

// An argument's text on one line without comments.
static char *argument_text(const char *text)
{
  size_t n;
  struct kr_token *toks = kr_lex_all(text, strlen(text), false, &n);
  struct kr_bytes out;
  kr_bytes_init(&out, 1 << 16);
  for (size_t i = 0; i + 1 < n; i++) {
    if (i && toks[i].flags & KR_TOK_SPACE_BEFORE)
      kr_bytes_addc(&out, ' ');
    kr_bytes_add(&out, text + toks[i].offset, toks[i].length);
  }
  free(toks);
  char *result = kr_bytes_take(&out);
  kr_bytes_release(&out);
  return result;
}

// Is `name` declared with a floating type somewhere in the file? Its value in
// an integer expression would not be the kernel's, which converts it first.
static bool is_floating(const struct kr_source *src, const char *name)
{
  static const char *const types[] = {"float", "double", "half", "__half", NULL};
  struct kr_lexer lx;
  struct kr_token prev = {0};
  kr_lexer_init(&lx, src->data, src->len);
  for (;;) {
    struct kr_token t = kr_lexer_next_code(&lx);
    if (t.kind == KR_TOK_END)
      return false;
    if (t.kind == KR_TOK_IDENTIFIER && prev.kind == KR_TOK_IDENTIFIER &&
        kr_token_is(src->data, t, name)) {
      for (int i = 0; types[i]; i++) {
        if (kr_token_is(src->data, prev, types[i]))
          return true;
      }
    }
    prev = t;
  }
}

// How often the file gives `name` a meaning: `#define name`, `#undef name`, and
// what looks like a declaration with an initialiser or an enumerator.
static unsigned meanings(const struct kr_source *src, const char *name)
{
  unsigned n = 0;
  struct kr_lexer lx;
  struct kr_token prev = {0};
  kr_lexer_init(&lx, src->data, src->len);
  for (;;) {
    struct kr_token t = kr_lexer_next_code(&lx);
    if (t.kind == KR_TOK_END)
      return n;
    if (t.kind == KR_TOK_IDENTIFIER && kr_token_is(src->data, t, name)) {
      struct kr_lexer ahead = lx;
      struct kr_token next = kr_lexer_next_code(&ahead);
      bool directive = (t.flags & KR_TOK_DIRECTIVE) && (kr_token_is(src->data, prev, "define") ||
                                                        kr_token_is(src->data, prev, "undef"));
      bool typed = (prev.kind == KR_TOK_IDENTIFIER && !kr_token_is(src->data, prev, "return") &&
                    !(prev.flags & KR_TOK_DIRECTIVE)) ||
                   (prev.kind == KR_TOK_PUNCT && (kr_token_is(src->data, prev, "*") ||
                                                  kr_token_is(src->data, prev, "&")));
      bool ends = next.kind == KR_TOK_PUNCT &&
                  (kr_token_is(src->data, next, "=") || kr_token_is(src->data, next, ";") ||
                   kr_token_is(src->data, next, ",") || kr_token_is(src->data, next, ")") ||
                   kr_token_is(src->data, next, "{"));
      bool assigned = next.kind == KR_TOK_PUNCT && kr_token_is(src->data, next, "=") &&
                      prev.kind == KR_TOK_PUNCT && kr_token_is(src->data, prev, ",");
      n += directive || (typed && ends && prev.kind == KR_TOK_IDENTIFIER) || assigned;
    }
    prev = t;
  }
}

// An argument that may stand in the place of an integer parameter.
static const char *launch_argument(struct launch *l, size_t param, const char *member)
{
  const struct kr_pparam *p = &l->r->kernel->params[param];
  if (param >= l->site->n_args) {
    launch_fail(l, "gives no argument for `%s`, on which the new %s depends", p->name, l->part);
    return NULL;
  }
  const struct kr_parg *arg = &l->site->args[param];
  if (arg->side_effects) {
    launch_fail(l,
                "the argument `%.80s` for `%s` has side effects; the new %s would evaluate it again",
                arg->text, p->name, l->part);
    return NULL;
  }
  char *text = argument_text(arg->text);
  size_t n;
  struct kr_token *toks = kr_lex_all(text, strlen(text), false, &n);
  const char *result = NULL;
  for (size_t i = 0; i < n && !l->why[0]; i++) {
    if (toks[i].flags & KR_TOK_DIRECTIVE || toks[i].kind == KR_TOK_OTHER ||
        toks[i].kind == KR_TOK_STRING)
      launch_fail(l, "the argument `%.80s` for `%s` cannot be repeated", text, p->name);
    if (toks[i].kind == KR_TOK_NUMBER && !member) {
      const char *s = text + toks[i].offset;
      bool hex = toks[i].length > 1 && s[0] == '0' && (s[1] == 'x' || s[1] == 'X');
      for (size_t k = 0; k < toks[i].length; k++) {
        if (s[k] == '.' || (!hex && (s[k] == 'e' || s[k] == 'E')))
          launch_fail(l, "the argument `%.80s` for `%s` is not an integer", text, p->name);
      }
    }
    if (toks[i].kind == KR_TOK_IDENTIFIER && !member) {
      char word[256];
      kr_token_text(text, toks[i], word, sizeof word);
      if (is_floating(l->r->source, word))
        launch_fail(l, "the argument `%.80s` for `%s` is not an integer", text, p->name);
    }
  }
  if (!l->why[0]) {
    bool single = n == 2;
    const char *cast = l->wide ? "(long long)" : "";
    result = launch_own(l, member        ? single ? kr_xasprintf("%s%s.%s", cast, text, member)
                                                  : kr_xasprintf("%s(%s).%s", cast, text, member)
                           : !l->wide || single ? kr_xasprintf("%s%s", cast, text)
                                                : kr_xasprintf("%s(%s)", cast, text));
  }
  free(toks);
  free(text);
  return result;
}

static const char *launch_substitute(void *arg, const char *name)
{
  struct launch *l = arg;
  const struct kr_pkernel *k = l->r->kernel;
  const struct kr_contract *c = l->r->contract;
  static const char *const dims[] = {"x", "y", "z"};
  for (int i = 0; i < 3; i++) {
    if (!strncmp(name, "block.", 6) && !strcmp(name + 6, dims[i]) && strcmp(l->part, "block"))
      return l->block[i] ? l->block[i] : "1";
    if (!strncmp(name, "grid.", 5) && !strcmp(name + 5, dims[i]) && !strcmp(l->part, "shared"))
      return l->grid[i] ? l->grid[i] : "1";
  }
  if (!strcmp(name, "warp"))
    return "32";
  const char *dot = strchr(name, '.');
  size_t root = dot ? (size_t)(dot - name) : strlen(name);
  for (size_t i = 0; i < k->n_params; i++) {
    if (strlen(k->params[i].name) == root && !strncmp(k->params[i].name, name, root))
      return launch_argument(l, i, dot ? dot + 1 : NULL);
  }
  for (size_t i = 0; i < c->n_constants; i++) {
    if (strcmp(c->constants[i].name, name))
      continue;
    if (meanings(l->r->source, name) > 1)
      launch_fail(l, "`%s` in the new %s has more than one meaning in this file", name, l->part);
    return NULL;
  }
  for (size_t i = 0; i < c->n_cases; i++) {
    for (size_t b = 0; b < c->cases[i].n_bindings; b++) {
      if (!strcmp(c->cases[i].bindings[b].path, name)) {
        launch_fail(l, "`%s` in the new %s is a name of the marker; host code does not know it",
                    name, l->part);
        return NULL;
      }
    }
  }
  launch_fail(l, "`%s` in the new %s means nothing in host code", name, l->part);
  return NULL;
}

static void check_integers(struct launch *l, const struct kr_expr *e)
{
  if (e->kind == KR_EXPR_REAL)
    launch_fail(l, "the new %s is not in integers", l->part);
  if (e->kind == KR_EXPR_SIZEOF) {
    bool known = false;
    size_t n;
    struct kr_token *toks = kr_lex_all(e->name, strlen(e->name), false, &n);
    known = n > 1;
    for (size_t i = 0; i + 1 < n; i++) {
      char word[64];
      size_t len = kr_token_text(e->name, toks[i], word, sizeof word);
      known = known && (toks[i].kind == KR_TOK_PUNCT ||
                        (len < sizeof word && kr_lex_is_keyword(word, len)));
    }
    free(toks);
    char *spelling = kr_xasprintf("sizeof(%s)", e->name);
    const struct kr_contract *c = l->r->contract;
    for (size_t i = 0; i < c->n_constants && !known; i++)
      known = !strcmp(c->constants[i].name, spelling);
    if (!known)
      launch_fail(l, "`%s` in the new %s means nothing in host code", spelling, l->part);
    free(spelling);
  }
  for (size_t i = 0; i < e->n_args; i++)
    check_integers(l, e->args[i]);
}

static bool mentions_argument(const struct launch *l, const struct kr_expr *e)
{
  for (size_t i = 0; e->kind == KR_EXPR_NAME && i < l->r->kernel->n_params; i++) {
    const char *name = l->r->kernel->params[i].name;
    size_t n = strlen(name);
    if (!strncmp(e->name, name, n) && (!e->name[n] || e->name[n] == '.'))
      return true;
  }
  for (size_t i = 0; i < e->n_args; i++) {
    if (mentions_argument(l, e->args[i]))
      return true;
  }
  return false;
}

// Geometry was evaluated in 64 bits with a sign. An `int` argument times 4096
// overflows, an unsigned one minus 1 wraps: where an operator does more to
// arguments than round them up, they are widened first.
static bool leaves_range(const struct launch *l, const struct kr_expr *e)
{
  static const char *const ops[] = {"*", "<<", "-", "~", NULL};
  bool op = e->kind == KR_EXPR_BINARY || e->kind == KR_EXPR_UNARY;
  for (size_t i = 0; op && ops[i]; i++) {
    if (!strcmp(e->op, ops[i]) && mentions_argument(l, e))
      return true;
  }
  for (size_t i = 0; i < e->n_args; i++) {
    if (leaves_range(l, e->args[i]))
      return true;
  }
  return false;
}

// One expression of the geometry in the site's words; NULL with `why`.
static char *launch_print(struct launch *l, const char *part, const char *expr)
{
  struct kr_expr_error wrong;
  struct kr_err err = {""};
  l->part = part;
  struct kr_expr *e = kr_expr_parse(expr, strlen(expr), &wrong);
  if (!e) {
    launch_fail(l, "the new %s `%.80s` cannot be read: %s", part, expr, wrong.text);
    return NULL;
  }
  struct kr_bytes out;
  kr_bytes_init(&out, 1 << 16);
  check_integers(l, e);
  l->wide = leaves_range(l, e);
  if (!l->why[0] && kr_expr_print(e, true, launch_substitute, l, &out, &err))
    launch_fail(l, "the new %s `%.80s` cannot be written in host code: %s", part, expr, err.text);
  // What is left of calls by now is a function of the marker language alone.
  kr_expr_free(e);
  char *text = kr_bytes_take(&out);
  kr_bytes_release(&out);
  if (l->why[0]) {
    free(text);
    return NULL;
  }
  return text;
}

static bool same_expression(const char *a, const char *b, const char *missing)
{
  a = a ? a : missing;
  b = b ? b : missing;
  return kr_hash_equal(kr_lex_hash(a, strlen(a)), kr_lex_hash(b, strlen(b)));
}

static bool is_one(const char *s)
{
  return !s || !strcmp(s, "1");
}

static void add_dims(struct kr_bytes *out, char *const dims[3])
{
  if (is_one(dims[1]) && is_one(dims[2])) {
    kr_bytes_adds(out, dims[0] ? dims[0] : "1");
    return;
  }
  kr_bytes_addf(out, "dim3(%s, %s", dims[0] ? dims[0] : "1", dims[1] ? dims[1] : "1");
  if (!is_one(dims[2]))
    kr_bytes_addf(out, ", %s", dims[2]);
  kr_bytes_addc(out, ')');
}

// The edit of one site. Nothing when it has the geometry already.
static int launch_edit(const struct kr_rewrite *r, const struct kr_psite *site,
                       struct kr_edits *out, struct kr_err *err)
{
  const struct kr_geometry *g = r->geometry;
  struct launch l = {.r = r, .site = site};
  char *shared = NULL;
  struct kr_bytes text;
  kr_bytes_init(&text, 1 << 18);
  bool same = !site->geometry_error && same_expression(site->shared, g->shared, "0");
  for (int i = 0; i < 3; i++)
    same = same && same_expression(site->grid[i], g->grid[i], "1") &&
           same_expression(site->block[i], g->block[i], "1");
  if (same)
    goto out;
  if (!site->in_file)
    launch_fail(&l, "it is in another file, which is not edited");
  else if (!site->editable)
    launch_fail(&l, "%s", site->why_not ? site->why_not : "it cannot be edited");
  else if (!site->config.length || site->config.length < 6 ||
           site->config.offset + site->config.length > r->source->len)
    launch_fail(&l, "its `<<<...>>>` was not found");
  for (int i = 0; i < 3 && !l.why[0]; i++)
    l.block[i] = g->block[i] ? launch_print(&l, "block", g->block[i]) : NULL;
  for (int i = 0; i < 3 && !l.why[0]; i++)
    l.grid[i] = g->grid[i] ? launch_print(&l, "grid", g->grid[i]) : NULL;
  if (g->shared && strcmp(g->shared, "0") && !l.why[0])
    shared = launch_print(&l, "shared", g->shared);
  if (l.why[0])
    goto out;
  kr_bytes_adds(&text, "<<<");
  add_dims(&text, l.grid);
  kr_bytes_adds(&text, ", ");
  add_dims(&text, l.block);
  bool stream = site->stream_at.length > 0;
  if (shared || stream)
    kr_bytes_addf(&text, ", %s", shared ? shared : "0");
  if (stream) {
    kr_bytes_adds(&text, ", ");
    // The stream's own text, whose line ends the edit would convert again.
    const char *s = r->source->data + site->stream_at.offset;
    for (size_t i = 0; i < site->stream_at.length; i++) {
      if (s[i] == '\r' && i + 1 < site->stream_at.length && s[i + 1] == '\n')
        continue;
      kr_bytes_addc(&text, s[i]);
    }
  }
  kr_bytes_adds(&text, ">>>");
  kr_edits_add(out, site->config.offset, site->config.length, text.data);
out:
  for (int i = 0; i < 3; i++) {
    free(l.block[i]);
    free(l.grid[i]);
  }
  free(shared);
  for (size_t i = 0; i < l.n_owned; i++)
    free(l.owned[i]);
  free(l.owned);
  kr_bytes_release(&text);
  if (l.why[0])
    return kr_err_set(err, "%s:%u:%u: the launch of %s cannot be edited: %s", site->file,
                      site->line, site->col, r->kernel->name, l.why);
  return 0;
}

// --- provenance that is there ---

// Takes the old provenance lines above the kernel out: whole lines where
// nothing else stands on them, else their words alone.
static void remove_provenance(const struct kr_rewrite *r, const struct kr_markers *markers,
                              struct kr_edits *out)
{
  const struct kr_source *src = r->source;
  size_t open = SIZE_MAX, end = 0;
  for (size_t i = 0; i <= markers->n; i++) {
    const struct kr_marker *m = i < markers->n ? &markers->items[i] : NULL;
    bool ours = m && m->target == r->kernel->at.offset && m->verb >= KR_MARKER_VERIFIED;
    if (ours) {
      size_t begin = m->at.offset, from = line_begin(src, begin);
      // `    // kevin: verified`: the carrier goes too when it is all that is before.
      size_t p = from;
      while (p < begin && (src->data[p] == ' ' || src->data[p] == '\t'))
        p++;
      if (p + 2 <= begin && !memcmp(src->data + p, "//", 2) && blank_between(src, p + 2, begin))
        begin = from;
      size_t stop = m->at.offset + m->at.length;
      if (open == SIZE_MAX)
        open = begin;
      else if (begin > end && !blank_between(src, end, begin)) {
        kr_edits_add(out, open, end - open, "");
        open = begin;
      }
      end = stop;
      size_t line_end = stop;
      while (line_end < src->len && src->data[line_end] != '\n' && src->data[line_end] != '\r')
        line_end++;
      if (blank_between(src, stop, line_end) && open == line_begin(src, open)) {
        line_end += line_end < src->len && src->data[line_end] == '\r';
        line_end += line_end < src->len && src->data[line_end] == '\n';
        end = line_end;
      }
    } else if (open != SIZE_MAX && !m) {
      kr_edits_add(out, open, end - open, "");
      open = SIZE_MAX;
    }
  }
}

// --- all of it ---

int kr_rewrite_edits(const struct kr_rewrite *r, struct kr_edits *out, struct kr_err *err)
{
  int rc = -1;
  const struct kr_source *src = r->source;
  const struct kr_pkernel *k = r->kernel;
  struct parts parts = {0};
  struct kr_markers markers = {0};
  struct kr_diags diags = {0};
  struct kr_edits edits = {0};
  struct kr_bytes text;
  char *indent = NULL;
  kr_bytes_init(&text, KR_SOURCE_MAX);

  if (k->at.offset > src->len || k->at.length > src->len - k->at.offset || !k->at.length) {
    kr_err_set(err, "%s: %s is not where it was found", src->path, k->name);
    goto out;
  }
  size_t line = line_begin(src, k->at.offset);
  size_t floor = code_end_before(src, k->at.offset);
  if (floor > line && !(line == 0 && src->bom)) {
    kr_err_set(err, "%s:%u:%u: code stands before %s on its line; give it a line of its own",
               src->path, k->line, k->col, k->name);
    goto out;
  }
  size_t text_at = src->bom && line < 3 ? 3 : line;
  indent = blank_between(src, text_at, k->at.offset)
               ? kr_xstrndup(src->data + text_at, k->at.offset - text_at)
               : kr_xstrdup("");
  if (parts_cut(r, indent, &parts, err))
    goto out;
  if (r->geometry) {
    if (r->geometry->cooperative != r->contract->geometry.cooperative) {
      kr_err_set(err, "%s: %s would be launched %s, which its launches do not say", src->path,
                 k->name, r->geometry->cooperative ? "cooperatively" : "not cooperatively");
      goto out;
    }
    if (!r->contract->tunable) {
      kr_err_set(err, "%s: the launch geometry of %s is fixed: %s", src->path, k->name,
                 r->contract->tunable_why ? r->contract->tunable_why : "its contract says so");
      goto out;
    }
    if (!k->n_sites) {
      kr_err_set(err, "%s: no launch of %s is known, so its geometry cannot be changed", src->path,
                 k->name);
      goto out;
    }
    for (size_t i = 0; i < k->n_sites; i++) {
      if (launch_edit(r, &k->sites[i], &edits, err))
        goto out;
    }
  }

  kr_markers_scan(src, &markers, &diags);
  remove_provenance(r, &markers, &edits);
  if (parts.helpers[0]) {
    size_t at = comment_block_begin(src, r->marker ? r->marker->at.offset : k->at.offset,
                                    src->bom && floor < 3 ? 3 : floor);
    if (at < floor) {
      kr_err_set(err, "%s:%u:%u: code stands before the comment above %s on its line", src->path,
                 k->line, k->col, k->name);
      goto out;
    }
    kr_bytes_addf(&text, "%s%s\n\n", indent, parts.helpers);
    kr_edits_add(&edits, at, 0, text.data);
    kr_bytes_reset(&text);
  }
  for (size_t i = 0; r->provenance && r->provenance[i]; i++)
    kr_bytes_addf(&text, "%s// kevin: %s\n", indent, r->provenance[i]);
  // An empty comment line keeps a formatter from joining prose to provenance.
  if (text.len && parts.lead[0] == '/')
    kr_bytes_addf(&text, "%s//\n", indent);
  if (text.len)
    kr_edits_add(&edits, text_at, 0, text.data);
  kr_bytes_reset(&text);
  if (parts.lead[0])
    kr_bytes_addf(&text, "%s\n%s", parts.lead, indent);
  kr_bytes_adds(&text, parts.kernel);
  kr_edits_add(&edits, k->at.offset, k->at.length, text.data);
  for (size_t i = 0; i < edits.n; i++)
    kr_edits_add(out, edits.items[i].offset, edits.items[i].length, edits.items[i].text);
  rc = 0;
out:
  kr_edits_release(&edits);
  kr_markers_release(&markers);
  kr_diags_release(&diags);
  parts_release(&parts);
  kr_bytes_release(&text);
  free(indent);
  return rc;
}
