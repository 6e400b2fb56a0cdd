// launch: grid(ceil_div(cols, 32), ceil_div(rows, 8)) block(32, 8)
static __device__ void median9_order(int &a, int &b)
{
  int low = min(a, b);
  b = max(a, b);
  a = low;
}

static __global__ void median9(const unsigned char *x, unsigned char *y, int rows, int cols)
{
  // Columns sorted, then the middle of the three low, middle and high ones.
  int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 8 + threadIdx.y;
  if (r >= rows || c >= cols)
    return;
  int up = max(r - 1, 0) * cols, at = r * cols, down = min(r + 1, rows - 1) * cols;
  int left = max(c - 1, 0), right = min(c + 1, cols - 1);
  int a0 = x[up + left], a1 = x[at + left], a2 = x[down + left];
  int b0 = x[up + c], b1 = x[at + c], b2 = x[down + c];
  int c0 = x[up + right], c1 = x[at + right], c2 = x[down + right];
  median9_order(a0, a1);
  median9_order(a1, a2);
  median9_order(a0, a1);
  median9_order(b0, b1);
  median9_order(b1, b2);
  median9_order(b0, b1);
  median9_order(c0, c1);
  median9_order(c1, c2);
  median9_order(c0, c1);
  int low = max(a0, max(b0, c0)), high = min(a2, min(b2, c2));
  median9_order(a1, b1);
  median9_order(b1, c1);
  median9_order(a1, b1);
  int mid = b1;
  median9_order(low, mid);
  median9_order(mid, high);
  median9_order(low, mid);
  y[r * cols + c] = (unsigned char)mid;
}
