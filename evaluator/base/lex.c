#include "lex.h"

#include <stdlib.h>
#include <string.h>

#include "bytes.h"
#include "mem.h"

// The scanner works on physical bytes and looks through line splices wherever a
// compiler would: lex_fold() moves a position past any splices that stand
// there, and every "next character" goes through it. So no copy of the text is
// made and offsets stay those of the file.

enum { RAW_DELIMITER_MAX = 16 };

// The length of a splice at `pos`: a backslash, blanks (as gcc and clang allow),
// a newline. 0 when there is none.
static size_t lex_splice(const char *text, size_t len, size_t pos)
{
  if (pos >= len || text[pos] != '\\')
    return 0;
  size_t i = pos + 1;
  while (i < len && (text[i] == ' ' || text[i] == '\t' || text[i] == '\v' || text[i] == '\f'))
    i++;
  if (i < len && text[i] == '\n')
    return i + 1 - pos;
  if (i < len && text[i] == '\r')
    return (i + 1 < len && text[i + 1] == '\n' ? i + 2 : i + 1) - pos;
  return 0;
}

// Called for every character of every token: the test that mostly fails is inline.
static inline size_t lex_fold(const char *text, size_t len, size_t pos)
{
  while (__builtin_expect(pos < len && text[pos] == '\\', 0)) {
    size_t n = lex_splice(text, len, pos);
    if (!n)
      break;
    pos += n;
  }
  return pos;
}

// The character at a folded position; -1 at the end.
static inline int lex_at(const struct kr_lexer *lx, size_t pos)
{
  return pos < lx->len ? (unsigned char)lx->text[pos] : -1;
}

static inline size_t lex_after(const struct kr_lexer *lx, size_t pos)
{
  return lex_fold(lx->text, lx->len, pos + 1);
}

static bool lex_is_digit(int c)
{
  return c >= '0' && c <= '9';
}

static bool lex_is_start(int c)
{
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' || c >= 0x80;
}

static bool lex_is_word(int c)
{
  return lex_is_start(c) || lex_is_digit(c);
}

