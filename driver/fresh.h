#ifndef KR_DRIVER_FRESH_H
#define KR_DRIVER_FRESH_H

#include "project.h"

// Does a marked kernel's ledger entry still say what the source says? Token
// hashes and the ledger alone answer that, without libclang, in microseconds.
//
// An entry depends on its definition and marker; on the rest of its own file
// (all tokens outside marked kernels); and on the files its slice took
// declarations from. When one of the last two changed the answer is UNSURE: the
// slice itself may be the same, which only the parser can tell (fresh_slice()).

enum freshness { FRESH_OK, FRESH_MISSING, FRESH_STALE, FRESH_UNSURE };

struct fresh {
  enum freshness state;
  const struct kr_ledger_entry *entry; // borrowed from the ledger; NULL when missing
  char why[256];                       // a sentence's end: "the marker changed"
};

// `outside` is fresh_outside() of the input, taken once a file.
void fresh_check(const struct input *in, const struct kr_marker *m, const struct kr_ledger *l,
                 struct kr_hash outside, struct fresh *out);

// Does the entry come from a model of the GPU? That is weaker than a measurement:
// where there is a GPU, what was only modelled counts as untried. --check and runs
// on the CPU take it as it is.
bool fresh_is_modelled(const struct kr_ledger_entry *e);

// Tokens of the file outside the kernels below its optimize markers.
struct kr_hash fresh_outside(const struct input *in);
// Tokens of a slice: what an UNSURE entry is compared by.
struct kr_hash fresh_slice(const struct kr_pkernel *k);
// kr_body_hash() of the definition below a marker; -1 when nothing is there.
int fresh_definition(const struct input *in, const struct kr_marker *m, struct kr_hash *out);

// Where the kernel below the optimize marker number `number` of a file stands, from its
// provenance on. False when it cannot be told.
bool fresh_span(const struct kr_source *now, size_t number, size_t *begin, size_t *end);

// The unqualified name of the definition that begins at `offset`, by tokens:
// the last name directly before a bracket ahead of the body. The caller frees it.
char *fresh_name(const struct kr_source *src, size_t offset);

#endif
