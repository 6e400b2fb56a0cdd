#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "gpu_model.h"
#include "wire.h"

// Counters and modelled terms as JSON: a table says which figure has which name,
// so that what is written and what is read cannot part.

struct field {
  const char *name;
  size_t offset; // of a double
};

#define COUNTER(name) {#name, offsetof(struct kr_counters, name)}
static const struct field counter_fields[] = {
    COUNTER(warps),
    COUNTER(lane_inst),
    COUNTER(divergent_branches),
    COUNTER(shared_wavefronts),
    COUNTER(shared_ideal),
    COUNTER(shared_atomic_passes),
    COUNTER(atomic_passes),
    COUNTER(hottest_atomic),
    COUNTER(local_bytes),
    COUNTER(barriers),
    COUNTER(chain_global),
    COUNTER(chain_shared),
    COUNTER(chain_inst),
    COUNTER(chain_cycles),
    COUNTER(chain_waits),
    COUNTER(loads_in_flight),
    COUNTER(longest_warp),
};

#define TRAFFIC(name) {#name, offsetof(struct kr_traffic, name)}
static const struct field traffic_fields[] = {
    TRAFFIC(requests),        TRAFFIC(lanes),          TRAFFIC(bytes),
    TRAFFIC(sectors),         TRAFFIC(wavefronts),     TRAFFIC(l1_miss_sectors),
    TRAFFIC(footprint),       TRAFFIC(partial_sectors), TRAFFIC(spread_rows),
};

static const char counters_keys[] =
    "grid block blocks blocks_counted sampled from_machine_code inst loads stores atomics static_shared_bytes "
    "dynamic_shared_bytes warps lane_inst divergent_branches shared_wavefronts shared_ideal "
    "shared_atomic_passes atomic_passes hottest_atomic local_bytes barriers chain_global "
    "chain_shared chain_inst chain_cycles chain_waits loads_in_flight longest_warp shared_wavefronts_per_request";
static const char traffic_keys[] = "requests lanes bytes sectors wavefronts l1_miss_sectors "
                                   "footprint partial_sectors spread_rows window sectors_per_request";

static const char *const inst_names[KR_N_INST] = {
    [KR_INST_FP32] = "fp32",
    [KR_INST_FP64] = "fp64",
    [KR_INST_FP16] = "fp16",
    [KR_INST_INT] = "int",
    [KR_INST_INT_DIV] = "int_div",
    [KR_INST_SFU] = "sfu",
    [KR_INST_CONVERT] = "convert",
    [KR_INST_CONTROL] = "control",
    [KR_INST_GLOBAL] = "global",
    [KR_INST_SHARED] = "shared",
    [KR_INST_LOCAL] = "local",
    [KR_INST_CONSTANT] = "constant",
    [KR_INST_ATOMIC_GLOBAL] = "atomic_global",
    [KR_INST_ATOMIC_SHARED] = "atomic_shared",
    [KR_INST_SHUFFLE] = "shuffle",
    [KR_INST_BARRIER] = "barrier",
    [KR_INST_OTHER] = "other",
};

const char *kr_inst_name(enum kr_inst_class kind)
{
  return inst_names[kind];
}

static double *field_of(const void *object, const struct field *f)
{
  return (double *)((char *)(uintptr_t)object + f->offset);
}

static void put_fields(struct json_writer *w, const void *object, const struct field *f, size_t n)
{
  for (size_t i = 0; i < n; i++)
    json_number(w, f[i].name, *field_of(object, &f[i]));
}

static void get_fields(struct json_reader *r, const cJSON *obj, void *object,
                       const struct field *f, size_t n)
{
  for (size_t i = 0; i < n; i++)
    *field_of(object, &f[i]) = json_get_number(r, obj, f[i].name, 0);
}

// Figures that follow from others are written for whoever reads, and not read.
static void put_ratio(struct json_writer *w, const char *key, double part, double whole)
{
  if (whole > 0)
    json_number(w, key, part / whole);
}

