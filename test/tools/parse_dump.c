// Prints what kevin-parse tells of a source, through the client, one fact a line:
//
//   parse_dump [options] FILE [-- flags...]
//
//   --program=FILE  --cuda=DIR  --no-cuda  --headers=DIR  --project=DIR  --arch=sm_NN
//   --timeout=MS  --memory=MIB
//   --want=KERNEL:NAME   evaluates NAME at KERNEL; may be repeated
//   --database=DIR       flags from DIR/compile_commands.json
//   --facts=KERNEL:FILE  facts about the text of FILE in the kernel's place
//   --slices             prints the slices too
//   --no-slices          asks for none
//   --times=N            asks N times and prints the milliseconds of each
//   --brief              kernels and their refusals only
//
// Exit: 0; 1 when the parser failed; 2 usage.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "evaluator/base/mem.h"
#include "plugin/plugin.h"

static const struct kr_source *dump_src;

static void dump_span(const char *name, struct kr_span s)
{
  if (!s.length)
    return;
  printf("  %s: %zu+%zu `", name, s.offset, s.length);
  const char *text = dump_src->data + s.offset;
  for (size_t i = 0; i < s.length; i++) {
    if (s.length > 72 && i == 34) {
      fputs(" ... ", stdout);
      i = s.length - 34;
    }
    unsigned char c = (unsigned char)text[i];
    if (c < 0x20 || c >= 0x7f)
      printf("\\x%02x", c);
    else
      putchar(c);
  }
  puts("`");
}

static void dump_diags(const char *what, const struct kr_diag *d, size_t n)
{
  for (size_t i = 0; i < n; i++) {
    unsigned line = 0, col = 0;
    if (d[i].offset != (size_t)-1)
      kr_source_place(dump_src, d[i].offset, &line, &col);
    printf("  %s %u:%u: %s\n", what, line, col, d[i].text);
  }
}

static void dump_type(const char *name, const struct kr_ptype *t)
{
  static const char *const kinds[] = {"bool", "i8",  "u8",   "i16", "u16", "i32", "u32",  "i64",
                                      "u64",  "f16", "bf16", "f32", "f64", "ptr", "void", "opaque"};
  printf("  %s %s size=%zu align=%zu", name, t->name, t->size, t->align);
  for (size_t i = 0; i < t->n_leaves; i++) {
    const struct kr_pleaf *l = &t->leaves[i];
    printf(" %s%s%zu:%s", l->path, l->path[0] ? "@" : "", l->offset, kinds[l->kind]);
    if (l->pointee)
      printf("(%s%s%s)", l->pointee_const ? "const " : "", l->pointee,
             l->is_restrict ? " restrict" : "");
  }
  putchar('\n');
}

static const char *dump_or(const char *s)
{
  return s ? s : "-";
}

static void dump_site(const struct kr_psite *s)
{
  printf("  site %s:%u:%u in=%s%s%s%s\n", s->file, s->line, s->col, s->enclosing,
         s->in_file ? "" : " elsewhere", s->editable ? "" : " not editable: ",
         s->editable ? "" : dump_or(s->why_not));
  dump_span("  at", s->at);
  dump_span("  config", s->config);
  dump_span("  grid_at", s->grid_at);
  dump_span("  block_at", s->block_at);
  dump_span("  shared_at", s->shared_at);
  dump_span("  stream_at", s->stream_at);
  for (size_t i = 0; i < s->n_args; i++)
    printf("    arg %zu+%zu `%s`%s same_as=%s\n", s->args[i].at.offset, s->args[i].at.length,
           s->args[i].text, s->args[i].side_effects ? " effects" : "",
           dump_or(s->args[i].same_as_path));
  if (s->geometry_error) {
    printf("    geometry: %s\n", s->geometry_error);
    return;
  }
  printf("    geometry: grid(%s", dump_or(s->grid[0]));
  for (int i = 1; i < 3; i++)
    if (s->grid[1] || s->grid[2])
      printf(", %s", s->grid[i] ? s->grid[i] : "1");
  printf(") block(%s", dump_or(s->block[0]));
  for (int i = 1; i < 3; i++)
    if (s->block[1] || s->block[2])
      printf(", %s", s->block[i] ? s->block[i] : "1");
  printf(") shared(%s)\n", s->shared ? s->shared : "0");
}

