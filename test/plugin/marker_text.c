// RUN: %unit/marker_text
// Markers as bytes: line ends, marks and encodings of files, places, hashes and
// the ends of definitions.
#include "evaluator/base/mem.h"
#include "plugin/marker.h"
#include "unit.h"

struct fixture {
  struct kr_source src;
  struct kr_markers m;
  struct kr_diags d;
  struct kr_bytes told;
};

static void scan(struct fixture *f, const char *text, size_t len)
{
  memset(f, 0, sizeof *f);
  kr_source_from_text(&f->src, "t.cu", text, len);
  kr_markers_scan(&f->src, &f->m, &f->d);
  kr_bytes_init(&f->told, 1 << 20);
  for (size_t i = 0; i < f->d.n; i++)
    kr_diag_format(&f->d.items[i], &f->src, &f->told);
}

static void done(struct fixture *f)
{
  kr_bytes_release(&f->told);
  kr_diags_release(&f->d);
  kr_markers_release(&f->m);
  kr_source_release(&f->src);
}

static const char two_lines[] = "// kevin: optimize let(n = 1 << 24)\n"
                                "// kevin: in(x[n + 1]) out(y[n])\n"
                                "__global__ void k(int n) { }\n";

static struct kr_hash hash_of(const char *text, size_t len)
{
  struct fixture f;
  struct kr_hash h = {{0}};
  scan(&f, text, len);
  CHECK_INT(f.m.n, 1);
  CHECK_STR(f.told.data, "");
  if (f.m.n)
    h = kr_marker_hash(&f.m.items[0]);
  if (f.m.n) {
    const char *target = f.src.data + f.m.items[0].target;
    CHECK(!strncmp(target, "__global__", 10));
    CHECK(kr_markers_above(&f.m, f.m.items[0].target, KR_MARKER_OPTIMIZE) == &f.m.items[0]);
    CHECK(kr_markers_above(&f.m, f.m.items[0].target, KR_MARKER_OFF) == NULL);
    CHECK(kr_markers_above(&f.m, f.m.items[0].target + 1, KR_MARKER_OPTIMIZE) == NULL);
    CHECK_STR(f.m.items[0].text, "let(n = 1 << 24) in(x[n + 1]) out(y[n])");
  }
  done(&f);
  return h;
}

// `text` with every "\n" replaced.
static char *with_newlines(const char *text, const char *newline)
{
  struct kr_bytes b;
  kr_bytes_init(&b, 1 << 20);
  for (; *text; text++)
    *text == '\n' ? kr_bytes_adds(&b, newline) : kr_bytes_addc(&b, *text);
  char *out = kr_bytes_take(&b);
  kr_bytes_release(&b);
  return out;
}

static void the_same_marker_in_other_bytes_has_the_same_hash(void)
{
  struct kr_hash want = hash_of(two_lines, strlen(two_lines));
  static const char *const variants[] = {
      // blanks, none and many
      "// kevin:optimize let(n=1<<24)in(x[n+1])out(y[n])\n__global__ void k(int n) { }",
      "//kevin: optimize   let( n = 1\t<<  24 )  in( x [ n + 1 ] )   out(y[n])\n"
      "__global__ void k() { }",
      // a pragma, over lines and not
      "#pragma kevin optimize let(n = 1 << 24) in(x[n + 1]) out(y[n])\n__global__ void k() { }",
      "#pragma kevin optimize \\\n  let(n = 1 << 24) \\\n  in(x[n + 1])out(y[n])\n\n"
      "__global__ void k() { }",
      "  #  pragma kevin optimize let(n = 1 << 24) in(x[n + 1]) out(y[n]) // remark\n"
      "__global__ void k() { }",
      // Latin-1 and UTF-8 in the prose, which may hold quotes
      "// Gr\xf6\xdf" "e don't \"\n// kevin: optimize let(n = 1 << 24)\n// kevin: in(x[n + 1]) "
      "out(y[n])\n// \xc3\xbc\n__global__ void k() { }",
      // blank lines, comments and conditions in between
      "// kevin: optimize let(n = 1 << 24) in(x[n + 1]) out(y[n])\n\n/* a */ // b\n#if 1\n#else\n"
      "#endif\n/// c\n__global__ void k() { }",
      // an attribute's line and none at the end of the file
      "// kevin: optimize let(n = 1 << 24) in(x[n + 1]) out(y[n])\n"
      "__global__ void __launch_bounds__(256) k() { }"};
  for (size_t i = 0; i < sizeof variants / sizeof *variants; i++) {
    struct kr_hash h = hash_of(variants[i], strlen(variants[i]));
    CHECK(kr_hash_equal(h, want));
  }
  static const char split[] = "// kevin:\n// optimize let(n =\n// 1 << 24) in(x[n +\n"
                              "// 1]) out(y[n])\n__global__ void k() { }\n";
  CHECK(kr_hash_equal(hash_of(split, strlen(split)), want));
  static const char bom[] = "\xEF\xBB\xBF// kevin: optimize let(n = 1 << 24) in(x[n + 1]) "
                            "out(y[n])\n__global__ void k() { }";
  CHECK(kr_hash_equal(hash_of(bom, strlen(bom)), want));
  for (const char *const *newline = (const char *const[]){"\r\n", "\r", NULL}; *newline;
       newline++) {
    char *text = with_newlines(two_lines, *newline);
    CHECK(kr_hash_equal(hash_of(text, strlen(text)), want));
    free(text);
    text = with_newlines(split, *newline);
    CHECK(kr_hash_equal(hash_of(text, strlen(text)), want));
    free(text);
  }
}

