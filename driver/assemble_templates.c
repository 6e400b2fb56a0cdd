#include "assemble_internal.h"

#include <stdlib.h>
#include <string.h>

#include "../evaluator/base/mem.h"

// Kernels that are templates. instantiate() gives arguments; what it leaves out
// comes from the launches that the file shows, and from defaults. Each list of
// arguments is an instantiation with cases of its own; all together must cover
// every launch that is to be seen, because one text serves them all.

// --- lists of arguments ---

struct lists {
  struct assembly *a; // to tell what is wrong; NULL: nobody is told
  const struct kr_marker *m;
  const struct kr_pkernel *k;
  char **items; // "float, 128"
  struct kr_span *at;
  size_t n;
};

// The values of one parameter, borrowed.
struct list_values {
  char *const *items;
  const struct kr_span *at; // NULL: those of launches
  size_t n;
  char **own; // the array, when it had to be made
};

static struct kr_span lists_place(const struct lists *l)
{
  return l->m->n_instantiates ? l->m->instantiates[0].at : (struct kr_span){l->m->at.offset, 5};
}

// "HEAD_DIM, T"
static void lists_parameters(const struct kr_pkernel *k, const char *after, struct kr_bytes *out)
{
  for (size_t i = 0; i < k->n_tparams; i++)
    kr_bytes_addf(out, "%s%s%s", i ? ", " : "", k->tparams[i].name, after);
}

static bool lists_unknown(const struct lists *l)
{
  struct kr_bytes given, wanted;
  kr_bytes_init(&given, 1 << 14);
  kr_bytes_init(&wanted, 1 << 14);
  lists_parameters(l->k, "", &given);
  lists_parameters(l->k, " = …", &wanted);
  if (l->a)
    asm_fail(l->a, lists_place(l), "cannot tell the arguments of `%s<%s>`; add instantiate(%s)",
             l->k->qualified, given.data, wanted.data);
  kr_bytes_release(&given);
  kr_bytes_release(&wanted);
  return false;
}

// What a parameter is in the launches that are seen, each once.
static void lists_launched(const struct kr_pkernel *k, size_t param, struct list_values *out)
{
  for (size_t i = 0; i < k->n_launched; i++) {
    const struct kr_plaunched *l = &k->launched[i];
    if (l->by_name || l->n_arguments != k->n_tparams)
      continue;
    size_t seen = 0;
    while (seen < out->n && strcmp(out->own[seen], l->arguments[param]))
      seen++;
    if (seen < out->n)
      continue;
    out->own = kr_xreallocarray(out->own, out->n + 1, sizeof *out->own);
    out->own[out->n++] = l->arguments[param];
  }
  out->items = out->own;
}

static void lists_add(struct lists *l, char *text, struct kr_span at)
{
  for (size_t i = 0; i < l->n; i++)
    if (!strcmp(l->items[i], text)) {
      free(text);
      return;
    }
  l->items = kr_xreallocarray(l->items, l->n + 1, sizeof *l->items);
  l->at = kr_xreallocarray(l->at, l->n + 1, sizeof *l->at);
  l->at[l->n] = at;
  l->items[l->n++] = text;
}

// All combinations, the last parameter fastest.
static bool lists_product(struct lists *l, const struct list_values *values, size_t n,
                          struct kr_span at)
{
  size_t total = 1, *index = kr_xcalloc(n + 1, sizeof *index);
  for (size_t i = 0; i < n; i++) {
    total *= values[i].n;
    if (total > KR_MAX_INSTANTIATIONS) {
      free(index);
      return !l->a || asm_fail(l->a, at, "more than %d instantiations", KR_MAX_INSTANTIATIONS);
    }
  }
  for (size_t c = 0; c < total; c++) {
    struct kr_bytes text;
    struct kr_span place = at;
    bool listed = false; // by one of a list's values the combination is told best
    kr_bytes_init(&text, 1 << 16);
    for (size_t i = 0; i < n; i++) {
      kr_bytes_addf(&text, "%s%s", i ? ", " : "", values[i].items[index[i]]);
      if (values[i].at && !listed) {
        place = values[i].at[index[i]];
        listed = values[i].n > 1;
      }
    }
    lists_add(l, kr_bytes_take(&text), place);
    kr_bytes_release(&text);
    for (size_t i = n; i > 0; i--) {
      if (++index[i - 1] < values[i - 1].n)
        break;
      index[i - 1] = 0;
    }
  }
  free(index);
  return true;
}

