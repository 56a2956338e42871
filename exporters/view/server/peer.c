/* peer.c - asks the kernel's socket monitor (sock_diag(7)) for the other end: SO_PEERCRED is for Unix sockets alone. */
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "exporters/view/server/peer.h"

struct question {
	struct nlmsghdr head;
	struct inet_diag_req_v2 of;
};

/* As the other end has them: its own address first. */
static int ends(int fd, struct inet_diag_sockid *id)
{
	struct sockaddr_in own = {0}, peer = {0};
	socklen_t own_len = sizeof(own), peer_len = sizeof(peer);

	if (getsockname(fd, (struct sockaddr *)&own, &own_len) < 0 ||
	    getpeername(fd, (struct sockaddr *)&peer, &peer_len) < 0 || own.sin_family != AF_INET ||
	    peer.sin_family != AF_INET)
		return -1;
	*id = (struct inet_diag_sockid){
		.idiag_sport = peer.sin_port,
		.idiag_dport = own.sin_port,
		.idiag_src = {peer.sin_addr.s_addr},
		.idiag_dst = {own.sin_addr.s_addr},
		.idiag_cookie = {INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE},
	};
	return 0;
}

static uid_t answer(int monitor)
{
	union {
		struct nlmsghdr head;
		char bytes[1024];
	} a;
	const struct inet_diag_msg *found = NLMSG_DATA(&a.head);
	ssize_t n = recv(monitor, &a, sizeof(a), MSG_DONTWAIT);

	if (n < (ssize_t)NLMSG_LENGTH(sizeof(*found)) || a.head.nlmsg_type != SOCK_DIAG_BY_FAMILY ||
	    !found->idiag_inode)
		return VIEW_NOBODY;
	return found->idiag_uid;
}

uid_t view_peer_uid(int fd)
{
	struct question q = {
		.head = {.nlmsg_len = sizeof(q),
			 .nlmsg_type = SOCK_DIAG_BY_FAMILY,
			 .nlmsg_flags = NLM_F_REQUEST},
		.of = {.sdiag_family = AF_INET, .sdiag_protocol = IPPROTO_TCP, .idiag_states = ~0u},
	};
	uid_t uid = VIEW_NOBODY;
	int monitor;

	if (ends(fd, &q.of.id) < 0)
		return VIEW_NOBODY;
	monitor = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	if (monitor < 0)
		return VIEW_NOBODY;
	/* The kernel answers within the call. */
	if (send(monitor, &q, sizeof(q), 0) == (ssize_t)sizeof(q))
		uid = answer(monitor);
	close(monitor);
	return uid;
}
