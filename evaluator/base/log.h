#ifndef KR_BASE_LOG_H
#define KR_BASE_LOG_H

// Talk. Libraries say things through here; only a main() decides what happens
// to them, by installing a sink. Without a sink nothing is printed. Texts carry
// no newline at the end.

enum kr_log_level { KR_LOG_ERROR, KR_LOG_WARN, KR_LOG_NOTE, KR_LOG_DEBUG };

typedef void kr_log_sink(enum kr_log_level level, const char *stage, const char *text, void *arg);

// `stages` is a comma-separated list for KR_LOG_DEBUG ("extract,compile,verify,
// time,model,cache", or "all"), or NULL for none. The strings are borrowed for
// the life of the process.
void kr_log_install(kr_log_sink *sink, void *arg, const char *stages);

void kr_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void kr_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void kr_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
// Dropped unless `stage` is among the installed stages.
void kr_debug(const char *stage, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
