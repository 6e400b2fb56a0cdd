#include "report.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "redact.h"
#include "report_internal.h"
#include "table.h"
#include "talk.h"
#include "../evaluator/base/mem.h"

extern const char report_css[]; // made of report.css

// Longer texts are cut: a report is to be read. --format=json has them whole.
enum { CODE_AT_MOST = 64 << 10, LOG_AT_MOST = 16 << 10, DIFF_AT_MOST = 1 << 20, SUMMARY_LOG = 160 };

// --- text ---

void html_text(struct kr_bytes *out, const char *text, size_t len, bool lines)
{
  struct kr_bytes plain;
  kr_bytes_init(&plain, SIZE_MAX / 2);
  for (size_t i = 0; i < len;) {
    size_t n = 0;
    // The CR of a CRLF is a line's end, no control.
    while (i + n < len && !(lines && text[i + n] == '\r' && i + n + 1 < len && text[i + n + 1] == '\n'))
      n++;
    talk_escape(&plain, text + i, n, lines);
    i += n + (i + n < len);
  }
  for (size_t i = 0; i < plain.len; i++) {
    switch (plain.data[i]) {
    case '&':
      kr_bytes_adds(out, "&amp;");
      break;
    case '<':
      kr_bytes_adds(out, "&lt;");
      break;
    case '>':
      kr_bytes_adds(out, "&gt;");
      break;
    case '"':
      kr_bytes_adds(out, "&quot;");
      break;
    case '\'':
      kr_bytes_adds(out, "&#39;");
      break;
    default:
      kr_bytes_addc(out, plain.data[i]);
    }
  }
  kr_bytes_release(&plain);
}

void html_string(struct kr_bytes *out, const char *text)
{
  html_text(out, text, strlen(text), false);
}

// A text of many lines, cut where it is too long.
static void pre(struct kr_bytes *b, const char *text, size_t most)
{
  size_t len = strlen(text), end = len;
  if (len > most) {
    end = most;
    while (end && text[end - 1] != '\n')
      end--;
    end = end ? end : most;
  }
  kr_bytes_adds(b, "<pre>");
  html_text(b, text, end, true);
  kr_bytes_adds(b, end < len ? "\n(cut here; --format=json has all of it)</pre>" : "</pre>");
}

// --- which figures ---

size_t report_shown(const struct outcome *out)
{
  size_t best = SIZE_MAX;
  if (!out->have_refined)
    return SIZE_MAX;
  if (out->winner != SIZE_MAX)
    return out->winner;
  for (size_t i = 0; i < out->refined.n; i++) {
    const struct kr_verdict *v = &out->refined.turns[i].verdict;
    if (v->status == KR_STATUS_OK && v->n_times &&
        (best == SIZE_MAX || v->speedup > out->refined.turns[best].verdict.speedup))
      best = i;
  }
  return best;
}

const struct kr_verdict *report_verdict(const struct outcome *out, size_t shown)
{
  return out->winner == shown && out->decided.n_times ? &out->decided
                                                      : &out->refined.turns[shown].verdict;
}

// --- one kernel ---

static void figure_of(const struct outcome *out, struct kr_bytes *b)
{
  const struct kr_verdict *v = &out->decided;
  if (out->winner == SIZE_MAX || !(v->speedup > 0))
    return;
  kr_bytes_addf(b, "<p class=\"big\"><strong>%.2fx</strong> <span>[%.2f, %.2f] %s</span></p>\n",
                v->speedup, v->lo, v->hi, v->modelled ? "modelled, not measured" : "measured");
}

// The cell of what a variant came to: its status, why, and what there is to note.
static void cell_outcome(const struct refine_turn *turns, size_t i, struct kr_bytes *b)
{
  const struct refine_turn *t = &turns[i];
  const struct kr_verdict *v = &t->verdict;
  const char *why = v->log ? v->log : t->told && v->status != KR_STATUS_OK ? t->told : NULL;
  bool whole = false;
  kr_bytes_addf(b, "<td data-label=\"outcome\"><span class=\"status %s\">%s</span>",
                v->status == KR_STATUS_OK          ? "ok"
                : v->status == KR_STATUS_UNCHANGED ? "same"
                                                   : "bad",
                kr_status_name(v->status));
  if (t->same_as != SIZE_MAX)
    kr_bytes_addf(b, "<br>the same as %u.%u", turns[t->same_as].trajectory, turns[t->same_as].turn);
  if (why && *why) {
    size_t len = strcspn(why, "\n"), all = strlen(why);
    size_t cut = len > SUMMARY_LOG ? SUMMARY_LOG : len;
    while (cut && ((unsigned char)why[cut] & 0xc0) == 0x80)
      cut--;
    kr_bytes_adds(b, "<br>");
    html_text(b, why, cut, false);
    if (cut < all && why[cut + strspn(why + cut, " \t\r\n")]) {
      whole = true; // a block of its own: what follows begins a line
      kr_bytes_adds(b, "&#8230;<details><summary>all of it</summary>");
      pre(b, why, LOG_AT_MOST);
      kr_bytes_adds(b, "</details>");
    }
  }
  if (v->note) {
    kr_bytes_adds(b, whole ? "(" : "<br>(");
    html_string(b, v->note);
    kr_bytes_adds(b, ")");
  }
  kr_bytes_adds(b, "</td>\n");
}

