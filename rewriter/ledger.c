// The ledger: a text file that people read in diffs and git merges line by
// line. First line `kevin-ledger 1`; then one line a kernel, sorted by file,
// kernel and signature, thirteen fields between tabs:
//
//   file kernel signature outcome original marker current slice baseline tool backend gpu
//   deps
//
// Hashes have all 32 digits, `-` stands for an empty field or no baseline, deps
// are `file=hash` joined by `;`. Bytes that would break this (controls, `%`, and
// in deps also `;`, `=`, and a field that is a lone `-`) are written %XX.
//
// Saving merges: what this process put or removed is laid over what the file
// holds by then, under the file's lock, so that two runs on one project lose
// nothing of each other's.

#include "rewriter.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../evaluator/base/mem.h"
#include "replace.h"

enum { LEDGER_FIELDS = 13 };

static const char ledger_head[] = "kevin-ledger ";
static const char *const outcome_names[] = {[KR_REWRITTEN] = "rewritten", [KR_KEPT] = "kept"};

static int compare_keys(const char *file_a, const char *kernel_a, const char *sig_a,
                        const char *file_b, const char *kernel_b, const char *sig_b)
{
  int c = strcmp(file_a, file_b);
  if (!c)
    c = strcmp(kernel_a, kernel_b);
  return c ? c : strcmp(sig_a, sig_b);
}

static void entry_release(struct kr_ledger_entry *e)
{
  free(e->file);
  free(e->kernel);
  free(e->signature);
  for (size_t i = 0; i < e->n_deps; i++)
    free(e->deps[i].file);
  free(e->deps);
  free(e->tool);
  free(e->backend);
  free(e->gpu);
  *e = (struct kr_ledger_entry){0};
}

static void ledger_forget(struct kr_ledger *l)
{
  for (size_t i = 0; i < l->n_changed; i++) {
    free(l->changed[i].file);
    free(l->changed[i].kernel);
    free(l->changed[i].signature);
  }
  l->n_changed = 0;
}

void kr_ledger_release(struct kr_ledger *l)
{
  for (size_t i = 0; i < l->n; i++)
    entry_release(&l->entries[i]);
  free(l->entries);
  ledger_forget(l);
  free(l->changed);
  free(l->root);
  *l = (struct kr_ledger){0};
}

// The place of a kernel's entry, or where it would stand. `found` says which.
static size_t ledger_place(const struct kr_ledger *l, const char *file, const char *kernel,
                           const char *signature, bool *found)
{
  size_t lo = 0, hi = l->n;
  *found = false;
  while (lo < hi) {
    size_t mid = lo + (hi - lo) / 2;
    const struct kr_ledger_entry *e = &l->entries[mid];
    int c = compare_keys(e->file, e->kernel, e->signature, file, kernel, signature);
    if (!c) {
      *found = true;
      return mid;
    }
    if (c < 0)
      lo = mid + 1;
    else
      hi = mid;
  }
  return lo;
}

const struct kr_ledger_entry *kr_ledger_find(const struct kr_ledger *l, const char *file,
                                             const char *kernel, const char *signature)
{
  bool found;
  size_t at = ledger_place(l, file, kernel, signature, &found);
  return found ? &l->entries[at] : NULL;
}

static void ledger_insert(struct kr_ledger *l, struct kr_ledger_entry *entry)
{
  bool found;
  size_t at = ledger_place(l, entry->file, entry->kernel, entry->signature, &found);
  if (found) {
    entry_release(&l->entries[at]);
  } else {
    KR_GROW(l->entries, l->n, l->cap);
    memmove(l->entries + at + 1, l->entries + at, (l->n - at) * sizeof *l->entries);
    l->n++;
  }
  l->entries[at] = *entry;
  *entry = (struct kr_ledger_entry){0};
}

