#include "compile.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/log.h"
#include "../base/mem.h"
#include "stdheaders.h"

// libcu++ makes int64_t `long long` where it has no host library to ask, while
// under nvcc it is glibc's `long`. One slice may reach both headers, so they
// must agree, and they must agree with nvcc.
static char *read_cuda_stdint(const struct toolkit *kit)
{
  if (!kit->includes[1])
    return NULL;
  char *path = kr_xasprintf("%s/cuda/std/cstdint", kit->includes[1]);
  FILE *f = fopen(path, "rbe");
  free(path);
  if (!f)
    return NULL;
  enum { MAX = 1 << 18 };
  char *text = kr_xmalloc(MAX + 1);
  size_t n = fread(text, 1, MAX, f);
  text[n] = 0;
  fclose(f);
  static const char *const pairs[][2] = {{"= signed long long;", "= long"},
                                         {"= unsigned long long;", "= unsigned long"}};
  for (size_t i = 0; i < 2; i++) {
    size_t len = strlen(pairs[i][0]) - 1; // all but the semicolon, padded with blanks
    for (char *at = text; (at = strstr(at, pairs[i][0])); at += len) {
      memset(at, ' ', len);
      memcpy(at, pairs[i][1], strlen(pairs[i][1]));
    }
  }
  return text;
}

int nvrtc_compiler_open(struct nvrtc_compiler *c, const char *cuda_path, struct kr_err *err)
{
  memset(c, 0, sizeof *c);
  if (toolkit_find(&c->kit, cuda_path, err))
    return -1;
  c->lib = libnvrtc_open(c->kit.root, err);
  if (!c->lib) {
    toolkit_release(&c->kit);
    return -1;
  }
  c->cuda_stdint = read_cuda_stdint(&c->kit);
  return 0;
}

void nvrtc_compiler_release(struct nvrtc_compiler *c)
{
  toolkit_release(&c->kit);
  free(c->cuda_stdint);
  memset(c, 0, sizeof *c);
}

void cuda_code_release(struct cuda_code *code)
{
  free(code->cubin);
  for (size_t i = 0; i < code->n_lowered; i++)
    free(code->lowered[i]);
  free(code->lowered);
  memset(code, 0, sizeof *code);
}

// --- flags ---

struct options {
  char **items;
  size_t n, cap;
};

static void options_add(struct options *o, char *taken)
{
  KR_GROW(o->items, o->n, o->cap);
  o->items[o->n++] = taken;
}

static void options_release(struct options *o)
{
  for (size_t i = 0; i < o->n; i++)
    free(o->items[i]);
  free(o->items);
}

// How nvcc's flags reach NVRTC. One that is not here is refused by name: to
// leave it out silently could change what the kernel computes.
enum flag_kind {
  FLAG_PREFIX, // -I<x>, -I <x>
  FLAG_VALUE,  // --name=<x>, --name <x>, -name=<x>, -name <x>
  FLAG_ALONE,
  FLAG_DROP,       // means nothing to device code in one file
  FLAG_DROP_VALUE // the same with a value
};

static const struct flag {
  const char *name; // without dashes
  enum flag_kind kind;
  const char *to;
} flags_known[] = {
    {"I", FLAG_PREFIX, "-I"},
    {"isystem", FLAG_PREFIX, "-I"},
    {"D", FLAG_PREFIX, "-D"},
    {"U", FLAG_PREFIX, "-U"},
    {"include-path", FLAG_VALUE, "-I"},
    {"define-macro", FLAG_VALUE, "-D"},
    {"undefine-macro", FLAG_VALUE, "-U"},
    {"pre-include", FLAG_VALUE, "--pre-include="},
    {"include", FLAG_VALUE, "--pre-include="},
    {"std", FLAG_VALUE, "-std="},
    {"fmad", FLAG_VALUE, "-fmad="},
    {"ftz", FLAG_VALUE, "-ftz="},
    {"prec-div", FLAG_VALUE, "-prec-div="},
    {"prec-sqrt", FLAG_VALUE, "-prec-sqrt="},
    {"maxrregcount", FLAG_VALUE, "-maxrregcount="},
    {"use_fast_math", FLAG_ALONE, "-use_fast_math"},
    {"restrict", FLAG_ALONE, "-restrict"},
    {"extra-device-vectorization", FLAG_ALONE, "-extra-device-vectorization"},
    {"G", FLAG_ALONE, "-G"},
    {"device-debug", FLAG_ALONE, "-G"},
    {"expt-relaxed-constexpr", FLAG_DROP, NULL}, // covered by -default-device
    {"extended-lambda", FLAG_DROP, NULL},
    {"expt-extended-lambda", FLAG_DROP, NULL},
    {"lineinfo", FLAG_DROP, NULL},
    {"generate-line-info", FLAG_DROP, NULL},
    {"g", FLAG_DROP, NULL},
    {"w", FLAG_DROP, NULL},
    {"O0", FLAG_DROP, NULL},
    {"O1", FLAG_DROP, NULL},
    {"O2", FLAG_DROP, NULL},
    {"O3", FLAG_DROP, NULL},
    {"arch", FLAG_DROP_VALUE, NULL},
    {"gencode", FLAG_DROP_VALUE, NULL},
    {"gpu-architecture", FLAG_DROP_VALUE, NULL},
    {"generate-code", FLAG_DROP_VALUE, NULL},
};

