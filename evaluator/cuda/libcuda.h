#ifndef KR_CUDA_LIBCUDA_H
#define KR_CUDA_LIBCUDA_H

#include <cuda.h>

#include "../base/err.h"

// The CUDA driver's library, opened at run time. `cuda.h` renames some calls to
// their latest version by macro; since the table is written with the same
// names, members and symbols follow it.

#define LIBCUDA_CALLS(F)                                                                           \
  F(cuInit)                                                                                        \
  F(cuDriverGetVersion)                                                                            \
  F(cuGetErrorName)                                                                                \
  F(cuGetErrorString)                                                                              \
  F(cuDeviceGetCount)                                                                              \
  F(cuDeviceGet)                                                                                   \
  F(cuDeviceGetName)                                                                               \
  F(cuDeviceGetUuid)                                                                               \
  F(cuDeviceGetAttribute)                                                                          \
  F(cuDeviceTotalMem)                                                                              \
  F(cuDevicePrimaryCtxRetain)                                                                      \
  F(cuDevicePrimaryCtxRelease)                                                                     \
  F(cuCtxSetCurrent)                                                                               \
  F(cuCtxSetLimit)                                                                                 \
  F(cuCtxResetPersistingL2Cache)                                                                   \
  F(cuModuleLoadDataEx)                                                                            \
  F(cuModuleUnload)                                                                                \
  F(cuModuleGetGlobal)                                                                             \
  F(cuModuleGetFunction)                                                                           \
  F(cuFuncGetAttribute)                                                                            \
  F(cuFuncSetAttribute)                                                                            \
  F(cuOccupancyMaxActiveBlocksPerMultiprocessor)                                                   \
  F(cuLaunchKernel)                                                                                \
  F(cuLaunchCooperativeKernel)                                                                     \
  F(cuMemGetInfo)                                                                                  \
  F(cuMemAlloc)                                                                                    \
  F(cuMemFree)                                                                                     \
  F(cuMemHostAlloc)                                                                                \
  F(cuMemFreeHost)                                                                                 \
  F(cuMemcpyHtoDAsync)                                                                             \
  F(cuMemcpyDtoHAsync)                                                                             \
  F(cuMemcpyDtoDAsync)                                                                             \
  F(cuMemsetD8Async)                                                                               \
  F(cuMemGetAllocationGranularity)                                                                 \
  F(cuMemAddressReserve)                                                                           \
  F(cuMemAddressFree)                                                                              \
  F(cuMemCreate)                                                                                   \
  F(cuMemRelease)                                                                                  \
  F(cuMemMap)                                                                                      \
  F(cuMemUnmap)                                                                                    \
  F(cuMemSetAccess)                                                                                \
  F(cuStreamCreate)                                                                                \
  F(cuStreamDestroy)                                                                               \
  F(cuStreamQuery)                                                                                 \
  F(cuStreamBeginCapture)                                                                          \
  F(cuStreamEndCapture)                                                                            \
  F(cuGraphInstantiate)                                                                            \
  F(cuGraphLaunch)                                                                                 \
  F(cuGraphUpload)                                                                                 \
  F(cuGraphExecDestroy)                                                                            \
  F(cuGraphDestroy)                                                                                \
  F(cuEventCreate)                                                                                 \
  F(cuEventDestroy)                                                                                \
  F(cuEventQuery)                                                                                  \
  F(cuEventRecord)                                                                                 \
  F(cuEventElapsedTime)

struct libcuda {
  void *handle;
#define LIBCUDA_MEMBER(name) __typeof__(name) *(name);
  LIBCUDA_CALLS(LIBCUDA_MEMBER)
#undef LIBCUDA_MEMBER
};

// Opens the library and fills the table. It is opened once a process and never
// closed: the driver keeps threads of its own. Returns -1 with a sentence that
// says what is missing and what to do.
const struct libcuda *libcuda_open(struct kr_err *err);

// Opens a library that comes with the driver. NULL when it is nowhere.
void *libcuda_dlopen(const char *name);

// "CUDA_ERROR_ILLEGAL_ADDRESS (an illegal memory access was encountered)".
// Static storage, one a thread.
const char *libcuda_words(const struct libcuda *lib, CUresult r);

// Returns 0 for success, else -1 with "what: words".
int libcuda_check(const struct libcuda *lib, CUresult r, const char *what, struct kr_err *err);

#endif
