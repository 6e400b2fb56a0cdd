#ifndef KR_BACKEND_CUDA_H
#define KR_BACKEND_CUDA_H

#include "../backend.h"

// Runs kernels on a GPU through NVRTC and the driver API. Opening it loads
// libcuda into the process, which then must not fork and go on.
extern const struct kr_backend kr_backend_cuda;

#endif
