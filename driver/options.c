#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../evaluator/gpu_model.h"
#include "../evaluator/base/mem.h"

enum option_id {
  OPT_DRY_RUN = 'n',
  OPT_IN_PLACE = 'i',
  OPT_BUILD_DIR = 'p',
  OPT_VERBOSE = 'v',
  OPT_QUIET = 'q',
  OPT_HELP = 'h',
  OPT_JOBS = 'j',
  OPT_CHECK = 256,
  OPT_VERIFY,
  OPT_LIST,
  OPT_SUGGEST,
  OPT_REVERT,
  OPT_SHOW_PROMPT,
  OPT_EXPLAIN,
  OPT_PRESET,
  OPT_BEAM,
  OPT_STORE,
  OPT_EXPORT,
  OPT_REPORT,
  OPT_FORCE,
  OPT_KERNEL,
  OPT_FILES,
  OPT_AGAIN,
  OPT_ALLOW_DIRTY,
  OPT_ALLOW_NETWORK,
  OPT_EXTRA_ARG,
  OPT_CUDA_PATH,
  OPT_ARCH,
  OPT_EVALUATOR,
  OPT_DEVICE,
  OPT_GPU,
  OPT_MODEL,
  OPT_BASE_URL,
  OPT_API_KEY_FILE,
  OPT_TRAJECTORIES,
  OPT_TURNS,
  OPT_PROFILE,
  OPT_PROMPTS,
  OPT_MAX_CALLS,
  OPT_MAX_TOKENS,
  OPT_TIME_BUDGET,
  OPT_YES,
  OPT_SEED,
  OPT_MIN_SPEEDUP,
  OPT_FORMAT,
  OPT_COLOR,
  OPT_PROGRESS,
  OPT_DEBUG,
  OPT_VERSION
};

