#include "screen_tokens.h"

#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../evaluator/base/mem.h"

// A variant as words. What the original uses is free; every other word has to be
// known, declared in the variant, or brought by the slice and harmless all the way.

// --- words ---

// Is toks[i], behind a comma or a brace, a further declarator of `float A, B;` or
// an enumerator?
static bool in_declaring_list(const struct screen *s, size_t i)
{
  const struct kr_token *toks = s->decls.toks;
  size_t depth = 0;
  while (i > 0) {
    i--;
    if (is(s, toks[i], ")") || is(s, toks[i], "]") || is(s, toks[i], "}")) {
      depth++;
    } else if (depth && (is(s, toks[i], "(") || is(s, toks[i], "[") || is(s, toks[i], "{"))) {
      depth--;
    } else if (!depth && is(s, toks[i], "{")) {
      for (size_t back = 1; back < 6 && back <= i; back++) {
        size_t k = i - back;
        if (is(s, toks[k], "enum"))
          return true;
        if (toks[k].kind == KR_TOK_PUNCT && !is(s, toks[k], ":") && !is(s, toks[k], "::"))
          break;
      }
      break;
    } else if (!depth && (is(s, toks[i], ";") || is(s, toks[i], "(") || is(s, toks[i], "}"))) {
      break;
    }
  }
  // The statement's first two words: a type and a name.
  size_t first = i + 1;
  while (is(s, toks[first], "const") || is(s, toks[first], "unsigned") || is(s, toks[first], "__shared__"))
    first++;
  return toks[first].kind == KR_TOK_IDENTIFIER && !is(s, toks[first], "return") &&
         (toks[first + 1].kind == KR_TOK_IDENTIFIER || is(s, toks[first + 1], "*"));
}

// Is the word in capitals at `i` declared there?
static bool declares_capital(const struct screen *s, size_t i)
{
  if (!i)
    return false;
  const struct kr_token *toks = s->decls.toks;
  struct kr_token prev = toks[i - 1], next = toks[i + 1];
  static const char *const values[] = {"return", "case", "goto", "else", "do", "sizeof", NULL};
  bool type = prev.kind == KR_TOK_IDENTIFIER;
  for (size_t k = 0; values[k]; k++)
    type = type && !is(s, prev, values[k]);
  bool list = is(s, prev, ",") || is(s, prev, "{"); // of enumerators or declarators
  type = type || is(s, prev, "*") || is(s, prev, "&") || is(s, prev, ">");
  bool ends = is(s, next, "=") || is(s, next, ";") || is(s, next, ")") || is(s, next, "[") ||
              is(s, next, ",") || is(s, next, ">") || is(s, next, "{") || is(s, next, ":");
  bool further = list && (is(s, next, "=") || is(s, next, ",") || is(s, next, ";") ||
                          is(s, next, "[") || is(s, next, "}"));
  return (type && ends) || (further && in_declaring_list(s, i));
}

static bool is_capital(const char *word)
{
  bool letter = false;
  for (const char *p = word; *p; p++) {
    if (islower((unsigned char)*p))
      return false;
    letter = letter || isupper((unsigned char)*p);
  }
  return letter && word[1];
}

static bool is_constant_of_contract(const struct screen *s, const char *word)
{
  const struct kr_contract *c = s->in->contract;
  for (size_t i = 0; c && i < c->n_constants; i++) {
    if (!strcmp(c->constants[i].name, word))
      return true;
  }
  return false;
}

// `half` is a type of cuda_fp16.h and a name that people give to a middle.
static bool half_is_variable(const struct screen *s)
{
  static const char *const types[] = {"int", "unsigned", "auto", "size_t", "long", "short", "float",
                                      "double", "uint32_t", "int32_t", "uint64_t", "int64_t", NULL};
  const struct kr_token *toks = s->decls.toks;
  bool declared = false;
  for (size_t i = 1; i + 1 < s->decls.n_toks; i++) {
    if (!is(s, toks[i], "half"))
      continue;
    struct kr_token next = toks[i + 1];
    if (next.kind == KR_TOK_IDENTIFIER || is(s, next, "(") || is(s, next, "{") ||
        (is(s, toks[i - 1], "<") && is(s, next, ">")) || is(s, next, "&") ||
        (is(s, next, "*") && (is(s, toks[i - 1], "(") || is(s, toks[i - 1], ";") ||
                              is(s, toks[i - 1], "{") || is(s, toks[i - 1], "const"))))
      return false;
    for (size_t k = 0; types[k]; k++)
      declared = declared || is(s, toks[i - 1], types[k]);
  }
  return declared;
}

