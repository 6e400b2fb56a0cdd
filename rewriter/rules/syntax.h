#ifndef KR_RULES_SYNTAX_H
#define KR_RULES_SYNTAX_H

#include "../../evaluator/base/lex.h"
#include "../../evaluator/contract.h"

// The small structural view of a kernel's text that all rules share, on the
// tokens of base/lex.h alone: functions, statements, names, expressions. No
// types are checked, nothing is preprocessed. What is not plain becomes
// STMT_OTHER or EXPR_UNKNOWN, and the function that holds it is `opaque`:
// nothing about its names and accesses is then complete, and a rule that needs
// all of them leaves it alone. Nothing is ever guessed.
//
// Everything is in arrays of `struct syntax` and refers to one another by index;
// SYNTAX_NONE is no index. Trees: `child` is the first child, `next` the next
// sibling, `parent` the parent. Functions, statements and names are in order of
// the text; expressions are not, those without a parent are roots.

#define SYNTAX_NONE ((size_t)-1)

// Tokens [first, end). Empty: first == end.
struct syntax_span {
  size_t first, end;
};

// --- statements ---

enum syntax_stmt_kind {
  STMT_BLOCK,    // { ... }: children in order
  STMT_DECL,     // one declaration statement; its names are those whose `stmt` it is
  STMT_EXPR,     // `expr` ;
  STMT_IF,       // `cond`, `body`, `orelse`
  STMT_FOR,      // `init` (STMT_DECL, STMT_EXPR or STMT_EMPTY), `cond`, `step`, `body`
  STMT_WHILE,    // `cond`, `body`
  STMT_DO,       // `body`, `cond`
  STMT_RETURN,   // `expr`, or SYNTAX_NONE
  STMT_BREAK,
  STMT_CONTINUE,
  STMT_PRAGMA,   // a whole directive line
  STMT_EMPTY,    // ;
  STMT_ASSERT,   // static_assert(...);
  STMT_OTHER     // not understood
};

struct syntax_stmt {
  enum syntax_stmt_kind kind;
  struct syntax_span span; // closing `;` or `}` included
  size_t function;
  size_t parent, child, next; // children of IF, FOR, WHILE, DO: init, body, orelse, and
                              // pragmas that stand in front of body or orelse
  size_t expr;                // EXPR, RETURN: root expression
  size_t init, cond, step;    // init: statement; cond, step: root expressions; may be NONE
  size_t body, orelse;        // statements
};

// --- names ---

enum syntax_storage { SYNTAX_PARAM, SYNTAX_LOCAL, SYNTAX_SHARED };

// A scalar, pointer or array as far as words tell: `float`, `const int *`,
// `__shared__ float tile[32][33]`. `known` is false for every other type
// (struct, float4, auto, template parameter, reference to them).
struct syntax_type {
  bool known;
  enum kr_kind kind;  // of the scalar at the end of pointers and dimensions
  unsigned pointers;  // `*`s
  bool is_const;      // the scalar, or what pointers point to at last
  bool is_reference;
};

struct syntax_name {
  char *name;
  enum syntax_storage storage;
  size_t function, stmt;  // stmt: declaring statement; NONE for a parameter
  size_t param;           // PARAM: its position
  size_t token;           // where it is declared
  struct syntax_span specifiers; // `const float` of `const float *__restrict__ p[3] = ...`
  struct syntax_span declarator; // `*__restrict__ p[3] = ...`
  struct syntax_type type;
  bool restricted;        // __restrict__
  bool is_static, is_extern, is_constant; // `static`, `extern`; const or constexpr object (not pointee)
  struct syntax_span dims[4]; // tokens between the brackets; empty: `[]`
  unsigned n_dims;
  size_t dim_exprs[4];    // roots, NONE for `[]`
  size_t init;            // root expression of `= e`, `(e)` or `{e}` with one e; NONE
  struct syntax_span scope; // where it is seen
  // Over all uses after the declaration:
  unsigned n_reads, n_writes; // of itself; elements behind it not counted
  bool escapes;           // address taken, or handed to something that may change it
  bool is_loop;           // declared in a for's init, changed by its step alone
};

// --- expressions ---

enum syntax_expr_kind {
  EXPR_NUMBER,
  EXPR_LITERAL,   // string, character, true, false, nullptr
  EXPR_NAME,      // `name`, or NONE for what the text does not declare (span: `std::min`)
  EXPR_MEMBER,    // child: object; the member is token `op + 1`
  EXPR_SUBSCRIPT, // children: base, index
  EXPR_CALL,      // children: callee, arguments. `max<int>(a, b)` has `args` in its callee's span
  EXPR_UNARY,     // op: - + ! ~ * & ++ -- sizeof
  EXPR_POSTFIX,   // op: ++ --
  EXPR_BINARY,
  EXPR_ASSIGN,    // = += ...
  EXPR_COND,      // three children
  EXPR_CAST,      // (type)e, type(e), static_cast<type>(e), reinterpret_cast<type>(e): `type_span`
  EXPR_PAREN,
  EXPR_COMMA,
  EXPR_LIST,      // { ... }
  EXPR_UNKNOWN
};

