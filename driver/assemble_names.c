#include "assemble_internal.h"

#include <stdlib.h>
#include <string.h>

#include "../evaluator/base/lex.h"
#include "../evaluator/base/mem.h"

// Which names mean what. A name of an expression is looked up among let and
// fix, scalar parameters, the geometry, `sms` and `warp`, and then among the
// program's constants, which kevin-parse evaluated at the kernel.

const struct asm_leaf *asm_leaf_find(const struct assembly *a, const char *path)
{
  for (size_t i = 0; i < a->n_leaves; i++)
    if (!strcmp(a->leaves[i].path, path))
      return &a->leaves[i];
  return NULL;
}

const struct kr_mbinding *asm_binding_find(const struct kr_marker *m, const char *path,
                                           size_t *index)
{
  for (size_t i = 0; i < m->n_bindings; i++)
    for (size_t j = 0; j < m->bindings[i].n_paths; j++)
      if (!strcmp(m->bindings[i].paths[j], path)) {
        if (index)
          *index = i;
        return &m->bindings[i];
      }
  return NULL;
}

bool asm_axis_name(const char *name, bool *grid, int *which)
{
  *grid = !strncmp(name, "grid.", 5);
  if (!*grid && strncmp(name, "block.", 6))
    return false;
  const char *axis = name + (*grid ? 5 : 6);
  *which = axis[0] - 'x';
  return axis[0] >= 'x' && axis[0] <= 'z' && !axis[1];
}

bool asm_index_name(const char *name)
{
  return name[0] == 'i' && (!name[1] || (name[1] >= '0' && name[1] <= '7' && !name[2]));
}

const char *asm_type_name(const struct asm_leaf *leaf)
{
  static const char *const names[] = {
      [KR_SCALAR_BOOL] = "bool",        [KR_SCALAR_I8] = "char",
      [KR_SCALAR_U8] = "unsigned char", [KR_SCALAR_I16] = "short",
      [KR_SCALAR_U16] = "unsigned short", [KR_SCALAR_I32] = "int",
      [KR_SCALAR_U32] = "unsigned",     [KR_SCALAR_I64] = "long long",
      [KR_SCALAR_U64] = "unsigned long long", [KR_SCALAR_F16] = "half",
      [KR_SCALAR_BF16] = "bfloat16",    [KR_SCALAR_F32] = "float",
      [KR_SCALAR_F64] = "double",       [KR_SCALAR_POINTER] = "pointer",
      [KR_SCALAR_VOID] = "void",        [KR_SCALAR_OPAQUE] = "object"};
  return leaf->leaf->path[0] ? names[leaf->leaf->kind] : leaf->param->type_name;
}

// --- walking expressions ---

static void names_of(const struct kr_mexpr *e,
                     void (*visit)(void *arg, const struct kr_expr *name, bool is_call), void *arg)
{
  if (e->e)
    kr_expr_names(e->e, visit, arg);
}

// Every expression of a marker, in the order of the text's meaning.
static void marker_names(const struct kr_marker *m,
                         void (*visit)(void *arg, const struct kr_expr *name, bool is_call),
                         void *arg)
{
  for (size_t i = 0; i < m->n_bindings; i++)
    for (size_t j = 0; j < m->bindings[i].n_rows * m->bindings[i].n_paths; j++)
      names_of(&m->bindings[i].values[j], visit, arg);
  for (size_t i = 0; i < 3; i++) {
    names_of(&m->block[i], visit, arg);
    names_of(&m->grid[i], visit, arg);
  }
  names_of(&m->shared, visit, arg);
  names_of(&m->min_speedup, visit, arg);
  for (size_t i = 0; i < m->n_requires; i++)
    names_of(&m->requires_[i], visit, arg);
  for (size_t i = 0; i < m->n_sections; i++) {
    const struct kr_msection *s = &m->sections[i];
    for (size_t j = 0; j < s->n_ranges; j++) {
      names_of(&s->ranges[j].start, visit, arg);
      names_of(&s->ranges[j].length, visit, arg);
    }
    for (size_t j = 0; j < s->n_fills; j++)
      names_of(&s->fills[j].expr, visit, arg);
  }
  for (size_t i = 0; i < m->n_compares; i++) {
    names_of(&m->compares[i].rtol, visit, arg);
    names_of(&m->compares[i].atol, visit, arg);
  }
  for (size_t i = 0; i < m->n_aligns; i++)
    names_of(&m->aligns[i].bytes, visit, arg);
}

// --- what kevin-parse is asked ---

struct want {
  const struct kr_marker *m;
  const struct kr_pkernel *k;
  struct kr_parse_wants *out;
};

