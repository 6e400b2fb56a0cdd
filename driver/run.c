#include "run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "../evaluator/base/log.h"
#include "../evaluator/base/mem.h"
#include "decide.h"
#include "exit.h"
#include "fresh.h"
#include "git.h"
#include "judge.h"
#include "keep.h"
#include "report.h"
#include "table.h"
#include "talk.h"
#include "write.h"

enum { CALLS_WITHOUT_ASKING = 200 };

struct run {
  struct project *project;
  const struct options *options;
  const volatile sig_atomic_t *stop;
  struct tasks tasks;
  struct outcome *outcomes; // one a task
  struct model *model;
  struct prompt_set *templates;
  struct kr_worker_options worker;
  struct kr_device_facts device;
  bool opened; // `worker` and `device` are there
  bool can_time;
  uint64_t seed;
  struct keep keep;
  struct budget budget; // its clock begins when the first kernel does
  unsigned waiting;
  // What the model's server said that no other kernel can change: a key that is
  // not accepted, a budget that is spent. Nothing is asked after it.
  struct kr_err refused, keep_err;
};

static bool run_stopped(const struct run *r)
{
  return r->stop && *r->stop;
}

// Asks a back end whether it can work here, and chooses it if so.
static int run_probe(struct run *r, const char *backend, struct kr_err *err)
{
  const struct options *o = r->options;
  const char *gpu = options_modelled_gpu(o);
  r->worker = (struct kr_worker_options){
      .backend = backend,
      .device = {.device = o->device, .cuda_path = r->project->cuda_path, .gpu = gpu}};
  if (kr_worker_probe(&r->worker, &r->device, err))
    return -1;
  r->opened = true;
  r->can_time = strcmp(backend, "cpu") != 0;
  return 0;
}

// --- before anything is spent ---

// Files that must not be written: told, and their kernels left out.
static void run_refuse_dirty(struct run *r)
{
  const struct options *o = r->options;
  for (size_t i = 0; i < r->project->n; i++) {
    struct input *in = &r->project->inputs[i];
    struct kr_err err = {""};
    if (!in->n_marked)
      continue;
    if (in->src.nlink > 1)
      kr_err_set(&err, "%s has %lu hard links; a rewrite would split them", in->src.path,
                 (unsigned long)in->src.nlink);
    else if (access(in->src.real, W_OK))
      kr_err_errno(&err, "%s cannot be written", in->src.path);
    else if (!o->allow_dirty) {
      enum git_state state = git_file_state(in->src.path, &err);
      if (state == GIT_DIRTY)
        kr_err_set(&err, "%s has changes that are not staged; stage or commit them first, or say "
                         "--allow-dirty",
                   in->src.path);
      else if (state == GIT_UNTRACKED)
        kr_err_set(&err, "%s is not tracked by git, which could not bring it back; `git add` it "
                         "first, or say --allow-dirty",
                   in->src.path);
      else if (state != GIT_UNKNOWN)
        continue;
      else
        kr_err_set(&err, "%.1500s; say --allow-dirty to go on all the same",
                   err.text);
    } else {
      continue;
    }
    kr_error("%s", err.text);
    in->failed = true;
    for (size_t k = 0; k < r->tasks.n; k++)
      if (r->tasks.items[k].in == in && r->tasks.items[k].ok)
        outcome_fail(&r->outcomes[k], OUTCOME_REFUSED, err.text);
  }
}

// Will this run ask a GPU? What was only modelled is then as good as untried.
static bool run_measures(struct run *r)
{
  const struct options *o = r->options;
  struct kr_err err = {""};
  if (o->evaluator != EVALUATOR_AUTO)
    return o->evaluator == EVALUATOR_CUDA;
  if (!r->opened)
    run_probe(r, "cuda", &err);
  return r->can_time;
}

