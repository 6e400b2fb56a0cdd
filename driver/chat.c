#include "chat.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cjson/cJSON.h>

#include "../evaluator/base/clock.h"
#include "../evaluator/base/log.h"
#include "../evaluator/base/mem.h"
#include "babble.h"
#include "http.h"
#include "redact.h"
#include "../evaluator/base/utf8.h"

// Twice the code that a reply may hold; servers that send a token an event need more
// than HTTP_MAX_BYTES for no more than that.
enum { CHAT_MAX_REPLY = 2 << 20, CHAT_MAX_DOCUMENT = 32 << 20, CHAT_MAX_KEY = 16 << 10, CHAT_SHOWN = 300 };

// --- the key and the address ---

static int chat_key_file(const char *path, char **key, struct kr_err *err)
{
  int rc = -1;
  char text[CHAT_MAX_KEY + 1];
  size_t n = 0;
  struct stat st;
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0 || fstat(fd, &st)) {
    kr_err_errno(err, "cannot read the key file %s", path);
    goto out;
  }
  if (!S_ISREG(st.st_mode)) {
    kr_err_set(err, "the key file %s is not a regular file", path);
    goto out;
  }
  if (st.st_mode & 077) {
    kr_err_set(err, "the key file %s can be used by others (mode %04o): chmod 600 %s", path,
               (unsigned)(st.st_mode & 07777), path);
    goto out;
  }
  if (st.st_uid != geteuid() && st.st_uid != 0) {
    kr_err_set(err, "the key file %s belongs to another user", path);
    goto out;
  }
  for (;;) {
    ssize_t got = read(fd, text + n, sizeof text - n);
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0) {
      kr_err_errno(err, "cannot read the key file %s", path);
      goto out;
    }
    n += (size_t)got;
    if (!got || n == sizeof text)
      break;
  }
  size_t begin = 0, end = n;
  while (begin < end && strchr(" \t\r\n", text[begin]) && text[begin])
    begin++;
  while (end > begin && strchr(" \t\r\n", text[end - 1]) && text[end - 1])
    end--;
  if (begin == end) {
    kr_err_set(err, "the key file %s is empty", path);
    goto out;
  }
  if (n == sizeof text) {
    kr_err_set(err, "the key file %s is longer than %d bytes", path, CHAT_MAX_KEY);
    goto out;
  }
  for (size_t i = begin; i < end; i++) {
    if ((unsigned char)text[i] <= 0x20 || (unsigned char)text[i] >= 0x7f) {
      kr_err_set(err, "the key file %s holds more than one key: a blank, a line end or a "
                 "non-ASCII character in the middle", path);
      goto out;
    }
  }
  *key = kr_xstrndup(text + begin, end - begin);
  rc = 0;
out:
  explicit_bzero(text, sizeof text);
  if (fd >= 0)
    close(fd);
  return rc;
}

static int chat_key(struct chat *m, const char *file, struct kr_err *err)
{
  char *key = NULL;
  const char *env = getenv(m->dialect->key_env);
  if (file) {
    if (chat_key_file(file, &key, err))
      return -1;
    m->key_from = "--api-key-file";
  } else if (env && *env) {
    key = kr_xstrdup(env);
    m->key_from = m->dialect->key_env;
  }
  if (!key)
    return 0; // local servers want none
  redact_add(key, strlen(key));
  int rc = 0;
  for (const char *p = key; *p; p++) {
    if ((unsigned char)*p <= 0x20 || (unsigned char)*p >= 0x7f) {
      rc = kr_err_set(err, "the key in %s holds a blank, a control or a non-ASCII character",
                      m->key_from);
      break;
    }
  }
  if (!rc)
    m->key = kr_xasprintf("%s%s", m->dialect->key_prefix, key);
  explicit_bzero(key, strlen(key));
  free(key);
  return rc;
}

void chat_close(void *self)
{
  struct chat *m = self;
  if (m->http)
    chat_cancel(m);
  http_free(m->http);
  pthread_mutex_destroy(&m->lock);
  pthread_cond_destroy(&m->one_ended);
  if (m->key)
    explicit_bzero(m->key, strlen(m->key));
  free(m->key);
  free(m->name);
  free(m->url);
  free(m->host);
  free(m);
}

