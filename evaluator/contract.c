#include "contract.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "json.h"

// The document and the struct have the same members with the same names (but
// `requires_`, which is "requires"). Reading refuses unknown members, so that a
// misspelt one is not a default in silence, and checks what everything later
// relies on: leaves lie inside their type, sections name pointers, fillings are
// one a section. What depends on numbers is instance.c's to check.

enum { MAX_LIST = 4096, MAX_TYPE_BYTES = 1 << 20, MAX_DIMS = 8 };

static const char *const kind_names[] = {"bool", "i8",  "u8",  "i16",  "u16", "i32", "u32", "i64",
                                         "u64",  "f16", "bf16", "f32", "f64", "ptr", NULL};
static const size_t kind_sizes[] = {1, 1, 1, 2, 2, 4, 4, 8, 8, 2, 2, 4, 8, 8};
static const char *const role_names[] = {"in", "inout", "out", NULL};
static const char *const compare_names[] = {"default", "exact", "tol", NULL};
static const char *const fill_names[] = {"default", "expr", "null", "alias", NULL};

size_t kr_kind_size(enum kr_kind kind)
{
  return kind_sizes[kind];
}

const char *kr_kind_name(enum kr_kind kind)
{
  return kind_names[kind];
}

bool kr_kind_is_float(enum kr_kind kind)
{
  return kind == KR_F16 || kind == KR_BF16 || kind == KR_F32 || kind == KR_F64;
}

// --- release ---

static void strings_release(char **items, size_t n)
{
  for (size_t i = 0; i < n; i++)
    free(items[i]);
  free(items);
}

static void leaves_release(struct kr_leaf *leaves, size_t n)
{
  for (size_t i = 0; i < n; i++)
    free(leaves[i].path);
  free(leaves);
}

static void params_release(struct kr_param *params, size_t n)
{
  for (size_t i = 0; params && i < n; i++) {
    free(params[i].name);
    free(params[i].type_name);
    leaves_release(params[i].leaves, params[i].n_leaves);
  }
  free(params);
}

static void constants_release(struct kr_constant *constants, size_t n)
{
  for (size_t i = 0; i < n; i++)
    free(constants[i].name);
  free(constants);
}

static void geometry_release(struct kr_geometry *g)
{
  for (int i = 0; i < 3; i++) {
    free(g->grid[i]);
    free(g->block[i]);
  }
  free(g->shared);
}

static void section_release(struct kr_section *s)
{
  free(s->path);
  free(s->start);
  strings_release(s->dims, s->n_dims);
  free(s->rtol);
  free(s->atol);
  free(s->align);
}

static void case_release(struct kr_case *k, size_t n_fillings)
{
  free(k->label);
  for (size_t i = 0; i < k->n_bindings; i++) {
    free(k->bindings[i].path);
    free(k->bindings[i].expr);
  }
  free(k->bindings);
  for (size_t i = 0; k->fillings && i < n_fillings; i++) {
    free(k->fillings[i].expr);
    free(k->fillings[i].alias);
  }
  free(k->fillings);
}

void kr_contract_release(struct kr_contract *c)
{
  free(c->kernel);
  free(c->file);
  free(c->name_expression);
  free(c->signature);
  free(c->before);
  free(c->code);
  free(c->after);
  strings_release(c->flags, c->n_flags);
  strings_release(c->archs, c->n_archs);
  for (size_t i = 0; i < c->n_types; i++) {
    free(c->types[i].name);
    leaves_release(c->types[i].leaves, c->types[i].n_leaves);
  }
  free(c->types);
  params_release(c->params, c->n_params);
  constants_release(c->constants, c->n_constants);
  for (size_t i = 0; i < c->n_instantiations; i++) {
    struct kr_instantiation *in = &c->instantiations[i];
    free(in->arguments);
    free(in->name_expression);
    free(in->types);
    constants_release(in->constants, in->n_constants);
    params_release(in->params, c->n_params);
  }
  free(c->instantiations);
  for (size_t i = 0; i < c->n_cases; i++)
    case_release(&c->cases[i], c->n_sections);
  free(c->cases);
  for (size_t i = 0; i < c->n_sections; i++)
    section_release(&c->sections[i]);
  free(c->sections);
  strings_release(c->requires_, c->n_requires);
  geometry_release(&c->geometry);
  free(c->tunable_why);
  memset(c, 0, sizeof *c);
}

