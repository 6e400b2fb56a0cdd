#include "json.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "talk.h"
#include "utf8.h"

static void json_text(struct json *j, const char *s)
{
  size_t len = strlen(s);
  kr_bytes_addc(&j->out, '"');
  for (size_t i = 0; i < len;) {
    unsigned char c = (unsigned char)s[i];
    size_t n = utf8_length(s + i, len - i);
    if (c == '"' || c == '\\')
      kr_bytes_addf(&j->out, "\\%c", c);
    else if (c == '\n')
      kr_bytes_adds(&j->out, "\\n");
    else if (c == '\t')
      kr_bytes_adds(&j->out, "\\t");
    else if (c < 0x20)
      kr_bytes_addf(&j->out, "\\u%04x", c);
    else if (n)
      kr_bytes_add(&j->out, s + i, n);
    else
      kr_bytes_adds(&j->out, "\\ufffd");
    i += n ? n : 1;
  }
  kr_bytes_addc(&j->out, '"');
}

static void json_key(struct json *j, const char *key)
{
  if (j->comma)
    kr_bytes_addc(&j->out, ',');
  if (key) {
    json_text(j, key);
    kr_bytes_addc(&j->out, ':');
  }
  j->comma = true;
}

void json_start(struct json *j, const char *mode)
{
  kr_bytes_init(&j->out, KR_BYTES_DEFAULT_MAX);
  j->comma = false;
  kr_bytes_addc(&j->out, '{');
  json_integer(j, "schema", 1);
  json_string(j, "tool", "kevin-rewrite " KR_VERSION);
  json_string(j, "mode", mode);
}

void json_end(struct json *j)
{
  kr_bytes_adds(&j->out, "}\n");
  talk_out(j->out.data, j->out.len);
  kr_bytes_release(&j->out);
}

void json_open(struct json *j, const char *key, char bracket)
{
  json_key(j, key);
  kr_bytes_addc(&j->out, bracket);
  j->comma = false;
}

void json_close(struct json *j, char bracket)
{
  kr_bytes_addc(&j->out, bracket);
  j->comma = true;
}

void json_string(struct json *j, const char *key, const char *s)
{
  json_key(j, key);
  if (s)
    json_text(j, s);
  else
    kr_bytes_adds(&j->out, "null");
}

void json_number(struct json *j, const char *key, double v)
{
  json_key(j, key);
  if (isfinite(v))
    kr_bytes_addf(&j->out, "%.9g", v);
  else
    kr_bytes_adds(&j->out, "null");
}

void json_integer(struct json *j, const char *key, int64_t v)
{
  json_key(j, key);
  kr_bytes_addf(&j->out, "%" PRId64, v);
}

void json_bool(struct json *j, const char *key, bool v)
{
  json_key(j, key);
  kr_bytes_adds(&j->out, v ? "true" : "false");
}

void json_raw(struct json *j, const char *key, const char *text)
{
  json_key(j, key);
  kr_bytes_adds(&j->out, text);
}
