#ifndef KR_BASE_SOURCE_H
#define KR_BASE_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "bytes.h"
#include "err.h"
#include "hash.h"

// A source file as one immutable byte buffer. Bytes are kept as they are: no
// decoding, no newline translation. Offsets are bytes from the file's start,
// the BOM included.

enum kr_newline { KR_NL_LF, KR_NL_CRLF, KR_NL_CR };

struct kr_source {
  char *path; // as the user spelt it, for messages; owned
  char *real; // links resolved, or a copy of `path` for text from memory; owned
  char *data; // owned; followed by a NUL that `len` does not count
  size_t len;
  bool bom;                // starts with EF BB BF
  enum kr_newline newline; // of the first line; LF when there is none
  // Identity and permissions at the time of reading; zero for text from memory.
  dev_t dev;
  ino_t ino;
  mode_t mode;
  nlink_t nlink;
  struct kr_hash hash; // of all bytes
  // Offsets at which lines begin, for line and column look-ups; owned.
  size_t *lines;
  size_t n_lines;
};

enum { KR_SOURCE_MAX = 64 << 20 };

// Reads the whole of `path`. A directory, a missing file, one over
// KR_SOURCE_MAX bytes and one that is no regular file are errors that name it.
int kr_source_read(struct kr_source *src, const char *path, struct kr_err *err);
// Copies `text`; `path` is for messages.
void kr_source_from_text(struct kr_source *src, const char *path, const char *text, size_t len);
void kr_source_release(struct kr_source *src);

// Line and column, both from 1; the column counts bytes, as clang's does. An
// offset at or past the end gives the place after the last byte.
void kr_source_place(const struct kr_source *src, size_t offset, unsigned *line, unsigned *col);
// The offset of a line's first byte; the end of the text for a line past it.
size_t kr_source_line_start(const struct kr_source *src, unsigned line);
// The span of line `line` without its line end.
void kr_source_line(const struct kr_source *src, unsigned line, size_t *begin, size_t *end);
// The bytes of the newline in force around `offset`: that of its own line, or
// the file's where the line has none. Static storage.
const char *kr_source_newline_at(const struct kr_source *src, size_t offset);

enum kr_severity { KR_SEV_ERROR, KR_SEV_WARNING, KR_SEV_NOTE };

// Something to tell about a place in a source.
struct kr_diag {
  enum kr_severity severity;
  size_t offset;  // where the caret stands; SIZE_MAX for the file as a whole
  size_t length;  // of the text meant, for tildes; 0 for a caret alone
  char *text;     // owned
  char *fix;      // replacement for [offset, offset + length), or NULL; owned
};

struct kr_diags {
  struct kr_diag *items;
  size_t n, cap;
  size_t n_errors;
};

void kr_diags_add(struct kr_diags *d, enum kr_severity severity, size_t offset, size_t length,
                  const char *fmt, ...) __attribute__((format(printf, 5, 6)));
// Gives the last diagnostic added a replacement text.
void kr_diags_fix(struct kr_diags *d, const char *fix);
void kr_diags_release(struct kr_diags *d);
// Appends "path:line:col: error: text", the line and a caret (tabs kept), each
// with a newline; control bytes are escaped.
void kr_diag_format(const struct kr_diag *diag, const struct kr_source *src, struct kr_bytes *out);

#endif