// One row an option, in the order of --help. A row without a name is a heading.
static const struct option_row {
  int id;
  const char *name, *arg, *help;
} rows[] = {
    {0, NULL, NULL, "Modes (one of them; without one, the diff is printed)"},
    {OPT_DRY_RUN, "dry-run", NULL, "refine and print a unified diff; write nothing"},
    {OPT_IN_PLACE, "in-place", NULL, "write what was proved"},
    {OPT_CHECK, "check", NULL, "offline: is every marked kernel's entry present and fresh?"},
    {OPT_VERIFY, "verify", NULL, "measure again what rewritten kernels claim; write nothing"},
    {OPT_LIST, "list", NULL, "marked kernels with their contracts, launches and refusals"},
    {OPT_SUGGEST, "suggest", NULL, "a marker to paste above each unmarked kernel"},
    {OPT_REVERT, "revert", NULL, "put the originals back"},
    {OPT_SHOW_PROMPT, "show-prompt", NULL, "print the first prompt of each kernel; ask no model"},
    {OPT_EXPLAIN, "explain", "KERNEL", "tell every turn that is kept of it, its stage and reason; no FILE needed"},
    {0, NULL, NULL, "What to work on"},
    {OPT_KERNEL, "kernel", "GLOB", "only kernels whose qualified name matches"},
    {OPT_FILES, "files", "FILE", "read file names from FILE, one a line; - is standard input"},
    {OPT_AGAIN, "again", NULL, "also kernels that were tried before"},
    {OPT_ALLOW_DIRTY, "allow-dirty", NULL, "also files that differ from what git holds"},
    {OPT_FORCE, "force", NULL, "with --revert: also kernels edited by hand since"},
    {0, NULL, NULL, "Compiling"},
    {OPT_BUILD_DIR, "build-dir", "DIR", "folder with compile_commands.json"},
    {OPT_EXTRA_ARG, "extra-arg", "ARG", "one more compiler flag; repeatable, as flags after --"},
    {OPT_CUDA_PATH, "cuda-path", "DIR", "the CUDA toolkit; `none` works without one"},
    {OPT_ARCH, "arch", "sm_NN", "architecture to parse for; default sm_90"},
    {0, NULL, NULL, "Judging"},
    {OPT_EVALUATOR, "evaluator", "WHAT", "auto, cuda or cpu; auto is the GPU if there is one"},
    {OPT_DEVICE, "device", "N", "which GPU; default 0"},
    {OPT_GPU, "gpu", "NAME", "whose time is modelled without one: a name or sm_NN; default --arch's, else H200"},
    {OPT_MIN_SPEEDUP, "min-speedup", "X", "least speed-up worth writing; the marker's, else 1.02"},
    {OPT_SEED, "seed", "N", "seed of all inputs and sizes; drawn anew without it"},
    {0, NULL, NULL, "Asking"},
    {OPT_MODEL, "model", "SPEC", "builtin (the default), openai:NAME, anthropic:NAME, exec:CMD, mailbox:DIR, or replay:FILE; several share the attempts"},
    {OPT_BASE_URL, "base-url", "URL", "the server, up to and with /v1; else OPENAI_BASE_URL or ANTHROPIC_BASE_URL"},
    {OPT_API_KEY_FILE, "api-key-file", "FILE", "file with the key, mode 0600; else OPENAI_API_KEY or ANTHROPIC_API_KEY"},
    {OPT_TRAJECTORIES, "trajectories", "N", "independent attempts a kernel; default 4"},
    {OPT_TURNS, "turns", "N", "turns an attempt; default 4"},
    {OPT_BEAM, "beam", "KEEP:EVERY", "after every EVERY turns the best KEEP attempts go on, copied; or none"},
    {OPT_PRESET, "preset", "NAME", "kevin: 16 attempts of 8 turns, every 4 turns the best 4 go on"},
    {OPT_PROFILE, "profile", "NAME", "how prompts are put: default, or kevin for Kevin-32B"},
    {OPT_PROMPTS, "prompts", "DIR", "templates of prompts that go before the built-in ones"},
    {OPT_MAX_CALLS, "max-calls", "N", "stop after N calls of the model"},
    {OPT_MAX_TOKENS, "max-tokens", "N", "stop after N tokens of prompts and replies"},
    {OPT_TIME_BUDGET, "time-budget", "TIME", "stop asking after TIME: 90s, 30m or 2h; a plain number is seconds"},
    {OPT_JOBS, "jobs", "N", "ask a server N things at once; default as many as attempts, up to 64"},
    {OPT_STORE, "store", "FILE", "where a run is kept as it happens, to be gone on with"},
    {OPT_YES, "yes", NULL, "start without asking, whatever the plan says"},
    {OPT_ALLOW_NETWORK, "allow-network", NULL, "ask a model over the network in a pre-commit hook"},
    {0, NULL, NULL, "Telling"},
    {OPT_FORMAT, "format", "FORMAT", "text or json, on standard output"},
    {OPT_EXPORT, "export-trajectories", "FILE", "write all turns with their rewards, as JSON lines"},
    {OPT_REPORT, "report", "FILE", "write what became of each kernel as one HTML page, to be read in a browser"},
    {OPT_COLOR, "color", "WHEN", "auto, always or never"},
    {OPT_PROGRESS, "progress", "WHEN", "auto, always or never"},
    {OPT_VERBOSE, "verbose", NULL, "say more: commands, flags, times; twice: prompts"},
    {OPT_QUIET, "quiet", NULL, "errors only"},
    {OPT_DEBUG, "debug", "LIST", "of extract, compile, verify, time, model, cache, all"},
    {OPT_HELP, "help", NULL, "this text"},
    {OPT_VERSION, "version", NULL, "version, and what was found of CUDA"},
};
enum { N_ROWS = sizeof rows / sizeof *rows };

static bool row_has_short(const struct option_row *r)
{
  return r->id > 0 && r->id < 256;
}

