#include "instrument.h"

#include <llvm-c/DebugInfo.h>
#include <llvm-c/Transforms/PassBuilder.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "../base/mem.h"
#include "classify.h"
#include "order.h"
#include "vet.h"

// Each straight piece of code gets a number and appends to the running thread's
// trace: its number, and the address of each of its accesses to memory that
// threads may share. What else it executes is known here, and stands in a table.
//
// Numbers follow the control flow: a loop's before those of what comes after the
// loop, both branches' before those of what follows the branch (order.h). The
// runtime lets the lanes at the smallest number go next, and so a warp comes
// together again where a GPU brings it together.
//
// What memory a pointer points to is known at run time. Only what certainly is
// the thread's own is kept out of the trace: kernel parameters, variables that
// would live in registers, private arrays.

enum origin {
  ORIGIN_ANY,       // global, shared, or not known
  ORIGIN_SHARED,    // shared for certain
  ORIGIN_REGISTER,  // a private variable that a GPU keeps in registers
  ORIGIN_LOCAL,     // a private array in memory
  ORIGIN_TABLE,     // the addresses of the kernel's parameters
  ORIGIN_PARAMETER, // a parameter
  ORIGIN_MACHINE,   // registers of the running thread
  ORIGIN_CONSTANT   // a variable of the image that nothing writes
};

struct value_map {
  LLVMValueRef *keys;
  uint32_t *values;
  size_t size, n;
};

struct instrument {
  LLVMModuleRef m;
  LLVMContextRef ctx;
  LLVMBuilderRef builder;
  LLVMTargetDataRef data;
  LLVMTypeRef i8, i64, ptr, begin_type;
  LLVMValueRef begin, entry;
  struct kr_trace_segment *segments;
  struct kr_trace_access *accesses;
  size_t n_segments, n_accesses, segments_size, accesses_size;
  struct value_map allocas; // 1: registers, 2: memory
  struct value_map globals; // 1: nothing writes it, 2: something may
  // The segment under way.
  struct kr_trace_segment *now; // NULL: none
  LLVMValueRef begin_call;
  uint32_t rows;
  struct classify_cost cost;
  // Depth of what was computed since the last barrier: global loads << 16 | shared ones.
  struct value_map depth;
  uint32_t deepest;
  // What earlier stores of the region wait for; a load that may see them waits too.
  struct chain_store {
    LLVMValueRef store;
    uint32_t depth;
    bool shared;
  } *stores;
  size_t n_stores, stores_size;
  size_t region; // the segment that stands for the loads since the last barrier
};

// --- a map from values ---

