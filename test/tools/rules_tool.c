// rules_tool [--requests] [RULE]... < LIST.json
//
// What the rules of the built-in proposer (all, or those named) say to every
// kernel of a `kevin-rewrite --list --format=json`: a header line for each
// proposal, its launch line when it brings one, its code. With --requests they
// come as requests of kevin-eval, one a line, with the kernel, rule and place as id.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "driver/variant.h"
#include "evaluator/base/mem.h"
#include "rewriter/rules/rules.h"

static char *slurp(FILE *f)
{
  struct kr_bytes b;
  kr_bytes_init(&b, 256 << 20);
  char part[4096];
  size_t n;
  while ((n = fread(part, 1, sizeof part, f)) > 0)
    kr_bytes_add(&b, part, n);
  return kr_bytes_take(&b);
}

static bool wanted(const char *rule, int argc, char **argv, int first)
{
  for (int i = first; i < argc; i++) {
    if (!strcmp(argv[i], rule))
      return true;
  }
  return first >= argc;
}

static void show(const char *kernel, const struct kr_proposal *p,
                 const char *contract, bool requests)
{
  struct kr_bytes geometry;
  kr_bytes_init(&geometry, 1 << 16);
  if (p->has_geometry)
    variant_geometry(&p->geometry, &geometry);
  if (!requests) {
    printf("// %s: %s: %s\n// %s\n", kernel, p->rule, p->place, p->summary);
    if (p->has_geometry)
      printf("// launch: %s\n", geometry.data);
    printf("%s\n\n", p->code);
  } else {
    struct kr_bytes reply;
    kr_bytes_init(&reply, 1 << 20);
    kr_bytes_adds(&reply, "```cuda\n");
    if (p->has_geometry)
      kr_bytes_addf(&reply, "// launch: %s\n", geometry.data);
    kr_bytes_addf(&reply, "%s\n```\n", p->code);
    cJSON *o = cJSON_CreateObject();
    char *id = kr_xasprintf("%s: %s: %s", kernel, p->rule, p->place);
    cJSON_AddStringToObject(o, "id", id);
    cJSON_AddRawToObject(o, "contract", contract);
    cJSON_AddStringToObject(o, "reply", reply.data);
    char *text = cJSON_PrintUnformatted(o);
    puts(text);
    free(text);
    free(id);
    cJSON_Delete(o);
    kr_bytes_release(&reply);
  }

  kr_bytes_release(&geometry);
}

int main(int argc, char **argv)
{
  int first = 1;
  bool requests = argc > 1 && !strcmp(argv[1], "--requests");
  first += requests;
  char *text = slurp(stdin);
  cJSON *list = cJSON_Parse(text);
  const cJSON *k, *kernels = cJSON_GetObjectItemCaseSensitive(list, "kernels");
  if (!kernels) {
    fprintf(stderr, "rules_tool: no list of kernels on standard input\n");
    return 2;
  }
  cJSON_ArrayForEach(k, kernels)
  {
    cJSON *contract = cJSON_GetObjectItemCaseSensitive(k, "contract");
    struct kr_contract c;
    struct kr_err err;
    if (!contract)
      continue;
    char *json = cJSON_PrintUnformatted(contract);
    if (kr_contract_from_json(&c, json, strlen(json), &err)) {
      fprintf(stderr, "rules_tool: %s\n", err.text);
      return 2;
    }
    struct kr_rule_input in = {&c, c.code, &c.geometry};
    struct kr_proposals ps = {0};
    kr_rules_propose(&in, &ps);
    for (size_t i = 0; i < ps.n; i++) {
      if (wanted(ps.items[i].rule, argc, argv, first))
        show(c.kernel, &ps.items[i], json, requests);
    }
    kr_proposals_release(&ps);
    kr_contract_release(&c);
    free(json);
  }
  cJSON_Delete(list);
  free(text);
  return 0;
}
