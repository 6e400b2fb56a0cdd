#include "vet.h"

#include <llvm-c/Analysis.h>
#include <llvm-c/Comdat.h>
#include <llvm-c/Transforms/PassBuilder.h>

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

// Bitcode is the one form in which nothing has been hidden yet: every external
// name, every assembler string, constructor, alias and section is there to be
// seen, however a text spelt it, and no assembler has run. So the list of what
// is allowed is held against it here, and everything else is refused.

static const char *const import_names[] = {
#define KR_IMPORT(name) #name,
#include "imports.def"
#undef KR_IMPORT
};

int vet_import(const char *name, size_t len)
{
  for (int i = 0; i < KR_N_IMPORTS; i++)
    if (strlen(import_names[i]) == len && !memcmp(import_names[i], name, len))
      return i;
  return -1;
}

static bool vet_has_prefix(const char *name, const char *prefix)
{
  return !strncmp(name, prefix, strlen(prefix));
}

// Intrinsics that compute, or move memory the code can address anyway. Those
// that read the frame, registers of the machine, or are a processor's own are
// not among them.
static const char *const intrinsics[] = {
    "llvm.abs.", "llvm.acos.", "llvm.asin.", "llvm.assume", "llvm.atan.", "llvm.atan2.",
    "llvm.bitreverse.", "llvm.bswap.", "llvm.canonicalize.", "llvm.ceil.", "llvm.copysign.",
    "llvm.cos.", "llvm.cosh.", "llvm.ctlz.", "llvm.ctpop.", "llvm.cttz.", "llvm.exp.",
    "llvm.exp10.", "llvm.exp2.", "llvm.expect", "llvm.experimental.constrained.",
    "llvm.experimental.noalias.scope.decl", "llvm.fabs.", "llvm.floor.", "llvm.fma.",
    "llvm.fmuladd.", "llvm.fptosi.sat.", "llvm.fptoui.sat.", "llvm.frexp.", "llvm.fshl.",
    "llvm.fshr.", "llvm.invariant.", "llvm.is.constant.", "llvm.is.fpclass.", "llvm.launder.",
    "llvm.ldexp.", "llvm.lifetime.", "llvm.llrint.", "llvm.llround.", "llvm.log.", "llvm.log10.",
    "llvm.log2.", "llvm.lrint.", "llvm.lround.", "llvm.masked.", "llvm.maximum.", "llvm.maxnum.",
    "llvm.memcpy.", "llvm.memmove.", "llvm.memset.", "llvm.minimum.", "llvm.minnum.", "llvm.modf.",
    "llvm.nearbyint.", "llvm.objectsize.", "llvm.pow.", "llvm.powi.", "llvm.prefetch",
    "llvm.ptrmask.", "llvm.rint.", "llvm.round.", "llvm.roundeven.", "llvm.sadd.", "llvm.scmp.",
    "llvm.sideeffect", "llvm.sin.", "llvm.sincos.", "llvm.sinh.", "llvm.smax.", "llvm.smin.",
    "llvm.smul.", "llvm.sqrt.", "llvm.sshl.", "llvm.ssub.", "llvm.stackrestore", "llvm.stacksave",
    "llvm.strip.", "llvm.tan.", "llvm.tanh.", "llvm.threadlocal.address.", "llvm.trap",
    "llvm.trunc.", "llvm.uadd.", "llvm.ubsantrap", "llvm.ucmp.", "llvm.umax.", "llvm.umin.",
    "llvm.umul.", "llvm.ushl.", "llvm.usub.", "llvm.vector.",
};

static int vet_intrinsic(const char *name, struct kr_err *err)
{
  for (size_t i = 0; i < sizeof intrinsics / sizeof *intrinsics; i++)
    if (vet_has_prefix(name, intrinsics[i]))
      return 0;
  return kr_err_set(err, "the code uses `%s`, which is not there yet on the CPU back end", name);
}

// The names below are compared as C strings.
static int vet_name(const char *name, size_t len, struct kr_err *err)
{
  return strlen(name) == len ? 0 : kr_err_set(err, "a name in the code holds a NUL");
}