void kr_candidate_release(struct kr_candidate *c)
{
  free(c->code);
  geometry_release(&c->geometry);
  memset(c, 0, sizeof *c);
}

// --- writing ---

static void put_strings(struct json_writer *w, const char *key, char *const *items, size_t n)
{
  json_key(w, key);
  json_open(w, '[');
  for (size_t i = 0; i < n; i++)
    json_put_string(w, items[i]);
  json_close(w, ']');
}

static void put_leaves(struct json_writer *w, const struct kr_leaf *leaves, size_t n)
{
  json_key(w, "leaves");
  json_open(w, '[');
  for (size_t i = 0; i < n; i++) {
    json_open(w, '{');
    json_string(w, "path", leaves[i].path);
    json_number(w, "offset", (double)leaves[i].offset);
    json_string(w, "kind", kr_kind_name(leaves[i].kind));
    if (leaves[i].kind == KR_POINTER) {
      json_number(w, "type", (double)leaves[i].type);
      json_bool(w, "const", leaves[i].is_const);
    }
    json_close(w, '}');
  }
  json_close(w, ']');
}

void json_put_geometry(struct json_writer *w, const struct kr_geometry *g)
{
  json_open(w, '{');
  put_strings(w, "grid", g->grid, 3);
  put_strings(w, "block", g->block, 3);
  json_string(w, "shared", g->shared);
  json_bool(w, "cooperative", g->cooperative);
  json_close(w, '}');
}

static void put_section(struct json_writer *w, const struct kr_section *s)
{
  json_open(w, '{');
  json_string(w, "path", s->path);
  json_string(w, "role", role_names[s->role]);
  json_string(w, "start", s->start);
  put_strings(w, "dims", s->dims, s->n_dims);
  json_string(w, "compare", compare_names[s->compare]);
  json_string(w, "rtol", s->rtol);
  json_string(w, "atol", s->atol);
  json_string(w, "align", s->align);
  json_close(w, '}');
}

static void put_params(struct json_writer *w, const struct kr_param *params, size_t n)
{
  json_key(w, "params");
  json_open(w, '[');
  for (size_t i = 0; i < n; i++) {
    json_open(w, '{');
    json_string(w, "name", params[i].name);
    json_string(w, "type_name", params[i].type_name);
    json_number(w, "size", (double)params[i].size);
    json_number(w, "align", (double)params[i].align);
    put_leaves(w, params[i].leaves, params[i].n_leaves);
    json_close(w, '}');
  }
  json_close(w, ']');
}

static void put_constants(struct json_writer *w, const struct kr_constant *constants, size_t n)
{
  json_key(w, "constants");
  json_open(w, '[');
  for (size_t i = 0; i < n; i++) {
    json_open(w, '{');
    json_string(w, "name", constants[i].name);
    if (constants[i].value.is_real)
      json_number(w, "real", constants[i].value.d);
    else
      json_int64(w, "int", constants[i].value.i);
    json_close(w, '}');
  }
  json_close(w, ']');
}

static void put_instantiations(struct json_writer *w, const struct kr_contract *c)
{
  json_key(w, "instantiations");
  json_open(w, '[');
  for (size_t i = 0; i < c->n_instantiations; i++) {
    const struct kr_instantiation *in = &c->instantiations[i];
    json_open(w, '{');
    json_string(w, "arguments", in->arguments);
    json_string(w, "name_expression", in->name_expression);
    json_string(w, "types", in->types);
    put_constants(w, in->constants, in->n_constants);
    if (in->params)
      put_params(w, in->params, c->n_params);
    json_close(w, '}');
  }
  json_close(w, ']');
}

static void put_case(struct json_writer *w, const struct kr_case *k, size_t n_fillings,
                     bool instantiated)
{
  json_open(w, '{');
  json_string(w, "label", k->label);
  if (instantiated)
    json_number(w, "instantiation", (double)k->instantiation);
  json_key(w, "bindings");
  json_open(w, '[');
  for (size_t i = 0; i < k->n_bindings; i++) {
    json_open(w, '{');
    json_string(w, "path", k->bindings[i].path);
    json_string(w, "expr", k->bindings[i].expr);
    json_bool(w, "fixed", k->bindings[i].fixed);
    json_bool(w, "drawn", k->bindings[i].drawn);
    json_close(w, '}');
  }
  json_close(w, ']');
  json_key(w, "fillings");
  json_open(w, '[');
  for (size_t i = 0; i < n_fillings; i++) {
    json_open(w, '{');
    json_string(w, "kind", fill_names[k->fillings[i].kind]);
    json_string(w, "expr", k->fillings[i].expr);
    json_string(w, "alias", k->fillings[i].alias);
    json_close(w, '}');
  }
  json_close(w, ']');
  json_close(w, '}');
}

