#include "keep.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../evaluator/base/log.h"
#include "../evaluator/base/mem.h"
#include "exit.h"
#include "reward.h"
#include "table.h"
#include "talk.h"

static int keep_export_open(struct keep *k, struct kr_err *err)
{
  const char *path = k->options->export_to;
  if (!path)
    return 0;
  // In its place only when it is whole: a pipe or a device is written as it comes.
  k->export_temp = kr_xasprintf("%s.%ld.tmp", path, (long)getpid());
  k->export = fopen(k->export_temp, "wxe");
  return k->export ? 0 : kr_err_errno(err, "cannot write %s", k->export_temp);
}

int keep_open(struct keep *k, const struct options *o, const struct model *m, struct kr_err *err)
{
  enum model_keeping keeping = model_keeping(m);
  struct kr_err why = {""};
  *k = (struct keep){.model = m, .options = o};
  if (keep_export_open(k, err))
    return -1;
  if (!o->store && keeping < MODEL_KEEP)
    return 0;
  char *path = o->store ? kr_xstrdup(o->store) : store_default_path(&why);
  int rc = path ? store_open(path, false, &k->store, &why) : -1;
  free(path);
  if (rc && !o->store && keeping != MODEL_KEEP_NEEDED) {
    kr_warn("%s; nothing of this run is kept", why.text);
    rc = 0;
  }
  if (rc)
    *err = why;
  return rc;
}

int keep_search(struct keep *k, struct refine *r, const char *backend, struct kr_err *err)
{
  const struct options *o = k->options;
  const struct kr_contract *c = r->task.contract;
  const struct kr_reference *ref = r->task.reference;
  r->search = NULL;
  if (!k->store)
    return 0;
  struct kr_bytes text;
  kr_bytes_init(&text, 1 << 16);
  kr_bytes_addf(&text, "trajectories=%u turns=%u beam=%u:%u", o->trajectories, o->turns,
                o->beam_keep, o->beam_every);
  if (o->seed_given)
    kr_bytes_addf(&text, " seed=%llu", (unsigned long long)o->seed);
  if (prompt_set_identity(r->task.templates))
    kr_bytes_addf(&text, " %s", prompt_set_identity(r->task.templates));
  char *device = kr_xasprintf("%s %s%s%s", ref->device.name, ref->device.arch,
                              ref->modelled ? ", modelled " : "",
                              ref->modelled ? ref->model_gpu : "");
  struct store_key key = {.contract = kr_contract_hash(c),
                          .kernel = c->kernel,
                          .file = c->file,
                          .model = model_identity(k->model),
                          .options = text.data,
                          .backend = backend,
                          .device = device};
  enum store_begin begin = model_keeping(k->model) == MODEL_KEEP_RECORD ? STORE_ANEW
                           : o->again                                   ? STORE_AGAIN
                                                                        : STORE_CONTINUE;
  int rc = store_search_open(k->store, &key, begin, r->options.stop, &k->search, err);
  kr_bytes_release(&text);
  free(device);
  r->search = k->search;
  return rc;
}

void keep_searched(struct keep *k, struct refine *r, const struct refine_result *result)
{
  size_t kept = 0;
  store_search_close(k->search);
  r->search = k->search = NULL;
  for (size_t i = 0; i < result->n; i++)
    kept += result->turns[i].from_store;
  if (kept)
    talk_say("%s: %zu of %zu turns were kept of an earlier run", r->task.contract->kernel, kept,
             result->n);
  if (!k->export)
    return;
  struct kr_bytes lines;
  kr_bytes_init(&lines, SIZE_MAX / 2);
  reward_export(result, r->task.contract, &lines);
  fwrite(lines.data, 1, lines.len, k->export); // an error stays until keep_close()
  kr_bytes_release(&lines);
}

int keep_close(struct keep *k, struct kr_err *err)
{
  int rc = 0;
  store_search_close(k->search);
  store_close(k->store);
  if (k->export && !k->begun) {
    // Nothing was attempted: what an earlier run exported stays.
    fclose(k->export);
    unlink(k->export_temp);
  } else if (k->export) {
    bool bad = ferror(k->export);
    errno = 0;
    bad |= fflush(k->export) || fsync(fileno(k->export));
    bad |= fclose(k->export) != 0;
    if (bad || rename(k->export_temp, k->options->export_to)) {
      rc = kr_err_errno(err, "cannot write %s", k->options->export_to);
      unlink(k->export_temp);
    }
  }
  free(k->export_temp);
  *k = (struct keep){0};
  return rc;
}

// --- --explain ---

struct explain {
  const struct options *options;
  struct store *store;
  size_t n;
};

