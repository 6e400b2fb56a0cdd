#include "hash.h"

#include <string.h>

#include <nettle/sha2.h>

_Static_assert(sizeof(struct sha256_ctx) <= sizeof(((struct kr_hasher *)0)->state),
               "kr_hasher is too small for nettle's context");

static struct sha256_ctx *hasher_ctx(struct kr_hasher *h)
{
  return (struct sha256_ctx *)(void *)h->state;
}

void kr_hasher_init(struct kr_hasher *h)
{
  sha256_init(hasher_ctx(h));
}

void kr_hasher_add(struct kr_hasher *h, const void *data, size_t len)
{
  if (len)
    sha256_update(hasher_ctx(h), len, data);
}

void kr_hasher_field(struct kr_hasher *h, const void *data, size_t len)
{
  unsigned char prefix[8];
  for (int i = 0; i < 8; i++)
    prefix[i] = (unsigned char)((uint64_t)len >> (8 * i));
  kr_hasher_add(h, prefix, sizeof prefix);
  kr_hasher_add(h, data, len);
}

struct kr_hash kr_hasher_end(struct kr_hasher *h)
{
  struct kr_hash out;
  sha256_digest(hasher_ctx(h), sizeof out.bytes, out.bytes);
  return out;
}

struct kr_hash kr_hash_of(const void *data, size_t len)
{
  struct kr_hasher h;
  kr_hasher_init(&h);
  kr_hasher_add(&h, data, len);
  return kr_hasher_end(&h);
}

void kr_hash_hex(struct kr_hash h, char out[KR_HASH_HEX + 1])
{
  static const char digits[] = "0123456789abcdef";
  for (size_t i = 0; i < KR_HASH_BYTES; i++) {
    out[2 * i] = digits[h.bytes[i] >> 4];
    out[2 * i + 1] = digits[h.bytes[i] & 15];
  }
  out[KR_HASH_HEX] = '\0';
}

static int hash_digit(char c)
{
  if (c >= '0' && c <= '9')
    return c - '0';
  if (c >= 'a' && c <= 'f')
    return c - 'a' + 10;
  if (c >= 'A' && c <= 'F')
    return c - 'A' + 10;
  return -1;
}

int kr_hash_parse(const char *hex, struct kr_hash *out)
{
  struct kr_hash h;
  for (size_t i = 0; i < KR_HASH_BYTES; i++) {
    int hi = hash_digit(hex[2 * i]);
    int lo = hi < 0 ? -1 : hash_digit(hex[2 * i + 1]);
    if (lo < 0)
      return -1;
    h.bytes[i] = (unsigned char)(hi << 4 | lo);
  }
  *out = h;
  return 0;
}

int kr_hash_equal(struct kr_hash a, struct kr_hash b)
{
  return !memcmp(a.bytes, b.bytes, sizeof a.bytes);
}
