// RUN: %unit/cpu_corpus %corpus
// The kernels of the corpus, cut out of their files, compiled and run on the CPU
// back end, and compared with a plain loop.
#include "cpu_kit.h"

#include "evaluator/base/source.h"

static const char *corpus;
static struct kr_bytes slice;

static void slice_new(void)
{
  kr_bytes_init(&slice, 1 << 20);
}

// The text of a file of the corpus from `from` on: to the brace that closes the
// first one opened, or to the end of its line where it opens none.
static void slice_take(const char *file, const char *from)
{
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", corpus, file);
  struct kr_source src;
  struct kr_err err = {{0}};
  if (kr_source_read(&src, path, &err)) {
    fprintf(stderr, "%s\n", err.text);
    exit(1);
  }
  const char *at = strstr(src.data, from);
  if (!at) {
    fprintf(stderr, "%s: no \"%s\"\n", file, from);
    exit(1);
  }
  const char *p = at;
  if (from[0] == '#') {
    p += strcspn(p, "\r\n");
  } else {
    int depth = 0;
    do {
      depth += *p == '{';
      depth -= *p == '}';
    } while (*p++ != '}' || depth);
    p += *p == ';';
  }
  kr_bytes_add(&slice, at, (size_t)(p - at));
  kr_bytes_adds(&slice, "\n");
  kr_source_release(&src);
}

static void go(struct kit *k)
{
  kit_go(k, slice.data);
  CHECK(kit_ok(k));
  kr_bytes_release(&slice);
}

static float value(unsigned i)
{
  return (float)((i * 2654435761u >> 8) & 0xffff) / 32768.0f - 1.0f;
}

static float *floats(size_t n)
{
  float *p = kr_xmalloc(n * sizeof *p + 1);
  for (size_t i = 0; i < n; i++)
    p[i] = value((unsigned)i);
  return p;
}

// The largest error of a buffer of floats against `want`, over 1 + |want|.
static void near(const struct kit *k, size_t buffer, const double *want, size_t n, double tol)
{
  if (k->r.status != KR_RUN_OK)
    return;
  double worst = 0;
  for (size_t i = 0; i < n; i++) {
    double e = fabs(((const float *)k->r.after[buffer])[i] - want[i]) / (1 + fabs(want[i]));
    if (!(e <= worst))
      worst = e;
  }
  if (!(worst <= tol))
    fprintf(stderr, "%s: error %g\n", k->c.kernel, worst);
  CHECK(worst <= tol);
}

static void saxpy(void)
{
  enum { n = 1001 };
  struct kit k;
  float *x = floats(n), *y = floats(n);
  double want[n];
  for (int i = 0; i < n; i++)
    want[i] = 2.5 * x[i] + y[i];
  slice_new();
  slice_take("saxpy.cu", "static __global__ void saxpy");
  kit_begin(&k, "saxpy");
  kit_int(&k, n);
  kit_float(&k, 2.5f);
  kit_buffer(&k, "x", KR_IN, 4, n, x);
  size_t o = kit_buffer(&k, "y", KR_INOUT, 4, n, y);
  kit_launch(&k, 4, 256, 0);
  go(&k);
  near(&k, o, want, n, 1e-6);
  kit_end(&k);
  free(x);
  free(y);
}

static void transpose(void)
{
  enum { rows = 37, cols = 53 };
  struct kit k;
  float *x = floats(rows * cols);
  double want[rows * cols];
  for (int r = 0; r < rows; r++)
    for (int c = 0; c < cols; c++)
      want[c * rows + r] = x[r * cols + c];
  slice_new();
  slice_take("transpose.cu", "#define TILE");
  slice_take("transpose.cu", "__global__ void transpose");
  kit_begin(&k, "transpose");
  size_t o = kit_buffer(&k, "dst", KR_OUT, 4, rows * cols, NULL);
  kit_buffer(&k, "src", KR_IN, 4, rows * cols, x);
  kit_int(&k, rows);
  kit_int(&k, cols);
  k.options.launch = (struct kr_launch){{4, 3, 1}, {16, 16, 1}, 0, false};
  go(&k);
  near(&k, o, want, rows * cols, 0);
  kit_end(&k);
  free(x);
}