enum {
  SYNTAX_READ = 1,     // its value is used
  SYNTAX_WRITTEN = 2,  // it is assigned, counted up or down
  SYNTAX_ATOMIC = 4,   // by an atomic function (READ and WRITTEN too)
  SYNTAX_ESCAPES = 8,  // its address leaves, or a function may change it through a reference
  SYNTAX_BASE = 16     // of a subscript, `*` or `->`: what is read is behind it
};

struct syntax_expr {
  enum syntax_expr_kind kind;
  struct syntax_span span;
  size_t parent, child, next;
  unsigned n_children;
  size_t function, stmt; // innermost statement it stands in
  size_t op;             // token of the operator; MEMBER: `.` or `->`
  size_t name;           // NAME
  struct syntax_span type_span; // CAST
  struct syntax_type type;      // CAST: what it casts to
  bool reinterprets;            // CAST: reinterpret_cast, or a pointer from a pointer
  unsigned use;          // SYNTAX_READ ... of NAME, SUBSCRIPT, MEMBER, UNARY `*`
};

// --- functions ---

struct syntax_function {
  char *name;
  struct syntax_span span; // attributes and `template` head to the closing brace
  size_t name_token, open, close; // open, close: the parentheses round the parameters
  size_t body;             // STMT_BLOCK; NONE for a declaration
  bool is_kernel;          // the one of the contract
  bool is_template;
  bool opaque;             // something in it is not understood
  bool syncs;              // holds __syncthreads or another barrier or warp function
};

struct syntax {
  const struct kr_contract *contract; // borrowed; may be NULL
  char *text;
  size_t len;
  struct kr_token *toks; // no comments; the last one is KR_TOK_END
  size_t n_toks;
  size_t *match;         // the other bracket of ( [ { ) ] }; NONE elsewhere
  struct syntax_function *functions;
  size_t n_functions, cap_functions;
  struct syntax_stmt *stmts;
  size_t n_stmts, cap_stmts;
  struct syntax_name *names;
  size_t n_names, cap_names;
  struct syntax_expr *exprs;
  size_t n_exprs, cap_exprs;
  size_t kernel; // function; NONE: not found, and nothing can be done
  // Symbols of the affine view, see below.
  struct syntax_symbol *symbols;
  size_t n_symbols, cap_symbols;
  struct kr_token *slice_toks; // of contract->before, comments left out; NULL without one
  size_t n_slice_toks;
  bool broken;   // brackets do not match: nothing else is filled
};

// Never fails: what cannot be read leaves `kernel` NONE or functions opaque.
// `contract` tells the kinds of parameters that words do not, constants of the
// slice, and which functions of the slice take no references. It may be NULL;
// then the last __global__ function is the kernel.
void syntax_parse(struct syntax *s, const char *code, const struct kr_contract *contract);
void syntax_release(struct syntax *s);

// --- looking ---

bool syntax_is(const struct syntax *s, size_t token, const char *spelling);
// The bytes of a span as they stand, without what surrounds them. The caller frees.
char *syntax_text(const struct syntax *s, struct syntax_span span);
// Token texts of the span with the least blanks: equal for what only formats
// differ in. For places and comparisons. The caller frees.
char *syntax_squeeze(const struct syntax *s, struct syntax_span span);
bool syntax_same(const struct syntax *s, struct syntax_span a, struct syntax_span b);
// The name declared so that `token` sees it, or NONE.
size_t syntax_resolve(const struct syntax *s, const char *name, size_t token);
// The parameter of the kernel, by name, or NONE.
size_t syntax_param(const struct syntax *s, const char *name);
// Child `i` of an expression, or NONE. Parentheses stripped when `strip`.
size_t syntax_arg(const struct syntax *s, size_t expr, unsigned i);
size_t syntax_strip(const struct syntax *s, size_t expr);
// The function called, when the callee is a plain or qualified name: "expf",
// "std::min" gives "min"; NULL else. Template arguments cut. The caller frees.
char *syntax_callee(const struct syntax *s, size_t call);
bool syntax_calls(const struct syntax *s, size_t expr, const char *callee);
// Is `expr` within `span`, `inner` within `outer` (statements)?
bool syntax_within(struct syntax_span inner, struct syntax_span outer);
// Innermost enclosing statement of that kind, or NONE.
size_t syntax_enclosing(const struct syntax *s, size_t stmt, enum syntax_stmt_kind kind);
// Statement before which new ones may be put so that they run right before
// `stmt`: itself when its parent is a block, else NONE (body of an if without
// braces, init of a for).
size_t syntax_insertable(const struct syntax *s, size_t stmt);

