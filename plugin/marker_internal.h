#ifndef KR_MARKER_INTERNAL_H
#define KR_MARKER_INTERNAL_H

#include "marker.h"

// What the files that read markers share.
//
// marker_scan.c finds runs of comment lines and pragmas and where items begin,
// marker_read.c takes a marker's tokens out of a run, marker_clause.c makes
// clauses of them (marker_clause.h says with what), marker_text.c joins and places
// tokens, marker_head.c looks at the code below, marker.c holds the small public
// functions.

enum { MARKER_MAX_DEPTH = 64, MARKER_MAX_TEXT = 16 << 10 };

// A run of `//` lines that follow each other, or one pragma.
struct marker_run {
  size_t begin, end; // bytes in the source
  bool pragma;
  size_t target;   // as kr_marker.target
  size_t inside;   // the beginning of the declaration that the run cuts in two; SIZE_MAX: none
};

struct marker_scan {
  const struct kr_source *src;
  struct kr_diags *diags;
  // A copy of the source in which the carriers of all runs are blank (`//`,
  // `#pragma`, splices of pragmas), so that offsets are those of the source.
  char *text;
  struct marker_run *runs;
  size_t n_runs, cap_runs;
  struct kr_marker *items;
  size_t n_items, cap_items;
  bool told_prose; // the one warning a file
};

// Blanks the carriers of [begin, end) in `text`.
void marker_clean(char *text, size_t begin, size_t end, bool pragma);

// --- words ---

// The verb that begins at text[pos] as a whole word, -1 when there is none.
int marker_verb_at(const char *text, size_t end, size_t pos, size_t *length);
// `kevin:` at `pos` as a whole word; the position behind it, or 0.
size_t marker_kevin_at(const char *text, size_t begin, size_t end, size_t pos);
size_t marker_skip_space(const char *text, size_t end, size_t pos);
bool marker_is_word(char c);
// The candidate nearest to `word` within `limit` edits (swaps count one), or NULL.
const char *marker_nearest(const char *word, size_t len, const char *const *candidates,
                           size_t limit);

// --- reading ---

// Reads the item whose `kevin` stands at `kevin` and whose verb at `verb`; adds
// it to `s->items` when it is right. Returns where it ends; `*failed` when an
// error was told.
size_t marker_read(struct marker_scan *s, const struct marker_run *run, size_t kevin, size_t verb,
                   bool *failed);

struct marker_tokens {
  struct kr_token *toks; // ends with KR_TOK_END, which `n` does not count
  size_t *match;         // of a bracket: its partner's index
  size_t n, cap;
};

// Parses the clauses; false when an error was told.
bool marker_clauses(struct marker_scan *s, const struct marker_tokens *t, struct kr_marker *m);
// True for the name of a clause, also of one that is not there yet.
bool marker_is_clause(const char *word, size_t len);
// Tells what is wrong with a word where a clause should be. `bracket` says that `(` follows.
void marker_unknown_clause(struct marker_scan *s, size_t offset, size_t length, bool bracket);
// A near miss of a clause's name, close enough to be no prose.
const char *marker_near_clause(const char *word, size_t len);

// --- text ---

// Tokens as one line of text with blanks where people put them.
char *marker_join(const char *text, const struct kr_token *toks, size_t n);

void marker_release(struct kr_marker *m);
void marker_mexpr_release(struct kr_mexpr *e);

// --- the code below ---

struct marker_head {
  struct kr_span name; // of the function; length 0: this is none
  bool declaration;    // ends with `;` before any `{`
  bool instantiation;  // `template` without `<`
};
void marker_head_read(const struct kr_source *src, size_t offset, struct marker_head *out);
// The offset of `name` in the first function definition of that name, or SIZE_MAX.
size_t marker_definition_of(const struct kr_source *src, struct kr_span name);
// The first words of the code at `offset`, for messages. The caller frees it.
char *marker_code_words(const struct kr_source *src, size_t offset);

#endif