void options_help(struct kr_bytes *out)
{
  kr_bytes_adds(out,
                "usage: kevin-rewrite [options] FILE... [-- compiler flags]\n"
                "\n"
                "Rewrites marked CUDA kernels with faster variants that were verified. A marker\n"
                "is a comment above a kernel:\n"
                "\n"
                "  // kevin: optimize let(n = 1 << 24) data(*[n])\n"
                "  __global__ void saxpy(int n, float a, const float *x, float *y)\n");
  for (size_t i = 0; i < N_ROWS; i++) {
    const struct option_row *r = &rows[i];
    if (!r->name) {
      kr_bytes_addf(out, "\n%s:\n", r->help);
      continue;
    }
    char left[40];
    char letter[5] = "    ";
    if (row_has_short(r)) {
      letter[0] = '-';
      letter[1] = (char)r->id;
      letter[2] = ',';
    }
    snprintf(left, sizeof left, "%s--%s%s%s", letter, r->name, r->arg ? "=" : "",
             r->arg ? r->arg : "");
    kr_bytes_addf(out, "  %-26s %s\n", left, r->help);
  }
  kr_bytes_adds(out, "\n"
                     "Exit status: 0 done; 1 --check found work, or --verify a claim that does not\n"
                     "hold; 2 usage; 3 some kernels or files failed or were refused; 4 the environment\n"
                     "failed before any kernel; 130 interrupted, files whole. kevin-rewrite(1) has the whole story.\n");
}

static int option_unsigned(const char *name, const char *text, unsigned long long max,
                           unsigned long long *out, struct kr_err *err)
{
  char *end;
  errno = 0;
  unsigned long long v = strtoull(text, &end, 10);
  if (*text < '0' || *text > '9' || *end || errno || v > max)
    return kr_err_set(err, "--%s takes a whole number up to %llu, not `%s`", name, max, text);
  *out = v;
  return 0;
}

// "90s", "30m", "1.5h"; a plain number is seconds.
static int option_time(const char *name, const char *text, double *ms, struct kr_err *err)
{
  size_t n = strspn(text, "0123456789."), digits = strspn(text, "0123456789");
  const char *unit = text + n;
  char *end;
  double v = strtod(text, &end);
  double ms_a_unit = !*unit || !strcmp(unit, "s") ? 1e3
                     : !strcmp(unit, "m")         ? 60e3
                     : !strcmp(unit, "h")         ? 3600e3
                                                  : 0;
  if (!digits || end != unit || text[n ? n - 1 : 0] == '.' || ms_a_unit == 0 ||
      !(v * ms_a_unit <= 365 * 86400e3))
    return kr_err_set(err, "--%s is a time of up to a year such as 90s, 30m or 2h, not `%s`", name,
                      text);
  *ms = v * ms_a_unit;
  return 0;
}

// An option without its argument takes the file behind it.
static bool option_is_source(const char *path)
{
  static const char *const endings[] = {".cu", ".cuh", ".c",   ".cc",  ".cpp", ".cxx",
                                        ".h",  ".hh",  ".hpp", ".hxx", ".inl"};
  const char *dot = path ? strrchr(path, '.') : NULL;
  for (size_t i = 0; dot && i < sizeof endings / sizeof *endings; i++)
    if (!strcmp(dot, endings[i]))
      return true;
  return false;
}

static int option_choice(const char *name, const char *text, const char *const *words, int *out,
                         struct kr_err *err)
{
  struct kr_bytes known;
  kr_bytes_init(&known, 200);
  for (int i = 0; words[i]; i++) {
    if (!strcmp(text, words[i])) {
      *out = i;
      kr_bytes_release(&known);
      return 0;
    }
    kr_bytes_addf(&known, "%s%s", i ? words[i + 1] ? ", " : " or " : "", words[i]);
  }
  kr_err_set(err, "--%s is %s, not `%s`", name, known.data, text);
  kr_bytes_release(&known);
  return -1;
}

