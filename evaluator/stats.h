#ifndef KR_STATS_H
#define KR_STATS_H

#include <stddef.h>

// The little statistics that verdicts need. Inside evaluator/ only.

double stats_median(const double *x, size_t n); // 0 of none
double stats_mean(const double *x, size_t n);
double stats_sd(const double *x, size_t n); // with n - 1; 0 of fewer than two
// The 95 % interval of the median by order statistics (of a binomial's normal
// approximation): no assumption about the distribution.
void stats_median_interval(const double *x, size_t n, double *lo, double *hi);
// P(T <= t) of Student's t with `df` degrees of freedom, and its inverse for p in (0, 1).
double stats_t_cdf(double t, double df);
double stats_t_quantile(double p, double df);

#endif
