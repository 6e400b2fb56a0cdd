// kevin-parse: libclang in a process of its own, so that its crashes, its time and
// its memory are the parent's to limit. Reads one JSON request a line on standard
// input and answers one line each on standard output; README.md has the format.
// Ends at the end of its input. It starts no program and writes no file; libclang
// keeps its precompiled headers in memory.

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../evaluator/base/mem.h"
#include "json.h"
#include "unit.h"

enum { PARSE_KEPT = 6, PARSE_EXIT_USAGE = 2 };

// Units that may be asked about again: the file last parsed, slices whose variants
// are judged. The oldest goes first.
struct kept {
  struct kr_hash key; // of everything that decides how it is parsed
  struct tu *tu;
  // What was told of it, for a second request about constants alone.
  bool told;
  struct kr_unit unit;
  unsigned long used;
};

struct parse {
  struct kept kept[PARSE_KEPT];
  unsigned long clock;
  struct kr_hash last; // key of the request before this one
};

static void parse_field(struct kr_hasher *h, const char *text)
{
  kr_hasher_field(h, text ? text : "", text ? strlen(text) : 0);
}

static struct kr_hash parse_key(const struct json_ask *ask)
{
  struct kr_hasher h;
  kr_hasher_init(&h);
  parse_field(&h, ask->op == JSON_FACTS ? ask->before : ask->text);
  parse_field(&h, ask->op == JSON_FACTS ? "facts" : "unit");
  const char *const texts[] = {ask->path,      ask->project_dir,  ask->arch,
                               ask->cuda_path, ask->resource_dir, ask->headers_dir};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
    parse_field(&h, texts[i]);
  for (size_t i = 0; i < ask->n_flags; i++)
    parse_field(&h, ask->flags[i]);
  parse_field(&h, ask->some_slices ? "some" : "all");
  kr_hasher_field(&h, ask->slices, ask->n_slices * sizeof *ask->slices);
  for (size_t i = 0; i < ask->n_words; i++)
    parse_field(&h, ask->words[i]);
  return kr_hasher_end(&h);
}

static void parse_drop(struct kept *k)
{
  tu_close(k->tu);
  if (k->told)
    kr_unit_release(&k->unit);
  memset(k, 0, sizeof *k);
}

// The unit of that key, or a free place for it (tu NULL).
static struct kept *parse_slot(struct parse *p, struct kr_hash key)
{
  struct kept *oldest = &p->kept[0];
  for (size_t i = 0; i < PARSE_KEPT; i++) {
    struct kept *k = &p->kept[i];
    if (k->tu && kr_hash_equal(k->key, key)) {
      k->used = ++p->clock;
      return k;
    }
    if (k->used < oldest->used)
      oldest = k;
  }
  parse_drop(oldest);
  oldest->key = key;
  oldest->used = ++p->clock;
  return oldest;
}

static struct tu_setup parse_setup(const struct json_ask *ask)
{
  return (struct tu_setup){.cuda_path = ask->cuda_path,
                           .resource_dir = ask->resource_dir,
                           .headers_dir = ask->headers_dir,
                           .project_dir = ask->project_dir,
                           .arch = ask->arch,
                           .flags = (const char *const *)ask->flags,
                           .n_flags = ask->n_flags};
}

static bool parse_wants_slice(const struct json_ask *ask, size_t offset)
{
  for (size_t i = 0; i < ask->n_slices; i++)
    if (ask->slices[i] == offset)
      return true;
  return !ask->some_slices;
}

static void parse_slices(struct tu *tu, const struct json_ask *ask, const CXCursor *cursors,
                         struct kr_unit *u)
{
  for (size_t i = 0; i < u->n_kernels; i++) {
    struct kr_pkernel *k = &u->kernels[i];
    if (k->refused || !parse_wants_slice(ask, k->at.offset))
      continue;
    struct kr_diags own = {k->errors, k->n_errors, k->n_errors, 0};
    k->errors = NULL;
    k->n_errors = 0;
    struct kr_err err = {""};
    if (slice_make(tu, cursors[i], k, &err)) {
      k->refused = kr_xstrdup(err.text);
      k->refused_at = (struct kr_span){0, 0};
    }
    if (k->n_errors) {
      kr_diags_release(&own);
    } else {
      free(k->errors);
      k->errors = own.items;
      k->n_errors = own.n;
    }
  }
}

