#include "helpers.h"

#include <stdlib.h>
#include <string.h>

#include "../../evaluator/base/mem.h"
#include "../decl.h"
#include "syntax.h"

static bool calls(const char *code, const struct kr_token *toks, size_t i)
{
  return toks[i].kind == KR_TOK_IDENTIFIER && kr_token_is(code, toks[i + 1], "(") &&
         !(i && (kr_token_is(code, toks[i - 1], ".") || kr_token_is(code, toks[i - 1], "->") ||
                 kr_token_is(code, toks[i - 1], "::")));
}

// The code with every call of `name` made one of `own`.
static char *renamed(const char *code, const char *name, const char *own)
{
  size_t n, done = 0;
  struct kr_token *toks = kr_lex_all(code, strlen(code), false, &n);
  struct kr_bytes out;
  kr_bytes_init(&out, 1 << 20);
  for (size_t i = 0; i + 1 < n; i++) {
    if (!calls(code, toks, i) || !kr_token_is(code, toks[i], name))
      continue;
    kr_bytes_add(&out, code + done, toks[i].offset - done);
    kr_bytes_adds(&out, own);
    done = toks[i].offset + toks[i].length;
  }
  kr_bytes_adds(&out, code + done);
  free(toks);
  return kr_bytes_take(&out);
}

static bool is_called(const char *code, const char *name)
{
  size_t n;
  struct kr_token *toks = kr_lex_all(code, strlen(code), false, &n);
  bool found = false;
  for (size_t i = 0; i + 1 < n && !found; i++)
    found = calls(code, toks, i) && kr_token_is(code, toks[i], name);
  free(toks);
  return found;
}

char *rule_bring_helpers(const struct kr_rule_input *in, bool (*wanted)(const char *text))
{
  // A declaration behind the slice shows which level is the kernel's own.
  char *text = kr_xasprintf("%s\nint end;", in->contract->before ? in->contract->before : "");
  size_t len = strlen(text), brought = 0;
  struct decls decls;
  decls_before(&decls, text, len, len - strlen("int end;"));
  char *code = kr_xstrdup(in->code);
  struct syntax s;
  syntax_parse(&s, in->code, in->contract);
  for (size_t i = 0; i < decls.n && s.kernel != SYNTAX_NONE; i++) {
    const struct decl *d = &decls.items[i];
    size_t body, at = decl_name(&decls, d, text, &body), same = 0;
    if (at == SIZE_MAX || body == SIZE_MAX || !kr_token_is(text, decls.toks[at + 1], "("))
      continue;
    bool plain = true, device = false;
    for (size_t k = d->first; k < d->end; k++) {
      plain = plain && !(decls.toks[k].flags & KR_TOK_DIRECTIVE) &&
              !kr_token_is(text, decls.toks[k], "template") &&
              !kr_token_is(text, decls.toks[k], "extern") &&
              !kr_token_is(text, decls.toks[k], "__host__");
      device = device || kr_token_is(text, decls.toks[k], "__device__");
    }
    char *name = kr_xstrndup(text + decls.toks[at].offset, decls.toks[at].length);
    char *own_text = kr_xstrndup(text + d->offset, d->length);
    for (size_t k = 0; k < decls.n; k++) {
      size_t b, other = decl_name(&decls, &decls.items[k], text, &b);
      same += other != SIZE_MAX && kr_token_is(text, decls.toks[other], name);
    }
    if (plain && device && same == 1 && wanted(own_text) && is_called(code, name)) {
      char *own = syntax_fresh_helper(&s, name);
      char *calling = renamed(code, name, own), *moved = renamed(own_text, name, own);
      free(code);
      code = kr_xasprintf("%s\n\n%s", moved, calling);
      free(moved);
      free(calling);
      free(own);
      brought++;
    }
    free(name);
    free(own_text);
  }
  syntax_release(&s);
  decls_release(&decls);
  free(text);
  if (!brought) {
    free(code);
    return NULL;
  }
  return code;
}
