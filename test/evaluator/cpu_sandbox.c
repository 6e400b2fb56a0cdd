// RUN: %unit/cpu_sandbox
// Code that wants out. Each attack in two spellings where there are two: what
// can be seen is refused with its reason, what cannot be seen is trapped.
#include "cpu_kit.h"

#include "evaluator/cpu/wall.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/wait.h>

#define KERNEL "\n__global__ void k(int *o) { o[0] = 1; }\n"

// Whether the text of /etc/passwd got anywhere.
static int leaks(const struct kit *k)
{
  return strstr(k->log.data, "root:") || strstr(k->log.data, "/bin/") ||
         strstr(k->r.text, "root:");
}

// Does not compile, and says why.
static void refused(const char *code, const char *says)
{
  struct kit k;
  kit_begin(&k, "k");
  kit_buffer(&k, "o", KR_OUT, 4, 1, NULL);
  kit_compile(&k, code);
  if (k.compiled != 1)
    fprintf(stderr, "compiled: %s\n", code);
  CHECK_INT(k.compiled, 1);
  CHECK(kit_says(&k, says));
  CHECK(!leaks(&k));
  kit_end(&k);
}

// Compiles to nothing that runs: told as not there.
static void unsupported(const char *code, const char *says)
{
  struct kit k;
  kit_begin(&k, "k");
  kit_buffer(&k, "o", KR_OUT, 4, 1, NULL);
  kit_go(&k, code);
  CHECK_INT(k.compiled, 0);
  if (k.r.status != KR_RUN_UNSUPPORTED)
    fprintf(stderr, "ran: %s\n", code);
  CHECK_INT(k.r.status, KR_RUN_UNSUPPORTED);
  CHECK(kit_says(&k, says));
  CHECK(!leaks(&k));
  kit_end(&k);
}

// Runs, and is stopped.
static void trapped(const char *code, enum kr_run_status status, const char *says)
{
  struct kit k;
  kit_begin(&k, "k");
  kit_buffer(&k, "o", KR_OUT, 4, 1, NULL);
  kit_launch(&k, 1, 1, 0);
  kit_go(&k, code);
  CHECK_INT(k.compiled, 0);
  if (k.r.status != status)
    fprintf(stderr, "%s\n", code);
  CHECK_INT(k.r.status, status);
  CHECK(kit_says(&k, says));
  kit_end(&k);
}

// Compiles and runs as if nothing were: what it asked for was not given.
static void harmless(const char *code, int want)
{
  struct kit k;
  kit_begin(&k, "k");
  size_t o = kit_buffer(&k, "o", KR_OUT, 4, 1, NULL);
  kit_launch(&k, 1, 1, 0);
  kit_go(&k, code);
  CHECK(kit_ok(&k));
  if (k.r.status == KR_RUN_OK)
    CHECK_INT(KIT_OUT(k, o, int)[0], want);
  kit_end(&k);
}

static void calls_by_name(void)
{
  refused("extern \"C\" int open(const char *, int, ...);\n"
          "__global__ void k(int *o) { o[0] = open(\"/etc/passwd\", 0); }",
          "the code calls `open`, which device code cannot");
  refused("extern \"C\" int system(const char *);\n"
          "__global__ void k(int *o) { o[0] = system(\"id\"); }", "`system`");
  refused("extern \"C\" int fork(); __global__ void k(int *o) { o[0] = fork(); }", "`fork`");
  refused("extern \"C\" long write(int, const void *, size_t);\n"
          "__global__ void k(int *o) { o[0] = write(1, o, 4); }", "`write`");
  refused("extern \"C\" int kill(int, int), getppid();\n"
          "__global__ void k(int *o) { o[0] = kill(getppid(), 9); }", "`kill`");
  refused("extern \"C\" void _exit(int); __global__ void k(int *o) { _exit(0); }", "`_exit`");
  // The address alone, in a table, weak, and through a typedef.
  refused("extern \"C\" int system(const char *);\n"
          "__device__ int (*volatile table[])(const char *) = {system};\n"
          "__global__ void k(int *o) { o[0] = table[0](\"id\"); }", "`system`");
  refused("extern \"C\" __attribute__((weak)) int fork();\n"
          "__global__ void k(int *o) { if (fork) o[0] = fork(); }", "`fork`");
  refused("typedef int f(int, int); extern \"C\" { f kill; }\n"
          "__global__ void k(int *o) { f *volatile p = kill; o[0] = p(1, 9); }", "`kill`");
  refused("extern \"C\" char **environ; __global__ void k(int *o) { o[0] = environ[0][0]; }",
          "`environ` is declared but not defined");
  refused("extern \"C\" { extern char __attribute__((weak)) _DYNAMIC[]; }\n"
          "__global__ void k(int *o) { o[0] = _DYNAMIC[0]; }", "`_DYNAMIC`");
}

