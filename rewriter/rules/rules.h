#ifndef KR_RULES_H
#define KR_RULES_H

#include "../../evaluator/contract.h"

// Rules of the built-in proposer: genuine source transformations, each in a file
// of its own, on tokens and on what the contract promises. A rule sees one kernel
// (the original, or a variant that won) and says every place where it applies.
// It changes nothing that it does not understand: no proposal is always right.
// What it proposes is screened, checked and timed as any model's reply is.

struct kr_rule_input {
  const struct kr_contract *contract; // parameters, sections, roles, alignment, launch, constants
  const char *code;                   // the kernel with the helpers it brought
  const struct kr_geometry *geometry; // under which `code` runs; the contract's or a variant's
};

struct kr_proposal {
  const char *rule; // its name; not owned
  // Where, so that what failed is not tried there again: stable when other rules
  // have changed the code elsewhere. "dst[c * rows + r]", "block 128x1". Owned.
  char *place;
  char *code;          // owned
  bool has_geometry;   // a `// launch:` of its own
  struct kr_geometry geometry; // owned
  char *summary; // one or two sentences for people and for provenance; owned
  double gain;   // guess of the speed-up, to order proposals by; 1: none
};

struct kr_proposals {
  struct kr_proposal *items;
  size_t n, cap;
};

// Takes the strings of `p`.
void kr_proposals_add(struct kr_proposals *ps, struct kr_proposal *p);
void kr_proposals_release(struct kr_proposals *ps);

struct kr_rule {
  const char *name;  // "warp-shuffle"
  const char *about; // one line for people
  void (*propose)(const struct kr_rule_input *in, struct kr_proposals *out);
};

// All rules, those that usually win most first; ends with NULL.
extern const struct kr_rule *const kr_rules[];

// Every proposal of every rule, best guess first.
void kr_rules_propose(const struct kr_rule_input *in, struct kr_proposals *out);

#endif
