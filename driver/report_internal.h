#ifndef KR_DRIVER_REPORT_INTERNAL_H
#define KR_DRIVER_REPORT_INTERNAL_H

#include "outcome.h"

// What the files of the report share; inside driver/report*.c only.

// Foreign text as text or as the value of an attribute: controls and what turns the
// direction of reading as \xNN, then & < > " ' as entities. With `lines` newlines
// and tabs pass.
void html_text(struct kr_bytes *out, const char *text, size_t len, bool lines);
void html_string(struct kr_bytes *out, const char *text);

// The turn whose figures stand beside the original's: the winner, else the fastest
// right one; SIZE_MAX: there is none.
size_t report_shown(const struct outcome *out);
// Its verdict: of the winner the one that decided, where it has times.
const struct kr_verdict *report_verdict(const struct outcome *out, size_t shown);

// Best speed-up over turns and trajectories; nothing where no variant has a time.
void report_chart(const struct outcome *out, struct kr_bytes *b);
// Times, resources and what bounds them, original and variant side by side.
void report_figures(const struct outcome *out, struct kr_bytes *b);

#endif
