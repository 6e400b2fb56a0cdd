#ifndef KR_PLUGIN_H
#define KR_PLUGIN_H

#include <stdbool.h>
#include <stddef.h>

#include "../evaluator/base/err.h"
#include "../evaluator/base/source.h"
#include "marker.h"

// What is there: the kernels of a source, as plain data.
//
// libclang lives in a process of its own, kevin-parse, because it can crash,
// hang and take 64 ms to start. This header is the client's side: it starts the
// process with limits of time and memory, speaks one JSON line a request
// (plugin/README.md has the format) and gives back structs. No other directory
// includes clang-c.

// --- types ---

enum kr_scalar {
  KR_SCALAR_BOOL,
  KR_SCALAR_I8, // char, signed char
  KR_SCALAR_U8,
  KR_SCALAR_I16,
  KR_SCALAR_U16,
  KR_SCALAR_I32,
  KR_SCALAR_U32,
  KR_SCALAR_I64,
  KR_SCALAR_U64,
  KR_SCALAR_F16,
  KR_SCALAR_BF16,
  KR_SCALAR_F32,
  KR_SCALAR_F64,
  KR_SCALAR_POINTER,
  KR_SCALAR_VOID,   // the pointee of `void *`
  KR_SCALAR_OPAQUE  // anything else; `type_name` says what, and it is refused by name when needed
};

// One scalar inside a type: float4 has four leaves, int one with path "".
struct kr_pleaf {
  char *path;    // "", "x", "lo.re", "w[3]"; owned
  size_t offset; // bytes in the type
  enum kr_scalar kind;
  // POINTER only: what it points to.
  char *pointee;      // spelling without const, as an index into kr_pkernel.types; owned
  bool pointee_const; // `const T *`
  bool is_restrict;
};

struct kr_ptype {
  char *name; // canonical spelling; owned
  size_t size, align;
  struct kr_pleaf *leaves;
  size_t n_leaves;
};

struct kr_pparam {
  char *name;      // may be "" for an unnamed one; owned
  char *type_name; // as written; owned
  struct kr_ptype type;
  struct kr_span at, name_at;
};

// --- launch sites ---

struct kr_parg {
  struct kr_span at;
  char *text; // as written; owned
  // Evaluating it twice, or not at all, changes something (a call, ++, an assignment).
  bool side_effects;
  char *same_as_path; // when the argument is a plain variable: its name, else NULL; owned
};

struct kr_psite {
  char *file; // as given, or as reached; owned
  bool in_file; // in the parsed source itself
  unsigned line, col;
  struct kr_span at;      // the whole call: callee, <<<...>>>, (...)
  struct kr_span config;  // from `<<<` to `>>>`
  // Parts of the configuration; length 0 when left out.
  struct kr_span grid_at, block_at, shared_at, stream_at;
  char *grid_text, *block_text, *shared_text; // as written; owned; NULL when left out
  struct kr_parg *args;
  size_t n_args;
  char *enclosing; // name of the host function around it; owned
  bool editable;   // no macro expansion and no template dependence in the configuration
  char *why_not;   // a sentence when not editable; owned
  // The geometry in the kernel's own scalar parameters and constants, read from
  // the site's expressions: parameters stand for the argument expressions,
  // locals of one assignment and dim3 objects are followed. Each is source text
  // of the expression language. A part that cannot be read is NULL, and
  // `geometry_error` tells of the first such part.
  char *grid[3], *block[3], *shared; // missing dimensions are NULL and mean 1 (shared: 0); owned
  char *geometry_error;              // names the expression; owned
};

// --- templates ---

enum kr_tkind {
  KR_TKIND_TYPE,
  KR_TKIND_INTEGER,
  KR_TKIND_BOOL,
  KR_TKIND_ENUM
};

struct kr_ptparam {
  char *name; // may be "" for an unnamed one; owned
  enum kr_tkind kind;
  bool has_default;
};

// Arguments with which this file launches a template, also out of templates that
// it instantiates, or instantiates it by name.
struct kr_plaunched {
  // As the compiler spells them, one a parameter ("float", "64", "nn::Mode::kB");
  // none when they are not written out at an explicit instantiation. Owned.
  char **arguments;
  size_t n_arguments;
  char *file; // of the first place; owned
  unsigned line;
  bool by_name; // `template __global__ void k<64>(...);`: arguments as written there
  size_t *sites; // indices into kr_pkernel.sites; may be none
  size_t n_sites;
};

// --- kernels ---

enum kr_linkage { KR_LINKAGE_EXTERNAL, KR_LINKAGE_INTERNAL };

// How the body uses a pointer parameter, as far as its own text shows.
enum kr_use {
  KR_USE_READ = 1 << 0,
  KR_USE_WRITE = 1 << 1,
  KR_USE_ATOMIC = 1 << 2,
  KR_USE_NULL_TEST = 1 << 3,
  KR_USE_SUBSCRIPT = 1 << 4 // values loaded through it reach a subscript; `subscript_line` says where
};