static bool lists_clause(struct lists *l, const struct kr_minstantiate *in)
{
  const struct kr_pkernel *k = l->k;
  struct list_values *values = kr_xcalloc(k->n_tparams + 1, sizeof *values);
  bool ok = true;
  for (size_t j = 0; j < in->n_args && ok; j++) {
    const struct kr_mtarg *arg = &in->args[j];
    size_t param = j;
    for (size_t i = 0; arg->name && i < k->n_tparams; i++)
      param = strcmp(k->tparams[i].name, arg->name) ? param : i;
    bool found = param < k->n_tparams &&
                 (!arg->name || !strcmp(k->tparams[param].name, arg->name));
    struct kr_bytes names;
    kr_bytes_init(&names, 1 << 14);
    lists_parameters(k, "", &names);
    if (!found && arg->name)
      ok = l->a && asm_fail(l->a, arg->name_at, "`%s` has no template parameter `%s`; it has %s",
                            k->name, arg->name, names.data);
    else if (!found)
      ok = l->a && asm_fail(l->a, arg->value_at[0], "`%s` has %zu template parameter%s: %s", k->name,
                            k->n_tparams, k->n_tparams == 1 ? "" : "s", names.data);
    else if (values[param].n)
      ok = l->a && asm_fail(l->a, arg->name_at, "`%s` is given by place already", arg->name);
    else
      values[param] = (struct list_values){arg->values, arg->value_at, arg->n_values, NULL};
    kr_bytes_release(&names);
  }
  size_t n = k->n_tparams;
  for (size_t i = 0; i < k->n_tparams && ok; i++) {
    if (!values[i].n)
      lists_launched(k, i, &values[i]);
    if (values[i].n)
      continue;
    // Left out to its default, and so must be what comes behind it.
    size_t rest = i;
    while (rest < k->n_tparams && k->tparams[rest].has_default && !values[rest].n)
      rest++;
    n = i;
    ok = rest == k->n_tparams || lists_unknown(l);
    break;
  }
  ok = ok && lists_product(l, values, n, in->at);
  for (size_t i = 0; i < k->n_tparams; i++)
    free(values[i].own);
  free(values);
  return ok;
}

// False when something was wrong, told or not.
static bool lists_make(struct lists *l)
{
  for (size_t i = 0; i < l->m->n_instantiates; i++)
    if (!lists_clause(l, &l->m->instantiates[i]))
      return false;
  if (l->m->n_instantiates)
    return true;
  for (size_t i = 0; i < l->k->n_launched; i++) {
    const struct kr_plaunched *launched = &l->k->launched[i];
    struct kr_bytes text;
    kr_bytes_init(&text, 1 << 16);
    for (size_t j = 0; j < launched->n_arguments; j++)
      kr_bytes_addf(&text, "%s%s", j ? ", " : "", launched->arguments[j]);
    if (text.len)
      lists_add(l, kr_bytes_take(&text), lists_place(l));
    kr_bytes_release(&text);
  }
  if (l->n > KR_MAX_INSTANTIATIONS)
    return l->a && asm_fail(l->a, lists_place(l), "%zu instantiations are launched, at most %d",
                            l->n, KR_MAX_INSTANTIATIONS);
  return l->n || lists_unknown(l);
}

static void lists_release(struct lists *l)
{
  for (size_t i = 0; i < l->n; i++)
    free(l->items[i]);
  free(l->items);
  free(l->at);
}

