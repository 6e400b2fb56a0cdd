#include "verify.h"

#include <fnmatch.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "../evaluator/base/log.h"
#include "../evaluator/base/mem.h"
#include "assemble.h"
#include "exit.h"
#include "fresh.h"
#include "judge.h"
#include "results.h"
#include "table.h"
#include "talk.h"
#include "variant.h"

enum finding { VERIFY_HOLDS, VERIFY_FAILS, VERIFY_UNKNOWN, N_FINDINGS };

static const char *const finding_words[] = {"holds", "does not hold", "cannot be verified"};
static const char *const finding_json[] = {"holds", "does-not-hold", "cannot-be-verified"};

struct verify {
  struct project *project;
  const struct options *options;
  const volatile sig_atomic_t *stop;
  bool opened, measures; // the evaluator was chosen; by a clock
  struct kr_err none;    // why there is none
  struct kr_device_facts device;
  uint64_t seed;
  struct results *js;
  size_t counts[N_FINDINGS];
};

// One kernel that is under way.
struct claim {
  struct input *in;
  const struct kr_marker *marker; // NULL: none stands above it
  const struct kr_ledger_entry *entry;
  struct kr_provenance said;
  bool read; // `said` is there, with figures
  char *constant_grid; // a changed dimension of the grid that names nothing; owned
  enum finding finding;
  char *why;              // owned
  struct kr_verdict got;  // n_times 0: no figures
};

__attribute__((format(printf, 3, 4))) static void claim_set(struct claim *c, enum finding finding,
                                                            const char *fmt, ...)
{
  va_list ap;
  char text[1024];
  va_start(ap, fmt);
  vsnprintf(text, sizeof text, fmt, ap);
  va_end(ap);
  free(c->why);
  c->why = kr_xstrdup(text);
  c->finding = finding;
}

// --- the evaluator ---

static int verify_open(struct verify *v, struct kr_err *err)
{
  const struct options *o = v->options;
  struct kr_worker_options w = {
      .device = {.device = o->device, .cuda_path = v->project->cuda_path, .gpu = o->gpu}};
  struct kr_err cuda = {"not asked for"};
  if (v->opened)
    return 0;
  if (v->none.text[0]) {
    *err = v->none;
    return -1;
  }
  w.backend = "cuda";
  if (o->evaluator != EVALUATOR_CPU && !kr_worker_probe(&w, &v->device, &cuda)) {
    v->opened = v->measures = true;
    return 0;
  }
  w.backend = "cpu";
  if (o->evaluator != EVALUATOR_CUDA && !kr_worker_probe(&w, &v->device, err)) {
    v->opened = true;
    return 0;
  }
  if (o->evaluator == EVALUATOR_CUDA)
    kr_err_set(&v->none, "--evaluator=cuda: %s", cuda.text);
  else
    kr_err_set(&v->none, "no evaluator: cuda: %.400s; cpu: %.400s", cuda.text, err->text);
  *err = v->none;
  return -1;
}

// The GPU whose time was modelled; NULL: the model knows none of that name.
static const char *claim_gpu(const struct claim *c)
{
  char name[160];
  // The ledger's words were never short of room.
  const char *text = fresh_is_modelled(c->entry) ? c->entry->gpu : c->said.device;
  const char *end = strstr(text, " sm_");
  snprintf(name, sizeof name, "%.*s", end ? (int)(end - text) : (int)strlen(text), text);
  const struct kr_gpu *gpu = kr_gpu_find(name);
  return gpu ? gpu->name : NULL;
}

// --- the original ---

