// RUN: %unit/assemble
// Contracts from markers and hand-made facts: what is understood, and every
// refusal with its place.
#include "driver/assemble.h"
#include "driver/suggest.h"
#include "evaluator/base/mem.h"
#include "evaluator/instance.h"
#include "unit.h"

// A kernel's facts, written down as kevin-parse would find them.
struct fixture {
  struct kr_source src;
  struct kr_markers markers;
  struct kr_diags diags;
  struct kr_unit unit;
  struct kr_pkernel k;
  struct kr_pparam params[12];
  struct kr_ptype types[12];
  struct kr_puse uses[8];
  struct kr_psite sites[4];
  struct kr_pconstant constants[8];
  char *body_names[8];
  struct kr_contract c;
  int rc;
  struct kr_bytes told;
  void *keep[128]; // freed at the end
  size_t n_keep;
};

static char *keep(struct fixture *f, void *p)
{
  f->keep[f->n_keep++] = p;
  return p;
}

static const struct {
  const char *name;
  enum kr_scalar kind;
  size_t size;
} basics[] = {{"bool", KR_SCALAR_BOOL, 1},   {"unsigned char", KR_SCALAR_U8, 1},
              {"int", KR_SCALAR_I32, 4},     {"unsigned int", KR_SCALAR_U32, 4},
              {"long long", KR_SCALAR_I64, 8}, {"float", KR_SCALAR_F32, 4},
              {"double", KR_SCALAR_F64, 8},  {"void", KR_SCALAR_VOID, 0},
              {"cudaTextureObject_t", KR_SCALAR_U64, 8},
              {"cudaArray", KR_SCALAR_OPAQUE, 8}};

static struct kr_ptype basic(struct fixture *f, const char *name)
{
  for (size_t i = 0; i < sizeof basics / sizeof *basics; i++) {
    if (strcmp(basics[i].name, name))
      continue;
    struct kr_pleaf *leaf = (void *)keep(f, kr_xcalloc(1, sizeof *leaf));
    *leaf = (struct kr_pleaf){.path = "", .kind = basics[i].kind};
    return (struct kr_ptype){(char *)name, basics[i].size ? basics[i].size : 1, basics[i].size, leaf, 1};
  }
  abort();
}

static void begin(struct fixture *f, const char *text)
{
  memset(f, 0, sizeof *f);
  kr_source_from_text(&f->src, "k.cu", text, strlen(text));
  kr_markers_scan(&f->src, &f->markers, &f->diags);
  const char *at = strstr(text, "__global__");
  f->k = (struct kr_pkernel){.name = "axpy",
                             .qualified = "axpy",
                             .name_expression = "axpy",
                             .signature = "()",
                             .usr = "u",
                             .linkage = KR_LINKAGE_INTERNAL,
                             .slice_before = "",
                             .slice_after = "",
                             .params = f->params,
                             .types = f->types,
                             .uses = f->uses,
                             .sites = f->sites,
                             .body_names = f->body_names};
  f->k.at.offset = (size_t)(at - text);
  f->k.at.length = kr_definition_end(&f->src, f->k.at.offset) - f->k.at.offset;
  f->k.name_at = (struct kr_span){f->k.at.offset, 10};
  unsigned col;
  kr_source_place(&f->src, f->k.at.offset, &f->k.line, &col);
  f->unit = (struct kr_unit){.file = "k.cu", .kernels = &f->k, .n_kernels = 1,
                             .constants = f->constants};
}

// "int", or "float *" and "const float *".
static void param(struct fixture *f, const char *type, const char *name)
{
  struct kr_pparam *p = &f->params[f->k.n_params++];
  *p = (struct kr_pparam){.name = (char *)name, .type_name = (char *)type, .at = f->k.name_at};
  size_t n = strlen(type);
  if (type[n - 1] != '*') {
    p->type = basic(f, type);
    return;
  }
  bool is_const = !strncmp(type, "const ", 6);
  const char *start = type + (is_const ? 6 : 0);
  char *pointee = keep(f, kr_xstrndup(start, strlen(start) - 2));
  struct kr_pleaf *leaf = (void *)keep(f, kr_xcalloc(1, sizeof *leaf));
  *leaf = (struct kr_pleaf){.path = "", .kind = KR_SCALAR_POINTER, .pointee = pointee,
                            .pointee_const = is_const};
  p->type = (struct kr_ptype){(char *)type, 8, 8, leaf, 1};
  f->types[f->k.n_types++] = basic(f, pointee);
}

static void use(struct fixture *f, const char *path, unsigned uses, unsigned line)
{
  f->uses[f->k.n_uses++] = (struct kr_puse){(char *)path, uses, line};
}

static struct kr_psite *site(struct fixture *f, unsigned line, const char *grid, const char *block)
{
  struct kr_psite *s = &f->sites[f->k.n_sites++];
  *s = (struct kr_psite){.file = "k.cu", .in_file = true, .line = line, .editable = true};
  s->config = (struct kr_span){f->k.at.offset, 3};
  s->grid[0] = (char *)grid;
  s->block[0] = (char *)block;
  s->grid_text = (char *)grid;
  s->block_text = (char *)block;
  return s;
}