int chat_open(const struct chat_dialect *dialect, const char *name,
              const struct model_options *options, void **self, char **where, struct kr_err *err)
{
  struct chat *m = kr_xcalloc(1, sizeof *m);
  char *owned = NULL;
  const char *base = options->base_url;
  int rc = -1;
  m->dialect = dialect;
  pthread_mutex_init(&m->lock, NULL);
  pthread_cond_init(&m->one_ended, NULL);
  m->name = kr_xstrdup(name);
  m->options = *options;
  m->options.base_url = m->options.api_key_file = NULL;
  if (m->options.retries < 0)
    m->options.retries = 2;
  if (!m->options.retry_ms)
    m->options.retry_ms = 500;
  if (!m->options.retry_after_max_ms)
    m->options.retry_after_max_ms = 60000;
  if (!m->options.idle_ms)
    m->options.idle_ms = 60000;
  if (!m->options.keepalive_ms)
    m->options.keepalive_ms = 5 * m->options.idle_ms;
  m->jitter = (uint64_t)kr_now_ms() * 2654435761u ^ (uint64_t)getpid() << 32;
  if (chat_key(m, options->api_key_file, err))
    goto out;
  if (!base)
    base = dialect->base(&owned);
  if (http_url_join(base, dialect->path, &m->url, &m->host, err))
    goto out;
  if (m->key && http_may_carry_key(m->url, err))
    goto out;
  // Without a key this is allowed, but it is the user's code that is on the wire.
  struct kr_err plain;
  if (!m->key && http_may_carry_key(m->url, &plain))
    kr_warn("%s: plain http: the kernel's code is sent unencrypted", m->host);
  m->http = http_new();
  size_t shown = strcspn(m->url, "?") - strlen(dialect->path) - 1;
  *where = kr_xasprintf("%s at %.*s (%s%s)", name, (int)shown, m->url,
                        m->key ? "key from " : "no key", m->key ? m->key_from : "");
  *self = m;
  rc = 0;
out:
  free(owned);
  if (rc)
    chat_close(m);
  return rc;
}

// --- the request ---

uint64_t chat_seed(const struct chat *m, const struct model_request *req)
{
  return (m->options.seed * 1000003 + req->trajectory * 1009 + req->turn) & 0x7fffffff;
}

// --- the answer ---

// The words and the code of an error document: {"error": {"message", "code",
// "type"}}, {"error": "..."}, {"message": "..."}, {"detail": "..."}.
static void chat_error_words(const cJSON *json, const char **message, const char **code,
                               const char **type)
{
  *message = *code = *type = NULL;
  const cJSON *error = cJSON_GetObjectItemCaseSensitive(json, "error");
  const cJSON *from = cJSON_IsObject(error) ? error : json;
  static const char *const names[] = {"message", "detail", "error"};
  if (cJSON_IsString(error))
    *message = error->valuestring;
  for (size_t i = 0; i < 3 && !*message; i++) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(from, names[i]);
    if (cJSON_IsString(item))
      *message = item->valuestring;
  }
  const cJSON *item = cJSON_GetObjectItemCaseSensitive(from, "code");
  *code = cJSON_IsString(item) ? item->valuestring : NULL;
  item = cJSON_GetObjectItemCaseSensitive(from, "type");
  *type = cJSON_IsString(item) ? item->valuestring : NULL;
}

static bool chat_is_spent(const char *word)
{
  return word && (!strcmp(word, "insufficient_quota") || !strncmp(word, "billing_", 8));
}

int chat_inner_error(struct chat_stream *s, const cJSON *json, struct kr_err *err)
{
  const char *message, *code, *type;
  chat_error_words(json, &message, &code, &type);
  char *line = message ? redact_line(message, strlen(message), CHAT_SHOWN) : NULL;
  s->failure = chat_is_spent(code) || chat_is_spent(type) ? MODEL_BUDGET : MODEL_UNREACHABLE;
  static const char *const passing[] = {"overloaded_error", "rate_limit_error", "api_error",
                                        "timeout_error"};
  for (size_t i = 0; i < sizeof passing / sizeof *passing; i++)
    s->again |= type && s->failure == MODEL_UNREACHABLE && !strcmp(type, passing[i]);
  kr_err_set(err, "%s reports an error in the middle of its reply: %s", s->m->host,
             line ? line : "no message");
  free(line);
  return -1;
}

