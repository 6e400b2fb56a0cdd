#include "plugin.h"

#include <cjson/cJSON.h>
#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../evaluator/base/mem.h"

// The allow-list for compiler flags. A compilation database comes with a cloned
// repository, so nothing of it is ever run, and of its files only an -include that
// lies inside the project is ever named to a compiler. What passes is written in
// one form: -I/abs, -DX, -UX, -std=c++17, `-include` and /abs as two items,
// -arch=sm_90, -gencode=..., -use_fast_math, -fmad=false, ...

enum flags_kind {
  FLAG_DIR,     // a folder
  FLAG_MACRO,   // NAME or NAME=value
  FLAG_NAME,    // NAME
  FLAG_STD,     // c++17
  FLAG_FILE,    // a file inside the project
  FLAG_ARCH,    // sm_90
  FLAG_GENCODE, // arch=compute_90,code=sm_90
  FLAG_BOOL,    // true, false
  FLAG_COUNT,   // a number
  FLAG_PLAIN,   // no value
  FLAG_QUIET,   // of no use here and harmless: left out without a word
  FLAG_QUIET_VALUE
};

struct flags_rule {
  const char *spelt;
  enum flags_kind kind;
  const char *written;
  bool joined; // the value may follow without a blank or `=`
};

static const struct flags_rule flags_rules[] = {
    {"-I", FLAG_DIR, "-I", true},
    {"--include-path", FLAG_DIR, "-I", false},
    {"-isystem", FLAG_DIR, "-I", true},
    {"--system-include", FLAG_DIR, "-I", false},
    {"-D", FLAG_MACRO, "-D", true},
    {"--define-macro", FLAG_MACRO, "-D", false},
    {"-U", FLAG_NAME, "-U", true},
    {"--undefine-macro", FLAG_NAME, "-U", false},
    {"-std", FLAG_STD, "-std=", false},
    {"--std", FLAG_STD, "-std=", false},
    {"-include", FLAG_FILE, "-include", false},
    {"--include", FLAG_FILE, "-include", false},
    {"--pre-include", FLAG_FILE, "-include", false},
    {"-arch", FLAG_ARCH, "-arch=", false},
    {"--gpu-architecture", FLAG_ARCH, "-arch=", false},
    {"--cuda-gpu-arch", FLAG_ARCH, "-arch=", false},
    {"--offload-arch", FLAG_ARCH, "-arch=", false},
    {"-gencode", FLAG_GENCODE, "-gencode=", false},
    {"--generate-code", FLAG_GENCODE, "-gencode=", false},
    {"-use_fast_math", FLAG_PLAIN, "-use_fast_math", false},
    {"--use_fast_math", FLAG_PLAIN, "-use_fast_math", false},
    {"-fmad", FLAG_BOOL, "-fmad=", false},
    {"--fmad", FLAG_BOOL, "-fmad=", false},
    {"-ftz", FLAG_BOOL, "-ftz=", false},
    {"--ftz", FLAG_BOOL, "-ftz=", false},
    {"-prec-div", FLAG_BOOL, "-prec-div=", false},
    {"--prec-div", FLAG_BOOL, "-prec-div=", false},
    {"-prec-sqrt", FLAG_BOOL, "-prec-sqrt=", false},
    {"--prec-sqrt", FLAG_BOOL, "-prec-sqrt=", false},
    {"-maxrregcount", FLAG_COUNT, "-maxrregcount=", false},
    {"--maxrregcount", FLAG_COUNT, "-maxrregcount=", false},
    {"-extended-lambda", FLAG_PLAIN, "--extended-lambda", false},
    {"--extended-lambda", FLAG_PLAIN, "--extended-lambda", false},
    {"--expt-extended-lambda", FLAG_PLAIN, "--extended-lambda", false},
    {"-expt-relaxed-constexpr", FLAG_PLAIN, "--expt-relaxed-constexpr", false},
    {"--expt-relaxed-constexpr", FLAG_PLAIN, "--expt-relaxed-constexpr", false},
    {"-c", FLAG_QUIET, NULL, false},
    {"-dc", FLAG_QUIET, NULL, false},
    {"-dw", FLAG_QUIET, NULL, false},
    {"-rdc", FLAG_QUIET_VALUE, NULL, false},
    {"-g", FLAG_QUIET, NULL, false},
    {"-G", FLAG_QUIET, NULL, false},
    {"-lineinfo", FLAG_QUIET, NULL, false},
    {"-fPIC", FLAG_QUIET, NULL, false},
    {"-m64", FLAG_QUIET, NULL, false},
    {"-x", FLAG_QUIET_VALUE, NULL, false},
    {"-o", FLAG_QUIET_VALUE, NULL, false},
    {"-MF", FLAG_QUIET_VALUE, NULL, false},
    {"-MT", FLAG_QUIET_VALUE, NULL, false},
    {"-MD", FLAG_QUIET, NULL, false},
    {"-MMD", FLAG_QUIET, NULL, false},
    {"-O0", FLAG_QUIET, NULL, false},
    {"-O1", FLAG_QUIET, NULL, false},
    {"-O2", FLAG_QUIET, NULL, false},
    {"-O3", FLAG_QUIET, NULL, false},
    {"-forward-unknown-to-host-compiler", FLAG_QUIET, NULL, false},
};

