#include "explain.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "redact.h"

enum { NAME = 34, COLUMN = 14 };

static void row_text(struct kr_bytes *out, const char *name, const char *a, const char *b)
{
  kr_bytes_addf(out, "  %-*s%*s%*s\n", NAME, name, COLUMN, a, COLUMN, b);
}

// A figure with three digits, large ones with a suffix.
static const char *figure(char *text, size_t size, double x)
{
  static const struct {
    double from;
    const char *suffix;
  } scales[] = {{1e12, " T"}, {1e9, " G"}, {1e6, " M"}, {1e4, " k"}};
  for (size_t i = 0; i < sizeof scales / sizeof *scales; i++) {
    if (fabs(x) >= scales[i].from) {
      snprintf(text, size, "%.3g%s", x / (i == 3 ? 1e3 : scales[i].from), scales[i].suffix);
      return text;
    }
  }
  snprintf(text, size, fabs(x) >= 1000 ? "%.0f" : "%.3g", x);
  return text;
}

static void row(struct kr_bytes *out, const char *name, double a, double b)
{
  char x[40], y[40];
  row_text(out, name, figure(x, sizeof x, a), figure(y, sizeof y, b));
}

// Only where one of the two has any.
static void row_any(struct kr_bytes *out, const char *name, double a, double b)
{
  if (a > 0 || b > 0)
    row(out, name, a, b);
}

static double each(double part, double whole)
{
  return whole > 0 ? part / whole : 0;
}

static void rows_traffic(struct kr_bytes *out, const char *what, const struct kr_traffic *a,
                         const struct kr_traffic *b)
{
  char name[64];
  if (!(a->requests > 0) && !(b->requests > 0))
    return;
  snprintf(name, sizeof name, "%s: requests", what);
  row(out, name, a->requests, b->requests);
  row(out, "  sectors a request", each(a->sectors, a->requests), each(b->sectors, b->requests));
  row(out, "  bytes asked for a sector", each(a->bytes, a->sectors), each(b->bytes, b->sectors));
  row_any(out, "  sectors past L1", a->l1_miss_sectors, b->l1_miss_sectors);
  row_any(out, "  sectors written in part", a->partial_sectors, b->partial_sectors);
  row(out, "  bytes of distinct sectors", a->footprint, b->footprint);
}

static void rows_counters(struct kr_bytes *out, const struct kr_counters *a,
                          const struct kr_counters *b)
{
  char name[64], x[40], y[40];
  double sum_a = 0, sum_b = 0;
  for (int i = 0; i < KR_N_INST; i++) {
    sum_a += a->inst[i];
    sum_b += b->inst[i];
  }
  row(out, "warp instructions", sum_a, sum_b);
  for (int i = 0; i < KR_N_INST; i++) {
    snprintf(name, sizeof name, "  %s", kr_inst_name((enum kr_inst_class)i));
    row_any(out, name, a->inst[i], b->inst[i]);
  }
  snprintf(x, sizeof x, "%.3g %%", 100 * each(a->lane_inst, 32 * sum_a));
  snprintf(y, sizeof y, "%.3g %%", 100 * each(b->lane_inst, 32 * sum_b));
  row_text(out, "lanes that take part", x, y);
  rows_traffic(out, "global loads", &a->loads, &b->loads);
  rows_traffic(out, "global stores", &a->stores, &b->stores);
  rows_traffic(out, "global atomics", &a->atomics, &b->atomics);
  row_any(out, "  most at one address", a->hottest_atomic, b->hottest_atomic);
  double shared_a = a->inst[KR_INST_SHARED] + a->inst[KR_INST_ATOMIC_SHARED];
  double shared_b = b->inst[KR_INST_SHARED] + b->inst[KR_INST_ATOMIC_SHARED];
  row_any(out, "shared wavefronts a request", each(a->shared_wavefronts, shared_a),
          each(b->shared_wavefronts, shared_b));
  row_any(out, "  without conflicts", each(a->shared_ideal, shared_a),
          each(b->shared_ideal, shared_b));
  row_any(out, "barriers a warp", each(a->barriers, a->warps), each(b->barriers, b->warps));
  row_any(out, "loads in flight a warp", a->loads_in_flight, b->loads_in_flight);
}

