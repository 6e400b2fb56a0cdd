#include "number.h"

#include <math.h>
#include <string.h>

// One conversion serves both 16-bit formats: half has 5 exponent bits and 10 of
// mantissa, bfloat16 8 and 7.
static uint16_t narrow(double d, int exponent_bits, int mantissa_bits)
{
  uint64_t bits;
  memcpy(&bits, &d, sizeof bits);
  uint16_t sign = (uint16_t)(bits >> 48 & 0x8000);
  int exponent = (int)(bits >> 52 & 0x7ff);
  uint64_t mantissa = bits & ((1ull << 52) - 1);
  uint64_t infinity = ((1ull << exponent_bits) - 1) << mantissa_bits;
  if (exponent == 0x7ff)
    return (uint16_t)(sign | infinity | (mantissa ? 1ull << (mantissa_bits - 1) : 0));
  if (!exponent)
    return sign; // a double below its normal range is far below ours
  int e = exponent - 1023 + (1 << (exponent_bits - 1)) - 1;
  int shift = 52 - mantissa_bits + (e < 1 ? 1 - e : 0);
  if (shift > 54)
    return sign;
  uint64_t full = mantissa | 1ull << 52;
  uint64_t q = full >> shift, rest = full & ((1ull << shift) - 1), half = 1ull << (shift - 1);
  q += rest > half || (rest == half && (q & 1));
  // The implicit bit of `q` adds one to the exponent; so does a carry out of it.
  uint64_t value = e < 1 ? q : ((uint64_t)(e - 1) << mantissa_bits) + q;
  return (uint16_t)(sign | (value < infinity ? value : infinity));
}

static double widen(uint16_t h, int exponent_bits, int mantissa_bits)
{
  int bias = (1 << (exponent_bits - 1)) - 1;
  int exponent = h >> mantissa_bits & ((1 << exponent_bits) - 1);
  int mantissa = h & ((1 << mantissa_bits) - 1);
  double d;
  if (exponent && exponent != (1 << exponent_bits) - 1) {
    uint64_t bits = (uint64_t)(h >> 15) << 63 | (uint64_t)(exponent - bias + 1023) << 52 |
                    (uint64_t)mantissa << (52 - mantissa_bits);
    memcpy(&d, &bits, sizeof d);
    return d;
  }
  if (exponent)
    d = mantissa ? NAN : INFINITY;
  else
    d = ldexp(mantissa, 1 - bias - mantissa_bits);
  return h & 0x8000 ? -d : d;
}

uint16_t number_to_half(double d)
{
  return narrow(d, 5, 10);
}

uint16_t number_to_bfloat(double d)
{
  return narrow(d, 8, 7);
}

double number_from_half(uint16_t h)
{
  return widen(h, 5, 10);
}

double number_from_bfloat(uint16_t h)
{
  return widen(h, 8, 7);
}

double number_get_real(enum kr_kind kind, const void *at)
{
  uint16_t h;
  float f;
  double d;
  switch (kind) {
  case KR_F16:
    memcpy(&h, at, sizeof h);
    return number_from_half(h);
  case KR_BF16:
    memcpy(&h, at, sizeof h);
    return number_from_bfloat(h);
  case KR_F32:
    memcpy(&f, at, sizeof f);
    return f;
  default:
    memcpy(&d, at, sizeof d);
    return d;
  }
}

void number_put_real(enum kr_kind kind, void *at, double d)
{
  uint16_t h;
  float f;
  switch (kind) {
  case KR_F16:
    h = number_to_half(d);
    memcpy(at, &h, sizeof h);
    break;
  case KR_BF16:
    h = number_to_bfloat(d);
    memcpy(at, &h, sizeof h);
    break;
  case KR_F32:
    f = (float)d;
    memcpy(at, &f, sizeof f);
    break;
  default:
    memcpy(at, &d, sizeof d);
  }
}

double number_round(enum kr_kind kind, double d)
{
  unsigned char memory[8];
  number_put_real(kind, memory, d);
  return number_get_real(kind, memory);
}

int64_t number_get_int(enum kr_kind kind, const void *at)
{
  uint64_t bits = 0;
  size_t size = kr_kind_size(kind);
  memcpy(&bits, at, size); // little endian, as every device is
  bool is_signed = kind == KR_I8 || kind == KR_I16 || kind == KR_I32;
  if (is_signed && bits >> (8 * size - 1) & 1)
    bits |= ~0ull << (8 * size);
  return (int64_t)bits;
}

void number_put_int(enum kr_kind kind, void *at, int64_t i)
{
  memcpy(at, &i, kr_kind_size(kind));
}

double number_get(enum kr_kind kind, const void *at)
{
  if (kr_kind_is_float(kind))
    return number_get_real(kind, at);
  int64_t i = number_get_int(kind, at);
  return kind == KR_U64 ? (double)(uint64_t)i : (double)i;
}

static const struct {
  int64_t lo, hi;
  const char *c_name;
} kinds[] = {
    [KR_BOOL] = {0, 1, "bool"},
    [KR_I8] = {INT8_MIN, INT8_MAX, "signed char"},
    [KR_U8] = {0, UINT8_MAX, "unsigned char"},
    [KR_I16] = {INT16_MIN, INT16_MAX, "short"},
    [KR_U16] = {0, UINT16_MAX, "unsigned short"},
    [KR_I32] = {INT32_MIN, INT32_MAX, "int"},
    [KR_U32] = {0, UINT32_MAX, "unsigned int"},
    [KR_I64] = {INT64_MIN, INT64_MAX, "long long"},
    [KR_U64] = {0, INT64_MAX, "unsigned long long"},
    [KR_F16] = {0, 0, "half"},
    [KR_BF16] = {0, 0, "bfloat16"},
    [KR_F32] = {0, 0, "float"},
    [KR_F64] = {0, 0, "double"},
    [KR_POINTER] = {0, 0, "pointer"},
};

int number_put_value(enum kr_kind kind, void *at, struct kr_value v)
{
  if (kind == KR_POINTER)
    return -1;
  if (kr_kind_is_float(kind)) {
    double d = kr_value_as_real(v);
    if (isfinite(d) && !isfinite(number_round(kind, d)))
      return -1;
    number_put_real(kind, at, d);
    return 0;
  }
  int64_t i;
  if (kr_value_as_int(v, &i) || i < kinds[kind].lo || i > kinds[kind].hi)
    return -1;
  number_put_int(kind, at, i);
  return 0;
}

const char *number_c_name(enum kr_kind kind)
{
  return kinds[kind].c_name;
}
