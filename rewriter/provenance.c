// Provenance: the three lines above a rewritten kernel. There is no clock, no
// host and no path in them, so that two runs that find the same write the same.
//
// They are read back leniently about white space only: a formatter may have
// broken and joined the lines, and the marker scanner gives their tokens with
// blanks where they are needed and nowhere else.

#include "rewriter.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../evaluator/base/mem.h"

// Text of a model's or a driver's choosing, made fit for a line comment: plain
// ASCII, no `;` or `:` at which reading would stop, no word `kevin:`, blanks single.
static char *plain_words(const char *s, const char *stop)
{
  char *out = kr_xmalloc(strlen(s) + 1), *p = out;
  for (; *s; s++) {
    unsigned char c = (unsigned char)*s;
    bool blank = c <= ' ' || c >= 0x7f || c == '\\' || strchr(stop, c);
    if (!blank)
      *p++ = (char)c;
    else if (p > out && p[-1] != ' ')
      *p++ = ' ';
  }
  while (p > out && p[-1] == ' ')
    p--;
  *p = '\0';
  if (!*out)
    strcpy(out = kr_xrealloc(out, 8), "unknown");
  return out;
}

// "before WORDS after" within `width`; the words give way, a vendor's name first,
// then down to a few letters.
static char *fit(const char *before, const char *words, const char *after, size_t width)
{
  static const char vendor[] = "NVIDIA ";
  if (strlen(before) + strlen(words) + strlen(after) > width &&
      !strncmp(words, vendor, sizeof vendor - 1) && words[sizeof vendor - 1])
    words += sizeof vendor - 1;
  size_t fixed = strlen(before) + strlen(after), n = strlen(words);
  if (fixed + n <= width)
    return kr_xasprintf("%s%s%s", before, words, after);
  size_t room = width > fixed + 4 ? width - fixed - 2 : 2;
  if (room > n)
    room = n;
  while (room > 1 && words[room - 1] == ' ')
    room--;
  return kr_xasprintf("%s%.*s..%s", before, (int)room, words, after);
}

bool kr_provenance_on(const struct kr_provenance *p, const char *device)
{
  static const char vendor[] = "NVIDIA ";
  size_t v = sizeof vendor - 1, n = strlen(p->device);
  bool cut = n > 2 && !strcmp(p->device + n - 2, "..");
  char *words = plain_words(device, ";:");
  const char *claimed = p->device, *actual = words;
  if (!strncmp(claimed, vendor, v) && claimed[v])
    claimed += v;
  if (!strncmp(actual, vendor, v) && actual[v])
    actual += v;
  bool same = cut ? !strncmp(claimed, actual, strlen(claimed) - 2) : !strcmp(claimed, actual);
  free(words);
  return same;
}

static void shown(struct kr_hash h, char out[KR_HASH_HEX + 1])
{
  kr_hash_hex(h, out);
  out[KR_HASH_SHOWN] = '\0';
}

// Three significant digits, never an exponent: 0.00123, 64.3, 1830.
static void time_text(double us, char out[32])
{
  int exponent = us > 0 ? (int)floor(log10(us)) : 0;
  int digits = exponent > 2 ? 0 : exponent < -4 ? 6 : 2 - exponent;
  snprintf(out, 32, "%.*f", digits, us);
}

// A bound of the interval. That of a model is no finer than its first decimal,
// which must not make a small win look like none.
static void bound_text(double x, bool modelled, char out[32])
{
  snprintf(out, 32, "%.*f", modelled && fabs(x - 1) >= 0.1 ? 1 : 2, x);
}

