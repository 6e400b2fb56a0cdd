#include "err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void err_mark_cut(struct kr_err *err, int wanted)
{
  if (wanted >= (int)sizeof err->text)
    memcpy(err->text + sizeof err->text - 4, "...", 4);
}

int kr_err_set(struct kr_err *err, const char *fmt, ...)
{
  if (!err)
    return -1;
  // Not in place: the old text may be among what is formatted.
  char text[sizeof err->text];
  va_list ap;
  va_start(ap, fmt);
  int wanted = vsnprintf(text, sizeof text, fmt, ap);
  va_end(ap);
  memcpy(err->text, text, strlen(text) + 1);
  err_mark_cut(err, wanted);
  return -1;
}

int kr_err_errno(struct kr_err *err, const char *fmt, ...)
{
  int saved = errno;
  if (!err)
    return -1;
  char head[sizeof err->text];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(head, sizeof head, fmt, ap);
  va_end(ap);
  err_mark_cut(err, snprintf(err->text, sizeof err->text, "%s: %s", head, strerror(saved)));
  return -1;
}

int kr_err_prefix(struct kr_err *err, const char *fmt, ...)
{
  if (!err)
    return -1;
  char head[sizeof err->text], tail[sizeof err->text];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(head, sizeof head, fmt, ap);
  va_end(ap);
  memcpy(tail, err->text, sizeof tail);
  err_mark_cut(err, snprintf(err->text, sizeof err->text, "%s: %s", head, tail));
  return -1;
}