static void want_add(struct want *w, char *name)
{
  for (size_t i = 0; i < w->out->n_names; i++)
    if (!strcmp(w->out->names[i], name)) {
      free(name);
      return;
    }
  w->out->names =
      kr_xreallocarray(w->out->names, w->out->n_names + 1, sizeof *w->out->names);
  w->out->names[w->out->n_names++] = name;
}

static bool want_is_parameter(const struct kr_pkernel *k, const char *name)
{
  for (size_t i = 0; k && i < k->n_params; i++) {
    size_t n = strlen(k->params[i].name);
    if (n && !strncmp(name, k->params[i].name, n) && (!name[n] || name[n] == '.'))
      return true;
  }
  return false;
}

static void want_visit(void *arg, const struct kr_expr *e, bool is_call)
{
  struct want *w = arg;
  bool grid;
  int which;
  if (is_call)
    return;
  if (e->kind == KR_EXPR_SIZEOF) {
    want_add(w, kr_xasprintf("sizeof(%s)", e->name));
    return;
  }
  if (asm_binding_find(w->m, e->name, NULL) || want_is_parameter(w->k, e->name) ||
      asm_axis_name(e->name, &grid, &which) || asm_index_name(e->name) ||
      !strcmp(e->name, "sms") || !strcmp(e->name, "warp") || !strcmp(e->name, "resident"))
    return;
  for (size_t i = 0; w->k && i < w->k->n_tparams; i++)
    if (!strcmp(w->k->tparams[i].name, e->name))
      return; // its values are the cases' own
  want_add(w, kr_xstrdup(e->name));
}

static void want_text(struct want *w, const char *text)
{
  struct kr_expr_error error;
  struct kr_expr *e = text ? kr_expr_parse(text, strlen(text), &error) : NULL;
  if (e)
    kr_expr_names(e, want_visit, w);
  kr_expr_free(e);
}

void assemble_wants(const struct kr_marker *marker, const struct kr_pkernel *kernel,
                    struct kr_parse_wants *out)
{
  *out = (struct kr_parse_wants){.kernel_offset = kernel ? kernel->at.offset : marker->target};
  struct want w = {marker, kernel, out};
  marker_names(marker, want_visit, &w);
  for (size_t i = 0; kernel && i < kernel->n_sites; i++) {
    for (size_t d = 0; d < 3; d++) {
      want_text(&w, kernel->sites[i].grid[d]);
      want_text(&w, kernel->sites[i].block[d]);
    }
    want_text(&w, kernel->sites[i].shared);
  }
  if (kernel)
    asm_want_instances(marker, kernel, out);
}

void assemble_wants_release(struct kr_parse_wants *wants)
{
  for (size_t i = 0; i < wants->n_names; i++)
    free(wants->names[i]);
  free(wants->names);
  for (size_t i = 0; i < wants->n_instances; i++)
    free(wants->instances[i]);
  free(wants->instances);
  *wants = (struct kr_parse_wants){0};
}

// --- checking ---

struct check {
  struct assembly *a;
  const struct kr_mexpr *e;
  unsigned may;
  size_t bindings;
  bool ok;
};

// A name in force that is spelt nearly so, for "did you mean".
static const char *check_near(const struct check *c, const char *name)
{
  size_t len = strlen(name);
  const char *best = NULL;
  for (size_t i = 0; i < c->a->k->n_tparams; i++)
    if (c->a->k->tparams[i].name[0] && !strcasecmp(c->a->k->tparams[i].name, name))
      best = c->a->k->tparams[i].name;
  for (size_t i = 0; i < c->a->n_leaves; i++)
    if (c->a->leaves[i].leaf->kind != KR_SCALAR_POINTER &&
        !strcasecmp(c->a->leaves[i].path, name))
      best = c->a->leaves[i].path;
  for (size_t i = 0; i < c->a->m->n_bindings; i++)
    for (size_t j = 0; j < c->a->m->bindings[i].n_paths; j++)
      if (!strcasecmp(c->a->m->bindings[i].paths[j], name))
        best = c->a->m->bindings[i].paths[j];
  // A member without its struct: `rows` for `s.rows`.
  for (size_t i = 0; i < c->a->n_leaves && !best; i++) {
    const char *path = c->a->leaves[i].path;
    size_t n = strlen(path);
    if (n > len + 1 && path[n - len - 1] == '.' && !strcmp(path + n - len, name))
      best = path;
  }
  return best;
}