// The slice's text with its `#line` directives bare: they say where the kernel
// stands, and a kernel that moved is the same kernel.
static char *without_lines(const char *text)
{
  if (!text)
    return NULL;
  struct kr_bytes out;
  kr_bytes_init(&out, SIZE_MAX / 2);
  for (const char *p = text; *p;) {
    size_t len = strcspn(p, "\n");
    const char *q = p + strspn(p, " \t");
    bool directive = *q == '#';
    if (directive) {
      q += 1 + strspn(q + 1, " \t");
      directive = !strncmp(q, "line", 4) && (q[4] == ' ' || q[4] == '\t');
    }
    if (directive)
      kr_bytes_adds(&out, "#line");
    else
      kr_bytes_add(&out, p, len);
    p += len;
    if (*p)
      kr_bytes_addc(&out, *p++);
  }
  char *result = kr_bytes_take(&out);
  kr_bytes_release(&out);
  return result;
}

static void put_slice(struct json_writer *w, const char *key, const char *text, bool placeless)
{
  char *bare = placeless ? without_lines(text) : NULL;
  json_string(w, key, placeless ? bare : text);
  free(bare);
}

static void put_contract(struct json_writer *w, const struct kr_contract *c, bool placeless)
{
  json_open(w, '{');
  json_number(w, "schema", KR_CONTRACT_SCHEMA);
  json_string(w, "kernel", c->kernel);
  if (!placeless) {
    json_string(w, "file", c->file);
    json_number(w, "line", c->line);
  }
  json_string(w, "name_expression", c->name_expression);
  json_string(w, "signature", c->signature);
  put_slice(w, "before", c->before, placeless);
  put_slice(w, "code", c->code, placeless);
  put_slice(w, "after", c->after, placeless);
  put_strings(w, "flags", c->flags, c->n_flags);
  put_strings(w, "archs", c->archs, c->n_archs);

  json_key(w, "types");
  json_open(w, '[');
  for (size_t i = 0; i < c->n_types; i++) {
    json_open(w, '{');
    json_string(w, "name", c->types[i].name);
    json_number(w, "size", (double)c->types[i].size);
    json_number(w, "align", (double)c->types[i].align);
    put_leaves(w, c->types[i].leaves, c->types[i].n_leaves);
    json_close(w, '}');
  }
  json_close(w, ']');

  put_params(w, c->params, c->n_params);
  put_constants(w, c->constants, c->n_constants);
  if (c->n_instantiations)
    put_instantiations(w, c);

  json_key(w, "sections");
  json_open(w, '[');
  for (size_t i = 0; i < c->n_sections; i++)
    put_section(w, &c->sections[i]);
  json_close(w, ']');
  put_strings(w, "requires", c->requires_, c->n_requires);
  json_key(w, "cases");
  json_open(w, '[');
  for (size_t i = 0; i < c->n_cases; i++)
    put_case(w, &c->cases[i], c->n_sections, c->n_instantiations > 0);
  json_close(w, ']');
  json_key(w, "geometry");
  json_put_geometry(w, &c->geometry);
  json_bool(w, "tunable", c->tunable);
  json_string(w, "tunable_why", c->tunable_why);
  json_number(w, "min_speedup", c->min_speedup);
  json_int64(w, "shared_limit", c->shared_limit);
  json_close(w, '}');
}

void kr_contract_to_json(const struct kr_contract *c, struct kr_bytes *out)
{
  struct json_writer w = {out, false};
  put_contract(&w, c, false);
}

struct kr_hash kr_contract_hash(const struct kr_contract *c)
{
  struct kr_bytes text;
  kr_bytes_init(&text, SIZE_MAX / 2);
  struct json_writer w = {&text, false};
  put_contract(&w, c, true);
  struct kr_hash h = kr_hash_of(text.data, text.len);
  kr_bytes_release(&text);
  return h;
}

// --- reading ---

