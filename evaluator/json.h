#ifndef KR_JSON_H
#define KR_JSON_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/err.h"
#include "base/hash.h"
#include "contract.h"

// JSON as the evaluator writes and reads it. Written by hand, with keys in the
// order of the calls and no white space, so that equal data give equal bytes;
// read through cJSON. Integers that may need more than 53 bits travel as
// strings, and so do NaN and the infinities ("nan", "inf", "-inf"). Bytes from
// 0x80 on go through as they are. Inside evaluator/ only.

struct json_writer {
  struct kr_bytes *out; // borrowed
  bool comma;           // the next item needs one before it
};

void json_open(struct json_writer *w, char bracket);
void json_close(struct json_writer *w, char bracket);
void json_key(struct json_writer *w, const char *key);
void json_put_string(struct json_writer *w, const char *s); // NULL: null
void json_put_number(struct json_writer *w, double d);
void json_put_int64(struct json_writer *w, int64_t i);   // as a string
void json_put_uint64(struct json_writer *w, uint64_t i); // as a string
void json_put_bool(struct json_writer *w, bool b);
void json_put_hash(struct json_writer *w, struct kr_hash h);

// The same as a member of an object.
void json_string(struct json_writer *w, const char *key, const char *s);
// A string for people, which a compiler may have written and a limit have cut: what of
// it is no UTF-8 becomes U+FFFD.
void json_words(struct json_writer *w, const char *key, const char *s);
void json_number(struct json_writer *w, const char *key, double d);
void json_int64(struct json_writer *w, const char *key, int64_t i);
void json_uint64(struct json_writer *w, const char *key, uint64_t i);
void json_bool(struct json_writer *w, const char *key, bool b);
void json_hash(struct json_writer *w, const char *key, struct kr_hash h);

// Parses a whole text. NULL with `err` set when it is not JSON, when something
// follows it, or when a string holds a NUL. Freed with cJSON_Delete().
cJSON *json_parse(const char *text, size_t len, struct kr_err *err);

// Reading is sticky: after the first failure every call returns a default and
// `failed` stays set, so that callers check once.
struct json_reader {
  struct kr_err *err;
  bool failed;
};

// Says that `what` is wrong, once.
void json_fail(struct json_reader *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
// Fails unless `obj` is an object whose keys are among `keys` ("a b c").
void json_expect_keys(struct json_reader *r, const cJSON *obj, const char *what, const char *keys);
// An owned copy; NULL for null or a missing key where `optional`.
char *json_get_string(struct json_reader *r, const cJSON *obj, const char *key, bool optional);
double json_get_number(struct json_reader *r, const cJSON *obj, const char *key, double fallback);
bool json_get_bool(struct json_reader *r, const cJSON *obj, const char *key, bool fallback);
// A plain JSON number that is a whole number in [0, max].
size_t json_get_size(struct json_reader *r, const cJSON *obj, const char *key, size_t fallback,
                     size_t max);
int64_t json_get_int64(struct json_reader *r, const cJSON *obj, const char *key, int64_t fallback);
uint64_t json_get_uint64(struct json_reader *r, const cJSON *obj, const char *key,
                         uint64_t fallback);
struct kr_hash json_get_hash(struct json_reader *r, const cJSON *obj, const char *key);
// The place in `names` (ended by NULL) of a string; fails when it is none of them.
int json_get_name(struct json_reader *r, const cJSON *obj, const char *key,
                  const char *const *names, int fallback);
// An array (or NULL with *n = 0 when the key is missing); at most `max` items.
const cJSON *json_get_array(struct json_reader *r, const cJSON *obj, const char *key, size_t max,
                            size_t *n);
// Owned array of owned strings; NULL when empty.
char **json_get_strings(struct json_reader *r, const cJSON *obj, const char *key, size_t max,
                        size_t *n);
// Owned array of numbers; NULL when empty or missing.
double *json_get_numbers(struct json_reader *r, const cJSON *obj, const char *key, size_t max,
                         size_t *n);

// A geometry, in contracts and candidates (contract.c).
void json_put_geometry(struct json_writer *w, const struct kr_geometry *g);
void json_get_geometry(struct json_reader *r, const cJSON *item, struct kr_geometry *g);

#endif
