#ifndef KR_DRIVER_ASSEMBLE_H
#define KR_DRIVER_ASSEMBLE_H

#include "../evaluator/contract.h"
#include "../plugin/plugin.h"

// From a marker and the facts about its kernel to a frozen contract.
//
// The order of calls: kr_markers_scan(); kr_parser_unit() without wants;
// assemble_attach(); for each marked kernel assemble_wants(), then one more
// kr_parser_unit() with all wants; assemble_contract(). Everything that is wrong
// goes to diagnostics on the source, with carets at the marker where it is the
// marker's fault; one kernel's errors stop no other.

// Tells of markers that stand above no kernel of the unit (a warning that says
// what comes next). Returns how many.
size_t assemble_attach(const struct kr_source *src, const struct kr_markers *markers,
                       const struct kr_unit *unit, struct kr_diags *diags);

// The names that must be known as constants at the kernel: those in the
// marker's expressions and in the geometry of launch sites that are no binding,
// no scalar parameter and nothing the language knows; sizeof(...) too. The
// caller releases `out`. May come out empty.
void assemble_wants(const struct kr_marker *marker, const struct kr_pkernel *kernel,
                    struct kr_parse_wants *out);
void assemble_wants_release(struct kr_parse_wants *wants);

struct assemble_request {
  const struct kr_source *src;
  const struct kr_marker *marker; // verb OPTIMIZE
  const struct kr_unit *unit;     // parsed with this kernel's wants
  const struct kr_pkernel *kernel;
  const char *file;         // for the contract: relative to the project
  const char *const *flags; // for the device compiler, vetted
  size_t n_flags;
  const char *const *archs; // "sm_90"; may be empty
  size_t n_archs;
};

// Returns 0 with the contract, which the caller releases, or -1 with at least
// one error in `diags` and `out` empty. Every case is evaluated once: what
// overflows, divides by zero or has a negative length is told here, with the
// values in force. Warnings and notes come with success as well.
int assemble_contract(const struct assemble_request *r, struct kr_contract *out,
                      struct kr_diags *diags);

#endif
