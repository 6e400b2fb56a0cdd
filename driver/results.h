#ifndef KR_DRIVER_RESULTS_H
#define KR_DRIVER_RESULTS_H

#include <stdbool.h>
#include <stdint.h>

#include "../evaluator/base/bytes.h"

// Writes the results of --format=json to stdout as they come: one object a run,
// `{"schema":1,"tool":...,"mode":...,...}`. Fields that are there stay; others
// may be added (docs/json.md). Strings are UTF-8; bytes that are not become
// U+FFFD. 64-bit integers that may pass 2^53 travel as strings.

struct results {
  struct kr_bytes out;
  bool comma;
};

void results_start(struct results *j, const char *mode);
void results_end(struct results *j); // prints what is there

// `bracket` is '{' or '['; `key` is NULL inside an array.
void results_open(struct results *j, const char *key, char bracket);
void results_close(struct results *j, char bracket);
void results_string(struct results *j, const char *key, const char *s);
void results_number(struct results *j, const char *key, double v); // null when not finite
void results_integer(struct results *j, const char *key, int64_t v);
void results_bool(struct results *j, const char *key, bool v);
// Text that is JSON already.
void results_raw(struct results *j, const char *key, const char *text);

#endif
