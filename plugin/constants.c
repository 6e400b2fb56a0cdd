#include "unit.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../evaluator/base/lex.h"
#include "../evaluator/base/mem.h"

// Constants of the program, evaluated by clang where the kernel stands: macros,
// constexpr variables, enumerators, members of traits, sizeof. Probes
// `constexpr auto kr_probe_7 = (NAME);` go before each kernel and the text is
// parsed once more; headers come from the preamble.
//
// Behind a template stand classes with the same parameters, whose members are the
// names. At the end of the text, where all types are known that it may be launched
// with, and in the template's namespace, stands a pointer to it under each list of
// arguments that was asked for, which tells what it is made of, and the values of
// the names under these arguments.

enum probe_kind {
  PROBE_CONSTANT, // a name before the kernel
  PROBE_MEMBER,   // a name in a class with the template's parameters
  PROBE_INSTANCE, // the template under a list of arguments
  PROBE_VALUE     // a member of the class under such a list
};

// What goes into the text, and where it stands in the text that was parsed.
struct probe {
  enum probe_kind kind;
  size_t offset; // in the user's text
  size_t want, name, instance;
  char *text; // owned
  size_t begin, end;
};

struct probes {
  struct tu *tu;
  struct kr_unit *u;
  const struct kr_parse_wants *wants;
  size_t n_wants;
  size_t *first_constant, *first_instance; // of each want, in the unit's lists
  struct probe *items;
  size_t n, cap;
};

// A name of a marker is someone else's text: only what a path or sizeof(type) is
// made of goes into the probe.
static bool constants_is_name(const char *name)
{
  size_t len = strlen(name), depth = 0;
  struct kr_lexer lx;
  kr_lexer_init(&lx, name, len);
  for (struct kr_token tok; (tok = kr_lexer_next(&lx)).kind != KR_TOK_END;) {
    static const char *const allowed[] = {"::", "(", ")", "<", ">", ",", "*", "&", ".", "[", "]"};
    bool ok = tok.kind == KR_TOK_IDENTIFIER || tok.kind == KR_TOK_NUMBER;
    for (size_t i = 0; !ok && i < sizeof allowed / sizeof *allowed; i++)
      ok = kr_token_is(name, tok, allowed[i]);
    if (!ok || tok.flags & (KR_TOK_DIRECTIVE | KR_TOK_SPLICED))
      return false;
    depth += kr_token_is(name, tok, "(");
    if (kr_token_is(name, tok, ")") && depth-- == 0)
      return false;
  }
  return len && !depth && !memchr(name, '\n', len) && !memchr(name, '\r', len);
}

static void constants_unknown(struct kr_pconstant *c, const char *why)
{
  if (!c->known && !c->why)
    c->why = kr_xstrdup(why);
}

static void constants_value(struct kr_pconstant *c, CXCursor var)
{
  CXEvalResult e = clang_Cursor_Evaluate(var);
  if (!e) {
    constants_unknown(c, "it is no constant number");
    return;
  }
  switch (clang_EvalResult_getKind(e)) {
  case CXEval_Int:
    if (clang_EvalResult_isUnsignedInt(e) && clang_EvalResult_getAsUnsigned(e) > INT64_MAX) {
      constants_unknown(c, "it does not fit a signed 64-bit integer");
      break;
    }
    c->known = true;
    c->i = clang_EvalResult_getAsLongLong(e);
    break;
  case CXEval_Float:
    c->known = c->is_real = true;
    c->d = clang_EvalResult_getAsDouble(e);
    break;
  default:
    constants_unknown(c, "it is no number");
  }
  clang_EvalResult_dispose(e);
}


static const char *const probes_tokens[] = {"::", "(", ")", "<",  ">",  ",",  "*",  "&",  ".",
                                            "[",  "]", "+", "-",  "/",  "%",  ">>", "<<", "?",
                                            ":",  "!", "~", "==", "!=", "<=", ">=", "|",  "^",
                                            "||", "&&"};

