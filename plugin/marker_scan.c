#include "marker_internal.h"

#include <stdlib.h>
#include <string.h>

#include "../evaluator/base/mem.h"

// Finding markers. One pass of the lexer over the file collects runs: `//` lines
// that follow each other, each at the start of its line, read as one text; and
// pragmas. A formatter breaks and joins comment lines within a run, so an item
// begins at `kevin: verb` anywhere in it, and what stands between items is prose
// unless a line's beginning says otherwise. A file without the word is not lexed.

static const char *const verbs[] = {
    [KR_MARKER_OPTIMIZE] = "optimize", [KR_MARKER_OFF] = "off", [KR_MARKER_VERIFIED] = "verified",
    [KR_MARKER_MODELLED] = "modelled", [KR_MARKER_BY] = "by",   [KR_MARKER_FROM] = "from"};

bool marker_is_word(char c)
{
  unsigned char u = (unsigned char)c;
  return (u >= 'a' && u <= 'z') || (u >= 'A' && u <= 'Z') || (u >= '0' && u <= '9') || u == '_' ||
         u >= 0x80;
}

size_t marker_skip_space(const char *text, size_t end, size_t pos)
{
  while (pos < end && (text[pos] == ' ' || text[pos] == '\t' || text[pos] == '\n' ||
                       text[pos] == '\r' || text[pos] == '\v' || text[pos] == '\f'))
    pos++;
  return pos;
}

static size_t scan_word_end(const char *text, size_t end, size_t pos)
{
  while (pos < end && marker_is_word(text[pos]))
    pos++;
  return pos;
}

int marker_verb_at(const char *text, size_t end, size_t pos, size_t *length)
{
  size_t n = scan_word_end(text, end, pos) - pos;
  for (size_t v = 0; v < sizeof verbs / sizeof *verbs; v++)
    if (n == strlen(verbs[v]) && !memcmp(text + pos, verbs[v], n)) {
      *length = n;
      return (int)v;
    }
  return -1;
}

size_t marker_kevin_at(const char *text, size_t begin, size_t end, size_t pos)
{
  if (end - pos < 6 || memcmp(text + pos, "kevin:", 6) || (pos > begin && marker_is_word(text[pos - 1])))
    return 0;
  return pos + 6 < end && text[pos + 6] == ':' ? 0 : pos + 6;
}

// Edits between two words, a swap of neighbours counted as one; `limit + 1` when more.
static size_t scan_distance(const char *a, size_t n, const char *b, size_t m, size_t limit)
{
  enum { MAX = 32 };
  size_t row[3][MAX + 1];
  if (n > MAX || m > MAX || (n > m ? n - m : m - n) > limit)
    return limit + 1;
  for (size_t j = 0; j <= m; j++)
    row[0][j] = j;
  for (size_t i = 1; i <= n; i++) {
    size_t *cur = row[i % 3], *up = row[(i + 2) % 3], *upper = row[(i + 1) % 3];
    cur[0] = i;
    for (size_t j = 1; j <= m; j++) {
      size_t best = up[j - 1] + (a[i - 1] != b[j - 1]);
      if (up[j] + 1 < best)
        best = up[j] + 1;
      if (cur[j - 1] + 1 < best)
        best = cur[j - 1] + 1;
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && upper[j - 2] + 1 < best)
        best = upper[j - 2] + 1;
      cur[j] = best;
    }
  }
  return row[n % 3][m];
}

const char *marker_nearest(const char *word, size_t len, const char *const *candidates,
                           size_t limit)
{
  const char *best = NULL;
  for (; *candidates; candidates++) {
    size_t d = scan_distance(word, len, *candidates, strlen(*candidates), limit);
    if (d <= limit && d < strlen(*candidates)) {
      if (d == 0)
        return *candidates;
      best = *candidates;
      limit = d - 1;
    }
  }
  return best;
}

// --- near misses ---

static bool scan_is_kevin(const char *text, size_t begin, size_t end, size_t pos)
{
  if (end - pos < 5 || (pos > begin && marker_is_word(text[pos - 1])))
    return false;
  for (size_t i = 0; i < 5; i++)
    if ((text[pos + i] | 0x20) != "kevin"[i])
      return false;
  return pos + 5 == end || !marker_is_word(text[pos + 5]);
}