// Which kernels were tried before and need nothing.
static void run_skip_fresh(struct run *r)
{
  for (size_t i = 0; i < r->tasks.n; i++) {
    struct task *t = &r->tasks.items[i];
    struct outcome *out = &r->outcomes[i];
    struct kr_ledger l;
    struct kr_err err = {""};
    struct fresh f;
    if (out->state != OUTCOME_OPEN)
      continue;
    if (kr_ledger_load(&l, t->in->root, &err)) {
      outcome_fail(out, OUTCOME_FAILED, err.text);
      kr_error("%s", err.text);
      continue;
    }
    fresh_check(t->in, t->marker, &l, fresh_outside(t->in), &f);
    bool fresh = f.state == FRESH_OK || (f.state == FRESH_UNSURE &&
                                         kr_hash_equal(fresh_slice(t->kernel), f.entry->slice));
    if (fresh && !r->options->again && !(fresh_is_modelled(f.entry) && run_measures(r)))
      out->state = OUTCOME_FRESH;
    kr_ledger_release(&l);
  }
}

static bool outcome_open(const struct run *r, size_t i)
{
  return r->outcomes[i].state == OUTCOME_OPEN;
}

static size_t run_count_open(const struct run *r)
{
  size_t n = 0;
  for (size_t i = 0; i < r->tasks.n; i++)
    n += outcome_open(r, i);
  return n;
}

static int run_open_model(struct run *r)
{
  const struct options *o = r->options;
  struct kr_err err = {""};
  struct model_options mo = {.base_url = o->base_url,
                             .api_key_file = o->api_key_file,
                             .temperature = -1,
                             .retries = -1,
                             .stop = r->stop};
  if (prompt_set_open(o->profile, o->prompts, &r->templates, &err)) {
    kr_error("%s", err.text);
    return EXIT_USAGE;
  }
  if (model_open_several(o->models, o->n_models, &mo, &r->model, &err)) {
    kr_error("%s", err.text);
    return EXIT_USAGE;
  }
  const char *hook = getenv("PRE_COMMIT");
  if (hook && *hook && model_is_remote(r->model) && !o->allow_network) {
    kr_error("a pre-commit hook asks no model over the network unless --allow-network is said");
    return EXIT_USAGE;
  }
  if (keep_open(&r->keep, o, r->model, &err)) {
    kr_error("%s", err.text);
    return EXIT_USAGE;
  }
  return 0;
}

static int run_open_evaluator(struct run *r)
{
  const struct options *o = r->options;
  struct kr_err err = {""}, cpu_err = {""};
  const char *first = o->evaluator == EVALUATOR_CPU ? "cpu" : "cuda";
  if (r->opened || !run_probe(r, first, &err))
    return 0;
  if (o->evaluator != EVALUATOR_AUTO) {
    kr_error("--evaluator=%s: %s", first, err.text);
    return EXIT_NO_ENVIRONMENT;
  }
  if (run_probe(r, "cpu", &cpu_err)) {
    kr_error("no evaluator: cuda: %s; cpu: %s", err.text, cpu_err.text);
    return EXIT_NO_ENVIRONMENT;
  }
  kr_debug("verify", "no GPU (%s); judging on the CPU", err.text);
  return 0;
}

// May what was found be written? What was only modelled is when it was asked for.
static bool run_writes(const struct run *r)
{
  return r->options->mode == MODE_IN_PLACE &&
         (r->can_time || r->options->evaluator == EVALUATOR_CPU);
}

