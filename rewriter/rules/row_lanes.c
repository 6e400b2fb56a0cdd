#include <stdlib.h>
#include <string.h>

#include "../../evaluator/base/mem.h"
#include "list.h"
#include "rule.h"

// One thread a row, each walking along its own row:
//
//   int row = blockIdx.x * blockDim.x + threadIdx.x;
//   if (row < rows) {
//     float sum = 0;
//     for (int j = start; j < end; j++) sum += x[j];
//     y[row] = sum;
//   }
//
// At every step the threads of a warp touch 32 places far apart. Here some lanes
// of a warp share a row instead: neighbouring lanes take neighbouring elements,
// their parts are put together by shuffles, and each warp goes over its 32 rows
// in as many turns as a row has lanes. The same threads do the same rows, so the
// launch stays as it is.
//
// All lanes of a row hold the same values outside of the shared loops, so they
// take the same branches; what is stored there one of them stores.

static void propose(const struct kr_rule_input *in, struct kr_proposals *out);

const struct kr_rule row_lanes_rule = {
    "row-lanes", "lanes of a warp share a row that one thread walked along", propose};

enum { MAX_LOOPS = 8, MAX_SUMS = 8 };

// What a shared loop puts together.
struct sum {
  size_t name;
  bool extreme;     // v = fmaxf(v, e), not v += e
  char function[8]; // "fmaxf"
};

struct shared_loop {
  struct syntax_loop l;
  struct sum sums[MAX_SUMS];
  size_t n_sums;
};

struct rows {
  struct syntax *s;
  const struct kr_rule_input *in;
  struct elementwise e;
  size_t index; // name of the row's index
  struct shared_loop loops[MAX_LOOPS];
  size_t n_loops;
  bool strided; // one loop at least walks along memory that its neighbours do not
};

static struct syntax_span span_of(const struct syntax *s, size_t stmt)
{
  return s->stmts[stmt].span;
}

// The shared loop that holds the expression, or NONE.
static size_t loop_of(const struct rows *r, struct syntax_span span)
{
  for (size_t i = 0; i < r->n_loops; i++) {
    if (syntax_within(span, span_of(r->s, r->loops[i].l.stmt)))
      return i;
  }
  return SYNTAX_NONE;
}

// v += e, or v = fmaxf(v, e), as a statement of the loop.
static bool read_sum(const struct syntax *s, size_t assign, struct sum *out)
{
  const struct syntax_expr *a = &s->exprs[assign];
  size_t left = syntax_strip(s, a->child), right = syntax_strip(s, s->exprs[a->child].next);
  *out = (struct sum){.name = s->exprs[left].name};
  const struct syntax_name *n = &s->names[out->name];
  if (!n->type.known || n->type.pointers || n->n_dims || kr_kind_size(n->type.kind) < 4 ||
      a->parent != SYNTAX_NONE || s->stmts[a->stmt].kind != STMT_EXPR)
    return false;
  if (syntax_is(s, a->op, "+="))
    return !syntax_mentions(s, s->exprs[right].span, out->name);
  if (!syntax_is(s, a->op, "=") || s->exprs[right].kind != EXPR_CALL)
    return false;
  static const char *const extremes[] = {"fmaxf", "fminf", "fmax", "fmin", "max", "min", NULL};
  for (size_t i = 0; extremes[i]; i++) {
    if (!syntax_calls(s, right, extremes[i]) || s->exprs[right].n_children != 3)
      continue;
    size_t x = syntax_arg(s, right, 1), y = syntax_arg(s, right, 2);
    size_t sx = syntax_strip(s, x), sy = syntax_strip(s, y);
    size_t other = s->exprs[sx].kind == EXPR_NAME && s->exprs[sx].name == out->name   ? y
                   : s->exprs[sy].kind == EXPR_NAME && s->exprs[sy].name == out->name ? x
                                                                                      : SYNTAX_NONE;
    // Of max() the type must be that of the name, or the whole means something else;
    // the others are of floating point.
    struct syntax_type t = other == SYNTAX_NONE ? (struct syntax_type){0} : syntax_type_of(s, other);
    bool same = extremes[i][0] == 'f' ? kr_kind_is_float(n->type.kind)
                                      : t.known && !t.pointers && t.kind == n->type.kind;
    if (other == SYNTAX_NONE || !same || syntax_mentions(s, s->exprs[other].span, out->name))
      return false;
    out->extreme = true;
    strcpy(out->function, extremes[i]);
    return true;
  }
  return false;
}

