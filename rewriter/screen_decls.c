#include "screen_tokens.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../evaluator/base/mem.h"

// A variant as declarations: one kernel, that of the original, and before it
// helpers with names of their own.

static bool decl_has(const struct screen *s, const struct decl *d, size_t stop, const char *word)
{
  for (size_t i = d->first; i < d->end && i < stop; i++) {
    if (is(s, s->decls.toks[i], word))
      return true;
  }
  return false;
}

// A parameter list between the brackets at `open` as types: __restrict__,
// names, default values and top-level const are dropped; the words between
// stars are sorted, since `const float` and `float const` are the same.
struct params {
  struct words *parts; // one word a part: "const float", "*", ...
  bool *restricted;
  size_t n;
};

static void params_release(struct params *p)
{
  for (size_t i = 0; i < p->n; i++)
    words_release(&p->parts[i]);
  free(p->parts);
  free(p->restricted);
}

static int sort_words(const void *a, const void *b)
{
  return strcmp(*(char *const *)a, *(char *const *)b);
}

static void params_add(struct params *p, const char *text, const struct kr_token *toks, size_t from,
                       size_t to)
{
  size_t stop = to, depth = 0, last_star = SIZE_MAX, name = SIZE_MAX, words = 0;
  for (size_t i = from; i < to; i++) {
    if (toks[i].kind == KR_TOK_PUNCT && (kr_token_is(text, toks[i], "<")))
      depth++;
    if (toks[i].kind == KR_TOK_PUNCT && kr_token_is(text, toks[i], ">") && depth)
      depth--;
    if (toks[i].kind == KR_TOK_PUNCT && kr_token_is(text, toks[i], "=") && !depth) {
      stop = i;
      break;
    }
  }
  struct kr_bytes key;
  kr_bytes_init(&key, 1 << 16);
  bool restricted = false;
  for (size_t i = from; i < stop; i++) {
    if (kr_token_is(text, toks[i], "*") || kr_token_is(text, toks[i], "&") ||
        kr_token_is(text, toks[i], "["))
      last_star = i;
    if (toks[i].kind == KR_TOK_IDENTIFIER && !kr_token_is(text, toks[i], "const") &&
        !kr_token_is(text, toks[i], "__restrict__") && !kr_token_is(text, toks[i], "__restrict")) {
      words++;
      name = i;
    }
  }
  // The last identifier is the name, unless it is all there is of the type.
  if (name != SIZE_MAX) {
    char word[64];
    size_t n = kr_token_text(text, toks[name], word, sizeof word);
    bool keyword = n < sizeof word && kr_lex_is_keyword(word, n);
    bool after_colons = name > from && kr_token_is(text, toks[name - 1], "::");
    if (keyword || after_colons || words < 2)
      name = SIZE_MAX;
  }
  char *group[64];
  size_t n_group = 0;
  for (size_t i = from; i <= stop; i++) {
    bool star = i < stop && toks[i].kind == KR_TOK_PUNCT &&
                (kr_token_is(text, toks[i], "*") || kr_token_is(text, toks[i], "&") ||
                 kr_token_is(text, toks[i], "["));
    if (star || i == stop) {
      qsort(group, n_group, sizeof *group, sort_words);
      for (size_t k = 0; k < n_group; k++) {
        kr_bytes_addf(&key, "%s ", group[k]);
        free(group[k]);
      }
      n_group = 0;
      if (star)
        kr_bytes_adds(&key, "* ");
      continue;
    }
    if (i == name || kr_token_is(text, toks[i], "]"))
      continue;
    if (kr_token_is(text, toks[i], "__restrict__") || kr_token_is(text, toks[i], "__restrict")) {
      restricted = true;
      continue;
    }
    // A const behind the last star, or on a value, is the callee's own affair.
    if (kr_token_is(text, toks[i], "const") && (last_star == SIZE_MAX || i > last_star))
      continue;
    if (n_group < 64)
      group[n_group++] = kr_xstrndup(text + toks[i].offset, toks[i].length);
  }
  // A default value is part of what callers see.
  for (size_t i = stop; i < to; i++) {
    kr_bytes_add(&key, text + toks[i].offset, toks[i].length);
    kr_bytes_addc(&key, ' ');
  }
  p->parts = kr_xreallocarray(p->parts, p->n + 1, sizeof *p->parts);
  p->restricted = kr_xreallocarray(p->restricted, p->n + 1, sizeof *p->restricted);
  p->parts[p->n] = (struct words){0};
  words_add(&p->parts[p->n], key.data, key.len);
  p->restricted[p->n++] = restricted;
  kr_bytes_release(&key);
}