static size_t map_slot(const struct value_map *m, LLVMValueRef key)
{
  size_t at = ((uintptr_t)key >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 20;
  for (at &= m->size - 1; m->keys[at] && m->keys[at] != key; at = (at + 1) & (m->size - 1))
    ;
  return at;
}

static void map_set(struct value_map *m, LLVMValueRef key, uint32_t value)
{
  if (2 * m->n >= m->size) {
    struct value_map old = *m;
    m->size = old.size ? 2 * old.size : 64;
    m->keys = kr_xcalloc(m->size, sizeof(LLVMValueRef));
    m->values = kr_xcalloc(m->size, sizeof *m->values);
    for (size_t i = 0; i < old.size; i++)
      if (old.keys[i]) {
        size_t at = map_slot(m, old.keys[i]);
        m->keys[at] = old.keys[i];
        m->values[at] = old.values[i];
      }
    free(old.keys);
    free(old.values);
  }
  size_t at = map_slot(m, key);
  if (!m->keys[at]) {
    m->keys[at] = key;
    m->n++;
  }
  m->values[at] = value;
}

static uint32_t map_get(const struct value_map *m, LLVMValueRef key)
{
  if (!m->size)
    return 0;
  size_t at = map_slot(m, key);
  return m->keys[at] ? m->values[at] : 0;
}

static void map_clear(struct value_map *m)
{
  if (m->n)
    memset(m->keys, 0, m->size * sizeof(LLVMValueRef));
  m->n = 0;
}

static void map_release(struct value_map *m)
{
  free(m->keys);
  free(m->values);
}

// --- where pointers come from ---

static bool is_math_call(LLVMValueRef call)
{
  const char *name = classify_callee(call);
  return *name && strncmp(name, "llvm.", 5) && strncmp(name, "__kr_", 5) &&
         vet_import(name, strlen(name)) >= 0;
}

static bool is_marker(const char *name)
{
  return !strncmp(name, "llvm.lifetime.", 14) || !strncmp(name, "llvm.invariant.", 15);
}

static bool has_constant_indices(LLVMValueRef gep)
{
  for (int i = 1; i < LLVMGetNumOperands(gep); i++)
    if (!LLVMIsAConstantInt(LLVMGetOperand(gep, (unsigned)i)))
      return false;
  return true;
}

// A private variable stays in registers when every use of it is at a place that
// is known when it is compiled.
static bool stays_in_registers(LLVMValueRef pointer)
{
  for (LLVMUseRef u = LLVMGetFirstUse(pointer); u; u = LLVMGetNextUse(u)) {
    LLVMValueRef user = LLVMGetUser(u);
    if (!LLVMIsAInstruction(user))
      return false;
    switch (LLVMGetInstructionOpcode(user)) {
    case LLVMLoad:
      break;
    case LLVMStore:
      if (LLVMGetOperand(user, 0) == pointer)
        return false;
      break;
    case LLVMGetElementPtr:
      if (!has_constant_indices(user) || !stays_in_registers(user))
        return false;
      break;
    case LLVMBitCast:
      if (!stays_in_registers(user))
        return false;
      break;
    case LLVMCall: {
      const char *name = classify_callee(user);
      bool moved = !strncmp(name, "llvm.mem", 8) && LLVMIsAConstantInt(LLVMGetOperand(user, 2));
      if (!moved && !is_marker(name) && !is_math_call(user))
        return false;
      break;
    }
    default:
      return false;
    }
  }
  return true;
}

static enum origin origin_of(struct instrument *in, LLVMValueRef p, int depth);

static bool only_read(LLVMValueRef pointer)
{
  for (LLVMUseRef u = LLVMGetFirstUse(pointer); u; u = LLVMGetNextUse(u)) {
    LLVMValueRef user = LLVMGetUser(u);
    bool address = LLVMIsAGetElementPtrInst(user) ||
                   (LLVMIsAConstantExpr(user) && LLVMGetConstOpcode(user) == LLVMGetElementPtr);
    if (!LLVMIsALoadInst(user) && !LLVMIsAPtrToIntInst(user) && !(address && only_read(user)))
      return false;
  }
  return true;
}

// __constant__ is no more than a variable that the kernel cannot write.
static bool is_constant(struct instrument *in, LLVMValueRef global)
{
  uint32_t known = map_get(&in->globals, global);
  if (!known) {
    known = LLVMIsGlobalConstant(global) || only_read(global) ? 1 : 2;
    map_set(&in->globals, global, known);
  }
  return known == 1;
}

static enum origin origin_of_constant(struct instrument *in, LLVMValueRef p)
{
  if (LLVMIsAGlobalVariable(p))
    return is_constant(in, p) ? ORIGIN_CONSTANT : ORIGIN_ANY;
  if (!LLVMIsAConstantExpr(p))
    return ORIGIN_ANY;
  LLVMOpcode op = LLVMGetConstOpcode(p);
  if (op == LLVMGetElementPtr || op == LLVMBitCast)
    return origin_of_constant(in, LLVMGetOperand(p, 0));
  if (op != LLVMIntToPtr || !LLVMIsAConstantInt(LLVMGetOperand(p, 0)))
    return ORIGIN_ANY;
  uint64_t address = LLVMConstIntGetZExtValue(LLVMGetOperand(p, 0));
  // What lies behind the registers is the trace's, and no kernel's business.
  uint64_t end = KR_REGS_BASE + offsetof(struct kr_simt_regs, trace_at);
  return address >= KR_REGS_BASE && address < end ? ORIGIN_MACHINE
         : address >= KR_SHARED_BASE && address < KR_REGS_BASE       ? ORIGIN_SHARED
                                                                     : ORIGIN_ANY;
}

static bool is_dynamic_shared(LLVMValueRef load)
{
  LLVMValueRef p = LLVMGetOperand(load, 0);
  if (!LLVMIsAConstantExpr(p) || LLVMGetConstOpcode(p) != LLVMIntToPtr)
    return false;
  LLVMValueRef at = LLVMGetOperand(p, 0);
  return LLVMIsAConstantInt(at) &&
         LLVMConstIntGetZExtValue(at) ==
             KR_REGS_BASE + offsetof(struct kr_simt_regs, dynamic_shared);
}

static enum origin origin_of_load(struct instrument *in, LLVMValueRef load, int depth)
{
  if (is_dynamic_shared(load))
    return ORIGIN_SHARED;
  return origin_of(in, LLVMGetOperand(load, 0), depth + 1) == ORIGIN_TABLE ? ORIGIN_PARAMETER
                                                                           : ORIGIN_ANY;
}

// All the ways into a phi or a select agree.
static enum origin origin_of_join(struct instrument *in, LLVMValueRef v, int depth)
{
  bool phi = LLVMGetInstructionOpcode(v) == LLVMPHI;
  unsigned n = phi ? LLVMCountIncoming(v) : 2;
  enum origin all = ORIGIN_ANY;
  bool seen = false;
  for (unsigned i = 0; i < n; i++) {
    LLVMValueRef way = phi ? LLVMGetIncomingValue(v, i) : LLVMGetOperand(v, i + 1);
    LLVMValueRef base = way; // a pointer that runs along an array comes from itself
    while (LLVMIsAGetElementPtrInst(base))
      base = LLVMGetOperand(base, 0);
    if (base == v)
      continue;
    enum origin o = origin_of(in, way, depth + 1);
    if (seen && o != all)
      return ORIGIN_ANY;
    all = o;
    seen = true;
  }
  // Pointers into private memory that were joined have escaped.
  return all == ORIGIN_SHARED || all == ORIGIN_PARAMETER || all == ORIGIN_CONSTANT ? all
                                                                                  : ORIGIN_ANY;
}

static enum origin origin_of(struct instrument *in, LLVMValueRef p, int depth)
{
  if (depth > 24)
    return ORIGIN_ANY;
  if (LLVMIsConstant(p))
    return origin_of_constant(in, p);
  if (LLVMIsAArgument(p))
    return LLVMGetParamParent(p) == in->entry ? ORIGIN_TABLE : ORIGIN_ANY;
  if (!LLVMIsAInstruction(p))
    return ORIGIN_ANY;
  switch (LLVMGetInstructionOpcode(p)) {
  case LLVMGetElementPtr:
  case LLVMBitCast:
  case LLVMFreeze:
    return origin_of(in, LLVMGetOperand(p, 0), depth + 1);
  case LLVMAlloca: {
    uint32_t known = map_get(&in->allocas, p);
    if (!known) {
      known = stays_in_registers(p) ? 1 : 2;
      map_set(&in->allocas, p, known);
    }
    return known == 1 ? ORIGIN_REGISTER : ORIGIN_LOCAL;
  }
  case LLVMLoad:
    return origin_of_load(in, p, depth);
  case LLVMIntToPtr:
    return LLVMIsAExtractElementInst(LLVMGetOperand(p, 0))
               ? origin_of(in, LLVMGetOperand(p, 0), depth + 1)
               : ORIGIN_ANY;
  case LLVMExtractElement: // of parameters' addresses that were loaded together
    return LLVMIsALoadInst(LLVMGetOperand(p, 0))
               ? origin_of_load(in, LLVMGetOperand(p, 0), depth + 1)
               : ORIGIN_ANY;
  case LLVMPHI:
  case LLVMSelect:
    return origin_of_join(in, p, depth);
  default:
    return ORIGIN_ANY;
  }
}

// --- segments ---

static void *grow(void *p, size_t *size, size_t need, size_t each)
{
  if (need < *size)
    return p;
  *size = *size ? 2 * *size : 256;
  return kr_xrealloc(p, *size * each);
}

static LLVMValueRef number(const struct instrument *in, uint64_t v)
{
  return LLVMConstInt(in->i64, v, 0);
}

static void cost_into(struct kr_trace_segment *s, const struct classify_cost *cost)
{
  unsigned total = s->n_accesses;
  for (int i = 0; i < KR_N_INST; i++) {
    s->inst[i] = cost->inst[i];
    total += cost->inst[i];
  }
  s->total = (uint16_t)(total > UINT16_MAX ? UINT16_MAX : total);
}

// Ends the segment under way. One without instructions or rows is taken back.
static void segment_end(struct instrument *in)
{
  struct kr_trace_segment *s = in->now;
  if (!s)
    return;
  cost_into(s, &in->cost);
  in->now = NULL;
  uint64_t id = (uint64_t)(in->n_segments - 1) << KR_TRACE_ID_SHIFT;
  if (s->total == 0 && s->n_accesses == 0) {
    LLVMInstructionEraseFromParent(in->begin_call);
    in->n_segments--;
    return;
  }
  if (!in->rows) {
    LLVMPositionBuilderBefore(in->builder, LLVMGetNextInstruction(in->begin_call));
    LLVMSetAlignment(LLVMBuildStore(in->builder, number(in, id), in->begin_call), 8);
    in->rows = 1;
  }
  LLVMSetOperand(in->begin_call, 0, number(in, (uint64_t)in->rows * KR_TRACE_ROW_BYTES));
}

static void segment_start(struct instrument *in, LLVMValueRef before)
{
  in->segments = grow(in->segments, &in->segments_size, in->n_segments, sizeof *in->segments);
  in->now = &in->segments[in->n_segments++];
  *in->now = (struct kr_trace_segment){.first_access = (uint32_t)in->n_accesses};
  memset(&in->cost, 0, sizeof in->cost);
  in->rows = 0;
  LLVMPositionBuilderBefore(in->builder, before);
  LLVMValueRef zero = number(in, 0);
  in->begin_call = LLVMBuildCall2(in->builder, in->begin_type, in->begin, &zero, 1, "");
}

// The loads since the last barrier, along the longest way, to the segment where
// they began.
static void region_end(struct instrument *in)
{
  if (in->deepest && in->region && in->region < in->n_segments) {
    in->segments[in->region].chain_global = (uint16_t)(in->deepest >> 16);
    in->segments[in->region].chain_shared = (uint16_t)(in->deepest & 0xffff);
  }
  in->deepest = 0;
  in->region = 0;
  in->n_stores = 0;
  map_clear(&in->depth);
}

// A load from global memory takes as long as some twenty from shared memory.
static bool deeper(uint32_t a, uint32_t b)
{
  return 20 * (a >> 16) + (a & 0xffff) > 20 * (b >> 16) + (b & 0xffff);
}

static uint32_t depth_of_operands(const struct instrument *in, LLVMValueRef i)
{
  uint32_t most = 0;
  if (LLVMGetInstructionOpcode(i) == LLVMPHI)
    return 0; // from another piece of code
  int n = LLVMGetNumOperands(i);
  for (int k = 0; k < n; k++) {
    LLVMValueRef o = LLVMGetOperand(i, (unsigned)k);
    uint32_t d = LLVMIsAInstruction(o) ? map_get(&in->depth, o) : 0;
    if (deeper(d, most))
      most = d;
  }
  return most;
}

// The innermost line in the text itself: what our headers hold is of no use to anybody.
static uint32_t line_of(LLVMValueRef i)
{
  static const char own[] = "variant.cu";
  for (LLVMMetadataRef at = LLVMInstructionGetDebugLoc(i); at;
       at = LLVMDILocationGetInlinedAt(at)) {
    LLVMMetadataRef file = LLVMDIScopeGetFile(LLVMDILocationGetScope(at));
    unsigned len = 0;
    const char *name = file ? LLVMDIFileGetFilename(file, &len) : "";
    if (len >= sizeof own - 1 && !memcmp(name + len - (sizeof own - 1), own, sizeof own - 1))
      return LLVMDILocationGetLine(at);
  }
  return 0;
}

static bool is_volatile(LLVMValueRef i)
{
  return (LLVMIsALoadInst(i) || LLVMIsAStoreInst(i)) &&
         (LLVMGetVolatile(i) || LLVMGetOrdering(i) != LLVMAtomicOrderingNotAtomic);
}

// One row: an access that a whole warp makes together.
static int access_add(struct instrument *in, LLVMValueRef i, LLVMValueRef pointer,
                      uint64_t offset, unsigned bytes, enum kr_trace_kind kind, bool constant,
                      struct kr_err *err)
{
  if (in->now && in->rows == KR_TRACE_SEGMENT_ROWS)
    segment_end(in);
  if (!in->now)
    segment_start(in, i);
  if (in->n_segments > KR_TRACE_MAX_SEGMENTS)
    return kr_err_set(err, "the kernel is too large to be counted, which is not there yet on the "
                           "CPU back end");
  LLVMPositionBuilderBefore(in->builder, i);
  LLVMValueRef word = LLVMBuildPtrToInt(in->builder, pointer, in->i64, "");
  uint64_t id = in->rows ? 0 : (uint64_t)(in->n_segments - 1) << KR_TRACE_ID_SHIFT;
  if (id + offset)
    word = LLVMBuildAdd(in->builder, word, number(in, id + offset), "");
  LLVMValueRef at = number(in, (uint64_t)in->rows * KR_TRACE_ROW_BYTES);
  LLVMValueRef where = LLVMBuildGEP2(in->builder, in->i8, in->begin_call, &at, 1, "");
  LLVMSetAlignment(LLVMBuildStore(in->builder, word, where), 8);
  in->rows++;
  in->accesses = grow(in->accesses, &in->accesses_size, in->n_accesses, sizeof *in->accesses);
  in->accesses[in->n_accesses++] = (struct kr_trace_access){
      .kind = (uint8_t)kind, .bytes = (uint8_t)bytes, .constant = constant,
      .is_volatile = is_volatile(i), .line = line_of(i)};
  in->now->n_accesses++;
  return 0;
}

// `bytes` from `pointer`, in pieces as a GPU moves them.
static int access_bytes(struct instrument *in, LLVMValueRef i, LLVMValueRef pointer,
                        uint64_t bytes, uint64_t align, enum kr_trace_kind kind,
                        struct kr_err *err)
{
  enum origin o = origin_of(in, pointer, 0);
  if (align == 0)
    align = 1;
  uint64_t piece = align > 16 ? 16 : align;
  while (piece > 1 && piece > bytes)
    piece /= 2;
  // A number of its own width: a vector of three floats is 12 bytes.
  uint64_t pieces = (bytes + piece - 1) / piece;
  switch (o) {
  case ORIGIN_REGISTER:
  case ORIGIN_TABLE:
  case ORIGIN_PARAMETER:
  case ORIGIN_MACHINE:
    return 0;
  case ORIGIN_LOCAL:
    in->cost.inst[KR_INST_LOCAL] = (uint16_t)(in->cost.inst[KR_INST_LOCAL] + pieces);
    in->now->local_bytes = (uint16_t)(in->now->local_bytes + bytes);
    return 0;
  default:
    break;
  }
  if (pieces > 64)
    return kr_err_set(err, "a copy of %llu bytes by one thread cannot be counted, which is not "
                           "there yet on the CPU back end", (unsigned long long)bytes);
  for (uint64_t k = 0; k < pieces; k++) {
    uint64_t at = k * piece, n = bytes - at < piece ? bytes - at : piece;
    if (access_add(in, i, pointer, at, (unsigned)n, kind, o == ORIGIN_CONSTANT, err))
      return -1;
  }
  return 0;
}

static uint64_t size_of(const struct instrument *in, LLVMTypeRef t)
{
  return LLVMStoreSizeOfType(in->data, t);
}

// The scopes that an instruction's metadata of that kind lists.
static size_t scopes_of(LLVMValueRef i, const char *kind, LLVMValueRef *out, size_t max)
{
  LLVMContextRef ctx = LLVMGetModuleContext(LLVMGetGlobalParent(
      LLVMGetBasicBlockParent(LLVMGetInstructionParent(i))));
  LLVMValueRef list =
      LLVMGetMetadata(i, LLVMGetMDKindIDInContext(ctx, kind, (unsigned)strlen(kind)));
  size_t n = list ? LLVMGetMDNodeNumOperands(list) : 0;
  if (!n || n > max)
    return 0;
  LLVMGetMDNodeOperands(list, out);
  return n;
}

static bool scopes_meet(LLVMValueRef a, LLVMValueRef b)
{
  LLVMValueRef scopes[64], others[64];
  size_t n = scopes_of(a, "alias.scope", scopes, 64), k = scopes_of(b, "noalias", others, 64);
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < k; j++)
      if (scopes[i] == others[j])
        return true;
  return false;
}

