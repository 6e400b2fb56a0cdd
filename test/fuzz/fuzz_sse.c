// An event stream of any bytes, cut anywhere: the same events as when it comes whole.
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "driver/sse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int collect(void *arg, const char *name, const char *data, size_t len, struct kr_err *err)
{
  (void)err;
  struct kr_bytes *out = arg;
  assert(strlen(name) <= 1000 && data[len] == 0);
  kr_bytes_adds(out, name);
  kr_bytes_addc(out, 0);
  kr_bytes_add(out, data, len);
  kr_bytes_addc(out, 0);
  return 0;
}

static int parse(const uint8_t *data, size_t size, size_t step, struct kr_bytes *out)
{
  struct sse s;
  int rc = 0;
  sse_init(&s, 1000, collect, out);
  for (size_t i = 0; i < size && !rc; i += step)
    rc = sse_feed(&s, (const char *)data + i, size - i < step ? size - i : step, NULL);
  kr_bytes_addc(out, rc ? 'e' : sse_pending(&s) ? 'p' : '.');
  sse_release(&s);
  return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  if (!size)
    return 0;
  struct kr_bytes whole, cut;
  kr_bytes_init(&whole, 1 << 20);
  kr_bytes_init(&cut, 1 << 20);
  size_t step = data[0] % 37 + 1;
  parse(data + 1, size - 1, size, &whole);
  parse(data + 1, size - 1, step, &cut);
  assert(whole.len == cut.len && !memcmp(whole.data, cut.data, whole.len));
  kr_bytes_release(&whole);
  kr_bytes_release(&cut);
  return 0;
}
