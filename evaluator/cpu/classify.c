#include "classify.h"

#include <stdlib.h>
#include <string.h>

// Costs are those of SASS for what nvcc makes of the same source, as seen in its
// listings for sm_80 to sm_90: a conversion of an index for an address is part of
// the multiply-add that makes the address, a negation or an absolute value a
// modifier of the instruction that uses it, a multiplication that feeds an
// addition one fused instruction, a 64-bit integer two 32-bit ones.

static unsigned type_bits(LLVMTypeRef t)
{
  switch (LLVMGetTypeKind(t)) {
  case LLVMHalfTypeKind:
  case LLVMBFloatTypeKind:
    return 16;
  case LLVMFloatTypeKind:
    return 32;
  case LLVMDoubleTypeKind:
  case LLVMPointerTypeKind:
    return 64;
  case LLVMIntegerTypeKind:
    return LLVMGetIntTypeWidth(t);
  case LLVMVectorTypeKind:
    return type_bits(LLVMGetElementType(t));
  default:
    return 32;
  }
}

static unsigned type_elements(LLVMTypeRef t)
{
  return LLVMGetTypeKind(t) == LLVMVectorTypeKind ? LLVMGetVectorSize(t) : 1;
}

static bool type_floats(LLVMTypeRef t)
{
  LLVMTypeKind k = LLVMGetTypeKind(t);
  if (k == LLVMVectorTypeKind)
    k = LLVMGetTypeKind(LLVMGetElementType(t));
  return k == LLVMHalfTypeKind || k == LLVMBFloatTypeKind || k == LLVMFloatTypeKind ||
         k == LLVMDoubleTypeKind;
}

static enum kr_inst_class float_class(LLVMTypeRef t)
{
  unsigned bits = type_bits(t);
  return bits == 64 ? KR_INST_FP64 : bits == 16 ? KR_INST_FP16 : KR_INST_FP32;
}

static void add(struct classify_cost *c, enum kr_inst_class which, unsigned n)
{
  unsigned sum = c->inst[which] + n;
  c->inst[which] = (uint16_t)(sum > UINT16_MAX ? UINT16_MAX : sum);
}

static LLVMValueRef only_user(LLVMValueRef v)
{
  LLVMUseRef u = LLVMGetFirstUse(v);
  return u && !LLVMGetNextUse(u) ? LLVMGetUser(u) : NULL;
}

static bool is_op(LLVMValueRef v, LLVMOpcode op)
{
  return v && LLVMIsAInstruction(v) && LLVMGetInstructionOpcode(v) == op;
}

// A multiplication that the code generator fuses with the addition that uses it.
static bool is_fused(LLVMValueRef mul)
{
  LLVMValueRef user = only_user(mul);
  if (!is_op(user, LLVMFAdd) && !is_op(user, LLVMFSub))
    return false;
  unsigned need = LLVMFastMathAllowContract;
  if (!(LLVMGetFastMathFlags(mul) & need) || !(LLVMGetFastMathFlags(user) & need))
    return false;
  // Of two products that are added, one stays a multiplication.
  LLVMValueRef first = LLVMGetOperand(user, 0);
  return mul == first || !is_op(first, LLVMFMul) || only_user(first) != user;
}

static bool is_integer_fused(LLVMValueRef mul)
{
  LLVMValueRef user = only_user(mul);
  return is_op(user, LLVMAdd) && type_bits(LLVMTypeOf(mul)) <= 32;
}

// Whether a value is only the index of addresses.
static bool only_addresses(LLVMValueRef v)
{
  for (LLVMUseRef u = LLVMGetFirstUse(v); u; u = LLVMGetNextUse(u)) {
    LLVMValueRef user = LLVMGetUser(u);
    if (!is_op(user, LLVMGetElementPtr) && !is_op(user, LLVMAdd) && !is_op(user, LLVMMul) &&
        !is_op(user, LLVMShl))
      return false;
  }
  return true;
}

static bool is_extended(LLVMValueRef v)
{
  return is_op(v, LLVMZExt) || is_op(v, LLVMSExt) ||
         (LLVMIsAConstantInt(v) && LLVMGetIntTypeWidth(LLVMTypeOf(v)) <= 64);
}