static void ledger_note(struct kr_ledger *l, const char *file, const char *kernel,
                        const char *signature)
{
  KR_GROW(l->changed, l->n_changed, l->cap_changed);
  l->changed[l->n_changed++] =
      (struct kr_ledger_key){kr_xstrdup(file), kr_xstrdup(kernel), kr_xstrdup(signature)};
}

void kr_ledger_put(struct kr_ledger *l, struct kr_ledger_entry *entry)
{
  ledger_note(l, entry->file, entry->kernel, entry->signature);
  ledger_insert(l, entry);
}

static void ledger_erase(struct kr_ledger *l, const char *file, const char *kernel,
                         const char *signature)
{
  bool found;
  size_t at = ledger_place(l, file, kernel, signature, &found);
  if (!found)
    return;
  entry_release(&l->entries[at]);
  l->n--;
  memmove(l->entries + at, l->entries + at + 1, (l->n - at) * sizeof *l->entries);
}

void kr_ledger_remove(struct kr_ledger *l, const char *file, const char *kernel,
                      const char *signature)
{
  ledger_note(l, file, kernel, signature);
  ledger_erase(l, file, kernel, signature);
}

// --- writing ---

static void field_add(struct kr_bytes *out, const char *s, bool in_deps)
{
  if (!s || !*s) {
    kr_bytes_addc(out, '-');
    return;
  }
  if (!strcmp(s, "-")) {
    kr_bytes_adds(out, "%2D");
    return;
  }
  for (; *s; s++) {
    unsigned char c = (unsigned char)*s;
    if (c < 0x20 || c == 0x7f || c == '%' || (in_deps && (c == ';' || c == '=')))
      kr_bytes_addf(out, "%%%02X", c);
    else
      kr_bytes_addc(out, *s);
  }
}

static void hash_add(struct kr_bytes *out, struct kr_hash h)
{
  char hex[KR_HASH_HEX + 1];
  kr_hash_hex(h, hex);
  kr_bytes_adds(out, hex);
}

static void entry_print(const struct kr_ledger_entry *e, struct kr_bytes *out)
{
  field_add(out, e->file, false);
  kr_bytes_addc(out, '\t');
  field_add(out, e->kernel, false);
  kr_bytes_addc(out, '\t');
  field_add(out, e->signature, false);
  kr_bytes_addf(out, "\t%s\t", outcome_names[e->outcome]);
  hash_add(out, e->original);
  kr_bytes_addc(out, '\t');
  hash_add(out, e->marker);
  kr_bytes_addc(out, '\t');
  hash_add(out, e->current);
  kr_bytes_addc(out, '\t');
  hash_add(out, e->slice);
  kr_bytes_addc(out, '\t');
  if (e->outcome == KR_REWRITTEN)
    hash_add(out, e->baseline);
  else
    kr_bytes_addc(out, '-');
  kr_bytes_addc(out, '\t');
  field_add(out, e->tool, false);
  kr_bytes_addc(out, '\t');
  field_add(out, e->backend, false);
  kr_bytes_addc(out, '\t');
  field_add(out, e->gpu, false);
  kr_bytes_addc(out, '\t');
  for (size_t i = 0; i < e->n_deps; i++) {
    kr_bytes_adds(out, i ? ";" : "");
    field_add(out, e->deps[i].file, true);
    kr_bytes_addc(out, '=');
    hash_add(out, e->deps[i].tokens);
  }
  if (!e->n_deps)
    kr_bytes_addc(out, '-');
  kr_bytes_addc(out, '\n');
}

// --- reading ---

