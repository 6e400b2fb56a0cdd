#include "json.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../evaluator/base/mem.h"

// One description for both directions: `read` says which. Numbers are doubles in
// cJSON, so counts and offsets are checked against 2^53 and 64-bit values travel as
// strings. Strings are bytes, not UTF-8: a source may be Latin-1, and both ends of
// the pipe are ours.

struct json {
  cJSON *at; // the object
  bool read, bad;
};

static const double json_exact = 9007199254740992.0; // 2^53

static void json_text(struct json *j, const char *key, char **v)
{
  if (!j->read) {
    if (*v)
      cJSON_AddStringToObject(j->at, key, *v);
    return;
  }
  const cJSON *item = cJSON_GetObjectItemCaseSensitive(j->at, key);
  if (item && !cJSON_IsString(item))
    j->bad = true;
  *v = cJSON_IsString(item) ? kr_xstrdup(item->valuestring) : NULL;
}

// A string that must be there.
static void json_name(struct json *j, const char *key, char **v)
{
  json_text(j, key, v);
  if (j->read && !*v) {
    j->bad = true;
    *v = kr_xstrdup("");
  }
}

static double json_number(struct json *j, const char *key, double value)
{
  if (!j->read) {
    cJSON_AddNumberToObject(j->at, key, value);
    return value;
  }
  const cJSON *item = cJSON_GetObjectItemCaseSensitive(j->at, key);
  double d = cJSON_IsNumber(item) ? item->valuedouble : NAN;
  if (!(d >= -1 && d < json_exact && d == floor(d))) {
    j->bad = true;
    return 0;
  }
  return d;
}

// SIZE_MAX, "nowhere", is -1.
static void json_size(struct json *j, const char *key, size_t *v)
{
  double d = json_number(j, key, *v == SIZE_MAX ? -1 : (double)*v);
  if (j->read)
    *v = d < 0 ? SIZE_MAX : (size_t)d;
}

static void json_unsigned(struct json *j, const char *key, unsigned *v)
{
  double d = json_number(j, key, *v);
  if (j->read) {
    j->bad |= d < 0 || d > UINT32_MAX;
    *v = j->bad ? 0 : (unsigned)d;
  }
}

static void json_flag(struct json *j, const char *key, bool *v)
{
  if (!j->read) {
    if (*v)
      cJSON_AddTrueToObject(j->at, key);
    return;
  }
  const cJSON *item = cJSON_GetObjectItemCaseSensitive(j->at, key);
  j->bad |= item && !cJSON_IsBool(item);
  *v = cJSON_IsTrue(item);
}

// An enumerator's number, from 0 to `last`; 0 when it is none.
static unsigned json_enum(struct json *j, const char *key, unsigned value, unsigned last)
{
  json_unsigned(j, key, &value);
  if (value <= last)
    return value;
  j->bad = true;
  return 0;
}

static void json_span(struct json *j, const char *key, struct kr_span *v)
{
  if (!j->read) {
    double pair[2] = {(double)v->offset, (double)v->length};
    cJSON_AddItemToObject(j->at, key, cJSON_CreateDoubleArray(pair, 2));
    return;
  }
  const cJSON *item = cJSON_GetObjectItemCaseSensitive(j->at, key);
  double pair[2] = {-1, -1};
  for (int i = 0; i < 2 && cJSON_IsArray(item) && cJSON_GetArraySize(item) == 2; i++) {
    const cJSON *one = cJSON_GetArrayItem(item, i);
    if (cJSON_IsNumber(one) && one->valuedouble == floor(one->valuedouble))
      pair[i] = one->valuedouble;
  }
  j->bad |= !(pair[0] >= 0 && pair[1] >= 0 && pair[0] + pair[1] < json_exact);
  *v = j->bad ? (struct kr_span){0, 0} : (struct kr_span){(size_t)pair[0], (size_t)pair[1]};
}

static void json_hash(struct json *j, const char *key, struct kr_hash *v)
{
  char hex[KR_HASH_HEX + 1];
  if (!j->read) {
    kr_hash_hex(*v, hex);
    cJSON_AddStringToObject(j->at, key, hex);
    return;
  }
  const cJSON *item = cJSON_GetObjectItemCaseSensitive(j->at, key);
  if (!cJSON_IsString(item) || kr_hash_parse(item->valuestring, v))
    j->bad = true;
}

