#ifndef KR_CPU_IMAGE_H
#define KR_CPU_IMAGE_H

#include <stdint.h>

#include "../counters.h"

// What the three programs of the CPU back end hand each other.
//
// kevin-cpucc turns a translation unit into an *image*: machine code laid out
// for a fixed address, with nothing in it that a loader would run by itself.
// kevin-simt maps one image and one *job* (launch, buffers, where results go),
// locks itself in and runs the kernel. The back end, in the parent, writes jobs
// and judges what comes back. Everything is of one build, so the structs travel
// as they are; KR_IMAGE_VERSION is there to notice when that is not so.

// Where things stand in the address space of kevin-simt. Far from where the
// kernel puts programs, stacks and mappings of its own choice.
#define KR_SHARED_BASE UINT64_C(0x0e0000000000) // __shared__ variables
#define KR_REGS_BASE UINT64_C(0x0f0000000000)   // struct kr_simt_regs
#define KR_IMAGE_BASE UINT64_C(0x100000000000)
#define KR_STACKS_BASE UINT64_C(0x180000000000)
#define KR_BUFFERS_BASE UINT64_C(0x200000000000)
#define KR_TRACE_BASE UINT64_C(0x400000000000) // event rows of a traced image

enum {
  KR_PAGE = 4096,
  KR_SHARED_GUARD = 64 << 10, // between __shared__ variables
  KR_STACK_BYTES = 256 << 10, // of a thread
  KR_STACK_GUARD = 64 << 10,
  KR_MAX_SHARED_VARS = 128,
  KR_MAX_THREADS = 1024,
  KR_MAX_BUFFERS = 256,
  KR_MAX_PARAM_BYTES = 64 << 10,
  KR_STATIC_SHARED_MAX = 48 << 10,
  KR_SHARED_MAX = 227 << 10,
  KR_IMAGE_VERSION = 6
};
#define KR_BUFFER_GUARD (UINT64_C(1) << 30)

// The registers of the running thread, at KR_REGS_BASE.
struct kr_simt_regs {
  uint32_t sreg[16];       // tid 0-2, ctaid 3-5, ntid 6-8, nctaid 9-11
  uint64_t dynamic_shared; // address of extern __shared__ arrays
  // Of a traced image: where the thread's next row goes, and the last place
  // where its rows may end.
  uint64_t trace_at, trace_end;
};

enum kr_image_flags {
  KR_IMAGE_FIBERS = 1,    // threads may wait for each other
  KR_IMAGE_UNORDERED = 2, // atomics whose outcome depends on the order of threads
  KR_IMAGE_TRACED = 4     // a struct kr_trace_head follows the segments
};

// --- what a traced image tells ---
//
// A traced image is compiled from the same text with other options and then
// instrumented (instrument.c). Its code is cut into *segments*, straight pieces
// that are executed whole. A segment appends rows to the thread's trace: row 0
// holds its number from bit 48 on and below that the address of its first
// access, the following rows one address each. Rows of the 32 lanes of a warp
// lie side by side, so that lane l's row r is word 32 r + l of the warp's trace.

enum {
  KR_TRACE_ROWS = 96,        // of a warp, until they are merged
  KR_TRACE_SEGMENT_ROWS = 32, // at most of one segment
  KR_TRACE_LANE_BYTES = 8,
  KR_TRACE_ROW_BYTES = 32 * KR_TRACE_LANE_BYTES,
  KR_TRACE_WARP_BYTES = KR_TRACE_ROWS * KR_TRACE_ROW_BYTES,
  KR_TRACE_MAX_SEGMENTS = 65535,
  KR_TRACE_ID_SHIFT = 48
};

enum kr_trace_kind { KR_TRACE_LOAD, KR_TRACE_STORE, KR_TRACE_ATOMIC, KR_TRACE_N_KINDS };

struct kr_trace_access {
  uint8_t kind, bytes;
  uint8_t constant; // of a __constant__ variable, or one that nothing writes
  uint8_t is_volatile; // or an atomic load or store
  uint32_t line;
};

struct kr_trace_segment {
  uint32_t first_access, n_accesses;
  uint16_t inst[KR_N_INST]; // of the accesses only those without a row: registers that live in memory
  uint16_t total;           // all instructions, accesses among them
  uint16_t chain_global, chain_shared; // loads that wait for each other, along the longest way
  uint16_t local_bytes;     // of a lane
  uint32_t line;
};

struct kr_trace_head {
  uint32_t n_segments, n_accesses; // tables in this order; segment 0 is none
};

// --- what a traced run tells ---

// One direction of global memory, summed over the requests of the counted blocks.
struct kr_trace_traffic {
  uint64_t requests, lanes, bytes, sectors, wavefronts, missed, partial, rows;
};

struct kr_trace_sums {
  uint64_t blocks, warps;
  uint64_t inst[KR_N_INST], total, lane_inst, divergent;
  struct kr_trace_traffic traffic[KR_TRACE_N_KINDS];
  uint64_t shared_wavefronts, shared_ideal, shared_atomic_passes, atomic_passes;
  uint64_t local_bytes, chain_global, chain_shared;
};

