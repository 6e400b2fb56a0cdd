#include "assemble_internal.h"

#include <stdlib.h>
#include <string.h>

#include "../evaluator/base/mem.h"

// The geometry of a launch, and whether a variant may bring another one.
//
// What the marker says holds; the rest is read from the launch sites, which must
// agree. A variant's geometry is written into the sites, so it may differ only
// where every launch is known and nothing else hangs on the old one.

static struct kr_span launch_place(const struct assembly *a, const struct kr_psite *site)
{
  return site && site->in_file ? site->config : asm_marker_place(a);
}

static bool launch_read(struct assembly *a, const struct kr_psite *site, const char *text,
                        const char *what, struct asm_geo *out)
{
  struct kr_expr_error error;
  if (!text)
    return true;
  out->e = kr_expr_parse(text, strlen(text), &error);
  if (!out->e)
    return asm_fail(a, launch_place(a, site), "cannot read the %s at line %u: `%s`; add %s(…)",
                    what, site->line, text, what);
  struct kr_bytes shown;
  kr_bytes_init(&shown, KR_EXPR_MAX_TEXT * 4);
  kr_expr_print(out->e, false, NULL, NULL, &shown, NULL);
  out->text = kr_bytes_take(&shown);
  kr_bytes_release(&shown);
  return true;
}

static void launch_take(struct asm_geo *out, const struct kr_mexpr *written)
{
  if (!written->e)
    return;
  out->e = kr_expr_clone(written->e);
  out->text = kr_xstrdup(written->text);
  out->written = written;
}

static bool launch_same(const char *a, const char *b)
{
  return a == b || (a && b && !strcmp(a, b));
}

// True when the parts of the geometry that the marker leaves out are the same.
static bool launch_agrees(const struct assembly *a, const struct kr_psite *x,
                          const struct kr_psite *y)
{
  bool same = true;
  for (size_t d = 0; d < 3; d++) {
    same = same && (a->m->n_grid || launch_same(x->grid[d], y->grid[d]));
    same = same && (a->m->n_block || launch_same(x->block[d], y->block[d]));
  }
  return same && (a->m->shared.e || launch_same(x->shared, y->shared));
}

struct launch_check {
  struct assembly *a;
  const char *what, *text;
  bool ok;
};

// Names of an inferred expression: parameters, let and fix, constants.
static void launch_visit(void *arg, const struct kr_expr *e, bool is_call)
{
  struct launch_check *c = arg;
  struct assembly *a = c->a;
  bool grid, number;
  int which;
  if (!c->ok)
    return;
  char *wanted = e->kind == KR_EXPR_SIZEOF ? kr_xasprintf("sizeof(%s)", e->name)
                                           : kr_xstrdup(e->name);
  const struct kr_pconstant *constant = asm_constant_all(a, wanted);
  bool known = constant && constant->known;
  free(wanted);
  if (!is_call && e->kind == KR_EXPR_NAME)
    known = known || asm_leaf_find(a, e->name) ||
            (asm_is_tparam(a, e->name, &number) && number) || asm_binding_find(a->m, e->name, NULL) ||
            asm_axis_name(e->name, &grid, &which) || !strcmp(e->name, "sms") ||
            !strcmp(e->name, "warp");
  if (known)
    return;
  struct kr_span at = launch_place(a, a->site);
  if (is_call)
    c->ok = asm_fail(a, at, "cannot read the %s at line %u: `%s` calls `%s`; add %s(…)", c->what,
                     a->site->line, c->text, e->name, c->what);
  else if (e->kind == KR_EXPR_SIZEOF)
    c->ok = asm_fail(a, at, "cannot read the %s at line %u: `%s`; add %s(…)", c->what,
                     a->site->line, c->text, c->what);
  else
    c->ok = asm_fail(a, at,
                     "cannot read the %s at line %u: `%s` has no value; add let(%s = …) or %s(…)",
                     c->what, a->site->line, e->name, e->name, c->what);
}

static bool launch_known(struct assembly *a, const struct asm_geo *g, const char *what)
{
  struct launch_check c = {a, what, g->text, true};
  if (g->e && !g->written)
    kr_expr_names(g->e, launch_visit, &c);
  return c.ok;
}