// No name and no assembler: the function that makes system calls is looked for
// in the runtime's own text and called.
#define SCAN                                                                                       \
  "typedef long call(long, long, long, long, long, long, long);\n"                                 \
  "__device__ call *find() {\n"                                                                    \
  "  static const unsigned char want[] = {0x48, 0x89, 0xf8, 0x48, 0x89, 0xf7, 0x48, 0x89, 0xd6,\n" \
  "    0x48, 0x89, 0xca, 0x4d, 0x89, 0xc2, 0x4d, 0x89, 0xc8, 0x4c, 0x8b, 0x4c, 0x24, 0x08, "       \
  "0x0f,\n"                                                                                        \
  "    0x05};\n"                                                                                   \
  "  for (const unsigned char *p = (const unsigned char *)0x401000; ; p++) {\n"                    \
  "    unsigned i = 0; while (i < sizeof want && p[i] == want[i]) i++;\n"                          \
  "    if (i == sizeof want) return (call *)p; } }\n"

static void calls_by_address(void)
{
  trapped(SCAN
          "__global__ void k(int *o) { o[0] = find()(2, (long)\"/etc/passwd\", 0, 0, 0, 0, 0); }",
          KR_RUN_FAULT, "forbidden system call 2 (open) by thread (0,0,0)");
  trapped(
      SCAN
      "__global__ void k(int *o) { o[0] = find()(257, -100, (long)\"/etc/passwd\", 0, 0, 0, 0); }",
      KR_RUN_FAULT, "forbidden system call 257 (openat)");
  trapped(SCAN "__global__ void k(int *o) { o[0] = find()(57, 0, 0, 0, 0, 0, 0); }", KR_RUN_FAULT,
          "forbidden system call 57 (fork)");
  trapped(SCAN "__global__ void k(int *o) { o[0] = find()(1, 2, (long)\"x\", 1, 0, 0, 0); }",
          KR_RUN_FAULT, "forbidden system call 1 (write)");
  trapped(SCAN "__global__ void k(int *o) { o[0] = find()(62, 1, 9, 0, 0, 0, 0); }", KR_RUN_FAULT,
          "forbidden system call 62 (kill)");
  trapped(SCAN "__global__ void k(int *o) { o[0] = find()(9, 0, 4096, 7, 34, -1, 0); }",
          KR_RUN_FAULT, "forbidden system call 9 (mmap)");
  trapped(SCAN
          "__global__ void k(int *o) { o[0] = find()(0x40000002, (long)\"/x\", 0, 0, 0, 0, 0); }",
          KR_RUN_FAULT, "forbidden system call of another interface");
  trapped(SCAN "__global__ void k(int *o) { o[0] = 1; find()(231, 4, 0, 0, 0, 0, 0); }",
          KR_RUN_FAULT, "ended the process (exit 4) without completion");
  trapped(SCAN "__global__ void k(int *o) { o[0] = 1; find()(231, 0, 0, 0, 0, 0, 0); }",
          KR_RUN_FAULT, "ended the process (exit 0) without completion");
}