static int hex_digit(char c)
{
  return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

// Undoes field_add(); NULL when an escape is broken.
static char *field_take(const char *s, size_t len)
{
  if (len == 1 && *s == '-')
    len = 0;
  char *out = kr_xmalloc(len + 1), *p = out;
  for (size_t i = 0; i < len; i++) {
    if (s[i] != '%') {
      *p++ = s[i];
      continue;
    }
    int hi = i + 2 < len ? hex_digit(s[i + 1]) : -1;
    int lo = hi < 0 ? -1 : hex_digit(s[i + 2]);
    if (lo < 0 || !(hi | lo)) {
      free(out);
      return NULL;
    }
    *p++ = (char)(hi << 4 | lo);
    i += 2;
  }
  *p = '\0';
  return out;
}

static int hash_take(const char *s, size_t len, struct kr_hash *out)
{
  char hex[KR_HASH_HEX + 1];
  if (len != KR_HASH_HEX)
    return -1;
  memcpy(hex, s, len);
  hex[len] = '\0';
  return kr_hash_parse(hex, out);
}

static int deps_take(struct kr_ledger_entry *e, const char *s, size_t len)
{
  size_t cap = 0;
  if (len == 1 && *s == '-')
    return 0;
  for (size_t i = 0; i < len;) {
    const char *semi = memchr(s + i, ';', len - i);
    size_t n = semi ? (size_t)(semi - s) - i : len - i;
    const char *eq = memchr(s + i, '=', n);
    if (!eq)
      return -1;
    size_t name_len = (size_t)(eq - s) - i;
    struct kr_ledger_dep dep;
    if (!name_len || hash_take(eq + 1, n - name_len - 1, &dep.tokens))
      return -1;
    dep.file = field_take(s + i, name_len);
    if (!dep.file)
      return -1;
    KR_GROW(e->deps, e->n_deps, cap);
    e->deps[e->n_deps++] = dep;
    i += n + 1;
    if (semi && i >= len)
      return -1;
  }
  return e->n_deps ? 0 : -1;
}

// Reads one line. Returns NULL, or the name of the field that is wrong.
static const char *entry_read(struct kr_ledger_entry *e, const char *line, size_t len)
{
  static const char *const names[LEDGER_FIELDS] = {
      "file",    "kernel",   "signature", "outcome", "original", "marker",
      "current", "slice",    "baseline",  "tool",    "backend",  "gpu",    "dependencies"};
  const char *f[LEDGER_FIELDS];
  size_t n[LEDGER_FIELDS], at = 0;
  for (int i = 0; i < LEDGER_FIELDS; i++) {
    const char *tab = memchr(line + at, '\t', len - at);
    if (!tab != (i == LEDGER_FIELDS - 1))
      return tab ? "number of fields (13 are expected)" : names[i];
    f[i] = line + at;
    n[i] = tab ? (size_t)(tab - line) - at : len - at;
    if (!n[i])
      return names[i];
    at += n[i] + 1;
  }
  char **texts[] = {&e->file, &e->kernel, &e->signature, NULL,        NULL,    NULL, NULL,
                    NULL,     NULL,       &e->tool,      &e->backend, &e->gpu, NULL};
  for (int i = 0; i < LEDGER_FIELDS; i++) {
    if (texts[i] && !(*texts[i] = field_take(f[i], n[i])))
      return names[i];
  }
  if (!*e->file || !*e->kernel)
    return *e->file ? names[1] : names[0];
  if (n[3] == 9 && !memcmp(f[3], "rewritten", 9))
    e->outcome = KR_REWRITTEN;
  else if (n[3] == 4 && !memcmp(f[3], "kept", 4))
    e->outcome = KR_KEPT;
  else
    return names[3];
  struct kr_hash *hashes[] = {&e->original, &e->marker, &e->current, &e->slice, &e->baseline};
  for (int i = 0; i < 5; i++) {
    if (i == 4 && e->outcome == KR_KEPT ? n[4 + i] != 1 || *f[4 + i] != '-'
                                        : hash_take(f[4 + i], n[4 + i], hashes[i]))
      return names[4 + i];
  }
  return deps_take(e, f[12], n[12]) ? names[12] : NULL;
}

static bool is_conflict(const char *line, size_t len)
{
  static const char *const marks[] = {"<<<<<<<", "|||||||", "=======", ">>>>>>>"};
  for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
    if (len >= 7 && !memcmp(line, marks[i], 7) && (len == 7 || line[7] == ' '))
      return true;
  }
  return false;
}