// --- values ---

static bool flags_printable(const char *s)
{
  for (; *s; s++)
    if ((unsigned char)*s < 0x20 || *s == 0x7f)
      return false;
  return true;
}

static size_t flags_identifier(const char *s)
{
  size_t n = 0;
  while (isalnum((unsigned char)s[n]) || s[n] == '_')
    n++;
  return isdigit((unsigned char)s[0]) ? 0 : n;
}

// sm_90, sm_90a, compute_80.
static size_t flags_arch(const char *s)
{
  size_t n = !strncmp(s, "sm_", 3) ? 3 : !strncmp(s, "compute_", 8) ? 8 : 0;
  size_t digits = n ? strspn(s + n, "0123456789") : 0;
  if (!digits || digits > 3)
    return 0;
  n += digits;
  return n + (s[n] == 'a' || s[n] == 'f');
}

// arch=compute_80,code=sm_80 or code=[sm_80,compute_80]; `"` as shells leave it out.
static bool flags_gencode(const char *s)
{
  if (strncmp(s, "arch=", 5))
    return false;
  s += 5;
  size_t n = flags_arch(s);
  s += n;
  if (!n || strncmp(s, ",code=", 6))
    return n && !*s;
  s += 6;
  bool list = *s == '[';
  s += list;
  for (;;) {
    n = flags_arch(s);
    s += n;
    if (!n)
      return false;
    if (*s != ',')
      break;
    s++;
  }
  return list ? !strcmp(s, "]") : !*s;
}

static bool flags_std(const char *s)
{
  static const char *const known[] = {"c++03", "c++11",   "c++14",   "c++17",   "c++20",  "c++23",
                                      "c++2a", "gnu++11", "gnu++14", "gnu++17", "gnu++20"};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (!strcmp(s, known[i]))
      return true;
  return false;
}

static char *flags_absolute(const char *path, const char *dir)
{
  return path[0] == '/' || !dir ? kr_xstrdup(path) : kr_xasprintf("%s/%s", dir, path);
}

static bool flags_below(const char *path, const char *dir)
{
  size_t n = strlen(dir);
  while (n > 1 && dir[n - 1] == '/')
    n--;
  return !strncmp(path, dir, n) && (path[n] == '/' || (n == 1 && dir[0] == '/'));
}

// The real path of a file inside `root`, or NULL: links that lead out are out.
static char *flags_inside(const char *path, const char *dir, const char *root)
{
  char *given = flags_absolute(path, dir), *found = NULL;
  char real[PATH_MAX], real_root[PATH_MAX];
  if (root && realpath(root, real_root) && realpath(given, real) && flags_below(real, real_root))
    found = kr_xstrdup(real);
  free(given);
  return found;
}

// --- the list ---

static void flags_add(struct kr_flags *out, char *item)
{
  KR_GROW(out->items, out->n, out->cap);
  out->items[out->n++] = item;
}

static void flags_drop(struct kr_bytes *dropped, const char *flag, const char *value)
{
  if (!dropped)
    return;
  const char *const parts[] = {flag, value};
  for (int i = 0; i < 2 && parts[i]; i++) {
    if (i)
      kr_bytes_addc(dropped, ' ');
    for (const char *s = parts[i]; *s; s++)
      kr_bytes_addc(dropped, (unsigned char)*s < 0x20 || *s == 0x7f ? '?' : *s);
  }
  kr_bytes_addc(dropped, '\n');
}

static bool flags_bool(const char *s)
{
  return !strcmp(s, "true") || !strcmp(s, "false");
}

