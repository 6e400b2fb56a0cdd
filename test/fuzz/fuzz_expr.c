// The expression language on any text: it parses or says why, inside the text;
// what parses is evaluated without a trap, and printed text means the same.
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "evaluator/base/expr.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int lookup(void *arg, const char *name, struct kr_value *out, struct kr_expr_error *error)
{
  (void)arg;
  (void)error;
  *out = name[0] < 'g'   ? kr_value_int((int64_t)strlen(name) << (name[0] & 31))
         : name[0] < 'p' ? kr_value_real(0.5 * (double)strlen(name))
                         : kr_value_int(INT64_MIN + (int64_t)strlen(name) - 1);
  return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  static const struct kr_expr_env env = {lookup, NULL, NULL, NULL};
  struct kr_expr_error error = {0};
  char *text = malloc(size ? size : 1);
  if (!text)
    return 0;
  memcpy(text, data, size);
  struct kr_expr *e = kr_expr_parse(text, size, &error);
  if (!e) {
    assert(error.text[0] && error.offset <= size && error.offset + error.length <= size + 1);
    free(text);
    return 0;
  }
  struct kr_value a, b;
  int rc = kr_expr_eval(e, &env, &a, &error);
  struct kr_bytes out;
  kr_bytes_init(&out, 1 << 20);
  assert(!kr_expr_print(e, false, NULL, NULL, &out, NULL));
  struct kr_expr *again = out.len <= KR_EXPR_MAX_TEXT ? kr_expr_parse(out.data, out.len, NULL) : NULL;
  if (again) {
    int rc2 = kr_expr_eval(again, &env, &b, NULL);
    assert(rc == rc2);
    if (!rc)
      assert(a.is_real == b.is_real && (a.is_real ? a.d == b.d || a.d != a.d : a.i == b.i));
  }
  kr_expr_free(again);
  kr_expr_free(e);
  kr_bytes_release(&out);
  free(text);
  return 0;
}