int chat_nonsense(struct chat_stream *s, struct kr_err *err, const char *what, const char *shown,
                  size_t len)
{
  s->failure = MODEL_NONSENSE;
  char *line = redact_line(shown, len, 80);
  kr_err_set(err, "%s %s: %s", s->m->host, what, line);
  free(line);
  return -1;
}

void chat_usage(struct chat_stream *s, double in, double out)
{
  if (in >= 0 && in < 1e15)
    s->reply->tokens_in = (uint64_t)in;
  if (out >= 0 && out < 1e15)
    s->reply->tokens_out = (uint64_t)out;
  s->reply->have_usage = s->reply->have_usage || (in >= 0 && out >= 0);
}

int chat_add(struct chat_stream *s, const char *text, struct kr_err *err)
{
  size_t len = strlen(text);
  if (s->text.len + len > CHAT_MAX_REPLY) {
    s->cut = true;
    return kr_err_set(err, "%s: the reply is longer than %d MiB", s->m->host, CHAT_MAX_REPLY >> 20);
  }
  kr_bytes_add(&s->text, text, len);
  // A document is there as a whole: nothing is saved by not reading it.
  if (s->is_json || !babble_is_due(&s->looked, s->text.len) ||
      !babble_at_end(s->text.data, s->text.len))
    return 0;
  s->cut = true;
  return kr_err_set(err, "%s: the reply repeats itself", s->m->host);
}

int chat_think(struct chat_stream *s, const char *text, struct kr_err *err)
{
  if (s->is_json)
    return 0;
  size_t len = strlen(text);
  char *at = s->thought.data;
  if (s->thought.len > 2 * BABBLE_WINDOW) { // moved seldom
    size_t drop = s->thought.len - BABBLE_WINDOW;
    while (((unsigned char)at[drop] & 0xc0) == 0x80)
      drop++;
    s->thought.len -= drop;
    memmove(at, at + drop, s->thought.len + 1);
    s->looked_thought -= s->looked_thought < drop ? s->looked_thought : drop;
  }
  if (kr_bytes_add(&s->thought, text, len)) {
    kr_bytes_reset(&s->thought);
    s->looked_thought = 0;
  }
  if (!babble_is_due(&s->looked_thought, s->thought.len) ||
      !babble_at_end(s->thought.data, s->thought.len))
    return 0;
  s->cut = true;
  return kr_err_set(err, "%s: the reasoning repeats itself", s->m->host);
}

static int chat_parse(struct chat_stream *s, const char *data, size_t len, cJSON **json,
                        struct kr_err *err)
{
  *json = cJSON_ParseWithLength(data, len);
  if (!cJSON_IsObject(*json)) {
    cJSON_Delete(*json);
    *json = NULL;
    return chat_nonsense(s, err, "sent what is not a JSON object", data, len);
  }
  if (kr_utf8_json_has_nul(data, len)) {
    cJSON_Delete(*json);
    *json = NULL;
    s->failure = MODEL_NONSENSE;
    return kr_err_set(err, "%s sent a NUL character in its reply", s->m->host);
  }
  return 0;
}

static int chat_event(void *arg, const char *name, const char *data, size_t len,
                        struct kr_err *err)
{
  struct chat_stream *s = arg;
  (void)name;
  int64_t before = s->last_event_ms;
  s->last_event_ms = (int64_t)kr_now_ms();
  if (s->done)
    return 0;
  if (len == 6 && !memcmp(data, "[DONE]", 6)) {
    s->done = true;
    return 0;
  }
  cJSON *json;
  if (chat_parse(s, data, len, &json, err))
    return -1;
  s->events++;
  s->idle_event = false;
  int rc = s->m->dialect->event(s, json, err);
  if (s->idle_event)
    s->last_event_ms = before;
  cJSON_Delete(json);
  return rc;
}

