#ifndef KR_RULES_LIST_H
#define KR_RULES_LIST_H

#include "rules.h"

// The rules, each defined in the file of its name.
extern const struct kr_rule matmul_tile_rule;
extern const struct kr_rule private_histogram_rule;
extern const struct kr_rule transpose_tile_rule;
extern const struct kr_rule vector4_rule;
extern const struct kr_rule warp_shuffle_rule;

#endif