void asm_want_instances(const struct kr_marker *m, const struct kr_pkernel *k,
                        struct kr_parse_wants *out)
{
  struct lists l = {.m = m, .k = k};
  if (!k->is_template || k->refused)
    return;
  if (lists_make(&l)) {
    out->instances = l.items;
    out->n_instances = l.n;
    l.items = NULL;
    l.n = 0;
  }
  lists_release(&l);
}

// --- one template, several kernels ---

bool asm_is_tparam(const struct assembly *a, const char *name, bool *number)
{
  for (size_t i = 0; i < a->k->n_tparams; i++)
    if (name[0] && !strcmp(a->k->tparams[i].name, name)) {
      *number = a->k->tparams[i].kind != KR_TKIND_TYPE;
      return true;
    }
  return false;
}

const struct kr_pconstant *asm_constant(const struct assembly *a, size_t inst, const char *name)
{
  if (!a->n_inst)
    return kr_unit_constant(a->unit, a->k->at.offset, name);
  const struct kr_pinstance *in = a->inst[inst];
  return kr_pconstant_find(in->constants, in->n_constants, a->k->at.offset, name);
}

const struct kr_pconstant *asm_constant_all(const struct assembly *a, const char *name)
{
  const struct kr_pconstant *c = asm_constant(a, 0, name);
  for (size_t i = 1; i < a->n_inst && c && c->known; i++)
    c = asm_constant(a, i, name);
  return c;
}

const struct kr_pleaf *asm_leaf_under(const struct assembly *a, const struct asm_leaf *leaf,
                                      size_t inst)
{
  return a->n_inst ? &a->inst[inst]->kernel.params[leaf->p].type.leaves[leaf->l] : leaf->leaf;
}

const struct kr_ptype *asm_pointee_under(const struct assembly *a, const struct asm_section *s,
                                         size_t inst)
{
  if (!a->n_inst)
    return s->pointee;
  return kr_pkernel_type(&a->inst[inst]->kernel, asm_leaf_under(a, s->leaf, inst)->pointee);
}

static void inst_text(const struct kr_pinstance *in, struct kr_bytes *out)
{
  for (size_t i = 0; i < in->n_arguments; i++)
    kr_bytes_addf(out, "%s%s", i ? ", " : "", in->arguments[i]);
}

bool asm_same_arguments(const struct kr_pinstance *in, const struct kr_plaunched *l)
{
  bool same = in->n_arguments == l->n_arguments;
  for (size_t i = 0; same && i < in->n_arguments; i++)
    same = !strcmp(in->arguments[i], l->arguments[i]);
  return same;
}

static bool inst_equal(const struct kr_pinstance *x, const struct kr_pinstance *y)
{
  bool same = x->n_arguments == y->n_arguments;
  for (size_t i = 0; same && i < x->n_arguments; i++)
    same = !strcmp(x->arguments[i], y->arguments[i]);
  return same;
}

// The same leaves by path, since a marker names them by path; and values that are
// left out must mean the same.
static bool inst_alike(struct assembly *a, const struct kr_pinstance *x,
                       const struct kr_pinstance *y, struct kr_span at)
{
  for (size_t i = 0; i < x->kernel.n_params; i++) {
    const struct kr_ptype *s = &x->kernel.params[i].type, *t = &y->kernel.params[i].type;
    bool same = s->n_leaves == t->n_leaves;
    for (size_t l = 0; same && l < s->n_leaves; l++) {
      const struct kr_pleaf *p = &s->leaves[l], *q = &t->leaves[l];
      bool bound = asm_binding_find(a->m, x->kernel.params[i].name, NULL) != NULL;
      same = !strcmp(p->path, q->path) && p->pointee_const == q->pointee_const &&
             (p->kind == KR_SCALAR_POINTER) == (q->kind == KR_SCALAR_POINTER) &&
             (p->kind >= KR_SCALAR_OPAQUE) == (q->kind >= KR_SCALAR_OPAQUE) &&
             (bound || ((p->kind == KR_SCALAR_BOOL) == (q->kind == KR_SCALAR_BOOL) &&
                        (p->kind <= KR_SCALAR_U64) == (q->kind <= KR_SCALAR_U64)));
    }
    if (!same)
      return asm_fail(a, at, "parameter `%s` is made differently under the arguments <%s> and <%s>; "
                      "that is not there yet", x->kernel.params[i].name, x->asked, y->asked);
  }
  return true;
}