static void check_visit(void *arg, const struct kr_expr *e, bool is_call)
{
  struct check *c = arg;
  struct assembly *a = c->a;
  bool grid, number;
  int which;
  size_t index;
  if (is_call)
    return; // the grammar saw to calls
  struct kr_span at = kr_marker_expr_place(a->r->src, c->e, e->offset, e->length);
  char *wanted = e->kind == KR_EXPR_SIZEOF ? kr_xasprintf("sizeof(%s)", e->name)
                                           : kr_xstrdup(e->name);
  const struct asm_leaf *leaf = e->kind == KR_EXPR_NAME ? asm_leaf_find(a, e->name) : NULL;
  const struct kr_pconstant *constant;
  if (e->kind == KR_EXPR_NAME && asm_binding_find(a->m, e->name, &index)) {
    if (index >= c->bindings)
      c->ok = asm_fail(a, at, "`%s` gets its value only later; put that binding first", e->name);
  } else if (leaf) {
    if (leaf->leaf->kind == KR_SCALAR_POINTER)
      c->ok = asm_fail(a, at, "`%s` is a pointer; an expression cannot use it", e->name);
  } else if (e->kind == KR_EXPR_NAME && asm_is_tparam(a, e->name, &number)) {
    if (!number)
      c->ok = asm_fail(a, at, "`%s` is a type; it may stand in sizeof(%s) alone", e->name, e->name);
  } else if (e->kind == KR_EXPR_NAME && asm_axis_name(e->name, &grid, &which)) {
    if (!(c->may & (grid ? ASM_MAY_GRID : ASM_MAY_BLOCK)))
      c->ok = asm_fail(a, at, "`%s` has no value here; `block` may not use `grid`", e->name);
  } else if (e->kind == KR_EXPR_NAME && (c->may & ASM_MAY_INDEX) && asm_index_name(e->name)) {
    // the element's number
  } else if (e->kind == KR_EXPR_NAME && (!strcmp(e->name, "sms") || !strcmp(e->name, "warp"))) {
    // of the device
  } else if (e->kind == KR_EXPR_NAME && !strcmp(e->name, "resident")) {
    c->ok = asm_fail(a, at, "`resident` is not there yet");
  } else if (e->kind == KR_EXPR_NAME && (!strcmp(e->name, "block") || !strcmp(e->name, "grid"))) {
    c->ok = asm_fail(a, at, "`%s` has three parts: `%s.x`, `%s.y`, `%s.z`", e->name, e->name,
                     e->name, e->name);
  } else if ((constant = asm_constant_all(a, wanted)) && constant->known) {
    // of the program
  } else if (e->kind == KR_EXPR_SIZEOF) {
    c->ok = asm_fail(a, at, "`%s` is not known at the kernel%s%s%s", wanted,
                     constant && constant->why ? " (clang says: " : "",
                     constant && constant->why ? constant->why : "",
                     constant && constant->why ? ")" : "");
  } else {
    const char *near = check_near(c, e->name);
    c->ok = asm_fail(a, at,
                     "`%s` is not known at the kernel as a name of the marker or a constant%s%s%s"
                     "%s%s%s",
                     e->name, near ? "; did you mean `" : "", near ? near : "", near ? "`?" : "",
                     constant && constant->why ? " (clang says: " : "",
                     constant && constant->why ? constant->why : "",
                     constant && constant->why ? ")" : "");
    if (near)
      kr_diags_fix(a->diags, near);
  }
  free(wanted);
}

bool asm_check_names(struct assembly *a, const struct kr_mexpr *e, unsigned may, size_t bindings)
{
  struct check c = {a, e, may, bindings, true};
  names_of(e, check_visit, &c);
  return c.ok;
}

struct used {
  const char *name;
  bool found;
};

static void used_visit(void *arg, const struct kr_expr *e, bool is_call)
{
  struct used *u = arg;
  u->found = u->found || (!is_call && e->kind == KR_EXPR_NAME && !strcmp(e->name, u->name));
}

bool asm_name_is_used(const struct assembly *a, const char *name)
{
  struct used u = {name, false};
  marker_names(a->m, used_visit, &u);
  for (size_t d = 0; d < 3; d++) {
    if (a->grid[d].e)
      kr_expr_names(a->grid[d].e, used_visit, &u);
    if (a->block[d].e)
      kr_expr_names(a->block[d].e, used_visit, &u);
  }
  if (a->shared.e)
    kr_expr_names(a->shared.e, used_visit, &u);
  return u.found;
}