static bool launch_from_site(struct assembly *a)
{
  const struct kr_pkernel *k = a->k;
  const struct kr_marker *m = a->m;
  bool need_grid = !m->n_grid, need_block = !m->n_block;
  if (k->uses_dynamic_shared && !m->shared.e && !k->n_sites)
    return asm_fail(a, asm_marker_place(a), "`%s` has dynamic shared memory, and no launch is to be "
                    "seen in this file; add shared(…), in bytes", k->name);
  if (!need_grid && !need_block && !k->n_sites)
    return true;
  if (!k->n_sites)
    return asm_fail(a, asm_marker_place(a), "no launch of `%s` is to be seen in this file; add%s%s",
                    k->name, need_grid ? " grid(…)" : "", need_block ? " block(…)" : "");
  for (size_t i = 0; i < k->n_sites; i++) {
    const struct kr_psite *s = &k->sites[i];
    bool whole = !need_grid && !need_block && !s->shared_text;
    if (!s->geometry_error || whole || (!need_grid && !need_block && m->shared.e))
      continue;
    // What fails may be a part that the marker gives.
    bool missing = (need_grid && !s->grid[0]) || (need_block && !s->block[0]) ||
                   (!m->shared.e && s->shared_text && !s->shared);
    if (!missing)
      continue;
    const char *what = need_grid && !s->grid[0]    ? "grid"
                       : need_block && !s->block[0] ? "block"
                                                    : "shared";
    const char *text = what[0] == 'g'   ? s->grid_text
                       : what[0] == 'b' ? s->block_text
                                        : s->shared_text;
    // The sentence is about the first part that could not be read.
    const char *named = strstr(s->geometry_error, "cannot read the ");
    bool other = named && strncmp(named + 16, what, strlen(what));
    char *why = !other ? kr_xstrdup(s->geometry_error)
                       : kr_xasprintf("cannot read the %s at line %u: `%s`",
                                      what[0] == 's' ? "shared memory size" : what, s->line,
                                      text ? text : "?");
    bool sms = strstr(why, "multiProcessorCount") != NULL;
    asm_fail(a, launch_place(a, s), "%s; add %s(…)%s", why, what,
             sms ? ", perhaps in terms of `sms`" : "");
    free(why);
    return false;
  }
  const struct kr_psite *first = &k->sites[0];
  for (size_t i = 1; i < k->n_sites; i++)
    if (!launch_agrees(a, first, &k->sites[i]))
      return asm_fail(a, asm_marker_place(a),
                      "`%s` is launched with different geometry at lines %u and %u; %s",
                      k->name, first->line, k->sites[i].line,
                      k->is_template ? "say it in terms of the template's parameters: grid(…) "
                                       "block(…)"
                                     : "a case for each is not there yet");
  a->site = first;
  for (size_t d = 0; d < 3; d++) {
    if (need_grid && !launch_read(a, first, first->grid[d], "grid", &a->grid[d]))
      return false;
    if (need_block && !launch_read(a, first, first->block[d], "block", &a->block[d]))
      return false;
  }
  return m->shared.e || launch_read(a, first, first->shared, "shared", &a->shared);
}

bool asm_geometry(struct assembly *a)
{
  const struct kr_marker *m = a->m;
  for (size_t d = 0; d < 3; d++) {
    launch_take(&a->grid[d], &m->grid[d]);
    launch_take(&a->block[d], &m->block[d]);
  }
  launch_take(&a->shared, &m->shared);
  if (!launch_from_site(a))
    return false;
  bool ok = launch_known(a, &a->shared, "shared");
  for (size_t d = 0; d < 3; d++)
    ok = ok && launch_known(a, &a->grid[d], "grid") && launch_known(a, &a->block[d], "block");
  if (!ok)
    return false;
  struct kr_geometry *g = &a->c->geometry;
  for (size_t d = 0; d < 3; d++) {
    g->grid[d] = a->grid[d].text ? kr_xstrdup(a->grid[d].text) : NULL;
    g->block[d] = a->block[d].text ? kr_xstrdup(a->block[d].text) : NULL;
  }
  g->shared = a->shared.text ? kr_xstrdup(a->shared.text) : NULL;
  g->cooperative = m->launch_cooperative || a->k->uses_grid_sync;
  // What is seen of launches is `<<<...>>>`, which never synchronises a grid.
  if (g->cooperative && a->k->n_sites)
    return asm_fail(a, asm_marker_place(a),
                    "%s, but the launch at line %u is not cooperative",
                    m->launch_cooperative ? "the marker says launch(cooperative)"
                                          : "the body synchronises the whole grid",
                    a->k->sites[0].line);
  return true;
}

// --- who may change it ---

static bool tunable_in_body(const struct kr_pkernel *k, const char *name)
{
  // Of `Traits::kN` the last part shows in the body's identifiers.
  const char *last = strrchr(name, ':');
  last = last ? last + 1 : name;
  for (size_t i = 0; i < k->n_body_names; i++)
    if (!strcmp(k->body_names[i], last))
      return true;
  return false;
}

struct tunable_check {
  const struct assembly *a;
  char *why; // owned
};

