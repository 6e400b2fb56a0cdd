#include "gpu_model.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

// A roofline with latency. Each unit of the GPU gets the time that the counted
// work keeps it busy; what shares the throughput of the chip is joined by a
// norm of high order (the slowest decides, the next ones add a little). Beside
// it stands the time that a warp takes from start to end, times the number of
// waves of blocks: where few loads are in flight nothing is saturated and this
// is all there is to wait for. The two are joined by a norm of low order,
// because a half hidden latency costs about half.
//
// Counters come from bitcode, before ptxas unrolls loops, merges accesses and
// folds addresses; the weights below stand for that as well, which is why they
// are fitted and not taken from a data sheet.

// --- GPUs ---

// Multiprocessors, memory, L2 and boost clock: NVIDIA's data sheets and
// architecture white papers of each. Warps, blocks, registers, shared memory a
// multiprocessor, and lanes a cycle: CUDA C++ Programming Guide, "Compute
// Capabilities" and "Arithmetic Instructions". Bandwidths: below.

// What streaming kernels reach of the data sheet's memory bandwidth: 4.3 of 4.8
// TB/s seen on an H200. Assumed for the others.
#define DRAM_REACHED 0.896
// Bytes a cycle and multiprocessor that the L2 delivers: 6.8 TB/s on an H200
// (fitted, as the constants below). Assumed for the others.
#define L2_BYTES 26.0

#define GPU(n, a, v, sm, ghz, tb, l2mb, warps, blocks, smem, per_block, fp32_, fp64_, fp16_)        \
  {                                                                                                \
    .name = n, .arch = a, .validated = v, .sms = sm, .max_warps = warps, .max_blocks = blocks,     \
    .registers = 65536, .shared_bytes = (smem) << 10, .shared_block_bytes = (per_block) << 10,     \
    .max_threads = 1024, .clock_hz = (ghz)*1e9, .dram_bytes_per_s = (tb)*1e12 * DRAM_REACHED,      \
    .l2_bytes_per_s = (sm) * (ghz)*1e9 * L2_BYTES, .l2_bytes = (l2mb) * 1048576.0,                 \
    .fp32 = fp32_, .fp64 = fp64_, .fp16 = fp16_, .integer = 64, .sfu = 16, .convert = 64           \
  }

// The first of an architecture is the one that its name alone stands for.
static const struct kr_gpu gpus[] = {
    GPU("NVIDIA H200", "sm_90", true, 132, 1.98, 4.8, 50, 64, 32, 228, 227, 128, 64, 256),
    GPU("NVIDIA H100 SXM", "sm_90", false, 132, 1.98, 3.35, 50, 64, 32, 228, 227, 128, 64, 256),
    GPU("NVIDIA H100 PCIe", "sm_90", false, 114, 1.755, 2.0, 50, 64, 32, 228, 227, 128, 64, 256),
    GPU("NVIDIA B200", "sm_100", false, 148, 1.965, 8.0, 126, 64, 32, 228, 227, 128, 64, 256),
    GPU("NVIDIA A100", "sm_80", false, 108, 1.41, 2.039, 40, 64, 32, 164, 163, 64, 32, 256),
    GPU("NVIDIA A100 40GB", "sm_80", false, 108, 1.41, 1.555, 40, 64, 32, 164, 163, 64, 32, 256),
    GPU("NVIDIA L40S", "sm_89", false, 142, 2.52, 0.864, 96, 48, 24, 100, 99, 128, 2, 128),
    GPU("NVIDIA GeForce RTX 4090", "sm_89", false, 128, 2.52, 1.008, 72, 48, 24, 100, 99, 128, 2, 128),
    GPU("NVIDIA L4", "sm_89", false, 58, 2.04, 0.3, 48, 48, 24, 100, 99, 128, 2, 128),
    GPU("NVIDIA GeForce RTX 3090", "sm_86", false, 82, 1.695, 0.936, 6, 48, 16, 100, 99, 128, 2, 128),
    GPU("NVIDIA A10", "sm_86", false, 72, 1.695, 0.6, 6, 48, 16, 100, 99, 128, 2, 128),
    GPU("NVIDIA GeForce RTX 5090", "sm_120", false, 170, 2.407, 1.792, 96, 48, 24, 100, 99, 128, 2, 128),
    GPU("NVIDIA T4", "sm_75", false, 40, 1.59, 0.32, 4, 32, 16, 64, 64, 64, 2, 128),
    GPU("NVIDIA V100", "sm_70", false, 80, 1.53, 0.9, 6, 64, 32, 96, 96, 64, 32, 128),
};