// The file with the original in place of the rewrite, in memory.
static int claim_original(const struct claim *c, struct input *out, struct kr_err *err)
{
  int rc = -1;
  const struct input *in = c->in;
  struct kr_bytes blob = {0}, text;
  struct kr_edits edits = {0};
  size_t number = input_number(c->in, c->marker), begin = 0, end = 0;
  kr_bytes_init(&text, KR_SOURCE_MAX);
  if (kr_baseline_load(in->root, c->entry->baseline, &blob, err))
    goto out;
  // A formatter may have been here: the tokens are those that were written, the bytes not.
  if (!fresh_span(&in->src, number, &begin, &end))
    begin = end = 0;
  if (kr_undo_edits_over(blob.data, blob.len, &in->src, begin, end, &edits, err) ||
      kr_edits_finish(&edits, err) || kr_edits_apply(&edits, &in->src, &text, err))
    goto out;
  input_like(in, &text, out);
  // Borrowed: the flags are the file's.
  out->flagged = true;
  out->flags = in->flags;
  out->archs = in->archs;
  out->n_archs = in->n_archs;
  rc = 0;
out:
  kr_edits_release(&edits);
  kr_bytes_release(&blob);
  kr_bytes_release(&text);
  return rc;
}

// --- the body ---

static bool same_text(const char *a, const char *b)
{
  return a == b || (a && b && !strcmp(a, b));
}

// One part of a launch: as the contract has it where the source says what the original's
// says, for a marker may say it in words of its own.
static char *launch_part(const char *contract, const char *before, const char *now, bool *changed)
{
  bool same = same_text(before, now);
  *changed |= !same;
  const char *text = same ? contract : now;
  return text ? kr_xstrdup(text) : NULL;
}

static bool sites_agree(const struct kr_psite *a, const struct kr_psite *b)
{
  bool same = same_text(a->shared, b->shared);
  for (int d = 0; d < 3; d++)
    same = same && same_text(a->grid[d], b->grid[d]) && same_text(a->block[d], b->block[d]);
  return same;
}

static bool names_nothing(const char *text)
{
  size_t n;
  struct kr_token *toks = kr_lex_all(text, strlen(text), false, &n);
  bool none = true;
  for (size_t i = 0; i < n; i++)
    none = none && toks[i].kind != KR_TOK_IDENTIFIER;
  free(toks);
  return none;
}

// The geometry that the file launches the body with, where it is not the original's.
static int claim_launch(struct claim *c, const struct kr_contract *contract,
                        const struct kr_pkernel *before, const struct kr_pkernel *now,
                        struct kr_candidate *out, struct kr_err *err)
{
  bool changed = false;
  if (!contract->tunable)
    return 0;
  if (!now->n_sites || now->n_sites != before->n_sites)
    return kr_err_set(err, "its launches are not those that were written");
  const struct kr_psite *b = &before->sites[0], *n = &now->sites[0];
  for (size_t i = 1; i < now->n_sites; i++)
    if (!sites_agree(n, &now->sites[i]))
      return kr_err_set(err, "it is launched with different geometry at lines %u and %u", n->line,
                        now->sites[i].line);
  struct kr_geometry *g = &out->geometry;
  for (int d = 0; d < 3; d++) {
    g->grid[d] = launch_part(contract->geometry.grid[d], b->grid[d], n->grid[d], &changed);
    if (!c->constant_grid && !same_text(b->grid[d], n->grid[d]) && n->grid[d] &&
        names_nothing(n->grid[d]))
      c->constant_grid = kr_xstrdup(n->grid[d]);
    g->block[d] = launch_part(contract->geometry.block[d], b->block[d], n->block[d], &changed);
  }
  g->shared = launch_part(contract->geometry.shared, b->shared, n->shared, &changed);
  g->cooperative = contract->geometry.cooperative;
  out->has_geometry = changed;
  if (changed && n->geometry_error)
    return kr_err_set(err, "%s", n->geometry_error);
  return 0;
}

static int claim_body(struct claim *c, const struct input *original,
                      const struct kr_contract *contract, const struct kr_pkernel *before,
                      struct kr_candidate *out, struct kr_err *err)
{
  const struct kr_pkernel *now = input_kernel(c->in, c->marker);
  struct kr_bytes code;
  if (!now || now->refused)
    return kr_err_set(err, "%s", now ? now->refused : "no kernel stands below its marker");
  kr_bytes_init(&code, VARIANT_MAX_CODE);
  int rc = kr_body_text(&c->in->src, now->at.offset, now->name, &original->src, before->at.offset,
                        &code);
  if (!rc && !code.toobig)
    out->code = kr_bytes_take(&code);
  else
    rc = kr_err_set(err, "its definition cannot be told from what is around it");
  kr_bytes_release(&code);
  return rc ? rc : claim_launch(c, contract, before, now, out, err);
}

