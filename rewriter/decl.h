#ifndef KR_REWRITER_DECL_H
#define KR_REWRITER_DECL_H

#include <stdbool.h>
#include <stddef.h>

#include "../evaluator/base/lex.h"

// A text cut into declarations by tokens alone: what stands between the `;` and
// `}` of one nesting level. No types are known here; the cut is that of the
// grammar wherever code is not written to mislead, and what the screen asks of
// each piece makes misleading code a refusal.

struct decl {
  size_t first, end;      // tokens [first, end) of the list
  size_t offset, length;  // bytes, from the first token to the end of the last
  bool closed;            // by `;` or `}`; else the text ended in it
};

struct decls {
  struct kr_token *toks; // no comments; directives are kept; the last one is KR_TOK_END
  size_t n_toks;
  struct decl *items; // of one level, in order; directives belong to none
  size_t n, cap;
  // A closing bracket too many, or one that is missing: its token, else SIZE_MAX.
  size_t unbalanced;
};

// The declarations of the outermost level.
void decls_scan(struct decls *d, const char *text, size_t len);
// Those of the level on which `offset` (of a token) stands, up to it.
void decls_before(struct decls *d, const char *text, size_t len, size_t offset);
void decls_release(struct decls *d);

// The token that names what declaration `d` declares: the function, type,
// alias or variable. SIZE_MAX when it cannot be told. `*body` receives the
// token of the `{` that opens its body or initialiser, or SIZE_MAX.
size_t decl_name(const struct decls *list, const struct decl *d, const char *text, size_t *body);

#endif
