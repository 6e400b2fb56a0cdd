#ifndef KR_CUDA_LIBNVML_H
#define KR_CUDA_LIBNVML_H

#include <stddef.h>

// NVML, opened at run time: clocks and throttling of one GPU. It is not needed
// to time, only to notice, so whatever is missing is reported as unknown.
// The few calls used are declared here because toolkits often come without
// nvml.h; their binary interface is stable.

struct libnvml; // one a process

struct nvml_clocks {
  int sm_mhz;                 // -1: unknown
  unsigned long long reasons; // bits of nvmlClocksEventReasons; 0 when unknown
};

// NULL when there is no NVML or it does not know the GPU of `uuid` ("GPU-...").
struct libnvml *libnvml_open(const char *uuid);
struct nvml_clocks libnvml_clocks(const struct libnvml *lib);
// What changed from `before` to `after` that makes times doubtful, as a phrase
// in `out`; "" when nothing did.
void nvml_clocks_compare(struct nvml_clocks before, struct nvml_clocks after, char *out,
                         size_t size);

#endif