static void block_reduce(void)
{
  enum { n = 1000, blocks = 4 };
  struct kit k;
  float *x = floats(n);
  double want[blocks] = {0};
  for (int i = 0; i < n; i++)
    want[i / 256] += x[i];
  slice_new();
  slice_take("block_reduce.cu", "#define BLOCK_SIZE");
  slice_take("block_reduce.cu", "__global__ void block_reduce");
  kit_begin(&k, "block_reduce");
  kit_buffer(&k, "g_in", KR_IN, 4, n, x);
  size_t o = kit_buffer(&k, "partial", KR_OUT, 4, blocks, NULL);
  kit_int(&k, n);
  kit_launch(&k, blocks, 256, 0);
  go(&k);
  near(&k, o, want, blocks, 1e-5);
  kit_end(&k);
  free(x);
}

static void row_softmax(void)
{
  enum { rows = 5, cols = 1001 };
  struct kit k;
  float *x = floats(rows * cols);
  double *want = kr_xcalloc(rows * cols, sizeof *want);
  for (int r = 0; r < rows; r++) {
    double sum = 0;
    for (int c = 0; c < cols; c++)
      sum += exp((double)x[r * cols + c]);
    for (int c = 0; c < cols; c++)
      want[r * cols + c] = exp((double)x[r * cols + c]) / sum;
  }
  slice_new();
  kr_bytes_adds(&slice, "#include <math.h>\n");
  slice_take("row_softmax.cu", "static __device__ float block_max");
  slice_take("row_softmax.cu", "static __device__ float block_sum");
  slice_take("row_softmax.cu", "static __global__ void __launch_bounds__(256)");
  kit_begin(&k, "row_softmax");
  kit_buffer(&k, "x", KR_IN, 4, rows * cols, x);
  size_t o = kit_buffer(&k, "y", KR_OUT, 4, rows * cols, NULL);
  kit_int(&k, rows);
  kit_int(&k, cols);
  kit_launch(&k, rows, 256, 0);
  go(&k);
  near(&k, o, want, rows * cols, 1e-6);
  kit_end(&k);
  free(x);
  free(want);
}

static void layer_norm(void)
{
  enum { tokens = 3, hidden = 769 };
  struct kit k;
  struct {
    int tokens, hidden;
    float eps;
  } shape = {tokens, hidden, 1e-5f};
  float *x = floats(tokens * hidden), *gamma = floats(hidden), *beta = floats(hidden);
  double *want = kr_xcalloc(tokens * hidden, sizeof *want);
  for (int t = 0; t < tokens; t++) {
    const float *row = x + t * hidden;
    double mean = 0, var = 0;
    for (int i = 0; i < hidden; i++)
      mean += row[i] / (double)hidden;
    for (int i = 0; i < hidden; i++)
      var += (row[i] - mean) * (row[i] - mean) / hidden;
    for (int i = 0; i < hidden; i++)
      want[t * hidden + i] = (row[i] - mean) / sqrt(var + 1e-5) * gamma[i] + beta[i];
  }
  slice_new();
  kr_bytes_adds(&slice, "namespace nn {\n");
  slice_take("layer_norm.cu", "struct NormShape");
  kr_bytes_adds(&slice, "namespace kernels {\n");
  slice_take("layer_norm.cu", "__device__ float reduce_row");
  slice_take("layer_norm.cu", "__global__ void layer_norm");
  kr_bytes_adds(&slice, "} }\n");
  kit_begin(&k, "nn::kernels::layer_norm");
  kit_buffer(&k, "x", KR_IN, 4, tokens * hidden, x);
  kit_buffer(&k, "gamma", KR_IN, 4, hidden, gamma);
  kit_buffer(&k, "beta", KR_IN, 4, hidden, beta);
  size_t o = kit_buffer(&k, "y", KR_OUT, 4, tokens * hidden, NULL);
  kit_value(&k, &shape, sizeof shape);
  kit_launch(&k, tokens, 256, 256 * sizeof(float));
  go(&k);
  near(&k, o, want, tokens * hidden, 1e-5);
  kit_end(&k);
  free(x);
  free(gamma);
  free(beta);
  free(want);
}

