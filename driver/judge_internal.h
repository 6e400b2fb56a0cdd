#ifndef KR_DRIVER_JUDGE_INTERNAL_H
#define KR_DRIVER_JUDGE_INTERNAL_H

#include "judge.h"

// What judge.c and confirm.c share.

struct judge {
  struct judge_setup setup;
  struct kr_worker *worker;
  struct kr_reference reference;
  bool have_reference;
  enum kr_stage until;
};

// Seeds of one run must not repeat: judgement, finalist and worker each get their own.
uint64_t judge_seed(uint64_t seed, uint64_t a, uint64_t b);
// The one that the original was opened under; what is known of it holds under that.
uint64_t judge_open_seed(const struct judge_setup *setup);

#endif