static int vet_section(LLVMValueRef g, const char *name, struct kr_err *err)
{
  static const char not_yet[] = "kr.unsupported.";
  const char *section = LLVMGetSection(g);
  if (!section || !*section)
    return 0;
  if (!strncmp(section, not_yet, sizeof not_yet - 1))
    return kr_err_set(err, "`%s` is not there yet on the CPU back end (at `%s`)",
                      section + sizeof not_yet - 1, name);
  return kr_err_set(err, "the code puts `%s` into a section of its own, `%s`", name, section);
}

static bool vet_reserved(const char *name, size_t len)
{
  static const char *const names[] = {"main", "_start", "_init", "_fini"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strlen(names[i]) == len && !memcmp(names[i], name, len))
      return true;
  return vet_import(name, len) >= 0 || vet_has_prefix(name, "__kr_") ||
         vet_has_prefix(name, "llvm.");
}

static bool vet_linkage(LLVMValueRef g)
{
  switch (LLVMGetLinkage(g)) {
  case LLVMExternalLinkage:
  case LLVMInternalLinkage:
  case LLVMPrivateLinkage:
  case LLVMLinkOnceAnyLinkage:
  case LLVMLinkOnceODRLinkage:
  case LLVMWeakAnyLinkage:
  case LLVMWeakODRLinkage:
  case LLVMCommonLinkage:
  case LLVMAvailableExternallyLinkage:
    return true;
  default:
    return false;
  }
}

// --- globals ---

static int vet_global(LLVMValueRef g, struct kr_err *err)
{
  size_t len = 0;
  const char *name = LLVMGetValueName2(g, &len);
  if (vet_name(name, len, err))
    return -1;
  if (!strcmp(name, "llvm.global_ctors") || !strcmp(name, "llvm.global_dtors"))
    return kr_err_set(err, "the code has a constructor, a destructor or a variable that is "
                           "initialised at run time; nothing may run before the kernel");
  if (!strcmp(name, "llvm.used") || !strcmp(name, "llvm.compiler.used"))
    return 0; // dropped later
  if (vet_section(g, name, err))
    return -1;
  if (LLVMGetPointerAddressSpace(LLVMTypeOf(g)))
    return kr_err_set(err, "`%s` lies in an address space of its own", name);
  if (LLVMIsDeclaration(g)) {
    // extern __shared__ arrays, and nothing else: there is nobody to define it.
    if (LLVMIsThreadLocal(g) || !strcmp(name, VET_REGISTERS))
      return 0;
    return kr_err_set(err, "`%s` is declared but not defined", name);
  }
  if (vet_reserved(name, len))
    return kr_err_set(err, "the code defines `%s`, a reserved name", name);
  if (!vet_linkage(g) || LLVMIsExternallyInitialized(g))
    return kr_err_set(err, "the code defines `%s` with a linkage that is not allowed", name);
  if (LLVMIsThreadLocal(g)) {
    LLVMValueRef init = LLVMGetInitializer(g);
    if (!LLVMIsNull(init) && !LLVMIsUndef(init))
      return kr_err_set(err, "`%s` in shared memory has an initialiser", name);
    if (vet_has_prefix(name, "_ZGV") || !strcmp(name, "__tls_guard"))
      return kr_err_set(err, "a variable in shared memory has a constructor");
  }
  return 0;
}

// --- functions ---

// clang asks for the initialiser of a thread-local variable that another file
// might define; there is none.
static bool vet_is_tls_init(LLVMValueRef f, const char *name)
{
  return vet_has_prefix(name, "_ZTH") && LLVMGetLinkage(f) == LLVMExternalWeakLinkage;
}

static int vet_declaration(LLVMValueRef f, const char *name, size_t len, struct kr_err *err)
{
  if (vet_has_prefix(name, "llvm."))
    return vet_intrinsic(name, err);
  if (!strcmp(name, "__kr_trace_full")) // inserted later, and by nobody else
    return kr_err_set(err, "the code calls `%s`, a reserved name", name);
  if (vet_import(name, len) >= 0 || vet_is_tls_init(f, name))
    return 0;
  return kr_err_set(err, "the code calls `%s`, which device code cannot", name);
}

