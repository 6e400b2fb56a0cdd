#ifndef KR_DRIVER_JSON_H
#define KR_DRIVER_JSON_H

#include <stdbool.h>
#include <stdint.h>

#include "../evaluator/base/bytes.h"

// Writes the results of --format=json to stdout as they come: one object a run,
// `{"schema":1,"tool":...,"mode":...,...}`. Fields that are there stay; others
// may be added (docs/json.md). Strings are UTF-8; bytes that are not become
// U+FFFD. 64-bit integers that may pass 2^53 travel as strings.

struct json {
  struct kr_bytes out;
  bool comma;
};

void json_start(struct json *j, const char *mode);
void json_end(struct json *j); // prints what is there

// `bracket` is '{' or '['; `key` is NULL inside an array.
void json_open(struct json *j, const char *key, char bracket);
void json_close(struct json *j, char bracket);
void json_string(struct json *j, const char *key, const char *s);
void json_number(struct json *j, const char *key, double v); // null when not finite
void json_integer(struct json *j, const char *key, int64_t v);
void json_bool(struct json *j, const char *key, bool v);
// Text that is JSON already.
void json_raw(struct json *j, const char *key, const char *text);

#endif
