#include "static.h"

#include <stdlib.h>
#include <string.h>

#include "../base/mem.h"
#include "compile.h"
#include "cubin.h"

struct cuda_static {
  struct nvrtc_compiler nvrtc;
};

int cuda_static_open(struct cuda_static **out, const char *cuda_path, struct kr_err *err)
{
  struct cuda_static *s = kr_xcalloc(1, sizeof *s);
  if (nvrtc_compiler_open(&s->nvrtc, cuda_path, err)) {
    free(s);
    return -1;
  }
  *out = s;
  return 0;
}

void cuda_static_close(struct cuda_static *s)
{
  if (!s)
    return;
  nvrtc_compiler_release(&s->nvrtc);
  free(s);
}

int cuda_static_read(struct cuda_static *s, const struct kr_contract *c, const char *arch,
                     const char *text, size_t len, struct kr_resources *out,
                     struct sass_facts *sass, struct kr_hash *hash, struct kr_err *err)
{
  struct cuda_code code;
  struct cubin_facts facts;
  struct kr_bytes log;
  kr_bytes_init(&log, 64 << 10);
  memset(&code, 0, sizeof code);
  int rc = nvrtc_compile(&s->nvrtc, c, arch, text, len, &code, &log, err);
  if (rc > 0)
    kr_err_set(err, "it does not compile for %s: %.*s", arch, (int)strcspn(log.data, "\n"), log.data);
  struct kr_hasher hasher;
  kr_hasher_init(&hasher);
  for (size_t i = 0; i < code.n_lowered && !rc; i++) {
    rc = cubin_read(code.cubin, code.len, code.lowered[i], &facts, err);
    if (rc)
      break;
    out[i] = (struct kr_resources){facts.registers, -1, facts.frame_bytes, -1, -1, 0};
    size_t text_len;
    const unsigned char *code_of = cubin_text(code.cubin, code.len, code.lowered[i], &text_len);
    sass_read(code_of, text_len, &sass[i]);
    kr_hasher_add(&hasher, &facts.code, sizeof facts.code);
  }
  *hash = kr_hasher_end(&hasher);
  cuda_code_release(&code);
  kr_bytes_release(&log);
  return rc ? -1 : 0;
}