static void cell_times(const struct kr_verdict *v, struct kr_bytes *b)
{
  kr_bytes_adds(b, "<td data-label=\"time\">");
  for (size_t i = 0; i < v->n_times; i++) {
    kr_bytes_addf(b, "%s%.1f &#8594; %.1f µs", i ? "<br>" : "", v->times[i].base_us, v->times[i].cand_us);
    if (v->n_times > 1) {
      kr_bytes_adds(b, " at ");
      html_string(b, v->times[i].label ? v->times[i].label : "");
    }
  }
  kr_bytes_adds(b, v->n_times ? "</td>" : "&#8211;</td>");
}

static void ratio(const char *how, const struct kr_verdict *v, struct kr_bytes *b)
{
  struct kr_bytes text;
  kr_bytes_init(&text, 1024);
  table_ratio(v, &text);
  kr_bytes_addf(b, "%s <span class=\"whole\">", how);
  html_string(b, text.data);
  kr_bytes_adds(b, "</span>");
  if (v->modelled && !v->model_validated)
    kr_bytes_adds(b, " (unvalidated)");
  kr_bytes_release(&text);
}

static void cell_speedup(const struct outcome *out, size_t i, struct kr_bytes *b)
{
  const struct kr_verdict *v = &out->refined.turns[i].verdict;
  kr_bytes_adds(b, "<td data-label=\"speed-up\">");
  if (v->status == KR_STATUS_OK && v->speedup > 0)
    ratio(v->modelled ? "modelled" : "measured", v, b);
  else
    kr_bytes_adds(b, v->status == KR_STATUS_OK ? "correct, not timed" : "&#8211;");
  if (i == out->winner && out->decided.speedup > 0) {
    kr_bytes_adds(b, "<br><strong>");
    ratio(out->decided.modelled ? "checked again, modelled" : "confirmed, measured", &out->decided, b);
    kr_bytes_adds(b, "</strong>");
  }
  kr_bytes_adds(b, "</td>\n");
}

static void cell_summary(const struct variant *variant, struct kr_bytes *b)
{
  const struct kr_candidate *c = &variant->candidate;
  kr_bytes_adds(b, "<td data-label=\"summary\">");
  html_string(b, variant->summary && *variant->summary ? variant->summary : "");
  if (c->code) {
    kr_bytes_adds(b, "<details><summary>code</summary>");
    if (c->has_geometry) {
      struct kr_bytes launch;
      kr_bytes_init(&launch, 1 << 20);
      variant_geometry(&c->geometry, &launch);
      kr_bytes_adds(b, "<p>launch: <code>");
      html_string(b, launch.data);
      kr_bytes_adds(b, "</code></p>");
      kr_bytes_release(&launch);
    }
    pre(b, c->code, CODE_AT_MOST);
    kr_bytes_adds(b, "</details>");
  }
  kr_bytes_adds(b, "</td></tr>\n");
}

static void variants(const struct outcome *out, struct kr_bytes *b)
{
  static const char *const heads[] = {"turn", "stage", "outcome", "time", "speed-up", "summary"};
  const struct refine_result *res = &out->refined;
  if (!out->have_refined || !res->n)
    return;
  kr_bytes_addf(b, "<h3>All variants</h3>\n<p>Turn is trajectory.turn; %s. Time is the original&#39;s "
                   "&#8594; the variant&#39;s.</p>\n<table class=\"variants\"><thead><tr>",
                out->winner == SIZE_MAX ? "none was taken" : "&#9733; was taken");
  for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
    kr_bytes_addf(b, "<th scope=\"col\">%s</th>", heads[i]);
  kr_bytes_adds(b, "</tr></thead><tbody>\n");
  for (size_t i = 0; i < res->n; i++) {
    const struct refine_turn *t = &res->turns[i];
    kr_bytes_addf(b, "<tr%s><td data-label=\"turn\">%u.%u%s", i == out->winner ? " class=\"winner\"" : "",
                  t->trajectory, t->turn, i == out->winner ? " &#9733;" : "");
    if (t->parent < i && res->turns[t->parent].trajectory != t->trajectory)
      kr_bytes_addf(b, "<br>after %u.%u", res->turns[t->parent].trajectory, res->turns[t->parent].turn);
    kr_bytes_addf(b, "</td><td data-label=\"stage\">%s</td>\n", kr_stage_name(t->verdict.stage));
    cell_outcome(res->turns, i, b);
    cell_times(&t->verdict, b);
    cell_speedup(out, i, b);
    cell_summary(&t->variant, b);
  }
  kr_bytes_adds(b, "</tbody></table>\n");
}