static void assembler(void)
{
  static const char says[] = "inline assembler is not there yet on the CPU back end";
  unsupported("__global__ void k(int *o) { asm volatile(\"syscall\"); }", says);
  unsupported("__global__ void k(int *o) { __asm__ volatile(\"int $0x80\"); }", says);
  unsupported("#define A(x) as##x\n__global__ void k(int *o) { A(m) volatile(\"syscall\"); }",
              says);
  unsupported("asm(\".incbin \\\"/etc/passwd\\\"\");" KERNEL, says);
  unsupported("__device__ int f() __asm__(\"system\"); __global__ void k(int *o) { o[0] = f(); }",
              says);
  unsupported("__global__ void k(int *o) { unsigned l; asm(\"mov.u32 %0, %laneid;\" : \"=r\"(l));\n"
              " o[0] = l; }", says);
  // Not poisoned under MSVC's and the preprocessor's other names: not known then.
  refused("__global__ void k(int *o) { _asm { int 3 } }", "error:");
  refused("#define __kr_x __a##sm\n__attribute__((naked)) void f() { }" KERNEL, "error");
}

static void before_the_kernel(void)
{
  static const char says[] = "nothing may run before the kernel";
  refused("__attribute__((constructor)) static void f() { *(volatile int *)0 = 1; }" KERNEL, says);
  refused("__attribute__((constructor(101), used)) void f() { }" KERNEL, says);
  refused("__attribute__((destructor)) void f() { }" KERNEL, says);
  refused("struct s { s() { *(volatile int *)0 = 1; } }; s x;" KERNEL, says);
  refused("int f() { return *(volatile int *)8; } int x __attribute__((used)) = f();" KERNEL, says);
  refused("void f() {} __attribute__((section(\".init_array\"), used)) void (*p)() = f;" KERNEL,
          "section of its own, `.init_array`");
  refused("void f() {} __declspec(allocate(\".preinit_array\")) void (*p)() = f;\n"
          "__attribute__((section(\".ctors\"), used)) void (*q)() = f;" KERNEL, "section");
  refused("#pragma clang section data=\".init_array\"\nvoid f() {}\n"
          "void (*volatile p)() = f;\n#pragma clang section data=\"\"\n"
          "__global__ void k(int *o) { o[0] = p == f; }", "a section `.init_array`");
  refused("__attribute__((section(\".init\"))) void f() {}" KERNEL, "section of its own, `.init`");
  refused("extern \"C\" { static void g() {} void (*f())() { return g; }\n"
          "void h() __attribute__((ifunc(\"f\"))); }\n__global__ void k(int *o) { h(); }",
          "resolved at load time (ifunc)");
  refused("extern \"C\" { int f() { return 1; } int g() __attribute__((alias(\"f\"))); }" KERNEL,
          "as an alias");
  refused("static int g() __attribute__((weakref(\"getpid\")));\n"
          "__global__ void k(int *o) { o[0] = g(); }", "`getpid`");
  refused("struct s { s() : v(*(volatile int *)8) {} int v; };\n"
          "__global__ void k(int *o) { __shared__ s x; o[0] = x.v; }", "shared memory");
  refused("__global__ void k(int *o) { static int x = *(volatile int *)8; o[0] = x; }",
          "`__cxa_guard");
}

static void files(void)
{
  refused("#include \"/etc/passwd\"" KERNEL, "'/etc/passwd' file not found");
  refused("%:include </etc/passwd>" KERNEL, "file not found");
  refused("#inc\\\nlude \"/etc/passwd\"" KERNEL, "file not found");
  refused("#include \"../../../../../../../../../../etc/passwd\"" KERNEL, "file not found");
  refused("#include \"/kr/../etc/passwd\"" KERNEL, "file not found");
  refused("#define F \"/etc/passwd\"\n#include F" KERNEL, "file not found");
  refused("#include \"/dev/fd/0\"" KERNEL, "file not found");
  refused("#include \"/proc/self/environ\"" KERNEL, "file not found");
  refused("#include </usr/include/stdio.h>" KERNEL, "file not found");
  refused("const char p[] = {\n#embed \"/etc/passwd\"\n};" KERNEL, "'/etc/passwd' file not found");
  refused("const char p[] = {\n#embed </etc/passwd>\n};" KERNEL, "file not found");
  harmless(
      "__global__ void k(int *o) { o[0] = 0; }\n"
      "#if __has_include(\"/etc/passwd\") || __has_embed(\"/etc/passwd\")\n#error seen\n#endif\n",
      0);
  refused("#include_next \"/etc/passwd\"" KERNEL, "file not found");
  refused("#import \"/etc/passwd\"" KERNEL, "file not found");
  refused("#pragma GCC dependency \"/etc/passwd\"" KERNEL, "file not found");
  refused("#pragma clang module import std" KERNEL, "error:");
}

