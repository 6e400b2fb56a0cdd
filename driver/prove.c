#include "prove.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../evaluator/base/mem.h"
#include "../evaluator/base/parts.h"
#include "../evaluator/cuda/cubin.h"
#include "spawn.h"

// The compiler runs under `env -i`, so that neither keys nor variables that
// change what it compiles (NVCC_APPEND_FLAGS, CPATH, CCC_OVERRIDE_OPTIONS) reach
// it. Its temporaries go where the text went and are removed with it.

enum { PROVE_TIMEOUT_MS = 300000, PROVE_LOG_MAX = 1 << 20 };

struct prove_args {
  char **items; // owned; NULL-terminated
  size_t n, cap;
};

static void args_add(struct prove_args *a, char *owned)
{
  KR_GROW(a->items, a->n, a->cap);
  a->items[a->n++] = owned;
}

static void args_release(struct prove_args *a)
{
  for (size_t i = 0; i < a->n; i++)
    free(a->items[i]);
  free(a->items);
  *a = (struct prove_args){0};
}

// A program in the absolute folders of PATH; the caller frees it.
static char *on_path(const char *name)
{
  const char *path = getenv("PATH");
  for (const char *p = path; p && *p;) {
    size_t n = strcspn(p, ":");
    char *full = kr_xasprintf("%.*s/%s", (int)n, p, name);
    if (full[0] == '/' && kr_is_program(full))
      return full;
    free(full);
    p += n + (p[n] == ':');
  }
  return NULL;
}

static char *find_nvcc(const char *cuda_path)
{
  if (cuda_path) {
    char *full = kr_xasprintf("%s/bin/nvcc", cuda_path);
    if (kr_is_program(full))
      return full;
    free(full);
  }
  return on_path("nvcc");
}

static char *find_clang(void)
{
#ifdef KR_CLANG_PROGRAM
  if (kr_is_program(KR_CLANG_PROGRAM))
    return kr_xstrdup(KR_CLANG_PROGRAM);
#endif
  char *clang = on_path("clang-19");
  return clang ? clang : on_path("clang");
}

// --- the folder ---

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
  (void)st;
  (void)type;
  (void)at;
  remove(path);
  return 0;
}

static char *make_folder(struct kr_err *err)
{
  const char *tmp = getenv("TMPDIR");
  char *folder = kr_xasprintf("%s/kevin-prove-XXXXXX", tmp && tmp[0] == '/' ? tmp : "/tmp");
  if (mkdtemp(folder))
    return folder;
  kr_err_errno(err, "cannot make a folder %s", folder);
  free(folder);
  return NULL;
}

// The text behind a #line that gives it its own name; a BOM would not be one there.
static int write_text(const char *path, const char *name, const char *text, size_t len,
                      struct kr_err *err)
{
  FILE *f = fopen(path, "wbe");
  if (!f)
    return kr_err_errno(err, "cannot write %s", path);
  if (len >= 3 && !memcmp(text, "\xEF\xBB\xBF", 3)) {
    text += 3;
    len -= 3;
  }
  fputs("#line 1 \"", f);
  for (const char *p = name; *p; p++) {
    if (*p == '"' || *p == '\\')
      fputc('\\', f);
    fputc(*p, f);
  }
  fputs("\"\n", f);
  bool bad = len && fwrite(text, 1, len, f) != len;
  if (fclose(f) || bad)
    return kr_err_errno(err, "cannot write %s", path);
  return 0;
}

// --- the command ---

static void add_environment(struct prove_args *a, const char *folder, const char *env)
{
  const char *path = getenv("PATH"), *libraries = getenv("LD_LIBRARY_PATH");
  args_add(a, kr_xstrdup(env));
  args_add(a, kr_xstrdup("-i"));
  args_add(a, kr_xasprintf("PATH=%s", path ? path : "/usr/bin:/bin"));
  if (libraries)
    args_add(a, kr_xasprintf("LD_LIBRARY_PATH=%s", libraries));
  args_add(a, kr_xasprintf("TMPDIR=%s", folder));
  args_add(a, kr_xstrdup("LC_ALL=C"));
}