static void constant(struct fixture *f, const char *name, int64_t value)
{
  f->constants[f->unit.n_constants++] =
      (struct kr_pconstant){f->k.at.offset, (char *)name, true, false, value, 0, NULL};
}

static void end(struct fixture *f)
{
  struct assemble_request r = {.src = &f->src,
                               .unit = &f->unit,
                               .kernel = &f->k,
                               .file = "k.cu",
                               .marker = kr_markers_above(&f->markers, f->k.at.offset,
                                                          KR_MARKER_OPTIMIZE)};
  f->rc = -2;
  if (r.marker)
    f->rc = assemble_contract(&r, &f->c, &f->diags);
  // What is assembled can be given numbers by the evaluator, case by case.
  for (size_t i = 0; !f->rc && i < f->c.n_cases; i++) {
    struct kr_instance in;
    struct kr_launch launch;
    struct kr_device_facts facts = {.sms = 132, .warp = 32, .shared_optin_bytes = 232448};
    struct kr_err err = {{0}};
    CHECK_INT(kr_instance_make(&in, &f->c, i, 1, KR_DIST_NORMAL, NULL, 0, &err), 0);
    CHECK_STR(err.text, "");
    CHECK_INT(kr_instance_launch(&in, &f->c.geometry, &facts, &launch, &err), 0);
    CHECK_STR(err.text, "");
    kr_instance_release(&in);
  }
  kr_bytes_init(&f->told, 1 << 20);
  for (size_t i = 0; i < f->diags.n; i++)
    kr_diag_format(&f->diags.items[i], &f->src, &f->told);
}

static void done(struct fixture *f)
{
  if (!f->rc)
    kr_contract_release(&f->c);
  kr_bytes_release(&f->told);
  kr_diags_release(&f->diags);
  kr_markers_release(&f->markers);
  kr_source_release(&f->src);
  for (size_t i = 0; i < f->n_keep; i++)
    free(f->keep[i]);
}

// The kernel of most tests: axpy(int n, float a, const float *x, float *y), launched once.
#define AXPY "__global__ void axpy(int n, float a, const float *x, float *y) { }\n"

static void axpy(struct fixture *f, const char *marker)
{
  char *text = kr_xasprintf("%s\n" AXPY, marker);
  begin(f, text);
  free(text);
  param(f, "int", "n");
  param(f, "float", "a");
  param(f, "const float *", "x");
  param(f, "float *", "y");
  site(f, 9, "ceil_div(n, 256)", "256");
}

static void axpy_says(const char *marker, const char *want)
{
  struct fixture f;
  axpy(&f, marker);
  end(&f);
  CHECK_STR(f.told.data, want);
  done(&f);
}

// --- what is understood ---

static void plain_marker_becomes_a_contract(void)
{
  struct fixture f;
  axpy(&f, "// kevin: optimize let(n = {1 << 12, 1000}) data(*[n]) align(16)");
  end(&f);
  CHECK_STR(f.told.data, "");
  CHECK_INT(f.rc, 0);
  CHECK_INT(f.c.n_cases, 2);
  CHECK_STR(f.c.cases[0].label, "n = 4096");
  CHECK_STR(f.c.cases[1].label, "n = 1000");
  CHECK_INT(f.c.cases[0].n_bindings, 2);
  CHECK_STR(f.c.cases[0].bindings[0].path, "a");
  CHECK(f.c.cases[0].bindings[0].drawn && !f.c.cases[0].bindings[0].expr);
  CHECK_STR(f.c.cases[0].bindings[1].expr, "1 << 12");
  CHECK(!f.c.cases[0].bindings[1].fixed);
  CHECK_INT(f.c.n_sections, 2);
  CHECK_STR(f.c.sections[0].path, "x");
  CHECK_INT(f.c.sections[0].role, KR_IN);
  CHECK_INT(f.c.sections[1].role, KR_INOUT);
  CHECK_STR(f.c.sections[1].dims[0], "n");
  CHECK_STR(f.c.sections[1].align, "16");
  CHECK_STR(f.c.geometry.grid[0], "ceil_div(n, 256)");
  CHECK_STR(f.c.geometry.block[0], "256");
  CHECK(!f.c.geometry.grid[1] && !f.c.geometry.shared);
  CHECK(f.c.tunable && !f.c.tunable_why);
  CHECK_NEAR(f.c.min_speedup, 1.02, 1e-12);
  CHECK_STR(f.c.code, "__global__ void axpy(int n, float a, const float *x, float *y) { }");
  CHECK_INT(f.c.line, 2);
  CHECK_INT(f.c.n_params, 4);
  CHECK_INT(f.c.params[2].leaves[0].kind, KR_POINTER);
  CHECK(f.c.params[2].leaves[0].is_const);
  CHECK_STR(f.c.types[f.c.params[2].leaves[0].type].name, "float");
  // What is written as JSON is read again as the same contract.
  struct kr_bytes json;
  struct kr_contract back;
  struct kr_err err = {{0}};
  kr_bytes_init(&json, 1 << 20);
  kr_contract_to_json(&f.c, &json);
  CHECK_INT(kr_contract_from_json(&back, json.data, json.len, &err), 0);
  CHECK_STR(err.text, "");
  CHECK(kr_hash_equal(kr_contract_hash(&f.c), kr_contract_hash(&back)));
  kr_contract_release(&back);
  kr_bytes_release(&json);
  done(&f);
}

