#include "feedback.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../evaluator/base/mem.h"
#include "redact.h"
#include "../evaluator/base/utf8.h"

// "64.3 us", "1.2 ms".
static void tell_time(struct kr_bytes *out, double us)
{
  if (us >= 1000)
    kr_bytes_addf(out, "%.4g ms", us / 1000);
  else
    kr_bytes_addf(out, "%.3g us", us);
}

static void tell_sentence(struct kr_bytes *out, const char *text)
{
  char *line = redact_line(text, strlen(text), FEEDBACK_MAX_SENTENCE);
  kr_bytes_adds(out, line);
  size_t n = strlen(line);
  if (n && !strchr(".!?", line[n - 1]))
    kr_bytes_addc(out, '.');
  free(line);
}

// A screen's refusals, one a line: a sentence, or a list of the first few.
static void tell_refusals(struct kr_bytes *out, const char *text)
{
  enum { SHOWN = 8 };
  size_t n = 0;
  if (!text[strcspn(text, "\n")]) {
    kr_bytes_addc(out, ' ');
    tell_sentence(out, text);
    return;
  }
  for (const char *p = text; *p && n <= SHOWN; n++) {
    size_t len = strcspn(p, "\n");
    char *line = kr_xstrndup(p, len);
    kr_bytes_adds(out, "\n- ");
    tell_sentence(out, n < SHOWN ? line : "and more");
    free(line);
    p += len + (p[len] == '\n');
  }
}

// Reads a line number of at most 6 digits; returns the offset behind it, or `at`.
static size_t read_line_number(const char *text, size_t at, size_t len, unsigned *line)
{
  size_t end = at;
  *line = 0;
  while (end < len && end - at < 7 && text[end] >= '0' && text[end] <= '9')
    *line = *line * 10 + (unsigned)(text[end++] - '0');
  return end - at < 7 ? end : at;
}

// Adds `by` to the line of each "variant.cu:LINE" and "variant.cu(LINE)" and of
// clang's margins ("    8 |"): the code that was compiled lacks the block's first line.
static void tell_shifted(struct kr_bytes *out, const char *text, size_t len, unsigned by)
{
  static const char name[] = "variant.cu";
  size_t n = sizeof name - 1, at = 0;
  unsigned line;
  for (size_t i = 0; by && i < len; i++) {
    if (i + n + 1 < len && !memcmp(text + i, name, n) &&
        (text[i + n] == ':' || text[i + n] == '(')) {
      size_t digit = i + n + 1, end = read_line_number(text, digit, len, &line);
      if (end == digit)
        continue;
      kr_bytes_add(out, text + at, digit - at);
      kr_bytes_addf(out, "%u", line + by);
      at = end;
      i = end - 1;
    } else if (i == 0 || text[i - 1] == '\n') {
      size_t digit = i;
      while (digit < len && text[digit] == ' ')
        digit++;
      size_t end = read_line_number(text, digit, len, &line);
      if (end == digit || end + 1 >= len || memcmp(text + end, " |", 2))
        continue;
      kr_bytes_add(out, text + at, i - at);
      kr_bytes_addf(out, "%*u", (int)(end - i), line + by);
      at = end;
      i = end;
    }
  }
  kr_bytes_add(out, text + at, len - at);
}

// A compiler's log as a fenced block.
static void tell_log(struct kr_bytes *out, const char *log, unsigned by)
{
  struct kr_bytes clean, shifted;
  size_t len = strlen(log);
  kr_bytes_init(&clean, 2 * len + 64);
  redact_append(&clean, log, len);
  kr_bytes_init(&shifted, 2 * clean.len + 64);
  tell_shifted(&shifted, clean.data, clean.len, by);
  size_t n = shifted.len, run = 0;
  bool cut = n > FEEDBACK_MAX_LOG;
  if (cut) {
    n = FEEDBACK_MAX_LOG;
    while (n && shifted.data[n - 1] != '\n')
      n--;
    if (!n) {
      n = FEEDBACK_MAX_LOG;
      while (n && ((unsigned char)shifted.data[n] & 0xc0) == 0x80)
        n--;
    }
  }
  while (n && (shifted.data[n - 1] == '\n' || shifted.data[n - 1] == ' '))
    n--;
  kr_bytes_adds(out, "```\n");
  for (size_t i = 0; i < n;) {
    size_t m = kr_utf8_length(shifted.data + i, n - i);
    unsigned char c = (unsigned char)shifted.data[i];
    bool line_break = c == '\n' || c == '\t';
    run = c == '`' ? run + 1 : 0;
    if (run < 3 && m && (line_break || !kr_utf8_is_control(shifted.data + i, m)))
      kr_bytes_add(out, shifted.data + i, m);
    else if (run < 3 && c != '\r')
      kr_bytes_addc(out, '?');
    i += m ? m : 1;
  }
  kr_bytes_adds(out, cut ? "\n...\n```" : "\n```");
  kr_bytes_release(&clean);
  kr_bytes_release(&shifted);
}