// Loads through __ldg() read what nobody writes meanwhile. Its inlined parameter has
// left a scope, whose domain is named after the function.
static bool is_read_only_load(LLVMValueRef load)
{
  LLVMValueRef scopes[64];
  size_t n = scopes_of(load, "alias.scope", scopes, 64);
  for (size_t i = 0; i < n; i++) {
    LLVMValueRef scope[4] = {NULL}, domain[4] = {NULL};
    unsigned parts = LLVMGetMDNodeNumOperands(scopes[i]);
    if (parts < 2 || parts > 4)
      continue;
    LLVMGetMDNodeOperands(scopes[i], scope); // itself, its domain, its name
    parts = LLVMGetMDNodeNumOperands(scope[1]);
    if (parts < 2 || parts > 4)
      continue;
    LLVMGetMDNodeOperands(scope[1], domain); // itself, its name
    unsigned len = 0;
    const char *name = domain[1] ? LLVMGetMDString(domain[1], &len) : NULL;
    static const char mangled[] = "5__ldg";
    for (unsigned k = 0; name && k + sizeof mangled - 1 <= len; k++)
      if (!memcmp(name + k, mangled, sizeof mangled - 1))
        return true;
  }
  return false;
}

// A load cannot be issued before a store that may write what it reads, and that
// one not before it has its value.
static uint32_t depth_of_stores(const struct instrument *in, LLVMValueRef load, bool shared)
{
  uint32_t most = 0;
  for (size_t i = 0; i < in->n_stores; i++) {
    const struct chain_store *s = &in->stores[i];
    if (s->shared == shared && deeper(s->depth, most) && !scopes_meet(load, s->store) &&
        !scopes_meet(s->store, load) && (shared || !is_read_only_load(load)))
      most = s->depth;
  }
  return most;
}

