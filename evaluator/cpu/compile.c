#include "internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../base/log.h"
#include "../base/mem.h"
#include "child.h"

// Compiling through kevin-cpucc: once plain, and once more for a module that is
// to be counted. What was compiled is kept for that.

enum { CPU_COMPILE_MS = 40000 };

// A file in memory that holds `data`, its offset at the start, or -1.
static int cpu_memory_file(const char *name, const void *data, size_t len)
{
  int fd = memfd_create(name, MFD_CLOEXEC);
  const char *p = data;
  while (fd >= 0 && len) {
    ssize_t n = write(fd, p, len);
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0) {
      close(fd);
      return -1;
    }
    p += n;
    len -= (size_t)n;
  }
  if (fd >= 0)
    lseek(fd, 0, SEEK_SET);
  return fd;
}

// Of the contract's flags those that mean something here. Search paths do not:
// nothing but our own headers can be included.
//
// Macros become lines above the unit, below the back end's own header: programs define
// names as short as N and T, which are parameters of templates there.
static void cpu_macro(char what, const char *text, struct kr_bytes *macros)
{
  const char *value = strchr(text, '=');
  size_t name = value ? (size_t)(value - text) : strlen(text);
  if (what == 'U')
    kr_bytes_addf(macros, "#undef %s\n", text);
  else
    kr_bytes_addf(macros, "#define %.*s %.*s\n", (int)name, text,
                  value ? (int)strcspn(value + 1, "\n") : 1, value ? value + 1 : "1");
}

static size_t cpu_flags(const struct kr_contract *c, char **argv, struct kr_bytes *macros)
{
  size_t n = 0;
  for (size_t i = 0; i < c->n_flags; i++) {
    const char *f = c->flags[i];
    bool takes = !strcmp(f, "-D") || !strcmp(f, "-U");
    if (takes && i + 1 < c->n_flags)
      cpu_macro(f[1], c->flags[++i], macros);
    else if (!takes && (!strncmp(f, "-D", 2) || !strncmp(f, "-U", 2)))
      cpu_macro(f[1], f + 2, macros);
    else if (!strncmp(f, "-std=", 5))
      argv[n++] = kr_xstrdup(f);
    else if (!strcmp(f, "-fmad=false") || !strcmp(f, "--fmad=false"))
      argv[n++] = kr_xstrdup("--fmad=false");
  }
  return n;
}

// The sentence that says what is not there, out of the compiler's words.
static char *cpu_not_yet(const char *log)
{
  const char *found = strstr(log, "is not there yet on the CPU back end");
  if (!found)
    return kr_xstrdup("the kernel needs something that is not there yet on the CPU back end");
  const char *begin = found, *end = strchr(found, '\n');
  while (begin > log && begin[-1] != '\n')
    begin--;
  size_t len = end ? (size_t)(end - begin) : strlen(begin);
  char *line = kr_xstrndup(begin, len);
  char *error = strstr(line, "error: ");
  if (error) {
    error += strlen("error: ");
    memmove(line, error, strlen(error) + 1);
  }
  return line;
}

static void cpu_argv_free(char **argv)
{
  for (size_t i = 0; argv && argv[i]; i++)
    free(argv[i]);
  free(argv);
}

void cpu_module_free(struct kr_device *dev, struct kr_module *m)
{
  for (struct kr_module *next; m; m = next) {
    next = m->next;
    cpu_module_free(dev, m->traced);
    if (m->fd >= 0)
      close(m->fd);
    free(m->unsupported);
    free(m->unit);
    cpu_argv_free(m->argv);
    free(m);
  }
}

