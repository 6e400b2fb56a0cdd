#include "bytes.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mem.h"

// What a buffer holds that was handed out: nothing, and nothing to release.
static char bytes_nothing[1];

void kr_bytes_init(struct kr_bytes *b, size_t max)
{
  b->cap = 64;
  b->data = kr_xmalloc(b->cap);
  b->data[0] = '\0';
  b->len = 0;
  b->max = max;
  b->toobig = false;
}

void kr_bytes_release(struct kr_bytes *b)
{
  if (b->data != bytes_nothing)
    free(b->data);
  b->data = NULL;
  b->len = b->cap = 0;
}

void kr_bytes_reset(struct kr_bytes *b)
{
  b->len = 0;
  if (b->data != bytes_nothing)
    b->data[0] = '\0';
  b->toobig = false;
}

static int bytes_reserve(struct kr_bytes *b, size_t more)
{
  if (b->toobig || more > b->max || b->len > b->max - more) {
    b->toobig = true;
    return -1;
  }
  size_t need = b->len + more + 1;
  if (need > b->cap) {
    size_t cap = b->cap ? b->cap : 64;
    while (cap < need)
      cap = cap < 1 << 20 ? 2 * cap : cap + cap / 2;
    b->data = kr_xrealloc(b->data == bytes_nothing ? NULL : b->data, cap);
    b->cap = cap;
  }
  return 0;
}

int kr_bytes_add(struct kr_bytes *b, const void *data, size_t len)
{
  if (bytes_reserve(b, len))
    return -1;
  if (len)
    memcpy(b->data + b->len, data, len);
  b->len += len;
  b->data[b->len] = '\0';
  return 0;
}

int kr_bytes_adds(struct kr_bytes *b, const char *s)
{
  return kr_bytes_add(b, s, strlen(s));
}

int kr_bytes_addc(struct kr_bytes *b, char c)
{
  return kr_bytes_add(b, &c, 1);
}

int kr_bytes_addf(struct kr_bytes *b, const char *fmt, ...)
{
  va_list ap, again;
  va_start(ap, fmt);
  va_copy(again, ap);
  int n = vsnprintf(NULL, 0, fmt, ap);
  va_end(ap);
  int rc = n < 0 ? -1 : bytes_reserve(b, (size_t)n);
  if (!rc) {
    vsnprintf(b->data + b->len, (size_t)n + 1, fmt, again);
    b->len += (size_t)n;
  }
  va_end(again);
  return rc;
}

char *kr_bytes_take(struct kr_bytes *b)
{
  char *data = b->data == bytes_nothing ? kr_xstrdup("") : b->data;
  b->data = bytes_nothing;
  b->len = b->cap = 0;
  b->toobig = false;
  return data;
}
