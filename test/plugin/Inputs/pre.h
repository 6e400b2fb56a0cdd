#define PRE_SCALE 4
static __device__ int pre_scaled(int x) { return PRE_SCALE * x; }
static __device__ int pre_unused(int x) { return x; }