// The first character of the line that `pos` is on, carrier and blanks aside.
static size_t scan_line_text(const struct marker_scan *s, size_t begin, size_t pos)
{
  size_t i = pos;
  while (i > begin && s->text[i - 1] != '\n')
    i--;
  while (i < pos && (s->text[i] == ' ' || s->text[i] == '\t'))
    i++;
  return i;
}

// "kevin: optimise" and its like, in text that holds no item.
static void scan_near_miss(struct marker_scan *s, const struct marker_run *run, size_t begin,
                           size_t end)
{
  const char *t = s->text;
  for (size_t pos = begin; pos < end; pos++) {
    if ((t[pos] | 0x20) != 'k' || !scan_is_kevin(t, run->begin, end, pos))
      continue;
    size_t p = pos + 5;
    while (p < end && (t[p] == ' ' || t[p] == '\t'))
      p++;
    bool colon = p < end && t[p] == ':';
    p = marker_skip_space(t, end, p + colon);
    size_t word_end = scan_word_end(t, end, p);
    char word[16] = "";
    for (size_t i = p; i < word_end && i - p < sizeof word - 1; i++)
      word[i - p] = t[i] >= 'A' && t[i] <= 'Z' ? (char)(t[i] | 0x20) : t[i];
    bool first = scan_line_text(s, run->begin, pos) == pos;
    bool lower = !memcmp(t + pos, "kevin", 5);
    static const char *const optimize[] = {"optimize", NULL};
    if (word_end - p < sizeof word && (colon || (first && (lower || word_end - p == 8))) &&
        marker_nearest(word, word_end - p, optimize, 2)) {
      kr_diags_add(s->diags, KR_SEV_WARNING, pos, word_end - pos,
                   "not a marker; did you mean `%s`?",
                   run->pragma ? "kevin optimize" : "kevin: optimize");
      kr_diags_fix(s->diags, run->pragma ? "kevin optimize" : "kevin: optimize");
    } else if (first && colon && !lower && !strcmp(word, "off")) {
      kr_diags_add(s->diags, KR_SEV_WARNING, pos, word_end - pos,
                   "not a marker; did you mean `kevin: off`?");
      kr_diags_fix(s->diags, "kevin: off");
    } else if (first && colon && lower) {
      kr_diags_add(s->diags, KR_SEV_WARNING, pos, 6,
                   "this line belongs to no marker; one begins with `kevin: optimize`, and its "
                   "lines follow each other");
    }
    pos = p;
  }
}

// A comment that can carry no marker but holds one.
static void scan_other_comment(struct marker_scan *s, struct kr_token tok, bool line_start)
{
  const char *t = s->src->data;
  size_t end = tok.offset + tok.length;
  for (size_t pos = tok.offset; pos < end; pos++) {
    size_t after = t[pos] == 'k' ? marker_kevin_at(t, tok.offset, end, pos) : 0;
    if (!after)
      continue;
    size_t length, verb = marker_skip_space(t, end, after);
    int v = marker_verb_at(t, end, verb, &length);
    if (v != KR_MARKER_OPTIMIZE && v != KR_MARKER_OFF)
      continue;
    kr_diags_add(s->diags, KR_SEV_WARNING, pos, verb + length - pos,
                 "not a marker: %s; write `// kevin: %s …` on a line of its own",
                 tok.kind == KR_TOK_BLOCK_COMMENT ? "a `/* */` comment carries none"
                 : line_start                     ? "a `///` comment carries none"
                                                  : "a comment behind code carries none",
                 verbs[v]);
    return;
  }
}

// --- runs ---

// The word of a directive whose `#` has just been read.
static struct kr_token scan_directive_word(const struct kr_lexer *lx)
{
  struct kr_lexer ahead = *lx;
  struct kr_token word = kr_lexer_next_code(&ahead);
  if (!(word.flags & KR_TOK_DIRECTIVE) || (word.flags & KR_TOK_DIRECTIVE_START))
    word.kind = KR_TOK_END;
  return word;
}