bool asm_check_all_names(struct assembly *a)
{
  const struct kr_marker *m = a->m;
  const unsigned both = ASM_MAY_BLOCK | ASM_MAY_GRID;
  size_t all = m->n_bindings;
  bool ok = true;
  for (size_t i = 0; i < m->n_bindings; i++) {
    const struct kr_mbinding *b = &m->bindings[i];
    for (size_t j = 0; j < b->n_rows * b->n_paths; j++)
      ok &= asm_check_names(a, &b->values[j], both, i);
  }
  for (size_t i = 0; i < 3; i++) {
    ok &= asm_check_names(a, &m->block[i], ASM_MAY_BLOCK, all);
    ok &= asm_check_names(a, &m->grid[i], both, all);
  }
  ok &= asm_check_names(a, &m->shared, both, all);
  ok &= asm_check_names(a, &m->min_speedup, 0, all);
  for (size_t i = 0; i < m->n_requires; i++)
    ok &= asm_check_names(a, &m->requires_[i], both, all);
  for (size_t i = 0; i < m->n_sections; i++) {
    const struct kr_msection *s = &m->sections[i];
    for (size_t j = 0; j < s->n_ranges; j++) {
      ok &= asm_check_names(a, &s->ranges[j].start, both, all);
      ok &= asm_check_names(a, &s->ranges[j].length, both, all);
    }
    for (size_t j = 0; j < s->n_fills; j++)
      ok &= asm_check_names(a, &s->fills[j].expr,
                            both | (s->fills[j].kind == KR_FILL_EXPR ? ASM_MAY_INDEX : 0), all);
  }
  for (size_t i = 0; i < m->n_compares; i++) {
    ok &= asm_check_names(a, &m->compares[i].rtol, both, all);
    ok &= asm_check_names(a, &m->compares[i].atol, both, all);
  }
  for (size_t i = 0; i < m->n_aligns; i++)
    ok &= asm_check_names(a, &m->aligns[i].bytes, both, all);
  return ok;
}

// --- markers and kernels ---

static bool asm_says_global(const char *text, size_t len)
{
  struct kr_lexer lx;
  kr_lexer_init(&lx, text, len);
  for (;;) {
    struct kr_token tok = kr_lexer_next_code(&lx);
    if (tok.kind == KR_TOK_END)
      return false;
    if (kr_token_is(text, tok, "__global__"))
      return true;
  }
}

// A kernel by its text that the compiler did not see: behind an error that it could
// not read past, or in a branch that `#if` leaves out.
static void asm_unseen(const struct kr_source *src, const struct kr_unit *unit,
                       const struct kr_marker *m, struct kr_diags *diags)
{
  const struct kr_diag *why = NULL;
  for (size_t i = 0; i < unit->n_errors && !why; i++)
    if (unit->errors[i].severity == KR_SEV_ERROR)
      why = &unit->errors[i];
  unsigned line, col;
  if (!why)
    kr_diags_add(diags, KR_SEV_WARNING, m->at.offset, 5,
                 "the kernel below is not compiled here; does an `#if` leave it out?");
  else if (why->offset == SIZE_MAX)
    kr_diags_add(diags, KR_SEV_ERROR, m->at.offset, 5,
                 "the kernel below is not seen, because a file that is included does not parse (%s)",
                 why->text);
  else {
    kr_source_place(src, why->offset, &line, &col);
    kr_diags_add(diags, KR_SEV_ERROR, m->at.offset, 5,
                 "the kernel below is not seen, because line %u does not parse (%s)", line,
                 why->text);
  }
}

size_t assemble_attach(const struct kr_source *src, const struct kr_markers *markers,
                       const struct kr_unit *unit, struct kr_diags *diags)
{
  size_t loose = 0;
  for (size_t i = 0; i < markers->n; i++) {
    const struct kr_marker *m = &markers->items[i];
    if ((m->verb != KR_MARKER_OPTIMIZE && m->verb != KR_MARKER_OFF) || m->target == SIZE_MAX)
      continue;
    bool found = false;
    for (size_t j = 0; j < unit->n_kernels; j++)
      found = found || unit->kernels[j].at.offset == m->target;
    if (found)
      continue;
    loose++;
    size_t begin, end, stop;
    unsigned line, col;
    kr_source_place(src, m->target, &line, &col);
    kr_source_line(src, line, &begin, &end);
    begin = m->target;
    for (stop = begin; stop < end && src->data[stop] != '{' && src->data[stop] != ';' &&
                       src->data[stop] != '(';)
      stop++;
    bool call = stop < end && src->data[stop] == '(';
    if (asm_says_global(src->data + begin, stop - begin)) {
      asm_unseen(src, unit, m, diags);
      continue;
    }
    while (stop > begin && (src->data[stop - 1] == ' ' || src->data[stop - 1] == '\t'))
      stop--;
    kr_diags_add(diags, KR_SEV_WARNING, m->at.offset, 5,
                 "marker is not attached: next comes `%.*s%s`, not a kernel",
                 (int)(stop - begin > 80 ? 80 : stop - begin), src->data + begin,
                 call ? "(…)" : "");
  }
  return loose;
}