static unsigned words(LLVMTypeRef t) { return type_bits(t) > 32 ? (type_bits(t) + 31) / 32 : 1; }

static int divide(LLVMValueRef i, struct classify_cost *c)
{
  unsigned n = type_elements(LLVMTypeOf(i)), w = words(LLVMTypeOf(i));
  LLVMValueRef by = LLVMGetOperand(i, 1);
  if (LLVMIsAConstantInt(by)) {
    unsigned long long v = LLVMConstIntGetZExtValue(by);
    bool power = v && !(v & (v - 1));
    add(c, KR_INST_INT, n * w * (power ? 2 : 4));
  } else {
    // 32 bits go through the reciprocal of a float, 64 through a call.
    add(c, KR_INST_INT_DIV, n);
  }
  return 0;
}

// What our headers mark as approximate on a GPU (cuda.h).
static bool is_fast(LLVMValueRef i)
{
  return LLVMIsAInstruction(i) && LLVMCanValueUseFastMathFlags(i) &&
         LLVMGetFastMathFlags(i) & LLVMFastMathAllowReciprocal &&
         type_bits(LLVMTypeOf(i)) == 32;
}

static bool is_one(LLVMValueRef v)
{
  LLVMBool lost = 0;
  return LLVMIsAConstantFP(v) && LLVMConstRealGetDouble(v, &lost) == 1;
}

static bool is_fast_root(LLVMValueRef v)
{
  const char *name = LLVMIsACallInst(v) ? classify_callee(v) : "";
  return !strncmp(name, "llvm.sqrt.", 10) && is_fast(v);
}

static void float_divide(LLVMValueRef i, struct classify_cost *c)
{
  LLVMTypeRef t = LLVMTypeOf(i);
  unsigned n = type_elements(t);
  bool reciprocal = is_one(LLVMGetOperand(i, 0));
  if (is_fast(i)) {
    // The root that it divides by was counted as one over a root.
    if (reciprocal && is_fast_root(LLVMGetOperand(i, 1)))
      return;
    add(c, KR_INST_SFU, n);
    add(c, KR_INST_FP32, reciprocal ? 1 : 2);
    return;
  }
  if (reciprocal && type_bits(t) == 32) {
    add(c, KR_INST_SFU, n);
    add(c, KR_INST_FP32, 5 * n);
    add(c, KR_INST_CONTROL, n);
    return;
  }
  add(c, KR_INST_SFU, n);
  add(c, float_class(t), n * (type_bits(t) == 64 ? 9 : 8));
  add(c, KR_INST_CONTROL, n);
}

// --- functions ---

struct function_cost {
  const char *name; // without the f of its float form
  uint8_t fp, integer, sfu, convert, fp64; // fp64: of the double form
};

