#include "report_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "feedback.h"
#include "../evaluator/base/mem.h"

// A row of two cells; either may be NULL: not known.
static void row(struct kr_bytes *b, const char *name, const char *x, const char *y)
{
  kr_bytes_adds(b, "<tr><th scope=\"row\">");
  html_string(b, name);
  kr_bytes_adds(b, "</th><td>");
  html_string(b, x ? x : "not known");
  kr_bytes_adds(b, "</td><td>");
  html_string(b, y ? y : "not known");
  kr_bytes_adds(b, "</td></tr>\n");
}

static void row_formatted(struct kr_bytes *b, const char *name, const char *format, double x, double y)
{
  char s[64], t[64];
  snprintf(s, sizeof s, format, x);
  snprintf(t, sizeof t, format, y);
  row(b, name, s, t);
}

// Of resources: negative ones are not known, and a row of two of those is none.
static void row_count(struct kr_bytes *b, const char *name, int x, int y)
{
  char s[32], t[32];
  snprintf(s, sizeof s, "%d", x);
  snprintf(t, sizeof t, "%d", y);
  if (x >= 0 || y >= 0)
    row(b, name, x >= 0 ? s : NULL, y >= 0 ? t : NULL);
}

static void row_share(struct kr_bytes *b, const char *name, double x, double y)
{
  char s[32], t[32];
  snprintf(s, sizeof s, "%.0f %%", 100 * x);
  snprintf(t, sizeof t, "%.0f %%", 100 * y);
  if (x > 0 || y > 0)
    row(b, name, x > 0 ? s : NULL, y > 0 ? t : NULL);
}

static void rows_resources(struct kr_bytes *b, const struct outcome *out, const struct kr_verdict *v)
{
  const struct kr_resources *x = &v->base_resources, *y = &v->resources;
  const struct kr_case_time *t = v->n_times ? v->times : NULL;
  if (x->registers < 0 && out->have_reference)
    x = &out->reference.resources;
  // The emulator has no register file: what it says of them was compiled for the GPU.
  row_count(b, "Registers a thread", x->registers > 0 ? x->registers : -1,
            y->registers > 0 ? y->registers : -1);
  row_count(b, "Static shared memory a block, bytes", x->shared_bytes, y->shared_bytes);
  if (t && t->base_model && t->cand_model)
    row_count(b, "Dynamic shared memory a block, bytes",
              (int)t->base_model->counters.dynamic_shared_bytes,
              (int)t->cand_model->counters.dynamic_shared_bytes);
  row_count(b, "Local memory a thread (spills), bytes", x->local_bytes, y->local_bytes);
  row_count(b, "Constant memory, bytes", x->const_bytes, y->const_bytes);
  if (t && t->base_model && t->cand_model)
    row_share(b, "Occupancy (modelled)", t->base_model->modelled.occupancy,
              t->cand_model->modelled.occupancy);
  else
    row_share(b, "Occupancy", x->occupancy, y->occupancy);
}

// What share of the memory's bandwidth is reached: of what was measured.
static void rows_bandwidth(struct kr_bytes *b, const struct outcome *out, const struct kr_verdict *v)
{
  const struct kr_reference *ref = out->have_reference ? &out->reference : NULL;
  if (v->modelled || !ref || !ref->case_bytes || ref->n_cases != v->n_times)
    return;
  for (size_t i = 0; i < v->n_times; i++) {
    const struct kr_case_time *t = &v->times[i];
    char *name = kr_xasprintf("GB/s, each buffer counted once, %s", t->label ? t->label : "");
    if (t->base_us > 0 && t->cand_us > 0)
      row_formatted(b, name, "%.0f", ref->case_bytes[i] / t->base_us / 1e3,
                    ref->case_bytes[i] / t->cand_us / 1e3);
    free(name);
  }
  struct kr_verdict base = *v;
  base.times = kr_xcalloc(v->n_times, sizeof *base.times);
  for (size_t i = 0; i < v->n_times; i++)
    base.times[i].cand_us = v->times[i].base_us;
  row_share(b, "Share of the peak memory bandwidth", feedback_roofline(&base, ref, &ref->device),
            feedback_roofline(v, ref, &ref->device));
  free(base.times);
}