static int entry_order(const void *pa, const void *pb)
{
  const struct kr_ledger_entry *a = pa, *b = pb;
  return compare_keys(a->file, a->kernel, a->signature, b->file, b->kernel, b->signature);
}

static unsigned max_line(const struct kr_ledger_entry *a, const struct kr_ledger_entry *b)
{
  return a->line > b->line ? a->line : b->line;
}

static unsigned min_line(const struct kr_ledger_entry *a, const struct kr_ledger_entry *b)
{
  return a->line < b->line ? a->line : b->line;
}

static int ledger_parse(struct kr_ledger *l, const char *path, const char *text, size_t len,
                        struct kr_err *err)
{
  unsigned number = 0;
  bool sorted = true;
  for (size_t at = 0; at < len;) {
    const char *nl = memchr(text + at, '\n', len - at);
    const char *line = text + at;
    size_t n = nl ? (size_t)(nl - line) : len - at;
    at += n + 1;
    number++;
    if (n && line[n - 1] == '\r')
      n--;
    if (is_conflict(line, n))
      return kr_err_set(err,
                        "%s:%u: a merge left its conflict marker here; keep one line a kernel and "
                        "take the marker lines out",
                        path, number);
    if (number == 1) {
      size_t head = strlen(ledger_head);
      if (n < head || memcmp(line, ledger_head, head))
        return kr_err_set(err, "%s:1: not a ledger: the first line is not `kevin-ledger 1`", path);
      if (n != head + 1 || line[head] != '1')
        return kr_err_set(err, "%s:1: version %.*s of the ledger is not known here; this is %s",
                          path, (int)(n - head > 20 ? 20 : n - head), line + head,
                          "kevin-rewrite " KR_VERSION);
      continue;
    }
    if (!n)
      continue;
    struct kr_ledger_entry e = {.line = number};
    const char *wrong = entry_read(&e, line, n);
    if (wrong) {
      entry_release(&e);
      return kr_err_set(err, "%s:%u: cannot read the %s of this entry", path, number, wrong);
    }
    if (l->n && entry_order(&l->entries[l->n - 1], &e) >= 0)
      sorted = false;
    KR_GROW(l->entries, l->n, l->cap);
    l->entries[l->n++] = e;
  }
  if (!sorted) {
    qsort(l->entries, l->n, sizeof *l->entries, entry_order);
    for (size_t i = 1; i < l->n; i++) {
      if (!entry_order(&l->entries[i - 1], &l->entries[i]))
        return kr_err_set(err, "%s:%u: a second entry for %s in %s, whose first is in line %u; keep "
                               "one of the lines, or neither",
                          path, max_line(&l->entries[i - 1], &l->entries[i]), l->entries[i].kernel,
                          l->entries[i].file, min_line(&l->entries[i - 1], &l->entries[i]));
    }
  }
  return 0;
}

static char *ledger_path(const char *root)
{
  return kr_xasprintf("%s/.kevin/ledger", root);
}

int kr_ledger_load(struct kr_ledger *l, const char *root, struct kr_err *err)
{
  int rc = -1;
  *l = (struct kr_ledger){.root = kr_xstrdup(root)};
  char *path = ledger_path(root);
  struct kr_source src = {0};
  if (replace_plain(root, NULL, err))
    rc = -1;
  else if (access(path, F_OK) && errno == ENOENT)
    rc = 0;
  else if (!kr_source_read(&src, path, err))
    rc = ledger_parse(l, path, src.data, src.len, err);
  if (rc)
    kr_ledger_release(l);
  kr_source_release(&src);
  free(path);
  return rc;
}

struct ledger_merge {
  const struct kr_ledger *ours;
  const char *path;
};

