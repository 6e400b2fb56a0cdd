#ifndef KR_DRIVER_VERIFY_H
#define KR_DRIVER_VERIFY_H

#include <signal.h>

#include "project.h"

// --verify: measures again what provenance comments claim. Nothing is written.
//
// The original comes out of .kevin/baselines, put back in memory in what the file holds
// now; the contract is assembled from its marker; the body that stands in the file is
// screened and judged as any candidate and then as a finalist (judge.h), from fresh
// seeds, on the GPU that there is, or on the CPU where --evaluator says so or there is
// none. What both hang on (headers, constants) is what it is today.
//
// One line a kernel:
//   holds              it is right, it is faster than the original (the interval lies
//                      above 1, no case is surely slower), and the interval's upper end
//                      is not below the claim's lower end
//   does not hold      it is wrong, refused, or no longer runs; or the interval's upper
//                      end lies below the claim's lower end, or a case is surely slower
//   cannot be verified everything else, with the reason. Figures of another kind than
//                      the claim's (another GPU, a model against a clock) are told with
//                      it and decide nothing; what was found wrong on the way decides.
// A launch is judged as the file has it. Where a rewrite changed it and it names no
// parameter (the program passes 1000, not n), what goes wrong at other sizes is no finding.
//
// Ends that do not overlap: both are 95 % intervals over processes, and two honest ones
// of the same ratio miss each other, the new one below, in about three cases of a
// thousand, so that a CI that asks every day is seldom red by chance; a speed-up that
// shrank by more than both widths is found. The claim's end is taken as printed, with half of its last digit
// given. An interval so wide that it also holds 1 says nothing, and so proves nothing.
//
// Returns an exit status: EXIT_DONE when all hold or there is nothing to verify,
// EXIT_WORK_LEFT when a claim does not, else EXIT_PARTIAL when one could not be verified
// or a file not read, EXIT_NO_ENVIRONMENT when no evaluator is there for any.
int verify_run(struct project *p, const struct options *o, const volatile sig_atomic_t *stop);

#endif
