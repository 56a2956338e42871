/* truth_sock.c - sockets: TCP, UDP and Unix; descriptors that travel (SCM_RIGHTS); waiting calls. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>

#include "tests/prog/truth.h"

static volatile size_t n7 = 7, n100 = 100, n4096 = 4096;
static char buf[8192];

/* One connection within this process; the peers' addresses are the paths. */
static void tcp(void)
{
	struct sockaddr_in at = {.sin_family = AF_INET}, peer;
	struct iovec v[2] = {{buf, 30}, {buf + 30, 40}};
	struct msghdr m = {.msg_iov = v, .msg_iovlen = 2};
	socklen_t len = sizeof(at);
	char to[64], from[64];
	int srv, c, s;

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	srv = (int)note("socket", socket(AF_INET, SOCK_STREAM, 0), ANY, NIL, NIL, ANYPATH);
	note("bind", bind(srv, (void *)&at, sizeof(at)), srv, NIL, NIL, ANYPATH);
	note("listen", listen(srv, 5), srv, ANY, NIL, ANYPATH);
	raw3(SYS_getsockname, srv, &at, &len);
	sprintf(to, "tcp:127.0.0.1:%d", ntohs(at.sin_port));
	c = (int)note("socket", socket(AF_INET, SOCK_STREAM, 0), ANY, NIL, NIL, ANYPATH);
	note("connect", connect(c, (void *)&at, sizeof(at)), c, NIL, NIL, to);
	len = sizeof(peer);
	s = accept4(srv, (void *)&peer, &len, SOCK_CLOEXEC);
	sprintf(from, "tcp:127.0.0.1:%d", ntohs(peer.sin_port));
	note("accept4", s, ANY, NIL, NIL, from);
	note("send", send(c, buf, n100, 0), c, 100, NIL, to);
	note("recv", recv(s, buf, n4096, 0), s, 4096, NIL, from);
	note("write", write(s, buf, n7), s, 7, NIL, from);
	note("read", read(c, buf, n100), c, 100, NIL, to);
	note("sendmsg", sendmsg(c, &m, 0), c, 70, NIL, to);
	note("recvmsg", recvmsg(s, &m, 0), s, 70, NIL, from);
	note("recv", recv(s, buf, n7, MSG_DONTWAIT), s, 7, NIL, from);
	note("shutdown", shutdown(c, SHUT_RDWR), c, NIL, NIL, to);
	note("recv", recv(s, buf, n7, 0), s, 7, NIL, from);
	note("close", close(s), s, NIL, NIL, from);
	note("close", close(c), c, NIL, NIL, to);
	note("close", close(srv), srv, NIL, NIL, ANYPATH);
}

static void udp(void)
{
	struct sockaddr_in at = {.sin_family = AF_INET};
	socklen_t len = sizeof(at);
	int a, b;

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	a = (int)note("socket", socket(AF_INET, SOCK_DGRAM, 0), ANY, NIL, NIL, ANYPATH);
	b = (int)note("socket", socket(AF_INET, SOCK_DGRAM, 0), ANY, NIL, NIL, ANYPATH);
	note("bind", bind(a, (void *)&at, sizeof(at)), a, NIL, NIL, ANYPATH);
	raw3(SYS_getsockname, a, &at, &len);
	note("sendto", sendto(b, buf, n100, 0, (void *)&at, sizeof(at)), b, 100, NIL, ANYPATH);
	note("recvfrom", recvfrom(a, buf, n4096, 0, NULL, NULL), a, 4096, NIL, ANYPATH);
	note("close", close(a), a, NIL, NIL, ANYPATH);
	note("close", close(b), b, NIL, NIL, ANYPATH);
}

/* A file's descriptor goes through a socket pair; reads from what arrives carry the file's path. */
static void passing(void)
{
	const char *a = in_cwd("passed");
	char ctl[CMSG_SPACE(sizeof(int))] = {0};
	struct iovec v = {buf, 1};
	struct msghdr m = {
		.msg_iov = &v, .msg_iovlen = 1, .msg_control = ctl, .msg_controllen = sizeof(ctl)};
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);
	int p[2], fd, got;

	note("socketpair", socketpair(AF_UNIX, SOCK_STREAM, 0, p), ANY, NIL, NIL, ANYPATH);
	fd = (int)note("open", open(a, O_CREAT | O_RDWR, 0600), RET, NIL, NIL, a);
	note("write", write(fd, buf, n100), fd, 100, NIL, a);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(int));
	note("sendmsg", sendmsg(p[0], &m, 0), p[0], 1, NIL, ANYPATH);
	note("close", close(fd), fd, NIL, NIL, a);
	memset(ctl, 0, sizeof(ctl));
	m.msg_controllen = sizeof(ctl);
	note("recvmsg", recvmsg(p[1], &m, 0), p[1], 1, NIL, ANYPATH);
	memcpy(&got, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(int));
	note("pread", pread(got, buf, n100, 0), got, 100, 0, a);
	note("close", close(got), got, NIL, NIL, a);
	note("close", close(p[0]), p[0], NIL, NIL, ANYPATH);
	note("close", close(p[1]), p[1], NIL, NIL, ANYPATH);
}

static void waiting(void)
{
	struct timespec ts = {0, 3000000};
	struct timeval tv = {0, 3000};
	struct epoll_event ev = {.events = EPOLLIN}, got[4];
	struct pollfd pfd;
	fd_set set;
	int p[2], ep;

	note("pipe", pipe(p), ANY, NIL, NIL, ANYPATH);
	pfd = (struct pollfd){.fd = p[0], .events = POLLIN};
	note("poll", poll(&pfd, 1, 3), ANY, ANY, NIL, ANYPATH);
	note("ppoll", ppoll(&pfd, 1, &ts, NULL), ANY, ANY, NIL, ANYPATH);
	FD_ZERO(&set);
	FD_SET(p[0], &set);
	note("select", select(p[0] + 1, &set, NULL, NULL, &tv), ANY, ANY, NIL, ANYPATH);
	FD_SET(p[0], &set);
	note("pselect", pselect(p[0] + 1, &set, NULL, NULL, &ts, NULL), ANY, ANY, NIL, ANYPATH);
	ep = (int)note("epoll_create1", epoll_create1(0), ANY, ANY, NIL, ANYPATH);
	note("epoll_ctl", epoll_ctl(ep, EPOLL_CTL_ADD, p[0], &ev), ep, ANY, NIL, ANYPATH);
	note("epoll_wait", epoll_wait(ep, got, 4, 3), ep, ANY, NIL, ANYPATH);
	note("write", write(p[1], buf, n7), p[1], 7, NIL, ANYPATH);
	note("epoll_wait", epoll_wait(ep, got, 4, 1000), ep, ANY, NIL, ANYPATH);
	note("epoll_pwait", epoll_pwait(ep, got, 4, 1000, NULL), ep, ANY, NIL, ANYPATH);
	note("poll", poll(&pfd, 1, 1000), ANY, ANY, NIL, ANYPATH);
	note("close", close(ep), ep, NIL, NIL, ANYPATH);
	note("close", close(p[0]), p[0], NIL, NIL, ANYPATH);
	note("close", close(p[1]), p[1], NIL, NIL, ANYPATH);
	note_call("nanosleep", nanosleep(&ts, NULL));
	note_call("clock_nanosleep", clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, NULL));
	note_call("usleep", usleep(2000));
	note_call("sleep", sleep(0));
}

int main(void)
{
	tcp();
	udp();
	passing();
	waiting();
	truth_write();
	return 0;
}