// Adds the flag with its value, or returns false.
static bool flags_take(struct kr_flags *out, const struct flags_rule *rule, const char *value,
                       const char *dir, const char *root)
{
  char *path;
  size_t n;
  switch (rule->kind) {
  case FLAG_PLAIN:
    flags_add(out, kr_xstrdup(rule->written));
    return true;
  case FLAG_DIR:
    if (!value[0] || !flags_printable(value))
      return false;
    path = flags_absolute(value, dir);
    flags_add(out, kr_xasprintf("-I%s", path));
    free(path);
    return true;
  case FLAG_FILE:
    path = flags_printable(value) ? flags_inside(value, dir, root) : NULL;
    if (!path)
      return false;
    flags_add(out, kr_xstrdup("-include"));
    flags_add(out, path);
    return true;
  case FLAG_MACRO:
    n = flags_identifier(value);
    if (!n || (value[n] && value[n] != '=' && value[n] != '(') || !flags_printable(value))
      return false;
    break;
  case FLAG_NAME:
    n = flags_identifier(value);
    if (!n || value[n])
      return false;
    break;
  case FLAG_STD:
    if (!flags_std(value))
      return false;
    break;
  case FLAG_ARCH:
    n = flags_arch(value);
    if (!n || value[n])
      return false;
    break;
  case FLAG_GENCODE:
    if (!flags_gencode(value))
      return false;
    break;
  case FLAG_BOOL:
    if (!flags_bool(value))
      return false;
    break;
  case FLAG_COUNT:
    n = strspn(value, "0123456789");
    if (!n || n > 3 || value[n])
      return false;
    break;
  case FLAG_QUIET:
  case FLAG_QUIET_VALUE:
    return true;
  }
  flags_add(out, kr_xasprintf("%s%s", rule->written, value));
  return true;
}

static const struct flags_rule *flags_find(const char *flag, const char **value)
{
  const struct flags_rule *best = NULL;
  size_t best_len = 0;
  for (size_t i = 0; i < sizeof flags_rules / sizeof *flags_rules; i++) {
    const struct flags_rule *r = &flags_rules[i];
    size_t n = strlen(r->spelt);
    bool valued = r->kind != FLAG_PLAIN && r->kind != FLAG_QUIET;
    if (strncmp(flag, r->spelt, n) || n < best_len)
      continue;
    if (!flag[n])
      *value = NULL;
    else if (valued && flag[n] == '=' && !(r->joined && strchr("DU", r->spelt[1])))
      *value = flag + n + 1;
    else if (valued && r->joined)
      *value = flag + n;
    else
      continue;
    best = r;
    best_len = n;
  }
  return best;
}

void kr_flags_filter(struct kr_flags *out, const char *const *argv, size_t n, const char *dir,
                     const char *root, struct kr_bytes *dropped)
{
  for (size_t i = 0; i < n; i++) {
    const char *value = NULL;
    const struct flags_rule *rule = flags_find(argv[i], &value);
    if (!rule) {
      // The value of an unknown flag cannot be told from a file's name; both go.
      flags_drop(dropped, argv[i], NULL);
      continue;
    }
    bool valued = rule->kind != FLAG_PLAIN && rule->kind != FLAG_QUIET;
    const char *separate = NULL;
    if (valued && !value) {
      if (i + 1 >= n) {
        flags_drop(dropped, argv[i], NULL);
        continue;
      }
      separate = value = argv[++i];
    }
    if (!flags_take(out, rule, value ? value : "", dir, root))
      flags_drop(dropped, separate ? argv[i - 1] : argv[i], separate);
  }
}

void kr_flags_release(struct kr_flags *f)
{
  for (size_t i = 0; i < f->n; i++)
    free(f->items[i]);
  free(f->items);
  *f = (struct kr_flags){0};
}

// --- compile_commands.json ---

// Splits a command as a shell would, but for what a shell does beyond quoting:
// nothing is expanded.
static void flags_split(struct kr_flags *words, const char *s)
{
  struct kr_bytes word;
  kr_bytes_init(&word, KR_BYTES_DEFAULT_MAX);
  bool inside = false;
  char quote = '\0';
  for (;; s++) {
    if (!*s || (!quote && isspace((unsigned char)*s))) {
      if (inside)
        flags_add(words, kr_xstrdup(word.data));
      kr_bytes_reset(&word);
      inside = false;
      if (!*s)
        break;
    } else if (quote && *s == quote) {
      quote = '\0';
    } else if (!quote && (*s == '\'' || *s == '"')) {
      quote = *s;
      inside = true;
    } else {
      if (*s == '\\' && s[1] && (!quote || (quote == '"' && strchr("\\\"$`", s[1]))))
        s++;
      kr_bytes_addc(&word, *s);
      inside = true;
    }
  }
  kr_bytes_release(&word);
}

