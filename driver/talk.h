#ifndef KR_DRIVER_TALK_H
#define KR_DRIVER_TALK_H

#include <stdbool.h>

#include "../evaluator/base/source.h"
#include "options.h"

// What a person is told, on stderr, and how: colour where it is wanted, a live
// line only on a terminal, everything foreign escaped. Results go to stdout
// through talk_out(). Used by main()s; libraries go through base/log.h.

// Installs the log sink. `o` is borrowed for the life of the process.
// To be called first of all: makes sure that 0, 1 and 2 are no file of ours.
void talk_guard(void);
void talk_start(const struct options *o);

// Appends `len` bytes of foreign text (a model's, a compiler's, a file name)
// with control bytes and broken UTF-8 as \xNN; newline and tab pass when
// `lines` is set.
void talk_escape(struct kr_bytes *out, const char *text, size_t len, bool lines);

// All diagnostics of a source, in the order of the text.
void talk_diags(const struct kr_diags *diags, const struct kr_source *src);

// The live line; nothing unless progress is on. At most ten updates a second, but a
// few at once, so that the last of them is what is shown.
void talk_progress(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void talk_progress_end(void);
bool talk_is_live(void);
// Columns there are: COLUMNS, the terminal's, else 79.
size_t talk_columns(void);

// One line to stderr unless -q: what is done, as it gets done.
void talk_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
// The same for a text of any length that ends its lines itself.
void talk_text(const char *text, size_t len);

// Writes to stdout; a failed write (a full disk, a closed pipe) ends the
// program with EXIT_PARTIAL after saying so.
void talk_out(const char *data, size_t len);
// A diff, coloured where colours are on.
void talk_out_diff(const char *data, size_t len);

#endif
