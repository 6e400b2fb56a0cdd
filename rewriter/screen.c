#include "screen.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../evaluator/base/mem.h"

enum { SCREEN_MAX_REFUSALS = 32 };

// --- words ---

void words_add(struct words *w, const char *s, size_t len)
{
  KR_GROW(w->items, w->n, w->cap);
  w->items[w->n++] = kr_xstrndup(s, len);
}

void words_of_text(struct words *w, const char *text, size_t len)
{
  struct kr_lexer lx;
  kr_lexer_init(&lx, text, len);
  for (;;) {
    struct kr_token t = kr_lexer_next_code(&lx);
    char word[256];
    if (t.kind == KR_TOK_END)
      break;
    if (t.kind == KR_TOK_IDENTIFIER) {
      size_t n = kr_token_text(text, t, word, sizeof word);
      words_add(w, word, n < sizeof word ? n : sizeof word - 1);
    }
  }
}

static int words_compare(const void *a, const void *b)
{
  return strcmp(*(char *const *)a, *(char *const *)b);
}

void words_seal(struct words *w)
{
  if (!w->n)
    return;
  qsort(w->items, w->n, sizeof *w->items, words_compare);
  size_t n = 1;
  for (size_t i = 1; i < w->n; i++) {
    if (!strcmp(w->items[n - 1], w->items[i]))
      free(w->items[i]);
    else
      w->items[n++] = w->items[i];
  }
  w->n = n;
}

bool words_have(const struct words *w, const char *s)
{
  return w->n && bsearch(&s, w->items, w->n, sizeof *w->items, words_compare);
}

void words_release(struct words *w)
{
  for (size_t i = 0; i < w->n; i++)
    free(w->items[i]);
  free(w->items);
  *w = (struct words){0};
}

// --- refusals ---

void screen_refuse(struct kr_screen *s, const char *rule, unsigned line, const char *fmt, ...)
{
  char text[512];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(text, sizeof text, fmt, ap);
  va_end(ap);
  if (s->n >= SCREEN_MAX_REFUSALS)
    return;
  for (size_t i = 0; i < s->n; i++) {
    if (!strcmp(s->items[i].rule, rule) && !strcmp(s->items[i].text, text))
      return;
  }
  KR_GROW(s->items, s->n, s->cap);
  s->items[s->n++] = (struct kr_refusal){kr_xstrdup(rule), kr_xstrdup(text), line};
}

void kr_screen_release(struct kr_screen *s)
{
  for (size_t i = 0; i < s->n; i++) {
    free(s->items[i].rule);
    free(s->items[i].text);
  }
  free(s->items);
  *s = (struct kr_screen){0};
}

// --- the original ---

static bool is_punct(const char *text, struct kr_token t, const char *p)
{
  return t.kind == KR_TOK_PUNCT && kr_token_is(text, t, p);
}

static struct slice_name *slice_add(struct original *o, const char *text, struct kr_token name)
{
  char word[256];
  kr_token_text(text, name, word, sizeof word);
  KR_GROW(o->names, o->n_names, o->cap_names);
  struct slice_name *s = &o->names[o->n_names++];
  *s = (struct slice_name){.name = kr_xstrdup(word)};
  return s;
}

static void bring(struct slice_name *s, const char *text, struct kr_token t)
{
  char word[256];
  if (t.kind == KR_TOK_IDENTIFIER) {
    kr_token_text(text, t, word, sizeof word);
    words_add(&s->brings, word, strlen(word));
  }
  if (is_punct(text, t, "<<<"))
    words_add(&s->brings, "<<<", 3);
  s->pastes = s->pastes || is_punct(text, t, "##") || is_punct(text, t, "#");
}

// `#define`s of a text.
static void collect_macros(struct original *o, const char *text, size_t len, struct words *names,
                           bool with_bodies)
{
  struct kr_lexer lx;
  kr_lexer_init(&lx, text, len);
  struct kr_token t = kr_lexer_next_code(&lx);
  while (t.kind != KR_TOK_END) {
    if (!(t.flags & KR_TOK_DIRECTIVE_START)) {
      t = kr_lexer_next_code(&lx);
      continue;
    }
    struct kr_token word = kr_lexer_next_code(&lx);
    if (!(word.flags & KR_TOK_DIRECTIVE) || (word.flags & KR_TOK_DIRECTIVE_START) ||
        !kr_token_is(text, word, "define")) {
      t = word;
      continue;
    }
    struct kr_token name = kr_lexer_next_code(&lx);
    if (!(name.flags & KR_TOK_DIRECTIVE) || name.kind != KR_TOK_IDENTIFIER) {
      t = name;
      continue;
    }
    char spelling[256];
    kr_token_text(text, name, spelling, sizeof spelling);
    words_add(names, spelling, strlen(spelling));
    struct slice_name *s = with_bodies ? slice_add(o, text, name) : NULL;
    if (s)
      s->is_macro = true;
    for (t = kr_lexer_next_code(&lx);
         (t.flags & KR_TOK_DIRECTIVE) && !(t.flags & KR_TOK_DIRECTIVE_START) &&
         t.kind != KR_TOK_END;
         t = kr_lexer_next_code(&lx)) {
      if (s)
        bring(s, text, t);
    }
  }
}