// Arguments are someone else's text as well: an expression or a type, nothing that
// could end one.
static bool probes_is_list(const char *text)
{
  size_t len = strlen(text);
  long depth = 0;
  struct kr_lexer lx;
  kr_lexer_init(&lx, text, len);
  for (struct kr_token tok; (tok = kr_lexer_next(&lx)).kind != KR_TOK_END;) {
    bool ok = tok.kind == KR_TOK_IDENTIFIER || tok.kind == KR_TOK_NUMBER;
    for (size_t i = 0; !ok && i < sizeof probes_tokens / sizeof *probes_tokens; i++)
      ok = kr_token_is(text, tok, probes_tokens[i]);
    if (!ok || tok.flags & (KR_TOK_DIRECTIVE | KR_TOK_SPLICED))
      return false;
    depth += kr_token_is(text, tok, "(") || kr_token_is(text, tok, "[");
    depth -= kr_token_is(text, tok, ")") || kr_token_is(text, tok, "]");
    if (depth < 0)
      return false;
  }
  return len && !depth && !memchr(text, '\n', len) && !memchr(text, '\r', len);
}

static struct kr_pconstant *probes_constant(const struct probes *p, const struct probe *at)
{
  return &p->u->constants[p->first_constant[at->want] + at->name];
}

static struct kr_pinstance *probes_instance(const struct probes *p, const struct probe *at)
{
  return &p->u->instances[p->first_instance[at->want] + at->instance];
}

static const struct kr_pkernel *probes_kernel(const struct probes *p, size_t want)
{
  for (size_t i = 0; i < p->u->n_kernels; i++)
    if (p->u->kernels[i].at.offset == p->wants[want].kernel_offset)
      return &p->u->kernels[i];
  return NULL;
}

static void probes_add(struct probes *p, struct probe one, char *text)
{
  one.text = text;
  KR_GROW(p->items, p->n, p->cap);
  p->items[p->n++] = one;
}

static void instance_unknown(struct kr_pinstance *in, const char *why)
{
  if (!in->why && !in->known)
    in->why = kr_xstrdup(why);
}

// `namespace a { namespace b { ` around what stands at the end, or its brackets.
static char *probes_around(const struct kr_pkernel *k, bool open)
{
  struct kr_bytes b;
  kr_bytes_init(&b, KR_BYTES_DEFAULT_MAX);
  kr_bytes_adds(&b, open ? "\n" : "");
  for (const char *at = k->qualified, *next; (next = strstr(at, "::")); at = next + 2)
    if (open)
      kr_bytes_addf(&b, "namespace %.*s { ", (int)(next - at), at);
    else
      kr_bytes_adds(&b, "} ");
  char *text = kr_bytes_take(&b);
  kr_bytes_release(&b);
  return text;
}

// Those of a template: the classes and all that is made of them.
static void probes_template(struct probes *p, const char *user, size_t user_len, size_t w)
{
  const struct kr_parse_wants *want = &p->wants[w];
  const struct kr_pkernel *k = probes_kernel(p, w);
  struct kr_span head = {0, 0};
  if (k && k->is_template && !k->refused)
    head = templates_head(user, user_len, k->at);
  struct probe at = {.want = w, .offset = head.length ? k->at.offset + k->at.length : 0};
  char *open = head.length ? probes_around(k, true) : NULL;
  char *close = head.length ? probes_around(k, false) : NULL;
  // A class for each name, so that one that is wrong spoils no other.
  for (size_t i = 0; head.length && i < want->n_names; i++) {
    at.kind = PROBE_MEMBER;
    at.name = i;
    if (constants_is_name(want->names[i]))
      probes_add(p, at,
                 kr_xasprintf(" template %.*s struct kr_scope_%zu_%zu { static constexpr auto "
                              "kr_name = (%s); };", (int)head.length, user + head.offset, w, i,
                              want->names[i]));
  }
  for (size_t j = 0; j < want->n_instances; j++) {
    at.instance = j;
    struct kr_pinstance *in = probes_instance(p, &at);
    if (!head.length) {
      instance_unknown(in, k && k->refused ? k->refused : "it is no template");
      continue;
    }
    if (!probes_is_list(want->instances[j])) {
      instance_unknown(in, "it is no list of template arguments");
      continue;
    }
    at.kind = PROBE_INSTANCE;
    at.offset = user_len;
    probes_add(p, at, kr_xasprintf("%sstatic auto *const kr_instance_%zu = &%s<%s>; %s", open,
                                   p->first_instance[w] + j, k->name, want->instances[j], close));
    for (size_t i = 0; i < want->n_names; i++) {
      at.kind = PROBE_VALUE;
      at.name = i;
      if (constants_is_name(want->names[i]))
        probes_add(p, at,
                   kr_xasprintf("%sstatic constexpr auto kr_value_%zu_%zu = "
                                "kr_scope_%zu_%zu<%s>::kr_name; %s",
                                open, p->first_instance[w] + j, i, w, i, want->instances[j],
                                close));
    }
  }
  free(open);
  free(close);
}

