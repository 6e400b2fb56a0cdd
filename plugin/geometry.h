#ifndef KR_PLUGIN_GEOMETRY_H
#define KR_PLUGIN_GEOMETRY_H

// Between the parts of geometry reading (geometry.c has the idea): shapes of the
// AST and what changes a variable in geometry_ast.c, constants by name in
// geometry_names.c.

#include <stdint.h>

#include "unit.h"

enum { GEOMETRY_MAX_DEPTH = 24, GEOMETRY_MAX_PARAMS = 64 };

struct geometry_frame {
  CXCursor params[GEOMETRY_MAX_PARAMS];
  char *texts[GEOMETRY_MAX_PARAMS];
  size_t n;
};

struct geometry {
  struct tu *tu;
  CXCursor kernel, call, function;
  CXCursor ref; // names the kernel in the call; below it are a template's arguments
  const struct kr_pkernel *k;
  struct geometry_frame *frame; // of the function that is written out, or NULL
  bool followed;                // inside what a local variable was given
  bool plain;                   // macros as their values
  int depth;
  CXCursor top; // the expression to show when something is not understood
  char *why;    // owned
};

// Remembers why, if nothing did before; `fmt` has one %s. Returns -1.
int geometry_no(struct geometry *g, const char *fmt, const char *arg);

CXCursor geometry_last_child(CXCursor c); // null when there is none
bool geometry_is_int(CXType type);        // bool, character, integer or enum
// Below parentheses, implicit nodes, copies and casts from integer to integer.
CXCursor geometry_strip(CXCursor c);
bool geometry_value(CXCursor c, long long *out); // an integer constant's
// The same expression: the same operators over the same declarations.
bool geometry_same(CXCursor a, CXCursor b);
bool geometry_is_local(CXCursor var); // declared in a function

// What changes a variable in the function around the launch.
struct geometry_changes {
  CXCursor var;
  CXCursor field;    // only changes of this member count; null: of any
  size_t n;          // changes other than its declaration
  CXCursor assigned; // the right side of the last plain assignment to all of it
  bool plain;        // that one is a statement of a block around the launch, before it
  size_t n_members;
  CXCursor member[3];
  bool member_plain;
  size_t call_offset;
  CXCursor wrapped, wrapped_in; // the last node without a name that is a statement, and its block
};
// `field`: only what changes that member; null for any.
struct geometry_changes geometry_changes(struct geometry *g, CXCursor var, CXCursor field);
// No variable in it can have changed between the place it stands at and the launch.
bool geometry_steady(struct geometry *g, CXCursor c);

// The name of a constant as the kernel's scope would find it. The caller frees.
char *geometry_scoped(const struct geometry *g, CXCursor decl);
// Visible at the kernel: in another file, or before it in this one.
bool geometry_before_kernel(const struct geometry *g, CXCursor decl);
int geometry_number(long long value, struct kr_bytes *out);
// Prints a constant node that a macro of the main file gave, by the macro's name.
// 1: it is none; 0; -1 with why.
int geometry_macro(struct geometry *g, CXCursor c, struct kr_bytes *out);

#endif
