// rewrite_tool [options] FILE KERNEL VARIANT
//
// Puts the variant in the file VARIANT in place of the marked kernel KERNEL of
// FILE and prints the diff. The kernel and its launches are found by tokens
// alone, which is enough for the files of the tests.
//   -i            writes FILE
//   --grid=A,B  --block=A  --shared=E   a new geometry (expressions, no commas in them)
//   --shown=TEXT  provenance's first line; without it a fixed one
//   --constant=NAME=VALUE
//   --parser=PATH  kernel and launches are what this kevin-parse says
//   --undo=BLOB   writes what takes it back there
//   --take-back=BLOB   with FILE alone: applies such a blob
//   --body        with FILE KERNEL alone: prints the body hash
//   --read        with FILE KERNEL alone: prints all that a later run reads
// Exit 0 done, 1 nothing to do, 2 refused.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "evaluator/base/mem.h"
#include "rewriter/rewriter.h"

// All of it lives as long as the program.
static struct kr_source src, variant, blob_source;
static struct kr_pkernel k;
static struct kr_markers markers;
static struct kr_diags diags;
static struct kr_geometry g;
static struct kr_contract contract = {.tunable = true};
static struct kr_unit unit;
static struct kr_edits edits;
static struct kr_bytes out, diff, blob;

static char *slice(size_t from, size_t to)
{
  return kr_xstrndup(src.data + from, to - from);
}

// The arguments between the bracket at toks[i] and its partner.
static struct kr_parg *arguments(const struct kr_token *toks, size_t i, size_t *n, size_t *close)
{
  struct kr_parg *args = NULL;
  size_t cap = 0, depth = 0, from = toks[i].offset + 1;
  *n = 0;
  for (; toks[i].kind != KR_TOK_END; i++) {
    bool open = kr_token_is(src.data, toks[i], "("), shut = kr_token_is(src.data, toks[i], ")");
    depth += open;
    depth -= shut;
    if ((depth == 1 && kr_token_is(src.data, toks[i], ",")) || !depth) {
      KR_GROW(args, *n, cap);
      char *text = slice(from, toks[i].offset);
      while (*text == ' ')
        memmove(text, text + 1, strlen(text));
      args[(*n)++] = (struct kr_parg){.text = text, .side_effects = strstr(text, "++") || strchr(text, '(')};
      from = toks[i].offset + 1;
    }
    if (!depth)
      break;
  }
  *close = i;
  return args;
}

static void find_kernel(const char *name, const struct kr_marker *m)
{
  size_t n, close;
  struct kr_token *toks = kr_lex_all(src.data, src.len, false, &n);
  k.name = kr_xstrdup(name);
  k.at.offset = m->target;
  k.at.length = kr_definition_end(&src, m->target) - m->target;
  kr_source_place(&src, m->target, &k.line, &k.col);
  for (size_t i = 0; i + 1 < n; i++) {
    if (!kr_token_is(src.data, toks[i], name))
      continue;
    if (kr_token_is(src.data, toks[i + 1], "(") && toks[i].offset > m->target && !k.params) {
      size_t count;
      struct kr_parg *params = arguments(toks, i + 1, &count, &close);
      k.params = kr_xcalloc(count + 1, sizeof *k.params);
      k.n_params = count;
      for (size_t p = 0; p < count; p++) {
        char *t = params[p].text, *end = t + strlen(t);
        while (end > t && (end[-1] == ' ' || end[-1] == '\n' || end[-1] == '\r'))
          *--end = '\0';
        while (end > t && (end[-1] == '_' || (end[-1] | 32) >= 'a' || (end[-1] >= '0' && end[-1] <= '9')))
          end--;
        k.params[p].name = kr_xstrdup(end);
        free(t);
      }
      free(params);
    }
    if (kr_token_is(src.data, toks[i + 1], "<<<")) {
      size_t j = i + 1, part = 0;
      k.sites = kr_xreallocarray(k.sites, k.n_sites + 1, sizeof *k.sites);
      struct kr_psite s = {.file = src.path, .in_file = true, .editable = true,
                           .geometry_error = kr_xstrdup("not read")};
      kr_source_place(&src, toks[i].offset, &s.line, &s.col);
      s.config.offset = toks[j].offset;
      size_t depth = 0, from = j + 1;
      for (; toks[j].kind != KR_TOK_END && (!kr_token_is(src.data, toks[j], ">>>") || depth); j++) {
        depth += kr_token_is(src.data, toks[j], "(");
        depth -= kr_token_is(src.data, toks[j], ")");
        if (!depth && kr_token_is(src.data, toks[j], ",") && ++part == 3)
          from = j + 1;
      }
      s.config.length = toks[j].offset + 3 - s.config.offset;
      if (part == 3)
        s.stream_at = (struct kr_span){toks[from].offset, toks[j - 1].offset + toks[j - 1].length - toks[from].offset};
      s.args = arguments(toks, j + 1, &s.n_args, &close);
      k.sites[k.n_sites++] = s;
    }
  }
  free(toks);
}