// Runs kevin-cpucc; returns as kr_backend.compile does.
static int cpu_compile_unit(struct kr_device *dev, char **argv, const struct kr_bytes *unit,
                            struct kr_module **out, struct kr_bytes *log, struct kr_err *err)
{
  struct kr_bytes image, words;
  kr_bytes_init(&image, (size_t)520 << 20);
  kr_bytes_init(&words, 1 << 20);
  int rc = -1, in = -1;
  struct kr_module *m = NULL;
  if (unit->toobig || (in = cpu_memory_file("unit", unit->data, unit->len)) < 0) {
    kr_err_set(err, "the translation unit is too large");
    goto out;
  }
  struct child child = {.program = dev->cpucc, .argv = argv, .in = in, .out = &image,
                        .log = &words, .fd3 = -1, .fd4 = -1, .timeout_ms = CPU_COMPILE_MS};
  if (child_run(&child, err))
    goto out;
  kr_bytes_add(log, words.data, words.len);
  int code = WIFEXITED(child.status) ? WEXITSTATUS(child.status) : -1;
  kr_debug("compile", "kevin-cpucc: exit %d, %zu bytes", code, image.len);
  if (child.late || code == -1) {
    kr_bytes_addf(log, "error: the compiler %s\n", child.late ? "took too long" : "died");
    rc = 1;
  } else if (code == 1 || code == 2) {
    rc = 1;
  } else if (code == 3) {
    m = kr_xcalloc(1, sizeof *m);
    m->fd = -1;
    m->unsupported = cpu_not_yet(words.data);
    rc = 0;
  } else if (code == 0 && !image.toobig && image.len >= KR_PAGE) {
    m = kr_xcalloc(1, sizeof *m);
    memcpy(&m->image, image.data, sizeof m->image);
    m->fd = cpu_memory_file("image", image.data, image.len);
    rc = m->fd >= 0 && m->image.version == KR_IMAGE_VERSION ? 0 : -1;
    if (rc)
      kr_err_set(err, "%s is of another version", dev->cpucc);
  } else {
    kr_err_set(err, "%s", words.len ? words.data : "kevin-cpucc failed");
    size_t n = strlen(err ? err->text : "");
    while (err && n && err->text[n - 1] == '\n')
      err->text[--n] = '\0';
  }
out:
  if (rc) {
    cpu_module_free(dev, m);
    m = NULL;
  }
  *out = m;
  if (in >= 0)
    close(in);
  kr_bytes_release(&image);
  kr_bytes_release(&words);
  return rc;
}

static int cpu_compile_one(struct kr_device *dev, const struct kr_contract *c,
                           const char *kernel, const char *text, size_t len,
                           struct kr_module **out, struct kr_bytes *log, struct kr_err *err)
{
  struct kr_bytes unit;
  kr_bytes_init(&unit, KR_BYTES_DEFAULT_MAX);
  char **argv = kr_xcalloc(c->n_flags + 5, sizeof *argv);
  argv[0] = kr_xstrdup("kevin-cpucc");
  argv[1] = kr_xasprintf("--clang=%s", dev->clang);
  argv[2] = kr_xasprintf("--include=%s", dev->headers);
  cpu_flags(c, argv + 3, &unit);
  kr_bytes_adds(&unit, "#line 1 \"variant.cu\"\n");
  kr_bytes_add(&unit, text, len);
  kr_bytes_addf(&unit,
                "\n\n#line 1 \"launch of the kernel\"\n"
                "extern \"C\" void __kr_entry(void **__kr_args) { __kr_launch(%s, __kr_args); }\n",
                kernel);
  int rc = cpu_compile_unit(dev, argv, &unit, out, log, err);
  if (*out) {
    (*out)->shared_limit = c->shared_limit;
    (*out)->unit = kr_xstrndup(unit.data, unit.len);
    (*out)->unit_len = unit.len;
    (*out)->argv = argv;
  } else {
    cpu_argv_free(argv);
  }
  kr_bytes_release(&unit);
  return rc;
}

int cpu_compile(struct kr_device *dev, const struct kr_contract *c, const char *text, size_t len,
                struct kr_module **out, struct kr_bytes *log, struct kr_err *err)
{
  struct kr_module *first = NULL, **place = &first;
  for (size_t i = 0; i < kr_contract_kernels(c); i++) {
    int rc = cpu_compile_one(dev, c, kr_contract_kernel_name(c, i), text, len, place, log, err);
    if (rc) {
      cpu_module_free(dev, first);
      return rc;
    }
    place = &(*place)->next;
  }
  *out = first;
  return 0;
}

int cpu_compile_traced(struct kr_device *dev, struct kr_module *m, struct kr_err *err)
{
  if (m->traced)
    return 0;
  struct kr_bytes unit, log;
  kr_bytes_init(&unit, KR_BYTES_DEFAULT_MAX);
  kr_bytes_init(&log, 1 << 20);
  kr_bytes_add(&unit, m->unit, m->unit_len);
  size_t n = 0;
  while (m->argv[n])
    n++;
  char **argv = kr_xcalloc(n + 2, sizeof *argv);
  memcpy(argv, m->argv, n * sizeof *argv);
  argv[n] = (char *)"--trace";
  int rc = cpu_compile_unit(dev, argv, &unit, &m->traced, &log, err);
  if (rc == 1) {
    // It compiles otherwise: what is counted is what stands in the way.
    m->traced = kr_xcalloc(1, sizeof *m->traced);
    m->traced->fd = -1;
    m->traced->unsupported = kr_xasprintf("the kernel cannot be counted: %s", log.data);
    rc = 0;
  }
  if (!rc)
    m->traced->shared_limit = m->shared_limit;
  free(argv);
  kr_bytes_release(&unit);
  kr_bytes_release(&log);
  return rc;
}
