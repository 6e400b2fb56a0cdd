#ifndef KR_DRIVER_REFINE_INTERNAL_H
#define KR_DRIVER_REFINE_INTERNAL_H

#include "refine.h"

// The steps of a turn, which refine.c takes one after the other and refine_fly.c for
// many trajectories at once. The event says whose turn it is.

void refine_say(const struct refine *r, struct refine_event *e, enum refine_event_kind kind);
struct refine_turn *refine_find(const struct refine_result *result, unsigned trajectory,
                                unsigned turn);

// Begins a turn after `head`. One that the store has an answer to has `reply`, and is
// not to be asked for again.
void refine_turn_begin(struct refine_turn *t, const struct refine_event *event,
                       const struct store_turns *kept, size_t head);
void refine_turn_release(struct refine_turn *t);
// Fills t->prompt and `req`, keeps and counts the question, just before it is sent.
// `req->history` is freed by the caller after 0.
int refine_question(const struct refine *r, struct refine_result *result,
                    struct refine_event *event, struct refine_turn *t, struct model_request *req,
                    struct kr_err *err);
// Takes the reply's text and keeps it.
void refine_answer(const struct refine *r, struct refine_result *result, struct refine_turn *t,
                   struct model_reply *reply);
// Parses and judges t->reply.
int refine_judge_turn(const struct refine *r, struct refine_result *result, struct refine_turn *t,
                      unsigned *judged, struct kr_err *err);
// Adds it to the result, which owns it then.
void refine_add(const struct refine *r, struct refine_result *result, struct refine_event *event,
                struct refine_turn *t);

// Is there nothing to be gained any more? May nothing more be asked for? Then the
// search ends with what it has; both say so in result->end and `why`.
bool refine_at_roofline(const struct refine *r, struct refine_result *result,
                        const struct refine_turn *t, struct kr_err *why);
bool refine_is_spent(const struct refine *r, struct refine_result *result,
                     const struct refine_event *event, struct kr_err *why);

// All trajectories from turn `first` to `last`, `jobs` questions at once; their last
// turns are put into `heads`. Returns 0 to go on, 1 when the search is over, -1 with `why`.
int refine_fly(const struct refine *r, struct refine_result *result, struct refine_event *event,
               const struct store_turns *kept, unsigned first, unsigned last, unsigned jobs,
               size_t *heads, unsigned *judged, struct kr_err *why);

#endif
