#ifndef KR_DRIVER_REPORT_H
#define KR_DRIVER_REPORT_H

#include "outcome.h"

// --report: what became of each kernel, for a browser. One HTML file that needs no
// network and no script; its style is report.css. All text of others (models,
// compilers, sources, names) is escaped: none of it makes an element or an attribute.

struct report {
  const struct outcome *outcomes;
  size_t n;
  bool written;     // -i: `rewritten` kernels are in their files
  bool interrupted; // not all was tried
  size_t n_unread;  // files that could not be read or taken; told elsewhere
  const char *spent; // "14 calls, 41k tokens, 3 min"
};

// Before anything is spent: can a report be put there? Writes nothing.
int report_check(const char *path, struct kr_err *err);
void report_html(const struct report *r, struct kr_bytes *out);
// Puts the whole report at `path`, or leaves there what was there.
int report_write(const struct report *r, const char *path, struct kr_err *err);

#endif