static int chat_data(void *arg, const char *content_type, const char *data, size_t len,
                       struct kr_err *err)
{
  struct chat_stream *s = arg;
  if (!s->started) {
    s->started = true;
    s->last_event_ms = (int64_t)kr_now_ms();
    s->is_json = !strcmp(content_type, "application/json");
    if (!s->is_json && *content_type && strcmp(content_type, "text/event-stream")) {
      s->failure = MODEL_NONSENSE;
      char *type = redact_line(content_type, strlen(content_type), 60);
      kr_err_set(err, "%s answered with %s, not with an event stream or JSON; is this the address "
                 "of an API (most end in /v1)?", s->m->host, type);
      free(type);
      return -1;
    }
  }
  if (s->is_json) {
    if (!kr_bytes_add(&s->document, data, len))
      return 0;
    s->failure = MODEL_NONSENSE;
    return kr_err_set(err, "%s: the reply is longer than %d MiB", s->m->host,
                      (int)(s->document.max >> 20));
  }
  if (sse_feed(&s->sse, data, len, err)) {
    if (!s->failure) {
      s->failure = MODEL_NONSENSE;
      kr_err_prefix(err, "%s", s->m->host);
    }
    return -1;
  }
  // Keep-alive comments count as life for the connection, not for the reply.
  int64_t quiet = (int64_t)kr_now_ms() - s->last_event_ms;
  if (quiet >= s->m->options.keepalive_ms) {
    s->failure = MODEL_UNREACHABLE;
    return kr_err_set(err, "%s sent nothing but keep-alives for %g s", s->m->host,
                      (double)s->m->options.keepalive_ms / 1000);
  }
  return 0;
}

// The stream ended without a failure of the connection: is it a whole reply?
static int chat_finish(struct chat_stream *s, struct kr_err *err)
{
  const char *host = s->m->host;
  struct model_reply *reply = s->reply;
  if (!s->started) {
    s->failure = MODEL_NONSENSE;
    return kr_err_set(err, "%s answered 200 with nothing in it", host);
  }
  if (s->is_json) {
    cJSON *json;
    if (chat_parse(s, s->document.data, s->document.len, &json, err))
      return -1;
    int rc = s->m->dialect->document(s, json, err);
    cJSON_Delete(json);
    if (rc && !s->cut)
      return -1;
  } else if (s->cut) {
    // Who never came to a reply is shown what he said instead.
    if (!s->text.len && s->thought.len)
      kr_bytes_addf(&s->text, "<think>\n%s", s->thought.data);
  } else if (!s->done && s->finish == CHAT_OPEN) {
    const char *line = s->sse.line.data;
    bool is_field = !strncmp(line, "data", 4) || !strncmp(line, "event", 5) || line[0] == ':' ||
                    s->sse.line.len < 4;
    if (!s->events && !(sse_pending(&s->sse) && is_field))
      return chat_nonsense(s, err, "sent a stream without an event in it", line,
                             s->sse.line.len);
    s->failure = MODEL_UNREACHABLE;
    s->again = true;
    return kr_err_set(err, "%s ended the stream in the middle of the reply, %zu bytes in", host,
                      s->text.len);
  }
  if (s->finish == CHAT_FILTERED) {
    s->failure = MODEL_NONSENSE;
    return kr_err_set(err, "%s cut the reply off by its content filter", host);
  }
  reply->truncated = s->finish == CHAT_LENGTH || s->cut;
  // The count comes last, and did not come: what a server says before is a beginning.
  reply->have_usage = reply->have_usage && !s->cut;
  redact_bytes(&s->text);
  size_t good = kr_utf8_check(s->text.data, s->text.len);
  if (good < s->text.len) {
    bool cut = kr_utf8_is_cut(s->text.data, s->text.len);
    if (!cut || !reply->truncated) {
      s->failure = MODEL_NONSENSE;
      return cut ? kr_err_set(err, "%s: the reply ends in half a UTF-8 character", host)
                 : kr_err_set(err, "%s: the reply is not UTF-8 at byte %zu", host, good);
    }
    s->text.len = good; // a limit of tokens may fall inside a character
    s->text.data[good] = 0;
  }
  if (strspn(s->text.data, " \t\r\n") == s->text.len && !reply->truncated) {
    s->failure = MODEL_NONSENSE;
    return kr_err_set(err, "%s: the model's reply is empty", host);
  }
  reply->len = s->text.len;
  reply->text = kr_bytes_take(&s->text);
  return 0;
}

