#include "cpu.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../base/clock.h"
#include "../base/log.h"
#include "../base/mem.h"
#include "../base/parts.h"
#include "child.h"
#include "internal.h"
#include "report.h"

// The back end's side in the parent: compiles through kevin-cpucc, runs through
// kevin-simt, and judges. A job file is the one piece of memory shared with a
// kernel: it is filled anew before each run and copied out after it. Pristine
// inputs and expected results are never in it.
//
// Each launch is run twice, threads and blocks forward and reversed, unless the
// kernel has atomics whose outcome depends on the order: a kernel whose outputs
// then differ has a race or reads shared memory that nothing wrote.

enum { CPU_TIMEOUT_MS = 10000 };

static bool cpu_exists(const char *path) { return !access(path, R_OK); }

static void cpu_close(struct kr_device *dev)
{
  if (!dev)
    return;
  free(dev->cpucc);
  free(dev->simt);
  free(dev->headers);
  free(dev->clang);
  free(dev);
}

static int cpu_open(const struct kr_backend_options *options, struct kr_device **out,
                    struct kr_err *err)
{
  struct kr_device *dev = kr_xcalloc(1, sizeof *dev);
  dev->timeout_ms = options->timeout_ms ? options->timeout_ms : CPU_TIMEOUT_MS;
  dev->cpucc = kr_part_program("kevin-cpucc");
  dev->simt = kr_part_program("kevin-simt");
  dev->headers = kr_part_headers();
  dev->clang = kr_xstrdup(KR_CPU_CLANG);
  const char *missing = !cpu_exists(dev->cpucc)  ? dev->cpucc
                        : !cpu_exists(dev->simt) ? dev->simt
                        : !dev->headers          ? "the folder of device headers"
                                                 : NULL;
  if (missing) {
    kr_err_set(err, "the CPU back end is not whole: %s is not there; install kevin-rewrite again",
               missing);
    cpu_close(dev);
    return -1;
  }
  if (!cpu_exists(dev->clang)) {
    kr_err_set(err, "the CPU back end needs clang, and %s is not there (Debian: clang-19)",
               dev->clang);
    cpu_close(dev);
    return -1;
  }
  struct kr_device_facts *f = &dev->facts;
  snprintf(f->name, sizeof f->name, "CPU (SIMT semantics)");
  snprintf(f->arch, sizeof f->arch, "cpu");
  f->sms = 8; // the same everywhere, so that geometry made of it is too
  f->warp = 32;
  f->l2_bytes = 1 << 20;
  f->shared_optin_bytes = KR_SHARED_MAX;
  long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  f->memory_bytes = pages > 0 && page > 0 ? (size_t)pages * (size_t)page / 4 : (size_t)1 << 30;
  snprintf(f->compiler, sizeof f->compiler, "clang %s", KR_CPU_CLANG_VERSION);
  *out = dev;
  return 0;
}

static const struct kr_device_facts *cpu_facts(struct kr_device *dev) { return &dev->facts; }

static struct kr_hash cpu_module_hash(struct kr_device *dev, const struct kr_module *m)
{
  (void)dev;
  struct kr_hash h;
  _Static_assert(sizeof h.bytes == sizeof m->image.hash, "one kind of hash");
  memcpy(h.bytes, m->image.hash, sizeof h.bytes);
  if (!m->next)
    return h;
  struct kr_hasher all;
  kr_hasher_init(&all);
  for (; m; m = m->next)
    kr_hasher_field(&all, m->image.hash, sizeof m->image.hash);
  return kr_hasher_end(&all);
}

struct kr_module *cpu_kernel_of(struct kr_module *m, const struct kr_instance *in)
{
  for (size_t i = kr_case_kernel(in->contract, in->case_index); i > 0 && m->next; i--)
    m = m->next;
  return m;
}

static int cpu_module_resources(struct kr_device *dev, struct kr_module *m,
                                const struct kr_launch *launch, struct kr_resources *out)
{
  (void)dev;
  (void)m;
  (void)launch;
  // Registers and occupancy are a GPU's; there is no model of them here.
  *out = (struct kr_resources){-1, -1, -1, -1, KR_MAX_THREADS, 0};
  return 0;
}

// --- data ---

