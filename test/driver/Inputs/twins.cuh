#ifndef TWINS_CUH
#define TWINS_CUH

__device__ inline float twice(float x)
{
  return 2 * x;
}

__device__ inline float thrice(float x)
{
  return 3 * x;
}

#endif
