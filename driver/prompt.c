#include "prompt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../evaluator/base/lex.h"
#include "../evaluator/base/mem.h"
#include "redact.h"
#include "../evaluator/base/utf8.h"

enum { PROMPT_MAX = 16 << 20 };

// --- code ---

// Appends text as UTF-8 with LF: bytes of another encoding (Latin-1 in a
// comment) become `?`, since JSON has no place for them.
static void add_utf8(struct kr_bytes *out, const char *text, size_t len)
{
  for (size_t i = 0; i < len;) {
    size_t n = kr_utf8_length(text + i, len - i);
    if (text[i] == '\r' && i + 1 < len && text[i + 1] == '\n')
      ;
    else if (n)
      kr_bytes_add(out, text + i, n);
    else
      kr_bytes_addc(out, '?');
    i += n ? n : 1;
  }
}

// A fenced block; the fence is longer than any run of ` in the code.
static void add_block(struct kr_bytes *out, const char *code, size_t len)
{
  size_t longest = 2, run = 0;
  for (size_t i = 0; i < len; i++) {
    run = code[i] == '`' ? run + 1 : 0;
    if (run > longest)
      longest = run;
  }
  for (size_t i = 0; i <= longest; i++)
    kr_bytes_addc(out, '`');
  kr_bytes_adds(out, "cuda\n");
  add_utf8(out, code, len);
  if (!len || code[len - 1] != '\n')
    kr_bytes_addc(out, '\n');
  for (size_t i = 0; i <= longest; i++)
    kr_bytes_addc(out, '`');
  kr_bytes_addc(out, '\n');
}

// A part of the slice without what the slicer put there for itself (#line
// directives, an empty `namespace std`), CRs and blank lines at its ends or in rows.
static void slice_clean(const char *text, struct kr_bytes *out)
{
  bool blank = false;
  for (const char *p = text; *p;) {
    size_t len = strcspn(p, "\n");
    const char *next = p + len + (p[len] == '\n');
    while (len && strchr(" \t\r", p[len - 1]))
      len--;
    size_t at = 0;
    while (at < len && (p[at] == ' ' || p[at] == '\t'))
      at++;
    bool is_line = at < len && p[at] == '#' &&
                   (!strncmp(p + at + 1 + strspn(p + at + 1, " \t"), "line", 4));
    static const char scaffold[] = "namespace std {}";
    bool is_scaffold = len == sizeof scaffold - 1 && !memcmp(p, scaffold, len);
    if (!len) {
      blank = out->len > 0;
    } else if (!is_line && !is_scaffold) {
      if (blank)
        kr_bytes_addc(out, '\n');
      blank = false;
      kr_bytes_add(out, p, len);
      kr_bytes_addc(out, '\n');
    }
    p = next;
  }
}

static void add_context(const struct kr_contract *c, struct kr_bytes *out)
{
  struct kr_bytes part;
  kr_bytes_init(&part, PROMPT_MAX);
  slice_clean(c->before ? c->before : "", &part);
  if (part.len) {
    kr_bytes_adds(out, "Before it, its translation unit has:\n\n");
    add_block(out, part.data, part.len);
    kr_bytes_addc(out, '\n');
  }
  kr_bytes_reset(&part);
  slice_clean(c->after ? c->after : "", &part);
  if (part.len) {
    kr_bytes_adds(out, "After it:\n\n");
    add_block(out, part.data, part.len);
    kr_bytes_addc(out, '\n');
  }
  kr_bytes_release(&part);
}

static bool code_has(const char *code, const char *word)
{
  struct kr_lexer lx;
  kr_lexer_init(&lx, code, strlen(code));
  for (struct kr_token t = kr_lexer_next_code(&lx); t.kind != KR_TOK_END;
       t = kr_lexer_next_code(&lx)) {
    if (t.kind == KR_TOK_IDENTIFIER && kr_token_is(code, t, word))
      return true;
  }
  return false;
}

// --- the contract, told ---