// The type of an expression as far as it is sure: arithmetic conversions of
// known names, literals, casts and well-known functions (float and double
// overloads as CUDA C++ has them). `known` false when not.
struct syntax_type syntax_type_of(const struct syntax *s, size_t expr);

// Is it certain that the function takes its arguments by value? True of CUDA's own
// and of functions of code or slice without `&` in their parameters.
bool syntax_takes_only_values(const struct syntax *s, const char *function);

// One of CUDA's overloaded functions that has a twin for float with an `f` behind
// its name (sqrt, pow, ...); one that takes and gives float whatever it is given (expf).
bool syntax_has_float_twin(const char *function);
bool syntax_is_float_function(const char *function);

// Free of side effects and of anything that may trap or depend on when it is
// evaluated beyond the memory it reads: no assignment, no call but of
// well-known functions without effects, nothing unknown. `reads_memory` (may be
// NULL) says whether a subscript, `*` or a load intrinsic is in it.
bool syntax_pure(const struct syntax *s, size_t expr, bool *reads_memory);
// Is it written, or may it be, anywhere in `span` (its declaration aside)?
bool syntax_changes(const struct syntax *s, size_t name, struct syntax_span span);
// Does the span name it?
bool syntax_mentions(const struct syntax *s, struct syntax_span span, size_t name);
// Does the span hold a barrier, or a call that may hold one?
bool syntax_may_sync(const struct syntax *s, struct syntax_span span);
// The parameter or array that `pointer` points into for good: itself when it is a
// parameter never changed or an array, or, for a local pointer initialised from
// such and never changed, the one behind it. NONE when not sure.
size_t syntax_root(const struct syntax *s, size_t pointer);
// All of a kernel's accesses through `name`, its derived pointers not counted, are
// plain subscripts or `*`: it does not escape and is not copied.
bool syntax_plainly_used(const struct syntax *s, size_t name);

// A counted loop: for (T v = init; v <rel> bound; v += step), v changed by the
// step alone. Returns false for any other statement.
struct syntax_loop {
  size_t stmt, var;
  size_t init, bound; // root or child expressions
  char relation[3];   // "<", "<=", ">", ">=", "!=": as `v relation bound`
  size_t step;        // expression that is added; NONE: 1 (or -1 when `down`)
  bool down;          // subtracted
  char step_op[4];    // "++", "--", "+=", "-=", "*=", "/=", "<<=", ">>="
};
bool syntax_loop(const struct syntax *s, size_t stmt, struct syntax_loop *out);
// Its number of turns where init, bound and step are constants; -1 when not.
int64_t syntax_loop_count(struct syntax *s, const struct syntax_loop *loop);

// --- the affine view ---

// An integer expression as a sum of products with integer coefficients:
//   r * cols + c   with  r = blockIdx.y * 32 + threadIdx.y, ...
// over symbols: threadIdx.x ... gridDim.z, parameters and members of parameters
// that are never written, loop variables, and single values that are not taken
// apart further (a local of one assignment whose initialiser is not affine).
// Locals of one assignment are put in. Wrap-around and the widths of integers
// are looked past: it says what is meant mathematically.

enum syntax_symbol_kind {
  SYMBOL_THREAD,    // threadIdx
  SYMBOL_BLOCK,     // blockIdx
  SYMBOL_BLOCK_DIM,
  SYMBOL_GRID_DIM,
  SYMBOL_PARAM,     // the same for all threads
  SYMBOL_LOOP,      // `name` is the loop's variable; may differ between threads
  SYMBOL_VALUE      // `name` is a local; may differ between threads
};

struct syntax_symbol {
  enum syntax_symbol_kind kind;
  char *text;  // "threadIdx.x", "s.hidden", "k"
  size_t name; // PARAM, LOOP, VALUE
  int axis;    // THREAD ... GRID_DIM: 0 to 2
};

enum { AFFINE_MAX_TERMS = 32, AFFINE_MAX_FACTORS = 4 };

struct affine_term {
  int64_t coefficient; // not 0
  unsigned n_factors;  // 0: the constant
  unsigned factors[AFFINE_MAX_FACTORS]; // symbols, ascending
};

// Plain data; may be copied.
struct affine {
  bool known;
  unsigned n_terms;
  struct affine_term terms[AFFINE_MAX_TERMS];
};

