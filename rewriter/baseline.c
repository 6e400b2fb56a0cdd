// Baselines: bytes kept under the name of their hash in `.kevin/baselines/`.

#include "rewriter.h"

#include <stdlib.h>

#include "../evaluator/base/mem.h"
#include "replace.h"

static char *baseline_path(const char *root, struct kr_hash hash)
{
  char hex[KR_HASH_HEX + 1];
  kr_hash_hex(hash, hex);
  return kr_xasprintf("%s/.kevin/baselines/%s", root, hex);
}

int kr_baseline_store(const char *root, const void *data, size_t len, struct kr_hash *out,
                      struct kr_err *err)
{
  struct kr_hash hash = kr_hash_of(data, len);
  char *path = baseline_path(root, hash);
  int rc = replace_plain(root, path, err);
  if (!rc)
    rc = kr_replace_path(path, data, len, 0666, err);
  free(path);
  if (rc < 0)
    return -1;
  *out = hash;
  return 0;
}

int kr_baseline_load(const char *root, struct kr_hash hash, struct kr_bytes *out,
                     struct kr_err *err)
{
  char *path = baseline_path(root, hash);
  struct kr_source src = {0};
  int rc = replace_plain(root, path, err);
  if (!rc)
    rc = kr_source_read(&src, path, err);
  kr_bytes_init(out, KR_SOURCE_MAX);
  if (!rc && !kr_hash_equal(src.hash, hash))
    rc = kr_err_set(err, "%s was changed: its bytes no longer have the hash that is its name",
                    path);
  if (!rc)
    kr_bytes_add(out, src.data, src.len);
  else
    kr_bytes_release(out);
  kr_source_release(&src);
  free(path);
  return rc;
}