enum { N_GPUS = sizeof gpus / sizeof *gpus };

const struct kr_gpu *kr_gpu_default(void)
{
  return &gpus[0];
}

// "rtx4090" and "NVIDIA GeForce RTX 4090" are the same words.
static bool same_words(const char *a, const char *b)
{
  static const char *const makers[] = {"nvidia", "geforce"};
  char text[2][64];
  const char *from[2] = {a, b};
  for (int k = 0; k < 2; k++) {
    size_t n = 0;
    for (const char *p = from[k]; *p && n + 1 < sizeof text[k]; p++) {
      char c = *p >= 'A' && *p <= 'Z' ? (char)(*p - 'A' + 'a') : *p;
      if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'))
        text[k][n++] = c;
    }
    text[k][n] = '\0';
    for (size_t i = 0; i < sizeof makers / sizeof *makers; i++) {
      size_t len = strlen(makers[i]);
      if (!strncmp(text[k], makers[i], len))
        memmove(text[k], text[k] + len, n + 1 - len), n -= len;
    }
  }
  return !strcmp(text[0], text[1]);
}

// As drivers call them, and as people do.
static const struct {
  const char *name, *of;
} also[] = {
    {"H100", "NVIDIA H100 SXM"},
    {"NVIDIA H100 80GB HBM3", "NVIDIA H100 SXM"},
    {"NVIDIA A100-SXM4-80GB", "NVIDIA A100"},
    {"NVIDIA A100 80GB PCIe", "NVIDIA A100"},
    {"NVIDIA A100-SXM4-40GB", "NVIDIA A100 40GB"},
    {"NVIDIA A100-PCIE-40GB", "NVIDIA A100 40GB"},
    {"Tesla T4", "NVIDIA T4"},
    {"Tesla V100-SXM2-16GB", "NVIDIA V100"},
    {"Tesla V100-SXM2-32GB", "NVIDIA V100"},
    {"4090", "NVIDIA GeForce RTX 4090"},
    {"3090", "NVIDIA GeForce RTX 3090"},
    {"5090", "NVIDIA GeForce RTX 5090"},
};

const struct kr_gpu *kr_gpu_find(const char *name_or_arch)
{
  size_t arch = strspn(name_or_arch, "sm_0123456789");
  for (size_t i = 0; i < N_GPUS; i++) {
    // sm_90a is sm_90 with instructions of its own.
    if (!strncmp(name_or_arch, gpus[i].arch, arch) && strlen(gpus[i].arch) == arch &&
        strlen(name_or_arch) <= arch + 1)
      return &gpus[i];
  }
  for (size_t i = 0; i < N_GPUS; i++) {
    if (same_words(name_or_arch, gpus[i].name))
      return &gpus[i];
  }
  for (size_t i = 0; i < sizeof also / sizeof *also; i++) {
    if (same_words(name_or_arch, also[i].name))
      return kr_gpu_find(also[i].of);
  }
  return NULL;
}

const struct kr_gpu *kr_gpu_at(size_t index)
{
  return index < N_GPUS ? &gpus[index] : NULL;
}

// --- constants ---