static int option_mode(struct options *o, enum mode mode, struct kr_err *err)
{
  static const char *const names[] = {[MODE_DIFF] = "--dry-run",   [MODE_IN_PLACE] = "--in-place",
                                      [MODE_CHECK] = "--check",    [MODE_VERIFY] = "--verify",
                                      [MODE_LIST] = "--list",
                                      [MODE_SUGGEST] = "--suggest", [MODE_REVERT] = "--revert",
                                      [MODE_SHOW_PROMPT] = "--show-prompt",
                                      [MODE_EXPLAIN] = "--explain"};
  // -n wins over -i, as it does in clang-format's habit of "say what you would do".
  bool dry_in_place = (o->mode == MODE_IN_PLACE && mode == MODE_DIFF) ||
                      (o->mode == MODE_DIFF && mode == MODE_IN_PLACE);
  if (o->mode_given && o->mode != mode && !dry_in_place)
    return kr_err_set(err, "%s and %s cannot go together", names[o->mode], names[mode]);
  o->mode = o->mode_given && dry_in_place ? MODE_DIFF : mode;
  o->mode_given = true;
  return 0;
}

static int option_beam(struct options *o, const char *arg, struct kr_err *err)
{
  unsigned keep, every;
  char rest;
  o->beam_given = true;
  o->beam_keep = o->beam_every = 0;
  if (!strcmp(arg, "none"))
    return 0;
  if (strspn(arg, "0123456789:") != strlen(arg) || strlen(arg) > 9 ||
      sscanf(arg, "%u:%u%c", &keep, &every, &rest) != 2 || !keep || !every)
    return kr_err_set(err, "--beam is KEEP:EVERY, such as 4:4, or none, not `%s`", arg);
  o->beam_keep = keep;
  o->beam_every = every;
  return 0;
}

static void push(const char ***items, size_t *n, const char *item)
{
  *items = kr_xreallocarray(*items, *n + 1, sizeof **items);
  (*items)[(*n)++] = item;
}