static void tuples_products_and_require_make_cases(void)
{
  struct fixture f;
  axpy(&f, "// kevin: optimize let((n, m) = {(16, 1), (20, 2), (7, 3)}, k = {m, 2 * m}) "
           "require(n % 4 == 0) in(x[n][m][k]) out(y[n])");
  end(&f);
  CHECK_STR(f.told.data, "");
  CHECK_INT(f.rc, 0);
  CHECK_INT(f.c.n_cases, 4);
  CHECK_STR(f.c.cases[0].label, "n = 16, m = 1, k = 1");
  CHECK_STR(f.c.cases[1].label, "n = 16, m = 1, k = 2");
  CHECK_STR(f.c.cases[3].label, "n = 20, m = 2, k = 4");
  CHECK_STR(f.c.requires_[0], "n % 4 == 0");
  CHECK_INT(f.c.sections[0].n_dims, 3);
  done(&f);
}

static void fills_and_ranges_are_kept(void)
{
  struct fixture f;
  axpy(&f, "// kevin: optimize let(n = 64) in(x[-2 : n + 4] = {normal(0, 1), null}) "
           "inout(y[n] = i % 3) compare(tol(1e-3, 1e-6)) min_speedup(1.1) block(64) grid(sms)");
  f.k.n_sites = 0;
  end(&f);
  CHECK_STR(f.told.data, "");
  CHECK_INT(f.rc, 0);
  CHECK_INT(f.c.n_cases, 2);
  CHECK_STR(f.c.cases[0].label, "x = normal(0, 1)");
  CHECK_STR(f.c.cases[1].label, "x = null");
  CHECK_INT(f.c.cases[0].fillings[0].kind, KR_FILLED_EXPR);
  CHECK_INT(f.c.cases[1].fillings[0].kind, KR_FILLED_NULL);
  CHECK_STR(f.c.cases[1].fillings[1].expr, "i % 3");
  CHECK_STR(f.c.sections[0].start, "-2");
  CHECK_STR(f.c.sections[0].dims[0], "n + 4");
  CHECK_INT(f.c.sections[0].compare, KR_CMP_DEFAULT);
  CHECK_INT(f.c.sections[1].compare, KR_CMP_TOL);
  CHECK_STR(f.c.sections[1].atol, "1e-6");
  CHECK_NEAR(f.c.min_speedup, 1.1, 1e-12);
  CHECK_STR(f.c.geometry.grid[0], "sms");
  done(&f);
}

static void bools_take_both_values_and_aliases_point(void)
{
  struct fixture f;
  begin(&f, "// kevin: optimize let(n = 8) inout(y[n]) in(x[4] = &y[4]) grid(1) block(n)\n"
            "__global__ void axpy(bool on, int n, const float *x, float *y) { }\n");
  param(&f, "bool", "on");
  param(&f, "int", "n");
  param(&f, "const float *", "x");
  param(&f, "float *", "y");
  end(&f);
  CHECK_STR(f.told.data, "");
  CHECK_INT(f.rc, 0);
  CHECK_INT(f.c.n_cases, 2);
  CHECK_STR(f.c.cases[0].label, "on = 0");
  CHECK_STR(f.c.cases[1].label, "on = 1");
  CHECK_INT(f.c.cases[0].fillings[1].kind, KR_FILLED_ALIAS);
  CHECK_STR(f.c.cases[0].fillings[1].alias, "y");
  CHECK_STR(f.c.cases[0].fillings[1].expr, "4");
  CHECK(!f.c.tunable);
  CHECK_STR(f.c.tunable_why, "no launch of it is to be seen in this file");
  done(&f);
}

static void constants_are_wanted_and_used(void)
{
  struct fixture f;
  axpy(&f, "// kevin: optimize let(n = 4 * TILE) in(x[n] = uniform(0, HI) + i0) out(y[n]) "
           "shared(block.x * sizeof(float))");
  struct kr_parse_wants w;
  assemble_wants(&f.markers.items[0], &f.k, &w);
  CHECK_INT(w.n_names, 3);
  CHECK_INT(w.kernel_offset, f.k.at.offset);
  CHECK_STR(w.names[0], "TILE");
  CHECK_STR(w.names[1], "sizeof(float)");
  CHECK_STR(w.names[2], "HI");
  assemble_wants_release(&w);
  f.sites[0].shared = f.sites[0].shared_text = "4 * 256";
  constant(&f, "TILE", 32);
  constant(&f, "sizeof(float)", 4);
  constant(&f, "HI", 9);
  end(&f);
  CHECK_STR(f.told.data, "");
  CHECK_INT(f.rc, 0);
  CHECK_INT(f.c.n_constants, 3);
  CHECK_STR(f.c.cases[0].label, "n = 128");
  CHECK_STR(f.c.geometry.shared, "block.x * sizeof(float)");
  done(&f);
}

// --- who may change the launch ---

