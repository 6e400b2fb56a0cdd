#ifndef KR_BASE_LEX_H
#define KR_BASE_LEX_H

#include <stdbool.h>
#include <stddef.h>

#include "hash.h"

// A CUDA C++ tokenizer on raw bytes, with no preprocessor and no libclang.
//
// It never fails: bytes that begin no token come out as KR_TOK_OTHER, an
// unterminated literal or comment ends at the end of its line or of the text
// and carries KR_TOK_UNTERMINATED. The tokens of a text, with the white space
// between them, are the text: offsets ascend, spans do not overlap. Line
// splices (backslash, newline) are looked through inside tokens as a compiler
// does; a token that holds one carries KR_TOK_SPLICED, and its meaning is what
// kr_token_text() gives. Trigraphs are not replaced (C++17 has none); digraphs
// come out as punctuators and carry KR_TOK_DIGRAPH.

enum kr_token_kind {
  KR_TOK_END,        // end of text, length 0
  KR_TOK_IDENTIFIER, // keywords too
  KR_TOK_NUMBER,     // a preprocessing number: 1, 0x1p3f, 1'000u
  KR_TOK_STRING,     // with prefix and suffix; raw strings too
  KR_TOK_CHAR,
  KR_TOK_PUNCT, // longest match; `<<<` and `>>>` are one token each
  KR_TOK_LINE_COMMENT,
  KR_TOK_BLOCK_COMMENT,
  KR_TOK_OTHER
};

enum {
  KR_TOK_LINE_START = 1 << 0,      // first token of its physical line, comments counted
  KR_TOK_SPACE_BEFORE = 1 << 1,    // white space or a comment stands directly before it
  KR_TOK_DIRECTIVE = 1 << 2,       // belongs to a preprocessor directive, `#` included
  KR_TOK_DIRECTIVE_START = 1 << 3, // that `#` (or `%:`)
  KR_TOK_SPLICED = 1 << 4,
  KR_TOK_DIGRAPH = 1 << 5,
  KR_TOK_RAW_STRING = 1 << 6,
  KR_TOK_UNTERMINATED = 1 << 7
};

struct kr_token {
  enum kr_token_kind kind;
  unsigned flags;
  size_t offset, length; // in the text given to kr_lexer_init()
};

// Plain data, may be copied to look ahead.
struct kr_lexer {
  const char *text;
  size_t len, pos;
  // Private to lex.c: where in a line and in a directive the position is.
  bool line_start, code_on_line, in_directive;
  unsigned directive_words; // words of the directive read so far, 0 to 2
  bool header_name;         // after `#include`: `<...>` is one KR_TOK_STRING
};

// Borrows `text`. `text` need not be NUL-terminated. A BOM at its start is skipped.
void kr_lexer_init(struct kr_lexer *lx, const char *text, size_t len);
// The next token, comments included. After the end it gives KR_TOK_END for ever.
struct kr_token kr_lexer_next(struct kr_lexer *lx);
// The next token that is not a comment.
struct kr_token kr_lexer_next_code(struct kr_lexer *lx);

// All tokens of a text. `comments` says whether comments are kept. The last
// one is KR_TOK_END. The caller frees the array.
struct kr_token *kr_lex_all(const char *text, size_t len, bool comments, size_t *n);

// True when the token is spelt `spelling`, splices looked through.
bool kr_token_is(const char *text, struct kr_token tok, const char *spelling);
// The spelling without splices, cut to `size`; returns its full length, as snprintf does.
size_t kr_token_text(const char *text, struct kr_token tok, char *out, size_t size);

// A fingerprint of a text's tokens that no formatter changes: comments, white
// space and splices count for nothing, adjacent string literals of one prefix
// count as one, runs of `<` and `>` as single characters (so that `> >` and
// `>>` are the same), digraphs as what they mean.
struct kr_hash kr_lex_hash(const char *text, size_t len);

bool kr_lex_is_keyword(const char *spelling, size_t len); // of C++17

#endif