static void tunable_visit(void *arg, const struct kr_expr *e, bool is_call)
{
  struct tunable_check *c = arg;
  bool grid;
  bool number;
  int which;
  if (c->why || is_call || e->kind != KR_EXPR_NAME || asm_axis_name(e->name, &grid, &which))
    return;
  if (asm_is_tparam(c->a, e->name, &number)) {
    c->why = kr_xasprintf("`%s` of the geometry is a template parameter", e->name);
    return;
  }
  if (asm_leaf_find(c->a, e->name))
    return;
  if (asm_binding_find(c->a->m, e->name, NULL))
    c->why = kr_xasprintf("`%s` of the geometry is no parameter of the kernel", e->name);
  else if (tunable_in_body(c->a->k, e->name))
    c->why = kr_xasprintf("`%s` of the geometry is used in the body too", e->name);
}

struct grid_check {
  bool found;
};

static void grid_visit(void *arg, const struct kr_expr *e, bool is_call)
{
  struct grid_check *c = arg;
  bool grid;
  int which;
  if (!is_call && e->kind == KR_EXPR_NAME && asm_axis_name(e->name, &grid, &which))
    c->found = true;
}

// A section whose length hangs on the geometry is an interface with the host.
static const char *tunable_section(const struct assembly *a)
{
  for (size_t i = 0; i < a->m->n_sections; i++) {
    const struct kr_msection *s = &a->m->sections[i];
    struct grid_check c = {false};
    for (size_t j = 0; j < s->n_ranges; j++) {
      if (s->ranges[j].start.e)
        kr_expr_names(s->ranges[j].start.e, grid_visit, &c);
      if (s->ranges[j].length.e)
        kr_expr_names(s->ranges[j].length.e, grid_visit, &c);
    }
    if (c.found)
      return s->path;
  }
  return NULL;
}

// Is a file made to be included, by its name? Whatever it holds may then be
// launched by files that are not looked at, `static` or not.
static bool is_header(const char *path)
{
  static const char *const units[] = {".cu", ".c", ".cc", ".cpp", ".cxx", ".C", ".c++", ".cuda"};
  const char *slash = strrchr(path, '/'), *dot = strrchr(slash ? slash : path, '.');
  for (size_t i = 0; dot && i < sizeof units / sizeof *units; i++)
    if (!strcmp(dot, units[i]))
      return false;
  return true;
}

static char *tunable_why_not(const struct assembly *a)
{
  const struct kr_pkernel *k = a->k;
  if (a->m->launch_fixed)
    return kr_xstrdup("the marker says launch(fixed)");
  for (size_t i = 0; i < k->n_sites; i++)
    if (!k->sites[i].in_file)
      return kr_xasprintf("it is launched in %s too", k->sites[i].file);
  if (k->linkage != KR_LINKAGE_INTERNAL && !a->m->launch_tunable)
    return kr_xstrdup("it has external linkage, so other files may launch it; launch(tunable) "
                      "promises that none does");
  if (is_header(a->r->file) && !a->m->launch_tunable)
    return kr_xstrdup("it stands in a header, so files that include it may launch it; "
                      "launch(tunable) promises that none does");
  if (!k->n_sites)
    return kr_xstrdup("no launch of it is to be seen in this file");
  if (a->unit->n_lost_launches) {
    unsigned line, col;
    kr_source_place(a->r->src, a->unit->lost_launches[0].offset, &line, &col);
    return kr_xasprintf("a launch at line %u could not be read", line);
  }
  for (size_t i = 0; i < k->n_sites; i++)
    if (!k->sites[i].editable)
      return kr_xasprintf("the launch at line %u cannot be edited: %s", k->sites[i].line,
                          k->sites[i].why_not ? k->sites[i].why_not : "no reason is known");
  if (k->uses_grid_dim)
    return kr_xstrdup("its body uses gridDim");
  const char *section = tunable_section(a);
  if (section)
    return kr_xasprintf("the size of `%s` hangs on the geometry", section);
  struct tunable_check c = {a, NULL};
  for (size_t d = 0; d < 3; d++) {
    if (a->grid[d].e)
      kr_expr_names(a->grid[d].e, tunable_visit, &c);
    if (a->block[d].e)
      kr_expr_names(a->block[d].e, tunable_visit, &c);
  }
  if (a->shared.e)
    kr_expr_names(a->shared.e, tunable_visit, &c);
  return c.why;
}

void asm_tunable(struct assembly *a)
{
  a->c->tunable_why = tunable_why_not(a);
  a->c->tunable = !a->c->tunable_why;
  if (a->m->launch_tunable && !a->c->tunable)
    asm_tell(a, KR_SEV_NOTE, asm_marker_place(a), "launch(tunable) has no effect: %s",
             a->c->tunable_why);
}
