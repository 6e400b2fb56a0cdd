#ifndef KR_RULES_SYNTAX_INTERNAL_H
#define KR_RULES_SYNTAX_INTERNAL_H

#include "syntax.h"

// What the files of the structural view share.

// Where the parser is: everything it adds belongs to this function and statement.
struct syntax_at {
  struct syntax *s;
  size_t function, stmt;
  size_t pos, end; // tokens
};

// Parses an expression of at least the given binding strength from at->pos on.
// What it cannot read becomes EXPR_UNKNOWN up to at->end, and the function opaque.
enum { STRENGTH_COMMA = 1, STRENGTH_ASSIGN = 2 };
size_t syntax_parse_expr(struct syntax_at *at, int strength);
// Says of every part of a finished root how it is used.
void syntax_mark(struct syntax *s, size_t root, unsigned use);

struct syntax_specifiers {
  struct syntax_type type; // pointers not read yet
  bool any, is_static, is_extern, is_shared, is_constexpr;
  bool sure; // no name in it that might be something else than a type
  bool is_volatile;
};
// Reads specifiers from *pos on; false when there is no type.
bool syntax_read_specifiers(const struct syntax *s, size_t *pos, size_t end,
                            struct syntax_specifiers *out);
// The token behind the `>` that closes the `<` at `open`, or NONE.
size_t syntax_angle_end(const struct syntax *s, size_t open, size_t end);

bool syntax_is_word(const struct syntax *s, size_t token, const char *const *words);
bool syntax_is_punct(const struct syntax *s, size_t token, const char *p);
char *syntax_word(const struct syntax *s, size_t token);

// Functions that CUDA C++ has: what is known of them.
enum {
  KNOWN_PURE = 1,   // no effect, takes values
  KNOWN_LOAD = 2,   // of what its first argument points to
  KNOWN_STORE = 4,
  KNOWN_ATOMIC = 8,
  KNOWN_SYNC = 16,  // a barrier, or an exchange within a warp
  KNOWN_OVERLOAD = 32, // float of floats, double as soon as one argument is not
  KNOWN_FLOAT = 64,    // gives float
  KNOWN_INT = 128      // gives int or unsigned
};
unsigned syntax_known_function(const char *name);
// Of the code or the slice, and certainly taking nothing by reference.
bool syntax_takes_values(const struct syntax *s, const char *name);
// Does the slice's text hold a barrier anywhere?
bool syntax_slice_syncs(const struct syntax *s);

#endif
