/*
 * One line per event on standard error: a priority of syslog in angle
 * brackets (systemd, s6 and procd take it, see sd-daemon(3)), a stable event
 * name, then key=value.  Only flow/ and cmd/ log.
 *
 * Never a payload, never a message of a foreign library that could quote one.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include "base/defs.h"
#include "base/span.h"

/* The numbers of syslog(3). */
enum log_level { LOG_LEVEL_ERR = 3, LOG_LEVEL_WARN = 4, LOG_LEVEL_INFO = 6 };

void log_at(enum log_level level, const char *event, const char *fmt, ...)
	PRINTF(3, 4);

#define log_err(event, ...)  log_at(LOG_LEVEL_ERR, event, __VA_ARGS__)
#define log_warn(event, ...) log_at(LOG_LEVEL_WARN, event, __VA_ARGS__)
#define log_info(event, ...) log_at(LOG_LEVEL_INFO, event, __VA_ARGS__)

/* Room for a quoted topic: 64 bytes of it, quotes, an ellipsis and NUL. */
#define LOG_TOPIC_SIZE 80

/* Quotes and cuts a topic for a line; bytes outside printable ASCII are '?'. */
const char *log_topic(char buf[LOG_TOPIC_SIZE], struct span topic);

#endif
