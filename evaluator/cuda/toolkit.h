#ifndef KR_CUDA_TOOLKIT_H
#define KR_CUDA_TOOLKIT_H

#include "../base/err.h"

// Where the CUDA toolkit is: the headers that a slice includes, and NVRTC.
// Only folders are looked at, nothing of it is run.
struct toolkit {
  char *root;        // NULL when none was found
  char *includes[2]; // existing folders, NULL where missing; owned
};

// Looks at `hint` (the user's --cuda-path), then CUDA_PATH and CUDA_HOME, the
// folder above an nvcc on PATH, /usr/local/cuda, and where the build found its
// headers. A hint without headers is an error; finding none is not.
int toolkit_find(struct toolkit *t, const char *hint, struct kr_err *err);
void toolkit_release(struct toolkit *t);

#endif
