#include "os/notify.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/defs.h"

void notify_send(const char *state)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	AUTO_CLOSE int fd = -1;
	size_t n = path ? strlen(path) : 0;
	socklen_t len;

	if (n < 2 || n >= sizeof(sa.sun_path))
		return;
	memcpy(sa.sun_path, path, n);
	if (sa.sun_path[0] == '@') /* abstract */
		sa.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n);
	/* Nobody to tell is no error. */
	(void)sendto(fd, state, strlen(state), MSG_NOSIGNAL,
		     (struct sockaddr *)&sa, len);
}

int64_t notify_watchdog_ms(void)
{
	const char *usec = getenv("WATCHDOG_USEC");

	return usec ? strtoll(usec, NULL, 10) / 2000 : 0;
}
