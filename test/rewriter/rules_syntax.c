// RUN: %unit/rules_syntax
#include "../unit.h"

#include "../../evaluator/base/mem.h"
#include "../../rewriter/rules/syntax.h"

// A contract with the slice's text and parameters `n` ints and pointers to floats.
static struct kr_contract contract_of(const char *kernel, const char *before)
{
  return (struct kr_contract){.kernel = (char *)kernel, .before = (char *)before};
}

static size_t name_of(const struct syntax *s, const char *name)
{
  for (size_t i = 0; i < s->n_names; i++) {
    if (!strcmp(s->names[i].name, name))
      return i;
  }
  return SYNTAX_NONE;
}

static size_t subscript_of(const struct syntax *s, const char *text)
{
  for (size_t i = 0; i < s->n_exprs; i++) {
    char *t = syntax_squeeze(s, s->exprs[i].span);
    bool same = s->exprs[i].kind == EXPR_SUBSCRIPT && !strcmp(t, text);
    free(t);
    if (same)
      return i;
  }
  return SYNTAX_NONE;
}

static void check_index(struct syntax *s, const char *subscript, const char *root, const char *want)
{
  size_t r, e = subscript_of(s, subscript);
  CHECK_STR(e == SYNTAX_NONE ? "nowhere" : subscript, subscript);
  if (e == SYNTAX_NONE)
    return;
  struct affine a = syntax_index(s, e, &r);
  char *text = affine_print(s, &a);
  CHECK_STR(text, want);
  free(text);
  CHECK_STR(r == SYNTAX_NONE ? "" : s->names[r].name, root);
}

static const char matmul[] =
    "__global__ void matmul(const float *A, const float *__restrict__ B, float *C, int M, int N, int K)\n"
    "{\n"
    "    __shared__ float tile[16][17];\n"
    "    int row = blockIdx.y * TILE + threadIdx.y;\n"
    "    int col = blockIdx.x * blockDim.x + threadIdx.x; // column\n"
    "    const float *a = A + (size_t)row * K;\n"
    "    if (row < M && col < N) {\n"
    "        float sum = 0.0f;\n"
    "        #pragma unroll 4\n"
    "        for (int k = 0; k < K; k++) {\n"
    "            sum += a[k] * B[k * N + col];\n"
    "        }\n"
    "        tile[threadIdx.y][threadIdx.x + 1] = sum;\n"
    "        C[row * N + col] = tile[threadIdx.y][threadIdx.x + 1];\n"
    "    }\n"
    "}\n";

static void reads_a_kernel(void)
{
  struct kr_contract c = contract_of("ns::matmul", "#define TILE (8 * 2)\n");
  struct syntax s;
  syntax_parse(&s, matmul, &c);
  CHECK(s.kernel != SYNTAX_NONE && !s.broken);
  CHECK(!s.functions[s.kernel].opaque);
  CHECK(!s.functions[s.kernel].syncs);
  CHECK_INT(s.n_functions, 1);
  size_t a = syntax_param(&s, "A"), b = syntax_param(&s, "B"), C = syntax_param(&s, "C");
  CHECK_INT(s.names[a].param, 0);
  CHECK(s.names[a].type.known && s.names[a].type.is_const && s.names[a].type.pointers == 1);
  CHECK(!s.names[a].restricted && s.names[b].restricted && !s.names[C].type.is_const);
  CHECK_INT(s.names[C].type.kind, KR_F32);
  size_t tile = name_of(&s, "tile"), k = name_of(&s, "k"), sum = name_of(&s, "sum");
  CHECK(s.names[tile].storage == SYNTAX_SHARED && s.names[tile].n_dims == 2);
  CHECK(s.names[k].is_loop && s.names[sum].n_writes == 1 && !s.names[sum].is_loop);
  CHECK(syntax_root(&s, name_of(&s, "a")) == a);
  CHECK(syntax_plainly_used(&s, b) && !syntax_plainly_used(&s, a));
  // Statements in order, the loop as it is written.
  const struct syntax_stmt *body = &s.stmts[s.functions[s.kernel].body];
  size_t st = body->child, kinds = 0;
  for (; st != SYNTAX_NONE; st = s.stmts[st].next)
    kinds = 10 * kinds + s.stmts[st].kind;
  CHECK_INT(kinds, 11113);
  size_t loop = s.stmts[s.names[k].stmt].parent;
  struct syntax_loop l;
  CHECK(syntax_loop(&s, loop, &l));
  CHECK(l.var == k && !strcmp(l.relation, "<") && !strcmp(l.step_op, "++"));
  CHECK_INT(syntax_loop_count(&s, &l), -1);
  CHECK(syntax_enclosing(&s, loop, STMT_IF) != SYNTAX_NONE);
  CHECK(syntax_insertable(&s, loop) == loop);
  // Accesses.
  check_index(&s, "a[k]", "A", "k + 16*K*blockIdx.y + K*threadIdx.y");
  check_index(&s, "B[k*N+col]", "B", "threadIdx.x + k*N + blockIdx.x*blockDim.x");
  check_index(&s, "tile[threadIdx.y][threadIdx.x+1]", "tile", "1 + 17*threadIdx.y + threadIdx.x");
  size_t store = subscript_of(&s, "C[row*N+col]");
  CHECK(s.exprs[store].use == SYNTAX_WRITTEN);
  CHECK(s.exprs[subscript_of(&s, "a[k]")].use == SYNTAX_READ);
  CHECK_INT(syntax_type_of(&s, subscript_of(&s, "a[k]")).kind, KR_F32);
  struct affine x = syntax_affine(&s, s.names[name_of(&s, "col")].init);
  struct affine one = affine_coefficient(&x, syntax_builtin_symbol(&s, SYMBOL_THREAD, 0));
  int64_t v;
  CHECK(affine_is_constant(&one, &v) && v == 1);
  struct affine rest = affine_without(&x, syntax_builtin_symbol(&s, SYMBOL_THREAD, 0));
  CHECK(affine_block_uniform(&s, &rest) && !affine_grid_uniform(&s, &rest));
  CHECK(!affine_block_uniform(&s, &x));
  syntax_release(&s);
}