// How many words of flags[i] on name architectures; 0 when it does not.
static size_t arch_words(const char *const *flags, size_t n, size_t i)
{
  static const char *const names[] = {"-arch", "--gpu-architecture", "-gencode", "--generate-code",
                                      "-code", "--gpu-code"};
  for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
    size_t len = strlen(names[k]);
    if (strncmp(flags[i], names[k], len))
      continue;
    if (flags[i][len] == '=')
      return 1;
    if (!flags[i][len])
      return i + 1 < n ? 2 : 1;
  }
  return 0;
}

// `arch` NULL: host and device, for the architectures of the flags; else machine code
// for that one ("": the compiler's own choice) alone.
static void nvcc_args(struct prove_args *a, const char *nvcc, const char *const *flags, size_t n,
                      const char *folder, const char *user_folder, const char *text,
                      const char *arch, bool ndebug)
{
  args_add(a, kr_xstrdup(nvcc));
  for (size_t i = 0; i < n; i++) {
    size_t words = arch ? arch_words(flags, n, i) : 0;
    if (words)
      i += words - 1;
    else
      args_add(a, kr_xstrdup(flags[i]));
  }
  if (arch && arch[0])
    args_add(a, kr_xasprintf("-arch=%s", arch));
  if (ndebug) {
    args_add(a, kr_xstrdup("-UNDEBUG"));
    args_add(a, kr_xstrdup("-DNDEBUG"));
  }
  // Quoted includes look beside the original first, as they do there; a comma
  // would end the option's value.
  if (strchr(user_folder, ','))
    args_add(a, kr_xasprintf("-I%s", user_folder));
  else {
    args_add(a, kr_xstrdup("-Xcompiler"));
    args_add(a, kr_xasprintf("-iquote%s", user_folder));
  }
  args_add(a, kr_xstrdup("-x"));
  args_add(a, kr_xstrdup("cu"));
  args_add(a, kr_xstrdup(arch ? "-cubin" : "-c"));
  args_add(a, kr_xstrdup("-o"));
  args_add(a, kr_xasprintf("%s/out.o", folder));
  args_add(a, kr_xstrdup(text));
}

static void clang_args(struct prove_args *a, const char *clang, const char *const *flags, size_t n,
                       const char *user_folder, const char *text)
{
  bool std = false;
  args_add(a, kr_xstrdup(clang));
  static const char *const fixed[] = {"-x", "cuda", "--cuda-device-only", "-fsyntax-only",
                                      "-nocudalib", "-nocudainc", "-Wno-everything",
                                      "-Xclang", "-target-sdk-version=12.5"};
  for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
    args_add(a, kr_xstrdup(fixed[i]));
  const char *arch = NULL;
  for (size_t i = 0; i < n; i++) {
    const char *f = flags[i];
    if (!strncmp(f, "-arch=sm_", 9))
      arch = f + 6;
    bool pair = !strcmp(f, "-include") || !strcmp(f, "-isystem") || !strcmp(f, "-I") ||
                !strcmp(f, "-D") || !strcmp(f, "-U");
    if (pair && i + 1 < n) {
      args_add(a, kr_xstrdup(f));
      args_add(a, kr_xstrdup(flags[++i]));
    } else if (!strncmp(f, "-I", 2) || !strncmp(f, "-D", 2) || !strncmp(f, "-U", 2) ||
               !strncmp(f, "-isystem", 8) || !strncmp(f, "-std=", 5)) {
      std = std || !strncmp(f, "-std=", 5);
      args_add(a, kr_xstrdup(f));
    }
  }
  if (!std)
    args_add(a, kr_xstrdup("-std=c++17"));
  args_add(a, kr_xasprintf("--cuda-gpu-arch=%s", arch ? arch : "sm_90"));
  args_add(a, kr_xasprintf("-iquote%s", user_folder));
  char *headers = kr_part_headers();
  if (headers) {
    args_add(a, kr_xasprintf("-isystem%s", headers));
    args_add(a, kr_xstrdup("-include"));
    args_add(a, kr_xstrdup("cuda_runtime.h"));
  }
  free(headers);
  args_add(a, kr_xstrdup(text));
}

