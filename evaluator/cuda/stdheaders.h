#ifndef KR_CUDA_STDHEADERS_H
#define KR_CUDA_STDHEADERS_H

#include <stddef.h>

// Stand-ins for the standard library's headers, given to NVRTC from memory, so
// that a harmless `#include <cstdio>` in a slice does not fail and no header of
// the host's compiler is read. What nvcc lets device code use is there with the
// same types as on 64-bit Linux (int64_t is long); what is only for the host is
// an empty header. Constexpr functions can be called from device code, more than
// nvcc allows without --expt-relaxed-constexpr: that the real compiler takes a
// variant is proved when the patched file is compiled.

struct std_header {
  const char *name, *text;
};

// The header to include before a text, as nvcc includes cuda_runtime.h.
#define STD_HEADERS_BEFORE "kr_before.h"

const struct std_header *std_headers(size_t *n);

#endif