static void json_int64(struct json *j, const char *key, int64_t *v)
{
  char digits[32];
  if (!j->read) {
    snprintf(digits, sizeof digits, "%" PRId64, *v);
    cJSON_AddStringToObject(j->at, key, digits);
    return;
  }
  const cJSON *item = cJSON_GetObjectItemCaseSensitive(j->at, key);
  char *end = NULL;
  *v = cJSON_IsString(item) ? strtoll(item->valuestring, &end, 10) : 0;
  j->bad |= !end || *end || end == item->valuestring;
}

// As text, since a double must come back bit for bit, infinities too.
static void json_double(struct json *j, const char *key, double *v)
{
  char digits[64];
  if (!j->read) {
    snprintf(digits, sizeof digits, "%.17g", *v);
    cJSON_AddStringToObject(j->at, key, digits);
    return;
  }
  const cJSON *item = cJSON_GetObjectItemCaseSensitive(j->at, key);
  char *end = NULL;
  *v = cJSON_IsString(item) ? strtod(item->valuestring, &end) : 0;
  j->bad |= !end || *end || end == item->valuestring;
}

typedef void json_one(struct json *j, void *item);

// `list` points to the pointer to the items. Their zeroed memory is what `one`
// fills, so that releasing is safe however far reading came.
static void json_list(struct json *j, const char *key, void *list, size_t *n, size_t size,
                      json_one *one)
{
  void *items = NULL;
  cJSON *array;
  if (!j->read) {
    memcpy(&items, list, sizeof items);
    array = cJSON_AddArrayToObject(j->at, key);
    for (size_t i = 0; i < *n; i++) {
      struct json sub = {cJSON_CreateObject(), false, false};
      one(&sub, (char *)items + i * size);
      cJSON_AddItemToArray(array, sub.at);
    }
    return;
  }
  array = cJSON_GetObjectItemCaseSensitive(j->at, key);
  if (!cJSON_IsArray(array)) {
    j->bad = true;
    *n = 0;
    memcpy(list, &items, sizeof items);
    return;
  }
  *n = (size_t)cJSON_GetArraySize(array);
  items = kr_xcalloc(*n + 1, size);
  memcpy(list, &items, sizeof items);
  size_t i = 0;
  for (cJSON *item = array->child; item; item = item->next, i++) {
    struct json sub = {item, true, false};
    if (cJSON_IsObject(item))
      one(&sub, (char *)items + i * size);
    else
      sub.bad = true;
    j->bad |= sub.bad;
  }
}

static void json_strings(struct json *j, const char *key, char ***list, size_t *n)
{
  if (!j->read) {
    cJSON *out = cJSON_AddArrayToObject(j->at, key);
    for (size_t i = 0; i < *n; i++)
      cJSON_AddItemToArray(out, cJSON_CreateString((*list)[i]));
    return;
  }
  const cJSON *array = cJSON_GetObjectItemCaseSensitive(j->at, key);
  *n = 0;
  *list = NULL;
  if (!cJSON_IsArray(array)) {
    j->bad = true;
    return;
  }
  *list = kr_xcalloc((size_t)cJSON_GetArraySize(array) + 1, sizeof **list);
  for (const cJSON *item = array->child; item; item = item->next) {
    if (!cJSON_IsString(item))
      j->bad = true;
    (*list)[(*n)++] = kr_xstrdup(cJSON_IsString(item) ? item->valuestring : "");
  }
}

// --- the unit ---

static void json_diag(struct json *j, void *item)
{
  struct kr_diag *d = item;
  d->severity = json_enum(j, "severity", d->severity, KR_SEV_NOTE);
  json_size(j, "offset", &d->offset);
  json_size(j, "length", &d->length);
  json_name(j, "text", &d->text);
  json_text(j, "fix", &d->fix);
}

