#ifndef KR_DRIVER_REWARD_H
#define KR_DRIVER_REWARD_H

#include "refine.h"

// What a turn was worth, for whoever trains a model on it.
//
//   score      s = 0.3 + speed-up when correct, else 0 (refine_score())
//   return     R = s + gamma * (mean of R over the turns that follow it), 0 for none
//   advantage  A = (R - m) / d, with m and d the mean and the population's standard
//              deviation of R over the group; 0 where d is 0
//
// In a trajectory that no beam copied one turn follows each, and R is the
// discounted sum s_t + gamma s_(t+1) + gamma^2 s_(t+2) + ... A beam's copies all
// follow the turn that was copied; one that the beam dropped has nothing after it.
// A group is all answers of a search to the same prompt, byte for byte: the first
// turns of all trajectories, and the copies of one turn. Alone in its group a turn
// has no advantage.

#define REWARD_GAMMA 0.4

struct reward {
  double score, ret, advantage;
  bool has_advantage;
  size_t group; // index of its turn with the lowest trajectory and turn; its own without a prompt
  size_t group_size;
};

// Fills one for each of the result's turns.
void reward_compute(const struct refine_result *result, double gamma, struct reward *out);

// The turns as JSON lines, one each (docs/trajectories.md), appended to `out`.
void reward_export(const struct refine_result *result, const struct kr_contract *contract,
                   struct kr_bytes *out);

#endif