static void matmul_naive(void)
{
  enum { M = 33, N = 47, K = 29 };
  struct kit k;
  float *a = floats(M * K), *b = floats(K * N), *c = floats(M * N);
  double want[M * N];
  for (int i = 0; i < M; i++)
    for (int j = 0; j < N; j++) {
      double sum = 0;
      for (int l = 0; l < K; l++)
        sum += (double)a[i * K + l] * b[l * N + j];
      want[i * N + j] = 0.75 * sum + 0.5 * c[i * N + j];
    }
  slice_new();
  slice_take("matmul_naive.cu", "__global__ void matmul_naive");
  kit_begin(&k, "matmul_naive");
  kit_buffer(&k, "A", KR_IN, 4, M * K, a);
  kit_buffer(&k, "B", KR_IN, 4, K * N, b);
  size_t o = kit_buffer(&k, "C", KR_INOUT, 4, M * N, c);
  kit_int(&k, M);
  kit_int(&k, N);
  kit_int(&k, K);
  kit_float(&k, 0.75f);
  kit_float(&k, 0.5f);
  k.options.launch = (struct kr_launch){{3, 3, 1}, {16, 16, 1}, 0, false};
  go(&k);
  near(&k, o, want, M * N, 1e-5);
  kit_end(&k);
  free(a);
  free(b);
  free(c);
}

static void stencil5(void)
{
  enum { nx = 37, ny = 19 };
  struct kit k;
  float *u = floats(nx * ny);
  double want[nx * ny];
  for (int y = 0; y < ny; y++)
    for (int x = 0; x < nx; x++) {
      int i = y * nx + x;
      bool edge = !x || !y || x == nx - 1 || y == ny - 1;
      want[i] =
          edge ? u[i] : u[i] + 0.2 * (u[i - 1] + u[i + 1] + u[i - nx] + u[i + nx] - 4.0 * u[i]);
    }
  slice_new();
  slice_take("stencil5.cu", "static __global__ void stencil5");
  kit_begin(&k, "stencil5");
  kit_buffer(&k, "u", KR_IN, 4, nx * ny, u);
  size_t o = kit_buffer(&k, "u_new", KR_OUT, 4, nx * ny, NULL);
  kit_int(&k, nx);
  kit_int(&k, ny);
  kit_float(&k, 0.2f);
  kit_launch(&k, (nx * ny + 127) / 128, 128, 0);
  go(&k);
  near(&k, o, want, nx * ny, 1e-6);
  kit_end(&k);
  free(u);
}

static void histogram256(void)
{
  enum { n = 5000 };
  struct kit k;
  float *x = floats(n);
  unsigned want[256] = {0}, zero[256] = {0};
  for (int i = 0; i < n; i++) {
    x[i] = x[i] * 0.7f + 0.5f;
    int b = (int)floorf(x[i] * 256.0f);
    want[b < 0 ? 0 : b > 255 ? 255 : b]++;
  }
  slice_new();
  kr_bytes_adds(&slice, "namespace corpus {\n");
  slice_take("corpus_util.cuh", "__device__ __forceinline__ int clamp_int");
  slice_take("corpus_util.cuh", "__device__ __forceinline__ int bin_of");
  kr_bytes_adds(&slice, "}\n");
  slice_take("histogram.cu", "enum { kBins");
  kr_bytes_adds(&slice, "extern \"C\" {\n");
  slice_take("histogram.cu", "__global__ void histogram256");
  kr_bytes_adds(&slice, "}\n");
  kit_begin(&k, "histogram256");
  kit_buffer(&k, "x", KR_IN, 4, n, x);
  size_t o = kit_buffer(&k, "bins", KR_INOUT, 4, 256, zero);
  kit_int(&k, n);
  kit_launch(&k, (n + 255) / 256, 256, 0);
  go(&k);
  if (k.r.status == KR_RUN_OK)
    CHECK(!memcmp(k.r.after[o], want, sizeof want));
  kit_end(&k);
  free(x);
}