static int run_plan(const struct run *r, size_t kernels)
{
  const struct options *o = r->options;
  unsigned long long calls = (unsigned long long)kernels * o->trajectories * o->turns;
  struct kr_bytes bounds;
  kr_bytes_init(&bounds, 256);
  if (o->max_calls_given && calls > o->max_calls)
    calls = o->max_calls;
  kr_bytes_addf(&bounds, "at most %llu calls", calls);
  // A reply's length is the server's to limit; a prompt's is ours.
  unsigned long long tokens = calls * PROMPT_DEFAULT_TOKENS;
  if (o->max_tokens_given) {
    kr_bytes_adds(&bounds, ", ");
    budget_add_tokens(o->max_tokens, &bounds);
    kr_bytes_adds(&bounds, " tokens");
  } else if (model_reads_prompts(r->model)) {
    kr_bytes_adds(&bounds, ", ");
    budget_add_tokens(tokens, &bounds);
    kr_bytes_adds(&bounds, " tokens of prompts");
  }
  if (o->time_budget_given) {
    kr_bytes_adds(&bounds, ", ");
    budget_add_time(o->time_budget_ms, &bounds);
  }
  talk_say("model: %s", model_where(r->model));
  if (r->can_time)
    talk_say("evaluator: %s, %s", r->worker.backend, r->device.name);
  else if (o->mode != MODE_IN_PLACE)
    talk_say("evaluator: cpu%s: checks, and models times; a GPU is not asked",
             o->evaluator == EVALUATOR_AUTO ? ", no GPU here" : "");
  else if (run_writes(r))
    talk_say("evaluator: cpu: checks, and models times; what it writes says `modelled`");
  else
    talk_say("evaluator: cpu, no GPU here: checks, and models times; nothing will be written\n"
             "  unless --evaluator=cpu asks for it");
  char beam[80] = "";
  if (o->beam_keep && o->beam_every < o->turns)
    snprintf(beam, sizeof beam, " (every %u the best %u go on)", o->beam_every, o->beam_keep);
  talk_say("plan: %zu kernel%s, %u x %u turns%s, %s", kernels, kernels == 1 ? "" : "s",
           o->trajectories, o->turns, beam, bounds.data);
  kr_bytes_release(&bounds);
  // The built-in model costs nobody anything.
  if (!model_reads_prompts(r->model) || calls <= CALLS_WITHOUT_ASKING || o->yes ||
      o->max_calls_given || o->max_tokens_given)
    return 0;
  if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO)) {
    kr_error("%llu calls are planned; say --yes, or bound them by --max-calls=N or "
             "--max-tokens=N", calls);
    return EXIT_USAGE;
  }
  fprintf(stderr, "Go on? [y/N] ");
  fflush(stderr);
  char answer[16];
  if (!fgets(answer, sizeof answer, stdin) || (answer[0] != 'y' && answer[0] != 'Y'))
    return EXIT_USAGE;
  return 0;
}

// --- one kernel ---

struct watch {
  const struct run *run;
  const struct outcome *out;
  size_t best; // index into refined.turns; SIZE_MAX: none is right yet
};

// What was just judged: with -v on a terminal its row of the table.
static void watch_judged(struct watch *w)
{
  const struct refine_result *res = &w->out->refined;
  size_t i = res->n - 1;
  const struct kr_verdict *v = &res->turns[i].verdict;
  if (v->status == KR_STATUS_OK && (w->best == SIZE_MAX || v->speedup > res->turns[w->best].verdict.speedup))
    w->best = i;
  if (w->run->options->verbose <= 0 || !talk_is_live())
    return;
  struct kr_bytes b;
  kr_bytes_init(&b, 1 << 20);
  if (!i)
    table_head(talk_columns(), &b);
  table_row(res->turns, i, false, talk_columns(), &b);
  talk_text(b.data, b.len);
  kr_bytes_release(&b);
}

static void watch_event(void *arg, const struct refine_event *e)
{
  struct watch *w = arg;
  if (e->kind == REFINE_ASKING && e->prompt && w->run->options->verbose > 1)
    kr_note("prompt of %s, %u.%u:\n%s", e->kernel, e->trajectory, e->turn, e->prompt);
  if (e->kind == REFINE_JUDGED) {
    watch_judged(w);
    return;
  }
  struct kr_bytes best;
  kr_bytes_init(&best, 256);
  const struct refine_turn *t = w->best == SIZE_MAX ? NULL : &w->out->refined.turns[w->best];
  if (t && t->verdict.speedup > 0)
    kr_bytes_addf(&best, "%s%.2fx (%u.%u)", t->verdict.modelled ? "modelled " : "",
                  t->verdict.speedup, t->trajectory, t->turn);
  else
    kr_bytes_adds(&best, t ? "correct, not timed" : "none yet");
  kr_bytes_adds(&best, "; ");
  budget_tell(&w->run->budget, &best);
  char awaited[40] = "";
  if (e->awaited)
    snprintf(awaited, sizeof awaited, "%s%u asked", e->kind == REFINE_REPLIED ? ", " : "",
             e->awaited);
  talk_progress("%s: attempt %u/%u, turn %u/%u, %s%s; best %s", e->kernel, e->trajectory,
                e->trajectories, e->turn, e->turns,
                e->kind == REFINE_REPLIED ? "judging" : e->awaited ? "" : "asking", awaited,
                best.data);
  kr_bytes_release(&best);
}

