// RUN: %unit/undo
// Taking rewrites back one by one, although they were made together.
#include "rewriter/rewriter.h"
#include "unit.h"

static struct kr_source src;

static void edit(struct kr_edits *e, const char *what, size_t nth, const char *text)
{
  const char *at = src.data;
  while ((at = strstr(at, what)) && nth--)
    at++;
  CHECK(at != NULL);
  if (!at)
    return;
  kr_edits_add(e, (size_t)(at - src.data), strlen(what), text);
}

static char *apply(const struct kr_edits *e, const struct kr_source *on)
{
  struct kr_bytes out;
  kr_bytes_init(&out, 1 << 20);
  CHECK_INT(kr_edits_apply(e, on, &out, NULL), 0);
  char *text = kr_bytes_take(&out);
  kr_bytes_release(&out);
  return text;
}

static char *back(const struct kr_bytes *blob, const char *text, int want)
{
  struct kr_source now;
  struct kr_edits e = {0};
  struct kr_err err = {""};
  kr_source_from_text(&now, "k.cu", text, strlen(text));
  CHECK_INT(kr_undo_edits(blob->data, blob->len, &now, &e, &err), want);
  CHECK_INT(kr_edits_finish(&e, &err), 0);
  char *result = apply(&e, &now);
  kr_edits_release(&e);
  kr_source_release(&now);
  return result;
}

int main(void)
{
  // Two kernels with the same body, and launches side by side with one configuration.
  static const char text[] = "K a() { old; }\nK b() { old; }\n"
                             "void run() { a<<<1, 2>>>(); b<<<1, 2>>>(); a<<<1, 2>>>(); }\n";
  kr_source_from_text(&src, "k.cu", text, strlen(text));
  struct kr_edits a = {0}, b = {0}, all = {0};
  edit(&a, "K a() { old; }", 0, "// p\nK a() { new; }");
  edit(&a, "<<<1, 2>>>", 0, "<<<3, 4>>>");
  edit(&a, "<<<1, 2>>>", 2, "<<<3, 4>>>");
  edit(&b, "K b() { old; }", 0, "K b() { new; }");
  edit(&b, "<<<1, 2>>>", 1, "<<<3, 4>>>");
  CHECK_INT(kr_edits_finish(&a, NULL), 0);
  CHECK_INT(kr_edits_finish(&b, NULL), 0);
  for (size_t i = 0; i < a.n; i++)
    kr_edits_add(&all, a.items[i].offset, a.items[i].length, a.items[i].text);
  for (size_t i = 0; i < b.n; i++)
    kr_edits_add(&all, b.items[i].offset, b.items[i].length, b.items[i].text);
  CHECK_INT(kr_edits_finish(&all, NULL), 0);
  struct kr_bytes undo_a, undo_b;
  kr_bytes_init(&undo_a, 1 << 20);
  kr_bytes_init(&undo_b, 1 << 20);
  CHECK_INT(kr_undo_make_among(&a, &all, &src, &undo_a, NULL), 0);
  CHECK_INT(kr_undo_make_among(&b, &all, &src, &undo_b, NULL), 0);
  char *written = apply(&all, &src);
  CHECK(strstr(written, "old") == NULL);

  char *only_b = back(&undo_a, written, 0), *neither = back(&undo_b, only_b, 0);
  CHECK_STR(only_b, "K a() { old; }\nK b() { new; }\nvoid run() { a<<<1, 2>>>(); b<<<3, 4>>>(); a<<<1, 2>>>(); }\n");
  CHECK_STR(neither, text);
  free(neither);
  free(only_b);
  char *only_a = back(&undo_b, written, 0);
  neither = back(&undo_a, only_a, 0);
  CHECK_STR(only_a, "// p\nK a() { new; }\nK b() { old; }\nvoid run() { a<<<3, 4>>>(); b<<<1, 2>>>(); a<<<3, 4>>>(); }\n");
  CHECK_STR(neither, text);

  // A second time there is nothing to take back.
  char *again = back(&undo_a, text, 1);
  CHECK_STR(again, text);
  free(again);
  free(neither);
  free(only_a);
  free(written);
  kr_bytes_release(&undo_a);
  kr_bytes_release(&undo_b);
  kr_edits_release(&a);
  kr_edits_release(&b);
  kr_edits_release(&all);
  kr_source_release(&src);
  return unit_end();
}