static void gelu(void)
{
  enum { n = 1000 };
  struct kit k;
  float *x = floats(n), *dy = floats(n);
  double y[n], dx[n];
  for (int i = 0; i < n; i++) {
    double v = x[i] *= 5, c = 0.7978845608028654, g = 0.044715, t = tanh(c * (v + g * v * v * v));
    y[i] = 0.5 * v * (1 + t);
    dx[i] = dy[i] * (0.5 * (1 + t) + 0.5 * v * (1 - t * t) * c * (1 + 3 * g * v * v));
  }
  for (int back = 0; back < 2; back++) {
    slice_new();
    kr_bytes_adds(&slice, "#include <cmath>\n");
    slice_take("gelu_double.cu", "#define SQRT_2_OVER_PI");
    slice_take("gelu_double.cu", "#define GELU_CUBIC");
    slice_take("gelu_double.cu", back ? "static __global__ void gelu_backward"
                                      : "static __global__ void gelu_forward");
    kit_begin(&k, back ? "gelu_backward" : "gelu_forward");
    kit_buffer(&k, "x", KR_IN, 4, n, x);
    if (back)
      kit_buffer(&k, "dy", KR_IN, 4, n, dy);
    size_t o = kit_buffer(&k, back ? "dx" : "y", KR_OUT, 4, n, NULL);
    kit_int(&k, n);
    kit_launch(&k, 2, 512, 0);
    go(&k);
    near(&k, o, back ? dx : y, n, 1e-6);
    kit_end(&k);
  }
  free(x);
  free(dy);
}

static void csr_spmv(void)
{
  enum { rows = 300, cols = 71 };
  struct kit k;
  int row_ptr[rows + 1] = {0}, *col = kr_xcalloc(rows * 9, sizeof *col);
  for (int r = 0; r < rows; r++) {
    row_ptr[r + 1] = row_ptr[r] + r % 9;
    for (int j = row_ptr[r]; j < row_ptr[r + 1]; j++)
      col[j] = (r * 7 + j * 13) % cols;
  }
  int nnz = row_ptr[rows];
  float *values = floats((size_t)nnz), *x = floats(cols);
  double want[rows];
  for (int r = 0; r < rows; r++) {
    want[r] = 0;
    for (int j = row_ptr[r]; j < row_ptr[r + 1]; j++)
      want[r] += (double)values[j] * x[col[j]];
  }
  slice_new();
  slice_take("csr_spmv.cu", "__global__ void csr_spmv");
  kit_begin(&k, "csr_spmv");
  kit_int(&k, rows);
  kit_int(&k, cols);
  kit_buffer(&k, "row_ptr", KR_IN, 4, rows + 1, row_ptr);
  kit_buffer(&k, "col_idx", KR_IN, 4, (size_t)nnz, col);
  kit_buffer(&k, "values", KR_IN, 4, (size_t)nnz, values);
  kit_buffer(&k, "x", KR_IN, 4, cols, x);
  size_t o = kit_buffer(&k, "y", KR_OUT, 4, rows, NULL);
  kit_launch(&k, 3, 128, 0);
  go(&k);
  near(&k, o, want, rows, 1e-6);
  kit_end(&k);
  free(col);
  free(values);
  free(x);
}