static int probes_by_offset(const void *a, const void *b)
{
  const struct probe *x = a, *y = b;
  if (x->offset != y->offset)
    return x->offset < y->offset ? -1 : 1;
  return x->begin < y->begin ? -1 : x->begin > y->begin;
}

// The text with all probes in it. `begin` and `end` of each are set.
static void probes_print(struct probes *p, const char *user, size_t user_len, struct kr_bytes *out)
{
  for (size_t i = 0; i < p->n; i++)
    p->items[i].begin = i; // in the order of their making, at one place
  if (p->n)
    qsort(p->items, p->n, sizeof *p->items, probes_by_offset);
  size_t from = 0;
  for (size_t i = 0; i < p->n; i++) {
    struct probe *one = &p->items[i];
    size_t to = one->offset < user_len ? one->offset : user_len;
    kr_bytes_add(out, user + from, to - from);
    from = to;
    one->begin = out->len;
    kr_bytes_adds(out, one->text);
    one->end = out->len;
  }
  kr_bytes_add(out, user + from, user_len - from);
}

// Where a place of the user's text is in the text that was parsed.
static size_t probes_shifted(const struct probes *p, size_t offset)
{
  size_t shift = 0;
  for (size_t i = 0; i < p->n; i++)
    if (p->items[i].offset <= offset)
      shift += p->items[i].end - p->items[i].begin;
  return offset + shift;
}

// --- what clang says ---

static const struct probe *probes_at(const struct probes *p, CXSourceLocation where)
{
  CXFile file = NULL;
  size_t at;
  tu_place(where, &file, &at);
  for (size_t i = 0; tu_is_main(p->tu, file) && i < p->n; i++)
    if (at >= p->items[i].begin && at < p->items[i].end)
      return &p->items[i];
  return NULL;
}

static void probes_blame(struct probes *p, const struct probe *at, const char *text)
{
  struct kr_pinstance *in;
  switch (at->kind) {
  case PROBE_CONSTANT:
    constants_unknown(probes_constant(p, at), text);
    break;
  case PROBE_MEMBER:
    for (size_t j = 0; j < p->wants[at->want].n_instances; j++)
      constants_unknown(&p->u->instances[p->first_instance[at->want] + j].constants[at->name],
                        text);
    break;
  case PROBE_INSTANCE:
    instance_unknown(probes_instance(p, at), text);
    break;
  case PROBE_VALUE:
    in = probes_instance(p, at);
    constants_unknown(&in->constants[at->name], text);
    break;
  }
}

// An error inside the template is a list's by the note that says what asked for it.
static void probes_diags(struct probes *p)
{
  unsigned n = clang_getNumDiagnostics(p->tu->unit);
  for (unsigned i = 0; i < n; i++) {
    CXDiagnostic diag = clang_getDiagnostic(p->tu->unit, i);
    if (clang_getDiagnosticSeverity(diag) >= CXDiagnostic_Error) {
      char *text = tu_take(clang_getDiagnosticSpelling(diag));
      CXSourceLocation where = clang_getDiagnosticLocation(diag);
      const struct probe *at = probes_at(p, where);
      if (at && at->kind == PROBE_INSTANCE && strstr(text, "<overloaded function type>"))
        probes_blame(p, at, "they are not the arguments of this template");
      else if (at)
        probes_blame(p, at, text);
      CXDiagnosticSet notes = clang_getChildDiagnostics(diag);
      unsigned n_notes = clang_getNumDiagnosticsInSet(notes), line = 0;
      clang_getFileLocation(where, NULL, &line, NULL, NULL);
      for (unsigned k = 0; !at && k < n_notes; k++) {
        CXDiagnostic note = clang_getDiagnosticInSet(notes, k);
        const struct probe *from = probes_at(p, clang_getDiagnosticLocation(note));
        if (from) {
          bool special = !strncmp(text, "explicit specialization of", 26);
          char *longer = special ? kr_xasprintf("line %u specialises it, which is a kernel of its "
                                                "own", line)
                                 : kr_xasprintf("line %u: %s", line, text);
          probes_blame(p, from, longer);
          free(longer);
        }
        clang_disposeDiagnostic(note);
      }
      free(text);
    }
    clang_disposeDiagnostic(diag);
  }
}

