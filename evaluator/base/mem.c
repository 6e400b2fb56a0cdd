#include "mem.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXIT_ENVIRONMENT = 4 }; // as in docs/kevin-rewrite.1, EXIT STATUS

static void *mem_or_die(void *p)
{
  if (!p) {
    fputs("error: out of memory\n", stderr);
    exit(EXIT_ENVIRONMENT);
  }
  return p;
}

void *kr_xmalloc(size_t n)
{
  return mem_or_die(malloc(n ? n : 1));
}

void *kr_xcalloc(size_t n, size_t size)
{
  return mem_or_die(calloc(n ? n : 1, size ? size : 1));
}

void *kr_xrealloc(void *p, size_t n)
{
  return mem_or_die(realloc(p, n ? n : 1));
}

void *kr_xreallocarray(void *p, size_t n, size_t size)
{
  if (size && n > SIZE_MAX / size)
    mem_or_die(NULL);
  return kr_xrealloc(p, n * size);
}

char *kr_xstrdup(const char *s)
{
  return kr_xstrndup(s, strlen(s));
}

char *kr_xstrndup(const char *s, size_t n)
{
  n = strnlen(s, n);
  char *p = kr_xmalloc(n + 1);
  memcpy(p, s, n);
  p[n] = '\0';
  return p;
}

char *kr_xasprintf(const char *fmt, ...)
{
  va_list ap, again;
  va_start(ap, fmt);
  va_copy(again, ap);
  int n = vsnprintf(NULL, 0, fmt, ap);
  va_end(ap);
  char *p = mem_or_die(n < 0 ? NULL : kr_xmalloc((size_t)n + 1));
  vsnprintf(p, (size_t)n + 1, fmt, again);
  va_end(again);
  return p;
}

double kr_memory_available(void)
{
  char line[256];
  unsigned long long kib = 0;
  FILE *f = fopen("/proc/meminfo", "re");
  while (f && !kib && fgets(line, sizeof line, f))
    sscanf(line, "MemAvailable: %llu kB", &kib);
  if (f)
    fclose(f);
  return 1024.0 * (double)kib;
}