// The parameters of a definition whose name stands at toks[name].
static bool params_read(struct params *p, const char *text, const struct kr_token *toks, size_t n,
                        size_t name)
{
  *p = (struct params){0};
  if (name + 1 >= n || !kr_token_is(text, toks[name + 1], "("))
    return false;
  size_t depth = 0, from = name + 2;
  for (size_t i = name + 1; i < n; i++) {
    bool open = kr_token_is(text, toks[i], "(") || kr_token_is(text, toks[i], "<") ||
                kr_token_is(text, toks[i], "[") || kr_token_is(text, toks[i], "{");
    bool shut = kr_token_is(text, toks[i], ")") || kr_token_is(text, toks[i], ">") ||
                kr_token_is(text, toks[i], "]") || kr_token_is(text, toks[i], "}");
    if (toks[i].kind != KR_TOK_PUNCT)
      continue;
    depth += open;
    depth -= shut && depth;
    if ((depth == 1 && kr_token_is(text, toks[i], ",")) || !depth) {
      if (i > from)
        params_add(p, text, toks, from, i);
      from = i + 1;
    }
    if (!depth)
      return true;
  }
  return false;
}

// What stands between a kernel's parameters and its body: `noexcept`, `requires`.
static void tail_text(const char *text, const struct kr_token *toks, size_t n, size_t name,
                      struct kr_bytes *out)
{
  size_t depth = 0, i = name + 1;
  for (; i < n; i++) {
    depth += kr_token_is(text, toks[i], "(");
    depth -= kr_token_is(text, toks[i], ")") && depth;
    if (!depth)
      break;
  }
  for (i++; i < n && !kr_token_is(text, toks[i], "{"); i++) {
    kr_bytes_add(out, text + toks[i].offset, toks[i].length);
    kr_bytes_addc(out, ' ');
  }
}

