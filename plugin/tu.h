#ifndef KR_TU_H
#define KR_TU_H

// One parsed translation unit: inside kevin-parse only, the one place (with
// what builds on it) that knows libclang. Other directories use plugin.h.
//
// Nothing here reads the user's file from disk: the text is given, and clang
// sees it as an unsaved buffer under the file's name. The buffer differs from
// the text in single bytes only, never in length, so that every offset clang
// tells is an offset of the text: `<< <` and `>> >` of a launch lose their
// blanks (nvcc accepts them, clang does not).

#include <clang-c/Index.h>

#include <stdbool.h>
#include <stddef.h>

#include "plugin.h"

// How to parse; the same for a slice and for the file it comes from.
struct tu_setup {
  const char *cuda_path;    // NULL: our own minimal headers
  const char *resource_dir; // NULL: the build's
  const char *headers_dir;  // NULL: those installed with this program
  const char *project_dir;  // NULL: the current folder
  const char *arch;         // "sm_90"; NULL: that
  const char *const *flags; // vetted
  size_t n_flags;
  // The text is a slice, which will be parsed again: what leads it is precompiled at
  // once, and files of -include are left out, since a slice needs none.
  bool slice;
};

struct tu {
  CXIndex index;
  CXTranslationUnit unit;
  CXFile file; // the main file
  char *given; // its name as the user spelt it
  char *path;  // and as clang knows it, absolute
  struct kr_source src; // the text as the user has it
  char *project_dir;    // absolute, without a `/` at its end
  char *cuda_include;   // toolkit's header folder as clang spells it, NULL without one
  char *cuda_real;      // the same with links resolved
  char *headers_dir;    // ours
  char *resource_dir;   // clang's
  // The command line, for messages and for other compilers.
  char **args;
  size_t n_args;
  // The slice that was parsed last, with the same flags and name; slice.c opens it.
  struct tu *slice;
  struct map *map; // slice_map.c's, of parse number `map_parse`
  unsigned map_parse;
  struct facts_known *known; // what facts.c remembers of the slice in this unit
  struct macros *macros; // private to macros.c; void after the next parse
  // What tu_is_users() said last: declarations and macros come file by file.
  CXFile asked;
  bool asked_is_users;
  char *first, *first_path, *extras; // headers that put the command line's macros aside; or NULL
  char *buffer; // what clang was given, as long as src.data
  unsigned parses;
  // Names of types that are put into templates; slices of these hold them. Borrowed.
  const char *const *words;
  size_t n_words;
};

// Parses `text` under the name `path`. Errors in the text are no failure: look
// at tu_diags(). Returns NULL with `err` when libclang gave nothing at all.
struct tu *tu_open(const struct tu_setup *setup, const char *path, const char *text, size_t len,
                   struct kr_err *err);
// The same command line and name for a slice of it, as with tu_setup.slice.
struct tu *tu_open_like(const struct tu *like, const char *text, size_t len, struct kr_err *err);
// Parses another text under the same name and flags; headers that lead the text
// come from the precompiled preamble. Every cursor and location of before is
// void after. Returns 0, or -1: the unit is then unusable and can only be closed.
int tu_reparse(struct tu *tu, const char *text, size_t len, struct kr_err *err);
void tu_close(struct tu *tu);

// --- places ---

// Where text is really spelt (macro arguments at the call, macro bodies at the
// expansion, as clang_getFileLocation tells). `*file` is NULL for built-in text.
void tu_place(CXSourceLocation at, CXFile *file, size_t *offset);
// One file, however it is spelt.
bool tu_same_file(CXFile a, CXFile b);
bool tu_is_main(const struct tu *tu, CXFile file);
bool tu_in_main(const struct tu *tu, CXCursor cursor); // its location
// The extent of a cursor in the main file. False when it begins or ends elsewhere.
bool tu_span(const struct tu *tu, CXCursor cursor, struct kr_span *out);
// The extent in whatever one file it lies in. `*file` borrowed from libclang.
bool tu_extent(CXCursor cursor, CXFile *file, struct kr_span *out);
// Name of a file, absolute when clang knows it so; "" for NULL. The caller frees.
char *tu_file_name(CXFile file);
// The same relative to the project when it lies inside, with `/` kept. The caller frees.
char *tu_file_shown(const struct tu *tu, CXFile file);
// A file that is part of neither the toolkit, our headers, clang nor the system:
// the user's own, or the project's.
bool tu_is_users(struct tu *tu, CXFile file);
bool tu_in_users(struct tu *tu, CXCursor cursor); // its location
// The bytes of a file as clang read it; the main file's are the user's. NULL when
// there are none. Borrowed.
const char *tu_file_text(const struct tu *tu, CXFile file, size_t *len);

// --- cursors ---

// Copies and disposes. Never NULL. The caller frees.
char *tu_take(CXString s);
// "nn::kernels::layer_norm"; anonymous namespaces are left out. The caller frees.
char *tu_qualified(CXCursor c);
// clang_visitChildren with a plain function: return 0 to go into the children,
// 1 to go on without them, 2 to stop.
typedef int tu_visitor(void *arg, CXCursor cursor, CXCursor parent);
bool tu_visit(CXCursor root, tu_visitor *visit, void *arg); // true when stopped
// Children of one cursor in order. The caller frees.
CXCursor *tu_children(CXCursor cursor, size_t *n);
// The parameters of a function, also of a template, in order. The caller frees.
CXCursor *tu_params(CXCursor function, size_t *n);
bool tu_has_child(CXCursor cursor, enum CXCursorKind kind);
bool tu_is_kernel(CXCursor function);      // __global__, templates too
bool tu_is_device(CXCursor function);      // __device__ written on it
bool tu_is_host(CXCursor function);        // __host__ written on it

// --- diagnostics ---

// All errors (not warnings): of the main file as offsets in it; those of headers
// are about the file as a whole, with the header's place in their text.
void tu_diags(const struct tu *tu, struct kr_diags *out);

// --- built on this in other files ---

// slice.c: fills slice_before, slice_after and deps of `k`, whose other fields
// are filled already. -1 with a sentence when the kernel has no slice.
int slice_make(struct tu *tu, CXCursor kernel, struct kr_pkernel *k, struct kr_err *err);

// facts.c: what `code` brings between `before` and `after`. `original` is the
// kernel's own text, for what the suffix parsed to before. Parses with
// `tu`, which was opened for this slice before and keeps its headers in the preamble.
struct facts_ask {
  const char *before, *original, *code, *after;
  const char *kernel_name, *kernel_usr;
};
int facts_make(struct tu *tu, const struct facts_ask *ask, struct kr_facts *out,
               struct kr_err *err);

void map_forget(struct map *m);                // NULL is fine
void facts_forget(struct facts_known *known); // NULL is fine

#endif
