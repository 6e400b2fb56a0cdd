#include "slice_internal.h"

#include <stdlib.h>
#include <string.h>

#include "../evaluator/base/mem.h"

// What was kept, as text: in the order the compiler met it, in its namespaces,
// with #line wherever the source goes on elsewhere, so that messages about the
// slice name places of the user's files.

static const struct map *slice_order_map; // for qsort

static int slice_order(const void *a, const void *b)
{
  const struct map_item *x = &slice_order_map->items[*(const size_t *)a];
  const struct map_item *y = &slice_order_map->items[*(const size_t *)b];
  int c = map_compare(slice_order_map, x->file, x->begin, y->file, y->begin);
  return c ? c : x->end < y->end ? 1 : x->end > y->end ? -1 : 0;
}

struct slice_print {
  struct slice *s;
  struct kr_bytes *out;
  size_t scope; // open now
  size_t file;
  unsigned line; // that the next line of the output has, in `file`; 0: unknown
};

static size_t slice_depth(const struct map *m, size_t scope)
{
  size_t n = 0;
  for (; scope != MAP_NONE; scope = m->scopes[scope].parent)
    n++;
  return n;
}

static bool slice_same_scope(const struct map *m, size_t a, size_t b)
{
  while (a != b) {
    if (a == MAP_NONE || b == MAP_NONE)
      return false;
    if (m->scopes[a].kind != m->scopes[b].kind || strcmp(m->scopes[a].name, m->scopes[b].name))
      return false;
    a = m->scopes[a].parent;
    b = m->scopes[b].parent;
  }
  return true;
}

static void slice_open(struct slice_print *p, size_t scope)
{
  const struct map_scope *sc = &p->s->map->scopes[scope];
  switch (sc->kind) {
  case MAP_NAMESPACE:
    kr_bytes_addf(p->out, "namespace %s {\n", sc->name);
    break;
  case MAP_INLINE_NAMESPACE:
    kr_bytes_addf(p->out, "inline namespace %s {\n", sc->name);
    break;
  case MAP_ANONYMOUS:
    kr_bytes_adds(p->out, "namespace {\n");
    break;
  case MAP_EXTERN_C:
    kr_bytes_adds(p->out, "extern \"C\" {\n");
    break;
  }
}

static void slice_enter(struct slice_print *p, size_t scope)
{
  const struct map *m = p->s->map;
  size_t have = slice_depth(m, p->scope), want = slice_depth(m, scope);
  // The deepest scope that both have.
  size_t common = scope, n = want, at = p->scope, closed = 0;
  for (; n > have; n--)
    common = m->scopes[common].parent;
  for (; have > n; have--, closed++)
    at = m->scopes[at].parent;
  while (!slice_same_scope(m, common, at)) {
    common = m->scopes[common].parent;
    at = m->scopes[at].parent;
    n--, closed++;
  }
  if (!closed && n == want)
    return;
  p->line = 0;
  for (size_t i = 0; i < closed; i++)
    kr_bytes_adds(p->out, "}\n");
  for (; n < want; n++) {
    size_t k = scope;
    for (size_t i = want; i > n + 1; i--)
      k = m->scopes[k].parent;
    slice_open(p, k);
  }
  p->scope = scope;
}

static unsigned slice_line_of(const struct map_file *f, size_t offset)
{
  unsigned line = 1;
  for (size_t i = 0; i < offset && i < f->len; i++)
    line += f->text[i] == '\n';
  return line;
}

static void slice_mark_line(struct slice_print *p, size_t file, size_t begin)
{
  const struct map_file *f = &p->s->map->files[file];
  unsigned line = slice_line_of(f, begin);
  if (p->file != file || p->line != line) {
    kr_bytes_addf(p->out, "#line %u \"", line);
    for (const char *c = f->shown; *c; c++) {
      if (*c == '"' || *c == '\\')
        kr_bytes_addc(p->out, '\\');
      kr_bytes_addc(p->out, *c);
    }
    kr_bytes_adds(p->out, "\"\n");
  }
  p->file = file;
  p->line = line;
}

static void slice_copy(struct slice_print *p, size_t file, size_t begin, size_t end)
{
  const struct map_file *f = &p->s->map->files[file];
  size_t token = map_token_at(f, begin);
  for (size_t i = begin; i < end; i++) {
    while (token + 1 < f->n_toks && f->toks[token].offset < i)
      token++;
    // A file that is included in the middle of a declaration (a table of numbers)
    // stands here itself.
    size_t pasted = f->toks[token].offset == i ? slice_included_file(p->s->map, file, token) : MAP_NONE;
    if (pasted != MAP_NONE) {
      slice_mark_line(p, pasted, 0);
      slice_copy(p, pasted, 0, p->s->map->files[pasted].len);
      kr_bytes_addc(p->out, '\n');
      i = f->toks[token + 2].offset + f->toks[token + 2].length;
      while (i < end && f->text[i] != '\n')
        i++;
      if (i + 1 < end)
        slice_mark_line(p, file, i + 1);
      continue;
    }
    char c = f->text[i];
    bool hole = slice_past_hole(p->s, file, i) != i;
    for (size_t k = 0; k < p->s->n_marks && (c == 'c' || c == 'v'); k++)
      if (p->s->marks[k].file == file && p->s->marks[k].begin == i && !hole) {
        kr_bytes_adds(p->out, "__host__ __device__ ");
        break;
      }
    // Comments may be in any encoding; the slice goes where bytes have to be text.
    bool in_token = f->toks[token].offset == i ||
                    (token && f->toks[token - 1].offset + f->toks[token - 1].length > i);
    if ((unsigned char)c >= 0x80 && !in_token)
      c = '?';
    kr_bytes_addc(p->out, hole && c != '\n' && c != '\r' ? ' ' : c);
    p->line += c == '\n';
  }
}

