#include "redact.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../evaluator/base/mem.h"
#include "../evaluator/base/utf8.h"

struct secret_form {
  char *bytes;
  size_t len;
  size_t piece;  // the shortest run of it that is hidden
  bool has[256]; // the bytes that occur in it
};

static struct secret_form *secret_forms;
static size_t n_secret_forms, cap_secret_forms;

static void secret_form_add(const char *bytes, size_t len, size_t piece)
{
  for (size_t i = 0; i < n_secret_forms; i++) {
    if (secret_forms[i].len == len && !memcmp(secret_forms[i].bytes, bytes, len))
      return;
  }
  KR_GROW(secret_forms, n_secret_forms, cap_secret_forms);
  struct secret_form *f = &secret_forms[n_secret_forms++];
  memset(f, 0, sizeof *f);
  f->bytes = kr_xstrndup(bytes, len);
  f->len = len;
  f->piece = piece;
  for (size_t i = 0; i < len; i++)
    f->has[(unsigned char)bytes[i]] = true;
}

int redact_add(const char *secret, size_t len)
{
  if (len < REDACT_MIN_SECRET)
    return 1;
  size_t piece = len / 2 > REDACT_MIN_SECRET ? len / 2 : REDACT_MIN_SECRET;
  secret_form_add(secret, len, piece);
  struct kr_bytes form;
  kr_bytes_init(&form, 3 * len);
  // Some writers of JSON escape the slash, some do not.
  for (int slash = 0; slash < 2; slash++) {
    for (size_t i = 0; i < len; i++) {
      char c = secret[i];
      if (c == '"' || c == '\\' || (c == '/' && slash))
        kr_bytes_addc(&form, '\\');
      kr_bytes_addc(&form, c);
    }
    secret_form_add(form.data, form.len, form.len);
    kr_bytes_reset(&form);
  }
  for (size_t i = 0; i < len; i++) {
    unsigned char c = (unsigned char)secret[i];
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
        strchr("-._~", c)) {
      kr_bytes_addc(&form, (char)c);
    } else {
      kr_bytes_addf(&form, "%%%02X", c);
    }
  }
  secret_form_add(form.data, form.len, form.len);
  explicit_bzero(form.data, form.len);
  kr_bytes_release(&form);
  return 0;
}

void redact_clear(void)
{
  for (size_t i = 0; i < n_secret_forms; i++) {
    explicit_bzero(secret_forms[i].bytes, secret_forms[i].len);
    free(secret_forms[i].bytes);
  }
  free(secret_forms);
  secret_forms = NULL;
  n_secret_forms = cap_secret_forms = 0;
}

// The longest run of the form that stands at `p`, or 0 when it is shorter than
// a piece.
static size_t secret_run(const struct secret_form *f, const char *p, size_t left)
{
  size_t best = 0;
  for (size_t start = 0; start + f->piece <= f->len; start++) {
    size_t n = 0;
    while (n < left && start + n < f->len && p[n] == f->bytes[start + n])
      n++;
    if (n >= f->piece && n > best)
      best = n;
  }
  return best;
}

// The first place at or after `from` where a secret stands; `*len` is its length.
static size_t secret_find(const char *text, size_t size, size_t from, size_t *len)
{
  size_t first = size;
  *len = 0;
  for (size_t i = 0; i < n_secret_forms; i++) {
    const struct secret_form *f = &secret_forms[i];
    for (size_t at = from; at + f->piece <= size && at <= first;) {
      // A window whose last byte is not of the secret cannot hold a piece, nor
      // can any window over that byte.
      if (!f->has[(unsigned char)text[at + f->piece - 1]]) {
        at += f->piece;
        continue;
      }
      size_t run = secret_run(f, text + at, size - at);
      if (run && (at < first || run > *len)) {
        first = at;
        *len = run;
      }
      if (run)
        break;
      at++;
    }
  }
  return first;
}

void redact_append(struct kr_bytes *out, const char *text, size_t len)
{
  size_t at = 0;
  while (at < len) {
    size_t run, next = secret_find(text, len, at, &run);
    kr_bytes_add(out, text + at, next - at);
    if (next < len)
      kr_bytes_adds(out, "[redacted]");
    at = next + run;
  }
}

void redact_bytes(struct kr_bytes *b)
{
  if (!n_secret_forms)
    return;
  struct kr_bytes clean;
  // "[redacted]" may be longer than the piece it stands for.
  kr_bytes_init(&clean, 2 * b->len + 64);
  redact_append(&clean, b->data, b->len);
  explicit_bzero(b->data, b->len);
  kr_bytes_release(b);
  b->data = clean.data;
  b->len = clean.len;
  b->cap = clean.cap;
}

void redact_err(struct kr_err *err)
{
  if (!err || !n_secret_forms)
    return;
  struct kr_bytes clean;
  kr_bytes_init(&clean, 4 * sizeof err->text);
  redact_append(&clean, err->text, strlen(err->text));
  snprintf(err->text, sizeof err->text, "%s", clean.data);
  kr_bytes_release(&clean);
}

char *redact_line(const char *text, size_t len, size_t max)
{
  struct kr_bytes clean, line;
  kr_bytes_init(&clean, 2 * len + 64);
  redact_append(&clean, text, len);
  kr_bytes_init(&line, max + 16);
  bool blank = false, cut = false;
  for (size_t i = 0; i < clean.len;) {
    unsigned char c = (unsigned char)clean.data[i];
    if (c == ' ' || (c >= '\t' && c <= '\r')) {
      blank = line.len > 0;
      i++;
      continue;
    }
    char shown[8];
    size_t n = kr_utf8_length(clean.data + i, clean.len - i);
    if (n == 0 || c < 0x20 || c == 0x7f || kr_utf8_is_control(clean.data + i, n)) {
      snprintf(shown, sizeof shown, "\\x%02x", c);
      i++;
    } else {
      memcpy(shown, clean.data + i, n);
      shown[n] = 0;
      i += n;
    }
    if (line.len + blank + strlen(shown) > max) {
      cut = true;
      break;
    }
    if (blank)
      kr_bytes_addc(&line, ' ');
    blank = false;
    kr_bytes_adds(&line, shown);
  }
  if (cut)
    kr_bytes_adds(&line, "...");
  kr_bytes_release(&clean);
  char *taken = kr_bytes_take(&line);
  kr_bytes_release(&line);
  return taken;
}