static struct kr_leaf *get_leaves(struct json_reader *r, const cJSON *obj, const char *what,
                                  size_t size, size_t n_types, size_t *n)
{
  size_t count, i = 0;
  const cJSON *item = json_get_array(r, obj, "leaves", MAX_LIST, &count);
  struct kr_leaf *leaves = count ? kr_xcalloc(count, sizeof *leaves) : NULL;
  for (; item; item = item->next, i++) {
    struct kr_leaf *leaf = &leaves[i];
    json_expect_keys(r, item, "a leaf", "path offset kind type const");
    leaf->path = json_get_string(r, item, "path", false);
    leaf->offset = json_get_size(r, item, "offset", 0, MAX_TYPE_BYTES);
    int kind = json_get_name(r, item, "kind", kind_names, -1);
    if (kind < 0)
      json_fail(r, "a leaf of %s has no kind", what);
    else
      leaf->kind = (enum kr_kind)kind;
    if (kind == KR_POINTER) {
      leaf->type = json_get_size(r, item, "type", n_types, MAX_LIST);
      leaf->is_const = json_get_bool(r, item, "const", false);
      if (leaf->type >= n_types)
        json_fail(r, "pointer `%s` in %s points to no type of the contract", leaf->path, what);
    }
    if (!r->failed && leaf->offset + kr_kind_size(leaf->kind) > size)
      json_fail(r, "leaf `%s` lies outside %s of %zu bytes", leaf->path, what, size);
  }
  *n = count;
  return leaves;
}

static size_t get_align(struct json_reader *r, const cJSON *obj, const char *what)
{
  size_t align = json_get_size(r, obj, "align", 1, 4096);
  if (!align || align & (align - 1))
    json_fail(r, "the alignment of %s is no power of two", what);
  return align;
}

static void get_types(struct json_reader *r, const cJSON *root, struct kr_contract *c)
{
  size_t n;
  const cJSON *item = json_get_array(r, root, "types", MAX_LIST, &n);
  c->types = n ? kr_xcalloc(n, sizeof *c->types) : NULL;
  c->n_types = n;
  for (struct kr_type *t = c->types; item; item = item->next, t++) {
    json_expect_keys(r, item, "a type", "name size align leaves");
    t->name = json_get_string(r, item, "name", false);
    t->size = json_get_size(r, item, "size", 0, MAX_TYPE_BYTES);
    if (!t->size)
      json_fail(r, "type `%s` has no size", t->name ? t->name : "");
    t->align = get_align(r, item, "a type");
    t->leaves = get_leaves(r, item, "a type", t->size, n, &t->n_leaves);
  }
}

static struct kr_param *get_params(struct json_reader *r, const cJSON *obj, size_t n_types,
                                   size_t *n)
{
  const cJSON *item = json_get_array(r, obj, "params", 1024, n);
  struct kr_param *params = *n ? kr_xcalloc(*n, sizeof *params) : NULL;
  for (struct kr_param *p = params; item; item = item->next, p++) {
    json_expect_keys(r, item, "a parameter", "name type_name size align leaves");
    p->name = json_get_string(r, item, "name", false);
    p->type_name = json_get_string(r, item, "type_name", false);
    p->size = json_get_size(r, item, "size", 0, MAX_TYPE_BYTES);
    if (!p->size)
      json_fail(r, "parameter `%s` has no size", p->name ? p->name : "");
    p->align = get_align(r, item, "a parameter");
    p->leaves = get_leaves(r, item, "a parameter", p->size, n_types, &p->n_leaves);
  }
  return params;
}

static struct kr_constant *get_constants(struct json_reader *r, const cJSON *obj, size_t *n)
{
  const cJSON *item = json_get_array(r, obj, "constants", MAX_LIST, n);
  struct kr_constant *constants = *n ? kr_xcalloc(*n, sizeof *constants) : NULL;
  for (struct kr_constant *k = constants; item; item = item->next, k++) {
    json_expect_keys(r, item, "a constant", "name int real");
    k->name = json_get_string(r, item, "name", false);
    bool has_int = cJSON_GetObjectItemCaseSensitive(item, "int");
    bool has_real = cJSON_GetObjectItemCaseSensitive(item, "real");
    if (has_int == has_real)
      json_fail(r, "constant `%s` needs either \"int\" or \"real\"", k->name ? k->name : "");
    else if (has_real)
      k->value = kr_value_real(json_get_number(r, item, "real", 0));
    else
      k->value = kr_value_int(json_get_int64(r, item, "int", 0));
  }
  return constants;
}

