#include "talk.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "../evaluator/base/clock.h"
#include "../evaluator/base/log.h"
#include "../evaluator/base/mem.h"
#include "exit.h"
#include "../evaluator/base/utf8.h"

// Threads that wait for workers also log.
static pthread_mutex_t talk_lock = PTHREAD_MUTEX_INITIALIZER;

static struct {
  int verbose;
  bool color_err, color_out, progress;
  bool line_shown;
  double last_ms, allowed;
} talk;

static bool talk_color(enum when when, int fd)
{
  if (when != WHEN_AUTO)
    return when == WHEN_ALWAYS;
  const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
  if (no && *no)
    return false;
  return isatty(fd) && !(term && !strcmp(term, "dumb"));
}

static void talk_clear_line(void)
{
  if (!talk.line_shown)
    return;
  fputs("\r\x1b[K", stderr);
  talk.line_shown = false;
}

void talk_escape(struct kr_bytes *out, const char *text, size_t len, bool lines)
{
  const unsigned char *s = (const unsigned char *)text;
  for (size_t i = 0; i < len;) {
    if ((s[i] >= 0x20 && s[i] < 0x7f) || (lines && (s[i] == '\n' || s[i] == '\t'))) {
      kr_bytes_addc(out, text[i++]);
      continue;
    }
    size_t n = s[i] >= 0x80 ? kr_utf8_length(text + i, len - i) : 0;
    if (n && !kr_utf8_is_control(text + i, n)) {
      kr_bytes_add(out, text + i, n);
      i += n;
    } else {
      kr_bytes_addf(out, "\\x%02x", s[i++]);
    }
  }
}

static void talk_sink(enum kr_log_level level, const char *stage, const char *text, void *arg)
{
  (void)arg;
  static const char *const names[] = {[KR_LOG_ERROR] = "error: ",
                                      [KR_LOG_WARN] = "warning: ",
                                      [KR_LOG_NOTE] = "note: ",
                                      [KR_LOG_DEBUG] = ""};
  static const char *const colors[] = {[KR_LOG_ERROR] = "\x1b[1;31m",
                                       [KR_LOG_WARN] = "\x1b[1;35m",
                                       [KR_LOG_NOTE] = "\x1b[1;36m",
                                       [KR_LOG_DEBUG] = "\x1b[2m"};
  if (talk.verbose < 0 && level != KR_LOG_ERROR)
    return;
  struct kr_bytes b;
  kr_bytes_init(&b, 4 << 20);
  talk_escape(&b, text, strlen(text), true);
  pthread_mutex_lock(&talk_lock);
  talk_clear_line();
  fprintf(stderr, "%s%s%s%s%s%s\n", talk.color_err ? colors[level] : "",
          stage ? stage : "", stage ? ": " : names[level],
          talk.color_err && level != KR_LOG_DEBUG ? "\x1b[0m" : "", b.data,
          talk.color_err && level == KR_LOG_DEBUG ? "\x1b[0m" : "");
  pthread_mutex_unlock(&talk_lock);
  kr_bytes_release(&b);
}

// A descriptor that is closed at the start would be given to the next file that is
// opened, and what is meant for the user would be written into it. Reading end and
// writing end are the wrong way round on purpose: a use fails as it would have.
void talk_guard(void)
{
  static const int modes[] = {O_WRONLY, O_RDONLY, O_WRONLY};
  for (int fd = 0; fd < 3; fd++)
    if (fcntl(fd, F_GETFD) < 0 && errno == EBADF && open("/dev/null", modes[fd]) != fd)
      _exit(EXIT_NO_ENVIRONMENT);
}

void talk_start(const struct options *o)
{
  talk.verbose = o->verbose;
  talk.color_err = talk_color(o->color, STDERR_FILENO);
  talk.color_out = talk_color(o->color, STDOUT_FILENO);
  talk.progress = o->verbose >= 0 && (o->progress == WHEN_ALWAYS ||
                                      (o->progress == WHEN_AUTO && isatty(STDERR_FILENO)));
  kr_log_install(talk_sink, NULL, o->debug);
}

static int diag_order(const void *a, const void *b)
{
  const struct kr_diag *const *x = a, *const *y = b;
  if ((*x)->offset != (*y)->offset)
    return (*x)->offset < (*y)->offset ? -1 : 1;
  return *x < *y ? -1 : *x > *y; // as they were found
}

