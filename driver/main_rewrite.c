// kevin-rewrite: reads the command line and hands over to the mode.

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../evaluator/base/log.h"
#include "../evaluator/evaluator.h"
#include "check.h"
#include "exit.h"
#include "keep.h"
#include "list.h"
#include "options.h"
#include "project.h"
#include "run.h"
#include "talk.h"
#include "verify.h"

static volatile sig_atomic_t interrupted;

// The first time: stop after what is under way. The second: at once, leaving no
// temporaries, by the same signal.
static void on_interrupt(int sig)
{
  if (interrupted) {
    kr_replace_cleanup();
    signal(sig, SIG_DFL);
    raise(sig);
  }
  interrupted = 1;
}

static void on_terminate(int sig)
{
  kr_replace_cleanup();
  signal(sig, SIG_DFL);
  raise(sig);
}

static void install_signals(void)
{
  struct sigaction sa = {.sa_handler = on_interrupt};
  sigemptyset(&sa.sa_mask);
  sigaction(SIGINT, &sa, NULL);
  sa.sa_handler = on_terminate;
  sigaction(SIGTERM, &sa, NULL);
  sigaction(SIGHUP, &sa, NULL);
  signal(SIGPIPE, SIG_IGN);
}

static int help(void)
{
  struct kr_bytes b;
  kr_bytes_init(&b, 1 << 16);
  options_help(&b);
  talk_out(b.data, b.len);
  kr_bytes_release(&b);
  return EXIT_DONE;
}

static int version(void)
{
  struct kr_device_facts facts = {0};
  struct kr_err err = {""};
  struct kr_bytes b;
  char *cuda = find_cuda(NULL);
  struct kr_worker_options w = {.backend = "cuda", .device = {.cuda_path = cuda}};
  kr_bytes_init(&b, 1 << 16);
  kr_bytes_addf(&b, "kevin-rewrite %s\n", KR_VERSION);
  kr_bytes_addf(&b, "libclang: %s\n", KR_LLVM_VERSION);
  kr_bytes_addf(&b, "CUDA toolkit: %s\n", cuda ? cuda : "none found");
  if (kr_worker_probe(&w, &facts, &err))
    kr_bytes_addf(&b, "GPU: none (%s)\n", err.text);
  else
    kr_bytes_addf(&b, "GPU: %s %s, driver %s, %s\n", facts.name, facts.arch, facts.driver,
                  facts.compiler);
  talk_out(b.data, b.len);
  kr_bytes_release(&b);
  free(cuda);
  return EXIT_DONE;
}

static int run_mode(struct project *p, const struct options *o)
{
  switch (o->mode) {
  case MODE_CHECK:
    return check_run(p, o);
  case MODE_VERIFY:
    return verify_run(p, o, &interrupted);
  case MODE_LIST:
    return list_run(p, o);
  case MODE_SUGGEST:
    return suggest_run(p, o);
  case MODE_SHOW_PROMPT:
    return show_prompt_run(p, o);
  case MODE_REVERT:
    return run_revert(p, o);
  case MODE_DIFF:
  case MODE_IN_PLACE:
    return run_refine(p, o, &interrupted);
  case MODE_EXPLAIN:
  case MODE_HELP:
  case MODE_VERSION:
    break;
  }
  return EXIT_USAGE;
}

int main(int argc, char **argv)
{
  struct options o;
  struct project p;
  struct kr_err err = {""};
  talk_guard();
  if (options_parse(&o, argc, argv, &err)) {
    fprintf(stderr, "error: %s\nTry `kevin-rewrite --help`.\n", err.text);
    options_release(&o);
    return EXIT_USAGE;
  }
  talk_start(&o);
  install_signals();
  int status;
  if (o.mode == MODE_HELP) {
    status = help();
  } else if (o.mode == MODE_VERSION) {
    status = version();
  } else if (o.mode == MODE_EXPLAIN) {
    status = keep_explain(&o);
  } else if (project_open(&p, &o, &err)) {
    kr_error("%s", err.text);
    status = EXIT_USAGE;
  } else {
    status = run_mode(&p, &o);
    project_close(&p);
  }
  options_release(&o);
  return status;
}