// Can turns of the loop be dealt out? What it changes must be its own, a sum, or
// elements that no other turn touches.
static bool read_loop(struct rows *r, size_t stmt)
{
  struct syntax *s = r->s;
  if (r->n_loops == MAX_LOOPS)
    return false;
  struct shared_loop *out = &r->loops[r->n_loops];
  *out = (struct shared_loop){.n_sums = 0};
  struct syntax_span whole = span_of(s, stmt);
  // What comes before and behind it needs a block to stand in.
  if (syntax_insertable(s, stmt) == SYNTAX_NONE || !syntax_loop(s, stmt, &out->l) ||
      strcmp(out->l.relation, "<") ||
      (strcmp(out->l.step_op, "++") && strcmp(out->l.step_op, "+=")))
    return false;
  int64_t step = 1;
  if (out->l.step != SYNTAX_NONE && (!syntax_constant(s, out->l.step, &step) || step != 1))
    return false;
  bool reads = false;
  if (!syntax_pure(s, out->l.init, &reads) || !syntax_pure(s, out->l.bound, &reads))
    return false;
  for (size_t i = 0; i < s->n_stmts; i++) {
    enum syntax_stmt_kind k = s->stmts[i].kind;
    if (i != stmt && syntax_within(span_of(s, i), whole) && (k == STMT_BREAK || k == STMT_RETURN))
      return false;
  }
  for (size_t e = 0; e < s->n_exprs; e++) {
    const struct syntax_expr *x = &s->exprs[e];
    if (!syntax_within(x->span, whole) || x->kind != EXPR_NAME || x->name == SYNTAX_NONE ||
        !(x->use & SYNTAX_WRITTEN))
      continue;
    // Of a name declared outside only a sum may come out of it.
    const struct syntax_name *n = &s->names[x->name];
    if (x->name == out->l.var || (n->token >= whole.first && n->token < whole.end))
      continue;
    size_t p = x->parent;
    struct sum sum;
    if (p == SYNTAX_NONE || s->exprs[p].kind != EXPR_ASSIGN || s->exprs[p].child != e ||
        !read_sum(s, p, &sum))
      return false;
    bool known = false;
    for (size_t i = 0; i < out->n_sums; i++) {
      if (out->sums[i].name != sum.name)
        continue;
      if (out->sums[i].extreme != sum.extreme || strcmp(out->sums[i].function, sum.function))
        return false;
      known = true;
    }
    if (!known && out->n_sums == MAX_SUMS)
      return false;
    if (!known)
      out->sums[out->n_sums++] = sum;
  }
  // A sum is not looked at while it grows.
  for (size_t i = 0; i < out->n_sums; i++) {
    for (size_t e = 0; e < s->n_exprs; e++) {
      const struct syntax_expr *x = &s->exprs[e];
      if (x->kind != EXPR_NAME || x->name != out->sums[i].name || !syntax_within(x->span, whole) ||
          (x->use & SYNTAX_WRITTEN))
        continue;
      // The v of fmaxf(v, e) in v = fmaxf(v, e).
      size_t call = x->parent, assign = call == SYNTAX_NONE ? call : s->exprs[call].parent;
      struct sum sum;
      if (assign == SYNTAX_NONE || s->exprs[assign].kind != EXPR_ASSIGN ||
          s->exprs[syntax_strip(s, s->exprs[assign].child)].kind != EXPR_NAME ||
          !read_sum(s, assign, &sum) || sum.name != x->name)
        return false;
    }
  }
  r->n_loops++;
  return true;
}

