#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

void log_at(enum log_level level, const char *event, const char *fmt, ...)
{
	char line[1024];
	size_t room = sizeof(line) - 1; /* the newline always fits */
	va_list ap;
	int n, m;

	n = snprintf(line, room, "<%d>%s%s", level, event, *fmt ? " " : "");
	va_start(ap, fmt);
	m = vsnprintf(line + n, room - (size_t)n, fmt, ap);
	va_end(ap);
	n += m < 0 ? 0 : m;
	if ((size_t)n > room - 1)
		n = (int)(room - 1);
	line[n++] = '\n';
	/* A log that cannot be written must not stop the work. */
	(void)!write(STDERR_FILENO, line, (size_t)n);
}

const char *log_topic(char buf[LOG_TOPIC_SIZE], struct span topic)
{
	size_t n = topic.len > 64 ? 64 : topic.len;
	char *p = buf;

	*p++ = '"';
	for (size_t i = 0; i < n; i++) {
		char c = topic.data[i];

		*p++ = c < ' ' || c > '~' || c == '"' ? '?' : c;
	}
	strcpy(p, topic.len > n ? "...\"" : "\"");
	return buf;
}