static uint64_t cpu_pages(uint64_t n) { return (n + KR_PAGE - 1) / KR_PAGE * KR_PAGE; }

static void cpu_dataset_free(struct kr_device *dev, struct kr_dataset *d)
{
  (void)dev;
  if (!d)
    return;
  for (int i = 0; i < CPU_JOBS; i++) {
    if (d->job[i])
      munmap(d->job[i], d->bytes);
    if (d->fd[i] >= 0)
      close(d->fd[i]);
  }
  free(d);
}

static int cpu_load(struct kr_device *dev, const struct kr_instance *in, struct kr_dataset **out,
                    struct kr_err *err)
{
  if (in->n_buffers > KR_MAX_BUFFERS)
    return kr_err_set(err, "more than %d buffers are not there yet on the CPU back end",
                      KR_MAX_BUFFERS);
  struct kr_dataset *d = kr_xcalloc(1, sizeof *d);
  d->in = in;
  for (int i = 0; i < CPU_JOBS; i++)
    d->fd[i] = -1;
  d->bytes = cpu_pages(sizeof **d->job);
  for (size_t i = 0; i < in->n_buffers; i++)
    d->bytes += in->buffers[i].null ? 0 : cpu_pages(in->buffers[i].bytes);
  if (d->bytes > dev->facts.memory_bytes) {
    kr_err_set(err, "the buffers take %zu MiB, more than this machine can spare",
               d->bytes >> 20);
    goto failed;
  }
  for (int i = 0; i < CPU_JOBS; i++) {
    d->fd[i] = memfd_create("job", MFD_CLOEXEC);
    if (d->fd[i] < 0 || ftruncate(d->fd[i], (off_t)d->bytes)) {
      kr_err_errno(err, "cannot make %zu MiB of memory for buffers", d->bytes >> 20);
      goto failed;
    }
    void *p = mmap(NULL, d->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, d->fd[i], 0);
    if (p == MAP_FAILED) {
      kr_err_errno(err, "cannot map %zu MiB of buffers", d->bytes >> 20);
      goto failed;
    }
    d->job[i] = p;
  }
  *out = d;
  return 0;
failed:
  cpu_dataset_free(dev, d);
  return -1;
}

// --- running ---

// How far into its pages a buffer starts.
static uint64_t cpu_offset(const struct kr_buffer *b, enum kr_placement placement, uint64_t mapped)
{
  uint64_t align = b->align ? b->align : 1;
  // Where the pointer's element 0 would be if the buffer started a page.
  uint64_t zero = (uint64_t)0 - (uint64_t)b->start * b->type->size;
  switch (placement) {
  case KR_PLACE_START: {
    uint64_t off = (align - zero % align) % align;
    return off <= mapped - b->bytes ? off : 0;
  }
  case KR_PLACE_DEVICE:
    if (align < 256)
      align = 256;
  // fall through
  case KR_PLACE_ALIGN: {
    uint64_t last = mapped - b->bytes;
    uint64_t over = (last + zero) % align;
    return over <= last ? last - over : last;
  }
  default:
    return mapped - b->bytes;
  }
}

// A buffer that the kernel reaches through pointers to const alone. One that is
// written and put back is unchanged in the end, and wrong all the same: others
// may read it meanwhile.
static bool cpu_is_const(const struct kr_instance *in, size_t buffer)
{
  for (size_t i = 0; i < in->n_slots; i++) {
    const struct kr_pointer_slot *s = &in->slots[i];
    if (s->buffer != buffer)
      continue;
    const struct kr_param *p = &kr_case_params(in->contract, in->case_index)[s->param];
    bool is_const = false;
    for (size_t l = 0; l < p->n_leaves; l++)
      is_const = is_const || (p->leaves[l].offset == s->offset && p->leaves[l].is_const);
    if (!is_const)
      return false;
  }
  return in->buffers[buffer].role == KR_IN;
}