static bool inst_covered(struct assembly *a, const struct kr_plaunched *l)
{
  if (!l->n_arguments && !l->by_name)
    return asm_fail(a, asm_marker_place(a),
                    "`%s` is launched at line %u with an argument that has no name elsewhere, as a "
                    "lambda has none; that is not there yet", a->k->name, l->line);
  if (!l->n_arguments)
    return asm_fail(a, asm_marker_place(a),
                    "`%s` is instantiated at line %u, where its arguments are not written out; "
                    "that is not there yet", a->k->name, l->line);
  struct kr_bytes text;
  kr_bytes_init(&text, 1 << 16);
  for (size_t i = 0; i < l->n_arguments; i++)
    kr_bytes_addf(&text, "%s%s", i ? ", " : "", l->arguments[i]);
  bool covered = false;
  for (size_t i = 0; i < a->n_inst; i++)
    covered = covered || asm_same_arguments(a->inst[i], l) ||
              (l->by_name && !strcmp(a->inst[i]->asked, text.data));
  if (!covered)
    asm_fail(a, a->m->n_instantiates ? a->m->instantiates[0].at : asm_marker_place(a),
             "`%s<%s>` is %s at line %u but not covered; a rewrite would change it unproved",
             a->k->qualified, text.data, l->by_name ? "instantiated" : "launched", l->line);
  kr_bytes_release(&text);
  return covered;
}

// The kernel as it is under the first arguments, with what its body does under any.
static void inst_view(struct assembly *a)
{
  const struct kr_pkernel *k = a->k, *first = &a->inst[0]->kernel;
  struct kr_pkernel *v = &a->view;
  *v = *k;
  v->params = kr_xcalloc(k->n_params + 1, sizeof *v->params);
  for (size_t i = 0; i < k->n_params; i++) {
    v->params[i] = k->params[i];
    v->params[i].type = first->params[i].type;
  }
  v->types = first->types;
  v->n_types = first->n_types;
  v->uses = first->uses;
  v->n_uses = first->n_uses;
  v->body_names = NULL;
  v->n_body_names = 0;
  for (size_t i = 0; i <= a->n_inst; i++) {
    const struct kr_pkernel *from = i ? &a->inst[i - 1]->kernel : k;
    v->uses_grid_dim |= from->uses_grid_dim;
    v->uses_grid_sync |= from->uses_grid_sync;
    v->uses_barrier |= from->uses_barrier;
    v->uses_dynamic_shared |= from->uses_dynamic_shared;
    v->uses_clock |= from->uses_clock;
    v->uses_asm |= from->uses_asm;
    v->body_names = kr_xreallocarray(v->body_names, v->n_body_names + from->n_body_names + 1,
                                     sizeof *v->body_names);
    for (size_t n = 0; n < from->n_body_names; n++)
      v->body_names[v->n_body_names++] = from->body_names[n];
  }
  a->k = v;
}

