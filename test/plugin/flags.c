// RUN: %unit/flags %t.dir

#include "unit.h"

#include <sys/stat.h>
#include <unistd.h>

#include "plugin/plugin.h"

static struct kr_flags flags;
static struct kr_bytes dropped;
static char *all;

// The items that pass, joined by blanks.
static const char *filter(const char *const *argv, size_t n, const char *dir, const char *root)
{
  kr_flags_release(&flags);
  kr_bytes_reset(&dropped);
  kr_flags_filter(&flags, argv, n, dir, root, &dropped);
  struct kr_bytes b;
  kr_bytes_init(&b, 1 << 16);
  for (size_t i = 0; i < flags.n; i++)
    kr_bytes_addf(&b, "%s%s", i ? " " : "", flags.items[i]);
  free(all);
  all = kr_bytes_take(&b);
  kr_bytes_release(&b);
  return all;
}

#define FILTER(...)                                                                                \
  filter((const char *const[]){__VA_ARGS__},                                                       \
         sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *), "/proj", root)

static void write_file(const char *dir, const char *name, const char *text)
{
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", dir, name);
  FILE *f = fopen(path, "w");
  if (!f || fputs(text, f) < 0 || fclose(f))
    exit(2);
}

static void test_forms(const char *root)
{
  CHECK_STR(FILTER("-Iinc", "-I", "more", "-I=x", "--include-path=/abs", "-isystem", "sys"),
            "-I/proj/inc -I/proj/more -I/proj/x -I/abs -I/proj/sys");
  CHECK_STR(FILTER("-DN=4", "-D", "M", "--define-macro=K=2", "-UX", "-DF(a)=a", "-DE="),
            "-DN=4 -DM -DK=2 -UX -DF(a)=a -DE=");
  CHECK_STR(FILTER("-std=c++17", "--std", "c++20"), "-std=c++17 -std=c++20");
  CHECK_STR(FILTER("-arch=sm_90", "-arch", "sm_90a", "--gpu-architecture=compute_80"),
            "-arch=sm_90 -arch=sm_90a -arch=compute_80");
  CHECK_STR(FILTER("-gencode", "arch=compute_80,code=sm_80",
                   "--generate-code=arch=compute_90,code=[sm_90,compute_90]"),
            "-gencode=arch=compute_80,code=sm_80 "
            "-gencode=arch=compute_90,code=[sm_90,compute_90]");
  CHECK_STR(FILTER("-use_fast_math", "--fmad=false", "-ftz=true", "-prec-div=false",
                   "--prec-sqrt=false", "-maxrregcount", "64", "--extended-lambda",
                   "--expt-relaxed-constexpr"),
            "-use_fast_math -fmad=false -ftz=true -prec-div=false -prec-sqrt=false "
            "-maxrregcount=64 --extended-lambda --expt-relaxed-constexpr");
  CHECK_STR(dropped.data, "");
  CHECK_STR(FILTER("-c", "-o", "a.o", "-O3", "-x", "cu", "-g"), "");
  CHECK_STR(dropped.data, "");
}

static void test_dropped(const char *root)
{
  CHECK_STR(FILTER("-ccbin", "evil", "-ccbin=evil", "--compiler-bindir=evil"), "");
  CHECK_STR(dropped.data, "-ccbin\nevil\n-ccbin=evil\n--compiler-bindir=evil\n");
  CHECK_STR(FILTER("-fplugin=evil.so", "-Xclang", "-load", "@evil.rsp", "-Xcompiler", "-fplugin=x",
                   "-Wp,-include,evil", "-B/evil", "--options-file=evil", "-specs=evil"),
            "");
  CHECK_STR(dropped.data, "-fplugin=evil.so\n-Xclang\n-load\n@evil.rsp\n-Xcompiler\n-fplugin=x\n"
                          "-Wp,-include,evil\n-B/evil\n--options-file=evil\n-specs=evil\n");
  CHECK_STR(FILTER("-D1x", "-DA\n-I/evil", "-UX=1", "-std=evil", "-arch=sm_90;x", "-arch=all",
                   "-fmad=maybe", "-maxrregcount=9999", "-gencode=arch=compute_80,code=evil", "-I"),
            "");
  CHECK_STR(dropped.data,
            "-D1x\n-DA?-I/evil\n-UX=1\n-std=evil\n-arch=sm_90;x\n-arch=all\n-fmad=maybe\n"
            "-maxrregcount=9999\n-gencode=arch=compute_80,code=evil\n-I\n");
}

