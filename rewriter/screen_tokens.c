// The token screen: what a variant may contain, from its text alone, before
// anything is compiled.
//
// It fails closed twice over. Words with two underscores and words in capitals
// are refused unless they are known; declarations are refused unless they are
// of a kind that is allowed. And a word counts as used when a macro, alias or
// declaration of the user's own file brings it, so that `#define NOW clock64()`
// in a header opens no door.

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../evaluator/base/mem.h"
#include "screen.h"

enum {
  SCREEN_MAX_CODE = 256 << 10,
  SCREEN_MAX_COMMENT = 400,
  SCREEN_MAX_COMMENTS = 8 << 10,
  SCREEN_MAX_RUN = 1500 // of `//` lines below each other
};

struct screen {
  const struct kr_screen_input *in;
  struct kr_screen *out;
  const char *code;
  size_t len;
  struct kr_source text; // of the code, for lines
  struct kr_token *all;  // with comments
  size_t n_all;
  struct decls decls;
  struct original orig;
  struct words declared; // words in capitals that the variant declares itself
};

static unsigned line_of(const struct screen *s, struct kr_token t)
{
  unsigned line, col;
  kr_source_place(&s->text, t.offset, &line, &col);
  return line;
}

static bool is(const struct screen *s, struct kr_token t, const char *spelling)
{
  return (t.kind == KR_TOK_PUNCT || t.kind == KR_TOK_IDENTIFIER) &&
         kr_token_is(s->code, t, spelling);
}

static void word_of(const struct screen *s, struct kr_token t, char out[256])
{
  kr_token_text(s->code, t, out, 256);
}

// --- bytes and directives ---

static void check_bytes(struct screen *s)
{
  unsigned line = 1;
  for (size_t i = 0; i < s->len; i++) {
    unsigned char c = (unsigned char)s->code[i];
    line += c == '\n';
    if (c >= 0x80) {
      screen_refuse(s->out, "ascii", line, "the code holds a byte that is not ASCII (0x%02x)", c);
      return;
    }
    if ((c < 0x20 && c != '\n' && c != '\t' && !(c == '\r' && s->code[i + 1] == '\n')) || c == 0x7f) {
      screen_refuse(s->out, "ascii", line, "the code holds a control character (0x%02x)", c);
      return;
    }
    if (c == '?' && i + 2 < s->len && s->code[i + 1] == '?' && strchr("=/'()!<>-", s->code[i + 2])) {
      screen_refuse(s->out, "trigraph", line, "`%.3s` is a trigraph for some compilers",
                    s->code + i);
      return;
    }
    // A backslash at a line's end, blanks after it or not, joins lines.
    if (c == '\\') {
      size_t k = i + 1;
      while (s->code[k] == ' ' || s->code[k] == '\t' || s->code[k] == '\r')
        k++;
      if (s->code[k] == '\n' || k == s->len)
        screen_refuse(s->out, "splice", line, "a backslash joins two lines");
    }
  }
}

static void check_directives(struct screen *s)
{
  for (size_t i = 0; i < s->n_all; i++) {
    struct kr_token t = s->all[i];
    if (!(t.flags & KR_TOK_DIRECTIVE_START))
      continue;
    struct kr_token w[4] = {{0}};
    size_t n = 0, k = i + 1;
    for (; k < s->n_all && (s->all[k].flags & KR_TOK_DIRECTIVE) &&
           !(s->all[k].flags & KR_TOK_DIRECTIVE_START);
         k++) {
      if (s->all[k].kind == KR_TOK_END)
        break;
      if (n < 4)
        w[n] = s->all[k];
      n++;
    }
    char word[256] = "";
    if (n)
      word_of(s, w[0], word);
    bool unroll = n >= 2 && !strcmp(word, "pragma") && is(s, w[1], "unroll");
    // #pragma unroll, #pragma unroll 4, #pragma unroll (4), #pragma unroll NAME
    for (size_t j = i + 3; unroll && j < k; j++) {
      struct kr_token a = s->all[j];
      unroll = a.kind == KR_TOK_NUMBER || a.kind == KR_TOK_IDENTIFIER || is(s, a, "(") || is(s, a, ")");
    }
    if (!strcmp(word, "include") || !strcmp(word, "include_next") || !strcmp(word, "import") ||
        !strcmp(word, "embed"))
      screen_refuse(s->out, "include", line_of(s, t),
                    "`#%s` is not allowed; what the file includes is there already", word);
    else if (!unroll)
      screen_refuse(s->out, "directive", line_of(s, t),
                    "`#%s` is not allowed; the only directive is `#pragma unroll`", word);
  }
}

