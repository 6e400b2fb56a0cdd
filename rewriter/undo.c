// Taking a rewrite back. The blob that lies in `.kevin/baselines/` is a header
// line and, for every edit, its old and its new bytes raw, each with a few
// unchanged bytes on both sides so that a short launch configuration can be
// found again:
//
//   kevin-baseline 1\n
//   COUNT ORDINAL LEFT OLD NEW RIGHT\n LEFT-BYTES OLD-BYTES NEW-BYTES RIGHT-BYTES \n
//
// (no blanks between the four byte strings). LEFT + NEW + RIGHT occurred COUNT
// times in the file as written, and this is number ORDINAL. Found again in the
// same number, the same one is meant, wherever the lines have moved to. Where a
// rewrite was rewritten, `earlier HASH\n` at the end names the baseline by which
// the way back goes on.

#include "rewriter.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../evaluator/base/mem.h"

enum { UNDO_CONTEXT = 48 };

static const char undo_head[] = "kevin-baseline 1\n";
static const char undo_earlier[] = "earlier ";

static size_t count_before(const char *text, size_t len, const char *needle, size_t n, size_t at,
                           size_t *ordinal)
{
  size_t count = 0;
  *ordinal = SIZE_MAX;
  for (const char *p = text; n && (p = memmem(p, len - (size_t)(p - text), needle, n)); p++) {
    if ((size_t)(p - text) == at)
      *ordinal = count;
    count++;
  }
  return count;
}

// How far context may reach on one side: `want` bytes, not into another edit,
// and not off its line while `line` is set.
static size_t context_left(const char *text, size_t at, size_t limit, size_t want, bool line)
{
  size_t n = 0;
  while (n < want && at - n > limit && !(line && strchr("\r\n", text[at - n - 1])))
    n++;
  return n;
}

static size_t context_right(const char *text, size_t at, size_t limit, size_t want, bool line)
{
  size_t n = 0;
  while (n < want && at + n < limit && !(line && strchr("\r\n", text[at + n])))
    n++;
  return n;
}

// Is `e` among `edits`?
static bool is_among(const struct kr_edits *edits, const struct kr_edit *e)
{
  for (size_t i = 0; i < edits->n; i++) {
    const struct kr_edit *o = &edits->items[i];
    if (o->offset == e->offset && o->length == e->length && !strcmp(o->text, e->text))
      return true;
  }
  return false;
}

static size_t written_length(const struct kr_edit *e, const struct kr_source *src)
{
  size_t n = 0, newline = e->raw ? 1 : strlen(kr_source_newline_at(src, e->offset));
  for (const char *p = e->text; *p; p++)
    n += *p == '\n' ? newline : 1;
  return n;
}

int kr_undo_make_among(const struct kr_edits *edits, const struct kr_edits *all,
                       const struct kr_source *src, struct kr_bytes *out, struct kr_err *err)
{
  struct kr_bytes now;
  kr_bytes_init(&now, KR_SOURCE_MAX);
  if (kr_edits_apply(all, src, &now, err)) {
    kr_bytes_release(&now);
    return -1;
  }
  kr_bytes_adds(out, undo_head);
  size_t old_at = 0, new_at = 0;
  for (size_t i = 0; i < all->n;) {
    const struct kr_edit *e = &all->items[i];
    bool ours = is_among(edits, e);
    size_t begin = e->offset, end = begin + e->length, new_len = written_length(e, src), j = i + 1;
    // Edits that touch are one: an insertion has no bytes by which to find it.
    for (; j < all->n && all->items[j].offset <= end + 8 && is_among(edits, &all->items[j]) == ours; j++) {
      e = &all->items[j];
      new_len += e->offset - end + written_length(e, src);
      end = e->offset + e->length;
    }
    new_at += begin - old_at;
    size_t next_old = j < all->n ? all->items[j].offset : src->len;
    // Little context, so that edits nearby do no harm; more where it is not enough.
    size_t left = 0, right = 0, ordinal = 0, count = 0;
    for (size_t want = UNDO_CONTEXT; ours && want <= 16 * UNDO_CONTEXT && count != 1; want *= 2) {
      bool line = want == UNDO_CONTEXT;
      left = context_left(src->data, begin, old_at, want, line);
      right = context_right(src->data, end, next_old, want, line);
      count = count_before(now.data, now.len, now.data + new_at - left, left + new_len + right,
                           new_at - left, &ordinal);
    }
    if (ours) {
      size_t old_len = end - begin;
      kr_bytes_addf(out, "%zu %zu %zu %zu %zu %zu\n", count, ordinal, left, old_len, new_len, right);
      kr_bytes_add(out, src->data + begin - left, left);
      kr_bytes_add(out, src->data + begin, old_len);
      kr_bytes_add(out, now.data + new_at, new_len);
      kr_bytes_add(out, src->data + end, right);
      kr_bytes_addc(out, '\n');
    }
    old_at = end;
    new_at += new_len;
    i = j;
  }
  kr_bytes_release(&now);
  return out->toobig ? kr_err_set(err, "%s: its baseline is too large", src->path) : 0;
}