struct affine syntax_affine(struct syntax *s, size_t expr);
// Of the product of all subscripts of `p[a][b]` with known dimensions, in
// elements, offset of a derived pointer added, so that it is relative to
// syntax_root() of the base. `*root` receives that, NONE when not known.
struct affine syntax_index(struct syntax *s, size_t subscript, size_t *root);
struct affine affine_constant(int64_t value);
struct affine affine_add(const struct affine *a, const struct affine *b, int64_t times);
struct affine affine_multiply(const struct affine *a, const struct affine *b);
bool affine_equal(const struct affine *a, const struct affine *b);
// A constant?
bool affine_is_constant(const struct affine *a, int64_t *value);
// What the symbol is multiplied by, as a polynomial in the others; known and 0
// when it does not occur; unknown when it occurs squared.
struct affine affine_coefficient(const struct affine *a, unsigned symbol);
// Without the terms that hold the symbol.
struct affine affine_without(const struct affine *a, unsigned symbol);
bool affine_has(const struct syntax *s, const struct affine *a, enum syntax_symbol_kind kind);
// The same value in all threads of a block, or in all of the grid: no thread
// (and block) index, loop variable or value in it.
bool affine_block_uniform(const struct syntax *s, const struct affine *a);
bool affine_grid_uniform(const struct syntax *s, const struct affine *a);
// Finds or makes the symbol of a built-in: ("threadIdx", 0).
unsigned syntax_builtin_symbol(struct syntax *s, enum syntax_symbol_kind kind, int axis);
// The symbol of a name (loop, parameter, value), SIZE_MAX-like UINT_MAX when there is none yet.
unsigned syntax_name_symbol(const struct syntax *s, size_t name);
// "32*blockIdx.y + threadIdx.y", for tests and debugging. The caller frees.
char *affine_print(const struct syntax *s, const struct affine *a);

// The value of an integer constant expression over literals, constexpr and enum
// constants and plain macros of the slice.
bool syntax_constant(struct syntax *s, size_t expr, int64_t *value);
// The size of a block along an axis where the geometry gives a constant.
bool syntax_block_dim(const struct kr_contract *c, const struct kr_geometry *g, int axis,
                      int64_t *value);
// The value of any geometry expression over the contract's constants, NULL: 1.
bool syntax_geometry_constant(const struct kr_contract *c, const char *expr, int64_t *value);

// --- what the contract promises ---

// The section of a kernel's pointer parameter (of the parameter itself, not of a
// member), or NULL.
const struct kr_section *syntax_section(const struct kr_contract *c, const char *param);
// No two sections overlap in any case: none is said to point into another.
bool syntax_disjoint(const struct kr_contract *c);
// The alignment in bytes promised for element 0 of a section; at least the element's.
int64_t syntax_alignment(const struct kr_contract *c, const struct kr_section *sec);
// The kind of a section's elements when they are scalars.
bool syntax_element(const struct kr_contract *c, const char *param, enum kr_kind *kind);

// --- changing the text ---

// Replacements of token spans. Everything else stays byte for byte, comments
// between tokens too.
struct syntax_edits {
  struct syntax_edit {
    size_t offset, length; // bytes
    char *text;            // owned
    size_t order;
  } *items;
  size_t n, cap;
};

// Printf-like. An insertion before or after a token touches no byte; several at
// one place stand in the order in which they were added.
__attribute__((format(printf, 4, 5))) void syntax_replace(struct syntax_edits *e,
                                                          const struct syntax *s,
                                                          struct syntax_span span,
                                                          const char *fmt, ...);
__attribute__((format(printf, 4, 5))) void syntax_before(struct syntax_edits *e,
                                                         const struct syntax *s, size_t token,
                                                         const char *fmt, ...);
__attribute__((format(printf, 4, 5))) void syntax_after(struct syntax_edits *e,
                                                        const struct syntax *s, size_t token,
                                                        const char *fmt, ...);
// A line of its own above the line on which `token` stands (which begins it),
// indented as that one; `text` may hold several lines.
__attribute__((format(printf, 4, 5))) void syntax_line_before(struct syntax_edits *e,
                                                              const struct syntax *s, size_t token,
                                                              const char *fmt, ...);
// Removes the span, and its lines when nothing else stands on them.
void syntax_remove(struct syntax_edits *e, const struct syntax *s, struct syntax_span span);
// The text with all edits, or NULL when two overlap. Releases `e`. The caller frees.
char *syntax_apply(struct syntax_edits *e, const struct syntax *s);
void syntax_edits_release(struct syntax_edits *e);

// The white space at the start of the token's line. The caller frees.
char *syntax_indent(const struct syntax *s, size_t token);
// One step of indentation as the kernel's body has it: "  ", "    ", "\t".
const char *syntax_indent_step(const struct syntax *s);
// `text` with `from` at the start of its lines (but the first) replaced by `to`. The caller frees.
char *syntax_reindent(const char *text, const char *from, const char *to);
// A local name like `base` that no token of code or slice has: "base", "base_2", ...
char *syntax_fresh(const struct syntax *s, const char *base);
// For file scope: "<kernel>_<base>", which the screen demands of new names there.
char *syntax_fresh_helper(const struct syntax *s, const char *base);

#endif