static int options_flag(struct options *o, char *const *flags, size_t n, size_t *pos,
                        struct kr_err *err)
{
  const char *text = flags[*pos];
  const char *name = text + strspn(text, "-");
  size_t dashes = (size_t)(name - text);
  if (dashes < 1 || dashes > 2)
    return kr_err_set(err, "compiler flag `%s` is not known to the cuda back end", text);
  for (size_t i = 0; i < sizeof flags_known / sizeof *flags_known; i++) {
    const struct flag *f = &flags_known[i];
    size_t len = strlen(f->name);
    if (strncmp(name, f->name, len))
      continue;
    const char *rest = name + len, *value = NULL;
    switch (f->kind) {
    case FLAG_PREFIX:
      value = *rest ? rest : *pos + 1 < n ? flags[++*pos] : NULL;
      break;
    case FLAG_VALUE:
    case FLAG_DROP_VALUE:
      if (*rest && *rest != '=')
        continue;
      value = *rest ? rest + 1 : *pos + 1 < n ? flags[++*pos] : NULL;
      break;
    default:
      if (*rest)
        continue;
      value = "";
      break;
    }
    if (!value)
      return kr_err_set(err, "compiler flag `%s` wants a value", text);
    if (f->to && !strcmp(f->to, "-std=") && !strncmp(value, "gnu++", 5)) {
      options_add(o, kr_xasprintf("-std=c++%s", value + 5));
    } else if (f->to) {
      options_add(o, kr_xasprintf("%s%s", f->to, value));
    }
    return 0;
  }
  return kr_err_set(err, "compiler flag `%s` is not known to the cuda back end", text);
}

static int options_build(struct options *o, const struct nvrtc_compiler *c,
                         const struct kr_contract *contract, const char *arch,
                         struct kr_err *err)
{
  const char *own = "";
  size_t len = strlen(arch);
  for (size_t i = 0; i < contract->n_archs; i++) {
    const char *a = contract->archs[i];
    if (!strncmp(a, arch, len) && (!strcmp(a + len, "a") || !strcmp(a + len, "f")))
      own = a + len;
  }
  options_add(o, kr_xasprintf("-arch=%s%s", arch, own));
  options_add(o, kr_xstrdup("-device-int128"));
  // NVRTC refuses functions for the host, so a slice's plain constexpr function,
  // which nvcc lets into constant expressions, must be one for the device.
  options_add(o, kr_xstrdup("-default-device"));
  // libcu++ and the stand-ins for the standard headers spell limits differently.
  options_add(o, kr_xstrdup("-diag-suppress=47"));
  options_add(o, kr_xstrdup("--pre-include=" STD_HEADERS_BEFORE));
  for (size_t i = 0; i < contract->n_flags; i++)
    if (options_flag(o, contract->flags, contract->n_flags, &i, err))
      return -1;
  for (size_t i = 0; i < 2; i++)
    if (c->kit.includes[i])
      options_add(o, kr_xasprintf("-I%s", c->kit.includes[i]));
  return 0;
}

// --- log ---

// NVRTC writes `file(12): error: ...`; everyone else here `file:12: error: ...`.
static void log_add(struct kr_bytes *log, const char *text)
{
  while (*text) {
    size_t len = strcspn(text, "\n");
    const char *open = NULL;
    for (size_t i = 1; i + 4 < len && !isspace((unsigned char)text[0]); i++) {
      if (text[i] != '(')
        continue;
      size_t digits = strspn(text + i + 1, "0123456789");
      if (digits && !strncmp(text + i + 1 + digits, "): ", 3)) {
        open = text + i;
        kr_bytes_addf(log, "%.*s:%.*s", (int)i, text, (int)digits, open + 1);
        size_t skip = i + digits + 2;
        text += skip;
        len -= skip;
        break;
      }
    }
    kr_bytes_add(log, text, len);
    text += len;
    if (*text) {
      kr_bytes_addc(log, '\n');
      text++;
    }
  }
}

