#ifndef KR_REWRITER_H
#define KR_REWRITER_H

#include <stdbool.h>
#include <stddef.h>

#include "../evaluator/contract.h"
#include "../evaluator/base/source.h"
#include "../plugin/plugin.h"

// What may go into a source, and how: screens, edits, provenance, ledger. Bytes
// and tokens only; no process is started and no model is known here.
//
// (plugin/plugin.h is included for its plain data: kernels, launch sites, facts.)

// --- the screen ---

// A refusal, said to people and models alike.
struct kr_refusal {
  char *rule;    // "include", "asm", "name-prefix": one word of the table in rewriter/README.md; owned
  char *text;    // a sentence; owned
  unsigned line; // in the variant's code; 0: the whole
};

struct kr_screen {
  struct kr_refusal *items; // empty: it may be compiled
  size_t n, cap;
};

struct kr_screen_input {
  const char *code; // the variant
  const struct kr_source *source;   // the user's file
  const struct kr_pkernel *kernel;  // the original
  const struct kr_contract *contract;
  bool allow_asm; // inline PTX is allowed although the original has none
};

// On tokens, under a millisecond; fails closed. Then on facts from kevin-parse.
void kr_screen_tokens(const struct kr_screen_input *in, struct kr_screen *out);
void kr_screen_facts(const struct kr_screen_input *in, const struct kr_facts *facts,
                     struct kr_screen *out);
void kr_screen_release(struct kr_screen *s);
// What is worth telling and is no refusal: new fast-math intrinsics, loops that
// wait on memory, wider loads through a cast, literals that equal a tested size.
void kr_screen_notes(const struct kr_screen_input *in, struct kr_screen *out);

// --- edits ---

struct kr_edit {
  size_t offset, length; // bytes of the source that go
  char *text;            // what comes; owned
  bool raw;              // its line ends stay as they are
};

struct kr_edits {
  struct kr_edit *items;
  size_t n, cap;
};

void kr_edits_add(struct kr_edits *e, size_t offset, size_t length, const char *text);
// Sorts, collapses equal edits, and refuses overlapping ones.
int kr_edits_finish(struct kr_edits *e, struct kr_err *err);
// The source with the edits applied, from the end backwards. Newlines in
// replacement texts (always \n) take the source's newline at the edit's place.
int kr_edits_apply(const struct kr_edits *e, const struct kr_source *src, struct kr_bytes *out,
                   struct kr_err *err);
void kr_edits_release(struct kr_edits *e);

// The edits that put `variant` and its geometry in place of a kernel:
// definition, launch sites in the same file (argument expressions put in for
// parameters, in parentheses, only when free of side effects), provenance above
// the kernel and below the marker. Refuses with a sentence that names the site.
struct kr_rewrite {
  const struct kr_source *source;
  const struct kr_pkernel *kernel;
  const struct kr_marker *marker;
  const struct kr_contract *contract;
  const char *code;                   // the variant's, screened
  const struct kr_geometry *geometry; // NULL: launches stay as they are
  const char *const *provenance;      // lines with no carrier: "verified 1.83x ...", NULL-terminated
};
int kr_rewrite_edits(const struct kr_rewrite *r, struct kr_edits *out, struct kr_err *err);

// A fingerprint of the tokens of the definition that begins at `offset` together
// with its helpers: the declarations that stand directly above the kernel's
// marker and are named `<name>_...`. Without helpers it is kr_lex_hash() of the
// definition. This is what `body` and `current` are of.
struct kr_hash kr_body_hash(const struct kr_source *src, size_t offset, const char *name);
// The same declarations as text, as a variant brings them: helpers, then the definition.
// Helpers that stand above `before_offset` of `before`, the source without the variant,
// are no part of it. Returns -1 when no definition begins at `offset`.
int kr_body_text(const struct kr_source *src, size_t offset, const char *name,
                 const struct kr_source *before, size_t before_offset, struct kr_bytes *out);

// What --revert needs, as one blob for kr_baseline_store(): for every edit the
// raw bytes that were there and those that came. `edits` are finished.
int kr_undo_make(const struct kr_edits *edits, const struct kr_source *src, struct kr_bytes *out,
                 struct kr_err *err);
// The same for some of the edits that are made together: `all` of one source,
// finished, `edits` among them. Each part can then be taken back by itself.
int kr_undo_make_among(const struct kr_edits *edits, const struct kr_edits *all,
                       const struct kr_source *src, struct kr_bytes *out, struct kr_err *err);
// The edits that take them back from `now`, byte for byte; elsewhere the file
// may have changed. Returns 1 with a sentence when what was written is no
// longer there as it was written, -1 when the blob cannot be read.
int kr_undo_edits(const void *blob, size_t len, const struct kr_source *now, struct kr_edits *out,
                  struct kr_err *err);
// As before, but what stands at [begin, end) is taken for the definition with
// its provenance, whatever it holds by now, where the written one is not found.
int kr_undo_edits_over(const void *blob, size_t len, const struct kr_source *now, size_t begin,
                       size_t end, struct kr_edits *out, struct kr_err *err);
// What was rewritten had been rewritten before: the baseline of that, by which
// the way back goes on. Added at the end of a blob; read back.
void kr_undo_add_earlier(struct kr_bytes *blob, struct kr_hash earlier);
bool kr_undo_earlier(const void *blob, size_t len, struct kr_hash *out);

// --- replacing a file ---

