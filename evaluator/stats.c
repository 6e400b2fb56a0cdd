#include "stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static int by_value(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double *sorted(const double *x, size_t n)
{
  double *s = kr_xreallocarray(NULL, n, sizeof *s);
  memcpy(s, x, n * sizeof *s);
  qsort(s, n, sizeof *s, by_value);
  return s;
}

double stats_median(const double *x, size_t n)
{
  if (!n)
    return 0;
  double *s = sorted(x, n), m = n % 2 ? s[n / 2] : (s[n / 2 - 1] + s[n / 2]) / 2;
  free(s);
  return m;
}

double stats_mean(const double *x, size_t n)
{
  double sum = 0;
  for (size_t i = 0; i < n; i++)
    sum += x[i];
  return n ? sum / (double)n : 0;
}

double stats_sd(const double *x, size_t n)
{
  if (n < 2)
    return 0;
  double mean = stats_mean(x, n), sum = 0;
  for (size_t i = 0; i < n; i++)
    sum += (x[i] - mean) * (x[i] - mean);
  return sqrt(sum / (double)(n - 1));
}

void stats_median_interval(const double *x, size_t n, double *lo, double *hi)
{
  *lo = *hi = 0;
  if (!n)
    return;
  double *s = sorted(x, n), reach = 0.98 * sqrt((double)n);
  double below = floor((double)n / 2 - reach), above = ceil((double)n / 2 + reach);
  *lo = s[below < 0 ? 0 : (size_t)below];
  *hi = s[above > (double)(n - 1) ? n - 1 : (size_t)above];
  free(s);
}

// The regularised incomplete beta function by its continued fraction, evaluated
// by Lentz's method (Abramowitz & Stegun 26.5.8).
static double beta_fraction(double a, double b, double x)
{
  const double tiny = 1e-300;
  double c = 1, d = 1 - (a + b) * x / (a + 1);
  d = 1 / (fabs(d) < tiny ? tiny : d);
  double h = d;
  for (int m = 1; m < 500; m++) {
    for (int odd = 0; odd < 2; odd++) {
      double term = odd ? -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
                        : m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
      d = 1 + term * d;
      d = 1 / (fabs(d) < tiny ? tiny : d);
      c = 1 + term / c;
      c = fabs(c) < tiny ? tiny : c;
      h *= c * d;
    }
    if (fabs(c * d - 1) < 1e-15)
      break;
  }
  return h;
}

static double incomplete_beta(double a, double b, double x)
{
  if (x <= 0 || x >= 1)
    return x <= 0 ? 0 : 1;
  double front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
  return x < (a + 1) / (a + b + 2) ? front * beta_fraction(a, b, x) / a
                                   : 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double stats_t_cdf(double t, double df)
{
  double tail = 0.5 * incomplete_beta(df / 2, 0.5, df / (df + t * t));
  return t > 0 ? 1 - tail : tail;
}

double stats_t_quantile(double p, double df)
{
  if (p < 0.5)
    return -stats_t_quantile(1 - p, df);
  double lo = 0, hi = 1;
  // Tails, not the cdf, are compared: 1 - p keeps its digits.
  double tail = 1 - p;
  while (hi < 1e15 && 0.5 * incomplete_beta(df / 2, 0.5, df / (df + hi * hi)) > tail)
    hi *= 2;
  for (int i = 0; i < 200; i++) {
    double mid = (lo + hi) / 2;
    if (0.5 * incomplete_beta(df / 2, 0.5, df / (df + mid * mid)) > tail)
      lo = mid;
    else
      hi = mid;
  }
  return (lo + hi) / 2;
}