bool asm_templates(struct assembly *a)
{
  const struct kr_pkernel *k = a->k;
  if (!k->is_template)
    return !a->m->n_instantiates ||
           asm_fail(a, a->m->instantiates[0].at, "`%s` is no template, so it has no arguments",
                    k->name);
  struct lists l = {.a = a, .m = a->m, .k = k};
  bool ok = lists_make(&l);
  a->inst = kr_xcalloc(l.n + 1, sizeof *a->inst);
  for (size_t i = 0; i < l.n && ok; i++) {
    const struct kr_pinstance *in = kr_unit_instance(a->unit, k->at.offset, l.items[i]);
    if (!in || !in->known) {
      ok = asm_fail(a, l.at[i], "`%s<%s>` cannot be: %s", k->name, l.items[i],
                    in && in->why ? in->why : "the compiler said nothing of it");
      continue;
    }
    bool again = false;
    for (size_t j = 0; j < a->n_inst; j++)
      again = again || inst_equal(a->inst[j], in);
    if (again)
      continue;
    ok = !a->n_inst || inst_alike(a, a->inst[0], in, l.at[i]);
    a->inst[a->n_inst++] = in;
  }
  for (size_t i = 0; i < k->n_launched && ok; i++)
    ok = inst_covered(a, &k->launched[i]);
  lists_release(&l);
  if (ok)
    inst_view(a);
  return ok;
}

void asm_templates_release(struct assembly *a)
{
  if (a->k == &a->view) {
    free(a->view.params);
    free(a->view.body_names);
  }
  free(a->inst);
}

bool asm_site_is_of(const struct assembly *a, size_t site, size_t inst)
{
  if (!a->n_inst)
    return true;
  for (size_t i = 0; i < a->k->n_launched; i++)
    for (size_t s = 0; s < a->k->launched[i].n_sites; s++)
      if (a->k->launched[i].sites[s] == site && asm_same_arguments(a->inst[inst], &a->k->launched[i]))
        return true;
  return false;
}

// --- the document ---

void asm_types_label(const struct assembly *a, size_t inst, struct kr_bytes *out)
{
  for (size_t i = 0; i < a->k->n_tparams; i++)
    if (a->k->tparams[i].kind == KR_TKIND_TYPE)
      kr_bytes_addf(out, "%s%s%s%s", out->len ? ", " : "", a->k->tparams[i].name,
                    a->k->tparams[i].name[0] ? " = " : "", a->inst[inst]->arguments[i]);
}

static bool inst_has_own_types(const struct assembly *a)
{
  for (size_t i = 1; i < a->n_inst; i++)
    for (size_t p = 0; p < a->k->n_params; p++) {
      const struct kr_ptype *s = &a->inst[0]->kernel.params[p].type,
                            *t = &a->inst[i]->kernel.params[p].type;
      if (strcmp(s->name, t->name) || s->size != t->size)
        return true;
    }
  return false;
}

void asm_take_instantiations(struct assembly *a)
{
  struct kr_contract *c = a->c;
  bool own = inst_has_own_types(a);
  c->instantiations = kr_xcalloc(a->n_inst + 1, sizeof *c->instantiations);
  for (size_t i = 0; i < a->n_inst; i++) {
    const struct kr_pinstance *in = a->inst[i];
    struct kr_instantiation *out = &c->instantiations[c->n_instantiations++];
    struct kr_bytes text, types;
    kr_bytes_init(&text, 1 << 16);
    kr_bytes_init(&types, 1 << 16);
    inst_text(in, &text);
    asm_types_label(a, i, &types);
    out->arguments = kr_bytes_take(&text);
    out->types = kr_bytes_take(&types);
    kr_bytes_release(&text);
    kr_bytes_release(&types);
    out->name_expression = kr_xstrdup(in->kernel.name_expression);
    if (own)
      out->params = asm_params(c, &in->kernel, in->kernel.params);
    // Those that the contract has not, since they hang on the arguments.
    out->constants = kr_xcalloc(in->n_constants + 1, sizeof *out->constants);
    for (size_t n = 0; n < in->n_constants; n++) {
      const struct kr_pconstant *p = &in->constants[n];
      bool shared = false;
      for (size_t s = 0; s < c->n_constants; s++)
        shared = shared || !strcmp(c->constants[s].name, p->name);
      if (p->known && !shared)
        out->constants[out->n_constants++] = (struct kr_constant){
            kr_xstrdup(p->name), p->is_real ? kr_value_real(p->d) : kr_value_int(p->i)};
    }
  }
}
