// RUN: %unit/err
// Errors are made of errors: what is formatted may be the text that is replaced.
#include "unit.h"

#include <string.h>

#include "evaluator/base/err.h"

int main(void)
{
  struct kr_err err = {""};
  CHECK(kr_err_set(&err, "%s: no such thing", "a.cu") == -1);
  CHECK(!strcmp(err.text, "a.cu: no such thing"));
  kr_err_set(&err, "%.1500s; give another", err.text);
  CHECK(!strcmp(err.text, "a.cu: no such thing; give another"));
  kr_err_prefix(&err, "kernel `%s`", "k");
  CHECK(!strcmp(err.text, "kernel `k`: a.cu: no such thing; give another"));

  // What is too long is cut, and says so.
  char big[2 * sizeof err.text];
  memset(big, 'x', sizeof big);
  big[sizeof big - 1] = '\0';
  kr_err_set(&err, "%s", big);
  CHECK(strlen(err.text) == sizeof err.text - 1);
  CHECK(!strcmp(err.text + sizeof err.text - 4, "..."));
  kr_err_set(&err, "again: %s", err.text);
  CHECK(!strncmp(err.text, "again: xxx", 10));
  CHECK(!strcmp(err.text + sizeof err.text - 4, "..."));
  return unit_end();
}