// One table for all that is not of a GPU's own, in cycles unless the name says
// otherwise. All were fitted together on an H200, on the kernels of
// test/bench/model/fit (111 of them, each with counts from bitcode alone and from
// machine code) and the table of test/evaluator/gpu_model.c, from starting points
// taken from published microbenchmarks where there are any (latencies, barriers,
// shuffles), and held near those where the kernels say little. Nothing was fitted
// on test/bench/model/heldout.
struct constants {
  double launch_us;       // between two launches of a graph
  double throughput_norm; // order of the norm over units
  double latency_norm;    // ... that joins them with latency
  // Issue slots that one counted instruction takes after ptxas.
  double issue_alu;     // arithmetic of floats, conversions
  double issue_int;     // addresses and counters fold into what uses them
  double int_pipe;      // of integer instructions in machine code, the share of the slower pipe
  double issue_control; // unrolled loops lose most of theirs
  double issue_div;     // integer division: about 20 instructions
  double issue_sfu;     // with the scaling and range tests around it
  // Latencies in cycles.
  double dram, l2, l1; // of a load
  double shared, shuffle;
  double barrier, barrier_warp; // of a barrier, and for each warp of the block that comes to it
  double inst;  // a warp's own instructions, one after another, on the mean
  double wait;  // for a unit without a fixed latency: conversions, special functions, shared memory
  double start; // a block's launch and a warp's end
  double block; // between two blocks that a multiprocessor starts
  // Memory.
  double store_line;    // sectors' worth of L2 time that each line of a store takes at least
  double scatter;       // DRAM bytes moved for a byte of an isolated sector: 64 are read for 32
  double l2_share;      // of the L2 that holds what will be read again
  double atomic;        // sectors' worth of L2 time of an atomic on a sector
  double atomic_same;   // cycles between two atomics on one sector
  double shared_atomic; // wavefronts' worth of one pass of a shared atomic
};

static const struct constants fitted = {
    .launch_us = 1.65,
    .throughput_norm = 3.6,
    .latency_norm = 2.35,
    .issue_alu = 1.35,
    .issue_int = 0.5,
    .int_pipe = 0.35,
    .issue_control = 0.24,
    .issue_div = 15,
    .issue_sfu = 6.5,
    .dram = 800,
    .l2 = 510,
    .l1 = 42,
    .shared = 22,
    .shuffle = 29,
    .barrier = 27,
    .barrier_warp = 2.5,
    .inst = 2.4,
    .wait = 8.5,
    .start = 410,
    .block = 147,
    .store_line = 3.1,
    .scatter = 2.5,
    .l2_share = 0.6,
    .atomic = 2,
    .atomic_same = 3.1,
    .shared_atomic = 2.6,
};

// lo and hi of a modelled speed-up are this factor below and above it. On the fitted
// kernels 92 % (bitcode alone) and 96 % (machine code) of the pairs that are
// modelled to be more than 1.14 apart, which is this above the usual min_speedup of
// 1.02, were measured to differ in that direction.
#define RATIO_ERROR 1.12

double kr_gpu_model_error(void)
{
  return RATIO_ERROR;
}

static const char *const term_names[] = {
    [KR_TERM_ISSUE] = "issue",     [KR_TERM_FP32] = "fp32",     [KR_TERM_FP64] = "fp64",
    [KR_TERM_INT] = "int",         [KR_TERM_SFU] = "sfu",       [KR_TERM_L1] = "L1",
    [KR_TERM_SHARED] = "shared",   [KR_TERM_L2] = "L2",         [KR_TERM_DRAM] = "DRAM",
    [KR_TERM_ATOMIC] = "atomic",   [KR_TERM_BLOCKS] = "blocks",   [KR_TERM_LATENCY] = "latency", [KR_TERM_LAUNCH] = "launch",
};

const char *kr_term_name(enum kr_term term)
{
  return term_names[term];
}

// --- occupancy ---

// Registers are handed out to warps in pieces of 256, shared memory in pieces of
// 128 bytes with 1 KiB for the system from compute capability 8.0 on
// (Programming Guide, "Compute Capabilities").
enum { REGISTER_PIECE = 256, SHARED_PIECE = 128, SHARED_SYSTEM = 1024, GUESSED_REGISTERS = 32 };

static int resident_blocks(const struct kr_gpu *gpu, int warps, int registers, int shared)
{
  int by_warps = gpu->max_warps / warps, by_registers = gpu->max_blocks, by_shared = gpu->max_blocks;
  int piece = (registers * 32 + REGISTER_PIECE - 1) / REGISTER_PIECE * REGISTER_PIECE;
  if (piece > 0)
    by_registers = gpu->registers / piece / warps;
  bool old = !strcmp(gpu->arch, "sm_70") || !strcmp(gpu->arch, "sm_75");
  int taken = (shared + (old ? 0 : SHARED_SYSTEM) + SHARED_PIECE - 1) / SHARED_PIECE * SHARED_PIECE;
  if (taken > 0)
    by_shared = gpu->shared_bytes / taken;
  int n = gpu->max_blocks;
  n = n < by_warps ? n : by_warps;
  n = n < by_registers ? n : by_registers;
  n = n < by_shared ? n : by_shared;
  return n > 0 ? n : 1; // what cannot be launched is found out elsewhere
}

