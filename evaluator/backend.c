#include "backend.h"

#include <stdlib.h>
#include <string.h>

// The tables live in cuda/ and cpu/; CMake says which of the two were built.
#ifdef KR_HAVE_CUDA
extern const struct kr_backend kr_backend_cuda;
#endif
#ifdef KR_HAVE_CPU
extern const struct kr_backend kr_backend_cpu;
#endif

static const struct kr_backend *const backends[] = {
#ifdef KR_HAVE_CUDA
    &kr_backend_cuda,
#endif
#ifdef KR_HAVE_CPU
    &kr_backend_cpu,
#endif
    NULL};

const struct kr_backend *kr_backend_find(const char *name)
{
  for (size_t i = 0; backends[i]; i++) {
    if (!strcmp(backends[i]->name, name))
      return backends[i];
  }
  return NULL;
}

void kr_run_result_release(struct kr_run_result *r)
{
  for (size_t i = 0; r->after && i < r->n_buffers; i++)
    free(r->after[i]);
  free(r->after);
  memset(r, 0, sizeof *r);
}

void kr_time_result_release(struct kr_time_result *r)
{
  for (size_t i = 0; i < r->n_buffers; i++) {
    if (r->a_after)
      free(r->a_after[i]);
    if (r->b_after)
      free(r->b_after[i]);
    if (r->b_during)
      free(r->b_during[i]);
  }
  free(r->a_after);
  free(r->b_after);
  free(r->b_during);
  free(r->a_us);
  free(r->b_us);
  memset(r, 0, sizeof *r);
}
