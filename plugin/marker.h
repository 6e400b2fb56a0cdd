#ifndef KR_MARKER_H
#define KR_MARKER_H

#include "../evaluator/base/expr.h"
#include "../evaluator/base/source.h"

// Markers: what a user wrote above a kernel, read from text alone (no libclang),
// by the rules of docs/markers.md. Two carriers, `// kevin: optimize ...` and
// `#pragma kevin optimize ...`; one grammar.
//
// Everything here carries the offset at which it stands in the source, so that
// whoever finds it wrong later can put a caret below it.

enum kr_marker_verb {
  KR_MARKER_OPTIMIZE,
  KR_MARKER_OFF,
  KR_MARKER_VERIFIED, // the three provenance lines, written by the tool only:
  KR_MARKER_MODELLED, // verified / modelled, by, from. Their words are in `text`.
  KR_MARKER_BY,
  KR_MARKER_FROM
};

struct kr_span {
  size_t offset, length;
};

// An expression of a marker. Offsets inside `e` count in `text`;
// kr_marker_expr_place() turns them into a span of the source.
struct kr_mexpr {
  struct kr_expr *e; // owned; NULL when left out
  char *text;        // normalised: tokens joined by single blanks where needed; owned
  struct kr_span at; // of the whole expression in the source
};

// let / fix: one name with one or more values, or several names with tuples.
struct kr_mbinding {
  bool fix;
  char **paths; // owned
  struct kr_span *path_at;
  size_t n_paths;         // 1, or more for tuples
  struct kr_mexpr *values; // n_rows * n_paths, row by row
  size_t n_rows;
  bool list; // written with braces
};

enum kr_direction { KR_DIR_DATA, KR_DIR_IN, KR_DIR_INOUT, KR_DIR_OUT };

enum kr_mfill_kind {
  KR_FILL_DEFAULT, // nothing was written
  KR_FILL_EXPR,    // a value or one of the generators
  KR_FILL_NULL,    // a null pointer
  KR_FILL_ALIAS    // &path[expr]
};

struct kr_mfill {
  enum kr_mfill_kind kind;
  struct kr_mexpr expr; // EXPR; the index of ALIAS (may be absent)
  char *path;           // ALIAS; owned
  struct kr_span at;
};

struct kr_mrange {
  struct kr_mexpr start; // absent for `length` alone
  struct kr_mexpr length;
};

struct kr_msection {
  enum kr_direction direction;
  char *path; // "*" for every pointer named nowhere else; owned
  struct kr_span path_at, at;
  struct kr_mrange *ranges; // one a bracket
  size_t n_ranges;
  struct kr_mfill *fills; // none, one, or a list (a case each)
  size_t n_fills;
};

enum kr_compare_kind { KR_COMPARE_DEFAULT, KR_COMPARE_EXACT, KR_COMPARE_TOL };

struct kr_mcompare {
  char *path; // NULL for all outputs; owned
  struct kr_span path_at;
  enum kr_compare_kind kind;
  struct kr_mexpr rtol, atol; // TOL; atol may be absent
};

struct kr_malign {
  char *path; // NULL for all pointers; owned
  struct kr_span path_at;
  struct kr_mexpr bytes;
};

// instantiate: the values of one template parameter, as text for the compiler.
struct kr_mtarg {
  char *name; // NULL: by place, the parameter of the same number; owned
  struct kr_span name_at;
  char **values; // normalised as in kr_mexpr; owned
  struct kr_span *value_at;
  size_t n_values;
};

// One clause: all combinations of its values. Several clauses add up.
struct kr_minstantiate {
  struct kr_span at; // of the clause's name
  struct kr_mtarg *args;
  size_t n_args;
};

struct kr_marker {
  enum kr_marker_verb verb;
  bool pragma;       // the carrier
  struct kr_span at; // from `kevin` to the end of the last clause
  char *text;        // normalised tokens of the clauses (or of a provenance line); owned
  char *reason;      // off("..."): the string's content, or NULL; owned
  // Where the code begins that the marker stands above: the first token after
  // it that is no comment, no `#if`/`#else`/`#endif` line. SIZE_MAX when there is none.
  size_t target;

  struct kr_mbinding *bindings;
  size_t n_bindings;
  struct kr_msection *sections;
  size_t n_sections;
  struct kr_mexpr *requires_; // each must hold
  size_t n_requires;
  struct kr_mexpr grid[3], block[3];
  size_t n_grid, n_block; // 0 when the clause is absent
  struct kr_mexpr shared, min_speedup;
  bool launch_fixed, launch_tunable, launch_cooperative;
  struct kr_mcompare *compares;
  size_t n_compares;
  struct kr_malign *aligns;
  size_t n_aligns;
  struct kr_minstantiate *instantiates;
  size_t n_instantiates;
};

struct kr_markers {
  struct kr_marker *items; // in the order of the source
  size_t n;
};

// Finds every marker and provenance line of `src`. What is wrong goes to
// `diags`; a marker with an error is left out of `out` and the diagnostic says
// why, so that the others still count. Near misses ("kevin: optimise") are
// warnings. Always succeeds.
void kr_markers_scan(const struct kr_source *src, struct kr_markers *out, struct kr_diags *diags);
void kr_markers_release(struct kr_markers *m);

// The place in the source of the part [offset, offset + length) of `e->text`,
// or of the whole expression when the part cannot be told from it.
struct kr_span kr_marker_expr_place(const struct kr_source *src, const struct kr_mexpr *e,
                                    size_t offset, size_t length);

// Fingerprint of a marker's normalised tokens; reformatting does not change it.
struct kr_hash kr_marker_hash(const struct kr_marker *m);

// The marker that stands above `offset` (a kernel's first token), or NULL.
const struct kr_marker *kr_markers_above(const struct kr_markers *m, size_t offset,
                                         enum kr_marker_verb verb);

// Where the definition that begins at `offset` ends: past the `}` that closes
// the first `{` outside brackets. By tokens alone, for `--check`. 0 when there is none.
size_t kr_definition_end(const struct kr_source *src, size_t offset);

#endif