// The declarations of a slice's text, those inside namespaces too.
static void collect_decls(struct original *o, const char *text, size_t len, int depth)
{
  struct decls d;
  decls_scan(&d, text, len);
  for (size_t i = 0; i < d.n; i++) {
    const struct decl *one = &d.items[i];
    size_t body, name = decl_name(&d, one, text, &body);
    bool scope = kr_token_is(text, d.toks[one->first], "namespace") ||
                 (kr_token_is(text, d.toks[one->first], "extern") && one->first + 2 < one->end &&
                  d.toks[one->first + 1].kind == KR_TOK_STRING &&
                  is_punct(text, d.toks[one->first + 2], "{"));
    if (scope && depth < 16) {
      size_t open = one->first;
      while (open < one->end && !is_punct(text, d.toks[open], "{"))
        open++;
      if (open + 1 < one->end) {
        size_t from = d.toks[open].offset + 1, to = d.toks[one->end - 1].offset;
        if (to > from)
          collect_decls(o, text + from, to - from, depth + 1);
      }
      continue;
    }
    if (name == SIZE_MAX)
      continue;
    struct slice_name *s = slice_add(o, text, d.toks[name]);
    for (size_t k = one->first; k < one->end; k++) {
      if (!(d.toks[k].flags & KR_TOK_DIRECTIVE))
        bring(s, text, d.toks[k]);
    }
  }
  decls_release(&d);
}

static int slice_compare(const void *pa, const void *pb)
{
  const struct slice_name *a = pa, *b = pb;
  return strcmp(a->name, b->name);
}

static int slice_find(const void *key, const void *pb)
{
  const struct slice_name *b = pb;
  return strcmp(key, b->name);
}

const struct slice_name *original_slice_name(const struct original *o, const char *name)
{
  return o->n_names ? bsearch(name, o->names, o->n_names, sizeof *o->names, slice_find) : NULL;
}

void original_init(struct original *o, const struct kr_screen_input *in)
{
  *o = (struct original){0};
  const struct kr_contract *c = in->contract;
  if (c && c->code) {
    o->code = c->code;
    o->len = strlen(c->code);
  } else if (in->source && in->kernel && in->kernel->at.offset <= in->source->len &&
             in->kernel->at.length <= in->source->len - in->kernel->at.offset) {
    o->code = in->source->data + in->kernel->at.offset;
    o->len = in->kernel->at.length;
  } else {
    o->code = "";
  }
  const char *name = in->kernel && in->kernel->name ? in->kernel->name
                     : c && c->kernel               ? c->kernel
                                                    : "";
  const char *colon = strrchr(name, ':');
  o->name = kr_xstrdup(colon ? colon + 1 : name);

  words_of_text(&o->own, o->code, o->len);
  words_of_text(&o->taken, o->code, o->len);
  const char *parts[2] = {c ? c->before : NULL, c ? c->after : NULL};
  for (int i = 0; i < 2; i++) {
    if (!parts[i])
      continue;
    size_t len = strlen(parts[i]);
    words_of_text(&o->taken, parts[i], len);
    collect_macros(o, parts[i], len, &o->slice_macros, true);
    collect_decls(o, parts[i], len, 0);
  }
  if (in->source) {
    words_of_text(&o->taken, in->source->data, in->source->len);
    collect_macros(o, in->source->data, in->source->len, &o->file_macros, false);
  }
  words_seal(&o->own);
  words_seal(&o->taken);
  words_seal(&o->file_macros);
  words_seal(&o->slice_macros);
  if (o->n_names)
    qsort(o->names, o->n_names, sizeof *o->names, slice_compare);
  // Overloads and redefinitions are one name that brings all of it.
  size_t n = 0;
  for (size_t i = 0; i < o->n_names; i++) {
    if (n && !strcmp(o->names[n - 1].name, o->names[i].name)) {
      struct words *to = &o->names[n - 1].brings, *from = &o->names[i].brings;
      for (size_t k = 0; k < from->n; k++)
        words_add(to, from->items[k], strlen(from->items[k]));
      o->names[n - 1].pastes = o->names[n - 1].pastes || o->names[i].pastes;
      o->names[n - 1].is_macro = o->names[n - 1].is_macro || o->names[i].is_macro;
      words_release(from);
      free(o->names[i].name);
    } else {
      o->names[n++] = o->names[i];
    }
  }
  o->n_names = n;
  for (size_t i = 0; i < n; i++)
    words_seal(&o->names[i].brings);

  // Everything reached from the definition: a list that grows while it is read.
  bool *done = kr_xcalloc(n + 1, sizeof *done);
  struct words reached = {0};
  for (size_t i = 0; i < o->own.n; i++)
    words_add(&reached, o->own.items[i], strlen(o->own.items[i]));
  for (size_t i = 0; i < reached.n; i++) {
    const struct slice_name *s = original_slice_name(o, reached.items[i]);
    if (!s || done[s - o->names])
      continue;
    done[s - o->names] = true;
    for (size_t k = 0; k < s->brings.n; k++)
      words_add(&reached, s->brings.items[k], strlen(s->brings.items[k]));
  }
  free(done);
  o->closure = reached;
  words_seal(&o->closure);
}