static void watch_confirm(void *arg, size_t finalist, unsigned n)
{
  const struct watch *w = arg;
  const char *kernel = w->out->task->kernel->qualified;
  if (w->run->can_time)
    talk_progress("%s: confirming, %u of %zu measurements", kernel, n,
                  w->out->refined.n_finalists * JUDGE_WORKERS);
  else
    talk_progress("%s: checking finalist %zu thoroughly, in a fresh process", kernel, finalist + 1);
}

static void run_kernel(struct run *r, struct outcome *out)
{
  const struct task *t = out->task;
  const struct options *o = r->options;
  struct kr_err err = {""};
  struct judge *j = NULL;
  struct watch watch = {.run = r, .out = out, .best = SIZE_MAX};
  struct judge_setup setup = {
      .contract = &t->contract,
      .source = &t->in->src,
      .kernel = t->kernel,
      .parser = r->project->parser,
      .request = {.src = &t->in->src,
                  .flags = (const char *const *)t->in->flags.items,
                  .n_flags = t->in->flags.n,
                  .project_dir = t->in->root,
                  .arch = o->arch},
      .worker = r->worker,
      .seed = r->seed};
  if (r->refused.text[0]) {
    outcome_fail(out, OUTCOME_FAILED, r->refused.text);
    return;
  }
  enum budget_limit limit = budget_reached(&r->budget);
  if (limit != BUDGET_LEFT) {
    out->why = kr_xasprintf("%s is used up", budget_option(limit));
    return; // not tried: no later run may take it for tried
  }
  talk_progress("%s: running the original", t->kernel->qualified);
  if (judge_open(&j, &setup, &err)) {
    outcome_fail(out, OUTCOME_FAILED, err.text);
    return;
  }
  const struct kr_reference *ref = judge_reference(j);
  out->backend = r->worker.backend;
  out->device = ref->device;
  out->model = model_name(r->model);
  if (o->report)
    outcome_refer(out, ref);
  if (ref->require_hint)
    kr_note("%s:%u: %s: %s", t->in->src.path, t->kernel->line, t->kernel->qualified,
            ref->require_hint);
  struct refine refine = {
      .task = {.contract = &t->contract, .facts = &ref->device, .reference = ref,
               .templates = r->templates},
      .model = r->model,
      .judge = judge_candidate,
      .judge_arg = j,
      .event = watch_event,
      .event_arg = &watch,
      .options = {.trajectories = o->trajectories,
                  .turns = o->turns,
                  .beam_keep = o->beam_keep,
                  .beam_every = o->beam_every,
                  .jobs = o->jobs,
                  .budget = &r->budget,
                  .stop = r->stop}};
  if (keep_search(&r->keep, &refine, r->worker.backend, &err)) {
    outcome_fail(out, OUTCOME_FAILED, run_stopped(r) ? "interrupted" : err.text);
    judge_close(j);
    return;
  }
  int rc = refine_run(&refine, &out->refined, &err);
  out->have_refined = true;
  r->waiting += out->refined.waiting;
  keep_searched(&r->keep, &refine, &out->refined);
  bool gave_up = rc && out->refined.end != REFINE_INTERRUPTED;
  if (out->refined.failure == MODEL_REFUSED || out->refined.failure == MODEL_BUDGET)
    r->refused = err;
  if (out->refined.end == REFINE_INTERRUPTED || run_stopped(r))
    outcome_fail(out, OUTCOME_FAILED, "interrupted");
  else if (out->refined.end == REFINE_WAITING)
    outcome_fail(out, OUTCOME_WAITING, out->refined.why);
  else if (refine_end_is_budget(out->refined.end) && !out->refined.n)
    out->why = kr_xasprintf("%s", out->refined.why); // not tried, as above
  else if (gave_up && !out->refined.n_finalists)
    outcome_fail(out, OUTCOME_FAILED, err.text);
  else if (decide(&(struct decide){j, r->can_time, run_writes(r), watch_confirm, &watch}, out, &err))
    outcome_fail(out, OUTCOME_FAILED, err.text);
  else if (gave_up && out->state == OUTCOME_KEPT)
    outcome_fail(out, OUTCOME_FAILED, out->refined.why); // what came of it is not all there was to try
  if (gave_up && out->state != OUTCOME_FAILED)
    kr_warn("%s: stopped early: %s", t->kernel->qualified, out->refined.why);
  else if (refine_end_is_budget(out->refined.end) && out->refined.n)
    talk_say("%s; the best until then counts", out->refined.why);
  judge_close(j);
}

