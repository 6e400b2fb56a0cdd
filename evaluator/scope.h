#ifndef KR_SCOPE_H
#define KR_SCOPE_H

#include "instance.h"

// The names that an expression of a contract may use, and their values: those
// of a case, then block.x ... grid.z of a geometry, `sms` and `warp`, then the
// program's constants and sizeof(...). Inside evaluator/ only.

struct scope {
  const struct kr_contract *contract;
  size_t instantiation; // whose constants come before the contract's own
  const struct kr_constant *names; // of the case, latest last
  size_t n_names;
  const struct kr_geometry *geometry; // NULL: block and grid are unknown
  int64_t sms;                        // 0: unknown
  // Which of block.x ... grid.z is being evaluated, against cycles.
  bool busy[6];
  bool in_block; // `block` may not use `grid`
};

// "n = 1000, a = 0.5": all names with their values, for messages.
void scope_print(const struct scope *s, struct kr_bytes *out);
// Evaluates `text`. On failure the sentence names `what` and the values of all names.
int scope_eval(struct scope *s, const char *text, const char *what, struct kr_value *out,
               struct kr_err *err);
int scope_eval_int(struct scope *s, const char *text, const char *what, int64_t *out,
                   struct kr_err *err);
// Parses a filler and replaces the names it may use by their values.
struct kr_expr *scope_filler(struct scope *s, const char *text, const char *what,
                             struct kr_err *err);

// Puts small whole numbers into `out` buffers and makes them `inout`, as where a
// program launches into memory that it has used before (instance.c).
int instance_use_outputs(struct kr_instance *in, struct kr_err *err);

// As kr_instance_make(), but buffers are only measured, not filled (instance.c).
int instance_plan(struct kr_instance *out, const struct kr_contract *c, size_t case_index,
                  const struct kr_override *overrides, size_t n_overrides, struct kr_err *err);

#endif