static void chain_store(struct instrument *in, LLVMValueRef i, LLVMValueRef pointer)
{
  enum origin o = origin_of(in, pointer, 0);
  uint32_t depth = depth_of_operands(in, i);
  if (!depth || (o != ORIGIN_ANY && o != ORIGIN_SHARED) || in->n_stores >= 256)
    return;
  in->stores = grow(in->stores, &in->stores_size, in->n_stores, sizeof *in->stores);
  in->stores[in->n_stores++] = (struct chain_store){i, depth, o == ORIGIN_SHARED};
}

// Whether a load goes to shared memory, for the length of the chain of loads.
static void chain_load(struct instrument *in, LLVMValueRef i, LLVMValueRef pointer)
{
  uint32_t d = depth_of_operands(in, i);
  enum origin o = origin_of(in, pointer, 0);
  if (o == ORIGIN_ANY || o == ORIGIN_SHARED) {
    uint32_t after = depth_of_stores(in, i, o == ORIGIN_SHARED);
    if (deeper(after, d))
      d = after;
  }
  if (o == ORIGIN_ANY)
    d += 1 << 16;
  else if (o == ORIGIN_SHARED)
    d += 1;
  map_set(&in->depth, i, d);
  if (deeper(d, in->deepest)) {
    in->deepest = d;
    if (!in->region)
      in->region = in->n_segments - 1;
  }
}

