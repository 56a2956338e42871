/* hostile.h - what a program that lies to its collector is made of: hellos, arenas, records. Included once, by hostile.c. */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "preload/wire/arena.h"
#include "preload/wire/clock.h"
#include "preload/wire/hooks.h"
#include "preload/wire/session.h"

#define DATA_WORDS (sizeof(((struct sl_chunk *)0)->data) / 8)

static uint32_t clock_mode;

/* ---- the way in ---- */

static const char *dir(void)
{
	static char own[200];
	const char *d = getenv("HOSTILE_DIR"), *session = getenv("SIGHTLINE_SESSION");

	if (!d && session && !*own) {
		snprintf(own, sizeof(own), "%s", session);
		*strrchr(own, ':') = 0;
		*strrchr(own, ':') = 0;
	}
	return d ? d : own;
}

/* Other users may read the control file of root's session. */
static void read_settings(void)
{
	char path[200];
	struct sl_session s;
	int fd;

	snprintf(path, sizeof(path), "%s/control", dir() ? dir() : "");
	fd = open(path, O_RDONLY);
	clock_mode = fd >= 0 && read(fd, &s, sizeof(s)) == sizeof(s) ? s.clock_mode : SL_CLOCK_TSC;
	close(fd);
}

static uint64_t ticks(void)
{
	return clock_mode == SL_CLOCK_MONO ? sl_mono_ns() : sl_counter();
}

static int join(void)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int sock = socket(AF_UNIX, SOCK_SEQPACKET, 0);

	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/socket", dir() ? dir() : "");
	if (connect(sock, (struct sockaddr *)&addr, sizeof(addr)) == 0)
		return sock;
	close(sock);
	return -1;
}

/* One datagram of any bytes with @cnt times the descriptor. */
static int put(int sock, const void *bytes, size_t len, int fd, unsigned cnt)
{
	struct iovec iov = {(void *)(uintptr_t)bytes, len};
	union {
		char room[CMSG_SPACE(64 * sizeof(int))];
		struct cmsghdr align;
	} control;
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};

	memset(&control, 0, sizeof(control));
	if (fd >= 0 && cnt) {
		msg.msg_control = control.room;
		msg.msg_controllen = CMSG_SPACE(cnt * sizeof(int));
		control.align.cmsg_level = SOL_SOCKET;
		control.align.cmsg_type = SCM_RIGHTS;
		control.align.cmsg_len = CMSG_LEN(cnt * sizeof(int));
		for (unsigned i = 0; i < cnt; i++)
			memcpy(CMSG_DATA(&control.align) + i * sizeof(int), &fd, sizeof(fd));
	}
	if (sendmsg(sock, &msg, MSG_NOSIGNAL) >= 0)
		return 0;
	/* Strangers may be hung up on at once. */
	return errno == EPIPE || errno == ECONNRESET ? 0 : -errno;
}

static int hello(int fd, uint32_t kind, uint32_t pid)
{
	struct sl_hello h = {
		.magic = SL_HELLO_MAGIC, .wire_version = SL_WIRE_VERSION, .kind = kind, .pid = pid};
	int sock = join(), err;

	if (sock < 0)
		return -errno;
	err = put(sock, &h, sizeof(h), fd, 1);
	close(sock);
	return err;
}

/* ---- arenas ---- */

static int new_memfd(void)
{
	return memfd_create("hostile", MFD_ALLOW_SEALING);
}

static int plain_file(void)
{
	char path[] = "/tmp/sl-hostile.XXXXXX";
	int fd = mkstemp(path);

	unlink(path);
	return fd;
}

static struct sl_arena *fill(int fd, uint32_t chunks)
{
	uint64_t bytes = sl_arena_bytes(chunks);
	struct sl_arena *a = MAP_FAILED;

	if (ftruncate(fd, (off_t)bytes) == 0)
		a = mmap(NULL, SL_ARENA_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
			 fd, 0);
	if (a == MAP_FAILED) {
		perror("arena");
		exit(1);
	}
	*a = (struct sl_arena){.magic = SL_ARENA_MAGIC,
			       .wire_version = SL_WIRE_VERSION,
			       .hook_cnt = SL_HOOK_CNT,
			       .hook_hash = sl_hook_hash(),
			       .chunk_bytes = SL_CHUNK_BYTES,
			       .chunk_cnt = chunks,
			       .slot_cnt = SL_SLOT_CNT,
			       .header_bytes = SL_ARENA_HEADER_BYTES,
			       .creator_pid = (uint32_t)getpid(),
			       .clock_mode = clock_mode,
			       .born = ticks(),
			       .process_cnt = 1};
	return a;
}

