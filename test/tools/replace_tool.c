// replace_tool [--path] [--mode=OCT] [--append=TEXT] [--relink=TARGET] [--hold-ms=N] FILE NEW
// replace_tool --sweep FILE
//
// Reads FILE, then puts the bytes of NEW in its place as the program does.
// --path: as a file of our own that need not exist. --append, --relink: change
// FILE between reading and replacing, as an editor would. --hold-ms: waits
// there. Exit 0 written, 1 nothing to do, 2 refused.

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "rewriter/rewriter.h"

// As a main() does: what is half made goes, then the signal has its way.
static void on_signal(int sig)
{
  kr_replace_cleanup();
  signal(sig, SIG_DFL);
  raise(sig);
}

int main(int argc, char **argv)
{
  bool own = false, sweep = false;
  unsigned mode = 0644;
  long hold_ms = 0;
  const char *append = NULL, *relink = NULL;
  int i = 1;
  for (; i < argc && !strncmp(argv[i], "--", 2); i++) {
    if (!strcmp(argv[i], "--path"))
      own = true;
    else if (!strcmp(argv[i], "--sweep"))
      sweep = true;
    else if (!strncmp(argv[i], "--mode=", 7))
      mode = (unsigned)strtoul(argv[i] + 7, NULL, 8);
    else if (!strncmp(argv[i], "--append=", 9))
      append = argv[i] + 9;
    else if (!strncmp(argv[i], "--relink=", 9))
      relink = argv[i] + 9;
    else if (!strncmp(argv[i], "--hold-ms=", 10))
      hold_ms = atol(argv[i] + 10);
    else
      return 64;
  }
  if (argc - i != (sweep ? 1 : 2))
    return 64;
  const char *path = argv[i];
  if (sweep) {
    kr_replace_sweep(path);
    return 0;
  }
  struct sigaction act = {.sa_handler = on_signal};
  sigaction(SIGTERM, &act, NULL);
  struct kr_err err = {""};
  struct kr_source src = {0}, fresh = {0};
  int rc = -1;
  if (kr_source_read(&fresh, argv[i + 1], &err) || (!own && kr_source_read(&src, path, &err)))
    goto out;
  if (append) {
    FILE *f = fopen(path, "a");
    if (!f || fputs(append, f) < 0 || fclose(f))
      return 64;
  }
  if (relink && (unlink(path) || symlink(relink, path)))
    return 64;
  if (hold_ms)
    nanosleep(&(struct timespec){hold_ms / 1000, hold_ms % 1000 * 1000000}, NULL);
  rc = own ? kr_replace_path(path, fresh.data, fresh.len, mode, &err)
           : kr_replace(&src, fresh.data, fresh.len, &err);
out:
  if (rc < 0)
    fprintf(stderr, "replace_tool: %s\n", err.text);
  kr_source_release(&src);
  kr_source_release(&fresh);
  return rc < 0 ? 2 : rc;
}
