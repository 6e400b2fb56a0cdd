#include "json.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"

static void json_separate(struct json_writer *w)
{
  if (w->comma)
    kr_bytes_addc(w->out, ',');
  w->comma = true;
}

void json_open(struct json_writer *w, char bracket)
{
  json_separate(w);
  kr_bytes_addc(w->out, bracket);
  w->comma = false;
}

void json_close(struct json_writer *w, char bracket)
{
  kr_bytes_addc(w->out, bracket);
  w->comma = true;
}

static void json_quote(struct kr_bytes *out, const char *s)
{
  kr_bytes_addc(out, '"');
  for (const char *run = s;; s++) {
    unsigned char ch = (unsigned char)*s;
    if (ch >= 0x20 && ch != '"' && ch != '\\')
      continue;
    kr_bytes_add(out, run, (size_t)(s - run));
    if (!ch)
      break;
    if (ch == '"' || ch == '\\')
      kr_bytes_addf(out, "\\%c", ch);
    else if (ch == '\n')
      kr_bytes_adds(out, "\\n");
    else
      kr_bytes_addf(out, "\\u%04x", ch);
    run = s + 1;
  }
  kr_bytes_addc(out, '"');
}

void json_key(struct json_writer *w, const char *key)
{
  json_separate(w);
  json_quote(w->out, key);
  kr_bytes_addc(w->out, ':');
  w->comma = false;
}

void json_put_string(struct json_writer *w, const char *s)
{
  json_separate(w);
  if (s)
    json_quote(w->out, s);
  else
    kr_bytes_adds(w->out, "null");
}

void json_put_number(struct json_writer *w, double d)
{
  json_separate(w);
  if (isnan(d)) {
    kr_bytes_adds(w->out, "\"nan\"");
  } else if (isinf(d)) {
    kr_bytes_adds(w->out, d < 0 ? "\"-inf\"" : "\"inf\"");
  } else if (d == trunc(d) && fabs(d) < 1e15) {
    kr_bytes_addf(w->out, "%.0f", d == 0 ? 0.0 : d);
  } else {
    // The fewest digits that read back as the same double: one text for one value.
    char text[40];
    for (int digits = 1; digits <= 17; digits++) {
      snprintf(text, sizeof text, "%.*g", digits, d);
      if (strtod(text, NULL) == d)
        break;
    }
    kr_bytes_adds(w->out, text);
  }
}

void json_put_int64(struct json_writer *w, int64_t i)
{
  json_separate(w);
  kr_bytes_addf(w->out, "\"%lld\"", (long long)i);
}

void json_put_uint64(struct json_writer *w, uint64_t i)
{
  json_separate(w);
  kr_bytes_addf(w->out, "\"%llu\"", (unsigned long long)i);
}

void json_put_bool(struct json_writer *w, bool b)
{
  json_separate(w);
  kr_bytes_adds(w->out, b ? "true" : "false");
}

void json_put_hash(struct json_writer *w, struct kr_hash h)
{
  char hex[KR_HASH_HEX + 1];
  kr_hash_hex(h, hex);
  json_put_string(w, hex);
}

void json_string(struct json_writer *w, const char *key, const char *s)
{
  json_key(w, key);
  json_put_string(w, s);
}

void json_words(struct json_writer *w, const char *key, const char *s)
{
  struct kr_bytes clean;
  kr_bytes_init(&clean, KR_BYTES_DEFAULT_MAX);
  for (size_t len = s ? strlen(s) : 0, at = 0; at < len;) {
    size_t n = kr_utf8_check(s + at, len - at);
    kr_bytes_add(&clean, s + at, n);
    at += n;
    if (at < len) {
      kr_bytes_adds(&clean, "\xef\xbf\xbd");
      at++;
    }
  }
  json_string(w, key, s ? clean.data : NULL);
  kr_bytes_release(&clean);
}

void json_number(struct json_writer *w, const char *key, double d)
{
  json_key(w, key);
  json_put_number(w, d);
}

void json_int64(struct json_writer *w, const char *key, int64_t i)
{
  json_key(w, key);
  json_put_int64(w, i);
}

void json_uint64(struct json_writer *w, const char *key, uint64_t i)
{
  json_key(w, key);
  json_put_uint64(w, i);
}