// Looks at one word that the variant uses itself (`through` NULL) or through a
// name of the slice.
static void check_word(struct screen *s, const char *word, const char *through, unsigned line)
{
  // What attributes are made of is compared as token lists elsewhere.
  static const char *const attribute_words[] = {"__attribute__", "__attribute", "__declspec", NULL};
  const struct forbidden *f = screen_forbidden(word);
  bool used = words_have(&s->orig.closure, word);
  if (f && !f->always && used)
    f = NULL;
  if (f && s->in->allow_asm && !strcmp(f->rule, "asm") && strcmp(word, "ptx"))
    f = NULL;
  if (f && !strcmp(word, "half") && !through && half_is_variable(s))
    f = NULL;
  if (f && !through && screen_spelled_in(attribute_words, word))
    f = NULL;
  if (f && through) {
    screen_refuse(s->out, f->rule, line, "`%s` brings `%s`, which %s", through, word, f->why);
    return;
  }
  if (f) {
    screen_refuse(s->out, f->rule, line, "`%s` %s", word, f->why);
    return;
  }
  if (through)
    return;
  bool reserved = word[0] == '_' && (word[1] == '_' || isupper((unsigned char)word[1]));
  if (reserved && !used && !screen_is_intrinsic(word) && !screen_spelled_in(attribute_words, word) &&
      !(s->in->allow_asm && (!strcmp(word, "__asm__") || !strcmp(word, "__asm") ||
                             !strcmp(word, "__volatile__")))) {
    screen_refuse(s->out, "unknown-word", line, "`%s` is not an intrinsic that may be used here",
                  word);
    return;
  }
  bool macro = words_have(&s->orig.slice_macros, word);
  if (words_have(&s->orig.file_macros, word) && !macro && !used) {
    screen_refuse(s->out, "macro", line,
                  "`%s` is a macro of the file that the original does not use", word);
    return;
  }
  if (!reserved && is_capital(word) && !used && !macro && !screen_is_common_macro(word) &&
      !words_have(&s->declared, word) && !original_slice_name(&s->orig, word) &&
      !is_constant_of_contract(s, word))
    screen_refuse(s->out, "macro", line,
                  "`%s` is spelt like a macro and is neither declared here nor used by the original",
                  word);
}

void screen_check_words(struct screen *s)
{
  const struct kr_token *toks = s->decls.toks;
  for (size_t i = 0; i + 1 < s->decls.n_toks; i++) {
    char word[256];
    if (toks[i].kind == KR_TOK_IDENTIFIER && declares_capital(s, i)) {
      word_of(s, toks[i], word);
      if (is_capital(word))
        words_add(&s->declared, word, strlen(word));
    }
  }
  words_seal(&s->declared);
  // Names of the slice that the original does not reach, followed to the end.
  struct reach {
    char *word;
    const char *through;
    unsigned line;
  } *todo = NULL;
  size_t n = 0, cap = 0;
  struct words seen = {0};
  words_of_text(&seen, s->code, s->len);
  words_seal(&seen);
  for (size_t i = 0; i + 1 < s->decls.n_toks; i++) {
    struct kr_token t = toks[i];
    char word[256];
    if (is(s, t, "<<<") && !words_have(&s->orig.closure, "<<<"))
      check_word(s, "<<<", NULL, line_of(s, t));
    if (t.kind != KR_TOK_IDENTIFIER || (t.flags & KR_TOK_DIRECTIVE))
      continue;
    word_of(s, t, word);
    check_word(s, word, NULL, line_of(s, t));
    if (!strcmp(word, s->orig.name) || words_have(&s->orig.closure, word))
      continue;
    const struct slice_name *name = original_slice_name(&s->orig, word);
    if (!name)
      continue;
    if (name->pastes)
      screen_refuse(s->out, "macro", line_of(s, t),
                    "`%s` is a macro that makes names; the original does not use it", word);
    if (name->is_macro && words_have(&name->brings, "static"))
      screen_refuse(s->out, "static-local", line_of(s, t),
                    "`%s` brings `static`, which would outlive a launch", word);
    for (size_t k = 0; k < name->brings.n; k++) {
      KR_GROW(todo, n, cap);
      todo[n++] = (struct reach){name->brings.items[k], name->name, line_of(s, t)};
    }
  }
  struct words followed = {0};
  for (size_t i = 0; i < n && i < 20000; i++) {
    check_word(s, todo[i].word, todo[i].through, todo[i].line);
    const struct slice_name *name = original_slice_name(&s->orig, todo[i].word);
    bool done = words_have(&s->orig.closure, todo[i].word) || words_have(&seen, todo[i].word);
    for (size_t k = 0; k < followed.n && !done; k++)
      done = !strcmp(followed.items[k], todo[i].word);
    if (!name || done)
      continue;
    words_add(&followed, todo[i].word, strlen(todo[i].word));
    for (size_t k = 0; k < name->brings.n; k++) {
      KR_GROW(todo, n, cap);
      todo[n++] = (struct reach){name->brings.items[k], todo[i].through, todo[i].line};
    }
  }
  words_release(&followed);
  words_release(&seen);
  free(todo);
}

