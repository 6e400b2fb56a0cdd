#include "project.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../evaluator/base/log.h"
#include "../evaluator/base/mem.h"
#include "assemble.h"

static bool has_toolkit(const char *dir)
{
  char path[4096];
  snprintf(path, sizeof path, "%s/include/cuda_runtime.h", dir);
  return !access(path, R_OK);
}

char *find_cuda(const char *given)
{
  if (given)
    return !strcmp(given, "none") ? NULL : kr_xstrdup(given);
  static const char *const variables[] = {"CUDA_PATH", "CUDA_HOME"};
  for (size_t i = 0; i < 2; i++) {
    const char *dir = getenv(variables[i]);
    if (dir && has_toolkit(dir))
      return kr_xstrdup(dir);
  }
  const char *path = getenv("PATH");
  for (const char *p = path ? path : ""; *p;) {
    size_t n = strcspn(p, ":");
    char *nvcc = kr_xasprintf("%.*s/nvcc", (int)n, p);
    char *real = n ? realpath(nvcc, NULL) : NULL;
    free(nvcc);
    // .../bin/nvcc
    for (int up = 0; real && up < 2; up++)
      if (strrchr(real, '/'))
        *strrchr(real, '/') = '\0';
    if (real && has_toolkit(real))
      return real;
    free(real);
    p += n + (p[n] == ':');
  }
  return has_toolkit("/usr/local/cuda") ? kr_xstrdup("/usr/local/cuda") : NULL;
}

// Path below `root`, or the path itself when it is elsewhere.
static char *path_below(const char *root, const char *real)
{
  size_t n = strlen(root);
  if (!strncmp(real, root, n) && real[n] == '/')
    return kr_xstrdup(real + n + 1);
  if (!strcmp(root, "/") && real[0] == '/')
    return kr_xstrdup(real + 1);
  return kr_xstrdup(real);
}

static bool project_has(const struct project *p, const struct kr_source *src)
{
  for (size_t i = 0; i < p->n; i++)
    if (p->inputs[i].src.dev == src->dev && p->inputs[i].src.ino == src->ino)
      return true;
  return false;
}

// The compiler's front end stops at a NUL byte in places and reads past it in others.
static int project_is_text(const struct kr_source *src, struct kr_err *err)
{
  const char *nul = memchr(src->data, '\0', src->len);
  unsigned line, col;
  if (!nul)
    return 0;
  if (src->len >= 2 && (!memcmp(src->data, "\xff\xfe", 2) || !memcmp(src->data, "\xfe\xff", 2)))
    return kr_err_set(err, "%s is UTF-16; only texts of single bytes, such as UTF-8, are read",
                      src->path);
  kr_source_place(src, (size_t)(nul - src->data), &line, &col);
  return kr_err_set(err, "%s:%u:%u: a NUL byte; is it a source file?", src->path, line, col);
}

// Neither a `#line`, a diff nor a list of files can hold such a name.
static bool path_has_control(const char *path)
{
  for (const char *s = path; *s; s++)
    if ((unsigned char)*s < 0x20 || *s == 0x7f)
      return true;
  return false;
}

static void project_add(struct project *p, const char *path)
{
  struct kr_err err = {""};
  struct input in = {0};
  if (path_has_control(path)) {
    kr_error("%s: names with control characters are not there yet", path);
    p->n_failed++;
    return;
  }
  if (kr_source_read(&in.src, path, &err)) {
    kr_error("%s", err.text);
    // A word that was meant as a mode: `kevin-rewrite in-place a.cu`.
    if (!strcmp(path, "in-place") || !strcmp(path, "check") || !strcmp(path, "list"))
      kr_note("did you mean --%s?", path);
    p->n_failed++;
    return;
  }
  if (project_is_text(&in.src, &err)) {
    kr_error("%s", err.text);
    p->n_failed++;
    kr_source_release(&in.src);
    return;
  }
  if (project_has(p, &in.src)) {
    kr_debug("extract", "%s was named before by another name", path);
    kr_source_release(&in.src);
    return;
  }
  kr_markers_scan(&in.src, &in.markers, &in.diags);
  for (size_t i = 0; i < in.markers.n; i++)
    in.n_marked += in.markers.items[i].verb == KR_MARKER_OPTIMIZE;
  in.root = kr_ledger_root(in.src.real);
  in.rel = path_below(in.root, in.src.real);
  in.failed = in.diags.n_errors > 0;
  kr_bytes_init(&in.dropped, 1 << 16);
  p->inputs = kr_xreallocarray(p->inputs, p->n + 1, sizeof *p->inputs);
  p->inputs[p->n++] = in;
}