static void says_what_it_does_not_understand(void)
{
  static const char *const bodies[] = {
      "switch (n) { case 1: p[0] = 1; }",
      "auto f = [&](int i) { p[i] = 0; }; f(n);",
      "asm volatile(\"nop;\");",
      "for (float &v : q) v = 0;",
      "CUDA_LOOP(i, n) { p[i] = 0; }",
      "int &r = n; r = 3;",
      "again: p[0] = 1; goto again;",
      "#if X\np[0] = 1;\n#endif",
      "if (int k = n) p[k] = 0;",
      "p[0] = (T)-n;",
      "volatile float v = 0; p[0] = v;",
      "p[0, 1] = 2;",
      "struct s { int x; } y; p[0] = y.x;",
  };
  for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
    char *code = kr_xasprintf("__global__ void k(float *p, int n)\n{\n%s\n}\n", bodies[i]);
    struct syntax s;
    syntax_parse(&s, code, NULL);
    bool opaque = s.kernel != SYNTAX_NONE && s.functions[s.kernel].opaque;
    // `p[0, 1]` is a comma, which C++17 has: one index, but not affine.
    if (!strcmp(bodies[i], "p[0, 1] = 2;"))
      opaque = s.functions[s.kernel].opaque || subscript_of(&s, "p[0,1]") != SYNTAX_NONE;
    if (!opaque)
      fprintf(stderr, "not noticed: %s\n", bodies[i]);
    CHECK(opaque);
    syntax_release(&s);
    free(code);
  }
  static const char *const broken[] = {"", "__global__ void k(", "}", "__global__ void k() { ( }",
                                       "__global__ void k() { \"a\n }", "int x;"};
  for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
    struct syntax s;
    syntax_parse(&s, broken[i], NULL);
    CHECK(s.kernel == SYNTAX_NONE);
    syntax_release(&s);
  }
}

static void knows_what_changes(void)
{
  static const char before[] = "__device__ float plain(float a, float *b) { return a + *b; }\n"
                               "__device__ void turn(int &a) { a = 0; }\n"
                               "#define BUMP(x) (x++)\n";
  static const char code[] =
      "__device__ int k_half(int a) { return a / 2; }\n"
      "__global__ void k(const float *x, unsigned *bins, float *y, int n, int m)\n"
      "{\n"
      "  int a = 1, b = 2, c = 3, d = 4;\n"
      "  float buf[4] = {0, 0, 0, 0};\n"
      "  float r = plain(x[a], buf) + k_half(a);\n"
      "  turn(b);\n"
      "  BUMP(c);\n"
      "  atomicAdd(&bins[d], 1u);\n"
      "  y[m] = __ldg(&x[d]) + r;\n"
      "  __stcs(&y[n], 1.0f);\n"
      "  m += 2;\n"
      "}\n";
  struct kr_contract c = contract_of("k", before);
  struct syntax s;
  syntax_parse(&s, code, &c);
  CHECK(s.kernel != SYNTAX_NONE && !s.functions[s.kernel].opaque);
  CHECK_INT(s.n_functions, 2);
  struct syntax_span body = s.stmts[s.functions[s.kernel].body].span;
  CHECK(!syntax_changes(&s, name_of(&s, "d"), body));
  CHECK(syntax_changes(&s, name_of(&s, "b"), body));
  CHECK(syntax_changes(&s, name_of(&s, "c"), body));
  CHECK(syntax_changes(&s, name_of(&s, "m"), body));
  CHECK(!syntax_changes(&s, syntax_param(&s, "n"), body));
  CHECK(s.names[name_of(&s, "buf")].escapes);
  CHECK_INT(s.exprs[subscript_of(&s, "bins[d]")].use,
            SYNTAX_ATOMIC | SYNTAX_READ | SYNTAX_WRITTEN);
  CHECK_INT(s.exprs[subscript_of(&s, "x[d]")].use, SYNTAX_READ);
  CHECK_INT(s.exprs[subscript_of(&s, "y[n]")].use, SYNTAX_WRITTEN);
  CHECK(syntax_plainly_used(&s, syntax_param(&s, "x")));
  bool reads = false;
  CHECK(syntax_pure(&s, subscript_of(&s, "x[d]"), &reads) && reads);
  CHECK(!syntax_pure(&s, s.names[name_of(&s, "r")].init, NULL)); // calls what is not known
  check_index(&s, "y[m]", "y", "unknown");
  check_index(&s, "y[n]", "y", "n");
  check_index(&s, "x[a]", "x", "1");
  syntax_release(&s);
}