// --- the judgement ---

// What a verdict that is no success comes to.
static void claim_refuse(struct claim *c, const struct kr_verdict *v)
{
  const char *log = v->log ? v->log : "";
  bool ours = v->status == KR_STATUS_ENVIRONMENT || v->status == KR_STATUS_UNSUPPORTED;
  if (v->status == KR_STATUS_UNCHANGED)
    claim_set(c, VERIFY_FAILS, "it compiles to the original's machine code");
  // A launch that passes 1000 as `n` was written from an expression in n and is read back
  // as one of 1000: at other sizes than that one a grid too small is not the body's fault.
  else if (c->constant_grid && v->status != KR_STATUS_REFUSED &&
           v->status != KR_STATUS_COMPILE_ERROR)
    claim_set(c, VERIFY_UNKNOWN,
              "%s at %s, but its launch has a grid of `%.80s`, which does not follow the sizes that "
              "were tried%s%.*s",
              kr_status_name(v->status), kr_stage_name(v->stage), c->constant_grid, *log ? ": " : "",
              (int)strcspn(log, "\n"), log);
  else
    claim_set(c, ours ? VERIFY_UNKNOWN : VERIFY_FAILS, "%s at %s%s%.*s", kr_status_name(v->status),
              kr_stage_name(v->stage), *log ? ": " : "", (int)strcspn(log, "\n"), log);
}

// The figures against the claim.
static void claim_compare(const struct verify *v, struct claim *c)
{
  const struct kr_provenance *p = &c->said;
  const struct kr_verdict *g = &c->got;
  char here[160];
  snprintf(here, sizeof here, "%s %s", v->device.name, v->device.arch);
  // Half of the last digit: a model's bounds have one decimal fewer (provenance.c).
  double slack = p->modelled && fabs(p->lo - 1) >= 0.1 ? 0.05 : 0.005;
  if (p->modelled && !g->modelled)
    claim_set(c, VERIFY_UNKNOWN, "the claim was modelled, and this was measured");
  else if (!p->modelled && g->modelled)
    claim_set(c, VERIFY_UNKNOWN, "the claim was measured on %s, and this was modelled", p->device);
  else if (!kr_provenance_on(p, g->modelled ? g->model_gpu : here))
    claim_set(c, VERIFY_UNKNOWN, "the claim is of another GPU, %s", p->device);
  else if (g->hi < p->lo - slack)
    claim_set(c, VERIFY_FAILS, "the interval lies below the claimed one");
  else if (g->lo > 1 && !kr_verdict_wins(g, 1))
    claim_set(c, VERIFY_FAILS, "a case is slower than the original");
  else if (!(g->lo > 1))
    claim_set(c, VERIFY_UNKNOWN, "the interval is too wide to tell it from no speed-up");
  else
    c->finding = VERIFY_HOLDS;
}

static void tell_confirm(void *arg, size_t finalist, unsigned shares)
{
  const struct claim *c = arg;
  (void)finalist;
  talk_progress("%s: measuring, %u of %d measurements", c->entry->kernel, shares, JUDGE_WORKERS);
}

static int claim_judge(struct verify *v, struct claim *c, const struct judge_setup *setup,
                       const struct kr_candidate *cand, struct kr_err *err)
{
  struct judge *j = NULL;
  struct kr_verdict *g = &c->got;
  if (judge_open(&j, setup, err)) {
    struct kr_err why = *err;
    return kr_err_set(err, "the original: %.900s", why.text);
  }
  v->device = judge_reference(j)->device;
  judge_until(j, KR_STAGE_CHECK);
  int rc = judge_candidate(j, cand, 1, g, err);
  if (!rc && g->status == KR_STATUS_OK)
    rc = v->measures ? judge_confirm(j, &cand, 1, g, tell_confirm, c, err)
                     : judge_confirm_modelled(j, cand, 0, g, err);
  const struct kr_reference *ref = judge_reference(j);
  if (!rc && g->status != KR_STATUS_OK)
    claim_refuse(c, g);
  else if (!rc && !g->n_times)
    claim_set(c, VERIFY_UNKNOWN, "it is right, but its time cannot be modelled%s%s",
              ref->model_why ? ": " : "", ref->model_why ? ref->model_why : "");
  else if (!rc && g->n_times < setup->contract->n_cases)
    claim_set(c, VERIFY_UNKNOWN, "it is right, but not every case has a modelled time%s%s",
              ref->model_why ? ": " : "", ref->model_why ? ref->model_why : "");
  else if (!rc)
    claim_compare(v, c);
  judge_close(j);
  return rc;
}