char **kr_provenance_lines(const struct kr_provenance *p, size_t width)
{
  char **lines = kr_xcalloc(4, sizeof *lines);
  size_t n = 0;
  char from[KR_HASH_HEX + 1], body[KR_HASH_HEX + 1], marker[KR_HASH_HEX + 1];
  if (p->have_figures) {
    char base[32], cand[32], lo[32], hi[32], before[160], after[160];
    time_text(p->base_us, base);
    time_text(p->cand_us, cand);
    char *device = plain_words(p->device, ";:");
    bound_text(p->lo, p->modelled, lo);
    bound_text(p->hi, p->modelled, hi);
    snprintf(before, sizeof before, "%s %.2fx [%s, %s] on ", p->modelled ? "modelled" : "verified",
             p->speedup, lo, hi);
    snprintf(after, sizeof after, "%s: %s -> %s us",
             p->modelled && p->unvalidated ? " unvalidated" : "", base, cand);
    lines[n++] = fit(before, device, after, width);
    free(device);

    char error[48] = "exact";
    char *model = plain_words(p->model, ";,");
    char *tool = plain_words(p->tool, ";,");
    if (p->max_rel_err >= 0)
      snprintf(error, sizeof error, "max error %.2g", p->max_rel_err);
    char *tolerance = p->tolerance[0] ? plain_words(p->tolerance, ";") : NULL;
    snprintf(after, sizeof after, ", turn %d/%d; %s%s%.40s; %.32s", p->turn, p->turns, error,
             tolerance ? "; " : "", tolerance ? tolerance : "", tool);
    lines[n++] = fit("by ", model, after, width);
    free(tolerance);
    free(model);
    free(tool);
  }
  shown(p->from, from);
  shown(p->body, body);
  shown(p->marker, marker);
  lines[n++] = kr_xasprintf("from %s body %s marker %s", from, body, marker);
  return lines;
}

void kr_provenance_lines_free(char **lines)
{
  for (size_t i = 0; lines && lines[i]; i++)
    free(lines[i]);
  free(lines);
}

bool kr_provenance_same(struct kr_hash in_source, struct kr_hash full)
{
  return !memcmp(in_source.bytes, full.bytes, KR_HASH_SHOWN / 2);
}

// --- reading ---

static void skip_blanks(const char **s)
{
  while (isspace((unsigned char)**s))
    ++*s;
}

// Takes `word` if it comes next.
static bool take(const char **s, const char *word)
{
  skip_blanks(s);
  size_t n = strlen(word);
  if (strncmp(*s, word, n))
    return false;
  *s += n;
  return true;
}

static bool take_number(const char **s, double *out)
{
  char *end;
  skip_blanks(s);
  if (!isdigit((unsigned char)**s))
    return false;
  *out = strtod(*s, &end);
  *s = end;
  return isfinite(*out);
}

static bool take_int(const char **s, int *out)
{
  double d;
  if (!take_number(s, &d) || d < 0 || d > 1e9 || d != floor(d))
    return false;
  *out = (int)d;
  return true;
}

static bool take_hash(const char **s, struct kr_hash *out)
{
  char hex[KR_HASH_HEX + 1];
  memset(hex, '0', KR_HASH_HEX);
  hex[KR_HASH_HEX] = '\0';
  skip_blanks(s);
  size_t n = strspn(*s, "0123456789abcdef");
  if (n != KR_HASH_SHOWN)
    return false;
  memcpy(hex, *s, n);
  *s += n;
  return !kr_hash_parse(hex, out);
}

// Everything up to `stop`, blanks trimmed.
static bool take_until(const char **s, char stop, char *out, size_t size)
{
  skip_blanks(s);
  const char *end = stop ? strchr(*s, stop) : *s + strlen(*s);
  if (!end || end == *s)
    return false;
  size_t n = (size_t)(end - *s);
  while (n && isspace((unsigned char)(*s)[n - 1]))
    n--;
  snprintf(out, size, "%.*s", (int)(n < size ? n : size - 1), *s);
  *s = end;
  return true;
}

// Takes `word` off the end of `text` if it stands there as a word.
static bool take_last(char *text, const char *word)
{
  size_t n = strlen(text), w = strlen(word);
  if (n <= w || strcmp(text + n - w, word) || text[n - w - 1] != ' ')
    return false;
  for (n -= w; n && text[n - 1] == ' '; n--)
    ;
  text[n] = '\0';
  return true;
}

