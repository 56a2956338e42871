/*
 * intake.c - accepts connections of traced programs: new arenas, requests for captures, exits of root processes.
 */
#include "collector/collect/intake.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "collector/base/proc.h"
#include "collector/session/hello.h"
#include "collector/session/ring_keeper.h"
#include "collector/symbols/symbols.h"

void intake_arena(struct collector *c, int fd, uint32_t id, uint32_t pid, uint32_t claimed)
{
	struct keeper_message m = {
		.kind = KEEPER_ARENA, .id = id, .peer_pid = pid, .claimed_pid = claimed};
	struct arena *a;

	/* First: from here on nothing of it is lost if the collector is killed. */
	if (c->intake.keeper >= 0)
		keeper_send(c->intake.keeper, &m, fd);
	a = arena_attach(&c->arenas, fd, id, pid, claimed);
	if (!a && c->intake.keeper >= 0) {
		m.kind = KEEPER_GONE;
		keeper_send(c->intake.keeper, &m, -1);
	}
}

void intake_release(struct collector *c)
{
	struct keeper_message m = {.kind = KEEPER_GONE};

	for (const struct arena *a = c->arenas.first; a; a = a->next) {
		if (!a->flags.is_over || c->intake.keeper < 0)
			continue;
		m.id = a->id;
		keeper_send(c->intake.keeper, &m, -1);
	}
}

/* Another user's process must be one of the traced tree: root's session accepts connections of all users. */
static bool is_ours(struct collector *c, const struct hello *h)
{
	uint32_t pid = h->pid;

	if (h->uid == geteuid() || h->uid == 0)
		return true;
	for (int steps = 0; pid > 1 && steps < 64; steps++) {
		if (model_find(&c->model, pid))
			return true;
		pid = proc_parent(pid);
	}
	return false;
}

static void on_peer(void *ctx, int sock)
{
	struct collector *c = ctx;
	struct hello h;
	int got = hello_receive(sock, &h);

	if (got == 0)
		return;
	if (got < 0) {
		/* Most simply hang up after their hello. */
		c->intake.turned_away += got == -2;
		close(sock);
		return;
	}
	if (!is_ours(c, &h)) {
		c->arenas.lost.refused++;
		if (h.fd >= 0)
			close(h.fd);
		close(sock);
		return;
	}
	symbols_jit_trust(h.uid);
	if (h.kind == SL_HELLO_ARENA) {
		intake_arena(c, h.fd, c->arenas.last_id + 1, h.pid, h.claimed);
		close(h.fd);
		return;
	}
	loop_remove(&c->loop, sock);
	if (h.kind == SL_HELLO_OPEN || h.kind == SL_HELLO_CLOSE) {
		if (c->intake.on_capture)
			c->intake.on_capture(c, sock, &h);
		else
			close(sock);
		return;
	}
	/* The root of a bare preload waits on this connection; answered after the commit. */
	if (c->intake.exit_cnt < INTAKE_EXITS)
		c->intake.exits[c->intake.exit_cnt++] = sock;
	else
		close(sock);
}

/* No descriptor is left: the program goes untraced and is counted, or its connection would stay readable for ever. */
static bool turn_away(struct collector *c)
{
	int sock;

	if ((errno != EMFILE && errno != ENFILE) || c->intake.reserve_fd < 0)
		return false;
	close(c->intake.reserve_fd);
	sock = hello_accept(c->session.listen_fd);
	if (sock >= 0)
		close(sock);
	c->intake.reserve_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	c->intake.turned_away += sock >= 0;
	return sock >= 0;
}

void intake_accept(struct collector *c)
{
	int sock;

	if (c->session.listen_fd < 0)
		return;
	do {
		while ((sock = hello_accept(c->session.listen_fd)) >= 0) {
			loop_add(&c->loop, sock, on_peer, c);
			on_peer(c, sock);
		}
	} while (turn_away(c));
}

static void on_listen(void *ctx, int fd)
{
	(void)fd;
	intake_accept(ctx);
}

void intake_open(struct collector *c)
{
	loop_add(&c->loop, c->session.listen_fd, on_listen, c);
}

void intake_answer_exits(struct collector *c)
{
	while (c->intake.exit_cnt)
		close(c->intake.exits[--c->intake.exit_cnt]);
}