// The same names and the same leaves by path, of whatever types: sections and
// bindings are by path.
static bool params_alike(const struct kr_param *a, const struct kr_param *b, size_t n)
{
  for (size_t i = 0; i < n; i++) {
    if (strcmp(a[i].name, b[i].name) || a[i].n_leaves != b[i].n_leaves)
      return false;
    for (size_t l = 0; l < a[i].n_leaves; l++) {
      if (strcmp(a[i].leaves[l].path, b[i].leaves[l].path) ||
          (a[i].leaves[l].kind == KR_POINTER) != (b[i].leaves[l].kind == KR_POINTER) ||
          a[i].leaves[l].is_const != b[i].leaves[l].is_const)
        return false;
    }
  }
  return true;
}

static void get_instantiations(struct json_reader *r, const cJSON *root, struct kr_contract *c)
{
  size_t n;
  const cJSON *item = json_get_array(r, root, "instantiations", KR_MAX_INSTANTIATIONS, &n);
  c->instantiations = n ? kr_xcalloc(n, sizeof *c->instantiations) : NULL;
  c->n_instantiations = n;
  for (struct kr_instantiation *in = c->instantiations; item; item = item->next, in++) {
    json_expect_keys(r, item, "an instantiation",
                     "arguments name_expression types constants params");
    in->arguments = json_get_string(r, item, "arguments", false);
    in->name_expression = json_get_string(r, item, "name_expression", false);
    in->types = json_get_string(r, item, "types", false);
    in->constants = get_constants(r, item, &in->n_constants);
    if (!cJSON_GetObjectItemCaseSensitive(item, "params"))
      continue;
    size_t n_params;
    struct kr_param *params = get_params(r, item, c->n_types, &n_params);
    if (!r->failed && n_params == c->n_params && params_alike(params, c->params, n_params)) {
      in->params = params;
      continue;
    }
    json_fail(r, "the parameters of instantiation <%s> are not the contract's",
              in->arguments ? in->arguments : "");
    params_release(params, n_params);
  }
}

void json_get_geometry(struct json_reader *r, const cJSON *item, struct kr_geometry *g)
{
  json_expect_keys(r, item, "the geometry", "grid block shared cooperative");
  for (int which = 0; which < 2; which++) {
    size_t n, k = 0;
    char **into = which ? g->block : g->grid;
    const cJSON *e = json_get_array(r, item, which ? "block" : "grid", 3, &n);
    for (; e; e = e->next, k++) {
      if (cJSON_IsString(e))
        into[k] = kr_xstrdup(e->valuestring);
      else if (!cJSON_IsNull(e))
        json_fail(r, "\"%s\" holds something that is not a string", which ? "block" : "grid");
    }
  }
  g->shared = json_get_string(r, item, "shared", true);
  g->cooperative = json_get_bool(r, item, "cooperative", false);
}

static void get_sections(struct json_reader *r, const cJSON *root, struct kr_contract *c)
{
  size_t n;
  const cJSON *item = json_get_array(r, root, "sections", 1024, &n);
  c->sections = n ? kr_xcalloc(n, sizeof *c->sections) : NULL;
  c->n_sections = n;
  for (struct kr_section *s = c->sections; item; item = item->next, s++) {
    json_expect_keys(r, item, "a section", "path role start dims compare rtol atol align");
    s->path = json_get_string(r, item, "path", false);
    s->role = (enum kr_role)json_get_name(r, item, "role", role_names, KR_INOUT);
    if (!cJSON_GetObjectItemCaseSensitive(item, "role"))
      json_fail(r, "section `%s` has no role", s->path ? s->path : "");
    s->start = json_get_string(r, item, "start", true);
    s->dims = json_get_strings(r, item, "dims", MAX_DIMS, &s->n_dims);
    s->compare = (enum kr_compare)json_get_name(r, item, "compare", compare_names, KR_CMP_DEFAULT);
    s->rtol = json_get_string(r, item, "rtol", s->compare != KR_CMP_TOL);
    s->atol = json_get_string(r, item, "atol", true);
    s->align = json_get_string(r, item, "align", true);
  }
}