static int probes_function(void *arg, CXCursor cursor, CXCursor parent)
{
  (void)parent;
  CXCursor *found = arg;
  if (clang_getCursorKind(cursor) != CXCursor_DeclRefExpr)
    return 0;
  *found = clang_getCursorReferenced(cursor);
  return 2;
}

// What the pointer `var` points to: the template's function under these arguments.
static void instance_fill(struct probes *p, const struct probe *at, CXCursor var)
{
  struct kr_pinstance *in = probes_instance(p, at);
  const struct kr_pkernel *k = probes_kernel(p, at->want);
  struct kr_pkernel *made = &in->kernel;
  CXCursor fn = clang_getNullCursor();
  tu_visit(var, probes_function, &fn);
  if (in->why)
    return;
  if (clang_getCursorKind(fn) != CXCursor_FunctionDecl) {
    instance_unknown(in, "clang does not find the kernel");
    return;
  }
  // A specialisation stands elsewhere and is a kernel of its own.
  CXFile file = NULL;
  size_t name;
  tu_place(clang_getCursorLocation(fn), &file, &name);
  if (!tu_is_main(p->tu, file) || name != probes_shifted(p, k->name_at.offset)) {
    unsigned line;
    clang_getFileLocation(clang_getCursorLocation(fn), NULL, &line, NULL, NULL);
    in->why = kr_xasprintf("line %u specialises it, which is a kernel of its own", line);
    return;
  }
  in->n_arguments = templates_arguments(fn, k, &in->arguments, &in->values);
  if (!in->n_arguments) {
    instance_unknown(in, "an argument has no name that can be written elsewhere");
    return;
  }
  in->known = true;
  made->name = kr_xstrdup(k->name);
  made->qualified = kr_xstrdup(k->qualified);
  made->linkage = k->linkage;
  made->usr = tu_take(clang_getCursorUSR(fn));
  made->signature = templates_signature(fn);
  struct kr_bytes expression;
  kr_bytes_init(&expression, KR_BYTES_DEFAULT_MAX);
  kr_bytes_addf(&expression, "%s<", k->qualified);
  for (size_t i = 0; i < in->n_arguments; i++)
    kr_bytes_addf(&expression, "%s%s", i ? ", " : "", in->arguments[i]);
  kr_bytes_addc(&expression, '>');
  made->name_expression = kr_bytes_take(&expression);
  kr_bytes_release(&expression);
  CXCursor *args = tu_params(fn, &made->n_params);
  made->params = kr_xcalloc(made->n_params + 1, sizeof *made->params);
  for (size_t i = 0; i < made->n_params; i++) {
    struct kr_pparam *param = &made->params[i];
    CXType type = clang_getCursorType(args[i]);
    if (clang_getArrayElementType(type).kind != CXType_Invalid)
      type = clang_getArgType(clang_getCanonicalType(clang_getCursorType(fn)), (unsigned)i);
    param->name = tu_take(clang_getCursorSpelling(args[i]));
    param->type_name = tu_take(clang_getTypeSpelling(clang_getCanonicalType(type)));
    types_param(type, &param->type, made);
  }
  free(args);
  struct names_fn fns = {NULL, 0, 0};
  made->at = (struct kr_span){probes_shifted(p, k->at.offset), k->at.length};
  names_closure(p->tu, fn, &fns);
  names_fill(p->tu, &fns, made);
  uses_fill(p->tu, &fns, made);
  free(fns.items);
  made->at = (struct kr_span){0, 0};
}

static int constants_visit(void *arg, CXCursor cursor, CXCursor parent)
{
  (void)parent;
  struct probes *p = arg;
  enum CXCursorKind kind = clang_getCursorKind(cursor);
  if (kind == CXCursor_Namespace || kind == CXCursor_LinkageSpec || kind == CXCursor_UnexposedDecl)
    return 0;
  if (kind != CXCursor_VarDecl)
    return 1;
  const struct probe *at = probes_at(p, clang_getCursorLocation(cursor));
  if (!at)
    return 1;
  if (at->kind == PROBE_CONSTANT && !probes_constant(p, at)->why)
    constants_value(probes_constant(p, at), cursor);
  else if (at->kind == PROBE_INSTANCE)
    instance_fill(p, at, cursor);
  else if (at->kind == PROBE_VALUE && !probes_instance(p, at)->constants[at->name].why)
    constants_value(&probes_instance(p, at)->constants[at->name], cursor);
  return 1;
}

