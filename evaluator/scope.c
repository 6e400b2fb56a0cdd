#include "scope.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "fill.h"

static int scope_axis(struct scope *s, const char *name, struct kr_value *out,
                      struct kr_expr_error *error)
{
  bool grid = !strncmp(name, "grid.", 5);
  if (!s->geometry || (!grid && strncmp(name, "block.", 6)))
    return 1;
  const char *axis = name + (grid ? 5 : 6);
  if (axis[0] < 'x' || axis[0] > 'z' || axis[1])
    return 1;
  int which = axis[0] - 'x';
  if (grid && s->in_block) {
    snprintf(error->text, sizeof error->text, "`block` may not use `%s`", name);
    return -1;
  }
  if (s->busy[which + 3 * grid]) {
    snprintf(error->text, sizeof error->text, "`%s` needs itself", name);
    return -1;
  }
  const char *text = grid ? s->geometry->grid[which] : s->geometry->block[which];
  if (!text) {
    *out = kr_value_int(1);
    return 0;
  }
  bool was_in_block = s->in_block;
  s->busy[which + 3 * grid] = true;
  s->in_block = !grid;
  struct kr_err why = {{0}};
  int rc = scope_eval(s, text, name, out, &why);
  s->busy[which + 3 * grid] = false;
  s->in_block = was_in_block;
  if (rc)
    snprintf(error->text, sizeof error->text, "%.250s", why.text);
  return rc;
}

// Those under the template's arguments, or the program's own.
static const struct kr_constant *scope_constants(const struct scope *s, bool own, size_t *n)
{
  const struct kr_contract *c = s->contract;
  const struct kr_instantiation *in =
      s->instantiation < c->n_instantiations ? &c->instantiations[s->instantiation] : NULL;
  *n = !own ? c->n_constants : in ? in->n_constants : 0;
  return !own ? c->constants : in ? in->constants : NULL;
}

static int scope_constant(const struct scope *s, const char *name, struct kr_value *out)
{
  for (int own = 1; own >= 0; own--) {
    size_t n;
    const struct kr_constant *list = scope_constants(s, own, &n);
    for (size_t i = 0; i < n; i++) {
      if (!strcmp(list[i].name, name)) {
        *out = list[i].value;
        return 0;
      }
    }
  }
  return 1;
}

static int scope_lookup(void *arg, const char *name, struct kr_value *out,
                        struct kr_expr_error *error)
{
  struct scope *s = arg;
  for (size_t i = s->n_names; i-- > 0;) {
    if (!strcmp(s->names[i].name, name)) {
      *out = s->names[i].value;
      return 0;
    }
  }
  int rc = scope_axis(s, name, out, error);
  if (rc <= 0)
    return rc;
  if (!strcmp(name, "warp")) {
    *out = kr_value_int(32);
    return 0;
  }
  if (!strcmp(name, "sms") && s->sms) {
    *out = kr_value_int(s->sms);
    return 0;
  }
  return scope_constant(s, name, out);
}

// `type` comes with its tokens joined by single blanks; a program's constant of
// the same meaning may be spelt "sizeof(float)" or with blanks inside.
static bool scope_is_size_of(const char *p, const char *type)
{
  const char *q = type;
  if (strncmp(p, "sizeof", 6))
    return false;
  p += 6 + strspn(p + 6, " ");
  if (*p++ != '(')
    return false;
  for (;;) {
    p += strspn(p, " ");
    q += strspn(q, " ");
    if (!*q || *p != *q)
      break;
    p++;
    q++;
  }
  return !*q && *p == ')' && !p[1];
}

static int scope_size_of(void *arg, const char *type, struct kr_value *out,
                         struct kr_expr_error *error)
{
  (void)error;
  struct scope *s = arg;
  for (int own = 1; own >= 0; own--) {
    size_t n;
    const struct kr_constant *list = scope_constants(s, own, &n);
    for (size_t i = 0; i < n; i++) {
      if (scope_is_size_of(list[i].name, type)) {
        *out = list[i].value;
        return 0;
      }
    }
  }
  for (size_t i = 0; i < s->contract->n_types; i++) {
    if (!strcmp(s->contract->types[i].name, type)) {
      *out = kr_value_int((int64_t)s->contract->types[i].size);
      return 0;
    }
  }
  return 1;
}

void scope_print(const struct scope *s, struct kr_bytes *out)
{
  for (size_t i = 0; i < s->n_names; i++) {
    kr_bytes_addf(out, "%s%s = ", i ? ", " : "", s->names[i].name);
    kr_value_print(s->names[i].value, out);
  }
}

static int scope_complain(const struct scope *s, const char *text, const char *what,
                          const char *why, struct kr_err *err)
{
  struct kr_bytes values;
  kr_bytes_init(&values, 4096);
  scope_print(s, &values);
  kr_err_set(err, "%s: in %s, `%s`%s%s", why, what, text, values.len ? ", with " : "", values.data);
  kr_bytes_release(&values);
  return -1;
}

int scope_eval(struct scope *s, const char *text, const char *what, struct kr_value *out,
               struct kr_err *err)
{
  struct kr_expr_error error = {0};
  struct kr_expr *e = kr_expr_parse(text, strlen(text), &error);
  if (!e)
    return scope_complain(s, text, what, error.text, err);
  struct kr_expr_env env = {scope_lookup, scope_size_of, NULL, s};
  int rc = kr_expr_eval(e, &env, out, &error);
  kr_expr_free(e);
  return rc ? scope_complain(s, text, what, error.text, err) : 0;
}

int scope_eval_int(struct scope *s, const char *text, const char *what, int64_t *out,
                   struct kr_err *err)
{
  struct kr_value v;
  if (scope_eval(s, text, what, &v, err))
    return -1;
  if (kr_value_as_int(v, out))
    return scope_complain(s, text, what, "not a whole number", err);
  return 0;
}

// Puts values in for names, so that a filler costs no look-up an element.
static int filler_bind(struct scope *s, struct kr_expr *e, struct kr_expr_error *error)
{
  if ((e->kind == KR_EXPR_NAME && !fill_is_index_name(e->name)) || e->kind == KR_EXPR_SIZEOF) {
    struct kr_value v;
    int rc = e->kind == KR_EXPR_NAME ? scope_lookup(s, e->name, &v, error)
                                     : scope_size_of(s, e->name, &v, error);
    if (rc > 0)
      snprintf(error->text, sizeof error->text, "`%.100s` is not known", e->name);
    if (rc)
      return -1;
    free(e->name);
    e->name = NULL;
    e->kind = v.is_real ? KR_EXPR_REAL : KR_EXPR_INT;
    e->value = v;
    return 0;
  }
  for (size_t i = 0; i < e->n_args; i++) {
    if (filler_bind(s, e->args[i], error))
      return -1;
  }
  return 0;
}

struct kr_expr *scope_filler(struct scope *s, const char *text, const char *what,
                             struct kr_err *err)
{
  struct kr_expr_error error = {0};
  struct kr_expr *e = kr_expr_parse(text, strlen(text), &error);
  if (e && !filler_bind(s, e, &error))
    return e;
  kr_expr_free(e);
  scope_complain(s, text, what, error.text, err);
  return NULL;
}
