#ifndef KR_DRIVER_PROJECT_H
#define KR_DRIVER_PROJECT_H

#include "../plugin/plugin.h"
#include "../rewriter/rewriter.h"
#include "options.h"

// The files of a run, read once: bytes, markers, what the parser and the ledger
// say of them. A file is taken once, however many names it was given by.

struct input {
  struct kr_source src;
  struct kr_markers markers;
  struct kr_diags diags; // of the markers; later ones are added
  size_t n_marked;       // optimize markers that stand above something
  char *root;            // of the project; owned
  char *rel;             // path relative to the root; owned
  bool told;             // diags were shown
  bool failed;           // something about this file was refused or went wrong
  // By input_parse():
  bool parsed;
  struct kr_unit unit;
  bool flagged; // the flags are there
  struct kr_flags flags;
  struct kr_bytes dropped; // flags that were not let through, one a line
  char **archs;            // "sm_90", ..., of the flags; owned
  size_t n_archs;
};

struct project {
  struct input *inputs;
  size_t n;
  size_t n_failed; // files that could not be read at all; each was told
  struct kr_parser *parser;
  struct kr_parser_options parser_options;
  char *cuda_path; // found or given; NULL: none; owned
};

// Reads all files named on the command line (and by --files). What cannot be
// read is told and counted. Returns -1 for a usage error (--files unreadable).
int project_open(struct project *p, const struct options *o, struct kr_err *err);
void project_close(struct project *p);

// Parses the file and asks for the constants that its markers need. Returns 0,
// or -1 with a sentence when the parser failed.
int input_parse(struct project *p, struct input *in, const struct options *o, struct kr_err *err);

// The kernel below a marker, or NULL.
const struct kr_pkernel *input_kernel(const struct input *in, const struct kr_marker *m);

// The number of a marker among the optimize markers of its file, and the marker of that
// number, or NULL: they come in the same order in the file once it was patched.
size_t input_number(const struct input *in, const struct kr_marker *m);
const struct kr_marker *input_numbered(const struct kr_markers *ms, size_t number);

// A second input with other bytes and all else the same, scanned; its flags are its own
// to find, or borrowed by the caller.
void input_like(const struct input *in, const struct kr_bytes *text, struct input *out);
void input_forget(struct input *in); // of input_like(); leaves the flags alone

// Where the toolkit is: --cuda-path, CUDA_PATH, CUDA_HOME, nvcc on PATH,
// /usr/local/cuda. NULL when there is none. The caller frees it.
char *find_cuda(const char *given);

#endif