// Puts `data` in place of the file that `src` was read from: links resolved,
// hard links refused, a lock beside the target, the file hashed again against
// `src`, a temporary in the same folder with mode and ownership copied, fsync,
// rename, fsync of the folder. Equal bytes are no write. Killed at any moment
// the file is the old or the new one. Returns 0 written, 1 nothing to do, -1
// with a sentence that names the file (changed meanwhile, read-only, ...).
int kr_replace(const struct kr_source *src, const void *data, size_t len, struct kr_err *err);
// The same for a file of our own that may not exist yet (ledger, baselines);
// missing folders are made. `mode` for a new file.
int kr_replace_path(const char *path, const void *data, size_t len, unsigned mode,
                    struct kr_err *err);
// Removes temporaries that are still there; safe in a signal handler.
void kr_replace_cleanup(void);
// Removes what a killed run left beside `path` (temporaries whose owner is dead).
void kr_replace_sweep(const char *path);

// --- provenance ---

struct kr_provenance {
  bool modelled;             // else verified
  bool unvalidated;          // modelled, and the model was never held against that GPU
  double speedup, lo, hi;
  char device[128];          // "NVIDIA H200 sm_90"
  double base_us, cand_us;
  char model[64];            // "kevin-32b"
  int turn, turns;
  double max_rel_err;        // < 0: exact
  char tolerance[64];        // "" or "tol 1e-2": looser than the caps
  char tool[32];             // "kevin-rewrite 0.1.0"
  struct kr_hash from, body, marker; // original, definition as written, marker
  bool have_figures;         // the first two lines were read
};

// The three lines, without carrier, each at most `width` columns (78 less
// indentation and "// kevin: "). Owned strings; the array ends with NULL.
char **kr_provenance_lines(const struct kr_provenance *p, size_t width);
void kr_provenance_lines_free(char **lines);
// One line's words, with or without the verb. Returns 0, or -1.
int kr_provenance_read(enum kr_marker_verb verb, const char *text, struct kr_provenance *out);
// Do the 48 bits of a hash read from a source agree with a full one?
bool kr_provenance_same(struct kr_hash in_source, struct kr_hash full);
// Is `device`, as the evaluator tells it ("NVIDIA H200 sm_90"), the one that was read
// from a source? A line that was short of room may have cut its name.
bool kr_provenance_on(const struct kr_provenance *p, const char *device);
// Reads them back from scanned markers by the rules of docs/markers.md; needs
// the `from` line at least. Returns 0, 1 when there is none above `offset`, -1
// with a sentence when what is there cannot be understood.
int kr_provenance_find(const struct kr_markers *markers, size_t offset, struct kr_provenance *out,
                       struct kr_err *err);

// --- the ledger ---

// `.kevin/ledger` beside the project's root: one line a kernel, sorted, merges
// well. `.kevin/baselines/<hash>` keeps originals raw.
enum kr_outcome { KR_REWRITTEN, KR_KEPT };

struct kr_ledger_dep {
  char *file;
  struct kr_hash tokens;
};

struct kr_ledger_entry {
  char *file;      // relative to the root
  char *kernel;    // qualified name
  char *signature; // tells overloads apart
  struct kr_hash original, marker; // token hashes: original definition, marker
  struct kr_hash current;          // definition as it is in the file (of a kept one: the original)
  struct kr_hash slice;            // tokens of what the kernel is compiled with, without itself
  struct kr_hash baseline;         // raw bytes in .kevin/baselines, for rewritten ones
  struct kr_ledger_dep *deps;
  size_t n_deps;
  enum kr_outcome outcome;
  char *tool, *backend, *gpu; // "kevin-rewrite 0.1.0", "cuda", "NVIDIA H200 sm_90"
  unsigned line;              // where it was read; private
};

struct kr_ledger_key {
  char *file, *kernel, *signature; // owned
};

struct kr_ledger {
  char *root;  // folder that holds .kevin; owned
  struct kr_ledger_entry *entries;
  size_t n, cap;
  // What was put or removed since it was loaded; private.
  struct kr_ledger_key *changed;
  size_t n_changed, cap_changed;
};

// The root of the project that holds `path`: the nearest folder upwards with
// `.kevin` or `.git`, else the file's own. The caller frees it.
char *kr_ledger_root(const char *path);
// A missing ledger is an empty one. A line that cannot be read is an error with
// file:line. Conflict markers of a merge are said to be such.
int kr_ledger_load(struct kr_ledger *l, const char *root, struct kr_err *err);
// Lays what was put and removed over what the file holds by now, under its
// lock, so that two runs lose nothing of each other's. Nothing changed: nothing
// is written. The first time `.kevin/.gitattributes` is made as well, so that git
// hands baselines back byte for byte.
int kr_ledger_save(struct kr_ledger *l, struct kr_err *err);
void kr_ledger_release(struct kr_ledger *l);
const struct kr_ledger_entry *kr_ledger_find(const struct kr_ledger *l, const char *file,
                                             const char *kernel, const char *signature);
// Takes the entry; replaces one of the same kernel.
void kr_ledger_put(struct kr_ledger *l, struct kr_ledger_entry *entry);
void kr_ledger_remove(struct kr_ledger *l, const char *file, const char *kernel,
                      const char *signature);

int kr_baseline_store(const char *root, const void *data, size_t len, struct kr_hash *out,
                      struct kr_err *err);
// Fails when the bytes do not match the hash. The caller releases `out`.
int kr_baseline_load(const char *root, struct kr_hash hash, struct kr_bytes *out,
                     struct kr_err *err);

// --- diff ---

// A unified diff with three lines of context, "a/path" and "b/path"; nothing
// when equal. "\ No newline at end of file" as diff says it.
void kr_diff(const char *path, const void *a, size_t a_len, const void *b, size_t b_len,
             struct kr_bytes *out);

#endif
