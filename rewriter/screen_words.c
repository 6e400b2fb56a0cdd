// The tables of the screen. What a word stands for is in rewriter/README.md by
// its rule; a word forbidden here may be used where the original uses it,
// unless it tells compilers or build times apart: that is refused always.

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "../evaluator/base/mem.h"
#include "screen.h"

#define PROBE "tells compilers, files or times apart"
#define CLOCK "reads a clock or the id of a multiprocessor"
#define TRAP "ends, stops or delays the kernel"
#define HEAP "uses the device heap, which outlives a launch"
#define PRINT "prints"
#define CACHE "changes what the cache keeps beyond this kernel"
#define PDL "lets the kernel overlap others or end early"
#define RUNTIME "calls the CUDA runtime from the device"
#define HOSTW "is host code or runs on the host"
#define STATE "declares memory that outlives a launch"
#define THROW "needs exceptions or run-time types"
#define LOWER "brings a lower precision that the original does not compute with"
#define ASM "is inline assembly, which the original does not have"
#define COOP "needs a launch that the sites do not make"

static const struct forbidden table[] = {
    {"__CUDACC*", "compiler-macro", PROBE, true},
    {"__CUDA_ARCH*", "compiler-macro", PROBE, true},
    {"__CUDA_API*", "compiler-macro", PROBE, true},
    {"__CUDART*", "compiler-macro", PROBE, true},
    {"__NVCC*", "compiler-macro", PROBE, true},
    {"__NVRTC*", "compiler-macro", PROBE, true},
    {"__NV_*", "compiler-macro", PROBE, true},
    {"__clang*", "compiler-macro", PROBE, true},
    {"__GNU*", "compiler-macro", PROBE, true},
    {"__llvm__", "compiler-macro", PROBE, true},
    {"__FILE__", "compiler-macro", PROBE, true},
    {"__FILE_NAME__", "compiler-macro", PROBE, true},
    {"__BASE_FILE__", "compiler-macro", PROBE, true},
    {"__LINE__", "compiler-macro", PROBE, true},
    {"__DATE__", "compiler-macro", PROBE, true},
    {"__TIME__", "compiler-macro", PROBE, true},
    {"__TIMESTAMP__", "compiler-macro", PROBE, true},
    {"__COUNTER__", "compiler-macro", PROBE, true},
    {"__INCLUDE_LEVEL__", "compiler-macro", PROBE, true},
    {"__FUNCTION__", "compiler-macro", PROBE, true},
    {"__PRETTY_FUNCTION__", "compiler-macro", PROBE, true},
    {"__func__", "compiler-macro", PROBE, true},
    {"__has_*", "compiler-macro", PROBE, true},
    {"__is_identifier", "compiler-macro", PROBE, true},
    {"__cplusplus", "compiler-macro", PROBE, true},
    {"__STDC*", "compiler-macro", PROBE, true},
    {"__VA_ARGS__", "compiler-macro", PROBE, true},
    {"__VA_OPT__", "compiler-macro", PROBE, true},
    {"__OPTIMIZE*", "compiler-macro", PROBE, true},
    {"__linux*", "compiler-macro", PROBE, true},
    {"__x86_64*", "compiler-macro", PROBE, true},
    {"_WIN*", "compiler-macro", PROBE, true},
    {"_MSC_*", "compiler-macro", PROBE, true},
    {"linux", "compiler-macro", PROBE, true},
    {"unix", "compiler-macro", PROBE, true},
    {"NDEBUG", "compiler-macro", PROBE, true},
    {"CUDA_VERSION", "compiler-macro", PROBE, true},
    {"CUDART_VERSION", "compiler-macro", PROBE, true},
    {"NV_*", "compiler-macro", PROBE, true},
    {"is_constant_evaluated", "compiler-macro", PROBE, true},
    {"source_location", "compiler-macro", PROBE, true},

    {"clock", "clock", CLOCK, false},
    {"clock64", "clock", CLOCK, false},
    {"__clock*", "clock", CLOCK, false},
    {"globaltimer*", "clock", CLOCK, false},
    {"__globaltimer*", "clock", CLOCK, false},
    {"chrono", "clock", CLOCK, false},
    {"system_clock", "clock", CLOCK, false},
    {"steady_clock", "clock", CLOCK, false},
    {"high_resolution_clock", "clock", CLOCK, false},
    {"__builtin_readcyclecounter", "clock", CLOCK, false},
    {"__nvvm_*", "clock", CLOCK, false},
    {"__smid", "clock", CLOCK, false},
    {"get_smid", "clock", CLOCK, false},

    {"__nanosleep", "stop", TRAP, false},
    {"nanosleep", "stop", TRAP, false},
    {"sleep_for", "stop", TRAP, false},
    {"sleep_until", "stop", TRAP, false},
    {"__trap", "stop", TRAP, false},
    {"__brkpt", "stop", TRAP, false},
    {"__prof_trigger", "stop", TRAP, false},
    {"__builtin_trap", "stop", TRAP, false},
    {"__builtin_debugtrap", "stop", TRAP, false},
    {"__builtin_unreachable", "stop", TRAP, false},
    {"unreachable", "stop", TRAP, false},
    {"terminate", "stop", TRAP, false},
    {"quick_exit", "stop", TRAP, false},
    {"abort", "stop", TRAP, false},
    {"exit", "stop", TRAP, false},
    {"_exit", "stop", TRAP, false},
    {"_Exit", "stop", TRAP, false},
    {"__exit", "stop", TRAP, false},
    {"assert", "stop", TRAP, false},
    {"__assert*", "stop", TRAP, false},

    {"malloc", "heap", HEAP, false},
    {"calloc", "heap", HEAP, false},
    {"realloc", "heap", HEAP, false},
    {"free", "heap", HEAP, false},
    {"new", "heap", HEAP, false},
    {"delete", "heap", HEAP, false},
    {"alloca", "heap", HEAP, false},
    {"__builtin_alloca*", "heap", HEAP, false},
    {"__builtin_malloc", "heap", HEAP, false},
    {"__builtin_operator_new", "heap", HEAP, false},

    {"printf", "print", PRINT, false},
    {"vprintf", "print", PRINT, false},
    {"fprintf", "print", PRINT, false},
    {"puts", "print", PRINT, false},
    {"putchar", "print", PRINT, false},
    {"__builtin_printf", "print", PRINT, false},

    {"createpolicy*", "cache-policy", CACHE, false},
    {"__createpolicy*", "cache-policy", CACHE, false},
    {"__nv_associate_access*", "cache-policy", CACHE, false},
    {"access_property", "cache-policy", CACHE, false},
    {"apply_access_property", "cache-policy", CACHE, false},
    {"associate_access_property", "cache-policy", CACHE, false},
    {"annotated_ptr", "cache-policy", CACHE, false},
    {"discard_memory", "cache-policy", CACHE, false},
    {"__prefetch*", "cache-policy", CACHE, false},
    {"__builtin_prefetch", "cache-policy", CACHE, false},
    {"__builtin_nontemporal*", "cache-policy", CACHE, false},

    {"cudaGridDependencySynchronize", "pdl", PDL, false},
    {"cudaTriggerProgrammaticLaunchCompletion", "pdl", PDL, false},
    {"griddepcontrol*", "pdl", PDL, false},
    {"cudaStreamFireAndForget", "pdl", PDL, false},
    {"cudaStreamTailLaunch", "pdl", PDL, false},
    {"<<<", "device-launch", "launches a kernel from the device", false},

    {"this_grid", "cooperative", COOP, false},
    {"grid_group", "cooperative", COOP, false},
    {"this_multi_grid", "cooperative", COOP, false},
    {"multi_grid_group", "cooperative", COOP, false},
    {"this_cluster", "cooperative", COOP, false},
    {"cluster_group", "cooperative", COOP, false},
    {"__cluster*", "cooperative", COOP, false},

    {"__host__", "host", HOSTW, false},
    {"main", "host", HOSTW, false},
    {"system", "host", HOSTW, false},
    {"atexit", "host", HOSTW, false},
    {"__managed__", "state", STATE, false},
    {"__constant__", "state", STATE, false},
    {"thread_local", "state", STATE, false},
    {"__thread", "state", STATE, false},
    {"const_cast", "state", "takes `const` away from what may not be written", false},
    {"__texture__", "state", STATE, false},
    {"__surface__", "state", STATE, false},

    {"try", "exceptions", THROW, false},
    {"catch", "exceptions", THROW, false},
    {"throw", "exceptions", THROW, false},
    {"typeid", "exceptions", THROW, false},
    {"dynamic_cast", "exceptions", THROW, false},
    {"virtual", "exceptions", THROW, false},
    {"friend", "name-prefix", "reaches outside of its own declaration", false},

    {"volatile", "volatile", "keeps the compiler from reasoning about memory; barriers and atomics "
                             "say what is meant", false},

    {"half", "precision", LOWER, false},
    {"half2", "precision", LOWER, false},
    {"half4", "precision", LOWER, false},
    {"__half*", "precision", LOWER, false},
    {"nv_half*", "precision", LOWER, false},
    {"__nv_half*", "precision", LOWER, false},
    {"nv_bfloat16*", "precision", LOWER, false},
    {"__nv_bfloat16*", "precision", LOWER, false},
    {"bfloat16*", "precision", LOWER, false},
    {"__bf16", "precision", LOWER, false},
    {"_Float16", "precision", LOWER, false},
    {"__fp16", "precision", LOWER, false},
    {"float16_t", "precision", LOWER, false},
    {"__nv_fp*", "precision", LOWER, false},
    {"__nv_tf32*", "precision", LOWER, false},
    {"__float2half*", "precision", LOWER, false},
    {"__float22half*", "precision", LOWER, false},
    {"__floats2half*", "precision", LOWER, false},
    {"__double2half*", "precision", LOWER, false},
    {"__float2bfloat16*", "precision", LOWER, false},
    {"__float22bfloat16*", "precision", LOWER, false},
    {"__floats2bfloat16*", "precision", LOWER, false},
    {"__double2bfloat16*", "precision", LOWER, false},
    {"__float_to_tf32", "precision", LOWER, false},
    {"tf32*", "precision", LOWER, false},
    {"wmma", "precision", LOWER, false},
    {"mma", "precision", LOWER, false},
    {"mma_sync", "precision", LOWER, false},
    {"nvcuda", "precision", LOWER, false},
    {"wgmma*", "precision", LOWER, false},
    {"__mma*", "precision", LOWER, false},

    {"asm", "asm", ASM, false},
    {"__asm", "asm", ASM, false},
    {"__asm__", "asm", ASM, false},
    {"ptx", "asm", ASM, false},
    {"_Pragma", "directive", "is a directive in disguise", true},
    {"__pragma", "directive", "is a directive in disguise", true},
    {"__attribute", "attribute", "is an attribute that the original does not have", false},
    {"__declspec", "attribute", "is an attribute that the original does not have", false},
    {"__extension__", "attribute", "is an attribute that the original does not have", false},
    {"__grid_constant__", "attribute", "is an attribute that the original does not have", false},
    {"__maxnreg__", "attribute", "is an attribute that the original does not have", false},
    {"__block_size__", "attribute", "is an attribute that the original does not have", false},
    {"__nv_pure__", "attribute", "is an attribute that the original does not have", false},
};

