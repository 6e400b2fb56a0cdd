#ifndef KR_BASE_MEM_H
#define KR_BASE_MEM_H

#include <stddef.h>

// Memory that ends the program when there is none: out of memory is not an
// error that callers handle. The process says so on stderr and exits 4 through
// exit(), so that atexit handlers still remove temporaries.

void *kr_xmalloc(size_t n) __attribute__((malloc, returns_nonnull));
void *kr_xcalloc(size_t n, size_t size) __attribute__((malloc, returns_nonnull));
void *kr_xrealloc(void *p, size_t n) __attribute__((returns_nonnull));
// `n * size` with an overflow check.
void *kr_xreallocarray(void *p, size_t n, size_t size) __attribute__((returns_nonnull));
char *kr_xstrdup(const char *s) __attribute__((malloc, returns_nonnull));
char *kr_xstrndup(const char *s, size_t n) __attribute__((malloc, returns_nonnull));
char *kr_xasprintf(const char *fmt, ...)
    __attribute__((malloc, returns_nonnull, format(printf, 1, 2)));

// Bytes that the machine has left without pushing anything out, whatever limit this
// process has; 0 when the system does not say.
double kr_memory_available(void);

// Makes room for one more element in an array of `*cap` elements, `n` of them
// used: KR_GROW(list->items, list->n, list->cap); list->items[list->n++] = x;
#define KR_GROW(items, n, cap)                                                                     \
  ((items) = (n) < (cap) ? (items)                                                                 \
                         : kr_xreallocarray((items), ((cap) = (cap) ? 2 * (cap) : 8), sizeof *(items)))

#endif