static const struct function_cost functions[] = {
    {"sqrt", 6, 1, 1, 0, 12},  {"rsqrt", 2, 0, 1, 0, 10}, {"cbrt", 10, 3, 2, 0, 30},
    {"exp", 5, 1, 1, 0, 18},   {"exp2", 3, 0, 1, 0, 18},  {"exp10", 6, 1, 1, 0, 20},
    {"expm1", 14, 3, 1, 0, 24}, {"log", 13, 4, 0, 1, 26},  {"log2", 3, 0, 1, 0, 28},
    {"log10", 14, 4, 0, 1, 28}, {"log1p", 15, 4, 0, 1, 30}, {"pow", 32, 8, 2, 0, 70},
    {"sin", 12, 6, 0, 1, 26},  {"cos", 12, 6, 0, 1, 26},  {"sincos", 20, 8, 0, 1, 40},
    {"tan", 18, 6, 1, 1, 40},  {"asin", 14, 2, 1, 0, 34}, {"acos", 14, 2, 1, 0, 34},
    {"atan", 14, 2, 1, 0, 34}, {"atan2", 22, 6, 1, 0, 50}, {"sinh", 14, 2, 2, 0, 34},
    {"cosh", 9, 2, 2, 0, 30},  {"tanh", 9, 2, 2, 0, 30},  {"asinh", 22, 6, 1, 0, 44},
    {"acosh", 22, 6, 1, 0, 44}, {"atanh", 20, 6, 1, 0, 44}, {"erf", 14, 2, 1, 0, 36},
    {"erfc", 24, 4, 2, 0, 60}, {"tgamma", 50, 12, 3, 0, 90}, {"lgamma", 50, 12, 3, 0, 90},
    {"hypot", 12, 4, 1, 0, 26}, {"fmod", 20, 12, 1, 1, 40}, {"remainder", 24, 14, 1, 1, 44},
    {"remquo", 26, 16, 1, 1, 46}, {"fma", 1, 0, 0, 0, 1},  {"fmin", 1, 0, 0, 0, 2},
    {"fmax", 1, 0, 0, 0, 2},   {"fdim", 3, 0, 0, 0, 3},   {"fabs", 0, 0, 0, 0, 0},
    {"copysign", 0, 1, 0, 0, 0}, {"ceil", 0, 0, 0, 1, 1},  {"floor", 0, 0, 0, 1, 1},
    {"trunc", 0, 0, 0, 1, 1},  {"rint", 0, 0, 0, 1, 1},   {"nearbyint", 0, 0, 0, 1, 1},
    {"round", 3, 1, 0, 1, 4},  {"roundeven", 0, 0, 0, 1, 1}, {"lrint", 0, 0, 0, 1, 1},
    {"llrint", 0, 0, 0, 1, 1}, {"lround", 3, 1, 0, 1, 4}, {"llround", 3, 1, 0, 1, 4},
    {"ldexp", 3, 3, 0, 0, 4},  {"scalbn", 3, 3, 0, 0, 4}, {"scalbln", 3, 3, 0, 0, 4},
    {"frexp", 2, 4, 0, 0, 4},  {"modf", 2, 1, 0, 1, 4},   {"logb", 2, 4, 0, 1, 4},
    {"ilogb", 1, 4, 0, 0, 3},  {"nextafter", 4, 6, 0, 0, 6},
};

static bool function(const char *name, size_t len, LLVMTypeRef t, struct classify_cost *c)
{
  for (size_t k = 0; k < sizeof functions / sizeof *functions; k++) {
    const struct function_cost *f = &functions[k];
    if (strlen(f->name) != len || memcmp(f->name, name, len))
      continue;
    unsigned n = type_elements(t);
    if (type_bits(t) == 64) {
      add(c, KR_INST_FP64, n * f->fp64);
      add(c, KR_INST_INT, n * f->integer);
    } else {
      add(c, KR_INST_FP32, n * f->fp);
      add(c, KR_INST_INT, n * f->integer);
      add(c, KR_INST_SFU, n * f->sfu);
      add(c, KR_INST_CONVERT, n * f->convert);
    }
    return true;
  }
  return false;
}

static bool fast_function(const char *name, size_t len, struct classify_cost *c)
{
  static const struct function_cost fast[] = {
      {"exp", 3, 0, 1, 0, 0},  {"exp2", 2, 0, 1, 0, 0}, {"exp10", 4, 0, 1, 0, 0},
      {"log", 3, 0, 1, 0, 0},  {"log2", 2, 0, 1, 0, 0}, {"log10", 3, 0, 1, 0, 0},
      {"sin", 1, 0, 1, 0, 0},  {"cos", 1, 0, 1, 0, 0},  {"tan", 4, 0, 3, 0, 0},
      {"tanh", 0, 0, 1, 0, 0}, {"pow", 6, 0, 2, 0, 0},  {"sqrt", 2, 0, 1, 0, 0}};
  for (size_t k = 0; k < sizeof fast / sizeof *fast; k++)
    if (strlen(fast[k].name) == len && !memcmp(fast[k].name, name, len)) {
      add(c, KR_INST_FP32, fast[k].fp);
      add(c, KR_INST_SFU, fast[k].sfu);
      return true;
    }
  return false;
}

const char *classify_callee(LLVMValueRef call)
{
  LLVMValueRef f = LLVMGetCalledValue(call);
  size_t len = 0;
  return LLVMIsAFunction(f) ? LLVMGetValueName2(f, &len) : "";
}