static void launch_is_fixed_for_a_reason(void)
{
  struct fixture f;
  const char *marker = "// kevin: optimize let(n = 64) data(*[n])";
  axpy(&f, marker);
  f.k.linkage = KR_LINKAGE_EXTERNAL;
  end(&f);
  CHECK_STR(f.c.tunable_why, "it has external linkage, so other files may launch it; "
                             "launch(tunable) promises that none does");
  done(&f);
  axpy(&f, "// kevin: optimize let(n = 64) data(*[n]) launch(tunable)");
  f.k.linkage = KR_LINKAGE_EXTERNAL;
  end(&f);
  CHECK(f.c.tunable);
  done(&f);
  axpy(&f, "// kevin: optimize let(n = 64) data(*[n]) launch(tunable)");
  f.sites[0].in_file = false;
  f.sites[0].file = "other.cu";
  end(&f);
  CHECK_STR(f.c.tunable_why, "it is launched in other.cu too");
  CHECK_STR(f.told.data, "k.cu:1:4: note: launch(tunable) has no effect: it is launched in "
                         "other.cu too\n"
                         "  // kevin: optimize let(n = 64) data(*[n]) launch(tunable)\n"
                         "     ^~~~~\n");
  done(&f);
  axpy(&f, "// kevin: optimize let(n = 64) data(*[n]) launch(fixed)");
  end(&f);
  CHECK_STR(f.c.tunable_why, "the marker says launch(fixed)");
  done(&f);
  axpy(&f, marker);
  f.k.uses_grid_dim = true;
  end(&f);
  CHECK_STR(f.c.tunable_why, "its body uses gridDim");
  done(&f);
  axpy(&f, marker);
  f.sites[0].editable = false;
  f.sites[0].why_not = "a macro expands there";
  end(&f);
  CHECK_STR(f.c.tunable_why, "the launch at line 9 cannot be edited: a macro expands there");
  done(&f);
  axpy(&f, marker);
  f.sites[0].block[0] = "TILE";
  constant(&f, "TILE", 32);
  f.body_names[0] = "TILE";
  f.k.n_body_names = 1;
  end(&f);
  CHECK_STR(f.c.tunable_why, "`TILE` of the geometry is used in the body too");
  done(&f);
  axpy(&f, "// kevin: optimize let(n = 64) in(x[n]) out(y[grid.x])");
  end(&f);
  CHECK_STR(f.c.tunable_why, "the size of `y` hangs on the geometry");
  done(&f);
  axpy(&f, "// kevin: optimize let(n = 64, work = n / 64) data(*[n]) grid(work)");
  end(&f);
  CHECK_STR(f.c.tunable_why, "`work` of the geometry is no parameter of the kernel");
  done(&f);
}

// --- refusals ---

static void paths_that_name_nothing(void)
{
  axpy_says("// kevin: optimize let(n = 4) in(z[n]) data(*[n])",
            "k.cu:1:34: error: `axpy` has no parameter `z`, and no device variable of that name "
            "is used; parameters are n, a, x, y\n"
            "  // kevin: optimize let(n = 4) in(z[n]) data(*[n])\n"
            "                                   ^\n");
  axpy_says("// kevin: optimize let(n = 4) in(n[4]) data(*[n])",
            "k.cu:1:34: error: `n` is an int; give its value: let(n = …)\n"
            "  // kevin: optimize let(n = 4) in(n[4]) data(*[n])\n"
            "                                   ^~~~\n");
  axpy_says("// kevin: optimize let(n = 4, x = 3) data(*[n])",
            "k.cu:1:31: error: `x` is a pointer (const float *); give it a section: in(x[…])\n"
            "  // kevin: optimize let(n = 4, x = 3) data(*[n])\n"
            "                                ^\n");
  axpy_says("// kevin: optimize let(n = 4, N = 3) data(*[n])",
            "k.cu:1:31: warning: `N` is no parameter and is used nowhere\n"
            "  // kevin: optimize let(n = 4, N = 3) data(*[n])\n"
            "                                ^\n");
  axpy_says("// kevin: optimize let(n = 4) data(*[N])",
            "k.cu:1:38: error: `N` is not known at the kernel as a name of the marker or a "
            "constant; did you mean `n`?\n"
            "  // kevin: optimize let(n = 4) data(*[N])\n"
            "                                       ^\n"
            "                                       n\n");
  axpy_says("// kevin: optimize let(n = 4) data(*[x])",
            "k.cu:1:38: error: `x` is a pointer; an expression cannot use it\n"
            "  // kevin: optimize let(n = 4) data(*[x])\n"
            "                                       ^\n");
  axpy_says("// kevin: optimize let(n = m, m = 4) data(*[n])",
            "k.cu:1:28: error: `m` gets its value only later; put that binding first\n"
            "  // kevin: optimize let(n = m, m = 4) data(*[n])\n"
            "                             ^\n");
  axpy_says("// kevin: optimize let(n = 4) data(*[n]) block(grid.x)",
            "k.cu:1:48: error: `grid.x` has no value here; `block` may not use `grid`\n"
            "  // kevin: optimize let(n = 4) data(*[n]) block(grid.x)\n"
            "                                                 ^~~~~~\n");
  axpy_says("// kevin: optimize let(n = 4) data(*[n]) grid(resident)",
            "k.cu:1:47: error: `resident` is not there yet\n"
            "  // kevin: optimize let(n = 4) data(*[n]) grid(resident)\n"
            "                                                ^~~~~~~~\n");
}