// --- memory ---

static double clamped(double x, double lo, double hi)
{
  return !(x > lo) ? lo : x < hi ? x : hi;
}

// What a run of `blocks` consecutive blocks touches of one direction, in bytes.
// Between the powers of two that were counted it grows evenly.
static double window_of(const struct kr_traffic *t, double blocks)
{
  double i = log2(fmax(blocks, 1));
  int low = (int)fmin(i, KR_N_WINDOWS - 1);
  if (low == KR_N_WINDOWS - 1) // on from the last as from the one before it
    return fmin(t->window[low] * blocks / (1 << low), fmax(t->footprint, t->window[low]));
  double from = ldexp(1, low), part = (fmin(blocks, 2 * from) - from) / from;
  return t->window[low] + part * (t->window[low + 1] - t->window[low]);
}

// How many consecutive blocks find in L2 what one of them has touched: as many as
// touch no more than its part for that. At least those that run together.
static double blocks_in_l2(const struct constants *k, const struct kr_gpu *gpu,
                           const struct kr_counters *c)
{
  double room = k->l2_share * gpu->l2_bytes, blocks = (double)c->blocks;
  if (c->loads.footprint + c->stores.footprint + c->atomics.footprint <= room)
    return blocks;
  double low = 1, high = blocks;
  for (int i = 0; i < 40 && high > low * 1.01; i++) {
    double mid = sqrt(low * high);
    double bytes = window_of(&c->loads, mid) + window_of(&c->stores, mid) +
                   window_of(&c->atomics, mid);
    *(bytes <= room ? &low : &high) = mid;
  }
  return low;
}

// Bytes of sectors of one direction that DRAM delivers or takes, each window anew;
// no fewer than are touched at all, no more than were asked for.
static double through_dram(const struct kr_traffic *t, double blocks, double together, double asked)
{
  double bytes = together > 0 ? blocks / together * window_of(t, together) : 0;
  return fmax(fmin(bytes, asked), t->footprint);
}

// DRAM moves 64 bytes at a time. A sector whose neighbour is not asked for moves
// twice its bytes; one that several requests ask for is part of a piece that is
// read or written bit by bit, neighbours and all.
static double isolation(const struct kr_traffic *t, double dram_bytes)
{
  if (!(t->wavefronts > 0) || !(dram_bytes > 0))
    return 0;
  // Where each lane has a sector of its own two in a line lie 64 bytes apart.
  double own = clamped(2 - t->lanes / t->sectors, 0, 1);
  double alone = clamped(2 + own - t->sectors / t->wavefronts, 0, 1);
  double times = t->sectors * 32 / dram_bytes;
  return alone * clamped(2 - times, 0, 1);
}

// Sectors of loads that miss L1. They were counted with an L1 that forgets everything
// between two blocks; what every block reads anew is in it already.
static double misses_of(const struct kr_counters *c)
{
  enum { ROOM = 64 << 10 };
  const struct kr_traffic *l = &c->loads;
  double one = l->window[0], two = l->window[1];
  if (c->blocks < 2 || !(one > 0) || one > ROOM)
    return l->l1_miss_sectors;
  double same = clamped(2 - two / one, 0, 1); // of what a block reads, read by the one before it
  double stays = clamped(10 * same - 9, 0, 1);
  return fmax(l->l1_miss_sectors * (1 - stays), fmin(l->l1_miss_sectors, l->footprint / 32));
}

struct memory {
  double l1_misses; // sectors
  double l2_sectors;
  double dram_bytes;
  double load_dram_share; // of loads' sectors that miss L1, those that come from DRAM
};

