#ifndef KR_BASE_UTF8_H
#define KR_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>

// UTF-8 by RFC 3629, for texts of models, servers and compilers.

// The length of the character at `p`, or 0 when its bytes are not one: cut off,
// overlong, a surrogate, past U+10FFFF. NUL is a character of length 1.
size_t kr_utf8_length(const char *p, size_t left);
// Offset of the first byte that is not UTF-8, or `len`.
size_t kr_utf8_check(const char *text, size_t len);
// True when the text is UTF-8 but for its last character, which is cut off.
bool kr_utf8_is_cut(const char *text, size_t len);
// C1 controls, bidirectional overrides and invisible format characters: what
// can make a terminal or a reader see another text than is there.
bool kr_utf8_is_control(const char *p, size_t n);

// True when a JSON text spells a NUL (\u0000), which a C string would end at.
bool kr_utf8_json_has_nul(const char *json, size_t len);

#endif