static bool matches(const char *pattern, const char *word)
{
  size_t n = strlen(pattern);
  return pattern[n - 1] == '*' ? !strncmp(pattern, word, n - 1) : !strcmp(pattern, word);
}

// cudaMalloc, cuMemAlloc, nvrtcCompileProgram: a library's calls.
static bool is_runtime(const char *word)
{
  static const char *const prefixes[] = {"cuda", "cu", "nvrtc", "cublas", "cudnn", "cufft", NULL};
  for (int i = 0; prefixes[i]; i++) {
    size_t n = strlen(prefixes[i]);
    if (!strncmp(word, prefixes[i], n) && isupper((unsigned char)word[n]))
      return true;
  }
  return false;
}

const struct forbidden *screen_forbidden(const char *word)
{
  static const struct forbidden runtime = {"cuda*", "runtime", RUNTIME, false};
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    if (matches(table[i].word, word))
      return &table[i];
  }
  return is_runtime(word) ? &runtime : NULL;
}

static bool in_list(const char *const *list, const char *word)
{
  for (; *list; list++) {
    if (matches(*list, word))
      return true;
  }
  return false;
}

bool screen_is_intrinsic(const char *word)
{
  static const char *const list[] = {
      "__global__", "__device__", "__shared__", "__forceinline__", "__noinline__", "__inline__",
      "__restrict__", "__restrict", "__launch_bounds__", "__align__", "__alignof", "__alignof__",
      "__syncthreads", "__syncthreads_count", "__syncthreads_and", "__syncthreads_or", "__syncwarp",
      "__threadfence", "__threadfence_block", "__threadfence_system",
      "__shfl_sync", "__shfl_up_sync", "__shfl_down_sync", "__shfl_xor_sync",
      "__ballot_sync", "__any_sync", "__all_sync", "__activemask", "__match_any_sync",
      "__match_all_sync", "__reduce_*", "__ldg", "__ldca", "__ldcg", "__ldcs", "__ldlu", "__ldcv",
      "__stwb", "__stcg", "__stcs", "__stwt",
      "__fmaf_*", "__fma_*", "__fadd_*", "__fsub_*", "__fmul_*", "__fdiv_*", "__frcp_*",
      "__fsqrt_*", "__frsqrt_*", "__dadd_*", "__dsub_*", "__dmul_*", "__ddiv_*", "__drcp_*", "__dsqrt_*",
      "__expf", "__exp10f", "__logf", "__log2f", "__log10f", "__powf", "__sinf", "__cosf", "__tanf",
      "__sincosf", "__tanhf", "__fdividef", "__saturatef",
      "__int_as_float", "__float_as_int", "__uint_as_float", "__float_as_uint",
      "__longlong_as_double", "__double_as_longlong", "__hiloint2double", "__double2hiint",
      "__double2loint", "__int2float_*", "__uint2float_*", "__ll2float_*", "__ull2float_*",
      "__float2int_*", "__float2uint_*", "__float2ll_*", "__float2ull_*", "__double2int_*",
      "__double2uint_*", "__double2ll_*", "__double2ull_*", "__int2double_rn", "__uint2double_rn",
      "__ll2double_*", "__ull2double_*", "__double2float_*",
      "__popc", "__popcll", "__clz", "__clzll", "__ffs", "__ffsll", "__fns", "__brev", "__brevll",
      "__byte_perm", "__funnelshift_*", "__mul24", "__umul24", "__mulhi", "__umulhi", "__mul64hi",
      "__umul64hi", "__sad", "__usad", "__hadd", "__rhadd", "__uhadd", "__urhadd", "__dp4a", "__dp2a_*",
      "__vadd*", "__vsub*", "__vmax*", "__vmin*", "__vabs*", "__vavg*", "__vcmp*", "__vset*", "__vneg*",
      "__vsad*", "__vhadd*", "__vimax*", "__vimin*", "__vib*",
      "__pipeline_memcpy_async", "__pipeline_commit", "__pipeline_wait_prior", "__pipeline_arrive_on",
      "__cvta_generic_to_shared", "__isShared", "__isGlobal", "__isLocal", "__isConstant",
      "__builtin_assume", "__builtin_assume_aligned", "__builtin_expect", "__isnan*", "__isinf*",
      "__finite*", "__int128", "__int64", "__signbit*", NULL};
  return in_list(list, word);
}

