#include "wire.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"

// Waits for `events`. Returns 1 when there, 0 when time ran out.
static int wait_for(int fd, short events, double end)
{
  for (;;) {
    double left = end - kr_now_ms();
    if (left <= 0)
      return 0;
    struct pollfd p = {fd, events, 0};
    int n = poll(&p, 1, left > 1e6 ? 1000000 : (int)left + 1);
    if (n > 0)
      return 1;
    if (n < 0 && errno != EINTR)
      return 1; // the call that follows says what is wrong
  }
}

static int send_all(int fd, const char *data, size_t len, double end, struct kr_err *err)
{
  while (len) {
    ssize_t n = send(fd, data, len, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n > 0) {
      data += n;
      len -= (size_t)n;
    } else if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      if (!wait_for(fd, POLLOUT, end))
        return kr_err_set(err, "the other end takes nothing");
    } else if (n < 0 && errno != EINTR) {
      return kr_err_errno(err, "send");
    }
  }
  return 0;
}

int wire_send(int fd, const char *text, size_t len, int timeout_ms, struct kr_err *err)
{
  if (len > WIRE_MAX)
    return kr_err_set(err, "a message of %zu bytes is more than the %d that are taken", len,
                      WIRE_MAX);
  double end = timeout_ms < 0 ? INFINITY : kr_now_ms() + timeout_ms;
  char head[4] = {(char)(len >> 24), (char)(len >> 16), (char)(len >> 8), (char)len};
  if (send_all(fd, head, sizeof head, end, err))
    return -1;
  return send_all(fd, text, len, end, err);
}

static enum wire_result receive_all(int fd, char *data, size_t len, double end)
{
  while (len) {
    ssize_t n = recv(fd, data, len, MSG_DONTWAIT);
    if (n > 0) {
      data += n;
      len -= (size_t)n;
    } else if (n == 0) {
      return WIRE_GONE;
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      if (!wait_for(fd, POLLIN, end))
        return WIRE_LATE;
    } else if (errno != EINTR) {
      return WIRE_GONE;
    }
  }
  return WIRE_OK;
}

enum wire_result wire_receive(int fd, struct kr_bytes *out, int timeout_ms)
{
  double end = timeout_ms < 0 ? INFINITY : kr_now_ms() + timeout_ms;
  unsigned char head[4];
  kr_bytes_reset(out);
  enum wire_result r = receive_all(fd, (char *)head, sizeof head, end);
  if (r != WIRE_OK)
    return r;
  size_t len = (size_t)head[0] << 24 | (size_t)head[1] << 16 | (size_t)head[2] << 8 | head[3];
  if (len > WIRE_MAX)
    return WIRE_GARBAGE;
  // Bit by bit, so that a length alone reserves no memory.
  char part[1 << 14];
  while (len) {
    size_t n = len < sizeof part ? len : sizeof part;
    r = receive_all(fd, part, n, end);
    if (r != WIRE_OK)
      return r;
    if (kr_bytes_add(out, part, n))
      return WIRE_GARBAGE;
    len -= n;
  }
  return WIRE_OK;
}

// --- parts of messages ---

void candidate_put(struct json_writer *w, const struct kr_candidate *cand)
{
  json_open(w, '{');
  json_string(w, "code", cand->code);
  if (cand->has_geometry) {
    json_key(w, "geometry");
    json_put_geometry(w, &cand->geometry);
  }
  json_close(w, '}');
}

void candidate_read(struct json_reader *r, const cJSON *obj, struct kr_candidate *cand)
{
  memset(cand, 0, sizeof *cand);
  json_expect_keys(r, obj, "the candidate", "code geometry");
  cand->code = json_get_string(r, obj, "code", false);
  const cJSON *g = r->failed ? NULL : cJSON_GetObjectItemCaseSensitive(obj, "geometry");
  if (!g || cJSON_IsNull(g))
    return;
  cand->has_geometry = true;
  json_get_geometry(r, g, &cand->geometry);
}

static const char *const until_names[] = {"check", "time", NULL};

