// model_fit [--set NAME=VALUE]... [--fit NAME,NAME,...] [--stay X] [--bounds M,P,R] [-q] FILE...: holds the
// model of a GPU's time against measured times. A FILE has a JSON object a line:
//
//   {"family": "copy", "variant": "float4", "us": 130.0, "registers": 12, "counters": {...}}
//
// with counters as verdicts carry them. Prints each row, the errors, how many
// pairs of one family whose measured times differ by 15 % or more are ranked
// right, and Spearman's rank correlation. --fit searches the named constants of
// gpu_model.c, one after another, and prints them; it writes nothing. --stay says
// how dear it is to leave the constants that are compiled in. With --bounds MEDIAN,
// P90,RIGHT it exits 1 when an error is larger, or a smaller part of pairs right.
#include "evaluator/gpu_model.c"

#include <stdlib.h>

#include "evaluator/base/mem.h"
#include "evaluator/wire.h"

#define CONSTANT(name) {#name, offsetof(struct constants, name)}
static const struct {
  const char *name;
  size_t offset;
} names[] = {
    CONSTANT(launch_us), CONSTANT(throughput_norm), CONSTANT(latency_norm), CONSTANT(issue_alu),
    CONSTANT(issue_int), CONSTANT(int_pipe), CONSTANT(issue_control), CONSTANT(issue_div), CONSTANT(issue_sfu),
    CONSTANT(dram), CONSTANT(l2), CONSTANT(l1), CONSTANT(shared), CONSTANT(shuffle),
    CONSTANT(barrier), CONSTANT(barrier_warp), CONSTANT(inst), CONSTANT(wait), CONSTANT(start), CONSTANT(block),
    CONSTANT(store_line), CONSTANT(scatter), CONSTANT(l2_share), CONSTANT(atomic),
    CONSTANT(atomic_same), CONSTANT(shared_atomic),
};
enum { N_NAMES = sizeof names / sizeof *names };

struct row {
  char *family, *variant;
  double us, modelled;
  struct kr_resources res;
  struct kr_counters c;
  struct kr_modelled m;
};

static struct row *rows;
static size_t n_rows, cap_rows;
static struct constants now;
static double stay = 0.004;
static double most_median = INFINITY, most_p90 = INFINITY, least_right = 0;

static double *constant(struct constants *k, const char *name, size_t len)
{
  for (size_t i = 0; i < N_NAMES; i++)
    if (strlen(names[i].name) == len && !strncmp(names[i].name, name, len))
      return (double *)((char *)k + names[i].offset);
  fprintf(stderr, "no constant %.*s\n", (int)len, name);
  exit(2);
}

static void read_rows(const char *path)
{
  FILE *f = fopen(path, "r");
  char *line = NULL;
  size_t size = 0;
  if (!f) {
    perror(path);
    exit(2);
  }
  for (ssize_t n; (n = getline(&line, &size, f)) > 0;) {
    struct kr_err err = {{0}};
    struct json_reader r = {&err, false};
    cJSON *root = json_parse(line, (size_t)n, &err);
    if (!root) {
      fprintf(stderr, "%s: %s\n", path, err.text);
      exit(2);
    }
    KR_GROW(rows, n_rows, cap_rows);
    struct row *row = &rows[n_rows];
    *row = (struct row){.res = {-1, -1, -1, -1, 0, 0}};
    row->family = json_get_string(&r, root, "family", false);
    row->variant = json_get_string(&r, root, "variant", false);
    row->us = json_get_number(&r, root, "us", 0);
    row->res.registers = (int)json_get_number(&r, root, "registers", -1);
    counters_read(&r, cJSON_GetObjectItemCaseSensitive(root, "counters"), &row->c);
    cJSON_Delete(root);
    if (r.failed || !(row->us > 0)) {
      fprintf(stderr, "%s: %s\n", path, err.text);
      exit(2);
    }
    n_rows++;
  }
  free(line);
  fclose(f);
}

static void model_all(const struct constants *k)
{
  for (size_t i = 0; i < n_rows; i++) {
    model(k, kr_gpu_default(), &rows[i].c, &rows[i].res, &rows[i].m);
    rows[i].modelled = rows[i].m.us;
  }
}

