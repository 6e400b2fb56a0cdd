// kevin-simt: runs one compiled kernel once, locked in.
//
// Descriptor 3 is the job, shared with the parent; 4 is the image. Everything
// is mapped first; then the process gives up all but four system calls and runs
// code it has no reason to trust. What it leaves in the job is judged by the
// parent, which keeps the inputs and what is expected to itself.

#include "rt.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/resource.h>
#include <unistd.h>

struct kr_job *simt_job;
const struct kr_image *simt_image;
void *simt_arguments[1024];

// The image's variables as the launch found them, and as they are.
static const unsigned char *simt_state, *simt_state_before;

enum { SIMT_JOB_FD = 3, SIMT_IMAGE_FD = 4 };

// A failure before the lock goes to stderr, which no kernel can write to, so
// that none can pass for a failure of ours.
#define SETUP(cond)                                                                                \
  do {                                                                                             \
    if (!(cond)) {                                                                                 \
      dprintf(2, "%s failed: %s", #cond, strerror(errno));                                         \
      _exit(4);                                                                                    \
    }                                                                                              \
  } while (0)

static void *simt_map(uint64_t address, uint64_t bytes, int prot, int flags, int fd,
                      uint64_t offset)
{
  void *want = (void *)address;
  void *p = mmap(want, bytes, prot, flags | MAP_FIXED_NOREPLACE, fd, (off_t)offset);
  SETUP(p == want);
  return p;
}

static void simt_map_image(void)
{
  struct stat st;
  SETUP(!fstat(SIMT_IMAGE_FD, &st) && st.st_size >= KR_PAGE);
  struct kr_image *image = mmap(NULL, KR_PAGE, PROT_READ, MAP_PRIVATE, SIMT_IMAGE_FD, 0);
  SETUP(image != MAP_FAILED);
  SETUP(!memcmp(image->magic, "kr-simt", 8) && image->version == KR_IMAGE_VERSION);
  uint64_t bytes = image->text_bytes + image->ro_bytes + image->rw_bytes;
  bool traced = image->flags & KR_IMAGE_TRACED;
  SETUP(bytes % KR_PAGE == 0 && (uint64_t)st.st_size >= KR_PAGE + bytes);
  SETUP(traced || (uint64_t)st.st_size == KR_PAGE + bytes);
  unsigned char *base = simt_map(KR_IMAGE_BASE, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE,
                                 SIMT_IMAGE_FD, KR_PAGE);
  uint64_t *got = (uint64_t *)image->got;
  for (int i = 0; i < KR_N_IMPORTS; i++)
    got[i] = simt_import((enum kr_import)i);
  SETUP(!mprotect(base, image->text_bytes, PROT_READ | PROT_EXEC));
  SETUP(!mprotect(base + image->text_bytes, image->ro_bytes, PROT_READ));
  if (image->rw_bytes) {
    uint64_t at = image->text_bytes + image->ro_bytes;
    void *p = mmap(NULL, image->rw_bytes, PROT_READ, MAP_PRIVATE, SIMT_IMAGE_FD,
                   (off_t)(KR_PAGE + at));
    SETUP(p != MAP_FAILED);
    simt_state = base + at;
    simt_state_before = p;
  }
  simt_image = image;
  if (traced) {
    uint64_t tables = (uint64_t)st.st_size - KR_PAGE - bytes;
    SETUP(tables >= sizeof(struct kr_trace_head));
    void *p = mmap(NULL, tables, PROT_READ, MAP_PRIVATE, SIMT_IMAGE_FD, (off_t)(KR_PAGE + bytes));
    SETUP(p != MAP_FAILED);
    SETUP(!simt_trace_setup(p, tables));
    SETUP(!sample_setup());
  }
}

// Shared memory: pages for each variable, and nothing mapped between them.
static void simt_map_shared(void)
{
  for (uint32_t i = 0; i < simt_image->n_shared; i++) {
    const struct kr_shared_var *v = &simt_image->shared[i];
    uint64_t begin = v->address / KR_PAGE * KR_PAGE;
    uint64_t end = (v->address + v->bytes + KR_PAGE - 1) / KR_PAGE * KR_PAGE;
    simt_map(begin, end - begin, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  }
  simt_map(KR_REGS_BASE, KR_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  uint64_t bytes = simt_job->shared_bytes;
  uint64_t pages = (bytes + KR_PAGE - 1) / KR_PAGE * KR_PAGE;
  uint64_t at = KR_SHARED_BASE + (UINT64_C(1) << 32);
  if (pages)
    simt_map(at, pages, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  SIMT_REGS->dynamic_shared = (at + pages - bytes) / 16 * 16;
}

int main(void)
{
  struct stat st;
  if (fstat(SIMT_JOB_FD, &st) || st.st_size < (off_t)sizeof(struct kr_job)) {
    dprintf(2, "kevin-simt is run by kevin-worker\n");
    return 2;
  }
  simt_job = mmap(NULL, sizeof *simt_job, PROT_READ | PROT_WRITE, MAP_SHARED, SIMT_JOB_FD, 0);
  SETUP(simt_job != MAP_FAILED);
  SETUP(simt_job->version == KR_IMAGE_VERSION);
  SETUP(!simt_limit());
  struct rlimit cpu = {simt_job->cpu_seconds, simt_job->cpu_seconds + 1};
  SETUP(!setrlimit(RLIMIT_CPU, &cpu));
  simt_map_image();
  simt_map_shared();
  for (uint32_t i = 0; i < simt_job->n_buffers; i++) {
    const struct kr_job_buffer *b = &simt_job->buffers[i];
    if (b->bytes)
      simt_map(b->address, b->bytes, b->readonly ? PROT_READ : PROT_READ | PROT_WRITE,
               simt_job->private_buffers ? MAP_PRIVATE : MAP_SHARED, SIMT_JOB_FD, b->offset);
  }
  // A copy, so that the arguments are the same for every thread whatever one writes.
  static unsigned char params[KR_MAX_PARAM_BYTES] __attribute__((aligned(KR_PAGE)));
  memcpy(params, simt_job->params, sizeof params);
  for (uint32_t i = 0; i < simt_job->n_params; i++)
    simt_arguments[i] = params + simt_job->param_at[i];
  SETUP(!mprotect(params, sizeof params, PROT_READ));
  SETUP(!simt_stacks());
  SETUP(!simt_catch_faults());
  SETUP(!close_range(3, ~0u, 0));
  SETUP(!simt_lock()); // descriptors 0 to 2 stay, and nothing can use them
  simt_run();
  simt_job->state_written =
      simt_state && memcmp(simt_state, simt_state_before, simt_image->rw_bytes);
  simt_job->done = simt_job->nonce;
  for (;;)
    syscall(SYS_exit_group, 0);
}