static void memory_of(const struct constants *k, const struct kr_gpu *gpu,
                      const struct kr_counters *c, struct memory *m)
{
  const struct kr_traffic *l = &c->loads, *s = &c->stores, *a = &c->atomics;
  double blocks = (double)c->blocks, together = blocks_in_l2(k, gpu, c);
  m->l1_misses = misses_of(c);
  double read = through_dram(l, blocks, together, m->l1_misses * 32);
  double written = through_dram(s, blocks, together, s->sectors * 32);
  double changed = through_dram(a, blocks, together, a->sectors * 32);
  m->load_dram_share = m->l1_misses > 0 ? clamped(read / (m->l1_misses * 32), 0, 1) : 0;
  // Parts of sectors that leave L2 before the rest is written are filled from DRAM.
  double unfilled = written > 0 ? clamped(1 - s->bytes / written, 0, 1) : 0;
  double read_pieces = 1 + (k->scatter - 1) * isolation(l, read);
  double written_pieces = 1 + (k->scatter - 1) * isolation(s, written);
  double changed_pieces = 1 + (k->scatter - 1) * isolation(a, changed);
  m->dram_bytes = read * read_pieces + written * (1 + unfilled) * written_pieces +
                  2 * changed * changed_pieces;
  m->l2_sectors = m->l1_misses + fmax(s->bytes / 32, k->store_line * s->wavefronts) +
                  k->atomic * a->sectors;
}

// --- the model ---

static double norm(const double *x, size_t n, double order)
{
  double most = 0, sum = 0;
  for (size_t i = 0; i < n; i++)
    most = fmax(most, x[i]);
  if (!(most > 0))
    return 0;
  for (size_t i = 0; i < n; i++)
    sum += pow(x[i] / most, order);
  return most * pow(sum, 1 / order);
}

// Cycles that one warp takes when nothing is in its way but latency.
static double warp_cycles(const struct constants *k, const struct kr_counters *c,
                          const struct memory *m)
{
  const struct kr_traffic *l = &c->loads;
  double warps = fmax(c->warps, 1);
  double miss = l->sectors > 0 ? clamped(m->l1_misses / l->sectors, 0, 1) : 1;
  double load = k->l1 * (1 - miss) +
                miss * (k->l2 * (1 - m->load_dram_share) + k->dram * m->load_dram_share);
  // A request of many lines is served line after line.
  double lines = l->requests > 0 ? l->wavefronts / l->requests : 1;
  double loads = l->requests / warps, batches = fmin(c->chain_global, loads);
  double cycles = k->start + batches * load + loads * fmax(lines - 1, 0);
  double in_block = c->blocks ? warps / (double)c->blocks : 1;
  cycles += c->barriers / warps * (k->barrier + k->barrier_warp * in_block);
  // Machine code says how far instructions are apart and when they wait; bitcode does not.
  if (c->chain_cycles > 0)
    cycles += c->chain_cycles + c->chain_waits * k->wait;
  else
    cycles += c->chain_inst * k->inst;
  if (!c->from_machine_code)
    cycles += c->chain_shared * k->shared + c->inst[KR_INST_SHUFFLE] / warps * k->shuffle;
  return cycles;
}

