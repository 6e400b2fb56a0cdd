// Reading markers from anything: no crash, spans inside the text, and a marker
// that was read reads the same again from its own normalised text.
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "evaluator/base/mem.h"
#include "plugin/marker.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_span(const struct kr_source *src, struct kr_span s)
{
  assert(s.offset <= src->len && s.length <= src->len - s.offset);
}

static void check_expr(const struct kr_source *src, const struct kr_mexpr *e)
{
  if (!e->e)
    return;
  size_t n = strlen(e->text);
  check_span(src, e->at);
  assert(e->e->offset + e->e->length <= n);
  for (size_t i = 0; i < n; i += 1 + n / 8) {
    struct kr_span s = kr_marker_expr_place(src, e, i, 1);
    assert(s.offset >= e->at.offset && s.offset + s.length <= e->at.offset + e->at.length);
  }
}

static void check_again(const struct kr_marker *m)
{
  struct kr_source src;
  struct kr_markers again;
  struct kr_diags diags = {0};
  char *text = kr_xasprintf("// kevin: optimize %s\nvoid k() { }", m->text);
  kr_source_from_text(&src, "again.cu", text, strlen(text));
  kr_markers_scan(&src, &again, &diags);
  assert(again.n == 1 && diags.n_errors == 0);
  assert(!strcmp(again.items[0].text, m->text));
  assert(kr_hash_equal(kr_marker_hash(&again.items[0]), kr_marker_hash(m)));
  kr_diags_release(&diags);
  kr_markers_release(&again);
  kr_source_release(&src);
  free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  struct kr_source src;
  struct kr_markers m;
  struct kr_diags diags = {0};
  struct kr_bytes told;
  kr_source_from_text(&src, "fuzz.cu", (const char *)data, size);
  kr_markers_scan(&src, &m, &diags);
  kr_bytes_init(&told, 1 << 20);
  for (size_t i = 0; i < diags.n; i++) {
    assert(i == 0 || diags.items[i - 1].offset <= diags.items[i].offset);
    check_span(&src, (struct kr_span){diags.items[i].offset, diags.items[i].length});
    kr_diag_format(&diags.items[i], &src, &told);
  }
  for (size_t i = 0; i < m.n; i++) {
    const struct kr_marker *k = &m.items[i];
    check_span(&src, k->at);
    assert(k->target == SIZE_MAX || k->target < src.len);
    for (size_t j = 0; j < k->n_bindings; j++)
      for (size_t v = 0; v < k->bindings[j].n_rows * k->bindings[j].n_paths; v++)
        check_expr(&src, &k->bindings[j].values[v]);
    for (size_t j = 0; j < k->n_sections; j++)
      for (size_t r = 0; r < k->sections[j].n_ranges; r++)
        check_expr(&src, &k->sections[j].ranges[r].length);
    for (size_t j = 0; j < k->n_requires; j++)
      check_expr(&src, &k->requires_[j]);
    if (k->verb == KR_MARKER_OPTIMIZE)
      check_again(k);
    if (k->target != SIZE_MAX)
      assert(kr_definition_end(&src, k->target) <= src.len);
  }
  kr_bytes_release(&told);
  kr_diags_release(&diags);
  kr_markers_release(&m);
  kr_source_release(&src);
  return 0;
}