// An answer that is not 2xx, as a sentence.
static int chat_refused(struct chat_stream *s, const struct http_response *r,
                          struct kr_err *err)
{
  struct chat *m = s->m;
  const char *message = NULL, *code = NULL, *type = NULL, *hint = "";
  char no_key[100];
  cJSON *json = cJSON_ParseWithLength(r->body.data, r->body.len);
  if (cJSON_IsObject(json))
    chat_error_words(json, &message, &code, &type);
  // An error page of a proxy says nothing that its status does not.
  char *line = message ? redact_line(message, strlen(message), CHAT_SHOWN) : kr_xstrdup("");
  bool spent = r->status == 402 || chat_is_spent(code) || chat_is_spent(type) ||
               (message && strcasestr(message, "credit balance is too low"));
  s->failure = MODEL_CONFIG;
  if (spent) {
    s->failure = MODEL_BUDGET;
    hint = " (the account's budget is spent)";
  } else if (r->status == 401 || r->status == 403) {
    s->failure = MODEL_REFUSED;
    snprintf(no_key, sizeof no_key, " (no key was given: %s or --api-key-file)",
             m->dialect->key_env);
    hint = m->key ? " (the key was not accepted)" : no_key;
  } else if (r->status == 404) {
    s->failure = MODEL_REFUSED;
    hint = " (is the model's name right, and the base URL?)";
  } else if (r->status == 408 || r->status == 409 || r->status == 429 || r->status >= 500) {
    s->failure = MODEL_UNREACHABLE;
    s->again = true;
  }
  if ((r->status == 400 || r->status == 422) && !spent && message) {
    pthread_mutex_lock(&m->lock);
    s->again = s->otherwise = m->dialect->otherwise(m, message);
    pthread_mutex_unlock(&m->lock);
  }
  kr_err_set(err, "%s answered %ld%s%s%s", m->host, r->status, *line ? ": " : "", line, hint);
  free(line);
  cJSON_Delete(json);
  return -1;
}

// --- one question ---

// A question with all its tries. Until it is `ended` it is the pool's thread's.
struct chat_ask {
  struct chat_ask *next;
  struct chat *m;
  size_t tag;
  struct model_request req; // what a dialect reads of it, and no more
  char *prompt, *body;
  struct http_header headers[5];
  struct chat_stream stream;
  struct model_reply reply;
  struct kr_err err;
  unsigned free_tries; // asked otherwise, not again
  double begin_ms;
  int rc;
};

static void chat_ask_free(struct chat_ask *a)
{
  model_reply_release(&a->reply);
  free(a->prompt);
  free(a->body);
  free(a);
}

static void chat_ask_end(struct chat_ask *a, int rc)
{
  struct chat *m = a->m;
  struct chat_ask **at = &m->ended;
  a->rc = rc;
  a->reply.wall_ms = kr_now_ms() - a->begin_ms;
  pthread_mutex_lock(&m->lock);
  while (*at)
    at = &(*at)->next;
  *at = a;
  pthread_cond_signal(&m->one_ended);
  pthread_mutex_unlock(&m->lock);
}

static char *chat_body(struct chat_ask *a)
{
  pthread_mutex_lock(&a->m->lock);
  char *body = a->m->dialect->body(a->m, &a->req);
  pthread_mutex_unlock(&a->m->lock);
  return body;
}

static void chat_ended(void *arg, int rc, const struct http_response *response,
                       const struct kr_err *why);

static int chat_stream_data(void *arg, const char *content_type, const char *data, size_t len,
                            struct kr_err *err)
{
  struct chat_ask *a = arg;
  return chat_data(&a->stream, content_type, data, len, err);
}

