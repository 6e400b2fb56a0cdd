#include "utf8.h"

#include <string.h>

static bool utf8_is_tail(char c)
{
  return ((unsigned char)c & 0xc0) == 0x80;
}

// How many bytes the lead byte announces, and the bounds of the second byte
// (which shut out overlong forms, surrogates and what lies past U+10FFFF).
static size_t utf8_announced(unsigned char lead, unsigned char *lo, unsigned char *hi)
{
  *lo = 0x80;
  *hi = 0xbf;
  if (lead < 0x80)
    return 1;
  if (lead >= 0xc2 && lead <= 0xdf)
    return 2;
  if (lead >= 0xe0 && lead <= 0xef) {
    if (lead == 0xe0)
      *lo = 0xa0;
    if (lead == 0xed)
      *hi = 0x9f;
    return 3;
  }
  if (lead >= 0xf0 && lead <= 0xf4) {
    if (lead == 0xf0)
      *lo = 0x90;
    if (lead == 0xf4)
      *hi = 0x8f;
    return 4;
  }
  return 0;
}

size_t kr_utf8_length(const char *p, size_t left)
{
  if (!left)
    return 0;
  unsigned char lo, hi;
  size_t n = utf8_announced((unsigned char)p[0], &lo, &hi);
  if (n == 0 || n > left)
    return 0;
  if (n > 1 && ((unsigned char)p[1] < lo || (unsigned char)p[1] > hi))
    return 0;
  for (size_t i = 2; i < n; i++) {
    if (!utf8_is_tail(p[i]))
      return 0;
  }
  return n;
}

size_t kr_utf8_check(const char *text, size_t len)
{
  size_t i = 0;
  while (i < len) {
    size_t n = kr_utf8_length(text + i, len - i);
    if (!n)
      return i;
    i += n;
  }
  return len;
}

bool kr_utf8_is_cut(const char *text, size_t len)
{
  size_t at = kr_utf8_check(text, len);
  if (at == len)
    return false;
  unsigned char lo, hi;
  size_t n = utf8_announced((unsigned char)text[at], &lo, &hi);
  if (n < 2 || len - at >= n)
    return false;
  if (len - at > 1 && ((unsigned char)text[at + 1] < lo || (unsigned char)text[at + 1] > hi))
    return false;
  for (size_t i = at + 2; i < len; i++) {
    if (!utf8_is_tail(text[i]))
      return false;
  }
  return true;
}

bool kr_utf8_is_control(const char *p, size_t n)
{
  unsigned long u = (unsigned char)p[0];
  if (n == 2)
    u = (u & 0x1f) << 6 | ((unsigned char)p[1] & 0x3f);
  else if (n == 3)
    u = (u & 0x0f) << 12 | ((unsigned long)((unsigned char)p[1] & 0x3f)) << 6 |
        ((unsigned char)p[2] & 0x3f);
  else if (n == 4)
    u = (u & 0x07) << 18 | ((unsigned long)((unsigned char)p[1] & 0x3f)) << 12 |
        ((unsigned long)((unsigned char)p[2] & 0x3f)) << 6 | ((unsigned char)p[3] & 0x3f);
  return u < 0x20 || (u >= 0x7f && u <= 0x9f) || u == 0xad || u == 0x61c ||
         (u >= 0x200b && u <= 0x200f) || (u >= 0x2028 && u <= 0x202e) ||
         (u >= 0x2060 && u <= 0x206f) || u == 0xfeff || (u >= 0xfff9 && u <= 0xfffb) ||
         (u >= 0xe0000 && u <= 0xe007f);
}

bool kr_utf8_json_has_nul(const char *json, size_t len)
{
  for (size_t i = 0; i + 1 < len; i++) {
    if (json[i] != '\\')
      continue;
    if (i + 6 <= len && !memcmp(json + i + 1, "u0000", 5))
      return true;
    i++; // an escaped backslash escapes nothing
  }
  return false;
}
