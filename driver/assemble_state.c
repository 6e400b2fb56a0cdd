#include "assemble_internal.h"

#include <stdlib.h>
#include <string.h>

#include "../evaluator/base/lex.h"
#include "../evaluator/base/mem.h"

// State of the device that outlives a launch: variables of the program that the
// host fills or the kernel changes. A contract has no place for it yet, and a
// kernel that hangs on it would be judged on zeros. The slice holds what the
// kernel reaches and nothing else of the user's, so its tokens show it.

enum state_scope { STATE_NAMESPACE, STATE_CLASS, STATE_FUNCTION, STATE_OTHER };

// A macro of the program that stands for one of the words looked for.
struct state_macro {
  char *name; // owned
  bool device, constant;
  bool function; // takes arguments, so that a use of it may be a whole declaration
};

struct state_walk {
  struct assembly *a;
  struct state_macro *macros;
  size_t n_macros, cap_macros;
  bool macro_used; // a function-like one opened this declaration
  const char *text;
  enum state_scope scopes[256];
  size_t depth;
  // Of the declaration being read.
  bool device, constant, is_static, is_const, shared, function, initialised, is_type, space;
  size_t round, square;
  struct kr_token last, name, macro_at;
  bool named;
  bool ok;
};

static void state_reset(struct state_walk *w)
{
  w->device = w->constant = w->is_static = w->is_const = w->shared = false;
  w->macro_used = false;
  w->function = w->initialised = w->is_type = w->space = w->named = false;
  w->round = w->square = 0;
  w->last = (struct kr_token){0};
}

static bool state_is(const struct state_walk *w, struct kr_token tok, const char *spelling)
{
  return kr_token_is(w->text, tok, spelling);
}

// At `=`, `[`, `{` or `;` the word before is the variable's name.
static void state_name(struct state_walk *w)
{
  if (!w->named && w->last.kind == KR_TOK_IDENTIFIER) {
    w->name = w->last;
    w->named = true;
  }
}

static void state_judge(struct state_walk *w)
{
  enum state_scope scope = w->depth ? w->scopes[w->depth - 1] : STATE_NAMESPACE;
  struct assembly *a = w->a;
  // `DEVICE_TABLE(taps, 9);` among declarations: what it declares stays hidden.
  if (w->macro_used && w->function && scope != STATE_FUNCTION && state_is(w, w->last, ")"))
    w->ok = asm_fail(a, a->k->name_at,
                     "a macro declares what may be a device variable (`%.*s`); such kernels are "
                     "not there yet",
                     (int)w->macro_at.length, w->text + w->macro_at.offset);
  if (w->function || !w->named || w->is_type || w->shared)
    return;
  char name[128];
  kr_token_text(w->text, w->name, name, sizeof name);
  if (scope == STATE_FUNCTION) {
    if (w->is_static && !w->is_const && !w->constant)
      w->ok = asm_fail(a, a->k->name_at,
                       "`%s` is a static variable of a device function and outlives a launch; "
                       "restoring those is not there yet",
                       name);
    return;
  }
  if (w->constant && !w->initialised)
    w->ok = asm_fail(a, a->k->name_at,
                     "`%s` (__constant__) is filled by the host; giving its contents in a marker, "
                     "in(%s[…] = …), is not there yet",
                     name, name);
  else if (w->device && !w->constant && !w->is_const)
    w->ok = asm_fail(a, a->k->name_at,
                     "`%s` is a device variable and outlives a launch; restoring and comparing "
                     "those is not there yet",
                     name);
}

static enum state_scope state_scope_of(const struct state_walk *w)
{
  enum state_scope scope = w->depth ? w->scopes[w->depth - 1] : STATE_NAMESPACE;
  if (scope == STATE_FUNCTION)
    return STATE_FUNCTION;
  if (w->space)
    return STATE_NAMESPACE;
  if (w->function)
    return STATE_FUNCTION;
  return w->is_type ? STATE_CLASS : STATE_OTHER;
}

static void state_word(struct state_walk *w, struct kr_token tok)
{
  static const char *const types[] = {"struct", "class", "union", "enum"};
  if (w->round)
    return;
  w->constant |= state_is(w, tok, "__constant__");
  w->device |= state_is(w, tok, "__device__") || state_is(w, tok, "__managed__");
  w->is_static |= state_is(w, tok, "static");
  w->is_const |= state_is(w, tok, "const") || state_is(w, tok, "constexpr");
  w->shared |= state_is(w, tok, "__shared__");
  for (size_t i = 0; i < w->n_macros; i++) {
    if (!state_is(w, tok, w->macros[i].name))
      continue;
    w->device |= w->macros[i].device && !w->macros[i].function;
    w->constant |= w->macros[i].constant && !w->macros[i].function;
    if (w->macros[i].function && !w->last.length) {
      w->macro_used = true;
      w->macro_at = tok;
    }
  }
  w->space |= state_is(w, tok, "namespace");
  w->is_type |= state_is(w, tok, "using") || state_is(w, tok, "typedef");
  for (size_t i = 0; i < sizeof types / sizeof *types; i++)
    w->is_type |= state_is(w, tok, types[i]);
}