static void tells_barriers(void)
{
  static const char code[] = "__device__ void k_wait() { __syncthreads(); }\n"
                             "__global__ void k(float *p)\n"
                             "{\n"
                             "  p[0] = sqrtf(p[1]);\n"
                             "  k_wait();\n"
                             "}\n";
  struct kr_contract c = contract_of("k", "");
  struct syntax s;
  syntax_parse(&s, code, &c);
  size_t first = s.stmts[s.functions[s.kernel].body].child;
  CHECK(!syntax_may_sync(&s, s.stmts[first].span));
  CHECK(syntax_may_sync(&s, s.stmts[s.stmts[first].next].span));
  CHECK(s.functions[s.kernel].syncs);
  syntax_release(&s);
}

static void knows_types(void)
{
  static const struct {
    const char *expr;
    int kind; // -1: not known
  } cases[] = {
      {"1", KR_I32},           {"1u", KR_U32},          {"1.0", KR_F64},
      {"1.0f", KR_F32},        {"1e-3", KR_F64},        {"n + 1", KR_I32},
      {"n * 1.0f", KR_F32},    {"x[n] * 0.5", KR_F64},  {"sqrt(x[n])", KR_F32},
      {"sqrt(n)", KR_F64},     {"pow(x[0], 2.0)", KR_F64}, {"sqrtf(n)", KR_F32},
      {"(double)n", KR_F64},   {"float(n)", KR_F32},    {"static_cast<size_t>(n)", KR_U64},
      {"n < 3", KR_BOOL},      {"n ? 1.0f : 2.0", KR_F64}, {"threadIdx.x", KR_U32},
      {"blockIdx.x * n", KR_U32}, {"max(n, 1)", KR_I32}, {"what(n)", -1},
      {"MACRO", -1},           {"x + n", KR_F32},       {"-x[0]", KR_F32},
      {"3000000000", KR_I64},  {"(size_t)n * 2", KR_U64}, {"n << 2", KR_I32},
      {"h[0] * 2.0f", -1},     {"fmaxf(1.0, 2.0)", KR_F32}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char *code = kr_xasprintf("__global__ void k(const float *x, __half *h, int n)\n{\n  auto v = %s;\n}\n",
                              cases[i].expr);
    struct syntax s;
    syntax_parse(&s, code, NULL);
    size_t v = name_of(&s, "v");
    CHECK(v != SYNTAX_NONE);
    struct syntax_type t = syntax_type_of(&s, s.names[v].init);
    if ((t.known ? (int)t.kind : -1) != cases[i].kind)
      fprintf(stderr, "%s:\n", cases[i].expr);
    CHECK_INT(t.known ? (int)t.kind : -1, cases[i].kind);
    syntax_release(&s);
    free(code);
  }
}

