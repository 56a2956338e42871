/*
 * intake.c - accepts connections of traced programs: new arenas, requests for captures, exits of root processes.
 */
#include "collector/collect/intake.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/base/proc.h"
#include "collector/base/budget.h"
#include "collector/base/now.h"
#include "collector/model/identity.h"
#include "collector/session/hello.h"
#include "collector/session/ring_file.h"
#include "collector/session/ring_keeper.h"
#include "collector/symbols/symbols.h"

#define ENDED_NS    2000000000ll /* a hello is read so long after its sender's end */
#define EVENTS_NS   1000000000ll /* within which the kernel's events are read */
#define ACCEPTS_MAX 8192u        /* at a time: others flood as fast as they are refused */

static void on_peer(void *ctx, int sock);

/* Asks the kernel only where much is in use: a look at all rings has just asked, too. */
static uint64_t memory_of(const struct arenas *as)
{
	return as->memory.all && as->memory.all < BUDGET_MEMORY / 2 && as->last_id % 16
		       ? as->memory.all
		       : budget_memory();
}

struct arena *intake_arena(struct collector *c, int fd, const struct arena_origin *from)
{
	struct keeper_message m = {.kind = KEEPER_ARENA,
				   .id = from->id,
				   .peer_pid = from->peer_pid,
				   .claimed_pid = from->claimed_pid};
	struct arena *a;
	uint64_t memory;
	struct stat st;

	/* The keeper maps and copies it, too. */
	if (!ring_memfd_is_sound(fd, &st)) {
		c->arenas.lost.unsound++;
		return NULL;
	}
	memory = memory_of(&c->arenas);
	if (st.st_uid == geteuid())
		memory = budget_without_symbols(memory);
	if (memory > BUDGET_MEMORY) {
		c->arenas.lost.no_room++;
		return NULL;
	}
	/* First: from here on nothing of it is lost if the collector is killed. */
	if (c->intake.keeper >= 0)
		keeper_send(c->intake.keeper, &m, fd);
	a = arena_attach_from(&c->arenas, fd, from);
	if (!a && c->intake.keeper >= 0)
		keeper_send_gone(c->intake.keeper, &from->id, 1);
	return a;
}

void intake_release(struct collector *c)
{
	uint32_t ids[KEEPER_GONE_MOST], cnt = 0;

	if (c->intake.keeper < 0)
		return;
	for (const struct arena *a = c->arenas.first; a; a = a->next) {
		if (!a->flags.is_over)
			continue;
		ids[cnt++] = a->id;
		if (cnt < KEEPER_GONE_MOST)
			continue;
		keeper_send_gone(c->intake.keeper, ids, cnt);
		cnt = 0;
	}
	if (cnt)
		keeper_send_gone(c->intake.keeper, ids, cnt);
}

/* One that has just ended may be known to the kernel's events only. */
static bool is_in_tree(struct collector *c, uint32_t pid)
{
	const struct proc *p;

	if (identity_descends(&c->model, pid))
		return true;
	p = model_find_newest(&c->model, pid);
	return p && p->flags.in_tree &&
	       (!p->flags.is_gone || p->life.end_ns > c->clocks.now - ENDED_NS);
}

/* ---- connections without a hello ---- */

static void hang_up(struct collector *c, int sock)
{
	loop_remove(&c->loop, sock);
	close(sock);
}

static void keep_silent(struct collector *c, int sock)
{
	int oldest = hello_silent_add(&c->intake.silent, sock);

	if (oldest >= 0)
		hang_up(c, oldest);
}

static void hear_silent(struct collector *c)
{
	struct hello_silent *silent = &c->intake.silent;
	int late;

	for (unsigned i = silent->cnt; i-- > 0;)
		if (i < silent->cnt)
			on_peer(c, silent->at[i].sock);
	while ((late = hello_silent_late(silent)) >= 0)
		hang_up(c, late);
}

/* ---- hellos ---- */

/* The process is known by the kernel's number from here on, whatever its ring claims. */
static void on_forked(struct collector *c, const struct hello *h)
{
	for (struct arena *a = c->arenas.first; a; a = a->next)
		if (a->mem.born == h->arena) {
			struct forked f = {.number = h->range,
					   .ns_pid = h->claimed,
					   .pid = h->pid,
					   .pid_ns = h->pid_ns};

			identity_note(&c->arenas, a, &f);
			return;
		}
}

/* The root of a bare preload waits on this connection; answered after the commit. */
static void on_leaving(struct collector *c, int sock)
{
	if (c->intake.exit_cnt < INTAKE_EXITS)
		c->intake.exits[c->intake.exit_cnt++] = sock;
	else
		close(sock);
}

/* It leaves when the connection closes: one too many leaves at once. */
static void on_attends(struct collector *c, int sock)
{
	if (c->intake.attendant_cnt < INTAKE_ATTENDANTS)
		c->intake.attendants[c->intake.attendant_cnt++] = sock;
	else
		close(sock);
}

