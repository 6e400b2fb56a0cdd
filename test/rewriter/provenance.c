// RUN: %unit/provenance
// The three provenance lines: as written, within their width, read back.
#include "rewriter/rewriter.h"
#include "unit.h"

static struct kr_hash hash_from(const char *hex12)
{
  char hex[33] = "00000000000000000000000000000000";
  struct kr_hash h;
  memcpy(hex, hex12, 12);
  CHECK_INT(kr_hash_parse(hex, &h), 0);
  return h;
}

static struct kr_provenance sample(void)
{
  struct kr_provenance p = {.speedup = 1.83, .lo = 1.79, .hi = 1.87, .base_us = 64.3,
                            .cand_us = 35.2, .turn = 6, .turns = 8, .max_rel_err = 1.2e-7,
                            .have_figures = true};
  strcpy(p.device, "NVIDIA H200 sm_90");
  strcpy(p.model, "kevin-32b");
  strcpy(p.tool, "kevin-rewrite 0.1.0");
  p.from = hash_from("3f9a41c2e07b");
  p.body = hash_from("ab12cd34ef56");
  p.marker = hash_from("77aa01bc99de");
  return p;
}

// Writes `p` above a kernel and reads it back from the file.
static int back(const struct kr_provenance *p, size_t width, struct kr_provenance *out,
                struct kr_err *err)
{
  char text[2048] = "int a;\n  // kevin: optimize let(n = 4) data(*[n])\n";
  char **lines = kr_provenance_lines(p, width);
  for (size_t i = 0; lines[i]; i++)
    snprintf(text + strlen(text), sizeof text - strlen(text), "  // kevin: %s\n", lines[i]);
  kr_provenance_lines_free(lines);
  strcat(text, "  __global__ void k(float *x, int n) {}\n");
  struct kr_source src;
  struct kr_markers markers;
  struct kr_diags diags = {0};
  kr_source_from_text(&src, "k.cu", text, strlen(text));
  kr_markers_scan(&src, &markers, &diags);
  CHECK_INT(diags.n, 0);
  CHECK(markers.n >= 2 && markers.items[0].verb == KR_MARKER_OPTIMIZE);
  int rc = kr_provenance_find(&markers, (size_t)(strstr(text, "__global__") - text), out, err);
  kr_markers_release(&markers);
  kr_diags_release(&diags);
  kr_source_release(&src);
  return rc;
}

static void reads_back(const struct kr_provenance *p, size_t width)
{
  struct kr_provenance got = {0};
  struct kr_err err = {""};
  CHECK_INT(back(p, width, &got, &err), 0);
  CHECK_STR(err.text, "");
  CHECK_INT(got.modelled, p->modelled);
  CHECK_INT(got.unvalidated, p->unvalidated);
  CHECK_NEAR(got.speedup, p->speedup, 0.01);
  CHECK_NEAR(got.lo, p->lo, 0.01);
  CHECK_NEAR(got.hi, p->hi, 0.01);
  CHECK_NEAR(got.base_us, p->base_us, 0.01);
  CHECK_NEAR(got.cand_us, p->cand_us, 0.01);
  CHECK_INT(got.turn, p->turn);
  CHECK_INT(got.turns, p->turns);
  if (p->max_rel_err < 0)
    CHECK(got.max_rel_err < 0);
  else
    CHECK_NEAR(got.max_rel_err, p->max_rel_err, 0.05);
  CHECK_STR(got.tolerance, p->tolerance);
  CHECK_STR(got.tool, p->tool);
  CHECK(kr_hash_equal(got.from, p->from) && kr_hash_equal(got.body, p->body) &&
        kr_hash_equal(got.marker, p->marker));
  CHECK(got.have_figures);
}

