#ifndef KR_RULES_RULE_H
#define KR_RULES_RULE_H

#include "rules.h"
#include "syntax.h"

// What rules are written with.

// Adds a proposal. Takes `place` and `code`; a NULL `code` (edits that overlap)
// or one equal to the input adds nothing. `geometry` is copied, NULL: unchanged.
__attribute__((format(printf, 8, 9))) void rule_propose(struct kr_proposals *out,
                                                        const struct kr_rule_input *in,
                                                        const struct kr_rule *rule, char *place,
                                                        char *code, double gain,
                                                        const struct kr_geometry *geometry,
                                                        const char *fmt, ...);
void rule_geometry_copy(const struct kr_geometry *from, struct kr_geometry *to);
void rule_geometry_release(struct kr_geometry *g);
// A copy of a span's text on one line, cut to a length fit for a place. The caller frees.
char *rule_place(const struct syntax *s, struct syntax_span span);

// --- kernels that do one thing an index, behind a guard ---

// int i = blockIdx.x * blockDim.x + threadIdx.x;
// if (i < n) ...          or   if (i >= n) return; ...
//
// The same for two axes. `blockDim.x` may be a constant equal to the block's size.
struct elementwise_axis {
  bool used;
  size_t name;         // of the index
  size_t factor;       // expression that blockIdx is multiplied by
  bool factor_is_dim;  // it is blockDim
  struct affine bound; // over parameters: the guard is name < bound
  char *bound_text;    // the same, for launch expressions; owned
  int64_t block;       // of the geometry; 0 when it is no constant
};

struct elementwise {
  struct elementwise_axis axes[3];
  size_t guard;   // STMT_IF, child of the kernel's body
  bool returns;   // `if (out of bounds) return;`, else it is the last statement
  bool alone;     // nothing else in the kernel depends on the launch: no barrier, no
                  // shared memory, no other use of the built-in indices
};

// False when the kernel is not of this kind, or its launch does not cover all
// indices below the bound, so that another one would do more than it does.
bool elementwise_view(struct syntax *s, const struct kr_rule_input *in, struct elementwise *out);
void elementwise_release(struct elementwise *e);

// Is grid * block never less than bound, whatever values the names in them have?
// Tried on many values; constants of contract and slice are known.
bool rule_launch_covers(const struct kr_contract *c, const char *grid, const char *block,
                        const char *bound);
// Does what a section holds depend on the launch (`out(partial[grid.x])`)?
bool rule_sections_follow_launch(const struct kr_contract *c);

#endif