static void another_marker_has_another_hash(void)
{
  static const char *const texts[] = {
      "// kevin: optimize let(n = 4)\n__global__ void k() { }",
      "// kevin: optimize let(n = 5)\n__global__ void k() { }",
      "// kevin: optimize let(nn = 4)\n__global__ void k() { }",
      "// kevin: optimize fix(n = 4)\n__global__ void k() { }",
      "// kevin: off\n__global__ void k() { }",
      "// kevin: optimize\n__global__ void k() { }",
      "// kevin: optimize let(n = 4) launch(fixed)\n__global__ void k() { }"};
  enum { N = sizeof texts / sizeof *texts };
  struct kr_hash h[N];
  for (size_t i = 0; i < N; i++) {
    struct fixture f;
    scan(&f, texts[i], strlen(texts[i]));
    CHECK_INT(f.m.n, 1);
    h[i] = kr_marker_hash(&f.m.items[0]);
    done(&f);
    for (size_t j = 0; j < i; j++)
      CHECK(!kr_hash_equal(h[i], h[j]));
  }
}

static void clauses_may_be_named_as_openacc_names_them(void)
{
  struct fixture f;
  static const char text[] =
      "// kevin: optimize copyin(a[4]) copy(b[4]) copyout(c[4])\n__global__ void k() { }";
  scan(&f, text, strlen(text));
  CHECK_INT(f.m.n, 1);
  CHECK_INT(f.m.items[0].sections[0].direction, KR_DIR_IN);
  CHECK_INT(f.m.items[0].sections[1].direction, KR_DIR_INOUT);
  CHECK_INT(f.m.items[0].sections[2].direction, KR_DIR_OUT);
  done(&f);
}

static void places_of_parts_are_found_across_lines(void)
{
  struct fixture f;
  static const char text[] = "// kevin: optimize let(n = 4) in(x[n *\r\n"
                             "// kevin:   kevin_size +\r\n"
                             "//   last])\r\n__global__ void k() { }";
  scan(&f, text, strlen(text));
  CHECK_INT(f.m.n, 1);
  const struct kr_mexpr *e = &f.m.items[0].sections[0].ranges[0].length;
  CHECK_STR(e->text, "n * kevin_size + last");
  static const char *const parts[] = {"n", "kevin_size", "last", "*", "+"};
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    size_t at = (size_t)(strstr(e->text, parts[i]) - e->text);
    if (!strcmp(parts[i], "n"))
      at = 0;
    struct kr_span s = kr_marker_expr_place(&f.src, e, at, strlen(parts[i]));
    CHECK_INT(s.length, strlen(parts[i]));
    CHECK(!strncmp(f.src.data + s.offset, parts[i], s.length));
  }
  struct kr_span whole = kr_marker_expr_place(&f.src, e, 0, strlen(e->text));
  CHECK_INT(whole.offset, e->at.offset);
  CHECK_INT(whole.length, e->at.length);
  struct kr_span none = kr_marker_expr_place(&f.src, e, 1000, 1);
  CHECK_INT(none.offset, e->at.offset);
  done(&f);
}

static void provenance_is_read_as_items(void)
{
  struct fixture f;
  static const char text[] =
      "// kevin: optimize let(n = 4)\n"
      "// kevin: verified 1.83x [1.79, 1.87] on NVIDIA H200 sm_90:\n"
      "// 64.3 -> 35.2 us kevin: by kevin-32b, turn 6/8; max error\n"
      "// 1.2e-07; kevin-rewrite 0.1.0 kevin: from 3f9a41c2e07b body\n"
      "// ab12cd34ef56 marker 77aa01bc99de And prose behind.\n"
      "__global__ void k() { }\n"
      "// kevin: modelled oddly\n"
      "// and prose\n"
      "void other();\n";
  scan(&f, text, strlen(text));
  CHECK_STR(f.told.data, "");
  CHECK_INT(f.m.n, 5);
  CHECK_INT(f.m.items[1].verb, KR_MARKER_VERIFIED);
  CHECK_STR(f.m.items[1].text, "1.83x [1.79, 1.87] on NVIDIA H200 sm_90: 64.3 -> 35.2 us");
  CHECK_STR(f.m.items[2].text, "kevin-32b, turn 6/8; max error 1.2e-07; kevin-rewrite 0.1.0");
  CHECK_STR(f.m.items[3].text, "3f9a41c2e07b body ab12cd34ef56 marker 77aa01bc99de");
  CHECK_INT(f.m.items[3].target, f.m.items[0].target);
  CHECK_INT(f.m.items[4].verb, KR_MARKER_MODELLED);
  CHECK_STR(f.m.items[4].text, "oddly");
  done(&f);
}