static void log_take(const struct nvrtc_compiler *c, nvrtcProgram prog, struct kr_bytes *log)
{
  size_t size = 0;
  if (c->lib->nvrtcGetProgramLogSize(prog, &size) || size < 2)
    return;
  char *text = kr_xcalloc(size + 1, 1);
  if (!c->lib->nvrtcGetProgramLog(prog, text))
    log_add(log, text);
  free(text);
}

// --- compilation ---

static int create(const struct nvrtc_compiler *c, const char *source, nvrtcProgram *prog)
{
  size_t n;
  const struct std_header *list = std_headers(&n);
  const char **names = kr_xcalloc(n + 1, sizeof *names);
  const char **texts = kr_xcalloc(n + 1, sizeof *texts);
  for (size_t i = 0; i < n; i++) {
    names[i] = list[i].name;
    texts[i] = list[i].text;
  }
  if (c->cuda_stdint) {
    names[n] = "cuda/std/cstdint";
    texts[n++] = c->cuda_stdint;
  }
  nvrtcResult r =
      c->lib->nvrtcCreateProgram(prog, source, "variant.cu", (int)n, texts, names);
  free(names);
  free(texts);
  return r;
}

int nvrtc_compile(const struct nvrtc_compiler *c, const struct kr_contract *contract,
                  const char *arch, const char *text, size_t len, struct cuda_code *out,
                  struct kr_bytes *log, struct kr_err *err)
{
  int rc = -1;
  size_t n_names = kr_contract_kernels(contract);
  nvrtcProgram prog = NULL;
  struct options options = {0};
  char *source = NULL;
  memset(out, 0, sizeof *out);
  if (memchr(text, 0, len)) {
    kr_bytes_adds(log, "variant.cu: error: the text holds a NUL byte\n");
    return 1;
  }
  if (options_build(&options, c, contract, arch, err))
    goto out;
  source = kr_xstrndup(text, len);
  nvrtcResult r = create(c, source, &prog);
  if (r) {
    kr_err_set(err, "NVRTC takes no program: %s", c->lib->nvrtcGetErrorString(r));
    goto out;
  }
  // A name of a template is what makes NVRTC instantiate it.
  for (size_t i = 0; i < n_names; i++) {
    const char *name = kr_contract_kernel_name(contract, i);
    r = c->lib->nvrtcAddNameExpression(prog, name);
    if (r) {
      kr_err_set(err, "NVRTC does not take the kernel's name `%s`: %s", name,
                 c->lib->nvrtcGetErrorString(r));
      goto out;
    }
  }
  r = c->lib->nvrtcCompileProgram(prog, (int)options.n, (const char *const *)options.items);
  size_t before = log->len;
  log_take(c, prog, log);
  if (r == NVRTC_ERROR_COMPILATION) {
    rc = 1;
    goto out;
  }
  if (r) {
    kr_err_set(err, "NVRTC %d.%d for %s: %s: %.*s", c->lib->major, c->lib->minor, arch,
               c->lib->nvrtcGetErrorString(r), (int)strcspn(log->data + before, "\n"),
               log->data + before);
    goto out;
  }
  size_t size = 0;
  out->lowered = kr_xcalloc(n_names, sizeof *out->lowered);
  for (size_t i = 0; i < n_names; i++) {
    const char *lowered = NULL, *name = kr_contract_kernel_name(contract, i);
    if (c->lib->nvrtcGetLoweredName(prog, name, &lowered) || !lowered) {
      kr_bytes_addf(log, "variant.cu: error: there is no kernel `%s`\n", name);
      rc = 1;
      goto out;
    }
    out->lowered[out->n_lowered++] = kr_xstrdup(lowered);
  }
  r = c->lib->nvrtcGetCUBINSize(prog, &size);
  if (r || !size) {
    kr_err_set(err, "NVRTC made no machine code for %s: %s", arch,
               c->lib->nvrtcGetErrorString(r));
    goto out;
  }
  out->cubin = kr_xmalloc(size);
  out->len = size;
  r = c->lib->nvrtcGetCUBIN(prog, (char *)out->cubin);
  if (r) {
    kr_err_set(err, "NVRTC gave no machine code for %s: %s", arch,
               c->lib->nvrtcGetErrorString(r));
    goto out;
  }
  rc = 0;
out:
  if (rc)
    cuda_code_release(out);
  if (prog)
    c->lib->nvrtcDestroyProgram(&prog);
  options_release(&options);
  free(source);
  return rc;
}
