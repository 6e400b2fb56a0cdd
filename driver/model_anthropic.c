// Anthropic's messages API: one user message; the stream is `message_start`, for
// each content block a start, deltas and a stop, `message_delta` with the reason
// why it stopped, `message_stop`; `ping` in between. Only blocks of text are the
// reply, thinking is left where it is.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "../evaluator/base/mem.h"
#include "chat.h"

// The API wants a limit. One that a model does not go up to is lowered to what
// its refusal names.
enum { ANTHROPIC_MAX_TOKENS = 32000 };

// ANTHROPIC_BASE_URL is without /v1, as Anthropic's own libraries have it;
// --base-url is up to and with it, as for every other model.
static const char *anthropic_base(char **owned)
{
  const char *env = getenv("ANTHROPIC_BASE_URL");
  if (!env || !*env)
    return "https://api.anthropic.com/v1";
  size_t n = strlen(env);
  while (n && env[n - 1] == '/')
    n--;
  if (n >= 3 && !strncmp(env + n - 3, "/v1", 3))
    return env;
  return *owned = kr_xasprintf("%.*s/v1", (int)n, env);
}

static char *anthropic_body(const struct chat *m, const struct model_request *req)
{
  cJSON *root = cJSON_CreateObject();
  cJSON_AddStringToObject(root, "model", m->name);
  cJSON_AddNumberToObject(root, "max_tokens",
                          m->options.max_tokens ? m->options.max_tokens : ANTHROPIC_MAX_TOKENS);
  cJSON *messages = cJSON_AddArrayToObject(root, "messages");
  cJSON *message = cJSON_CreateObject();
  cJSON_AddStringToObject(message, "role", "user");
  cJSON_AddStringToObject(message, "content", req->prompt);
  cJSON_AddItemToArray(messages, message);
  cJSON_AddBoolToObject(root, "stream", true);
  if (m->options.temperature >= 0)
    cJSON_AddNumberToObject(root, "temperature", m->options.temperature);
  char *printed = cJSON_PrintUnformatted(root);
  cJSON_Delete(root);
  return printed;
}

static const cJSON *get(const cJSON *json, const char *name)
{
  return cJSON_GetObjectItemCaseSensitive(json, name);
}

static bool is(const cJSON *item, const char *word)
{
  return cJSON_IsString(item) && !strcmp(item->valuestring, word);
}

// What is read from a cache and written to it is part of the question.
static void anthropic_usage(struct chat_stream *s, const cJSON *usage)
{
  static const char *const names[] = {"input_tokens", "cache_creation_input_tokens",
                                      "cache_read_input_tokens"};
  const cJSON *out = get(usage, "output_tokens");
  double in = cJSON_IsNumber(get(usage, names[0])) ? 0 : -1;
  for (size_t i = 0; in >= 0 && i < 3; i++)
    in += cJSON_IsNumber(get(usage, names[i])) ? get(usage, names[i])->valuedouble : 0;
  chat_usage(s, in, cJSON_IsNumber(out) ? out->valuedouble : -1);
}

static void anthropic_stop(struct chat_stream *s, const cJSON *reason)
{
  if (!cJSON_IsString(reason))
    return;
  s->finish = is(reason, "max_tokens") || is(reason, "model_context_window_exceeded") ? CHAT_LENGTH
              : is(reason, "refusal")                                               ? CHAT_FILTERED
                                                                                    : CHAT_STOPPED;
}

static int anthropic_event(struct chat_stream *s, const cJSON *json, struct kr_err *err)
{
  const cJSON *type = get(json, "type"), *delta = get(json, "delta");
  if (is(type, "error") || cJSON_IsObject(get(json, "error")))
    return chat_inner_error(s, json, err);
  if (is(type, "ping")) {
    s->idle_event = true;
  } else if (is(type, "message_start")) {
    anthropic_usage(s, get(get(json, "message"), "usage"));
  } else if (is(type, "content_block_start")) {
    const cJSON *block = get(json, "content_block"), *text = get(block, "text");
    if (is(get(block, "type"), "text") && cJSON_IsString(text))
      return chat_add(s, text->valuestring, err);
  } else if (is(type, "content_block_delta")) {
    const cJSON *text = get(delta, "text");
    if (is(get(delta, "type"), "text_delta") && cJSON_IsString(text))
      return chat_add(s, text->valuestring, err);
    const cJSON *thought = get(delta, "thinking");
    if (is(get(delta, "type"), "thinking_delta") && cJSON_IsString(thought))
      return chat_think(s, thought->valuestring, err);
  } else if (is(type, "message_delta")) {
    anthropic_usage(s, get(json, "usage"));
    anthropic_stop(s, get(delta, "stop_reason"));
  } else if (is(type, "message_stop")) {
    s->done = true;
  }
  return 0; // other types may be added at any time
}

static int anthropic_document(struct chat_stream *s, const cJSON *json, struct kr_err *err)
{
  if (is(get(json, "type"), "error") || cJSON_IsObject(get(json, "error")))
    return chat_inner_error(s, json, err);
  const cJSON *content = get(json, "content");
  if (!cJSON_IsArray(content))
    return chat_nonsense(s, err, "sent JSON without `content`", s->document.data,
                         s->document.len);
  anthropic_usage(s, get(json, "usage"));
  anthropic_stop(s, get(json, "stop_reason"));
  for (const cJSON *block = content->child; block; block = block->next) {
    const cJSON *text = get(block, "text");
    if (is(get(block, "type"), "text") && cJSON_IsString(text) &&
        chat_add(s, text->valuestring, err))
      return -1;
  }
  return 0;
}

// "max_tokens: 32000 > 8192, which is the maximum allowed number of output tokens ..."
static bool anthropic_otherwise(struct chat *m, const char *message)
{
  unsigned asked = m->options.max_tokens ? m->options.max_tokens : ANTHROPIC_MAX_TOKENS;
  const char *at = strstr(message, "max_tokens: ");
  const char *sign = at ? strstr(at, " > ") : NULL;
  unsigned long most = sign ? strtoul(sign + 3, NULL, 10) : 0;
  if (!most || most >= asked)
    return false;
  m->options.max_tokens = (unsigned)most;
  return true;
}

static const struct chat_dialect anthropic = {
    .path = "messages",
    .key_env = "ANTHROPIC_API_KEY",
    .key_header = "x-api-key",
    .key_prefix = "",
    .version_header = "anthropic-version",
    .version = "2023-06-01",
    .base = anthropic_base,
    .body = anthropic_body,
    .event = anthropic_event,
    .document = anthropic_document,
    .otherwise = anthropic_otherwise,
};

int model_anthropic_open(const char *name, const struct model_options *options, void **self,
                         char **where, struct kr_err *err)
{
  return chat_open(&anthropic, name, options, self, where, err);
}

const struct model_kind model_anthropic = {.complete = chat_complete,
                                       .begin = chat_begin,
                                       .next = chat_next,
                                       .cancel = chat_cancel,
                                       .close = chat_close};
