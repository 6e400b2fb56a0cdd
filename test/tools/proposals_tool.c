// Every proposal of every rule for a contract (JSON, on standard input), one
// JSON object a line: {"rule":, "place":, "gain":, "reply":, "summary":}. With
// --deep the proposals for what each of these became follow, and so on, so many
// steps deep.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "../../driver/builtin.h"
#include "../../evaluator/base/mem.h"
#include "../../rewriter/rules/rules.h"

static void print(const struct kr_contract *c, const struct kr_rule_input *in, const char *path,
                  int depth)
{
  struct kr_proposals ps = {0};
  kr_rules_propose(in, &ps);
  for (size_t i = 0; i < ps.n; i++) {
    struct kr_proposal *p = &ps.items[i];
    struct kr_bytes reply;
    kr_bytes_init(&reply, KR_BYTES_DEFAULT_MAX);
    const struct kr_geometry *g = p->has_geometry ? &p->geometry : in->geometry;
    builtin_reply(c, p->code, g, p->summary, &reply);
    char *name = kr_xasprintf("%s%s%s %s", path, *path ? " > " : "", p->rule, p->place);
    cJSON *json = cJSON_CreateObject();
    cJSON_AddStringToObject(json, "name", name);
    cJSON_AddStringToObject(json, "rule", p->rule);
    cJSON_AddStringToObject(json, "place", p->place);
    cJSON_AddNumberToObject(json, "gain", p->gain);
    cJSON_AddStringToObject(json, "reply", reply.data);
    char *text = cJSON_PrintUnformatted(json);
    puts(text);
    free(text);
    cJSON_Delete(json);
    kr_bytes_release(&reply);
    if (depth > 1) {
      struct kr_rule_input next = {c, p->code, g};
      print(c, &next, name, depth - 1);
    }
    free(name);
  }
  kr_proposals_release(&ps);
}

int main(int argc, char **argv)
{
  int depth = argc == 3 && !strcmp(argv[1], "--deep") ? atoi(argv[2]) : 1;
  struct kr_bytes in;
  char buffer[4096];
  size_t n;
  kr_bytes_init(&in, KR_BYTES_DEFAULT_MAX);
  while ((n = fread(buffer, 1, sizeof buffer, stdin)) > 0)
    kr_bytes_add(&in, buffer, n);
  struct kr_contract c;
  struct kr_err err = {""};
  if (kr_contract_from_json(&c, in.data, in.len, &err)) {
    fprintf(stderr, "%s\n", err.text);
    return 1;
  }
  struct kr_rule_input input = {&c, c.code, &c.geometry};
  print(&c, &input, "", depth);
  kr_contract_release(&c);
  kr_bytes_release(&in);
  return 0;
}
