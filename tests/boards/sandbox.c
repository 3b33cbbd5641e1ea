/*
 * Runs a program as the unit does: another user, no new privileges, a file
 * system that is read only but for $SANDBOX_RW, and the unit's filter of system
 * calls, whose names come one a line from $SANDBOX_CALLS.  What is not among
 * them fails with EPERM, as it would there, and is written to $SANDBOX_DENIED
 * by a process that stands outside.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <poll.h>
#include <sched.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static void die(const char *what)
{
	perror(what);
	exit(99);
}

static void need(bool ok, const char *what)
{
	if (!ok)
		die(what);
}

/* One message whose only content is the descriptor @fd. */
static void pass_fd(int through, int fd)
{
	char c = 0, room[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec iov = { &c, 1 };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1,
			    .msg_control = room, .msg_controllen = sizeof(room) };
	struct cmsghdr *h = CMSG_FIRSTHDR(&m);

	h->cmsg_level = SOL_SOCKET;
	h->cmsg_type = SCM_RIGHTS;
	h->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(h), &fd, sizeof(int));
	need(sendmsg(through, &m, 0) == 1, "sendmsg");
}

static int take_fd(int through)
{
	char c, room[CMSG_SPACE(sizeof(int))];
	struct iovec iov = { &c, 1 };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1,
			    .msg_control = room, .msg_controllen = sizeof(room) };
	int fd;

	if (recvmsg(through, &m, 0) != 1 || !CMSG_FIRSTHDR(&m))
		_exit(99);
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(int));
	return fd;
}

/* Stays until nobody is left under the filter. */
static void stand_outside(int through, const char *denied)
{
	struct seccomp_notif *q = NULL;
	struct seccomp_notif_resp *r = NULL;
	int fd = take_fd(through);
	struct pollfd p = { .fd = fd, .events = POLLIN };

	for (int i = 0; i < 3; i++)	/* whoever reads them need not wait */
		close(i);
	seccomp_notify_alloc(&q, &r);
	while (poll(&p, 1, -1) >= 0 && (p.revents & POLLIN)) {
		char line[128];
		int log, n;

		memset(q, 0, sizeof(*q));
		if (seccomp_notify_receive(fd, q))
			continue;
		n = snprintf(line, sizeof(line), "%u %s\n", q->pid,
			     seccomp_syscall_resolve_num_arch(q->data.arch,
							      q->data.nr));
		log = open(denied, O_WRONLY | O_CREAT | O_APPEND, 0600);
		(void)!write(log, line, (size_t)n);
		close(log);
		r->id = q->id;
		r->val = 0;
		r->error = -EPERM;
		r->flags = 0;
		seccomp_notify_respond(fd, r);
	}
	_exit(0);
}

/* ProtectSystem=strict: all of it read only, then the one folder again. */
static void make_read_only(const char *rw)
{
	struct mount_attr ro = { .attr_set = MOUNT_ATTR_RDONLY };
	struct mount_attr writable = { .attr_clr = MOUNT_ATTR_RDONLY };

	need(!unshare(CLONE_NEWNS), "unshare");
	need(!mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), "private");
	need(!mount(rw, rw, NULL, MS_BIND, NULL), rw);
	need(!syscall(SYS_mount_setattr, AT_FDCWD, "/", AT_RECURSIVE, &ro,
		      sizeof(ro)), "mount_setattr /");
	need(!syscall(SYS_mount_setattr, AT_FDCWD, rw, 0, &writable,
		      sizeof(writable)), "mount_setattr");
}

static void put_line(int proc_fd, const char *path, const char *line)
{
	int fd = openat(proc_fd, path, O_WRONLY);

	need(fd >= 0 && write(fd, line, strlen(line)) > 0, path);
	close(fd);
}

/*
 * PrivateUsers=yes, and a user that is not root: what is root's outside, as
 * the tests are, belongs to an ordinary user inside.
 */
static void become_user(int proc_fd)
{
	need(!unshare(CLONE_NEWUSER), "unshare");
	put_line(proc_fd, "self/setgroups", "deny");
	put_line(proc_fd, "self/uid_map", "1000 0 1");
	put_line(proc_fd, "self/gid_map", "1000 0 1");
}

static int load_filter(const char *calls)
{
	scmp_filter_ctx f = seccomp_init(SCMP_ACT_NOTIFY);
	FILE *in = fopen(calls, "r");
	char name[128];

	need(f && in, calls);
	while (fscanf(in, "%127s", name) == 1) {
		int nr = seccomp_syscall_resolve_name(name);

		if (nr != __NR_SCMP_ERROR)
			(void)seccomp_rule_add(f, SCMP_ACT_ALLOW, nr, 0);
	}
	fclose(in);
	need(!seccomp_load(f), "seccomp_load");
	return seccomp_notify_fd(f);
}

int main(int argc, char **argv)
{
	const char *rw = getenv("SANDBOX_RW"), *calls = getenv("SANDBOX_CALLS");
	const char *denied = getenv("SANDBOX_DENIED");
	int pair[2], proc_fd, fd;

	if (argc < 2 || !rw || !calls || !denied) {
		fprintf(stderr, "usage: sandbox PROGRAM [ARGUMENT]...\n");
		return 64;
	}
	need(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), "pair");
	if (!fork()) {
		if (fork())
			_exit(0);	/* no child of the program's */
		close(pair[0]);
		stand_outside(pair[1], denied);
	}
	close(pair[1]);
	proc_fd = open("/proc", O_PATH | O_CLOEXEC);	/* as it was: writable */
	make_read_only(rw);
	become_user(proc_fd);
	for (int cap = 0; cap < 64; cap++)
		(void)prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
	need(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs");
	fd = load_filter(calls);
	pass_fd(pair[0], fd);
	close(fd);
	execv(argv[1], argv + 1);
	die(argv[1]);
}
