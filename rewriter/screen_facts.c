// The fact screen: what the compiler saw in a variant. It asks again, with
// names resolved, what the token screen asked of spellings, and what tokens
// cannot tell: overloads that a helper would win, the kernel's mangled name,
// whether the rest of the file still means what it meant.

#include <stdlib.h>
#include <string.h>

#include "../evaluator/base/mem.h"
#include "screen.h"

struct facts_screen {
  const struct kr_screen_input *in;
  const struct kr_facts *facts;
  struct kr_screen *out;
  struct original orig;
};

// The first component of a declaration's qualified name inside the kernel's namespace.
static char *outer_name(const struct facts_screen *s, const struct kr_fact_decl *d)
{
  const char *q = d->qualified && *d->qualified ? d->qualified : d->name ? d->name : "";
  const char *kernel = s->in->kernel && s->in->kernel->qualified ? s->in->kernel->qualified : "";
  const char *last = NULL;
  for (const char *p = strstr(kernel, "::"); p; p = strstr(p + 2, "::"))
    last = p;
  if (last && !strncmp(q, kernel, (size_t)(last - kernel) + 2))
    q += (size_t)(last - kernel) + 2;
  return kr_xstrndup(q, strcspn(q, ":<("));
}

static bool attribute_known(const struct facts_screen *s, const char *word)
{
  size_t n = strlen(word);
  return kr_lex_is_keyword(word, n) || screen_is_intrinsic(word) ||
         words_have(&s->orig.closure, word) || screen_has_prefix(&s->orig, word);
}

static void check_decl(struct facts_screen *s, const struct kr_fact_decl *d)
{
  struct kr_screen *out = s->out;
  const char *name = d->name ? d->name : "";
  bool kernel = d->kind == KR_FACT_FUNCTION && !strcmp(name, s->orig.name) && d->is_kernel;
  if (d->attributes) {
    struct words w = {0};
    words_of_text(&w, d->attributes, strlen(d->attributes));
    words_seal(&w);
    bool bounds = words_have(&w, "__launch_bounds__");
    for (size_t i = 0; i < w.n; i++) {
      if (!attribute_known(s, w.items[i]) && !(bounds && w.items[i][0] != '_'))
        screen_refuse(out, "attribute", d->line, "`%s` at `%s` is not in the original", w.items[i],
                      name);
    }
    words_release(&w);
  }
  if (d->is_host && !d->is_constexpr)
    screen_refuse(out, "host", d->line, "`%s` is host code", name);
  const struct kr_pkernel *k = s->in->kernel;
  if (kernel) {
    // Not the USR: that changes with `__restrict__`. Namespace, name, types and
    // linkage make the symbol.
    if (k && k->qualified && d->qualified && strcmp(k->qualified, d->qualified))
      screen_refuse(out, "linkage", d->line, "`%s` is another symbol than `%s`", d->qualified,
                    k->qualified);
    if (k && k->extern_c != d->is_extern_c)
      screen_refuse(out, "linkage", d->line, "`%s` is %sdeclared `extern \"C\"`; its linkage must stay",
                    name, k->extern_c ? "no longer " : "");
    return;
  }
  if (d->kind == KR_FACT_OTHER && !strcmp(name, "StaticAssert"))
    return;
  if (d->is_kernel) {
    screen_refuse(out, "kernel", d->line, "`%s` is a second kernel", name);
    return;
  }
  // A nameless type hides nothing; its enumerators stand here by themselves.
  if (d->kind == KR_FACT_TYPE && (!*name || *name == '('))
    return;
  char *outer = outer_name(s, d);
  if (strcmp(outer, s->orig.name)) {
    if (!screen_has_prefix(&s->orig, outer))
      screen_refuse(out, "name-prefix", d->line, "`%s` must have a name that begins with `%s_`",
                    *outer ? outer : "(a nameless declaration)", s->orig.name);
    if (d->hides)
      screen_refuse(out, "name-taken", d->line, "`%s` hides or overloads what is there already", name);
  }
  free(outer);
  // In the user's own `extern "C" { }` everything is.
  if (d->is_extern_c && !(k && k->extern_c))
    screen_refuse(out, "linkage", d->line, "`%s` is declared `extern \"C\"`", name);
  switch (d->kind) {
  case KR_FACT_FUNCTION:
    if (!d->is_device && !d->is_constexpr)
      screen_refuse(out, "host", d->line, "`%s` is a host function; helpers are `__device__`", name);
    break;
  case KR_FACT_VARIABLE:
    if (d->is_mutable || d->is_constant || d->is_shared || d->is_device)
      screen_refuse(out, "state", d->line,
                    "`%s` outlives a launch; only a `constexpr` number may, a table stands in the "
                    "function that reads it, without `static`", name);
    else if (!d->is_constexpr)
      screen_refuse(out, "host", d->line, "`%s` is a host variable%s", name,
                    d->has_initialiser ? " with an initialiser" : "");
    break;
  case KR_FACT_CONSTANT:
    if (d->is_device || d->is_constant)
      screen_refuse(out, "state", d->line, "`%s` outlives a launch; `constexpr` is allowed", name);
    else if (!d->is_constexpr && d->has_initialiser)
      screen_refuse(out, "host", d->line, "`%s` has an initialiser; say constexpr", name);
    break;
  case KR_FACT_TYPE:
    break;
  default:
    screen_refuse(out, "declaration", d->line, "`%s` is a declaration of a kind that is not allowed",
                  *name ? name : "(nameless)");
  }
}