void json_bool(struct json_writer *w, const char *key, bool b)
{
  json_key(w, key);
  json_put_bool(w, b);
}

void json_hash(struct json_writer *w, const char *key, struct kr_hash h)
{
  json_key(w, key);
  json_put_hash(w, h);
}

cJSON *json_parse(const char *text, size_t len, struct kr_err *err)
{
  // cJSON ends a string at \u0000 without a word; what follows would be lost.
  for (size_t i = 0; i + 1 < len; i++) {
    if (text[i] != '\\')
      continue;
    if (i + 5 < len && !memcmp(text + i, "\\u0000", 6)) {
      kr_err_set(err, "not JSON we take: \\u0000 at byte %zu", i);
      return NULL;
    }
    i++;
  }
  if (memchr(text, 0, len)) {
    kr_err_set(err, "not JSON: a NUL at byte %zu",
               (size_t)((const char *)memchr(text, 0, len) - text));
    return NULL;
  }
  const char *end = NULL;
  cJSON *root = cJSON_ParseWithLengthOpts(text, len, &end, 0);
  if (!root) {
    kr_err_set(err, "not JSON: error near byte %zu of %zu", end ? (size_t)(end - text) : 0, len);
    return NULL;
  }
  size_t at = (size_t)(end - text);
  while (at < len && strchr(" \t\r\n", text[at]))
    at++;
  if (at < len) {
    kr_err_set(err, "not JSON: something follows the document at byte %zu", at);
    cJSON_Delete(root);
    return NULL;
  }
  return root;
}

void json_fail(struct json_reader *r, const char *fmt, ...)
{
  if (r->failed)
    return;
  r->failed = true;
  char text[1024];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(text, sizeof text, fmt, ap);
  va_end(ap);
  kr_err_set(r->err, "%s", text);
}

void json_expect_keys(struct json_reader *r, const cJSON *obj, const char *what, const char *keys)
{
  if (r->failed)
    return;
  if (!cJSON_IsObject(obj)) {
    json_fail(r, "%s is not an object", what);
    return;
  }
  for (const cJSON *item = obj->child; item; item = item->next) {
    size_t n = strlen(item->string);
    bool known = false;
    for (const char *k = keys; *k && !known; k += strspn(k, " ")) {
      size_t len = strcspn(k, " ");
      known = len == n && !memcmp(k, item->string, n);
      k += len;
    }
    if (!known) {
      json_fail(r, "%s has an unknown member \"%.64s\"", what, item->string);
      return;
    }
  }
}

static const cJSON *json_item(struct json_reader *r, const cJSON *obj, const char *key)
{
  if (r->failed)
    return NULL;
  const cJSON *item = cJSON_GetObjectItemCaseSensitive(obj, key);
  return item && !cJSON_IsNull(item) ? item : NULL;
}

char *json_get_string(struct json_reader *r, const cJSON *obj, const char *key, bool optional)
{
  const cJSON *item = json_item(r, obj, key);
  if (item && cJSON_IsString(item))
    return kr_xstrdup(item->valuestring);
  if (item || !optional)
    json_fail(r, item ? "\"%s\" is not a string" : "\"%s\" is missing", key);
  return NULL;
}

static double json_plain_number(struct json_reader *r, const cJSON *item, const char *key)
{
  if (cJSON_IsNumber(item))
    return item->valuedouble;
  if (cJSON_IsString(item)) {
    if (!strcmp(item->valuestring, "nan"))
      return NAN;
    if (!strcmp(item->valuestring, "inf"))
      return INFINITY;
    if (!strcmp(item->valuestring, "-inf"))
      return -INFINITY;
  }
  json_fail(r, "\"%s\" is not a number", key);
  return 0;
}

double json_get_number(struct json_reader *r, const cJSON *obj, const char *key, double fallback)
{
  const cJSON *item = json_item(r, obj, key);
  return item ? json_plain_number(r, item, key) : fallback;
}

bool json_get_bool(struct json_reader *r, const cJSON *obj, const char *key, bool fallback)
{
  const cJSON *item = json_item(r, obj, key);
  if (!item)
    return fallback;
  if (!cJSON_IsBool(item))
    json_fail(r, "\"%s\" is neither true nor false", key);
  return cJSON_IsTrue(item);
}

