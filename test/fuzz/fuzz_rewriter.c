// Any text as a variant, a baseline, a provenance line and a side of a diff: an
// answer comes, memory is respected, and what passes the screen can be put in.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "evaluator/base/mem.h"
#include "rewriter/rewriter.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char file[] = "#define TILE 32\n#define NOW clock64()\nusing real = __half;\n"
                           "// kevin: optimize let(n = 4) data(*[n])\n"
                           "__global__ void k(int n, const float *x, float *y)\n{\n  y[n] = x[n] * TILE;\n}\n"
                           "void run(int n, float *p) { k<<<n, TILE>>>(n, p, p); }\n";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  static struct kr_source src;
  static struct kr_markers markers;
  static struct kr_pkernel kernel;
  static struct kr_contract contract;
  if (!src.data) {
    struct kr_diags diags = {0};
    kr_source_from_text(&src, "k.cu", file, sizeof file - 1);
    kr_markers_scan(&src, &markers, &diags);
    kr_diags_release(&diags);
    size_t at = markers.items[0].target;
    kernel = (struct kr_pkernel){.name = kr_xstrdup("k"), .qualified = kr_xstrdup("k")};
    kernel.at = (struct kr_span){at, kr_definition_end(&src, at) - at};
    contract = (struct kr_contract){.kernel = kernel.qualified, .after = kr_xstrdup(""),
                                    .before = kr_xstrndup(file, at),
                                    .code = kr_xstrndup(file + at, kernel.at.length)};
  }
  char *text = kr_xmalloc(size + 1);
  memcpy(text, data, size);
  text[size] = '\0';
  struct kr_screen screen = {0}, notes = {0};
  struct kr_screen_input in = {.code = text, .source = &src, .kernel = &kernel, .contract = &contract};
  kr_screen_tokens(&in, &screen);
  kr_screen_notes(&in, &notes);

  static const char *const lines[] = {"verified x", NULL};
  struct kr_rewrite r = {.source = &src, .kernel = &kernel, .marker = &markers.items[0],
                         .contract = &contract, .code = text, .provenance = lines};
  struct kr_edits edits = {0}, undo = {0};
  struct kr_bytes out, blob;
  kr_bytes_init(&out, 1 << 24);
  kr_bytes_init(&blob, 1 << 24);
  int rc = kr_rewrite_edits(&r, &edits, NULL) || kr_edits_finish(&edits, NULL) ||
           kr_edits_apply(&edits, &src, &out, NULL);
  if (!screen.n && rc)
    abort();
  if (!rc) {
    // Taken back, the bytes are the old ones.
    struct kr_source now;
    if (kr_undo_make(&edits, &src, &blob, NULL))
      abort();
    kr_source_from_text(&now, "k.cu", out.data, out.len);
    kr_bytes_reset(&out);
    if (kr_undo_edits(blob.data, blob.len, &now, &undo, NULL) || kr_edits_finish(&undo, NULL) ||
        kr_edits_apply(&undo, &now, &out, NULL) || out.len != src.len ||
        memcmp(out.data, src.data, src.len))
      abort();
    kr_source_release(&now);
  }
  kr_edits_release(&undo);
  if (!kr_undo_edits(text, size, &src, &undo, NULL))
    kr_edits_finish(&undo, NULL);
  kr_bytes_reset(&out);
  kr_diff("k.cu", src.data, src.len, text, size, &out);
  struct kr_provenance p = {0};
  for (int verb = KR_MARKER_VERIFIED; verb <= KR_MARKER_FROM; verb++)
    kr_provenance_read((enum kr_marker_verb)verb, text, &p);
  kr_edits_release(&edits);
  kr_edits_release(&undo);
  kr_screen_release(&screen);
  kr_screen_release(&notes);
  kr_bytes_release(&out);
  kr_bytes_release(&blob);
  free(text);
  return 0;
}
