// Chat completions as OpenAI's and every compatible server (vLLM, SGLang,
// llama.cpp, Ollama) speak them: one user message, `data:` events whose deltas
// are the reply, `[DONE]` at the end.
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "../evaluator/base/log.h"
#include "../evaluator/base/mem.h"
#include "chat.h"

static const char *openai_base(char **owned)
{
  (void)owned;
  const char *now = getenv("OPENAI_BASE_URL"), *old = getenv("OPENAI_API_BASE");
  if (now && *now)
    return now;
  if (old && *old) {
    kr_warn("OPENAI_API_BASE is the old name of OPENAI_BASE_URL; it is used");
    return old;
  }
  return "https://api.openai.com/v1";
}

static char *openai_body(const struct chat *m, const struct model_request *req)
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
  if (m->options.has_seed)
    cJSON_AddNumberToObject(root, "seed", (double)chat_seed(m, req));
  char *printed = cJSON_PrintUnformatted(root);
  cJSON_Delete(root);
  return printed;
}

// One chunk of a stream, or the whole document. `part` is "delta" or "message".
// What is beside `content` is no part of the reply: reasoning (two names for it are
// in use) is only watched. A refusal has a field of its own, and is one.
static int openai_take(struct chat_stream *s, const cJSON *json, const char *part,
                       struct kr_err *err)
{
  if (cJSON_IsObject(cJSON_GetObjectItemCaseSensitive(json, "error")) ||
      cJSON_IsString(cJSON_GetObjectItemCaseSensitive(json, "error")))
    return chat_inner_error(s, json, err);
  const cJSON *usage = cJSON_GetObjectItemCaseSensitive(json, "usage");
  const cJSON *in = cJSON_GetObjectItemCaseSensitive(usage, "prompt_tokens");
  const cJSON *out = cJSON_GetObjectItemCaseSensitive(usage, "completion_tokens");
  if (cJSON_IsNumber(in) && cJSON_IsNumber(out))
    chat_usage(s, in->valuedouble, out->valuedouble);
  const cJSON *choices = cJSON_GetObjectItemCaseSensitive(json, "choices");
  const cJSON *choice = cJSON_IsArray(choices) ? choices->child : NULL;
  const cJSON *message = cJSON_GetObjectItemCaseSensitive(choice, part);
  static const char *const beside[] = {"reasoning_content", "reasoning"};
  for (size_t i = 0; i < 2; i++) {
    const cJSON *thought = cJSON_GetObjectItemCaseSensitive(message, beside[i]);
    if (!cJSON_IsString(thought))
      continue;
    if (chat_think(s, thought->valuestring, err))
      return -1;
    break; // some servers send both
  }
  static const char *const parts[] = {"content", "refusal"};
  for (size_t i = 0; i < 2; i++) {
    const cJSON *text = cJSON_GetObjectItemCaseSensitive(message, parts[i]);
    if (cJSON_IsString(text) && chat_add(s, text->valuestring, err))
      return -1;
  }
  const cJSON *finish = cJSON_GetObjectItemCaseSensitive(choice, "finish_reason");
  if (cJSON_IsString(finish))
    s->finish = !strcmp(finish->valuestring, "length")           ? CHAT_LENGTH
                : !strcmp(finish->valuestring, "content_filter") ? CHAT_FILTERED
                                                                 : CHAT_STOPPED;
  return 0;
}

static int openai_event(struct chat_stream *s, const cJSON *json, struct kr_err *err)
{
  return openai_take(s, json, "delta", err);
}

static int openai_document(struct chat_stream *s, const cJSON *json, struct kr_err *err)
{
  if (openai_take(s, json, "message", err))
    return -1;
  if (!cJSON_IsArray(cJSON_GetObjectItemCaseSensitive(json, "choices")))
    return chat_nonsense(s, err, "sent JSON without `choices`", s->document.data,
                         s->document.len);
  return 0;
}

// Two things that not every server takes are tried the other way.
static bool openai_otherwise(struct chat *m, const char *message)
{
  if (strstr(message, "stream_options") && !m->no_stream_options)
    return m->no_stream_options = true;
  if (strstr(message, "max_completion_tokens") && m->options.max_tokens &&
      !m->max_completion_tokens)
    return m->max_completion_tokens = true;
  return false;
}

static const struct chat_dialect openai = {
    .path = "chat/completions",
    .key_env = "OPENAI_API_KEY",
    .key_header = "Authorization",
    .key_prefix = "Bearer ",
    .base = openai_base,
    .body = openai_body,
    .event = openai_event,
    .document = openai_document,
    .otherwise = openai_otherwise,
};

int model_openai_open(const char *name, const struct model_options *options, void **self,
                      char **where, struct kr_err *err)
{
  return chat_open(&openai, name, options, self, where, err);
}

const struct model_kind model_openai = {.complete = chat_complete,
                                       .begin = chat_begin,
                                       .next = chat_next,
                                       .cancel = chat_cancel,
                                       .close = chat_close};
