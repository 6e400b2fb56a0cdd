#ifndef KR_DRIVER_TASKS_H
#define KR_DRIVER_TASKS_H

#include "project.h"

// The marked kernels of a run, each with its contract or the reason why it has
// none. What is wrong is told as it is found.

struct task {
  struct input *in;
  const struct kr_marker *marker;
  const struct kr_pkernel *kernel; // NULL: the marker stands above none
  bool ok;                         // `contract` is there
  struct kr_contract contract;
  char *refused; // when not ok: a sentence; owned
};

struct tasks {
  struct task *items;
  size_t n;
  size_t n_off;      // markers that say off
  size_t n_kernels;  // all kernels in the files, marked or not, as far as files were parsed
  size_t n_failed;   // files and kernels that were refused or went wrong
  bool environment;  // the parser could not be run at all; `why` says so
  struct kr_err why;
};

// Parses every file that has a marker (all files with `all`) and assembles the
// contracts of the kernels that --kernel selects.
void tasks_collect(struct tasks *t, struct project *p, const struct options *o, bool all);
void tasks_release(struct tasks *t);

#endif