double feedback_roofline(const struct kr_verdict *v, const struct kr_reference *ref,
                         const struct kr_device_facts *facts)
{
  if (!ref || !facts || facts->peak_bytes_per_s <= 0 || !ref->case_bytes || !v->n_times ||
      v->n_times != ref->n_cases)
    return 0;
  double bytes = 0, us = 0;
  for (size_t i = 0; i < v->n_times; i++) {
    // What fits the L2 says nothing about the memory behind it.
    if (ref->case_bytes[i] <= 2.0 * (double)facts->l2_bytes || v->times[i].cand_us <= 0)
      continue;
    bytes += ref->case_bytes[i];
    us += v->times[i].cand_us;
  }
  return us > 0 ? bytes / (us * 1e-6) / facts->peak_bytes_per_s : 0;
}

static void tell_resources(struct kr_bytes *out, const struct kr_verdict *v)
{
  const struct kr_resources *r = &v->resources, *b = &v->base_resources;
  const char *gap = " It uses ";
  if (r->registers > 0) {
    kr_bytes_addf(out, "%s%d registers a thread", gap, r->registers);
    if (b->registers > 0)
      kr_bytes_addf(out, " (original: %d)", b->registers);
    gap = ", ";
  }
  if (r->shared_bytes >= 0) {
    kr_bytes_addf(out, "%s%d bytes of shared memory a block", gap, r->shared_bytes);
    if (b->shared_bytes >= 0 && b->shared_bytes != r->shared_bytes)
      kr_bytes_addf(out, " (original: %d)", b->shared_bytes);
    gap = ", ";
  }
  if (r->local_bytes >= 0) {
    if (r->local_bytes)
      kr_bytes_addf(out, "%s%d bytes of local memory a thread (arrays and spills)", gap,
                    r->local_bytes);
    else
      kr_bytes_addf(out, "%sno local memory", gap);
    gap = ", ";
  }
  if (r->occupancy > 0) {
    kr_bytes_addf(out, "%soccupancy %.0f %%", gap, 100 * r->occupancy);
    if (b->occupancy > 0)
      kr_bytes_addf(out, " (original: %.0f %%)", 100 * b->occupancy);
    gap = ", ";
  }
  if (strcmp(gap, " It uses "))
    kr_bytes_addc(out, '.');
}

// What was counted, where variant and original differ by a tenth or more.
static void tell_counted(struct kr_bytes *out, const struct kr_verdict *v)
{
  const struct kr_case_model *a = v->times[0].base_model, *b = v->times[0].cand_model;
  if (!a || !b)
    return;
  const struct kr_counters *x = &a->counters, *y = &b->counters;
  double inst_x = 0, inst_y = 0;
  for (int i = 0; i < KR_N_INST; i++) {
    inst_x += x->inst[i];
    inst_y += y->inst[i];
  }
  double shared_x = x->inst[KR_INST_SHARED] + x->inst[KR_INST_ATOMIC_SHARED];
  double shared_y = y->inst[KR_INST_SHARED] + y->inst[KR_INST_ATOMIC_SHARED];
  const struct {
    const char *name;
    double base, cand;
  } facts[] = {
      {"DRAM MB", a->modelled.dram_bytes / 1e6, b->modelled.dram_bytes / 1e6},
      {"warp instructions", inst_x, inst_y},
      {"sectors a load", x->loads.sectors / fmax(x->loads.requests, 1),
       y->loads.sectors / fmax(y->loads.requests, 1)},
      {"sectors a store", x->stores.sectors / fmax(x->stores.requests, 1),
       y->stores.sectors / fmax(y->stores.requests, 1)},
      {"shared wavefronts a request", x->shared_wavefronts / fmax(shared_x, 1),
       y->shared_wavefronts / fmax(shared_y, 1)},
      {"barriers a warp", x->barriers / fmax(x->warps, 1), y->barriers / fmax(y->warps, 1)},
  };
  const char *gap = " Counted (original -> it): ";
  for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
    double p = facts[i].base, q = facts[i].cand;
    if (fabs(p - q) < 0.1 * fmax(p, q) || (p <= 0 && q <= 0))
      continue;
    kr_bytes_addf(out, "%s%s %.3g -> %.3g", gap, facts[i].name, p, q);
    gap = ", ";
  }
  if (gap[1] != 'C')
    kr_bytes_addc(out, '.');
}

