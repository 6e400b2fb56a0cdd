#ifndef KR_DRIVER_WRITE_H
#define KR_DRIVER_WRITE_H

#include "outcome.h"

// From decided outcomes to the bytes of a file.

struct file_write {
  struct project *project;
  struct input *in;
  struct outcome *outcomes; // of this file, in the order of the source
  size_t n;
  const struct options *options;
  // By write_patch():
  struct kr_bytes patched; // initialised by write_patch(); released by write_release()
  struct input after;      // the patched file, scanned and parsed
  size_t n_put;            // outcomes that are in it
  struct kr_bytes *undo;   // one an outcome; empty where nothing was put in
};

// The file with the winners in place, parsed again, and proved to compile. An
// outcome that cannot be put in becomes FAILED with the reason, and the others
// are done without it. Returns 0, or -1 with a sentence when the patched file as
// a whole is no good, in which case every REWRITTEN outcome is FAILED.
int write_patch(struct file_write *w, struct kr_err *err);

// Records every outcome (rewritten and kept) in the ledger with its baseline,
// then replaces the file. In this order, because a ledger that is ahead of its
// source is merely stale, and the next run tries again from the original.
int write_commit(struct file_write *w, struct kr_err *err);
void write_release(struct file_write *w);

#endif