int kr_undo_make(const struct kr_edits *edits, const struct kr_source *src, struct kr_bytes *out,
                 struct kr_err *err)
{
  return kr_undo_make_among(edits, edits, src, out, err);
}

void kr_undo_add_earlier(struct kr_bytes *blob, struct kr_hash earlier)
{
  char hex[KR_HASH_HEX + 1];
  kr_hash_hex(earlier, hex);
  kr_bytes_addf(blob, "%s%s\n", undo_earlier, hex);
}

bool kr_undo_earlier(const void *blob, size_t len, struct kr_hash *out)
{
  char hex[KR_HASH_HEX + 1];
  size_t n = strlen(undo_earlier) + sizeof hex; // the newline in place of the NUL
  const char *last = (const char *)blob + len - n;
  if (len < n || memcmp(last, undo_earlier, strlen(undo_earlier)) || last[n - 1] != '\n')
    return false;
  memcpy(hex, last + strlen(undo_earlier), sizeof hex - 1);
  hex[sizeof hex - 1] = '\0';
  return !kr_hash_parse(hex, out);
}

int kr_undo_edits(const void *blob, size_t len, const struct kr_source *now, struct kr_edits *out,
                  struct kr_err *err)
{
  return kr_undo_edits_over(blob, len, now, 0, 0, out, err);
}

// Are the bytes that were written those that the provenance begins?
static bool holds_provenance(const char *text, size_t len)
{
  static const char word[] = "kevin: from ";
  return memmem(text, len, word, sizeof word - 1) != NULL;
}

int kr_undo_edits_over(const void *blob, size_t len, const struct kr_source *now, size_t begin,
                       size_t end_of, struct kr_edits *out, struct kr_err *err)
{
  const char *p = blob, *end = p + len;
  size_t head = strlen(undo_head);
  if (len < head || memcmp(p, undo_head, head))
    return kr_err_set(err, "the baseline of %s is not one that this version can read", now->path);
  p += head;
  while (p < end && memcmp(p, undo_earlier, (size_t)(end - p) < 8 ? (size_t)(end - p) : 8)) {
    size_t count, ordinal, n[4], total = 0;
    const char *nl = memchr(p, '\n', (size_t)(end - p));
    char line[160];
    if (!nl || (size_t)(nl - p) >= sizeof line)
      return kr_err_set(err, "the baseline of %s is broken", now->path);
    memcpy(line, p, (size_t)(nl - p));
    line[nl - p] = '\0';
    if (sscanf(line, "%zu %zu %zu %zu %zu %zu", &count, &ordinal, &n[0], &n[1], &n[2], &n[3]) != 6)
      return kr_err_set(err, "the baseline of %s is broken", now->path);
    p = nl + 1;
    for (int i = 0; i < 4; i++) {
      if (n[i] > (size_t)(end - p) - total)
        return kr_err_set(err, "the baseline of %s is broken", now->path);
      total += n[i];
    }
    if (total >= (size_t)(end - p) || p[total] != '\n')
      return kr_err_set(err, "the baseline of %s is broken", now->path);
    const char *left = p, *old = left + n[0], *new = old + n[1], *right = new + n[2];
    size_t needle_len = n[0] + n[2] + n[3];
    char *needle = kr_xmalloc(needle_len + 1);
    memcpy(needle, left, n[0]);
    memcpy(needle + n[0], new, n[2]);
    memcpy(needle + n[0] + n[2], right, n[3]);
    size_t seen = 0, at = SIZE_MAX;
    for (const char *q = now->data;
         needle_len && (q = memmem(q, now->len - (size_t)(q - now->data), needle, needle_len));
         q++) {
      if (seen++ == ordinal)
        at = (size_t)(q - now->data);
    }
    free(needle);
    bool found = seen == count && at != SIZE_MAX;
    if (!found && begin < end_of && holds_provenance(new, n[2])) {
      at = begin - n[0];
      n[2] = end_of - begin;
    } else if (!found) {
      kr_err_set(err,
                 "%s: what was written was edited since, or stands there more than once (found %zu "
                 "times, written %zu)",
                 now->path, seen, count);
      return 1;
    }
    char *text = kr_xstrndup(old, n[1]);
    kr_edits_add(out, at + n[0], n[2], text);
    out->items[out->n - 1].raw = true;
    free(text);
    p = right + n[3] + 1;
  }
  return 0;
}
