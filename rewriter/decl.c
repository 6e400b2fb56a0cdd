#include "decl.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../evaluator/base/mem.h"

struct level {
  struct decl *items;
  size_t n, cap;
  size_t start;  // first token of the open declaration, SIZE_MAX: none is open
  size_t parens; // open ( and [
};

static bool one_of(const char *text, struct kr_token t, const char *const *words)
{
  for (; *words; words++) {
    if (kr_token_is(text, t, *words))
      return true;
  }
  return false;
}

static bool punct(const char *text, struct kr_token t, const char *p)
{
  return t.kind == KR_TOK_PUNCT && kr_token_is(text, t, p);
}

static void level_end(struct level *l, const struct kr_token *toks, size_t end, bool closed)
{
  if (l->start == SIZE_MAX)
    return;
  struct decl d = {.first = l->start, .end = end, .offset = toks[l->start].offset, .closed = closed};
  d.length = toks[end - 1].offset + toks[end - 1].length - d.offset;
  KR_GROW(l->items, l->n, l->cap);
  l->items[l->n++] = d;
  l->start = SIZE_MAX;
}

// After the `}` at `close`: does the declaration of `start` go on?
static bool goes_on(const char *text, const struct kr_token *toks, size_t start, size_t close)
{
  static const char *const joins[] = {";", ",", ")", "]", "=", "(", ".", "->", "[", "{", "?", ":",
                                      NULL};
  static const char *const types[] = {"struct", "class", "union", "enum", "typedef", NULL};
  struct kr_token next = toks[close + 1];
  while (next.flags & KR_TOK_DIRECTIVE)
    next = toks[++close + 1];
  if (next.kind == KR_TOK_PUNCT && one_of(text, next, joins))
    return true;
  if (next.kind != KR_TOK_IDENTIFIER && !punct(text, next, "*") && !punct(text, next, "&"))
    return false;
  // `struct a { ... } b;`: a body that is a type's, not a function's.
  bool type = false;
  for (size_t i = start; i < close; i++) {
    if (toks[i].flags & KR_TOK_DIRECTIVE)
      continue;
    if (punct(text, toks[i], "{"))
      return type;
    if (punct(text, toks[i], "(") && type &&
        !(i && (kr_token_is(text, toks[i - 1], "__align__") ||
                kr_token_is(text, toks[i - 1], "alignas"))))
      return false;
    type = type || (toks[i].kind == KR_TOK_IDENTIFIER && one_of(text, toks[i], types));
  }
  return false;
}

// Walks the text; stops at the token of `offset` (SIZE_MAX: at the end) and
// hands out the level it stands on.
static void decls_walk(struct decls *d, const char *text, size_t len, size_t offset)
{
  *d = (struct decls){.unbalanced = SIZE_MAX};
  d->toks = kr_lex_all(text, len, false, &d->n_toks);
  struct level *levels = NULL;
  size_t depth = 0, cap = 0;
  KR_GROW(levels, depth, cap);
  levels[depth++] = (struct level){.start = SIZE_MAX};
  size_t i = 0;
  for (; i < d->n_toks && d->toks[i].kind != KR_TOK_END; i++) {
    struct kr_token t = d->toks[i];
    if (t.offset >= offset)
      break;
    if (t.flags & KR_TOK_DIRECTIVE)
      continue;
    struct level *l = &levels[depth - 1];
    if (punct(text, t, "}")) {
      if (depth == 1) {
        if (d->unbalanced == SIZE_MAX)
          d->unbalanced = i;
        continue;
      }
      if (l->parens && d->unbalanced == SIZE_MAX)
        d->unbalanced = i;
      free(l->items);
      depth--;
      l = &levels[depth - 1];
      if (!l->parens && !goes_on(text, d->toks, l->start, i))
        level_end(l, d->toks, i + 1, true);
      continue;
    }
    if (l->start == SIZE_MAX)
      l->start = i;
    if (punct(text, t, "{")) {
      KR_GROW(levels, depth, cap);
      levels[depth++] = (struct level){.start = SIZE_MAX};
    } else if (punct(text, t, "(") || punct(text, t, "[")) {
      l->parens++;
    } else if (punct(text, t, ")") || punct(text, t, "]")) {
      if (!l->parens && d->unbalanced == SIZE_MAX)
        d->unbalanced = i;
      l->parens -= l->parens > 0;
    } else if (punct(text, t, ";") && !l->parens) {
      level_end(l, d->toks, i + 1, true);
    }
  }
  struct level *last = offset == SIZE_MAX ? &levels[0] : &levels[depth - 1];
  if (offset == SIZE_MAX) {
    if ((depth > 1 || last->parens) && d->unbalanced == SIZE_MAX)
      d->unbalanced = i;
    level_end(last, d->toks, i, false);
  }
  d->items = last->items;
  d->n = last->n;
  d->cap = last->cap;
  last->items = NULL;
  for (size_t k = 0; k < depth; k++)
    free(levels[k].items);
  free(levels);
}

void decls_scan(struct decls *d, const char *text, size_t len)
{
  decls_walk(d, text, len, SIZE_MAX);
}

void decls_before(struct decls *d, const char *text, size_t len, size_t offset)
{
  decls_walk(d, text, len, offset);
}