// The first error among diagnostics, as the reason.
static int first_error(const struct kr_diags *d, struct kr_err *err)
{
  for (size_t i = 0; i < d->n; i++)
    if (d->items[i].severity == KR_SEV_ERROR)
      return kr_err_set(err, "%s", d->items[i].text);
  return kr_err_set(err, "its contract is refused");
}

static int claim_verify(struct verify *v, struct claim *c, struct kr_err *err)
{
  int rc = -1;
  const struct options *o = v->options;
  struct input original = {0};
  struct kr_contract contract = {0};
  struct kr_candidate cand = {0};
  struct kr_diags diags = {0};
  struct kr_hash was;
  bool assembled = false;
  if (input_parse(v->project, c->in, o, err) || claim_original(c, &original, err) ||
      input_parse(v->project, &original, o, err))
    goto out;
  const struct kr_marker *m = input_numbered(&original.markers, input_number(c->in, c->marker));
  const struct kr_pkernel *k = m ? input_kernel(&original, m) : NULL;
  if (!k || fresh_definition(&original, m, &was) || !kr_hash_equal(was, c->entry->original)) {
    kr_err_set(err, "its baseline does not give back the original that the ledger names");
    goto out;
  }
  if (k->refused) {
    kr_err_set(err, "%s", k->refused);
    goto out;
  }
  struct assemble_request req = {.src = &original.src,
                                 .marker = m,
                                 .unit = &original.unit,
                                 .kernel = k,
                                 .file = original.rel,
                                 .flags = (const char *const *)original.flags.items,
                                 .n_flags = original.flags.n,
                                 .archs = (const char *const *)original.archs,
                                 .n_archs = original.n_archs};
  if (assemble_contract(&req, &contract, &diags)) {
    first_error(&diags, err);
    goto out;
  }
  assembled = true;
  if (claim_body(c, &original, &contract, k, &cand, err) || verify_open(v, err))
    goto out;
  const char *gpu = options_modelled_gpu(o);
  if (!gpu && c->said.modelled)
    gpu = claim_gpu(c);
  struct judge_setup setup = {
      .contract = &contract,
      .source = &original.src,
      .kernel = k,
      .parser = v->project->parser,
      .request = {.src = &original.src,
                  .flags = (const char *const *)original.flags.items,
                  .n_flags = original.flags.n,
                  .project_dir = original.root,
                  .arch = o->arch},
      .worker = {.backend = v->measures ? "cuda" : "cpu",
                 .device = {.device = o->device, .cuda_path = v->project->cuda_path, .gpu = gpu}},
      .seed = v->seed};
  talk_progress("%s: running original and rewrite", c->entry->kernel);
  rc = claim_judge(v, c, &setup, &cand, err);
out:
  kr_candidate_release(&cand);
  if (assembled)
    kr_contract_release(&contract);
  kr_diags_release(&diags);
  input_forget(&original);
  return rc;
}

// --- what is told ---

static void claim_text(const struct verify *v, const struct claim *c, const char *name, unsigned line,
                       struct kr_bytes *b)
{
  const struct kr_provenance *p = &c->said;
  kr_bytes_addf(b, "%s:%u: %s: %s: ", c->in->src.path, line, name, finding_words[c->finding]);
  if (c->why)
    kr_bytes_addf(b, "%s%s", c->why, c->read ? "; " : "");
  if (c->read)
    kr_bytes_addf(b, "claimed %s%.2fx [%.2f, %.2f]", p->modelled ? "modelled " : "", p->speedup,
                  p->lo, p->hi);
  if (c->got.n_times) {
    kr_bytes_addf(b, ", %s ", c->got.modelled ? "modelled" : "measured");
    table_ratio(&c->got, b);
    if (c->got.modelled)
      kr_bytes_addf(b, " on %s", c->got.model_gpu);
    else
      kr_bytes_addf(b, " on %s %s", v->device.name, v->device.arch);
  }
  kr_bytes_addc(b, '\n');
}

