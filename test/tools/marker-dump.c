// Reads the markers of files and prints what was understood, for tests.
//
//   marker-dump [--diags | --items | --hash] FILE...
//
// --diags prints messages only, --items what was read, --hash one line an
// item.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "evaluator/base/source.h"
#include "plugin/marker.h"

static const char *const verbs[] = {"optimize", "off", "verified", "modelled", "by", "from"};
static const char *const directions[] = {"data", "in", "inout", "out"};

static void dump_dims(const char *name, const struct kr_mexpr *e, size_t n)
{
  if (!n)
    return;
  printf("  %s", name);
  for (size_t i = 0; i < n; i++)
    printf("%s%s", i ? " | " : " ", e[i].text);
  printf("\n");
}

static void dump_fill(const struct kr_mfill *f)
{
  switch (f->kind) {
  case KR_FILL_DEFAULT:
    printf(" default");
    break;
  case KR_FILL_EXPR:
    printf(" = %s", f->expr.text);
    break;
  case KR_FILL_NULL:
    printf(" = null");
    break;
  case KR_FILL_ALIAS:
    printf(" = &%s", f->path);
    if (f->expr.e)
      printf("[%s]", f->expr.text);
    break;
  }
}

static void dump_marker(const struct kr_source *src, const struct kr_marker *m)
{
  unsigned line, col, to = 0, to_col = 0;
  kr_source_place(src, m->at.offset, &line, &col);
  if (m->target != SIZE_MAX)
    kr_source_place(src, m->target, &to, &to_col);
  printf("%u:%u -> %u:%u %s%s {%s}\n", line, col, to, to_col, verbs[m->verb],
         m->pragma ? " (pragma)" : "", m->text);
  if (m->reason)
    printf("  reason %s\n", m->reason);
  for (size_t i = 0; i < m->n_bindings; i++) {
    const struct kr_mbinding *b = &m->bindings[i];
    printf("  %s", b->fix ? "fix" : "let");
    for (size_t j = 0; j < b->n_paths; j++)
      printf("%s%s", j ? ", " : " ", b->paths[j]);
    printf(" =");
    for (size_t r = 0; r < b->n_rows; r++)
      for (size_t j = 0; j < b->n_paths; j++)
        printf("%s%s", j ? ", " : r ? " | " : " ", b->values[r * b->n_paths + j].text);
    printf("\n");
  }
  for (size_t i = 0; i < m->n_instantiates; i++) {
    printf("  instantiate");
    for (size_t j = 0; j < m->instantiates[i].n_args; j++) {
      const struct kr_mtarg *a = &m->instantiates[i].args[j];
      printf("%s%s%s", j ? ", " : " ", a->name ? a->name : "", a->name ? " = " : "");
      for (size_t v = 0; v < a->n_values; v++)
        printf("%s%s", v ? " | " : "", a->values[v]);
    }
    printf("\n");
  }
  for (size_t i = 0; i < m->n_sections; i++) {
    const struct kr_msection *s = &m->sections[i];
    printf("  %s %s", directions[s->direction], s->path);
    for (size_t j = 0; j < s->n_ranges; j++)
      printf("[%s%s%s]", s->ranges[j].start.e ? s->ranges[j].start.text : "",
             s->ranges[j].start.e ? " : " : "", s->ranges[j].length.text);
    for (size_t j = 0; j < s->n_fills; j++)
      dump_fill(&s->fills[j]);
    printf("\n");
  }
  for (size_t i = 0; i < m->n_requires; i++)
    printf("  require %s\n", m->requires_[i].text);
  dump_dims("grid", m->grid, m->n_grid);
  dump_dims("block", m->block, m->n_block);
  dump_dims("shared", &m->shared, m->shared.e != NULL);
  dump_dims("min_speedup", &m->min_speedup, m->min_speedup.e != NULL);
  if (m->launch_fixed || m->launch_tunable || m->launch_cooperative)
    printf("  launch%s%s%s\n", m->launch_fixed ? " fixed" : "", m->launch_tunable ? " tunable" : "",
           m->launch_cooperative ? " cooperative" : "");
  for (size_t i = 0; i < m->n_compares; i++) {
    const struct kr_mcompare *c = &m->compares[i];
    printf("  compare %s %s", c->path ? c->path : "all",
           c->kind == KR_COMPARE_EXACT ? "exact" : "tol");
    if (c->rtol.e)
      printf(" %s", c->rtol.text);
    if (c->atol.e)
      printf(" %s", c->atol.text);
    printf("\n");
  }
  for (size_t i = 0; i < m->n_aligns; i++)
    printf("  align %s %s\n", m->aligns[i].path ? m->aligns[i].path : "all",
           m->aligns[i].bytes.text);
}

int main(int argc, char **argv)
{
  bool diags = true, items = true, hash = false;
  int rc = 0;
  for (int i = 1; i < argc; i++) {
    if (!strcmp(argv[i], "--diags")) {
      items = false;
      continue;
    }
    if (!strcmp(argv[i], "--items")) {
      diags = false;
      continue;
    }
    if (!strcmp(argv[i], "--hash")) {
      hash = true;
      continue;
    }
    struct kr_source src;
    struct kr_err err;
    if (kr_source_read(&src, argv[i], &err)) {
      fprintf(stderr, "%s\n", err.text);
      return 2;
    }
    struct kr_markers m;
    struct kr_diags d = {0};
    kr_markers_scan(&src, &m, &d);
    for (size_t j = 0; j < d.n && diags; j++) {
      struct kr_bytes out;
      kr_bytes_init(&out, KR_BYTES_DEFAULT_MAX);
      kr_diag_format(&d.items[j], &src, &out);
      fwrite(out.data, 1, out.len, stdout);
      kr_bytes_release(&out);
    }
    for (size_t j = 0; j < m.n && hash; j++) {
      char hex[KR_HASH_HEX + 1];
      kr_hash_hex(kr_marker_hash(&m.items[j]), hex);
      printf("%s %s %s\n", argv[i], verbs[m.items[j].verb], hex);
    }
    for (size_t j = 0; j < m.n && items && !hash; j++)
      dump_marker(&src, &m.items[j]);
    if (d.n_errors)
      rc = 1;
    kr_diags_release(&d);
    kr_markers_release(&m);
    kr_source_release(&src);
  }
  return rc;
}
