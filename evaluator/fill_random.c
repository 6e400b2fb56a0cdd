#include "fill.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

// Random bits and what is made of them.

void philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4])
{
  uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
  uint32_t k0 = key[0], k1 = key[1];
  for (int round = 0; round < 10; round++) {
    uint64_t p0 = (uint64_t)0xD2511F53u * c0, p1 = (uint64_t)0xCD9E8D57u * c2;
    uint32_t n0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0, n2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
    c1 = (uint32_t)p1;
    c3 = (uint32_t)p0;
    c0 = n0;
    c2 = n2;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  out[0] = c0;
  out[1] = c1;
  out[2] = c2;
  out[3] = c3;
}

// A block of four words serves two neighbouring indices.
void fill_bits_pair(uint64_t seed, uint32_t stream, uint32_t draw, uint64_t pair, uint64_t out[2])
{
  uint32_t counter[4] = {(uint32_t)pair, (uint32_t)(pair >> 32), stream, draw};
  uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)}, words[4];
  philox(counter, key, words);
  out[0] = words[0] | (uint64_t)words[1] << 32;
  out[1] = words[2] | (uint64_t)words[3] << 32;
}

uint64_t fill_bits(uint64_t seed, uint32_t stream, uint64_t index)
{
  uint64_t pair[2];
  fill_bits_pair(seed, stream, 0, index >> 1, pair);
  return pair[index & 1];
}

double fill_unit(uint64_t bits)
{
  return (double)(bits >> 11) * 0x1p-53;
}

uint64_t fill_below(uint64_t bits, uint64_t k)
{
  return (uint64_t)((fill_u128)bits * k >> 64);
}

// ln x for x in (0, 1), from exactly rounded operations alone: the exponent, and
// the series of 2 artanh((m - 1) / (m + 1)) for m in [sqrt(1/2), sqrt(2)).
static double ln(double x)
{
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  int e = (int)(bits >> 52) - 1023;
  bits = (bits & ((1ull << 52) - 1)) | 1023ull << 52;
  double m;
  memcpy(&m, &bits, sizeof m);
  if (m > 1.4142135623730951) {
    m *= 0.5;
    e++;
  }
  double s = (m - 1) / (m + 1), z = s * s, sum = 0;
  for (int k = 15; k >= 1; k -= 2)
    sum = sum * z + 2.0 / k;
  return e * 0.6931471805599453 + s * sum;
}

// The normal quantile, PPND7 of algorithm AS 241 (M. Wichura, Applied Statistics
// 37, 1988): relative error below 1e-7.
static double normal_quantile(double p)
{
  double q = p - 0.5;
  if (fabs(q) <= 0.425) {
    double r = 0.180625 - q * q;
    return q * (((59.109374720 * r + 159.29113202) * r + 50.434271938) * r + 3.3871327179) /
           (((67.187563600 * r + 78.757757664) * r + 17.895169469) * r + 1);
  }
  double r = sqrt(-ln(q < 0 ? p : 1 - p)), z;
  if (r <= 5) {
    r -= 1.6;
    z = (((0.17023821103 * r + 1.3067284816) * r + 2.7568153900) * r + 1.4234372777) /
        ((0.12021132975 * r + 0.73700164250) * r + 1);
  } else {
    r -= 5;
    z = (((0.017337203997 * r + 0.42868294337) * r + 3.0812263860) * r + 6.6579051150) /
        ((0.012258202635 * r + 0.24197894225) * r + 1);
  }
  return q < 0 ? -z : z;
}

// Between 1/64 and 63/64 the quantile is a cubic a segment of 1/1024, through four
// of its points: three times as fast, and off by less than 1e-7 as well.
enum { SEGMENTS = 1024, TAIL_SEGMENTS = 16 };
static double segments[SEGMENTS][4];
static pthread_once_t segments_once = PTHREAD_ONCE_INIT;