static void figures_json(struct results *js, const char *key, bool modelled, double speedup,
                         double lo, double hi, const char *gpu)
{
  results_open(js, key, '{');
  results_bool(js, "modelled", modelled);
  results_string(js, "gpu", gpu);
  results_number(js, "speedup", speedup);
  results_number(js, "lo", lo);
  results_number(js, "hi", hi);
  results_close(js, '}');
}

static void claim_json(const struct verify *v, const struct claim *c, const char *name, unsigned line)
{
  const struct kr_provenance *p = &c->said;
  struct results *js = v->js;
  char here[160];
  snprintf(here, sizeof here, "%s %s", v->device.name, v->device.arch);
  results_open(js, NULL, '{');
  results_string(js, "file", c->in->src.path);
  results_integer(js, "line", line);
  results_string(js, "kernel", name);
  results_string(js, "state", finding_json[c->finding]);
  if (c->why)
    results_string(js, "why", c->why);
  if (c->read)
    figures_json(js, "claimed", p->modelled, p->speedup, p->lo, p->hi, p->device);
  if (c->got.n_times)
    figures_json(js, "measured", c->got.modelled, c->got.speedup, c->got.lo, c->got.hi,
                 c->got.modelled ? c->got.model_gpu : here);
  results_close(js, '}');
}

static void claim_tell(struct verify *v, const struct claim *c, const char *name, unsigned line)
{
  struct kr_bytes b, escaped;
  v->counts[c->finding]++;
  talk_progress_end();
  if (v->js) {
    claim_json(v, c, name, line);
    return;
  }
  kr_bytes_init(&b, 1 << 20);
  kr_bytes_init(&escaped, 1 << 22);
  claim_text(v, c, name, line, &b);
  talk_escape(&escaped, b.data, b.len, true);
  talk_out(escaped.data, escaped.len);
  kr_bytes_release(&escaped);
  kr_bytes_release(&b);
}

// --- all of it ---

// What can be told without an evaluator. True when there is something left to measure.
static bool claim_open(struct claim *c, const struct fresh *f, int provenance, struct kr_err *err)
{
  struct kr_hash current;
  if (provenance < 0)
    claim_set(c, VERIFY_UNKNOWN, "%s", err->text);
  else if (provenance > 0)
    claim_set(c, VERIFY_UNKNOWN, "its provenance comment is gone");
  else if (!c->read)
    claim_set(c, VERIFY_UNKNOWN, "of its provenance comment only the line `from` is there");
  else if (!c->marker)
    claim_set(c, VERIFY_UNKNOWN, "no marker stands above it any more");
  else if (!f->entry || f->entry->outcome != KR_REWRITTEN)
    claim_set(c, VERIFY_UNKNOWN, "the ledger knows nothing of it");
  else if (fresh_definition(c->in, c->marker, &current) || !kr_provenance_same(c->said.body, current) ||
           !kr_hash_equal(current, f->entry->current))
    claim_set(c, VERIFY_UNKNOWN, "it was edited by hand since");
  else if (!kr_provenance_same(c->said.marker, kr_marker_hash(c->marker)))
    claim_set(c, VERIFY_UNKNOWN, "its marker changed since, and with it what was claimed");
  else if (f->state == FRESH_STALE)
    claim_set(c, VERIFY_UNKNOWN, "%s", f->why);
  return !c->why;
}