static bool read_figures(const char *s, struct kr_provenance *p)
{
  bool read = take_number(&s, &p->speedup) && take(&s, "x") && take(&s, "[") &&
              take_number(&s, &p->lo) && take(&s, ",") && take_number(&s, &p->hi) &&
              take(&s, "]") && take(&s, "on") && take_until(&s, ':', p->device, sizeof p->device) &&
              take(&s, ":") && take_number(&s, &p->base_us) && take(&s, "->") &&
              take_number(&s, &p->cand_us) && take(&s, "us");
  p->unvalidated = read && p->modelled && take_last(p->device, "unvalidated");
  return read;
}

static bool read_by(const char *s, struct kr_provenance *p)
{
  if (!take_until(&s, ',', p->model, sizeof p->model) || !take(&s, ",") || !take(&s, "turn") ||
      !take_int(&s, &p->turn) || !take(&s, "/") || !take_int(&s, &p->turns) || !take(&s, ";"))
    return false;
  p->max_rel_err = -1;
  if (!take(&s, "exact") &&
      !(take(&s, "max") && take(&s, "error") && take_number(&s, &p->max_rel_err)))
    return false;
  if (!take(&s, ";"))
    return false;
  p->tolerance[0] = '\0';
  if (strchr(s, ';') && (!take_until(&s, ';', p->tolerance, sizeof p->tolerance) || !take(&s, ";")))
    return false;
  return take_until(&s, '\0', p->tool, sizeof p->tool);
}

static bool read_from(const char *s, struct kr_provenance *p)
{
  return take_hash(&s, &p->from) && take(&s, "body") && take_hash(&s, &p->body) &&
         take(&s, "marker") && take_hash(&s, &p->marker);
}

int kr_provenance_read(enum kr_marker_verb verb, const char *text, struct kr_provenance *out)
{
  static const char *const verbs[] = {[KR_MARKER_VERIFIED] = "verified",
                                      [KR_MARKER_MODELLED] = "modelled",
                                      [KR_MARKER_BY] = "by",
                                      [KR_MARKER_FROM] = "from"};
  if (verb < KR_MARKER_VERIFIED || verb > KR_MARKER_FROM)
    return -1;
  // With or without the verb in front.
  take(&text, verbs[verb]);
  switch (verb) {
  case KR_MARKER_VERIFIED:
  case KR_MARKER_MODELLED:
    out->modelled = verb == KR_MARKER_MODELLED;
    return read_figures(text, out) ? 0 : -1;
  case KR_MARKER_BY:
    return read_by(text, out) ? 0 : -1;
  default:
    return read_from(text, out) ? 0 : -1;
  }
}

int kr_provenance_find(const struct kr_markers *markers, size_t offset, struct kr_provenance *out,
                       struct kr_err *err)
{
  static const char *const names[] = {[KR_MARKER_VERIFIED] = "verified",
                                      [KR_MARKER_MODELLED] = "modelled",
                                      [KR_MARKER_BY] = "by",
                                      [KR_MARKER_FROM] = "from"};
  struct kr_provenance p = {0};
  unsigned seen = 0;
  for (size_t i = 0; i < markers->n; i++) {
    const struct kr_marker *m = &markers->items[i];
    if (m->target != offset || m->verb < KR_MARKER_VERIFIED)
      continue;
    unsigned bit = 1u << (m->verb == KR_MARKER_MODELLED ? KR_MARKER_VERIFIED : m->verb);
    if (seen & bit)
      return kr_err_set(err, "two provenance lines `kevin: %s` stand above one kernel",
                        names[m->verb]);
    seen |= bit;
    if (kr_provenance_read(m->verb, m->text, &p))
      return kr_err_set(err, "cannot read the provenance line `kevin: %s`: %.80s", names[m->verb],
                        m->text);
  }
  if (!seen)
    return 1;
  if (!(seen & 1u << KR_MARKER_FROM))
    return kr_err_set(err, "provenance without its line `kevin: from ...`");
  p.have_figures = (seen & 1u << KR_MARKER_VERIFIED) && (seen & 1u << KR_MARKER_BY);
  *out = p;
  return 0;
}