// --- one file ---

// The diff of a CHECKED outcome is what would be written, without provenance.
static void run_show_checked(struct run *r, struct outcome *out)
{
  struct kr_bytes diff;
  struct kr_err err = {""};
  kr_bytes_init(&diff, KR_BYTES_DEFAULT_MAX);
  if (outcome_diff(out, &diff, &err))
    outcome_fail(out, OUTCOME_FAILED, err.text);
  else if (r->options->format == FORMAT_TEXT)
    talk_out_diff(diff.data, diff.len);
  kr_bytes_release(&diff);
}

static void run_finish_file(struct run *r, struct input *in, struct outcome *outs, size_t n)
{
  struct kr_err err = {""};
  struct file_write w = {
      .project = r->project, .in = in, .outcomes = outs, .n = n, .options = r->options};
  bool tried = false;
  for (size_t i = 0; i < n; i++) {
    tried |= outs[i].state == OUTCOME_REWRITTEN || outs[i].state == OUTCOME_KEPT;
    if (outs[i].state == OUTCOME_CHECKED)
      run_show_checked(r, &outs[i]);
  }
  if (!tried || !(r->can_time || run_writes(r)))
    return;
  if (write_patch(&w, &err)) {
    kr_error("%s", err.text);
  } else if (r->options->mode == MODE_IN_PLACE) {
    if (write_commit(&w, &err)) {
      kr_error("%s", err.text);
      for (size_t i = 0; i < n; i++)
        if (outs[i].state == OUTCOME_REWRITTEN || outs[i].state == OUTCOME_KEPT)
          outcome_fail(&outs[i], OUTCOME_FAILED, err.text);
    }
  } else if (r->options->format == FORMAT_TEXT) {
    struct kr_bytes diff;
    kr_bytes_init(&diff, KR_BYTES_DEFAULT_MAX);
    kr_diff(in->rel, in->src.data, in->src.len, w.patched.data, w.patched.len, &diff);
    talk_out_diff(diff.data, diff.len);
    kr_bytes_release(&diff);
  }
  write_release(&w);
}

static void run_tell(const struct run *r, size_t first, size_t end)
{
  bool written = r->options->mode == MODE_IN_PLACE;
  for (size_t i = first; i < end; i++) {
    const struct outcome *out = &r->outcomes[i];
    struct kr_bytes b, escaped;
    if (!out->task->kernel)
      continue;
    kr_bytes_init(&b, 1 << 20);
    kr_bytes_init(&escaped, 1 << 22);
    outcome_line(out, written, &b);
    talk_escape(&escaped, b.data, b.len, true);
    // Refusals were told with their carets when they were found.
    if (out->state == OUTCOME_REFUSED && !r->options->verbose)
      ;
    else if (written && r->options->format == FORMAT_TEXT && out->state != OUTCOME_FAILED)
      talk_out(escaped.data, escaped.len);
    else if (out->state == OUTCOME_FAILED)
      kr_error("%.*s", (int)(b.len ? b.len - 1 : 0), b.data);
    else
      talk_text(b.data, b.len);
    kr_bytes_reset(&b);
    if (r->options->verbose > 0 && !talk_is_live())
      outcome_turns(out, talk_columns(), &b);
    else if (r->options->verbose > 0 && out->winner != SIZE_MAX)
      table_row(out->refined.turns, out->winner, true, talk_columns(), &b);
    talk_text(b.data, b.len);
    kr_bytes_release(&escaped);
    kr_bytes_release(&b);
  }
}

// --- all of it ---

static void run_files(struct run *r)
{
  for (size_t first = 0, end; first < r->tasks.n; first = end) {
    struct input *in = r->tasks.items[first].in;
    for (end = first; end < r->tasks.n && r->tasks.items[end].in == in; end++)
      if (outcome_open(r, end) && !run_stopped(r))
        run_kernel(r, &r->outcomes[end]);
      else if (outcome_open(r, end))
        outcome_fail(&r->outcomes[end], OUTCOME_FAILED, "interrupted");
    run_finish_file(r, in, r->outcomes + first, end - first);
    talk_progress_end();
    run_tell(r, first, end);
  }
}