// Everything a run starts from, written anew: nothing of an earlier run stays. A
// launch that is counted cannot write to its buffers' file, which is filled once.
int cpu_prepare(struct kr_dataset *d, const struct kr_run_options *o, unsigned timeout_ms,
                int pass, struct cpu_layout *lay, struct kr_err *err)
{
  const struct kr_instance *in = d->in;
  const struct kr_contract *c = in->contract;
  struct kr_job *job = d->job[pass];
  memset(job, 0, sizeof *job);
  job->version = KR_IMAGE_VERSION;
  job->reversed = pass == 1;
  memcpy(job->grid, o->launch.grid, sizeof job->grid);
  memcpy(job->block, o->launch.block, sizeof job->block);
  job->shared_bytes = o->launch.shared_bytes;
  job->cpu_seconds = timeout_ms / 1000 + 2;
  job->file_bytes = d->bytes;
  job->noise = in->seed * 2 + (uint64_t)pass + o->poison;
  if (getrandom(&job->nonce, sizeof job->nonce, 0) != sizeof job->nonce)
    return kr_err_errno(err, "no random numbers");
  job->nonce |= 1;
  uint64_t at = KR_BUFFERS_BASE, file = cpu_pages(sizeof *job);
  job->n_buffers = (uint32_t)in->n_buffers;
  for (size_t i = 0; i < in->n_buffers; i++) {
    const struct kr_buffer *b = &in->buffers[i];
    uint64_t mapped = b->null ? 0 : cpu_pages(b->bytes);
    at += KR_BUFFER_GUARD;
    job->buffers[i] = (struct kr_job_buffer){at, mapped, file, cpu_is_const(in, i)};
    lay->here[i] = (unsigned char *)job + file;
    lay->offset[i] = mapped ? cpu_offset(b, o->placement, mapped) : 0;
    lay->data[i] = at + lay->offset[i];
    if (mapped && pass == CPU_COUNT_JOB) {
      if (b->init && !d->filled)
        memcpy(lay->here[i] + lay->offset[i], b->init, b->bytes);
    } else if (mapped) {
      memset(lay->here[i], o->poison, lay->offset[i]);
      if (b->init)
        memcpy(lay->here[i] + lay->offset[i], b->init, b->bytes);
      else
        memset(lay->here[i] + lay->offset[i], o->poison, b->bytes);
      memset(lay->here[i] + lay->offset[i] + b->bytes, o->poison,
             mapped - lay->offset[i] - b->bytes);
    }
    file += mapped;
    at += mapped + KR_BUFFER_GUARD;
  }
  uint32_t used = 0;
  const struct kr_param *params = kr_case_params(c, in->case_index);
  job->n_params = (uint32_t)c->n_params;
  for (size_t i = 0; i < c->n_params; i++) {
    const struct kr_param *p = &params[i];
    uint32_t align = p->align > 16 ? (uint32_t)p->align : 16;
    used = (used + align - 1) / align * align;
    if (i >= sizeof job->param_at / sizeof *job->param_at || p->size > KR_MAX_PARAM_BYTES - used)
      return kr_err_set(err, "`%s` has too many parameters", c->kernel);
    job->param_at[i] = used;
    memcpy(job->params + used, in->params[i], p->size);
    used += (uint32_t)p->size;
  }
  for (size_t i = 0; i < in->n_slots; i++) {
    const struct kr_pointer_slot *s = &in->slots[i];
    uint64_t value = 0;
    if (s->buffer != SIZE_MAX && !in->buffers[s->buffer].null) {
      const struct kr_buffer *b = &in->buffers[s->buffer];
      value = lay->data[s->buffer] + (uint64_t)(s->element - b->start) * b->type->size;
    }
    memcpy(job->params + job->param_at[s->param] + s->offset, &value, sizeof value);
  }
  return 0;
}

static bool cpu_gap_is(const unsigned char *p, uint64_t n, unsigned char poison)
{
  for (uint64_t i = 0; i < n; i++)
    if (p[i] != poison)
      return false;
  return true;
}

