#include "prompt_set.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../evaluator/base/hash.h"
#include "../evaluator/base/mem.h"
#include "../evaluator/base/source.h"
#include "../evaluator/base/utf8.h"
#include "prompt_texts.h"

enum { SET_MAX_FILE = 1 << 20 };

// What may stand in a template; what begins with ! must.
static const struct set_row {
  const char *name;
  const char *placeholders[12];
} rows[] = {
    {"base",
     {"!kernel", "file", "!code", "!context", "geometry", "!terms", "device", "!prefix", "!launch",
      "asm"}},
    {"example", {"kernel"}},
    {"first", {"kernel"}},
    {"turn", {"turn", "!code", "summary", "!told"}},
    {"again", {"turn", "kernel"}},
    {"launch_fixed", {"why"}},
    {"launch_tunable", {"!shared"}},
};
enum { N_ROWS = sizeof rows / sizeof *rows };

struct prompt_set {
  const char *texts[N_ROWS];
  char *owned[N_ROWS];
  char *identity;
};

static size_t set_row(const char *name, size_t len)
{
  size_t i = 0;
  while (i < N_ROWS && (strlen(rows[i].name) != len || strncmp(rows[i].name, name, len)))
    i++;
  return i;
}

// The compiled-in template of a profile, or NULL; "base" or "kevin/base".
static const char *set_builtin(const char *profile, const char *name)
{
  char path[64];
  bool is_default = !strcmp(profile, "default");
  snprintf(path, sizeof path, "%s%s%s", is_default ? "" : profile, is_default ? "" : "/", name);
  for (unsigned i = 0; i < n_prompt_texts; i++)
    if (!strcmp(prompt_texts[i].name, path))
      return prompt_texts[i].text;
  return NULL;
}

// The next placeholder from `text` on: its braces' begin, NULL where there is none.
static const char *set_placeholder(const char *text, const char **name, size_t *len)
{
  for (const char *open = text; (open = strstr(open, "{{")); open++) {
    *name = open + 2;
    *len = strspn(*name, "abcdefghijklmnopqrstuvwxyz_");
    if (*len && !strncmp(*name + *len, "}}", 2))
      return open;
  }
  return NULL;
}

static int set_check(size_t row, const char *path, const char *text, struct kr_err *err)
{
  const char *const *known = rows[row].placeholders;
  bool seen[12] = {false};
  const char *name;
  size_t len;
  unsigned line = 1;
  for (const char *at = text, *open; (open = set_placeholder(at, &name, &len)); at = name + len) {
    size_t i = 0;
    for (; at < open; at++)
      line += *at == '\n';
    while (known[i] && (strlen(known[i] + (*known[i] == '!')) != len ||
                        strncmp(known[i] + (*known[i] == '!'), name, len)))
      i++;
    if (known[i]) {
      seen[i] = true;
      continue;
    }
    struct kr_bytes list;
    kr_bytes_init(&list, 1024);
    for (size_t k = 0; known[k]; k++)
      kr_bytes_addf(&list, "%s{{%s}}", k ? ", " : "", known[k] + (*known[k] == '!'));
    kr_err_set(err, "%s:%u: unknown placeholder {{%.*s}}; `%s` has %s", path, line,
               (int)(len < 40 ? len : 40), name, rows[row].name, list.data);
    kr_bytes_release(&list);
    return -1;
  }
  for (size_t i = 0; known[i]; i++)
    if (*known[i] == '!' && !seen[i])
      return kr_err_set(err, "%s: lacks {{%s}}, without which a model does not know what to do",
                        path, known[i] + 1);
  return 0;
}

static int set_read(struct prompt_set *s, size_t row, const char *path, struct kr_err *err)
{
  struct kr_source src;
  if (kr_source_read(&src, path, err))
    return -1;
  int rc = 0;
  size_t good = kr_utf8_check(src.data, src.len);
  if (src.len > SET_MAX_FILE)
    rc = kr_err_set(err, "%s is longer than %d bytes", path, SET_MAX_FILE);
  else if (good < src.len)
    rc = kr_err_set(err, "%s is not UTF-8 at byte %zu", path, good);
  else if (memchr(src.data, 0, src.len))
    rc = kr_err_set(err, "%s holds a NUL character", path);
  else
    rc = set_check(row, path, src.data, err);
  if (!rc)
    s->texts[row] = s->owned[row] = kr_xstrdup(src.data);
  kr_source_release(&src);
  return rc;
}

