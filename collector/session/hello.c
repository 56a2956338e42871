/* hello.c - receives hellos. Any process that can connect may send anything: exact sizes, one descriptor. */
#include "collector/session/hello.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "collector/base/now.h"
#include "preload/wire/wire.h"

#define SILENT_NS 1000000000ll

void hello_silent_forget(struct hello_silent *s, int sock)
{
	unsigned i = 0;

	while (i < s->cnt && s->at[i].sock != sock)
		i++;
	if (i == s->cnt)
		return;
	s->cnt--;
	memmove(&s->at[i], &s->at[i + 1], (s->cnt - i) * sizeof(s->at[0]));
}

static int close_oldest(struct hello_silent *s)
{
	int sock = s->at[0].sock;

	s->closed++;
	hello_silent_forget(s, sock);
	return sock;
}

int hello_silent_add(struct hello_silent *s, int sock)
{
	int oldest;

	for (unsigned i = 0; i < s->cnt; i++)
		if (s->at[i].sock == sock)
			return -1;
	oldest = s->cnt == HELLO_SILENT ? close_oldest(s) : -1;
	s->at[s->cnt].sock = sock;
	s->at[s->cnt++].since = mono_ns();
	return oldest;
}

int hello_silent_late(struct hello_silent *s)
{
	return s->cnt && mono_ns() - s->at[0].since > SILENT_NS ? close_oldest(s) : -1;
}

int hello_accept(int listen_fd)
{
	return accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
}

bool hello_sender(int sock, uint32_t *pid, uint32_t *uid)
{
	struct ucred cred = {0};
	socklen_t len = sizeof(cred);

	if (getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0 || cred.pid <= 0)
		return false;
	*pid = (uint32_t)cred.pid;
	*uid = cred.uid;
	return true;
}

static int take_fd(struct msghdr *msg)
{
	int fd = -1;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		size_t cnt;

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		cnt = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < cnt; i++) {
			int one;

			memcpy(&one, CMSG_DATA(c) + i * sizeof(int), sizeof(one));
			if (fd < 0)
				fd = one;
			else
				close(one);
		}
	}
	return fd;
}

int hello_receive(int sock, struct hello *hello)
{
	struct sl_hello h;
	union {
		char room[CMSG_SPACE(4 * sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec iov = {&h, sizeof(h)};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = control.room,
			     .msg_controllen = sizeof(control.room)};
	ssize_t n = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0)
		return -1;
	hello->fd = take_fd(&msg);
	if (hello->fd < 0 && msg.msg_flags & MSG_CTRUNC)
		return -2;
	if (n != sizeof(h) || msg.msg_flags & MSG_TRUNC || h.magic != SL_HELLO_MAGIC ||
	    h.wire_version != SL_WIRE_VERSION || !hello_sender(sock, &hello->pid, &hello->uid) ||
	    h.kind < SL_HELLO_ARENA || h.kind > SL_HELLO_ATTENDS ||
	    (h.kind == SL_HELLO_ARENA) != (hello->fd >= 0)) {
		if (hello->fd >= 0)
			close(hello->fd);
		return -1;
	}
	hello->kind = h.kind;
	hello->claimed = h.pid;
	hello->range = h.range;
	hello->arena = h.arena;
	hello->pid_ns = h.pid_ns;
	return 1;
}
