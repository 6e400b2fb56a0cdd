#include "suggest.h"

#include <stdlib.h>
#include <string.h>

#include "../evaluator/base/mem.h"

// Clauses are put on lines of their own width; what only the user can know is `?`.

enum { SUGGEST_WIDTH = 78 };

struct suggestion {
  struct kr_bytes *out;
  size_t column; // 0: a new line
  bool begun;
};

static void suggest_clause(struct suggestion *s, const char *clause)
{
  size_t n = strlen(clause);
  if (s->column && s->column + 1 + n > SUGGEST_WIDTH) {
    kr_bytes_addc(s->out, '\n');
    s->column = 0;
  }
  if (!s->column) {
    const char *carrier = s->begun ? "// kevin:" : "// kevin: optimize";
    kr_bytes_adds(s->out, carrier);
    s->column = strlen(carrier);
    s->begun = true;
  }
  kr_bytes_addc(s->out, ' ');
  kr_bytes_add(s->out, clause, n);
  s->column += 1 + n;
}

static char *suggest_path(const struct kr_pparam *p, const struct kr_pleaf *leaf)
{
  return leaf->path[0] ? kr_xasprintf("%s.%s", p->name, leaf->path) : kr_xstrdup(p->name);
}

static const struct kr_puse *suggest_use(const struct kr_pkernel *k, const char *path)
{
  for (size_t i = 0; i < k->n_uses; i++)
    if (!strcmp(k->uses[i].path, path))
      return &k->uses[i];
  return NULL;
}

// "in", "inout" or "out", as far as the body shows.
static const char *suggest_direction(const struct kr_pkernel *k, const struct kr_pleaf *leaf,
                                     const char *path)
{
  const struct kr_puse *use = suggest_use(k, path);
  unsigned flow = use ? use->uses & (KR_USE_READ | KR_USE_WRITE | KR_USE_ATOMIC) : 0;
  if (leaf->pointee_const || flow == KR_USE_READ)
    return "in";
  return flow == KR_USE_WRITE ? "out" : "inout";
}

void suggest_marker(const struct kr_pkernel *k, struct kr_bytes *out)
{
  static const char *const directions[] = {"in", "inout", "out"};
  struct suggestion s = {out, 0, false};
  struct kr_bytes clause;
  kr_bytes_init(&clause, 1 << 16);
  // Where no launch shows a template's arguments.
  for (size_t i = 0; i < k->n_tparams && !k->n_launched; i++)
    kr_bytes_addf(&clause, "%s%s = ?", clause.len ? ", " : "instantiate(", k->tparams[i].name);
  if (clause.len) {
    kr_bytes_addc(&clause, ')');
    suggest_clause(&s, clause.data);
    kr_bytes_reset(&clause);
  }
  for (size_t i = 0; i < k->n_params; i++)
    for (size_t l = 0; l < k->params[i].type.n_leaves; l++) {
      const struct kr_pleaf *leaf = &k->params[i].type.leaves[l];
      if (leaf->kind > KR_SCALAR_U64 || leaf->kind == KR_SCALAR_BOOL)
        continue;
      char *path = suggest_path(&k->params[i], leaf);
      kr_bytes_addf(&clause, "%s%s = ?", clause.len ? ", " : "let(", path);
      free(path);
    }
  if (clause.len) {
    kr_bytes_addc(&clause, ')');
    suggest_clause(&s, clause.data);
  }
  for (size_t d = 0; d < 3; d++) {
    kr_bytes_reset(&clause);
    for (size_t i = 0; i < k->n_params; i++)
      for (size_t l = 0; l < k->params[i].type.n_leaves; l++) {
        const struct kr_pleaf *leaf = &k->params[i].type.leaves[l];
        if (leaf->kind != KR_SCALAR_POINTER)
          continue;
        char *path = suggest_path(&k->params[i], leaf);
        const struct kr_puse *use = suggest_use(k, path);
        if (!strcmp(suggest_direction(k, leaf, path), directions[d])) {
          const struct kr_ptype *t = kr_pkernel_type(k, leaf->pointee);
          bool subscript = use && (use->uses & KR_USE_SUBSCRIPT) && t && t->n_leaves &&
                           t->leaves[0].kind <= KR_SCALAR_U64;
          kr_bytes_addf(&clause, "%s%s[?]%s", clause.len ? ", " : "", path,
                        subscript ? " = index(?)" : "");
        }
        free(path);
      }
    if (!clause.len)
      continue;
    char *whole = kr_xasprintf("%s(%s)", directions[d], clause.data);
    suggest_clause(&s, whole);
    free(whole);
  }
  bool readable = k->n_sites > 0;
  for (size_t i = 0; i < k->n_sites; i++)
    readable = readable && !k->sites[i].geometry_error && k->sites[i].grid[0] && k->sites[i].block[0];
  if (!readable)
    suggest_clause(&s, "grid(?) block(?)");
  if (!s.begun)
    kr_bytes_adds(out, "// kevin: optimize");
  kr_bytes_addc(out, '\n');
  kr_bytes_release(&clause);
}