static void mandel_iter(void)
{
  enum { w = 75, h = 41, limit = 256 };
  struct kit k;
  const float x0 = -2.0f, y0 = -1.25f, step = 0.04f;
  int want[w * h];
  for (int py = 0; py < h; py++)
    for (int px = 0; px < w; px++) {
      volatile float sx = (float)px * step, sy = (float)py * step;
      volatile float cx = x0 + sx, cy = y0 + sy, x = 0, y = 0;
      int it = 0;
      for (;; it++) {
        volatile float xx = x * x, yy = y * y, sum = xx + yy;
        if (it >= limit || !(sqrtf(sum) <= 2.0f))
          break;
        volatile float d = xx - yy, x2 = 2.0f * x, xy = x2 * y;
        x = d + cx;
        y = xy + cy;
      }
      want[py * w + px] = it;
    }
  slice_new();
  kr_bytes_adds(&slice, "namespace {\n");
  slice_take("mandel_iter.cu", "__device__ inline float mul");
  slice_take("mandel_iter.cu", "__device__ inline float add");
  slice_take("mandel_iter.cu", "__global__ void mandel_iter");
  kr_bytes_adds(&slice, "}\n");
  kit_begin(&k, "mandel_iter");
  size_t o = kit_buffer(&k, "iters", KR_OUT, 4, w * h, NULL);
  kit_int(&k, w);
  kit_int(&k, h);
  kit_float(&k, x0);
  kit_float(&k, y0);
  kit_float(&k, step);
  kit_int(&k, limit);
  k.options.launch = (struct kr_launch){{3, 6, 1}, {32, 8, 1}, 0, false};
  go(&k);
  if (k.r.status == KR_RUN_OK)
    CHECK(!memcmp(k.r.after[o], want, sizeof want));
  kit_end(&k);
}

static void attention_scores(void)
{
  enum { seq = 19, heads = 2, dim = 64 };
  struct kit k;
  float *q = floats(heads * seq * dim), *key = floats(heads * seq * dim);
  double rows[heads * seq];
  for (int h = 0; h < heads; h++)
    for (int i = 0; i < seq; i++) {
      double best = -HUGE_VAL;
      for (int j = 0; j <= i; j++) {
        double dot = 0;
        for (int d = 0; d < dim; d++)
          dot += (double)q[(h * seq + i) * dim + d] * key[(h * seq + j) * dim + d];
        best = fmax(best, dot * 0.125);
      }
      rows[h * seq + i] = best;
    }
  slice_new();
  kr_bytes_adds(&slice, "#include <cmath>\nconstexpr int kThreads = 128;\n");
  slice_take("attention_scores.cu", "template <int HEAD_DIM>\n__global__ void attention_scores");
  kit_begin(&k, "attention_scores<64>");
  kit_buffer(&k, "q", KR_IN, 4, heads * seq * dim, q);
  kit_buffer(&k, "k", KR_IN, 4, heads * seq * dim, key);
  kit_buffer(&k, "scores", KR_OUT, 4, heads * seq * seq, NULL);
  size_t o = kit_buffer(&k, "row_max", KR_OUT, 4, heads * seq, NULL);
  kit_int(&k, seq);
  kit_int(&k, heads);
  kit_float(&k, 0.125f);
  k.options.launch = (struct kr_launch){{seq, heads, 1}, {128, 1, 1}, 0, false};
  go(&k);
  near(&k, o, rows, heads * seq, 1e-5);
  kit_end(&k);
  free(q);
  free(key);
}

int main(int argc, char **argv)
{
  if (argc != 2) {
    fprintf(stderr, "usage: %s CORPUS\n", argv[0]);
    return 2;
  }
  corpus = argv[1];
  saxpy();
  transpose();
  block_reduce();
  row_softmax();
  layer_norm();
  matmul_naive();
  stencil5();
  histogram256();
  gelu();
  csr_spmv();
  mandel_iter();
  attention_scores();
  kr_backend_cpu.close(kit_device);
  return unit_end();
}
