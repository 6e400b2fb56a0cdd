#ifndef KR_WIRE_H
#define KR_WIRE_H

#include <stdatomic.h>

#include "evaluator.h"
#include "json.h"

// What a driver and its workers say to each other, and how: messages of four
// bytes of length (big endian) and that many bytes of JSON, over a stream
// socket. README.md lists the messages. Inside evaluator/ only.

enum { WIRE_MAX = 256 << 20, WIRE_SOCKET = 3, WIRE_BOARD = 4 };

// A page that a worker shares with its driver, to be read after its death:
// there is no other way to tell a candidate that killed it from an accident.
struct wire_board {
  atomic_uint waits;    // 1 while another process has the device to itself
  atomic_uint stage;    // enum kr_stage + 1 while a candidate is in hand, else 0
  char attempt[200];    // what the original is being tried at; "" for none
};

// Sends one message; never raises SIGPIPE, never waits more than `timeout_ms`
// (negative: for ever). Returns 0 or -1.
int wire_send(int fd, const char *text, size_t len, int timeout_ms, struct kr_err *err);
enum wire_result { WIRE_OK, WIRE_GONE, WIRE_LATE, WIRE_GARBAGE };
// Receives one message into `out`, waiting at most `timeout_ms` (negative: for
// ever) for all of it.
enum wire_result wire_receive(int fd, struct kr_bytes *out, int timeout_ms);

// Parts of messages that are types of evaluator.h.
void facts_put(struct json_writer *w, const struct kr_device_facts *f);
void facts_read(struct json_reader *r, const cJSON *obj, struct kr_device_facts *f);
void verdict_read(struct json_reader *r, const cJSON *root, struct kr_verdict *v);
void reference_read(struct json_reader *r, const cJSON *root, struct kr_reference *out);
void candidate_put(struct json_writer *w, const struct kr_candidate *cand);
void candidate_read(struct json_reader *r, const cJSON *obj, struct kr_candidate *cand);
void judge_options_put(struct json_writer *w, const struct kr_judge_options *o);
void judge_options_read(struct json_reader *r, const cJSON *obj, struct kr_judge_options *o);
void backend_options_put(struct json_writer *w, const struct kr_backend_options *o);
// The strings of `o` belong to `obj`.
void backend_options_read(struct json_reader *r, const cJSON *obj, struct kr_backend_options *o);
// What was counted and modelled (model_json.c). NULL is written as {} and read as NULL.
void case_model_put(struct json_writer *w, const struct kr_case_model *m);
struct kr_case_model *case_model_read(struct json_reader *r, const cJSON *obj);
int case_bound_read(struct json_reader *r, const cJSON *obj, const char *key); // -1: none
void counters_put(struct json_writer *w, const struct kr_counters *c);
void counters_read(struct json_reader *r, const cJSON *obj, struct kr_counters *c);
void share_put(struct json_writer *w, const struct kr_confirm_share *s);
void share_read(struct json_reader *r, const cJSON *obj, struct kr_confirm_share *s);

#endif