static void chat_send(struct chat_ask *a, unsigned delay_ms)
{
  struct chat *m = a->m;
  size_t n = 0;
  free(a->body);
  a->body = chat_body(a);
  a->reply.tries++;
  if (!a->body) {
    a->reply.failure = MODEL_CONFIG;
    chat_ask_end(a, kr_err_set(&a->err, "%s: the request could not be put into JSON", m->host));
    return;
  }
  a->headers[n++] = (struct http_header){"Content-Type", "application/json", false};
  a->headers[n++] = (struct http_header){"Accept", "text/event-stream, application/json", false};
  a->headers[n++] = (struct http_header){"User-Agent", "kevin-rewrite/" KR_VERSION, false};
  if (m->dialect->version_header)
    a->headers[n++] = (struct http_header){m->dialect->version_header, m->dialect->version, false};
  if (m->key)
    a->headers[n++] = (struct http_header){m->dialect->key_header, m->key, true};
  a->stream = (struct chat_stream){.m = m, .reply = &a->reply};
  sse_init(&a->stream.sse, SSE_MAX_LINE, chat_event, &a->stream);
  kr_bytes_init(&a->stream.text, 2 * CHAT_MAX_REPLY); // chat_add() has the limit
  kr_bytes_init(&a->stream.document, CHAT_MAX_DOCUMENT);
  kr_bytes_init(&a->stream.thought, 4 * BABBLE_WINDOW);
  struct http_request req = {
      .url = m->url,
      .headers = a->headers,
      .n_headers = n,
      .body = a->body,
      .body_len = strlen(a->body),
      .connect_ms = m->options.connect_ms,
      .idle_ms = m->options.idle_ms,
      .total_ms = m->options.total_ms,
      .on_data = chat_stream_data,
      .done = chat_ended,
      .arg = a,
  };
  http_start(m->http, &req, delay_ms);
}

// What one try came to, in the stream's `failure`, `again` and `otherwise`.
static int chat_tried(struct chat_stream *s, int rc, const struct http_response *response,
                      struct kr_err *err)
{
  if (!rc)
    return response->status >= 200 && response->status < 300 ? chat_finish(s, err)
                                                             : chat_refused(s, response, err);
  // The reply is whole; what the connection does after it is no matter.
  if (s->done && (response->failure == HTTP_BROKEN || response->failure == HTTP_IDLE))
    return chat_finish(s, err);
  if (s->cut || (s->text.len && response->failure == HTTP_TOO_BIG)) {
    kr_debug("model", "%s; it is cut", err->text);
    s->cut = true;
    return chat_finish(s, err);
  }
  switch (response->failure) {
  case HTTP_CONNECT:
  case HTTP_BROKEN:
  case HTTP_IDLE:
    s->failure = MODEL_UNREACHABLE;
    s->again = true;
    break;
  case HTTP_UNTRUSTED:
  case HTTP_TOTAL:
    s->failure = MODEL_UNREACHABLE;
    break;
  case HTTP_NOT_HTTP:
  case HTTP_TOO_BIG:
    s->failure = MODEL_NONSENSE;
    break;
  case HTTP_INTERRUPTED:
    s->failure = MODEL_INTERRUPTED;
    break;
  case HTTP_STOPPED: // chat_data() has said why
    break;
  default:
    s->failure = MODEL_CONFIG;
  }
  return -1;
}

// Exponential, with jitter of a quarter either way, at most 8 s; what the
// server asks for goes first, up to its own limit.
static int64_t chat_pause_ms(struct chat *m, unsigned tries, int64_t retry_after_ms)
{
  if (retry_after_ms >= 0)
    return retry_after_ms < m->options.retry_after_max_ms ? retry_after_ms
                                                          : m->options.retry_after_max_ms;
  int64_t ms = m->options.retry_ms;
  for (unsigned i = 1; i < tries && ms < 8000; i++)
    ms *= 2;
  if (ms > 8000)
    ms = 8000;
  m->jitter = m->jitter * 6364136223846793005u + 1442695040888963407u;
  return ms * 3 / 4 + (int64_t)((m->jitter >> 33) % (uint64_t)(ms / 2 + 1));
}

