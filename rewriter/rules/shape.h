#ifndef KR_RULES_SHAPE_H
#define KR_RULES_SHAPE_H

#include "../../evaluator/base/bytes.h"
#include "rules.h"
#include "syntax.h"

// The shape that most plain kernels have, and what is built from it:
//
//   declarations of where a thread stands; guards; the work
//
// in whatever order declarations and guards stand, `if (i < n) { work }` or
// `if (i >= n) return; work`. A rule that restructures a kernel takes the pieces
// from here and puts them together anew: behind a barrier no thread may be missing,
// so a `return` has to become an `if` round what it skipped.

enum { SHAPE_MAX_ITEMS = 32, SHAPE_MAX_WORK = 64, SHAPE_MAX_TERMS = 16 };

// A declaration without side effects, or a guard that is to hold (`negated`: that
// is not to hold).
struct shape_item {
  size_t stmt;
  bool guard, negated;
  size_t cond; // guard: root expression
};

struct shape {
  struct shape_item items[SHAPE_MAX_ITEMS];
  size_t n_items;
  size_t work[SHAPE_MAX_WORK]; // statements under all guards
  size_t n_work;
};

// False when the kernel is not of that shape: opaque, `return` within the work, a
// guard with an else, anything with effects among the declarations. Declarations
// of shared memory stand in `items` as well; shape_has_shared() tells.
bool shape_read(const struct syntax *s, struct shape *out);
// Goes on from a statement, as in the body of a loop that is all of the work:
// what is found there is added to the items, and the work is that of the body.
bool shape_read_on(const struct syntax *s, size_t first, struct shape *out);
bool shape_has_shared(const struct syntax *s);

// The parts of all guards that hold together: of `if (r < rows && c < cols)` and
// `if (r >= rows || c >= cols) return` two each.
struct shape_term {
  size_t expr;
  bool negated;
};
size_t shape_terms(const struct syntax *s, const struct shape *sh,
                   struct shape_term out[SHAPE_MAX_TERMS]);
// Is the term `name < bound`? Gives the bound's expression.
bool shape_bounds(const struct syntax *s, const struct shape_term *term, size_t name, size_t *bound);

// A local that is blockIdx * blockDim + threadIdx along an axis, never changed.
struct shape_coord {
  size_t name;
  int axis;
  int64_t block; // threads along the axis
};
bool shape_coord(struct syntax *s, const struct kr_rule_input *in, size_t name,
                 struct shape_coord *out);
// The only coordinate along the axis among the items' names, or false.
bool shape_coord_along(struct syntax *s, const struct kr_rule_input *in, const struct shape *sh,
                       int axis, struct shape_coord *out);
// An expression that is the same in the whole grid, as text of the language of
// geometries: "nx*ny". NULL when it has anything but parameters in it. Caller frees.
char *shape_uniform(struct syntax *s, size_t expr);
// The bound where no local is declared yet: its own words, or those of
// shape_uniform(), which it must have. Caller frees.
char *shape_bound_text(struct syntax *s, size_t expr);
// Do blocks along `axis` cover `bound` exactly: ceil_div(bound, block)? Tried at many values.
bool shape_covers(const struct kr_rule_input *in, int axis, int64_t block, const char *bound);
// Is a section as long as that, whatever the values?
bool shape_as_long(const struct kr_rule_input *in, const struct kr_section *sec, const char *bound);
// A grid or block of one along the axis, whatever the values.
bool shape_flat(const struct kr_rule_input *in, int axis);

// Does the kernel's text name it anywhere: "threadIdx", "gridDim"? `member` may be NULL.
bool shape_names(const struct syntax *s, struct syntax_span span, const char *word,
                 const char *member);
// Every expression of that kind in the span, in order, through `i`: start with 0.
size_t shape_next_expr(const struct syntax *s, struct syntax_span span, enum syntax_expr_kind kind,
                       size_t *i);
// Free of effects, as syntax_pure(); functions of the file that take numbers only
// and hang on nothing else are good as well.
bool shape_pure(const struct syntax *s, size_t expr);
// Is `expr` evaluated whenever its statement is: no `?:`, `&&`, `||` above it?
bool shape_always(const struct syntax *s, size_t expr);
// "float" of `const float *__restrict__ x`: the words of a scalar's type. NULL when not plain.
char *shape_scalar(const struct syntax *s, size_t name);
// The function of the kernel.
const struct syntax_function *shape_kernel(const struct syntax *s);

// --- texts with something put in ---

struct substs {
  struct subst {
    struct syntax_span span;
    char *text;
  } *items;
  size_t n, cap;
};

__attribute__((format(printf, 3, 4))) void substs_add(struct substs *l, struct syntax_span span,
                                                      const char *fmt, ...);
// Every use of the name within the span.
void substs_name(struct substs *l, const struct syntax *s, struct syntax_span span, size_t name,
                 const char *text);
// Every `object.member`.
void substs_member(struct substs *l, const struct syntax *s, struct syntax_span span,
                   const char *object, const char *member, const char *text);
void substs_release(struct substs *l);
// The span's text with them; one within another is not looked at. The caller frees.
char *substs_text(const struct substs *l, const struct syntax *s, struct syntax_span span);

// --- putting a body together ---

struct emit {
  struct kr_bytes out;
  const struct syntax *s;
  char *base; // indentation of the kernel's own braces
  const char *step;
  unsigned level;
};

// Begins with the text up to and with the kernel's `{`.
void emit_begin(struct emit *e, const struct syntax *s);
__attribute__((format(printf, 2, 3))) void emit_line(struct emit *e, const char *fmt, ...);
// `text {` and one level in; then out again.
__attribute__((format(printf, 2, 3))) void emit_open(struct emit *e, const char *fmt, ...);
void emit_close(struct emit *e);
// A statement with its substitutions (may be NULL), on lines of its own.
void emit_stmt(struct emit *e, size_t stmt, const struct substs *l);
// The items that are needed for what mentions `wanted` (flags a name; may be NULL:
// all), guards opened as ifs. Returns how many were opened.
unsigned emit_items(struct emit *e, const struct shape *sh, const struct substs *l,
                    const bool *wanted);
// Marks the names that the span mentions where nothing is put in (`l` may be
// NULL); `wanted` holds a flag for every name of the syntax.
void wanted_mark(const struct syntax *s, bool *wanted, struct syntax_span span,
                 const struct substs *l);
// And what the declarations and guards that are needed for them mention in turn.
void wanted_close(const struct syntax *s, const struct shape *sh, const struct substs *l,
                  bool *wanted);
// The declaration with what is needed of it, or NULL when nothing is, or when it is
// of shared memory. The caller frees.
char *shape_item_text(const struct syntax *s, const struct shape_item *item, const struct substs *l,
                      const bool *wanted);
// The kernel's `}` and what follows. The caller frees.
char *emit_end(struct emit *e);

// A condition turned round: "r < rows && c < cols" of `r >= rows || c >= cols`. Caller frees.
char *shape_negated(const struct syntax *s, size_t expr, const struct substs *l);

#endif