// The pointer leaf of a section's path, or NULL.
static const struct kr_leaf *section_leaf(const struct kr_contract *c,
                                          const struct kr_param *params, const char *path)
{
  for (size_t i = 0; i < c->n_params; i++) {
    const struct kr_param *p = &params[i];
    size_t n = strlen(p->name);
    if (strncmp(path, p->name, n) || (path[n] && path[n] != '.' && path[n] != '['))
      continue;
    const char *rest = path + n + (path[n] == '.');
    for (size_t j = 0; j < p->n_leaves; j++) {
      if (!strcmp(p->leaves[j].path, rest))
        return &p->leaves[j];
    }
  }
  return NULL;
}

// " of float", or of what a template's arguments make of it: " of float or double".
static void add_elements(const struct kr_contract *c, const char *path, struct kr_bytes *out)
{
  const char *names[KR_MAX_INSTANTIATIONS];
  size_t n = 0;
  for (size_t i = 0; i < kr_contract_kernels(c) && n < KR_MAX_INSTANTIATIONS; i++) {
    const struct kr_leaf *leaf = section_leaf(c, kr_contract_params(c, i), path);
    size_t seen = 0;
    if (!leaf || leaf->type >= c->n_types)
      continue;
    while (seen < n && strcmp(names[seen], c->types[leaf->type].name))
      seen++;
    if (seen == n)
      names[n++] = c->types[leaf->type].name;
  }
  for (size_t i = 0; i < n; i++)
    kr_bytes_addf(out, "%s%s", !i ? " of " : i + 1 < n ? ", " : " or ", names[i]);
}

static bool section_is_float(const struct kr_contract *c, const struct kr_leaf *leaf)
{
  if (!leaf || leaf->type >= c->n_types)
    return false;
  const struct kr_type *t = &c->types[leaf->type];
  for (size_t i = 0; i < t->n_leaves; i++) {
    if (kr_kind_is_float(t->leaves[i].kind))
      return true;
  }
  return false;
}

static void add_section(const struct kr_contract *c, size_t index, struct kr_bytes *out)
{
  static const char *const roles[] = {"read", "read and written", "written"};
  const struct kr_section *s = &c->sections[index];
  const struct kr_leaf *leaf = section_leaf(c, c->params, s->path);
  kr_bytes_addf(out, "- `%s` is %s: ", s->path, roles[s->role]);
  if (!s->n_dims)
    kr_bytes_adds(out, "one element");
  for (size_t i = 0; i < s->n_dims; i++)
    kr_bytes_addf(out, "%s%s", i ? " x " : "", s->dims[i]);
  if (s->n_dims)
    kr_bytes_adds(out, " elements");
  add_elements(c, s->path, out);
  if (s->start && strcmp(s->start, "0"))
    kr_bytes_addf(out, ", the first at index %s", s->start);
  if (s->align)
    kr_bytes_addf(out, ", element 0 aligned to %s bytes", s->align);
  bool null = false;
  const char *alias = NULL, *filled = NULL;
  for (size_t i = 0; i < c->n_cases && c->cases[i].fillings; i++) {
    const struct kr_filling *f = &c->cases[i].fillings[index];
    null |= f->kind == KR_FILLED_NULL;
    if (f->kind == KR_FILLED_ALIAS)
      alias = f->alias;
    if (f->kind == KR_FILLED_EXPR && !filled)
      filled = f->expr;
  }
  if (null)
    kr_bytes_adds(out, "; it may be a null pointer");
  if (alias)
    kr_bytes_addf(out, "; it may point into `%s`", alias);
  if (filled)
    kr_bytes_addf(out, "; it is filled with `%s`", filled);
  if (s->role != KR_IN) {
    if (s->compare == KR_CMP_EXACT || (s->compare == KR_CMP_DEFAULT && !section_is_float(c, leaf)))
      kr_bytes_adds(out, "; it is compared bit for bit");
    else if (s->compare == KR_CMP_TOL)
      kr_bytes_addf(out, "; it is compared with tolerance %s%s%s", s->rtol ? s->rtol : "0",
                    s->atol ? " + " : "", s->atol ? s->atol : "");
    else
      kr_bytes_adds(out, "; it may differ by rounding, as from another order of summation");
  }
  kr_bytes_adds(out, ".\n");
}