void judge_options_put(struct json_writer *w, const struct kr_judge_options *o)
{
  json_open(w, '{');
  json_string(w, "until", o->until >= KR_STAGE_TIME ? "time" : "check");
  json_uint64(w, "seed", o->seed);
  json_number(w, "check_budget_ms", o->check_budget_ms);
  json_number(w, "time_budget_ms", o->time_budget_ms);
  json_bool(w, "thorough", o->thorough);
  json_close(w, '}');
}

void judge_options_read(struct json_reader *r, const cJSON *obj, struct kr_judge_options *o)
{
  memset(o, 0, sizeof *o);
  json_expect_keys(r, obj, "the options", "until seed check_budget_ms time_budget_ms thorough");
  o->until = json_get_name(r, obj, "until", until_names, 1) ? KR_STAGE_TIME : KR_STAGE_CHECK;
  o->seed = json_get_uint64(r, obj, "seed", 0);
  o->check_budget_ms = (unsigned)json_get_size(r, obj, "check_budget_ms", 0, 1u << 30);
  o->time_budget_ms = (unsigned)json_get_size(r, obj, "time_budget_ms", 0, 1u << 30);
  o->thorough = json_get_bool(r, obj, "thorough", false);
}

void backend_options_put(struct json_writer *w, const struct kr_backend_options *o)
{
  json_open(w, '{');
  json_number(w, "device", o->device);
  json_string(w, "cuda_path", o->cuda_path);
  json_number(w, "timeout_ms", o->timeout_ms);
  json_string(w, "gpu", o->gpu);
  json_close(w, '}');
}

static const char *borrow_string(struct json_reader *r, const cJSON *obj, const char *key)
{
  const cJSON *item = r->failed ? NULL : cJSON_GetObjectItemCaseSensitive(obj, key);
  if (!item || cJSON_IsNull(item))
    return NULL;
  if (!cJSON_IsString(item))
    json_fail(r, "\"%s\" is not a string", key);
  return cJSON_IsString(item) ? item->valuestring : NULL;
}

void backend_options_read(struct json_reader *r, const cJSON *obj, struct kr_backend_options *o)
{
  memset(o, 0, sizeof *o);
  json_expect_keys(r, obj, "the device options", "device cuda_path timeout_ms gpu");
  o->device = (int)json_get_size(r, obj, "device", 0, 1024);
  o->cuda_path = borrow_string(r, obj, "cuda_path");
  o->timeout_ms = (unsigned)json_get_size(r, obj, "timeout_ms", 0, 1u << 30);
  o->gpu = borrow_string(r, obj, "gpu");
}

static void put_numbers(struct json_writer *w, const char *key, const double *x, size_t n)
{
  json_key(w, key);
  json_open(w, '[');
  for (size_t i = 0; i < n; i++)
    json_put_number(w, x[i]);
  json_close(w, ']');
}

void share_put(struct json_writer *w, const struct kr_confirm_share *s)
{
  json_open(w, '{');
  json_key(w, "verdict");
  kr_verdict_to_json(&s->verdict, w->out);
  w->comma = true;
  put_numbers(w, "log_ratio", s->log_ratio, s->n_cases);
  put_numbers(w, "base_us", s->base_us, s->n_cases);
  put_numbers(w, "cand_us", s->cand_us, s->n_cases);
  json_close(w, '}');
}

void share_read(struct json_reader *r, const cJSON *obj, struct kr_confirm_share *s)
{
  memset(s, 0, sizeof *s);
  kr_verdict_init(&s->verdict);
  json_expect_keys(r, obj, "the share", "verdict log_ratio base_us cand_us");
  if (r->failed)
    return;
  verdict_read(r, cJSON_GetObjectItemCaseSensitive(obj, "verdict"), &s->verdict);
  size_t n_base, n_cand;
  s->log_ratio = json_get_numbers(r, obj, "log_ratio", KR_MAX_CASES, &s->n_cases);
  s->base_us = json_get_numbers(r, obj, "base_us", KR_MAX_CASES, &n_base);
  s->cand_us = json_get_numbers(r, obj, "cand_us", KR_MAX_CASES, &n_cand);
  if (n_base != s->n_cases || n_cand != s->n_cases)
    json_fail(r, "the share has figures for %zu, %zu and %zu cases", s->n_cases, n_base, n_cand);
}