// A local of the shape `namespace x {}` must stand before `using namespace x`.
static void slice_print_using(struct slice_print *p, const struct map_item *it)
{
  if (it->kind != CXCursor_UsingDirective)
    return;
  size_t n = 0;
  CXCursor *parts = tu_children(it->cursor, &n);
  if (n == 1) {
    CXCursor ref = clang_getCursorReferenced(parts[0]);
    CXFile file = NULL;
    size_t at;
    tu_place(clang_getCursorLocation(ref), &file, &at);
    char *name = tu_take(clang_getCursorSpelling(ref));
    CXCursor up = clang_getCursorSemanticParent(ref);
    if (clang_isTranslationUnit(clang_getCursorKind(up)) && it->scope == MAP_NONE && name[0] &&
        ((file && map_file_of(p->s->map, file) != MAP_NONE) || !strcmp(name, "std")) &&
        !clang_Cursor_isInlineNamespace(ref)) {
      kr_bytes_addf(p->out, "namespace %s {}\n", name);
      p->line = 0;
    }
    free(name);
  }
  free(parts);
}

static void slice_includes(const struct slice *s, bool all, struct kr_bytes *out, bool *libcu)
{
  const char **seen = kr_xcalloc(s->map->n_headers + 1, sizeof *seen);
  size_t n = 0;
  *libcu = false;
  for (size_t i = 0; i < s->map->n_headers; i++) {
    const struct map_header *h = &s->map->headers[i];
    if (!h->include || !(s->included[i] || (all && !h->implicit)))
      continue;
    bool twice = false;
    for (size_t k = 0; k < n; k++)
      twice |= !strcmp(seen[k], h->include);
    if (!twice)
      seen[n++] = h->include;
    *libcu |= !strncmp(h->include, "cuda/", 5) || !strncmp(h->include, "cub/", 4) ||
              !strncmp(h->include, "cooperative_groups", 18);
  }
  for (size_t i = 0; i < n; i++)
    kr_bytes_addf(out, "#include <%s>\n", seen[i]);
  free(seen);
}

void slice_print(struct slice *s, bool all, struct kr_bytes *before, struct kr_bytes *after)
{
  struct map *m = s->map;
  size_t *order = kr_xcalloc(m->n_items + 1, sizeof *order), n = 0;
  for (size_t i = 0; i < m->n_items; i++)
    if (s->kept[i] && i != s->kernel)
      order[n++] = i;
  order[n++] = s->kernel;
  slice_order_map = m;
  qsort(order, n, sizeof *order, slice_order);

  // The leading directives are what a parser precompiles: the same for kernels
  // that include the same, so they end before anything of this kernel's.
  kr_bytes_adds(before, "#line 1 \"slice-prelude\"\n");
  std_print_includes(&s->std, before);
  bool libcu;
  slice_includes(s, all, before, &libcu);
  kr_bytes_adds(before, "namespace std {}\n");
  std_print_prelude(&s->std, libcu, before);

  struct slice_print p = {s, before, MAP_NONE, MAP_NONE, 0};
  const struct map_item *kernel = &m->items[s->kernel];
  size_t done_file = MAP_NONE, done = 0; // printed up to here
  for (size_t i = 0; i < n; i++) {
    const struct map_item *it = &m->items[order[i]];
    size_t begin = it->begin;
    if (order[i] == s->kernel) {
      slice_enter(&p, it->scope);
      slice_mark_line(&p, it->file, s->k->at.offset);
      // What stands before the definition's first token: `extern "C"`.
      if (s->k->at.offset > begin)
        slice_copy(&p, it->file, begin, s->k->at.offset);
      p.out = after;
      p.line = 0;
      done_file = it->file;
      done = it->end;
      kr_bytes_addc(p.out, '\n');
      continue;
    }
    // Inside the kernel or another piece: it is there already.
    if (it->file == kernel->file && begin >= s->k->at.offset && begin < s->k->at.offset + s->k->at.length)
      continue;
    if (it->file == done_file && begin < done) {
      if (it->end <= done || it->directive)
        continue;
      begin = done;
    }
    if (!it->directive)
      slice_enter(&p, it->scope);
    slice_print_using(&p, it);
    slice_mark_line(&p, it->file, begin);
    slice_copy(&p, it->file, begin, it->end);
    kr_bytes_adds(p.out, it->semicolon ? ";\n" : "\n");
    p.line++;
    done_file = it->file;
    done = it->end;
  }
  slice_enter(&p, MAP_NONE);
  free(order);
}
