#include "trial.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

bool trial_place_fits(const struct kr_instance *in, enum kr_placement place)
{
  if (place == KR_PLACE_ALIGN)
    return true;
  for (size_t i = 0; i < in->n_buffers; i++) {
    const struct kr_buffer *b = &in->buffers[i];
    // Bytes from element 0 to where the buffer touches the mapping's edge.
    int64_t elements = place == KR_PLACE_END ? b->start + b->count : b->start;
    if (!b->null && elements * (int64_t)b->type->size % (int64_t)b->align)
      return false;
  }
  return true;
}

enum kr_placement trial_place(const struct trial_device *d, const struct kr_instance *in,
                              enum kr_placement want)
{
  bool survives = want == KR_PLACE_ALIGN || (want == KR_PLACE_END && d->exact_ends) ||
                  (want == KR_PLACE_START && d->exact_starts);
  return survives && trial_place_fits(in, want) ? want : KR_PLACE_ALIGN;
}

// What a launch of no blocks leaves behind.
static void run_nothing(const struct kr_instance *in, unsigned char poison,
                        struct kr_run_result *r)
{
  r->n_buffers = in->n_buffers;
  r->after = kr_xcalloc(in->n_buffers + 1, sizeof *r->after);
  for (size_t i = 0; i < in->n_buffers; i++) {
    const struct kr_buffer *b = &in->buffers[i];
    if (b->null || !b->bytes)
      continue;
    r->after[i] = kr_xmalloc(b->bytes);
    if (b->role == KR_OUT)
      memset(r->after[i], poison, b->bytes);
    else
      memcpy(r->after[i], b->init, b->bytes);
  }
}

static enum kr_status status_of(enum kr_run_status s)
{
  switch (s) {
  case KR_RUN_OK:
    return KR_STATUS_OK;
  case KR_RUN_LAUNCH_FAILED:
    return KR_STATUS_LAUNCH_FAILED;
  case KR_RUN_TIMEOUT:
    return KR_STATUS_TIMEOUT;
  case KR_RUN_UNSUPPORTED:
    return KR_STATUS_UNSUPPORTED;
  default:
    return KR_STATUS_FAULT;
  }
}

static const char *placement_name(enum kr_placement place)
{
  return place == KR_PLACE_END     ? "buffers that end exactly at unmapped memory"
         : place == KR_PLACE_START ? "buffers that start right behind unmapped memory"
                                   : "buffers at the promised alignment";
}

static void judge_run(struct trial *t, const struct kr_run_result *r, const struct kr_instance *in,
                      enum kr_placement place)
{
  t->device_lost |= r->device_lost;
  if (t->status != KR_STATUS_OK)
    return;
  t->status = status_of(r->status);
  t->state_written |= r->state_written && t->status == KR_STATUS_OK;
  if (t->status != KR_STATUS_OK) {
    snprintf(t->text, sizeof t->text, "%s", r->text[0] ? r->text : kr_status_name(t->status));
    if (t->status == KR_STATUS_FAULT && place != KR_PLACE_ALIGN)
      snprintf(t->text, sizeof t->text, "%s (%s)", r->text[0] ? r->text : "fault",
               placement_name(place));
  } else if (r->gap_written) {
    t->status = KR_STATUS_FAULT;
    snprintf(t->text, sizeof t->text, "wrote beside `%s`, outside its section",
             in->contract->sections[in->buffers[r->gap_buffer].section].path);
  }
}

int trial_run(struct trial *t, const struct trial_device *d, struct kr_module *m,
              struct kr_dataset *data, const struct kr_instance *in,
              const struct kr_geometry *geometry, const enum kr_placement place[2], int n_runs,
              struct kr_err *err)
{
  memset(t, 0, sizeof *t);
  t->poison[0] = TRIAL_POISON_A;
  t->poison[1] = TRIAL_POISON_B;
  struct kr_launch launch;
  struct kr_err why = {{0}};
  if (kr_instance_launch(in, geometry, d->facts, &launch, &why)) {
    t->status = KR_STATUS_LAUNCH_FAILED;
    snprintf(t->text, sizeof t->text, "%.600s", why.text);
    return 0;
  }
  bool empty = !launch.grid[0] || !launch.grid[1] || !launch.grid[2];
  for (int i = 0; i < n_runs && t->status == KR_STATUS_OK; i++) {
    struct kr_run_options options = {.launch = launch, .placement = place[i],
                                     .poison = t->poison[i]};
    if (empty)
      run_nothing(in, t->poison[i], &t->run[i]);
    else if (d->backend->run(d->dev, m, data, &options, &t->run[i], err))
      return -1;
    judge_run(t, &t->run[i], in, place[i]);
    if (t->run[i].wall_ms > t->wall_ms)
      t->wall_ms = t->run[i].wall_ms;
    if (t->run[i].cpu_ms > t->cpu_ms)
      t->cpu_ms = t->run[i].cpu_ms;
  }
  return 0;
}

void trial_release(struct trial *t)
{
  for (int i = 0; i < 2; i++)
    kr_run_result_release(&t->run[i]);
}

struct compare_input trial_input(const struct kr_instance *in, const struct trial *ref,
                                 const struct trial *got)
{
  return (struct compare_input){.in = in,
                                .ref = {ref->run[0].after, ref->run[1].after},
                                .got = {got->run[0].after, got->run[1].after},
                                .ref_poison = {ref->poison[0], ref->poison[1]},
                                .got_poison = {got->poison[0], got->poison[1]}};
}