size_t json_get_size(struct json_reader *r, const cJSON *obj, const char *key, size_t fallback,
                     size_t max)
{
  const cJSON *item = json_item(r, obj, key);
  if (!item)
    return fallback;
  double d = cJSON_IsNumber(item) ? item->valuedouble : -1;
  if (!(d >= 0 && d <= (double)max && d == floor(d))) {
    json_fail(r, "\"%s\" is not a whole number from 0 to %zu", key, max);
    return fallback;
  }
  return (size_t)d;
}

int64_t json_get_int64(struct json_reader *r, const cJSON *obj, const char *key, int64_t fallback)
{
  const cJSON *item = json_item(r, obj, key);
  if (!item)
    return fallback;
  const char *s = cJSON_IsString(item) ? item->valuestring : "";
  char *end;
  errno = 0;
  long long v = strtoll(s, &end, 10);
  if (!*s || strchr(" \t\n\v\f\r+", *s) || *end || errno) {
    json_fail(r, "\"%s\" is not a 64-bit integer in a string", key);
    return fallback;
  }
  return v;
}

uint64_t json_get_uint64(struct json_reader *r, const cJSON *obj, const char *key,
                         uint64_t fallback)
{
  const cJSON *item = json_item(r, obj, key);
  if (!item)
    return fallback;
  const char *s = cJSON_IsString(item) ? item->valuestring : "";
  char *end;
  errno = 0;
  unsigned long long v = strtoull(s, &end, 10);
  if (*s < '0' || *s > '9' || *end || errno) {
    json_fail(r, "\"%s\" is not an unsigned 64-bit integer in a string", key);
    return fallback;
  }
  return v;
}

struct kr_hash json_get_hash(struct json_reader *r, const cJSON *obj, const char *key)
{
  struct kr_hash h = {{0}};
  const cJSON *item = json_item(r, obj, key);
  if (item && (!cJSON_IsString(item) || kr_hash_parse(item->valuestring, &h)))
    json_fail(r, "\"%s\" is not a fingerprint of 32 hex digits", key);
  return h;
}

int json_get_name(struct json_reader *r, const cJSON *obj, const char *key,
                  const char *const *names, int fallback)
{
  const cJSON *item = json_item(r, obj, key);
  if (!item)
    return fallback;
  if (cJSON_IsString(item)) {
    for (int i = 0; names[i]; i++) {
      if (!strcmp(names[i], item->valuestring))
        return i;
    }
  }
  json_fail(r, "\"%s\" is none of the words it may be", key);
  return fallback;
}

const cJSON *json_get_array(struct json_reader *r, const cJSON *obj, const char *key, size_t max,
                            size_t *n)
{
  *n = 0;
  const cJSON *item = json_item(r, obj, key);
  if (!item)
    return NULL;
  if (!cJSON_IsArray(item)) {
    json_fail(r, "\"%s\" is not an array", key);
    return NULL;
  }
  size_t count = (size_t)cJSON_GetArraySize(item);
  if (count > max) {
    json_fail(r, "\"%s\" has %zu items, at most %zu are taken", key, count, max);
    return NULL;
  }
  *n = count;
  return item->child;
}

char **json_get_strings(struct json_reader *r, const cJSON *obj, const char *key, size_t max,
                        size_t *n)
{
  size_t count, i = 0;
  const cJSON *item = json_get_array(r, obj, key, max, &count);
  char **out = count ? kr_xcalloc(count, sizeof *out) : NULL;
  for (; item; item = item->next) {
    if (!cJSON_IsString(item))
      json_fail(r, "\"%s\" holds something that is not a string", key);
    out[i++] = kr_xstrdup(cJSON_IsString(item) ? item->valuestring : "");
  }
  *n = count;
  return out;
}

double *json_get_numbers(struct json_reader *r, const cJSON *obj, const char *key, size_t max,
                         size_t *n)
{
  size_t count, i = 0;
  const cJSON *item = json_get_array(r, obj, key, max, &count);
  double *out = count ? kr_xcalloc(count, sizeof *out) : NULL;
  for (; item; item = item->next)
    out[i++] = json_plain_number(r, item, key);
  *n = count;
  return out;
}
