#ifndef KR_RULES_LIST_H
#define KR_RULES_LIST_H

#include "rules.h"

// The rules, each defined in the file of its name.
extern const struct kr_rule block_size_rule;
extern const struct kr_rule coarsen_rule;
extern const struct kr_rule float_arithmetic_rule;
extern const struct kr_rule matmul_tile_rule;
extern const struct kr_rule private_histogram_rule;
extern const struct kr_rule restrict_rule;
extern const struct kr_rule row_lanes_rule;
extern const struct kr_rule shared_pad_rule;
extern const struct kr_rule small_powers_rule;
extern const struct kr_rule row_per_warp_rule;
extern const struct kr_rule transpose_tile_rule;
extern const struct kr_rule unroll_rule;
extern const struct kr_rule vector4_rule;
extern const struct kr_rule warp_shuffle_rule;

#endif