// Our changes laid over what the file holds now.
static int ledger_make(void *arg, const char *old, size_t old_len, struct kr_bytes *out,
                       struct kr_err *err)
{
  struct ledger_merge *m = arg;
  struct kr_ledger now = {0};
  int rc = ledger_parse(&now, m->path, old, old_len, err);
  if (!rc) {
    kr_bytes_addf(out, "%s1\n", ledger_head);
    for (size_t i = 0; i < m->ours->n_changed; i++) {
      const struct kr_ledger_key *k = &m->ours->changed[i];
      ledger_erase(&now, k->file, k->kernel, k->signature);
    }
    // Both are sorted and hold no kernel twice.
    size_t a = 0, b = 0;
    while (a < now.n || b < m->ours->n) {
      int c = a >= now.n         ? 1
              : b >= m->ours->n ? -1
                                : entry_order(&now.entries[a], &m->ours->entries[b]);
      if (c < 0) {
        entry_print(&now.entries[a++], out);
        continue;
      }
      const struct kr_ledger_entry *e = &m->ours->entries[b++];
      bool mine = false;
      for (size_t i = 0; i < m->ours->n_changed && !mine; i++) {
        const struct kr_ledger_key *k = &m->ours->changed[i];
        mine = !compare_keys(k->file, k->kernel, k->signature, e->file, e->kernel, e->signature);
      }
      if (mine) {
        entry_print(e, out);
      } else if (!c) {
        entry_print(&now.entries[a], out);
      }
      // else: unchanged here and gone there; it stays gone.
      a += !c;
    }
  }
  kr_ledger_release(&now);
  return rc;
}

int kr_ledger_save(struct kr_ledger *l, struct kr_err *err)
{
  // No `merge=union`: it would keep the old line of a kernel that both sides changed.
  static const char attributes[] = "baselines/* -text -diff\nledger text eol=lf\n";
  if (!l->n_changed)
    return 0;
  char *path = ledger_path(l->root);
  char *attributes_path = kr_xasprintf("%s/.kevin/.gitattributes", l->root);
  struct ledger_merge m = {l, path};
  int rc = replace_plain(l->root, NULL, err);
  if (!rc)
    rc = replace_update(path, 0666, ledger_make, &m, err);
  if (rc >= 0 && access(attributes_path, F_OK))
    rc = kr_replace_path(attributes_path, attributes, sizeof attributes - 1, 0666, err);
  free(attributes_path);
  free(path);
  if (rc < 0)
    return -1;
  ledger_forget(l);
  return 0;
}

// --- the root ---

static bool has_folder(const char *folder, const char *name, bool file_too)
{
  struct stat st;
  char *path = kr_xasprintf("%s/%s", folder, name);
  bool yes = !stat(path, &st) && (S_ISDIR(st.st_mode) || (file_too && S_ISREG(st.st_mode)));
  free(path);
  return yes;
}

char *kr_ledger_root(const char *path)
{
  char *real = realpath(path, NULL);
  if (!real) {
    // A file that is not there has a folder all the same.
    const char *slash = strrchr(path, '/');
    char *folder = slash ? kr_xstrndup(path, (size_t)(slash - path) + 1) : kr_xstrdup(".");
    char *real_folder = realpath(folder, NULL);
    free(folder);
    if (!real_folder)
      return kr_xstrdup(".");
    real = kr_xasprintf("%s/x", strcmp(real_folder, "/") ? real_folder : "");
    free(real_folder);
  }
  char *slash = strrchr(real, '/');
  slash[slash == real] = '\0';
  char *own = kr_xstrdup(real), *root = NULL;
  // A repository's edge is the search's edge: a `.kevin` further up belongs to
  // something else. `.git` is a file in worktrees and submodules.
  for (;;) {
    if (has_folder(real, ".kevin", false) || has_folder(real, ".git", true)) {
      root = kr_xstrdup(real);
      break;
    }
    slash = strrchr(real, '/');
    if (!slash || !strcmp(real, "/"))
      break;
    slash[slash == real] = '\0';
  }
  free(real);
  if (!root)
    return own;
  free(own);
  return root;
}