// A unified diff, a class a line.
static void diff_lines(const char *text, size_t len, struct kr_bytes *b)
{
  bool body = false; // below the names of the files
  kr_bytes_adds(b, "<pre class=\"diff\">");
  for (size_t i = 0, n; i < len; i += n) {
    const char *end = memchr(text + i, '\n', len - i);
    n = end ? (size_t)(end - (text + i)) + 1 : len - i;
    char c = text[i];
    body |= c == '@';
    kr_bytes_addf(b, "<span class=\"%s\">", !body || c == '@' ? "at" : c == '+' ? "add" : c == '-' ? "del" : "as");
    html_text(b, text + i, n, true);
    kr_bytes_adds(b, "</span>");
  }
  kr_bytes_adds(b, "</pre>\n");
}

static void changes(const struct outcome *out, struct kr_bytes *b)
{
  struct kr_bytes diff;
  struct kr_err err = {""};
  if (out->winner == SIZE_MAX || !out->have_refined)
    return;
  kr_bytes_init(&diff, KR_BYTES_DEFAULT_MAX);
  kr_bytes_adds(b, "<h3>What the winner changes</h3>\n");
  if (outcome_diff(out, &diff, &err)) {
    kr_bytes_adds(b, "<p>");
    html_string(b, err.text);
    kr_bytes_adds(b, "</p>\n");
  } else if (diff.len > DIFF_AT_MOST) {
    kr_bytes_addf(b, "<p>The diff has %zu bytes, too many to show here.</p>\n", diff.len);
  } else {
    diff_lines(diff.data, diff.len, b);
  }
  kr_bytes_release(&diff);
}

static void kernel_facts(const struct outcome *out, struct kr_bytes *b)
{
  const struct refine_result *res = &out->refined;
  kr_bytes_adds(b, "<dl>");
  kr_bytes_adds(b, "<dt>signature</dt><dd><code>");
  html_string(b, out->task->kernel->signature ? out->task->kernel->signature : "");
  kr_bytes_adds(b, "</code></dd>\n");
  if (out->backend) {
    char *gpu = outcome_gpu(out);
    kr_bytes_addf(b, "<dt>judged by</dt><dd>%s, ", out->backend);
    html_string(b, gpu);
    kr_bytes_adds(b, "</dd>\n");
    free(gpu);
  }
  if (out->model) {
    kr_bytes_adds(b, "<dt>asked</dt><dd>");
    html_string(b, out->model);
    kr_bytes_addf(b, "; %u call%s", res->calls, res->calls == 1 ? "" : "s");
    if (res->tokens_in || res->tokens_out)
      kr_bytes_addf(b, ", %llu tokens in, %llu out", (unsigned long long)res->tokens_in,
                    (unsigned long long)res->tokens_out);
    kr_bytes_adds(b, "</dd>\n");
  }
  if (out->have_refined && res->end != REFINE_DONE && res->why) {
    kr_bytes_adds(b, "<dt>ended early</dt><dd>");
    html_string(b, res->why);
    kr_bytes_adds(b, "</dd>\n");
  }
  if (out->have_reference && out->reference.require_hint) {
    kr_bytes_adds(b, "<dt>note</dt><dd>");
    html_string(b, out->reference.require_hint);
    kr_bytes_adds(b, "</dd>\n");
  }
  kr_bytes_adds(b, "</dl>\n");
}

static void kernel(const struct report *r, size_t i, struct kr_bytes *b)
{
  const struct outcome *out = &r->outcomes[i];
  const struct task *t = out->task;
  struct kr_bytes sentence;
  kr_bytes_init(&sentence, 1 << 20);
  kr_bytes_addf(b, "<section id=\"k%zu\"><h2>", i);
  html_string(b, t->kernel ? t->kernel->qualified : "a marker above no kernel");
  kr_bytes_adds(b, " <small>");
  html_string(b, t->in->src.path);
  if (t->kernel)
    kr_bytes_addf(b, ":%u", t->kernel->line);
  kr_bytes_adds(b, "</small></h2>\n");
  if (t->kernel)
    outcome_sentence(out, r->written, &sentence);
  else
    kr_bytes_addf(&sentence, "refused: %s", out->why ? out->why : "");
  kr_bytes_addf(b, "<p class=\"outcome %s\">", outcome_word(out)[0] == 'n' ? "open" : outcome_word(out));
  html_text(b, sentence.data, sentence.len, false);
  kr_bytes_adds(b, "</p>\n");
  kr_bytes_release(&sentence);
  if (t->kernel) {
    figure_of(out, b);
    kernel_facts(out, b);
    report_chart(out, b);
    variants(out, b);
    report_figures(out, b);
    changes(out, b);
  }
  kr_bytes_adds(b, "</section>\n");
}