// A configuration file that is there and not read must not go unnoticed.
static void project_tell_config(const struct project *p)
{
  for (size_t i = 0; i < p->n; i++) {
    bool told = false;
    for (size_t k = 0; k < i && !told; k++)
      told = !strcmp(p->inputs[k].root, p->inputs[i].root);
    char *path = kr_xasprintf("%s/.kevin-rewrite", p->inputs[i].root);
    if (!told && !access(path, F_OK))
      kr_warn("%s is there, but configuration files are not read yet", path);
    free(path);
  }
}

static int project_read_list(struct project *p, const char *path, struct kr_err *err)
{
  bool named = strcmp(path, "-") != 0;
  FILE *f = named ? fopen(path, "re") : stdin;
  if (!f)
    return kr_err_errno(err, "cannot open the list of files %s", path);
  char *line = NULL;
  size_t size = 0;
  for (ssize_t n; (n = getline(&line, &size, f)) > 0;) {
    while (n > 0 && (line[n - 1] == '\n' || line[n - 1] == '\r'))
      line[--n] = '\0';
    if (n)
      project_add(p, line);
  }
  int rc = ferror(f) ? kr_err_errno(err, "cannot read the list of files %s", path) : 0;
  free(line);
  if (named)
    fclose(f);
  return rc;
}

int project_open(struct project *p, const struct options *o, struct kr_err *err)
{
  *p = (struct project){.cuda_path = find_cuda(o->cuda_path)};
  p->parser_options = (struct kr_parser_options){.cuda_path = p->cuda_path};
  if (o->cuda_path && p->cuda_path && !has_toolkit(p->cuda_path)) {
    kr_err_set(err, "--cuda-path: no include/cuda_runtime.h in %s", p->cuda_path);
    project_close(p);
    return -1;
  }
  for (size_t i = 0; i < o->n_files; i++)
    project_add(p, o->files[i]);
  if (o->files_from && project_read_list(p, o->files_from, err)) {
    project_close(p);
    return -1;
  }
  project_tell_config(p);
  return 0;
}

void project_close(struct project *p)
{
  for (size_t i = 0; i < p->n; i++) {
    struct input *in = &p->inputs[i];
    if (in->parsed)
      kr_unit_release(&in->unit);
    kr_flags_release(&in->flags);
    for (size_t k = 0; k < in->n_archs; k++)
      free(in->archs[k]);
    free(in->archs);
    kr_bytes_release(&in->dropped);
    kr_markers_release(&in->markers);
    kr_diags_release(&in->diags);
    kr_source_release(&in->src);
    free(in->root);
    free(in->rel);
  }
  free(p->inputs);
  kr_parser_free(p->parser);
  free(p->cuda_path);
  *p = (struct project){0};
}

// Most flags that are left out change nothing here (-O3, -Xcompiler ...). Those
// that bring text or further flags can: the kernel might be judged as it is in
// another configuration, and that is said without being asked.
static void input_tell_dropped(const struct input *in)
{
  static const char *const matter[] = {"-include", "--include", "-imacros", "--options-file", "-optf", "@"};
  for (const char *line = in->dropped.data; *line;) {
    size_t n = strcspn(line, "\n");
    for (size_t i = 0; i < sizeof matter / sizeof *matter; i++)
      if (!strncmp(line, matter[i], strlen(matter[i]))) {
        kr_warn("%s: the flag `%.*s` is left out, because it is not among those that are safe; what "
                "it brings is missing",
                in->src.path, (int)n, line);
        break;
      }
    line += n + (line[n] == '\n');
  }
}

// The flags of a file: the database's, then those of the command line.
static int input_flags(struct input *in, const struct options *o, struct kr_err *err)
{
  char cwd[4096];
  if (!getcwd(cwd, sizeof cwd))
    return kr_err_errno(err, "cannot tell the current folder");
  if (o->build_dir) {
    int rc = kr_flags_from_database(&in->flags, o->build_dir, in->src.real, &in->dropped, err);
    if (rc < 0)
      return -1;
    if (rc > 0)
      kr_warn("%s: no entry in %s/compile_commands.json; parsed without its flags", in->src.path,
              o->build_dir);
  }
  kr_flags_filter(&in->flags, o->flags, o->n_flags, cwd, in->root, &in->dropped);
  if (o->verbose <= 0)
    input_tell_dropped(in);
  else if (in->dropped.len)
    kr_note("%s: flags left out, because they are not on the list of those that are safe:\n%s",
            in->src.path, in->dropped.data);
  // "-arch=sm_90", "--gpu-architecture=sm_90", "-gencode=arch=compute_90,code=sm_90"
  for (size_t i = 0; i < in->flags.n; i++)
    for (const char *s = in->flags.items[i]; (s = strstr(s, "sm_")); s += 3) {
      size_t n = 3 + strspn(s + 3, "0123456789af");
      in->archs = kr_xreallocarray(in->archs, in->n_archs + 1, sizeof *in->archs);
      in->archs[in->n_archs++] = kr_xstrndup(s, n);
    }
  return 0;
}

