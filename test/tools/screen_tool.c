// screen_tool KEVIN_PARSE CUDA|- FILE [VARIANT]
//
// Screens, for every kernel of FILE that kevin-parse can take, the text in
// VARIANT (in which @ stands for the kernel's own text), on tokens and on facts.
// Without VARIANT the kernel's own text. Prints one line a kernel and refusal.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rewriter/rewriter.h"

int main(int argc, char **argv)
{
  struct kr_source src, variant = {0};
  struct kr_err err = {""};
  struct kr_unit unit;
  if (argc < 4 || kr_source_read(&src, argv[3], &err) ||
      (argc > 4 && kr_source_read(&variant, argv[4], &err))) {
    fprintf(stderr, "%s\n", err.text);
    return 64;
  }
  struct kr_parser_options options = {.program = argv[1], .cuda_path = strcmp(argv[2], "-") ? argv[2] : NULL};
  struct kr_parser *parser = kr_parser_new(&options);
  struct kr_parse_request req = {.src = &src};
  if (kr_parser_unit(parser, &req, &unit, &err)) {
    fprintf(stderr, "%s\n", err.text);
    return 2;
  }
  for (size_t i = 0; i < unit.n_kernels; i++) {
    const struct kr_pkernel *k = &unit.kernels[i];
    if (k->refused) {
      printf("%s: not taken: %s\n", k->qualified, k->refused);
      continue;
    }
    struct kr_bytes code, original;
    kr_bytes_init(&code, 1 << 20);
    kr_bytes_init(&original, 1 << 20);
    kr_bytes_add(&original, src.data + k->at.offset, k->at.length);
    for (size_t j = 0; j < variant.len; j++) {
      if (variant.data[j] == '@')
        kr_bytes_add(&code, original.data, original.len);
      else if (variant.data[j] == '$')
        kr_bytes_adds(&code, k->name);
      else
        kr_bytes_addc(&code, variant.data[j]);
    }
    if (!variant.len)
      kr_bytes_add(&code, original.data, original.len);
    struct kr_contract c = {.kernel = k->qualified, .before = k->slice_before, .code = original.data,
                            .after = k->slice_after, .signature = k->signature};
    struct kr_screen_input in = {.code = code.data, .source = &src, .kernel = k, .contract = &c};
    struct kr_screen s = {0};
    struct kr_facts facts;
    kr_screen_tokens(&in, &s);
    for (size_t j = 0; j < s.n; j++)
      printf("%s: tokens: %u %s: %s\n", k->qualified, s.items[j].line, s.items[j].rule, s.items[j].text);
    size_t n = s.n;
    kr_screen_release(&s);
    if (kr_parser_facts(parser, &req, k, code.data, &facts, &err)) {
      fprintf(stderr, "%s\n", err.text);
      return 2;
    }
    kr_screen_facts(&in, &facts, &s);
    for (size_t j = 0; j < s.n; j++)
      printf("%s: facts: %u %s: %s\n", k->qualified, s.items[j].line, s.items[j].rule, s.items[j].text);
    if (!n && !s.n)
      printf("%s: passes\n", k->qualified);
    kr_screen_release(&s);
    kr_facts_release(&facts);
    kr_bytes_release(&code);
    kr_bytes_release(&original);
  }
  kr_unit_release(&unit);
  kr_parser_free(parser);
  kr_source_release(&src);
  kr_source_release(&variant);
  return 0;
}
