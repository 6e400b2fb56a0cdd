// Assembles the contracts of a file's marked kernels through kevin-parse and
// prints them with all that was told: contract_dump [--suggest] PARSE FILE [-- FLAGS].
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver/assemble.h"
#include "driver/suggest.h"

static void print_told(const struct kr_source *src, const struct kr_diags *d)
{
  for (size_t i = 0; i < d->n; i++) {
    struct kr_bytes out;
    kr_bytes_init(&out, 1 << 20);
    kr_diag_format(&d->items[i], src, &out);
    fwrite(out.data, 1, out.len, stdout);
    kr_bytes_release(&out);
  }
}

static void print_dims(const char *name, char *const dims[3])
{
  printf("  %s", name);
  for (int d = 0; d < 3 && (d == 0 || dims[d]); d++)
    printf("%s%s", d ? " | " : " ", dims[d] ? dims[d] : "1");
  printf("\n");
}

static void print_contract(const struct kr_contract *c)
{
  static const char *const roles[] = {"in", "inout", "out"};
  printf("%s%s\n", c->kernel, c->signature);
  for (size_t i = 0; i < c->n_instantiations; i++)
    printf("  as %s\n", c->instantiations[i].name_expression);
  print_dims("grid", c->geometry.grid);
  print_dims("block", c->geometry.block);
  if (c->geometry.shared)
    printf("  shared %s\n", c->geometry.shared);
  printf("  %s%s\n", c->tunable ? "tunable" : "fixed: ", c->tunable ? "" : c->tunable_why);
  for (size_t i = 0; i < c->n_constants; i++) {
    struct kr_bytes v;
    kr_bytes_init(&v, 256);
    kr_value_print(c->constants[i].value, &v);
    printf("  constant %s = %s\n", c->constants[i].name, v.data);
    kr_bytes_release(&v);
  }
  for (size_t i = 0; i < c->n_sections; i++) {
    const struct kr_section *s = &c->sections[i];
    printf("  %s %s", roles[s->role], s->path);
    for (size_t d = 0; d < s->n_dims; d++)
      printf("[%s%s%s]", d == 0 && s->start ? s->start : "", d == 0 && s->start ? " : " : "",
             s->dims[d]);
    printf("%s%s\n", s->align ? " align " : "", s->align ? s->align : "");
  }
  for (size_t i = 0; i < c->n_cases; i++) {
    printf("  case %s:", c->cases[i].label);
    for (size_t j = 0; j < c->cases[i].n_bindings; j++) {
      const struct kr_binding *b = &c->cases[i].bindings[j];
      printf("%s %s = %s%s", j ? "," : "", b->path, b->drawn ? "drawn" : b->expr,
             b->fixed ? " (fixed)" : "");
    }
    printf("\n");
  }
}

int main(int argc, char **argv)
{
  bool suggest = argc > 1 && !strcmp(argv[1], "--suggest");
  if (argc < 3 + suggest) {
    fprintf(stderr, "usage: contract_dump [--suggest] PARSE FILE [-- FLAGS]\n");
    return 2;
  }
  argv += suggest;
  argc -= suggest;
  struct kr_source src;
  struct kr_err err;
  if (kr_source_read(&src, argv[2], &err)) {
    fprintf(stderr, "%s\n", err.text);
    return 2;
  }
  struct kr_markers markers;
  struct kr_diags told = {0};
  struct kr_unit unit = {0};
  struct kr_parser_options options = {.program = argv[1], .cuda_path = getenv("CUDA_PATH")};
  struct kr_parser *parser = kr_parser_new(&options);
  struct kr_parse_request req = {.src = &src};
  int rc = 1;
  size_t flags = 3;
  if (argc > 3 && !strcmp(argv[3], "--")) {
    req.flags = (const char *const *)argv + 4;
    req.n_flags = (size_t)argc - 4;
    flags = (size_t)argc;
  }
  kr_markers_scan(&src, &markers, &told);
  if (flags < (size_t)argc || kr_parser_unit(parser, &req, &unit, &err)) {
    fprintf(stderr, "%s\n", err.text);
    goto out;
  }
  assemble_attach(&src, &markers, &unit, &told);
  struct kr_parse_wants *wants = calloc(unit.n_kernels + 1, sizeof *wants);
  size_t n_wants = 0;
  for (size_t i = 0; i < unit.n_kernels; i++) {
    const struct kr_marker *m =
        kr_markers_above(&markers, unit.kernels[i].at.offset, KR_MARKER_OPTIMIZE);
    if (m)
      assemble_wants(m, &unit.kernels[i], &wants[n_wants++]);
  }
  req.wants = wants;
  req.n_wants = n_wants;
  kr_unit_release(&unit);
  rc = kr_parser_unit(parser, &req, &unit, &err);
  if (rc)
    fprintf(stderr, "%s\n", err.text);
  for (size_t i = 0; i < n_wants; i++)
    assemble_wants_release(&wants[i]);
  free(wants);
  for (size_t i = 0; i < unit.n_kernels && !rc; i++) {
    const struct kr_pkernel *k = &unit.kernels[i];
    struct kr_contract c;
    struct assemble_request r = {.src = &src, .unit = &unit, .kernel = k, .file = argv[2]};
    r.marker = kr_markers_above(&markers, k->at.offset, KR_MARKER_OPTIMIZE);
    if (!r.marker && suggest) {
      struct kr_bytes out;
      kr_bytes_init(&out, 1 << 20);
      suggest_marker(k, &out);
      printf("%s\n%s", k->qualified, out.data);
      kr_bytes_release(&out);
    }
    if (!r.marker || suggest)
      continue;
    if (!assemble_contract(&r, &c, &told)) {
      print_contract(&c);
      kr_contract_release(&c);
    }
  }
  print_told(&src, &told);
  rc = rc ? rc : told.n_errors > 0;
out:
  kr_unit_release(&unit);
  kr_parser_free(parser);
  kr_diags_release(&told);
  kr_markers_release(&markers);
  kr_source_release(&src);
  return rc;
}