// The folder that -include may not leave: that of the database when the source lies
// below it, else the deepest one around both; the source's own folder when that is
// the root of the file system.
static char *flags_root(const char *dir, const char *source)
{
  char real[PATH_MAX];
  char *root = kr_xstrdup(realpath(dir, real) ? real : dir);
  while (!flags_below(source, root) && strrchr(root, '/') && root[1])
    *strrchr(root, '/') = '\0';
  if (!root[0] || !strcmp(root, "/")) {
    free(root);
    root = kr_xstrdup(source);
    char *slash = strrchr(root, '/');
    if (slash)
      *slash = '\0';
  }
  return root;
}

static bool flags_entry_is(const cJSON *entry, const char *path)
{
  const cJSON *file = cJSON_GetObjectItemCaseSensitive(entry, "file");
  const cJSON *where = cJSON_GetObjectItemCaseSensitive(entry, "directory");
  if (!cJSON_IsString(file) || !cJSON_IsString(where))
    return false;
  char *whole = flags_absolute(file->valuestring, where->valuestring);
  char real[PATH_MAX];
  bool same = realpath(whole, real) ? !strcmp(real, path) : !strcmp(whole, path);
  free(whole);
  return same;
}

int kr_flags_from_database(struct kr_flags *out, const char *dir, const char *path,
                           struct kr_bytes *dropped, struct kr_err *err)
{
  int rc = -1;
  char *name = kr_xasprintf("%s/compile_commands.json", dir);
  struct kr_source text = {0};
  cJSON *root = NULL;
  struct kr_flags words = {0};
  char real[PATH_MAX];
  if (access(name, F_OK)) {
    rc = 1;
    goto out;
  }
  if (kr_source_read(&text, name, err))
    goto out;
  root = cJSON_ParseWithLength(text.data, text.len);
  if (!cJSON_IsArray(root)) {
    kr_err_set(err, "%s is not a compilation database: it is no JSON array", name);
    goto out;
  }
  if (!realpath(path, real)) {
    kr_err_errno(err, "cannot resolve %s", path);
    goto out;
  }
  const cJSON *entry;
  rc = 1;
  cJSON_ArrayForEach(entry, root)
  {
    if (!cJSON_IsObject(entry)) {
      rc = kr_err_set(err, "%s is not a compilation database: an entry is no object", name);
      goto out;
    }
    if (!flags_entry_is(entry, real))
      continue;
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(entry, "arguments");
    const cJSON *command = cJSON_GetObjectItemCaseSensitive(entry, "command");
    if (cJSON_IsArray(list)) {
      const cJSON *one;
      cJSON_ArrayForEach(one, list)
      {
        if (!cJSON_IsString(one)) {
          rc = kr_err_set(err, "%s: the arguments for %s are not all strings", name, path);
          goto out;
        }
        flags_add(&words, kr_xstrdup(one->valuestring));
      }
    } else if (cJSON_IsString(command)) {
      flags_split(&words, command->valuestring);
    } else {
      rc = kr_err_set(err, "%s: the entry for %s has neither a command nor arguments", name, path);
      goto out;
    }
    char *project = flags_root(dir, real);
    const char *where = cJSON_GetObjectItemCaseSensitive(entry, "directory")->valuestring;
    // The first word is someone's compiler; it is never looked at. A source file's
    // name is no flag.
    for (size_t i = 1; i < words.n;) {
      char *whole = flags_absolute(words.items[i], where);
      char other[PATH_MAX];
      bool source = words.items[i][0] != '-' && realpath(whole, other) && !strcmp(other, real);
      free(whole);
      if (source) {
        free(words.items[i]);
        memmove(&words.items[i], &words.items[i + 1], (words.n - i - 1) * sizeof *words.items);
        words.n--;
      } else {
        i++;
      }
    }
    if (words.n > 1)
      kr_flags_filter(out, (const char *const *)words.items + 1, words.n - 1, where, project,
                      dropped);
    free(project);
    rc = 0;
    break;
  }
out:
  kr_flags_release(&words);
  cJSON_Delete(root);
  kr_source_release(&text);
  free(name);
  return rc;
}