// Copies out what the first run left, gaps checked.
static void cpu_take(const struct kr_dataset *d, const struct cpu_layout *lay,
                     unsigned char poison, struct kr_run_result *r)
{
  const struct kr_instance *in = d->in;
  r->n_buffers = in->n_buffers;
  r->after = kr_xcalloc(in->n_buffers ? in->n_buffers : 1, sizeof *r->after);
  for (size_t i = 0; i < in->n_buffers; i++) {
    const struct kr_buffer *b = &in->buffers[i];
    if (b->null || !b->bytes)
      continue;
    r->after[i] = kr_xmalloc(b->bytes);
    memcpy(r->after[i], lay->here[i] + lay->offset[i], b->bytes);
    uint64_t behind = lay->offset[i] + b->bytes;
    if (!r->gap_written &&
        (!cpu_gap_is(lay->here[i], lay->offset[i], poison) ||
         !cpu_gap_is(lay->here[i] + behind, cpu_pages(b->bytes) - behind, poison))) {
      r->gap_written = true;
      r->gap_buffer = i;
    }
  }
}

// The second run, reversed, must have left the same.
static void cpu_compare(const struct kr_dataset *d, const struct cpu_layout *lay,
                        struct kr_run_result *r)
{
  const struct kr_instance *in = d->in;
  for (size_t i = 0; i < in->n_buffers; i++) {
    const struct kr_buffer *b = &in->buffers[i];
    const unsigned char *now = lay->here[i] + lay->offset[i];
    if (!r->after[i] || !memcmp(r->after[i], now, b->bytes))
      continue;
    size_t k = 0;
    while (r->after[i][k] == now[k])
      k++;
    struct kr_bytes place;
    kr_bytes_init(&place, 4096);
    kr_buffer_place(in, i, (int64_t)(k / b->type->size), &place);
    snprintf(r->text, sizeof r->text,
             "`%s` differs when the threads run in another order: a race, or shared memory is "
             "read before anything is written there",
             place.data);
    kr_bytes_release(&place);
    r->status = KR_RUN_FAULT;
    return;
  }
}

// What a GPU's driver would refuse.
bool cpu_launch_refused(const struct kr_module *m, const struct kr_launch *l,
                        struct kr_run_result *r)
{
  uint64_t threads = (uint64_t)l->block[0] * l->block[1] * l->block[2];
  uint64_t shared = (uint64_t)l->shared_bytes + m->image.static_shared_bytes;
  int64_t limit = m->shared_limit > KR_STATIC_SHARED_MAX ? m->shared_limit : KR_STATIC_SHARED_MAX;
  if (limit > KR_SHARED_MAX)
    limit = KR_SHARED_MAX;
  if (m->unsupported) {
    r->status = KR_RUN_UNSUPPORTED;
    snprintf(r->text, sizeof r->text, "%s", m->unsupported);
  } else if (l->cooperative) {
    r->status = KR_RUN_UNSUPPORTED;
    snprintf(r->text, sizeof r->text, "a cooperative launch is not there yet on the CPU back end");
  } else if (!threads || threads > KR_MAX_THREADS || l->block[0] > 1024 || l->block[1] > 1024 ||
             l->block[2] > 64) {
    r->status = KR_RUN_LAUNCH_FAILED;
    snprintf(r->text, sizeof r->text, "a block of %u x %u x %u threads cannot be launched",
             l->block[0], l->block[1], l->block[2]);
  } else if (l->grid[0] > INT_MAX || l->grid[1] > 65535 || l->grid[2] > 65535) {
    r->status = KR_RUN_LAUNCH_FAILED;
    snprintf(r->text, sizeof r->text, "a grid of %u x %u x %u blocks cannot be launched",
             l->grid[0], l->grid[1], l->grid[2]);
  } else if (shared > (uint64_t)limit) {
    r->status = KR_RUN_LAUNCH_FAILED;
    snprintf(r->text, sizeof r->text,
             "the launch wants %llu bytes of shared memory (%u static), at most %lld are allowed",
             (unsigned long long)shared, m->image.static_shared_bytes, (long long)limit);
  } else {
    return false;
  }
  return true;
}

// One of the two runs, in a thread of its own when there are both.
struct cpu_pass {
  struct kr_device *dev;
  struct kr_module *m;
  struct kr_dataset *d;
  int index;
  unsigned timeout_ms;
  atomic_uint *shorter_ms; // set by the first run for the second
  struct cpu_layout lay;
  struct kr_run_result r; // status and text
  struct kr_err err;
  double wall_ms, cpu_ms;
  int rc;
};

