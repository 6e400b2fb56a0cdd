#include "http.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "../evaluator/base/clock.h"
#include "../evaluator/base/mem.h"
#include "redact.h"

// One transfer as the engine and the callbacks see it.
struct transfer {
  struct transfer *next;
  struct http *engine;
  struct http_request req; // what it points to is borrowed until `done`
  struct http_response out;
  CURL *easy;
  struct curl_slist *headers;
  char *host;
  int64_t due_ms;   // not before this
  int64_t begin_ms; // 0: not yet
  int64_t last_byte_ms;
  curl_off_t sent;
  size_t header_bytes;
  char location[512];
  struct kr_err err; // of the first thing that went wrong in a callback
  bool ended;
  int rc;
  struct kr_err why; // of rc
};

// One thread drives all transfers. What is under `lock` is shared with those who
// start some; the rest is the thread's own.
struct http {
  CURLM *multi;
  struct transfer *transfers;
  int64_t last_byte_ms; // of any of them
  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t none_open;
  bool running, closing, cancelling;
  struct transfer *incoming;
  size_t open; // started, and `done` has not returned
};

static pthread_once_t http_once = PTHREAD_ONCE_INIT;

static void http_global(void)
{
  curl_global_init(CURL_GLOBAL_DEFAULT);
}

// --- URLs ---

