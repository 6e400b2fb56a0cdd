// RUN: %unit/http
#include "unit.h"

#include "driver/http.h"

static void check_join(const char *base, const char *want_url, const char *want_host)
{
  char *url, *host;
  struct kr_err err = {""};
  CHECK_INT(http_url_join(base, "chat/completions", &url, &host, &err), 0);
  CHECK_STR(err.text, "");
  CHECK_STR(url, want_url);
  CHECK_STR(host, want_host);
  free(url);
  free(host);
}

static void check_bad(const char *base, const char *sentence)
{
  char *url, *host;
  struct kr_err err = {""};
  CHECK_INT(http_url_join(base, "chat/completions", &url, &host, &err), -1);
  CHECK_STR(err.text, sentence);
  CHECK(!url && !host);
}

static void test_urls(void)
{
  check_join("http://127.0.0.1:8000/v1", "http://127.0.0.1:8000/v1/chat/completions",
             "127.0.0.1:8000");
  check_join("https://a.example/v1///", "https://a.example/v1/chat/completions", "a.example");
  check_join("https://a.example", "https://a.example/chat/completions", "a.example");
  check_join("https://a.example/v1/chat/completions", "https://a.example/v1/chat/completions",
             "a.example");
  check_join("https://a.example/x?api-version=1", "https://a.example/x/chat/completions?api-version=1",
             "a.example");
  check_join("HTTPS://[::1]:80/v1", "https://[::1]:80/v1/chat/completions", "[::1]:80");
  check_bad("a.example/v1", "a.example/v1 is not a URL of a server: Bad scheme");
  check_bad("", "(empty) is not a URL of a server: Bad scheme");
  check_bad("ftp://a.example/", "ftp://a.example/: only http and https are spoken");
  check_bad("file:///etc/passwd", "file:///etc/passwd: only http and https are spoken");
  check_bad("https://me:pass@a.example/v1",
            "https://...@a.example/v1 holds a user name; a key comes from a file or the environment");
  check_bad("https://a.example/v1#x", "https://a.example/v1#x has a fragment (#...), which no "
                                      "server sees");
}

static void test_keys(void)
{
  struct kr_err err = {""};
  CHECK_INT(http_may_carry_key("https://a.example/", NULL), 0);
  CHECK_INT(http_may_carry_key("http://127.0.0.1/", NULL), 0);
  CHECK_INT(http_may_carry_key("http://localhost:1/", NULL), 0);
  CHECK_INT(http_may_carry_key("http://[::1]/", NULL), 0);
  CHECK_INT(http_may_carry_key("http://a.example/", &err), -1);
  CHECK_STR(err.text, "a.example: a key is not sent over plain http to another machine; use https");
  CHECK_INT(http_may_carry_key("http://localhost.example/", NULL), -1);
  CHECK_INT(http_may_carry_key("http://127.0.0.1.example/", NULL), -1);
  CHECK_INT(http_may_carry_key("http://127.0.0.1@a.example/", NULL), -1);
  CHECK_INT(http_may_carry_key("http://0.0.0.0/", NULL), -1);
  CHECK_INT(http_may_carry_key("http://[::2]/", NULL), -1);
  CHECK(http_is_loopback("LOCALHOST"));
  CHECK(http_is_loopback("127.8.9.1"));
  CHECK(!http_is_loopback("128.0.0.1"));
  CHECK(!http_is_loopback(""));
}

struct ended {
  int rc, n;
  enum http_failure failure;
  struct kr_err err;
};

static void on_done(void *arg, int rc, const struct http_response *out, const struct kr_err *err)
{
  struct ended *e = arg;
  e->rc = rc;
  e->n++;
  e->failure = out->failure;
  e->err = *err;
}

// A key is refused before anything is sent, and so is one that would end its header.
static void test_refused(void)
{
  struct http *h = http_new();
  struct ended e = {0};
  struct http_header header = {"Authorization", "Bearer x", true};
  struct http_request req = {.url = "http://a.invalid/v1", .headers = &header, .n_headers = 1,
                             .body = "", .body_len = 0, .done = on_done, .arg = &e};
  http_start(h, &req, 0);
  http_cancel(h);
  CHECK_INT(e.rc, -1);
  CHECK_INT(e.failure, HTTP_REFUSED);
  CHECK_STR(e.err.text,
            "a.invalid: a key is not sent over plain http to another machine; use https");
  header.value = "Bearer x\r\nHost: b";
  req.url = "https://a.invalid/v1";
  http_start(h, &req, 60000);
  http_cancel(h);
  CHECK_INT(e.rc, -1);
  CHECK_INT(e.failure, HTTP_REFUSED);
  CHECK_STR(e.err.text, "a.invalid: the value of the Authorization header holds a control or "
                        "non-ASCII character");
  CHECK_INT(e.n, 2);
  http_free(h);
}

// What waits for its time, and what is under way, end when the pool does, each once.
static void test_cancelled(void)
{
  enum { N = 20 };
  struct http *h = http_new();
  struct ended e[N] = {0};
  struct http_request req = {.url = "http://127.0.0.1:1/v1", .body = "x", .body_len = 1,
                             .done = on_done};
  for (int i = 0; i < N; i++) {
    req.arg = &e[i];
    http_start(h, &req, i % 2 ? 0 : 60000);
  }
  http_free(h);
  for (int i = 0; i < N; i++) {
    CHECK_INT(e[i].n, 1);
    CHECK_INT(e[i].rc, -1);
    CHECK(e[i].failure == HTTP_INTERRUPTED || (i % 2 && e[i].failure == HTTP_CONNECT));
  }
}

static void test_retry_after(void)
{
  time_t now = 784111777; // Sun, 06 Nov 1994 08:49:37 GMT
  CHECK_INT(http_retry_after_ms("2", now), 2000);
  CHECK_INT(http_retry_after_ms(" 0", now), 0);
  CHECK_INT(http_retry_after_ms("1.5", now), 1500);
  CHECK_INT(http_retry_after_ms("Sun, 06 Nov 1994 08:49:47 GMT", now), 10000);
  CHECK_INT(http_retry_after_ms("Sun, 06 Nov 1994 08:49:27 GMT", now), 0);
  CHECK_INT(http_retry_after_ms("soon", now), -1);
  CHECK_INT(http_retry_after_ms("-5", now), -1);
  CHECK_INT(http_retry_after_ms("", now), -1);
}

int main(void)
{
  test_urls();
  test_keys();
  test_refused();
  test_cancelled();
  test_retry_after();
  return unit_end();
}