static void parse_tell(const struct json_ask *ask, struct kept *k)
{
  CXCursor *cursors = NULL;
  if (k->told)
    kr_unit_release(&k->unit);
  unit_make(k->tu, &k->unit, &cursors);
  k->tu->words = (const char *const *)ask->words;
  k->tu->n_words = ask->n_words;
  parse_slices(k->tu, ask, cursors, &k->unit);
  k->tu->n_words = 0;
  free(cursors);
  k->told = true;
}

static void parse_unit(struct parse *p, const struct json_ask *ask, struct kr_bytes *out)
{
  struct kr_err err = {""};
  struct kr_hash key = parse_key(ask);
  // Headers may change between requests, so only an answer just given is given again.
  bool again = kr_hash_equal(key, p->last);
  struct kept *k = parse_slot(p, key);
  struct tu_setup setup = parse_setup(ask);
  size_t len = strlen(ask->text);
  p->last = key;
  if (!k->tu || !k->told || !again) {
    if (!k->tu)
      k->tu = tu_open(&setup, ask->path, ask->text, len, &err);
    else if (tu_reparse(k->tu, ask->text, len, &err))
      parse_drop(k);
    if (!k->tu) {
      json_fail_write(ask->id, err.text, out);
      return;
    }
    parse_tell(ask, k);
  }
  struct kr_unit *u = &k->unit;
  unit_forget_wants(u);
  if (ask->n_wants)
    constants_fill(k->tu, ask->text, len, ask->wants, ask->n_wants, u);
  json_unit_write(ask->id, u, out);
  if (!k->tu->unit)
    parse_drop(k);
}

static void parse_facts(struct parse *p, const struct json_ask *ask, struct kr_bytes *out)
{
  struct kr_err err = {""};
  struct kept *k = parse_slot(p, parse_key(ask));
  memset(&p->last, 0, sizeof p->last);
  if (!k->tu) {
    struct tu_setup setup = parse_setup(ask);
    setup.slice = true;
    struct kr_bytes text;
    kr_bytes_init(&text, 4 * (size_t)KR_SOURCE_MAX);
    kr_bytes_adds(&text, ask->before);
    kr_bytes_adds(&text, ask->original);
    kr_bytes_adds(&text, ask->after);
    k->tu = tu_open(&setup, ask->path, text.data, text.len, &err);
    kr_bytes_release(&text);
    if (!k->tu) {
      json_fail_write(ask->id, err.text, out);
      return;
    }
  }
  struct facts_ask facts = {.before = ask->before,
                            .original = ask->original,
                            .code = ask->code,
                            .after = ask->after,
                            .kernel_name = ask->kernel_name,
                            .kernel_usr = ask->kernel_usr};
  struct kr_facts f;
  if (facts_make(k->tu, &facts, &f, &err)) {
    json_fail_write(ask->id, err.text, out);
    parse_drop(k);
  } else {
    json_facts_write(ask->id, &f, out);
  }
  kr_facts_release(&f);
}

static int parse_write(int fd, const char *data, size_t len)
{
  while (len) {
    ssize_t n = write(fd, data, len);
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      return -1;
    data += n;
    len -= (size_t)n;
  }
  return 0;
}

int main(int argc, char **argv)
{
  (void)argv;
  if (argc > 1) {
    fputs("usage: kevin-parse\nReads requests from standard input; kevin-rewrite starts it.\n",
          stderr);
    return PARSE_EXIT_USAGE;
  }
  // Answers go to a descriptor of their own: what a library prints is no answer.
  int out_fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
  if (out_fd < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
    return PARSE_EXIT_USAGE;
  struct parse p = {0};
  char *line = NULL;
  size_t cap = 0;
  ssize_t n;
  int rc = 0;
  while ((n = getline(&line, &cap, stdin)) > 0) {
    struct kr_bytes out;
    kr_bytes_init(&out, SIZE_MAX / 4);
    struct json_ask ask;
    if (json_ask_read(&ask, line, (size_t)n))
      json_fail_write(ask.id, "the request is not of the known form", &out);
    else if (ask.op == JSON_UNIT)
      parse_unit(&p, &ask, &out);
    else
      parse_facts(&p, &ask, &out);
    json_ask_release(&ask);
    int failed = parse_write(out_fd, out.data, out.len);
    kr_bytes_release(&out);
    if (failed) {
      rc = 1;
      break;
    }
  }
  free(line);
  for (size_t i = 0; i < PARSE_KEPT; i++)
    parse_drop(&p.kept[i]);
  close(out_fd);
  return rc;
}
