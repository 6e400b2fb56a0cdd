#ifndef KR_TEST_UNIT_H
#define KR_TEST_UNIT_H

// The little that a unit program needs: checks that say what they saw, counted,
// and a main that returns 1 when one failed or none ran.

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int unit_checks, unit_failures;

#define CHECK(cond)                                                                                \
  do {                                                                                             \
    unit_checks++;                                                                                 \
    if (!(cond)) {                                                                                 \
      unit_failures++;                                                                             \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #cond);                                   \
    }                                                                                              \
  } while (0)

#define CHECK_INT(got, want)                                                                       \
  do {                                                                                             \
    long long got_ = (long long)(got), want_ = (long long)(want);                                  \
    unit_checks++;                                                                                 \
    if (got_ != want_) {                                                                           \
      unit_failures++;                                                                             \
      fprintf(stderr, "%s:%d: %s is %lld, not %lld\n", __FILE__, __LINE__, #got, got_, want_);     \
    }                                                                                              \
  } while (0)

#define CHECK_STR(got, want)                                                                       \
  do {                                                                                             \
    const char *got_ = (got), *want_ = (want);                                                     \
    unit_checks++;                                                                                 \
    if (!got_ || strcmp(got_, want_)) {                                                            \
      unit_failures++;                                                                             \
      fprintf(stderr, "%s:%d: %s is \"%s\", not \"%s\"\n", __FILE__, __LINE__, #got,               \
              got_ ? got_ : "(null)", want_);                                                      \
    }                                                                                              \
  } while (0)

#define CHECK_NEAR(got, want, rel)                                                                 \
  do {                                                                                             \
    double got_ = (got), want_ = (want);                                                           \
    unit_checks++;                                                                                 \
    if (!(fabs(got_ - want_) <= (rel) * fabs(want_))) {                                            \
      unit_failures++;                                                                             \
      fprintf(stderr, "%s:%d: %s is %.17g, not %.17g\n", __FILE__, __LINE__, #got, got_, want_);   \
    }                                                                                              \
  } while (0)

static inline int unit_end(void)
{
  if (!unit_checks)
    fprintf(stderr, "no check was made\n");
  return unit_failures || !unit_checks;
}

#endif
