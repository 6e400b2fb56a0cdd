// kevin-cpucc: compiles one translation unit of device code for the CPU.
//
//   kevin-cpucc --clang=PROGRAM --include=DIR [--fmad=false] [--trace] [-DX] [-UX] [-std=S]
//               <text >image
//
// The text is somebody else's. clang turns it into bitcode in a process that
// sees no file but our headers; the bitcode is vetted, lowered and only then
// made into code (vet.h, link.h). With --trace the code is made to tell what it
// does (instrument.h), after it was vetted. What clang and the vetting have to say goes
// to stderr. Exit: 0 an image is on stdout; 1 the text does not compile; 2 it
// holds what may not run; 3 it needs something that is not there yet; 4 the
// compiler itself could not be run.

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <llvm-c/BitReader.h>
#include <llvm-c/Core.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>

#include "../base/bytes.h"
#include "../base/clock.h"
#include "../base/err.h"
#include "../base/mem.h"
#include "image.h"
#include "instrument.h"
#include "link.h"
#include "vet.h"
#include "wall.h"

enum {
  CPUCC_OK,
  CPUCC_ERROR,
  CPUCC_REFUSED,
  CPUCC_NOT_YET,
  CPUCC_BROKEN,
  CPUCC_TEXT_MAX = 16 << 20,
  CPUCC_LOG_MAX = 256 << 10,
  CPUCC_SECONDS = 15 // of processor time; twice that on the clock
};

static const char not_yet[] = "is not there yet on the CPU back end";

struct cpucc {
  const char *clang, *include;
  char **flags; // vetted ones of the contract
  size_t n_flags;
  bool contract_off, trace;
  const char *cpu;
  struct kr_bytes text, bitcode, log, image;
};

static int cpucc_read(int fd, struct kr_bytes *out, struct kr_err *err)
{
  char chunk[64 << 10];
  for (;;) {
    ssize_t n = read(fd, chunk, sizeof chunk);
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return kr_err_errno(err, "cannot read the text");
    if (n == 0)
      return 0;
    if (kr_bytes_add(out, chunk, (size_t)n))
      return kr_err_set(err, "the text is longer than %d MiB", CPUCC_TEXT_MAX >> 20);
  }
}

static int cpucc_write(int fd, const void *data, size_t len)
{
  const char *p = data;
  while (len) {
    ssize_t n = write(fd, p, len);
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return -1;
    p += n;
    len -= (size_t)n;
  }
  return 0;
}

// A file in memory with the given contents, its offset at the start.
static int cpucc_memory_file(const char *name, const void *data, size_t len)
{
  int fd = memfd_create(name, MFD_CLOEXEC);
  if (fd < 0 || cpucc_write(fd, data, len) || lseek(fd, 0, SEEK_SET)) {
    if (fd >= 0)
      close(fd);
    return -1;
  }
  return fd;
}

// A file system with our headers in it and nothing else, as clang reads it.
static void cpucc_overlay(const struct cpucc *c, struct kr_bytes *out)
{
  kr_bytes_adds(out, "{\"version\":0,\"redirecting-with\":\"redirect-only\",\"roots\":[{"
                     "\"type\":\"directory-remap\",\"name\":\"/kr\",\"external-contents\":\"");
  for (const char *p = c->include; *p; p++) {
    if (*p == '"' || *p == '\\')
      kr_bytes_addc(out, '\\');
    kr_bytes_addc(out, *p);
  }
  kr_bytes_adds(out, "\"}]}\n");
}

static void cpucc_limit(int what, rlim_t value)
{
  struct rlimit r = {value, value};
  setrlimit(what, &r);
}

