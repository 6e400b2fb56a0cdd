#ifndef KR_DRIVER_PROMPT_TEXTS_H
#define KR_DRIVER_PROMPT_TEXTS_H

// The files of driver/prompts/, compiled in.

struct prompt_text {
  const char *name; // of the file below that folder, without .txt
  const char *text;
};

extern const struct prompt_text prompt_texts[];
extern const unsigned n_prompt_texts;

#endif
