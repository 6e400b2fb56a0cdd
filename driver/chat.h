#ifndef KR_DRIVER_CHAT_H
#define KR_DRIVER_CHAT_H

#include <pthread.h>

#include "model.h"
#include "sse.h"

// What the models behind an HTTP server have in common: the key and where it may
// go, one POST a question, a streamed reply (so that silence can be told from
// slowness), what is tried again and after which pause. What differs, the form
// of request and reply, is a dialect. A server that answers with one JSON
// document in spite of `"stream": true` is understood too.

struct cJSON;
struct chat;
struct chat_stream;
struct chat_ask;

// Questions go on at once, on the thread of http.h's pool: what it parses there and
// tries again holds up no other. A dialect's functions are called with the lock held
// where they are given a `struct chat`.

struct chat_dialect {
  const char *path;                   // "chat/completions", joined to the base URL
  const char *key_env;                // "OPENAI_API_KEY"
  const char *key_header, *key_prefix; // "Authorization" and "Bearer "
  const char *version_header, *version; // one more header; NULL: none
  // The base URL where options->base_url is NULL; what is put in `*owned` is freed.
  const char *(*base)(char **owned);
  // The request's body, from malloc; NULL when it cannot be put into JSON.
  char *(*body)(const struct chat *m, const struct model_request *req);
  // One event of the stream; the whole document. Add to `s->text`, set `finish`,
  // `done` and the reply's usage. Return 0, or -1 with `s->failure` and `err`.
  int (*event)(struct chat_stream *s, const struct cJSON *json, struct kr_err *err);
  int (*document)(struct chat_stream *s, const struct cJSON *json, struct kr_err *err);
  // After 400 or 422 with this message: can it be asked another way? Changes
  // `m` accordingly; true at most once for each way.
  bool (*otherwise)(struct chat *m, const char *message);
};

struct chat {
  const struct chat_dialect *dialect;
  struct http *http;
  char *name, *url, *host;
  char *key; // prefix and key as the header's value, or NULL
  const char *key_from;
  struct model_options options; // numbers and `stop` only
  uint64_t jitter;
  pthread_mutex_t lock; // of what follows, and of options.max_tokens
  // What a server has said it does not take: set by `otherwise`, read by `body`.
  bool no_stream_options, max_completion_tokens;
  pthread_cond_t one_ended;
  struct chat_ask *ended; // oldest first
  size_t n_asked;         // begun, and not taken by chat_next(); of the asking thread
};

enum chat_finish {
  CHAT_OPEN,    // not said yet
  CHAT_STOPPED, // the model was done
  CHAT_LENGTH,  // at a limit of length
  CHAT_FILTERED // the server or the model declined
};

// One try: what has come so far.
struct chat_stream {
  struct chat *m;
  struct sse sse;
  struct kr_bytes text, document; // the reply; an answer that is one JSON document
  struct kr_bytes thought;        // the end of the reasoning that came beside the reply
  size_t looked, looked_thought;  // babble_is_due()
  bool cut; // by us: it repeats itself, or is too long; what came is the reply
  bool is_json, started, done;
  enum chat_finish finish;
  size_t events;
  int64_t last_event_ms;
  bool idle_event; // set by a dialect: this event said nothing but that the server lives
  struct model_reply *reply;
  enum model_failure failure; // of an answer that came
  bool again;                 // and may be better next time
  bool otherwise;             // and is to be asked another way
};

// As model_openai_open() and its kind.
int chat_open(const struct chat_dialect *dialect, const char *name,
              const struct model_options *options, void **self, char **where, struct kr_err *err);
int chat_complete(void *self, const struct model_request *req, struct model_reply *reply,
                  struct kr_err *err);
void chat_begin(void *self, const struct model_request *req, size_t tag);
bool chat_next(void *self, bool wait, size_t *tag, struct model_reply *reply, struct kr_err *err);
void chat_cancel(void *self);
void chat_close(void *self);

// For dialects. Each returns -1, but chat_add() and chat_think(), which return 0 to go on.
int chat_add(struct chat_stream *s, const char *text, struct kr_err *err);
// Reasoning beside the reply. It is no part of it, and only watched.
int chat_think(struct chat_stream *s, const char *text, struct kr_err *err);
// An error that came inside an answer of status 200.
int chat_inner_error(struct chat_stream *s, const struct cJSON *json, struct kr_err *err);
int chat_nonsense(struct chat_stream *s, struct kr_err *err, const char *what, const char *shown,
                  size_t len);
// Takes token counts that are numbers from 0; -1 for what was not said.
void chat_usage(struct chat_stream *s, double in, double out);
// One seed a question, or all trajectories would be one. 31 bits: every server takes them.
uint64_t chat_seed(const struct chat *m, const struct model_request *req);

#endif