// Every loop that stands in no other.
static bool read_loops(struct rows *r)
{
  for (size_t i = 0; i < r->s->n_stmts; i++) {
    const struct syntax_stmt *st = &r->s->stmts[i];
    if (st->function != r->s->kernel)
      continue;
    if (st->kind == STMT_ASSERT || loop_of(r, st->span) != SYNTAX_NONE)
      continue;
    if (st->kind == STMT_WHILE || st->kind == STMT_DO || st->kind == STMT_OTHER)
      return false;
    if (st->kind == STMT_FOR && !read_loop(r, i))
      return false;
    bool guards = r->e.returns && syntax_within(st->span, span_of(r->s, r->e.guard));
    if (st->kind == STMT_RETURN && !guards)
      return false;
  }
  return r->n_loops > 0;
}

// What is stored is stored once, read by nobody else, and every pointer is one
// that can be followed.
static bool memory_is_plain(struct rows *r)
{
  struct syntax *s = r->s;
  unsigned thread = syntax_builtin_symbol(s, SYMBOL_THREAD, 0);
  for (size_t e = 0; e < s->n_exprs; e++) {
    const struct syntax_expr *x = &s->exprs[e];
    if (x->function != s->kernel)
      continue;
    if (x->kind == EXPR_UNARY && (syntax_is(s, x->op, "*")) )
      return false;
    if (x->kind == EXPR_MEMBER && syntax_is(s, x->op, "->"))
      return false;
    if (x->kind == EXPR_NAME && x->name != SYNTAX_NONE && (x->use & SYNTAX_ESCAPES))
      return false;
    if (x->kind != EXPR_SUBSCRIPT)
      continue;
    size_t root, base = syntax_strip(s, x->child);
    struct affine at = syntax_index(s, e, &root);
    if (s->exprs[base].kind == EXPR_NAME && s->exprs[base].name != SYNTAX_NONE && root == SYNTAX_NONE)
      root = syntax_root(s, s->exprs[base].name);
    if (root == SYNTAX_NONE)
      return false;
    size_t in_loop = loop_of(r, x->span);
    const struct syntax_name *n = &s->names[root];
    if (n->storage != SYNTAX_PARAM) {
      // An array of its own; filled in a shared loop it would be in pieces.
      if ((x->use & SYNTAX_WRITTEN) && in_loop != SYNTAX_NONE)
        return false;
      continue;
    }
    if (x->use & SYNTAX_ESCAPES)
      return false;
    if (x->use & SYNTAX_WRITTEN) {
      // Read elsewhere: a lane might see what another has not stored yet.
      for (size_t o = 0; o < s->n_exprs; o++) {
        if (s->exprs[o].kind != EXPR_SUBSCRIPT || o == e || s->exprs[o].function != s->kernel ||
            !(s->exprs[o].use & SYNTAX_READ))
          continue;
        size_t other;
        struct affine there = syntax_index(s, o, &other);
        if (other == root && !(there.known && at.known && affine_equal(&there, &at) &&
                               s->exprs[o].stmt == x->stmt))
          return false;
        if (other == SYNTAX_NONE)
          return false;
      }
      // In a shared loop each turn needs an element of its own, or an atomic.
      if (in_loop != SYNTAX_NONE && !(x->use & SYNTAX_ATOMIC)) {
        unsigned var = syntax_name_symbol(s, r->loops[in_loop].l.var);
        struct affine by = var == (unsigned)-1 ? (struct affine){0} : affine_coefficient(&at, var);
        int64_t v;
        if (!at.known || !affine_is_constant(&by, &v) || !v)
          return false;
      }
      // Outside of them the statement is put behind `if`: it must be one, and its
      // value may not be used.
      size_t st = x->stmt;
      if (in_loop == SYNTAX_NONE && s->stmts[st].kind != STMT_EXPR)
        return false;
      // An atomic's result would differ from lane to lane.
      size_t call = x->parent == SYNTAX_NONE ? SYNTAX_NONE : s->exprs[x->parent].parent;
      if ((x->use & SYNTAX_ATOMIC) && call != SYNTAX_NONE && s->exprs[call].parent != SYNTAX_NONE)
        return false;
    }
    if (in_loop == SYNTAX_NONE || !at.known)
      continue;
    // Does it walk along memory, a row a thread?
    unsigned var = syntax_name_symbol(s, r->loops[in_loop].l.var);
    if (var == (unsigned)-1)
      continue;
    struct affine along = affine_coefficient(&at, var), across = affine_coefficient(&at, thread);
    int64_t v, w;
    bool next_to = affine_is_constant(&across, &w) && (w == 1 || w == -1);
    if (affine_is_constant(&along, &v) && v == 1 && !next_to)
      r->strided = true;
    else if (next_to)
      return false; // its neighbours lie beside it already
  }
  return r->strided;
}