static int option_take(struct options *o, int id, const char *name, const char *arg,
                       struct kr_err *err)
{
  static const char *const whens[] = {"auto", "always", "never", NULL};
  static const char *const profiles[] = {"default", "kevin", NULL};
  static const char *const formats[] = {"text", "json", NULL};
  static const char *const evaluators[] = {"auto", "cuda", "cpu", NULL};
  unsigned long long v = 0;
  int choice = 0;
  switch (id) {
  case OPT_DRY_RUN:
    return option_mode(o, MODE_DIFF, err);
  case OPT_IN_PLACE:
    return option_mode(o, MODE_IN_PLACE, err);
  case OPT_CHECK:
    return option_mode(o, MODE_CHECK, err);
  case OPT_VERIFY:
    return option_mode(o, MODE_VERIFY, err);
  case OPT_LIST:
    return option_mode(o, MODE_LIST, err);
  case OPT_SUGGEST:
    return option_mode(o, MODE_SUGGEST, err);
  case OPT_REVERT:
    return option_mode(o, MODE_REVERT, err);
  case OPT_SHOW_PROMPT:
    return option_mode(o, MODE_SHOW_PROMPT, err);
  case OPT_EXPLAIN:
    o->explain = arg;
    return option_mode(o, MODE_EXPLAIN, err);
  case OPT_PRESET:
    if (strcmp(arg, "kevin"))
      return kr_err_set(err, "--preset is kevin, not `%s`", arg);
    o->preset = arg;
    return 0;
  case OPT_PROFILE:
    if (option_choice(name, arg, profiles, &choice, err))
      return -1;
    o->profile = profiles[choice];
    return 0;
  case OPT_PROMPTS:
    if (!*arg)
      return kr_err_set(err, "--prompts names no folder");
    o->prompts = arg;
    return 0;
  case OPT_BEAM:
    return option_beam(o, arg, err);
  case OPT_STORE:
    if (!*arg)
      return kr_err_set(err, "--store names no file");
    o->store = arg;
    return 0;
  case OPT_EXPORT:
    o->export_to = arg;
    return 0;
  case OPT_REPORT:
    o->report = arg;
    return 0;
  case OPT_FORCE:
    o->force = true;
    return 0;
  case OPT_KERNEL:
    o->kernel = arg;
    return 0;
  case OPT_FILES:
    o->files_from = arg;
    return 0;
  case OPT_AGAIN:
    o->again = true;
    return 0;
  case OPT_ALLOW_DIRTY:
    o->allow_dirty = true;
    return 0;
  case OPT_ALLOW_NETWORK:
    o->allow_network = true;
    return 0;
  case OPT_YES:
    o->yes = true;
    return 0;
  case OPT_EXTRA_ARG:
    push(&o->flags, &o->n_flags, arg);
    return 0;
  case OPT_BUILD_DIR:
    o->build_dir = arg;
    return 0;
  case OPT_CUDA_PATH:
    o->cuda_path = arg;
    return 0;
  case OPT_ARCH:
    if (strncmp(arg, "sm_", 3) || strspn(arg + 3, "0123456789") < 2 || strlen(arg) > 8)
      return kr_err_set(err, "--arch is an architecture such as sm_90, not `%s`", arg);
    o->arch = arg;
    return 0;
  case OPT_EVALUATOR:
    if (option_choice(name, arg, evaluators, &choice, err))
      return -1;
    o->evaluator = (enum evaluator_choice)choice;
    return 0;
  case OPT_GPU:
    if (!kr_gpu_find(arg))
      return kr_err_set(err, "--gpu: the model of GPUs knows no `%s`", arg);
    o->gpu = arg;
    return 0;
  case OPT_DEVICE:
    if (option_unsigned(name, arg, 1023, &v, err))
      return -1;
    o->device = (int)v;
    return 0;
  case OPT_MODEL:
    push(&o->models, &o->n_models, arg);
    return 0;
  case OPT_BASE_URL:
    o->base_url = arg;
    return 0;
  case OPT_API_KEY_FILE:
    o->api_key_file = arg;
    return 0;
  case OPT_TRAJECTORIES:
  case OPT_TURNS:
    if (option_unsigned(name, arg, 1024, &v, err))
      return -1;
    if (!v)
      return kr_err_set(err, "--%s must be at least 1", name);
    *(id == OPT_TURNS ? &o->turns : &o->trajectories) = (unsigned)v;
    return 0;
  case OPT_JOBS:
    if (option_unsigned(name, arg, 1024, &v, err))
      return -1;
    if (!v)
      return kr_err_set(err, "--jobs must be at least 1");
    o->jobs = (unsigned)v;
    return 0;
  case OPT_MAX_CALLS:
    if (option_unsigned(name, arg, UINT_MAX, &v, err))
      return -1;
    o->max_calls = (unsigned)v;
    o->max_calls_given = true;
    return 0;
  case OPT_MAX_TOKENS:
    if (option_unsigned(name, arg, 1000000000000000, &v, err))
      return -1;
    o->max_tokens = v;
    o->max_tokens_given = true;
    return 0;
  case OPT_TIME_BUDGET:
    o->time_budget_given = true;
    return option_time(name, arg, &o->time_budget_ms, err);
  case OPT_SEED:
    if (option_unsigned(name, arg, ULLONG_MAX, &v, err))
      return -1;
    o->seed = v;
    o->seed_given = true;
    return 0;
  case OPT_MIN_SPEEDUP: {
    char *end;
    o->min_speedup = strtod(arg, &end);
    if (end == arg || *end || !(o->min_speedup >= 1 && o->min_speedup < 1000))
      return kr_err_set(err, "--min-speedup is a factor from 1 on, such as 1.05, not `%s`", arg);
    return 0;
  }
  case OPT_FORMAT:
    if (option_choice(name, arg, formats, &choice, err))
      return -1;
    o->format = (enum format)choice;
    return 0;
  case OPT_COLOR:
  case OPT_PROGRESS:
    if (option_choice(name, arg, whens, &choice, err))
      return -1;
    *(id == OPT_COLOR ? &o->color : &o->progress) = (enum when)choice;
    return 0;
  case OPT_VERBOSE:
    o->verbose = o->verbose < 0 ? 1 : o->verbose + 1;
    return 0;
  case OPT_QUIET:
    o->verbose = -1;
    return 0;
  case OPT_DEBUG:
    o->debug = arg;
    return 0;
  default:
    return kr_err_set(err, "unknown option --%s", name);
  }
}