static LLVMTypeRef math_type(LLVMValueRef call)
{
  // The first operand is the number, whatever comes back.
  return LLVMGetNumArgOperands(call) ? LLVMTypeOf(LLVMGetOperand(call, 0)) : LLVMTypeOf(call);
}

static int intrinsic(LLVMValueRef call, const char *name, struct classify_cost *c,
                     struct kr_err *err)
{
  static const char *const free[] = {
      "assume", "expect", "experimental.noalias.scope.decl", "invariant", "launder", "strip",
      "lifetime", "sideeffect", "fabs", "is.constant", "objectsize", "stacksave", "stackrestore",
      "threadlocal.address", "trap", "ubsantrap", "canonicalize", "annotation", "dbg"};
  // Of one 32-bit word of an integer.
  static const struct {
    const char *name;
    enum kr_inst_class class;
    uint8_t n;
  } simple[] = {{"smax", KR_INST_INT, 1},   {"smin", KR_INST_INT, 1},  {"umax", KR_INST_INT, 1},
                {"umin", KR_INST_INT, 1},   {"abs", KR_INST_INT, 1},   {"bswap", KR_INST_INT, 1},
                {"fshl", KR_INST_INT, 1},   {"fshr", KR_INST_INT, 1},  {"sadd", KR_INST_INT, 2},
                {"uadd", KR_INST_INT, 2},   {"ssub", KR_INST_INT, 2},  {"usub", KR_INST_INT, 2},
                {"smul", KR_INST_INT, 3},   {"umul", KR_INST_INT, 3},  {"sshl", KR_INST_INT, 2},
                {"ushl", KR_INST_INT, 2},   {"scmp", KR_INST_INT, 3},  {"ucmp", KR_INST_INT, 3},
                {"ptrmask", KR_INST_INT, 1}, {"bitreverse", KR_INST_CONVERT, 1},
                {"ctpop", KR_INST_CONVERT, 1}, {"ctlz", KR_INST_CONVERT, 1},
                {"cttz", KR_INST_CONVERT, 2}, {"prefetch", KR_INST_OTHER, 1}};
  static const struct {
    const char *name, *is;
  } same[] = {{"maxnum", "fmax"},  {"minnum", "fmin"},   {"maximum", "fmax"},
              {"minimum", "fmin"}, {"fmuladd", "fma"},   {"powi", "pow"}};
  const char *n = name + strlen("llvm.");
  size_t len = 0;
  // "llvm.fma.f32": the name ends where the types begin.
  for (size_t k = 0; k < sizeof free / sizeof *free; k++) {
    len = strlen(free[k]);
    if (!strncmp(n, free[k], len) && (!n[len] || n[len] == '.'))
      return 0;
  }
  len = strcspn(n, ".");
  LLVMTypeRef t = math_type(call);
  for (size_t k = 0; k < sizeof simple / sizeof *simple; k++)
    if (strlen(simple[k].name) == len && !memcmp(simple[k].name, n, len)) {
      add(c, simple[k].class, simple[k].n * words(t) * type_elements(t));
      return 0;
    }
  for (size_t k = 0; k < sizeof same / sizeof *same; k++)
    if (strlen(same[k].name) == len && !memcmp(same[k].name, n, len)) {
      function(same[k].is, strlen(same[k].is), t, c);
      return 0;
    }
  if ((is_fast(call) && fast_function(n, len, c)) || function(n, len, t, c))
    return 0;
  if (!strncmp(n, "fptosi.sat", 10) || !strncmp(n, "fptoui.sat", 10)) {
    add(c, KR_INST_CONVERT, type_elements(t));
    return 0;
  }
  if (!strncmp(n, "is.fpclass", 10)) {
    add(c, float_class(t), 2 * type_elements(t));
    return 0;
  }
  if (!strncmp(n, "vector.reduce.", 14)) {
    LLVMTypeRef v = LLVMTypeOf(LLVMGetOperand(call, LLVMGetNumArgOperands(call) - 1));
    add(c, type_floats(v) ? float_class(v) : KR_INST_INT, type_elements(v));
    return 0;
  }
  return kr_err_set(err, "`%s` cannot be counted: it is not known what it costs on a GPU, and this "
                         "is not there yet on the CPU back end", name);
}