// The kernel's own declaration against the original's.
static void check_kernel(struct screen *s, const struct decl *d, size_t name)
{
  static const char *const free_words[] = {"__launch_bounds__", "__restrict__", "__restrict",
                                           "__noinline__", "__forceinline__", "inline", "constexpr",
                                           NULL};
  static const char *const linkage[] = {"static", "extern", "inline", "template", "constexpr", NULL};
  struct decls orig;
  decls_scan(&orig, s->orig.code, s->orig.len);
  size_t oname = SIZE_MAX, obody = SIZE_MAX;
  const struct decl *od = NULL;
  for (size_t i = 0; i < orig.n && oname == SIZE_MAX; i++) {
    size_t at = decl_name(&orig, &orig.items[i], s->orig.code, &obody);
    if (at != SIZE_MAX && obody != SIZE_MAX && kr_token_is(s->orig.code, orig.toks[at], s->orig.name)) {
      oname = at;
      od = &orig.items[i];
    }
  }
  unsigned line = line_of(s, s->decls.toks[name]);
  if (!od) {
    screen_refuse(s->out, "kernel", line, "the original's declaration of `%s` cannot be read by tokens",
                  s->orig.name);
    goto out;
  }
  struct words mine = {0}, theirs = {0};
  struct kr_bytes text;
  kr_bytes_init(&text, 1 << 16);
  for (size_t i = d->first; i < name; i++) {
    char word[256];
    word_of(s, s->decls.toks[i], word);
    if (s->decls.toks[i].kind == KR_TOK_IDENTIFIER || s->decls.toks[i].kind == KR_TOK_STRING)
      words_add(&mine, word, strlen(word));
  }
  for (size_t i = od->first; i < oname; i++) {
    char word[256];
    kr_token_text(s->orig.code, orig.toks[i], word, sizeof word);
    if (orig.toks[i].kind == KR_TOK_IDENTIFIER || orig.toks[i].kind == KR_TOK_STRING)
      words_add(&theirs, word, strlen(word));
  }
  words_seal(&mine);
  words_seal(&theirs);
  for (int i = 0; linkage[i]; i++) {
    if (words_have(&mine, linkage[i]) != words_have(&theirs, linkage[i]) &&
        (!strcmp(linkage[i], "static") || !strcmp(linkage[i], "extern") ||
         !strcmp(linkage[i], "template") || words_have(&mine, linkage[i])))
      screen_refuse(s->out, "linkage", line, "the original is %sdeclared `%s`; its linkage must stay",
                    words_have(&theirs, linkage[i]) ? "" : "not ", linkage[i]);
  }
  bool bounds = false;
  for (size_t i = d->first; i < name; i++)
    bounds = bounds || is(s, s->decls.toks[i], "__launch_bounds__");
  for (size_t i = 0; i < mine.n; i++) {
    const char *w = mine.items[i];
    if (words_have(&theirs, w) || screen_spelled_in(free_words, w) || screen_spelled_in(linkage, w))
      continue;
    // What __launch_bounds__(...) holds: names that the variant or the slice has.
    if (bounds && !screen_forbidden(w) && w[0] != '_')
      continue;
    screen_refuse(s->out, "kernel", line, "`%s` is not in the original's declaration", w);
  }
  for (size_t i = 0; i < theirs.n; i++) {
    const char *w = theirs.items[i];
    bool dropped_bounds = words_have(&theirs, "__launch_bounds__") && w[0] != '_' &&
                          strcmp(w, "void") && !screen_spelled_in(linkage, w) && w[0] != '"';
    if (!words_have(&mine, w) && !screen_spelled_in(free_words, w) && !screen_spelled_in(linkage, w) && !dropped_bounds)
      screen_refuse(s->out, "kernel", line, "`%s` of the original's declaration is missing", w);
  }
  if (words_have(&theirs, "template")) {
    size_t a = d->first, b = od->first;
    while (a < name && b < oname && !is(s, s->decls.toks[a], "__global__")) {
      if (s->decls.toks[a].length != orig.toks[b].length ||
          strncmp(s->code + s->decls.toks[a].offset, s->orig.code + orig.toks[b].offset, orig.toks[b].length)) {
        screen_refuse(s->out, "linkage", line, "the original's `template <...>` must stay as it is");
        break;
      }
      a++, b++;
    }
  }
  struct params p, op;
  bool ok = params_read(&p, s->code, s->decls.toks, s->decls.n_toks, name);
  bool ok_original = params_read(&op, s->orig.code, orig.toks, orig.n_toks, oname);
  if (!ok || !ok_original)
    screen_refuse(s->out, "signature", line, "the parameters of `%s` cannot be read", s->orig.name);
  else if (p.n != op.n)
    screen_refuse(s->out, "signature", line, "`%s` has %zu parameters; the original has %zu",
                  s->orig.name, p.n, op.n);
  else {
    for (size_t i = 0; i < p.n; i++) {
      char why[256];
      if (strcmp(p.parts[i].items[0], op.parts[i].items[0]))
        screen_refuse(s->out, "signature", line,
                      "parameter %zu of `%s` is `%s`; the original's is `%s`", i + 1, s->orig.name,
                      p.parts[i].items[0], op.parts[i].items[0]);
      else if (p.restricted[i] && !op.restricted[i] && !screen_restrict_ok(s->in, i, why))
        screen_refuse(s->out, "restrict", line,
                      "parameter %zu must not be __restrict__: %s", i + 1, why);
    }
  }
  struct kr_bytes tail;
  kr_bytes_init(&tail, 1 << 16);
  tail_text(s->code, s->decls.toks, s->decls.n_toks, name, &text);
  tail_text(s->orig.code, orig.toks, orig.n_toks, oname, &tail);
  if (strcmp(text.data, tail.data))
    screen_refuse(s->out, "kernel", line, "`%.60s` behind the parameters is not in the original",
                  text.data);
  kr_bytes_release(&tail);
  params_release(&p);
  params_release(&op);
  words_release(&mine);
  words_release(&theirs);
  kr_bytes_release(&text);
out:
  decls_release(&orig);
}

