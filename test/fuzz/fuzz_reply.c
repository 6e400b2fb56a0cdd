// A reply of any bytes: what is taken from it is UTF-8 without NUL and CR, its
// summary is one short line that opens no block, and the code as a later prompt
// shows it holds no comment, keeps its lines, and reads back as the same tokens.
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "evaluator/base/utf8.h"
#include "driver/variant.h"
#include "evaluator/base/lex.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t lines(const char *s)
{
  size_t n = 0;
  for (; *s; s++)
    n += *s == '\n';
  return n;
}

static void check_shown(const struct variant *v, const struct kr_geometry *original)
{
  const struct kr_candidate *c = &v->candidate;
  struct kr_bytes code, shown, reply;
  kr_bytes_init(&code, 64 << 20);
  kr_bytes_init(&shown, 64 << 20);
  kr_bytes_init(&reply, 64 << 20);
  variant_show(c->code, NULL, &code);
  assert(lines(code.data) == lines(c->code));
  size_t n;
  struct kr_token *toks = kr_lex_all(code.data, code.len, true, &n);
  for (size_t i = 0; i < n; i++)
    assert(toks[i].kind != KR_TOK_LINE_COMMENT && toks[i].kind != KR_TOK_BLOCK_COMMENT);
  free(toks);
  variant_show(c->code, c->has_geometry ? &c->geometry : NULL, &shown);
  char fence[101];
  memset(fence, '`', 100);
  fence[100] = 0;
  // A line splice may lose what it spliced with the comment after it, a directive
  // with a comment over several lines too, and what only looks like a raw string
  // may become one without a comment; none of it compiles or passes the screen.
  bool odd = strchr(c->code, '\\') || (strchr(c->code, '#') && strstr(c->code, "/*"));
  if (!odd && !strstr(c->code, "R\"") && !strstr(shown.data, fence) && strspn(code.data, " \t\n") < code.len &&
      !strstr(shown.data, "</think>")) {
    kr_bytes_addf(&reply, "%s\n%s\n%s\n", fence, shown.data, fence);
    struct variant again;
    int rc = variant_parse(reply.data, reply.len, false, original, &again);
    assert(!rc && kr_hash_equal(again.tokens, v->tokens));
    variant_release(&again);
  }
  kr_bytes_release(&code);
  kr_bytes_release(&shown);
  kr_bytes_release(&reply);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  static const struct kr_geometry original = {
      .grid = {(char *)"n"}, .block = {(char *)"256"}, .shared = (char *)"0"};
  struct variant v;
  char *exact = malloc(size ? size : 1);
  if (!exact)
    return 0;
  memcpy(exact, data, size);
  if (variant_parse(exact, size, false, &original, &v)) {
    assert(v.why && *v.why && !v.candidate.code && !v.candidate.has_geometry);
  } else {
    assert(!v.why && *v.candidate.code && !strchr(v.candidate.code, '\r'));
    assert(kr_utf8_check(v.candidate.code, strlen(v.candidate.code)) == strlen(v.candidate.code));
    check_shown(&v, &original);
  }
  assert(strlen(v.summary) <= VARIANT_MAX_SUMMARY && !strchr(v.summary, '\n') &&
         !strstr(v.summary, "```") && !strstr(v.summary, "~~~"));
  assert(kr_utf8_check(v.summary, strlen(v.summary)) == strlen(v.summary));
  variant_release(&v);
  free(exact);
  return 0;
}