static int visit_memory_call(struct instrument *in, LLVMValueRef i, const char *name,
                             struct kr_err *err)
{
  LLVMValueRef length = LLVMGetOperand(i, 2);
  bool sets = !strncmp(name, "llvm.memset.", 12);
  if (!LLVMIsAConstantInt(length))
    return kr_err_set(err, "`%s` of a length that is known at run time only cannot be counted, "
                           "which is not there yet on the CPU back end", name);
  uint64_t bytes = LLVMConstIntGetZExtValue(length);
  unsigned kind = LLVMGetEnumAttributeKindForName("align", 5);
  for (unsigned k = 0; k < (sets ? 1u : 2u); k++) {
    // Operand 0 is written, 1 read.
    LLVMAttributeRef a = LLVMGetCallSiteEnumAttribute(i, k + 1, kind);
    uint64_t align = a ? LLVMGetEnumAttributeValue(a) : 1;
    if (k == 1)
      chain_load(in, i, LLVMGetOperand(i, 1));
    if (bytes && access_bytes(in, i, LLVMGetOperand(i, k), bytes, align,
                              k ? KR_TRACE_LOAD : KR_TRACE_STORE, err))
      return -1;
  }
  return 0;
}

// Functions of the mathematical library that leave a second result in memory.
static int visit_math_results(struct instrument *in, LLVMValueRef i, struct kr_err *err)
{
  const char *name = classify_callee(i);
  size_t len = strlen(name);
  bool is_float = len && name[len - 1] == 'f' && strcmp(name, "modf");
  unsigned bytes = !strncmp(name, "frexp", 5) || !strncmp(name, "remquo", 6) ? 4 : is_float ? 4 : 8;
  int n = (int)LLVMGetNumArgOperands(i);
  for (int k = 0; k < n; k++) {
    LLVMValueRef o = LLVMGetOperand(i, (unsigned)k);
    if (LLVMGetTypeKind(LLVMTypeOf(o)) == LLVMPointerTypeKind &&
        access_bytes(in, i, o, bytes, bytes, KR_TRACE_STORE, err))
      return -1;
  }
  return 0;
}