static void dump_uses(const struct kr_pkernel *k)
{
  for (size_t i = 0; i < k->n_uses; i++) {
    const struct kr_puse *u = &k->uses[i];
    printf("  use %s:%s%s%s%s", u->path, u->uses & KR_USE_READ ? " read" : "",
           u->uses & KR_USE_WRITE ? " write" : "", u->uses & KR_USE_ATOMIC ? " atomic" : "",
           u->uses & KR_USE_NULL_TEST ? " null-test" : "");
    if (u->uses & KR_USE_SUBSCRIPT)
      printf(" subscript(line %u)", u->subscript_line);
    putchar('\n');
  }
}

static void dump_kernel(const struct kr_pkernel *k, bool brief, bool slices)
{
  printf("kernel %s%s at %u:%u%s%s%s\n", k->qualified, k->signature, k->line, k->col,
         k->linkage == KR_LINKAGE_INTERNAL ? " internal" : "", k->extern_c ? " extern-C" : "",
         k->is_template ? " template" : "");
  if (k->refused) {
    unsigned line, col;
    struct kr_span at = k->refused_at.offset ? k->refused_at : k->at;
    kr_source_place(dump_src, at.offset, &line, &col);
    printf("  refused %u:%u: %s\n", line, col, k->refused);
  }
  if (brief)
    return;
  printf("  name_expression %s\n  usr %s\n", k->name_expression, k->usr);
  dump_span("at", k->at);
  dump_span("name", k->name_at);
  dump_span("params", k->params_at);
  dump_span("body", k->body_at);
  for (size_t i = 0; i < k->n_tparams; i++) {
    static const char *const kinds[] = {"type", "integer", "bool", "enum"};
    printf("  tparam %s %s%s\n", k->tparams[i].name, kinds[k->tparams[i].kind],
           k->tparams[i].has_default ? " default" : "");
  }
  for (size_t i = 0; i < k->n_launched; i++) {
    const struct kr_plaunched *l = &k->launched[i];
    printf("  launched <");
    for (size_t a = 0; a < l->n_arguments; a++)
      printf("%s%s", a ? ", " : "", l->arguments[a]);
    printf("> %s:%u%s sites", l->file, l->line, l->by_name ? " by name" : "");
    for (size_t s = 0; s < l->n_sites; s++)
      printf(" %zu", l->sites[s]);
    putchar('\n');
  }
  for (size_t i = 0; i < k->n_params; i++) {
    char *name = kr_xasprintf("param %s (%s) =", k->params[i].name, k->params[i].type_name);
    dump_type(name, &k->params[i].type);
    free(name);
  }
  for (size_t i = 0; i < k->n_types; i++)
    dump_type("type", &k->types[i]);
  dump_uses(k);
  printf("  body:%s%s%s%s%s%s\n", k->uses_grid_dim ? " gridDim" : "",
         k->uses_grid_sync ? " grid-sync" : "", k->uses_barrier ? " barrier" : "",
         k->uses_dynamic_shared ? " dynamic-shared" : "", k->uses_clock ? " clock" : "",
         k->uses_asm ? " asm" : "");
  printf("  names:");
  for (size_t i = 0; i < k->n_body_names; i++)
    printf(" %s", k->body_names[i]);
  putchar('\n');
  for (size_t i = 0; i < k->n_sites; i++)
    dump_site(&k->sites[i]);
  dump_diags("error", k->errors, k->n_errors);
  for (size_t i = 0; i < k->n_deps; i++)
    printf("  dep %s\n", k->deps[i].file);
  if (slices && k->slice_before)
    printf("%s/* %s */%s", k->slice_before, k->name, k->slice_after);
}

static void dump_unit(const struct kr_unit *u, bool brief, bool slices)
{
  for (size_t i = 0; i < u->n_kernels; i++)
    dump_kernel(&u->kernels[i], brief, slices);
  if (brief)
    return;
  for (size_t i = 0; i < u->n_constants; i++) {
    const struct kr_pconstant *c = &u->constants[i];
    if (!c->known)
      printf("constant %s unknown: %s\n", c->name, dump_or(c->why));
    else if (c->is_real)
      printf("constant %s = %.17g\n", c->name, c->d);
    else
      printf("constant %s = %lld\n", c->name, (long long)c->i);
  }
  for (size_t i = 0; i < u->n_instances; i++) {
    const struct kr_pinstance *in = &u->instances[i];
    if (!in->known) {
      printf("instance <%s> unknown: %s\n", in->asked, dump_or(in->why));
      continue;
    }
    printf("instance <%s> =", in->asked);
    for (size_t a = 0; a < in->n_arguments; a++)
      printf(" %s(%lld)", in->arguments[a], (long long)in->values[a]);
    printf(" %s%s\n", in->kernel.name_expression, in->kernel.signature);
    for (size_t p = 0; p < in->kernel.n_params; p++)
      dump_type(in->kernel.params[p].name, &in->kernel.params[p].type);
    for (size_t j = 0; j < in->n_constants; j++)
      if (in->constants[j].known)
        printf("  %s = %lld\n", in->constants[j].name, (long long)in->constants[j].i);
      else
        printf("  %s unknown: %s\n", in->constants[j].name, dump_or(in->constants[j].why));
    dump_uses(&in->kernel);
  }
  for (size_t i = 0; i < u->n_lost_launches; i++)
    dump_span("lost", u->lost_launches[i]);
  dump_diags("unit-error", u->errors, u->n_errors);
}