static int vet_type(LLVMTypeRef t, struct kr_err *err)
{
  if (LLVMGetTypeKind(t) == LLVMPointerTypeKind && LLVMGetPointerAddressSpace(t))
    return kr_err_set(err, "the code uses memory through an address space of its own");
  if (LLVMGetTypeKind(t) == LLVMX86_AMXTypeKind || LLVMGetTypeKind(t) == LLVMX86_MMXTypeKind)
    return kr_err_set(err, "the code uses a type of this processor only");
  return 0;
}

static int vet_instruction(LLVMValueRef i, struct kr_err *err)
{
  switch (LLVMGetInstructionOpcode(i)) {
  case LLVMCall: {
    LLVMValueRef callee = LLVMGetCalledValue(i);
    if (LLVMIsAInlineAsm(callee))
      return kr_err_set(err, "the code holds inline assembler, which is not there yet on the CPU "
                             "back end");
    unsigned cc = LLVMGetInstructionCallConv(i);
    if (cc != LLVMCCallConv && cc != LLVMFastCallConv && cc != LLVMColdCallConv)
      return kr_err_set(err, "the code uses a calling convention of its own");
    break;
  }
  case LLVMCallBr:
    return kr_err_set(err, "the code holds inline assembler, which is not there yet on the CPU "
                           "back end");
  case LLVMInvoke:
  case LLVMResume:
  case LLVMLandingPad:
  case LLVMCleanupRet:
  case LLVMCatchRet:
  case LLVMCatchPad:
  case LLVMCleanupPad:
  case LLVMCatchSwitch:
    return kr_err_set(err, "the code throws or catches exceptions");
  case LLVMIndirectBr:
    return kr_err_set(err, "the code jumps to the address of a label");
  case LLVMVAArg:
    return kr_err_set(err, "the code takes a variable number of arguments");
  default:
    break;
  }
  if (vet_type(LLVMTypeOf(i), err))
    return -1;
  int n = LLVMGetNumOperands(i);
  for (int k = 0; k < n; k++) {
    LLVMValueRef o = LLVMGetOperand(i, (unsigned)k);
    if (LLVMIsAInlineAsm(o))
      return kr_err_set(err, "the code holds inline assembler, which is not there yet on the CPU "
                             "back end");
    if (LLVMIsABlockAddress(o))
      return kr_err_set(err, "the code takes the address of a label");
    if (vet_type(LLVMTypeOf(o), err))
      return -1;
  }
  return 0;
}

static int vet_function(LLVMValueRef f, struct kr_err *err)
{
  size_t len = 0;
  const char *name = LLVMGetValueName2(f, &len);
  if (vet_name(name, len, err) || vet_section(f, name, err))
    return -1;
  if (LLVMIsDeclaration(f))
    return vet_declaration(f, name, len, err);
  if (strcmp(name, VET_ENTRY) && vet_reserved(name, len))
    return kr_err_set(err, "the code defines `%s`, a reserved name", name);
  if (!vet_linkage(f))
    return kr_err_set(err, "the code defines `%s` with a linkage that is not allowed", name);
  unsigned cc = LLVMGetFunctionCallConv(f);
  if (cc != LLVMCCallConv && cc != LLVMFastCallConv && cc != LLVMColdCallConv)
    return kr_err_set(err, "`%s` has a calling convention of its own", name);
  if (LLVMHasPersonalityFn(f) || LLVMGetGC(f))
    return kr_err_set(err, "`%s` wants a runtime of its own", name);
  static const char *const attributes[] = {"naked", "presplitcoroutine"};
  for (size_t i = 0; i < sizeof attributes / sizeof *attributes; i++) {
    unsigned kind = LLVMGetEnumAttributeKindForName(attributes[i], strlen(attributes[i]));
    if (LLVMGetEnumAttributeAtIndex(f, LLVMAttributeFunctionIndex, kind))
      return kr_err_set(err, "`%s` is %s", name, attributes[i]);
  }
  for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b))
    for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i))
      if (vet_instruction(i, err))
        return -1;
  return 0;
}

