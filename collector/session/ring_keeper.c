/*
 * ring_keeper.c - the keeper process: holds arenas while the collector lives, serves recover, writes files at the
 * end.
 *
 * It must survive whatever ends the collector: it has a session of its own, only the descriptors it was given, and
 * makes no call that could print or exit.
 */
#include "collector/session/ring_keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "collector/base/grow.h"
#include "collector/session/hello.h"
#include "collector/session/ring_file.h"
#include "collector/base/clock_map.h"
#include "collector/base/proc.h"
#include "collector/base/title.h"
#include "collector/model/spool.h"
#include "collector/session/session.h"
#include "preload/wire/arena.h"

#define CHECK_MS          500
#define ARENAS_OF_PROCESS 64 /* that are taken while there is no collector */

struct kept {
	uint32_t id, peer_pid, claimed_pid;
	int fd;
};

struct keeper {
	int control, listen_fd, recover_fd;
	int before; /* socket to the keeper before: this one holds nothing alone yet; -1 */
	int folder; /* of the report; -1: nothing is recorded */
	char dir[96], report[3900];
	struct kept *kept;
	size_t cnt, cap;
	uint32_t last_id, root_pid;
	uint32_t refused;          /* arenas that processes sent after the collector's death */
	int spool[SPOOL_SEGMENTS]; /* descriptors of segments, -1 none */
};

