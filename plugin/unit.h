#ifndef KR_PLUGIN_UNIT_H
#define KR_PLUGIN_UNIT_H

// How a parsed translation unit becomes struct kr_unit: inside kevin-parse only.
// unit_make() does it all; each part below fills the fields it is named after.

#include "../evaluator/base/lex.h"
#include "tu.h"

// Everything of plugin.h's struct kr_unit but slices, deps and constants. The
// cursors of the kernels, in the order of u->kernels, go to `*cursors` (owned by
// the caller) for those who continue.
void unit_make(struct tu *tu, struct kr_unit *u, CXCursor **cursors);

// templates.c: the parameters of a template, or why it cannot be taken.
void templates_fill(CXCursor cursor, const char *text, const struct kr_token *toks, size_t n,
                    struct kr_pkernel *k);
// `<...>` behind the first `template` of a definition. Length 0: there is none.
struct kr_span templates_head(const char *text, size_t len, struct kr_span kernel);
// The arguments of the list that opens with `<` at token `open`, in the text of the
// tokens. 0 when there are none, too many, or the end is not found.
size_t templates_split(const char *text, const struct kr_token *toks, size_t n, size_t open,
                       struct kr_span *out, size_t max);
// "(const float *, int)": parameter types as the function's type has them, so
// without the qualifiers of the parameters themselves; of a template with its
// parameters before it. The caller frees.
char *templates_signature(CXCursor fn);
// The arguments of a function made from the template `k`, as the compiler spells
// them. 0 when one of them cannot be written. The caller frees.
size_t templates_arguments(CXCursor fn, const struct kr_pkernel *k, char ***arguments,
                           int64_t **values);
// Notes arguments, which it takes, with the place and the site (SIZE_MAX: none).
void templates_launched(struct kr_pkernel *k, char **arguments, size_t n, const char *file,
                        unsigned line, bool by_name, size_t site);
// Notes explicit instantiations.
void templates_by_name(const struct tu *tu, const struct kr_token *toks, size_t n,
                       struct kr_pkernel *k);

// types.c: name, size, align and leaves of a type, and of all it points to, into
// k->types.
void types_param(CXType type, struct kr_ptype *out, struct kr_pkernel *k);
char *types_canonical(CXType type); // spelling without qualifiers. The caller frees.

// names.c: body_names, and what follows from them: the identifiers of the
// definition, of the user's device functions and constants it reaches, and of the
// macros they name.
struct names_fn {
  CXCursor *items; // definitions, the kernel first
  size_t n, cap;
};
// The kernel and every function with a body of the user's files that it reaches.
void names_closure(struct tu *tu, CXCursor kernel, struct names_fn *out);
void names_fill(struct tu *tu, const struct names_fn *fns, struct kr_pkernel *k);

// uses.c: what the body does with its pointer parameters.
void uses_fill(struct tu *tu, const struct names_fn *fns, struct kr_pkernel *k);

// sites.c: launch sites of all kernels, and lost_launches.
void sites_fill(struct tu *tu, const CXCursor *cursors, struct kr_unit *u);
bool sites_is_launch(CXCursor call); // `<<<...>>>`

// geometry.c: grid, block and shared of one site, or geometry_error. `call` is the
// launch, `ref` what names the kernel in it, `config` the call of
// __cudaPushCallConfiguration in it, `function` the definition around it.
void geometry_read(struct tu *tu, CXCursor kernel, const struct kr_pkernel *k, CXCursor call,
                   CXCursor ref, CXCursor config, CXCursor function, struct kr_psite *site);

// constants.c: parses `text` once more with a probe before each kernel. Every cursor is
// void after. Always gives one constant a name asked; failure of the parse itself
// is their `why`.
void constants_fill(struct tu *tu, const char *text, size_t len,
                    const struct kr_parse_wants *wants, size_t n, struct kr_unit *u);

// macros.c: what the preprocessing record says.
struct macros;
struct macros *macros_of(struct tu *tu); // owned by the unit, made once a parse
// The definition in force for `name` at the end of the unit, or a null cursor.
CXCursor macros_definition(const struct macros *m, const char *name);
// An expansion of the main file that covers byte `offset`, its name and arguments
// included; the outermost. Null cursor when none.
CXCursor macros_expansion_at(const struct macros *m, size_t offset);
// The innermost one instead, as for `BLOCK` in `DIV_UP(n, BLOCK)`.
CXCursor macros_use_at(const struct macros *m, size_t offset);
// Text of a definition after its name (and parameters), and whether it has parameters.
const char *macros_body(const struct tu *tu, CXCursor definition, size_t *len, bool *function_like);
void macros_free(struct macros *m);

#endif