// The long options and the letters, made of the table.
static void options_tables(struct option *longs, char *letters)
{
  size_t n = 0, l = 0;
  letters[l++] = ':';
  for (size_t i = 0; i < N_ROWS; i++) {
    if (!rows[i].name)
      continue;
    longs[n++] = (struct option){rows[i].name, rows[i].arg ? required_argument : no_argument, NULL,
                                 rows[i].id};
    if (row_has_short(&rows[i])) {
      letters[l++] = (char)rows[i].id;
      if (rows[i].arg)
        letters[l++] = ':';
    }
  }
  longs[n] = (struct option){0};
  letters[l] = '\0';
}

// True when --help or --version stands before `--`: they win over the rest.
static bool options_find_word(int argc, char **argv, const char *a, const char *b)
{
  for (int i = 1; i < argc && strcmp(argv[i], "--"); i++)
    if (!strcmp(argv[i], a) || (b && !strcmp(argv[i], b)))
      return true;
  return false;
}

int options_parse(struct options *o, int argc, char **argv, struct kr_err *err)
{
  *o = (struct options){.profile = "default"};
  if (options_find_word(argc, argv, "--help", "-h")) {
    o->mode = MODE_HELP;
    return 0;
  }
  if (options_find_word(argc, argv, "--version", NULL)) {
    o->mode = MODE_VERSION;
    return 0;
  }
  // Everything after the first `--` is for the compiler, nothing before it is.
  int ours = argc;
  for (int i = 1; i < argc; i++)
    if (!strcmp(argv[i], "--")) {
      ours = i;
      break;
    }
  struct option longs[N_ROWS + 1];
  char letters[2 * N_ROWS + 2];
  options_tables(longs, letters);
  opterr = 0;
  optind = 0; // GNU: start over, also its private state
  for (int id; (id = getopt_long(ours, argv, letters, longs, NULL)) != -1;) {
    const char *given = argv[optind > 0 ? optind - 1 : 0];
    if (id == ':')
      return kr_err_set(err, "%s needs a value", given);
    if (id == '?') {
      if (optopt && optopt < 256)
        return kr_err_set(err, "unknown option -%c", optopt);
      return kr_err_set(err, optopt ? "%s takes no value" : "unknown option %s", given);
    }
    const char *name = "";
    for (size_t i = 0; i < N_ROWS; i++)
      if (rows[i].name && rows[i].id == id)
        name = rows[i].name;
    if (option_take(o, id, name, optarg, err))
      return -1;
  }
  for (int i = optind; i < ours; i++)
    push(&o->files, &o->n_files, argv[i]);
  for (int i = ours + 1; i < argc; i++)
    push(&o->flags, &o->n_flags, argv[i]);
  if (!o->n_models)
    push(&o->models, &o->n_models, "builtin");
  // What was said goes before a preset, wherever it stands.
  if (!o->trajectories)
    o->trajectories = o->preset ? 16 : 4;
  if (!o->turns)
    o->turns = o->preset ? 8 : 4;
  if (o->preset && !o->beam_given)
    o->beam_keep = o->beam_every = 4;
  if (!o->n_files && !o->files_from && o->mode != MODE_EXPLAIN)
    return kr_err_set(err, "no file was named");
  if (o->report && o->mode != MODE_DIFF && o->mode != MODE_IN_PLACE)
    return kr_err_set(err, "--report goes with a run that refines: no mode, -n or -i");
  const char *const written[][2] = {
      {"--report", o->report}, {"--export-trajectories", o->export_to}, {"--store", o->store}};
  for (size_t i = 0; i < sizeof written / sizeof *written; i++)
    if (option_is_source(written[i][1]))
      return kr_err_set(err, "%s would write over %s, which is named like a source; was its argument "
                        "forgotten?", written[i][0], written[i][1]);
  if (o->force && o->mode != MODE_REVERT)
    return kr_err_set(err, "--force goes with --revert");
  return 0;
}

const char *options_modelled_gpu(const struct options *o)
{
  return o->gpu ? o->gpu : o->arch && kr_gpu_find(o->arch) ? o->arch : NULL;
}

void options_release(struct options *o)
{
  free(o->files);
  free(o->flags);
  free(o->models);
  *o = (struct options){0};
}