static bool state_attribute(const struct state_walk *w)
{
  static const char *const words[] = {"alignas", "__align__", "__attribute__", "__launch_bounds__",
                                      "decltype", "__declspec__"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (state_is(w, w->last, words[i]))
      return true;
  return false;
}

static void state_step(struct state_walk *w, struct kr_token tok)
{
  if (tok.kind == KR_TOK_IDENTIFIER)
    state_word(w, tok);
  if (state_is(w, tok, "*") && !w->round && !w->square && !w->initialised)
    w->is_const = false; // a pointer to const is no constant
  if (state_is(w, tok, "(")) {
    // Direct initialisation, `int x(3)`, is taken for a function: device
    // variables are not written so, and static ones that are get a name by it.
    if (!w->round && !w->initialised && !w->square && !state_attribute(w))
      w->function = true;
    w->round++;
  } else if (state_is(w, tok, ")") && w->round) {
    w->round--;
  } else if (state_is(w, tok, "[") && !w->round) {
    state_name(w);
    w->square++;
  } else if (state_is(w, tok, "]") && w->square) {
    w->square--;
  } else if (state_is(w, tok, "=") && !w->round && !w->square) {
    state_name(w);
    w->initialised = true;
  } else if (state_is(w, tok, "extern") || tok.kind == KR_TOK_STRING) {
    if (tok.kind == KR_TOK_STRING && state_is(w, w->last, "extern"))
      w->space = true;
  } else if (state_is(w, tok, "{") && !w->round && !w->square) {
    if (w->depth == sizeof w->scopes / sizeof *w->scopes) {
      w->ok = asm_fail(w->a, w->a->k->name_at, "braces are nested too deep to look for device "
                                               "variables");
      return;
    }
    bool braces = !w->function && !w->is_type && !w->space;
    if (braces) {
      state_name(w);
      w->initialised = true;
      // The initialiser is skipped; the declaration goes on behind it.
      w->scopes[w->depth++] = STATE_OTHER;
      return;
    }
    w->scopes[w->depth] = state_scope_of(w);
    w->depth++;
    state_reset(w);
    return;
  } else if (state_is(w, tok, "}") && !w->round) {
    bool initialiser = w->depth && w->scopes[w->depth - 1] == STATE_OTHER;
    if (w->depth)
      w->depth--;
    if (!initialiser)
      state_reset(w);
    return;
  } else if (state_is(w, tok, ";") && !w->round) {
    state_name(w);
    state_judge(w);
    state_reset(w);
    return;
  } else if (state_is(w, tok, ",") && !w->round && !w->square &&
             !(w->depth && w->scopes[w->depth - 1] == STATE_OTHER)) {
    state_name(w);
    state_judge(w);
    w->named = w->initialised = false;
  }
  w->last = tok;
}

// `#define CONST_MEM __constant__` and the like. Returns the token behind the directive.
static struct kr_token state_directive(struct state_walk *w, struct kr_lexer *lx)
{
  struct kr_token word = kr_lexer_next_code(lx), name = {0}, tok = word;
  struct state_macro m = {0};
  bool define = state_is(w, word, "define");
  for (size_t i = 0; (tok.flags & KR_TOK_DIRECTIVE) && !(tok.flags & KR_TOK_DIRECTIVE_START); i++) {
    if (i == 1)
      name = tok;
    if (i == 2 && state_is(w, tok, "(") && !(tok.flags & KR_TOK_SPACE_BEFORE))
      m.function = true;
    m.device |= state_is(w, tok, "__device__") || state_is(w, tok, "__managed__");
    m.constant |= state_is(w, tok, "__constant__");
    for (size_t k = 0; i > 1 && k < w->n_macros; k++)
      if (state_is(w, tok, w->macros[k].name)) {
        m.device |= w->macros[k].device;
        m.constant |= w->macros[k].constant;
      }
    tok = kr_lexer_next_code(lx);
  }
  if (define && name.length && (m.device || m.constant)) {
    m.name = kr_xmalloc(name.length + 1);
    kr_token_text(w->text, name, m.name, name.length + 1);
    KR_GROW(w->macros, w->n_macros, w->cap_macros);
    w->macros[w->n_macros++] = m;
  }
  return tok;
}

static void state_check(struct state_walk *w, const char *text, size_t len)
{
  struct kr_lexer lx;
  w->text = text;
  w->depth = 0;
  kr_lexer_init(&lx, text, len);
  state_reset(w);
  struct kr_token tok = kr_lexer_next_code(&lx);
  while (tok.kind != KR_TOK_END && w->ok) {
    if (tok.flags & KR_TOK_DIRECTIVE_START) {
      tok = state_directive(w, &lx);
      continue;
    }
    state_step(w, tok);
    tok = kr_lexer_next_code(&lx);
  }
}

bool asm_check_state(struct assembly *a)
{
  const struct kr_pkernel *k = a->k;
  struct state_walk w = {.a = a, .ok = true};
  if (k->slice_before)
    state_check(&w, k->slice_before, strlen(k->slice_before));
  state_check(&w, a->r->src->data + k->at.offset, k->at.length);
  if (k->slice_after)
    state_check(&w, k->slice_after, strlen(k->slice_after));
  for (size_t i = 0; i < w.n_macros; i++)
    free(w.macros[i].name);
  free(w.macros);
  return w.ok;
}
