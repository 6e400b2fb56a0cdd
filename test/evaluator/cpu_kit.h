#ifndef KR_TEST_CPU_KIT_H
#define KR_TEST_CPU_KIT_H

// Runs small kernels on the CPU back end: a contract and an instance by hand,
// so that these tests need nothing of the rest of the evaluator.

#include "unit.h"

#include "evaluator/base/mem.h"
#include "evaluator/cpu/cpu.h"

enum { KIT_MAX = 16 };

struct kit {
  struct kr_contract c;
  struct kr_instance in;
  struct kr_param params[KIT_MAX];
  struct kr_section sections[KIT_MAX];
  struct kr_buffer buffers[KIT_MAX];
  struct kr_pointer_slot slots[KIT_MAX];
  unsigned char *values[KIT_MAX];
  struct kr_type types[KIT_MAX];
  char *flags[4];
  struct kr_run_options options;
  // Results.
  int compiled; // of compile()
  struct kr_bytes log;
  struct kr_module *m;
  struct kr_run_result r;
  struct kr_err err;
};

static struct kr_device *kit_device;

static inline struct kr_device *kit_open(void)
{
  struct kr_err err = {{0}};
  struct kr_backend_options options = {.timeout_ms = 20000};
  if (!kit_device && kr_backend_cpu.open(&options, &kit_device, &err)) {
    fprintf(stderr, "%s\n", err.text);
    exit(1);
  }
  return kit_device;
}

static inline void kit_begin(struct kit *k, const char *kernel)
{
  memset(k, 0, sizeof *k);
  k->c.kernel = k->c.name_expression = (char *)kernel;
  k->c.shared_limit = 48 << 10;
  k->c.params = k->params;
  k->c.sections = k->sections;
  k->c.flags = k->flags;
  k->in.contract = &k->c;
  k->in.params = k->values;
  k->in.slots = k->slots;
  k->in.buffers = k->buffers;
  k->in.seed = 7;
  k->options.launch = (struct kr_launch){{1, 1, 1}, {32, 1, 1}, 0, false};
  k->options.poison = 0xcd;
  kr_bytes_init(&k->log, 1 << 20);
}

static inline void kit_value(struct kit *k, const void *value, size_t size)
{
  size_t i = k->c.n_params++;
  k->params[i] =
      (struct kr_param){.name = (char *)"p", .size = size, .align = size < 16 ? size : 16};
  k->values[i] = kr_xmalloc(size);
  memcpy(k->values[i], value, size);
}

static inline void kit_int(struct kit *k, int v) { kit_value(k, &v, sizeof v); }
static inline void kit_float(struct kit *k, float v) { kit_value(k, &v, sizeof v); }

static inline size_t kit_buffer(struct kit *k, const char *name, enum kr_role role, size_t unit,
                                size_t count, const void *init)
{
  void *zero = NULL;
  size_t b = k->in.n_buffers++;
  k->c.n_sections++;
  k->sections[b] = (struct kr_section){.path = (char *)name, .role = role};
  k->types[b] = (struct kr_type){.name = (char *)"T", .size = unit, .align = unit};
  k->buffers[b] = (struct kr_buffer){.section = b, .role = role, .type = &k->types[b],
                                     .count = (int64_t)count, .n_dims = 1,
                                     .dims = {(int64_t)count}, .bytes = count * unit,
                                     .align = unit};
  if (init) {
    k->buffers[b].init = kr_xmalloc(count * unit + 1);
    memcpy(k->buffers[b].init, init, count * unit);
  }
  k->slots[k->in.n_slots++] = (struct kr_pointer_slot){k->c.n_params, 0, b, 0};
  kit_value(k, &zero, sizeof zero);
  return b;
}

static inline void kit_launch(struct kit *k, unsigned grid, unsigned block, unsigned shared)
{
  k->options.launch = (struct kr_launch){{grid, 1, 1}, {block, 1, 1}, shared, false};
}

static inline int kit_compile(struct kit *k, const char *code)
{
  kit_open();
  k->compiled = kr_backend_cpu.compile(kit_device, &k->c, code, strlen(code), &k->m, &k->log,
                                       &k->err);
  return k->compiled;
}

// Compiles and runs; what does not work is in compiled, log, r and err.
static inline struct kr_run_result *kit_go(struct kit *k, const char *code)
{
  struct kr_dataset *d = NULL;
  k->r.status = KR_RUN_UNSUPPORTED;
  if (!k->m && kit_compile(k, code))
    return &k->r;
  if (kr_backend_cpu.load(kit_device, &k->in, &d, &k->err))
    return &k->r;
  kr_run_result_release(&k->r);
  if (kr_backend_cpu.run(kit_device, k->m, d, &k->options, &k->r, &k->err))
    k->r.status = KR_RUN_UNSUPPORTED;
  kr_backend_cpu.dataset_free(kit_device, d);
  return &k->r;
}

static inline void kit_end(struct kit *k)
{
  kr_run_result_release(&k->r);
  kr_backend_cpu.module_free(kit_device, k->m);
  kr_bytes_release(&k->log);
  for (size_t i = 0; i < k->c.n_params; i++)
    free(k->values[i]);
  for (size_t i = 0; i < k->in.n_buffers; i++)
    free(k->buffers[i].init);
}

// The run went well; else what happened is printed.
static inline int kit_ok(const struct kit *k)
{
  if (k->compiled == 0 && k->r.status == KR_RUN_OK && !k->err.text[0])
    return 1;
  fprintf(stderr, "%s: compile %d, status %d: %s %s %s\n", k->c.kernel, k->compiled,
          (int)k->r.status, k->r.text, k->err.text, k->log.data);
  return 0;
}

// The text says so; else it is printed.
static inline int kit_says(const struct kit *k, const char *want)
{
  if (strstr(k->r.text, want) || strstr(k->log.data, want))
    return 1;
  fprintf(stderr, "%s: compile %d, status %d: wanted \"%s\", got: %s %s %s\n", k->c.kernel,
          k->compiled, (int)k->r.status, want, k->r.text, k->err.text, k->log.data);
  return 0;
}

#define KIT_OUT(k, b, type) ((const type *)(k).r.after[b])

#endif