static void rows_model(struct kr_bytes *out, const struct kr_verdict *v,
                       const struct kr_case_model *a, const struct kr_case_model *b)
{
  const struct kr_modelled *s = &a->modelled, *t = &b->modelled;
  char x[40], y[40], name[64];
  for (int i = 0; i < KR_N_TERMS; i++) {
    snprintf(name, sizeof name, "  %s, us", kr_term_name((enum kr_term)i));
    if (s->term_us[i] >= 0.05 || t->term_us[i] >= 0.05)
      row(out, name, s->term_us[i], t->term_us[i]);
  }
  row_text(out, "bound by", kr_term_name(s->bound), kr_term_name(t->bound));
  snprintf(x, sizeof x, "%.0f %%", 100 * s->occupancy);
  snprintf(y, sizeof y, "%.0f %%", 100 * t->occupancy);
  row_text(out, "occupancy", x, y);
  row(out, "blocks a multiprocessor", s->resident_blocks, t->resident_blocks);
  row(out, "waves of blocks", s->waves, t->waves);
  snprintf(x, sizeof x, v->base_resources.registers > 0 ? "%d" : "not known", v->base_resources.registers);
  snprintf(y, sizeof y, v->resources.registers > 0 ? "%d" : "not known", v->resources.registers);
  row_text(out, "registers a thread", x, y);
  row(out, "shared bytes a block", a->counters.static_shared_bytes + a->counters.dynamic_shared_bytes,
      b->counters.static_shared_bytes + b->counters.dynamic_shared_bytes);
  row(out, "DRAM bytes", s->dram_bytes, t->dram_bytes);
  rows_counters(out, &a->counters, &b->counters);
  if (a->counters.sampled || b->counters.sampled) {
    snprintf(x, sizeof x, "%llu/%llu", (unsigned long long)a->counters.blocks_counted,
             (unsigned long long)a->counters.blocks);
    snprintf(y, sizeof y, "%llu/%llu", (unsigned long long)b->counters.blocks_counted,
             (unsigned long long)b->counters.blocks);
    row_text(out, "blocks counted", x, y);
  }
}

void explain_verdict(const struct kr_verdict *v, struct kr_bytes *out)
{
  kr_bytes_addf(out, "%s at stage %s\n", kr_status_name(v->status), kr_stage_name(v->stage));
  if (v->log) {
    char *line = redact_line(v->log, strlen(v->log), 400);
    kr_bytes_addf(out, "  %s\n", line);
    free(line);
  }
  if (v->note)
    kr_bytes_addf(out, "  %s\n", v->note);
  if (!v->n_times)
    return;
  kr_bytes_addf(out, "%s %.3gx [%.3g, %.3g]%s%s%s\n", v->modelled ? "modelled" : "measured", v->speedup,
                v->lo, v->hi, v->modelled ? " on " : "", v->modelled ? v->model_gpu : "",
                v->modelled && !v->model_validated ? " (unvalidated: never held against it)" : "");
  for (size_t i = 0; i < v->n_times; i++) {
    const struct kr_case_time *t = &v->times[i];
    char *label = redact_line(t->label ? t->label : "", t->label ? strlen(t->label) : 0, 120);
    kr_bytes_addf(out, "case %s: %.3gx\n", label, t->ratio);
    free(label);
    row_text(out, "", "original", "variant");
    row(out, v->modelled ? "modelled, us" : "measured, us", t->base_us, t->cand_us);
    if (t->base_model && t->cand_model)
      rows_model(out, v, t->base_model, t->cand_model);
  }
}