struct kr_puse {
  char *path; // of the pointer leaf: "x", "v.x"; owned
  unsigned uses;
  unsigned subscript_line;
};

struct kr_pkernel {
  char *name;      // unqualified; owned
  char *qualified; // "nn::kernels::layer_norm"; anonymous namespaces left out; owned
  // What NVRTC is asked for: a name that is valid at the end of the slice; owned.
  char *name_expression;
  char *signature; // "(const float *, int)"; owned
  char *usr;       // owned
  enum kr_linkage linkage;
  bool extern_c, is_template, is_specialisation;
  // A template's. Until arguments are put in (struct kr_pinstance), `params` hold
  // what does not hang on them, and there are no `uses`.
  struct kr_ptparam *tparams;
  size_t n_tparams;
  struct kr_plaunched *launched;
  size_t n_launched;
  // The definition: from its first token (template, static, attributes, or the
  // macro that hides them) to its closing brace.
  struct kr_span at, name_at, params_at, body_at;
  unsigned line, col; // of `at`
  struct kr_pparam *params;
  size_t n_params;
  struct kr_ptype *types; // all pointee types, looked up by name
  size_t n_types;
  struct kr_puse *uses;
  size_t n_uses;
  // Facts about the body and the device functions it reaches.
  bool uses_grid_dim, uses_grid_sync, uses_barrier, uses_dynamic_shared, uses_clock, uses_asm;
  char **body_names; // every identifier in the definition, sorted, once each; owned
  size_t n_body_names;
  struct kr_psite *sites;
  size_t n_sites;
  // Why this kernel cannot be taken ("its body's last brace comes from a macro
  // (DEFINE_KERNEL, line 12)", "templates are not there yet"), or NULL; owned.
  char *refused;
  struct kr_span refused_at; // length 0: at the kernel
  // Errors of the compiler inside the definition or what it depends on.
  struct kr_diag *errors;
  size_t n_errors;
  // The slice: a self-contained translation unit but for the definition itself,
  // which stands between the two parts. NULL when refused or not asked for.
  char *slice_before, *slice_after;
  // Files other than its own that the slice took declarations from, relative
  // to the project, sorted; with the fingerprint of their tokens; owned.
  struct kr_pdep {
    char *file;
    struct kr_hash tokens;
  } *deps;
  size_t n_deps;
};

// A constant of the program asked for by name at a kernel.
struct kr_pconstant {
  size_t kernel_offset; // kr_span.offset of the kernel
  char *name;           // as asked: "TILE", "Traits::kN", "sizeof(float4)"; owned
  bool known, is_real;
  int64_t i;
  double d;
  char *why; // clang's reason when not known; owned
};

// A template under arguments that were asked for.
struct kr_pinstance {
  size_t kernel_offset; // kr_span.offset of the template
  char *asked;          // "64", "T, 128" as in kr_parse_wants; owned
  bool known;
  char *why; // clang's reason when not known; owned
  char **arguments; // as the compiler spells them, one a parameter; owned
  size_t n_arguments;
  int64_t *values; // of arguments that are no types
  // Names, types and what the body does, under these arguments; no places.
  struct kr_pkernel kernel;
  struct kr_pconstant *constants; // the names asked for at the kernel, under these arguments
  size_t n_constants;
};

struct kr_unit {
  char *file;
  struct kr_pkernel *kernels; // in the order of the source
  size_t n_kernels;
  struct kr_pconstant *constants;
  size_t n_constants;
  struct kr_pinstance *instances;
  size_t n_instances;
  struct kr_diag *errors; // of the whole file, at most 64; offsets in the source
  size_t n_errors;
  // Launches that the parser lost but the token scan saw: their places, from the
  // kernel's name to `<<<`; and kernels used as values, which may be launched unseen.
  struct kr_span *lost_launches;
  size_t n_lost_launches;
};

void kr_unit_release(struct kr_unit *u);
const struct kr_pconstant *kr_unit_constant(const struct kr_unit *u, size_t kernel_offset,
                                            const char *name);
// One name among constants, or NULL.
const struct kr_pconstant *kr_pconstant_find(const struct kr_pconstant *list, size_t n,
                                             size_t kernel_offset, const char *name);
const struct kr_pinstance *kr_unit_instance(const struct kr_unit *u, size_t kernel_offset,
                                            const char *asked);
const struct kr_ptype *kr_pkernel_type(const struct kr_pkernel *k, const char *name);

// --- facts about a variant ---

enum kr_fact_kind { KR_FACT_FUNCTION, KR_FACT_VARIABLE, KR_FACT_TYPE, KR_FACT_CONSTANT, KR_FACT_OTHER };

