/* The service manager's socket, sd_notify(3); silent where there is none. */
#ifndef OS_NOTIFY_H
#define OS_NOTIFY_H

#include <stdint.h>

/* @state as sd_notify(3) has it: "READY=1", "STATUS=...", "STOPPING=1". */
void notify_send(const char *state);

/* How often "WATCHDOG=1" is wanted, in milliseconds; 0: not at all. */
int64_t notify_watchdog_ms(void);

#endif
