#ifndef KR_CPU_INTERNAL_H
#define KR_CPU_INTERNAL_H

#include "../backend.h"
#include "image.h"

// What backend.c and count.c share.

enum { CPU_PASSES = 2, CPU_JOBS = CPU_PASSES + 1, CPU_COUNT_JOB = CPU_PASSES };

struct kr_device {
  struct kr_device_facts facts;
  char *cpucc, *simt, *headers, *clang;
  unsigned timeout_ms;
};

// Instantiations of a template are images of their own: shared memory, atomics and
// all else that an image's head tells are an instantiation's.
struct kr_module {
  struct kr_module *next; // of the next instantiation, or NULL
  struct kr_image image; // its head
  int fd;                // the whole; -1 when it cannot run
  char *unsupported;     // why it cannot, by name; NULL when it can
  int64_t shared_limit;
  // To compile it once more so that it can be counted, when that is asked for first.
  char *unit;
  size_t unit_len;
  char **argv; // of kevin-cpucc; NULL-terminated
  struct kr_module *traced;
};

struct kr_dataset {
  const struct kr_instance *in;
  int fd[CPU_JOBS];              // threads forward, threads reversed; one that is only read
  struct kr_job *job[CPU_JOBS];  // the mapped job files
  size_t bytes;                  // of each
  bool filled;                   // the last one has its contents
};

struct cpu_layout {
  uint64_t data[KR_MAX_BUFFERS];   // address of the first element
  unsigned char *here[KR_MAX_BUFFERS]; // its pages in this process
  uint64_t offset[KR_MAX_BUFFERS]; // of the first element in its pages
};

// Fills the job's head for a launch, and `lay`. The buffers' contents are filled
// too unless the job is CPU_COUNT_JOB and has them. Returns 0, or -1 with `err`.
int cpu_prepare(struct kr_dataset *d, const struct kr_run_options *o, unsigned timeout_ms, int job,
                struct cpu_layout *lay, struct kr_err *err);
// What a GPU's driver would refuse; `r` says so then.
bool cpu_launch_refused(const struct kr_module *m, const struct kr_launch *l,
                        struct kr_run_result *r);
// kr_backend.compile and module_free.
int cpu_compile(struct kr_device *dev, const struct kr_contract *c, const char *text, size_t len,
                struct kr_module **out, struct kr_bytes *log, struct kr_err *err);
void cpu_module_free(struct kr_device *dev, struct kr_module *m);
// The instantiation that a dataset's case launches.
struct kr_module *cpu_kernel_of(struct kr_module *m, const struct kr_instance *in);
// Sees to `m->traced`: the same text, made to tell what it does. One that cannot
// be counted says why in `unsupported`. Returns 0, or -1 with `err`.
int cpu_compile_traced(struct kr_device *dev, struct kr_module *m, struct kr_err *err);
// kr_backend.count.
int cpu_count(struct kr_device *dev, struct kr_module *m, struct kr_dataset *d,
              const struct kr_count_options *options, struct kr_counters *out,
              struct kr_run_result *result, struct kr_err *err);

#endif