// Foreign text, cut to its first line unless -v.
static void explain_text(const struct explain *x, const char *text, struct kr_bytes *out)
{
  size_t len = x->options->verbose > 0 ? strlen(text) : strcspn(text, "\n");
  while (len && strchr(" \t\r\n", text[len - 1]))
    len--;
  for (size_t i = 0; i < len;) {
    size_t line = strcspn(text + i, "\n");
    if (line > len - i)
      line = len - i;
    if (i)
      kr_bytes_adds(out, "\n        ");
    talk_escape(out, text + i, line, false);
    i += line + 1;
  }
  if (text[len] && text[len + strspn(text + len, " \t\r\n")])
    kr_bytes_adds(out, " ...");
}

static void explain_turn(const struct explain *x, const struct store_turn *t, struct kr_bytes *out)
{
  struct kr_verdict v;
  struct kr_err err;
  kr_bytes_addf(out, "  %u.%u", t->trajectory, t->turn);
  if (t->parent_turn && t->parent_trajectory != t->trajectory)
    kr_bytes_addf(out, " (after %u.%u)", t->parent_trajectory, t->parent_turn);
  kr_bytes_adds(out, ": ");
  if (!t->verdict || !t->told) {
    kr_bytes_adds(out, t->reply ? "answered, not judged yet\n" : "asked, not answered yet\n");
    return;
  }
  kr_verdict_init(&v);
  if (kr_verdict_from_json(&v, t->verdict, strlen(t->verdict), &err)) {
    kr_bytes_adds(out, "its verdict is of another version of this program\n");
    return;
  }
  kr_bytes_addf(out, "%s, %s", kr_stage_name(v.stage), kr_status_name(v.status));
  if (v.speedup > 0) {
    kr_bytes_addf(out, "%s ", v.modelled ? ", modelled" : ",");
    table_ratio(&v, out);
  }
  kr_bytes_adds(out, ": ");
  explain_text(x, v.status != KR_STATUS_OK && v.log ? v.log : t->told, out);
  kr_bytes_addc(out, '\n');
  kr_verdict_release(&v);
}

static bool explain_wants(const struct options *o, const char *file)
{
  bool wants = !o->n_files;
  for (size_t i = 0; i < o->n_files; i++) {
    // A file is kept as its project names it; any path to it ends so.
    size_t n = strlen(file), m = strlen(o->files[i]);
    wants |= !strcmp(o->files[i], file) ||
             (m > n && o->files[i][m - n - 1] == '/' && !strcmp(o->files[i] + m - n, file)) ||
             (n > m && file[n - m - 1] == '/' && !strcmp(file + n - m, o->files[i]));
  }
  return wants;
}

static int explain_search(void *arg, const struct store_found *f, struct kr_err *err)
{
  struct explain *x = arg;
  struct store_turns turns;
  struct kr_bytes b;
  if (!explain_wants(x->options, f->file))
    return 0;
  if (store_turns_of(x->store, f->id, &turns, err))
    return -1;
  kr_bytes_init(&b, KR_BYTES_DEFAULT_MAX);
  if (x->n++)
    kr_bytes_addc(&b, '\n');
  const char *const heads[] = {f->kernel, " in ", f->file, ", by ", f->model, ", judged on ",
                               f->backend, " ", f->device, ", ", f->options, NULL};
  for (size_t i = 0; heads[i]; i++)
    talk_escape(&b, heads[i], strlen(heads[i]), false);
  kr_bytes_addc(&b, '\n');
  for (size_t i = 0; i < turns.n; i++)
    explain_turn(x, &turns.items[i], &b);
  kr_bytes_adds(&b, "  ");
  if (!turns.n)
    kr_bytes_adds(&b, "no turn yet");
  else if (!f->ended)
    kr_bytes_adds(&b, "it is not at its end; the same command goes on with it");
  else
    kr_bytes_addf(&b, "ended: %s", f->ended);
  if (f->why) {
    kr_bytes_adds(&b, ": ");
    talk_escape(&b, f->why, strlen(f->why), false);
  }
  kr_bytes_addc(&b, '\n');
  talk_out(b.data, b.len);
  kr_bytes_release(&b);
  store_turns_release(&turns);
  return 0;
}

int keep_explain(const struct options *o)
{
  struct explain x = {.options = o};
  struct kr_err err = {""};
  char *path = o->store ? kr_xstrdup(o->store) : store_default_path(&err);
  int status = EXIT_USAGE;
  if (path && !store_open(path, true, &x.store, &err) &&
      !store_each(x.store, o->explain, explain_search, &x, &err)) {
    status = EXIT_DONE;
    if (!x.n)
      talk_say("nothing is kept of a kernel `%s` in %s", o->explain, path);
  } else {
    kr_error("%s", err.text);
  }
  store_close(x.store);
  free(path);
  return status;
}
