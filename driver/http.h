#ifndef KR_DRIVER_HTTP_H
#define KR_DRIVER_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "../evaluator/base/bytes.h"
#include "../evaluator/base/err.h"

// POST to a model's server: the one place that speaks HTTP, and the only file
// that knows libcurl is http.c.
//
// What it will not do: follow a redirect (a POST with a key and a user's source
// goes where the user said or nowhere), send a secret over plain http to
// anything but this machine, accept a certificate that does not verify (by the
// system's authorities, or those of SSL_CERT_FILE), take
// credentials from a URL, speak anything but http and https. A proxy of the
// environment is used for https alone, where it sees only a tunnel; never for
// this machine or for plain http. Every sentence is redacted; bodies are handed
// on as they came, for their readers to parse and then to redact.

// All requests of a pool go on at once, driven by a thread of its own, which
// begins with the first one. Nothing here waits but http_cancel().

struct http; // a pool of connections and the thread that drives them
struct http_response;

enum {
  HTTP_MAX_BYTES = 64 << 20,    // of a reply
  HTTP_MAX_HEADERS = 256 << 10, // of all its headers
  HTTP_MAX_ERROR_BODY = 64 << 10
};

struct http_header {
  const char *name, *value;
  bool secret; // the value is a key: decides what the URL may be
};

struct http_request {
  const char *url;
  const struct http_header *headers;
  size_t n_headers;
  const void *body;
  size_t body_len;
  unsigned connect_ms; // 0: 10 s
  // No byte for so long; 0: 60 s. Until its first byte a request counts what comes
  // for others of the pool as life: a server that answers them has it in a queue.
  unsigned idle_ms;
  unsigned total_ms;   // 0: 30 min
  size_t max_bytes;    // of the reply; 0: HTTP_MAX_BYTES
  // Receives the body of a 2xx answer as it comes, not redacted. Returns 0, or
  // -1 with `err` set to stop; `content_type` is the answer's, in lower case,
  // without parameters.
  int (*on_data)(void *arg, const char *content_type, const char *data, size_t len,
                 struct kr_err *err);
  // Called once at the end. `rc` is 0 when there was an answer, whatever its status
  // (a redirect aside), or -1 with `out->failure` and a sentence that begins with the
  // host. Both functions run on the pool's thread; http_start() may be called there.
  void (*done)(void *arg, int rc, const struct http_response *out, const struct kr_err *err);
  void *arg;
};

enum http_failure {
  HTTP_FINE,
  HTTP_REFUSED,     // by us, before anything was sent: URL, key, header
  HTTP_CONNECT,     // no connection: name, port
  HTTP_UNTRUSTED,   // no connection: its certificate does not verify, or no TLS at all
  HTTP_BROKEN,      // the connection ended in mid-answer or mid-request
  HTTP_IDLE,        // nothing came for idle_ms
  HTTP_TOTAL,       // it took longer than total_ms
  HTTP_NOT_HTTP,    // something came, but it is not HTTP
  HTTP_TOO_BIG,
  HTTP_REDIRECT,
  HTTP_STOPPED,     // on_data said so
  HTTP_INTERRUPTED  // http_cancel()
};

struct http_response {
  enum http_failure failure;
  long status; // 0: no answer
  char content_type[128];
  int64_t retry_after_ms; // -1: not said
  struct kr_bytes body;   // of an answer that is not 2xx, cut to HTTP_MAX_ERROR_BODY; not redacted
  size_t received;        // bytes of body
};

struct http *http_new(void);
// Cancels first what still goes on.
void http_free(struct http *h);

// Starts a request after `delay_ms`. Copies `*req` and borrows all that it points to
// until `done`, which is told of everything, a refusal to send it included.
void http_start(struct http *h, const struct http_request *req, unsigned delay_ms);
// Ends everything with HTTP_INTERRUPTED, also what is started meanwhile, and returns
// when the last `done` has. Not for the pool's own thread.
void http_cancel(struct http *h);

// Checks a base URL and joins `path` to it: scheme http or https, a host, no
// user, no fragment. A query is kept. `*url` and `*host` ("localhost:8000")
// are freed by the caller.
int http_url_join(const char *base, const char *path, char **url, char **host, struct kr_err *err);
// May a key be sent there? https, or http to this machine.
int http_may_carry_key(const char *url, struct kr_err *err);
// Is it this machine, by name or number?
bool http_is_loopback(const char *host);

// The value of a Retry-After header, seconds or a date, as milliseconds from
// `now`; -1 when it is neither. Never negative otherwise.
int64_t http_retry_after_ms(const char *value, time_t now);

#endif
