#ifndef KR_INSTANCE_H
#define KR_INSTANCE_H

#include "contract.h"

// A contract with numbers in it: one launch's arguments, buffers and geometry.

struct kr_buffer {
  size_t section; // index into kr_contract.sections
  enum kr_role role;
  const struct kr_type *type; // of an element; borrowed from the contract
  int64_t start;              // first element, relative to the pointer passed
  int64_t count;              // elements; may be 0
  int64_t dims[8];
  size_t n_dims;
  size_t bytes; // count * type->size
  size_t align; // promised at element 0
  bool null;    // a null pointer is passed; nothing is filled
  // Contents before the launch: in and inout. NULL for out. Owned.
  unsigned char *init;
};

// A pointer inside the parameters, to be set when the buffers have addresses.
struct kr_pointer_slot {
  size_t param, offset; // bytes in that parameter
  size_t buffer;        // SIZE_MAX for null
  int64_t element;      // of that buffer's element 0; an alias may add to it
};

struct kr_instance {
  const struct kr_contract *contract; // borrowed
  size_t case_index;
  char *label;   // values of all bindings, for logs and reports; owned
  bool held_out; // sizes the model was not told: failures on it name stage and kind only
  uint64_t seed;
  unsigned char **params; // n_params byte blocks, pointers still zero; owned
  struct kr_pointer_slot *slots;
  size_t n_slots;
  struct kr_buffer *buffers;
  size_t n_buffers;
  // Names and values in force, for geometry of candidates; owned.
  struct kr_constant *names;
  size_t n_names;
};

// The launch of an instance, evaluated for a device.
struct kr_launch {
  unsigned grid[3], block[3];
  unsigned shared_bytes;
  bool cooperative;
};

// Facts of a device that expressions may name.
struct kr_device_facts {
  char name[128];
  char arch[16];  // "sm_90", or "cpu"
  char uuid[64];  // "" for the CPU
  int sms;        // `sms`
  int warp;       // `warp`, 32
  size_t l2_bytes, memory_bytes, shared_optin_bytes;
  double peak_bytes_per_s; // DRAM, theoretical; 0 when unknown
  char driver[32], compiler[64];
};

// How the values of a case are chosen.
enum kr_distribution {
  KR_DIST_NORMAL,  // normal(0, 1); integers uniform 0 ... 127
  KR_DIST_LARGE,   // normal(0, 1) times 2^10
  KR_DIST_INTEGER, // integers in [-2, 2], exact in every type; an exactness test
  KR_DIST_ZERO,
  KR_DIST_MIXED // magnitudes over many binades, both signs
};

// One changed binding: the held-out value of a `let`. An override of `sms`,
// which is no binding, tells sections and fillers the device's number.
struct kr_override {
  const char *path;
  struct kr_value value;
};

// Evaluates case `case_index` with `overrides` in place of its own values.
// Fillings that the user wrote stay; the others follow `dist`. Buffers are
// filled with a counter-based generator (Philox 4x32-10, Salmon et al. 2011),
// keyed by seed and section, so that a seed repeats on every machine and any
// number of threads. Returns 0; 1 when a `require` does not hold or a filling
// has no value there (`err` says which), which makes a held-out size unusable;
// -1 for anything else: overflow, negative length, too large for memory.
int kr_instance_make(struct kr_instance *out, const struct kr_contract *c, size_t case_index,
                     uint64_t seed, enum kr_distribution dist, const struct kr_override *overrides,
                     size_t n_overrides, struct kr_err *err);
void kr_instance_release(struct kr_instance *in);

// The launch under `geometry` (the contract's or a candidate's). An empty grid
// (0 blocks) is returned as such and means that nothing runs. Returns 0, or -1
// with a sentence: over the device's limits, an unknown name, a division by zero.
int kr_instance_launch(const struct kr_instance *in, const struct kr_geometry *geometry,
                       const struct kr_device_facts *facts, struct kr_launch *out,
                       struct kr_err *err);

// Bytes of all buffers together.
size_t kr_instance_bytes(const struct kr_instance *in);
// "y[3][17]" for flat element `index` of a buffer.
void kr_buffer_place(const struct kr_instance *in, size_t buffer, int64_t index,
                     struct kr_bytes *out);

#endif
