#include "fresh.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../evaluator/base/mem.h"

struct kr_hash fresh_outside(const struct input *in)
{
  struct kr_bytes text;
  kr_bytes_init(&text, KR_SOURCE_MAX + 1);
  size_t at = 0;
  for (size_t i = 0; i < in->markers.n; i++) {
    const struct kr_marker *m = &in->markers.items[i];
    if (m->verb != KR_MARKER_OPTIMIZE || m->target == SIZE_MAX || m->target < at)
      continue;
    size_t end = kr_definition_end(&in->src, m->target);
    if (!end)
      continue;
    kr_bytes_add(&text, in->src.data + at, m->target - at);
    kr_bytes_adds(&text, "\n;\n"); // so that the tokens on both sides stay apart
    at = end;
  }
  kr_bytes_add(&text, in->src.data + at, in->src.len - at);
  struct kr_hash h = kr_lex_hash(text.data, text.len);
  kr_bytes_release(&text);
  return h;
}

struct kr_hash fresh_slice(const struct kr_pkernel *k)
{
  struct kr_hasher h;
  kr_hasher_init(&h);
  for (int i = 0; i < 2; i++) {
    const char *part = i ? k->slice_after : k->slice_before;
    struct kr_bytes text;
    kr_bytes_init(&text, KR_BYTES_DEFAULT_MAX);
    // #line directives say where things stand, which means nothing here.
    for (const char *s = part ? part : ""; *s;) {
      size_t n = strcspn(s, "\n");
      if (strncmp(s, "#line ", 6))
        kr_bytes_add(&text, s, n);
      kr_bytes_addc(&text, '\n');
      s += n + (s[n] == '\n');
    }
    struct kr_hash one = kr_lex_hash(text.data, text.len);
    kr_hasher_add(&h, one.bytes, sizeof one.bytes);
    kr_bytes_release(&text);
  }
  return kr_hasher_end(&h);
}

int fresh_definition(const struct input *in, const struct kr_marker *m, struct kr_hash *out)
{
  size_t end = m->target == SIZE_MAX ? 0 : kr_definition_end(&in->src, m->target);
  if (!end)
    return -1;
  char *name = fresh_name(&in->src, m->target);
  *out = kr_body_hash(&in->src, m->target, name);
  free(name);
  return 0;
}

bool fresh_span(const struct kr_source *now, size_t number, size_t *begin, size_t *end)
{
  struct kr_markers ms = {0};
  struct kr_diags ignored = {0};
  kr_markers_scan(now, &ms, &ignored);
  const struct kr_marker *m = input_numbered(&ms, number);
  *end = m && m->target != SIZE_MAX ? kr_definition_end(now, m->target) : 0;
  if (*end) {
    *begin = m->target;
    for (size_t i = 0; i < ms.n; i++) {
      const struct kr_marker *p = &ms.items[i];
      if (p->verb != KR_MARKER_OPTIMIZE && p->verb != KR_MARKER_OFF && p->target == m->target &&
          p->at.offset < *begin)
        *begin = p->at.offset;
    }
    while (*begin > 0 && now->data[*begin - 1] != '\n')
      --*begin;
  }
  kr_markers_release(&ms);
  kr_diags_release(&ignored);
  return *end > 0;
}

char *fresh_name(const struct kr_source *src, size_t offset)
{
  struct kr_lexer lx;
  struct kr_token last = {0}, name = {0};
  int depth = 0;
  kr_lexer_init(&lx, src->data + offset, src->len - offset);
  for (;;) {
    struct kr_token tok = kr_lexer_next_code(&lx);
    if (tok.kind == KR_TOK_END || (!depth && kr_token_is(lx.text, tok, "{")))
      break;
    if (kr_token_is(lx.text, tok, "(")) {
      if (!depth++ && last.kind == KR_TOK_IDENTIFIER)
        name = last;
    } else if (kr_token_is(lx.text, tok, ")")) {
      depth--;
    }
    last = tok;
  }
  return kr_xstrndup(lx.text + name.offset, name.length);
}

static bool names_kernel(const char *qualified, const char *name)
{
  size_t q = strlen(qualified), n = strlen(name);
  if (q < n || strcmp(qualified + q - n, name))
    return false;
  return q == n || (q > n + 1 && qualified[q - n - 1] == ':');
}

// Is the entry that of another kernel of the file? Namespaces and overloads share
// the name, which is all that is known of a kernel here.
static bool fresh_is_another(const struct input *in, const struct kr_marker *m,
                             const struct kr_ledger_entry *e)
{
  struct kr_hash h;
  for (size_t i = 0; i < in->markers.n; i++) {
    const struct kr_marker *o = &in->markers.items[i];
    if (o != m && o->verb == KR_MARKER_OPTIMIZE && !fresh_definition(in, o, &h) &&
        kr_hash_equal(h, e->current))
      return true;
  }
  return false;
}