static void json_leaf(struct json *j, void *item)
{
  struct kr_pleaf *l = item;
  json_name(j, "path", &l->path);
  json_size(j, "offset", &l->offset);
  l->kind = json_enum(j, "kind", l->kind, KR_SCALAR_OPAQUE);
  json_text(j, "pointee", &l->pointee);
  j->bad |= j->read && (l->kind == KR_SCALAR_POINTER) != (l->pointee != NULL);
  json_flag(j, "const", &l->pointee_const);
  json_flag(j, "restrict", &l->is_restrict);
}

static void json_type(struct json *j, void *item)
{
  struct kr_ptype *t = item;
  json_name(j, "name", &t->name);
  json_size(j, "size", &t->size);
  json_size(j, "align", &t->align);
  json_list(j, "leaves", &t->leaves, &t->n_leaves, sizeof *t->leaves, json_leaf);
}

static void json_param(struct json *j, void *item)
{
  struct kr_pparam *p = item;
  json_name(j, "name", &p->name);
  json_name(j, "type_name", &p->type_name);
  json_span(j, "at", &p->at);
  json_span(j, "name_at", &p->name_at);
  struct json sub = {NULL, j->read, false};
  sub.at = j->read ? cJSON_GetObjectItemCaseSensitive(j->at, "type")
                   : cJSON_AddObjectToObject(j->at, "type");
  json_type(&sub, &p->type);
  j->bad |= sub.bad;
}

static void json_use(struct json *j, void *item)
{
  struct kr_puse *u = item;
  json_name(j, "path", &u->path);
  json_unsigned(j, "uses", &u->uses);
  json_unsigned(j, "subscript_line", &u->subscript_line);
}

static void json_arg(struct json *j, void *item)
{
  struct kr_parg *a = item;
  json_span(j, "at", &a->at);
  json_name(j, "text", &a->text);
  json_flag(j, "side_effects", &a->side_effects);
  json_text(j, "same_as", &a->same_as_path);
}

static void json_site(struct json *j, void *item)
{
  struct kr_psite *s = item;
  json_name(j, "file", &s->file);
  json_flag(j, "in_file", &s->in_file);
  json_unsigned(j, "line", &s->line);
  json_unsigned(j, "col", &s->col);
  json_span(j, "at", &s->at);
  json_span(j, "config", &s->config);
  json_span(j, "grid_at", &s->grid_at);
  json_span(j, "block_at", &s->block_at);
  json_span(j, "shared_at", &s->shared_at);
  json_span(j, "stream_at", &s->stream_at);
  json_text(j, "grid_text", &s->grid_text);
  json_text(j, "block_text", &s->block_text);
  json_text(j, "shared_text", &s->shared_text);
  json_list(j, "args", &s->args, &s->n_args, sizeof *s->args, json_arg);
  json_name(j, "enclosing", &s->enclosing);
  json_flag(j, "editable", &s->editable);
  json_text(j, "why_not", &s->why_not);
  static const char *const grid[3] = {"grid_x", "grid_y", "grid_z"};
  static const char *const block[3] = {"block_x", "block_y", "block_z"};
  for (int i = 0; i < 3; i++) {
    json_text(j, grid[i], &s->grid[i]);
    json_text(j, block[i], &s->block[i]);
  }
  json_text(j, "shared", &s->shared);
  json_text(j, "geometry_error", &s->geometry_error);
}

static void json_tparam(struct json *j, void *item)
{
  struct kr_ptparam *t = item;
  json_name(j, "name", &t->name);
  t->kind = json_enum(j, "kind", t->kind, KR_TKIND_ENUM);
  json_flag(j, "default", &t->has_default);
}

static void json_offset(struct json *j, void *item)
{
  json_size(j, "at", item);
}

static void json_launched(struct json *j, void *item)
{
  struct kr_plaunched *l = item;
  json_strings(j, "arguments", &l->arguments, &l->n_arguments);
  json_name(j, "file", &l->file);
  json_unsigned(j, "line", &l->line);
  json_flag(j, "by_name", &l->by_name);
  json_list(j, "sites", &l->sites, &l->n_sites, sizeof *l->sites, json_offset);
}

