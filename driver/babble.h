#ifndef KR_DRIVER_BABBLE_H
#define KR_DRIVER_BABBLE_H

#include <stdbool.h>
#include <stddef.h>

// Models that lose themselves say the same again and again, up to whatever limit
// the server has. A text ends in that when
//   - its last 4 KiB or more are at least eight times one block, of up to 8 KiB, or
//   - a line of 24 bytes or more is there more than 50 times in its last 32 KiB,
//     which drafts of one kernel do not come near.

enum { BABBLE_WINDOW = 64 << 10 }; // no more than the last so many bytes are looked at

bool babble_at_end(const char *text, size_t len);

// For a text that grows: is it time to look (every 4 KiB)? Then `*looked` is put on.
bool babble_is_due(size_t *looked, size_t len);

#endif
