#ifndef KR_DRIVER_ASSEMBLE_INTERNAL_H
#define KR_DRIVER_ASSEMBLE_INTERNAL_H

#include "assemble.h"

// What the files that assemble contracts share: assemble.c puts the contract
// together, assemble_names.c knows which names mean what, assemble_launch.c the
// geometry and who may change it, assemble_case*.c the cases and their values,
// assemble_templates.c what templates are under their arguments.

// One scalar or pointer of the kernel's parameters, by its path.
struct asm_leaf {
  const struct kr_pparam *param;
  const struct kr_pleaf *leaf; // of a template: under the first arguments
  size_t p, l;                 // their places among parameters and leaves
  char *path; // owned
  const struct kr_mbinding *binding; // the let or fix that gives it a value, or NULL
};

// One expression of the geometry, from the marker or from a launch site.
struct asm_geo {
  struct kr_expr *e; // owned; NULL: 1 (shared: 0)
  char *text;        // owned
  const struct kr_mexpr *written; // NULL: inferred
};

// A section of the contract and where it was written.
struct asm_section {
  const struct kr_msection *written; // that of `*` for a pointer it covers
  const struct asm_leaf *leaf;
  const struct kr_ptype *pointee; // of a template: under the first arguments
};

enum asm_axis_kind { ASM_AXIS_INSTANCE, ASM_AXIS_BINDING, ASM_AXIS_BOOL, ASM_AXIS_FILL };

// Something that multiplies cases.
struct asm_axis {
  enum asm_axis_kind kind;
  size_t index; // of the marker's binding or section, of the leaf
  size_t count;
};

struct assembly {
  const struct assemble_request *r;
  const struct kr_marker *m;
  const struct kr_pkernel *k; // of a template: &view
  const struct kr_unit *unit;
  const struct kr_pinstance **inst; // a template's instantiations, each once
  size_t n_inst;                    // 0: no template
  struct kr_pkernel view; // a template under the first arguments; most of it is borrowed
  struct kr_diags *diags;
  struct kr_contract *c;
  struct asm_leaf *leaves;
  size_t n_leaves;
  struct asm_section *sections; // parallel to c->sections
  struct asm_geo grid[3], block[3], shared;
  const struct kr_psite *site; // the geometry was inferred from it; NULL: none was
  struct asm_axis *axes;
  size_t n_axes;
  bool uncovered_told;
  struct kr_span *told; // places whose evaluation failed already
  size_t n_told;
};

// Tells an error and returns false.
bool asm_fail(struct assembly *a, struct kr_span at, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void asm_tell(struct assembly *a, enum kr_severity severity, struct kr_span at, const char *fmt,
              ...) __attribute__((format(printf, 4, 5)));
// `kevin` of the marker, for what has no better place.
struct kr_span asm_marker_place(const struct assembly *a);

// --- names ---

const struct asm_leaf *asm_leaf_find(const struct assembly *a, const char *path);
const struct kr_mbinding *asm_binding_find(const struct kr_marker *m, const char *path,
                                           size_t *index);
// block.x ... grid.z; `which` from 0, `*grid` for grid's.
bool asm_axis_name(const char *name, bool *grid, int *which);
bool asm_index_name(const char *name); // i, i0 ... i7
const char *asm_type_name(const struct asm_leaf *leaf);

enum {
  ASM_MAY_BLOCK = 1 << 0,
  ASM_MAY_GRID = 1 << 1,
  ASM_MAY_INDEX = 1 << 2,
};
// Tells of every name in `e` that means nothing there. `bindings` of the marker
// are in force. False when one was told.
bool asm_check_names(struct assembly *a, const struct kr_mexpr *e, unsigned may, size_t bindings);
// All expressions of the marker, and warnings about bindings that nothing uses.
bool asm_check_all_names(struct assembly *a);
// Whether the marker or the geometry uses the name.
bool asm_name_is_used(const struct assembly *a, const char *name);

// --- templates ---

// Puts the arguments that are meant into `out`. Nothing when they are wrong.
void asm_want_instances(const struct kr_marker *m, const struct kr_pkernel *k,
                        struct kr_parse_wants *out);
// Finds the instantiations and makes a->k one of them; nothing for other kernels.
bool asm_templates(struct assembly *a);
void asm_templates_release(struct assembly *a);
// A parameter of the template, and whether its values are numbers.
bool asm_is_tparam(const struct assembly *a, const char *name, bool *number);
// A constant of the program under one instantiation (any number where there are
// none), and one that is known under all, or the first that is not; NULL for none.
const struct kr_pconstant *asm_constant(const struct assembly *a, size_t inst, const char *name);
const struct kr_pconstant *asm_constant_all(const struct assembly *a, const char *name);
const struct kr_pleaf *asm_leaf_under(const struct assembly *a, const struct asm_leaf *leaf,
                                      size_t inst);
const struct kr_ptype *asm_pointee_under(const struct assembly *a, const struct asm_section *s,
                                         size_t inst);
bool asm_same_arguments(const struct kr_pinstance *in, const struct kr_plaunched *l);
// Whether site number `site` launches that instantiation.
bool asm_site_is_of(const struct assembly *a, size_t site, size_t inst);
// "T = float", behind what `out` holds.
void asm_types_label(const struct assembly *a, size_t inst, struct kr_bytes *out);
void asm_take_instantiations(struct assembly *a);
// Parameters for the contract, their pointees among its types (assemble.c).
struct kr_param *asm_params(struct kr_contract *c, const struct kr_pkernel *types,
                            const struct kr_pparam *params);

// --- state ---

// Refuses kernels that reach device variables no contract can hold yet.
bool asm_check_state(struct assembly *a);

// --- launch ---

bool asm_geometry(struct assembly *a);
void asm_tunable(struct assembly *a);

// --- cases ---

// Fills the contract's cases and evaluates each. False when an error was told.
bool asm_cases(struct assembly *a);

#endif
