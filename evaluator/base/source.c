#include "source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mem.h"

static void source_index(struct kr_source *src)
{
  src->bom = src->len >= 3 && !memcmp(src->data, "\xEF\xBB\xBF", 3);
  src->hash = kr_hash_of(src->data, src->len);
  size_t cap = 0;
  src->lines = NULL;
  src->n_lines = 0;
  src->newline = KR_NL_LF;
  bool seen = false;
  KR_GROW(src->lines, src->n_lines, cap);
  src->lines[src->n_lines++] = 0;
  for (size_t i = 0; i < src->len; i++) {
    char c = src->data[i];
    if (c != '\n' && c != '\r')
      continue;
    bool crlf = c == '\r' && i + 1 < src->len && src->data[i + 1] == '\n';
    if (!seen)
      src->newline = crlf ? KR_NL_CRLF : c == '\r' ? KR_NL_CR : KR_NL_LF;
    seen = true;
    i += crlf;
    KR_GROW(src->lines, src->n_lines, cap);
    src->lines[src->n_lines++] = i + 1;
  }
}

static int source_read_all(int fd, const char *path, size_t size, struct kr_bytes *out,
                           struct kr_err *err)
{
  char chunk[1 << 16];
  for (;;) {
    ssize_t n = read(fd, chunk, sizeof chunk);
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return kr_err_errno(err, "cannot read %s", path);
    if (n == 0)
      return 0;
    if (kr_bytes_add(out, chunk, (size_t)n))
      return kr_err_set(err, "%s is larger than %d MiB (%zu bytes); is it a source file?", path,
                        KR_SOURCE_MAX >> 20, size);
  }
}

int kr_source_read(struct kr_source *src, const char *path, struct kr_err *err)
{
  int rc = -1;
  struct stat st;
  struct kr_bytes bytes;
  kr_bytes_init(&bytes, KR_SOURCE_MAX);
  // O_NONBLOCK, so that a FIFO with no writer is refused below and not waited for.
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) {
    kr_err_errno(err, "cannot open %s", path);
    goto out;
  }
  if (fstat(fd, &st)) {
    kr_err_errno(err, "cannot stat %s", path);
    goto out;
  }
  if (!S_ISREG(st.st_mode)) {
    kr_err_set(err, S_ISDIR(st.st_mode) ? "%s is a directory; name the files in it"
                                        : "%s is not a regular file",
               path);
    goto out;
  }
  if (source_read_all(fd, path, (size_t)st.st_size, &bytes, err))
    goto out;
  *src = (struct kr_source){.path = kr_xstrdup(path), .len = bytes.len};
  src->real = realpath(path, NULL);
  if (!src->real)
    src->real = kr_xstrdup(path);
  src->data = kr_bytes_take(&bytes);
  src->dev = st.st_dev;
  src->ino = st.st_ino;
  src->mode = st.st_mode;
  src->nlink = st.st_nlink;
  source_index(src);
  rc = 0;
out:
  if (fd >= 0)
    close(fd);
  kr_bytes_release(&bytes);
  return rc;
}

void kr_source_from_text(struct kr_source *src, const char *path, const char *text, size_t len)
{
  *src = (struct kr_source){.path = kr_xstrdup(path), .real = kr_xstrdup(path), .len = len};
  src->data = kr_xmalloc(len + 1);
  if (len)
    memcpy(src->data, text, len);
  src->data[len] = '\0';
  source_index(src);
}

void kr_source_release(struct kr_source *src)
{
  free(src->path);
  free(src->real);
  free(src->data);
  free(src->lines);
  *src = (struct kr_source){0};
}

// The index of the line that holds `offset`.
static size_t source_line_index(const struct kr_source *src, size_t offset)
{
  size_t lo = 0, hi = src->n_lines;
  while (hi - lo > 1) {
    size_t mid = lo + (hi - lo) / 2;
    if (src->lines[mid] <= offset)
      lo = mid;
    else
      hi = mid;
  }
  return lo;
}

void kr_source_place(const struct kr_source *src, size_t offset, unsigned *line, unsigned *col)
{
  if (offset > src->len)
    offset = src->len;
  size_t i = source_line_index(src, offset);
  *line = (unsigned)(i + 1);
  *col = (unsigned)(offset - src->lines[i] + 1);
}

size_t kr_source_line_start(const struct kr_source *src, unsigned line)
{
  return line == 0 ? 0 : line > src->n_lines ? src->len : src->lines[line - 1];
}

void kr_source_line(const struct kr_source *src, unsigned line, size_t *begin, size_t *end)
{
  *begin = kr_source_line_start(src, line);
  *end = *begin;
  while (*end < src->len && src->data[*end] != '\n' && src->data[*end] != '\r')
    ++*end;
}

