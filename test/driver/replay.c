// RUN: rm -rf %t && mkdir -p %t/sub && %unit/replay %t
#include "unit.h"

#include "driver/model.h"
#include "evaluator/base/mem.h"

static const char *folder;

static char *put(const char *name, const char *text)
{
  char *path = kr_xasprintf("%s/%s", folder, name);
  FILE *f = fopen(path, "wb");
  CHECK(f && fwrite(text, 1, strlen(text), f) == strlen(text));
  if (f)
    fclose(f);
  return path;
}

static struct model *open_text(const char *text, struct kr_err *err)
{
  char *path = put("replies.jsonl", text), *spec = kr_xasprintf("replay:%s", path);
  struct model_options options = {.temperature = -1};
  struct model *m = NULL;
  int rc = model_open(spec, &options, &m, err);
  CHECK_INT(rc, m ? 0 : -1);
  free(path);
  free(spec);
  return m;
}

// The reply, or the sentence without the folder's name.
static const char *ask(struct model *m, const char *file, const char *kernel, unsigned trajectory,
                       unsigned turn)
{
  static char out[500];
  struct model_request req = {.prompt = "p", .file = file, .kernel = kernel,
                              .trajectory = trajectory, .turn = turn};
  struct model_reply reply;
  struct kr_err err = {""};
  int rc = model_complete(m, &req, &reply, &err);
  snprintf(out, sizeof out, "%s", rc ? err.text + strlen(folder) + 1 : reply.text);
  if (!rc)
    CHECK_INT(reply.len, strlen(reply.text));
  else
    CHECK_INT(reply.failure, MODEL_CONFIG);
  model_reply_release(&reply);
  return out;
}

static void check_bad(const char *text, const char *sentence)
{
  struct kr_err err = {""};
  struct model *m = open_text(text, &err);
  CHECK(!m);
  CHECK(strlen(err.text) > strlen(folder));
  CHECK_STR(err.text + strlen(folder) + 1, sentence);
  model_close(m);
}

static void test_order(void)
{
  struct kr_err err = {""};
  struct model *m = open_text("# a comment\n"
                              "{\"kernel\": \"a\", \"reply\": \"a1\"}\r\n"
                              "\n"
                              "{\"kernel\": \"b::c\", \"reply\": \"b1\"}\n"
                              "{\"kernel\": \"a\", \"reply\": \"a2\"}\n"
                              "{\"kernel\": \"a\", \"reply\": \"a9\", \"turn\": 9}\n"
                              "{\"kernel\": \"a\", \"reply\": \"a10\"}\n"
                              "{\"kernel\": \"a\", \"trajectory\": 2, \"reply\": \"second\"}", &err);
  CHECK_STR(err.text, "");
  if (!m)
    return;
  CHECK(strstr(model_where(m), "replies.jsonl (6, no network)"));
  CHECK_STR(model_name(m), "replay");
  CHECK(!model_is_remote(m));
  CHECK_STR(ask(m, "x.cu", "a", 1, 2), "a2");
  CHECK_STR(ask(m, "x.cu", "a", 1, 1), "a1");
  CHECK_STR(ask(m, "x.cu", "a", 1, 1), "a1");
  CHECK_STR(ask(m, "x.cu", "a", 1, 10), "a10");
  CHECK_STR(ask(m, "x.cu", "a", 2, 1), "second");
  CHECK_STR(ask(m, "x.cu", "b::c", 1, 1), "b1");
  CHECK_STR(ask(m, "x.cu", "a", 2, 2), "replies.jsonl has no reply for kernel `a`, trajectory 2, "
                                       "turn 2 (the last is turn 1)");
  CHECK_STR(ask(m, "x.cu", "c", 1, 1),
            "replies.jsonl has no reply for kernel `c`, trajectory 1, turn 1");
  model_close(m);
}

static void test_files(void)
{
  free(put("sub/one.md", "```cuda\nint i;\n```\n"));
  struct kr_err err = {""};
  struct model *m = open_text("{\"kernel\": \"a\", \"file\": \"x.cu\", \"reply_file\": \"sub/one.md\"}\n"
                              "{\"kernel\": \"a\", \"file\": \"y.cu\", \"reply\": \"of y\"}\n", &err);
  CHECK_STR(err.text, "");
  if (!m)
    return;
  CHECK_STR(ask(m, "x.cu", "a", 1, 1), "```cuda\nint i;\n```\n");
  CHECK_STR(ask(m, "y.cu", "a", 1, 1), "of y");
  model_close(m);
}