bool http_is_loopback(const char *host)
{
  if (!strcasecmp(host, "localhost"))
    return true;
  struct in_addr v4;
  if (inet_pton(AF_INET, host, &v4) == 1)
    return ntohl(v4.s_addr) >> 24 == 127;
  char bare[INET6_ADDRSTRLEN];
  size_t n = strlen(host);
  if (n < 3 || host[0] != '[' || host[n - 1] != ']' || n - 2 >= sizeof bare)
    return false;
  memcpy(bare, host + 1, n - 2);
  bare[n - 2] = 0;
  struct in6_addr v6;
  return inet_pton(AF_INET6, bare, &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

// A URL as someone may read it: without user and password, on one line.
static char *http_shown_url(const char *url)
{
  const char *scheme = strstr(url, "://");
  const char *rest = scheme ? scheme + 3 : url;
  size_t end = strcspn(rest, "/?#");
  const char *at = NULL;
  for (size_t i = 0; i < end; i++) {
    if (rest[i] == '@')
      at = rest + i;
  }
  char *bare = at ? kr_xasprintf("%.*s...%s", (int)(rest - url), url, at) : kr_xstrdup(url);
  char *line = redact_line(bare, strlen(bare), 200);
  free(bare);
  return line;
}

static char *http_url_part(CURLU *u, CURLUPart part)
{
  char *value = NULL;
  if (curl_url_get(u, part, &value, 0) != CURLUE_OK)
    return NULL;
  char *copy = kr_xstrdup(value);
  curl_free(value);
  return copy;
}

// Reads a URL and refuses what is never right for a server.
static CURLU *http_url_read(const char *url, char **scheme, char **host, char **shown_host,
                            struct kr_err *err)
{
  char *shown = http_shown_url(url), *user = NULL, *fragment = NULL, *port = NULL;
  *scheme = *host = *shown_host = NULL;
  bool ok = false;
  pthread_once(&http_once, http_global);
  CURLU *u = curl_url();
  CURLUcode code = u ? curl_url_set(u, CURLUPART_URL, url, CURLU_NON_SUPPORT_SCHEME)
                     : CURLUE_OUT_OF_MEMORY;
  if (code != CURLUE_OK) {
    kr_err_set(err, "%s is not a URL of a server: %s", *shown ? shown : "(empty)",
               curl_url_strerror(code));
    goto out;
  }
  *scheme = http_url_part(u, CURLUPART_SCHEME);
  *host = http_url_part(u, CURLUPART_HOST);
  user = http_url_part(u, CURLUPART_USER);
  fragment = http_url_part(u, CURLUPART_FRAGMENT);
  port = http_url_part(u, CURLUPART_PORT);
  if (!*scheme || (strcmp(*scheme, "http") && strcmp(*scheme, "https"))) {
    kr_err_set(err, "%s: only http and https are spoken", shown);
    goto out;
  }
  if (!*host || !**host) {
    kr_err_set(err, "%s names no host", shown);
    goto out;
  }
  if (user) {
    kr_err_set(err, "%s holds a user name; a key comes from a file or the environment", shown);
    goto out;
  }
  if (fragment) {
    kr_err_set(err, "%s has a fragment (#...), which no server sees", shown);
    goto out;
  }
  *shown_host = port ? kr_xasprintf("%s:%s", *host, port) : kr_xstrdup(*host);
  ok = true;
out:
  free(user);
  free(fragment);
  free(port);
  free(shown);
  if (ok)
    return u;
  free(*scheme);
  free(*host);
  *scheme = *host = NULL;
  curl_url_cleanup(u);
  return NULL;
}

int http_url_join(const char *base, const char *path, char **url, char **host, struct kr_err *err)
{
  char *scheme, *bare, *shown, *old = NULL, *joined = NULL;
  *url = *host = NULL;
  CURLU *u = http_url_read(base, &scheme, &bare, &shown, err);
  if (!u)
    return -1;
  old = http_url_part(u, CURLUPART_PATH);
  size_t n = old ? strlen(old) : 0;
  while (n && old[n - 1] == '/')
    n--;
  // A base that already names the end point is taken for what was meant.
  size_t m = strlen(path);
  if (n > m && !strncmp(old + n - m, path, m) && old[n - m - 1] == '/')
    n -= m + 1;
  joined = kr_xasprintf("%.*s/%s", (int)n, old ? old : "", path);
  int rc = -1;
  if (curl_url_set(u, CURLUPART_PATH, joined, 0) != CURLUE_OK) {
    kr_err_set(err, "%s: its path cannot be used", shown);
    goto out;
  }
  *url = http_url_part(u, CURLUPART_URL);
  if (!*url) {
    kr_err_set(err, "%s: the URL cannot be put together", shown);
    goto out;
  }
  *host = kr_xstrdup(shown);
  rc = 0;
out:
  free(old);
  free(joined);
  free(scheme);
  free(bare);
  free(shown);
  curl_url_cleanup(u);
  return rc;
}

int http_may_carry_key(const char *url, struct kr_err *err)
{
  char *scheme, *bare, *shown;
  CURLU *u = http_url_read(url, &scheme, &bare, &shown, err);
  if (!u)
    return -1;
  int rc = 0;
  if (strcmp(scheme, "https") && !http_is_loopback(bare))
    rc = kr_err_set(err, "%s: a key is not sent over plain http to another machine; use https",
                    shown);
  curl_url_cleanup(u);
  free(scheme);
  free(bare);
  free(shown);
  return rc;
}

// --- headers of the answer ---

int64_t http_retry_after_ms(const char *value, time_t now)
{
  while (*value == ' ' || *value == '\t')
    value++;
  if (*value >= '0' && *value <= '9') {
    char *end;
    double s = strtod(value, &end);
    if (!strcspn(end, " \t\r\n") && s >= 0 && s < 1e9)
      return (int64_t)(s * 1000);
  }
  time_t at = curl_getdate(value, NULL);
  if (at == (time_t)-1)
    return -1;
  return at > now ? (int64_t)(at - now) * 1000 : 0;
}

// The value when the line is that header, in `out`, without blanks round it.
static bool header_value(const char *line, size_t len, const char *name, char *out, size_t size)
{
  size_t n = strlen(name);
  if (len <= n || strncasecmp(line, name, n) || line[n] != ':')
    return false;
  line += n + 1;
  len -= n + 1;
  while (len && (*line == ' ' || *line == '\t')) {
    line++;
    len--;
  }
  while (len && strchr(" \t\r\n", line[len - 1]))
    len--;
  if (len >= size)
    len = size - 1;
  memcpy(out, line, len);
  out[len] = 0;
  return true;
}

static void transfer_lives(struct transfer *t)
{
  t->last_byte_ms = t->engine->last_byte_ms = (int64_t)kr_now_ms();
}

static size_t transfer_header(char *line, size_t size, size_t n, void *arg)
{
  struct transfer *t = arg;
  size_t len = size * n;
  transfer_lives(t);
  t->header_bytes += len;
  if (t->header_bytes > HTTP_MAX_HEADERS) {
    t->out.failure = HTTP_TOO_BIG;
    kr_err_set(&t->err, "%s: the headers of the answer are longer than %d bytes", t->host,
               HTTP_MAX_HEADERS);
    return 0;
  }
  char value[512];
  if (len > 5 && !strncmp(line, "HTTP/", 5)) {
    // A new status line: what came before was of a 1xx answer or of a proxy.
    t->out.content_type[0] = 0;
    t->out.retry_after_ms = -1;
    t->location[0] = 0;
  } else if (header_value(line, len, "content-type", value, sizeof value)) {
    size_t m = strcspn(value, "; \t");
    snprintf(t->out.content_type, sizeof t->out.content_type, "%.*s", (int)m, value);
    for (char *p = t->out.content_type; *p; p++) {
      if (*p >= 'A' && *p <= 'Z')
        *p += 'a' - 'A';
    }
  } else if (header_value(line, len, "retry-after", value, sizeof value)) {
    t->out.retry_after_ms = http_retry_after_ms(value, time(NULL));
  } else if (header_value(line, len, "location", value, sizeof value)) {
    snprintf(t->location, sizeof t->location, "%s", value);
  }
  return len;
}

static size_t transfer_data(char *data, size_t size, size_t n, void *arg)
{
  struct transfer *t = arg;
  size_t len = size * n;
  size_t max = t->req.max_bytes ? t->req.max_bytes : HTTP_MAX_BYTES;
  transfer_lives(t);
  if (len > max - t->out.received) {
    t->out.failure = HTTP_TOO_BIG;
    kr_err_set(&t->err, "%s sent more than %zu MiB in one reply", t->host, max >> 20);
    return 0;
  }
  t->out.received += len;
  long status = 0;
  curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
  if (status >= 200 && status < 300) {
    if (t->req.on_data && t->req.on_data(t->req.arg, t->out.content_type, data, len, &t->err)) {
      t->out.failure = HTTP_STOPPED;
      return 0;
    }
    return len;
  }
  // An error page: its beginning is enough, the rest is read and dropped.
  size_t room = t->out.body.max - t->out.body.len;
  kr_bytes_add(&t->out.body, data, len < room ? len : room);
  return len;
}

// --- one request ---

static int transfer_failed(struct transfer *t, CURLcode code, struct kr_err *err)
{
  char detail[CURL_ERROR_SIZE] = "";
  const char *words = curl_easy_strerror(code);
  struct http_response *out = &t->out;
  switch (code) {
  case CURLE_COULDNT_RESOLVE_HOST:
  case CURLE_COULDNT_RESOLVE_PROXY:
  case CURLE_COULDNT_CONNECT:
  case CURLE_OPERATION_TIMEDOUT:
    out->failure = HTTP_CONNECT;
    break;
  case CURLE_PEER_FAILED_VERIFICATION:
  case CURLE_SSL_CONNECT_ERROR:
  case CURLE_SSL_CACERT_BADFILE:
    out->failure = HTTP_UNTRUSTED;
    break;
  case CURLE_UNSUPPORTED_PROTOCOL: // "HTTP/0.9": no status line at all
  case CURLE_WEIRD_SERVER_REPLY:
    out->failure = HTTP_NOT_HTTP;
    return kr_err_set(err, "%s answered with something that is not HTTP", t->host);
  default:
    out->failure = HTTP_BROKEN;
  }
  long error = 0;
  curl_easy_getinfo(t->easy, CURLINFO_OS_ERRNO, &error);
  if (code == CURLE_COULDNT_CONNECT && error)
    snprintf(detail, sizeof detail, " (%s)", strerror((int)error));
  if (code == CURLE_PARTIAL_FILE || code == CURLE_GOT_NOTHING || code == CURLE_RECV_ERROR)
    kr_err_set(err, "%s ended the connection %s (%s)", t->host,
               out->received ? "in the middle of its reply" : "without a reply", words);
  else if (code == CURLE_OPERATION_TIMEDOUT)
    kr_err_set(err, "%s: no connection within %u s", t->host,
               (t->req.connect_ms ? t->req.connect_ms : 10000) / 1000);
  else
    kr_err_set(err, "%s: %s%s", t->host, words, detail);
  return -1;
}

static int transfer_redirected(struct transfer *t, struct kr_err *err)
{
  t->out.failure = HTTP_REDIRECT;
  char *to = t->location[0] ? http_shown_url(t->location) : NULL;
  kr_err_set(err, "%s answered %ld, a redirect to %s; redirects are not followed, since the key "
             "and the code would go along: give the right address with --base-url",
             t->host, t->out.status, to ? to : "nowhere");
  free(to);
  return -1;
}

static void transfer_end(struct transfer *t, int rc)
{
  t->ended = true;
  t->rc = rc;
}

// libcurl is done with it.
static void transfer_finish(struct transfer *t, CURLcode code)
{
  int rc = 0;
  curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &t->out.status);
  if (t->err.text[0])
    rc = kr_err_set(&t->why, "%s", t->err.text);
  else if (code != CURLE_OK)
    rc = transfer_failed(t, code, &t->why);
  else if (t->out.status >= 300 && t->out.status < 400)
    rc = transfer_redirected(t, &t->why);
  transfer_end(t, rc);
}

static bool header_is_clean(const char *s)
{
  for (; *s; s++) {
    if ((unsigned char)*s < 0x20 || (unsigned char)*s >= 0x7f)
      return false;
  }
  return true;
}

static int transfer_headers(struct transfer *t, struct kr_err *err)
{
  bool secret = false;
  for (size_t i = 0; i < t->req.n_headers; i++) {
    const struct http_header *header = &t->req.headers[i];
    secret |= header->secret;
    if (!header_is_clean(header->name) || !header_is_clean(header->value))
      return kr_err_set(err,
                        "%s: the value of the %s header holds a control or non-ASCII character",
                        t->host, header->name);
    char *line = kr_xasprintf("%s: %s", header->name, header->value);
    struct curl_slist *more = curl_slist_append(t->headers, line);
    explicit_bzero(line, strlen(line));
    free(line);
    if (more)
      t->headers = more;
  }
  // curl would wait a second for a server's 100 before it sends a large body.
  struct curl_slist *more = curl_slist_append(t->headers, "Expect:");
  if (more)
    t->headers = more;
  return secret ? http_may_carry_key(t->req.url, err) : 0;
}

// Children are started while connections are open, and must not have them.
static curl_socket_t transfer_socket(void *arg, curlsocktype purpose, struct curl_sockaddr *a)
{
  (void)arg;
  (void)purpose;
  return socket(a->family, a->socktype | SOCK_CLOEXEC, a->protocol);
}

// Checks it and makes it ready to go.
static int transfer_open(struct transfer *t, struct kr_err *err)
{
  char *scheme = NULL, *bare = NULL;
  CURLU *u = http_url_read(t->req.url, &scheme, &bare, &t->host, err);
  if (!u)
    return -1;
  bool direct = http_is_loopback(bare) || strcmp(scheme, "https");
  curl_url_cleanup(u);
  free(scheme);
  free(bare);
  if (transfer_headers(t, err))
    return -1;
  t->easy = curl_easy_init();
  if (!t->easy || !t->engine->multi || !t->headers)
    return kr_err_set(err, "%s: libcurl could not be started", t->host);
  curl_easy_setopt(t->easy, CURLOPT_URL, t->req.url);
  curl_easy_setopt(t->easy, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(t->easy, CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(t->easy, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
  curl_easy_setopt(t->easy, CURLOPT_SSL_VERIFYPEER, 1L);
  curl_easy_setopt(t->easy, CURLOPT_SSL_VERIFYHOST, 2L);
  curl_easy_setopt(t->easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(t->easy, CURLOPT_NOPROGRESS, 1L);
  // As OpenSSL's own tools have it: certificates of the user's instead of the system's.
  const char *ca = getenv("SSL_CERT_FILE");
  if (ca && *ca)
    curl_easy_setopt(t->easy, CURLOPT_CAINFO, ca);
  if (direct)
    curl_easy_setopt(t->easy, CURLOPT_PROXY, "");
  curl_easy_setopt(t->easy, CURLOPT_HTTPHEADER, t->headers);
  curl_easy_setopt(t->easy, CURLOPT_POST, 1L);
  curl_easy_setopt(t->easy, CURLOPT_POSTFIELDS, t->req.body);
  curl_easy_setopt(t->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)t->req.body_len);
  curl_easy_setopt(t->easy, CURLOPT_CONNECTTIMEOUT_MS,
                   (long)(t->req.connect_ms ? t->req.connect_ms : 10000));
  curl_easy_setopt(t->easy, CURLOPT_OPENSOCKETFUNCTION, transfer_socket);
  curl_easy_setopt(t->easy, CURLOPT_HEADERFUNCTION, transfer_header);
  curl_easy_setopt(t->easy, CURLOPT_HEADERDATA, t);
  curl_easy_setopt(t->easy, CURLOPT_WRITEFUNCTION, transfer_data);
  curl_easy_setopt(t->easy, CURLOPT_WRITEDATA, t);
  curl_easy_setopt(t->easy, CURLOPT_PRIVATE, t);
  return 0;
}

static void transfer_begin(struct transfer *t, int64_t now)
{
  t->begin_ms = t->last_byte_ms = now;
  if (curl_multi_add_handle(t->engine->multi, t->easy) != CURLM_OK) {
    t->out.failure = HTTP_REFUSED;
    transfer_end(t, kr_err_set(&t->why, "%s: libcurl could not take the request", t->host));
    curl_easy_cleanup(t->easy);
    t->easy = NULL;
  }
}

// Ends it at a limit. Returns how long it may go on otherwise.
static int64_t transfer_limits(struct transfer *t, int64_t now)
{
  int64_t idle = t->req.idle_ms ? t->req.idle_ms : 60000;
  int64_t total = t->req.total_ms ? t->req.total_ms : 30 * 60 * 1000;
  if (!t->begin_ms)
    return t->due_ms - now;
  // A long request on a slow line is not silence.
  curl_off_t up = 0;
  curl_easy_getinfo(t->easy, CURLINFO_SIZE_UPLOAD_T, &up);
  if (up != t->sent) {
    t->sent = up;
    transfer_lives(t);
  }
  // Neither is a queue: who waits for the first byte waits as long as others get theirs.
  int64_t last = t->last_byte_ms;
  if (!t->header_bytes && t->engine->last_byte_ms > last)
    last = t->engine->last_byte_ms;
  if (now - last >= idle) {
    t->out.failure = HTTP_IDLE;
    transfer_end(t, kr_err_set(&t->why, "%s sent nothing for %g s", t->host, (double)idle / 1000));
  } else if (now - t->begin_ms >= total) {
    t->out.failure = HTTP_TOTAL;
    transfer_end(t, kr_err_set(&t->why, "%s did not finish its reply within %g s", t->host,
                               (double)total / 1000));
  }
  int64_t wait = idle - (now - last), rest = total - (now - t->begin_ms);
  return wait < rest ? wait : rest;
}

static void transfer_detach(struct transfer *t)
{
  if (!t->easy)
    return;
  curl_multi_remove_handle(t->engine->multi, t->easy);
  curl_easy_cleanup(t->easy);
  t->easy = NULL;
}

static void transfer_free(struct transfer *t)
{
  transfer_detach(t);
  curl_slist_free_all(t->headers);
  kr_bytes_release(&t->out.body);
  free(t->host);
  free(t);
}

// --- the engine ---

enum { ENGINE_SLEEP_MS = 60000 };

// Takes over what was started meanwhile. Returns false when it is to end.
static bool engine_take(struct http *h, bool *cancelling)
{
  pthread_mutex_lock(&h->lock);
  struct transfer *first = h->incoming;
  h->incoming = NULL;
  *cancelling = h->cancelling;
  bool end = h->closing && !first && !h->transfers;
  pthread_mutex_unlock(&h->lock);
  while (first) {
    struct transfer *t = first;
    first = t->next;
    t->next = h->transfers;
    h->transfers = t;
    t->out.failure = HTTP_REFUSED;
    if (transfer_open(t, &t->why))
      transfer_end(t, -1);
    else
      t->out.failure = HTTP_FINE;
  }
  return !end;
}

static void engine_perform(struct http *h)
{
  int running = 0, left;
  CURLMcode mc = curl_multi_perform(h->multi, &running);
  for (CURLMsg *msg; (msg = curl_multi_info_read(h->multi, &left));) {
    struct transfer *t = NULL;
    CURLcode code = msg->data.result;
    curl_easy_getinfo(msg->easy_handle, CURLINFO_PRIVATE, &t);
    if (msg->msg == CURLMSG_DONE && t && !t->ended)
      transfer_finish(t, code);
  }
  for (struct transfer *t = h->transfers; mc != CURLM_OK && t; t = t->next) {
    if (t->ended)
      continue;
    t->out.failure = HTTP_BROKEN;
    transfer_end(t, kr_err_set(&t->why, "%s: %s", t->host, curl_multi_strerror(mc)));
  }
}

// Tells of those that ended, and forgets them. Returns whether there were any.
static bool engine_tell(struct http *h)
{
  bool any = false;
  for (struct transfer **at = &h->transfers; *at;) {
    struct transfer *t = *at;
    if (!t->ended) {
      at = &t->next;
      continue;
    }
    *at = t->next;
    if (t->rc)
      redact_err(&t->why);
    transfer_detach(t); // what was sent may be freed now
    t->req.done(t->req.arg, t->rc, &t->out, &t->why);
    transfer_free(t);
    any = true;
    pthread_mutex_lock(&h->lock);
    if (!--h->open)
      pthread_cond_broadcast(&h->none_open);
    pthread_mutex_unlock(&h->lock);
  }
  return any;
}

static void *engine_run(void *arg)
{
  struct http *h = arg;
  for (bool cancelling; engine_take(h, &cancelling);) {
    int64_t now = (int64_t)kr_now_ms(), wait = ENGINE_SLEEP_MS;
    for (struct transfer *t = h->transfers; t; t = t->next) {
      if (!t->ended && !cancelling && !t->begin_ms && now >= t->due_ms)
        transfer_begin(t, now);
    }
    engine_perform(h);
    now = (int64_t)kr_now_ms();
    for (struct transfer *t = h->transfers; t; t = t->next) {
      if (t->ended)
        continue;
      if (cancelling) {
        t->out.failure = HTTP_INTERRUPTED;
        transfer_end(t, kr_err_set(&t->why, "%s: interrupted", t->host));
        continue;
      }
      int64_t left = transfer_limits(t, now);
      wait = left < wait ? left : wait;
    }
    if (!engine_tell(h))
      curl_multi_poll(h->multi, NULL, 0, wait > 0 ? (int)wait : 0, NULL);
  }
  return NULL;
}

struct http *http_new(void)
{
  pthread_once(&http_once, http_global);
  struct http *h = kr_xcalloc(1, sizeof *h);
  h->multi = curl_multi_init();
  pthread_mutex_init(&h->lock, NULL);
  pthread_cond_init(&h->none_open, NULL);
  return h;
}

void http_free(struct http *h)
{
  if (!h)
    return;
  if (h->running) {
    http_cancel(h);
    pthread_mutex_lock(&h->lock);
    h->closing = true;
    pthread_mutex_unlock(&h->lock);
    curl_multi_wakeup(h->multi);
    pthread_join(h->thread, NULL);
  }
  if (h->multi)
    curl_multi_cleanup(h->multi);
  pthread_mutex_destroy(&h->lock);
  pthread_cond_destroy(&h->none_open);
  free(h);
}

// The thread begins with the first request. Signals are for the others; and OpenSSL
// writes with write(2): a server that hangs up must not kill us.
static int http_run(struct http *h)
{
  sigset_t all, old;
  sigfillset(&all);
  if (h->running)
    return 0;
  pthread_sigmask(SIG_SETMASK, &all, &old);
  h->running = h->multi && !pthread_create(&h->thread, NULL, engine_run, h);
  pthread_sigmask(SIG_SETMASK, &old, NULL);
  return h->running ? 0 : -1;
}

void http_start(struct http *h, const struct http_request *req, unsigned delay_ms)
{
  struct transfer *t = kr_xcalloc(1, sizeof *t);
  t->engine = h;
  t->req = *req;
  t->due_ms = (int64_t)kr_now_ms() + delay_ms;
  t->out.retry_after_ms = -1;
  kr_bytes_init(&t->out.body, HTTP_MAX_ERROR_BODY);
  pthread_mutex_lock(&h->lock);
  if (!http_run(h)) {
    t->next = h->incoming;
    h->incoming = t;
    h->open++;
    t = NULL;
  }
  pthread_mutex_unlock(&h->lock);
  if (!t) {
    curl_multi_wakeup(h->multi);
    return;
  }
  t->out.failure = HTTP_REFUSED;
  kr_err_set(&t->why, "libcurl could not be started");
  req->done(req->arg, -1, &t->out, &t->why);
  transfer_free(t);
}

void http_cancel(struct http *h)
{
  pthread_mutex_lock(&h->lock);
  h->cancelling = true;
  if (h->running)
    curl_multi_wakeup(h->multi);
  while (h->open)
    pthread_cond_wait(&h->none_open, &h->lock);
  h->cancelling = false;
  pthread_mutex_unlock(&h->lock);
}