static int visit_call(struct instrument *in, LLVMValueRef i, struct kr_err *err)
{
  const char *name = classify_callee(i);
  if (!strncmp(name, "llvm.memcpy.", 12) || !strncmp(name, "llvm.memmove.", 13) ||
      !strncmp(name, "llvm.memset.", 12))
    return visit_memory_call(in, i, name, err);
  if (!strcmp(name, "memcpy") || !strcmp(name, "memmove") || !strcmp(name, "memset") ||
      !strcmp(name, "memcmp") || !strncmp(name, "llvm.masked.", 12))
    return kr_err_set(err, "`%s` cannot be counted, which is not there yet on the CPU back end",
                      name);
  if (classify(i, &in->cost, err) || (is_math_call(i) && visit_math_results(in, i, err)))
    return -1;
  map_set(&in->depth, i, depth_of_operands(in, i));
  if (!classify_switches(i))
    return 0;
  segment_end(in);
  if (!strcmp(name, "__kr_sync"))
    region_end(in);
  return 0;
}

static int visit(struct instrument *in, LLVMValueRef i, struct kr_err *err)
{
  LLVMOpcode op = LLVMGetInstructionOpcode(i);
  if (!in->now)
    segment_start(in, i);
  if (!in->now->line)
    in->now->line = line_of(i);
  LLVMValueRef pointer = NULL;
  LLVMTypeRef type = NULL;
  enum kr_trace_kind kind = KR_TRACE_LOAD;
  switch (op) {
  case LLVMCall:
    return visit_call(in, i, err);
  case LLVMLoad:
    pointer = LLVMGetOperand(i, 0);
    type = LLVMTypeOf(i);
    chain_load(in, i, pointer);
    break;
  case LLVMStore:
    pointer = LLVMGetOperand(i, 1);
    type = LLVMTypeOf(LLVMGetOperand(i, 0));
    kind = KR_TRACE_STORE;
    chain_store(in, i, pointer);
    break;
  case LLVMAtomicRMW:
  case LLVMAtomicCmpXchg:
    pointer = LLVMGetOperand(i, 0);
    type = LLVMTypeOf(LLVMGetOperand(i, 1));
    kind = KR_TRACE_ATOMIC;
    if (LLVMGetFirstUse(i))
      chain_load(in, i, pointer);
    break;
  default:
    map_set(&in->depth, i, depth_of_operands(in, i));
    return classify(i, &in->cost, err);
  }
  return access_bytes(in, i, pointer, size_of(in, type), LLVMGetAlignment(i), kind, err);
}

