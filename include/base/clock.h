/*
 * The clocks of the machine.  Ages and waits never use the wall clock: a
 * gateway boots in 1970, jumps by years and falls back by weeks.
 */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

/* CLOCK_BOOTTIME in milliseconds: never jumps, counts suspended time. */
int64_t clock_boot_ms(void);

/* CLOCK_REALTIME in milliseconds since 1970-01-01T00:00Z: for people only. */
int64_t clock_wall_ms(void);

/* Whether the kernel believes the wall clock (adjtimex(2)); EPERM is no. */
bool clock_synchronised(void);

#define CLOCK_BOOT_ID_SIZE 37

/* The kernel's random id of this boot, NUL-terminated; "" if unreadable. */
void clock_boot_id(char ret_id[CLOCK_BOOT_ID_SIZE]);

#define CLOCK_ISO_SIZE 32

/* Local ISO 8601 with offset, or with @utc in UTC and 'Z'. */
const char *clock_iso(char buf[CLOCK_ISO_SIZE], int64_t wall_ms, bool utc);

#endif
