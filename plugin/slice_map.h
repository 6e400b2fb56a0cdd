#ifndef KR_SLICE_MAP_H
#define KR_SLICE_MAP_H

// What the user's files say at namespace scope, in the order the compiler read
// it: declarations with the scopes around them, and preprocessor directives. The
// slicer takes pieces of it; nothing here decides what is needed.

#include "tu.h"

#include <stdint.h>

#include "../evaluator/base/lex.h"

#define MAP_NONE SIZE_MAX

enum map_scope_kind { MAP_NAMESPACE, MAP_INLINE_NAMESPACE, MAP_ANONYMOUS, MAP_EXTERN_C };

struct map_scope {
  size_t parent; // MAP_NONE: the translation unit
  enum map_scope_kind kind;
  char *name;
};

// A file of the user's. `parent` included it, at offset `at` of that.
struct map_file {
  CXFile file;
  char *shown; // relative to the project
  const char *text;
  size_t len;
  struct kr_token *toks; // without comments
  size_t n_toks;
  size_t parent, at;
  unsigned depth;
};

// A file of somebody else's, and how a slice gets at it.
struct map_header {
  CXFile file;
  bool implicit; // nobody asked for it: the compiler brings it
  bool toolkit;
  char *include; // what to write between < and >; NULL: a slice cannot have it
};

struct map_item {
  bool directive; // #define, #undef, #pragma pack
  bool undef;
  char *name; // of the macro, or the declaration
  char *usr;  // declarations only
  CXCursor cursor;
  enum CXCursorKind kind;
  size_t file, begin, end;
  bool semicolon; // one has to be written after it
  size_t scope;
  bool out_of_line; // a member written outside its class
};

// A name and the item that declares it; enumerators are names of their enum.
struct map_name {
  char *name;
  size_t item, next;
};

struct map {
  struct tu *tu;
  struct map_file *files;
  size_t n_files, cap_files;
  struct map_header *headers;
  size_t n_headers, cap_headers;
  struct map_scope *scopes;
  size_t n_scopes, cap_scopes;
  struct map_item *items; // in no order: map_compare() gives one
  size_t n_items, cap_items;
  struct map_name *names;
  size_t n_names, cap_names;
  size_t *heads; // of chains in `names`
  struct map_skip {
    size_t file, begin, end;
  } *skips; // what the preprocessor left out
  size_t n_skips, cap_skips;
  // Macros of other people's headers that the user asked for: name and header.
  struct map_name *macros;
  size_t n_macros, cap_macros;
  size_t *macro_heads;
  // Found last: most look-ups repeat.
  CXFile last_file;
  size_t last_index;
};

// The map of a unit as it was parsed last: made once a parse, owned by the unit.
struct map *map_of(struct tu *tu);

// Index of a user's file or of a header, MAP_NONE for neither.
size_t map_file_of(struct map *m, CXFile file);
size_t map_header_of(struct map *m, CXFile file);
// Orders places of user's files as the compiler met them.
int map_compare(const struct map *m, size_t file_a, size_t a, size_t file_b, size_t b);
// The chain of items with that name: for (n = map_first(...); n != MAP_NONE; n = m->names[n].next)
size_t map_first(const struct map *m, const char *name);
size_t map_first_macro(const struct map *m, const char *name);
// First token at or after `offset`.
size_t map_token_at(const struct map_file *f, size_t offset);
// True when a function can only run on the host: nothing says that it is for the
// device, and it is neither constexpr nor left to the compiler to write.
bool map_host_only(struct map *m, CXCursor function);
bool map_is_function(enum CXCursorKind kind);

#endif
