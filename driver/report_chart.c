#include "report_internal.h"

#include <math.h>
#include <stdlib.h>

#include "../evaluator/base/mem.h"

// Drawn as SVG in units that are pixels on a phone, so that its letters can be read
// there; wider screens show it larger.
enum { WIDTH = 400, HEIGHT = 250, LEFT = 46, RIGHT = 14, TOP = 12, BOTTOM = 38, COLORS = 8 };
enum { POINTS_AT_MOST = 4096, LEGEND_AT_MOST = 64 };

struct chart {
  const struct refine_result *res;
  double *best; // of each turn's way from the root; 0: nothing was timed on it yet
  unsigned turns, trajectories;
  double lo, hi;
  bool log; // ratios that differ by much
};

static double timed(const struct refine_turn *t)
{
  const struct kr_verdict *v = &t->verdict;
  return v->status == KR_STATUS_OK && v->speedup > 0 && isfinite(v->speedup) ? v->speedup : 0;
}

static double chart_x(const struct chart *c, unsigned turn)
{
  double room = WIDTH - LEFT - RIGHT;
  // A single turn stands in the middle.
  return c->turns < 2 ? LEFT + room / 2 : LEFT + 8 + (room - 16) * (turn - 1) / (c->turns - 1);
}

static double chart_y(const struct chart *c, double v)
{
  double part = c->log ? log(v / c->lo) / log(c->hi / c->lo) : (v - c->lo) / (c->hi - c->lo);
  return HEIGHT - BOTTOM - part * (HEIGHT - TOP - BOTTOM);
}

// 1, 2 or 5 times a power of ten, at least `x`.
static double round_up(double x)
{
  double power = pow(10, floor(log10(x)));
  double m = x / power;
  return power * (m <= 1 ? 1 : m <= 2 ? 2 : m <= 5 ? 5 : 10);
}

static void chart_range(struct chart *c, const struct kr_verdict *decided)
{
  double lo = 1, hi = 1;
  for (size_t i = 0; i < c->res->n; i++) {
    double v = timed(&c->res->turns[i]);
    if (v > 0) {
      lo = fmin(lo, v);
      hi = fmax(hi, v);
    }
  }
  if (decided && decided->lo > 0 && isfinite(decided->hi)) {
    lo = fmin(lo, decided->lo);
    hi = fmax(hi, decided->hi);
  }
  c->log = hi / lo > 12;
  if (c->log) {
    c->lo = lo / 1.1;
    c->hi = hi * 1.1;
    return;
  }
  double step = round_up(fmax(hi - lo, 0.1) / 4);
  c->lo = step * floor(lo / step + 1e-9);
  c->hi = step * ceil(hi / step - 1e-9);
  if (c->hi - hi < step / 5)
    c->hi += step;
}

static void chart_tick(const struct chart *c, double v, int digits, struct kr_bytes *b)
{
  double y = chart_y(c, v);
  kr_bytes_addf(b, "<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>"
                   "<text class=\"tick\" x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%.*fx</text>\n",
                LEFT, WIDTH - RIGHT, y, y, LEFT - 6, y + 4, digits, v);
}