// One declaration that a variant brings, or one thing that its code does.
struct kr_fact_decl {
  enum kr_fact_kind kind;
  char *name;      // unqualified; owned
  char *qualified; // owned
  char *type_name; // of a function: its signature; owned
  unsigned line;   // in the variant
  bool is_kernel;  // __global__
  bool is_device, is_host; // by attribute; a constexpr function is neither
  bool is_constexpr, is_static, is_extern_c, has_initialiser, is_template;
  bool is_mutable;  // a variable that code can write and that outlives a launch
  bool is_shared;   // __shared__ of the whole file
  bool is_constant; // __constant__
  bool hides;       // a declaration of that name is visible before the variant
  char *attributes; // token texts of attributes and qualifiers, joined by blanks; owned
};

struct kr_fact_use {
  char *name;      // of a function called or a variable read; owned
  unsigned line;   // in the variant
  bool in_variant; // declared by the variant itself
};

struct kr_facts {
  struct kr_fact_decl *decls;
  size_t n_decls;
  struct kr_fact_use *uses;
  size_t n_uses;
  struct kr_diag *errors; // offsets in the variant's code
  size_t n_errors;
  // The kernel as the variant defines it; NULL when it defines none.
  char *kernel_usr, *kernel_signature;
  enum kr_linkage kernel_linkage;
  bool *param_restrict; // one a parameter
  size_t n_params;
  // Static local variables and mutable device variables of the variant, by name.
  bool has_static_local, has_asm, has_goto_computed;
  // The text after the variant parsed to the same declarations as before it.
  bool suffix_intact;
};

void kr_facts_release(struct kr_facts *f);

// --- the process ---

struct kr_parser; // a running kevin-parse

struct kr_parser_options {
  const char *program;      // path of kevin-parse; NULL: the one installed with this program
  const char *cuda_path;    // NULL: none, our own minimal headers are used
  const char *resource_dir; // clang's headers; NULL asks the build's default
  const char *headers_dir;  // the CPU back end's headers; NULL: those installed with kevin-parse
  unsigned timeout_ms;      // a request; 0 means 30000
  size_t memory_bytes;      // address space; 0 means 4 GiB; not limited under sanitizers
};

// Borrows the strings for as long as the parser lives. Starts nothing yet: the
// process is started by the first request and again after it died.
struct kr_parser *kr_parser_new(const struct kr_parser_options *options);
void kr_parser_free(struct kr_parser *p);

// Names to evaluate in the scope of the kernel that begins at `offset`; of a
// template also under each of `instances`, lists of arguments as in `k<...>`.
struct kr_parse_wants {
  size_t kernel_offset;
  char **names;
  size_t n_names;
  char **instances;
  size_t n_instances;
};

struct kr_parse_request {
  const struct kr_source *src;
  const char *const *flags; // vetted by kr_flags_filter(); -I, -D, -U, -std, -include ...
  size_t n_flags;
  const char *project_dir; // paths are told relative to it; NULL: the current folder
  const char *arch;        // "sm_90"; NULL: that
  const struct kr_parse_wants *wants;
  size_t n_wants;
  // Offsets of the kernels (kr_span.offset) whose slices are wanted, since each costs
  // a parse of its own; the others come without one. NULL: all.
  const size_t *slices;
  size_t n_slices;
  // What slices of templates hold beside what the kernel mentions: names of types
  // that are put in as arguments.
  const char *const *words;
  size_t n_words;
};

// Returns 0, or -1 when the process died, ran out of time or memory twice, or
// answered nonsense; `err` names the file. Errors in the user's code are in the unit.
int kr_parser_unit(struct kr_parser *p, const struct kr_parse_request *req, struct kr_unit *out,
                   struct kr_err *err);

// Parses slice_before + code + slice_after and tells what `code` brings.
int kr_parser_facts(struct kr_parser *p, const struct kr_parse_request *req,
                    const struct kr_pkernel *kernel, const char *code, struct kr_facts *out,
                    struct kr_err *err);

// --- compiler flags ---

// A compilation database and a command line are someone else's text: only flags
// of the allow-list pass (-I -isystem -D -U -std -include inside `root`, -arch
// -gencode -use_fast_math -fmad -ftz -prec-div -prec-sqrt -maxrregcount
// --extended-lambda --expt-relaxed-constexpr); argv[0], -ccbin, -fplugin, -Xclang,
// @files, -Xcompiler and everything unknown is dropped and named in `dropped`
// (one a line). Relative paths are made absolute from `dir`.
struct kr_flags {
  char **items; // owned
  size_t n, cap;
};
void kr_flags_filter(struct kr_flags *out, const char *const *argv, size_t n, const char *dir,
                     const char *root, struct kr_bytes *dropped);
void kr_flags_release(struct kr_flags *f);
// The flags of `path` in DIR/compile_commands.json (first entry of the real
// path). Returns 1 when there is no entry or no database, 0 when found, -1 with
// `err` when the database is not JSON of the known form.
int kr_flags_from_database(struct kr_flags *out, const char *dir, const char *path,
                           struct kr_bytes *dropped, struct kr_err *err);

#endif