static struct sl_arena *arena(int *fd)
{
	struct sl_arena *a;

	*fd = new_memfd();
	a = fill(*fd, SL_CHUNK_CNT);
	fcntl(*fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW);
	return a;
}

static int announce(int fd)
{
	int err = hello(fd, SL_HELLO_ARENA, (uint32_t)getpid());

	close(fd);
	return err;
}

static void thread(struct sl_arena *a, uint32_t i, uint32_t process, uint32_t pid, uint32_t tid)
{
	struct sl_slot *s = &a->slot[i];

	s->pid = pid;
	s->tid = tid;
	s->process = process;
	s->instance = 1;
	s->born = ticks();
	s->first_chunk = ++a->fresh_chunk;
	s->agg_chunk = ++a->fresh_chunk;
	sl_chunk_at(a, s->first_chunk)->slot = i + 1;
	memcpy(s->comm, "hostile", 8);
	__atomic_store_n(&s->state, SL_SLOT_LIVE, __ATOMIC_RELEASE);
	a->fresh_slot = i + 1;
}

static struct sl_chunk *last_chunk(struct sl_arena *a, uint32_t i)
{
	struct sl_chunk *c = sl_chunk_at(a, a->slot[i].first_chunk);

	while (c->next)
		c = sl_chunk_at(a, c->next);
	return c;
}

/* Words after the two of the head; false: no chunk is left. */
static bool record(struct sl_arena *a, uint32_t i, uint64_t start, uint32_t head,
		   const uint64_t *payload)
{
	struct sl_chunk *c = last_chunk(a, i);
	unsigned words = sl_head_words(head);
	uint64_t *w;

	if (c->committed / 8 + words > DATA_WORDS) {
		sl_ref next = a->fresh_chunk + 1;
		struct sl_chunk *d;

		if (next > a->chunk_cnt)
			return false;
		a->fresh_chunk = next;
		d = sl_chunk_at(a, next);
		d->seq = c->seq + 1;
		d->slot = i + 1;
		__atomic_store_n(&c->next, next, __ATOMIC_RELEASE);
		c = d;
	}
	w = c->data + c->committed / 8;
	w[0] = start;
	w[1] = (uint64_t)head << 32;
	if (words > 2)
		memcpy(w + 2, payload, (words - 2) * 8);
	__atomic_store_n(&c->committed, c->committed + words * 8, __ATOMIC_RELEASE);
	return true;
}

static void meta(struct sl_arena *a, uint32_t i, unsigned kind, const uint64_t *fixed,
		 unsigned fixed_cnt, const void *text, size_t len)
{
	uint64_t payload[SL_REC_MAX_WORDS] = {0};
	unsigned words = 2 + fixed_cnt + (unsigned)((len + 7) / 8);

	memcpy(payload, fixed, fixed_cnt * 8);
	memcpy(payload + fixed_cnt, text, len);
	record(a, i, ticks(), sl_head(kind, words, 0, SL_SHAPE_META, 0), payload);
}

static void image(struct sl_arena *a, uint32_t i, uint32_t pid, uint32_t ppid)
{
	static const char text[] = "/bin/hostile\0hostile --password=hunter2";
	uint64_t fixed[] = {pid | (uint64_t)ppid << 32, SL_IMAGE_START, sizeof(text) - 1};

	meta(a, i, SL_META_IMAGE, fixed, 3, text, sizeof(text) - 1);
}

/* As an honest program's: one thread of this process. */
static struct sl_arena *usual(int *fd)
{
	struct sl_arena *a = arena(fd);

	thread(a, 0, 1, (uint32_t)getpid(), (uint32_t)getpid());
	image(a, 0, (uint32_t)getpid(), (uint32_t)getppid());
	return a;
}

static void text_of(struct sl_arena *a, uint32_t id, const char *text, size_t len)
{
	uint64_t fixed[] = {id, len};

	meta(a, 0, SL_META_STRING, fixed, 2, text, len);
}
