#ifndef KR_BASE_BYTES_H
#define KR_BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>

// The one growable byte buffer of the project. It counts its length, is always
// followed by a NUL that `len` does not count, may hold NULs, and has a maximum
// from birth: a model's reply and a compiler's log are untrusted sizes. What
// does not fit is dropped whole, `toobig` is set and stays set, and every later
// add does nothing and returns -1.

struct kr_bytes {
  char *data; // never NULL after init; owned
  size_t len, cap, max;
  bool toobig;
};

enum { KR_BYTES_DEFAULT_MAX = 64 << 20 };

void kr_bytes_init(struct kr_bytes *b, size_t max);
void kr_bytes_release(struct kr_bytes *b);
// Empties the buffer and clears `toobig`; the memory is kept.
void kr_bytes_reset(struct kr_bytes *b);
int kr_bytes_add(struct kr_bytes *b, const void *data, size_t len);
int kr_bytes_adds(struct kr_bytes *b, const char *s);
int kr_bytes_addc(struct kr_bytes *b, char c);
int kr_bytes_addf(struct kr_bytes *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
// Hands the memory to the caller, who frees it; the buffer is empty after, and
// holds nothing that would have to be released.
char *kr_bytes_take(struct kr_bytes *b);

#endif