static void names(void)
{
  static const char says[] = "a reserved name";
  refused("extern \"C\" void *memcpy(void *d, const void *, size_t n) { return d; }" KERNEL,
          "error:");
  refused("extern \"C\" float sinf(float x) noexcept { return x; }\n"
          "__global__ void k(int *o) { volatile float x = 1; o[0] = sinf(x); }", says);
  refused("int main() { return 0; }" KERNEL, says);
  refused("extern \"C\" void _start() {}" KERNEL, says);
  refused("extern \"C\" int __kr_sync(int, int) { return 1; }" KERNEL, says);
  refused("extern \"C\" void __kr_spin() noexcept {}" KERNEL, says);
  refused("extern \"C\" void __kr_mine() {}" KERNEL, says);
  refused("extern \"C\" void __kr_entry(void **) {}" KERNEL, "redefinition");
  refused("__global__ void k(int *o) { o[0] = __kr_sregs[99]; }", "a register that is not there");
  refused("__global__ void k(int *o) { o[0] = __kr_sregs[o[1]]; }", "a register that is not there");
  refused("__global__ void k(int *o) { *(volatile unsigned *)&__kr_sregs[3] = 1; }",
          "a register that is not there");
}

static void machine(void)
{
  refused("__global__ void k(int *o) { o[0] = *(int __attribute__((address_space(257))) *)0; }",
          "an address space of its own");
  refused(
      "__global__ void k(int *o) { void *l = &&there; o[0] = 1; void *volatile p = l; goto *p;\n"
      " there: o[0] = 2; }",
      "label");
  unsupported("__global__ void k(int *o) { o[0] = (int)__builtin_ia32_rdtsc(); }",
              "is not there yet on the CPU back end");
  unsupported("__global__ void k(int *o) { o[0] = (int)(long)__builtin_return_address(0); }",
              "`llvm.returnaddress`, which is not there yet");
  unsupported("__global__ void k(int *o) { o[0] = (int)(long)__builtin_frame_address(0); }",
              "`llvm.frameaddress");
  refused("__attribute__((regcall)) int f(int x) { return x + 1; }\n"
          "__global__ void k(int *o) { o[0] = f(1); }", "calling convention");
  unsupported("__attribute__((noinline)) int f(int n, ...) { __builtin_va_list a; "
              "__builtin_va_start(a, n);\n"
              " int r = 0; while (n-- > 0) r += __builtin_va_arg(a, int);\n"
              " __builtin_va_end(a); return r; }\n__global__ void k(int *o) { o[0] = f(o[0], 2); }",
              "llvm.va_");
}

// What is not there is told by its name.
static void not_there(void)
{
  unsupported("#include <cuda_fp16.h>" KERNEL, "cuda_fp16.h is not there yet");
  unsupported("#include <tuple>" KERNEL, "std::tuple is not there yet");
  unsupported("#include <cub/cub.cuh>" KERNEL, "cub is not there yet");
  unsupported("__global__ void k(int *o) { printf(\"%d\", o[0]); }", "printf is not there yet");
  unsupported("__global__ void k(int *o) { o[0] = *(int *)malloc(4); }",
              "the device heap is not there yet");
  unsupported("__global__ void k(int *o) { o[0] = (int)clock64(); }", "clock is not there yet");
  unsupported("__global__ void k(int *o) { o[0] = tex1Dfetch<int>((cudaTextureObject_t)0, 1); }",
              "textures is not there yet");
  unsupported("#include <cooperative_groups.h>\n"
              "__global__ void k(int *o) { cooperative_groups::this_grid().sync(); }",
              "grid synchronisation is not there yet");
  unsupported("__global__ void __cluster_dims__(2, 1, 1) k(int *o) { o[0] = 1; }",
              "`__cluster_dims__` is not there yet");
  unsupported("__managed__ int m; __global__ void k(int *o) { o[0] = m; }",
              "`__managed__` is not there yet");
  unsupported("__global__ void k(int *o) { o[0] = __fadd_ru(1.0f, 2.0f); }",
              "directed rounding is not there yet");
  refused("__global__ void k(int *o) { __shared__ float big[20000]; big[threadIdx.x] = 1;\n"
          " __syncthreads(); o[0] = big[5]; }",
          "too much shared memory: 80000 bytes, at most 49152");
}