// In the child: no files but what clang is made of, bounded time and memory.
static void cpucc_become(const struct cpucc *c, char **argv, int text, int overlay, int out,
                         int log)
{
  char prefix[PATH_MAX];
  if (!realpath(c->clang, prefix))
    _exit(CPUCC_BROKEN);
  char program[PATH_MAX];
  strcpy(program, prefix);
  dirname(dirname(prefix));
  // 3 is where the overlay is read from.
  if (dup2(text, 0) < 0 || dup2(out, 1) < 0 || dup2(log, 2) < 0 || dup2(overlay, 3) < 0)
    _exit(CPUCC_BROKEN);
  close_range(4, ~0u, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  cpucc_limit(RLIMIT_CPU, CPUCC_SECONDS);
  cpucc_limit(RLIMIT_AS, (rlim_t)2 << 30);
  cpucc_limit(RLIMIT_CORE, 0);
  cpucc_limit(RLIMIT_FSIZE, 64 << 20);
  const char *readable[] = {"/usr/lib",  "/usr/lib64",         "/lib",      "/lib64",
                            "/usr/bin",  "/etc/ld.so.cache",   "/dev/null", prefix,
                            c->include, NULL};
  wall_files(readable);
  static char *environment[] = {"LC_ALL=C.UTF-8", "PATH=/usr/bin:/bin", NULL};
  execve(program, argv, environment);
  _exit(CPUCC_BROKEN);
}

static int cpucc_collect(const struct cpucc *c, pid_t pid, int out, int log, struct kr_bytes *bits,
                         struct kr_bytes *words, struct kr_err *err)
{
  double end_ms = kr_now_ms() + 2e3 * CPUCC_SECONDS;
  struct pollfd p[2] = {{.fd = out, .events = POLLIN}, {.fd = log, .events = POLLIN}};
  char chunk[64 << 10];
  bool late = false;
  while (p[0].fd >= 0 || p[1].fd >= 0) {
    double left = end_ms - kr_now_ms();
    if (left <= 0 && !late) {
      kill(pid, SIGKILL);
      late = true;
    }
    if (poll(p, 2, late ? 1000 : (int)left + 1) <= 0 && late)
      break;
    for (int i = 0; i < 2; i++) {
      if (p[i].fd < 0 || !p[i].revents)
        continue;
      ssize_t n = read(p[i].fd, chunk, sizeof chunk);
      if (n < 0 && errno == EINTR)
        continue;
      if (n <= 0)
        p[i].fd = -1;
      else
        kr_bytes_add(i ? words : bits, chunk, (size_t)n);
    }
  }
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
    ;
  if (WIFEXITED(status) && WEXITSTATUS(status) == CPUCC_BROKEN && !words->len) {
    kr_err_set(err, "cannot run %s", c->clang);
    return CPUCC_BROKEN;
  }
  if (late || (WIFSIGNALED(status) &&
               (WTERMSIG(status) == SIGXCPU || WTERMSIG(status) == SIGKILL))) {
    kr_err_set(err, "error: the text takes more than %d s to compile", CPUCC_SECONDS);
    return CPUCC_ERROR;
  }
  if (WIFSIGNALED(status)) {
    kr_err_set(err, "error: clang died of signal %d", WTERMSIG(status));
    return CPUCC_ERROR;
  }
  if (bits->toobig) {
    kr_err_set(err, "error: the compiled code is too large");
    return CPUCC_ERROR;
  }
  return WEXITSTATUS(status) ? CPUCC_ERROR : CPUCC_OK;
}

static int cpucc_front(struct cpucc *c, struct kr_err *err)
{
  static const char *const fixed[] = {
      "-x", "c++", "-fdeclspec", "-nostdinc", "-nostdinc++", "-isystem", "/kr", "-isystem",
      "/kr/std", "-ivfsoverlay", "/dev/fd/3", "-include", "/kr/kr/cuda.h", "-c", "-emit-llvm",
      "-O2", "-w", "-fno-color-diagnostics", "-ferror-limit=20", "-fno-exceptions", "-fno-rtti",
      "-fno-strict-aliasing", "-fno-finite-loops", "-fno-math-errno",
      // No function that may hold a barrier is called in two places for one.
      "-fconvergent-functions",
      "-fno-strict-float-cast-overflow", "-fno-asynchronous-unwind-tables", "-fno-stack-protector",
      "-fstack-clash-protection", "-fcf-protection=none", "-ftemplate-depth=512",
      "-fconstexpr-steps=4194304", "-fbracket-depth=512",
      "-fno-ident", "-target", "x86_64-linux-gnu"};
  static const char *const plain[] = {
      "-fwrapv",
      // A GPU traps on an access that is not aligned to its width, x86 does not.
      "-fsanitize=alignment", "-fsanitize-trap=alignment"};
  // What is counted is to be what a GPU's compiler makes of the same text: no
  // vectors, no calls of memset() for loops; short loops of known length unrolled
  // whole, others four times where their length can be computed before they run.
  static const char *const traced[] = {
      "-DKR_COUNTED", "-fno-vectorize", "-fno-slp-vectorize", "-gline-tables-only",
      "-mllvm", "-disable-loop-idiom-all", "-mllvm", "-unroll-threshold=300",
      "-mllvm", "-unroll-max-count=4", "-mllvm", "-unroll-runtime", "-mllvm",
      "-unroll-allow-partial", "-mllvm", "-unroll-partial-threshold=120", "-mllvm",
      "-scev-cheap-expansion-budget=16"};
  const char *const *more = c->trace ? traced : plain;
  size_t n_more = c->trace ? sizeof traced / sizeof *traced : sizeof plain / sizeof *plain;
  size_t n_fixed = sizeof fixed / sizeof *fixed;
  char **argv = kr_xcalloc(n_fixed + n_more + c->n_flags + 12, sizeof *argv);
  char *march = kr_xasprintf("-march=%s", c->cpu);
  size_t n = 0;
  argv[n++] = (char *)"clang";
  bool standard = false;
  for (size_t i = 0; i < n_fixed; i++)
    argv[n++] = (char *)fixed[i];
  for (size_t i = 0; i < n_more; i++)
    argv[n++] = (char *)more[i];
  for (size_t i = 0; i < c->n_flags; i++) {
    argv[n++] = c->flags[i];
    standard |= !strncmp(c->flags[i], "-std=", 5);
  }
  if (!standard)
    argv[n++] = (char *)"-std=c++17";
  argv[n++] = (char *)(c->contract_off ? "-ffp-contract=off" : "-ffp-contract=fast");
  argv[n++] = march;
  argv[n++] = (char *)"-o";
  argv[n++] = (char *)"-";
  argv[n++] = (char *)"-";

  struct kr_bytes overlay;
  kr_bytes_init(&overlay, 1 << 20);
  cpucc_overlay(c, &overlay);
  int text = cpucc_memory_file("text", c->text.data, c->text.len);
  int files = cpucc_memory_file("overlay", overlay.data, overlay.len);
  int out[2] = {-1, -1}, log[2] = {-1, -1};
  int rc = CPUCC_BROKEN;
  if (text < 0 || files < 0 || pipe2(out, O_CLOEXEC) || pipe2(log, O_CLOEXEC)) {
    kr_err_errno(err, "cannot start the compiler");
    goto out;
  }
  pid_t pid = fork();
  if (pid == 0)
    cpucc_become(c, argv, text, files, out[1], log[1]);
  if (pid < 0) {
    kr_err_errno(err, "cannot start the compiler");
    goto out;
  }
  close(out[1]);
  close(log[1]);
  out[1] = log[1] = -1;
  rc = cpucc_collect(c, pid, out[0], log[0], &c->bitcode, &c->log, err);
out:
  for (int i = 0; i < 2; i++) {
    if (out[i] >= 0)
      close(out[i]);
    if (log[i] >= 0)
      close(log[i]);
  }
  if (text >= 0)
    close(text);
  if (files >= 0)
    close(files);
  kr_bytes_release(&overlay);
  free(march);
  free(argv);
  return rc;
}

static void cpucc_diagnose(LLVMDiagnosticInfoRef info, void *arg)
{
  struct kr_err *err = arg;
  if (LLVMGetDiagInfoSeverity(info) != LLVMDSError || err->text[0])
    return;
  char *text = LLVMGetDiagInfoDescription(info);
  kr_err_set(err, "LLVM: %.200s", text);
  LLVMDisposeMessage(text);
}

static int cpucc_back(struct cpucc *c, struct kr_err *err)
{
  LLVMInitializeX86TargetInfo();
  LLVMInitializeX86Target();
  LLVMInitializeX86TargetMC();
  LLVMInitializeX86AsmPrinter();
  struct kr_err said = {{0}};
  LLVMContextRef ctx = LLVMContextCreate();
  LLVMContextSetDiagnosticHandler(ctx, cpucc_diagnose, &said);
  LLVMMemoryBufferRef in =
      LLVMCreateMemoryBufferWithMemoryRangeCopy(c->bitcode.data, c->bitcode.len, "bitcode");
  LLVMModuleRef m = NULL;
  LLVMTargetMachineRef tm = NULL;
  LLVMMemoryBufferRef object = NULL;
  struct kr_image image = {.magic = "kr-simt", .version = KR_IMAGE_VERSION};
  struct kr_bytes tables;
  kr_bytes_init(&tables, 64 << 20);
  int rc = CPUCC_BROKEN;
  LLVMBool unread = LLVMParseBitcodeInContext2(ctx, in, &m);
  LLVMDisposeMemoryBuffer(in);
  if (unread) {
    kr_err_set(err, "clang's bitcode cannot be read: %s", said.text);
    goto out;
  }
  char *message = NULL;
  LLVMTargetRef target = NULL;
  if (LLVMGetTargetFromTriple("x86_64-unknown-linux-gnu", &target, &message)) {
    kr_err_set(err, "LLVM has no code generator for this machine: %s", message);
    LLVMDisposeMessage(message);
    goto out;
  }
  tm = LLVMCreateTargetMachine(target, "x86_64-unknown-linux-gnu", c->cpu, "",
                               LLVMCodeGenLevelDefault, LLVMRelocPIC, LLVMCodeModelSmall);
  if (vet_module(m, err) || vet_lower(m, tm, &image, err) ||
      (c->trace && instrument_module(m, tm, &tables, &image, err))) {
    rc = strstr(err->text, not_yet) ? CPUCC_NOT_YET : CPUCC_REFUSED;
    kr_err_prefix(err, "variant.cu: error");
    goto out;
  }
  message = NULL;
  if (LLVMTargetMachineEmitToMemoryBuffer(tm, m, LLVMObjectFile, &message, &object) ||
      said.text[0]) {
    kr_err_set(err, "no code can be made of this: %s", message ? message : said.text);
    LLVMDisposeMessage(message);
    rc = CPUCC_REFUSED;
    goto out;
  }
  // A copy that is aligned as the structs of ELF want it.
  size_t len = LLVMGetBufferSize(object);
  unsigned char *bytes = kr_xmalloc(len + 1);
  memcpy(bytes, LLVMGetBufferStart(object), len);
  struct kr_bytes segments;
  kr_bytes_init(&segments, 512 << 20);
  int bad = link_image(bytes, len, &image, &segments, err);
  free(bytes);
  rc = bad ? CPUCC_REFUSED : CPUCC_OK;
  if (!bad) {
    static const char padding[KR_PAGE];
    kr_bytes_add(&c->image, &image, sizeof image);
    kr_bytes_add(&c->image, padding, KR_PAGE - sizeof image);
    kr_bytes_add(&c->image, segments.data, segments.len);
    kr_bytes_add(&c->image, tables.data, tables.len);
  }
  kr_bytes_release(&segments);
out:
  kr_bytes_release(&tables);
  if (object)
    LLVMDisposeMemoryBuffer(object);
  if (tm)
    LLVMDisposeTargetMachine(tm);
  if (m)
    LLVMDisposeModule(m);
  LLVMContextDispose(ctx);
  return rc;
}

int main(int argc, char **argv)
{
  struct cpucc c = {.cpu = "x86-64"};
  struct kr_err err = {{0}};
  kr_bytes_init(&c.text, CPUCC_TEXT_MAX);
  kr_bytes_init(&c.bitcode, 256 << 20);
  kr_bytes_init(&c.log, CPUCC_LOG_MAX);
  kr_bytes_init(&c.image, 520 << 20);
  c.flags = kr_xcalloc((size_t)argc, sizeof *c.flags);
  int rc = CPUCC_BROKEN;
  for (int i = 1; i < argc; i++) {
    if (!strncmp(argv[i], "--clang=", 8)) {
      c.clang = argv[i] + 8;
    } else if (!strncmp(argv[i], "--include=", 10)) {
      c.include = argv[i] + 10;
    } else if (!strcmp(argv[i], "--fmad=false")) {
      c.contract_off = true;
    } else if (!strcmp(argv[i], "--trace")) {
      c.trace = true;
    } else if (!strncmp(argv[i], "-D", 2) || !strncmp(argv[i], "-U", 2) ||
               !strncmp(argv[i], "-std=", 5)) {
      c.flags[c.n_flags++] = argv[i];
    } else {
      kr_err_set(&err, "kevin-cpucc: unknown argument %s", argv[i]);
      goto out;
    }
  }
  if (!c.clang || !c.include) {
    kr_err_set(&err, "kevin-cpucc is run by kevin-worker; it wants --clang= and --include=");
    goto out;
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
      __builtin_cpu_supports("bmi2"))
    c.cpu = "x86-64-v3";
  // Code generation is ours, and what is made code of is not. A sanitizer maps
  // more than any limit.
#ifndef KR_SANITIZED
  cpucc_limit(RLIMIT_AS, (rlim_t)6 << 30);
#endif
  cpucc_limit(RLIMIT_CORE, 0);
  cpucc_limit(RLIMIT_CPU, 4 * CPUCC_SECONDS);
  if (cpucc_read(0, &c.text, &err))
    goto out;
  rc = cpucc_front(&c, &err);
  // A stack dump is no diagnostic, and nobody's business but LLVM's.
  if (rc == CPUCC_ERROR && strstr(c.log.data, "PLEASE submit a bug report")) {
    kr_err_set(&err, strstr(c.log.data, "out of memory")
                         ? "error: the text takes too much memory to compile"
                         : "error: clang crashed on this text");
    kr_bytes_reset(&c.log);
  }
  if (rc == CPUCC_ERROR && strstr(c.log.data, "attempt to use a poisoned identifier"))
    kr_err_set(&err, "error: inline assembler %s", not_yet);
  if (rc == CPUCC_ERROR && (strstr(c.log.data, not_yet) || strstr(err.text, not_yet)))
    rc = CPUCC_NOT_YET;
  if (rc == CPUCC_OK)
    rc = cpucc_back(&c, &err);
  if (rc == CPUCC_OK && cpucc_write(1, c.image.data, c.image.len)) {
    kr_err_errno(&err, "cannot hand the image over");
    rc = CPUCC_BROKEN;
  }
out:
  if (c.log.len)
    fputs(c.log.data, stderr);
  if (err.text[0])
    fprintf(stderr, "%s\n", err.text);
  kr_bytes_release(&c.text);
  kr_bytes_release(&c.bitcode);
  kr_bytes_release(&c.log);
  kr_bytes_release(&c.image);
  free(c.flags);
  return rc;
}
