/* control_server.c - accepts clients of the command socket, reads questions, answers them. */
#include "collector/session/control_server.h"
#include "collector/base/now.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define BACKLOG    64
#define PER_SERVE  64 /* connections and questions served in one go: the rings come in between */
#define KEY_LISTEN (CONTROL_CLIENTS + 0)
#define KEY_TIMER  (CONTROL_CLIENTS + 1)

static int watch(const struct control *k, int fd, uint32_t key)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.u32 = key};

	return epoll_ctl(k->epoll, EPOLL_CTL_ADD, fd, &ev) < 0 ? -errno : 0;
}

/* The mode is set before the name exists: no moment in which others could connect. */
static int make_socket(const char *dir)
{
	struct sockaddr_un addr;
	int fd = command_socket(dir, &addr), err;

	if (fd < 0)
		return fd;
	if (fchmod(fd, 0600) == 0 && bind(fd, (struct sockaddr *)&addr, sizeof(addr)) == 0 &&
	    listen(fd, BACKLOG) == 0)
		return fd;
	err = -errno;
	close(fd);
	return err;
}

int control_open(struct control *k, const char *dir, control_fn *ask, void *to)
{
	int err;

	memset(k, 0, offsetof(struct control, packet));
	k->silent_ms = CONTROL_SILENT_MS;
	k->ask = ask;
	k->to = to;
	for (int i = 0; i < CONTROL_CLIENTS; i++)
		k->client[i].fd = -1;
	k->timer = -1;
	k->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (k->epoll < 0)
		return -errno;
	k->is_open = true;
	k->listen_fd = make_socket(dir);
	err = k->listen_fd < 0 ? k->listen_fd : watch(k, k->listen_fd, KEY_LISTEN);
	if (!err) {
		k->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
		err = k->timer < 0 ? -errno : watch(k, k->timer, KEY_TIMER);
	}
	if (err)
		control_close(k);
	return err;
}

int control_fd(const struct control *k)
{
	return k->is_open ? k->epoll : -1;
}

static void hang_up(struct control *k, int i)
{
	struct control_client *cl = &k->client[i];

	if (cl->fd < 0)
		return;
	/* A forked child may hold it open, too: closing alone would leave it in the set. */
	epoll_ctl(k->epoll, EPOLL_CTL_DEL, cl->fd, NULL);
	close(cl->fd);
	free(cl->what);
	*cl = (struct control_client){.fd = -1};
}

void control_close(struct control *k)
{
	if (!k->is_open)
		return;
	for (int i = 0; i < CONTROL_CLIENTS; i++)
		hang_up(k, i);
	if (k->timer >= 0)
		close(k->timer);
	if (k->listen_fd >= 0)
		close(k->listen_fd);
	close(k->epoll);
	k->is_open = false;
}

/* ---- answers ---- */

void control_answer(struct control *k, int client, int status, const char *text)
{
	char number[16];

	snprintf(number, sizeof(number), "%d", status);
	command_begin(&k->reply);
	command_add(&k->reply, number);
	command_add(&k->reply, text);
	/* A client that does not read one packet gets none. */
	command_send(k->client[client].fd, &k->reply);
	hang_up(k, client);
}

void control_keep(struct control *k, int client, int waits_for, const char *what)
{
	struct control_client *cl = &k->client[client];

	cl->waits_for = waits_for;
	cl->what = what ? strdup(what) : NULL;
}

void control_tell(struct control *k, int waits_for, const char *what, const char *text)
{
	command_begin(&k->reply);
	command_add(&k->reply, what);
	command_add(&k->reply, text);
	for (int i = 0; k->is_open && i < CONTROL_CLIENTS; i++)
		if (k->client[i].fd >= 0 && k->client[i].waits_for == waits_for)
			command_send(k->client[i].fd, &k->reply);
}

int control_take(struct control *k, int client)
{
	struct control_client *cl = &k->client[client];
	int fd = cl->fd;

	epoll_ctl(k->epoll, EPOLL_CTL_DEL, fd, NULL);
	free(cl->what);
	*cl = (struct control_client){.fd = -1};
	return fd;
}