// Of pairs of one family that were measured `least` apart, those ranked wrong.
static size_t wrong_pairs(double least, size_t *pairs, double *ratio_error, bool tell)
{
  size_t wrong = 0;
  *pairs = 0;
  *ratio_error = 0;
  for (size_t i = 0; i < n_rows; i++) {
    for (size_t k = i + 1; k < n_rows; k++) {
      if (strcmp(rows[i].family, rows[k].family))
        continue;
      double seen = log(rows[i].us / rows[k].us), told = log(rows[i].modelled / rows[k].modelled);
      if (fabs(seen) < log(1 + least))
        continue;
      ++*pairs;
      *ratio_error += fabs(seen - told);
      if (seen * told > 0)
        continue;
      wrong++;
      if (tell)
        printf("wrong: %s %s %.1f us, %s %.1f us, modelled %.1f, %.1f\n", rows[i].family,
               rows[i].variant, rows[i].us, rows[k].variant, rows[k].us, rows[i].modelled,
               rows[k].modelled);
    }
  }
  return wrong;
}

static double loss(const struct constants *k)
{
  double sum = 0, ratios;
  size_t pairs;
  model_all(k);
  for (size_t i = 0; i < n_rows; i++) {
    double e = fabs(log(rows[i].modelled / rows[i].us));
    sum += e < 0.3 ? e * e / 0.6 + 0.25 * e : e - 0.15 + 0.075; // Huber, with a kink at none
  }
  // Constants that nothing here says much about stay near what they were.
  double moved = 0;
  for (size_t i = 0; i < N_NAMES; i++) {
    const double *a = (const double *)((const char *)k + names[i].offset);
    const double *b = (const double *)((const char *)&fitted + names[i].offset);
    moved += *a > 0 && *b > 0 ? pow(log(*a / *b), 2) : 0;
  }
  sum += stay * moved * (double)n_rows;
  size_t wrong = wrong_pairs(0.15, &pairs, &ratios, false);
  return sum / (double)n_rows + (pairs ? (0.5 * ratios + 0.3 * (double)wrong) / (double)pairs : 0);
}

static void fit(char *list)
{
  double best = loss(&now), step = 0.3;
  while (step > 0.005) {
    bool better = false;
    char *copy = kr_xstrdup(list), *save = NULL;
    for (char *name = strtok_r(copy, ",", &save); name; name = strtok_r(NULL, ",", &save)) {
      double *x = constant(&now, name, strlen(name)), old = *x;
      for (int way = 0; way < 2; way++) {
        *x = way ? old / (1 + step) : old * (1 + step);
        double l = loss(&now);
        if (l < best - 1e-9) {
          best = l;
          better = true;
          break;
        }
        *x = old;
      }
    }
    free(copy);
    if (!better)
      step *= 0.6;
  }
  printf("loss %.4f\n", best);
  for (size_t i = 0; i < N_NAMES; i++)
    printf("    .%s = %.3g,\n", names[i].name, *constant(&now, names[i].name, strlen(names[i].name)));
}

