#ifndef KR_DRIVER_GIT_H
#define KR_DRIVER_GIT_H

#include "../evaluator/base/err.h"

enum git_state {
  GIT_CLEAN,     // as in the index
  GIT_OUTSIDE,   // in no work tree, or git is not installed
  GIT_DIRTY,     // differs from the index
  GIT_UNTRACKED, // git could not bring it back
  GIT_UNKNOWN    // git must not be asked or did not answer; `err` says why
};

// How git sees one file. Runs `git` with fsmonitor and hooks off; a repository
// whose own configuration defines filters is not asked at all, because a filter
// is a command that git would run.
enum git_state git_file_state(const char *path, struct kr_err *err);

#endif