static void put_traffic(struct json_writer *w, const char *key, const struct kr_traffic *t)
{
  json_key(w, key);
  json_open(w, '{');
  put_ratio(w, "sectors_per_request", t->sectors, t->requests);
  put_fields(w, t, traffic_fields, sizeof traffic_fields / sizeof *traffic_fields);
  json_key(w, "window");
  json_open(w, '[');
  for (int i = 0; i < KR_N_WINDOWS; i++)
    json_put_number(w, t->window[i]);
  json_close(w, ']');
  json_close(w, '}');
}

static void get_traffic(struct json_reader *r, const cJSON *root, const char *key,
                        struct kr_traffic *t)
{
  const cJSON *obj = r->failed ? NULL : cJSON_GetObjectItemCaseSensitive(root, key);
  json_expect_keys(r, obj, key, traffic_keys);
  get_fields(r, obj, t, traffic_fields, sizeof traffic_fields / sizeof *traffic_fields);
  size_t n;
  double *window = json_get_numbers(r, obj, "window", KR_N_WINDOWS, &n);
  for (size_t i = 0; i < n; i++)
    t->window[i] = window[i];
  free(window);
}

static void put_extent(struct json_writer *w, const char *key, const unsigned *x)
{
  json_key(w, key);
  json_open(w, '[');
  for (int i = 0; i < 3; i++)
    json_put_number(w, x[i]);
  json_close(w, ']');
}

static void get_extent(struct json_reader *r, const cJSON *root, const char *key, unsigned *x)
{
  size_t n;
  double *v = json_get_numbers(r, root, key, 3, &n);
  if (!r->failed && n != 3)
    json_fail(r, "\"%s\" is no extent", key);
  for (size_t i = 0; i < 3 && !r->failed; i++) {
    if (!(v[i] >= 0 && v[i] <= UINT32_MAX))
      json_fail(r, "\"%s\" is no extent", key);
    else
      x[i] = (unsigned)v[i];
  }
  free(v);
}

void counters_put(struct json_writer *w, const struct kr_counters *c)
{
  json_open(w, '{');
  put_extent(w, "grid", c->grid);
  put_extent(w, "block", c->block);
  json_number(w, "blocks", (double)c->blocks);
  json_number(w, "blocks_counted", (double)c->blocks_counted);
  json_bool(w, "sampled", c->sampled);
  json_bool(w, "from_machine_code", c->from_machine_code);
  json_key(w, "inst");
  json_open(w, '{');
  for (int i = 0; i < KR_N_INST; i++)
    if (c->inst[i] != 0)
      json_number(w, inst_names[i], c->inst[i]);
  json_close(w, '}');
  put_traffic(w, "loads", &c->loads);
  put_traffic(w, "stores", &c->stores);
  put_traffic(w, "atomics", &c->atomics);
  put_fields(w, c, counter_fields, sizeof counter_fields / sizeof *counter_fields);
  put_ratio(w, "shared_wavefronts_per_request", c->shared_wavefronts,
            c->inst[KR_INST_SHARED] + c->inst[KR_INST_ATOMIC_SHARED]);
  json_number(w, "static_shared_bytes", c->static_shared_bytes);
  json_number(w, "dynamic_shared_bytes", c->dynamic_shared_bytes);
  json_close(w, '}');
}

