#ifndef KR_CPU_LINK_H
#define KR_CPU_LINK_H

#include <stddef.h>

#include "../base/bytes.h"
#include "../base/err.h"
#include "image.h"

// Lays an x86-64 ELF object out for KR_IMAGE_BASE. Sections, symbols and
// relocations are held against allow-lists; whatever a loader would act on by
// itself (.init_array, thread-local sections, ifunc symbols, ...) is refused.
// Fills the segments, entry, got and hash of `image` and appends the segments'
// bytes to `out`. Returns 0, or -1 with a sentence.
int link_image(const unsigned char *object, size_t len, struct kr_image *image,
               struct kr_bytes *out, struct kr_err *err);

#endif