int main(int argc, char **argv)
{
  bool write = false, body = false, read_all = false;
  const char *undo = NULL, *take_back = NULL, *parser = NULL, *shown = "verified 2.00x [1.90, 2.10] on GPU: 2.0 -> 1.0 us";
  bool geometry = false;
  struct kr_err err = {""};
  int i = 1;
  for (; i < argc && argv[i][0] == '-'; i++) {
    char *eq = strchr(argv[i], '=');
    char *value = eq ? eq + 1 : argv[i];
    char **dims = !strncmp(argv[i], "--grid=", 7) ? g.grid : !strncmp(argv[i], "--block=", 8) ? g.block : NULL;
    if (dims) {
      geometry = true;
      for (int d = 0; d < 3 && value; d++) {
        char *comma = strchr(value, ';');
        dims[d] = comma ? kr_xstrndup(value, (size_t)(comma - value)) : kr_xstrdup(value);
        value = comma ? comma + 1 : NULL;
      }
    } else if (!strncmp(argv[i], "--shared=", 9)) {
      g.shared = value;
      geometry = true;
    } else if (!strncmp(argv[i], "--constant=", 11)) {
      contract.constants = kr_xreallocarray(contract.constants, contract.n_constants + 1, sizeof *contract.constants);
      contract.constants[contract.n_constants++] =
          (struct kr_constant){kr_xstrndup(value, strcspn(value, "=")), kr_value_int(atol(strchr(value, '=') + 1))};
    } else if (!strcmp(argv[i], "-i"))
      write = true;
    else if (!strcmp(argv[i], "--body"))
      body = true;
    else if (!strcmp(argv[i], "--read"))
      body = read_all = true;
    else if (!strncmp(argv[i], "--undo=", 7))
      undo = value;
    else if (!strncmp(argv[i], "--take-back=", 12))
      take_back = value;
    else if (!strncmp(argv[i], "--parser=", 9))
      parser = value;
    else if (!strncmp(argv[i], "--shown=", 8))
      shown = value;
    else
      return 64;
  }
  if (i >= argc)
    return 64;
  kr_bytes_init(&out, KR_SOURCE_MAX);
  kr_bytes_init(&diff, KR_SOURCE_MAX);
  kr_bytes_init(&blob, KR_SOURCE_MAX);
  int rc = -1;
  if (kr_source_read(&src, argv[i], &err))
    goto out;
  if (take_back) {
    if (kr_source_read(&blob_source, take_back, &err) ||
        kr_undo_edits(blob_source.data, blob_source.len, &src, &edits, &err) ||
        kr_edits_finish(&edits, &err) || kr_edits_apply(&edits, &src, &out, &err))
      goto out;
  } else {
    kr_markers_scan(&src, &markers, &diags);
    const struct kr_marker *m = NULL;
    for (size_t j = 0; j < markers.n && !m; j++) {
      size_t end = kr_definition_end(&src, markers.items[j].target), len = strlen(argv[i + 1]);
      const char *at = end ? memmem(src.data + markers.items[j].target, end - markers.items[j].target, argv[i + 1], len) : NULL;
      while (at && at[len] == ' ')
        len++;
      if (at && at[len] == '(' && markers.items[j].verb == KR_MARKER_OPTIMIZE)
        m = &markers.items[j];
    }
    if (!m) {
      kr_err_set(&err, "no marked kernel %s", argv[i + 1]);
      goto out;
    }
    if (parser) {
      struct kr_parser_options options = {.program = parser};
      struct kr_parse_request req = {.src = &src};
      struct kr_parser *p = kr_parser_new(&options);
      int parsed = kr_parser_unit(p, &req, &unit, &err);
      kr_parser_free(p);
      if (parsed)
        goto out;
      for (size_t n = 0; n < unit.n_kernels; n++) {
        if (!strcmp(unit.kernels[n].name, argv[i + 1]))
          k = unit.kernels[n];
      }
      if (!k.name || k.refused || k.at.offset != m->target) {
        kr_err_set(&err, "%s", k.refused ? k.refused : "kevin-parse does not find it there");
        goto out;
      }
    } else {
      find_kernel(argv[i + 1], m);
    }
    if (body) {
      char hex[KR_HASH_HEX + 1];
      kr_hash_hex(kr_body_hash(&src, k.at.offset, k.name), hex);
      puts(hex);
      if (read_all) {
        struct kr_provenance p;
        char **lines;
        kr_hash_hex(kr_marker_hash(m), hex);
        printf("%s\n%zu errors\n", hex, diags.n_errors);
        if (kr_provenance_find(&markers, k.at.offset, &p, &err)) {
          printf("%s\n", err.text);
          return 2;
        }
        lines = kr_provenance_lines(&p, 1000);
        for (size_t n = 0; lines[n]; n++)
          puts(lines[n]);
        kr_provenance_lines_free(lines);
      }
      return 0;
    }
    if (kr_source_read(&variant, argv[i + 2], &err))
      goto out;
    const char *const lines[] = {shown, "by m, turn 1/8; exact; kevin-rewrite 0.1.0",
                                 "from 000000000000 body 111111111111 marker 222222222222", NULL};
    struct kr_rewrite r = {&src, &k, m, &contract, variant.data, geometry ? &g : NULL, lines};
    if (kr_rewrite_edits(&r, &edits, &err) || kr_edits_finish(&edits, &err) ||
        kr_edits_apply(&edits, &src, &out, &err) || kr_undo_make(&edits, &src, &blob, &err))
      goto out;
    if (undo && kr_replace_path(undo, blob.data, blob.len, 0644, &err) < 0)
      goto out;
  }
  kr_diff(src.path, src.data, src.len, out.data, out.len, &diff);
  fwrite(diff.data, 1, diff.len, stdout);
  rc = write ? kr_replace(&src, out.data, out.len, &err) : 0;
out:
  if (err.text[0])
    fprintf(stderr, "%s\n", err.text);
  return rc < 0 ? 2 : rc;
}