static void json_dep(struct json *j, void *item)
{
  struct kr_pdep *d = item;
  json_name(j, "file", &d->file);
  json_hash(j, "tokens", &d->tokens);
}

static void json_kernel(struct json *j, void *item)
{
  struct kr_pkernel *k = item;
  json_name(j, "name", &k->name);
  json_name(j, "qualified", &k->qualified);
  json_name(j, "name_expression", &k->name_expression);
  json_name(j, "signature", &k->signature);
  json_name(j, "usr", &k->usr);
  bool internal = k->linkage == KR_LINKAGE_INTERNAL;
  json_flag(j, "internal", &internal);
  k->linkage = internal ? KR_LINKAGE_INTERNAL : KR_LINKAGE_EXTERNAL;
  json_flag(j, "extern_c", &k->extern_c);
  json_flag(j, "template", &k->is_template);
  json_flag(j, "specialisation", &k->is_specialisation);
  if (k->is_template) {
    json_list(j, "tparams", &k->tparams, &k->n_tparams, sizeof *k->tparams, json_tparam);
    json_list(j, "launched", &k->launched, &k->n_launched, sizeof *k->launched, json_launched);
  }
  json_span(j, "at", &k->at);
  json_span(j, "name_at", &k->name_at);
  json_span(j, "params_at", &k->params_at);
  json_span(j, "body_at", &k->body_at);
  json_unsigned(j, "line", &k->line);
  json_unsigned(j, "col", &k->col);
  json_list(j, "params", &k->params, &k->n_params, sizeof *k->params, json_param);
  json_list(j, "types", &k->types, &k->n_types, sizeof *k->types, json_type);
  json_list(j, "uses", &k->uses, &k->n_uses, sizeof *k->uses, json_use);
  json_flag(j, "uses_grid_dim", &k->uses_grid_dim);
  json_flag(j, "uses_grid_sync", &k->uses_grid_sync);
  json_flag(j, "uses_barrier", &k->uses_barrier);
  json_flag(j, "uses_dynamic_shared", &k->uses_dynamic_shared);
  json_flag(j, "uses_clock", &k->uses_clock);
  json_flag(j, "uses_asm", &k->uses_asm);
  json_strings(j, "body_names", &k->body_names, &k->n_body_names);
  json_list(j, "sites", &k->sites, &k->n_sites, sizeof *k->sites, json_site);
  json_text(j, "refused", &k->refused);
  json_span(j, "refused_at", &k->refused_at);
  json_list(j, "errors", &k->errors, &k->n_errors, sizeof *k->errors, json_diag);
  json_text(j, "slice_before", &k->slice_before);
  json_text(j, "slice_after", &k->slice_after);
  json_list(j, "deps", &k->deps, &k->n_deps, sizeof *k->deps, json_dep);
}

static void json_constant(struct json *j, void *item)
{
  struct kr_pconstant *c = item;
  json_size(j, "kernel_offset", &c->kernel_offset);
  json_name(j, "name", &c->name);
  json_flag(j, "known", &c->known);
  json_flag(j, "real", &c->is_real);
  json_int64(j, "i", &c->i);
  json_double(j, "d", &c->d);
  json_text(j, "why", &c->why);
}

static void json_value(struct json *j, void *item)
{
  json_int64(j, "i", item);
}

static void json_instance(struct json *j, void *item)
{
  struct kr_pinstance *in = item;
  json_size(j, "kernel_offset", &in->kernel_offset);
  json_name(j, "asked", &in->asked);
  json_flag(j, "known", &in->known);
  json_text(j, "why", &in->why);
  if (!in->known)
    return;
  size_t n_values = in->n_arguments;
  json_strings(j, "arguments", &in->arguments, &in->n_arguments);
  json_list(j, "values", &in->values, &n_values, sizeof *in->values, json_value);
  j->bad |= n_values != in->n_arguments;
  struct json sub = {NULL, j->read, false};
  sub.at = j->read ? cJSON_GetObjectItemCaseSensitive(j->at, "kernel")
                   : cJSON_AddObjectToObject(j->at, "kernel");
  json_kernel(&sub, &in->kernel);
  j->bad |= sub.bad;
  json_list(j, "constants", &in->constants, &in->n_constants, sizeof *in->constants,
            json_constant);
}