int vet_module(LLVMModuleRef m, struct kr_err *err)
{
  size_t len = 0;
  LLVMGetModuleInlineAsm(m, &len);
  if (len)
    return kr_err_set(err, "the code holds assembler, which is not there yet on the CPU back end");
  if (LLVMGetFirstGlobalAlias(m))
    return kr_err_set(err, "the code defines `%s` as an alias",
                      LLVMGetValueName2(LLVMGetFirstGlobalAlias(m), &len));
  if (LLVMGetFirstGlobalIFunc(m))
    return kr_err_set(err, "the code has `%s` resolved at load time (ifunc)",
                      LLVMGetValueName2(LLVMGetFirstGlobalIFunc(m), &len));
  for (LLVMValueRef g = LLVMGetFirstGlobal(m); g; g = LLVMGetNextGlobal(g))
    if (vet_global(g, err))
      return -1;
  for (LLVMValueRef f = LLVMGetFirstFunction(m); f; f = LLVMGetNextFunction(f))
    if (vet_function(f, err))
      return -1;
  LLVMValueRef entry = LLVMGetNamedFunction(m, VET_ENTRY);
  if (!entry || LLVMIsDeclaration(entry))
    return kr_err_set(err, "the kernel was not found in the compiled code");
  char *message = NULL;
  LLVMBool broken = LLVMVerifyModule(m, LLVMReturnStatusAction, &message);
  if (broken)
    kr_err_set(err, "the compiled code is not well formed: %.200s", message);
  LLVMDisposeMessage(message);
  return broken ? -1 : 0;
}

// --- lowering ---

struct vet_lowering {
  LLVMContextRef ctx;
  LLVMBuilderRef builder;
  LLVMTypeRef i32, i64, ptr;
  struct kr_image *image;
  uint64_t next_shared;
};

static LLVMValueRef vet_address(const struct vet_lowering *lo, uint64_t address)
{
  return LLVMConstIntToPtr(LLVMConstInt(lo->i64, address, 0), lo->ptr);
}

// Where in the registers a use of them reads, in words; -1 for what is no read.
static int64_t vet_register(LLVMValueRef user, LLVMValueRef of)
{
  if (LLVMIsALoadInst(user))
    return LLVMGetOperand(user, 0) == of ? 0 : -1;
  bool address = LLVMIsAGetElementPtrInst(user) ||
                 (LLVMIsAConstantExpr(user) && LLVMGetConstOpcode(user) == LLVMGetElementPtr);
  if (!address)
    return -1;
  LLVMValueRef last = LLVMGetOperand(user, (unsigned)LLVMGetNumOperands(user) - 1);
  if (!LLVMIsAConstantInt(last))
    return -1;
  LLVMTypeRef unit = LLVMGetGEPSourceElementType(user);
  bool bytes = LLVMGetTypeKind(unit) == LLVMIntegerTypeKind && LLVMGetIntTypeWidth(unit) == 8;
  int64_t at = LLVMConstIntGetSExtValue(last) / (bytes ? 4 : 1);
  for (LLVMUseRef u = LLVMGetFirstUse(user); u; u = LLVMGetNextUse(u))
    if (!LLVMIsALoadInst(LLVMGetUser(u)))
      return -1;
  return at;
}

static int vet_lower_sregs(const struct vet_lowering *lo, LLVMModuleRef m, struct kr_err *err)
{
  LLVMValueRef g = LLVMGetNamedGlobal(m, VET_REGISTERS);
  if (!g)
    return 0;
  for (LLVMUseRef u = LLVMGetFirstUse(g); u; u = LLVMGetNextUse(u)) {
    int64_t at = vet_register(LLVMGetUser(u), g);
    if (at < 0 || at >= 12)
      return kr_err_set(err, "the code reads a register that is not there");
  }
  LLVMReplaceAllUsesWith(g, vet_address(lo, KR_REGS_BASE));
  LLVMDeleteGlobal(g);
  return 0;
}