static int instrument_block(struct instrument *in, LLVMBasicBlockRef b, struct kr_err *err)
{
  // What is inserted comes before the instruction that is looked at.
  LLVMValueRef i = LLVMGetFirstInstruction(b);
  while (i && LLVMGetInstructionOpcode(i) == LLVMPHI)
    i = LLVMGetNextInstruction(i);
  for (LLVMValueRef next; i; i = next) {
    next = LLVMGetNextInstruction(i);
    if (visit(in, i, err)) {
      uint32_t line = line_of(i);
      if (line)
        kr_err_prefix(err, "line %u", line);
      return -1;
    }
  }
  segment_end(in);
  region_end(in);
  return 0;
}

static int instrument_function(struct instrument *in, LLVMValueRef f, struct kr_err *err)
{
  size_t n = LLVMCountBasicBlocks(f);
  LLVMBasicBlockRef *blocks = kr_xcalloc(n, sizeof(LLVMBasicBlockRef));
  size_t reached = order_blocks(f, blocks);
  int rc = 0;
  for (size_t k = 0; !rc && k < reached; k++)
    rc = instrument_block(in, blocks[k], err);
  free(blocks);
  return rc;
}

// --- the module ---

static LLVMValueRef cell(const struct instrument *in, size_t offset)
{
  return LLVMConstIntToPtr(number(in, KR_REGS_BASE + offset), in->ptr);
}

// ptr begin(i64 bytes): room for that much of the trace, and where it starts.
static void build_begin(struct instrument *in)
{
  LLVMTypeRef none = LLVMVoidTypeInContext(in->ctx);
  LLVMTypeRef full_type = LLVMFunctionType(none, NULL, 0, 0);
  LLVMValueRef full = LLVMAddFunction(in->m, "__kr_trace_full", full_type);
  in->begin_type = LLVMFunctionType(in->ptr, &in->i64, 1, 0);
  LLVMValueRef f = in->begin = LLVMAddFunction(in->m, "kr_trace_begin", in->begin_type);
  LLVMSetLinkage(f, LLVMInternalLinkage);
  unsigned kind = LLVMGetEnumAttributeKindForName("alwaysinline", 12);
  LLVMAddAttributeAtIndex(f, LLVMAttributeFunctionIndex,
                          LLVMCreateEnumAttribute(in->ctx, kind, 0));
  LLVMBuilderRef b = in->builder;
  LLVMBasicBlockRef head = LLVMAppendBasicBlockInContext(in->ctx, f, "");
  LLVMBasicBlockRef slow = LLVMAppendBasicBlockInContext(in->ctx, f, "");
  LLVMBasicBlockRef done = LLVMAppendBasicBlockInContext(in->ctx, f, "");
  LLVMValueRef bytes = LLVMGetParam(f, 0), at[2], end[2];
  LLVMBasicBlockRef from[2] = {head, slow};
  LLVMValueRef here = cell(in, offsetof(struct kr_simt_regs, trace_at));
  LLVMPositionBuilderAtEnd(b, head);
  at[0] = LLVMBuildLoad2(b, in->ptr, here, "");
  end[0] = LLVMBuildGEP2(b, in->i8, at[0], &bytes, 1, "");
  LLVMValueRef last = LLVMBuildLoad2(b, in->ptr, cell(in, offsetof(struct kr_simt_regs, trace_end)),
                                     "");
  LLVMValueRef over = LLVMBuildICmp(b, LLVMIntUGT, end[0], last, "");
  LLVMValueRef branch = LLVMBuildCondBr(b, over, slow, done);
  LLVMTypeRef i32 = LLVMInt32TypeInContext(in->ctx);
  LLVMMetadataRef weights[3] = {LLVMMDStringInContext2(in->ctx, "branch_weights", 14),
                                LLVMValueAsMetadata(LLVMConstInt(i32, 1, 0)),
                                LLVMValueAsMetadata(LLVMConstInt(i32, 1 << 20, 0))};
  LLVMMetadataRef profile = LLVMMDNodeInContext2(in->ctx, weights, 3);
  LLVMSetMetadata(branch, LLVMGetMDKindIDInContext(in->ctx, "prof", 4),
                  LLVMMetadataAsValue(in->ctx, profile));
  LLVMPositionBuilderAtEnd(b, slow);
  LLVMBuildCall2(b, full_type, full, NULL, 0, "");
  at[1] = LLVMBuildLoad2(b, in->ptr, here, "");
  end[1] = LLVMBuildGEP2(b, in->i8, at[1], &bytes, 1, "");
  LLVMBuildBr(b, done);
  LLVMPositionBuilderAtEnd(b, done);
  LLVMValueRef p = LLVMBuildPhi(b, in->ptr, ""), q = LLVMBuildPhi(b, in->ptr, "");
  LLVMAddIncoming(p, at, from, 2);
  LLVMAddIncoming(q, end, from, 2);
  LLVMBuildStore(b, q, here);
  LLVMBuildRet(b, p);
}