// The first line of a log that tells an error, else its first line.
static void first_error(const char *log, char *out, size_t size)
{
  const char *best = log;
  for (const char *p = log; *p;) {
    size_t n = strcspn(p, "\n");
    char *line = kr_xstrndup(p, n);
    bool error = strstr(line, "error") != NULL;
    free(line);
    if (error) {
      best = p;
      break;
    }
    p += n + (p[n] == '\n');
  }
  size_t n = strcspn(best, "\n");
  snprintf(out, size, "%.*s", (int)(n < size ? n : size - 1), best);
}

struct prove {
  const struct kr_source *original;
  const char *const *flags;
  size_t n_flags;
  const char *compiler;
  bool nvcc;
  char *env, *folder, *user_folder; // owned
  const char *arch; // see nvcc_args()
  bool ndebug;
};

// 0 compiles, 1 does not (`said`), -1 could not be run.
static int compile(const struct prove *p, const void *text, size_t len, char *said, size_t size,
                   struct kr_err *err)
{
  int rc = -1;
  struct prove_args args = {0};
  struct kr_bytes out, log;
  char *path = kr_xasprintf("%s/text.cu", p->folder);
  kr_bytes_init(&out, PROVE_LOG_MAX);
  kr_bytes_init(&log, PROVE_LOG_MAX);
  if (write_text(path, p->original->path, text, len, err))
    goto out;
  add_environment(&args, p->folder, p->env);
  if (p->nvcc)
    nvcc_args(&args, p->compiler, p->flags, p->n_flags, p->folder, p->user_folder, path,
              p->arch, p->ndebug);
  else
    clang_args(&args, p->compiler, p->flags, p->n_flags, p->user_folder, path);
  KR_GROW(args.items, args.n, args.cap);
  args.items[args.n] = NULL;
  int status = spawn_run((const char *const *)(void *)args.items, p->folder, PROVE_TIMEOUT_MS, &out,
                         &log, err);
  if (status < 0)
    goto out;
  if (status >= 126) {
    first_error(log.len ? log.data : out.data, said, size);
    kr_err_set(err, "%s ended with status %d on %s: %s", p->compiler, status, p->original->path,
               said[0] ? said : "no message");
    goto out;
  }
  rc = status != 0;
  if (rc)
    first_error(log.len ? log.data : out.data, said, size);
out:
  args_release(&args);
  kr_bytes_release(&out);
  kr_bytes_release(&log);
  free(path);
  return rc;
}

// --- the other functions ---

enum { PROVE_MAX_ARCHS = 16, PROVE_CUBIN_MAX = 256 << 20 };

// "sm_90", of every architecture that the flags name; at least one entry, "" where
// they name none.
static size_t archs_of(const char *const *flags, size_t n, char out[PROVE_MAX_ARCHS][16])
{
  size_t count = 0;
  for (size_t i = 0; i < n; i++) {
    size_t words = arch_words(flags, n, i);
    for (size_t w = 0; w < words; w++) {
      for (const char *at = flags[i + w]; at && *at;) {
        const char *sm = strstr(at, "sm_"), *compute = strstr(at, "compute_");
        at = !sm || (compute && compute < sm) ? compute : sm;
        if (!at)
          break;
        at = strchr(at, '_') + 1;
        size_t len = strspn(at, "0123456789af");
        char arch[16];
        snprintf(arch, sizeof arch, "sm_%.*s", (int)(len < 8 ? len : 8), at);
        bool known = !len;
        for (size_t k = 0; k < count; k++)
          known = known || !strcmp(out[k], arch);
        if (!known && count < PROVE_MAX_ARCHS)
          memcpy(out[count++], arch, sizeof arch);
      }
    }
    if (words)
      i += words - 1;
  }
  if (!count)
    out[count++][0] = '\0';
  return count;
}