// --- literals ---

// What a static_assert says is read by people and models, as a comment is.
static void check_message(struct screen *s, struct kr_token t)
{
  char *text = kr_xstrndup(s->code + t.offset, t.length);
  if (screen_names_kevin(text))
    screen_refuse(s->out, "provenance", line_of(s, t),
                  "a message looks like a marker or a provenance line");
  if (screen_talks(text) || t.length > SCREEN_MAX_MESSAGE)
    screen_refuse(s->out, "comment", line_of(s, t),
                  "a message speaks to a reader or tool, or is longer than %d bytes",
                  SCREEN_MAX_MESSAGE);
  free(text);
}

// Adjacent string literals as one text, so that nothing hides in the joint.
void screen_check_strings(struct screen *s)
{
  const struct kr_token *toks = s->decls.toks;
  bool asm_ok = s->in->allow_asm || words_have(&s->orig.closure, "asm") ||
                words_have(&s->orig.closure, "__asm__") || words_have(&s->orig.closure, "__asm");
  size_t last_asm = SIZE_MAX, depth = 0;
  for (size_t i = 0; i + 1 < s->decls.n_toks; i++) {
    struct kr_token t = toks[i];
    if (is(s, t, "asm") || is(s, t, "__asm__") || is(s, t, "__asm"))
      last_asm = i, depth = 0;
    if (last_asm != SIZE_MAX) {
      depth += is(s, t, "(");
      depth -= is(s, t, ")") && depth;
      if (is(s, t, ";") && !depth)
        last_asm = SIZE_MAX;
    }
    if (t.kind != KR_TOK_STRING || (t.flags & KR_TOK_DIRECTIVE))
      continue;
    bool linkage = i && is(s, toks[i - 1], "extern") && kr_token_is(s->code, t, "\"C\"");
    bool message = false;
    for (size_t k = i; k > 0 && k + 63 > i && !is(s, toks[k - 1], ";") && !message; k--)
      message = is(s, toks[k - 1], "static_assert");
    // A raw string is read in more ways than one, and no use of it is honest here.
    if (s->code[t.offset] != '"')
      screen_refuse(s->out, "string", line_of(s, t), "a string with a prefix");
    if (message)
      check_message(s, t);
    if (linkage || message)
      continue;
    if (last_asm == SIZE_MAX || !asm_ok) {
      if (!memmem(s->orig.code, s->orig.len, s->code + t.offset, t.length))
        screen_refuse(s->out, "string", line_of(s, t),
                      "a string has no use in a kernel that does not print");
      continue;
    }
    struct kr_bytes text;
    kr_bytes_init(&text, SCREEN_MAX_CODE);
    unsigned line = line_of(s, t);
    for (; toks[i].kind == KR_TOK_STRING; i++) {
      const char *p = s->code + toks[i].offset;
      if (*p != '"')
        screen_refuse(s->out, "string", line, "a string with a prefix in assembly");
      for (size_t k = 1; k + 1 < toks[i].length; k++) {
        if (p[k] == '\\' && !strchr("nt\"\\", p[k + 1])) {
          screen_refuse(s->out, "escape", line, "assembly is spelt in escapes");
          break;
        }
        if (p[k] == '\\') {
          kr_bytes_addc(&text, p[k + 1] == 'n' || p[k + 1] == 't' ? ' ' : p[k + 1]);
          k++;
        } else {
          kr_bytes_addc(&text, p[k]);
        }
      }
    }
    i--;
    size_t entry = 0;
    const struct forbidden *f;
    while ((f = screen_forbidden_ptx(text.data, &entry))) {
      // What the original's own assembly holds may stay.
      char *low = kr_xstrndup(s->orig.code, s->orig.len);
      for (char *q = low; *q; q++)
        *q = (char)tolower((unsigned char)*q);
      if (!strstr(low, f->word))
        screen_refuse(s->out, f->rule, line, "assembly with `%s` %s", f->word, f->why);
      free(low);
    }
    kr_bytes_release(&text);
  }
}

