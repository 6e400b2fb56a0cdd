#include "reward.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "../evaluator/base/mem.h"

static bool reward_before(const struct refine_turn *a, const struct refine_turn *b)
{
  return a->trajectory != b->trajectory ? a->trajectory < b->trajectory : a->turn < b->turn;
}

// Turns stand in the order in which they were judged, which is another in each run where
// many are asked at once; a group is named by what does not change.
static void reward_groups(const struct refine_result *result, struct reward *out)
{
  struct kr_hash *hashes = kr_xcalloc(result->n + 1, sizeof *hashes);
  const struct refine_turn *turns = result->turns;
  for (size_t i = 0; i < result->n; i++)
    if (turns[i].prompt)
      hashes[i] = kr_hash_of(turns[i].prompt, strlen(turns[i].prompt));
  for (size_t i = 0; i < result->n; i++) {
    out[i].group = i;
    for (size_t k = 0; turns[i].prompt && k < result->n; k++)
      if (turns[k].prompt && kr_hash_equal(hashes[k], hashes[i]) &&
          reward_before(&turns[k], &turns[out[i].group]))
        out[i].group = k;
  }
  for (size_t i = 0; i < result->n; i++)
    out[out[i].group].group_size++;
  for (size_t i = 0; i < result->n; i++)
    out[i].group_size = out[out[i].group].group_size;
  free(hashes);
}

void reward_compute(const struct refine_result *result, double gamma, struct reward *out)
{
  double *after = kr_xcalloc(result->n + 1, sizeof *after); // sum of R over what follows
  size_t *followers = kr_xcalloc(result->n + 1, sizeof *followers);
  memset(out, 0, result->n * sizeof *out);
  // A turn comes before those that follow it.
  for (size_t i = result->n; i-- > 0;) {
    const struct refine_turn *t = &result->turns[i];
    out[i].score = t->score;
    out[i].ret = t->score + (followers[i] ? gamma * after[i] / (double)followers[i] : 0);
    if (t->parent != SIZE_MAX) {
      after[t->parent] += out[i].ret;
      followers[t->parent]++;
    }
  }
  reward_groups(result, out);
  for (size_t i = 0; i < result->n; i++) {
    double mean = 0, square = 0;
    double size = (double)out[i].group_size;
    out[i].has_advantage = out[i].group_size > 1;
    if (!out[i].has_advantage)
      continue;
    for (size_t k = 0; k < result->n; k++)
      mean += out[k].group == out[i].group ? out[k].ret / size : 0;
    for (size_t k = 0; k < result->n; k++)
      square += out[k].group == out[i].group ? (out[k].ret - mean) * (out[k].ret - mean) : 0;
    double deviation = sqrt(square / size);
    // Equal returns may differ in their last bit from their mean.
    out[i].advantage = deviation > 1e-12 * (fabs(mean) + 1) ? (out[i].ret - mean) / deviation : 0;
  }
  free(after);
  free(followers);
}

static void add_message(cJSON *line, const char *name, const char *role, const char *text)
{
  cJSON *list = cJSON_AddArrayToObject(line, name), *message = cJSON_CreateObject();
  cJSON_AddStringToObject(message, "role", role);
  cJSON_AddStringToObject(message, "content", text);
  cJSON_AddItemToArray(list, message);
}

static void add_place(cJSON *line, const char *name, const struct refine_turn *t)
{
  cJSON *place = t ? cJSON_AddObjectToObject(line, name) : cJSON_AddNullToObject(line, name);
  if (!t)
    return;
  cJSON_AddNumberToObject(place, "trajectory", t->trajectory);
  cJSON_AddNumberToObject(place, "turn", t->turn);
}

static cJSON *reward_line(const struct refine_result *result, size_t i, const struct reward *w,
                          const struct kr_contract *contract)
{
  const struct refine_turn *t = &result->turns[i];
  const struct kr_verdict *v = &t->verdict;
  char hash[KR_HASH_HEX + 1];
  kr_hash_hex(kr_contract_hash(contract), hash);
  cJSON *line = cJSON_CreateObject();
  cJSON_AddNumberToObject(line, "schema", 1);
  cJSON_AddStringToObject(line, "kernel", contract->kernel);
  cJSON_AddStringToObject(line, "file", contract->file);
  cJSON_AddStringToObject(line, "contract", hash);
  cJSON_AddStringToObject(line, "model", t->model);
  cJSON_AddNumberToObject(line, "trajectory", t->trajectory);
  cJSON_AddNumberToObject(line, "turn", t->turn);
  add_place(line, "parent", t->parent != SIZE_MAX ? &result->turns[t->parent] : NULL);
  if (t->prompt)
    add_message(line, "prompt", "user", t->prompt);
  else
    cJSON_AddNullToObject(line, "prompt");
  add_message(line, "completion", "assistant", t->reply ? t->reply : "");
  cJSON_AddBoolToObject(line, "truncated", t->truncated);
  cJSON_AddStringToObject(line, "stage", kr_stage_name(v->stage));
  cJSON_AddStringToObject(line, "status", kr_status_name(v->status));
  cJSON_AddStringToObject(line, "told", t->told);
  add_place(line, "same_as", t->same_as != SIZE_MAX ? &result->turns[t->same_as] : NULL);
  cJSON_AddBoolToObject(line, "correct", v->status == KR_STATUS_OK);
  if (v->speedup > 0)
    cJSON_AddNumberToObject(line, "speedup", v->speedup);
  else
    cJSON_AddNullToObject(line, "speedup");
  cJSON_AddBoolToObject(line, "modelled", v->modelled);
  cJSON_AddNumberToObject(line, "score", w->score);
  cJSON_AddNumberToObject(line, "return", w->ret);
  cJSON_AddNumberToObject(line, "gamma", REWARD_GAMMA);
  add_place(line, "group", &result->turns[w->group]);
  cJSON_AddNumberToObject(line, "group_size", (double)w->group_size);
  if (w->has_advantage)
    cJSON_AddNumberToObject(line, "advantage", w->advantage);
  else
    cJSON_AddNullToObject(line, "advantage");
  cJSON_AddNumberToObject(line, "tokens_in", (double)t->tokens_in);
  cJSON_AddNumberToObject(line, "tokens_out", (double)t->tokens_out);
  return line;
}

void reward_export(const struct refine_result *result, const struct kr_contract *contract,
                   struct kr_bytes *out)
{
  struct reward *rewards = kr_xcalloc(result->n + 1, sizeof *rewards);
  reward_compute(result, REWARD_GAMMA, rewards);
  for (size_t i = 0; i < result->n; i++) {
    cJSON *line = reward_line(result, i, &rewards[i], contract);
    char *text = cJSON_PrintUnformatted(line);
    if (text) {
      kr_bytes_adds(out, text);
      kr_bytes_addc(out, '\n');
    }
    cJSON_free(text);
    cJSON_Delete(line);
  }
  free(rewards);
}
