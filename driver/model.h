#ifndef KR_DRIVER_MODEL_H
#define KR_DRIVER_MODEL_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../evaluator/base/bytes.h"
#include "../evaluator/base/err.h"

// Who is asked for variants. A model is opened once, asked many times by one
// thread, and closed. Those behind a server can be asked many things at once.
//
//   builtin       the rules of rewriter/rules/ (model_builtin.c); needs nothing
//   openai:NAME   chat completions of any compatible server (model_openai.c)
//   anthropic:NAME  Anthropic's messages API (model_anthropic.c)
//   exec:CMD      a program: prompt in, reply out (model_exec.c)
//   mailbox:DIR   prompts and replies as files, for a later run (model_mailbox.c)
//   replay:FILE   replies written down beforehand (model_replay.c)
//
// The kind must be named. Guessing would send a kernel to whoever answers for a
// misspelt kind.

struct kr_contract;
struct kr_verdict;
struct variant;

struct model_options {
  const char *base_url;     // --base-url; NULL: OPENAI_BASE_URL or ANTHROPIC_BASE_URL, else their own
  const char *api_key_file; // --api-key-file; NULL: OPENAI_API_KEY or ANTHROPIC_API_KEY, else no key
  unsigned max_tokens;      // of one reply; 0: the server's
  double temperature;       // < 0: the server's
  bool has_seed;
  uint64_t seed;
  int retries;              // after the first try; < 0: 2
  unsigned retry_ms;        // first pause between tries; 0: 500
  unsigned retry_after_max_ms; // Retry-After is obeyed up to this; 0: 60000
  unsigned connect_ms, idle_ms, total_ms; // 0: http.h's
  unsigned keepalive_ms;    // comments alone, no event, for so long; 0: 5 * idle_ms
  const volatile sig_atomic_t *stop; // NULL: never interrupted
};

// One turn that was taken and judged.
struct model_turn {
  unsigned trajectory, turn;
  const struct variant *variant;
  const struct kr_verdict *verdict;
};

struct model_request {
  const char *prompt; // one message of the user's; NULL where model_reads_prompts() is false
  // The same as data, for models that do not read prose and for replay.
  const char *file, *kernel;        // kernel: the qualified name
  const struct kr_contract *contract;
  unsigned trajectory, turn;        // from 1
  const struct model_turn *history; // of this kernel, all trajectories, oldest first
  size_t n_history;
};

enum model_failure {
  MODEL_FINE,
  MODEL_CONFIG,      // what was asked for cannot be: key, URL, file, request (400)
  MODEL_REFUSED,     // 401, 403, 404
  MODEL_BUDGET,      // the account has no money or quota left
  MODEL_UNREACHABLE, // no connection, or broken, silent, overloaded to the last try
  MODEL_NONSENSE,    // an answer that cannot be understood
  MODEL_INTERRUPTED,
  MODEL_WAITING,     // asked, and the reply will be there for a later run
  MODEL_EXHAUSTED    // it has nothing left to propose; no fault of anyone's
};

struct model_reply {
  char *text; // UTF-8 without NUL, redacted; NULL after a failure; owned
  size_t len;
  bool truncated; // the server stopped at a limit of length
  bool have_usage;
  uint64_t tokens_in, tokens_out;
  unsigned tries;
  double wall_ms;
  enum model_failure failure;
};

void model_reply_release(struct model_reply *r);

struct model;

// What a kind of model can do; `self` is its own. Used by model.c alone.
struct model_kind {
  int (*complete)(void *self, const struct model_request *req, struct model_reply *reply,
                  struct kr_err *err);
  // Where it can be asked many things at once: as model_begin() and its kind.
  void (*begin)(void *self, const struct model_request *req, size_t tag);
  bool (*next)(void *self, bool wait, size_t *tag, struct model_reply *reply, struct kr_err *err);
  void (*cancel)(void *self);
  void (*close)(void *self);
  bool needs_no_prompt;
};

// Borrows the strings of `options` while it runs and `stop` for good. Asks
// nobody anything. Returns 0, or -1 with a sentence.
int model_open(const char *spec, const struct model_options *options, struct model **out,
               struct kr_err *err);
// Several of them as one: trajectory i (from 1) is that of number (i - 1) mod n. They
// are asked one at a time. `options` are of all of them; builtin cannot be among them,
// since it goes on from trajectory to trajectory.
int model_open_several(const char *const *specs, size_t n, const struct model_options *options,
                       struct model **out, struct kr_err *err);
// Returns 0 with `reply->text`, or -1 with `reply->failure` and a sentence that
// names the server or the file. The caller releases `reply` either way.
int model_complete(struct model *m, const struct model_request *req, struct model_reply *reply,
                   struct kr_err *err);

// Can it be asked many things at once? Only then may the next three be called, and
// model_complete() only when nothing is asked.
bool model_is_concurrent(const struct model *m);
// Asks, and does not wait. Borrows `req` for the time of the call.
void model_begin(struct model *m, const struct model_request *req, size_t tag);
// Takes one that ended, well or not (reply->failure, and then `err`): its tag and its
// reply. False when none has ended yet, with `wait` when nothing is asked.
bool model_next(struct model *m, bool wait, size_t *tag, struct model_reply *reply,
                struct kr_err *err);
// Breaks off all that is asked; none of it comes back.
void model_cancel(struct model *m);

// Which and where, on one line: "kevin-32b at https://host/v1 (key from OPENAI_API_KEY)".
const char *model_where(const struct model *m);
// For provenance: "kevin-32b", "replay".
const char *model_name(const struct model *m);
// The same of the one that is asked for that trajectory.
const char *model_name_of(const struct model *m, unsigned trajectory);
// Does asking it use a network? A program may, and is taken to.
bool model_is_remote(const struct model *m);
// How much of a search the store is to have.
enum model_keeping {
  MODEL_KEEP_RECORD, // with --store, and only for people: it never goes on from there
  MODEL_KEEP_ASKED,  // with --store
  MODEL_KEEP,        // its replies cost something
  MODEL_KEEP_NEEDED  // and it cannot do without
};
enum model_keeping model_keeping(const struct model *m);
// Who is asked, and where: what makes another model another search. No key, nor
// where one came from.
const char *model_identity(const struct model *m);
// Where prompts wait for replies, or NULL.
const char *model_folder(const struct model *m);
// Does it read model_request.prompt? The built-in model works from data alone.
bool model_reads_prompts(const struct model *m);
void model_close(struct model *m);

// The kinds, opened through model_open(). `where` and `name` are handed over.
int model_openai_open(const char *name, const struct model_options *options, void **self,
                      char **where, struct kr_err *err);
int model_anthropic_open(const char *name, const struct model_options *options, void **self,
                         char **where, struct kr_err *err);
int model_exec_open(const char *command, const struct model_options *options, void **self,
                    char **where, struct kr_err *err);
int model_mailbox_open(const char *dir, void **self, char **where, struct kr_err *err);
int model_replay_open(const char *path, void **self, char **where, struct kr_err *err);
int model_builtin_open(void **self, char **where, struct kr_err *err);
extern const struct model_kind model_openai, model_anthropic, model_exec, model_mailbox,
    model_replay, model_builtin;

#endif
