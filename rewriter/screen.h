#ifndef KR_REWRITER_SCREEN_H
#define KR_REWRITER_SCREEN_H

#include "decl.h"
#include "rewriter.h"

// What the two screens share: sets of words, the tables of what is forbidden,
// and the texts they compare with.

struct words {
  char **items; // sorted once words_seal() was called; owned
  size_t n, cap;
};

void words_add(struct words *w, const char *s, size_t len);
// Every identifier of a text, comments and strings aside.
void words_of_text(struct words *w, const char *text, size_t len);
void words_seal(struct words *w);
bool words_have(const struct words *w, const char *s);
void words_release(struct words *w);

// What a name is forbidden for, unless the original uses it.
struct forbidden {
  const char *word; // a trailing `*` stands for anything
  const char *rule;
  const char *why; // goes into "`%s` %s"
  bool always;     // even if the original uses it
};

// NULL when the word is free.
const struct forbidden *screen_forbidden(const char *word);
// Words with two underscores in front that CUDA C++ gives its code.
bool screen_is_intrinsic(const char *word);
bool screen_is_fast_math(const char *word);
// Macros in capitals that everyone's headers have and that tell nothing about the compiler.
bool screen_is_common_macro(const char *word);
// What a PTX text may not hold: NULL, or the entry.
const struct forbidden *screen_forbidden_ptx(const char *text, size_t *entry);
bool screen_elides(const char *comment);
bool screen_talks(const char *comment);

__attribute__((format(printf, 4, 5))) void screen_refuse(struct kr_screen *s, const char *rule,
                                                         unsigned line, const char *fmt, ...);

// The original: its text, its name, and every word that it uses itself or
// through the declarations and macros of its slice.
struct original {
  const char *code;
  size_t len;
  char *name; // unqualified; owned
  struct words own;     // identifiers of its definition
  struct words closure; // and of what it uses
  struct words taken;   // every identifier of its file and slice
  struct words file_macros;  // `#define`d in the file
  struct words slice_macros; // `#define`d in the slice
  // Names of the slice with the words that their declarations bring.
  struct slice_name {
    char *name;
    struct words brings;
    bool is_macro;
    bool pastes; // a macro with # or ## in it
  } *names;
  size_t n_names, cap_names;
};

void original_init(struct original *o, const struct kr_screen_input *in);
void original_release(struct original *o);
const struct slice_name *original_slice_name(const struct original *o, const char *name);

// May parameter `i` (pointer) be declared __restrict__ although it is not now?
// False with the reason.
bool screen_restrict_ok(const struct kr_screen_input *in, size_t i, char why[256]);

// True when `name` begins with the kernel's name and an underscore.
bool screen_has_prefix(const struct original *o, const char *name);

#endif