static void *cpu_pass_run(void *arg)
{
  struct cpu_pass *p = arg;
  char *argv[] = {(char *)"kevin-simt", NULL};
  struct kr_bytes words; // of its set-up alone
  kr_bytes_init(&words, 4096);
  struct child child = {.program = p->dev->simt, .argv = argv, .in = -1, .log = &words,
                        .fd3 = p->d->fd[p->index], .fd4 = p->m->fd,
                        .timeout_ms = p->timeout_ms,
                        .shorter_ms = p->index ? p->shorter_ms : NULL};
  double start = kr_now_ms();
  p->rc = child_run(&child, &p->err);
  p->wall_ms = kr_now_ms() - start;
  p->cpu_ms = child.cpu_ms;
  if (!p->index)
    atomic_store(p->shorter_ms, (unsigned)(10 * p->wall_ms) + 1000);
  if (!p->rc && words.len)
    p->rc = kr_err_set(&p->err, "the CPU runtime could not be set up: %s", words.data);
  if (!p->rc)
    report_end(p->d->job[p->index], &p->m->image, p->d->in, p->lay.data, child.status, child.late,
               p->timeout_ms, &p->r);
  kr_bytes_release(&words);
  return NULL;
}

static int cpu_run(struct kr_device *dev, struct kr_module *m, struct kr_dataset *d,
                   const struct kr_run_options *options, struct kr_run_result *r,
                   struct kr_err *err)
{
  memset(r, 0, sizeof *r);
  m = cpu_kernel_of(m, d->in);
  const struct kr_launch *l = &options->launch;
  unsigned timeout_ms = options->timeout_ms ? options->timeout_ms : dev->timeout_ms;
  if (cpu_launch_refused(m, l, r))
    return 0;
  bool empty = !l->grid[0] || !l->grid[1] || !l->grid[2];
  bool twice = !empty && !(m->image.flags & KR_IMAGE_UNORDERED) &&
               (uint64_t)l->block[0] * l->block[1] * l->block[2] > 1;
  int n = twice ? 2 : 1, rc = -1;
  atomic_uint shorter_ms = 0;
  struct cpu_pass *passes = kr_xcalloc(CPU_PASSES, sizeof *passes);
  for (int i = 0; i < n; i++) {
    passes[i].dev = dev;
    passes[i].m = m;
    passes[i].d = d;
    passes[i].index = i;
    passes[i].timeout_ms = timeout_ms;
    passes[i].shorter_ms = &shorter_ms;
    if (cpu_prepare(d, options, timeout_ms, i, &passes[i].lay, err))
      goto out;
  }
  if (!empty) {
    pthread_t other;
    bool threaded = twice && !pthread_create(&other, NULL, cpu_pass_run, &passes[1]);
    cpu_pass_run(&passes[0]);
    if (threaded)
      pthread_join(other, NULL);
    else if (twice)
      cpu_pass_run(&passes[1]);
  }
  r->wall_ms = passes[0].wall_ms;
  r->cpu_ms = passes[0].cpu_ms;
  for (int i = 0; i < n; i++) {
    if (passes[i].rc) {
      if (err)
        *err = passes[i].err;
      goto out;
    }
    // Blocks that wait for earlier ones do not end when those come last; that is
    // not held against them.
    if (i == 1 && passes[1].r.status == KR_RUN_TIMEOUT)
      break;
    r->status = passes[i].r.status;
    memcpy(r->text, passes[i].r.text, sizeof r->text);
    if (r->status != KR_RUN_OK)
      break;
    r->state_written = r->state_written || d->job[i]->state_written;
    if (i == 0)
      cpu_take(d, &passes[0].lay, options->poison, r);
    else
      cpu_compare(d, &passes[1].lay, r);
  }
  rc = 0;
out:
  free(passes);
  return rc;
}

const struct kr_backend kr_backend_cpu = {
    .name = "cpu",
    .can_time = false,
    .open = cpu_open,
    .close = cpu_close,
    .facts = cpu_facts,
    .compile = cpu_compile,
    .module_free = cpu_module_free,
    .module_hash = cpu_module_hash,
    .module_resources = cpu_module_resources,
    .load = cpu_load,
    .dataset_free = cpu_dataset_free,
    .run = cpu_run,
    .time = NULL,
    .count = cpu_count,
};