static void json_place(struct json *j, void *item)
{
  json_span(j, "at", item);
}

static void json_unit(struct json *j, void *item)
{
  struct kr_unit *u = item;
  json_name(j, "file", &u->file);
  json_list(j, "kernels", &u->kernels, &u->n_kernels, sizeof *u->kernels, json_kernel);
  json_list(j, "constants", &u->constants, &u->n_constants, sizeof *u->constants, json_constant);
  json_list(j, "instances", &u->instances, &u->n_instances, sizeof *u->instances, json_instance);
  json_list(j, "errors", &u->errors, &u->n_errors, sizeof *u->errors, json_diag);
  json_list(j, "lost_launches", &u->lost_launches, &u->n_lost_launches, sizeof *u->lost_launches,
            json_place);
}

// --- facts ---

static void json_decl(struct json *j, void *item)
{
  struct kr_fact_decl *d = item;
  d->kind = json_enum(j, "kind", d->kind, KR_FACT_OTHER);
  json_name(j, "name", &d->name);
  json_name(j, "qualified", &d->qualified);
  json_name(j, "type_name", &d->type_name);
  json_unsigned(j, "line", &d->line);
  json_flag(j, "kernel", &d->is_kernel);
  json_flag(j, "device", &d->is_device);
  json_flag(j, "host", &d->is_host);
  json_flag(j, "constexpr", &d->is_constexpr);
  json_flag(j, "static", &d->is_static);
  json_flag(j, "extern_c", &d->is_extern_c);
  json_flag(j, "initialiser", &d->has_initialiser);
  json_flag(j, "template", &d->is_template);
  json_flag(j, "mutable", &d->is_mutable);
  json_flag(j, "shared", &d->is_shared);
  json_flag(j, "constant", &d->is_constant);
  json_flag(j, "hides", &d->hides);
  json_name(j, "attributes", &d->attributes);
}

static void json_fact_use(struct json *j, void *item)
{
  struct kr_fact_use *u = item;
  json_name(j, "name", &u->name);
  json_unsigned(j, "line", &u->line);
  json_flag(j, "in_variant", &u->in_variant);
}

static void json_bool(struct json *j, void *item)
{
  json_flag(j, "is", item);
}

static void json_facts(struct json *j, void *item)
{
  struct kr_facts *f = item;
  json_list(j, "decls", &f->decls, &f->n_decls, sizeof *f->decls, json_decl);
  json_list(j, "uses", &f->uses, &f->n_uses, sizeof *f->uses, json_fact_use);
  json_list(j, "errors", &f->errors, &f->n_errors, sizeof *f->errors, json_diag);
  json_text(j, "kernel_usr", &f->kernel_usr);
  json_text(j, "kernel_signature", &f->kernel_signature);
  bool internal = f->kernel_linkage == KR_LINKAGE_INTERNAL;
  json_flag(j, "internal", &internal);
  f->kernel_linkage = internal ? KR_LINKAGE_INTERNAL : KR_LINKAGE_EXTERNAL;
  json_list(j, "restrict", &f->param_restrict, &f->n_params, sizeof *f->param_restrict, json_bool);
  json_flag(j, "static_local", &f->has_static_local);
  json_flag(j, "asm", &f->has_asm);
  json_flag(j, "goto_computed", &f->has_goto_computed);
  json_flag(j, "suffix_intact", &f->suffix_intact);
}

// --- lines ---

static void json_line(cJSON *root, struct kr_bytes *out)
{
  char *text = cJSON_PrintUnformatted(root);
  if (text) {
    kr_bytes_adds(out, text);
    kr_bytes_addc(out, '\n');
  }
  cJSON_free(text);
  cJSON_Delete(root);
}

static cJSON *json_reply(size_t id)
{
  cJSON *root = cJSON_CreateObject();
  cJSON_AddNumberToObject(root, "id", (double)id);
  return root;
}

void json_fail_write(size_t id, const char *why, struct kr_bytes *out)
{
  cJSON *root = json_reply(id);
  cJSON_AddStringToObject(root, "error", why);
  json_line(root, out);
}

