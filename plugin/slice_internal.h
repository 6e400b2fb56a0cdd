#ifndef KR_SLICE_INTERNAL_H
#define KR_SLICE_INTERNAL_H

// What the files of the slicer share: slice.c makes a slice and looks at the
// result, slice_reach.c decides what belongs to it, slice_print.c writes it.

#include "tu.h"

#include "slice_map.h"
#include "slice_std.h"

// Text of a kept piece that is left out, or for `begin == end` a place where the
// slice says what the file leaves to the compiler.
struct slice_hole {
  size_t file, begin, end;
};

struct slice {
  struct tu *tu;
  struct map *map; // the unit's
  struct kr_pkernel *k;
  size_t kernel;  // its item
  bool *kept;     // by item
  bool *included; // by header
  size_t *queue, n_queue, cap_queue;
  struct slice_hole *holes;
  size_t n_holes, cap_holes;
  struct slice_hole *marks; // functions for no side in particular
  size_t n_marks, cap_marks;
  struct std_use std;
  char **words; // identifiers of what was kept, for using-declarations; a hash set
  size_t n_words, cap_words;
  bool all_macros, templates;
  bool *pasted; // by file: included in the middle of a kept piece
  char *missing; // the first thing that no slice can have; owned
};

// --- slice_reach.c ---

// Notes an item, but not a function that only the host can run.
void slice_keep(struct slice *s, size_t item);
// Notes what the tokens of a text name that the AST does not show.
void slice_tokens(struct slice *s, size_t file, size_t begin, size_t end, bool directive);
// Follows what was noted until nothing new comes.
void slice_closure(struct slice *s);
// What a template's arguments name: the words that were asked for, and those of
// the launches that were seen.
void slice_arguments(struct slice *s);
// using-directives and using-declarations are nobody's referents: they stay when
// what they name is there.
void slice_usings(struct slice *s);
// Whether every conditional of a text begins and ends in it.
bool slice_is_balanced(const struct map_file *f, size_t begin, size_t end);
// The end of the hole that holds `offset`; `offset` when none does.
size_t slice_past_hole(const struct slice *s, size_t file, size_t offset);
// The user's file that the directive of a token includes, MAP_NONE when it is no
// #include or one of somebody else's.
size_t slice_included_file(const struct map *m, size_t file, size_t token);

// --- slice_print.c ---

// Prints what comes before the kernel and what comes after it. `all` takes every
// device header of the file.
void slice_print(struct slice *s, bool all, struct kr_bytes *before, struct kr_bytes *after);

#endif
