#ifndef KR_DRIVER_KEEP_H
#define KR_DRIVER_KEEP_H

#include <stdio.h>

#include "options.h"
#include "refine.h"

// What of a run is kept, and shown of it later: the store, --explain and
// --export-trajectories.

struct keep {
  struct store *store; // NULL: nothing is kept
  struct store_search *search;
  const struct model *model;
  const struct options *options;
  FILE *export;
  bool begun;   // kernels were come to; set by the caller. Else nothing is exported
  char *export_temp;
};

// Borrows the options and the model. A store that cannot be had is an error where
// --store named it or the model cannot do without, else a warning.
int keep_open(struct keep *k, const struct options *o, const struct model *m, struct kr_err *err);
// Puts the search of that kernel into r->search, or NULL.
int keep_search(struct keep *k, struct refine *r, const char *backend, struct kr_err *err);
// After refine_run(): ends what keep_search() began, and exports.
void keep_searched(struct keep *k, struct refine *r, const struct refine_result *result);
// Puts the exported file in its place. Returns 0, or -1 when it could not be written.
int keep_close(struct keep *k, struct kr_err *err);

// --explain. Returns an exit status.
int keep_explain(const struct options *o);

#endif