// `path` is always this, or one of these.
static void add_fixed(const struct kr_contract *c, const char *path, struct kr_bytes *out)
{
  const char *values[KR_MAX_CASES];
  size_t n = 0;
  for (size_t i = 0; i < c->n_cases && n < KR_MAX_CASES; i++) {
    const struct kr_case *k = &c->cases[i];
    for (size_t j = 0; j < k->n_bindings; j++) {
      size_t seen = 0;
      if (strcmp(k->bindings[j].path, path) || !k->bindings[j].expr)
        continue;
      while (seen < n && strcmp(values[seen], k->bindings[j].expr))
        seen++;
      if (seen == n)
        values[n++] = k->bindings[j].expr;
    }
  }
  kr_bytes_addf(out, "- `%s` is always ", path);
  for (size_t i = 0; i < n; i++)
    kr_bytes_addf(out, "%s%s", !i ? "" : i + 1 < n ? ", " : " or ", values[i]);
  kr_bytes_adds(out, ".\n");
}

// The label, which names what tells cases apart, and then the other values.
static void add_case(const struct prompt_task *task, size_t index, struct kr_bytes *out)
{
  const struct kr_case *k = &task->contract->cases[index];
  const struct kr_reference *ref = task->reference;
  const char *gap = " (";
  kr_bytes_addf(out, " %s", k->label);
  for (size_t i = 0; i < k->n_bindings; i++) {
    const struct kr_binding *b = &k->bindings[i];
    char *named = kr_xasprintf("%s = ", b->path);
    const char *in_label = strstr(k->label, named);
    bool told = in_label && (in_label == k->label || in_label[-1] == ' ');
    free(named);
    if (told || b->fixed || b->drawn)
      continue;
    kr_bytes_addf(out, "%s%s = %s", gap, b->path, b->expr);
    gap = ", ";
  }
  if (ref && ref->case_us && index < ref->n_cases && ref->case_us[index] > 0) {
    kr_bytes_addf(out, "%soriginal: %s%.3g us", gap, ref->modelled ? "modelled " : "",
                  ref->case_us[index]);
    if (ref->modelled)
      kr_bytes_addf(out, " on %s, bound by %s", ref->model_gpu,
                    kr_term_name(ref->case_model[index].modelled.bound));
    gap = ", ";
  }
  if (*gap == ',')
    kr_bytes_addc(out, ')');
}

static void add_terms(const struct prompt_task *task, struct kr_bytes *out)
{
  const struct kr_contract *c = task->contract;
  for (size_t i = 0; i < c->n_instantiations; i++)
    kr_bytes_addf(out, "%s`%s`%s",
                  !i                            ? "- It is one template for "
                  : i + 1 < c->n_instantiations ? ", "
                                                : " and ",
                  c->instantiations[i].name_expression,
                  i + 1 < c->n_instantiations ? ""
                  : i                         ? "; each is checked and measured.\n"
                                              : ".\n");
  for (size_t i = 0; i < c->n_sections; i++)
    add_section(c, i, out);
  for (size_t i = 0; i < c->n_requires; i++)
    kr_bytes_addf(out, "- `%s` always holds.\n", c->requires_[i]);
  for (size_t i = 0; i < c->cases[0].n_bindings; i++) {
    const struct kr_binding *b = &c->cases[0].bindings[i];
    if (b->fixed && b->expr)
      add_fixed(c, b->path, out);
  }
  for (size_t i = 0; i < c->n_constants; i++) {
    if (!strncmp(c->constants[i].name, "sizeof(", 7))
      continue;
    kr_bytes_addf(out, "- `%s` is ", c->constants[i].name);
    kr_value_print(c->constants[i].value, out);
    kr_bytes_adds(out, ".\n");
  }
  kr_bytes_adds(out, "- It is measured with");
  for (size_t i = 0; i < c->n_cases; i++) {
    if (i)
      kr_bytes_addc(out, ';');
    add_case(task, i, out);
  }
  kr_bytes_adds(out, ". It must be right for all other sizes and values too, and is checked with "
                     "some that are not told.\n");
}

