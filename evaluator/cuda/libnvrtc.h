#ifndef KR_CUDA_LIBNVRTC_H
#define KR_CUDA_LIBNVRTC_H

#include <nvrtc.h>

#include "../base/err.h"

// NVRTC, opened at run time. Needs no GPU and no driver.

#define LIBNVRTC_CALLS(F)                                                                          \
  F(nvrtcVersion)                                                                                  \
  F(nvrtcGetErrorString)                                                                           \
  F(nvrtcGetNumSupportedArchs)                                                                     \
  F(nvrtcGetSupportedArchs)                                                                        \
  F(nvrtcCreateProgram)                                                                            \
  F(nvrtcDestroyProgram)                                                                           \
  F(nvrtcCompileProgram)                                                                           \
  F(nvrtcGetProgramLogSize)                                                                        \
  F(nvrtcGetProgramLog)                                                                            \
  F(nvrtcAddNameExpression)                                                                        \
  F(nvrtcGetLoweredName)                                                                           \
  F(nvrtcGetCUBINSize)                                                                             \
  F(nvrtcGetCUBIN)

struct libnvrtc {
  void *handle;
  int major, minor;
#define LIBNVRTC_MEMBER(name) __typeof__(name) *(name);
  LIBNVRTC_CALLS(LIBNVRTC_MEMBER)
#undef LIBNVRTC_MEMBER
};

// Opens NVRTC of the toolkit at `root` (may be NULL), else what the loader
// finds. Once a process. Returns NULL with a sentence that says what is missing
// and what to do.
const struct libnvrtc *libnvrtc_open(const char *root, struct kr_err *err);

#endif