static bool scan_is_conditional(const char *text, struct kr_token word)
{
  static const char *const words[] = {"if", "ifdef", "ifndef", "elif", "else", "endif"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (word.kind == KR_TOK_IDENTIFIER && kr_token_is(text, word, words[i]))
      return true;
  return false;
}

// Words that begin a declaration whose rest a marker must not be amid.
static bool scan_begins_declaration(const char *text, struct kr_token tok)
{
  static const char *const words[] = {"template", "static",   "inline",     "extern",
                                      "__global__", "__device__", "__host__", "__attribute__"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (tok.kind == KR_TOK_IDENTIFIER && kr_token_is(text, tok, words[i]))
      return true;
  return false;
}

static struct marker_run *scan_add_run(struct marker_scan *s, size_t begin, size_t end,
                                       bool pragma, size_t inside)
{
  KR_GROW(s->runs, s->n_runs, s->cap_runs);
  s->runs[s->n_runs++] = (struct marker_run){begin, end, pragma, SIZE_MAX, inside};
  return &s->runs[s->n_runs - 1];
}

// True when the bytes between two tokens are blanks with exactly one line end.
static bool scan_next_line(const char *t, size_t from, size_t to)
{
  size_t lines = 0;
  for (size_t i = from; i < to; i++) {
    if (t[i] == '\r' && i + 1 < to && t[i + 1] == '\n')
      continue;
    lines += t[i] == '\n' || t[i] == '\r';
  }
  return lines == 1;
}

static void scan_runs(struct marker_scan *s)
{
  const char *t = s->src->data;
  struct kr_lexer lx;
  kr_lexer_init(&lx, t, s->src->len);
  size_t pending = 0;           // runs from here on have no target yet
  size_t inside = SIZE_MAX;     // a declaration has begun here and is not through
  bool open = false;            // the last token was a `//` line of the last run
  bool fresh = true;            // a declaration may begin here
  for (;;) {
    struct kr_token tok = kr_lexer_next(&lx);
    size_t end = tok.offset + tok.length;
    if (tok.kind == KR_TOK_LINE_COMMENT || tok.kind == KR_TOK_BLOCK_COMMENT) {
      bool starts = tok.flags & KR_TOK_LINE_START && !(tok.flags & KR_TOK_DIRECTIVE);
      bool carries = starts && tok.kind == KR_TOK_LINE_COMMENT &&
                     !(tok.length > 2 && (t[tok.offset + 2] == '/' || t[tok.offset + 2] == '!'));
      if (!carries) {
        scan_other_comment(s, tok, starts);
        open = false;
      } else if (open && scan_next_line(t, s->runs[s->n_runs - 1].end, tok.offset)) {
        s->runs[s->n_runs - 1].end = end;
      } else {
        scan_add_run(s, tok.offset, end, false, inside);
        open = true;
      }
      continue;
    }
    open = false;
    if (tok.flags & KR_TOK_DIRECTIVE_START) {
      struct kr_token word = scan_directive_word(&lx);
      bool skip = scan_is_conditional(t, word);
      size_t hash = tok.offset, begin = hash;
      struct kr_lexer ahead = lx;
      kr_lexer_next_code(&ahead);
      struct kr_token name = kr_lexer_next_code(&ahead);
      bool ours = word.kind == KR_TOK_IDENTIFIER && kr_token_is(t, word, "pragma") &&
                  (name.flags & KR_TOK_DIRECTIVE) && scan_is_kevin(t, 0, s->src->len, name.offset);
      if (ours)
        begin = name.offset;
      // To the end of the directive, a comment behind it left out.
      size_t last = end;
      for (;;) {
        struct kr_lexer before = lx;
        tok = kr_lexer_next(&lx);
        if (!(tok.flags & KR_TOK_DIRECTIVE) || (tok.flags & KR_TOK_DIRECTIVE_START)) {
          lx = before;
          break;
        }
        if (tok.kind != KR_TOK_LINE_COMMENT && tok.kind != KR_TOK_BLOCK_COMMENT)
          last = tok.offset + tok.length;
      }
      if (ours)
        scan_add_run(s, begin, last, true, inside);
      if (!skip && !ours)
        for (; pending < s->n_runs; pending++)
          s->runs[pending].target = hash;
      continue;
    }
    if (tok.kind == KR_TOK_END)
      return;
    for (; pending < s->n_runs; pending++)
      s->runs[pending].target = tok.offset;
    bool boundary = tok.kind == KR_TOK_PUNCT && tok.length == 1 && strchr(";{}", t[tok.offset]);
    if (boundary)
      inside = SIZE_MAX;
    else if (inside == SIZE_MAX && (fresh || (tok.flags & KR_TOK_LINE_START)) &&
             scan_begins_declaration(t, tok))
      inside = tok.offset;
    fresh = boundary;
  }
}

// --- items ---

// Between items: words on a marker's own lines that no rule reads.
static void scan_left_over(struct marker_scan *s, const struct marker_run *run, size_t begin,
                           size_t end)
{
  const char *t = s->text;
  for (size_t pos = begin; (pos = marker_skip_space(t, end, pos)) < end;) {
    size_t line = scan_line_text(s, run->begin, pos);
    size_t after = marker_kevin_at(t, run->begin, end, pos);
    if (after) {
      pos = after;
      continue;
    }
    // A marker's first line too, unless prose stands before it: that is a formatter's work.
    bool own = run->pragma || marker_kevin_at(t, run->begin, end, line);
    size_t word_end = scan_word_end(t, end, pos);
    bool bracket = word_end > pos && word_end < end && t[word_end] == '(';
    if (own) {
      size_t n = word_end > pos ? word_end - pos : 1;
      bool splice = t[pos] == '\\';
      if (splice && !run->pragma)
        kr_diags_add(s->diags, KR_SEV_ERROR, pos, 1,
                     "no backslash here: a `//` marker continues on the next `// kevin:` line");
      else
        marker_unknown_clause(s, pos, n, bracket);
      return;
    }
    if (bracket && (marker_is_clause(t + pos, word_end - pos) ||
                    marker_near_clause(t + pos, word_end - pos))) {
      marker_unknown_clause(s, pos, word_end - pos, true);
      return;
    }
    if (word_end == pos)
      word_end = pos + 1;
    // Behind a word only another word can begin, not the middle of this one.
    pos = word_end;
  }
}

// The one warning a file about prose that a formatter has mixed with a marker.
static void scan_prose(struct marker_scan *s, const struct marker_run *run, size_t kevin,
                       size_t item_end, size_t next)
{
  const char *t = s->text;
  if (s->told_prose || run->pragma)
    return;
  size_t before = scan_line_text(s, run->begin, kevin), at = SIZE_MAX, n = 0;
  size_t after = marker_skip_space(t, next, item_end);
  // An item before this one on the line is no prose.
  bool item_before = false;
  for (size_t i = 0; i < s->n_items; i++) {
    size_t e = s->items[i].at.offset + s->items[i].at.length;
    if (e > before && e <= kevin && marker_skip_space(t, kevin, e) == kevin)
      item_before = true;
  }
  if (before < kevin && !item_before) {
    at = before;
    n = kevin - before;
    while (n > 1 && (t[at + n - 1] == ' ' || t[at + n - 1] == '\t' || t[at + n - 1] == '\n'))
      n--;
  } else if (after < next && memchr(t + item_end, '\n', after - item_end) == NULL) {
    at = after;
    while (at + n < next && t[at + n] != '\n')
      n++;
  }
  if (at == SIZE_MAX)
    return;
  s->told_prose = true;
  kr_diags_add(s->diags, KR_SEV_WARNING, at, n,
               "prose stands on a line with the marker, as clang-format leaves it; "
               "`CommentPragmas: '^ kevin:'` in .clang-format keeps them apart, or an empty `//` "
               "line between the two");
}

// The next `kevin: verb` at or after `pos`; SIZE_MAX when there is none.
static size_t scan_next_item(const struct marker_scan *s, const struct marker_run *run, size_t pos,
                             size_t *verb)
{
  for (; pos + 6 <= run->end; pos++) {
    if (s->text[pos] != 'k')
      continue;
    size_t after = marker_kevin_at(s->text, run->begin, run->end, pos), length;
    if (!after)
      continue;
    *verb = marker_skip_space(s->text, run->end, after);
    if (marker_verb_at(s->text, run->end, *verb, &length) >= 0)
      return pos;
  }
  return SIZE_MAX;
}

static void scan_items(struct marker_scan *s, const struct marker_run *run)
{
  size_t pos = run->begin, verb = 0, length, kevin = SIZE_MAX;
  if (run->pragma) {
    verb = marker_skip_space(s->text, run->end, pos + 5);
    if (!memcmp(s->text + pos, "kevin", 5) &&
        marker_verb_at(s->text, run->end, verb, &length) >= 0)
      kevin = pos;
  } else {
    kevin = scan_next_item(s, run, pos, &verb);
  }
  scan_near_miss(s, run, pos, kevin == SIZE_MAX ? run->end : kevin);
  while (kevin != SIZE_MAX) {
    bool failed = false;
    int v = marker_verb_at(s->text, run->end, verb, &length);
    size_t end = marker_read(s, run, kevin, verb, &failed), next_verb = 0;
    size_t next = run->pragma ? SIZE_MAX : scan_next_item(s, run, end, &next_verb);
    size_t stop = next == SIZE_MAX ? run->end : next;
    if (v == KR_MARKER_OPTIMIZE || v == KR_MARKER_OFF) {
      size_t errors = s->diags->n_errors;
      if (!failed)
        scan_left_over(s, run, end, stop);
      if (s->diags->n_errors > errors)
        marker_release(&s->items[--s->n_items]);
      else if (!failed)
        scan_prose(s, run, kevin, end, stop);
    } else {
      scan_near_miss(s, run, end, stop);
    }
    kevin = next;
    verb = next_verb;
  }
}

// --- what stands where ---

// Errors of place that tokens alone show. Returns true when the item must go.
static bool scan_place(struct marker_scan *s, size_t index)
{
  struct kr_marker *m = &s->items[index];
  const struct kr_source *src = s->src;
  unsigned line, col;
  if (m->verb != KR_MARKER_OPTIMIZE && m->verb != KR_MARKER_OFF)
    return false;
  size_t inside = SIZE_MAX;
  for (size_t i = 0; i < s->n_runs; i++)
    if (m->at.offset >= s->runs[i].begin && m->at.offset < s->runs[i].end)
      inside = s->runs[i].inside;
  if (inside != SIZE_MAX && m->target != SIZE_MAX) {
    kr_source_place(src, inside, &line, &col);
    char *words = marker_code_words(src, inside);
    size_t n = m->target - inside;
    // Only what stands above the marker.
    struct kr_bytes head;
    kr_bytes_init(&head, 128);
    for (size_t i = 0; i < n && src->data[inside + i] != '\n' && src->data[inside + i] != '\r'; i++)
      kr_bytes_addc(&head, src->data[inside + i]);
    kr_diags_add(s->diags, KR_SEV_ERROR, m->at.offset, 5,
                 "marker must stand above line %u, `%s`: a rewrite replaces what is below it", line,
                 head.toobig ? words : head.data);
    kr_bytes_release(&head);
    free(words);
    return true;
  }
  if (m->target == SIZE_MAX) {
    kr_diags_add(s->diags, KR_SEV_WARNING, m->at.offset, 5,
                 "marker is not attached: nothing comes below it");
    return false;
  }
  struct marker_head head;
  marker_head_read(src, m->target, &head);
  if (head.declaration) {
    size_t def = marker_definition_of(src, head.name);
    if (def != SIZE_MAX) {
      kr_source_place(src, def, &line, &col);
      kr_diags_add(s->diags, KR_SEV_ERROR, m->at.offset, 5,
                   "marker stands on %s; the definition is at %s:%u",
                   head.instantiation ? "an explicit instantiation" : "a declaration", src->path,
                   line);
    } else {
      kr_diags_add(s->diags, KR_SEV_ERROR, m->at.offset, 5,
                   "marker stands on %s; put it above the definition of `%.*s`",
                   head.instantiation ? "an explicit instantiation" : "a declaration",
                   (int)head.name.length, src->data + head.name.offset);
    }
    return true;
  }
  return false;
}

// Two markers above one kernel: neither counts.
static void scan_twice(struct marker_scan *s, bool *drop)
{
  for (size_t i = 0; i < s->n_items; i++) {
    struct kr_marker *a = &s->items[i];
    if (a->target == SIZE_MAX || (a->verb != KR_MARKER_OPTIMIZE && a->verb != KR_MARKER_OFF))
      continue;
    for (size_t j = 0; j < i; j++) {
      struct kr_marker *b = &s->items[j];
      if (b->target != a->target || (b->verb != KR_MARKER_OPTIMIZE && b->verb != KR_MARKER_OFF))
        continue;
      unsigned line, col;
      struct marker_head head;
      kr_source_place(s->src, b->at.offset, &line, &col);
      marker_head_read(s->src, a->target, &head);
      kr_diags_add(s->diags, KR_SEV_ERROR, a->at.offset, 5,
                   "two markers for `%.*s`; first at line %u. Use lists or instantiate() for more cases",
                   (int)head.name.length, s->src->data + head.name.offset, line);
      drop[i] = drop[j] = true;
      break;
    }
  }
}

static bool scan_has_word(const struct kr_source *src)
{
  const char *p = src->data, *end = src->data + src->len;
  // `evin` finds every spelling that begins with k or K; capitals are looked for apart.
  while ((p = memmem(p, (size_t)(end - p), "evin", 4))) {
    if (p > src->data && (p[-1] | 0x20) == 'k')
      return true;
    p += 4;
  }
  return memmem(src->data, src->len, "KEVIN", 5) != NULL;
}

struct scan_numbered {
  struct kr_diag diag;
  size_t number;
};

static int scan_order(const void *a, const void *b)
{
  const struct scan_numbered *x = a, *y = b;
  if (x->diag.offset != y->diag.offset)
    return x->diag.offset < y->diag.offset ? -1 : 1;
  return x->number < y->number ? -1 : 1;
}

// Messages in the order of the text, whichever pass found them.
static void scan_sort(struct kr_diags *diags, size_t from)
{
  size_t n = diags->n - from;
  struct scan_numbered *all = kr_xreallocarray(NULL, n + 1, sizeof *all);
  for (size_t i = 0; i < n; i++)
    all[i] = (struct scan_numbered){diags->items[from + i], i};
  qsort(all, n, sizeof *all, scan_order);
  for (size_t i = 0; i < n; i++)
    diags->items[from + i] = all[i].diag;
  free(all);
}

void kr_markers_scan(const struct kr_source *src, struct kr_markers *out, struct kr_diags *diags)
{
  *out = (struct kr_markers){0};
  if (!scan_has_word(src))
    return;
  struct marker_scan s = {.src = src, .diags = diags};
  size_t told = diags->n;
  scan_runs(&s);
  s.text = kr_xmalloc(src->len + 1);
  memcpy(s.text, src->data, src->len + 1);
  for (size_t i = 0; i < s.n_runs; i++)
    marker_clean(s.text, s.runs[i].begin, s.runs[i].end, s.runs[i].pragma);
  for (size_t i = 0; i < s.n_runs; i++)
    scan_items(&s, &s.runs[i]);
  bool *drop = kr_xcalloc(s.n_items + 1, sizeof *drop);
  for (size_t i = 0; i < s.n_items; i++)
    drop[i] = scan_place(&s, i);
  scan_twice(&s, drop);
  size_t n = 0;
  for (size_t i = 0; i < s.n_items; i++) {
    if (drop[i])
      marker_release(&s.items[i]);
    else
      s.items[n++] = s.items[i];
  }
  scan_sort(diags, told);
  out->items = s.items;
  out->n = n;
  free(drop);
  free(s.text);
  free(s.runs);
}
