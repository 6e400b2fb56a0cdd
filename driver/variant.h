#ifndef KR_DRIVER_VARIANT_H
#define KR_DRIVER_VARIANT_H

#include <stdbool.h>
#include <stddef.h>

#include "../evaluator/base/hash.h"
#include "../evaluator/contract.h"

// What a reply says: code, optional launch, summary. Only form is judged here;
// what the code may hold is the screen's business.
//
// A reply is reasoning (everything up to the last `</think>`, dropped), prose,
// and fenced code blocks, ``` or ~~~, of which the last complete one counts.
// Blocks tagged with another language than C++ or CUDA are prose. Its first line
// may be `// launch: grid(...) block(...) shared(...)`, in the language of
// base/expr.h; what it leaves out stays as the original has it. Line ends become
// LF. The summary is the prose after the block, else before it, on one line.

enum { VARIANT_MAX_CODE = 1 << 20, VARIANT_MAX_SUMMARY = 600 };

struct variant {
  struct kr_candidate candidate; // code without the launch line; code is NULL when not parsed
  char *summary;                 // "" when there is none; owned
  char *why;                     // a sentence when the reply could not be used; owned
  // Lines of the block that are not in candidate.code: 1 with a launch line,
  // else 0. Told line numbers are counted in the block as variant_show() gives
  // it back, which is all that a model sees of it later.
  unsigned lines_before;
  struct kr_hash tokens; // of code and geometry: equal for what formats differ only
};

// `original` gives what a launch line leaves out. Returns 0, or 1 with `why`.
// `out` is filled either way and released by the caller.
int variant_parse(const char *reply, size_t len, bool truncated,
                  const struct kr_geometry *original, struct variant *out);
void variant_release(struct variant *v);

// The code as a later prompt shows it: launch line, then code with every comment
// taken out and its lines kept. Nothing that a comment says to a reader gets
// through. `code` alone (geometry NULL) shows code without a launch.
void variant_show(const char *code, const struct kr_geometry *geometry, struct kr_bytes *out);
// "grid((n + 255) / 256) block(256)", with shared(...) when there is any.
void variant_geometry(const struct kr_geometry *g, struct kr_bytes *out);
// A deep copy; kr_candidate_release() frees it.
void variant_geometry_copy(const struct kr_geometry *from, struct kr_geometry *to);

#endif
