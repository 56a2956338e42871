/*
 * symbols_serve.c - reads files of another user with that user's rights, and answers the collector.
 *
 * The files are hostile: code of theirs that takes this process over finds no descriptor but the socket, nothing of the
 * collector's memory, no capability, no other user's rights, and no way to write a file or to start a process.
 */
#include "collector/symbols/symbols_serve.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collector/base/grow.h"
#include "collector/symbols/symbols_answer.h"
#include "collector/symbols/symbols_internal.h"
#include "collector/symbols/symbols_owner.h"

#define SOCKET     0
#define NO_GROUP   65534
#define ORPHAN_MS  10000 /* between two looks whether the collector is there */
#define MEMORY     (UINT64_C(3) << 29)
#define SPACE      (UINT64_C(1) << 36) /* with mapped files */
#define CPU_S      300
#define STACK      (UINT64_C(8) << 20)
#define FILES_MOST 64

/* ---- rights ---- */

static bool drop_capabilities(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[2] = {{0}};

	return syscall(SYS_capset, &head, none) == 0;
}

/*
 * The owner's id, so that what reads a file of a user may do what that user may; no group, as a file's may be one that its
 * owner is not in. A user namespace may not have the owner: then this is none of the machine's root either.
 */
static bool become(uid_t owner)
{
	if (owner == (uid_t)-1 || owner == 0)
		return false;
	if (geteuid() == 0 &&
	    (setgroups(0, NULL) || setresgid(NO_GROUP, NO_GROUP, NO_GROUP) ||
	     setresuid(owner, owner, owner)) &&
	    errno != EPERM && errno != EINVAL)
		return false;
	return drop_capabilities() && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
}

static bool set_limit(__rlimit_resource_t what, rlim_t most)
{
	struct rlimit now;

	if (getrlimit(what, &now))
		return false;
	if (now.rlim_max < most)
		most = now.rlim_max;
	return setrlimit(what, &(struct rlimit){most, most}) == 0;
}

/* Of AddressSanitizer, whose shadow is larger than any limit: NULL where nothing of the program was built with it. */
extern void __asan_init(void) __attribute__((weak));

static bool set_limits(void)
{
	if (!__asan_init && (!set_limit(RLIMIT_DATA, MEMORY) || !set_limit(RLIMIT_AS, SPACE)))
		return false;
	return set_limit(RLIMIT_CPU, CPU_S) && set_limit(RLIMIT_STACK, STACK) &&
	       set_limit(RLIMIT_NOFILE, FILES_MOST) && set_limit(RLIMIT_CORE, 0) &&
	       set_limit(RLIMIT_FSIZE, 0) && set_limit(RLIMIT_NPROC, 0) &&
	       set_limit(RLIMIT_MSGQUEUE, 0);
}

/* ---- questions ---- */

struct server {
	struct symbols *symbols;
	struct symbols_module **file;
	size_t cnt, cap;
	uint8_t answer[SYMBOLS_ANSWER_BYTES];
	struct symbols_frame frame[SYMBOLS_FRAMES_MAX + 1];
};

/* *fd: that of the message, -1: none. False: the collector has gone. */
static bool hear(struct symbols_request *r, int *fd)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec part = {r, sizeof(*r)};
	struct msghdr m = {.msg_iov = &part,
			   .msg_iovlen = 1,
			   .msg_control = control.bytes,
			   .msg_controllen = sizeof(control.bytes)};
	struct pollfd p = {.fd = SOCKET, .events = POLLIN};
	pid_t collector = getppid();
	struct cmsghdr *head;

	*fd = -1;
	/* A process that the collector has forked may have its end of the socket. */
	while (poll(&p, 1, ORPHAN_MS) <= 0)
		if (getppid() != collector)
			return false;
	if (recvmsg(SOCKET, &m, MSG_CMSG_CLOEXEC) != (ssize_t)sizeof(*r))
		return false;
	head = CMSG_FIRSTHDR(&m);
	if (head && head->cmsg_type == SCM_RIGHTS)
		memcpy(fd, CMSG_DATA(head), sizeof(*fd));
	return true;
}

static bool open_file(struct server *v, const struct symbols_request *r, int fd,
		      struct symbols_answer *answer)
{
	struct symbols_module *m = symbols_module_alone(v->symbols, r->path, r->id, r->id_len, fd);

	if (!m || r->file != v->cnt || !grow(&v->file, v->cnt, &v->cap, sizeof(*v->file)))
		return false;
	v->file[v->cnt++] = m;
	answer->state = symbols_module_state(v->symbols, m);
	return true;
}

static bool serve(struct server *v, const struct symbols_request *r, int fd)
{
	struct symbols_answer answer = {.what = r->what, .file = r->file};
	size_t len;

	if (r->what == SYMBOLS_OPEN) {
		if (!open_file(v, r, fd, &answer))
			return false;
	} else if (r->file < v->cnt) {
		answer.cnt = (uint32_t)symbols_at(v->symbols, v->file[r->file], r->address,
						  v->frame, SYMBOLS_FRAMES_MAX + 1);
	} else {
		return false;
	}
	len = symbols_answer_write(v->answer, sizeof(v->answer), &answer, v->frame);
	return send(SOCKET, v->answer, len, MSG_NOSIGNAL) == (ssize_t)len;
}

int symbols_serve(uid_t owner)
{
	struct server *v = calloc(1, sizeof(*v));
	struct symbols_request r;
	int fd;

	close_range(1 + STDERR_FILENO, ~0u, 0);
	if (!v || chdir("/") || !become(owner) || !set_limits())
		return 1;
	symbols_owner_serve(owner);
	v->symbols = symbols_open();
	if (!v->symbols)
		return 1;
	/* Nothing is downloaded from here: no process can be started. */
	symbols_server(v->symbols)->left_ms = 0;
	while (hear(&r, &fd) && serve(v, &r, fd))
		;
	return 0;
}
