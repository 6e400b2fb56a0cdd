#ifndef KR_DRIVER_EXIT_H
#define KR_DRIVER_EXIT_H

// Exit statuses, as in docs/kevin-rewrite.1, EXIT STATUS. test/driver/exit-codes.test
// provokes each.
enum exit_status {
  EXIT_DONE = 0,        // all done, also when nothing was faster
  EXIT_WORK_LEFT = 1,   // --check found work, or --verify a claim that does not hold
  EXIT_USAGE = 2,       // usage or configuration; nothing was attempted
  EXIT_PARTIAL = 3,     // some kernels or files failed or were refused, the rest was done
  EXIT_NO_ENVIRONMENT = 4, // it failed before any kernel: no parser, no evaluator, no model
  EXIT_INTERRUPTED = 130
};

#endif
