// Chat completions over HTTP, as OpenAI's and every compatible server (vLLM,
// SGLang, llama.cpp, Ollama) speak them. One request is one user message; the
// reply is streamed, so that silence can be told from slowness. A server that
// answers with one JSON document in spite of `"stream": true` is understood too.
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
#include "http.h"
#include "model.h"
#include "redact.h"
#include "sse.h"
#include "utf8.h"

enum { OPENAI_MAX_REPLY = 16 << 20, OPENAI_MAX_KEY = 16 << 10, OPENAI_SHOWN = 300 };

struct openai {
  struct http *http;
  char *name, *url, *host;
  char *bearer; // "Bearer KEY", or NULL
  const char *key_from;
  struct model_options options; // numbers and `stop` only
  // What a server has said it does not take.
  bool no_stream_options, max_completion_tokens;
  uint64_t jitter;
};

// One try: what has come so far.
struct openai_stream {
  struct openai *m;
  struct sse sse;
  struct kr_bytes text, document; // the reply; an answer that is one JSON document
  bool is_json, started, done;
  char finish[32];
  size_t events;
  int64_t last_event_ms;
  struct model_reply *reply;
  enum model_failure failure; // of an answer that came
  bool again;                 // and may be better next time
};

// --- the key and the address ---

static int openai_key_file(const char *path, char **key, struct kr_err *err)
{
  int rc = -1;
  char text[OPENAI_MAX_KEY + 1];
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
    kr_err_set(err, "the key file %s is longer than %d bytes", path, OPENAI_MAX_KEY);
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

static int openai_key(struct openai *m, const char *file, struct kr_err *err)
{
  char *key = NULL;
  const char *env = getenv("OPENAI_API_KEY");
  if (file) {
    if (openai_key_file(file, &key, err))
      return -1;
    m->key_from = "--api-key-file";
  } else if (env && *env) {
    key = kr_xstrdup(env);
    m->key_from = "OPENAI_API_KEY";
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
    m->bearer = kr_xasprintf("Bearer %s", key);
  explicit_bzero(key, strlen(key));
  free(key);
  return rc;
}

static const char *openai_base(const struct model_options *options)
{
  if (options->base_url)
    return options->base_url;
  const char *now = getenv("OPENAI_BASE_URL"), *old = getenv("OPENAI_API_BASE");
  if (now && *now)
    return now;
  if (old && *old) {
    kr_warn("OPENAI_API_BASE is the old name of OPENAI_BASE_URL; it is used");
    return old;
  }
  return "https://api.openai.com/v1";
}

static void openai_close(void *self)
{
  struct openai *m = self;
  http_free(m->http);
  if (m->bearer)
    explicit_bzero(m->bearer, strlen(m->bearer));
  free(m->bearer);
  free(m->name);
  free(m->url);
  free(m->host);
  free(m);
}

int model_openai_open(const char *name, const struct model_options *options, void **self,
                      char **where, struct kr_err *err)
{
  struct openai *m = kr_xcalloc(1, sizeof *m);
  int rc = -1;
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
  if (openai_key(m, options->api_key_file, err))
    goto out;
  if (http_url_join(openai_base(options), "chat/completions", &m->url, &m->host, err))
    goto out;
  if (m->bearer && http_may_carry_key(m->url, err))
    goto out;
  // Without a key this is allowed, but it is the user's code that is on the wire.
  struct kr_err plain;
  if (!m->bearer && http_may_carry_key(m->url, &plain))
    kr_warn("%s: plain http: the kernel's code is sent unencrypted", m->host);
  m->http = http_new();
  size_t shown = strlen(m->url) - strlen("/chat/completions");
  size_t query = strcspn(m->url, "?");
  if (query < strlen(m->url))
    shown = query - strlen("/chat/completions");
  *where = kr_xasprintf("%s at %.*s (%s%s)", name, (int)shown, m->url,
                        m->bearer ? "key from " : "no key", m->bearer ? m->key_from : "");
  *self = m;
  rc = 0;
out:
  if (rc)
    openai_close(m);
  return rc;
}

// --- the request ---

static char *openai_body(const struct openai *m, const struct model_request *req)
{
  cJSON *root = cJSON_CreateObject();
  cJSON_AddStringToObject(root, "model", m->name);
  cJSON *messages = cJSON_AddArrayToObject(root, "messages");
  cJSON *message = cJSON_CreateObject();
  cJSON_AddStringToObject(message, "role", "user");
  cJSON_AddStringToObject(message, "content", req->prompt);
  cJSON_AddItemToArray(messages, message);
  cJSON_AddBoolToObject(root, "stream", true);
  if (!m->no_stream_options) {
    cJSON *so = cJSON_AddObjectToObject(root, "stream_options");
    cJSON_AddBoolToObject(so, "include_usage", true);
  }
  if (m->options.temperature >= 0)
    cJSON_AddNumberToObject(root, "temperature", m->options.temperature);
  if (m->options.max_tokens)
    cJSON_AddNumberToObject(root,
                            m->max_completion_tokens ? "max_completion_tokens" : "max_tokens",
                            m->options.max_tokens);
  if (m->options.has_seed) {
    // One seed a question, or all trajectories would be one. 31 bits: every server takes them.
    uint64_t seed = m->options.seed * 1000003 + req->trajectory * 1009 + req->turn;
    cJSON_AddNumberToObject(root, "seed", (double)(seed & 0x7fffffff));
  }
  char *printed = cJSON_PrintUnformatted(root);
  cJSON_Delete(root);
  if (!printed)
    return NULL;
  char *body = kr_xstrdup(printed);
  cJSON_free(printed);
  return body;
}

// --- the answer ---

// The words and the code of an error document: {"error": {"message", "code",
// "type"}}, {"error": "..."}, {"message": "..."}, {"detail": "..."}.
static void openai_error_words(const cJSON *json, const char **message, const char **code,
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

static bool openai_is_spent(const char *word)
{
  return word && (!strcmp(word, "insufficient_quota") || !strncmp(word, "billing_", 8));
}

// An error that came inside an answer of status 200.
static int openai_inner_error(struct openai_stream *s, const cJSON *json, struct kr_err *err)
{
  const char *message, *code, *type;
  openai_error_words(json, &message, &code, &type);
  char *line = message ? redact_line(message, strlen(message), OPENAI_SHOWN) : NULL;
  s->failure = openai_is_spent(code) || openai_is_spent(type) ? MODEL_BUDGET : MODEL_UNREACHABLE;
  kr_err_set(err, "%s reports an error in the middle of its reply: %s", s->m->host,
             line ? line : "no message");
  free(line);
  return -1;
}

static int openai_nonsense(struct openai_stream *s, struct kr_err *err, const char *what,
                           const char *shown, size_t len)
{
  s->failure = MODEL_NONSENSE;
  char *line = redact_line(shown, len, 80);
  kr_err_set(err, "%s %s: %s", s->m->host, what, line);
  free(line);
  return -1;
}

static void openai_usage(struct openai_stream *s, const cJSON *json)
{
  const cJSON *usage = cJSON_GetObjectItemCaseSensitive(json, "usage");
  const cJSON *in = cJSON_GetObjectItemCaseSensitive(usage, "prompt_tokens");
  const cJSON *out = cJSON_GetObjectItemCaseSensitive(usage, "completion_tokens");
  if (!cJSON_IsNumber(in) || !cJSON_IsNumber(out))
    return;
  double a = in->valuedouble, b = out->valuedouble;
  if (a >= 0 && a < 1e15 && b >= 0 && b < 1e15) {
    s->reply->have_usage = true;
    s->reply->tokens_in = (uint64_t)a;
    s->reply->tokens_out = (uint64_t)b;
  }
}

// One chunk of a stream, or the whole document. `part` is "delta" or "message".
// reasoning_content and whatever else is beside `content` is left where it is.
static int openai_take(struct openai_stream *s, const cJSON *json, const char *part,
                       struct kr_err *err)
{
  if (cJSON_IsObject(cJSON_GetObjectItemCaseSensitive(json, "error")) ||
      cJSON_IsString(cJSON_GetObjectItemCaseSensitive(json, "error")))
    return openai_inner_error(s, json, err);
  openai_usage(s, json);
  const cJSON *choices = cJSON_GetObjectItemCaseSensitive(json, "choices");
  const cJSON *choice = cJSON_IsArray(choices) ? choices->child : NULL;
  const cJSON *content =
      cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(choice, part), "content");
  if (cJSON_IsString(content) && kr_bytes_adds(&s->text, content->valuestring)) {
    s->failure = MODEL_NONSENSE;
    return kr_err_set(err, "%s: the reply is longer than %d MiB", s->m->host,
                      OPENAI_MAX_REPLY >> 20);
  }
  const cJSON *finish = cJSON_GetObjectItemCaseSensitive(choice, "finish_reason");
  if (cJSON_IsString(finish))
    snprintf(s->finish, sizeof s->finish, "%s", finish->valuestring);
  return 0;
}

static int openai_parse(struct openai_stream *s, const char *data, size_t len, cJSON **json,
                        struct kr_err *err)
{
  *json = cJSON_ParseWithLength(data, len);
  if (!cJSON_IsObject(*json)) {
    cJSON_Delete(*json);
    *json = NULL;
    return openai_nonsense(s, err, "sent what is not a JSON object", data, len);
  }
  if (utf8_json_has_nul(data, len)) {
    cJSON_Delete(*json);
    *json = NULL;
    s->failure = MODEL_NONSENSE;
    return kr_err_set(err, "%s sent a NUL character in its reply", s->m->host);
  }
  return 0;
}

static int openai_event(void *arg, const char *name, const char *data, size_t len,
                        struct kr_err *err)
{
  struct openai_stream *s = arg;
  (void)name;
  s->last_event_ms = (int64_t)kr_now_ms();
  if (s->done)
    return 0;
  if (len == 6 && !memcmp(data, "[DONE]", 6)) {
    s->done = true;
    return 0;
  }
  cJSON *json;
  if (openai_parse(s, data, len, &json, err))
    return -1;
  s->events++;
  int rc = openai_take(s, json, "delta", err);
  cJSON_Delete(json);
  return rc;
}

static int openai_data(void *arg, const char *content_type, const char *data, size_t len,
                       struct kr_err *err)
{
  struct openai_stream *s = arg;
  if (!s->started) {
    s->started = true;
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
static int openai_finish(struct openai_stream *s, struct kr_err *err)
{
  const char *host = s->m->host;
  struct model_reply *reply = s->reply;
  if (!s->started) {
    s->failure = MODEL_NONSENSE;
    return kr_err_set(err, "%s answered 200 with nothing in it", host);
  }
  if (s->is_json) {
    cJSON *json;
    if (openai_parse(s, s->document.data, s->document.len, &json, err))
      return -1;
    int rc = openai_take(s, json, "message", err);
    bool has = cJSON_IsArray(cJSON_GetObjectItemCaseSensitive(json, "choices"));
    cJSON_Delete(json);
    if (rc)
      return -1;
    if (!has)
      return openai_nonsense(s, err, "sent JSON without `choices`", s->document.data,
                             s->document.len);
  } else if (!s->done && !s->finish[0]) {
    const char *line = s->sse.line.data;
    bool is_field = !strncmp(line, "data", 4) || !strncmp(line, "event", 5) || line[0] == ':' ||
                    s->sse.line.len < 4;
    if (!s->events && !(sse_pending(&s->sse) && is_field))
      return openai_nonsense(s, err, "sent a stream without an event in it", line,
                             s->sse.line.len);
    s->failure = MODEL_UNREACHABLE;
    s->again = true;
    return kr_err_set(err, "%s ended the stream in the middle of the reply, %zu bytes in", host,
                      s->text.len);
  }
  if (!strcmp(s->finish, "content_filter")) {
    s->failure = MODEL_NONSENSE;
    return kr_err_set(err, "%s cut the reply off by its content filter", host);
  }
  reply->truncated = !strcmp(s->finish, "length");
  redact_bytes(&s->text);
  size_t good = utf8_check(s->text.data, s->text.len);
  if (good < s->text.len) {
    bool cut = utf8_is_cut(s->text.data, s->text.len);
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
static int openai_refused(struct openai_stream *s, const struct http_response *r,
                          struct kr_err *err)
{
  struct openai *m = s->m;
  const char *message = NULL, *code = NULL, *type = NULL, *hint = "";
  cJSON *json = cJSON_ParseWithLength(r->body.data, r->body.len);
  if (cJSON_IsObject(json))
    openai_error_words(json, &message, &code, &type);
  // An error page of a proxy says nothing that its status does not.
  char *line = message ? redact_line(message, strlen(message), OPENAI_SHOWN) : kr_xstrdup("");
  bool spent = r->status == 402 || openai_is_spent(code) || openai_is_spent(type);
  s->failure = MODEL_CONFIG;
  if (spent) {
    s->failure = MODEL_BUDGET;
    hint = " (the account's budget is spent)";
  } else if (r->status == 401 || r->status == 403) {
    s->failure = MODEL_REFUSED;
    hint = m->bearer ? " (the key was not accepted)"
                     : " (no key was given: OPENAI_API_KEY or --api-key-file)";
  } else if (r->status == 404) {
    s->failure = MODEL_REFUSED;
    hint = " (is the model's name right, and the base URL?)";
  } else if (r->status == 408 || r->status == 409 || r->status == 429 || r->status >= 500) {
    s->failure = MODEL_UNREACHABLE;
    s->again = true;
  }
  // Two things that not every server takes are tried the other way.
  if (r->status == 400 || r->status == 422) {
    if (message && strstr(message, "stream_options") && !m->no_stream_options)
      s->again = m->no_stream_options = true;
    else if (message && strstr(message, "max_completion_tokens") && m->options.max_tokens &&
             !m->max_completion_tokens)
      s->again = m->max_completion_tokens = true;
  }
  kr_err_set(err, "%s answered %ld%s%s%s", m->host, r->status, *line ? ": " : "", line, hint);
  free(line);
  cJSON_Delete(json);
  return -1;
}

static int openai_try(struct openai *m, const char *body, struct model_reply *reply,
                      int64_t *retry_after_ms, bool *again, struct kr_err *err)
{
  struct http_header headers[4] = {
      {"Content-Type", "application/json", false},
      {"Accept", "text/event-stream, application/json", false},
      {"User-Agent", "kevin-rewrite/" KR_VERSION, false},
  };
  size_t n_headers = 3;
  if (m->bearer)
    headers[n_headers++] = (struct http_header){"Authorization", m->bearer, true};
  struct openai_stream s = {.m = m, .reply = reply, .last_event_ms = (int64_t)kr_now_ms()};
  sse_init(&s.sse, SSE_MAX_LINE, openai_event, &s);
  kr_bytes_init(&s.text, OPENAI_MAX_REPLY);
  kr_bytes_init(&s.document, 2 * OPENAI_MAX_REPLY);
  struct http_request req = {
      .url = m->url,
      .headers = headers,
      .n_headers = n_headers,
      .body = body,
      .body_len = strlen(body),
      .connect_ms = m->options.connect_ms,
      .idle_ms = m->options.idle_ms,
      .total_ms = m->options.total_ms,
      .stop = m->options.stop,
      .on_data = openai_data,
      .arg = &s,
  };
  struct http_response response;
  int rc = http_post(m->http, &req, &response, err);
  kr_debug("model", "%s: %zu bytes sent, status %ld, %zu bytes received", m->host, req.body_len,
           response.status, response.received);
  if (!rc) {
    rc = response.status >= 200 && response.status < 300 ? openai_finish(&s, err)
                                                         : openai_refused(&s, &response, err);
  } else if (s.done && (response.failure == HTTP_BROKEN || response.failure == HTTP_IDLE)) {
    // The reply is whole; what the connection does after it is no matter.
    rc = openai_finish(&s, err);
  } else {
    switch (response.failure) {
    case HTTP_CONNECT:
    case HTTP_BROKEN:
    case HTTP_IDLE:
      s.failure = MODEL_UNREACHABLE;
      s.again = true;
      break;
    case HTTP_UNTRUSTED:
    case HTTP_TOTAL:
      s.failure = MODEL_UNREACHABLE;
      break;
    case HTTP_NOT_HTTP:
    case HTTP_TOO_BIG:
      s.failure = MODEL_NONSENSE;
      break;
    case HTTP_INTERRUPTED:
      s.failure = MODEL_INTERRUPTED;
      break;
    case HTTP_STOPPED: // openai_data() has said why
      break;
    default:
      s.failure = MODEL_CONFIG;
    }
  }
  reply->failure = rc ? s.failure : MODEL_FINE;
  *again = rc && s.again;
  *retry_after_ms = response.retry_after_ms;
  http_response_release(&response);
  sse_release(&s.sse);
  kr_bytes_release(&s.text);
  kr_bytes_release(&s.document);
  return rc;
}

// Exponential, with jitter of a quarter either way, at most 8 s; what the
// server asks for goes first, up to its own limit.
static int64_t openai_pause_ms(struct openai *m, unsigned tries, int64_t retry_after_ms)
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

static bool openai_sleep(const struct openai *m, int64_t ms)
{
  int64_t end = (int64_t)kr_now_ms() + ms;
  for (int64_t now; (now = (int64_t)kr_now_ms()) < end;) {
    if (m->options.stop && *m->options.stop)
      return false;
    int64_t part = end - now < 50 ? end - now : 50;
    struct timespec ts = {0, part * 1000000};
    nanosleep(&ts, NULL);
  }
  return !(m->options.stop && *m->options.stop);
}

static int openai_complete(void *self, const struct model_request *req, struct model_reply *reply,
                           struct kr_err *err)
{
  struct openai *m = self;
  struct kr_err why = {""};
  unsigned free_tries = 0;
  for (unsigned tries = 1;; tries++) {
    char *body = openai_body(m, req);
    if (!body) {
      reply->failure = MODEL_CONFIG;
      return kr_err_set(err, "%s: the request could not be put into JSON", m->host);
    }
    int64_t retry_after_ms;
    bool again, was_plain = m->no_stream_options, was_new = m->max_completion_tokens;
    int rc = openai_try(m, body, reply, &retry_after_ms, &again, &why);
    free(body);
    reply->tries = tries;
    if (!rc)
      return 0;
    if (again && (was_plain != m->no_stream_options || was_new != m->max_completion_tokens)) {
      free_tries++; // asked otherwise, not again
      continue;
    }
    if (!again || tries - free_tries > (unsigned)m->options.retries) {
      kr_err_set(err, "%s", why.text);
      if (again && tries > 1) {
        size_t n = strlen(err->text);
        snprintf(err->text + n, sizeof err->text - n, " (%u tries)", tries);
      }
      return -1;
    }
    redact_err(&why);
    int64_t pause = openai_pause_ms(m, tries - free_tries, retry_after_ms);
    kr_note("%s; trying again in %.1f s", why.text, (double)pause / 1000);
    if (!openai_sleep(m, pause)) {
      reply->failure = MODEL_INTERRUPTED;
      return kr_err_set(err, "%s: interrupted", m->host);
    }
  }
}

const struct model_kind model_openai = {openai_complete, openai_close, false};