void original_release(struct original *o)
{
  free(o->name);
  words_release(&o->own);
  words_release(&o->closure);
  words_release(&o->taken);
  words_release(&o->file_macros);
  words_release(&o->slice_macros);
  for (size_t i = 0; i < o->n_names; i++) {
    free(o->names[i].name);
    words_release(&o->names[i].brings);
  }
  free(o->names);
  *o = (struct original){0};
}

bool screen_has_prefix(const struct original *o, const char *name)
{
  size_t n = strlen(o->name);
  return n && !strncmp(name, o->name, n) && name[n] == '_' && name[n + 1];
}

// --- __restrict__ ---

static const char *param_name(const struct kr_screen_input *in, size_t i)
{
  if (in->contract && i < in->contract->n_params)
    return in->contract->params[i].name;
  return in->kernel && i < in->kernel->n_params ? in->kernel->params[i].name : "";
}

// Is `path` parameter `name` or something inside it?
static bool path_in(const char *path, const char *name)
{
  size_t n = strlen(name);
  return n && !strncmp(path, name, n) && (!path[n] || path[n] == '.');
}

bool screen_restrict_ok(const struct kr_screen_input *in, size_t i, char why[256])
{
  const struct kr_contract *c = in->contract;
  const char *name = param_name(in, i);
  for (size_t k = 0; c && k < c->n_cases; k++) {
    for (size_t s = 0; s < c->n_sections && c->cases[k].fillings; s++) {
      const struct kr_filling *f = &c->cases[k].fillings[s];
      if (f->kind != KR_FILLED_ALIAS || !f->alias)
        continue;
      if (path_in(c->sections[s].path, name) || path_in(f->alias, name)) {
        snprintf(why, 256, "the marker says that `%s` points into `%s`", c->sections[s].path,
                 f->alias);
        return false;
      }
    }
  }
  const struct kr_pkernel *kernel = in->kernel;
  for (size_t k = 0; kernel && k < kernel->n_sites; k++) {
    const struct kr_psite *site = &kernel->sites[k];
    if (i >= site->n_args)
      continue;
    for (size_t j = 0; j < site->n_args; j++) {
      const struct kr_parg *a = &site->args[i], *b = &site->args[j];
      bool same = a->text && b->text &&
                  kr_hash_equal(kr_lex_hash(a->text, strlen(a->text)),
                                kr_lex_hash(b->text, strlen(b->text)));
      same = same || (a->same_as_path && b->same_as_path &&
                      !strcmp(a->same_as_path, b->same_as_path));
      // Two null pointers or two equal numbers do not overlap.
      bool literal = a->text && (!strcmp(a->text, "nullptr") || !strcmp(a->text, "NULL") ||
                                 (a->text[0] >= '0' && a->text[0] <= '9'));
      if (j != i && same && !literal) {
        snprintf(why, 256, "the launch at %s:%u gives `%.60s` to it and to `%s`", site->file,
                 site->line, a->text ? a->text : a->same_as_path, param_name(in, j));
        return false;
      }
    }
  }
  return true;
}
