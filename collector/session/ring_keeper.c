/*
 * ring_keeper.c - the keeper process: holds arenas while the collector lives, serves recover, writes files at the
 * end.
 *
 * It must survive whatever ends the collector: it has a session of its own, only the descriptors it was given, and
 * makes no call that could print or exit.
 */
#include "collector/session/keeper_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collector/base/grow.h"
#include "collector/session/hello.h"
#include "collector/session/ring_file.h"
#include "collector/base/clock_map.h"
#include "collector/base/now.h"
#include "collector/base/proc.h"
#include "collector/base/title.h"
#include "collector/model/spool.h"
#include "collector/session/session.h"
#include "preload/wire/arena.h"

#define CHECK_MS          500
#define SILENT_MS         20    /* until connections without a hello are looked at again */
#define ACCEPTS_MAX       8192u /* at a time: others flood as fast as they are refused */
#define BACKLOG           16
#define GATHER_MS         10
#define ARENAS_OF_PROCESS 64 /* that are taken while there is no collector */

#define SHORT offsetof(struct keeper_message, dir)

_Static_assert(KEEPER_GONE_MOST * sizeof(uint32_t) <= sizeof(((struct keeper_message *)0)->report),
	       "ids of arenas that are gone stand there");

/* The first @len bytes: what follows is 0. */
static int send_part(int sock, const struct keeper_message *m, size_t len, int fd)
{
	struct iovec iov = {(void *)(uintptr_t)m, len};
	union {
		char room[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control;
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};

	if (fd >= 0) {
		memset(&control, 0, sizeof(control));
		msg.msg_control = control.room;
		msg.msg_controllen = sizeof(control.room);
		control.align.cmsg_level = SOL_SOCKET;
		control.align.cmsg_type = SCM_RIGHTS;
		control.align.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&control.align), &fd, sizeof(fd));
	}
	return sendmsg(sock, &msg, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

int keeper_send(int sock, const struct keeper_message *m, int fd)
{
	return send_part(sock, m, m->kind == KEEPER_SETUP ? sizeof(*m) : SHORT, fd);
}

int keeper_send_gone(int sock, const uint32_t *ids, uint32_t cnt)
{
	struct keeper_message m = {.kind = KEEPER_GONE, .id = cnt};

	if (cnt > KEEPER_GONE_MOST)
		return -E2BIG;
	memcpy(m.report, ids, cnt * sizeof(*ids));
	return send_part(sock, &m, offsetof(struct keeper_message, report) + cnt * sizeof(*ids),
			 -1);
}

ssize_t keeper_receive(int sock, struct keeper_message *m, int *fd)
{
	union {
		char room[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec iov = {m, sizeof(*m)};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = control.room,
			     .msg_controllen = sizeof(control.room)};
	struct cmsghdr *c;
	ssize_t n;

	*fd = -1;
	do
		n = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	c = CMSG_FIRSTHDR(&msg);
	if (c && c->cmsg_type == SCM_RIGHTS)
		memcpy(fd, CMSG_DATA(c), sizeof(*fd));
	if (n > 0 && n < (ssize_t)SHORT) {
		if (*fd >= 0)
			close(*fd);
		return -EPROTO;
	}
	memset((char *)m + n, 0, sizeof(*m) - (size_t)n);
	return n;
}

static void keep(struct keeper *k, uint32_t id, uint32_t peer_pid, uint32_t claimed_pid, int fd)
{
	if (!grow(&k->kept, k->cnt, &k->cap, sizeof(*k->kept))) {
		close(fd);
		return;
	}
	k->kept[k->cnt++] = (struct kept){id, peer_pid, claimed_pid, fd};
	if (id > k->last_id)
		k->last_id = id;
}

static void drop(struct keeper *k, uint32_t id)
{
	for (size_t i = 0; i < k->cnt; i++) {
		if (k->kept[i].id != id)
			continue;
		close(k->kept[i].fd);
		k->kept[i] = k->kept[--k->cnt];
		return;
	}
}

static void drop_all(struct keeper *k, const struct keeper_message *m)
{
	for (uint32_t i = 0; i < m->id && i < KEEPER_GONE_MOST; i++) {
		uint32_t id;

		memcpy(&id, m->report + i * sizeof(id), sizeof(id));
		drop(k, id);
	}
}

static void keep_segment(struct keeper *k, uint32_t index, int fd)
{
	if (index >= SPOOL_SEGMENTS) {
		if (fd >= 0)
			close(fd);
		return;
	}
	if (k->spool[index] >= 0)
		close(k->spool[index]);
	k->spool[index] = fd;
}

static void set_root(struct keeper *k, const struct keeper_message *m)
{
	k->root.is_attached = m->claimed_pid;
	if (k->root.pid == m->peer_pid)
		return;
	if (k->root.pidfd >= 0)
		close(k->root.pidfd);
	k->root.pid = m->peer_pid;
	k->root.pidfd = m->peer_pid ? (int)syscall(SYS_pidfd_open, m->peer_pid, 0) : -1;
}

/* True: the root's arena, or those of its children, may still come. */
static bool awaits_root(const struct keeper *k)
{
	struct pollfd p = {.fd = k->root.pidfd, .events = POLLIN};

	if (!k->root.pid || k->root.is_attached)
		return false;
	if (k->root.pidfd < 0)
		return proc_thread_lives(k->root.pid, k->root.pid);
	return poll(&p, 1, 0) == 0;
}

/*
 * The next message. A message that is queued holds its descriptor, so the keeper takes those of 10 ms together: programs of a
 * millisecond each would wake it as often.
 */
static ssize_t receive_next(const struct keeper *k, struct keeper_message *m, int *fd)
{
	struct pollfd more = {.fd = k->control, .events = POLLIN}, end = {.fd = k->control};

	/* Ends early with the collector. */
	if (poll(&more, 1, 0) == 0)
		poll(&end, 1, GATHER_MS);
	return keeper_receive(k->control, m, fd);
}

/* Until the collector sends KEEPER_DONE (true) or is gone without it (false). */
static bool serve_collector(struct keeper *k)
{
	struct keeper_message m;
	int fd;

	while (receive_next(k, &m, &fd) > 0) {
		switch (m.kind) {
		case KEEPER_SETUP:
			memcpy(k->dir, m.dir, sizeof(k->dir));
			memcpy(k->report, m.report, sizeof(k->report));
			set_root(k, &m);
			if (k->folder >= 0)
				close(k->folder);
			k->folder = fd;
			fd = -1;
			break;
		case KEEPER_ARENA:
			if (fd >= 0)
				keep(k, m.id, m.peer_pid, m.claimed_pid, fd);
			fd = -1;
			break;
		case KEEPER_GONE:
			drop_all(k, &m);
			break;
		case KEEPER_LISTEN:
			k->listen_fd = fd;
			fd = -1;
			break;
		case KEEPER_RECOVER:
			k->recover_fd = fd;
			fd = -1;
			break;
		case KEEPER_SPOOL:
			keep_segment(k, m.id, fd);
			fd = -1;
			break;
		case KEEPER_BEFORE:
			k->before = fd;
			fd = -1;
			break;
		case KEEPER_TAKEN:
			keeper_send(k->before, &m, -1);
			close(k->before);
			k->before = -1;
			break;
		case KEEPER_DONE:
			return true;
		}
		if (fd >= 0)
			close(fd);
	}
	return false;
}

static const struct sl_arena *map_header(const struct kept *kept)
{
	void *a = mmap(NULL, SL_ARENA_HEADER_BYTES, PROT_READ, MAP_SHARED, kept->fd, 0);

	return a == MAP_FAILED ? NULL : a;
}

static void unmap_header(const struct sl_arena *a)
{
	munmap((void *)(uintptr_t)a, SL_ARENA_HEADER_BYTES);
}

static uint32_t slots_of(const struct sl_arena *a)
{
	uint32_t slots = __atomic_load_n(&a->fresh_slot, __ATOMIC_ACQUIRE);

	return slots < SL_SLOT_CNT ? slots : SL_SLOT_CNT;
}

/* Is a thread of the process in a slot, or the process one that was made for an exec? The answer is from memory that the process, of the traced tree, wrote. */
static bool arena_names(const struct kept *kept, uint32_t pid)
{
	const struct sl_arena *a = map_header(kept);
	bool found = false;

	if (!a)
		return false;
	for (uint32_t i = 0; i < slots_of(a) && !found; i++)
		found = a->slot[i].state != SL_SLOT_FREE && a->slot[i].pid == pid;
	/* Pairs with note_spawned() of the shim. */
	for (uint32_t i = 0; i < SL_SPAWNED_CNT && !found; i++)
		found = __atomic_load_n(&a->spawned[i], __ATOMIC_RELAXED) == pid;
	unmap_header(a);
	return found;
}

static bool arena_has_owner(const struct kept *kept)
{
	const struct sl_arena *a = map_header(kept);
	bool foreign = kept->peer_pid != kept->claimed_pid || !pidns_is_ours(kept->peer_pid);
	bool lives = proc_thread_lives(kept->peer_pid, kept->peer_pid);
	uint32_t slots;
	struct stat st;

	if (!a)
		return lives;
	slots = lives ? 0 : slots_of(a);
	for (uint32_t i = 0; i < slots && !lives; i++) {
		uint32_t pid = a->slot[i].pid, tid = a->slot[i].tid;

		if (a->slot[i].state == SL_SLOT_FREE)
			continue;
		if (foreign)
			lives = pidns_process(kept->peer_pid, pid) != 0;
		else
			lives = proc_thread_lives(pid, tid);
		/* A slot may name any process. Maps of other users' processes are for root to see. */
		if (lives && geteuid() == 0 && fstat(kept->fd, &st) == 0) {
			lives = users_have_mapped(st.st_dev, st.st_ino);
			break;
		}
	}
	unmap_header(a);
	return lives;
}

/* Does the process have an arena here, or is it a child of one that shares the arena? */
static bool is_known(const struct keeper *k, uint32_t pid)
{
	if (pid == k->root.pid)
		return true;
	for (size_t i = 0; i < k->cnt; i++)
		if (k->kept[i].peer_pid == pid || arena_names(&k->kept[i], pid))
			return true;
	return false;
}

/* The verdict on a process that lives holds while no arena is added: floods come from a few. */
static bool is_stranger_still(const struct keeper *k, uint32_t pid, struct proc_origin *o)
{
	const struct stranger *s = &k->intake.stranger[pid % STRANGERS];

	return proc_origin(pid, o) && s->pid == pid && s->start == o->start && s->cnt == k->cnt;
}

/*
 * As in intake.c: another user's process must be one of the traced tree. One that has ended is known by the arena of its parent,
 * whose slots only a collector gives back.
 */
static bool is_ours(struct keeper *k, uint32_t pid, uint32_t uid)
{
	struct proc_origin o = {0};
	uint32_t at = pid;

	if (uid == geteuid() || uid == 0)
		return true;
	if (is_stranger_still(k, pid, &o))
		return false;
	for (int steps = 0; at > 1 && steps < 64; steps++) {
		if (is_known(k, at))
			return true;
		at = proc_parent(at);
	}
	if (o.parent)
		k->intake.stranger[pid % STRANGERS] = (struct stranger){pid, o.start, k->cnt};
	return false;
}

static bool has_many(const struct keeper *k, uint32_t pid)
{
	uint32_t cnt = 0;

	for (size_t i = 0; i < k->cnt; i++)
		cnt += k->kept[i].peer_pid == pid;
	return cnt >= ARENAS_OF_PROCESS;
}

/* Handles messages on a connection of the traced tree. True: the connection is done. */
static bool hear(struct keeper *k, int sock)
{
	struct hello h = {.fd = -1};
	struct stat st;
	int got = hello_receive(sock, &h);

	if (got == 0)
		return false;
	if (got > 0 && h.fd >= 0 && !has_many(k, h.pid) && ring_memfd_is_sound(h.fd, &st)) {
		keep(k, ++k->last_id, h.pid, h.claimed, h.fd);
	} else if (h.fd >= 0 || got == -2) {
		k->intake.refused.strangers++;
		if (h.fd >= 0)
			close(h.fd);
	}
	hello_silent_forget(&k->intake.silent, sock);
	close(sock);
	return true;
}

/* Of the tree or not: /proc shows nothing of a process that has ended, so its ring is counted apart. */
static void refuse(struct keeper *k, int sock)
{
	struct hello h = {.fd = -1};

	if (hello_receive(sock, &h) > 0 && h.fd >= 0 && !proc_parent(h.pid))
		k->intake.refused.ended++;
	else
		k->intake.refused.strangers++;
	if (h.fd >= 0)
		close(h.fd);
	close(sock);
}

/*
 * Whose it is comes first: nothing is waited for from strangers, or their connections would hold up those of programs, which may
 * end meanwhile.
 */
static void on_connection(struct keeper *k, int sock)
{
	uint32_t pid, uid;
	int oldest;

	if (!hello_sender(sock, &pid, &uid) || !is_ours(k, pid, uid)) {
		refuse(k, sock);
		return;
	}
	if (hear(k, sock))
		return;
	oldest = hello_silent_add(&k->intake.silent, sock);
	if (oldest >= 0)
		close(oldest);
}

/* No descriptor is left: the program's arena is lost, or its connection would stay readable for ever. */
static bool turn_away(struct keeper *k)
{
	int sock;

	if ((errno != EMFILE && errno != ENFILE) || k->intake.reserve_fd < 0)
		return false;
	close(k->intake.reserve_fd);
	sock = hello_accept(k->listen_fd);
	if (sock >= 0)
		close(sock);
	k->intake.reserve_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	k->intake.refused.strangers += sock >= 0;
	return sock >= 0;
}

/* Hellos of programs while there is no collector. */
static void take_hellos(struct keeper *k)
{
	struct hello_silent *silent = &k->intake.silent;
	unsigned cnt = 0;
	int sock;

	for (unsigned i = silent->cnt; i-- > 0;)
		hear(k, silent->at[i].sock);
	while ((sock = hello_silent_late(silent)) >= 0) {
		k->intake.refused.strangers++;
		close(sock);
	}
	do {
		while (cnt++ < ACCEPTS_MAX && (sock = hello_accept(k->listen_fd)) >= 0)
			on_connection(k, sock);
	} while (cnt < ACCEPTS_MAX && turn_away(k));
}

/* `recover` is here: hand over everything. True: it has taken it. */
static bool hand_over(struct keeper *k)
{
	int sock = accept4(k->recover_fd, NULL, NULL, SOCK_CLOEXEC), fd;
	struct keeper_message m = {.kind = KEEPER_LISTEN};
	bool ok;

	if (sock < 0)
		return false;
	ok = keeper_send(sock, &m, k->listen_fd) == 0;
	m.kind = KEEPER_RECOVER;
	ok = ok && keeper_send(sock, &m, k->recover_fd) == 0;
	for (size_t i = 0; i < k->cnt && ok; i++) {
		m.kind = KEEPER_ARENA;
		m.id = k->kept[i].id;
		m.peer_pid = k->kept[i].peer_pid;
		m.claimed_pid = k->kept[i].claimed_pid;
		ok = keeper_send(sock, &m, k->kept[i].fd) == 0;
	}
	for (uint32_t i = 0; i < SPOOL_SEGMENTS && ok; i++) {
		m.kind = KEEPER_SPOOL;
		m.id = i;
		ok = k->spool[i] < 0 || keeper_send(sock, &m, k->spool[i]) == 0;
	}
	m.kind = KEEPER_DONE;
	m.refused = k->intake.refused;
	ok = ok && keeper_send(sock, &m, -1) == 0;
	/* Only on KEEPER_TAKEN: the other side has a keeper of its own by then. */
	ok = ok && keeper_receive(sock, &m, &fd) > 0 && m.kind == KEEPER_TAKEN;
	close(sock);
	return ok;
}

static bool has_owner(const struct keeper *k)
{
	bool owned = awaits_root(k);

	for (size_t i = 0; i < k->cnt && !owned; i++)
		owned = arena_has_owner(&k->kept[i]);
	return owned;
}

static void keep_alone(struct keeper *k)
{
	int64_t look_at = mono_ms() + CHECK_MS;

	/* Programs wait in connect(): the connection of one that has ended in a long queue shows no more whose it was. */
	listen(k->listen_fd, BACKLOG);
	for (;;) {
		struct pollfd p[2] = {{.fd = k->listen_fd, .events = POLLIN},
				      {.fd = k->recover_fd, .events = POLLIN}};
		int n = poll(p, 2, k->intake.silent.cnt ? SILENT_MS : CHECK_MS);

		take_hellos(k);
		if (n > 0 && p[1].revents && hand_over(k))
			return;
		/* A connection that only checks for life (`sessions list`) does not end the wait. */
		if (mono_ms() < look_at)
			continue;
		look_at = mono_ms() + CHECK_MS;
		if (has_owner(k))
			continue;
		/* One call reaches all messages that an owner sent before its end. */
		take_hellos(k);
		if (!has_owner(k))
			break;
	}
	/* No report: nothing was being recorded. */
	if (!k->report[0] || !(k->cnt || k->intake.refused.strangers || k->intake.refused.ended) ||
	    keeper_save(k))
		session_unlink(k->dir);
}

static void run(int control)
{
	struct keeper *k = calloc(1, sizeof(*k));
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	sigset_t none;

	if (!k || null < 0)
		_exit(1);
	setsid();
	sigemptyset(&none);
	for (int sig = 1; sig < NSIG; sig++)
		signal(sig, SIG_DFL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	sigprocmask(SIG_SETMASK, &none, NULL);
	prctl(PR_SET_NAME, "sightline-keep");
	title_set("sightline: keeper");
	for (int fd = 0; fd < 3; fd++)
		dup2(null, fd);
	/* The control socket moves to 3, all others are closed: no pipe of the user stays open. */
	if (control != 3)
		dup2(control, 3);
	close_range(4, ~0u, 0);
	if (chdir("/") < 0)
		_exit(1);
	k->control = 3;
	k->listen_fd = k->recover_fd = k->folder = k->before = k->root.pidfd = -1;
	k->intake.reserve_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	memset(k->spool, 0xff, sizeof(k->spool));
	if (!serve_collector(k) && k->dir[0] && k->before < 0)
		keep_alone(k);
	_exit(0);
}

int keeper_start(void)
{
	int pair[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	pid = fork();
	if (pid < 0) {
		close(pair[0]);
		close(pair[1]);
		return -errno;
	}
	/*
	 * A child without a wait: it ends with the collector, or outlives it. A second fork would cost the program
	 * time.
	 */
	if (pid == 0)
		run(pair[1]);
	close(pair[1]);
	return pair[0];
}