void talk_diags(const struct kr_diags *diags, const struct kr_source *src)
{
  static const char *const colors[] = {[KR_SEV_ERROR] = "\x1b[1;31m",
                                       [KR_SEV_WARNING] = "\x1b[1;35m",
                                       [KR_SEV_NOTE] = "\x1b[1;36m"};
  if (!diags->n)
    return;
  const struct kr_diag **sorted = kr_xreallocarray(NULL, diags->n, sizeof *sorted);
  for (size_t i = 0; i < diags->n; i++)
    sorted[i] = &diags->items[i];
  qsort(sorted, diags->n, sizeof *sorted, diag_order);
  struct kr_bytes raw, b;
  kr_bytes_init(&raw, 1 << 20);
  kr_bytes_init(&b, 4 << 20);
  talk_clear_line();
  for (size_t i = 0; i < diags->n; i++) {
    if (talk.verbose < 0 && sorted[i]->severity != KR_SEV_ERROR)
      continue;
    kr_bytes_reset(&raw);
    kr_bytes_reset(&b);
    kr_diag_format(sorted[i], src, &raw);
    talk_escape(&b, raw.data, raw.len, true);
    // Bold place, coloured word, plain text: as clang does.
    char *sev = talk.color_err ? strstr(b.data, ": error: ") : NULL;
    if (talk.color_err && !sev)
      sev = strstr(b.data, ": warning: ");
    if (talk.color_err && !sev)
      sev = strstr(b.data, ": note: ");
    char *text = sev ? strchr(sev + 2, ':') : NULL;
    if (text)
      fprintf(stderr, "\x1b[1m%.*s: %s%.*s\x1b[0m%s", (int)(sev - b.data), b.data,
              colors[sorted[i]->severity], (int)(text + 1 - sev - 2), sev + 2, text + 1);
    else
      fputs(b.data, stderr);
  }
  kr_bytes_release(&raw);
  kr_bytes_release(&b);
  free(sorted);
}

bool talk_is_live(void)
{
  return talk.progress;
}

size_t talk_columns(void)
{
  const char *columns = getenv("COLUMNS");
  int width = columns ? atoi(columns) : 0;
  struct winsize ws;
  if (width <= 0 && !ioctl(STDERR_FILENO, TIOCGWINSZ, &ws))
    width = ws.ws_col;
  return width > 20 ? (size_t)width : 79;
}

void talk_progress(const char *fmt, ...)
{
  if (!talk.progress)
    return;
  // What is begun right after something else may last: a few updates may come at once.
  enum { EVERY_MS = 100, AT_ONCE = 4 };
  double now = kr_now_ms();
  talk.allowed += (now - talk.last_ms) / EVERY_MS;
  talk.last_ms = now;
  if (talk.allowed > AT_ONCE)
    talk.allowed = AT_ONCE;
  pthread_mutex_lock(&talk_lock);
  bool shown = talk.line_shown;
  pthread_mutex_unlock(&talk_lock);
  if (shown && talk.allowed < 1)
    return;
  talk.allowed -= 1;
  char text[1024];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(text, sizeof text, fmt, ap);
  va_end(ap);
  struct kr_bytes b;
  kr_bytes_init(&b, 4096);
  talk_escape(&b, text, strlen(text), false);
  pthread_mutex_lock(&talk_lock);
  fprintf(stderr, "\r\x1b[K%.*s", (int)talk_columns() - 1, b.data);
  fflush(stderr);
  talk.line_shown = true;
  pthread_mutex_unlock(&talk_lock);
  kr_bytes_release(&b);
}

void talk_progress_end(void)
{
  pthread_mutex_lock(&talk_lock);
  talk_clear_line();
  fflush(stderr);
  pthread_mutex_unlock(&talk_lock);
}

void talk_say(const char *fmt, ...)
{
  if (talk.verbose < 0)
    return;
  char text[4096];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(text, sizeof text, fmt, ap);
  va_end(ap);
  struct kr_bytes b;
  kr_bytes_init(&b, 1 << 16);
  talk_escape(&b, text, strlen(text), true);
  pthread_mutex_lock(&talk_lock);
  talk_clear_line();
  fprintf(stderr, "%s\n", b.data);
  pthread_mutex_unlock(&talk_lock);
  kr_bytes_release(&b);
}

void talk_text(const char *text, size_t len)
{
  struct kr_bytes b;
  if (talk.verbose < 0)
    return;
  kr_bytes_init(&b, KR_BYTES_DEFAULT_MAX);
  talk_escape(&b, text, len, true);
  pthread_mutex_lock(&talk_lock);
  talk_clear_line();
  fwrite(b.data, 1, b.len, stderr);
  pthread_mutex_unlock(&talk_lock);
  kr_bytes_release(&b);
}

void talk_out(const char *data, size_t len)
{
  pthread_mutex_lock(&talk_lock);
  talk_clear_line();
  pthread_mutex_unlock(&talk_lock);
  if (fwrite(data, 1, len, stdout) == len && !fflush(stdout))
    return;
  fprintf(stderr, "error: cannot write to standard output: %s\n", strerror(errno));
  exit(EXIT_PARTIAL);
}

void talk_out_diff(const char *data, size_t len)
{
  if (!talk.color_out) {
    talk_out(data, len);
    return;
  }
  struct kr_bytes b;
  kr_bytes_init(&b, KR_BYTES_DEFAULT_MAX);
  for (size_t i = 0; i < len;) {
    const char *nl = memchr(data + i, '\n', len - i);
    size_t n = nl ? (size_t)(nl - data) - i : len - i;
    const char *color = !strncmp(data + i, "@@", n < 2 ? n : 2) && n >= 2 ? "\x1b[36m"
                        : data[i] == '+'                                ? "\x1b[32m"
                        : data[i] == '-'                                ? "\x1b[31m"
                                                                        : "";
    kr_bytes_adds(&b, color);
    kr_bytes_add(&b, data + i, n);
    kr_bytes_adds(&b, *color ? "\x1b[0m" : "");
    if (nl)
      kr_bytes_addc(&b, '\n');
    i += n + (nl ? 1 : 0);
  }
  talk_out(b.data, b.len);
  kr_bytes_release(&b);
}
