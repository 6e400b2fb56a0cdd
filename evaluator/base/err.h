#ifndef KR_BASE_ERR_H
#define KR_BASE_ERR_H

// One sentence about a failure, fit to print as it is.
//
// A function that can fail returns 0 or a negative number (or a pointer that
// may be NULL) and takes `struct kr_err *err` last. On failure `err` holds the
// sentence, with the path or kernel in it; on success it is untouched. `err`
// may be NULL when the caller does not care. Nothing is allocated: a sentence
// longer than the buffer is cut and ends in "...".

struct kr_err {
  char text[2048]; // "" as long as nothing failed
};

// Sets the sentence. Returns -1 always, so that `return kr_err_set(...)` reads well.
int kr_err_set(struct kr_err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

// As kr_err_set(), followed by ": " and the text of `errno`, which is read first.
int kr_err_errno(struct kr_err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

// Puts "prefix: " before a sentence that is already there. Returns -1.
int kr_err_prefix(struct kr_err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
