# Requests on the kernel of LIST.json: more registers in a block than a multiprocessor
# has, and few.
import json
import sys

contract = json.load(open(sys.argv[1]))["kernels"][0]["contract"]
greedy = """// launch: grid(ceil_div(n, 1024)) block(1024)
static __global__ void scale(int n, float a, const float *x, float *y)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  float v[96], most = 0.0f, rest = 0.0f;
#pragma unroll
  for (int k = 0; k < 96; k++)
    v[k] = x[(i + 37 * k) % n];
#pragma unroll
  for (int k = 0; k < 96; k++)
    most = fmaxf(most, v[k]);
#pragma unroll
  for (int k = 0; k < 96; k++)
    rest += (v[k] - most) * 0.0f;
  y[i] = a * x[i] + rest;
}
"""
modest = """static __global__ void scale(int n, float a, const float *x, float *y)
{
  const int where = blockDim.x * blockIdx.x + threadIdx.x;
  if (where >= n)
    return;
  const float *from = x + where;
  *(y + where) = *from * a;
}
"""
print(json.dumps({"id": 1, "contract": contract, "code": greedy}))
print(json.dumps({"id": 2, "code": modest}))
