#include "results.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "talk.h"
#include "../evaluator/base/utf8.h"

static void results_text(struct results *j, const char *s)
{
  size_t len = strlen(s);
  kr_bytes_addc(&j->out, '"');
  for (size_t i = 0; i < len;) {
    unsigned char c = (unsigned char)s[i];
    size_t n = kr_utf8_length(s + i, len - i);
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

static void results_key(struct results *j, const char *key)
{
  if (j->comma)
    kr_bytes_addc(&j->out, ',');
  if (key) {
    results_text(j, key);
    kr_bytes_addc(&j->out, ':');
  }
  j->comma = true;
}

void results_start(struct results *j, const char *mode)
{
  kr_bytes_init(&j->out, KR_BYTES_DEFAULT_MAX);
  j->comma = false;
  kr_bytes_addc(&j->out, '{');
  results_integer(j, "schema", 1);
  results_string(j, "tool", "kevin-rewrite " KR_VERSION);
  results_string(j, "mode", mode);
}

void results_end(struct results *j)
{
  kr_bytes_adds(&j->out, "}\n");
  talk_out(j->out.data, j->out.len);
  kr_bytes_release(&j->out);
}

void results_open(struct results *j, const char *key, char bracket)
{
  results_key(j, key);
  kr_bytes_addc(&j->out, bracket);
  j->comma = false;
}

void results_close(struct results *j, char bracket)
{
  kr_bytes_addc(&j->out, bracket);
  j->comma = true;
}

void results_string(struct results *j, const char *key, const char *s)
{
  results_key(j, key);
  if (s)
    results_text(j, s);
  else
    kr_bytes_adds(&j->out, "null");
}

void results_number(struct results *j, const char *key, double v)
{
  results_key(j, key);
  if (isfinite(v))
    kr_bytes_addf(&j->out, "%.9g", v);
  else
    kr_bytes_adds(&j->out, "null");
}

void results_integer(struct results *j, const char *key, int64_t v)
{
  results_key(j, key);
  kr_bytes_addf(&j->out, "%" PRId64, v);
}

void results_bool(struct results *j, const char *key, bool v)
{
  results_key(j, key);
  kr_bytes_adds(&j->out, v ? "true" : "false");
}

void results_raw(struct results *j, const char *key, const char *text)
{
  results_key(j, key);
  kr_bytes_adds(&j->out, text);
}