static void test_bad(void)
{
  check_bad("", "replies.jsonl holds no replies");
  check_bad("{}", "replies.jsonl:1: `kernel` is missing");
  check_bad("\n{\"kernel\": \"a\"", "replies.jsonl:2: not a JSON object on one line");
  check_bad("[]", "replies.jsonl:1: not a JSON object on one line");
  check_bad("{\"kernel\": \"a\"}", "replies.jsonl:1: one of `reply` and `reply_file` is wanted");
  check_bad("{\"kernel\": \"a\", \"reply\": 1}", "replies.jsonl:1: `reply` must be a string");
  check_bad("{\"kernel\": \"a\", \"reply\": \"b\", \"turn\": 0}",
            "replies.jsonl:1: `turn` must be a whole number from 1");
  check_bad("{\"kernel\": \"a\", \"reply\": \"b\", \"turn\": 1.5}",
            "replies.jsonl:1: `turn` must be a whole number from 1");
  check_bad("{\"kernel\": \"a\", \"reply\": \"b\"}\n{\"kernel\": \"a\", \"reply\": \"c\", \"turn\": 1}",
            "replies.jsonl:2: kernel `a`, trajectory 1, turn 1 has a reply in line 1 already");
  check_bad("{\"kernel\": \"a\", \"reply\": \"x\\u0000y\"}",
            "replies.jsonl:1: a NUL character (\\u0000) is not code");
  check_bad("{\"kernel\": \"a\", \"reply\": \"caf\xe9\"}", "replies.jsonl:1: not UTF-8");
  check_bad("{\"kernel\": \"a\", \"repyl\": \"b\"}",
            "replies.jsonl:1: `repyl` is not known here; a line has kernel, reply or reply_file, and "
            "may have file, trajectory, turn, truncated (true or false)");
  struct kr_err err = {""};
  struct model *m = open_text("{\"kernel\": \"a\", \"reply_file\": \"none.md\"}", &err);
  CHECK(!m && strstr(err.text, "replies.jsonl:1: ") && strstr(err.text, "none.md"));
}

static void test_specs(void)
{
  struct model_options options = {.temperature = -1};
  struct model *m;
  struct kr_err err = {""};
  CHECK_INT(model_open("replay:", &options, &m, &err), -1);
  CHECK_STR(err.text, "--model=replay: needs a file: replay:FILE");
  CHECK_INT(model_open("openai:", &options, &m, &err), -1);
  CHECK_STR(err.text, "--model=openai: names no model: openai:NAME");
  options.base_url = "http://127.0.0.1:9/v1";
  // Without a kind nothing is guessed: a misspelt one would send the kernel out.
  CHECK_INT(model_open("some/model:7b", &options, &m, &err), -1);
  CHECK_STR(err.text, "--model is builtin, openai:NAME, anthropic:NAME, exec:CMD, mailbox:DIR or "
                      "replay:FILE, not `some/model:7b`");
  CHECK_INT(model_open("openai:some/model:7b", &options, &m, &err), 0);
  if (m) {
    CHECK_STR(model_where(m), "some/model:7b at http://127.0.0.1:9/v1 (no key)");
    CHECK_STR(model_name(m), "some/model:7b");
    CHECK(model_is_remote(m));
    CHECK_STR(model_identity(m), "openai:some/model:7b at http://127.0.0.1:9/v1");
    CHECK_INT(model_keeping(m), MODEL_KEEP);
  }
  model_close(m);
  // The same replies are the same model, wherever they lie.
  char *identity = NULL;
  for (int i = 0; i < 2; i++) {
    m = open_text(i ? "{\"kernel\": \"a\", \"reply\": \"c\"}" : "{\"kernel\": \"a\", \"reply\": \"b\"}",
                  &err);
    CHECK(m && !strncmp(model_identity(m), "replay:", 7));
    CHECK(!identity || strcmp(identity, model_identity(m)));
    free(identity);
    identity = m ? kr_xstrdup(model_identity(m)) : NULL;
    CHECK(m && model_keeping(m) == MODEL_KEEP_ASKED && !model_is_remote(m));
    model_close(m);
  }
  free(identity);
}

int main(int argc, char **argv)
{
  if (argc < 2)
    return 1;
  folder = argv[1];
  test_order();
  test_files();
  test_bad();
  test_specs();
  return unit_end();
}