static void check_new_name(struct screen *s, struct kr_token t, const char *what)
{
  char word[256];
  word_of(s, t, word);
  if (!screen_has_prefix(&s->orig, word))
    screen_refuse(s->out, "name-prefix", line_of(s, t),
                  "%s `%s` must have a name that begins with `%s_`", what, word, s->orig.name);
  else if (words_have(&s->orig.taken, word))
    screen_refuse(s->out, "name-taken", line_of(s, t), "`%s` is in the file already", word);
}

// Names behind the first: `constexpr int k_a = 1, b = 2;`, enumerators, `} x;`.
static void check_more_names(struct screen *s, const struct decl *d, size_t name, size_t body,
                             bool is_enum, bool is_type)
{
  const struct kr_token *toks = s->decls.toks;
  if (is_enum && body != SIZE_MAX && !decl_has(s, d, body, "class") && !decl_has(s, d, body, "struct")) {
    size_t depth = 0;
    for (size_t i = body; i < d->end; i++) {
      depth += is(s, toks[i], "{") || is(s, toks[i], "(");
      depth -= (is(s, toks[i], "}") || is(s, toks[i], ")")) && depth;
      if (depth == 1 && (is(s, toks[i], "{") || is(s, toks[i], ",")) &&
          toks[i + 1].kind == KR_TOK_IDENTIFIER)
        check_new_name(s, toks[i + 1], "the enumerator");
      if (!depth)
        break;
    }
  }
  if (is_type && body != SIZE_MAX) {
    size_t after = screen_past_group(s, body);
    if (after < d->end && !is(s, toks[after], ";"))
      screen_refuse(s->out, "state", line_of(s, toks[after]),
                    "a variable is declared behind a type; it would outlive a launch");
    return;
  }
  if (is_type || name == SIZE_MAX)
    return;
  size_t depth = 0;
  for (size_t i = name; i < d->end; i++) {
    bool open = is(s, toks[i], "(") || is(s, toks[i], "{") || is(s, toks[i], "[") || is(s, toks[i], "<");
    bool shut = is(s, toks[i], ")") || is(s, toks[i], "}") || is(s, toks[i], "]") || is(s, toks[i], ">");
    depth += open;
    depth -= shut && depth;
    if (!depth && is(s, toks[i], ",")) {
      size_t k = i + 1;
      while (k < d->end && (is(s, toks[k], "*") || is(s, toks[k], "&") || is(s, toks[k], "const")))
        k++;
      if (toks[k].kind == KR_TOK_IDENTIFIER)
        check_new_name(s, toks[k], "the variable");
      else
        screen_refuse(s->out, "declaration", line_of(s, toks[i]), "a declaration cannot be read");
    }
  }
}

