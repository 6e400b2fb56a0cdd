#ifndef KR_TEST_FAKE_BACKEND_H
#define KR_TEST_FAKE_BACKEND_H

#include "evaluator/backend.h"
#include "evaluator/base/mem.h"
#include "samples.h"

// A back end whose "kernels" are C functions, chosen by the word behind `kernel:`
// in the text that is compiled. It stands in for a device where the evaluator's
// own logic is tested: what it does with what launches leave behind.
//
// Every kernel has saxpy's parameters. Buffers lie between two guards; a write
// into them is a fault at the edges of memory and a written gap elsewhere.

struct fake_args {
  const struct kr_launch *launch;
  enum kr_placement place;
  unsigned long long threads; // of the launch
  int n;
  float a;
  float *x, *y;
  unsigned long long launches; // of this module before this one
  unsigned long long total;    // of all modules
};

typedef enum kr_run_status fake_kernel(const struct fake_args *k);

struct fake_entry {
  const char *name;
  fake_kernel *run;
  double us; // what a launch is said to take
  bool lost; // a fault takes the device with it
};

extern const struct fake_entry fake_entries[];

enum { FAKE_GUARD = 256 };

struct kr_device {
  struct kr_device_facts facts;
};

struct kr_module {
  const struct fake_entry *entry;
  unsigned long long launches;
};

struct kr_dataset {
  const struct kr_instance *in;
};

static unsigned long long fake_total;
static size_t fake_memory; // that it is said to have
static double fake_peak; // bytes a second that the device is said to have
static int fake_live;    // modules and datasets that were not freed
static bool fake_breaks; // run() itself fails
static bool fake_keeps;  // time() brings back what a timed launch left
static int fake_timed = -1; // which of the timed launches runs; -1: none of them

static int fake_open(const struct kr_backend_options *o, struct kr_device **out, struct kr_err *err)
{
  (void)o, (void)err;
  *out = kr_xcalloc(1, sizeof **out);
  (*out)->facts = (struct kr_device_facts){.name = "fake", .arch = "sm_90", .sms = 4, .warp = 32,
                                           .l2_bytes = 1024, .shared_optin_bytes = 232448,
                                           .peak_bytes_per_s = fake_peak,
                                           .memory_bytes = fake_memory};
  return 0;
}

static void fake_close(struct kr_device *dev) { free(dev); }

static const struct kr_device_facts *fake_facts(struct kr_device *dev) { return &dev->facts; }

static int fake_compile(struct kr_device *dev, const struct kr_contract *c, const char *text,
                        size_t len, struct kr_module **out, struct kr_bytes *log,
                        struct kr_err *err)
{
  (void)dev, (void)c, (void)err, (void)len;
  const char *word = strstr(text, "kernel:");
  for (const struct fake_entry *e = fake_entries; word && e->name; e++) {
    size_t n = strlen(e->name);
    if (strncmp(word + 7, e->name, n) || word[7 + n] != ' ')
      continue;
    *out = kr_xcalloc(1, sizeof **out);
    (*out)->entry = e;
    fake_live++;
    return 0;
  }
  // As a compiler would: the line counts from the last #line before it.
  const char *line = strstr(text, "variant.cu");
  kr_bytes_addf(log, "%s:1: error: no such kernel", line ? "variant.cu" : "saxpy.cu");
  return 1;
}

static void fake_module_free(struct kr_device *dev, struct kr_module *m)
{
  (void)dev;
  fake_live--;
  free(m);
}

static struct kr_hash fake_hash(struct kr_device *dev, const struct kr_module *m)
{
  (void)dev;
  return kr_hash_of(m->entry->name, strlen(m->entry->name));
}

static int fake_resources(struct kr_device *dev, struct kr_module *m, const struct kr_launch *l,
                          struct kr_resources *out)
{
  (void)dev, (void)m, (void)l;
  *out = (struct kr_resources){32, 0, 0, 0, 1024, 0.5};
  return 0;
}

static int fake_load(struct kr_device *dev, const struct kr_instance *in, struct kr_dataset **out,
                     struct kr_err *err)
{
  (void)dev, (void)err;
  *out = kr_xcalloc(1, sizeof **out);
  (*out)->in = in;
  fake_live++;
  return 0;
}

static void fake_dataset_free(struct kr_device *dev, struct kr_dataset *d)
{
  (void)dev;
  fake_live--;
  free(d);
}

static int fake_run(struct kr_device *dev, struct kr_module *m, struct kr_dataset *d,
                    const struct kr_run_options *o, struct kr_run_result *r, struct kr_err *err)
{
  (void)dev;
  const struct kr_instance *in = d->in;
  if (fake_breaks)
    return kr_err_set(err, "the cable was pulled");
  memset(r, 0, sizeof *r);
  struct fake_args k = {.launch = &o->launch, .place = o->placement, .launches = m->launches++,
                        .total = fake_total++};
  k.threads = (unsigned long long)o->launch.grid[0] * o->launch.block[0];
  memcpy(&k.n, in->params[0], 4);
  memcpy(&k.a, in->params[1], 4);
  r->n_buffers = in->n_buffers;
  r->after = kr_xcalloc(in->n_buffers, sizeof *r->after);
  unsigned char **block = kr_xcalloc(in->n_buffers, sizeof *block);
  for (size_t i = 0; i < in->n_buffers; i++) {
    const struct kr_buffer *b = &in->buffers[i];
    block[i] = kr_xmalloc(b->bytes + 2 * FAKE_GUARD);
    memset(block[i], o->poison, b->bytes + 2 * FAKE_GUARD);
    if (b->role != KR_OUT && b->bytes)
      memcpy(block[i] + FAKE_GUARD, b->init, b->bytes);
  }
  k.x = (float *)(block[0] + FAKE_GUARD);
  k.y = (float *)(block[1] + FAKE_GUARD);
  r->status = m->entry->run(&k);
  r->wall_ms = 0.001 * (double)k.threads;
  for (size_t i = 0; i < in->n_buffers && r->status == KR_RUN_OK; i++) {
    size_t bytes = in->buffers[i].bytes;
    for (size_t at = 0; at < FAKE_GUARD; at++) {
      if (block[i][at] != o->poison || block[i][FAKE_GUARD + bytes + at] != o->poison) {
        if (o->placement == KR_PLACE_ALIGN)
          r->gap_written = true, r->gap_buffer = i;
        else
          r->status = KR_RUN_FAULT;
      }
    }
    if (bytes) {
      r->after[i] = kr_xmalloc(bytes);
      memcpy(r->after[i], block[i] + FAKE_GUARD, bytes);
    }
  }
  if (r->status == KR_RUN_FAULT) {
    snprintf(r->text, sizeof r->text, "invalid access");
    r->device_lost = m->entry->lost;
  } else if (r->status != KR_RUN_OK) {
    snprintf(r->text, sizeof r->text, "status %d", (int)r->status);
  }
  for (size_t i = 0; i < in->n_buffers; i++)
    free(block[i]);
  free(block);
  return 0;
}