// --- the device ---

static void add_size(struct kr_bytes *out, double bytes)
{
  if (bytes >= 1 << 30)
    kr_bytes_addf(out, "%.3g GiB", bytes / (1 << 30));
  else if (bytes >= 1 << 20)
    kr_bytes_addf(out, "%.3g MiB", bytes / (1 << 20));
  else
    kr_bytes_addf(out, "%.3g KiB", bytes / (1 << 10));
}

static void add_device(const struct prompt_task *task, struct kr_bytes *out)
{
  const struct kr_device_facts *f = task->facts;
  const struct kr_contract *c = task->contract;
  if (!f || !strcmp(f->arch, "cpu")) {
    kr_bytes_adds(out, f ? "No GPU is at hand: variants are compiled and checked on an emulator "
                           "with warps of 32, and are not timed. The code is for"
                         : "The code is for");
    for (size_t i = 0; i < c->n_archs; i++)
      kr_bytes_addf(out, "%s %s", i ? "," : "", c->archs[i]);
    kr_bytes_adds(out, c->n_archs ? ".\n" : " current NVIDIA GPUs.\n");
    return;
  }
  char *name = redact_line(f->name, strnlen(f->name, sizeof f->name), 100);
  kr_bytes_addf(out, "%s (%s): %d SMs, warps of %d, ", name, f->arch, f->sms, f->warp);
  free(name);
  add_size(out, (double)f->l2_bytes);
  kr_bytes_adds(out, " of L2, ");
  add_size(out, (double)f->memory_bytes);
  kr_bytes_adds(out, " of memory");
  if (f->peak_bytes_per_s > 0)
    kr_bytes_addf(out, " at up to %.0f GB/s", f->peak_bytes_per_s / 1e9);
  kr_bytes_adds(out, ".\n");
}

// --- parts ---

void prompt_base(const struct prompt_task *task, struct kr_bytes *out)
{
  const struct kr_contract *c = task->contract;
  struct kr_bytes code, context, geometry, terms, device, launch, shared;
  struct kr_bytes *const all[] = {&code, &context, &geometry, &terms, &device, &launch, &shared};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    kr_bytes_init(all[i], PROMPT_MAX);
  add_block(&code, c->code, strlen(c->code));
  add_context(c, &context);
  kr_bytes_addc(&geometry, '`');
  variant_geometry(&c->geometry, &geometry);
  kr_bytes_addc(&geometry, '`');
  if (c->geometry.cooperative)
    kr_bytes_adds(&geometry, ", cooperatively");
  add_terms(task, &terms);
  add_device(task, &device);
  if (c->tunable) {
    add_size(&shared, (double)c->shared_limit);
    prompt_set_fill(task->templates, "launch_tunable",
                    (struct prompt_value[]){{"shared", shared.data}}, 1, &launch);
  } else {
    char *why = c->tunable_why && *c->tunable_why ? kr_xasprintf(" (%s)", c->tunable_why)
                                                  : kr_xstrdup("");
    prompt_set_fill(task->templates, "launch_fixed", (struct prompt_value[]){{"why", why}}, 1,
                    &launch);
    free(why);
  }
  // The prefix is the name without its namespaces.
  const char *prefix = c->kernel;
  for (const char *p; (p = strstr(prefix, "::"));)
    prefix = p + 2;
  bool has_asm = code_has(c->code, "asm") || code_has(c->code, "__asm__");
  const struct prompt_value values[] = {
      {"kernel", c->kernel},       {"file", c->file},         {"code", code.data},
      {"context", context.data},   {"geometry", geometry.data}, {"terms", terms.data},
      {"device", device.data},     {"prefix", prefix},        {"launch", launch.data},
      {"asm", has_asm ? "" : "no inline assembly, "},
  };
  prompt_set_fill(task->templates, "base", values, sizeof values / sizeof *values, out);
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    kr_bytes_release(all[i]);
}