bool screen_is_fast_math(const char *word)
{
  static const char *const list[] = {"__expf", "__exp10f", "__logf", "__log2f", "__log10f", "__powf",
                                     "__sinf", "__cosf", "__tanf", "__sincosf", "__tanhf",
                                     "__fdividef", "__frcp_*", "__frsqrt_*", "__saturatef", "rsqrtf",
                                     "rsqrt", "rcp*", "exp2f", "__fsqrt_*", NULL};
  return in_list(list, word);
}

bool screen_is_common_macro(const char *word)
{
  static const char *const list[] = {
      "NULL", "CHAR_BIT", "INT_MAX", "INT_MIN", "UINT_MAX", "LONG_MAX", "LONG_MIN", "LLONG_MAX",
      "LLONG_MIN", "ULLONG_MAX", "SHRT_MAX", "SHRT_MIN", "USHRT_MAX", "SCHAR_MAX", "SCHAR_MIN",
      "UCHAR_MAX", "CHAR_MAX", "CHAR_MIN", "INT8_*", "INT16_*", "INT32_*", "INT64_*", "UINT8_*",
      "UINT16_*", "UINT32_*", "UINT64_*", "SIZE_MAX", "FLT_*", "DBL_*", "INFINITY", "NAN",
      "HUGE_VAL*", "M_E", "M_LOG*", "M_LN*", "M_PI*", "M_1_PI", "M_2_PI", "M_2_SQRTPI", "M_SQRT*",
      "CUDART_INF*", "CUDART_NAN*", "CUDART_PI*", "CUDART_ZERO*", "CUDART_ONE*", "CUDART_TWO*",
      "CUDART_SQRT*", "CUDART_L2E*", "CUDART_LN*", "CUDART_MAX*", "CUDART_MIN*", "CUDART_NEG*", NULL};
  return in_list(list, word);
}