static void check_shapes(struct screen *s)
{
  for (size_t i = 0; i < s->n_all; i++) {
    struct kr_token t = s->all[i];
    const char *p = s->code + t.offset;
    bool comment = t.kind == KR_TOK_LINE_COMMENT || t.kind == KR_TOK_BLOCK_COMMENT;
    if (t.flags & KR_TOK_SPLICED)
      screen_refuse(s->out, "splice", line_of(s, t), "a backslash joins two lines");
    if (t.flags & KR_TOK_DIGRAPH)
      screen_refuse(s->out, "digraph", line_of(s, t), "`%.*s` is a digraph; write the character",
                    (int)t.length, p);
    if (t.flags & KR_TOK_UNTERMINATED)
      screen_refuse(s->out, "unbalanced", line_of(s, t), "a %s is not closed",
                    comment ? "comment" : "literal");
    bool literal = t.kind == KR_TOK_STRING || t.kind == KR_TOK_CHAR;
    if (!comment && !literal && t.kind != KR_TOK_END && memchr(p, '\\', t.length))
      screen_refuse(s->out, "escape", line_of(s, t),
                    "a backslash outside of literals spells a name in escapes");
    else if (t.kind == KR_TOK_OTHER)
      screen_refuse(s->out, "character", line_of(s, t), "`%.*s` begins no token",
                    (int)(t.length > 8 ? 8 : t.length), p);
    if (t.kind == KR_TOK_IDENTIFIER && memchr(p, '$', t.length))
      screen_refuse(s->out, "character", line_of(s, t), "`%.*s` holds a `$`",
                    (int)(t.length > 60 ? 60 : t.length), p);
  }
}

// --- comments ---

static bool original_has_comment(const struct screen *s, const char *text, size_t n)
{
  return memmem(s->orig.code, s->orig.len, text, n) != NULL;
}

// "kevin" in any case, alone or followed by what a marker needs.
static bool names_kevin(const char *text)
{
  for (const char *p = text; *p; p++) {
    if (!strncasecmp(p, "kevin", 5) && (p == text || !isalnum((unsigned char)p[-1])) &&
        !isalnum((unsigned char)p[5]))
      return true;
  }
  return false;
}

static void check_comments(struct screen *s)
{
  size_t total = 0, run = 0, run_end = 0;
  for (size_t i = 0; i < s->n_all; i++) {
    struct kr_token t = s->all[i];
    if (t.kind != KR_TOK_LINE_COMMENT && t.kind != KR_TOK_BLOCK_COMMENT)
      continue;
    const char *p = s->code + t.offset;
    char *text = kr_xstrndup(p, t.length);
    if (names_kevin(text))
      screen_refuse(s->out, "provenance", line_of(s, t),
                    "a comment looks like a marker or a provenance line; only the user and the "
                    "tool write those");
    total += t.length;
    bool joined = t.kind == KR_TOK_LINE_COMMENT && run_end &&
                  t.offset - run_end <= 80 &&
                  strspn(s->code + run_end, " \t\r\n") >= t.offset - run_end;
    run = joined ? run + t.length : t.length;
    run_end = t.offset + t.length;
    if (!original_has_comment(s, p, t.length)) {
      if (screen_elides(text))
        screen_refuse(s->out, "elision", line_of(s, t),
                      "a comment stands for code that is left out (`%.60s`); the whole kernel is "
                      "wanted",
                      text);
      if (screen_talks(text))
        screen_refuse(s->out, "comment", line_of(s, t),
                      "a comment speaks to a reader or tool instead of saying what the code does");
      if (t.length > SCREEN_MAX_COMMENT || run > SCREEN_MAX_RUN)
        screen_refuse(s->out, "comment", line_of(s, t), "a comment is longer than %d bytes",
                      t.length > SCREEN_MAX_COMMENT ? SCREEN_MAX_COMMENT : SCREEN_MAX_RUN);
    }
    free(text);
  }
  if (total > SCREEN_MAX_COMMENTS && total > 2 * s->orig.len)
    screen_refuse(s->out, "comment", 0, "there are %zu bytes of comments", total);
}

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

