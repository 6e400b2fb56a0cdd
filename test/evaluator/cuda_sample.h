#ifndef KR_TEST_CUDA_SAMPLE_H
#define KR_TEST_CUDA_SAMPLE_H

// Contracts and instances put together by hand, for tests of the cuda back end
// that shall not depend on how they are usually made.

#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include "evaluator/base/mem.h"
#include "evaluator/cuda/backend_cuda.h"
#include "unit.h"

enum { SAMPLE_MAX = 8 };

struct sample {
  struct kr_contract contract;
  struct kr_instance in;
  struct kr_param params[SAMPLE_MAX];
  struct kr_section sections[SAMPLE_MAX];
  struct kr_type types[SAMPLE_MAX];
  unsigned char *blocks[SAMPLE_MAX];
  struct kr_pointer_slot slots[SAMPLE_MAX];
  struct kr_buffer buffers[SAMPLE_MAX];
  char *flags[SAMPLE_MAX];
};

static inline void sample_init(struct sample *s, const char *name)
{
  memset(s, 0, sizeof *s);
  s->contract.kernel = s->contract.name_expression = (char *)(uintptr_t)name;
  s->contract.params = s->params;
  s->contract.sections = s->sections;
  s->contract.types = s->types;
  s->contract.flags = s->flags;
  s->contract.shared_limit = 48 << 10;
  s->in.contract = &s->contract;
  s->in.params = s->blocks;
  s->in.slots = s->slots;
  s->in.buffers = s->buffers;
}

static inline void sample_release(struct sample *s)
{
  for (size_t i = 0; i < s->contract.n_params; i++)
    free(s->blocks[i]);
  for (size_t i = 0; i < s->in.n_buffers; i++)
    free(s->buffers[i].init);
}

// A parameter by value.
static inline void sample_value(struct sample *s, const void *value, size_t size, size_t align)
{
  size_t i = s->contract.n_params++;
  s->params[i].size = size;
  s->params[i].align = align;
  s->blocks[i] = kr_xmalloc(size);
  memcpy(s->blocks[i], value, size);
}

static inline void sample_int(struct sample *s, int v)
{
  sample_value(s, &v, sizeof v, sizeof v);
}

static inline void sample_float(struct sample *s, float v)
{
  sample_value(s, &v, sizeof v, sizeof v);
}

// A buffer that no parameter points to yet; `init` is copied, NULL for out.
static inline struct kr_buffer *sample_buffer(struct sample *s, enum kr_role role, size_t size,
                                              int64_t count, const void *init)
{
  size_t i = s->in.n_buffers++;
  s->contract.n_sections = s->contract.n_types = s->in.n_buffers;
  s->types[i].size = s->types[i].align = size;
  s->sections[i].role = role;
  struct kr_buffer *b = &s->buffers[i];
  *b = (struct kr_buffer){.section = i, .role = role, .type = &s->types[i], .count = count,
                          .bytes = (size_t)count * size, .align = size};
  if (init && b->bytes) {
    b->init = kr_xmalloc(b->bytes);
    memcpy(b->init, init, b->bytes);
  }
  return b;
}

// A pointer parameter with its buffer.
static inline struct kr_buffer *sample_pointer(struct sample *s, enum kr_role role, size_t size,
                                               int64_t count, const void *init)
{
  uint64_t zero = 0;
  struct kr_buffer *b = sample_buffer(s, role, size, count, init);
  s->slots[s->in.n_slots++] =
      (struct kr_pointer_slot){.param = s->contract.n_params, .buffer = s->in.n_buffers - 1};
  sample_value(s, &zero, sizeof zero, sizeof zero);
  return b;
}

static inline float *sample_floats(size_t n, float first, float step)
{
  float *f = kr_xmalloc((n ? n : 1) * sizeof *f);
  for (size_t i = 0; i < n; i++)
    f[i] = first + step * (float)i;
  return f;
}

static inline struct kr_launch sample_launch(unsigned grid, unsigned block, unsigned shared)
{
  return (struct kr_launch){.grid = {grid, 1, 1}, .block = {block, 1, 1}, .shared_bytes = shared};
}

// An open device for one test, in a process of its own: a fault loses it.
static inline struct kr_device *sample_open(void)
{
  struct kr_err err = {0};
  struct kr_device *dev = NULL;
  if (kr_backend_cuda.open(&(struct kr_backend_options){0}, &dev, &err)) {
    fprintf(stderr, "open: %s\n", err.text);
    _exit(1);
  }
  return dev;
}

static inline struct kr_module *sample_compile(struct kr_device *dev, struct sample *s,
                                               const char *text)
{
  struct kr_err err = {0};
  struct kr_bytes log;
  struct kr_module *m = NULL;
  kr_bytes_init(&log, 1 << 20);
  if (kr_backend_cuda.compile(dev, &s->contract, text, strlen(text), &m, &log, &err)) {
    fprintf(stderr, "compile: %s %s\n", err.text, log.data);
    _exit(1);
  }
  kr_bytes_release(&log);
  return m;
}

// Runs `test` in a child, so that libcuda is never in this process and a lost
// device harms nobody. A child that dies counts as a failure.
static inline void sample_in_child(const char *name, void (*test)(void))
{
  fflush(NULL);
  pid_t pid = fork();
  if (!pid) {
    unit_checks = unit_failures = 0;
    test();
    fflush(NULL);
    _exit(unit_end());
  }
  int status = -1;
  waitpid(pid, &status, 0);
  unit_checks++;
  if (status) {
    unit_failures++;
    fprintf(stderr, "%s failed: wait status %d\n", name, status);
  }
}

#define IN_CHILD(test) sample_in_child(#test, test)

#endif