// --- attributes ---

static void join(const char *text, const struct kr_token *toks, size_t from, size_t to,
                 struct kr_bytes *out)
{
  for (size_t i = from; i < to; i++) {
    kr_bytes_add(out, text + toks[i].offset, toks[i].length);
    kr_bytes_addc(out, ' ');
  }
}

void screen_check_attributes(struct screen *s)
{
  const struct kr_token *toks = s->decls.toks;
  struct kr_bytes original, mine;
  kr_bytes_init(&original, KR_BYTES_DEFAULT_MAX);
  kr_bytes_init(&mine, KR_BYTES_DEFAULT_MAX);
  size_t n_original;
  struct kr_token *otoks = kr_lex_all(s->orig.code, s->orig.len, false, &n_original);
  join(s->orig.code, otoks, 0, n_original - 1, &original);
  for (size_t i = 0; i + 2 < s->decls.n_toks; i++) {
    bool square = is(s, toks[i], "[") && is(s, toks[i + 1], "[");
    bool gnu = is(s, toks[i], "__attribute__") || is(s, toks[i], "__declspec");
    if (!square && !gnu)
      continue;
    size_t depth = 0, k = i + gnu;
    do {
      depth += is(s, toks[k], "(") || is(s, toks[k], "[");
      depth -= (is(s, toks[k], ")") || is(s, toks[k], "]")) && depth;
      k++;
    } while (depth && k + 1 < s->decls.n_toks);
    kr_bytes_reset(&mine);
    join(s->code, toks, i, k, &mine);
    if (!strstr(original.data, mine.data))
      screen_refuse(s->out, "attribute", line_of(s, toks[i]),
                    "`%.60s` is an attribute that the original does not have", mine.data);
    i = k - 1;
  }
  free(otoks);
  kr_bytes_release(&mine);
  kr_bytes_release(&original);
}

// --- precision ---

// An original in doubles with no float anywhere: a float is a downgrade.
void screen_check_float(struct screen *s)
{
  bool half_kinds = words_have(&s->orig.closure, "float");
  if (half_kinds || !words_have(&s->orig.closure, "double"))
    return;
  for (size_t i = 0; i + 1 < s->decls.n_toks; i++) {
    struct kr_token t = s->decls.toks[i];
    const char *p = s->code + t.offset;
    bool literal = t.kind == KR_TOK_NUMBER && t.length > 1 &&
                   (p[t.length - 1] == 'f' || p[t.length - 1] == 'F') &&
                   !(p[0] == '0' && (p[1] == 'x' || p[1] == 'X'));
    bool word = t.kind == KR_TOK_IDENTIFIER &&
                (!strncmp(p, "float", 5) || !strncmp(p, "__fdividef", 10) ||
                 !strncmp(p, "__double2float", 14));
    if (literal || word) {
      screen_refuse(s->out, "precision", line_of(s, t),
                    "`%.*s` brings a lower precision; the original computes in double alone",
                    (int)(t.length > 40 ? 40 : t.length), p);
      return;
    }
  }
}