static int call(LLVMValueRef i, struct classify_cost *c, struct kr_err *err)
{
  const char *name = classify_callee(i);
  static const struct {
    const char *name;
    enum kr_inst_class class;
    uint8_t n;
  } runtime[] = {
      {"__kr_sync", KR_INST_BARRIER, 1},   {"__kr_syncwarp", KR_INST_OTHER, 1},
      {"__kr_vote", KR_INST_SHUFFLE, 1},   {"__kr_match", KR_INST_SHUFFLE, 2},
      {"__kr_reduce", KR_INST_SHUFFLE, 2}, {"__kr_activemask", KR_INST_OTHER, 1},
      {"__kr_spin", KR_INST_OTHER, 0},     {"__kr_trap", KR_INST_OTHER, 0},
  };
  if (!strncmp(name, "llvm.", 5))
    return intrinsic(i, name, c, err);
  if (!strcmp(name, "__kr_shfl")) {
    // Every value travels as 64 bits; what was widened for that is 32.
    LLVMValueRef v = LLVMGetOperand(i, 2);
    add(c, KR_INST_SHUFFLE, is_op(v, LLVMZExt) || LLVMIsAConstantInt(v) ? 1 : 2);
    return 0;
  }
  for (size_t k = 0; k < sizeof runtime / sizeof *runtime; k++)
    if (!strcmp(name, runtime[k].name)) {
      add(c, runtime[k].class, runtime[k].n);
      return 0;
    }
  LLVMValueRef f = LLVMGetCalledValue(i);
  if (!LLVMIsAFunction(f) || !LLVMIsDeclaration(f)) {
    add(c, KR_INST_CONTROL, 2); // there and back
    return 0;
  }
  size_t len = strlen(name);
  LLVMTypeRef t = math_type(i);
  if (function(name, len, t, c) ||
      (len > 1 && name[len - 1] == 'f' && function(name, len - 1, t, c)))
    return 0;
  return kr_err_set(err, "`%s` cannot be counted: it is not known what it costs on a GPU, and this "
                         "is not there yet on the CPU back end", name);
}

bool classify_switches(LLVMValueRef i)
{
  const char *name = classify_callee(i);
  LLVMValueRef f = LLVMGetCalledValue(i);
  if (!LLVMIsAFunction(f) || !LLVMIsDeclaration(f))
    return true;
  return !strncmp(name, "__kr_", 5) && strncmp(name, "__kr_trace_", 11);
}

// --- instructions ---

static bool constant_address(LLVMValueRef gep)
{
  for (int k = 1; k < LLVMGetNumOperands(gep); k++)
    if (!LLVMIsAConstantInt(LLVMGetOperand(gep, (unsigned)k)))
      return false;
  return true;
}

static void arithmetic(LLVMValueRef i, struct classify_cost *c)
{
  LLVMTypeRef t = LLVMTypeOf(i);
  unsigned n = type_elements(t), w = words(t);
  switch (LLVMGetInstructionOpcode(i)) {
  case LLVMMul:
    if (is_integer_fused(i))
      return;
    // 32 x 32 bits to 64 are one instruction.
    if (w == 2 && is_extended(LLVMGetOperand(i, 0)) && is_extended(LLVMGetOperand(i, 1)))
      w = 1;
    add(c, KR_INST_INT, n * (w == 1 ? 1 : 4));
    return;
  case LLVMAdd:
  case LLVMSub:
    add(c, KR_INST_INT, n * (w == 2 && only_addresses(i) ? 1 : w));
    return;
  case LLVMShl:
  case LLVMLShr:
  case LLVMAShr:
    if (is_op(only_user(i), LLVMGetElementPtr))
      return; // scaled in the address
    add(c, KR_INST_INT, n * (w == 1 ? 1 : 2));
    return;
  default: // logic: three inputs are one instruction
    if (type_bits(t) == 1)
      add(c, KR_INST_INT, n);
    else
      add(c, KR_INST_INT, n * w);
    return;
  }
}