void decls_release(struct decls *d)
{
  free(d->toks);
  free(d->items);
  *d = (struct decls){0};
}

// Past the bracket that closes the one at `i`; angle brackets count one by one.
static size_t skip_group(const struct decls *list, const char *text, size_t i, size_t end)
{
  bool angle = punct(text, list->toks[i], "<");
  long depth = 0, round = 0;
  for (; i < end; i++) {
    struct kr_token t = list->toks[i];
    if (t.kind != KR_TOK_PUNCT)
      continue;
    char c = text[t.offset];
    if (c == '(' || c == '[' || c == '{')
      round++;
    else if (c == ')' || c == ']' || c == '}')
      round--;
    else if (angle && !round && c == '<' && t.length == 1)
      depth++;
    else if (angle && !round && c == '>' && (t.length == 1 || text[t.offset + 1] == '>'))
      depth -= (long)t.length;
    if (angle ? depth <= 0 : round <= 0)
      return i + 1;
  }
  return end;
}

size_t decl_name(const struct decls *list, const struct decl *d, const char *text, size_t *body)
{
  static const char *const with_args[] = {"__launch_bounds__", "__align__", "alignas",
                                          "__attribute__", "__declspec", "decltype",
                                          "__maxnreg__", "__cluster_dims__", "noexcept", NULL};
  static const char *const types[] = {"struct", "class", "union", "enum", NULL};
  const struct kr_token *toks = list->toks;
  size_t name = SIZE_MAX, i = d->first;
  bool alias = false, type = false, is_typedef = false;
  *body = SIZE_MAX;
  while (i < d->end && kr_token_is(text, toks[i], "template")) {
    if (i + 1 >= d->end || !punct(text, toks[i + 1], "<"))
      return SIZE_MAX;
    i = skip_group(list, text, i + 1, d->end);
  }
  for (; i < d->end; i++) {
    struct kr_token t = toks[i];
    if (t.flags & KR_TOK_DIRECTIVE)
      continue;
    if (t.kind == KR_TOK_IDENTIFIER) {
      char word[64];
      size_t n = kr_token_text(text, t, word, sizeof word);
      if (one_of(text, t, with_args) && i + 1 < d->end && punct(text, toks[i + 1], "(")) {
        i = skip_group(list, text, i + 1, d->end) - 1;
        continue;
      }
      alias = alias || kr_token_is(text, t, "using");
      is_typedef = is_typedef || kr_token_is(text, t, "typedef");
      type = type || one_of(text, t, types);
      if (kr_token_is(text, t, "operator"))
        return i;
      if (n < sizeof word && kr_lex_is_keyword(word, n))
        continue;
      if (n < sizeof word && n > 4 && !strncmp(word, "__", 2) && !strcmp(word + n - 2, "__"))
        continue;
      name = i;
      continue;
    }
    if (t.kind != KR_TOK_PUNCT)
      continue;
    if (punct(text, t, "[") && i + 1 < d->end && punct(text, toks[i + 1], "[")) {
      i = skip_group(list, text, i, d->end) - 1;
      continue;
    }
    if (punct(text, t, "<") && name != SIZE_MAX) {
      // The arguments of a type, or of a specialisation.
      i = skip_group(list, text, i, d->end) - 1;
      continue;
    }
    if (punct(text, t, "{")) {
      *body = i;
      // `typedef struct { ... } name;`
      if (is_typedef && type) {
        i = skip_group(list, text, i, d->end) - 1;
        name = SIZE_MAX;
        continue;
      }
      return name;
    }
    if (punct(text, t, "(") && !is_typedef) {
      // `KERNEL(256) name(...)`: a macro in the head, not the name.
      static const char *const trailers[] = {"const", "volatile", "noexcept", "override", "final", "try",
                                             "throw", "mutable", "requires", "asm", "__attribute__",
                                             NULL};
      size_t past = skip_group(list, text, i, d->end);
      if (past < d->end && toks[past].kind == KR_TOK_IDENTIFIER && !one_of(text, toks[past], trailers)) {
        i = past - 1;
        continue;
      }
      // A function: its body is the `{` after the brackets.
      for (size_t k = skip_group(list, text, i, d->end); k < d->end; k++) {
        if (punct(text, toks[k], "{")) {
          *body = k;
          break;
        }
        if (punct(text, toks[k], "("))
          k = skip_group(list, text, k, d->end) - 1;
      }
      return name;
    }
    if (punct(text, t, "(")) {
      // `typedef void (*name)(int);`
      for (size_t k = i; k < d->end; k++) {
        if (toks[k].kind == KR_TOK_IDENTIFIER)
          return k;
      }
      return SIZE_MAX;
    }
    if (punct(text, t, "=") || punct(text, t, ";") || punct(text, t, "[") ||
        (punct(text, t, ":") && (type || name != SIZE_MAX) && !alias))
    {
      if (punct(text, t, ":") && type) {
        // Base classes, or an enum's type.
        for (size_t k = i; k < d->end; k++) {
          if (punct(text, toks[k], "{")) {
            *body = k;
            break;
          }
        }
      }
      return name;
    }
  }
  return name;
}