static void get_case(struct json_reader *r, const cJSON *item, size_t n_sections,
                     struct kr_case *k)
{
  json_expect_keys(r, item, "a case", "label instantiation bindings fillings");
  k->label = json_get_string(r, item, "label", false);
  k->instantiation = json_get_size(r, item, "instantiation", 0, KR_MAX_INSTANTIATIONS);
  size_t n;
  const cJSON *sub = json_get_array(r, item, "bindings", 1024, &n);
  k->bindings = n ? kr_xcalloc(n, sizeof *k->bindings) : NULL;
  k->n_bindings = n;
  for (struct kr_binding *b = k->bindings; sub; sub = sub->next, b++) {
    json_expect_keys(r, sub, "a binding", "path expr fixed drawn");
    b->path = json_get_string(r, sub, "path", false);
    b->fixed = json_get_bool(r, sub, "fixed", false);
    b->drawn = json_get_bool(r, sub, "drawn", false);
    b->expr = json_get_string(r, sub, "expr", b->drawn);
    if (!r->failed && b->drawn && (b->expr || b->fixed))
      json_fail(r, "binding `%s` is drawn and has a value", b->path);
  }
  sub = json_get_array(r, item, "fillings", 1024, &n);
  if (n != n_sections)
    json_fail(r, "case `%s` has %zu fillings for %zu sections", k->label ? k->label : "", n,
              n_sections);
  if (r->failed)
    return;
  k->fillings = n ? kr_xcalloc(n, sizeof *k->fillings) : NULL;
  for (struct kr_filling *f = k->fillings; sub; sub = sub->next, f++) {
    json_expect_keys(r, sub, "a filling", "kind expr alias");
    f->kind = (enum kr_fill)json_get_name(r, sub, "kind", fill_names, KR_FILLED_DEFAULT);
    f->expr = json_get_string(r, sub, "expr", f->kind != KR_FILLED_EXPR);
    f->alias = json_get_string(r, sub, "alias", f->kind != KR_FILLED_ALIAS);
  }
}

// True when `path` names leaf `leaf` of parameter `p`.
static bool leaf_is(const struct kr_param *p, const struct kr_leaf *leaf, const char *path)
{
  size_t n = strlen(p->name);
  if (strncmp(path, p->name, n))
    return false;
  if (!leaf->path[0])
    return !path[n];
  return path[n] == '.' && !strcmp(path + n + 1, leaf->path);
}

static const struct kr_leaf *contract_leaf(const struct kr_contract *c, const char *path)
{
  for (size_t i = 0; i < c->n_params; i++) {
    for (size_t k = 0; k < c->params[i].n_leaves; k++) {
      if (leaf_is(&c->params[i], &c->params[i].leaves[k], path))
        return &c->params[i].leaves[k];
    }
  }
  return NULL;
}

static void check_whole(struct json_reader *r, const struct kr_contract *c)
{
  if (r->failed)
    return;
  if (!c->n_cases)
    json_fail(r, "the contract has no case");
  for (size_t i = 0; i < c->n_sections && !r->failed; i++) {
    const struct kr_section *s = &c->sections[i];
    const struct kr_leaf *leaf = contract_leaf(c, s->path);
    if (!leaf || leaf->kind != KR_POINTER)
      json_fail(r, "section `%s` is no pointer of the kernel", s->path);
    else if (leaf->is_const && s->role != KR_IN)
      json_fail(r, "`%s` points to const; it can only be `in`", s->path);
    for (size_t k = 0; k < i; k++) {
      if (!strcmp(c->sections[k].path, s->path))
        json_fail(r, "two sections for `%s`", s->path);
    }
  }
  for (size_t i = 0; i < c->n_instantiations && !r->failed; i++) {
    size_t k = 0;
    while (k < c->n_cases && c->cases[k].instantiation != i)
      k++;
    if (k == c->n_cases)
      json_fail(r, "instantiation <%s> has no case", c->instantiations[i].arguments);
  }
  for (size_t i = 0; i < c->n_cases && !r->failed; i++) {
    if (c->cases[i].instantiation >= kr_contract_kernels(c))
      json_fail(r, "case `%s` is of instantiation %zu, and there are %zu", c->cases[i].label,
                c->cases[i].instantiation, c->n_instantiations);
    for (size_t k = 0; k < c->n_sections; k++) {
      const struct kr_filling *f = &c->cases[i].fillings[k];
      if (f->kind == KR_FILLED_ALIAS && !kr_contract_section(c, f->alias))
        json_fail(r, "`%s` is filled as a pointer into `%s`, which is no section",
                  c->sections[k].path, f->alias);
    }
  }
}