static void segments_make(void)
{
  for (int s = TAIL_SEGMENTS; s < SEGMENTS - TAIL_SEGMENTS; s++) {
    double f[4];
    for (int i = 0; i < 4; i++)
      f[i] = normal_quantile((s + i / 3.0) / SEGMENTS);
    segments[s][0] = f[0];
    segments[s][1] = (-11 * f[0] + 18 * f[1] - 9 * f[2] + 2 * f[3]) / 2;
    segments[s][2] = 4.5 * (2 * f[0] - 5 * f[1] + 4 * f[2] - f[3]);
    segments[s][3] = 4.5 * (-f[0] + 3 * f[1] - 3 * f[2] + f[3]);
  }
}

// The table must be there.
static inline double normal(uint64_t bits)
{
  unsigned s = (unsigned)(bits >> 54);
  if (s - TAIL_SEGMENTS >= SEGMENTS - 2 * TAIL_SEGMENTS)
    return normal_quantile(((double)(bits >> 12) + 0.5) * 0x1p-52);
  double t = ((double)(bits >> 12 & ((UINT64_C(1) << 42) - 1)) + 0.5) * 0x1p-42;
  return ((segments[s][3] * t + segments[s][2]) * t + segments[s][1]) * t + segments[s][0];
}

double fill_normal(uint64_t bits)
{
  pthread_once(&segments_once, segments_make);
  return normal(bits);
}

// --- many at once ---

// Loops that GCC turns into vector code from O3 on, for the machine at hand; clang takes
// no such attributes, and sanitizers cannot run what chooses between the two at startup.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) &&                             \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define VECTORISED __attribute__((target_clones("avx2", "default"), optimize("O3")))
#else
#define VECTORISED
#endif

VECTORISED void fill_words(uint64_t seed, uint32_t stream, uint64_t block, size_t n,
                           uint32_t *restrict out)
{
  enum { LANES = 32 };
  for (size_t at = 0; at < n; at += LANES) {
    uint32_t c0[LANES], c1[LANES], c2[LANES], c3[LANES];
    for (int i = 0; i < LANES; i++) {
      uint64_t b = block + at + (unsigned)i;
      c0[i] = (uint32_t)b;
      c1[i] = (uint32_t)(b >> 32);
      c2[i] = stream;
      c3[i] = 0;
    }
    uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
    for (int round = 0; round < 10; round++) {
      for (int i = 0; i < LANES; i++) {
        uint64_t p0 = (uint64_t)0xD2511F53u * c0[i], p1 = (uint64_t)0xCD9E8D57u * c2[i];
        uint32_t n0 = (uint32_t)(p1 >> 32) ^ c1[i] ^ k0, n2 = (uint32_t)(p0 >> 32) ^ c3[i] ^ k1;
        c1[i] = (uint32_t)p1;
        c3[i] = (uint32_t)p0;
        c0[i] = n0;
        c2[i] = n2;
      }
      k0 += 0x9E3779B9u;
      k1 += 0xBB67AE85u;
    }
    size_t left = n - at < LANES ? n - at : LANES;
    for (size_t i = 0; i < left; i++) {
      out[4 * (at + i)] = c0[i];
      out[4 * (at + i) + 1] = c1[i];
      out[4 * (at + i) + 2] = c2[i];
      out[4 * (at + i) + 3] = c3[i];
    }
  }
}

static inline uint64_t doubled(uint32_t word)
{
  return word | (uint64_t)word << 32;
}

// The cubic for all, then the few in the tails once more.
VECTORISED static void normals_batch(const uint32_t *restrict words, size_t n,
                                     double *restrict out)
{
  for (size_t i = 0; i < n; i++) {
    const double *f = segments[words[i] >> 22];
    double t = ((double)(int64_t)(doubled(words[i]) >> 12 & ((UINT64_C(1) << 42) - 1)) + 0.5) *
               0x1p-42;
    out[i] = ((f[3] * t + f[2]) * t + f[1]) * t + f[0];
  }
  for (size_t i = 0; i < n; i++)
    if ((words[i] >> 22) - TAIL_SEGMENTS >= SEGMENTS - 2 * TAIL_SEGMENTS)
      out[i] = normal(doubled(words[i]));
}

void fill_normals(const uint32_t *words, size_t n, double *out)
{
  pthread_once(&segments_once, segments_make);
  normals_batch(words, n, out);
}

VECTORISED void fill_round_to_floats(const double *restrict values, size_t n, float *restrict out)
{
  for (size_t i = 0; i < n; i++)
    out[i] = (float)values[i];
}