static int fake_time(struct kr_device *dev, struct kr_module *a, struct kr_module *b,
                     struct kr_dataset *d, const struct kr_time_options *o,
                     struct kr_time_result *r, struct kr_err *err)
{
  memset(r, 0, sizeof *r);
  r->n = o->pairs;
  r->cold = true;
  r->a_us = kr_xcalloc(r->n, sizeof *r->a_us);
  r->b_us = kr_xcalloc(r->n, sizeof *r->b_us);
  for (size_t i = 0; i < r->n; i++) {
    // A known spread of one per cent, not in step for the two.
    r->a_us[i] = a->entry->us * (1 + 0.01 * sin(0.7 * (double)i));
    r->b_us[i] = b->entry->us * (1 + 0.01 * sin(1.1 * (double)i + 1));
  }
  // Timed launches are launches.
  struct kr_run_options run = {.launch = o->launch_b, .placement = KR_PLACE_ALIGN};
  for (int i = 0; i < 20; i++) {
    struct kr_run_result ignored;
    fake_timed = i;
    int failed = fake_run(dev, b, d, &run, &ignored, err);
    fake_timed = -1;
    if (failed)
      return -1;
    if (fake_keeps && (i == 19 || i == 9)) {
      free(ignored.after[0]); // inputs are not brought back
      ignored.after[0] = NULL;
      *(i == 9 ? &r->b_during : &r->b_after) = ignored.after;
      r->n_buffers = ignored.n_buffers;
      ignored.after = NULL;
    }
    kr_run_result_release(&ignored);
  }
  return 0;
}

// Counts as if each warp moved `us` sectors in and out; a launch whose kernel
// hangs or is not known cannot be counted.
static unsigned fake_counts;

static int fake_count(struct kr_device *dev, struct kr_module *m, struct kr_dataset *d,
                      const struct kr_count_options *o, struct kr_counters *out,
                      struct kr_run_result *r, struct kr_err *err)
{
  struct kr_run_options run = {.launch = o->launch, .placement = KR_PLACE_ALIGN};
  struct kr_run_result ran;
  memset(out, 0, sizeof *out);
  memset(r, 0, sizeof *r);
  if (fake_run(dev, m, d, &run, &ran, err))
    return -1;
  fake_counts++;
  r->status = ran.status;
  memcpy(r->text, ran.text, sizeof r->text);
  kr_run_result_release(&ran);
  if (o->races && !strncmp(m->entry->name, "racy", 4)) {
    r->status = KR_RUN_FAULT;
    snprintf(r->text, sizeof r->text, "a race at byte 0 of `y`");
  }
  if (o->races && !strncmp(m->entry->name, "endless", 7))
    r->status = KR_RUN_TIMEOUT;
  if (r->status != KR_RUN_OK)
    return 0;
  for (int i = 0; i < 3; i++) {
    out->grid[i] = o->launch.grid[i];
    out->block[i] = o->launch.block[i];
  }
  out->blocks = out->blocks_counted = (uint64_t)o->launch.grid[0];
  out->warps = (double)out->blocks * ((o->launch.block[0] + 31) / 32);
  out->inst[KR_INST_GLOBAL] = 2 * out->warps;
  out->inst[KR_INST_INT] = 4 * out->warps;
  out->lane_inst = 32 * 6 * out->warps;
  out->loads.requests = out->stores.requests = out->warps;
  out->loads.sectors = out->stores.sectors = m->entry->us * out->warps;
  out->loads.l1_miss_sectors = out->loads.sectors;
  out->loads.wavefronts = out->stores.wavefronts = out->loads.sectors / 4;
  out->loads.footprint = out->stores.footprint = 32 * out->loads.sectors;
  out->loads.bytes = out->stores.bytes = out->loads.footprint;
  out->chain_global = out->loads_in_flight = 1;
  out->chain_inst = 6;
  return 0;
}

static const struct kr_backend fake_gpu = {
    "fake",         true,      fake_open,         fake_close, fake_facts, fake_compile,
    fake_module_free, fake_hash, fake_resources, fake_load,  fake_dataset_free, fake_run, fake_time, NULL};

static inline struct kr_backend fake_cpu(void)
{
  struct kr_backend b = fake_gpu;
  b.can_time = false;
  b.time = NULL;
  return b;
}

static inline struct kr_backend fake_counter(void)
{
  struct kr_backend b = fake_cpu();
  b.count = fake_count;
  return b;
}

#endif
