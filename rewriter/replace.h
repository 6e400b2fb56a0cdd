#ifndef KR_REWRITER_REPLACE_H
#define KR_REWRITER_REPLACE_H

#include <stddef.h>

#include "../evaluator/base/bytes.h"
#include "../evaluator/base/err.h"

// Makes the new text of a file of its old one (empty when there is none).
// Returns 0, or -1 with `err`, and then nothing is written.
typedef int replace_make(void *arg, const char *old, size_t old_len, struct kr_bytes *out,
                         struct kr_err *err);

// kr_replace_path() for a text that depends on the old one: read, made and
// written under one lock, so that two processes lose nothing of each other's.
int replace_update(const char *path, unsigned mode, replace_make *make, void *arg,
                   struct kr_err *err);

// Refuses a `.kevin` that a repository made lead elsewhere: what the tool keeps of its
// own stays below `root`. `path`, a file in it, may be NULL. Not there is plain.
int replace_plain(const char *root, const char *path, struct kr_err *err);

#endif