static bool lex_is_hex(int c)
{
  return lex_is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static bool lex_is_newline(int c)
{
  return c == '\n' || c == '\r';
}

// The position after a universal character name (\u00e4, \U0001F600), or `pos`.
static size_t lex_ucn(const struct kr_lexer *lx, size_t pos)
{
  if (lex_at(lx, pos) != '\\')
    return pos;
  size_t p = lex_after(lx, pos);
  int digits = lex_at(lx, p) == 'u' ? 4 : lex_at(lx, p) == 'U' ? 8 : 0;
  if (!digits)
    return pos;
  while (digits-- > 0) {
    p = lex_after(lx, p);
    if (!lex_is_hex(lex_at(lx, p)))
      return pos;
  }
  return lex_after(lx, p);
}

void kr_lexer_init(struct kr_lexer *lx, const char *text, size_t len)
{
  *lx = (struct kr_lexer){.text = text, .len = len, .line_start = true};
  if (len >= 3 && !memcmp(text, "\xEF\xBB\xBF", 3))
    lx->pos = 3;
}

static size_t lex_word(const struct kr_lexer *lx, size_t pos)
{
  for (;;) {
    // All but splices and universal character names.
    while (pos < lx->len && lex_is_word((unsigned char)lx->text[pos]))
      pos++;
    pos = lex_fold(lx->text, lx->len, pos);
    size_t after = lex_ucn(lx, pos);
    if (after != pos)
      pos = after;
    else if (lex_is_word(lex_at(lx, pos)))
      pos = lex_after(lx, pos);
    else
      return pos;
  }
}

static size_t lex_number(const struct kr_lexer *lx, size_t pos)
{
  for (;;) {
    int c = lex_at(lx, pos);
    if (c == 'e' || c == 'E' || c == 'p' || c == 'P') {
      pos = lex_after(lx, pos);
      c = lex_at(lx, pos);
      if (c == '+' || c == '-')
        pos = lex_after(lx, pos);
    } else if (c == '\'') {
      size_t next = lex_after(lx, pos);
      if (!lex_is_word(lex_at(lx, next)))
        return pos;
      pos = next;
    } else if (c == '.' || lex_is_word(c)) {
      pos = lex_after(lx, pos);
    } else {
      return pos;
    }
  }
}

// A string or character literal from its opening quote on; a user-defined
// suffix belongs to it.
static size_t lex_quoted(const struct kr_lexer *lx, size_t pos, unsigned *flags)
{
  int quote = lex_at(lx, pos);
  pos = lex_after(lx, pos);
  for (;;) {
    int c = lex_at(lx, pos);
    if (c < 0 || lex_is_newline(c)) {
      *flags |= KR_TOK_UNTERMINATED;
      return pos;
    }
    if (c == quote)
      return lex_word(lx, lex_after(lx, pos));
    pos = lex_after(lx, pos);
    if (c == '\\' && lex_at(lx, pos) >= 0 && !lex_is_newline(lex_at(lx, pos)))
      pos = lex_after(lx, pos);
  }
}

// A raw string from its opening quote on. Splices mean nothing inside.
static size_t lex_raw(const struct kr_lexer *lx, size_t pos, unsigned *flags)
{
  *flags |= KR_TOK_RAW_STRING;
  size_t delim = pos + 1, n = 0;
  while (delim + n < lx->len && n <= RAW_DELIMITER_MAX && lx->text[delim + n] != '(')
    n++;
  if (delim + n >= lx->len || n > RAW_DELIMITER_MAX)
    return lex_quoted(lx, pos, flags);
  for (size_t i = delim + n + 1; i + n + 1 < lx->len; i++)
    if (lx->text[i] == ')' && !memcmp(lx->text + i + 1, lx->text + delim, n) &&
        lx->text[i + 1 + n] == '"')
      return lex_word(lx, lex_fold(lx->text, lx->len, i + n + 2));
  *flags |= KR_TOK_UNTERMINATED;
  return lx->len;
}

static size_t lex_block_comment(const struct kr_lexer *lx, size_t pos, unsigned *flags)
{
  pos = lex_after(lx, lex_after(lx, pos));
  for (int c; (c = lex_at(lx, pos)) >= 0; pos = lex_after(lx, pos)) {
    size_t next = lex_after(lx, pos);
    if (c == '*' && lex_at(lx, next) == '/')
      return next + 1;
  }
  *flags |= KR_TOK_UNTERMINATED;
  return lx->len;
}

static size_t lex_line_comment(const struct kr_lexer *lx, size_t pos)
{
  // Usually to the newline, where no backslash stands on the line.
  const char *begin = lx->text + pos, *nl = memchr(begin, '\n', lx->len - pos);
  size_t n = nl ? (size_t)(nl - begin) : lx->len - pos;
  if (!memchr(begin, '\\', n) && !memchr(begin, '\r', n))
    return pos + n;
  while (lex_at(lx, pos) >= 0 && !lex_is_newline(lex_at(lx, pos)))
    pos = lex_after(lx, pos);
  return pos;
}

// By first character, longest first. `<<<` and `>>>` are CUDA's.
enum { PUNCT_MOST = 8 };
static const char *const punctuators[128][PUNCT_MOST] = {
    ['%'] = {"%:%:", "%=", "%>", "%:", "%"},
    ['<'] = {"<<<", "<<=", "<<", "<=", "<:", "<%", "<"},
    ['>'] = {">>>", ">>=", ">>", ">=", ">"},
    ['.'] = {"...", ".*", "."},
    ['-'] = {"->*", "--", "-=", "->", "-"},
    ['='] = {"==", "="},
    ['!'] = {"!=", "!"},
    ['&'] = {"&&", "&=", "&"},
    ['|'] = {"||", "|=", "|"},
    ['+'] = {"++", "+=", "+"},
    ['*'] = {"*=", "*"},
    ['/'] = {"/=", "/"},
    ['^'] = {"^=", "^"},
    [':'] = {"::", ":>", ":"},
    ['#'] = {"##", "#"},
    ['{'] = {"{"},
    ['}'] = {"}"},
    ['['] = {"["},
    [']'] = {"]"},
    ['('] = {"("},
    [')'] = {")"},
    [';'] = {";"},
    ['?'] = {"?"},
    ['~'] = {"~"},
    [','] = {","},
    ['@'] = {"@"},
};

static bool punct_is_digraph(const char *p)
{
  if (!p[1] || !strchr("<%:", p[0]))
    return false;
  return !strcmp(p, "<:") || !strcmp(p, ":>") || !strcmp(p, "<%") || !strcmp(p, "%>") ||
         !strcmp(p, "%:") || !strcmp(p, "%:%:");
}

// What a digraph means.
static const char *punct_meaning(const char *p)
{
  static const char *const pairs[][2] = {{"<:", "["}, {":>", "]"},  {"<%", "{"},
                                         {"%>", "}"}, {"%:", "#"}, {"%:%:", "##"}};
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
    if (!strcmp(p, pairs[i][0]))
      return pairs[i][1];
  return p;
}

static const char *lex_punct(const struct kr_lexer *lx, size_t pos, size_t *end)
{
  int first = lex_at(lx, pos);
  for (size_t k = 0; first >= 0 && first < 128 && k < PUNCT_MOST; k++) {
    const char *p = punctuators[first][k];
    if (!p)
      break;
    size_t at = pos, last = pos, i = 0;
    for (; p[i] && lex_at(lx, at) == p[i]; i++) {
      last = at + 1;
      at = lex_after(lx, at);
    }
    if (p[i])
      continue;
    // [lex.pptoken]: `<::` is `<` `::` unless `:` or `>` follows.
    if (!strcmp(p, "<:") && lex_at(lx, at) == ':') {
      int c = lex_at(lx, lex_after(lx, at));
      if (c != ':' && c != '>')
        continue;
    }
    *end = last;
    return p;
  }
  return NULL;
}

// True when the word [pos, end) is a literal's prefix; `*raw` when it ends in R.
static bool lex_prefix(const struct kr_lexer *lx, size_t pos, size_t end, bool *raw)
{
  char word[4];
  size_t n = 0;
  for (size_t p = pos; p < end; p = lex_after(lx, p)) {
    if (n == 3)
      return false;
    word[n++] = (char)lex_at(lx, p);
  }
  *raw = n > 0 && word[n - 1] == 'R';
  n -= *raw;
  word[n] = '\0';
  return !strcmp(word, "u8") || !strcmp(word, "u") || !strcmp(word, "U") || !strcmp(word, "L") ||
         (*raw && n == 0);
}

static bool lex_word_is(const struct kr_lexer *lx, size_t pos, size_t end, const char *what)
{
  struct kr_token tok = {KR_TOK_IDENTIFIER, 0, pos, end - pos};
  return kr_token_is(lx->text, tok, what);
}

// Keeps count of the words of a directive, to know where `<...>` names a header.
static void lex_directive_word(struct kr_lexer *lx, const struct kr_token *tok)
{
  if (!lx->in_directive || lx->directive_words > 1)
    return;
  if (tok->kind == KR_TOK_IDENTIFIER && lx->directive_words == 0) {
    size_t end = tok->offset + tok->length;
    lx->header_name = lex_word_is(lx, tok->offset, end, "include") ||
                      lex_word_is(lx, tok->offset, end, "include_next") ||
                      lex_word_is(lx, tok->offset, end, "import");
    lx->directive_words = 1;
    return;
  }
  lx->header_name = false;
  lx->directive_words = 2;
}

static void lex_newline(struct kr_lexer *lx)
{
  lx->line_start = true;
  lx->code_on_line = false;
  lx->in_directive = false;
  lx->header_name = false;
  lx->directive_words = 0;
}

// The token that begins at `pos`, which is folded and neither blank nor newline.
static void lex_scan(struct kr_lexer *lx, size_t pos, struct kr_token *tok)
{
  int c = lex_at(lx, pos);
  size_t next = lex_after(lx, pos), end = pos + 1;
  int d = lex_at(lx, next);
  if (c == '/' && d == '/') {
    tok->kind = KR_TOK_LINE_COMMENT;
    end = lex_line_comment(lx, pos);
  } else if (c == '/' && d == '*') {
    tok->kind = KR_TOK_BLOCK_COMMENT;
    end = lex_block_comment(lx, pos, &tok->flags);
  } else if (lx->header_name && c == '<') {
    tok->kind = KR_TOK_STRING;
    end = pos;
    while (lex_at(lx, end) >= 0 && lex_at(lx, end) != '>' && !lex_is_newline(lex_at(lx, end)))
      end = lex_after(lx, end);
    if (lex_at(lx, end) == '>')
      end++;
    else
      tok->flags |= KR_TOK_UNTERMINATED;
  } else if (lex_is_start(c) || lex_ucn(lx, pos) != pos) {
    bool raw = false;
    tok->kind = KR_TOK_IDENTIFIER;
    end = lex_word(lx, pos);
    int quote = lex_at(lx, end);
    if ((quote == '"' || quote == '\'') && lex_prefix(lx, pos, end, &raw) &&
        !(raw && quote == '\'')) {
      tok->kind = quote == '"' ? KR_TOK_STRING : KR_TOK_CHAR;
      end = raw ? lex_raw(lx, end, &tok->flags) : lex_quoted(lx, end, &tok->flags);
    }
  } else if (lex_is_digit(c) || (c == '.' && lex_is_digit(d))) {
    tok->kind = KR_TOK_NUMBER;
    end = lex_number(lx, pos);
  } else if (c == '"' || c == '\'') {
    tok->kind = c == '"' ? KR_TOK_STRING : KR_TOK_CHAR;
    end = lex_quoted(lx, pos, &tok->flags);
  } else {
    const char *p = lex_punct(lx, pos, &end);
    tok->kind = p ? KR_TOK_PUNCT : KR_TOK_OTHER;
    if (p && punct_is_digraph(p))
      tok->flags |= KR_TOK_DIGRAPH;
    if (p && !lx->code_on_line && (!strcmp(p, "#") || !strcmp(p, "%:"))) {
      lx->in_directive = true;
      tok->flags |= KR_TOK_DIRECTIVE_START;
    }
  }
  // A word or number folded past splices that follow it; they are not part of it.
  while (end > pos + 1 && lex_is_newline((unsigned char)lx->text[end - 1]) &&
         tok->kind != KR_TOK_BLOCK_COMMENT && tok->kind != KR_TOK_LINE_COMMENT &&
         !(tok->flags & KR_TOK_RAW_STRING)) {
    size_t back = end - 1;
    while (back > pos && lx->text[back] != '\\')
      back--;
    if (lex_splice(lx->text, lx->len, back) == 0)
      break;
    end = back;
  }
  tok->length = end - pos;
}

struct kr_token kr_lexer_next(struct kr_lexer *lx)
{
  struct kr_token tok = {KR_TOK_END, 0, 0, 0};
  size_t before = lx->pos;
  for (;;) {
    lx->pos = lex_fold(lx->text, lx->len, lx->pos);
    int c = lex_at(lx, lx->pos);
    if (lex_is_newline(c))
      lex_newline(lx);
    else if (c != ' ' && c != '\t' && c != '\v' && c != '\f')
      break;
    lx->pos++;
  }
  tok.offset = lx->pos;
  if (lx->pos > before)
    tok.flags |= KR_TOK_SPACE_BEFORE;
  if (lx->line_start)
    tok.flags |= KR_TOK_LINE_START;
  if (lx->pos >= lx->len) {
    tok.offset = lx->len;
    return tok;
  }
  lex_scan(lx, lx->pos, &tok);
  if (lx->in_directive)
    tok.flags |= KR_TOK_DIRECTIVE;
  for (size_t i = tok.offset; i < tok.offset + tok.length && !(tok.flags & KR_TOK_RAW_STRING); i++)
    if (lx->text[i] == '\\' && lex_splice(lx->text, tok.offset + tok.length, i))
      tok.flags |= KR_TOK_SPLICED;
  lx->pos = tok.offset + tok.length;
  lx->line_start = false;
  if (tok.kind != KR_TOK_LINE_COMMENT && tok.kind != KR_TOK_BLOCK_COMMENT) {
    lx->code_on_line = true;
    if (!(tok.flags & KR_TOK_DIRECTIVE_START))
      lex_directive_word(lx, &tok);
  }
  return tok;
}

struct kr_token kr_lexer_next_code(struct kr_lexer *lx)
{
  struct kr_token tok;
  do
    tok = kr_lexer_next(lx);
  while (tok.kind == KR_TOK_LINE_COMMENT || tok.kind == KR_TOK_BLOCK_COMMENT);
  return tok;
}

struct kr_token *kr_lex_all(const char *text, size_t len, bool comments, size_t *n)
{
  struct kr_token *toks = NULL;
  size_t cap = 0;
  struct kr_lexer lx;
  kr_lexer_init(&lx, text, len);
  *n = 0;
  for (;;) {
    struct kr_token tok = comments ? kr_lexer_next(&lx) : kr_lexer_next_code(&lx);
    KR_GROW(toks, *n, cap);
    toks[(*n)++] = tok;
    if (tok.kind == KR_TOK_END)
      return toks;
  }
}

bool kr_token_is(const char *text, struct kr_token tok, const char *spelling)
{
  if (!(tok.flags & KR_TOK_SPLICED)) {
    size_t n = strlen(spelling);
    if (n == tok.length && !memcmp(text + tok.offset, spelling, n))
      return true;
  }
  size_t end = tok.offset + tok.length, pos = lex_fold(text, end, tok.offset);
  for (; *spelling; spelling++) {
    if (pos >= end || text[pos] != *spelling)
      return false;
    pos = lex_fold(text, end, pos + 1);
  }
  return pos >= end;
}

size_t kr_token_text(const char *text, struct kr_token tok, char *out, size_t size)
{
  size_t n = 0, end = tok.offset + tok.length;
  bool raw = tok.flags & KR_TOK_RAW_STRING;
  for (size_t pos = raw ? tok.offset : lex_fold(text, end, tok.offset); pos < end;
       pos = raw ? pos + 1 : lex_fold(text, end, pos + 1)) {
    if (n + 1 < size)
      out[n] = text[pos];
    n++;
  }
  if (size)
    out[n < size ? n : size - 1] = '\0';
  return n;
}

// The spelling without splices, of any length.
static void token_fold(const char *text, struct kr_token tok, struct kr_bytes *out)
{
  kr_bytes_reset(out);
  if (!(tok.flags & KR_TOK_SPLICED)) {
    kr_bytes_add(out, text + tok.offset, tok.length);
    return;
  }
  char *buf = kr_xmalloc(tok.length + 1); // folding only takes away
  size_t n = kr_token_text(text, tok, buf, tok.length + 1);
  kr_bytes_add(out, buf, n);
  free(buf);
}

// The prefix of a string literal and the span of its content, so that adjacent
// literals can be joined. False for raw, suffixed and broken ones.
static bool string_parts(const char *s, size_t len, size_t *prefix, size_t *content)
{
  *prefix = 0;
  while (*prefix < len && s[*prefix] != '"')
    ++*prefix;
  if (len < *prefix + 2 || s[len - 1] != '"')
    return false;
  *content = len - *prefix - 2;
  return true;
}

// Fields of a hash, gathered: tokens are short, and a call of the hash function
// for each costs more than hashing.
struct fields {
  struct kr_hasher hasher;
  size_t n;
  unsigned char bytes[4096];
};

// As kr_hasher_field().
static void field_add(struct fields *f, const void *data, size_t len)
{
  if (len > sizeof f->bytes / 2 || f->n + 8 + len > sizeof f->bytes) {
    kr_hasher_add(&f->hasher, f->bytes, f->n);
    f->n = 0;
  }
  if (len > sizeof f->bytes / 2) {
    kr_hasher_field(&f->hasher, data, len);
    return;
  }
  for (int i = 0; i < 8; i++)
    f->bytes[f->n++] = (unsigned char)((uint64_t)len >> (8 * i));
  if (len)
    memcpy(f->bytes + f->n, data, len);
  f->n += len;
}

struct kr_hash kr_lex_hash(const char *text, size_t len)
{
  struct fields fields;
  struct kr_lexer lx;
  struct kr_bytes word, joined;
  kr_hasher_init(&fields.hasher);
  fields.n = 0;
  kr_lexer_init(&lx, text, len);
  kr_bytes_init(&word, SIZE_MAX / 4);
  kr_bytes_init(&joined, SIZE_MAX / 4);
  bool open = false, directive = false; // `joined` holds a literal that may go on
  size_t open_prefix = 0;
  for (;;) {
    struct kr_token tok = kr_lexer_next_code(&lx);
    token_fold(text, tok, &word);
    // The end of a directive means something; the end of any other line does not.
    bool ends_directive = directive && (!(tok.flags & KR_TOK_DIRECTIVE) ||
                                        (tok.flags & KR_TOK_DIRECTIVE_START));
    size_t prefix = 0, content = 0;
    bool joins = tok.kind == KR_TOK_STRING && !(tok.flags & KR_TOK_RAW_STRING) &&
                 string_parts(word.data, word.len, &prefix, &content);
    if (open && joins && !ends_directive && prefix == open_prefix &&
        !memcmp(joined.data, word.data, prefix)) {
      joined.data[--joined.len] = '\0'; // the closing quote
      kr_bytes_add(&joined, word.data + prefix + 1, content + 1);
      continue;
    }
    if (open)
      field_add(&fields, joined.data, joined.len);
    if (ends_directive)
      field_add(&fields, "\n", 1);
    directive = tok.flags & KR_TOK_DIRECTIVE;
    open = joins;
    if (tok.kind == KR_TOK_END)
      break;
    if (joins) {
      open_prefix = prefix;
      kr_bytes_reset(&joined);
      kr_bytes_add(&joined, word.data, word.len);
      continue;
    }
    const char *spelling = tok.flags & KR_TOK_DIGRAPH ? punct_meaning(word.data) : word.data;
    size_t n = tok.flags & KR_TOK_DIGRAPH ? strlen(spelling) : word.len;
    if (tok.kind == KR_TOK_PUNCT && n > 1 && strspn(spelling, "<>") == n)
      for (size_t i = 0; i < n; i++)
        field_add(&fields, spelling + i, 1);
    else
      field_add(&fields, spelling, n);
  }
  kr_bytes_release(&word);
  kr_bytes_release(&joined);
  kr_hasher_add(&fields.hasher, fields.bytes, fields.n);
  return kr_hasher_end(&fields.hasher);
}

bool kr_lex_is_keyword(const char *spelling, size_t len)
{
  // Sorted; the keywords and alternative tokens of C++17.
  static const char *const words[] = {
      "alignas",      "alignof",     "and",        "and_eq",       "asm",
      "auto",         "bitand",      "bitor",      "bool",         "break",
      "case",         "catch",       "char",       "char16_t",     "char32_t",
      "class",        "compl",       "const",      "const_cast",   "constexpr",
      "continue",     "decltype",    "default",    "delete",       "do",
      "double",       "dynamic_cast", "else",      "enum",         "explicit",
      "export",       "extern",      "false",      "float",        "for",
      "friend",       "goto",        "if",         "inline",       "int",
      "long",         "mutable",     "namespace",  "new",          "noexcept",
      "not",          "not_eq",      "nullptr",    "operator",     "or",
      "or_eq",        "private",     "protected",  "public",       "register",
      "reinterpret_cast", "return",  "short",      "signed",       "sizeof",
      "static",       "static_assert", "static_cast", "struct",    "switch",
      "template",     "this",        "thread_local", "throw",      "true",
      "try",          "typedef",     "typeid",     "typename",     "union",
      "unsigned",     "using",       "virtual",    "void",         "volatile",
      "wchar_t",      "while",       "xor",        "xor_eq"};
  size_t lo = 0, hi = sizeof words / sizeof *words;
  while (lo < hi) {
    size_t mid = (lo + hi) / 2;
    int order = strncmp(words[mid], spelling, len);
    if (!order && words[mid][len])
      order = 1;
    if (!order)
      return true;
    if (order < 0)
      lo = mid + 1;
    else
      hi = mid;
  }
  return false;
}
