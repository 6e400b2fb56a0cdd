// Edits: byte spans of one source and what comes in their place. Nothing
// between two edits is looked at, let alone printed anew.

#include "rewriter.h"

#include <stdlib.h>
#include <string.h>

#include "../evaluator/base/mem.h"

void kr_edits_add(struct kr_edits *e, size_t offset, size_t length, const char *text)
{
  KR_GROW(e->items, e->n, e->cap);
  e->items[e->n++] = (struct kr_edit){offset, length, kr_xstrdup(text), false};
}

void kr_edits_release(struct kr_edits *e)
{
  for (size_t i = 0; i < e->n; i++)
    free(e->items[i].text);
  free(e->items);
  *e = (struct kr_edits){0};
}

static int edit_compare(const void *pa, const void *pb)
{
  const struct kr_edit *a = pa, *b = pb;
  if (a->offset != b->offset)
    return a->offset < b->offset ? -1 : 1;
  if (a->length != b->length)
    return a->length < b->length ? -1 : 1;
  return strcmp(a->text, b->text);
}

int kr_edits_finish(struct kr_edits *e, struct kr_err *err)
{
  if (!e->n)
    return 0;
  qsort(e->items, e->n, sizeof *e->items, edit_compare);
  size_t n = 1;
  for (size_t i = 1; i < e->n; i++) {
    if (!edit_compare(&e->items[n - 1], &e->items[i]))
      free(e->items[i].text);
    else
      e->items[n++] = e->items[i];
  }
  e->n = n;
  for (size_t i = 1; i < n; i++) {
    const struct kr_edit *a = &e->items[i - 1], *b = &e->items[i];
    // Two insertions at one place have no order; one before a replaced span has.
    bool twice = a->offset == b->offset && !a->length && !b->length;
    if (twice || a->length > b->offset - a->offset)
      return kr_err_set(err, "two edits overlap: bytes %zu to %zu and bytes %zu to %zu", a->offset,
                        a->offset + a->length, b->offset, b->offset + b->length);
  }
  return 0;
}

int kr_edits_apply(const struct kr_edits *e, const struct kr_source *src, struct kr_bytes *out,
                   struct kr_err *err)
{
  // From the front, into a new buffer, in one pass: the offsets are those of
  // the old text either way, and a file of 200,000 lines stays linear.
  size_t at = 0;
  for (size_t i = 0; i < e->n; i++) {
    const struct kr_edit *edit = &e->items[i];
    if (edit->offset > src->len || edit->length > src->len - edit->offset)
      return kr_err_set(err, "%s: an edit of bytes %zu to %zu is past the end (%zu bytes)",
                        src->path, edit->offset, edit->offset + edit->length, src->len);
    if (edit->offset < at)
      return kr_err_set(err, "%s: two edits overlap at byte %zu", src->path, edit->offset);
    kr_bytes_add(out, src->data + at, edit->offset - at);
    const char *newline = edit->raw ? "\n" : kr_source_newline_at(src, edit->offset);
    for (const char *p = edit->text; *p;) {
      size_t n = strcspn(p, "\n");
      kr_bytes_add(out, p, n);
      p += n;
      if (*p == '\n') {
        kr_bytes_adds(out, newline);
        p++;
      }
    }
    at = edit->offset + edit->length;
  }
  kr_bytes_add(out, src->data + at, src->len - at);
  if (out->toobig)
    return kr_err_set(err, "%s would become larger than %zu bytes", src->path, out->max);
  return 0;
}