// Is a question that was refused as it was put one that is put otherwise now? Another
// one may have learnt meanwhile what this server does not take.
static bool chat_is_stale(struct chat_ask *a)
{
  char *now = chat_body(a);
  bool stale = now && strcmp(now, a->body) != 0;
  free(now);
  return stale;
}

// One try is over, on the pool's thread: the question ends, or is sent again.
static void chat_ended(void *arg, int rc, const struct http_response *response,
                       const struct kr_err *why)
{
  struct chat_ask *a = arg;
  struct chat *m = a->m;
  struct chat_stream *s = &a->stream;
  a->err = *why;
  kr_debug("model", "%s: %zu bytes sent, status %ld, %zu bytes received", m->host, strlen(a->body),
           response->status, response->received);
  rc = chat_tried(s, rc, response, &a->err);
  if (rc && !s->otherwise && (response->status == 400 || response->status == 422))
    s->again = s->otherwise = chat_is_stale(a);
  bool again = rc && s->again, otherwise = rc && s->otherwise;
  a->reply.failure = rc ? s->failure : MODEL_FINE;
  sse_release(&s->sse);
  kr_bytes_release(&s->text);
  kr_bytes_release(&s->document);
  kr_bytes_release(&s->thought);
  unsigned tries = a->reply.tries;
  if (otherwise) {
    a->free_tries++;
    chat_send(a, 0);
    return;
  }
  if (!again || tries - a->free_tries > (unsigned)m->options.retries) {
    if (again && tries > 1) {
      size_t n = strlen(a->err.text);
      snprintf(a->err.text + n, sizeof a->err.text - n, " (%u tries)", tries);
    }
    chat_ask_end(a, rc);
    return;
  }
  redact_err(&a->err);
  int64_t pause = chat_pause_ms(m, tries - a->free_tries, response->retry_after_ms);
  kr_note("%s; trying again in %.1f s", a->err.text, (double)pause / 1000);
  chat_send(a, (unsigned)pause);
}

// --- many questions ---

// Whether *stop was set is looked at so often.
enum { CHAT_TICK_MS = 100 };

void chat_begin(void *self, const struct model_request *req, size_t tag)
{
  struct chat *m = self;
  struct chat_ask *a = kr_xcalloc(1, sizeof *a);
  a->m = m;
  a->tag = tag;
  a->begin_ms = kr_now_ms();
  a->prompt = kr_xstrdup(req->prompt);
  a->req = (struct model_request){
      .prompt = a->prompt, .trajectory = req->trajectory, .turn = req->turn};
  m->n_asked++;
  chat_send(a, 0);
}

static struct chat_ask *chat_take(struct chat *m, bool wait)
{
  pthread_mutex_lock(&m->lock);
  while (wait && m->n_asked && !m->ended) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += CHAT_TICK_MS * 1000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_cond_timedwait(&m->one_ended, &m->lock, &until);
    if (!m->options.stop || !*m->options.stop)
      continue;
    // A signal's flag is read by the thread that was interrupted, and by no other.
    pthread_mutex_unlock(&m->lock);
    http_cancel(m->http);
    pthread_mutex_lock(&m->lock);
  }
  struct chat_ask *a = m->ended;
  if (a)
    m->ended = a->next;
  pthread_mutex_unlock(&m->lock);
  m->n_asked -= a != NULL;
  return a;
}

bool chat_next(void *self, bool wait, size_t *tag, struct model_reply *reply, struct kr_err *err)
{
  struct chat_ask *a = chat_take(self, wait);
  if (!a)
    return false;
  *tag = a->tag;
  *reply = a->reply;
  a->reply.text = NULL;
  if (a->rc)
    *err = a->err;
  chat_ask_free(a);
  return true;
}

void chat_cancel(void *self)
{
  struct chat *m = self;
  http_cancel(m->http);
  for (struct chat_ask *a; (a = chat_take(m, false));)
    chat_ask_free(a);
}

int chat_complete(void *self, const struct model_request *req, struct model_reply *reply,
                  struct kr_err *err)
{
  size_t tag;
  chat_begin(self, req, 0);
  return chat_next(self, true, &tag, reply, err) && reply->failure == MODEL_FINE ? 0 : -1;
}