static void dump_facts(const struct kr_facts *f)
{
  for (size_t i = 0; i < f->n_decls; i++)
    printf("decl %s line %u%s\n", f->decls[i].qualified, f->decls[i].line,
           f->decls[i].is_kernel ? " kernel" : "");
  for (size_t i = 0; i < f->n_errors; i++)
    printf("fact-error %zd: %s\n", (ssize_t)f->errors[i].offset, f->errors[i].text);
  printf("facts kernel=%s %s suffix %s\n", dump_or(f->kernel_usr), dump_or(f->kernel_signature),
         f->suffix_intact ? "intact" : "changed");
}

static const struct kr_pkernel *dump_find(const struct kr_unit *u, const char *name, size_t len)
{
  for (size_t i = 0; i < u->n_kernels; i++)
    if (strlen(u->kernels[i].name) == len && !strncmp(u->kernels[i].name, name, len))
      return &u->kernels[i];
  return NULL;
}

int main(int argc, char **argv)
{
  struct kr_parser_options options = {.cuda_path = getenv("CUDA_PATH")};
  struct kr_parse_request req = {0};
  size_t none = 0;
  struct kr_parse_wants wants[17] = {{0}};
  char *names[16];
  const char *want[16], *path = NULL, *database = NULL, *facts = NULL;
  const char *instance[16];
  char *lists[16];
  size_t n_want = 0, n_instance = 0;
  bool brief = false, slices = false;
  int times = 0, rc = 1;
  const char *const *flags = NULL;
  size_t n_flags = 0;
  if (!options.cuda_path && !access("/usr/local/cuda/include/cuda.h", F_OK))
    options.cuda_path = "/usr/local/cuda";
  for (int i = 1; i < argc; i++) {
    const char *a = argv[i], *v = strchr(a, '=');
    v = v ? v + 1 : "";
    if (!strncmp(a, "--program=", 10))
      options.program = v;
    else if (!strncmp(a, "--cuda=", 7))
      options.cuda_path = v;
    else if (!strcmp(a, "--no-cuda"))
      options.cuda_path = NULL;
    else if (!strncmp(a, "--headers=", 10))
      options.headers_dir = v;
    else if (!strncmp(a, "--project=", 10))
      req.project_dir = v;
    else if (!strncmp(a, "--arch=", 7))
      req.arch = v;
    else if (!strncmp(a, "--timeout=", 10))
      options.timeout_ms = (unsigned)atoi(v);
    else if (!strncmp(a, "--memory=", 9))
      options.memory_bytes = (size_t)atoi(v) << 20;
    else if (!strncmp(a, "--want=", 7) && n_want < 16)
      want[n_want++] = v;
    else if (!strncmp(a, "--instance=", 11) && n_instance < 16)
      instance[n_instance++] = v; // KERNEL:ARGUMENTS
    else if (!strncmp(a, "--database=", 11))
      database = v;
    else if (!strncmp(a, "--facts=", 8))
      facts = v;
    else if (!strcmp(a, "--slices"))
      slices = true;
    else if (!strcmp(a, "--no-slices"))
      req.slices = &none;
    else if (!strncmp(a, "--times=", 8))
      times = atoi(v);
    else if (!strcmp(a, "--brief"))
      brief = true;
    else if (!strcmp(a, "--")) {
      flags = (const char *const *)argv + i + 1;
      n_flags = (size_t)(argc - i - 1);
      break;
    } else
      path = a;
  }
  if (!path) {
    fputs("usage: parse_dump [options] FILE [-- flags...]\n", stderr);
    return 2;
  }
  struct kr_err err = {""};
  struct kr_source src = {0}, other = {0};
  struct kr_flags vetted = {0};
  struct kr_bytes dropped;
  struct kr_unit unit = {0};
  kr_bytes_init(&dropped, KR_BYTES_DEFAULT_MAX);
  struct kr_parser *parser = kr_parser_new(&options);
  char cwd[4096];
  if (!getcwd(cwd, sizeof cwd) || kr_source_read(&src, path, &err))
    goto out;
  dump_src = &src;
  if (database && kr_flags_from_database(&vetted, database, path, &dropped, &err) < 0)
    goto out;
  kr_flags_filter(&vetted, flags, n_flags, cwd, cwd, &dropped);
  for (size_t i = 0; i < vetted.n && !brief; i++)
    printf("flag %s\n", vetted.items[i]);
  for (char *s = dropped.data; *s; s += strcspn(s, "\n") + 1)
    printf("dropped %.*s\n", (int)strcspn(s, "\n"), s);
  req.src = &src;
  req.flags = (const char *const *)vetted.items;
  req.n_flags = vetted.n;
  for (int i = 0; i < (times ? times : 1); i++) {
    struct timespec t0, t1;
    kr_unit_release(&unit);
    clock_gettime(CLOCK_MONOTONIC, &t0);
    if (kr_parser_unit(parser, &req, &unit, &err))
      goto out;
    clock_gettime(CLOCK_MONOTONIC, &t1);
    if (times)
      printf("time %.0f ms\n", (double)(t1.tv_sec - t0.tv_sec) * 1e3 +
                                   (double)(t1.tv_nsec - t0.tv_nsec) / 1e6);
  }
  for (size_t i = 0; i < n_want; i++) {
    const char *colon = strchr(want[i], ':');
    const struct kr_pkernel *k = colon ? dump_find(&unit, want[i], (size_t)(colon - want[i])) : NULL;
    if (!k) {
      fprintf(stderr, "--want: no such kernel: %s\n", want[i]);
      goto out;
    }
    names[i] = (char *)(colon + 1);
    wants[i] = (struct kr_parse_wants){.kernel_offset = k->at.offset, .names = &names[i],
                                       .n_names = 1};
  }
  // All of one template, in a want of its own.
  for (size_t i = 0; i < n_instance; i++) {
    const char *colon = strchr(instance[i], ':');
    const struct kr_pkernel *k =
        colon ? dump_find(&unit, instance[i], (size_t)(colon - instance[i])) : NULL;
    if (!k) {
      fprintf(stderr, "--instance: no such kernel: %s\n", instance[i]);
      goto out;
    }
    lists[i] = (char *)(colon + 1);
    if (i == 0)
      wants[n_want] = (struct kr_parse_wants){
          .kernel_offset = k->at.offset, .names = names, .n_names = n_want, .instances = lists};
    wants[n_want].n_instances++;
  }
  n_want += n_instance > 0;
  if (n_want) {
    req.wants = wants;
    req.n_wants = n_want;
    kr_unit_release(&unit);
    if (kr_parser_unit(parser, &req, &unit, &err))
      goto out;
  }
  if (facts) {
    const char *colon = strchr(facts, ':');
    const struct kr_pkernel *k = colon ? dump_find(&unit, facts, (size_t)(colon - facts)) : NULL;
    struct kr_facts f;
    if (!k || kr_source_read(&other, colon + 1, &err))
      goto out;
    for (int i = 0; i < (times ? times : 1); i++) {
      struct timespec t0, t1;
      clock_gettime(CLOCK_MONOTONIC, &t0);
      if (kr_parser_facts(parser, &req, k, other.data, &f, &err))
        goto out;
      clock_gettime(CLOCK_MONOTONIC, &t1);
      if (times)
        printf("time of facts %.0f ms\n", (double)(t1.tv_sec - t0.tv_sec) * 1e3 +
                                              (double)(t1.tv_nsec - t0.tv_nsec) / 1e6);
      if (i + 1 >= times)
        dump_facts(&f);
      kr_facts_release(&f);
    }
  } else {
    dump_unit(&unit, brief, slices);
  }
  rc = 0;
out:
  if (rc)
    fprintf(stderr, "error: %s\n", err.text);
  kr_parser_free(parser);
  kr_unit_release(&unit);
  kr_flags_release(&vetted);
  kr_bytes_release(&dropped);
  kr_source_release(&src);
  kr_source_release(&other);
  return rc;
}