int classify(LLVMValueRef i, struct classify_cost *c, struct kr_err *err)
{
  LLVMTypeRef t = LLVMTypeOf(i);
  unsigned n = type_elements(t);
  switch (LLVMGetInstructionOpcode(i)) {
  case LLVMRet:
    add(c, KR_INST_CONTROL, 1);
    return 0;
  case LLVMBr:
    if (LLVMIsConditional(i))
      add(c, KR_INST_CONTROL, 1);
    return 0;
  case LLVMSwitch:
    add(c, KR_INST_INT, LLVMGetNumOperands(i) / 2);
    add(c, KR_INST_CONTROL, LLVMGetNumOperands(i) / 2);
    return 0;
  case LLVMPHI:
  case LLVMUnreachable:
  case LLVMAlloca:
  case LLVMBitCast:
  case LLVMAddrSpaceCast:
  case LLVMPtrToInt:
  case LLVMIntToPtr:
  case LLVMTrunc:
  case LLVMFNeg:
  case LLVMExtractElement:
  case LLVMInsertElement:
  case LLVMShuffleVector:
  case LLVMExtractValue:
  case LLVMInsertValue:
  case LLVMFreeze:
    return 0;
  case LLVMZExt:
  case LLVMSExt:
    if (type_bits(t) == 64 && !only_addresses(i) && type_bits(LLVMTypeOf(LLVMGetOperand(i, 0))) != 1)
      add(c, KR_INST_INT, LLVMGetInstructionOpcode(i) == LLVMSExt ? n : 0);
    else if (type_bits(LLVMTypeOf(LLVMGetOperand(i, 0))) == 1)
      add(c, KR_INST_INT, n); // a predicate made a number
    return 0;
  case LLVMGetElementPtr:
    if (!constant_address(i))
      add(c, KR_INST_INT, 1);
    return 0;
  case LLVMAdd:
  case LLVMSub:
  case LLVMMul:
  case LLVMShl:
  case LLVMLShr:
  case LLVMAShr:
  case LLVMAnd:
  case LLVMOr:
  case LLVMXor:
    arithmetic(i, c);
    return 0;
  case LLVMUDiv:
  case LLVMSDiv:
  case LLVMURem:
  case LLVMSRem:
    return divide(i, c);
  case LLVMFMul:
    if (!is_fused(i))
      add(c, float_class(t), n);
    return 0;
  case LLVMFAdd:
  case LLVMFSub:
    add(c, float_class(t), n);
    return 0;
  case LLVMFDiv:
    float_divide(i, c);
    return 0;
  case LLVMFRem:
    function("fmod", 4, t, c);
    return 0;
  case LLVMFCmp:
    t = LLVMTypeOf(LLVMGetOperand(i, 0));
    add(c, float_class(t), type_elements(t));
    return 0;
  case LLVMICmp:
    t = LLVMTypeOf(LLVMGetOperand(i, 0));
    add(c, KR_INST_INT, type_elements(t) * words(t));
    return 0;
  case LLVMSelect:
    add(c, type_floats(t) ? float_class(t) : KR_INST_INT, n * words(t));
    return 0;
  case LLVMFPExt:
  case LLVMFPTrunc: {
    bool wide = type_bits(t) == 64 || type_bits(LLVMTypeOf(LLVMGetOperand(i, 0))) == 64;
    add(c, wide ? KR_INST_FP64 : KR_INST_FP32, n);
    return 0;
  }
  case LLVMFPToUI:
  case LLVMFPToSI:
  case LLVMUIToFP:
  case LLVMSIToFP:
    add(c, KR_INST_CONVERT, n);
    return 0;
  case LLVMFence:
    add(c, KR_INST_OTHER, 1);
    return 0;
  case LLVMCall:
    return call(i, c, err);
  default: {
    char *text = LLVMPrintValueToString(i);
    kr_err_set(err, "`%.120s` cannot be counted: it is not known what it costs on a GPU, and this is "
                    "not there yet on the CPU back end", text);
    LLVMDisposeMessage(text);
    return -1;
  }
  }
}