// Places a static variable in its own pages, its end at a guard.
static int vet_place_shared(struct vet_lowering *lo, LLVMModuleRef m, LLVMValueRef g,
                            uint64_t *address, struct kr_err *err)
{
  LLVMTargetDataRef data = LLVMGetModuleDataLayout(m);
  uint64_t bytes = LLVMABISizeOfType(data, LLVMGlobalGetValueType(g));
  uint64_t align = LLVMGetAlignment(g);
  if (align < 1)
    align = LLVMABIAlignmentOfType(data, LLVMGlobalGetValueType(g));
  if (align > KR_PAGE)
    return kr_err_set(err, "`%s` in shared memory wants an alignment of %llu bytes",
                      LLVMGetValueName2(g, &(size_t){0}), (unsigned long long)align);
  if (lo->image->n_shared == KR_MAX_SHARED_VARS)
    return kr_err_set(err, "more than %d variables in shared memory", KR_MAX_SHARED_VARS);
  lo->image->static_shared_bytes += (uint32_t)(bytes < UINT32_MAX / 256 ? bytes : UINT32_MAX / 256);
  if (lo->image->static_shared_bytes > KR_STATIC_SHARED_MAX)
    return kr_err_set(err, "too much shared memory: %u bytes, at most %d",
                      lo->image->static_shared_bytes, KR_STATIC_SHARED_MAX);
  uint64_t pages = (bytes + KR_PAGE - 1) / KR_PAGE * KR_PAGE;
  *address = (lo->next_shared + pages - bytes) / align * align;
  lo->image->shared[lo->image->n_shared++] = (struct kr_shared_var){*address, bytes};
  lo->next_shared += pages + KR_SHARED_GUARD;
  return 0;
}

static int vet_lower_shared(struct vet_lowering *lo, LLVMModuleRef m, struct kr_err *err)
{
  for (LLVMValueRef g = LLVMGetFirstGlobal(m), next; g; g = next) {
    next = LLVMGetNextGlobal(g);
    if (!LLVMIsThreadLocal(g))
      continue;
    bool dynamic = LLVMIsDeclaration(g);
    if (!LLVMGetFirstUse(g)) {
      LLVMDeleteGlobal(g);
      continue;
    }
    uint64_t address = 0;
    if (dynamic)
      lo->image->uses_dynamic_shared = 1;
    else if (vet_place_shared(lo, m, g, &address, err))
      return -1;
    for (LLVMUseRef u = LLVMGetFirstUse(g); u; u = LLVMGetFirstUse(g)) {
      LLVMValueRef call = LLVMGetUser(u);
      size_t len = 0;
      if (!LLVMIsACallInst(call) || !LLVMIsAFunction(LLVMGetCalledValue(call)) ||
          !vet_has_prefix(LLVMGetValueName2(LLVMGetCalledValue(call), &len),
                          "llvm.threadlocal.address."))
        return kr_err_set(err, "the address of `%s` in shared memory is used in a constant",
                          LLVMGetValueName2(g, &len));
      LLVMPositionBuilderBefore(lo->builder, call);
      LLVMValueRef value =
          dynamic ? LLVMBuildLoad2(lo->builder, lo->ptr,
                                   vet_address(lo, KR_REGS_BASE + offsetof(struct kr_simt_regs,
                                                                           dynamic_shared)),
                                   "")
                  : vet_address(lo, address);
      LLVMReplaceAllUsesWith(call, value);
      LLVMInstructionEraseFromParent(call);
    }
    LLVMDeleteGlobal(g);
  }
  return 0;
}

// Whether the outcome of an atomic depends on who comes first.
static bool vet_is_ordered(LLVMValueRef i)
{
  LLVMOpcode op = LLVMGetInstructionOpcode(i);
  if (op == LLVMAtomicCmpXchg)
    return true;
  if (op != LLVMAtomicRMW)
    return false;
  switch (LLVMGetAtomicRMWBinOp(i)) {
  case LLVMAtomicRMWBinOpAdd:
  case LLVMAtomicRMWBinOpSub:
  case LLVMAtomicRMWBinOpAnd:
  case LLVMAtomicRMWBinOpOr:
  case LLVMAtomicRMWBinOpXor:
  case LLVMAtomicRMWBinOpMax:
  case LLVMAtomicRMWBinOpMin:
  case LLVMAtomicRMWBinOpUMax:
  case LLVMAtomicRMWBinOpUMin:
    return LLVMGetFirstUse(i) != NULL;
  default:
    return true;
  }
}