static void test_include(const char *root)
{
  char inside[4200], link_path[4200], sub[4200];
  snprintf(inside, sizeof inside, "%s/inside.h", root);
  snprintf(link_path, sizeof link_path, "%s/leads_out.h", root);
  snprintf(sub, sizeof sub, "%s/sub", root);
  write_file(root, "inside.h", "\n");
  unlink(link_path);
  if (symlink("/etc/passwd", link_path))
    exit(2);
  char real[4096], want[4200];
  if (!realpath(inside, real))
    exit(2);
  snprintf(want, sizeof want, "-include %s", real);
  CHECK_STR(filter((const char *const[]){"-include", "inside.h"}, 2, root, root), want);
  mkdir(sub, 0700);
  CHECK_STR(filter((const char *const[]){"--pre-include", "../inside.h"}, 2, sub, root), want);
  CHECK_STR(filter((const char *const[]){"-include", "/etc/passwd"}, 2, root, root), "");
  CHECK_STR(dropped.data, "-include /etc/passwd\n");
  CHECK_STR(filter((const char *const[]){"-include", "leads_out.h"}, 2, root, root), "");
  CHECK_STR(filter((const char *const[]){"-include", "../../../../../../etc/passwd"}, 2, root, root),
            "");
  CHECK_STR(filter((const char *const[]){"-include", "missing.h"}, 2, root, root), "");
  CHECK_STR(filter((const char *const[]){"-include", "inside.h"}, 2, root, sub), "");
}

static const char *database(const char *root, const char *json, int want)
{
  char path[4200];
  struct kr_err err = {""};
  kr_flags_release(&flags);
  kr_bytes_reset(&dropped);
  write_file(root, "compile_commands.json", json);
  snprintf(path, sizeof path, "%s/a.cu", root);
  CHECK_INT(kr_flags_from_database(&flags, root, path, &dropped, &err), want);
  CHECK((want < 0) == (err.text[0] != '\0'));
  struct kr_bytes b;
  kr_bytes_init(&b, 1 << 16);
  for (size_t i = 0; i < flags.n; i++)
    kr_bytes_addf(&b, "%s%s", i ? " " : "", flags.items[i]);
  free(all);
  all = kr_bytes_take(&b);
  kr_bytes_release(&b);
  return all;
}

static void test_database(const char *root)
{
  write_file(root, "a.cu", "\n");
  char json[8192], path[4200];
  snprintf(path, sizeof path, "%s/compile_commands.json", root);
  unlink(path);
  struct kr_err err = {""};
  snprintf(json, sizeof json, "%s/a.cu", root);
  CHECK_INT(kr_flags_from_database(&flags, root, json, &dropped, &err), 1);
  snprintf(json, sizeof json,
           "[{\"directory\":\"%s\",\"file\":\"b.cu\",\"command\":\"cc -DB b.cu\"},"
           "{\"directory\":\"%s\",\"file\":\"./a.cu\",\"command\":\"/evil/cc '-DT=\\\"a b\\\"' "
           "-D Q=\\\\\\\"x -ccbin $(touch pwned) `x` -c a.cu -o a.o\"}]",
           root, root);
  CHECK_STR(database(root, json, 0), "-DT=\"a b\" -DQ=\"x");
  CHECK_STR(dropped.data, "-ccbin\n$(touch\npwned)\n`x`\n");
  snprintf(json, sizeof json,
           "[{\"directory\":\"%s\",\"file\":\"a.cu\",\"arguments\":[\"-Dnot_a_flag\",\"-DA\"]}]",
           root);
  CHECK_STR(database(root, json, 0), "-DA");
  CHECK_STR(database(root, "[]", 1), "");
  CHECK_STR(database(root, "{}", -1), "");
  CHECK_STR(database(root, "[1]", -1), "");
  CHECK_STR(database(root, "[{\"file\":", -1), "");
  snprintf(json, sizeof json, "[{\"directory\":\"%s\",\"file\":\"a.cu\"}]", root);
  CHECK_STR(database(root, json, -1), "");
  snprintf(json, sizeof json, "[{\"directory\":\"%s\",\"file\":\"a.cu\",\"arguments\":[1]}]", root);
  CHECK_STR(database(root, json, -1), "");
  snprintf(json, sizeof json, "[{\"directory\":7,\"file\":\"a.cu\",\"arguments\":[]},"
                              "{\"file\":\"a.cu\",\"command\":\"cc\"}]");
  CHECK_STR(database(root, json, 1), "");
}

int main(int argc, char **argv)
{
  if (argc != 2)
    return 2;
  mkdir(argv[1], 0700);
  kr_bytes_init(&dropped, 1 << 16);
  test_forms(argv[1]);
  test_dropped(argv[1]);
  test_include(argv[1]);
  test_database(argv[1]);
  kr_flags_release(&flags);
  kr_bytes_release(&dropped);
  free(all);
  return unit_end();
}
