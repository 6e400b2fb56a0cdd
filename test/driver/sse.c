// RUN: %unit/sse
#include "unit.h"

#include "driver/sse.h"

static char seen[4000];

static int collect(void *arg, const char *name, const char *data, size_t len, struct kr_err *err)
{
  (void)arg;
  size_t n = strlen(seen);
  snprintf(seen + n, sizeof seen - n, "[%s|%.*s]", name, (int)len, data);
  if (!strncmp(data, "stop", 4))
    return kr_err_set(err, "told to stop");
  return 0;
}

// Feeds a text in pieces of `step` bytes and returns the events; `*rc` and
// `*pending` say how it ended.
static const char *parse(const char *text, size_t len, size_t step, int *rc, bool *pending,
                         struct kr_err *err)
{
  struct sse s;
  seen[0] = 0;
  *rc = 0;
  sse_init(&s, 100, collect, NULL);
  for (size_t i = 0; i < len && !*rc; i += step)
    *rc = sse_feed(&s, text + i, len - i < step ? len - i : step, err);
  *pending = sse_pending(&s);
  sse_release(&s);
  return seen;
}

// The same events for every cut of the text.
static void check(const char *text, const char *want, bool want_pending)
{
  for (size_t step = 1; step <= strlen(text) + 1; step++) {
    int rc;
    bool pending;
    CHECK_STR(parse(text, strlen(text), step, &rc, &pending, NULL), want);
    CHECK_INT(rc, 0);
    CHECK_INT(pending, want_pending);
  }
}

static void test_events(void)
{
  check("data: one\n\ndata: two\n\n", "[|one][|two]", false);
  check("data:one\n\ndata:  two\n\n", "[|one][| two]", false);
  check("data: a\r\n\r\ndata: b\r\n\r\n", "[|a][|b]", false);
  check("data: a\r\rdata: b\r\r", "[|a][|b]", false);
  check("data: a\r\n\ndata: b\n\r\n", "[|a][|b]", false);
  check("\xef\xbb\xbf" "data: a\n\n", "[|a]", false);
  check("data: a\ndata: b\ndata\n\n", "[|a\nb\n]", false);
  check("event: x\ndata: a\n\ndata: b\n\n", "[x|a][|b]", false);
  check(": comment\n\n: another\ndata: a\n\n", "[|a]", false);
  check("id: 7\nretry: 3\nnonsense\nDATA: no\ndata: a\n\n", "[|a]", false);
  check("data: {\"c\":\"\xe2\x82\xac\"}\n\n", "[|{\"c\":\"\xe2\x82\xac\"}]", false);
}

static void test_ends(void)
{
  check("data: a\n\ndata: b\n", "[|a]", true);
  check("data: a\n\ndat", "[|a]", true);
  check("data: a\n\n: comment\n", "[|a]", false);
  check("event: x\n\n", "", false);
  check("", "", false);
}

static void test_limits(void)
{
  char text[400];
  int rc;
  bool pending;
  struct kr_err err = {""};
  static const char field[] = {'d', 'a', 't', 'a', ':', ' '};
  memset(text, 'x', sizeof text);
  memcpy(text, field, sizeof field);
  for (size_t step = 1; step < sizeof text; step *= 3) {
    err.text[0] = 0;
    parse(text, sizeof text, step, &rc, &pending, &err);
    CHECK_INT(rc, -1);
    CHECK_STR(err.text, "a line of the event stream is longer than 100 bytes");
  }
  // Many lines of one event count together.
  char many[400] = "";
  for (int i = 0; i < 30; i++)
    strcat(many, "data: abcd\n");
  parse(many, strlen(many), 7, &rc, &pending, &err);
  CHECK_INT(rc, -1);
  const char stop[] = "data: a\n\ndata: stop\n\ndata: b\n\n";
  CHECK_STR(parse(stop, sizeof stop - 1, 64, &rc, &pending, &err), "[|a][|stop]");
  CHECK_INT(rc, -1);
  CHECK_STR(err.text, "told to stop");
}

int main(void)
{
  test_events();
  test_ends();
  test_limits();
  return unit_end();
}