static void tell_correct(struct kr_bytes *out, const struct kr_verdict *v,
                         const struct kr_reference *ref, const struct kr_device_facts *facts)
{
  bool have_resources = v->resources.registers > 0;
  if (!v->n_times || v->speedup <= 0) {
    kr_bytes_adds(out, "it was correct; it was not timed.");
    if (have_resources)
      tell_resources(out, v);
    return;
  }
  if (v->modelled)
    kr_bytes_addf(out, "it was correct, and modelled %.3gx the original's speed [%.3g, %.3g] on %s%s"
                  " (not measured):", v->speedup, v->lo, v->hi, v->model_gpu,
                  v->model_validated ? "" : ", unvalidated");
  else
    kr_bytes_addf(out, "it was correct, and %.3gx the original's speed [%.3g, %.3g]:", v->speedup,
                  v->lo, v->hi);
  for (size_t i = 0; i < v->n_times; i++) {
    const struct kr_case_time *t = &v->times[i];
    char *label = redact_line(t->label ? t->label : "", t->label ? strlen(t->label) : 0, 120);
    kr_bytes_addf(out, "%s %s%s", i ? ";" : "", label, *label ? ": " : "");
    free(label);
    tell_time(out, t->base_us);
    kr_bytes_adds(out, " -> ");
    tell_time(out, t->cand_us);
    if (v->n_times > 1)
      kr_bytes_addf(out, " (%.3gx)", t->ratio);
    if (t->base_bound && t->cand_bound && !strcmp(t->base_bound, t->cand_bound))
      kr_bytes_addf(out, ", bound by %s", t->cand_bound);
    else if (t->base_bound && t->cand_bound)
      kr_bytes_addf(out, ", bound by %s (original: %s)", t->cand_bound, t->base_bound);
  }
  kr_bytes_addc(out, '.');
  if (v->modelled)
    tell_counted(out, v);
  double share = v->modelled ? 0 : feedback_roofline(v, ref, facts);
  if (share > 0)
    kr_bytes_addf(out, " It reaches %.0f %% of the memory bandwidth, each buffer counted once.",
                  100 * share);
  if (have_resources)
    tell_resources(out, v);
}

// Kinds of wrong, for sizes that were told and for those that were not.
static const char *wrong_kind(enum kr_status status)
{
  switch (status) {
  case KR_STATUS_LAUNCH_FAILED:
    return "could not be launched";
  case KR_STATUS_FAULT:
    return "touched memory that it may not, or trapped";
  case KR_STATUS_TIMEOUT:
    return "did not finish in time";
  case KR_STATUS_UNSTABLE:
    return "gave different results on equal inputs, where the original's are equal";
  case KR_STATUS_IMPOSSIBLE:
    return "was faster than its memory traffic allows";
  case KR_STATUS_UNSUPPORTED:
    return "uses what cannot be evaluated here";
  default:
    return "gave wrong results";
  }
}

static void tell_wrong(struct kr_bytes *out, const struct kr_verdict *v)
{
  kr_bytes_addf(out, "it compiled, but %s", wrong_kind(v->status));
  if (v->held_out) {
    kr_bytes_addf(out, ", at a size that is not among those told (%s).", kr_stage_name(v->stage));
    return;
  }
  // The evaluator's own words say more than the first wrong element (not written,
  // all zero, an input changed).
  const char *said = v->told ? v->told : v->where ? NULL : v->log;
  if (said && *said) {
    kr_bytes_adds(out, ": ");
    tell_sentence(out, said);
  } else if (v->where) {
    char *where = redact_line(v->where, strlen(v->where), 200);
    kr_bytes_addf(out, ": %s is %.9g and should be %.9g.", where, v->got, v->expected);
    free(where);
  } else {
    kr_bytes_addc(out, '.');
  }
}

void feedback_tell(const struct variant *variant, const struct kr_verdict *v,
                   const struct kr_reference *ref, const struct kr_device_facts *facts,
                   struct kr_bytes *out)
{
  const char *said = v->told ? v->told : v->log ? v->log : "";
  switch (v->status) {
  case KR_STATUS_OK:
    tell_correct(out, v, ref, facts);
    return;
  case KR_STATUS_UNCHANGED:
    kr_bytes_adds(out, "it compiled to the same machine code as the original.");
    return;
  case KR_STATUS_REFUSED:
    if (v->stage == KR_STAGE_PARSE) {
      kr_bytes_adds(out, "it could not be used: ");
      tell_sentence(out, variant->why ? variant->why : said);
    } else {
      // Lines of the screen are counted in the candidate's code, as the compiler's are.
      struct kr_bytes shifted;
      kr_bytes_init(&shifted, 2 * strlen(said) + 64);
      tell_shifted(&shifted, said, strlen(said), variant->lines_before);
      kr_bytes_adds(out, "it was not accepted:");
      tell_refusals(out, shifted.data);
      kr_bytes_release(&shifted);
    }
    return;
  case KR_STATUS_COMPILE_ERROR:
    kr_bytes_adds(out, "it did not compile:\n");
    tell_log(out, said, variant->lines_before);
    return;
  case KR_STATUS_ENVIRONMENT:
    kr_bytes_adds(out, "it could not be evaluated, for a reason that is not its own.");
    return;
  default:
    tell_wrong(out, v);
  }
}
