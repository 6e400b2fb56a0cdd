#ifndef KR_CONTRACT_H
#define KR_CONTRACT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/err.h"
#include "base/expr.h"
#include "base/hash.h"

// The contract: what "the same, and faster" means for one kernel. One document,
// complete in itself (slice, parameters, cases, fillers, launch, terms), frozen
// and hashed before any model speaks. Everything after works from it alone.
//
// In memory it is this struct; between processes it is JSON (schema below,
// kr_contract_to_json()). Expressions stay text of the language of base/expr.h
// because held-out sizes are evaluated anew; program constants are already in
// `constants`.

enum kr_kind {
  KR_BOOL,
  KR_I8,
  KR_U8,
  KR_I16,
  KR_U16,
  KR_I32,
  KR_U32,
  KR_I64,
  KR_U64,
  KR_F16,
  KR_BF16,
  KR_F32,
  KR_F64,
  KR_POINTER
};

size_t kr_kind_size(enum kr_kind kind);
const char *kr_kind_name(enum kr_kind kind); // "bool", "i8", ..., "f32", "ptr"
bool kr_kind_is_float(enum kr_kind kind);

struct kr_leaf {
  char *path; // "", "x", "w[3]"
  size_t offset;
  enum kr_kind kind;
  // POINTER only
  size_t type; // index into kr_contract.types
  bool is_const;
};

struct kr_type {
  char *name;
  size_t size, align;
  struct kr_leaf *leaves;
  size_t n_leaves;
};

// A kernel parameter. The path of one of its leaves is the parameter's name
// alone, or name + "." + leaf path.
struct kr_param {
  char *name, *type_name;
  size_t size, align;
  struct kr_leaf *leaves;
  size_t n_leaves;
};

// A name with its value in one case. Later bindings see earlier ones.
struct kr_binding {
  char *path;
  char *expr;
  bool fixed; // fix(...): never varied
  bool drawn; // a floating scalar without a value: uniform in [0.25, 1), new each seed; no expr
};

enum kr_role { KR_IN, KR_INOUT, KR_OUT };
enum kr_compare { KR_CMP_DEFAULT, KR_CMP_EXACT, KR_CMP_TOL };

struct kr_section {
  char *path; // of a pointer leaf
  enum kr_role role;
  char *start;  // first element relative to the pointer; NULL: 0
  char **dims;  // lengths, row-major; none means one element
  size_t n_dims;
  enum kr_compare compare;
  char *rtol, *atol; // CMP_TOL
  char *align;       // promised bytes at element 0; NULL: the element's own
};

enum kr_fill { KR_FILLED_DEFAULT, KR_FILLED_EXPR, KR_FILLED_NULL, KR_FILLED_ALIAS };

// How a section is filled in one case; one a section, in their order.
struct kr_filling {
  enum kr_fill kind;
  char *expr;  // EXPR; the element index of ALIAS, or NULL for 0
  char *alias; // ALIAS: path of the section pointed into
};

struct kr_case {
  char *label; // "n = 33554432"; what people and models are told
  size_t instantiation; // index into kr_contract.instantiations; 0 where there are none
  struct kr_binding *bindings;
  size_t n_bindings;
  struct kr_filling *fillings; // n_sections of them
};

struct kr_constant {
  char *name;
  struct kr_value value;
};

// A template with one set of arguments. Arguments that are whole numbers are
// fixed bindings of its cases as well, so that expressions and labels know them.
struct kr_instantiation {
  char *arguments;       // "float, 128"
  char *name_expression; // "ns::sums<float, 128>", valid at the slice's end
  char *types;           // "T = float": the arguments that are no numbers; "" when all are
  struct kr_constant *constants; // of the program under these arguments: "sizeof(T)"
  size_t n_constants;
  // The parameters under these arguments, as many as the contract's and with the
  // same names and leaves by path; NULL: the contract's.
  struct kr_param *params;
};

struct kr_geometry {
  char *grid[3], *block[3]; // NULL: 1
  char *shared;             // bytes; NULL: 0
  bool cooperative;
};

struct kr_contract {
  // What it is called.
  char *kernel;          // qualified name
  char *file;            // relative to the project
  unsigned line;         // of the kernel
  char *name_expression; // for NVRTC, valid at the slice's end; of the first instantiation
  char *signature;
  // The slice: before + kernel + after is the original's translation unit.
  char *before, *code, *after;
  char **flags; // for the device compiler, vetted; -I, -D, -U, -std, -use_fast_math, ...
  size_t n_flags;
  char **archs; // "sm_90": of the project's flags; may be empty
  size_t n_archs;
  struct kr_type *types;
  size_t n_types;
  struct kr_param *params;
  size_t n_params;
  struct kr_constant *constants; // of the program, sizeof(...) among them
  size_t n_constants;
  // A template's: the one text must be right and is timed under each. Each has a
  // case at least. None: the kernel is no template.
  struct kr_instantiation *instantiations;
  size_t n_instantiations;
  struct kr_section *sections;
  size_t n_sections;
  char **requires_;
  size_t n_requires;
  struct kr_case *cases; // at least one, at most KR_MAX_CASES
  size_t n_cases;
  struct kr_geometry geometry;
  bool tunable;      // a variant may bring a geometry of its own
  char *tunable_why; // when not: the reason
  double min_speedup;
  // The most dynamic shared memory that a launch site allows, in bytes (48 KiB
  // unless the sites raise the attribute, which is not read yet).
  int64_t shared_limit;
};

enum { KR_MAX_CASES = 16, KR_MAX_INSTANTIATIONS = KR_MAX_CASES, KR_CONTRACT_SCHEMA = 1 };

void kr_contract_release(struct kr_contract *c);
// Canonical JSON (keys in a fixed order, no white space), so that equal
// contracts give equal bytes. 64-bit integers travel as strings.
void kr_contract_to_json(const struct kr_contract *c, struct kr_bytes *out);
int kr_contract_from_json(struct kr_contract *c, const char *json, size_t len, struct kr_err *err);
// Of the canonical JSON without file and line, so that moving a kernel changes nothing.
struct kr_hash kr_contract_hash(const struct kr_contract *c);

const struct kr_section *kr_contract_section(const struct kr_contract *c, const char *path);
// How many kernels a module of this contract has, at least one, and what the
// compiler calls each.
size_t kr_contract_kernels(const struct kr_contract *c);
const char *kr_contract_kernel_name(const struct kr_contract *c, size_t instantiation);
// Which of them a case launches, and whether it is the first case that does.
size_t kr_case_kernel(const struct kr_contract *c, size_t case_index);
bool kr_case_is_first(const struct kr_contract *c, size_t case_index);
// The parameters (n_params of them) under one instantiation, and in one case.
const struct kr_param *kr_contract_params(const struct kr_contract *c, size_t instantiation);
const struct kr_param *kr_case_params(const struct kr_contract *c, size_t case_index);

// What a variant may bring beside its code.
struct kr_candidate {
  char *code;                  // replaces kr_contract.code; owned
  bool has_geometry;           // a `// launch:` line was there
  struct kr_geometry geometry; // owned
};

void kr_candidate_release(struct kr_candidate *c);

#endif