// --- texts ---

static char *lower(const char *s)
{
  char *out = kr_xstrdup(s);
  for (char *p = out; *p; p++)
    *p = (char)tolower((unsigned char)*p);
  return out;
}

static bool holds_any(const char *text, const char *const *phrases)
{
  char *low = lower(text);
  bool yes = false;
  for (; *phrases && !yes; phrases++)
    yes = strstr(low, *phrases) != NULL;
  free(low);
  return yes;
}

const struct forbidden *screen_forbidden_ptx(const char *text, size_t *entry)
{
  static const struct forbidden ptx[] = {
      {"%clock", "clock", CLOCK, false},
      {"%globaltimer", "clock", CLOCK, false},
      {"%smid", "clock", CLOCK, false},
      {"%nsmid", "clock", CLOCK, false},
      {"%gridid", "clock", CLOCK, false},
      {"%warpid", "clock", CLOCK, false},
      {"%nwarpid", "clock", CLOCK, false},
      {"%pm", "clock", CLOCK, false},
      {"%envreg", "clock", CLOCK, false},
      {"nanosleep", "stop", TRAP, false},
      {"trap", "stop", TRAP, false},
      {"brkpt", "stop", TRAP, false},
      {"exit", "stop", TRAP, false},
      {"pmevent", "stop", TRAP, false},
      {"createpolicy", "cache-policy", CACHE, false},
      {"cache_hint", "cache-policy", CACHE, false},
      {"evict_", "cache-policy", CACHE, false},
      {"l2::", "cache-policy", CACHE, false},
      {"l1::", "cache-policy", CACHE, false},
      {"prefetch", "cache-policy", CACHE, false},
      {"discard", "cache-policy", CACHE, false},
      {"applypriority", "cache-policy", CACHE, false},
      {"griddepcontrol", "pdl", PDL, false},
      {"setmaxnreg", "stop", TRAP, false},
      {"barrier.cluster", "cooperative", COOP, false},
      {"mapa", "cooperative", COOP, false},
      {"malloc", "heap", HEAP, false},
      {"vprintf", "print", PRINT, false},
      {"call", "asm", ASM, false},
      {".extern", "asm", ASM, false},
      {".global .", "state", STATE, false},
      {".section", "asm", ASM, false},
      {"mma", "precision", LOWER, false},
      {"tf32", "precision", LOWER, false},
      {"bf16", "precision", LOWER, false},
      {"f16", "precision", LOWER, false},
      {"e4m3", "precision", LOWER, false},
      {"e5m2", "precision", LOWER, false},
      {"tcgen05", "precision", LOWER, false},
  };
  char *low = lower(text);
  for (; *entry < sizeof ptx / sizeof *ptx; ++*entry) {
    if (strstr(low, ptx[*entry].word)) {
      free(low);
      return &ptx[(*entry)++];
    }
  }
  free(low);
  return NULL;
}