static void vet_privatise(LLVMValueRef g)
{
  LLVMSetComdat(g, NULL);
  LLVMSetVisibility(g, LLVMDefaultVisibility);
  LLVMSetDLLStorageClass(g, LLVMDefaultStorageClass);
  LLVMSetLinkage(g, LLVMInternalLinkage);
}

static void vet_scan(struct vet_lowering *lo, LLVMModuleRef m)
{
  static const enum kr_import waits[] = {KR_IMPORT___kr_sync,  KR_IMPORT___kr_syncwarp,
                                         KR_IMPORT___kr_shfl,  KR_IMPORT___kr_vote,
                                         KR_IMPORT___kr_match, KR_IMPORT___kr_reduce,
                                         KR_IMPORT___kr_activemask, KR_IMPORT___kr_spin};
  for (size_t i = 0; i < sizeof waits / sizeof *waits; i++) {
    LLVMValueRef f = LLVMGetNamedFunction(m, import_names[waits[i]]);
    if (f && LLVMGetFirstUse(f))
      lo->image->flags |= KR_IMAGE_FIBERS;
  }
  for (LLVMValueRef f = LLVMGetFirstFunction(m); f; f = LLVMGetNextFunction(f))
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b))
      for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i))
        if (vet_is_ordered(i))
          lo->image->flags |= KR_IMAGE_UNORDERED;
}

static int vet_run_passes(LLVMModuleRef m, LLVMTargetMachineRef tm, const char *passes,
                          struct kr_err *err)
{
  LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
  LLVMErrorRef e = LLVMRunPasses(m, passes, tm, options);
  LLVMDisposePassBuilderOptions(options);
  if (!e)
    return 0;
  char *message = LLVMGetErrorMessage(e);
  kr_err_set(err, "LLVM: %.200s", message);
  LLVMDisposeErrorMessage(message);
  return -1;
}

int vet_lower(LLVMModuleRef m, LLVMTargetMachineRef tm, struct kr_image *image,
              struct kr_err *err)
{
  struct vet_lowering lo = {.ctx = LLVMGetModuleContext(m), .image = image,
                            .next_shared = KR_SHARED_BASE + KR_SHARED_GUARD};
  lo.builder = LLVMCreateBuilderInContext(lo.ctx);
  lo.i32 = LLVMInt32TypeInContext(lo.ctx);
  lo.i64 = LLVMInt64TypeInContext(lo.ctx);
  lo.ptr = LLVMPointerTypeInContext(lo.ctx, 0);
  int rc = -1;
  static const char *const used[] = {"llvm.used", "llvm.compiler.used"};
  for (size_t i = 0; i < 2; i++) {
    LLVMValueRef g = LLVMGetNamedGlobal(m, used[i]);
    if (g)
      LLVMDeleteGlobal(g);
  }
  for (LLVMValueRef f = LLVMGetFirstFunction(m), next; f; f = next) {
    next = LLVMGetNextFunction(f);
    size_t len = 0;
    const char *name = LLVMGetValueName2(f, &len);
    if (vet_is_tls_init(f, name)) {
      LLVMReplaceAllUsesWith(f, LLVMConstNull(lo.ptr));
      LLVMDeleteFunction(f);
    } else if (!LLVMIsDeclaration(f) && strcmp(name, VET_ENTRY)) {
      vet_privatise(f);
    }
  }
  for (LLVMValueRef g = LLVMGetFirstGlobal(m); g; g = LLVMGetNextGlobal(g))
    if (!LLVMIsDeclaration(g))
      vet_privatise(g);
  // Before places are given out, so that only what the kernel reaches has one.
  if (vet_run_passes(m, tm, "function(simplifycfg),globaldce", err))
    goto out;
  if (vet_lower_sregs(&lo, m, err) || vet_lower_shared(&lo, m, err))
    goto out;
  if (vet_run_passes(m, tm, "function(instcombine<no-verify-fixpoint>,simplifycfg),globaldce", err))
    goto out;
  vet_scan(&lo, m);
  rc = 0;
out:
  LLVMDisposeBuilder(lo.builder);
  return rc;
}