static void probes_unknown(struct probes *p, const char *why)
{
  for (size_t i = 0; i < p->u->n_constants; i++)
    constants_unknown(&p->u->constants[i], why);
  for (size_t i = 0; i < p->u->n_instances; i++) {
    struct kr_pinstance *in = &p->u->instances[i];
    instance_unknown(in, why);
    for (size_t c = 0; c < in->n_constants; c++)
      constants_unknown(&in->constants[c], why);
  }
}

// Places for the answers.
static void probes_places(struct probes *p)
{
  struct kr_unit *u = p->u;
  size_t constants = 0, instances = 0;
  for (size_t w = 0; w < p->n_wants; w++) {
    p->first_constant[w] = constants;
    p->first_instance[w] = instances;
    constants += p->wants[w].n_names;
    instances += p->wants[w].n_instances;
  }
  u->constants = kr_xcalloc(constants + 1, sizeof *u->constants);
  u->n_constants = constants;
  u->instances = kr_xcalloc(instances + 1, sizeof *u->instances);
  u->n_instances = instances;
  for (size_t w = 0; w < p->n_wants; w++) {
    const struct kr_parse_wants *want = &p->wants[w];
    for (size_t i = 0; i < want->n_names; i++)
      u->constants[p->first_constant[w] + i] = (struct kr_pconstant){
          .kernel_offset = want->kernel_offset, .name = kr_xstrdup(want->names[i])};
    for (size_t j = 0; j < want->n_instances; j++) {
      struct kr_pinstance *in = &u->instances[p->first_instance[w] + j];
      in->kernel_offset = want->kernel_offset;
      in->asked = kr_xstrdup(want->instances[j]);
      in->constants = kr_xcalloc(want->n_names + 1, sizeof *in->constants);
      in->n_constants = want->n_names;
      for (size_t i = 0; i < want->n_names; i++)
        in->constants[i] = (struct kr_pconstant){.kernel_offset = want->kernel_offset,
                                                 .name = kr_xstrdup(want->names[i])};
    }
  }
}

void constants_fill(struct tu *tu, const char *user, size_t user_len,
                    const struct kr_parse_wants *wants, size_t n, struct kr_unit *u)
{
  struct probes p = {.tu = tu, .u = u, .wants = wants, .n_wants = n};
  p.first_constant = kr_xcalloc(n + 1, sizeof *p.first_constant);
  p.first_instance = kr_xcalloc(n + 1, sizeof *p.first_instance);
  probes_places(&p);
  for (size_t w = 0; w < n; w++) {
    for (size_t i = 0; i < wants[w].n_names; i++) {
      struct probe at = {
          .kind = PROBE_CONSTANT, .want = w, .name = i, .offset = wants[w].kernel_offset};
      if (!constants_is_name(wants[w].names[i]))
        constants_unknown(probes_constant(&p, &at), "it is no name of a constant");
      else
        probes_add(&p, at, kr_xasprintf("static constexpr auto kr_probe_%zu = (%s); ",
                                        p.first_constant[w] + i, wants[w].names[i]));
    }
    if (wants[w].n_instances)
      probes_template(&p, user, user_len, w);
  }
  if (p.n) {
    struct kr_bytes text;
    struct kr_err err = {""};
    kr_bytes_init(&text, 2 * (size_t)KR_SOURCE_MAX);
    probes_print(&p, user, user_len, &text);
    if (text.toobig)
      kr_err_set(&err, "the text is too long");
    if (text.toobig || tu_reparse(tu, text.data, text.len, &err)) {
      probes_unknown(&p, err.text);
    } else {
      probes_diags(&p);
      tu_visit(clang_getTranslationUnitCursor(tu->unit), constants_visit, &p);
    }
    kr_bytes_release(&text);
  }
  probes_unknown(&p, "clang did not get that far");
  for (size_t i = 0; i < p.n; i++)
    free(p.items[i].text);
  free(p.items);
  free(p.first_constant);
  free(p.first_instance);
}