static int run_passes(LLVMModuleRef m, LLVMTargetMachineRef tm, const char *passes,
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

// Device code is inlined unless it calls itself. A call in between would also
// part lanes that a GPU keeps together.
static void inline_everything(LLVMModuleRef m)
{
  LLVMContextRef ctx = LLVMGetModuleContext(m);
  static const char *const against[] = {"noinline", "optnone", "memory"};
  unsigned inlined = LLVMGetEnumAttributeKindForName("alwaysinline", 12);
  for (LLVMValueRef f = LLVMGetFirstFunction(m); f; f = LLVMGetNextFunction(f)) {
    if (LLVMIsDeclaration(f))
      continue;
    size_t len = 0;
    for (size_t i = 0; i < sizeof against / sizeof *against; i++)
      LLVMRemoveEnumAttributeAtIndex(
          f, LLVMAttributeFunctionIndex,
          LLVMGetEnumAttributeKindForName(against[i], strlen(against[i])));
    if (strcmp(LLVMGetValueName2(f, &len), VET_ENTRY))
      LLVMAddAttributeAtIndex(f, LLVMAttributeFunctionIndex,
                              LLVMCreateEnumAttribute(ctx, inlined, 0));
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b))
      for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i))
        if (LLVMIsACallInst(i))
          for (size_t k = 0; k < sizeof against / sizeof *against; k++)
            LLVMRemoveCallSiteEnumAttribute(
                i, LLVMAttributeFunctionIndex,
                LLVMGetEnumAttributeKindForName(against[k], strlen(against[k])));
  }
}

int instrument_module(LLVMModuleRef m, LLVMTargetMachineRef tm, struct kr_bytes *tables,
                      struct kr_image *image, struct kr_err *err)
{
  struct instrument in = {.m = m, .ctx = LLVMGetModuleContext(m), .n_segments = 1};
  in.builder = LLVMCreateBuilderInContext(in.ctx);
  in.data = LLVMGetModuleDataLayout(m);
  in.i8 = LLVMInt8TypeInContext(in.ctx);
  in.i64 = LLVMInt64TypeInContext(in.ctx);
  in.ptr = LLVMPointerTypeInContext(in.ctx, 0);
  int rc = -1;
  inline_everything(m);
  if (run_passes(m, tm, "always-inline,globaldce,function(sroa,early-cse,"
                        "instcombine<no-verify-fixpoint>,simplifycfg)", err))
    goto out;
  // Addresses as a GPU's back end has them: constant parts in the access, what is
  // common computed once, pointers that run along in loops.
  // Accesses side by side become one where the alignment allows it; what it does not
  // allow is taken apart again below.
  if (run_passes(m, tm, "function(separate-const-offset-from-gep,early-cse,slsr,early-cse,"
                        "nary-reassociate,early-cse,loop-simplify,loop(loop-reduce),early-cse,"
                        "infer-alignment,load-store-vectorizer,early-cse,simplifycfg,adce)", err))
    goto out;
  in.entry = LLVMGetNamedFunction(m, VET_ENTRY);
  build_begin(&in);
  in.segments = grow(NULL, &in.segments_size, 0, sizeof *in.segments);
  in.segments[0] = (struct kr_trace_segment){0};
  for (LLVMValueRef f = LLVMGetFirstFunction(m); f; f = LLVMGetNextFunction(f))
    if (!LLVMIsDeclaration(f) && f != in.begin && instrument_function(&in, f, err))
      goto out;
  LLVMStripModuleDebugInfo(m);
  if (run_passes(m, tm, "always-inline,globaldce", err))
    goto out;
  struct kr_trace_head head = {(uint32_t)in.n_segments, (uint32_t)in.n_accesses};
  kr_bytes_add(tables, &head, sizeof head);
  kr_bytes_add(tables, in.segments, in.n_segments * sizeof *in.segments);
  kr_bytes_add(tables, in.accesses, in.n_accesses * sizeof *in.accesses);
  image->flags |= KR_IMAGE_TRACED | KR_IMAGE_FIBERS;
  rc = 0;
out:
  LLVMDisposeBuilder(in.builder);
  map_release(&in.allocas);
  map_release(&in.globals);
  map_release(&in.depth);
  free(in.stores);
  free(in.segments);
  free(in.accesses);
  return rc;
}