void json_unit_write(size_t id, struct kr_unit *u, struct kr_bytes *out)
{
  cJSON *root = json_reply(id);
  struct json j = {cJSON_AddObjectToObject(root, "unit"), false, false};
  json_unit(&j, u);
  json_line(root, out);
}

void json_facts_write(size_t id, struct kr_facts *f, struct kr_bytes *out)
{
  cJSON *root = json_reply(id);
  struct json j = {cJSON_AddObjectToObject(root, "facts"), false, false};
  json_facts(&j, f);
  json_line(root, out);
}

static int json_read(const char *key, json_one *one, void *into, size_t id, const char *line,
                     size_t len, char **why)
{
  int rc = -1;
  cJSON *root = cJSON_ParseWithLength(line, len);
  const cJSON *number = cJSON_GetObjectItemCaseSensitive(root, "id");
  if (!cJSON_IsObject(root) || !cJSON_IsNumber(number) || number->valuedouble != (double)id)
    goto out;
  const cJSON *error = cJSON_GetObjectItemCaseSensitive(root, "error");
  if (cJSON_IsString(error)) {
    *why = kr_xstrdup(error->valuestring);
    rc = 1;
    goto out;
  }
  struct json j = {cJSON_GetObjectItemCaseSensitive(root, key), true, false};
  if (!cJSON_IsObject(j.at))
    goto out;
  one(&j, into);
  rc = j.bad ? -1 : 0;
out:
  cJSON_Delete(root);
  return rc;
}

static bool json_inside(struct kr_span s, size_t len)
{
  return s.offset <= len && s.length <= len - s.offset;
}

static bool json_diags_inside(const struct kr_diag *d, size_t n, size_t len)
{
  for (size_t i = 0; i < n; i++)
    if (d[i].offset != SIZE_MAX && d[i].offset > len)
      return false;
  return true;
}

// Spans are edits later: none may leave the text.
static bool json_unit_inside(const struct kr_unit *u, size_t len)
{
  bool ok = json_diags_inside(u->errors, u->n_errors, len);
  for (size_t i = 0; i < u->n_lost_launches; i++)
    ok = ok && json_inside(u->lost_launches[i], len);
  for (size_t i = 0; i < u->n_kernels; i++) {
    const struct kr_pkernel *k = &u->kernels[i];
    ok = ok && json_inside(k->at, len) && json_inside(k->name_at, len) &&
         json_inside(k->params_at, len) && json_inside(k->body_at, len) &&
         json_inside(k->refused_at, len) && json_diags_inside(k->errors, k->n_errors, len);
    for (size_t p = 0; p < k->n_params; p++)
      ok = ok && json_inside(k->params[p].at, len) && json_inside(k->params[p].name_at, len);
    for (size_t s = 0; s < k->n_sites; s++) {
      const struct kr_psite *site = &k->sites[s];
      ok = ok && json_inside(site->at, len) && json_inside(site->config, len) &&
           json_inside(site->grid_at, len) && json_inside(site->block_at, len) &&
           json_inside(site->shared_at, len) && json_inside(site->stream_at, len);
      for (size_t a = 0; a < site->n_args; a++)
        ok = ok && json_inside(site->args[a].at, len);
    }
    for (size_t l = 0; l < k->n_launched; l++)
      for (size_t s = 0; s < k->launched[l].n_sites; s++)
        ok = ok && k->launched[l].sites[s] < k->n_sites;
  }
  return ok;
}

int json_unit_read(struct kr_unit *u, size_t id, size_t text_len, const char *line, size_t len,
                   char **why)
{
  int rc = json_read("unit", json_unit, u, id, line, len, why);
  return !rc && !json_unit_inside(u, text_len) ? -1 : rc;
}

int json_facts_read(struct kr_facts *f, size_t id, size_t text_len, const char *line, size_t len,
                    char **why)
{
  int rc = json_read("facts", json_facts, f, id, line, len, why);
  return !rc && !json_diags_inside(f->errors, f->n_errors, text_len) ? -1 : rc;
}

// --- requests ---