bool screen_elides(const char *comment)
{
  static const char *const anywhere[] = {
      "existing code", "rest unchanged", "rest is unchanged", "rest remains", "rest stays",
      "rest of the code", "rest of code", "rest of the kernel", "rest of kernel",
      "rest of the function", "rest of the body", "remaining code", "code remains", "unchanged code",
      "code unchanged", "code is unchanged", "code omitted", "omitted for brevity", "for brevity",
      "code goes here", "your code", "implementation here", "implement here", "to be implemented",
      "not implemented", NULL};
  static const char *const whole[] = {"same as before", "same as above", "same as original",
                                      "same as the original", "unchanged", "remains unchanged",
                                      "as before", "as in the original", "snip", "etc", "todo", NULL};
  const char *p = comment;
  while (*p && strchr("/*([ \t\r\n", *p))
    p++;
  // A comment that is nothing but dots, or begins with them.
  if (!strncmp(p, "...", 3))
    return true;
  // One that says nothing else.
  char *low = lower(p);
  size_t n = strlen(low);
  while (n && !isalnum((unsigned char)low[n - 1]))
    low[--n] = '\0';
  bool yes = in_list(whole, low);
  free(low);
  if (yes)
    return true;
  return holds_any(comment, anywhere);
}

bool screen_talks(const char *comment)
{
  static const char *const phrases[] = {
      "ignore previous", "ignore all", "ignore the above", "ignore any", "disregard", "system prompt",
      "you are a", "you are an", "you must", "as an ai", "language model", "assistant", "instructions:",
      "these instructions", "new instructions", "your instructions",
      "reviewer", "evaluator", "grader", "verifier", "benchmark harness", "test harness", "score this",
      "<|", "[inst", "</", "approved by", "do not modify", "do not review", "nolint", "clang-format",
      "clang-tidy", "cppcheck", "coverity", "iwyu", "prompt", "http:", "https:", NULL};
  return holds_any(comment, phrases);
}