// The entry of the kernel: by what it is now if one is so, else by its name.
static const struct kr_ledger_entry *fresh_find(const struct input *in, const struct kr_marker *m,
                                                const struct kr_ledger *l, const char *name,
                                                struct kr_hash current)
{
  const struct kr_ledger_entry *by_name = NULL;
  for (size_t i = 0; i < l->n; i++) {
    const struct kr_ledger_entry *e = &l->entries[i];
    if (strcmp(e->file, in->rel) || !names_kernel(e->kernel, name))
      continue;
    if (kr_hash_equal(e->current, current))
      return e;
    if (!by_name && !fresh_is_another(in, m, e))
      by_name = e;
  }
  return by_name;
}

static void fresh_set(struct fresh *out, enum freshness state, const char *why)
{
  out->state = state;
  snprintf(out->why, sizeof out->why, "%s", why);
}

// What a rewritten kernel's provenance says against what the ledger says.
static void fresh_provenance(const struct input *in, const struct kr_marker *m, struct fresh *out)
{
  struct kr_provenance p;
  struct kr_err err = {""};
  int rc = kr_provenance_find(&in->markers, m->target, &p, &err);
  bool rewritten = out->entry->outcome == KR_REWRITTEN;
  if (rc < 0)
    fresh_set(out, FRESH_STALE, err.text);
  else if (rc && rewritten)
    fresh_set(out, FRESH_STALE, "the ledger says it was rewritten but the provenance comment is gone");
  else if (!rc && !rewritten)
    fresh_set(out, FRESH_STALE, "a provenance comment stands above it that the ledger knows nothing of");
  else if (!rc && (!kr_provenance_same(p.from, out->entry->original) ||
                   !kr_provenance_same(p.body, out->entry->current) ||
                   !kr_provenance_same(p.marker, out->entry->marker)))
    fresh_set(out, FRESH_STALE, "provenance comment and ledger do not belong together");
}

static void fresh_deps(const struct input *in, struct kr_hash outside, struct fresh *out)
{
  const struct kr_ledger_entry *e = out->entry;
  for (size_t i = 0; i < e->n_deps; i++) {
    if (!strcmp(e->deps[i].file, in->rel)) {
      if (!kr_hash_equal(e->deps[i].tokens, outside))
        fresh_set(out, FRESH_UNSURE, "the file changed outside its kernels");
      continue;
    }
    struct kr_source dep;
    char *path = kr_xasprintf("%s/%s", in->root, e->deps[i].file);
    if (kr_source_read(&dep, path, NULL)) {
      out->state = FRESH_UNSURE;
      snprintf(out->why, sizeof out->why, "%s cannot be read any more", e->deps[i].file);
    } else {
      if (!kr_hash_equal(kr_lex_hash(dep.data, dep.len), e->deps[i].tokens)) {
        out->state = FRESH_UNSURE;
        snprintf(out->why, sizeof out->why, "%s changed", e->deps[i].file);
      }
      kr_source_release(&dep);
    }
    free(path);
  }
}

void fresh_check(const struct input *in, const struct kr_marker *m, const struct kr_ledger *l,
                 struct kr_hash outside, struct fresh *out)
{
  *out = (struct fresh){.state = FRESH_MISSING};
  struct kr_hash current;
  if (fresh_definition(in, m, &current)) {
    fresh_set(out, FRESH_STALE, "no definition stands below the marker");
    return;
  }
  char *name = fresh_name(&in->src, m->target);
  out->entry = fresh_find(in, m, l, name, current);
  free(name);
  if (!out->entry) {
    fresh_set(out, FRESH_MISSING, "no run with -i is recorded for it");
    return;
  }
  out->state = FRESH_OK;
  if (!kr_hash_equal(out->entry->current, current))
    fresh_set(out, FRESH_STALE,
              out->entry->outcome == KR_REWRITTEN ? "it was edited since it was rewritten"
                                                  : "it was edited since it was tried");
  else if (!kr_hash_equal(out->entry->marker, kr_marker_hash(m)))
    fresh_set(out, FRESH_STALE, "its marker changed");
  else
    fresh_provenance(in, m, out);
  if (out->state == FRESH_OK)
    fresh_deps(in, outside, out);
}

bool fresh_is_modelled(const struct kr_ledger_entry *e)
{
  return !strcmp(e->backend, "cpu");
}
