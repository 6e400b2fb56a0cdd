#ifndef KR_DRIVER_SSE_H
#define KR_DRIVER_SSE_H

#include <stdbool.h>
#include <stddef.h>

#include "../evaluator/base/bytes.h"
#include "../evaluator/base/err.h"

// A parser of server-sent events (WHATWG HTML, section 9.2), fed with bytes as
// they come: any cut is allowed, in mid-line, in mid-character, between CR and
// LF. Line ends are LF, CRLF or CR, a BOM at the start is skipped, comment lines
// are nothing, `data:` lines of one event are joined by newlines. An event that
// is not ended by an empty line is not delivered; sse_pending() tells of it.

enum { SSE_MAX_LINE = 10 << 20 };

// Returns 0 to go on, or -1 with `err` set to stop.
typedef int sse_event(void *arg, const char *name, const char *data, size_t len,
                      struct kr_err *err);

struct sse {
  struct kr_bytes line, data, name;
  bool has_data, after_cr, started;
  sse_event *event;
  void *arg;
};

void sse_init(struct sse *s, size_t max_line, sse_event *event, void *arg);
void sse_release(struct sse *s);
// Returns 0, or -1 with `err`: a line or an event over the maximum, or what the
// event function said.
int sse_feed(struct sse *s, const char *data, size_t len, struct kr_err *err);
// True when the bytes so far end inside a line or an event.
bool sse_pending(const struct sse *s);

#endif