static void add_turn(const struct prompt_set *templates, const struct prompt_turn *t,
                     struct kr_bytes *out)
{
  struct kr_bytes code, summary, shown;
  kr_bytes_init(&code, PROMPT_MAX);
  kr_bytes_init(&summary, PROMPT_MAX);
  kr_bytes_init(&shown, PROMPT_MAX);
  const struct kr_candidate *c = &t->variant->candidate;
  if (c->code) {
    variant_show(c->code, c->has_geometry ? &c->geometry : NULL, &shown);
    add_block(&code, shown.data, shown.len);
    kr_bytes_addc(&code, '\n');
  }
  if (t->variant->summary && *t->variant->summary)
    kr_bytes_addf(&summary, "Summary: %s\n\n", t->variant->summary);
  char number[16];
  snprintf(number, sizeof number, "%u", t->turn);
  const struct prompt_value values[] = {
      {"turn", number}, {"code", code.data}, {"summary", summary.data}, {"told", t->told}};
  prompt_set_fill(templates, "turn", values, 4, out);
  kr_bytes_release(&code);
  kr_bytes_release(&summary);
  kr_bytes_release(&shown);
}

static void add_left_out(unsigned from, unsigned to, struct kr_bytes *out)
{
  if (from == to)
    kr_bytes_addf(out, "(Turn %u is left out here.)\n\n", from);
  else
    kr_bytes_addf(out, "(Turns %u to %u are left out here.)\n\n", from, to);
}

int prompt_build(const struct prompt_task *task, const struct prompt_turn *turns, size_t n,
                 unsigned turn, struct kr_bytes *out, struct kr_err *err)
{
  size_t tokens = task->token_budget ? task->token_budget : PROMPT_DEFAULT_TOKENS;
  size_t budget = tokens > PROMPT_MAX / 4 ? PROMPT_MAX : 4 * tokens;
  struct kr_bytes last, *texts = n ? kr_xcalloc(n, sizeof *texts) : NULL;
  bool *kept = n ? kr_xcalloc(n, sizeof *kept) : NULL;
  int rc = -1;
  char number[16];
  snprintf(number, sizeof number, "%u", turn);
  const struct prompt_value values[] = {{"kernel", task->contract->kernel}, {"turn", number}};
  kr_bytes_init(&last, PROMPT_MAX);
  for (size_t i = 0; i < n; i++)
    kr_bytes_init(&texts[i], PROMPT_MAX);
  if (task->base)
    kr_bytes_adds(out, task->base);
  else
    prompt_base(task, out);
  if (turn == 1) {
    prompt_set_fill(task->templates, "example", values, 1, out);
    prompt_set_fill(task->templates, "first", values, 1, &last);
  } else {
    prompt_set_fill(task->templates, "again", values, 2, &last);
  }
  size_t used = out->len + last.len;
  if (used > budget || out->toobig) {
    kr_err_set(err, "kernel `%s`: its prompt of about %zu tokens is over the budget of %zu",
               task->contract->kernel, used / 4, tokens);
    goto out;
  }
  for (size_t i = 0; i < n; i++) {
    add_turn(task->templates, &turns[i], &texts[i]);
    kept[i] = turns[i].best;
    if (kept[i])
      used += texts[i].len;
  }
  for (size_t i = n; i-- > 0;) {
    if (kept[i])
      continue;
    if (used + texts[i].len > budget)
      break; // the oldest go first: nothing older than this one is taken in its stead
    kept[i] = true;
    used += texts[i].len;
  }
  for (size_t i = 0; i < n; i++) {
    if (kept[i]) {
      kr_bytes_add(out, texts[i].data, texts[i].len);
      continue;
    }
    size_t from = i;
    while (i + 1 < n && !kept[i + 1])
      i++;
    add_left_out(turns[from].turn, turns[i].turn, out);
  }
  kr_bytes_add(out, last.data, last.len);
  rc = 0;
out:
  for (size_t i = 0; i < n; i++)
    kr_bytes_release(&texts[i]);
  free(texts);
  free(kept);
  kr_bytes_release(&last);
  return rc;
}