static void term_bar(struct kr_bytes *b, double us, double most, bool bound)
{
  kr_bytes_addf(b, "<td><svg class=\"bar\" viewBox=\"0 0 100 8\" preserveAspectRatio=\"none\" "
                   "aria-hidden=\"true\"><rect class=\"%s\" width=\"%.1f\" height=\"8\"/></svg>%.2f%s</td>",
                bound ? "bound" : "free", most > 0 ? 100 * us / most : 0, us, bound ? " (bound)" : "");
}

// The roofline of one case: what each part of the GPU would take alone.
static void terms(struct kr_bytes *b, const struct kr_case_time *t, const char *whose)
{
  const struct kr_modelled *x = &t->base_model->modelled, *y = &t->cand_model->modelled;
  double most = 0;
  for (int i = 0; i < KR_N_TERMS; i++)
    most = fmax(most, fmax(x->term_us[i], y->term_us[i]));
  kr_bytes_adds(b, "<table class=\"figures\"><caption>What bounds it, ");
  html_string(b, t->label ? t->label : "");
  kr_bytes_addf(b, ": microseconds each part would take alone (modelled)</caption>\n<thead><tr><td></td>"
                   "<th scope=\"col\">original</th><th scope=\"col\">%s</th></tr></thead><tbody>\n",
                whose);
  for (int i = 0; i < KR_N_TERMS; i++) {
    if (x->term_us[i] < 0.005 && y->term_us[i] < 0.005)
      continue;
    kr_bytes_adds(b, "<tr><th scope=\"row\">");
    html_string(b, kr_term_name((enum kr_term)i));
    kr_bytes_adds(b, "</th>");
    term_bar(b, x->term_us[i], most, x->bound == (enum kr_term)i);
    term_bar(b, y->term_us[i], most, y->bound == (enum kr_term)i);
    kr_bytes_adds(b, "</tr>\n");
  }
  row_formatted(b, "DRAM bytes, millions", "%.1f", x->dram_bytes / 1e6, y->dram_bytes / 1e6);
  row_formatted(b, "Waves of blocks", "%.2f", x->waves, y->waves);
  kr_bytes_adds(b, "</tbody></table>\n");
}

void report_figures(const struct outcome *out, struct kr_bytes *b)
{
  size_t shown = report_shown(out);
  if (shown == SIZE_MAX)
    return;
  const struct kr_verdict *v = report_verdict(out, shown);
  const char *whose = out->winner == shown ? "winner" : "best variant";
  const struct refine_turn *t = &out->refined.turns[shown];
  kr_bytes_addf(b, "<h3>Original and %s</h3>\n<p>Turn %u.%u%s.</p>\n", whose, t->trajectory, t->turn,
                out->winner == shown ? "" : ", which was not taken");
  kr_bytes_addf(b, "<table class=\"figures\"><thead><tr><td></td><th scope=\"col\">original</th>"
                   "<th scope=\"col\">%s</th></tr></thead><tbody>\n",
                whose);
  for (size_t i = 0; i < v->n_times; i++) {
    const struct kr_case_time *c = &v->times[i];
    char *name = kr_xasprintf("%s, µs, %s", v->modelled ? "Modelled time" : "Measured time",
                              c->label ? c->label : "");
    row_formatted(b, name, "%.2f", c->base_us, c->cand_us);
    free(name);
  }
  rows_resources(b, out, v);
  rows_bandwidth(b, out, v);
  for (size_t i = 0; i < v->n_times; i++) {
    const struct kr_case_time *c = &v->times[i];
    char *name = kr_xasprintf("Bound by (modelled), %s", c->label ? c->label : "");
    if (c->base_bound && c->cand_bound)
      row(b, name, c->base_bound, c->cand_bound);
    free(name);
  }
  kr_bytes_adds(b, "</tbody></table>\n");
  size_t more = 0;
  for (size_t i = 0; i < v->n_times; i++) {
    if (!v->times[i].base_model || !v->times[i].cand_model)
      continue;
    // One case is enough to see what bounds it; the others are there for who wants them.
    if (more++ == 1)
      kr_bytes_adds(b, "<details><summary>the other cases</summary>\n");
    terms(b, &v->times[i], whose);
  }
  if (more > 1)
    kr_bytes_adds(b, "</details>\n");
}