// The machine code of a text; 0, or -1 with `err` set.
static int machine_code(struct prove *p, const void *text, size_t len, struct kr_bytes *code,
                        struct kr_err *err)
{
  char said[1024] = "", part[65536];
  int rc = compile(p, text, len, said, sizeof said, err);
  if (rc)
    return rc < 0 ? -1 : kr_err_set(err, "%s: no machine code: %s", p->original->path, said);
  char *path = kr_xasprintf("%s/out.o", p->folder);
  FILE *f = fopen(path, "rbe");
  size_t n;
  kr_bytes_reset(code);
  while (f && (n = fread(part, 1, sizeof part, f)) > 0)
    kr_bytes_add(code, part, n);
  if (!f || ferror(f))
    rc = kr_err_errno(err, "cannot read %s", path);
  if (f)
    fclose(f);
  free(path);
  return rc;
}

static int others_same(struct prove *p, const void *patched, size_t len,
                       const char *const *kernels, size_t n, struct kr_err *err)
{
  char archs[PROVE_MAX_ARCHS][16], what[600] = "";
  size_t n_archs = archs_of(p->flags, p->n_flags, archs);
  struct kr_bytes before, after;
  int same = 1;
  kr_bytes_init(&before, PROVE_CUBIN_MAX);
  kr_bytes_init(&after, PROVE_CUBIN_MAX);
  for (size_t i = 0; i < n_archs && same == 1; i++) {
    p->arch = archs[i];
    for (int round = 0; round < 2; round++) {
      p->ndebug = round;
      if (machine_code(p, p->original->data, p->original->len, &before, err) ||
          machine_code(p, patched, len, &after, err))
        same = -1;
      else
        same = cubin_same_but((const unsigned char *)before.data, before.len,
                              (const unsigned char *)after.data, after.len, kernels, n, what,
                              sizeof what, err);
      if (same)
        break;
    }
    if (!same)
      kr_err_set(err, "%s: the rewrite would change more than its kernel%s%s: %s",
                 p->original->path, archs[i][0] ? " on " : "", archs[i], what);
  }
  p->arch = NULL;
  p->ndebug = false;
  kr_bytes_release(&before);
  kr_bytes_release(&after);
  return same < 0 ? -1 : !same;
}

int kr_prove_compiles(const struct kr_source *original, const void *patched, size_t len,
                      const char *const *flags, size_t n, const char *cuda_path,
                      const char *const *kernels, size_t n_kernels, struct kr_err *err)
{
  int rc = -1;
  char said[1024] = "", before[1024] = "";
  struct prove p = {.original = original, .flags = flags, .n_flags = n};
  char *compiler = find_nvcc(cuda_path);
  p.nvcc = compiler != NULL;
  if (!compiler)
    compiler = find_clang();
  p.env = on_path("env");
  p.compiler = compiler;
  if (!compiler || !p.env) {
    kr_err_set(err, "%s: no nvcc and no clang is there to compile the rewritten text before it is "
                    "written; give --cuda-path",
               original->path);
    goto out;
  }
  char *slash = strrchr(original->real, '/');
  p.user_folder = slash ? kr_xstrndup(original->real, (size_t)(slash - original->real) + (slash == original->real))
                        : kr_xstrdup(".");
  if (p.user_folder[0] != '/') {
    char *absolute = realpath(p.user_folder, NULL);
    if (absolute) {
      free(p.user_folder);
      p.user_folder = absolute;
    }
  }
  p.folder = make_folder(err);
  if (!p.folder)
    goto out;
  rc = compile(&p, patched, len, said, sizeof said, err);
  if (rc == 1) {
    // Is it the rewrite's fault? Asked only when something is wrong.
    int original_rc = compile(&p, original->data, original->len, before, sizeof before, err);
    if (original_rc < 0)
      rc = -1;
    else if (original_rc == 1)
      rc = kr_err_set(err, "%s does not compile with %s even before the rewrite: %s",
                      original->path, compiler, before);
    else
      kr_err_set(err, "the rewritten %s does not compile: %s", original->path, said);
  } else if (!rc && p.nvcc) {
    rc = others_same(&p, patched, len, kernels, n_kernels, err);
  }
out:
  if (p.folder)
    nftw(p.folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
  free(p.folder);
  free(p.user_folder);
  free(p.env);
  free(compiler);
  return rc;
}
