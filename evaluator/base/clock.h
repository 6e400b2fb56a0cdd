#ifndef KR_BASE_CLOCK_H
#define KR_BASE_CLOCK_H

// Milliseconds of a clock that nobody sets, from no particular beginning: for
// deadlines and for how long something took.
double kr_now_ms(void);

#endif
