#ifndef KR_CPU_IMAGE_H
#define KR_CPU_IMAGE_H

#include <stdint.h>

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
  KR_IMAGE_VERSION = 2
};
#define KR_BUFFER_GUARD (UINT64_C(1) << 30)

// The registers of the running thread, at KR_REGS_BASE.
struct kr_simt_regs {
  uint32_t sreg[16];       // tid 0-2, ctaid 3-5, ntid 6-8, nctaid 9-11
  uint64_t dynamic_shared; // address of extern __shared__ arrays
};

enum kr_image_flags {
  KR_IMAGE_FIBERS = 1,    // threads may wait for each other
  KR_IMAGE_UNORDERED = 2, // atomics whose outcome depends on the order of threads
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
  KR_FAULT_NOT_IN_MASK  // a lane calls a warp function whose mask leaves it out
};

enum kr_wait { KR_WAIT_BARRIER, KR_WAIT_SYNCWARP, KR_WAIT_SHUFFLE, KR_WAIT_VOTE, KR_WAIT_MATCH,
               KR_WAIT_REDUCE, KR_WAIT_ACTIVEMASK };

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
  uint8_t params[KR_MAX_PARAM_BYTES];
  struct kr_job_buffer buffers[KR_MAX_BUFFERS];
  // From kevin-simt. What a kernel writes here by itself buys it nothing: its
  // outputs are judged by the parent.
  uint64_t done; // the nonce
  uint32_t fault, write;
  uint64_t address;
  int64_t detail;
  uint32_t thread[3], at_block[3];
  uint32_t waiting_block, waiting_warp, exited, threads, mask;
  uint64_t switches, blocks_done;
};

#endif