static bool run_has_budget(const struct options *o)
{
  return o->max_calls_given || o->max_tokens_given || o->time_budget_given;
}

static int run_summary(const struct run *r)
{
  size_t counts[OUTCOME_FAILED + 1] = {0}, modelled = 0;
  struct kr_bytes b;
  for (size_t i = 0; i < r->tasks.n; i++) {
    counts[r->outcomes[i].state]++;
    modelled += r->outcomes[i].state == OUTCOME_REWRITTEN && r->outcomes[i].decided.modelled;
  }
  kr_bytes_init(&b, 4096);
  static const char *const words[] = {
      [OUTCOME_OPEN] = "not tried",  [OUTCOME_FRESH] = "fresh",     [OUTCOME_REWRITTEN] = "rewritten", [OUTCOME_KEPT] = "kept",
      [OUTCOME_CHECKED] = "checked", [OUTCOME_WAITING] = "waiting", [OUTCOME_REFUSED] = "refused",     [OUTCOME_FAILED] = "failed"};
  for (size_t i = 0; i <= OUTCOME_FAILED; i++) {
    if (counts[i])
      kr_bytes_addf(&b, "%s%zu %s", b.len ? ", " : "",
                    counts[i], i == OUTCOME_REWRITTEN && r->options->mode != MODE_IN_PLACE
                                   ? "verified"
                                   : words[i]);
    if (i == OUTCOME_REWRITTEN && modelled)
      kr_bytes_addf(&b, " (%zu modelled, not measured)", modelled);
  }
  if (b.len)
    talk_say("%s; %u call%s", b.data, r->budget.calls, r->budget.calls == 1 ? "" : "s");
  if (b.len && r->model && (model_reads_prompts(r->model) || run_has_budget(r->options))) {
    kr_bytes_reset(&b);
    budget_tell(&r->budget, &b);
    talk_say("spent: %s", b.data);
  }
  kr_bytes_release(&b);
  if (r->waiting)
    talk_say("%u prompt%s in %s: put the replies there as the same names with .reply.md, and run "
             "this again", r->waiting, r->waiting == 1 ? " waits" : "s wait", model_folder(r->model));
  if (run_stopped(r))
    return EXIT_INTERRUPTED;
  bool partial = r->tasks.n_failed || counts[OUTCOME_REFUSED] || counts[OUTCOME_FAILED];
  for (size_t i = 0; i < r->project->n; i++)
    partial |= r->project->inputs[i].failed;
  return partial ? EXIT_PARTIAL : EXIT_DONE;
}

static void run_json(const struct run *r)
{
  struct results js;
  results_start(&js, r->options->mode == MODE_IN_PLACE ? "in-place" : "dry-run");
  results_open(&js, "kernels", '[');
  for (size_t i = 0; i < r->tasks.n; i++)
    if (r->outcomes[i].task->kernel)
      outcome_json(&r->outcomes[i], &js);
  results_close(&js, ']');
  results_integer(&js, "calls", r->budget.calls);
  results_open(&js, "spent", '{');
  results_integer(&js, "calls", r->budget.calls);
  results_integer(&js, "tokens_in", (int64_t)r->budget.tokens_in);
  results_integer(&js, "tokens_out", (int64_t)r->budget.tokens_out);
  results_bool(&js, "estimated", r->budget.estimated);
  results_number(&js, "seconds", budget_ms(&r->budget) / 1000);
  results_close(&js, '}');
  results_end(&js);
}

static void run_begin_budget(struct run *r)
{
  const struct options *o = r->options;
  budget_begin(&r->budget);
  if (o->max_calls_given)
    r->budget.max_calls = o->max_calls;
  if (o->max_tokens_given)
    r->budget.max_tokens = o->max_tokens;
  if (o->time_budget_given)
    r->budget.max_ms = o->time_budget_ms;
}