size_t input_number(const struct input *in, const struct kr_marker *m)
{
  size_t n = 0;
  for (const struct kr_marker *p = in->markers.items; p < m; p++)
    n += p->verb == KR_MARKER_OPTIMIZE;
  return n;
}

const struct kr_marker *input_numbered(const struct kr_markers *ms, size_t number)
{
  for (size_t i = 0; i < ms->n; i++)
    if (ms->items[i].verb == KR_MARKER_OPTIMIZE && number-- == 0)
      return &ms->items[i];
  return NULL;
}

void input_like(const struct input *in, const struct kr_bytes *text, struct input *out)
{
  *out = (struct input){.root = kr_xstrdup(in->root), .rel = kr_xstrdup(in->rel)};
  kr_source_from_text(&out->src, in->src.path, text->data, text->len);
  free(out->src.real);
  out->src.real = kr_xstrdup(in->src.real);
  kr_markers_scan(&out->src, &out->markers, &out->diags);
}

void input_forget(struct input *in)
{
  if (in->parsed)
    kr_unit_release(&in->unit);
  kr_markers_release(&in->markers);
  kr_diags_release(&in->diags);
  kr_source_release(&in->src);
  free(in->root);
  free(in->rel);
  *in = (struct input){0};
}

const struct kr_pkernel *input_kernel(const struct input *in, const struct kr_marker *m)
{
  for (size_t i = 0; i < in->unit.n_kernels; i++)
    if (in->unit.kernels[i].at.offset == m->target)
      return &in->unit.kernels[i];
  return NULL;
}

int input_parse(struct project *p, struct input *in, const struct options *o, struct kr_err *err)
{
  if (in->parsed)
    return 0;
  if (!p->parser)
    p->parser = kr_parser_new(&p->parser_options);
  if (!in->flagged && input_flags(in, o, err))
    return -1;
  in->flagged = true;
  struct kr_parse_request req = {.src = &in->src,
                                 .flags = (const char *const *)in->flags.items,
                                 .n_flags = in->flags.n,
                                 .project_dir = in->root,
                                 .arch = o->arch};
  // Only marked kernels are sliced; where a marker stands above a kernel is told by
  // its target before anything is parsed.
  size_t *marked = kr_xcalloc(in->markers.n + 1, sizeof *marked);
  req.slices = marked;
  for (size_t i = 0; i < in->markers.n; i++)
    if (in->markers.items[i].verb == KR_MARKER_OPTIMIZE)
      marked[req.n_slices++] = in->markers.items[i].target;
  // Types that instantiate() names, for the slices of templates.
  char **words = NULL;
  size_t n_words = 0;
  for (size_t i = 0; i < in->markers.n; i++)
    for (size_t j = 0; j < in->markers.items[i].n_instantiates; j++) {
      const struct kr_minstantiate *inst = &in->markers.items[i].instantiates[j];
      for (size_t a = 0; a < inst->n_args; a++)
        for (size_t v = 0; v < inst->args[a].n_values; v++) {
          words = kr_xreallocarray(words, n_words + 1, sizeof *words);
          words[n_words++] = inst->args[a].values[v];
        }
    }
  req.words = (const char *const *)words;
  req.n_words = n_words;
  if (kr_parser_unit(p->parser, &req, &in->unit, err)) {
    free(marked);
    free(words);
    return -1;
  }
  in->parsed = true;

  struct kr_parse_wants *wants = kr_xcalloc(in->markers.n, sizeof *wants);
  size_t n = 0, asked = 0;
  for (size_t i = 0; i < in->markers.n; i++) {
    const struct kr_marker *m = &in->markers.items[i];
    const struct kr_pkernel *k = m->verb == KR_MARKER_OPTIMIZE ? input_kernel(in, m) : NULL;
    if (!k)
      continue;
    assemble_wants(m, k, &wants[n]);
    asked += wants[n].n_names + wants[n].n_instances;
    n++;
  }
  int rc = 0;
  if (asked) {
    struct kr_unit again = {0};
    req.wants = wants;
    req.n_wants = n;
    rc = kr_parser_unit(p->parser, &req, &again, err);
    if (!rc) {
      kr_unit_release(&in->unit);
      in->unit = again;
    }
  }
  for (size_t i = 0; i < n; i++)
    assemble_wants_release(&wants[i]);
  free(wants);
  free(marked);
  free(words);
  return rc;
}