// Calls within the kernel that the lanes may all make.
static bool calls_are_plain(const struct rows *r)
{
  const struct syntax *s = r->s;
  for (size_t e = 0; e < s->n_exprs; e++) {
    if (s->exprs[e].kind != EXPR_CALL || s->exprs[e].function != s->kernel)
      continue;
    char *name = syntax_callee(s, e);
    bool fine = name && syntax_takes_only_values(s, name);
    free(name);
    if (!fine)
      return false;
  }
  return true;
}

// Sums of floats come out in another order.
static bool order_matters(const struct rows *r)
{
  for (size_t i = 0; i < r->in->contract->n_sections; i++) {
    const struct kr_section *sec = &r->in->contract->sections[i];
    enum kr_kind kind;
    if (sec->role != KR_IN && sec->compare == KR_CMP_EXACT &&
        (!syntax_element(r->in->contract, sec->path, &kind) || kr_kind_is_float(kind)))
      return true;
  }
  return false;
}

static const char *word_of(enum kr_kind kind)
{
  return kind == KR_F32   ? "float"
         : kind == KR_F64 ? "double"
         : kind == KR_I32 ? "int"
         : kind == KR_U32 ? "unsigned int"
         : kind == KR_I64 ? "long long"
         : kind == KR_U64 ? "unsigned long long"
                          : NULL;
}

// The name of a lane's part of a sum in loop `number`.
static char *part_of(const struct syntax *s, const struct syntax_name *n, size_t number)
{
  char *base = number ? kr_xasprintf("%s_part%zu", n->name, number + 1)
                      : kr_xasprintf("%s_part", n->name);
  char *part = syntax_fresh(s, base);
  free(base);
  return part;
}

// A shared loop with its parts, and the shuffles behind it.
static bool edit_loop(struct syntax_edits *edits, const struct syntax *s, const struct shared_loop *l,
                      int lanes, const char *lane, const char *mask, size_t number)
{
  size_t st = l->l.stmt;
  struct syntax_span init = s->exprs[l->l.init].span;
  char *start = syntax_text(s, init), *indent = syntax_indent(s, s->stmts[st].span.first);
  const char *step = syntax_indent_step(s);
  bool simple = s->exprs[l->l.init].kind == EXPR_NUMBER || s->exprs[l->l.init].kind == EXPR_NAME ||
                s->exprs[l->l.init].kind == EXPR_SUBSCRIPT;
  if (!strcmp(start, "0"))
    syntax_replace(edits, s, init, "%s", lane);
  else
    syntax_replace(edits, s, init, simple ? "%s + %s" : "(%s) + %s", start, lane);
  syntax_replace(edits, s, s->exprs[s->stmts[st].step].span, "%s += %d", s->names[l->l.var].name,
                 lanes);
  struct kr_bytes before, after;
  kr_bytes_init(&before, 1 << 16);
  kr_bytes_init(&after, 1 << 16);
  char *d = syntax_fresh(s, "d");
  bool fine = true;
  kr_bytes_addf(&after, "\n%sfor (int %s = %d; %s > 0; %s /= 2) {", indent, d, lanes / 2, d, d);
  for (size_t i = 0; i < l->n_sums; i++) {
    const struct syntax_name *n = &s->names[l->sums[i].name];
    const char *word = word_of(n->type.kind);
    fine = fine && word;
    if (l->sums[i].extreme) {
      kr_bytes_addf(&after, "\n%s%s%s = %s(%s, __shfl_xor_sync(%s, %s, %s));", indent, step, n->name,
                    l->sums[i].function, n->name, mask, n->name, d);
      continue;
    }
    char *part = part_of(s, n, number);
    kr_bytes_addf(&before, "%s %s = 0;\n%s", word ? word : "", part, indent);
    kr_bytes_addf(&after, "\n%s%s%s += __shfl_xor_sync(%s, %s, %s);", indent, step, part, mask, part, d);
    for (size_t e = 0; e < s->n_exprs; e++) {
      if (s->exprs[e].kind == EXPR_NAME && s->exprs[e].name == l->sums[i].name &&
          syntax_within(s->exprs[e].span, s->stmts[st].span))
        syntax_replace(edits, s, s->exprs[e].span, "%s", part);
    }
    free(part);
  }
  kr_bytes_addf(&after, "\n%s}", indent);
  for (size_t i = 0; i < l->n_sums; i++) {
    const struct syntax_name *n = &s->names[l->sums[i].name];
    if (l->sums[i].extreme)
      continue;
    char *part = part_of(s, n, number);
    kr_bytes_addf(&after, "\n%s%s += %s;", indent, n->name, part);
    free(part);
  }
  // A pragma in front of the loop stays with it.
  size_t place = st;
  for (size_t p = 0; p < st; p++) {
    if (s->stmts[p].next == st && s->stmts[p].kind == STMT_PRAGMA)
      place = p;
  }
  if (before.len)
    syntax_before(edits, s, s->stmts[place].span.first, "%s", before.data);
  if (l->n_sums)
    syntax_after(edits, s, s->stmts[st].span.end - 1, "%s", after.data);
  kr_bytes_release(&before);
  kr_bytes_release(&after);
  free(d);
  free(start);
  free(indent);
  return fine;
}