int keeper_send(int sock, const struct keeper_message *m, int fd)
{
	struct iovec iov = {(void *)(uintptr_t)m, sizeof(*m)};
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
	if (n > 0 && n != sizeof(*m)) {
		if (*fd >= 0)
			close(*fd);
		return -EPROTO;
	}
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

/* Until the collector sends KEEPER_DONE (true) or is gone without it (false). */
static bool serve_collector(struct keeper *k)
{
	struct keeper_message m;
	int fd;

	while (keeper_receive(k->control, &m, &fd) > 0) {
		switch (m.kind) {
		case KEEPER_SETUP:
			memcpy(k->dir, m.dir, sizeof(k->dir));
			memcpy(k->report, m.report, sizeof(k->report));
			k->root_pid = m.peer_pid;
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
			drop(k, m.id);
			break;
		case KEEPER_LISTEN:
			k->listen_fd = fd;
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

/* Is a thread of the process in a slot? By what the process wrote, which is of the traced tree. */
static bool arena_names(const struct kept *kept, uint32_t pid)
{
	const struct sl_arena *a = map_header(kept);
	bool found = false;

	if (!a)
		return false;
	for (uint32_t i = 0; i < slots_of(a) && !found; i++)
		found = a->slot[i].state != SL_SLOT_FREE && a->slot[i].pid == pid;
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

/* Only what was touched: an arena is mostly holes. */
static int copy_touched(int from, int to)
{
	char buf[65536];
	off_t at = 0, end = lseek(from, 0, SEEK_END);

	if (ftruncate(to, end) < 0)
		return -errno;
	while ((at = lseek(from, at, SEEK_DATA)) >= 0) {
		end = lseek(from, at, SEEK_HOLE);
		while (at < end) {
			size_t want =
				end - at < (off_t)sizeof(buf) ? (size_t)(end - at) : sizeof(buf);
			ssize_t n = pread(from, buf, want, at);

			if (n <= 0 || pwrite(to, buf, (size_t)n, at) != n)
				return errno ? -errno : -EIO;
			at += n;
		}
	}
	return 0;
}

static void write_clock(int folder)
{
	struct clock_snapshot s = clock_snapshot_take(clock_mode_detect(), true);
	int fd = ring_file_make(folder, KEEPER_CLOCK);

	if (fd < 0)
		return;
	if (write(fd, &s, sizeof(s)) != sizeof(s))
		unlinkat(folder, KEEPER_CLOCK, 0);
	close(fd);
}

/* One file per arena. 0, or the first error; each ring is tried. */
static int write_rings(const struct keeper *k, int folder)
{
	int first = 0;

	write_clock(folder);
	for (size_t i = 0; i < k->cnt; i++) {
		const struct kept *kept = &k->kept[i];
		struct ring_name name = {kept->id, kept->peer_pid, kept->claimed_pid};
		char text[RING_NAME_MAX];
		int fd, err;

		ring_name_make(&name, text);
		fd = ring_file_make(folder, text);
		err = fd < 0 ? fd : copy_touched(kept->fd, fd);
		if (fd >= 0)
			close(fd);
		if (err && !first)
			first = err;
	}
	return first;
}

static bool has_copies(int fd)
{
	const struct sl_chunk *c = mmap(NULL, SPOOL_SEGMENT_BYTES, PROT_READ, MAP_SHARED, fd, 0);
	bool found = false;

	if (c == MAP_FAILED)
		return true;
	for (uint32_t i = 0; i < SPOOL_SEGMENT_CHUNKS && !found; i++)
		found = c[i].reserved[SPOOL_ARENA] != 0;
	munmap((void *)(uintptr_t)c, SPOOL_SEGMENT_BYTES);
	return found;
}

/* Those in memory; the others are files already. 0, or the first error. */
static int write_spool(const struct keeper *k, int folder)
{
	int first = 0;

	for (uint32_t i = 0; i < SPOOL_SEGMENTS; i++) {
		char name[RING_NAME_MAX];
		struct stat st;
		int fd, err;

		if (k->spool[i] < 0 || fstat(k->spool[i], &st) < 0 || st.st_nlink ||
		    !has_copies(k->spool[i]))
			continue;
		snprintf(name, sizeof(name), "%u" SPOOL_SUFFIX, i);
		fd = ring_file_make(folder, name);
		err = fd < 0 ? fd : copy_touched(k->spool[i], fd);
		if (fd >= 0)
			close(fd);
		if (err && !first)
			first = err;
	}
	return first;
}

/* Removes what was written; segments that were files before stay. */
static void unwrite(const struct keeper *k, int folder)
{
	char text[RING_NAME_MAX];
	struct stat st;

	unlinkat(folder, KEEPER_CLOCK, 0);
	for (size_t i = 0; i < k->cnt; i++) {
		struct ring_name name = {k->kept[i].id, k->kept[i].peer_pid,
					 k->kept[i].claimed_pid};

		ring_name_make(&name, text);
		unlinkat(folder, text, 0);
	}
	for (uint32_t i = 0; i < SPOOL_SEGMENTS; i++) {
		if (k->spool[i] < 0 || fstat(k->spool[i], &st) < 0 || st.st_nlink)
			continue;
		snprintf(text, sizeof(text), "%u" SPOOL_SUFFIX, i);
		unlinkat(folder, text, 0);
	}
}

/* Beside the report; where that fails, in the session's folder, which stays then. True: it may go. */
static bool save_rings(const struct keeper *k)
{
	const char *slash = strrchr(k->report, '/');
	int session, folder = -EPERM, err;
	char name[300];

	snprintf(name, sizeof(name), "%.255s" KEEPER_RINGS, slash ? slash + 1 : k->report);
	if (k->folder >= 0)
		folder = ring_folder_open(k->folder, name, true);
	err = folder < 0 ? folder : write_rings(k, folder);
	if (!err)
		err = write_spool(k, folder);
	if (err && folder >= 0)
		unwrite(k, folder);
	if (folder >= 0)
		close(folder);
	if (!err)
		return true;
	session = session_folder_open(k->dir);
	folder = session < 0 ? session : ring_folder_open(session, "rings", true);
	if (folder >= 0) {
		write_rings(k, folder);
		write_spool(k, folder);
		close(folder);
	}
	return false;
}

/* Does the process have an arena here, or is it a child of one that shares the arena? */
static bool is_known(const struct keeper *k, uint32_t pid)
{
	if (pid == k->root_pid)
		return true;
	for (size_t i = 0; i < k->cnt; i++)
		if (k->kept[i].peer_pid == pid || arena_names(&k->kept[i], pid))
			return true;
	return false;
}

/* As in intake.c: another user's process must be one of the traced tree. */
static bool is_ours(const struct keeper *k, const struct hello *h)
{
	uint32_t pid = h->pid;

	if (h->uid == geteuid() || h->uid == 0)
		return true;
	for (int steps = 0; pid > 1 && steps < 64; steps++) {
		if (is_known(k, pid))
			return true;
		pid = proc_parent(pid);
	}
	return false;
}

static bool has_many(const struct keeper *k, uint32_t pid)
{
	uint32_t cnt = 0;

	for (size_t i = 0; i < k->cnt; i++)
		cnt += k->kept[i].peer_pid == pid;
	return cnt >= ARENAS_OF_PROCESS;
}

/* A program's hello while there is no collector. */
static void take_hello(struct keeper *k)
{
	int sock = hello_accept(k->listen_fd);
	struct pollfd p = {.fd = sock, .events = POLLIN};
	struct hello h = {.fd = -1};
	struct stat st;

	if (sock < 0)
		return;
	if (poll(&p, 1, 100) > 0 && hello_receive(sock, &h) > 0 && h.fd >= 0) {
		if (is_ours(k, &h) && !has_many(k, h.pid) && ring_memfd_is_sound(h.fd, &st)) {
			keep(k, ++k->last_id, h.pid, h.claimed, h.fd);
		} else {
			k->refused++;
			close(h.fd);
		}
	}
	close(sock);
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
	m.id = k->refused;
	ok = ok && keeper_send(sock, &m, -1) == 0;
	/* Only on KEEPER_TAKEN: the other side has a keeper of its own by then. */
	ok = ok && keeper_receive(sock, &m, &fd) > 0 && m.kind == KEEPER_TAKEN;
	close(sock);
	return ok;
}

static int listen_for_recover(const struct keeper *k)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -1;
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%.96s/keeper", k->dir);
	unlink(addr.sun_path);
	/* Others can enter the folders of root's sessions (session.c): the rings are root's all the same. */
	if (fchmod(fd, 0600) < 0 || bind(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0 ||
	    listen(fd, 4) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

static int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static void keep_alone(struct keeper *k)
{
	int64_t look_at = now_ms() + CHECK_MS;

	k->recover_fd = listen_for_recover(k);
	for (;;) {
		struct pollfd p[2] = {{.fd = k->listen_fd, .events = POLLIN},
				      {.fd = k->recover_fd, .events = POLLIN}};
		int n = poll(p, 2, CHECK_MS);
		bool owned = false;

		if (n > 0 && p[0].revents)
			take_hello(k);
		if (n > 0 && p[1].revents && hand_over(k))
			return;
		/* A connection that only checks for life (`sessions list`) does not end the wait. */
		if (n > 0 && now_ms() < look_at)
			continue;
		look_at = now_ms() + CHECK_MS;
		for (size_t i = 0; i < k->cnt && !owned; i++)
			owned = arena_has_owner(&k->kept[i]);
		if (!owned)
			break;
	}
	/* No report: nothing was being recorded. */
	if (!k->report[0] || !k->cnt || save_rings(k))
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
	k->listen_fd = k->recover_fd = k->folder = k->before = -1;
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
