#ifndef KR_DRIVER_STORE_H
#define KR_DRIVER_STORE_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "../evaluator/base/hash.h"
#include "../evaluator/evaluator.h"
#include "variant.h"

// All of a run as it happens, in one SQLite file (store.sql has the tables): what
// was asked, answered, proposed, judged and told. A run that dies at any moment
// is gone on with by the next: what was answered is not asked again, what was
// judged is not judged again, and prompts are the same to the byte.
//
// A search is found by the contract's hash, the model, the options, back end,
// device and the version of this program; another of any of these is another
// search. One run at a time works on a search, the next waits for it; different
// searches of one store go on at once.
//
// The file is the user's alone (0600, its folder 0700) and holds code, replies
// and results, never a key. One that is damaged is set aside as
// FILE.damaged-N with a warning, and an empty one begun; one that a later version
// wrote is refused.

struct store;
struct store_search;

// $XDG_STATE_HOME/kevin-rewrite/store.sqlite, else that below ~/.local/state.
// Freed by the caller; NULL with `err` where there is no home.
char *store_default_path(struct kr_err *err);
// Makes file and folder where they are not there. `readonly`: neither, and a
// file that is not there is an error.
int store_open(const char *path, bool readonly, struct store **out, struct kr_err *err);
void store_close(struct store *s);

struct store_key {
  struct kr_hash contract;
  const char *kernel, *file; // for people: they are in the contract
  const char *model, *options, *backend, *device;
};

enum store_begin {
  STORE_CONTINUE,   // where it is, finished or not
  STORE_AGAIN,      // anew where it was finished, else go on
  STORE_ANEW        // anew: the one before is kept, but no longer found
};

// Waits where another run is at the same search, until `*stop` (may be NULL).
int store_search_open(struct store *s, const struct store_key *key, enum store_begin begin,
                      const volatile sig_atomic_t *stop, struct store_search **out,
                      struct kr_err *err);
void store_search_close(struct store_search *s);

// What every prompt of the search begins with; NULL before it was set. Borrowed.
const char *store_search_base(const struct store_search *s);

// A turn as it is kept. Strings are owned by the array.
struct store_turn {
  unsigned trajectory, turn;
  unsigned parent_trajectory, parent_turn; // 0: none
  unsigned same_trajectory, same_turn;     // 0: judged itself
  char *prompt, *reply;                    // NULL: none; not answered yet
  bool truncated;
  uint64_t tokens_in, tokens_out;
  double model_ms, judge_ms;
  char *verdict, *told; // NULL: not judged yet
};
struct store_turns {
  struct store_turn *items;
  size_t n;
};
// Judged ones first, in the order in which they were judged.
int store_search_load(struct store_search *s, struct store_turns *out, struct kr_err *err);
void store_turns_release(struct store_turns *turns);

// The steps as they happen. Each is on the disk when it returns. When one cannot
// be kept that is said once, and nothing more of this search is.
void store_set_base(struct store_search *s, const char *base);
void store_asked(struct store_search *s, const struct store_turn *t);
void store_replied(struct store_search *s, const struct store_turn *t);
// `variant` may hold no code.
void store_judged(struct store_search *s, const struct store_turn *t, const struct variant *variant,
                  const struct kr_verdict *v, double score);
void store_ended(struct store_search *s, const char *how, const char *why);

// For --explain: calls `each` for the searches that were not superseded, of
// kernels whose name matches the pattern (fnmatch), oldest first.
struct store_found {
  const char *kernel, *file, *model, *options, *backend, *device, *tool, *ended, *why;
  int64_t id;
};
int store_each(struct store *s, const char *pattern,
               int (*each)(void *arg, const struct store_found *found, struct kr_err *err),
               void *arg, struct kr_err *err);
int store_turns_of(struct store *s, int64_t search, struct store_turns *out, struct kr_err *err);

#endif