// --- all of it ---

static void overview(const struct report *r, struct kr_bytes *b)
{
  kr_bytes_adds(b, "<table class=\"overview\"><thead><tr><th scope=\"col\">kernel</th>"
                   "<th scope=\"col\">outcome</th><th scope=\"col\">speed-up</th></tr></thead><tbody>\n");
  for (size_t i = 0; i < r->n; i++) {
    const struct outcome *out = &r->outcomes[i];
    kr_bytes_addf(b, "<tr><td><a href=\"#k%zu\">", i);
    html_string(b, out->task->kernel ? out->task->kernel->qualified : "no kernel");
    kr_bytes_adds(b, "</a><br><small>");
    html_string(b, out->task->in->src.path);
    kr_bytes_addf(b, "</small></td><td>%s</td><td>",
                  out->state == OUTCOME_REWRITTEN && !r->written ? "verified" : outcome_word(out));
    if (out->winner != SIZE_MAX && out->decided.speedup > 0)
      ratio(out->decided.modelled ? "modelled" : "measured", &out->decided, b);
    else
      kr_bytes_adds(b, "&#8211;");
    kr_bytes_adds(b, "</td></tr>\n");
  }
  kr_bytes_adds(b, "</tbody></table>\n");
}

void report_html(const struct report *r, struct kr_bytes *out)
{
  // The policy is a second lock: nothing here loads or runs anything.
  kr_bytes_adds(out, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
                     "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src &#39;none&#39;; "
                     "style-src &#39;unsafe-inline&#39;\">\n"
                     "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                     "<meta name=\"color-scheme\" content=\"light dark\">\n"
                     "<title>kevin-rewrite: report</title>\n<style>\n");
  kr_bytes_adds(out, report_css);
  kr_bytes_adds(out, "</style></head>\n<body><main>\n<header><h1>kevin-rewrite</h1>\n");
  kr_bytes_addf(out, "<p>%zu kernel%s; spent: %s; %s. kevin-rewrite %s.</p>\n", r->n,
                r->n == 1 ? "" : "s", r->spent,
                r->written ? "what was proved is written" : "nothing was written", KR_VERSION);
  if (r->interrupted)
    kr_bytes_adds(out, "<p class=\"warn\">This run was interrupted: what follows is what there was by "
                       "then.</p>\n");
  if (r->n_unread)
    kr_bytes_addf(out, "<p class=\"warn\">%zu file%s could not be taken; the run said why.</p>\n",
                  r->n_unread, r->n_unread == 1 ? "" : "s");
  if (r->n != 1)
    overview(r, out);
  kr_bytes_adds(out, "</header>\n");
  for (size_t i = 0; i < r->n; i++)
    kernel(r, i, out);
  kr_bytes_adds(out,
                "<footer><p>Measured times come from a GPU&#39;s clock, and those that were confirmed hold "
                "over fresh processes. Modelled ones come from what a launch was counted to do and a model "
                "of a GPU; their interval says how far such ratios were seen to be off.</p></footer>\n"
                "</main></body></html>\n");
}

int report_check(const char *path, struct kr_err *err)
{
  struct stat st;
  if (!*path)
    return kr_err_set(err, "--report names no file");
  if (!stat(path, &st))
    return S_ISREG(st.st_mode) ? 0 : kr_err_set(err, "cannot write %s: it is no regular file", path);
  if (errno != ENOENT)
    return kr_err_errno(err, "cannot write %s", path);
  const char *slash = strrchr(path, '/');
  char *folder = slash ? kr_xasprintf("%.*s", slash == path ? 1 : (int)(slash - path), path)
                       : kr_xstrdup(".");
  int rc = 0;
  if (stat(folder, &st) || access(folder, W_OK))
    rc = kr_err_errno(err, "cannot write %s", path);
  else if (slash && !slash[1])
    rc = kr_err_set(err, "cannot write %s: it names a folder", path);
  free(folder);
  return rc;
}

int report_write(const struct report *r, const char *path, struct kr_err *err)
{
  struct kr_bytes b;
  kr_bytes_init(&b, SIZE_MAX / 2);
  report_html(r, &b);
  redact_bytes(&b);
  int rc = kr_replace_path(path, b.data, b.len, 0644, err);
  if (rc < 0 && err && !strstr(err->text, path))
    kr_err_prefix(err, "cannot write %s", path);
  kr_bytes_release(&b);
  return rc < 0 ? -1 : 0;
}
