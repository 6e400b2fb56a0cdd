#include "log.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static kr_log_sink *log_sink;
static void *log_arg;
static const char *log_stages;

void kr_log_install(kr_log_sink *sink, void *arg, const char *stages)
{
  log_sink = sink;
  log_arg = arg;
  log_stages = stages;
}

static bool log_stage_wanted(const char *stage)
{
  if (!log_stages)
    return false;
  size_t len = strlen(stage);
  for (const char *p = log_stages; *p;) {
    size_t n = strcspn(p, ",");
    if ((n == len && !memcmp(p, stage, n)) || (n == 3 && !memcmp(p, "all", 3)))
      return true;
    p += n + (p[n] == ',');
  }
  return false;
}


static void log_say(enum kr_log_level level, const char *stage, const char *fmt, va_list ap)
{
  if (!log_sink)
    return;
  va_list again;
  va_copy(again, ap);
  char small[512];
  int n = vsnprintf(small, sizeof small, fmt, ap);
  if (n >= 0 && (size_t)n < sizeof small) {
    log_sink(level, stage, small, log_arg);
  } else if (n >= 0) {
    char *big = malloc((size_t)n + 1);
    if (big) {
      vsnprintf(big, (size_t)n + 1, fmt, again);
      log_sink(level, stage, big, log_arg);
      free(big);
    }
  }
  va_end(again);
}

#define LOG_FUNCTION(name, level)                                                                  \
  void name(const char *fmt, ...)                                                                  \
  {                                                                                                \
    va_list ap;                                                                                    \
    va_start(ap, fmt);                                                                             \
    log_say(level, NULL, fmt, ap);                                                                 \
    va_end(ap);                                                                                    \
  }

LOG_FUNCTION(kr_error, KR_LOG_ERROR)
LOG_FUNCTION(kr_warn, KR_LOG_WARN)
LOG_FUNCTION(kr_note, KR_LOG_NOTE)

void kr_debug(const char *stage, const char *fmt, ...)
{
  if (!log_stage_wanted(stage))
    return;
  va_list ap;
  va_start(ap, fmt);
  log_say(KR_LOG_DEBUG, stage, fmt, ap);
  va_end(ap);
}
