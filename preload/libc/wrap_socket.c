/* wrap_socket.c - sockets, which are named by their peer's address; descriptors received in messages. */
#include "preload/base/readable.h"
#include "preload/core/seccomp.h"
#include "preload/libc/wrap.h"

#include "preload/wire/sys.h"

/* Records the call with the address of @peer, or of getpeername() without one. */
static void leave_peer(const struct sl_call *call, enum sl_hook hook, int rc, bool failed, int fd,
		       const void *peer, socklen_t len)
{
	struct sockaddr_storage address;
	uint32_t room = sizeof(address), serial = 0;

	if (!peer && fd >= 0 && !failed && !sl_global.seccomp &&
	    sl_sys3(SYS_getpeername, fd, &address, &room) == 0) {
		peer = &address;
		len = room < sizeof(address) ? room : sizeof(address);
	}
	/* EINPROGRESS: the connection that is being established has this peer. */
	if (fd >= 0 && peer && (!failed || errno == EINPROGRESS))
		serial = sl_fd_new_serial();
	sl_leave_bytes(call, hook, SL_SHAPE_SOCK, rc, failed, sl_fd_serial(fd, serial), peer,
		       peer ? len : 0, true);
	if (!serial)
		return;
	sl_fd_local(fd, serial);
	sl_fd_set(fd, serial);
}

/* After a failure the kernel may not have read the address. */
static bool can_read(int rc, const void *addr, socklen_t len)
{
	struct sl_readable r = {0};

	if (!addr || len > sizeof(struct sockaddr_storage))
		return false;
	return rc == 0 || errno == EINPROGRESS ||
	       (!sl_seccomp_kills_start() && sl_readable_bytes(&r, addr, len));
}

SL_WRAPPER(int, connect, (int fd, const struct sockaddr *addr, socklen_t len))
{
	SL_REAL(NEG, int, connect, (int, const struct sockaddr *, socklen_t));
	struct sl_call call;
	uint32_t serial;
	uint64_t word;
	int rc;

	if (!sl_enter(&call))
		return real(fd, addr, len);
	rc = real(fd, addr, len);
	sl_stop(&call);
	/* The serial of the unconnected socket, if one was recorded. */
	serial = rc == 0 || errno == EINPROGRESS ? sl_fd_take(fd) : 0;
	word = sl_fd_serial(fd, serial);
	if (serial)
		sl_meta(SL_META_CLOSE, call.start, &word, 1, NULL, 0);
	leave_peer(&call, SL_H_connect, rc, rc == -1, fd, can_read(rc, addr, len) ? addr : NULL,
		   len);
	return rc;
}

SL_OPENING(accept, (int fd, void *addr, socklen_t *len), (fd, addr, len),
	   leave_peer(&call, SL_H_accept, rc, rc == -1, rc, NULL, 0))
SL_OPENING(accept4, (int fd, void *addr, socklen_t *len, int flags), (fd, addr, len, flags),
	   leave_peer(&call, SL_H_accept4, rc, rc == -1, rc, NULL, 0))

/* Descriptors received in a message: they get a serial at their first use. */
static void received(struct msghdr *m)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		size_t n;

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS ||
		    c->cmsg_len < CMSG_LEN(0))
			continue;
		n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < n; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(fd));
			sl_fd_unrecorded(fd);
		}
	}
}

SL_WRAPPER(ssize_t, recvmsg, (int fd, struct msghdr *m, int flags))
{
	SL_REAL(NEG, ssize_t, recvmsg, (int, struct msghdr *, int));
	struct sl_call call;
	bool traced = sl_enter(&call);
	ssize_t rc = real(fd, m, flags);

	if (traced)
		sl_stop(&call);
	if (rc >= 0)
		received(m);
	if (traced)
		sl_leave_io(&call, SL_H_recvmsg, SL_FILE_READ, rc, rc == -1, fd,
			    rc >= 0 ? sl_iov_bytes(m->msg_iov, (int)m->msg_iovlen) : 0, rc,
			    SL_NO_OFFSET);
	return rc;
}

SL_WRAPPER(int, recvmmsg, (int fd, struct mmsghdr *m, unsigned n, int flags, void *timeout))
{
	SL_REAL(NEG, int, recvmmsg, (int, struct mmsghdr *, unsigned, int, void *));
	struct sl_call call;
	bool traced = sl_enter(&call);
	int rc = real(fd, m, n, flags, timeout);

	if (traced)
		sl_stop(&call);
	for (int i = 0; i < rc; i++)
		received(&m[i].msg_hdr);
	if (traced)
		sl_leave_messages(&call, SL_H_recvmmsg, rc, rc == -1, fd);
	return rc;
}
