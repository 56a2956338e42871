/* sockets.c - connections by their descriptors. */
#include <stddef.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "exporters/view/server/peer.h"
#include "exporters/view/server/sockets.h"

#define FD_MAX 1024

/* The entry of a descriptor, a new one for a new connection. NULL: there is no room, or no connection. */
static struct view_socket *find(struct view_sockets *s, int fd, int64_t now)
{
	struct sockaddr_storage peer = {.ss_family = AF_UNSPEC};
	socklen_t len = sizeof(peer);
	struct stat st;
	int at = 0;

	if (fstat(fd, &st) < 0 || !S_ISSOCK(st.st_mode) ||
	    getpeername(fd, (struct sockaddr *)&peer, &len) < 0 || peer.ss_family != AF_INET)
		return NULL;
	while (at < s->cnt && (s->list[at].fd != fd || s->list[at].inode != st.st_ino))
		at++;
	if (at == s->cnt) {
		if (s->cnt == (int)(sizeof(s->list) / sizeof(s->list[0])))
			return NULL;
		s->list[s->cnt++] = (struct view_socket){.fd = fd,
							 .inode = st.st_ino,
							 .since = now,
							 .uid = view_peer_uid(fd),
							 .what = SOCKET_READING};
	}
	return &s->list[at];
}

static int64_t limit_of(const struct view_socket *c)
{
	switch (c->what) {
	case SOCKET_WORKING:
		return INT64_MAX;
	case SOCKET_SENDING:
		return VIEW_SEND_NS;
	default:
		return c->is_known ? VIEW_IDLE_NS : VIEW_SLOW_NS;
	}
}

static void shut(struct view_socket *c)
{
	shutdown(c->fd, SHUT_RDWR);
	c->is_shut = true;
}

static bool is_stranger(const struct view_socket *c)
{
	return !c->is_known && c->uid != geteuid() && c->uid != 0;
}

static int strangers_of(const struct view_sockets *s, uid_t uid)
{
	int cnt = 0;

	for (int i = 0; i < s->cnt; i++)
		cnt += is_stranger(&s->list[i]) && !s->list[i].is_shut && s->list[i].uid == uid;
	return cnt;
}

/* The connection to shut down for others: entries are in the order of their begin. */
static struct view_socket *oldest_of_most(struct view_sockets *s)
{
	struct view_socket *oldest = NULL;
	int most = 0;

	for (int i = 0; i < s->cnt; i++) {
		struct view_socket *c = &s->list[i];
		int cnt = is_stranger(c) && !c->is_shut ? strangers_of(s, c->uid) : 0;

		if (cnt > most) {
			most = cnt;
			oldest = c;
		}
	}
	return oldest;
}

static void make_room(struct view_sockets *s)
{
	int strangers = 0;

	for (int i = 0; i < s->cnt; i++)
		strangers += is_stranger(&s->list[i]) && !s->list[i].is_shut;
	for (; strangers > VIEW_STRANGERS; strangers--)
		shut(oldest_of_most(s));
}

int view_sockets_look(struct view_sockets *s, int64_t now)
{
	int left = 0, guests = 0;

	for (int i = 0; i < s->cnt; i++)
		s->list[i].is_there = false;
	for (int fd = 0; fd < FD_MAX; fd++) {
		struct view_socket *c = find(s, fd, now);

		if (!c)
			continue;
		c->is_there = true;
		if (now - c->since > limit_of(c))
			shut(c);
	}
	for (int i = 0; i < s->cnt; i++)
		if (s->list[i].is_there)
			s->list[left++] = s->list[i];
	s->cnt = left;
	make_room(s);
	for (int i = 0; i < s->cnt; i++)
		guests += is_stranger(&s->list[i]);
	return left - guests;
}

void view_sockets_note(struct view_sockets *s, int fd, int what, bool is_known, int64_t now)
{
	struct view_socket *c = find(s, fd, now);

	if (!c)
		return;
	c->what = what;
	c->is_known |= is_known;
	c->since = now;
}
