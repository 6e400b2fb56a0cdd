#ifndef KR_PLUGIN_JSON_H
#define KR_PLUGIN_JSON_H

// What goes between the client and kevin-parse: one line of JSON each way. Both
// sides describe a struct once, in json.c, and the description reads and writes.
// README.md has the format.

#include "plugin.h"

enum json_op { JSON_UNIT, JSON_FACTS };

// A request as kevin-parse sees it. Strings are owned when read from JSON and
// borrowed when written.
struct json_ask {
  enum json_op op;
  size_t id; // comes back with the reply
  char *path, *text;
  char *project_dir, *arch, *cuda_path, *resource_dir, *headers_dir;
  char **flags;
  size_t n_flags;
  struct kr_parse_wants *wants;
  size_t n_wants;
  bool some_slices; // only those of the kernels at these offsets
  size_t *slices;
  size_t n_slices;
  char **words;
  size_t n_words;
  // facts
  char *before, *original, *code, *after, *kernel_name, *kernel_usr;
};

// Appends a line, its newline included.
void json_ask_write(const struct json_ask *ask, struct kr_bytes *out);
// -1 when the line is no request. Release it in either case.
int json_ask_read(struct json_ask *ask, const char *line, size_t len);
void json_ask_release(struct json_ask *ask);

// Replies. A failure is a sentence in place of the unit or the facts.
void json_fail_write(size_t id, const char *why, struct kr_bytes *out);
void json_unit_write(size_t id, struct kr_unit *u, struct kr_bytes *out);
void json_facts_write(size_t id, struct kr_facts *f, struct kr_bytes *out);
// 0, 1 with `why` (owned by the caller) when the reply is a failure, or -1 when it
// is none of the known form or lies outside a text of `len` bytes.
int json_unit_read(struct kr_unit *u, size_t id, size_t text_len, const char *line, size_t len,
                   char **why);
int json_facts_read(struct kr_facts *f, size_t id, size_t text_len, const char *line, size_t len,
                    char **why);

// What a request's wants added to the unit (unit.c).
void unit_forget_wants(struct kr_unit *u);

#endif