int kr_contract_from_json(struct kr_contract *c, const char *json, size_t len, struct kr_err *err)
{
  memset(c, 0, sizeof *c);
  cJSON *root = json_parse(json, len, err);
  if (!root)
    return kr_err_prefix(err, "contract");
  struct json_reader r = {err, false};
  json_expect_keys(&r, root, "the contract",
                   "schema kernel file line name_expression signature before code after flags "
                   "archs types params constants instantiations sections requires cases geometry tunable "
                   "tunable_why min_speedup shared_limit");
  size_t schema = json_get_size(&r, root, "schema", 0, 1 << 20);
  if (!r.failed && schema != KR_CONTRACT_SCHEMA)
    json_fail(&r, "its schema is %zu; this version reads %d", schema, KR_CONTRACT_SCHEMA);
  c->kernel = json_get_string(&r, root, "kernel", false);
  c->file = json_get_string(&r, root, "file", false);
  c->line = (unsigned)json_get_size(&r, root, "line", 0, UINT32_MAX);
  c->name_expression = json_get_string(&r, root, "name_expression", false);
  c->signature = json_get_string(&r, root, "signature", false);
  c->before = json_get_string(&r, root, "before", false);
  c->code = json_get_string(&r, root, "code", false);
  c->after = json_get_string(&r, root, "after", false);
  c->flags = json_get_strings(&r, root, "flags", MAX_LIST, &c->n_flags);
  c->archs = json_get_strings(&r, root, "archs", 64, &c->n_archs);
  get_types(&r, root, c);
  c->params = get_params(&r, root, c->n_types, &c->n_params);
  c->constants = get_constants(&r, root, &c->n_constants);
  if (!r.failed)
    get_instantiations(&r, root, c);
  get_sections(&r, root, c);
  c->requires_ = json_get_strings(&r, root, "requires", MAX_LIST, &c->n_requires);
  size_t n;
  const cJSON *item = json_get_array(&r, root, "cases", KR_MAX_CASES, &n);
  c->cases = n ? kr_xcalloc(n, sizeof *c->cases) : NULL;
  c->n_cases = n;
  for (struct kr_case *k = c->cases; item; item = item->next, k++)
    get_case(&r, item, c->n_sections, k);
  item = cJSON_GetObjectItemCaseSensitive(root, "geometry");
  if (item)
    json_get_geometry(&r, item, &c->geometry);
  c->tunable = json_get_bool(&r, root, "tunable", false);
  c->tunable_why = json_get_string(&r, root, "tunable_why", true);
  c->min_speedup = json_get_number(&r, root, "min_speedup", 1.02);
  c->shared_limit = json_get_int64(&r, root, "shared_limit", 48 << 10);
  check_whole(&r, c);
  cJSON_Delete(root);
  if (!r.failed)
    return 0;
  kr_contract_release(c);
  return kr_err_prefix(err, "contract");
}

const struct kr_section *kr_contract_section(const struct kr_contract *c, const char *path)
{
  for (size_t i = 0; i < c->n_sections; i++) {
    if (!strcmp(c->sections[i].path, path))
      return &c->sections[i];
  }
  return NULL;
}

size_t kr_contract_kernels(const struct kr_contract *c)
{
  return c->n_instantiations ? c->n_instantiations : 1;
}

const char *kr_contract_kernel_name(const struct kr_contract *c, size_t instantiation)
{
  if (instantiation < c->n_instantiations)
    return c->instantiations[instantiation].name_expression;
  return c->name_expression && *c->name_expression ? c->name_expression : c->kernel;
}

const struct kr_param *kr_contract_params(const struct kr_contract *c, size_t instantiation)
{
  if (instantiation < c->n_instantiations && c->instantiations[instantiation].params)
    return c->instantiations[instantiation].params;
  return c->params;
}

size_t kr_case_kernel(const struct kr_contract *c, size_t case_index)
{
  return case_index < c->n_cases ? c->cases[case_index].instantiation : 0;
}

bool kr_case_is_first(const struct kr_contract *c, size_t case_index)
{
  for (size_t i = 0; i < case_index; i++) {
    if (kr_case_kernel(c, i) == kr_case_kernel(c, case_index))
      return false;
  }
  return true;
}

const struct kr_param *kr_case_params(const struct kr_contract *c, size_t case_index)
{
  return kr_contract_params(c, kr_case_kernel(c, case_index));
}