/* @got: as hello_receive() has it. */
static void on_hello(struct collector *c, int sock, int got, struct hello *h)
{
	if (got < 0) {
		c->intake.turned_away += got == -2;
		close(sock);
		return;
	}
	symbols_jit_trust(h->uid);
	switch (h->kind) {
	case SL_HELLO_ARENA:
		intake_arena(c, h->fd,
			     &(struct arena_origin){.id = c->arenas.last_id + 1,
						    .peer_pid = h->pid,
						    .claimed_pid = h->claimed,
						    .pid_ns = h->pid_ns,
						    .is_hello = true});
		close(h->fd);
		break;
	case SL_HELLO_FORKED:
		on_forked(c, h);
		break;
	case SL_HELLO_LEAVING:
		on_leaving(c, sock);
		return;
	case SL_HELLO_ATTENDS:
		on_attends(c, sock);
		return;
	default:
		if (!c->intake.on_capture)
			break;
		c->intake.on_capture(c, sock, h);
		return;
	}
	close(sock);
}

static void on_peer(void *ctx, int sock)
{
	struct collector *c = ctx;
	struct hello h;
	int got = hello_receive(sock, &h);

	if (got == 0) {
		keep_silent(c, sock);
		return;
	}
	hello_silent_forget(&c->intake.silent, sock);
	loop_remove(&c->loop, sock);
	on_hello(c, sock, got, &h);
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

/* ---- other users' processes: root's session accepts connections of all users, but only of its tree ---- */

/* The hello has usually arrived: then the connection needs no place in the loop. */
static void welcome(struct collector *c, int sock)
{
	struct hello h;
	int got = hello_receive(sock, &h);

	if (got) {
		on_hello(c, sock, got, &h);
		return;
	}
	loop_add(&c->loop, sock, on_peer, c);
	keep_silent(c, sock);
}

/* Not shown to be of the tree: a forked process that has ended does no harm by the number that it had. */
static void refuse(struct collector *c, int sock, bool has_ended)
{
	struct hello h;
	int got = has_ended ? hello_receive(sock, &h) : 0;

	if (got > 0 && h.kind == SL_HELLO_FORKED)
		on_forked(c, &h);
	else
		c->arenas.lost.unsound++;
	if (got > 0 && h.fd >= 0)
		close(h.fd);
	close(sock);
}

/* /proc shows nothing of a process that has ended, but the event of its fork is on its way. */
static void judge_ended(struct collector *c)
{
	struct intake *in = &c->intake;
	int64_t now = in->ended_cnt ? mono_ns() : 0;
	unsigned kept = 0;

	for (unsigned i = 0; i < in->ended_cnt; i++) {
		if (is_in_tree(c, in->ended[i].pid))
			welcome(c, in->ended[i].sock);
		else if (now - in->ended[i].since > EVENTS_NS)
			refuse(c, in->ended[i].sock, true);
		else
			in->ended[kept++] = in->ended[i];
	}
	in->ended_cnt = kept;
}

static void on_connection(struct collector *c, int sock)
{
	struct intake *in = &c->intake;
	uint32_t pid, uid;
	bool has_ended;

	if (!hello_sender(sock, &pid, &uid)) {
		c->arenas.lost.unsound++;
		close(sock);
		return;
	}
	if (uid == geteuid() || uid == 0 || is_in_tree(c, pid)) {
		welcome(c, sock);
		return;
	}
	has_ended = !proc_parent(pid);
	if (!has_ended || !c->model.wants.has_kernel_events || in->ended_cnt == INTAKE_ENDED) {
		refuse(c, sock, has_ended);
		return;
	}
	in->ended[in->ended_cnt].sock = sock;
	in->ended[in->ended_cnt].pid = pid;
	in->ended[in->ended_cnt++].since = mono_ns();
}

void intake_accept(struct collector *c)
{
	unsigned cnt = 0;
	int sock;

	if (c->session.listen_fd >= 0) {
		hear_silent(c);
		judge_ended(c);
		do {
			while (cnt++ < ACCEPTS_MAX &&
			       (sock = hello_accept(c->session.listen_fd)) >= 0)
				on_connection(c, sock);
		} while (cnt < ACCEPTS_MAX && turn_away(c));
		/* The hello of a process's image comes before the next image's, though its connection was silent before. */
		hear_silent(c);
	}
	c->arenas.ever.accepts++;
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

void intake_let_attendants_go(struct collector *c)
{
	while (c->intake.attendant_cnt)
		close(c->intake.attendants[--c->intake.attendant_cnt]);
}

void intake_answer_exits(struct collector *c)
{
	while (c->intake.exit_cnt)
		close(c->intake.exits[--c->intake.exit_cnt]);
}
