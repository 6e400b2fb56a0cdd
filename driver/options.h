#ifndef KR_DRIVER_OPTIONS_H
#define KR_DRIVER_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../evaluator/base/bytes.h"
#include "../evaluator/base/err.h"

// The command line of kevin-rewrite. One table (options.c) gives the parser,
// --help and the completion of names; a test holds the man page against it.

enum mode {
  MODE_DIFF, // no mode, or -n
  MODE_IN_PLACE,
  MODE_CHECK,
  MODE_VERIFY,
  MODE_LIST,
  MODE_SUGGEST,
  MODE_REVERT,
  MODE_SHOW_PROMPT,
  MODE_EXPLAIN,
  MODE_HELP,
  MODE_VERSION
};

enum when { WHEN_AUTO, WHEN_ALWAYS, WHEN_NEVER };
enum format { FORMAT_TEXT, FORMAT_JSON };
enum evaluator_choice { EVALUATOR_AUTO, EVALUATOR_CUDA, EVALUATOR_CPU };

struct options {
  enum mode mode;
  bool mode_given;
  // Everything below borrows from argv, but `files` and `flags` arrays are owned.
  const char **files;
  size_t n_files;
  const char **flags; // after --, and --extra-arg
  size_t n_flags;
  const char *files_from; // --files
  const char *build_dir;  // -p
  const char *cuda_path, *arch;
  const char *gpu; // whose time is modelled; NULL: not said
  enum evaluator_choice evaluator;
  int device;
  const char **models; // "builtin" when none was named; an array that is owned
  size_t n_models;
  const char *base_url, *api_key_file;
  unsigned trajectories, turns, max_calls;
  unsigned beam_keep, beam_every; // 0: no beam
  unsigned jobs;                  // questions at once; 0: not said
  const char *preset;             // NULL, or "kevin"
  const char *profile;            // of prompts: "default", "kevin"
  const char *prompts;            // --prompts: a folder, or NULL
  const char *store;              // --store; NULL: the default, for models that have one
  const char *explain;            // --explain: a glob
  const char *export_to;          // --export-trajectories
  const char *report;             // --report
  uint64_t max_tokens;
  double time_budget_ms;
  bool max_calls_given, max_tokens_given, time_budget_given, beam_given, yes;
  uint64_t seed;
  bool seed_given;
  const char *kernel; // glob
  bool again, allow_dirty, allow_network, force;
  double min_speedup; // 0: the marker's
  enum format format;
  enum when color, progress;
  int verbose; // -1 with -q
  const char *debug;
};

// Reads argv. Returns 0, or -1 with a sentence for `error: ...`; --help and
// --version win over everything else.
int options_parse(struct options *o, int argc, char **argv, struct kr_err *err);
// The GPU whose time is modelled: --gpu, else an --arch that the model knows (others are
// there to parse for), else NULL.
const char *options_modelled_gpu(const struct options *o);
void options_release(struct options *o);
void options_help(struct kr_bytes *out);

#endif
