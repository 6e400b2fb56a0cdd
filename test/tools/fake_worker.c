// A kevin-worker that misbehaves on request. It is started under any name NAME;
// NAME.plan holds a line for each start (the last one repeats, NAME.count counts):
//
//   ACTION ACTION,ACTION,...     for the open, then for one judgement after another
//
// and NAME.open, NAME.judge the answers of a well-behaved one. Actions: ok,
// error, lost:WHAT, exit, kill, stop, long, cut:N, flip:N, hold:N (N bytes, then it stops); "STAGE!action" puts
// the stage on the board first, "@ATTEMPT!action" the attempt.
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "evaluator/wire.h"

static struct wire_board *board;

static char *slurp(const char *base, const char *suffix)
{
  static char text[1 << 16];
  char path[4096];
  snprintf(path, sizeof path, "%s.%s", base, suffix);
  FILE *f = fopen(path, "r");
  size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
  text[n] = '\0';
  if (f)
    fclose(f);
  return strdup(text);
}

static int count_start(const char *base)
{
  char path[4096];
  char *before = slurp(base, "count");
  int n = atoi(before);
  free(before);
  snprintf(path, sizeof path, "%s.count", base);
  FILE *f = fopen(path, "w");
  if (!f)
    _exit(5);
  fprintf(f, "%d", n + 1);
  fclose(f);
  return n;
}

static bool hold; // stop in the middle of an answer instead of ending there

static void send_raw(const char *text, size_t len, long cut, long flip)
{
  char *all = malloc(len + 4);
  all[0] = (char)(len >> 24), all[1] = (char)(len >> 16), all[2] = (char)(len >> 8);
  all[3] = (char)len;
  memcpy(all + 4, text, len);
  if (flip >= 0 && (size_t)flip < len + 4)
    all[flip] ^= 0x55;
  size_t n = cut >= 0 && (size_t)cut < len + 4 ? (size_t)cut : len + 4;
  if (write(WIRE_SOCKET, all, n) < 0)
    _exit(9);
  free(all);
  if (cut >= 0 && hold)
    raise(SIGSTOP);
  if (cut >= 0)
    _exit(0);
}

static void act(const char *action, const char *answer)
{
  static const struct {
    const char *name;
    unsigned stage;
  } stages[] = {{"compile!", KR_STAGE_COMPILE + 1}, {"smoke!", KR_STAGE_SMOKE + 1},
                {"check!", KR_STAGE_CHECK + 1}, {"time!", KR_STAGE_TIME + 1}};
  for (size_t i = 0; i < sizeof stages / sizeof *stages; i++) {
    if (!strncmp(action, stages[i].name, strlen(stages[i].name))) {
      atomic_store(&board->stage, stages[i].stage);
      action += strlen(stages[i].name);
    }
  }
  if (*action == '@') {
    const char *end = strchr(action, '!');
    snprintf(board->attempt, sizeof board->attempt, "%.*s", (int)(end - action - 1), action + 1);
    action = end + 1;
  }
  char text[1024];
  if (!strcmp(action, "ok")) {
    atomic_store(&board->stage, 0);
    send_raw(answer, strlen(answer), -1, -1);
  } else if (!strcmp(action, "error")) {
    snprintf(text, sizeof text, "{\"ok\":false,\"error\":\"no GPU today\",\"lost\":\"\"}");
    send_raw(text, strlen(text), -1, -1);
  } else if (!strncmp(action, "lost:", 5)) {
    snprintf(text, sizeof text, "{\"ok\":false,\"error\":\"it faults\",\"lost\":\"%.100s\"}", action + 5);
    for (char *p = text; *p; p++)
      *p = *p == '_' ? ' ' : *p;
    send_raw(text, strlen(text), -1, -1);
  } else if (!strncmp(action, "cut:", 4)) {
    send_raw(answer, strlen(answer), atol(action + 4), -1);
  } else if (!strncmp(action, "hold:", 5)) {
    hold = true;
    send_raw(answer, strlen(answer), atol(action + 5), -1);
  } else if (!strncmp(action, "flip:", 5)) {
    atomic_store(&board->stage, 0);
    send_raw(answer, strlen(answer), -1, atol(action + 5));
  } else if (!strcmp(action, "long")) {
    if (write(WIRE_SOCKET, "\x7f\xff\xff\xff{}", 6) < 0)
      _exit(9);
  } else if (!strcmp(action, "kill")) {
    raise(SIGKILL);
  } else if (!strcmp(action, "stop")) {
    raise(SIGSTOP);
  } else {
    _exit(7);
  }
}

int main(int argc, char **argv)
{
  (void)argc;
  const char *base = argv[0];
  board = mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE, MAP_SHARED, WIRE_BOARD, 0);
  if (board == MAP_FAILED)
    return 8;
  // Nothing but the allow-listed names may have come along, and no descriptor.
  if (getenv("OPENAI_API_KEY") || fcntl(WIRE_BOARD + 1, F_GETFD) >= 0)
    return 6;
  int start = count_start(base);
  char *plan = slurp(base, "plan"), *line = plan, *open_answer = slurp(base, "open");
  char *judge_answer = slurp(base, "judge");
  while (start-- > 0 && strchr(line, '\n') && strchr(line, '\n')[1])
    line = strchr(line, '\n') + 1;
  line[strcspn(line, "\n")] = '\0';
  char *first = strtok(line, " "), *rest = strtok(NULL, " ");
  struct kr_bytes message;
  kr_bytes_init(&message, WIRE_MAX);
  char *action = first;
  const char *answer = open_answer;
  while (action && wire_receive(WIRE_SOCKET, &message, -1) == WIRE_OK) {
    act(action, answer);
    answer = judge_answer;
    action = rest;
    if (rest && strchr(rest, ',')) {
      rest = strchr(rest, ',');
      *rest++ = '\0';
    }
  }
  kr_bytes_release(&message);
  free(plan);
  free(open_answer);
  free(judge_answer);
  return 0;
}
