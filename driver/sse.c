#include "sse.h"

#include <string.h>

void sse_init(struct sse *s, size_t max_line, sse_event *event, void *arg)
{
  memset(s, 0, sizeof *s);
  kr_bytes_init(&s->line, max_line);
  kr_bytes_init(&s->data, max_line);
  kr_bytes_init(&s->name, max_line);
  s->event = event;
  s->arg = arg;
}

void sse_release(struct sse *s)
{
  kr_bytes_release(&s->line);
  kr_bytes_release(&s->data);
  kr_bytes_release(&s->name);
}

static int sse_toobig(const struct sse *s, struct kr_err *err)
{
  return kr_err_set(err, "a line of the event stream is longer than %zu bytes", s->line.max);
}

static int sse_dispatch(struct sse *s, struct kr_err *err)
{
  int rc = 0;
  if (s->has_data)
    rc = s->event(s->arg, s->name.data, s->data.data, s->data.len, err);
  kr_bytes_reset(&s->data);
  kr_bytes_reset(&s->name);
  s->has_data = false;
  return rc;
}

static int sse_line(struct sse *s, struct kr_err *err)
{
  const char *line = s->line.data;
  size_t len = s->line.len;
  if (!s->started) {
    s->started = true;
    if (len >= 3 && !memcmp(line, "\xef\xbb\xbf", 3)) {
      line += 3;
      len -= 3;
    }
  }
  int rc = 0;
  if (!len) {
    rc = sse_dispatch(s, err);
  } else if (line[0] != ':') {
    const char *colon = memchr(line, ':', len);
    size_t n = colon ? (size_t)(colon - line) : len;
    const char *value = colon ? colon + 1 : line + len;
    size_t n_value = len - (size_t)(value - line);
    if (n_value && value[0] == ' ') {
      value++;
      n_value--;
    }
    if (n == 4 && !memcmp(line, "data", 4)) {
      if (s->has_data)
        kr_bytes_addc(&s->data, '\n');
      kr_bytes_add(&s->data, value, n_value);
      s->has_data = true;
      if (s->data.toobig)
        rc = sse_toobig(s, err);
    } else if (n == 5 && !memcmp(line, "event", 5)) {
      kr_bytes_reset(&s->name);
      kr_bytes_add(&s->name, value, n_value);
    }
  }
  kr_bytes_reset(&s->line);
  return rc;
}

int sse_feed(struct sse *s, const char *data, size_t len, struct kr_err *err)
{
  size_t i = 0;
  while (i < len) {
    if (s->after_cr && data[i] == '\n') {
      s->after_cr = false;
      i++;
      continue;
    }
    s->after_cr = false;
    size_t n = 0;
    while (i + n < len && data[i + n] != '\n' && data[i + n] != '\r')
      n++;
    if (n && kr_bytes_add(&s->line, data + i, n))
      return sse_toobig(s, err);
    i += n;
    if (i < len) {
      s->after_cr = data[i] == '\r';
      i++;
      if (sse_line(s, err))
        return -1;
    }
  }
  return 0;
}

bool sse_pending(const struct sse *s)
{
  return s->line.len || s->has_data;
}