static void names_like_verbs_stay_names_inside_brackets(void)
{
  struct fixture f;
  static const char text[] = "// kevin: optimize let(by = 3, from = 4) in(x[4],\n"
                             "// kevin: from[3], y[\n"
                             "// kevin: by]) out(z[1])\n"
                             "__global__ void k() { }\n";
  scan(&f, text, strlen(text));
  CHECK_STR(f.told.data, "");
  CHECK_INT(f.m.n, 1);
  CHECK_INT(f.m.items[0].n_sections, 4);
  done(&f);
}

static void nothing_is_found_where_nothing_is(void)
{
  static const char *const texts[] = {"", "kevin", "// kevin", "int kevin = 3; // kevin\n", "k",
                                      "\xEF\xBB\xBF", "//", "#pragma kevin", "#pragma",
                                      "\"// kevin: optimize let(n = 4)\"",
                                      "R\"(\n// kevin: optimize let(n = 4)\n)\""};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    struct fixture f;
    scan(&f, texts[i], strlen(texts[i]));
    CHECK_INT(f.m.n, 0);
    CHECK_INT(f.d.n_errors, 0);
    done(&f);
  }
}

static void bounds_of_depth_and_length_hold(void)
{
  struct kr_bytes b;
  struct fixture f;
  kr_bytes_init(&b, 1 << 20);
  kr_bytes_adds(&b, "// kevin: optimize let(n = ");
  for (int i = 0; i < 200; i++)
    kr_bytes_addc(&b, '(');
  kr_bytes_adds(&b, "\n__global__ void k() { }");
  scan(&f, b.data, b.len);
  CHECK_INT(f.m.n, 0);
  CHECK(strstr(f.told.data, "brackets are nested deeper than 64") != NULL);
  done(&f);
  kr_bytes_reset(&b);
  kr_bytes_adds(&b, "// kevin: optimize let(n = 0");
  for (int i = 0; i < 9000; i++)
    kr_bytes_adds(&b, "+1");
  kr_bytes_adds(&b, ")\n__global__ void k() { }");
  scan(&f, b.data, b.len);
  CHECK_INT(f.m.n, 0);
  CHECK(strstr(f.told.data, "the marker is longer than 16 KiB") != NULL);
  done(&f);
  kr_bytes_release(&b);
}

// The text from a definition's first token to where kr_definition_end() puts its end.
static void definition(const char *text, const char *want)
{
  struct kr_source src;
  kr_source_from_text(&src, "t.cu", text, strlen(text));
  size_t end = kr_definition_end(&src, 0);
  char *got = kr_xstrndup(text, end);
  CHECK_STR(got, want);
  free(got);
  kr_source_release(&src);
}

static void definitions_end_at_their_brace(void)
{
  definition("__global__ void k(int n) { if (n) { } } int x;",
             "__global__ void k(int n) { if (n) { } }");
  definition("template <int N = A{3}.b, class T = X<(N > 2)>> __global__ void k() { a; }x",
             "template <int N = A{3}.b, class T = X<(N > 2)>> __global__ void k() { a; }");
  definition("__global__ void k(S s = S{1}) { \"}\"; '}'; /* } */ // }\n }x",
             "__global__ void k(S s = S{1}) { \"}\"; '}'; /* } */ // }\n }");
  definition("__global__ void k()\n{\n#if A\n  if (x) {\n#else\n  if (y) {\n#endif\n  }\n}\nint z;",
             "__global__ void k()\n{\n#if A\n  if (x) {\n#else\n  if (y) {\n#endif\n  }\n}");
  definition("#if A\nvoid a(\n#else\nvoid b(\n#endif\nint n) { }x", "#if A\nvoid a(\n#else\nvoid b(\n#endif\nint n) { }");
  definition("void k() <% a <: 3 :> ; %> x", "void k() <% a <: 3 :> ; %>");
  definition("__global__ void k(int n);\nvoid f() { }", "");
  definition("__global__ void k(int n) {", "");
  definition("}", "");
  definition("", "");
}

int main(void)
{
  the_same_marker_in_other_bytes_has_the_same_hash();
  another_marker_has_another_hash();
  clauses_may_be_named_as_openacc_names_them();
  places_of_parts_are_found_across_lines();
  provenance_is_read_as_items();
  names_like_verbs_stay_names_inside_brackets();
  nothing_is_found_where_nothing_is();
  bounds_of_depth_and_length_hold();
  definitions_end_at_their_brace();
  return unit_end();
}