// The report is of what was done: it cannot be written any more, and that stays.
static int run_report(const struct run *r, int status)
{
  struct kr_err err = {""};
  struct kr_bytes spent;
  if (!r->options->report)
    return status;
  kr_bytes_init(&spent, 1024);
  budget_tell(&r->budget, &spent);
  struct report report = {.outcomes = r->outcomes,
                          .n = r->tasks.n,
                          .written = r->options->mode == MODE_IN_PLACE,
                          .interrupted = run_stopped(r),
                          .n_unread = r->project->n_failed,
                          .spent = spent.data};
  int rc = report_write(&report, r->options->report, &err);
  kr_bytes_release(&spent);
  if (rc)
    kr_error("%s", err.text);
  return rc && status == EXIT_DONE ? EXIT_PARTIAL : status;
}

// No marker anywhere: a newcomer's first run.
static int run_unmarked(struct run *r)
{
  struct tasks all;
  size_t failed = r->tasks.n_failed;
  tasks_collect(&all, r->project, r->options, true);
  if (all.environment)
    talk_say("no marked kernel");
  else if (!all.n_kernels && r->project->n_failed)
    ; // what could not be read was told, and nothing is known of it
  else if (!all.n_kernels)
    talk_say("no kernels found; those in an included file are found by naming that file");
  else
    talk_say("%zu kernel%s found, none marked; try --suggest", all.n_kernels,
             all.n_kernels == 1 ? "" : "s");
  tasks_release(&all);
  return failed ? EXIT_PARTIAL : EXIT_DONE;
}

int run_refine(struct project *p, const struct options *o, const volatile sig_atomic_t *stop)
{
  int status = EXIT_DONE;
  struct run r = {.project = p, .options = o, .stop = stop, .seed = o->seed};
  if (!o->seed_given && getrandom(&r.seed, sizeof r.seed, 0) != sizeof r.seed)
    r.seed = (uint64_t)getpid() * 0x9e3779b97f4a7c15u;
  run_begin_budget(&r);
  kr_debug("verify", "seed %llu", (unsigned long long)r.seed);
  struct kr_err err = {""};
  if (o->report && report_check(o->report, &err)) {
    kr_error("%s", err.text);
    return EXIT_USAGE;
  }
  tasks_collect(&r.tasks, p, o, false);
  r.outcomes = kr_xcalloc(r.tasks.n, sizeof *r.outcomes);
  for (size_t i = 0; i < r.tasks.n; i++) {
    outcome_init(&r.outcomes[i], &r.tasks.items[i]);
    if (!r.tasks.items[i].ok)
      outcome_fail(&r.outcomes[i], OUTCOME_REFUSED, r.tasks.items[i].refused);
  }
  size_t marked = 0;
  for (size_t i = 0; i < p->n; i++)
    marked += p->inputs[i].n_marked || p->inputs[i].diags.n_errors;
  if (r.tasks.environment) {
    status = EXIT_NO_ENVIRONMENT;
    goto out;
  }
  if (!marked) {
    status = run_unmarked(&r);
    if (o->format == FORMAT_JSON)
      run_json(&r);
    status = run_report(&r, status);
    goto out;
  }
  run_skip_fresh(&r);
  if (o->mode == MODE_IN_PLACE) {
    for (size_t i = 0; i < p->n; i++)
      if (p->inputs[i].n_marked)
        kr_replace_sweep(p->inputs[i].src.real);
    if (run_count_open(&r))
      run_refuse_dirty(&r);
  }
  size_t open = run_count_open(&r);
  if (open) {
    status = run_open_model(&r);
    if (!status)
      status = run_open_evaluator(&r);
    if (!status)
      status = run_plan(&r, open);
    if (status)
      goto out;
  }
  run_begin_budget(&r);
  r.keep.begun = true;
  run_files(&r);
  status = run_summary(&r);
  if (o->format == FORMAT_JSON)
    run_json(&r);
  status = run_report(&r, status);
out:
  talk_progress_end();
  for (size_t i = 0; i < r.tasks.n; i++)
    outcome_release(&r.outcomes[i]);
  free(r.outcomes);
  if (keep_close(&r.keep, &r.keep_err) && status == EXIT_DONE) {
    kr_error("%s", r.keep_err.text);
    status = EXIT_PARTIAL;
  }
  model_close(r.model);
  prompt_set_free(r.templates);
  tasks_release(&r.tasks);
  return status;
}
