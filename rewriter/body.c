// A rewritten kernel as it stands in a source: its helpers, which are the declarations
// directly above the marker that are named after it, and its definition.

#include "rewriter.h"

#include <string.h>

#include "decl.h"

static bool has_prefix(const char *text, struct kr_token t, const char *name)
{
  size_t n = strlen(name);
  return t.kind == KR_TOK_IDENTIFIER && t.length > n + 1 && !strncmp(text + t.offset, name, n) &&
         text[t.offset + n] == '_';
}

// The declarations before `offset`; those from `*first` on are helpers.
static void body_helpers(const struct kr_source *src, size_t offset, const char *name,
                         struct decls *d, size_t *first)
{
  decls_before(d, src->data, src->len, offset);
  for (*first = d->n; *first; --*first) {
    size_t body, at = decl_name(d, &d->items[*first - 1], src->data, &body);
    if (at == SIZE_MAX || !has_prefix(src->data, d->toks[at], name))
      break;
  }
}

struct kr_hash kr_body_hash(const struct kr_source *src, size_t offset, const char *name)
{
  size_t end = kr_definition_end(src, offset), first;
  if (!end)
    end = src->len;
  struct kr_hash definition = kr_lex_hash(src->data + offset, end - offset);
  struct decls d;
  body_helpers(src, offset, name, &d, &first);
  if (first < d.n) {
    struct kr_hasher h;
    kr_hasher_init(&h);
    for (size_t i = first; i < d.n; i++) {
      struct kr_hash one = kr_lex_hash(src->data + d.items[i].offset, d.items[i].length);
      kr_hasher_add(&h, one.bytes, sizeof one.bytes);
    }
    kr_hasher_add(&h, definition.bytes, sizeof definition.bytes);
    definition = kr_hasher_end(&h);
  }
  decls_release(&d);
  return definition;
}

int kr_body_text(const struct kr_source *src, size_t offset, const char *name,
                 const struct kr_source *before, size_t before_offset, struct kr_bytes *out)
{
  size_t end = kr_definition_end(src, offset), first, had;
  if (!end)
    return -1;
  struct decls d, b;
  body_helpers(src, offset, name, &d, &first);
  body_helpers(before, before_offset, name, &b, &had);
  for (size_t i = first; i < d.n; i++) {
    const char *text = src->data + d.items[i].offset;
    struct kr_hash h = kr_lex_hash(text, d.items[i].length);
    bool old = false;
    for (size_t k = had; k < b.n && !old; k++)
      old = kr_hash_equal(h, kr_lex_hash(before->data + b.items[k].offset, b.items[k].length));
    if (old)
      continue;
    kr_bytes_add(out, text, d.items[i].length);
    kr_bytes_adds(out, "\n\n");
  }
  kr_bytes_add(out, src->data + offset, end - offset);
  kr_bytes_addc(out, '\n');
  decls_release(&d);
  decls_release(&b);
  return 0;
}
