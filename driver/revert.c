// --revert: the way back. A rewrite's baseline holds, for every edit, the bytes
// that were there and the bytes that came; where those still stand they are
// taken back, however the file has changed elsewhere.

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "../evaluator/base/log.h"
#include "../evaluator/base/mem.h"
#include "exit.h"
#include "fresh.h"
#include "run.h"
#include "talk.h"

struct revert {
  const struct options *options;
  struct input *in;
  struct kr_ledger ledger;
  struct kr_source now; // the file with what was taken back so far
  size_t n_reverted, n_failed;
};

// Takes back one baseline in `r->now`.
static int revert_step(struct revert *r, const struct kr_bytes *blob, size_t number,
                       struct kr_err *err)
{
  int rc = -1;
  struct kr_bytes text;
  struct kr_edits edits = {0};
  size_t begin = 0, end = 0;
  kr_bytes_init(&text, KR_SOURCE_MAX);
  if (r->options->force && !fresh_span(&r->now, number, &begin, &end))
    begin = end = 0;
  if (kr_undo_edits_over(blob->data, blob->len, &r->now, begin, end, &edits, err) ||
      kr_edits_finish(&edits, err) || kr_edits_apply(&edits, &r->now, &text, err))
    goto out;
  kr_source_release(&r->now);
  kr_source_from_text(&r->now, r->in->src.path, text.data, text.len);
  rc = 0;
out:
  kr_edits_release(&edits);
  kr_bytes_release(&text);
  return rc;
}

// Takes one entry back in `r->now`, all the way to what stood there before the
// first rewrite, or not at all. Returns 0, or -1 with a sentence.
static int revert_entry(struct revert *r, const struct kr_ledger_entry *e, size_t number,
                        struct kr_err *err)
{
  int rc = 0;
  bool more = true;
  struct kr_hash baseline = e->baseline;
  struct kr_source before;
  kr_source_from_text(&before, r->in->src.path, r->now.data, r->now.len);
  while (!rc && more) {
    struct kr_bytes blob = {0}; // made by the load
    rc = kr_baseline_load(r->in->root, baseline, &blob, err);
    if (!rc)
      rc = revert_step(r, &blob, number, err);
    more = !rc && kr_undo_earlier(blob.data, blob.len, &baseline);
    kr_bytes_release(&blob);
  }
  kr_source_release(rc ? &r->now : &before);
  if (rc)
    r->now = before;
  return rc;
}

// A kernel that was put back, by the names the ledger knows it by.
struct taken {
  char *kernel, *signature;
};

static void revert_marker(struct revert *r, const struct kr_marker *m, struct kr_hash outside,
                          struct taken **taken, size_t *n_taken)
{
  struct fresh f;
  struct kr_err err = {""};
  unsigned line, col;
  fresh_check(r->in, m, &r->ledger, outside, &f);
  if (!f.entry || f.entry->outcome != KR_REWRITTEN ||
      (r->options->kernel && fnmatch(r->options->kernel, f.entry->kernel, 0)))
    return;
  kr_source_place(&r->in->src, m->target, &line, &col);
  struct kr_hash current;
  bool edited = fresh_definition(r->in, m, &current) || !kr_hash_equal(current, f.entry->current);
  if (edited && !r->options->force) {
    kr_error("%s:%u:%u: %s was edited since it was rewritten; --force puts the original back all the "
             "same, and loses the edit",
             r->in->src.path, line, col, f.entry->kernel);
    r->n_failed++;
    return;
  }
  if (revert_entry(r, f.entry, input_number(r->in, m), &err)) {
    kr_error("%s:%u:%u: %s cannot be put back: %s%s", r->in->src.path, line, col, f.entry->kernel,
             err.text, r->options->force ? "" : "; --force replaces the kernel whatever it holds");
    r->n_failed++;
    return;
  }
  *taken = kr_xreallocarray(*taken, *n_taken + 1, sizeof **taken);
  (*taken)[(*n_taken)++] =
      (struct taken){kr_xstrdup(f.entry->kernel), kr_xstrdup(f.entry->signature)};
}

// The ledger without the kernels that were put back, and the own-file
// fingerprint of the others brought up to date.
static void revert_ledger(struct revert *r, const struct input *after)
{
  struct kr_hash outside = fresh_outside(after);
  for (size_t i = 0; i < r->ledger.n; i++) {
    struct kr_ledger_entry *e = &r->ledger.entries[i];
    for (size_t d = 0; !strcmp(e->file, r->in->rel) && d < e->n_deps; d++)
      if (!strcmp(e->deps[d].file, r->in->rel))
        e->deps[d].tokens = outside;
  }
}

static void revert_input(struct revert *r)
{
  struct kr_err err = {""};
  struct taken *taken = NULL;
  size_t n_taken = 0;
  if (kr_ledger_load(&r->ledger, r->in->root, &err)) {
    kr_error("%s", err.text);
    r->n_failed++;
    return;
  }
  struct kr_hash outside = fresh_outside(r->in);
  kr_source_from_text(&r->now, r->in->src.path, r->in->src.data, r->in->src.len);
  for (size_t i = 0; i < r->in->markers.n; i++)
    if (r->in->markers.items[i].verb == KR_MARKER_OPTIMIZE &&
        r->in->markers.items[i].target != SIZE_MAX)
      revert_marker(r, &r->in->markers.items[i], outside, &taken, &n_taken);
  if (n_taken) {
    struct input after = {.src = r->now, .rel = r->in->rel, .root = r->in->root};
    struct kr_diags ignored = {0};
    kr_markers_scan(&r->now, &after.markers, &ignored);
    if (kr_replace(&r->in->src, r->now.data, r->now.len, &err) < 0) {
      kr_error("%s", err.text);
      r->n_failed++;
    } else {
      r->n_reverted += n_taken;
      for (size_t i = 0; i < n_taken; i++) {
        kr_ledger_remove(&r->ledger, r->in->rel, taken[i].kernel, taken[i].signature);
        struct kr_bytes b;
        kr_bytes_init(&b, 1 << 16);
        kr_bytes_addf(&b, "%s: %s: reverted\n", r->in->src.path, taken[i].kernel);
        if (r->options->format == FORMAT_TEXT)
          talk_out(b.data, b.len);
        kr_bytes_release(&b);
      }
      revert_ledger(r, &after);
      if (kr_ledger_save(&r->ledger, &err)) {
        kr_error("%s", err.text);
        r->n_failed++;
      }
    }
    kr_markers_release(&after.markers);
    kr_diags_release(&ignored);
  }
  for (size_t i = 0; i < n_taken; i++) {
    free(taken[i].kernel);
    free(taken[i].signature);
  }
  free(taken);
  kr_source_release(&r->now);
  kr_ledger_release(&r->ledger);
}

int run_revert(struct project *p, const struct options *o)
{
  size_t reverted = 0, failed = p->n_failed;
  for (size_t i = 0; i < p->n; i++) {
    struct revert r = {.options = o, .in = &p->inputs[i]};
    talk_diags(&p->inputs[i].diags, &p->inputs[i].src);
    revert_input(&r);
    reverted += r.n_reverted;
    failed += r.n_failed;
  }
  if (!reverted && !failed)
    talk_say("nothing to revert");
  return failed ? EXIT_PARTIAL : EXIT_DONE;
}