const char *kr_source_newline_at(const struct kr_source *src, size_t offset)
{
  static const char *const spelling[] = {
      [KR_NL_LF] = "\n", [KR_NL_CRLF] = "\r\n", [KR_NL_CR] = "\r"};
  for (size_t i = offset; i < src->len; i++) {
    if (src->data[i] == '\n')
      return i > 0 && src->data[i - 1] == '\r' ? "\r\n" : "\n";
    if (src->data[i] == '\r')
      return i + 1 < src->len && src->data[i + 1] == '\n' ? "\r\n" : "\r";
  }
  return spelling[src->newline];
}

void kr_diags_add(struct kr_diags *d, enum kr_severity severity, size_t offset, size_t length,
                  const char *fmt, ...)
{
  va_list ap, again;
  va_start(ap, fmt);
  va_copy(again, ap);
  int n = vsnprintf(NULL, 0, fmt, ap);
  va_end(ap);
  char *buf = kr_xmalloc(n < 0 ? 1 : (size_t)n + 1);
  buf[0] = '\0';
  if (n >= 0)
    vsnprintf(buf, (size_t)n + 1, fmt, again);
  va_end(again);
  KR_GROW(d->items, d->n, d->cap);
  d->items[d->n++] = (struct kr_diag){severity, offset, length, buf, NULL};
  d->n_errors += severity == KR_SEV_ERROR;
}

void kr_diags_fix(struct kr_diags *d, const char *fix)
{
  if (!d->n)
    return;
  free(d->items[d->n - 1].fix);
  d->items[d->n - 1].fix = kr_xstrdup(fix);
}

void kr_diags_release(struct kr_diags *d)
{
  for (size_t i = 0; i < d->n; i++) {
    free(d->items[i].text);
    free(d->items[i].fix);
  }
  free(d->items);
  *d = (struct kr_diags){0};
}

static void diag_add_escaped(struct kr_bytes *out, const char *s, size_t len)
{
  for (size_t i = 0; i < len; i++) {
    unsigned char c = (unsigned char)s[i];
    if (c == '\t' || (c >= 0x20 && c != 0x7f))
      kr_bytes_addc(out, s[i]);
    else
      kr_bytes_addf(out, "\\x%02x", c);
  }
}

// A line that is longer is shown around the place alone.
enum { DIAG_LINE_MAX = 200, DIAG_LINE_LEFT = 80 };

// The first byte from `at` on that does not lie inside a UTF-8 character.
static size_t diag_character(const struct kr_source *src, size_t at, size_t end)
{
  while (at < end && ((unsigned char)src->data[at] & 0xc0) == 0x80)
    at++;
  return at;
}

void kr_diag_format(const struct kr_diag *diag, const struct kr_source *src, struct kr_bytes *out)
{
  static const char *const names[] = {
      [KR_SEV_ERROR] = "error", [KR_SEV_WARNING] = "warning", [KR_SEV_NOTE] = "note"};
  diag_add_escaped(out, src->path, strlen(src->path));
  if (diag->offset == SIZE_MAX) {
    kr_bytes_addf(out, ": %s: ", names[diag->severity]);
    diag_add_escaped(out, diag->text, strlen(diag->text));
    kr_bytes_addc(out, '\n');
    return;
  }
  unsigned line, col;
  kr_source_place(src, diag->offset, &line, &col);
  kr_bytes_addf(out, ":%u:%u: %s: ", line, col, names[diag->severity]);
  diag_add_escaped(out, diag->text, strlen(diag->text));
  size_t begin, end;
  kr_source_line(src, line, &begin, &end);
  bool cut_left = false, cut_right = false;
  if (end - begin > DIAG_LINE_MAX) {
    size_t from = diag->offset - begin > DIAG_LINE_LEFT ? diag->offset - DIAG_LINE_LEFT : begin;
    from = diag_character(src, from, end);
    cut_left = from > begin;
    begin = from;
    if (end - begin > DIAG_LINE_MAX) {
      end = diag_character(src, begin + DIAG_LINE_MAX, end);
      cut_right = true;
    }
  }
  kr_bytes_adds(out, cut_left ? "\n  ..." : "\n  ");
  diag_add_escaped(out, src->data + begin, end - begin);
  kr_bytes_adds(out, cut_right ? "...\n  " : "\n  ");
  const char *margin = cut_left ? "   " : "";
  kr_bytes_adds(out, margin);
  for (size_t i = begin; i < diag->offset && i < end; i++) {
    unsigned char c = (unsigned char)src->data[i];
    if ((c & 0xc0) == 0x80) // inside a UTF-8 character
      continue;
    kr_bytes_addc(out, c == '\t' ? '\t' : ' ');
  }
  kr_bytes_addc(out, '^');
  for (size_t i = 1; i < diag->length && diag->offset + i < end; i++)
    kr_bytes_addc(out, '~');
  kr_bytes_addc(out, '\n');
  if (diag->fix) {
    kr_bytes_addf(out, "  %s", margin);
    for (size_t i = begin; i < diag->offset && i < end; i++)
      kr_bytes_addc(out, src->data[i] == '\t' ? '\t' : ' ');
    diag_add_escaped(out, diag->fix, strlen(diag->fix));
    kr_bytes_addc(out, '\n');
  }
}