static int set_read_dir(struct prompt_set *s, const char *dir, struct kr_err *err)
{
  DIR *d = opendir(dir);
  size_t n = 0;
  int rc = 0;
  if (!d)
    return kr_err_errno(err, "--prompts: cannot open %s", dir);
  for (struct dirent *e; !rc && (errno = 0, e = readdir(d));) {
    size_t len = strlen(e->d_name);
    // Hidden files, notes and an editor's backups are no templates.
    if (*e->d_name == '.' || len < 5 || strcmp(e->d_name + len - 4, ".txt"))
      continue;
    char *path = kr_xasprintf("%s/%s", dir, e->d_name);
    size_t row = set_row(e->d_name, len - 4);
    if (row == N_ROWS) {
      struct kr_bytes list;
      kr_bytes_init(&list, 1024);
      for (size_t i = 0; i < N_ROWS; i++)
        kr_bytes_addf(&list, "%s%s.txt", !i ? "" : i + 1 < N_ROWS ? ", " : " and ", rows[i].name);
      rc = kr_err_set(err, "%s: there is no such template; there are %s", path, list.data);
      kr_bytes_release(&list);
    } else {
      rc = set_read(s, row, path, err);
      n++;
    }
    free(path);
  }
  if (!rc && errno)
    rc = kr_err_errno(err, "--prompts: cannot read %s", dir);
  if (!rc && !n)
    rc = kr_err_set(err, "--prompts: there is no template, such as base.txt, in %s", dir);
  closedir(d);
  return rc;
}

int prompt_set_open(const char *profile, const char *dir, struct prompt_set **out,
                    struct kr_err *err)
{
  struct prompt_set *s = kr_xcalloc(1, sizeof *s);
  int rc = 0;
  for (size_t i = 0; i < N_ROWS; i++) {
    const char *text = set_builtin(profile, rows[i].name);
    s->texts[i] = text ? text : set_builtin("default", rows[i].name);
    char *path = kr_xasprintf("the built-in %s.txt of %s", rows[i].name, profile);
    if (!rc)
      rc = set_check(i, path, s->texts[i], err);
    free(path);
  }
  if (!rc && dir)
    rc = set_read_dir(s, dir, err);
  if (!rc && (dir || strcmp(profile, "default"))) {
    struct kr_hasher h;
    char hex[KR_HASH_HEX + 1];
    kr_hasher_init(&h);
    for (size_t i = 0; i < N_ROWS; i++)
      kr_hasher_field(&h, s->texts[i], strlen(s->texts[i]));
    kr_hash_hex(kr_hasher_end(&h), hex);
    s->identity = kr_xasprintf("profile=%s prompts=%.*s", profile, KR_HASH_SHOWN, hex);
  }
  if (rc) {
    prompt_set_free(s);
    s = NULL;
  }
  *out = s;
  return rc;
}

void prompt_set_free(struct prompt_set *s)
{
  if (!s)
    return;
  for (size_t i = 0; i < N_ROWS; i++)
    free(s->owned[i]);
  free(s->identity);
  free(s);
}

const char *prompt_set_text(const struct prompt_set *s, const char *name)
{
  size_t row = set_row(name, strlen(name));
  const char *text = row == N_ROWS ? NULL : s ? s->texts[row] : set_builtin("default", name);
  if (text)
    return text;
  fprintf(stderr, "kevin-rewrite: no prompt template `%s`\n", name);
  abort();
}

const char *prompt_set_identity(const struct prompt_set *s)
{
  return s ? s->identity : NULL;
}

void prompt_set_fill(const struct prompt_set *s, const char *name,
                     const struct prompt_value *values, size_t n, struct kr_bytes *out)
{
  const char *text = prompt_set_text(s, name), *found;
  size_t len;
  for (const char *open; (open = set_placeholder(text, &found, &len)); text = found + len + 2) {
    size_t i = 0;
    while (i < n && (strlen(values[i].name) != len || strncmp(values[i].name, found, len)))
      i++;
    if (i == n) {
      fprintf(stderr, "kevin-rewrite: prompt template `%s`: unknown %.30s\n", name, open);
      abort();
    }
    kr_bytes_add(out, text, (size_t)(open - text));
    kr_bytes_adds(out, values[i].value); // cppcheck-suppress nullPointer ; i < n
  }
  kr_bytes_adds(out, text);
}