static void clang_has_its_say(void)
{
  struct fixture f;
  axpy(&f, "// kevin: optimize let(n = 4) in(x[n]) out(y[sizeof(T)])");
  constant(&f, "sizeof(T)", 0);
  f.constants[0].known = false;
  f.constants[0].why = "unknown type name 'T'";
  end(&f);
  CHECK_STR(f.told.data,
            "k.cu:1:46: error: `sizeof(T)` is not known at the kernel (clang says: unknown type "
            "name 'T')\n"
            "  // kevin: optimize let(n = 4) in(x[n]) out(y[sizeof(T)])\n"
            "                                               ^~~~~~~~~\n");
  done(&f);
}

static void values_and_sections_that_are_missing(void)
{
  axpy_says("// kevin: optimize let(m = 4) data(*[m])",
            "k.cu:1:4: error: no value for `n` (int): add let(n = …), or fix(…) if the program "
            "never uses another\n"
            "  // kevin: optimize let(m = 4) data(*[m])\n"
            "     ^~~~~\n");
  axpy_says("// kevin: optimize let(n = 4) in(x[n])",
            "k.cu:1:4: error: no size for pointer `y` (float *): add inout(y[…]) or data(*[…])\n"
            "  // kevin: optimize let(n = 4) in(x[n])\n"
            "     ^~~~~\n");
  axpy_says("// kevin: optimize let(n = 4) out(x[n], y[n])",
            "k.cu:1:35: error: `x` points to const; it can only be `in`\n"
            "  // kevin: optimize let(n = 4) out(x[n], y[n])\n"
            "                                    ^~~~\n");
  axpy_says("// kevin: optimize let(n = 4) in(x[n]) out(y[n]) compare(x = exact)",
            "k.cu:1:58: error: `x` is only read, so nothing of it is compared\n"
            "  // kevin: optimize let(n = 4) in(x[n]) out(y[n]) compare(x = exact)\n"
            "                                                           ^\n");
  axpy_says("// kevin: optimize let(n = 4) in(x[n] = &z) out(y[n])",
            "k.cu:1:41: error: `z` is no section; give it one first: in(z[…])\n"
            "  // kevin: optimize let(n = 4) in(x[n] = &z) out(y[n])\n"
            "                                          ^~\n");
}

static void numbers_that_do_not_work(void)
{
  axpy_says("// kevin: optimize let(n = 1 << 40) data(*[4])",
            "k.cu:1:28: error: 1099511627776 does not fit `n` (int), in the case n = "
            "1099511627776\n"
            "  // kevin: optimize let(n = 1 << 40) data(*[4])\n"
            "                             ^~~~~~~\n");
  axpy_says("// kevin: optimize let(n = 2.5) data(*[4])",
            "k.cu:1:28: error: 2.5 is no whole number, as it must be for `n` (int), in the case "
            "n = 2.5\n"
            "  // kevin: optimize let(n = 2.5) data(*[4])\n"
            "                             ^~~\n");
  axpy_says("// kevin: optimize let(n = 3) in(x[n - 5]) out(y[n])",
            "k.cu:1:36: error: negative length -2, in the case n = 3\n"
            "  // kevin: optimize let(n = 3) in(x[n - 5]) out(y[n])\n"
            "                                     ^~~~~\n");
  axpy_says("// kevin: optimize let(n = 3, m = n - 3) in(x[n / m]) out(y[n])",
            "k.cu:1:47: error: division by zero in n / m, in the case n = 3, m = 0\n"
            "  // kevin: optimize let(n = 3, m = n - 3) in(x[n / m]) out(y[n])\n"
            "                                                ^~~~~\n");
  axpy_says("// kevin: optimize let(n = 1 << 30) in(x[n * n * n]) out(y[n])",
            "k.cu:1:42: error: n * n * n overflows 64 bits: 1152921504606846976 * 1073741824, in "
            "the case n = 1073741824\n"
            "  // kevin: optimize let(n = 1 << 30) in(x[n * n * n]) out(y[n])\n"
            "                                           ^~~~~~~~~\n");
  axpy_says("// kevin: optimize let(n = 4) data(*[n]) block(2048)",
            "k.cu:1:48: error: 2048 threads exceed the limit of 1024 a block, in the case n = 4\n"
            "  // kevin: optimize let(n = 4) data(*[n]) block(2048)\n"
            "                                                 ^~~~\n");
  axpy_says("// kevin: optimize let(n = 4) data(*[n]) shared(300000)",
            "k.cu:1:49: error: 300000 bytes of shared memory exceed the 49152 that a launch may "
            "have without an attribute; more is not there yet, in the case n = 4\n"
            "  // kevin: optimize let(n = 4) data(*[n]) shared(300000)\n"
            "                                                  ^~~~~~\n");
  axpy_says("// kevin: optimize let(n = 4) data(*[n]) grid(n / 8)",
            "k.cu:1:47: error: the grid `n / 8` is 0, outside 1 … 2147483647, in the case n = 4\n"
            "  // kevin: optimize let(n = 4) data(*[n]) grid(n / 8)\n"
            "                                                ^~~~~\n");
  axpy_says("// kevin: optimize let(n = 4) data(*[n]) block(block.x)",
            "k.cu:1:48: error: `block.x` needs itself, in the case n = 4\n"
            "  // kevin: optimize let(n = 4) data(*[n]) block(block.x)\n"
            "                                                 ^~~~~~~\n");
  axpy_says("// kevin: optimize let(n = 4) in(x[n] = index(n - 4)) out(y[n])",
            "k.cu:1:41: error: index(0) has no value for the 4 elements of `x`, in the case n = "
            "4\n"
            "  // kevin: optimize let(n = 4) in(x[n] = index(n - 4)) out(y[n])\n"
            "                                          ^~~~~~~~~~~~\n");
  axpy_says("// kevin: optimize let(n = 4) in(x[n] = &y[1]) inout(y[n])",
            "k.cu:1:41: error: `&y[1]` with 4 elements leaves section `y` (0 … 3), in the case n "
            "= 4\n"
            "  // kevin: optimize let(n = 4) in(x[n] = &y[1]) inout(y[n])\n"
            "                                          ^~~~~\n");
  axpy_says("// kevin: optimize let(n = 4) data(*[n]) align(3)",
            "k.cu:1:48: error: an alignment is a power of two up to 4096, in bytes, in the case n "
            "= 4\n"
            "  // kevin: optimize let(n = 4) data(*[n]) align(3)\n"
            "                                                 ^\n");
  axpy_says("// kevin: optimize let(n = 4) data(*[n]) compare(tol(2))",
            "k.cu:1:54: error: a relative tolerance of 1 or more lets anything pass, in the case "
            "n = 4\n"
            "  // kevin: optimize let(n = 4) data(*[n]) compare(tol(2))\n"
            "                                                       ^\n");
  axpy_says("// kevin: optimize let(n = 4) data(*[n]) min_speedup(0.5)",
            "k.cu:1:54: error: min_speedup is a factor of 1 or more, such as 1.05\n"
            "  // kevin: optimize let(n = 4) data(*[n]) min_speedup(0.5)\n"
            "                                                       ^~~\n");
}

