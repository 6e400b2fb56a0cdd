#ifndef KR_DRIVER_ASSEMBLE_CASE_H
#define KR_DRIVER_ASSEMBLE_CASE_H

#include "assemble_internal.h"

// One case being tried: assemble_case.c gives its names their values,
// assemble_case_launch.c looks at the launch these make, assemble_case_sections.c
// at lengths and fillings.

struct case_env {
  struct assembly *a;
  struct kr_constant *names; // their strings are borrowed
  size_t n;
  bool busy[6];
  bool indices; // i, i0 ... have a value: 0
  size_t inst;  // of the template's instantiations
  struct kr_case *k;
};

// An error at a place, once, with the values in force. False always.
bool case_fail(struct case_env *v, struct kr_span at, const char *text);
// The value of an expression of the marker; false with an error told.
bool case_eval(struct case_env *v, const struct kr_mexpr *e, struct kr_value *out);
bool case_eval_int(struct case_env *v, const struct kr_mexpr *e, int64_t *out);
// The same of any expression, with the error in `error` and nothing told.
int case_eval_raw(struct case_env *v, const struct kr_expr *e, struct kr_value *out,
                  struct kr_expr_error *error);
// Why `v` is no value of the kind, or NULL.
const char *case_misfit(enum kr_scalar kind, struct kr_value v);
// Which of an axis's values the case takes; `at` as for asm_cases()'s axes.
size_t case_choice(const struct assembly *a, const size_t *at, enum asm_axis_kind kind,
                   size_t index);

bool case_launch(struct case_env *v);
bool case_sections(struct case_env *v, const size_t *at);

#endif