static void counts_loops(void)
{
  static const struct {
    const char *head;
    int count;
  } cases[] = {{"int i = 0; i < 10; i++", 10},      {"int i = 16; i > 0; i >>= 1", 5},
               {"int i = 0; i < N; i += 4", 8},     {"unsigned i = 1; i < 256; i *= 2", 8},
               {"int i = 9; i >= 0; --i", 10},      {"int i = 0; i < 10; i += 0", -1},
               {"int i = 0; 10 > i; i = i + 1", -1}, {"int i = 0; i < n; i++", -1}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char *code = kr_xasprintf("__global__ void k(float *p, int n)\n{\n  for (%s) p[i] = 0;\n}\n",
                              cases[i].head);
    struct kr_contract c = contract_of("k", "constexpr int N = 32;\n");
    struct syntax s;
    syntax_parse(&s, code, &c);
    struct syntax_loop l;
    size_t loop = s.stmts[s.functions[s.kernel].body].child;
    int64_t n = syntax_loop(&s, loop, &l) ? syntax_loop_count(&s, &l) : -1;
    CHECK_INT(n, cases[i].count);
    syntax_release(&s);
    free(code);
  }
  struct syntax s;
  struct syntax_loop l;
  // A pragma between two loops belongs to the inner one.
  syntax_parse(&s, "__global__ void k(float *p)\n{\n  for (int i = 0; i < 4; i++)\n#pragma unroll\n"
                   "    for (int j = 0; j < 3; j++) p[i] = j;\n}\n", NULL);
  CHECK(!s.functions[s.kernel].opaque);
  size_t outer = s.stmts[s.functions[s.kernel].body].child, inner = s.stmts[outer].body;
  CHECK(syntax_loop(&s, inner, &l) && syntax_loop_count(&s, &l) == 3);
  syntax_release(&s);
  // A variable that the body changes is no counted loop.
  syntax_parse(&s, "__global__ void k(float *p)\n{\n  for (int i = 0; i < 4; i++) { p[i] = 0; i++; }\n}\n",
               NULL);
  CHECK(!syntax_loop(&s, s.stmts[s.functions[s.kernel].body].child, &l));
  syntax_release(&s);
}

static void keeps_every_other_byte(void)
{
  static const char code[] = "__global__ void k(float *p, int n)\n"
                             "{\n"
                             "\tint i = threadIdx.x;  /* here */\n"
                             "\tif (i < n)\n"
                             "\t\tp[i] = 2.0 /* two */ * i; // end\n"
                             "}\n";
  struct kr_contract c = contract_of("k", "static const int k_part = 1; float part;\n");
  struct syntax s;
  syntax_parse(&s, code, &c);
  struct syntax_edits e = {0};
  size_t p = subscript_of(&s, "p[i]"), stmt = s.exprs[p].stmt;
  syntax_line_before(&e, &s, s.stmts[s.stmts[stmt].parent].span.first, "int j = %d;\nint l;", 3);
  syntax_replace(&e, &s, s.exprs[p].span, "q[i]");
  syntax_after(&e, &s, s.exprs[p].span.end, " /* a */");
  syntax_before(&e, &s, s.exprs[p].span.first, "*");
  char *out = syntax_apply(&e, &s);
  CHECK_STR(out, "__global__ void k(float *p, int n)\n"
                 "{\n"
                 "\tint i = threadIdx.x;  /* here */\n"
                 "\tint j = 3;\n"
                 "\tint l;\n"
                 "\tif (i < n)\n"
                 "\t\t*q[i] = /* a */ 2.0 /* two */ * i; // end\n"
                 "}\n");
  free(out);
  syntax_replace(&e, &s, (struct syntax_span){1, 4}, "x");
  syntax_replace(&e, &s, (struct syntax_span){2, 3}, "y");
  out = syntax_apply(&e, &s);
  CHECK(out == NULL);
  syntax_remove(&e, &s, s.stmts[s.stmts[stmt].parent].span);
  out = syntax_apply(&e, &s);
  CHECK(out && strstr(out, "/* here */\n\t // end\n}") != NULL);
  free(out);
  CHECK_STR(syntax_indent_step(&s), "\t");
  char *fresh = syntax_fresh(&s, "part"), *helper = syntax_fresh_helper(&s, "part");
  CHECK_STR(fresh, "part_2");
  CHECK_STR(helper, "k_part_2");
  free(fresh);
  free(helper);
  syntax_release(&s);
}

static void a_name_is_seen_where_it_is_declared(void)
{
  static const char code[] = "__global__ void k(float *p, int n)\n"
                             "{\n"
                             "  { int i = 1; p[i] = 0; }\n"
                             "  for (int i = 0; i < n; i++) { p[i + 0] = 0; }\n"
                             "  int i = n;\n"
                             "  p[i * 1] = 0;\n"
                             "}\n";
  struct syntax s;
  syntax_parse(&s, code, NULL);
  check_index(&s, "p[i]", "p", "1");
  check_index(&s, "p[i+0]", "p", "i");
  check_index(&s, "p[i*1]", "p", "n");
  syntax_release(&s);
}

int main(void)
{
  reads_a_kernel();
  says_what_it_does_not_understand();
  knows_what_changes();
  tells_barriers();
  knows_types();
  counts_loops();
  keeps_every_other_byte();
  a_name_is_seen_where_it_is_declared();
  return unit_end();
}
