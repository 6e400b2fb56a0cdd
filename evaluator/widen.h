#ifndef KR_WIDEN_H
#define KR_WIDEN_H

#include "contract.h"

// Device code with float, half and bfloat16 computed in double: types, vector
// types, literals (`0.1f` keeps the value that it has as float), mathematical
// functions and intrinsics are replaced token by token.
//
// Whether the result means the same cannot be proved from tokens, so what is not
// known to be harmless is refused: bits of a float read as an integer, casts of
// pointers to other types, unions, assembly, textures, matrix fragments, headers
// and functions that neither the text nor the list in widen.c holds. What passes
// still has to compile and to agree with the original (oracle.c). Inside
// evaluator/ only.

struct widened {
  char *text; // owned
  bool casts;        // it casts pointers, all of them to floating types
};

void widened_release(struct widened *w);
// Widens a translation unit. Returns 0, or -1 with the reason: "it reads the bits of
// a floating value (`__float_as_int`)".
int widen(struct widened *out, const char *text, struct kr_err *why);
// The expression that names one of its kernels, `k<float, 3>`. NULL with the reason.
char *widen_name(const char *text, const char *name, struct kr_err *why);

#endif