static void cases_that_are_none_or_too_many(void)
{
  axpy_says("// kevin: optimize let(n = {3, 5}) require(n % 2 == 0) data(*[n])",
            "k.cu:1:44: error: require leaves no case\n"
            "  // kevin: optimize let(n = {3, 5}) require(n % 2 == 0) data(*[n])\n"
            "                                             ^~~~~~~~~~\n");
  axpy_says("// kevin: optimize let(n = {1, 2, 3, 4, 5, 6}, a = {1, 2, 3, 4}) data(*[n])",
            "k.cu:1:4: error: 24 cases (6 × 4), at most 16\n"
            "  // kevin: optimize let(n = {1, 2, 3, 4, 5, 6}, a = {1, 2, 3, 4}) data(*[n])\n"
            "     ^~~~~\n");
}

static void geometry_that_cannot_be_read(void)
{
  struct fixture f;
  const char *marker = "// kevin: optimize let(n = 64) data(*[n])";
  axpy(&f, marker);
  f.sites[0].grid[0] = NULL;
  f.sites[0].geometry_error = "cannot read the grid at line 9: `prop.multiProcessorCount * 2`";
  end(&f);
  CHECK_STR(f.told.data,
            "k.cu:2:1: error: cannot read the grid at line 9: `prop.multiProcessorCount * 2`; add "
            "grid(…), perhaps in terms of `sms`\n"
            "  " AXPY "  ^~~\n");
  done(&f);
  // The marker gives what the site does not.
  axpy(&f, "// kevin: optimize let(n = 64) data(*[n]) grid(2 * sms)");
  f.sites[0].grid[0] = NULL;
  f.sites[0].geometry_error = "cannot read the grid at line 9: `prop.multiProcessorCount * 2`";
  end(&f);
  CHECK_STR(f.told.data, "");
  CHECK_STR(f.c.geometry.grid[0], "2 * sms");
  CHECK_STR(f.c.geometry.block[0], "256");
  done(&f);
  // Of two parts the one that is still missing is told.
  axpy(&f, "// kevin: optimize let(n = 64) data(*[n]) grid(2 * sms)");
  f.sites[0].grid[0] = f.sites[0].block[0] = NULL;
  f.sites[0].block_text = "threads()";
  f.sites[0].geometry_error = "cannot read the grid at line 9: `prop.multiProcessorCount * 2`";
  end(&f);
  CHECK_STR(f.told.data,
            "k.cu:2:1: error: cannot read the block at line 9: `threads()`; add block(…)\n"
            "  " AXPY "  ^~~\n");
  done(&f);
  axpy(&f, marker);
  f.k.n_sites = 0;
  end(&f);
  CHECK_STR(f.told.data,
            "k.cu:1:4: error: no launch of `axpy` is to be seen in this file; add grid(…) "
            "block(…)\n"
            "  // kevin: optimize let(n = 64) data(*[n])\n"
            "     ^~~~~\n");
  done(&f);
  axpy(&f, marker);
  site(&f, 20, "ceil_div(n, 128)", "128");
  end(&f);
  CHECK_STR(f.told.data,
            "k.cu:1:4: error: `axpy` is launched with different geometry at lines 9 and 20; a "
            "case for each is not there yet\n"
            "  // kevin: optimize let(n = 64) data(*[n])\n"
            "     ^~~~~\n");
  done(&f);
  axpy(&f, marker);
  f.sites[0].grid[0] = "ceil_div(total, 256)";
  end(&f);
  CHECK_STR(f.told.data,
            "k.cu:2:1: error: cannot read the grid at line 9: `total` has no value; add let(total "
            "= …) or grid(…)\n"
            "  " AXPY "  ^~~\n");
  done(&f);
}

