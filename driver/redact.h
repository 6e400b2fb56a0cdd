#ifndef KR_DRIVER_REDACT_H
#define KR_DRIVER_REDACT_H

#include <stddef.h>

#include "../evaluator/base/bytes.h"
#include "../evaluator/base/err.h"

// The one place that knows what must not be shown. A key is registered as soon
// as it is read; every text that comes from curl or from a server passes
// through here before it reaches a message, a log, JSON, the store or a source.
//
// What counts as the secret: its bytes, its JSON-escaped and its
// percent-encoded spelling, and any piece of it of at least half its length
// and no fewer than 8 bytes (a server that shows "sk-abc...xyz" or a text cut
// in mid-key). Registering is not thread-safe; reading is.

enum { REDACT_MIN_SECRET = 8 };

// Copies the secret. Shorter ones than REDACT_MIN_SECRET (the "EMPTY" and
// "none" that local servers are given) are no secret and are not kept: hiding
// them would garble every other text. Returns 1 for those, else 0.
int redact_add(const char *secret, size_t len);
// Wipes and forgets all secrets.
void redact_clear(void);

// Appends `text` with "[redacted]" for each secret.
void redact_append(struct kr_bytes *out, const char *text, size_t len);
// The same in place.
void redact_bytes(struct kr_bytes *b);
void redact_err(struct kr_err *err);

// Someone else's text as part of one of our sentences: redacted, then white
// space made single blanks, other control bytes and bytes that are not UTF-8
// escaped as \xNN, cut to `max` bytes with "..." at the end. The caller frees it.
char *redact_line(const char *text, size_t len, size_t max);

#endif
