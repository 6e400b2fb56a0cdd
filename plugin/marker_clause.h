#ifndef KR_MARKER_CLAUSE_H
#define KR_MARKER_CLAUSE_H

#include "marker_internal.h"

// What the grammar of clauses is written with, marker_parser.c: a position in the
// tokens of one clause, whose brackets are known to match.

enum { MARKER_MAX_CLAUSES = 32 };

struct parser {
  struct marker_scan *s;
  const struct marker_tokens *t;
  struct kr_marker *m;
  const char *text;
  size_t pos, end; // in the tokens; `end` is the clause's closing bracket
  const char *clause;
  size_t seen[MARKER_MAX_CLAUSES]; // offset + 1 of the first of each that may come only once
};

struct kr_token parser_tok(const struct parser *p);
bool parser_at(const struct parser *p, const char *spelling);
bool parser_take(struct parser *p, const char *spelling);
bool parser_word(const struct parser *p);
struct kr_span parser_span(const struct parser *p, size_t first, size_t behind);

// Tells an error; false always, so that `return PARSER_FAIL(...)` reads well.
bool parser_fail(struct parser *p, size_t offset, size_t length, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
// At a token or a span.
#define PARSER_FAIL(p, at, ...) parser_fail(p, (at).offset, (at).length, __VA_ARGS__)
// The token at `index` begins a form that is specified but not built.
bool parser_later(struct parser *p, size_t index, const char *what);
// "expected X here", with what stands there.
bool parser_expected(struct parser *p, const char *what);

// A path; NULL when none stands here. The caller frees.
char *parser_path(struct parser *p, struct kr_span *at);
// An expression with its names of functions checked; `filler` allows generators.
bool parser_expr(struct parser *p, struct kr_mexpr *out, bool filler);
// An aggregate, a file: sources that are not built. False when one stands here.
bool parser_source_later(struct parser *p);

// `let` and `fix`, marker_let.c.
bool marker_let(struct parser *p, bool fix);
// `data`, `in`, `inout` and `out`, marker_section.c.
bool marker_sections(struct parser *p, enum kr_direction direction);

// `instantiate`, marker_instantiate.c.
bool marker_instantiate(struct parser *p, struct kr_token name);

#endif
