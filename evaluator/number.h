#ifndef KR_NUMBER_H
#define KR_NUMBER_H

#include "contract.h"

// Scalars of a kernel's memory, by kind, whatever the host has for them: half
// and bfloat16 are converted here, by hand, rounding to nearest even. Pointers
// to scalars need no alignment. Inside evaluator/ only.

uint16_t number_to_half(double d);
uint16_t number_to_bfloat(double d);
double number_from_half(uint16_t h);
double number_from_bfloat(uint16_t h);

// A floating kind's value; exact, as double holds them all.
double number_get_real(enum kr_kind kind, const void *at);
void number_put_real(enum kr_kind kind, void *at, double d);
// The nearest value of the kind, as it would come back from memory.
double number_round(enum kr_kind kind, double d);
// An integer kind's value (U64 above 2^63 - 1 wraps).
int64_t number_get_int(enum kr_kind kind, const void *at);
void number_put_int(enum kr_kind kind, void *at, int64_t i);
// Either, as double, for messages.
double number_get(enum kr_kind kind, const void *at);
// Writes a value if the kind holds it: integers in range (a real only when it is
// whole), floating kinds finite unless the value itself is not. Returns 0 or -1.
int number_put_value(enum kr_kind kind, void *at, struct kr_value v);
// "unsigned char": how C spells the kind, for messages.
const char *number_c_name(enum kr_kind kind);

#endif
