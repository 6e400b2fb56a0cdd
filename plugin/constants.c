#include "unit.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../evaluator/base/lex.h"
#include "../evaluator/base/mem.h"

// Constants of the program, evaluated by clang where the kernel stands: macros,
// constexpr variables, enumerators, members of traits, sizeof. A probe
// `constexpr auto kr_probe_7 = (NAME);` goes before each kernel and the text is
// parsed once more; headers come from the preamble.

static const char constants_probe[] = "kr_probe_";

// A name of a marker is someone else's text: only what a path or sizeof(type) is
// made of goes into the probe.
static bool constants_is_name(const char *name)
{
  size_t len = strlen(name), depth = 0;
  struct kr_lexer lx;
  kr_lexer_init(&lx, name, len);
  for (struct kr_token tok; (tok = kr_lexer_next(&lx)).kind != KR_TOK_END;) {
    static const char *const allowed[] = {"::", "(", ")", "<", ">", ",", "*", "&", ".", "[", "]"};
    bool ok = tok.kind == KR_TOK_IDENTIFIER || tok.kind == KR_TOK_NUMBER;
    for (size_t i = 0; !ok && i < sizeof allowed / sizeof *allowed; i++)
      ok = kr_token_is(name, tok, allowed[i]);
    if (!ok || tok.flags & (KR_TOK_DIRECTIVE | KR_TOK_SPLICED))
      return false;
    depth += kr_token_is(name, tok, "(");
    if (kr_token_is(name, tok, ")") && depth-- == 0)
      return false;
  }
  return len && !depth && !memchr(name, '\n', len) && !memchr(name, '\r', len);
}

struct constants_insert {
  size_t offset; // in the user's text
  size_t want, first;
};

static int constants_by_offset(const void *a, const void *b)
{
  const struct constants_insert *x = a, *y = b;
  return x->offset < y->offset ? -1 : x->offset > y->offset;
}

// Where each probe stands in the text that was parsed.
struct constants_at {
  size_t begin, end;
};

static void constants_unknown(struct kr_pconstant *c, const char *why)
{
  if (!c->known && !c->why)
    c->why = kr_xstrdup(why);
}

static void constants_value(struct kr_pconstant *c, CXCursor var)
{
  CXEvalResult e = clang_Cursor_Evaluate(var);
  if (!e) {
    constants_unknown(c, "it is no constant number");
    return;
  }
  switch (clang_EvalResult_getKind(e)) {
  case CXEval_Int:
    if (clang_EvalResult_isUnsignedInt(e) && clang_EvalResult_getAsUnsigned(e) > INT64_MAX) {
      constants_unknown(c, "it does not fit a signed 64-bit integer");
      break;
    }
    c->known = true;
    c->i = clang_EvalResult_getAsLongLong(e);
    break;
  case CXEval_Float:
    c->known = c->is_real = true;
    c->d = clang_EvalResult_getAsDouble(e);
    break;
  default:
    constants_unknown(c, "it is no number");
  }
  clang_EvalResult_dispose(e);
}

struct constants_read {
  struct kr_unit *u;
};

static int constants_visit(void *arg, CXCursor cursor, CXCursor parent)
{
  (void)parent;
  struct constants_read *r = arg;
  enum CXCursorKind kind = clang_getCursorKind(cursor);
  if (kind == CXCursor_Namespace || kind == CXCursor_LinkageSpec || kind == CXCursor_UnexposedDecl)
    return 0;
  if (kind != CXCursor_VarDecl)
    return 1;
  char *name = tu_take(clang_getCursorSpelling(cursor));
  if (!strncmp(name, constants_probe, sizeof constants_probe - 1)) {
    size_t i = strtoul(name + sizeof constants_probe - 1, NULL, 10);
    if (i < r->u->n_constants && !r->u->constants[i].why)
      constants_value(&r->u->constants[i], cursor);
  }
  free(name);
  return 1;
}

void constants_fill(struct tu *tu, const char *user, size_t user_len,
                    const struct kr_parse_wants *wants, size_t n, struct kr_unit *u)
{
  size_t total = 0;
  for (size_t i = 0; i < n; i++)
    total += wants[i].n_names;
  u->constants = kr_xcalloc(total + 1, sizeof *u->constants);
  u->n_constants = total;
  if (!total)
    return;

  struct constants_insert *inserts = kr_xcalloc(n, sizeof *inserts);
  for (size_t i = 0, k = 0; i < n; i++) {
    inserts[i] = (struct constants_insert){wants[i].kernel_offset, i, k};
    for (size_t j = 0; j < wants[i].n_names; j++, k++) {
      u->constants[k].kernel_offset = wants[i].kernel_offset;
      u->constants[k].name = kr_xstrdup(wants[i].names[j]);
    }
  }
  qsort(inserts, n, sizeof *inserts, constants_by_offset);

  struct constants_at *at = kr_xcalloc(total, sizeof *at);
  struct kr_bytes text;
  kr_bytes_init(&text, 2 * (size_t)KR_SOURCE_MAX);
  size_t from = 0;
  for (size_t i = 0; i < n; i++) {
    size_t to = inserts[i].offset < user_len ? inserts[i].offset : user_len;
    kr_bytes_add(&text, user + from, to - from);
    from = to;
    for (size_t j = 0; j < wants[inserts[i].want].n_names; j++) {
      size_t k = inserts[i].first + j;
      const char *name = u->constants[k].name;
      if (!constants_is_name(name)) {
        constants_unknown(&u->constants[k], "it is no name of a constant");
        continue;
      }
      at[k].begin = text.len;
      kr_bytes_addf(&text, "static constexpr auto %s%zu = (%s); ", constants_probe, k, name);
      at[k].end = text.len;
    }
  }
  kr_bytes_add(&text, user + from, user_len - from);

  struct kr_err err = {""};
  if (text.toobig)
    kr_err_set(&err, "the text is too long");
  if (text.toobig || tu_reparse(tu, text.data, text.len, &err)) {
    for (size_t k = 0; k < total; k++)
      constants_unknown(&u->constants[k], err.text);
  } else {
    struct kr_diags diags = {NULL, 0, 0, 0};
    tu_diags(tu, &diags);
    for (size_t i = 0; i < diags.n; i++)
      for (size_t k = 0; k < total; k++)
        if (diags.items[i].offset >= at[k].begin && diags.items[i].offset < at[k].end)
          constants_unknown(&u->constants[k], diags.items[i].text);
    kr_diags_release(&diags);
    struct constants_read r = {u};
    tu_visit(clang_getTranslationUnitCursor(tu->unit), constants_visit, &r);
    for (size_t k = 0; k < total; k++)
      constants_unknown(&u->constants[k], "clang did not get that far");
  }
  kr_bytes_release(&text);
  free(at);
  free(inserts);
}