int main(void)
{
  struct kr_provenance p = sample();
  char **lines = kr_provenance_lines(&p, 68);
  CHECK_STR(lines[0], "verified 1.83x [1.79, 1.87] on NVIDIA H200 sm_90: 64.3 -> 35.2 us");
  CHECK_STR(lines[1], "by kevin-32b, turn 6/8; max error 1.2e-07; kevin-rewrite 0.1.0");
  CHECK_STR(lines[2], "from 3f9a41c2e07b body ab12cd34ef56 marker 77aa01bc99de");
  CHECK(!lines[3]);
  kr_provenance_lines_free(lines);
  reads_back(&p, 68);

  p.modelled = true;
  p.lo = 1.6;
  p.hi = 2.1;
  p.max_rel_err = -1;
  strcpy(p.tolerance, "tol 1e-2");
  p.base_us = 0.00123;
  p.cand_us = 1830.4;
  lines = kr_provenance_lines(&p, 78);
  CHECK_STR(lines[0], "modelled 1.83x [1.6, 2.1] on NVIDIA H200 sm_90: 0.00123 -> 1830 us");
  CHECK_STR(lines[1], "by kevin-32b, turn 6/8; exact; tol 1e-2; kevin-rewrite 0.1.0");
  kr_provenance_lines_free(lines);
  reads_back(&p, 78);

  // A model that was never held against the GPU says so, and the words fit.
  p = sample();
  p.modelled = p.unvalidated = true;
  p.lo = 1.0312;
  p.hi = 2.13;
  strcpy(p.device, "NVIDIA A100 sm_80");
  lines = kr_provenance_lines(&p, 70);
  CHECK_STR(lines[0], "modelled 1.83x [1.03, 2.1] on A100 sm_80 unvalidated: 64.3 -> 35.2 us");
  kr_provenance_lines_free(lines);
  p.hi = 2.1;
  reads_back(&p, 70);
  struct kr_provenance read = {0};
  CHECK_INT(kr_provenance_read(KR_MARKER_MODELLED, "modelled 1.8x [1.0,2] on A100 unvalidated: 2 -> 1 us", &read), 0);
  CHECK_STR(read.device, "A100");
  CHECK(read.unvalidated);

  // Names too long for the width give way, and whatever they hold does no harm.
  p = sample();
  strcpy(p.device, "A; very: long \xc3\xa9 device\n// kevin: off with \\ a name of many words and numbers 123456 sm_120a");
  strcpy(p.model, "org/model,with;marks kevin: optimize and a name without end");
  for (size_t width = 40; width <= 78; width++) {
    lines = kr_provenance_lines(&p, width);
    for (int i = 0; i < 3; i++) {
      CHECK(strlen(lines[i]) <= (width > 66 ? width : 66));
      CHECK(!strpbrk(lines[i], "\n\\\xc3") && !strstr(lines[i], "kevin: "));
    }
    kr_provenance_lines_free(lines);
    reads_back(&p, width);
  }
  // However much room there was, the GPU is known again, and no other is taken for it.
  static const char *const gpus[] = {"NVIDIA H200 sm_90", "NVIDIA GeForce RTX 4090 Laptop GPU sm_89",
                                     "Testing; GPU: sm_90"};
  for (int i = 0; i < 3; i++)
    for (size_t width = 52; width <= 78; width++) {
      struct kr_provenance out = {0};
      p = sample();
      snprintf(p.device, sizeof p.device, "%s", gpus[i]);
      lines = kr_provenance_lines(&p, width);
      CHECK_INT(kr_provenance_read(KR_MARKER_VERIFIED, lines[0], &out), 0);
      kr_provenance_lines_free(lines);
      CHECK(kr_provenance_on(&out, gpus[i]));
      CHECK(!kr_provenance_on(&out, "NVIDIA A100 sm_80") && !kr_provenance_on(&out, "") &&
            !kr_provenance_on(&out, gpus[(i + 1) % 3]));
    }
  p = sample();
  p.device[0] = p.model[0] = '\0';
  reads_back(&p, 68);

  // Without figures only the last line is there; that is enough.
  p = sample();
  p.have_figures = false;
  struct kr_provenance got = {0};
  struct kr_err err = {""};
  CHECK_INT(back(&p, 68, &got, &err), 0);
  CHECK(!got.have_figures && kr_hash_equal(got.from, p.from));
  CHECK(kr_provenance_same(hash_from("3f9a41c2e07b"), got.from));
  CHECK(!kr_provenance_same(hash_from("3f9a41c2e07c"), got.from));

  // What cannot be understood is said.
  CHECK_INT(kr_provenance_read(KR_MARKER_FROM, "from 3f9a41c2e07 body ab12cd34ef56 marker 77aa01bc99de", &got), -1);
  CHECK_INT(kr_provenance_read(KR_MARKER_FROM, "3f9a41c2e07b body ab12cd34ef56 marker 77aa01bc99de", &got), 0);
  CHECK_INT(kr_provenance_read(KR_MARKER_VERIFIED, "verified 1.83 [1.79, 1.87] on x: 1 -> 2 us", &got), -1);
  CHECK_INT(kr_provenance_read(KR_MARKER_VERIFIED, "1.83x[1.79,1.87]on x:1->2us", &got), 0);
  CHECK_INT(kr_provenance_read(KR_MARKER_BY, "by m, turn 1; exact; t", &got), -1);
  CHECK_INT(kr_provenance_read(KR_MARKER_OFF, "off", &got), -1);
  struct kr_marker items[2] = {{.verb = KR_MARKER_VERIFIED, .text = "verified 1.83x [1.79, 1.87] on x: 1 -> 2 us", .target = 7}, {0}};
  struct kr_markers m = {items, 1};
  CHECK_INT(kr_provenance_find(&m, 9, &got, &err), 1);
  CHECK_INT(kr_provenance_find(&m, 7, &got, &err), -1);
  CHECK_STR(err.text, "provenance without its line `kevin: from ...`");
  items[1] = items[0];
  m.n = 2;
  CHECK_INT(kr_provenance_find(&m, 7, &got, &err), -1);
  CHECK_STR(err.text, "two provenance lines `kevin: verified` stand above one kernel");
  return unit_end();
}