static bool spelled_in(const char *const *list, const char *word)
{
  for (; *list; list++) {
    if (!strcmp(*list, word))
      return true;
  }
  return false;
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
  if (f && !through && spelled_in(attribute_words, word))
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
  if (reserved && !used && !screen_is_intrinsic(word) && !spelled_in(attribute_words, word) &&
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

static void check_words(struct screen *s)
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

// Adjacent string literals as one text, so that nothing hides in the joint.
static void check_strings(struct screen *s)
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
    for (size_t k = i; k > 0 && k + 64 > i && !is(s, toks[k], ";") && !message; k--)
      message = is(s, toks[k], "static_assert");
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

static void check_attributes(struct screen *s)
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

// --- statements ---

static size_t past_group(const struct screen *s, size_t i)
{
  const struct kr_token *toks = s->decls.toks;
  size_t depth = 0;
  for (; i + 1 < s->decls.n_toks; i++) {
    depth += is(s, toks[i], "(") || is(s, toks[i], "{") || is(s, toks[i], "[");
    if (is(s, toks[i], ")") || is(s, toks[i], "}") || is(s, toks[i], "]"))
      depth -= depth > 0;
    if (!depth)
      return i + 1;
  }
  return i;
}

static bool is_atomic(const struct screen *s, struct kr_token t)
{
  return t.kind == KR_TOK_IDENTIFIER && t.length > 6 && !strncmp(s->code + t.offset, "atomic", 6);
}

// Loops that do nothing but wait: on another thread of a grid they may wait for ever.
static void check_spin(struct screen *s)
{
  const struct kr_token *toks = s->decls.toks;
  for (size_t i = 0; i + 1 < s->decls.n_toks; i++) {
    size_t cond = SIZE_MAX, end = 0, body = 0;
    bool empty = false;
    if (is(s, toks[i], "while") && is(s, toks[i + 1], "(")) {
      cond = i + 1;
      end = past_group(s, cond);
      body = end;
      bool do_while = i && is(s, toks[i - 1], "}");
      empty = is(s, toks[body], ";") && !do_while;
      empty = empty || (is(s, toks[body], "{") && is(s, toks[body + 1], "}"));
    } else if (is(s, toks[i], "for") && is(s, toks[i + 1], "(")) {
      cond = i + 1;
      end = past_group(s, cond);
      empty = is(s, toks[end], ";") || (is(s, toks[end], "{") && is(s, toks[end + 1], "}"));
    } else if (is(s, toks[i], "do") && is(s, toks[i + 1], "{") && is(s, toks[i + 2], "}")) {
      cond = i + 3;
      end = past_group(s, cond + 1);
      empty = true;
    }
    if (cond == SIZE_MAX || !empty)
      continue;
    bool memory = false;
    for (size_t k = cond; k < end; k++)
      memory = memory || is_atomic(s, toks[k]) || is(s, toks[k], "[") || is(s, toks[k], "->") ||
               (is(s, toks[k], "*") && !(toks[k - 1].kind == KR_TOK_NUMBER ||
                                         toks[k - 1].kind == KR_TOK_IDENTIFIER)) ||
               is(s, toks[k], "load") || is(s, toks[k], "test_and_set") || is(s, toks[k], "exchange");
    if (memory && !words_have(&s->orig.own, "atomicCAS"))
      screen_refuse(s->out, "spin", line_of(s, toks[i]),
                    "a loop does nothing but wait for memory to change");
  }
}

static void check_statements(struct screen *s)
{
  const struct kr_token *toks = s->decls.toks;
  size_t braces = 0;
  for (size_t i = 0; i + 1 < s->decls.n_toks; i++) {
    struct kr_token t = toks[i];
    if (t.flags & KR_TOK_DIRECTIVE)
      continue;
    braces += is(s, t, "{");
    braces -= is(s, t, "}") && braces;
    if (is(s, t, "goto") && is(s, toks[i + 1], "*"))
      screen_refuse(s->out, "goto", line_of(s, t), "a computed `goto`");
    if (is(s, t, "&&") && toks[i + 1].kind == KR_TOK_IDENTIFIER && i &&
        (is(s, toks[i - 1], "=") || is(s, toks[i - 1], "(") || is(s, toks[i - 1], ",") ||
         is(s, toks[i - 1], "{") || is(s, toks[i - 1], "return")))
      screen_refuse(s->out, "goto", line_of(s, t), "the address of a label");
    if (braces && is(s, t, "static")) {
      // Up to what tells a function from a variable.
      size_t k = i + 1;
      bool fine = i && is(s, toks[i - 1], "__shared__"), device = i && is(s, toks[i - 1], "__device__");
      while (k + 1 < s->decls.n_toks && !is(s, toks[k], "(") && !is(s, toks[k], ";") &&
             !is(s, toks[k], "=") && !is(s, toks[k], "{") && !is(s, toks[k], "[")) {
        fine = fine || is(s, toks[k], "constexpr") || is(s, toks[k], "__shared__");
        device = device || is(s, toks[k], "__device__");
        k++;
      }
      if (!fine && device && !is(s, toks[k], "("))
        screen_refuse(s->out, "state", line_of(s, t), "a static device variable outlives a launch");
      else if (!fine && !device)
        screen_refuse(s->out, "static-local", line_of(s, t),
                      "a static variable outlives a launch; `constexpr` is allowed");
    }
    if (is(s, t, "extern")) {
      bool linkage = toks[i + 1].kind == KR_TOK_STRING;
      bool shared = is(s, toks[i + 1], "__shared__") || (i && is(s, toks[i - 1], "__shared__"));
      if (shared && braces) {
        size_t k = i;
        while (k + 1 < s->decls.n_toks && !is(s, toks[k], "[") && !is(s, toks[k], ";"))
          k++;
        char word[256];
        word_of(s, toks[k - 1], word);
        if (!screen_has_prefix(&s->orig, word) && !words_have(&s->orig.own, word) &&
            words_have(&s->orig.taken, word))
          screen_refuse(s->out, "name-prefix", line_of(s, t),
                        "another kernel of the file may declare `%s` with another type; name it "
                        "`%s_%s`",
                        word, s->orig.name, word);
      } else if (!linkage || !words_have(&s->orig.own, "extern")) {
        screen_refuse(s->out, linkage ? "linkage" : "state", line_of(s, t),
                      linkage ? "`extern \"C\"` is not what the original has"
                              : "`extern` reaches outside of the variant");
      }
    }
  }
}

// --- declarations ---

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
    if (words_have(&theirs, w) || spelled_in(free_words, w) || spelled_in(linkage, w))
      continue;
    // What __launch_bounds__(...) holds: names that the variant or the slice has.
    if (bounds && !screen_forbidden(w) && w[0] != '_')
      continue;
    screen_refuse(s->out, "kernel", line, "`%s` is not in the original's declaration", w);
  }
  for (size_t i = 0; i < theirs.n; i++) {
    const char *w = theirs.items[i];
    bool dropped_bounds = words_have(&theirs, "__launch_bounds__") && w[0] != '_' &&
                          strcmp(w, "void") && !spelled_in(linkage, w) && w[0] != '"';
    if (!words_have(&mine, w) && !spelled_in(free_words, w) && !spelled_in(linkage, w) && !dropped_bounds)
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
    size_t after = past_group(s, body);
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

static void check_declarations(struct screen *s)
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

// An original in doubles with no float anywhere: a float is a downgrade.
static void check_float(struct screen *s)
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

static int screen_begin(struct screen *s, const struct kr_screen_input *in, struct kr_screen *out)
{
  *s = (struct screen){.in = in, .out = out, .code = in->code, .len = strlen(in->code)};
  if (s->len > SCREEN_MAX_CODE) {
    screen_refuse(out, "size", 0, "the code has %zu bytes; at most %d are read", s->len,
                  SCREEN_MAX_CODE);
    return -1;
  }
  original_init(&s->orig, in);
  kr_source_from_text(&s->text, "variant", s->code, s->len);
  s->all = kr_lex_all(s->code, s->len, true, &s->n_all);
  decls_scan(&s->decls, s->code, s->len);
  return 0;
}

static void screen_end(struct screen *s)
{
  free(s->all);
  decls_release(&s->decls);
  words_release(&s->declared);
  kr_source_release(&s->text);
  original_release(&s->orig);
}

void kr_screen_tokens(const struct kr_screen_input *in, struct kr_screen *out)
{
  struct screen s;
  if (screen_begin(&s, in, out))
    return;
  if (!*s.orig.name || !s.orig.len) {
    screen_refuse(out, "kernel", 0, "the original is not known, so nothing can be compared with it");
    screen_end(&s);
    return;
  }
  check_bytes(&s);
  check_shapes(&s);
  check_directives(&s);
  check_comments(&s);
  check_words(&s);
  check_strings(&s);
  check_attributes(&s);
  check_statements(&s);
  check_spin(&s);
  check_float(&s);
  check_declarations(&s);
  screen_end(&s);
}

void kr_screen_notes(const struct kr_screen_input *in, struct kr_screen *out)
{
  struct screen s;
  if (screen_begin(&s, in, out))
    return;
  const struct kr_contract *c = in->contract;
  for (size_t i = 0; i + 1 < s.decls.n_toks; i++) {
    struct kr_token t = s.decls.toks[i];
    char word[256];
    word_of(&s, t, word);
    if (t.kind == KR_TOK_IDENTIFIER && screen_is_fast_math(word) && !words_have(&s.orig.closure, word))
      screen_refuse(out, "fast-math", line_of(&s, t), "`%s` is less exact than what it replaces", word);
    if (t.kind == KR_TOK_IDENTIFIER && is_atomic(&s, t) && i > 1) {
      for (size_t k = i; k > 0 && k + 8 > i; k--) {
        if (is(&s, s.decls.toks[k], "while"))
          screen_refuse(out, "spin", line_of(&s, t), "a loop waits on `%s`", word);
      }
    }
    if (is(&s, t, "reinterpret_cast") && !words_have(&s.orig.own, "reinterpret_cast"))
      screen_refuse(out, "wide-load", line_of(&s, t),
                    "a cast to another pointer type may need more alignment than callers give");
    if (t.kind == KR_TOK_NUMBER && c && !words_have(&s.orig.own, word)) {
      for (size_t k = 0; k < c->n_cases; k++) {
        for (size_t b = 0; b < c->cases[k].n_bindings; b++) {
          const struct kr_binding *bind = &c->cases[k].bindings[b];
          if (!bind->fixed && bind->expr && !strcmp(bind->expr, word) && strlen(word) > 2 &&
              !memmem(s.orig.code, s.orig.len, word, strlen(word)))
            screen_refuse(out, "tested-size", line_of(&s, t), "%s is the tested value of `%s`", word,
                          bind->path);
        }
      }
    }
  }
  screen_end(&s);
}