static void chart_axes(const struct chart *c, struct kr_bytes *b)
{
  if (c->log) {
    static const double steps[] = {1, 2, 5};
    bool dense = c->hi / c->lo < 200;
    for (int e = (int)floor(log10(c->lo)); e <= (int)ceil(log10(c->hi)); e++)
      for (int k = 0; k < (dense ? 3 : 1); k++) {
        double v = steps[k] * pow(10, e);
        if (v >= c->lo && v <= c->hi)
          chart_tick(c, v, v < 1 ? 2 : 0, b);
      }
  } else {
    double step = round_up((c->hi - c->lo) / 5);
    int digits = step < 0.095 ? 2 : step < 0.95 ? 1 : 0;
    for (int i = (int)ceil(c->lo / step - 1e-9); i <= (int)floor(c->hi / step + 1e-9); i++)
      chart_tick(c, i * step, digits, b);
  }
  double one = chart_y(c, 1);
  kr_bytes_addf(b, "<line class=\"one\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>"
                   "<text class=\"tick\" x=\"%d\" y=\"%.1f\" text-anchor=\"end\">the original</text>\n",
                LEFT, WIDTH - RIGHT, one, one, WIDTH - RIGHT, one - 4);
  unsigned every = (c->turns + 7) / 8;
  for (unsigned t = 1; t <= c->turns; t += every)
    kr_bytes_addf(b, "<text class=\"tick\" x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%u</text>\n",
                  chart_x(c, t), HEIGHT - BOTTOM + 18, t);
  kr_bytes_addf(b, "<text class=\"tick\" x=\"%d\" y=\"%d\" text-anchor=\"middle\">turn</text>\n",
                (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 4);
}

// The best of all up to each turn.
static void chart_best(const struct chart *c, struct kr_bytes *b)
{
  double *best = kr_xcalloc(c->turns + 1, sizeof *best), so_far = 0;
  for (size_t i = 0; i < c->res->n; i++)
    best[c->res->turns[i].turn] = fmax(best[c->res->turns[i].turn], timed(&c->res->turns[i]));
  kr_bytes_adds(b, "<polyline class=\"best\" points=\"");
  for (unsigned t = 1; t <= c->turns; t++) {
    so_far = fmax(so_far, best[t]);
    if (so_far > 0)
      kr_bytes_addf(b, "%.1f,%.1f ", chart_x(c, t), chart_y(c, so_far));
  }
  kr_bytes_adds(b, "\"/>\n");
  free(best);
}

static void chart_lines(const struct chart *c, struct kr_bytes *b)
{
  for (unsigned k = 1; k <= c->trajectories; k++) {
    bool any = false;
    for (size_t i = 0; i < c->res->n; i++) {
      const struct refine_turn *t = &c->res->turns[i];
      if (t->trajectory != k || !(c->best[i] > 0))
        continue;
      if (!any)
        kr_bytes_addf(b, "<polyline class=\"way t%u\" points=\"", (k - 1) % COLORS);
      any = true;
      kr_bytes_addf(b, "%.1f,%.1f ", chart_x(c, t->turn), chart_y(c, c->best[i]));
    }
    if (any)
      kr_bytes_adds(b, "\"/>\n");
  }
}

static void chart_points(const struct chart *c, struct kr_bytes *b)
{
  for (size_t i = 0; i < c->res->n && i < POINTS_AT_MOST; i++) {
    const struct refine_turn *t = &c->res->turns[i];
    unsigned color = (t->trajectory - 1) % COLORS;
    double x = chart_x(c, t->turn), v = timed(t);
    if (v > 0) {
      kr_bytes_addf(b, "<circle class=\"t%u\" cx=\"%.1f\" cy=\"%.1f\" r=\"3.5\"><title>%u.%u: %.2fx",
                    color, x, chart_y(c, v), t->trajectory, t->turn, v);
    } else {
      // Those without a time stand on the axis, side by side.
      x += ((double)((t->trajectory - 1) % 9) - 4) * 3;
      int y = HEIGHT - BOTTOM;
      kr_bytes_addf(b, "<path class=\"miss t%u\" d=\"M%.1f %dl5 5m0 -5l-5 5\"><title>%u.%u: %s", color,
                    x - 2.5, y - 3, t->trajectory, t->turn,
                    t->verdict.status == KR_STATUS_OK ? "correct, not timed"
                                                      : kr_status_name(t->verdict.status));
    }
    kr_bytes_addf(b, "</title></%s>\n", v > 0 ? "circle" : "path");
  }
}

static void chart_winner(const struct chart *c, const struct outcome *out, struct kr_bytes *b)
{
  const struct kr_verdict *v = &out->decided;
  if (out->winner == SIZE_MAX || !(v->speedup > 0) || !(v->lo > 0) || !isfinite(v->hi))
    return;
  double x = chart_x(c, out->refined.turns[out->winner].turn);
  double y = chart_y(c, v->speedup), lo = chart_y(c, v->lo), hi = chart_y(c, v->hi);
  kr_bytes_addf(b, "<path class=\"taken\" d=\"M%.1f %.1fV%.1fM%.1f %.1fh8M%.1f %.1fh8\"/>"
                   "<path class=\"star\" d=\"M%.1f %.1fl6 6l-6 6l-6 -6z\"><title>taken: %.2fx "
                   "[%.2f, %.2f]</title></path>\n",
                x, lo, hi, x - 4, lo, x - 4, hi, x, y - 6, v->speedup, v->lo, v->hi);
}

static void chart_legend(const struct chart *c, const struct outcome *out, struct kr_bytes *b)
{
  kr_bytes_adds(b, "<ul class=\"legend\">");
  if (out->winner != SIZE_MAX && out->decided.speedup > 0)
    kr_bytes_adds(b, "<li><span class=\"key taken\"></span>taken, with its interval</li>\n");
  kr_bytes_adds(b, "<li><span class=\"key best\"></span>best of all so far</li>\n");
  for (unsigned k = 1; k <= c->trajectories && k <= LEGEND_AT_MOST; k++) {
    const struct refine_turn *best = NULL;
    for (size_t i = 0; i < c->res->n; i++) {
      const struct refine_turn *t = &c->res->turns[i];
      if (t->trajectory == k && timed(t) > 0 && (!best || timed(t) > timed(best)))
        best = t;
    }
    kr_bytes_addf(b, "<li><span class=\"key t%u\"></span>trajectory %u: ", (k - 1) % COLORS, k);
    if (best)
      kr_bytes_addf(b, "%.2fx at turn %u</li>\n", timed(best), best->turn);
    else
      kr_bytes_adds(b, "none timed</li>\n");
  }
  if (c->trajectories > LEGEND_AT_MOST)
    kr_bytes_addf(b, "<li>and %u more</li>\n", c->trajectories - LEGEND_AT_MOST);
  kr_bytes_adds(b, "</ul>\n");
}

void report_chart(const struct outcome *out, struct kr_bytes *b)
{
  const struct refine_result *res = &out->refined;
  struct chart c = {.res = res};
  double top = 0;
  if (!out->have_refined || !res->n)
    return;
  kr_bytes_adds(b, "<h3>Best speed-up over turns and trajectories</h3>\n");
  c.best = kr_xcalloc(res->n, sizeof *c.best);
  for (size_t i = 0; i < res->n; i++) {
    const struct refine_turn *t = &res->turns[i];
    c.turns = t->turn > c.turns ? t->turn : c.turns;
    c.trajectories = t->trajectory > c.trajectories ? t->trajectory : c.trajectories;
    c.best[i] = fmax(timed(t), t->parent < i ? c.best[t->parent] : 0);
    top = fmax(top, c.best[i]);
  }
  if (top > 0) {
    chart_range(&c, out->winner != SIZE_MAX ? &out->decided : NULL);
    kr_bytes_addf(b, "<figure><svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"Best %s speed-up over "
                     "%u turn%s of %u trajector%s: %.2fx\">\n",
                  WIDTH, HEIGHT, outcome_is_modelled(out) ? "modelled" : "measured", c.turns,
                  c.turns == 1 ? "" : "s", c.trajectories, c.trajectories == 1 ? "y" : "ies", top);
    chart_axes(&c, b);
    chart_best(&c, b);
    chart_lines(&c, b);
    chart_points(&c, b);
    chart_winner(&c, out, b);
    kr_bytes_adds(b, "</svg>\n<figcaption>");
    kr_bytes_adds(b, outcome_is_modelled(out) ? "Modelled, not measured. " : "Measured in the search. ");
    kr_bytes_adds(b, "A dot is a variant, a line the best so far on a trajectory&#39;s way; crosses below "
                     "have no time.</figcaption>\n");
    chart_legend(&c, out, b);
    kr_bytes_adds(b, "</figure>\n");
  } else {
    kr_bytes_addf(b, "<p>None of %zu variant%s has a time, so there is nothing to draw.</p>\n", res->n,
                  res->n == 1 ? "" : "s");
  }
  free(c.best);
}