static void a_grid_that_synchronises_is_launched_so(void)
{
  struct fixture f;
  axpy(&f, "// kevin: optimize let(n = 64) data(*[n]) grid(1) block(64)");
  f.k.n_sites = 0;
  f.k.uses_grid_sync = true;
  end(&f);
  CHECK(f.c.geometry.cooperative);
  done(&f);
  axpy_says("// kevin: optimize let(n = 64) data(*[n]) launch(cooperative)",
            "k.cu:1:4: error: the marker says launch(cooperative), but the launch at line 9 is not "
            "cooperative\n"
            "  // kevin: optimize let(n = 64) data(*[n]) launch(cooperative)\n"
            "     ^~~~~\n");
}

static void the_marker_must_say_what_is_launched(void)
{
  axpy_says("// kevin: optimize let(n = {256, 1000}) data(*[n]) block(128) grid(n / 100)",
            "k.cu:1:68: error: the launch at line 9 has grid.x 1 (`ceil_div(n, 256)`), not 2, in "
            "the case n = 256\n"
            "  // kevin: optimize let(n = {256, 1000}) data(*[n]) block(128) grid(n / 100)\n"
            "                                                                     ^~~~~~~\n"
            "k.cu:1:58: error: the launch at line 9 has block.x 256 (`256`), not 128, in the case "
            "n = 256\n"
            "  // kevin: optimize let(n = {256, 1000}) data(*[n]) block(128) grid(n / 100)\n"
            "                                                           ^~~\n");
  axpy_says("// kevin: optimize let(n = {256, 1000}) data(*[n]) block(256) grid(1 + (n - 1) / 256)",
            "");
  axpy_says("// kevin: optimize let(n = 256) data(*[n]) grid(1, 2)",
            "k.cu:1:52: error: the launch at line 9 has grid.y 1 (`1`), not 2, in the case n = "
            "256\n"
            "  // kevin: optimize let(n = 256) data(*[n]) grid(1, 2)\n"
            "                                                     ^\n");
}

static void notes_come_with_a_contract(void)
{
  struct fixture f;
  axpy(&f, "// kevin: optimize let(n = 1000001) data(*[n]) grid((n + 255) / 256)");
  end(&f);
  CHECK_STR(f.told.data, "");
  done(&f);
  axpy(&f, "// kevin: optimize let(n = 1000001) data(*[n]) grid(n / 256) block(256)");
  f.k.n_sites = 0;
  end(&f);
  CHECK_INT(f.rc, 0);
  CHECK_STR(f.told.data,
            "k.cu:1:53: note: at n = 1000001 the grid covers 999936 threads; `ceil_div(n, 256)` "
            "covers all\n"
            "  // kevin: optimize let(n = 1000001) data(*[n]) grid(n / 256) block(256)\n"
            "                                                      ^~~~~~~\n");
  done(&f);
  axpy(&f, "// kevin: optimize let(n = 64) data(*[n])");
  use(&f, "y", KR_USE_WRITE, 0);
  use(&f, "x", KR_USE_READ | KR_USE_NULL_TEST, 0);
  end(&f);
  CHECK_INT(f.rc, 0);
  CHECK_STR(f.told.data,
            "k.cu:1:37: note: the body tests `x` against null, which is never passed; = {…, null} "
            "adds that case\n"
            "  // kevin: optimize let(n = 64) data(*[n])\n"
            "                                      ^~~~\n"
            "k.cu:1:37: note: `y` is only stored through and taken as inout; out(y[…]) would "
            "poison it first\n"
            "  // kevin: optimize let(n = 64) data(*[n])\n"
            "                                      ^~~~\n");
  done(&f);
  axpy(&f, "// kevin: optimize let(n = 64) data(*[n])");
  struct kr_parg args[4] = {{.text = "n"}, {.text = "a"}, {.same_as_path = "buf"},
                            {.same_as_path = "buf"}};
  f.sites[0].args = args;
  f.sites[0].n_args = 4;
  end(&f);
  CHECK_INT(f.rc, -1);
  CHECK_STR(f.told.data,
            "k.cu:1:4: error: line 9 passes `buf` for both `x` and `y`; say so: y = &x\n"
            "  // kevin: optimize let(n = 64) data(*[n])\n"
            "     ^~~~~\n");
  done(&f);
}