int control_answer_kept(struct control *k, int waits_for, const char *what, int status,
			const char *text)
{
	int cnt = 0;

	if (!k->is_open)
		return 0;
	for (int i = 0; i < CONTROL_CLIENTS; i++) {
		const struct control_client *cl = &k->client[i];

		if (cl->fd < 0 || cl->waits_for != waits_for ||
		    (what && cl->what && strcmp(what, cl->what) != 0))
			continue;
		control_answer(k, i, status, text);
		cnt++;
	}
	return cnt;
}

/* ---- questions ---- */

/* The one that has been silent longest; -1 when all have asked. */
static int longest_silent(const struct control *k)
{
	int found = -1;

	for (int i = 0; i < CONTROL_CLIENTS; i++) {
		const struct control_client *cl = &k->client[i];

		if (cl->fd >= 0 && !cl->waits_for &&
		    (found < 0 || cl->since_ms < k->client[found].since_ms))
			found = i;
	}
	return found;
}

static int free_place(struct control *k)
{
	int i = 0;

	while (i < CONTROL_CLIENTS && k->client[i].fd >= 0)
		i++;
	if (i < CONTROL_CLIENTS)
		return i;
	i = longest_silent(k);
	if (i >= 0) {
		k->nonsense++;
		hang_up(k, i);
	}
	return i;
}

/* The alarm for the next one whose time is over. */
static void set_timer(struct control *k)
{
	struct itimerspec at = {0};
	int i = longest_silent(k);

	if (i >= 0) {
		int64_t left = k->client[i].since_ms + k->silent_ms - mono_ms();

		left = left < 1 ? 1 : left;
		at.it_value.tv_sec = left / 1000;
		at.it_value.tv_nsec = left % 1000 * 1000000;
	}
	timerfd_settime(k->timer, 0, &at, NULL);
}

static void on_timer(struct control *k)
{
	int64_t now = mono_ms();
	uint64_t times;
	int i;

	if (read(k->timer, &times, sizeof(times)) < 0)
		return;
	while ((i = longest_silent(k)) >= 0 && k->client[i].since_ms + k->silent_ms <= now) {
		k->nonsense++;
		hang_up(k, i);
	}
}

static bool may_ask(struct control *k, int sock)
{
	struct ucred cred = {0};
	socklen_t len = sizeof(cred);

	if (getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &cred, &len) == 0 &&
	    (cred.uid == geteuid() || cred.uid == 0))
		return true;
	k->refused++;
	k->last_refused = cred.uid;
	return false;
}

static void refuse(struct control *k, int sock)
{
	command_begin(&k->reply);
	command_add(&k->reply, "1");
	command_add(&k->reply, "this session belongs to another user");
	command_send(sock, &k->reply);
	close(sock);
}

static void on_client(struct control *k, int i)
{
	struct control_client *cl = &k->client[i];
	int err;

	if (cl->fd < 0)
		return;
	err = command_receive(cl->fd, &k->packet, 0);
	if (err == -EAGAIN || err == -ETIMEDOUT || err == -EINTR)
		return;
	/* A client that waits sends no more: readable means closed. */
	if (err || cl->waits_for) {
		if (err != -ECONNRESET)
			k->nonsense++;
		hang_up(k, i);
		return;
	}
	k->ask(k->to, i, k->packet.cnt, k->packet.word);
}

static void on_listen(struct control *k)
{
	for (int n = 0; n < PER_SERVE; n++) {
		int sock = accept4(k->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK), i;

		if (sock < 0)
			return;
		if (!may_ask(k, sock)) {
			refuse(k, sock);
			continue;
		}
		i = free_place(k);
		if (i < 0 || watch(k, sock, (uint32_t)i) < 0) {
			k->nonsense++;
			close(sock);
			continue;
		}
		k->client[i] = (struct control_client){.fd = sock, .since_ms = mono_ms()};
		/* The client's question has usually arrived. */
		on_client(k, i);
	}
}

void control_serve(struct control *k)
{
	struct epoll_event ev[PER_SERVE];
	int n;

	if (!k->is_open)
		return;
	n = epoll_wait(k->epoll, ev, PER_SERVE, 0);
	for (int i = 0; i < n && k->is_open; i++) {
		if (ev[i].data.u32 == KEY_LISTEN)
			on_listen(k);
		else if (ev[i].data.u32 == KEY_TIMER)
			on_timer(k);
		else
			on_client(k, (int)ev[i].data.u32);
	}
	if (k->is_open)
		set_timer(k);
}