static void check_kernel_facts(struct facts_screen *s)
{
  const struct kr_facts *f = s->facts;
  const struct kr_pkernel *k = s->in->kernel;
  struct kr_screen *out = s->out;
  if (!f->kernel_usr) {
    screen_refuse(out, "kernel", 0, "there is no definition of `%s`", s->orig.name);
    return;
  }
  const char *signature = k && k->signature ? k->signature
                          : s->in->contract ? s->in->contract->signature
                                            : NULL;
  if (signature && (!f->kernel_signature || strcmp(signature, f->kernel_signature)))
    screen_refuse(out, "signature", 0, "the signature is `%s`; the original's is `%s`",
                  f->kernel_signature ? f->kernel_signature : "?", signature);
  if (!k)
    return;
  if (k->linkage != f->kernel_linkage)
    screen_refuse(out, "linkage", 0, "`%s` has %s linkage; the original's is %s", s->orig.name,
                  f->kernel_linkage == KR_LINKAGE_INTERNAL ? "internal" : "external",
                  k->linkage == KR_LINKAGE_INTERNAL ? "internal" : "external");
  if (f->n_params != k->n_params) {
    screen_refuse(out, "signature", 0, "`%s` has %zu parameters; the original has %zu", s->orig.name,
                  f->n_params, k->n_params);
    return;
  }
  for (size_t i = 0; i < f->n_params && f->param_restrict; i++) {
    const struct kr_ptype *t = &k->params[i].type;
    bool now = t->n_leaves == 1 && t->leaves[0].kind == KR_SCALAR_POINTER && t->leaves[0].is_restrict;
    char why[256];
    if (f->param_restrict[i] && !now && !screen_restrict_ok(s->in, i, why))
      screen_refuse(out, "restrict", 0, "parameter %zu must not be __restrict__: %s", i + 1, why);
  }
}

// Intrinsics of clang's headers stand behind ordinary CUDA words; those that
// read a clock or an id do not.
static bool is_plain_builtin(const char *name)
{
  static const char *const reads[] = {"clock", "timer", "smid", "gridid", "warpid", "sleep", "pm", NULL};
  if (strncmp(name, "__nvvm_", 7))
    return false;
  for (int i = 0; reads[i]; i++) {
    if (strstr(name, reads[i]))
      return false;
  }
  return true;
}

void kr_screen_facts(const struct kr_screen_input *in, const struct kr_facts *facts,
                     struct kr_screen *out)
{
  struct facts_screen s = {.in = in, .facts = facts, .out = out};
  original_init(&s.orig, in);
  struct kr_source code;
  kr_source_from_text(&code, "variant", in->code, strlen(in->code));
  for (size_t i = 0; i < facts->n_errors; i++) {
    if (facts->errors[i].severity != KR_SEV_ERROR)
      continue;
    unsigned line = 0, col;
    if (facts->errors[i].offset != (size_t)-1)
      kr_source_place(&code, facts->errors[i].offset, &line, &col);
    screen_refuse(out, "parse", line, "the code does not parse: %.300s", facts->errors[i].text);
    break;
  }
  kr_source_release(&code);
  check_kernel_facts(&s);
  size_t kernels = 0;
  for (size_t i = 0; i < facts->n_decls; i++) {
    const struct kr_fact_decl *d = &facts->decls[i];
    kernels += d->is_kernel && d->name && !strcmp(d->name, s.orig.name);
    check_decl(&s, d);
  }
  if (kernels > 1)
    screen_refuse(out, "kernel", 0, "`%s` is there %zu times", s.orig.name, kernels);
  for (size_t i = 0; i < facts->n_uses; i++) {
    const struct kr_fact_use *u = &facts->uses[i];
    if (u->in_variant || !u->name || is_plain_builtin(u->name))
      continue;
    const struct forbidden *f = screen_forbidden(u->name);
    if (f && (f->always || !words_have(&s.orig.closure, u->name)) &&
        !(in->allow_asm && !strcmp(f->rule, "asm")))
      screen_refuse(out, f->rule, u->line, "`%s` %s", u->name, f->why);
  }
  // In the original's body, not at its linkage.
  struct words body = {0};
  const char *brace = memchr(s.orig.code, '{', s.orig.len);
  if (brace)
    words_of_text(&body, brace, s.orig.len - (size_t)(brace - s.orig.code));
  words_seal(&body);
  bool orig_static = words_have(&body, "static");
  words_release(&body);
  if (facts->has_static_local && !orig_static)
    screen_refuse(out, "static-local", 0, "a static variable outlives a launch");
  bool orig_asm = words_have(&s.orig.closure, "asm") || words_have(&s.orig.closure, "__asm__") ||
                  words_have(&s.orig.closure, "__asm");
  if (facts->has_asm && !in->allow_asm && !orig_asm)
    screen_refuse(out, "asm", 0, "there is inline assembly, which the original does not have");
  if (facts->has_goto_computed)
    screen_refuse(out, "goto", 0, "there is a computed `goto`");
  if (!facts->suffix_intact)
    screen_refuse(out, "unbalanced", 0,
                  "what follows the kernel in its file is no longer read as before");
  original_release(&s.orig);
}
