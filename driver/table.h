#ifndef KR_DRIVER_TABLE_H
#define KR_DRIVER_TABLE_H

#include "refine.h"

// The table of what was tried, a row a turn, for people: turn, outcome with its
// ratio, what bounds it where that is known, and what the variant's author said of
// it. Rows are at most `columns` wide; why a variant was turned away stands below
// its row and is not cut. Foreign text is escaped.

void table_head(size_t columns, struct kr_bytes *out);
// The row of turns[i]; the winner's has a star.
void table_row(const struct refine_turn *turns, size_t i, bool taken, size_t columns,
               struct kr_bytes *out);

// A verdict's ratio: "1.83x [1.79, 1.87]".
void table_ratio(const struct kr_verdict *v, struct kr_bytes *out);

#endif