static int ascending(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double rank_of(const double *x, size_t n, size_t i)
{
  double rank = 0;
  for (size_t k = 0; k < n; k++)
    rank += x[k] < x[i] ? 1 : x[k] > x[i] ? 0 : 0.5;
  return rank;
}

static double spearman(const double *x, const double *y, size_t n)
{
  double sx = 0, sy = 0, sxx = 0, syy = 0, sxy = 0;
  for (size_t i = 0; i < n; i++) {
    double a = rank_of(x, n, i), b = rank_of(y, n, i);
    sx += a, sy += b, sxx += a * a, syy += b * b, sxy += a * b;
  }
  double m = (double)n;
  return (sxy - sx * sy / m) / sqrt((sxx - sx * sx / m) * (syy - sy * sy / m));
}

// Returns whether it is within the bounds.
static bool report(bool quiet)
{
  size_t pairs;
  double ratios;
  double *error = kr_xcalloc(n_rows, sizeof *error), *seen = kr_xcalloc(n_rows, sizeof *seen);
  double *told = kr_xcalloc(n_rows, sizeof *told);
  model_all(&now);
  for (size_t i = 0; i < n_rows; i++) {
    const struct row *r = &rows[i];
    // Throughput: what must be moved at least, in the time it took.
    double bytes = r->c.loads.footprint + r->c.stores.footprint + r->c.atomics.footprint;
    error[i] = fabs(log(r->modelled / r->us));
    seen[i] = bytes / r->us;
    told[i] = bytes / r->modelled;
    if (quiet)
      continue;
    printf("%-16s %-24s %9.1f us, modelled %9.1f, %5.2f %-8s", r->family, r->variant, r->us,
           r->modelled, r->modelled / r->us, kr_term_name(r->m.bound));
    for (int t = 0; t < KR_N_TERMS; t++)
      if (r->m.term_us[t] > 0.15 * r->m.term_us[r->m.bound])
        printf(" %s %.1f", kr_term_name((enum kr_term)t), r->m.term_us[t]);
    printf(" occ %.2f\n", r->m.occupancy);
  }
  qsort(error, n_rows, sizeof *error, ascending);
  size_t wrong = wrong_pairs(0.15, &pairs, &ratios, true);
  printf("%zu rows: |log ratio| median %.3f, p90 %.3f, most %.3f\n", n_rows, error[n_rows / 2],
         error[n_rows * 9 / 10], error[n_rows - 1]);
  printf("%zu pairs of a family 15 %% apart: %zu ranked right (%.1f %%); log of their ratios off by "
         "%.3f on the mean\n", pairs, pairs - wrong,
         pairs ? 100.0 * (double)(pairs - wrong) / (double)pairs : 0, pairs ? ratios / (double)pairs : 0);
  printf("Spearman over throughput: %.3f\n", spearman(seen, told, n_rows));
  // What a modelled win has to be above so that it is a measured one.
  for (double least = 1.02; least < 1.35; least += 0.04) {
    size_t n = 0, right = 0;
    for (size_t i = 0; i < n_rows; i++)
      for (size_t k = 0; k < n_rows; k++)
        if (i != k && !strcmp(rows[i].family, rows[k].family) &&
            rows[i].modelled / rows[k].modelled > least) {
          n++;
          right += rows[i].us / rows[k].us > 1.0;
        }
    printf("modelled above %.2fx: %zu, measured faster %zu (%.1f %%)\n", least, n, right,
           n ? 100.0 * (double)right / (double)n : 0);
  }
  bool within = error[n_rows / 2] <= most_median && error[n_rows * 9 / 10] <= most_p90 &&
                (double)wrong <= (1 - least_right) * (double)pairs;
  free(error);
  free(seen);
  free(told);
  return within;
}

int main(int argc, char **argv)
{
  char *to_fit = NULL;
  bool quiet = false;
  now = fitted;
  for (int i = 1; i < argc; i++) {
    if (!strcmp(argv[i], "--set") && i + 1 < argc) {
      const char *eq = strchr(argv[++i], '=');
      if (!eq)
        return 2;
      *constant(&now, argv[i], (size_t)(eq - argv[i])) = strtod(eq + 1, NULL);
    } else if (!strcmp(argv[i], "--fit") && i + 1 < argc) {
      to_fit = argv[++i];
    } else if (!strcmp(argv[i], "--stay") && i + 1 < argc) {
      stay = strtod(argv[++i], NULL);
    } else if (!strcmp(argv[i], "--bounds") && i + 1 < argc) {
      if (sscanf(argv[++i], "%lf,%lf,%lf", &most_median, &most_p90, &least_right) != 3)
        return 2;
    } else if (!strcmp(argv[i], "-q")) {
      quiet = true;
    } else {
      read_rows(argv[i]);
    }
  }
  if (!n_rows) {
    fprintf(stderr, "model_fit [--set NAME=VALUE]... [--fit NAME,...] [-q] FILE...\n");
    return 2;
  }
  if (to_fit)
    fit(to_fit);
  return report(quiet) ? 0 : 1;
}