static void json_wants(struct json *j, void *item)
{
  struct kr_parse_wants *w = item;
  json_size(j, "kernel_offset", &w->kernel_offset);
  json_strings(j, "names", &w->names, &w->n_names);
  if (j->read ? cJSON_HasObjectItem(j->at, "instances") : w->n_instances > 0)
    json_strings(j, "instances", &w->instances, &w->n_instances);
}

static void json_ask(struct json *j, struct json_ask *ask)
{
  json_size(j, "id", &ask->id);
  json_name(j, "path", &ask->path);
  json_name(j, "text", &ask->text);
  json_text(j, "project_dir", &ask->project_dir);
  json_text(j, "arch", &ask->arch);
  json_text(j, "cuda_path", &ask->cuda_path);
  json_text(j, "resource_dir", &ask->resource_dir);
  json_text(j, "headers_dir", &ask->headers_dir);
  json_strings(j, "flags", &ask->flags, &ask->n_flags);
  json_list(j, "wants", &ask->wants, &ask->n_wants, sizeof *ask->wants, json_wants);
  json_flag(j, "some_slices", &ask->some_slices);
  if (ask->some_slices)
    json_list(j, "slices", &ask->slices, &ask->n_slices, sizeof *ask->slices, json_offset);
  if (j->read ? cJSON_HasObjectItem(j->at, "words") : ask->n_words > 0)
    json_strings(j, "words", &ask->words, &ask->n_words);
  json_text(j, "before", &ask->before);
  json_text(j, "original", &ask->original);
  json_text(j, "code", &ask->code);
  json_text(j, "after", &ask->after);
  json_text(j, "kernel_name", &ask->kernel_name);
  json_text(j, "kernel_usr", &ask->kernel_usr);
}

void json_ask_write(const struct json_ask *ask, struct kr_bytes *out)
{
  struct json j = {cJSON_CreateObject(), false, false};
  struct json_ask copy = *ask;
  cJSON_AddStringToObject(j.at, "op", ask->op == JSON_UNIT ? "unit" : "facts");
  json_ask(&j, &copy);
  json_line(j.at, out);
}

int json_ask_read(struct json_ask *ask, const char *line, size_t len)
{
  memset(ask, 0, sizeof *ask);
  cJSON *root = cJSON_ParseWithLength(line, len);
  struct json j = {root, true, !cJSON_IsObject(root)};
  if (!j.bad) {
    const cJSON *op = cJSON_GetObjectItemCaseSensitive(root, "op");
    bool facts = cJSON_IsString(op) && !strcmp(op->valuestring, "facts");
    j.bad = !cJSON_IsString(op) || (!facts && strcmp(op->valuestring, "unit"));
    ask->op = facts ? JSON_FACTS : JSON_UNIT;
    json_ask(&j, ask);
    if (facts && (!ask->before || !ask->original || !ask->code || !ask->after ||
                  !ask->kernel_name || !ask->kernel_usr))
      j.bad = true;
  }
  cJSON_Delete(root);
  return j.bad ? -1 : 0;
}

void json_ask_release(struct json_ask *ask)
{
  for (size_t i = 0; i < ask->n_flags; i++)
    free(ask->flags[i]);
  free(ask->flags);
  for (size_t i = 0; i < ask->n_wants; i++) {
    for (size_t k = 0; k < ask->wants[i].n_names; k++)
      free(ask->wants[i].names[k]);
    free(ask->wants[i].names);
    for (size_t k = 0; k < ask->wants[i].n_instances; k++)
      free(ask->wants[i].instances[k]);
    free(ask->wants[i].instances);
  }
  for (size_t i = 0; i < ask->n_words; i++)
    free(ask->words[i]);
  free(ask->words);
  free(ask->wants);
  free(ask->slices);
  char *const texts[] = {ask->path,         ask->text,     ask->project_dir, ask->arch,
                         ask->cuda_path,    ask->resource_dir, ask->headers_dir, ask->before,
                         ask->original,     ask->code,     ask->after,       ask->kernel_name,
                         ask->kernel_usr};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
    free(texts[i]);
  memset(ask, 0, sizeof *ask);
}