static void model(const struct constants *k, const struct kr_gpu *gpu, const struct kr_counters *c,
                  const struct kr_resources *res, struct kr_modelled *out)
{
  memset(out, 0, sizeof *out);
  double *t = out->term_us;
  t[KR_TERM_LAUNCH] = k->launch_us;
  out->us = k->launch_us;
  out->bound = KR_TERM_LAUNCH;
  double blocks = (double)c->blocks;
  if (!(blocks > 0))
    return;
  int threads = (int)(c->block[0] * c->block[1] * c->block[2]);
  int warps = threads > 0 ? (threads + 31) / 32 : 1;
  int shared = (int)(c->static_shared_bytes + c->dynamic_shared_bytes);
  int registers = res && res->registers > 0 ? res->registers : GUESSED_REGISTERS;
  int resident = resident_blocks(gpu, warps, registers, shared);
  out->resident_blocks = (unsigned)resident;
  out->occupancy = (double)resident * warps / gpu->max_warps;
  out->waves = blocks / ((double)gpu->sms * resident);

  // The multiprocessor with the most blocks is the last; per-multiprocessor units
  // are as slow as it.
  double busiest = ceil(blocks / gpu->sms) / blocks; // its share of the launch
  double cycle_us = 1e6 / gpu->clock_hz, share = busiest * cycle_us;
  const double *n = c->inst;
  double alu = n[KR_INST_FP32] + n[KR_INST_FP64] + n[KR_INST_FP16] + n[KR_INST_CONVERT] +
               n[KR_INST_OTHER];
  double memory = n[KR_INST_GLOBAL] + n[KR_INST_SHARED] + n[KR_INST_LOCAL] +
                  n[KR_INST_ATOMIC_GLOBAL] + n[KR_INST_ATOMIC_SHARED] + n[KR_INST_SHUFFLE] +
                  n[KR_INST_BARRIER];
  double integer = n[KR_INST_INT] * k->issue_int + n[KR_INST_INT_DIV] * k->issue_div;
  double slots = alu * k->issue_alu + integer + n[KR_INST_SFU] * k->issue_sfu +
                 n[KR_INST_CONTROL] * k->issue_control + memory;
  if (c->from_machine_code) {
    slots = alu + n[KR_INST_INT] + n[KR_INST_SFU] + n[KR_INST_CONTROL] + memory;
    integer = n[KR_INST_INT] * k->int_pipe;
  }
  t[KR_TERM_ISSUE] = slots / 4 * share;
  t[KR_TERM_FP32] = (n[KR_INST_FP32] * 32 / gpu->fp32 + n[KR_INST_FP16] * 32 / gpu->fp16) * share;
  t[KR_TERM_FP64] = n[KR_INST_FP64] * 32 / gpu->fp64 * share;
  t[KR_TERM_INT] = fmax(integer * 32 / gpu->integer, n[KR_INST_CONVERT] * 32 / gpu->convert) * share;
  t[KR_TERM_SFU] = n[KR_INST_SFU] * 32 / gpu->sfu * share;
  t[KR_TERM_L1] = (c->loads.wavefronts + c->stores.wavefronts + c->atomics.wavefronts) * share;
  t[KR_TERM_SHARED] = (c->shared_wavefronts + n[KR_INST_SHUFFLE] +
                       c->shared_atomic_passes * k->shared_atomic) *
                      share;

  struct memory m;
  memory_of(k, gpu, c, &m);
  // A multiprocessor takes 64 bytes a cycle from L2.
  t[KR_TERM_L2] = fmax(m.l2_sectors * 32 / gpu->l2_bytes_per_s * 1e6, m.l2_sectors / 2 * share);
  out->dram_bytes = m.dram_bytes;
  t[KR_TERM_DRAM] = m.dram_bytes / gpu->dram_bytes_per_s * 1e6;
  // One after another on a sector; where all atomics meet on few, on the mean of them.
  double met = c->atomics.footprint > 0 ? c->atomic_passes * 32 / c->atomics.footprint : 0;
  t[KR_TERM_ATOMIC] = fmax(c->hottest_atomic, met) * k->atomic_same * cycle_us;

  double waves = out->waves <= 1 ? 1 : out->waves < 4 ? ceil(out->waves) : out->waves + 0.5;
  t[KR_TERM_LATENCY] = waves * warp_cycles(k, c, &m) * cycle_us;

  // L1 and shared memory are one unit.
  t[KR_TERM_BLOCKS] = blocks * busiest * k->block * cycle_us;
  const double units[] = {t[KR_TERM_ISSUE], t[KR_TERM_FP32], t[KR_TERM_FP64], t[KR_TERM_INT],
                          t[KR_TERM_SFU],   t[KR_TERM_L1] + t[KR_TERM_SHARED], t[KR_TERM_L2],
                          t[KR_TERM_DRAM],  t[KR_TERM_ATOMIC], t[KR_TERM_BLOCKS]};
  double both[2] = {norm(units, sizeof units / sizeof *units, k->throughput_norm),
                    t[KR_TERM_LATENCY]};
  out->us = k->launch_us + norm(both, 2, k->latency_norm);
  for (int i = 0; i < KR_N_TERMS; i++)
    if (t[i] > t[out->bound])
      out->bound = (enum kr_term)i;
}

void kr_gpu_model(const struct kr_gpu *gpu, const struct kr_counters *counters,
                  const struct kr_resources *res, struct kr_modelled *out)
{
  model(&fitted, gpu, counters, res, out);
}

double kr_gpu_model_sampling_error(const struct kr_counters *c)
{
  if (!c->blocks_counted || c->blocks_counted >= c->blocks || !(c->longest_warp > 1))
    return 0;
  double n = (double)c->blocks_counted, left = 1 - n / (double)c->blocks;
  return sqrt((c->longest_warp - 1) / n * left);
}