static void build(struct rows *r, int lanes, struct kr_proposals *out)
{
  struct syntax *s = r->s;
  struct syntax_edits edits = {0};
  char *turn = syntax_fresh(s, "turn"), *lane = syntax_fresh(s, "lane"), *mask = syntax_fresh(s, "mask");
  const char *step = syntax_indent_step(s);
  const struct syntax_stmt *body = &s->stmts[s->functions[s->kernel].body];
  char *indent = syntax_indent(s, s->stmts[body->child].span.first);
  bool fine = true;
  // The index: the same rows for the same warp, some at a time.
  struct syntax_span init = s->exprs[s->names[r->index].init].span;
  for (size_t e = 0; e < s->n_exprs; e++) {
    if (s->exprs[e].kind != EXPR_MEMBER || !syntax_within(s->exprs[e].span, init) ||
        !syntax_is(s, s->exprs[e].span.first, "threadIdx"))
      continue;
    if (lanes == 32)
      syntax_replace(&edits, s, s->exprs[e].span, "(threadIdx.x / 32 * 32 + %s)", turn);
    else
      syntax_replace(&edits, s, s->exprs[e].span,
                     "(threadIdx.x / 32 * 32 + %s * %d + threadIdx.x %% 32 / %d)", turn, 32 / lanes,
                     lanes);
  }
  for (size_t i = 0; i < s->n_stmts; i++) {
    if (r->e.returns && s->stmts[i].kind == STMT_RETURN && s->stmts[i].function == s->kernel)
      syntax_replace(&edits, s, s->stmts[i].span, "continue;");
  }
  for (size_t i = 0; i < r->n_loops; i++)
    fine = edit_loop(&edits, s, &r->loops[i], lanes, lane, mask, i) && fine;
  // Stores outside of the shared loops, by one lane; a statement once.
  size_t last = SYNTAX_NONE;
  for (size_t i = 0; i < s->n_stmts; i++) {
    if (s->stmts[i].kind != STMT_EXPR || s->stmts[i].function != s->kernel ||
        loop_of(r, s->stmts[i].span) != SYNTAX_NONE)
      continue;
    bool stores = false;
    for (size_t e = 0; e < s->n_exprs; e++) {
      size_t root;
      if (s->exprs[e].kind == EXPR_SUBSCRIPT && s->exprs[e].stmt == i && (s->exprs[e].use & SYNTAX_WRITTEN)) {
        size_t base = syntax_strip(s, s->exprs[e].child);
        root = s->exprs[base].kind == EXPR_NAME ? syntax_root(s, s->exprs[base].name) : SYNTAX_NONE;
        stores = stores || root == SYNTAX_NONE || s->names[root].storage == SYNTAX_PARAM;
      }
    }
    if (!stores || i == last)
      continue;
    last = i;
    // Braces, so that no `else` finds the wrong `if`.
    bool in_block = s->stmts[s->stmts[i].parent].kind == STMT_BLOCK;
    syntax_before(&edits, s, s->stmts[i].span.first, in_block ? "if (%s == 0) " : "{ if (%s == 0) ", lane);
    if (!in_block)
      syntax_after(&edits, s, s->stmts[i].span.end - 1, " }");
  }
  // Round everything.
  char *text = syntax_apply(&edits, s);
  if (text && fine) {
    struct syntax now;
    syntax_parse(&now, text, r->in->contract);
    struct kr_bytes b;
    kr_bytes_init(&b, KR_BYTES_DEFAULT_MAX);
    if (now.kernel != SYNTAX_NONE && now.functions[now.kernel].body != SYNTAX_NONE) {
      const struct syntax_stmt *nb = &now.stmts[now.functions[now.kernel].body];
      size_t open = now.toks[nb->span.first].offset + 1, close = now.toks[nb->span.end - 1].offset;
      while (close > open && (text[close - 1] == ' ' || text[close - 1] == '\t'))
        close--;
      char *inner = kr_xstrndup(text + open, close - open);
      char *deeper = syntax_reindent(inner, "", step);
      kr_bytes_add(&b, text, open);
      kr_bytes_addf(&b, "\n%sconst int %s = threadIdx.x %% %d;\n", indent, lane, lanes);
      if (lanes == 32)
        kr_bytes_addf(&b, "%sconst unsigned int %s = 0xffffffffu;\n", indent, mask);
      else
        kr_bytes_addf(&b, "%sconst unsigned int %s = 0x%xu << (threadIdx.x %% 32 / %d * %d);\n", indent, mask,
                      (1u << lanes) - 1, lanes, lanes);
      kr_bytes_addf(&b, "%sfor (int %s = 0; %s < %d; ++%s) {%s", indent, turn, turn, lanes, turn, deeper);
      if (b.data[b.len - 1] != '\n')
        kr_bytes_addc(&b, '\n');
      kr_bytes_addf(&b, "%s}\n%s", indent, text + close);
      free(inner);
      free(deeper);
      rule_propose(out, r->in, &row_lanes_rule, kr_xasprintf("%s x%d", s->names[r->index].name, lanes),
                   kr_xstrdup(b.data), lanes == 8 ? 3 : lanes == 32 ? 2.9 : lanes == 16 ? 2.8 : 2.5, NULL,
                   "%d lanes of a warp share a row of `%s`, so that they read beside one another.", lanes,
                   s->names[r->index].name);
    }
    kr_bytes_release(&b);
    syntax_release(&now);
  }
  free(text);
  free(turn);
  free(lane);
  free(mask);
  free(indent);
}

static void propose(const struct kr_rule_input *in, struct kr_proposals *out)
{
  struct syntax s;
  struct rows r = {.s = &s, .in = in, .index = SYNTAX_NONE};
  syntax_parse(&s, in->code, in->contract);
  if (syntax_disjoint(in->contract) && elementwise_view(&s, in, &r.e)) {
    r.index = r.e.axes[0].name;
    bool flat = r.e.alone && r.e.axes[0].used && !r.e.axes[1].used && !r.e.axes[2].used &&
                r.e.axes[0].block % 32 == 0;
    if (flat && read_loops(&r) && calls_are_plain(&r) && memory_is_plain(&r) && !order_matters(&r)) {
      for (int lanes = 4; lanes <= 32; lanes *= 2)
        build(&r, lanes, out);
    }
    elementwise_release(&r.e);
  }
  syntax_release(&s);
}