// The kernel at `target`, below an optimize marker (or none) and a provenance comment
// (or none).
static void verify_kernel(struct verify *v, struct input *in, const struct kr_marker *m, size_t target,
                          const struct kr_ledger *l, struct kr_hash outside)
{
  struct claim c = {.in = in, .marker = m, .finding = VERIFY_UNKNOWN};
  struct fresh f = {.state = FRESH_MISSING};
  struct kr_err err = {""};
  unsigned line, col;
  if (m)
    fresh_check(in, m, l, outside, &f);
  int rc = kr_provenance_find(&in->markers, target, &c.said, &err);
  if (rc > 0 && (!f.entry || f.entry->outcome != KR_REWRITTEN))
    return; // it claims nothing
  c.read = !rc && c.said.have_figures;
  c.entry = f.entry;
  char *name = f.entry ? kr_xstrdup(f.entry->kernel) : fresh_name(&in->src, target);
  kr_verdict_init(&c.got);
  if (!v->options->kernel || !fnmatch(v->options->kernel, name, 0)) {
    kr_source_place(&in->src, target, &line, &col);
    if (claim_open(&c, &f, rc, &err) && claim_verify(v, &c, &err))
      claim_set(&c, VERIFY_UNKNOWN, "%s", err.text);
    claim_tell(v, &c, name, line);
  }
  kr_verdict_release(&c.got);
  free(c.why);
  free(c.constant_grid);
  free(name);
}

static bool verify_stopped(const struct verify *v)
{
  return v->stop && *v->stop;
}

// Returns -1 when the file's ledger cannot be read.
static int verify_input(struct verify *v, struct input *in)
{
  struct kr_ledger l;
  struct kr_err err = {""};
  talk_diags(&in->diags, &in->src);
  if (!in->markers.n)
    return 0;
  if (kr_ledger_load(&l, in->root, &err)) {
    kr_error("%s", err.text);
    return -1;
  }
  struct kr_hash outside = fresh_outside(in);
  for (size_t i = 0; i < in->markers.n && !verify_stopped(v); i++) {
    const struct kr_marker *m = &in->markers.items[i];
    if (m->target == SIZE_MAX)
      continue;
    if (m->verb == KR_MARKER_OPTIMIZE)
      verify_kernel(v, in, m, m->target, &l, outside);
    else if (m->verb == KR_MARKER_FROM &&
             !kr_markers_above(&in->markers, m->target, KR_MARKER_OPTIMIZE))
      verify_kernel(v, in, NULL, m->target, &l, outside);
  }
  kr_ledger_release(&l);
  return 0;
}

int verify_run(struct project *p, const struct options *o, const volatile sig_atomic_t *stop)
{
  struct verify v = {.project = p, .options = o, .stop = stop, .seed = o->seed};
  struct results js;
  size_t failed = p->n_failed;
  if (!o->seed_given && getrandom(&v.seed, sizeof v.seed, 0) != sizeof v.seed)
    v.seed = (uint64_t)getpid() * 0x9e3779b97f4a7c15u;
  kr_debug("verify", "seed %llu", (unsigned long long)v.seed);
  if (o->format == FORMAT_JSON) {
    results_start(&js, "verify");
    results_open(&js, "kernels", '[');
    v.js = &js;
  }
  for (size_t i = 0; i < p->n && !verify_stopped(&v); i++)
    failed += verify_input(&v, &p->inputs[i]) || p->inputs[i].failed;
  talk_progress_end();
  if (v.js) {
    results_close(&js, ']');
    results_end(&js);
  }
  size_t all = v.counts[VERIFY_HOLDS] + v.counts[VERIFY_FAILS] + v.counts[VERIFY_UNKNOWN];
  if (all)
    talk_say("%zu of %zu rewritten kernels hold, %zu do not, %zu cannot be verified",
             v.counts[VERIFY_HOLDS], all, v.counts[VERIFY_FAILS], v.counts[VERIFY_UNKNOWN]);
  else if (o->kernel)
    kr_warn("no rewritten kernel matches --kernel=%s", o->kernel);
  else if (!failed)
    talk_say("nothing to verify: no kernel was rewritten");
  if (verify_stopped(&v))
    return EXIT_INTERRUPTED;
  if (v.counts[VERIFY_FAILS])
    return EXIT_WORK_LEFT;
  if (v.none.text[0] && v.counts[VERIFY_UNKNOWN] == all)
    return EXIT_NO_ENVIRONMENT;
  return failed || v.counts[VERIFY_UNKNOWN] ? EXIT_PARTIAL : EXIT_DONE;
}
