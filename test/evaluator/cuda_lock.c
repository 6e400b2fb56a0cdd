// RUN: %unit/cuda_lock %t
// REQUIRES: cuda-build
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "evaluator/base/mem.h"
#include "evaluator/cuda/internal.h"
#include "unit.h"

static const char uuid[] = "GPU-00000000-0000-0000-0000-000000000000";

// Another process that takes the lock, says so, and keeps it until it is killed.
struct other {
  pid_t pid;
  int says;
};

static struct other other_takes(bool (*take)(struct gpu_lock *l))
{
  int out[2];
  CHECK(pipe(out) == 0);
  struct other o = {fork(), out[0]};
  if (!o.pid) {
    struct gpu_lock l = {0};
    lock_open(&l, uuid);
    if (take(&l) && write(out[1], "x", 1) == 1)
      pause();
    _exit(1);
  }
  close(out[1]);
  return o;
}

static bool other_has_it(const struct other *o, int timeout_ms)
{
  struct pollfd p = {.fd = o->says, .events = POLLIN};
  return poll(&p, 1, timeout_ms) == 1 && (p.revents & POLLIN);
}

static void other_goes(struct other *o)
{
  int status = -1;
  kill(o->pid, SIGKILL);
  waitpid(o->pid, &status, 0);
  CHECK(WIFSIGNALED(status));
  close(o->says);
}

static void test_who_times_is_alone(void)
{
  struct gpu_lock l = {0};
  lock_open(&l, uuid);
  CHECK(lock_alone(&l));
  struct other times = other_takes(lock_alone), works = other_takes(lock_shared);
  CHECK(!other_has_it(&times, 100));
  CHECK(!other_has_it(&works, 100));
  lock_leave(&l);
  CHECK(other_has_it(&times, 5000) || other_has_it(&works, 5000));
  lock_close(&l);
  // Each holds it until it goes.
  if (other_has_it(&times, 100)) {
    CHECK(!other_has_it(&works, 100));
    other_goes(&times);
    CHECK(other_has_it(&works, 5000));
    other_goes(&works);
  } else {
    other_goes(&works);
    CHECK(other_has_it(&times, 5000));
    other_goes(&times);
  }
}

static void test_who_checks_is_not(void)
{
  struct gpu_lock l = {0};
  lock_open(&l, uuid);
  CHECK(lock_shared(&l));
  struct other works = other_takes(lock_shared);
  CHECK(other_has_it(&works, 5000));
  other_goes(&works);
  lock_close(&l);
}

// One that waits to time comes before all that come after it.
static void test_work_does_not_starve_timing(void)
{
  struct gpu_lock l = {0};
  lock_open(&l, uuid);
  CHECK(lock_shared(&l));
  struct other times = other_takes(lock_alone);
  CHECK(!other_has_it(&times, 200)); // it waits inside the gate now
  struct other works = other_takes(lock_shared);
  CHECK(!other_has_it(&works, 100));
  lock_leave(&l);
  CHECK(other_has_it(&times, 5000));
  CHECK(!other_has_it(&works, 100));
  other_goes(&times);
  CHECK(other_has_it(&works, 5000));
  other_goes(&works);
  lock_close(&l);
}

static void note_wait(void *arg, bool waits)
{
  int *n = arg;
  *n += waits ? 1 : 100;
}

// Who times out processes hears of the wait, and of none where nothing was in the way.
static void test_a_wait_is_said(void)
{
  int n = 0;
  struct gpu_lock l = {.on_wait = note_wait, .on_wait_arg = &n};
  lock_open(&l, uuid);
  CHECK(lock_alone(&l));
  lock_leave(&l);
  CHECK(lock_shared(&l));
  lock_leave(&l);
  CHECK_INT(n, 0);
  struct other times = other_takes(lock_alone);
  CHECK(other_has_it(&times, 5000));
  pid_t pid = fork();
  if (!pid) {
    struct timespec t = {0, 300000000};
    nanosleep(&t, NULL);
    kill(times.pid, SIGKILL);
    _exit(0);
  }
  CHECK(lock_shared(&l));
  CHECK_INT(n, 101);
  lock_close(&l);
  waitpid(pid, NULL, 0);
  other_goes(&times);
}

static void test_a_link_is_not_followed(const char *folder)
{
  char *path = kr_xasprintf("%s/kevin-rewrite-%s.lock", folder, uuid);
  char *elsewhere = kr_xasprintf("%s/elsewhere", folder);
  struct gpu_lock l = {0};
  CHECK(access(path, F_OK) == 0);
  unlink(path);
  unlink(elsewhere);
  CHECK(symlink(elsewhere, path) == 0);
  lock_open(&l, uuid);
  CHECK(!lock_alone(&l));
  CHECK(!lock_shared(&l));
  lock_leave(&l);
  lock_close(&l);
  CHECK(access(elsewhere, F_OK) != 0);
  unlink(path);
  free(path);
  free(elsewhere);
}

int main(int argc, char **argv)
{
  if (argc < 2)
    return 2;
  mkdir(argv[1], 0700);
  setenv("KEVIN_LOCK_DIR", argv[1], 1);
  test_who_times_is_alone();
  test_who_checks_is_not();
  test_work_does_not_starve_timing();
  test_a_wait_is_said();
  test_a_link_is_not_followed(argv[1]);
  return unit_end();
}
