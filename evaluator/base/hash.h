#ifndef KR_BASE_HASH_H
#define KR_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

// 128-bit fingerprints: the first 16 bytes of SHA-256 (FIPS 180-4, by nettle),
// so that nobody can craft two texts with one. In files all 32 hex digits are
// written; people are shown the first 12.

enum { KR_HASH_BYTES = 16, KR_HASH_HEX = 32, KR_HASH_SHOWN = 12 };

struct kr_hash {
  unsigned char bytes[KR_HASH_BYTES];
};

// A running hash. `state` is private to hash.c.
struct kr_hasher {
  uint64_t state[32];
};

void kr_hasher_init(struct kr_hasher *h);
void kr_hasher_add(struct kr_hasher *h, const void *data, size_t len);
// Adds a length-prefixed field, so that ("ab","c") and ("a","bc") differ.
void kr_hasher_field(struct kr_hasher *h, const void *data, size_t len);
struct kr_hash kr_hasher_end(struct kr_hasher *h);

struct kr_hash kr_hash_of(const void *data, size_t len);
// Writes 32 lower-case hex digits and a NUL.
void kr_hash_hex(struct kr_hash h, char out[KR_HASH_HEX + 1]);
// Reads 32 hex digits. Returns 0, or -1 when they are not.
int kr_hash_parse(const char *hex, struct kr_hash *out);
int kr_hash_equal(struct kr_hash a, struct kr_hash b);

#endif
