/* session_socket.c - connects to the collector, and sends it messages. System calls are direct. */
#include "preload/core/session_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "preload/base/state.h"
#include "preload/core/session_folder.h"
#include "preload/wire/sys.h"

/* The collector, its keeper or `recover`: not what another user has put there. */
static bool is_trusted(long sock)
{
	struct ucred listener = {.uid = UINT32_MAX};
	socklen_t len = sizeof(listener);

	return sl_sys5(SYS_getsockopt, sock, SOL_SOCKET, SO_PEERCRED, &listener, &len) == 0 &&
	       sl_session_is_of(listener.uid);
}

long sl_session_connect(unsigned limit_ms, bool is_checked)
{
	static const char name[] = "/socket";
	const char *variable = strchr(sl_global.session_env, '=') + 1;
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	uint64_t device, inode;
	size_t len = sl_session_parse(variable, &device, &inode);
	struct {
		long sec, usec;
	} limit = {limit_ms / 1000, limit_ms % 1000 * 1000L};
	long fd, err;

	if (len + sizeof(name) > sizeof(addr.sun_path))
		return -ENAMETOOLONG;
	/* By its path, as no call takes a folder: when the folder goes in between, the kernel still names the listener. */
	err = is_checked ? 0 : sl_session_check();
	if (err < 0)
		return err;
	memcpy(addr.sun_path, variable, len);
	memcpy(addr.sun_path + len, name, sizeof(name));
	fd = sl_sys3(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return fd;
	if (limit_ms)
		sl_sys5(SYS_setsockopt, fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	err = sl_sys3(SYS_connect, fd, &addr, sizeof(addr));
	if (err == 0 && !is_trusted(fd))
		err = -EPERM;
	if (err < 0) {
		sl_sys1(SYS_close, fd);
		return err;
	}
	return fd;
}

static uint64_t pid_namespace(void)
{
	struct stat st = {0};

	return sl_sys4(SYS_newfstatat, AT_FDCWD, "/proc/self/ns/pid", &st, 0) < 0 ? 0 : st.st_ino;
}

long sl_send_hello(long sock, enum sl_hello_kind kind, uint32_t range, int fd)
{
	struct sl_hello hello = {.magic = SL_HELLO_MAGIC,
				 .wire_version = SL_WIRE_VERSION,
				 .kind = kind,
				 .pid = (uint32_t)sl_getpid(),
				 .range = range,
				 .arena = sl_global.arena ? sl_global.arena->born : 0};
	bool has_pid = kind == SL_HELLO_ARENA || kind == SL_HELLO_FORKED;
	struct iovec iov = {&hello, sizeof(hello)};
	union {
		char room[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control;
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};

	if (has_pid && sl_global.private_pid_ns)
		hello.pid_ns = pid_namespace();
	if (fd >= 0) {
		memset(&control, 0, sizeof(control));
		msg.msg_control = control.room;
		msg.msg_controllen = sizeof(control.room);
		control.align.cmsg_level = SOL_SOCKET;
		control.align.cmsg_type = SCM_RIGHTS;
		control.align.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&control.align), &fd, sizeof(fd));
	}
	return sl_sys3(SYS_sendmsg, sock, &msg, MSG_NOSIGNAL);
}