void counters_read(struct json_reader *r, const cJSON *obj, struct kr_counters *c)
{
  const size_t most = (size_t)1 << 52;
  memset(c, 0, sizeof *c);
  json_expect_keys(r, obj, "the counters", counters_keys);
  get_extent(r, obj, "grid", c->grid);
  get_extent(r, obj, "block", c->block);
  c->blocks = json_get_size(r, obj, "blocks", 0, most);
  c->blocks_counted = json_get_size(r, obj, "blocks_counted", 0, most);
  c->sampled = json_get_bool(r, obj, "sampled", false);
  c->from_machine_code = json_get_bool(r, obj, "from_machine_code", false);
  const cJSON *inst = r->failed ? NULL : cJSON_GetObjectItemCaseSensitive(obj, "inst");
  for (const cJSON *item = inst ? inst->child : NULL; item; item = item->next) {
    int kind = 0;
    while (kind < KR_N_INST && strcmp(inst_names[kind], item->string))
      kind++;
    if (kind == KR_N_INST || !cJSON_IsNumber(item))
      json_fail(r, "\"%.40s\" is no class of instructions", item->string);
    else
      c->inst[kind] = item->valuedouble;
  }
  get_traffic(r, obj, "loads", &c->loads);
  get_traffic(r, obj, "stores", &c->stores);
  get_traffic(r, obj, "atomics", &c->atomics);
  get_fields(r, obj, c, counter_fields, sizeof counter_fields / sizeof *counter_fields);
  c->static_shared_bytes = (unsigned)json_get_size(r, obj, "static_shared_bytes", 0, UINT32_MAX);
  c->dynamic_shared_bytes = (unsigned)json_get_size(r, obj, "dynamic_shared_bytes", 0, UINT32_MAX);
}

void case_model_put(struct json_writer *w, const struct kr_case_model *m)
{
  if (!m) {
    json_open(w, '{');
    json_close(w, '}');
    return;
  }
  const struct kr_modelled *t = &m->modelled;
  json_open(w, '{');
  json_number(w, "us", t->us);
  json_string(w, "bound", kr_term_name(t->bound));
  json_key(w, "terms_us");
  json_open(w, '{');
  for (int i = 0; i < KR_N_TERMS; i++)
    json_number(w, kr_term_name((enum kr_term)i), t->term_us[i]);
  json_close(w, '}');
  json_number(w, "occupancy", t->occupancy);
  json_number(w, "resident_blocks", t->resident_blocks);
  json_number(w, "waves", t->waves);
  json_number(w, "dram_bytes", t->dram_bytes);
  json_key(w, "counters");
  counters_put(w, &m->counters);
  json_close(w, '}');
}

int case_bound_read(struct json_reader *r, const cJSON *obj, const char *key)
{
  const char *names[KR_N_TERMS + 1];
  for (int i = 0; i < KR_N_TERMS; i++)
    names[i] = kr_term_name((enum kr_term)i);
  names[KR_N_TERMS] = NULL;
  return json_get_name(r, obj, key, names, -1);
}

struct kr_case_model *case_model_read(struct json_reader *r, const cJSON *obj)
{
  if (r->failed || !obj || !cJSON_IsObject(obj) || !obj->child)
    return NULL;
  struct kr_case_model *m = kr_xcalloc(1, sizeof *m);
  struct kr_modelled *t = &m->modelled;
  json_expect_keys(r, obj, "a modelled time",
                   "us bound terms_us occupancy resident_blocks waves dram_bytes counters");
  t->us = json_get_number(r, obj, "us", 0);
  int bound = case_bound_read(r, obj, "bound");
  t->bound = bound < 0 ? KR_TERM_ISSUE : (enum kr_term)bound;
  const cJSON *terms = r->failed ? NULL : cJSON_GetObjectItemCaseSensitive(obj, "terms_us");
  for (int i = 0; i < KR_N_TERMS; i++)
    t->term_us[i] = json_get_number(r, terms, kr_term_name((enum kr_term)i), 0);
  t->occupancy = json_get_number(r, obj, "occupancy", 0);
  t->resident_blocks = (unsigned)json_get_size(r, obj, "resident_blocks", 0, 1024);
  t->waves = json_get_number(r, obj, "waves", 0);
  t->dram_bytes = json_get_number(r, obj, "dram_bytes", 0);
  counters_read(r, r->failed ? NULL : cJSON_GetObjectItemCaseSensitive(obj, "counters"), &m->counters);
  if (!r->failed)
    return m;
  free(m);
  return NULL;
}
