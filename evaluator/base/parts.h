#ifndef KR_BASE_PARTS_H
#define KR_BASE_PARTS_H

#include <stdbool.h>

// Where the parts of an installation are. Everything is found from the folder of
// the program that runs, never through PATH or the current folder: what judges
// model code must be what was built with the asker.
//
//   installed: PREFIX/bin, PREFIX/libexec/kevin-rewrite, PREFIX/share/kevin-rewrite
//   built:     BUILD/bin, with the headers in the source tree

// Whether `path` is a file that may be run.
bool kr_is_program(const char *path);

// A program of ours, such as "kevin-worker". Never NULL: where it is nowhere, its
// place beside the running program, for the message of whoever starts it. The
// caller frees.
char *kr_part_program(const char *name);

// The folder with the device headers that stand in for CUDA's. Without links, as
// compilers give the names of what they find there. NULL when there is none. The
// caller frees.
char *kr_part_headers(void);

#endif