static void subscripts_need_limits(void)
{
  struct fixture f;
  begin(&f, "// kevin: optimize let(n = 8) in(id[n]) out(y[n]) grid(1) block(n)\n"
            "__global__ void axpy(int n, const int *id, float *y) { }\n");
  param(&f, "int", "n");
  param(&f, "const int *", "id");
  param(&f, "float *", "y");
  use(&f, "id", KR_USE_READ | KR_USE_SUBSCRIPT, 9);
  end(&f);
  CHECK_STR(f.told.data,
            "k.cu:1:34: error: values of `id` are a subscript at line 9; say their limit: id[…] = "
            "index(…)\n"
            "  // kevin: optimize let(n = 8) in(id[n]) out(y[n]) grid(1) block(n)\n"
            "                                   ^~~~~\n");
  done(&f);
}

static void types_that_are_not_there_yet(void)
{
  struct fixture f;
  begin(&f, "// kevin: optimize in(p[4]) grid(1) block(1)\n"
            "__global__ void axpy(const void *p) { }\n");
  param(&f, "const void *", "p");
  end(&f);
  CHECK_STR(f.told.data,
            "k.cu:1:23: error: `p` is a void *; saying what it holds, p[n] as half, is not there "
            "yet\n"
            "  // kevin: optimize in(p[4]) grid(1) block(1)\n"
            "                        ^~~~\n");
  done(&f);
  begin(&f, "// kevin: optimize let(t = 1) grid(1) block(1)\n"
            "__global__ void axpy(cudaTextureObject_t t) { }\n");
  param(&f, "cudaTextureObject_t", "t");
  end(&f);
  CHECK_STR(f.told.data,
            "k.cu:2:1: error: texture and surface objects (`t`) are not there yet\n"
            "  __global__ void axpy(cudaTextureObject_t t) { }\n"
            "  ^~~~~~~~~~\n");
  done(&f);
  begin(&f, "// kevin: optimize grid(1) block(1)\n__global__ void axpy(cudaArray t) { }\n");
  param(&f, "cudaArray", "t");
  end(&f);
  CHECK_STR(f.told.data,
            "k.cu:2:1: error: parameter `t` of type cudaArray is not there yet\n"
            "  __global__ void axpy(cudaArray t) { }\n"
            "  ^~~~~~~~~~\n");
  done(&f);
}

static void a_refused_kernel_says_why(void)
{
  struct fixture f;
  axpy(&f, "// kevin: optimize let(n = 64) data(*[n])");
  f.k.refused = "templates are not there yet";
  end(&f);
  CHECK_STR(f.told.data, "k.cu:2:1: error: templates are not there yet\n"
                         "  " AXPY "  ^~~~~~~~~~\n");
  CHECK_INT(f.rc, -1);
  done(&f);
}

static void loose_markers_are_told(void)
{
  struct fixture f;
  begin(&f, "// kevin: optimize let(n = 4)\nvoid launch(int n) { }\n" AXPY);
  CHECK_INT(assemble_attach(&f.src, &f.markers, &f.unit, &f.diags), 1);
  end(&f);
  CHECK_STR(f.told.data,
            "k.cu:1:4: warning: marker is not attached: next comes `void launch(…)`, not a "
            "kernel\n"
            "  // kevin: optimize let(n = 4)\n"
            "     ^~~~~\n");
  done(&f);
}

static void a_suggestion_asks_for_what_is_unknown(void)
{
  struct fixture f;
  struct kr_bytes out;
  kr_bytes_init(&out, 1 << 16);
  axpy(&f, "");
  suggest_marker(&f.k, &out);
  CHECK_STR(out.data, "// kevin: optimize let(n = ?) in(x[?]) inout(y[?])\n");
  kr_bytes_reset(&out);
  f.k.n_sites = 0;
  use(&f, "y", KR_USE_WRITE, 0);
  suggest_marker(&f.k, &out);
  CHECK_STR(out.data, "// kevin: optimize let(n = ?) in(x[?]) out(y[?]) grid(?) block(?)\n");
  // What is left open cannot be forgotten.
  struct kr_source src;
  struct kr_markers m;
  struct kr_diags d = {0};
  kr_bytes_adds(&out, AXPY);
  kr_source_from_text(&src, "s.cu", out.data, out.len);
  kr_markers_scan(&src, &m, &d);
  CHECK(d.n_errors > 0 && m.n == 0);
  kr_diags_release(&d);
  kr_markers_release(&m);
  kr_source_release(&src);
  kr_bytes_release(&out);
  end(&f);
  done(&f);
}

int main(void)
{
  plain_marker_becomes_a_contract();
  tuples_products_and_require_make_cases();
  fills_and_ranges_are_kept();
  bools_take_both_values_and_aliases_point();
  constants_are_wanted_and_used();
  launch_is_fixed_for_a_reason();
  paths_that_name_nothing();
  clang_has_its_say();
  values_and_sections_that_are_missing();
  numbers_that_do_not_work();
  cases_that_are_none_or_too_many();
  geometry_that_cannot_be_read();
  a_grid_that_synchronises_is_launched_so();
  the_marker_must_say_what_is_launched();
  notes_come_with_a_contract();
  subscripts_need_limits();
  types_that_are_not_there_yet();
  a_refused_kernel_says_why();
  loose_markers_are_told();
  a_suggestion_asks_for_what_is_unknown();
  return unit_end();
}