// The distinct sectors of one buffer that blocks touch in one way. A block is
// compared with its neighbours in x, y and z: what they share tells how the
// touched part grows with the number of blocks.
struct kr_trace_reach {
  uint64_t sectors;    // distinct within each counted block, summed
  uint64_t blocks;     // that touch it
  uint64_t all;        // distinct in all counted blocks together
  uint64_t pair[3];    // sectors of those neighbours that were counted
  uint64_t shared[3];  // of these, the ones that the block itself touches too
};

enum { KR_TRACE_N_REACH = 2 }; // loads; stores and atomics

struct kr_trace_result {
  struct kr_trace_sums edge, inner; // the first and the last block; those between
  struct kr_trace_reach reach[KR_MAX_BUFFERS + 1][KR_TRACE_N_REACH]; // last: variables of the image
  uint64_t longest_warp;      // instructions
  uint64_t hottest_atomic, hottest_blocks; // most atomics at one address, and how many blocks they are of
  uint64_t events;
};

// Functions the runtime offers, by index into imports.def.
enum kr_import {
#define KR_IMPORT(name) KR_IMPORT_##name,
#include "imports.def"
#undef KR_IMPORT
  KR_N_IMPORTS
};

// A variable in shared memory, ending at a guard page as its alignment allows.
struct kr_shared_var {
  uint64_t address, bytes;
};

// The head of an image file; the bytes of the segments follow at KR_PAGE.
struct kr_image {
  char magic[8]; // "kr-simt"
  uint32_t version, flags;
  uint64_t text_bytes, ro_bytes, rw_bytes; // whole pages, in this order from KR_IMAGE_BASE
  uint64_t entry;                          // void entry(void **arguments)
  uint64_t got;                            // of KR_N_IMPORTS addresses, in the ro segment
  uint32_t n_shared, static_shared_bytes;
  uint32_t uses_dynamic_shared, unused;
  uint8_t hash[16]; // of the segments, fingerprint of the machine code
  struct kr_shared_var shared[KR_MAX_SHARED_VARS];
};
_Static_assert(sizeof(struct kr_image) <= KR_PAGE, "the head of an image is one page");

enum kr_fault {
  KR_FAULT_NONE,
  KR_FAULT_MEMORY,    // address, write
  KR_FAULT_ALIGNMENT, // a general protection fault: misaligned or not an address
  KR_FAULT_STACK,     // address in the guard of a thread's stack
  KR_FAULT_DIVISION,
  KR_FAULT_TRAP,
  KR_FAULT_ASSERT,
  KR_FAULT_SYSCALL,    // detail: its number
  KR_FAULT_DEADLOCK,   // counts
  KR_FAULT_DIVERGED,   // threads meet at different barriers; detail: KR_WAIT_*
  KR_FAULT_SHARED_END,  // wrote between the end of a variable and its guard; detail: its index
  KR_FAULT_NOT_IN_MASK, // a lane calls a warp function whose mask leaves it out
  KR_FAULT_NOT_ITS_OWN, // an access of a traced run to memory of the runtime; address
  KR_FAULT_RACE         // address; the job's `race`
};

enum kr_wait { KR_WAIT_BARRIER, KR_WAIT_SYNCWARP, KR_WAIT_SHUFFLE, KR_WAIT_VOTE, KR_WAIT_MATCH,
               KR_WAIT_REDUCE, KR_WAIT_ACTIVEMASK };

// Two threads at one word. The line of the earlier one is known when the word was
// watched.
struct kr_race {
  uint32_t line, other_line;
  uint32_t thread, other; // numbers in their blocks
  uint8_t writes, other_writes, blocks; // blocks: they are of different ones
};

struct kr_job_buffer {
  uint64_t address; // of the first mapped page
  uint64_t bytes;   // mapped, whole pages
  uint64_t offset;  // in the job file
  uint64_t readonly;
};

// The first pages of a job file; parameters and buffers follow.
struct kr_job {
  // To kevin-simt.
  uint32_t version, reversed;
  uint32_t grid[3], block[3];
  uint32_t shared_bytes, cpu_seconds;
  uint64_t nonce;
  uint64_t noise; // seed of what shared memory holds at a block's start
  uint32_t n_params, n_buffers;
  uint64_t file_bytes;
  uint32_t param_at[1024]; // offsets into `params`
  // Of a traced image: the work after which no further block is begun, the most
  // blocks, and the L1 a block has.
  uint64_t trace_events, trace_blocks, trace_l1_bytes;
  uint32_t private_buffers, races; // buffers are mapped privately: the file keeps its contents
  uint64_t race_watch;             // a word whose accesses are to be known; 0: none
  uint8_t params[KR_MAX_PARAM_BYTES];
  struct kr_job_buffer buffers[KR_MAX_BUFFERS];
  // From kevin-simt. What a kernel writes here by itself buys it nothing: its
  // outputs are judged by the parent.
  uint64_t done; // the nonce
  uint64_t state_written; // the image's variables are not what they were
  uint32_t fault, write;
  uint64_t address;
  int64_t detail;
  uint32_t thread[3], at_block[3];
  uint32_t waiting_block, waiting_warp, exited, threads, mask;
  uint64_t blocks_done;
  struct kr_race race;
  struct kr_trace_result trace;
};

#endif
