#include "os/signals.h"

#include <signal.h>
#include <sys/signalfd.h>

enum err signals_open(int *ret_fd)
{
	sigset_t set;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	signal(SIGPIPE, SIG_IGN);
	if (sigprocmask(SIG_BLOCK, &set, NULL))
		return ERR_IO;
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0)
		return ERR_IO;
	*ret_fd = fd;
	return OK;
}

void signals_take(int fd, struct signals *ret_s)
{
	struct signalfd_siginfo si;

	*ret_s = (struct signals){ 0 };
	while (read(fd, &si, sizeof(si)) == sizeof(si)) {
		if (si.ssi_signo == SIGHUP)
			ret_s->reload = true;
		else
			ret_s->stop = true;
	}
}
