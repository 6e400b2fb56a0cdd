#include "table.h"

#include <stdio.h>
#include <string.h>

#include "talk.h"
#include "../evaluator/base/utf8.h"

enum { TURN = 4, OUTCOME = 27, BOUND = 7, INDENT = 2, GAP = 2, LEAST_SAID = 20, LEAST_SENTENCE = 10 };

static void pad(struct kr_bytes *out, size_t from, size_t width)
{
  for (; from < width; from++)
    kr_bytes_addc(out, ' ');
}

// Adds a cell, padded to its width; what is longer pushes the row on.
static void cell(struct kr_bytes *out, const char *text, size_t width)
{
  kr_bytes_adds(out, text);
  pad(out, strlen(text), width);
  pad(out, 0, GAP);
}

// The first sentence of a text on one line, at most `max` columns of it.
static void sentence(struct kr_bytes *out, const char *text, size_t max)
{
  struct kr_bytes line;
  kr_bytes_init(&line, 1 << 20);
  while (*text == ' ' || *text == '\n' || *text == '\t')
    text++;
  size_t len = strcspn(text, "\n");
  // "1. First ..." and "v. d. ..." are no sentences.
  for (size_t i = LEAST_SENTENCE; i + 1 < len; i++)
    if (text[i] == '.' && text[i + 1] == ' ')
      len = i;
  while (len && (text[len - 1] == '.' || text[len - 1] == ' ' || text[len - 1] == '\r'))
    len--;
  talk_escape(&line, text, len, false);
  size_t columns = 0, end = 0, kept = 0;
  while (end < line.len) {
    size_t n = kr_utf8_length(line.data + end, line.len - end);
    end += n ? n : 1;
    if (++columns + 2 == max)
      kept = end;
  }
  if (columns <= max) {
    kr_bytes_add(out, line.data, line.len);
  } else {
    kr_bytes_add(out, line.data, kept);
    kr_bytes_adds(out, "..");
  }
  kr_bytes_release(&line);
}

void table_ratio(const struct kr_verdict *v, struct kr_bytes *out)
{
  // The column is made for ratios below ten.
  int digits = v->speedup < 9.995 ? 2 : 1;
  kr_bytes_addf(out, "%.*fx [%.*f, %.*f]", digits, v->speedup, digits, v->lo, digits, v->hi);
}

// What bounds the slowest case.
static const char *bound_of(const struct kr_verdict *v)
{
  const struct kr_case_time *slowest = NULL;
  for (size_t i = 0; i < v->n_times; i++)
    if (v->times[i].cand_bound && (!slowest || v->times[i].cand_us > slowest->cand_us))
      slowest = &v->times[i];
  return slowest ? slowest->cand_bound : "";
}

// The last cell of a row that began at `row`: what fits, but a few words at least.
static void last_cell(const char *text, size_t row, size_t columns, struct kr_bytes *out)
{
  size_t used = out->len - row;
  sentence(out, text, columns > used + LEAST_SAID ? columns - used : LEAST_SAID);
  while (out->len && out->data[out->len - 1] == ' ')
    out->data[--out->len] = '\0';
  kr_bytes_addc(out, '\n');
}

void table_head(size_t columns, struct kr_bytes *out)
{
  size_t row = out->len;
  pad(out, 0, INDENT);
  cell(out, "turn", TURN);
  cell(out, "outcome", OUTCOME);
  cell(out, "bound", BOUND);
  last_cell("what was tried (* taken)", row, columns, out);
}

static void outcome_cell(const struct refine_turn *turns, size_t i, struct kr_bytes *out)
{
  const struct refine_turn *t = &turns[i];
  const struct kr_verdict *v = &t->verdict;
  struct kr_bytes b;
  kr_bytes_init(&b, 1024);
  if (t->same_as != SIZE_MAX)
    kr_bytes_addf(&b, "the same as %u.%u", turns[t->same_as].trajectory, turns[t->same_as].turn);
  else if (v->status == KR_STATUS_OK && v->speedup <= 0)
    kr_bytes_adds(&b, "correct, not timed");
  else if (v->status == KR_STATUS_OK)
    kr_bytes_adds(&b, v->modelled ? "modelled " : "measured ");
  else if (v->status == KR_STATUS_UNCHANGED)
    kr_bytes_adds(&b, "unchanged");
  else
    kr_bytes_addf(&b, "%s at %s", kr_status_name(v->status), kr_stage_name(v->stage));
  if (t->same_as == SIZE_MAX && v->status == KR_STATUS_OK && v->speedup > 0)
    table_ratio(v, &b);
  cell(out, b.data, OUTCOME);
  kr_bytes_release(&b);
}

// Why it was turned away, or what is to be noted of it.
static void below(const char *before, const char *text, const char *after, struct kr_bytes *out)
{
  pad(out, 0, INDENT + TURN + GAP);
  kr_bytes_adds(out, before);
  talk_escape(out, text, strcspn(text, "\n"), false);
  kr_bytes_addf(out, "%s\n", after);
}

void table_row(const struct refine_turn *turns, size_t i, bool taken, size_t columns,
               struct kr_bytes *out)
{
  const struct refine_turn *t = &turns[i];
  const struct kr_verdict *v = &t->verdict;
  char number[32];
  size_t row = out->len;
  snprintf(number, sizeof number, "%u.%u", t->trajectory, t->turn);
  kr_bytes_adds(out, taken ? "* " : "  ");
  cell(out, number, TURN);
  outcome_cell(turns, i, out);
  cell(out, t->same_as == SIZE_MAX ? bound_of(v) : "", BOUND);
  last_cell(t->variant.summary ? t->variant.summary : "", row, columns, out);
  const char *why = v->log ? v->log : v->told;
  if (v->status != KR_STATUS_OK && v->status != KR_STATUS_UNCHANGED && why)
    below("", why, "", out);
  if (v->note)
    below("(", v->note, ")", out);
}
