#include "plugin.h"
#include "json.h"

#include <stdlib.h>
#include <string.h>

// The plain data of plugin.h: releasing and looking up. Both sides use it, the
// client and kevin-parse.

static void unit_diags_free(struct kr_diag *items, size_t n)
{
  struct kr_diags d = {items, n, n, 0};
  kr_diags_release(&d);
}

static void unit_strings_free(char **items, size_t n)
{
  for (size_t i = 0; i < n; i++)
    free(items[i]);
  free(items);
}

static void unit_type_release(struct kr_ptype *t)
{
  for (size_t i = 0; i < t->n_leaves; i++) {
    free(t->leaves[i].path);
    free(t->leaves[i].pointee);
  }
  free(t->leaves);
  free(t->name);
}

static void unit_site_release(struct kr_psite *s)
{
  for (size_t i = 0; i < s->n_args; i++) {
    free(s->args[i].text);
    free(s->args[i].same_as_path);
  }
  free(s->args);
  free(s->file);
  free(s->grid_text);
  free(s->block_text);
  free(s->shared_text);
  free(s->enclosing);
  free(s->why_not);
  for (int i = 0; i < 3; i++) {
    free(s->grid[i]);
    free(s->block[i]);
  }
  free(s->shared);
  free(s->geometry_error);
}

static void unit_kernel_release(struct kr_pkernel *k)
{
  for (size_t i = 0; i < k->n_params; i++) {
    free(k->params[i].name);
    free(k->params[i].type_name);
    unit_type_release(&k->params[i].type);
  }
  free(k->params);
  for (size_t i = 0; i < k->n_types; i++)
    unit_type_release(&k->types[i]);
  free(k->types);
  for (size_t i = 0; i < k->n_uses; i++)
    free(k->uses[i].path);
  free(k->uses);
  unit_strings_free(k->body_names, k->n_body_names);
  for (size_t i = 0; i < k->n_tparams; i++)
    free(k->tparams[i].name);
  free(k->tparams);
  for (size_t i = 0; i < k->n_launched; i++) {
    unit_strings_free(k->launched[i].arguments, k->launched[i].n_arguments);
    free(k->launched[i].file);
    free(k->launched[i].sites);
  }
  free(k->launched);
  for (size_t i = 0; i < k->n_sites; i++)
    unit_site_release(&k->sites[i]);
  free(k->sites);
  unit_diags_free(k->errors, k->n_errors);
  for (size_t i = 0; i < k->n_deps; i++)
    free(k->deps[i].file);
  free(k->deps);
  free(k->name);
  free(k->qualified);
  free(k->name_expression);
  free(k->signature);
  free(k->usr);
  free(k->refused);
  free(k->slice_before);
  free(k->slice_after);
}

static void unit_constants_free(struct kr_pconstant *items, size_t n)
{
  for (size_t i = 0; i < n; i++) {
    free(items[i].name);
    free(items[i].why);
  }
  free(items);
}

void unit_forget_wants(struct kr_unit *u)
{
  unit_constants_free(u->constants, u->n_constants);
  for (size_t i = 0; i < u->n_instances; i++) {
    struct kr_pinstance *in = &u->instances[i];
    free(in->asked);
    free(in->why);
    unit_strings_free(in->arguments, in->n_arguments);
    free(in->values);
    unit_kernel_release(&in->kernel);
    unit_constants_free(in->constants, in->n_constants);
  }
  free(u->instances);
  u->constants = NULL;
  u->instances = NULL;
  u->n_constants = u->n_instances = 0;
}

void kr_unit_release(struct kr_unit *u)
{
  for (size_t i = 0; i < u->n_kernels; i++)
    unit_kernel_release(&u->kernels[i]);
  free(u->kernels);
  unit_forget_wants(u);
  unit_diags_free(u->errors, u->n_errors);
  free(u->lost_launches);
  free(u->file);
  memset(u, 0, sizeof *u);
}

const struct kr_pconstant *kr_unit_constant(const struct kr_unit *u, size_t kernel_offset,
                                            const char *name)
{
  return kr_pconstant_find(u->constants, u->n_constants, kernel_offset, name);
}

const struct kr_pconstant *kr_pconstant_find(const struct kr_pconstant *list, size_t n,
                                             size_t kernel_offset, const char *name)
{
  for (size_t i = 0; i < n; i++)
    if (list[i].kernel_offset == kernel_offset && !strcmp(list[i].name, name))
      return &list[i];
  return NULL;
}

const struct kr_pinstance *kr_unit_instance(const struct kr_unit *u, size_t kernel_offset,
                                            const char *asked)
{
  for (size_t i = 0; i < u->n_instances; i++)
    if (u->instances[i].kernel_offset == kernel_offset && !strcmp(u->instances[i].asked, asked))
      return &u->instances[i];
  return NULL;
}

const struct kr_ptype *kr_pkernel_type(const struct kr_pkernel *k, const char *name)
{
  for (size_t i = 0; i < k->n_types; i++)
    if (!strcmp(k->types[i].name, name))
      return &k->types[i];
  return NULL;
}

void kr_facts_release(struct kr_facts *f)
{
  for (size_t i = 0; i < f->n_decls; i++) {
    free(f->decls[i].name);
    free(f->decls[i].qualified);
    free(f->decls[i].type_name);
    free(f->decls[i].attributes);
  }
  free(f->decls);
  for (size_t i = 0; i < f->n_uses; i++)
    free(f->uses[i].name);
  free(f->uses);
  unit_diags_free(f->errors, f->n_errors);
  free(f->kernel_usr);
  free(f->kernel_signature);
  free(f->param_restrict);
  memset(f, 0, sizeof *f);
}