static void endless_compiles(void)
{
  refused("template <int N> struct s { static const int v = s<N + 1>::v; };\n"
          "__global__ void k(int *o) { o[0] = s<0>::v; }", "depth");
  refused("constexpr int f() { int n = 0; while (true) n = n + 1 & 1023; return n; }\n"
          "__global__ void k(int *o) { constexpr int x = f(); o[0] = x; }", "step");
}

// A hundred million terms: the limit on memory ends it, without a word of clang's own.
static void macro_bomb(void)
{
  struct kit k;
  kit_begin(&k, "k");
  kit_compile(&k, "#define A(x) x x x x x x x x x x\n#define B(x) A(A(x))\n#define C(x) B(B(x))\n"
                  "#define D(x) C(C(x))\nint f() { return 0 D(+1); }" KERNEL);
  CHECK_INT(k.compiled, 1);
  CHECK(kit_says(&k, "to compile"));
  CHECK(!strstr(k.log.data, "Stack dump"));
  kit_end(&k);
}

// The compiler's words count lines in the variant.
static void lines(void)
{
  refused("\n\n__global__ void k(int *o) { o[0] = nothing; }", "variant.cu:3:36: error:");
  refused("#line 1 \"mine.cu\"\n__global__ void k(int *o) { o[0] = nothing; }",
          "mine.cu:1:36: error:");
}

// A kernel that scribbles over all it can reach ends only itself.
static void scribble(void)
{
  struct kit k;
  kit_begin(&k, "k");
  kit_buffer(&k, "o", KR_OUT, 4, 1, NULL);
  kit_launch(&k, 1, 1, 0);
  kit_go(&k, "__global__ void k(int *o) { volatile char *p = (char *)&o;\n"
             " for (long i = 0; i < 1 << 20; i++) p[i] = 0x55; }");
  CHECK(k.r.status == KR_RUN_FAULT);
  CHECK(k.r.text[0] != '\0');
  kit_end(&k);
  harmless("__global__ void k(int *o) { o[0] = 3; }", 3);
}

// The outer wall of the compiler: nothing but what is named can be opened.
static void wall(void)
{
  pid_t pid = fork();
  if (pid == 0) {
    static const char *const readable[] = {"/usr/lib", NULL};
    if (wall_files(readable))
      _exit(9); // no Landlock here
    int inside = open("/usr/lib/os-release", O_RDONLY);
    if (inside < 0 && errno == ENOENT)
      inside = open("/usr/lib", O_RDONLY | O_DIRECTORY);
    int read = open("/etc/passwd", O_RDONLY), read_errno = errno;
    int made = open("/tmp/kevin-wall-test", O_WRONLY | O_CREAT, 0600);
    _exit(inside >= 0 && read < 0 && read_errno == EACCES && made < 0 ? 0 : 1);
  }
  int status = 0;
  CHECK(waitpid(pid, &status, 0) == pid);
  CHECK(WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 9));
}

int main(void)
{
  wall();
  calls_by_name();
  calls_by_address();
  assembler();
  before_the_kernel();
  files();
  names();
  machine();
  not_there();
  endless_compiles();
  macro_bomb();
  lines();
  scribble();
  kr_backend_cpu.close(kit_device);
  return unit_end();
}