static void check_declaration(struct screen *s, const struct decl *d, size_t *kernels, size_t index)
{
  const struct kr_token *toks = s->decls.toks;
  struct kr_token first = toks[d->first];
  unsigned line = line_of(s, first);
  size_t body, name = decl_name(&s->decls, d, s->code, &body);
  size_t head = body == SIZE_MAX ? d->end : body;
  if (!d->closed) {
    screen_refuse(s->out, "unbalanced", line, "a declaration is not finished");
    return;
  }
  if (is(s, first, ";"))
    return;
  if (is(s, first, "namespace") || (is(s, first, "inline") && is(s, toks[d->first + 1], "namespace")) ||
      (is(s, first, "using") && is(s, toks[d->first + 1], "namespace"))) {
    screen_refuse(s->out, "declaration", line, "namespaces of the file are not opened, named or used anew");
    return;
  }
  if (is(s, first, "static_assert"))
    return;
  bool device = decl_has(s, d, head, "__device__"), global = false;
  for (size_t i = d->first; i < head && i < d->end; i++)
    global = global || is(s, toks[i], "__global__");
  if (is(s, first, "enum") && (is(s, toks[d->first + 1], "{") || is(s, toks[d->first + 1], ":")) &&
      body != SIZE_MAX) {
    check_more_names(s, d, SIZE_MAX, body, true, true);
    return;
  }
  if (name == SIZE_MAX) {
    screen_refuse(s->out, "declaration", line, "a declaration cannot be read");
    return;
  }
  bool function = name + 1 < d->end && is(s, toks[name + 1], "(");
  bool is_kernel = kr_token_is(s->code, toks[name], s->orig.name);
  if (is_kernel && function) {
    ++*kernels;
    if (body == SIZE_MAX)
      screen_refuse(s->out, "kernel", line, "`%s` is declared beside its definition", s->orig.name);
    else
      check_kernel(s, d, name);
    if (index + 1 != s->decls.n)
      screen_refuse(s->out, "kernel", line, "helpers must stand before `%s`", s->orig.name);
    return;
  }
  if (global) {
    screen_refuse(s->out, "kernel", line, "there is a second kernel");
    return;
  }
  if (is(s, toks[name], "operator") || decl_has(s, d, head, "operator")) {
    screen_refuse(s->out, "name-prefix", line,
                  "an operator outside of a type would change what other code means");
    return;
  }
  bool alias = is(s, first, "using") || is(s, first, "typedef") || decl_has(s, d, head, "using");
  bool is_enum = decl_has(s, d, name + 1, "enum");
  bool record = decl_has(s, d, name, "struct") || decl_has(s, d, name, "class") ||
                decl_has(s, d, name, "union");
  bool konst = decl_has(s, d, head, "constexpr");
  if (alias && is(s, first, "using") && !decl_has(s, d, d->end, "=")) {
    screen_refuse(s->out, "declaration", line, "`using` of a name of another scope");
    return;
  }
  // `struct x f(...)`, `enum x v;`: a function or variable with a written-out type.
  bool type = (record || is_enum) && !function && body != SIZE_MAX;
  bool forward = (record || is_enum) && !function && body == SIZE_MAX &&
                 name + 1 < d->end && is(s, toks[name + 1], ";");
  if (function && !alias) {
    static const char *const assembly[] = {"asm", "__asm", "__asm__", NULL};
    for (size_t i = 0; assembly[i] && !device; i++) {
      if (decl_has(s, d, d->end, assembly[i]))
        screen_refuse(s->out, "asm", line, "assembly in a function that the host compiles");
    }
    if (!device && !konst)
      screen_refuse(s->out, "host", line, "`%.*s` is a host function; helpers are `__device__`",
                    (int)toks[name].length, s->code + toks[name].offset);
    // `__device__ int x(3);` is a variable: what is in the brackets is a value.
    if (body == SIZE_MAX && name + 2 < d->end && toks[name + 2].kind == KR_TOK_NUMBER)
      screen_refuse(s->out, "state", line, "a variable of the file outlives a launch");
  } else if (!alias && !type && !forward) {
    bool shared = decl_has(s, d, head, "__shared__");
    if (device || decl_has(s, d, head, "__constant__") || decl_has(s, d, head, "__managed__") || shared)
      screen_refuse(s->out, "state", line,
                    "`%.*s` is a variable of the file, which outlives a launch; `constexpr` is allowed",
                    (int)toks[name].length, s->code + toks[name].offset);
    else if (!konst)
      screen_refuse(s->out, "host", line,
                    "`%.*s` is a host variable; only `constexpr` ones are allowed",
                    (int)toks[name].length, s->code + toks[name].offset);
  }
  check_new_name(s, toks[name], function ? "the function" : alias || type || forward ? "the type" : "the variable");
  if (!function)
    check_more_names(s, d, name, body, is_enum, (record || is_enum) && !alias);
}

void screen_check_declarations(struct screen *s)
{
  size_t kernels = 0;
  if (s->decls.unbalanced != SIZE_MAX) {
    struct kr_token t = s->decls.toks[s->decls.unbalanced];
    screen_refuse(s->out, "unbalanced", line_of(s, t), "brackets do not match");
  }
  for (size_t i = 0; i < s->decls.n; i++)
    check_declaration(s, &s->decls.items[i], &kernels, i);
  if (!kernels)
    screen_refuse(s->out, "kernel", 0, "there is no definition of `%s`", s->orig.name);
  else if (kernels > 1)
    screen_refuse(s->out, "kernel", 0, "`%s` is there %zu times", s->orig.name, kernels);
}
