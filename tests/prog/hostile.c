/*
 * hostile.c - a traced program that lies to its collector: descriptors, pids, ids, counts, lengths, records of every kind.
 *
 *   hostile MODE [ARGUMENT...]
 *
 * The session is that of SIGHTLINE_SESSION, or of HOSTILE_DIR (a stranger's). Prints one line: what it did.
 */
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
	const char *d = getenv("HOSTILE_DIR");

	return d ? d : getenv("SIGHTLINE_SESSION");
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
	return sendmsg(sock, &msg, MSG_NOSIGNAL) < 0 ? -errno : 0;
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

/* ---- descriptors that are no rings ---- */

static int plain(void)
{
	int fd = plain_file(), err;
	struct sl_arena *a = fill(fd, SL_CHUNK_CNT);

	thread(a, 0, 1, (uint32_t)getpid(), (uint32_t)getpid());
	image(a, 0, (uint32_t)getpid(), (uint32_t)getppid());
	err = hello(fd, SL_HELLO_ARENA, (uint32_t)getpid());
	usleep(300000);
	if (ftruncate(fd, 0) < 0)
		perror("ftruncate");
	usleep(300000);
	return err;
}

/* Each once: sizes, seals and kinds of files. */
static int descriptors(void)
{
	static const unsigned seals[] = {0, F_SEAL_SHRINK, F_SEAL_GROW,
					 F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE,
					 F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE};
	const uint64_t sizes[] = {
		0, 1, 4096, SL_ARENA_HEADER_BYTES, SL_ARENA_BYTES + 4096, UINT64_C(1) << 40};
	int pair[2], huge, err = 0;

	for (size_t i = 0; i < sizeof(seals) / sizeof(*seals); i++) {
		int fd = new_memfd();
		struct sl_arena *a = fill(fd, 16);

		thread(a, 0, 1, (uint32_t)getpid(), (uint32_t)getpid());
		munmap(a, SL_ARENA_BYTES);
		fcntl(fd, F_ADD_SEALS, seals[i]);
		err |= hello(fd, SL_HELLO_ARENA, (uint32_t)getpid());
		if (!(seals[i] & F_SEAL_SHRINK) && ftruncate(fd, 0) < 0)
			perror("ftruncate");
		close(fd);
	}
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		int fd = new_memfd();

		if (ftruncate(fd, (off_t)sizes[i]) < 0)
			perror("ftruncate");
		fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW);
		err |= announce(fd);
	}
	if (pipe(pair) < 0)
		return 1;
	err |= announce(pair[0]);
	err |= announce(pair[1]);
	err |= announce(open("/", O_RDONLY | O_DIRECTORY));
	err |= announce(open("/etc/hostname", O_PATH));
	err |= announce(open("/dev/zero", O_RDONLY));
	err |= announce(open("/proc/self/mem", O_RDWR));
	err |= announce(socket(AF_UNIX, SOCK_STREAM, 0));
	huge = memfd_create("huge", MFD_ALLOW_SEALING | MFD_HUGETLB);
	if (huge >= 0 && ftruncate(huge, 64 << 20) == 0) {
		fcntl(huge, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW);
		err |= announce(huge);
	}
	return err;
}

static uint64_t random_state;
static uint64_t next_random(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

/* Datagrams that are no hellos, with none, one or many descriptors. */
static int datagrams(unsigned cnt)
{
	static unsigned char bytes[4096];
	int null = open("/dev/null", O_RDONLY);

	for (unsigned i = 0; i < cnt; i++) {
		size_t len = next_random() % 3 ? sizeof(struct sl_hello) : next_random() % 4096;
		struct sl_hello h = {.magic = SL_HELLO_MAGIC,
				     .wire_version = SL_WIRE_VERSION,
				     .kind = (uint32_t)next_random() % 6,
				     .pid = (uint32_t)next_random()};
		int sock = join();

		if (sock < 0)
			return -errno;
		for (size_t at = 0; at < len; at++)
			bytes[at] = (unsigned char)next_random();
		if (next_random() % 4)
			memcpy(bytes, &h, sizeof(h));
		for (unsigned n = 1 + (unsigned)next_random() % 2; n; n--)
			put(sock, bytes, len, null, (unsigned)next_random() % 3 * 20);
		close(sock);
	}
	return 0;
}

/* More chunks than the memory has, once it was looked at; links of the pool that lead out of it. */
static int counts(void)
{
	int fd = new_memfd(), err;
	struct sl_arena *a = fill(fd, 8);

	fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW);
	thread(a, 0, 1, (uint32_t)getpid(), (uint32_t)getpid());
	image(a, 0, (uint32_t)getpid(), (uint32_t)getppid());
	err = announce(fd);
	usleep(300000);
	__atomic_store_n(&a->chunk_cnt, SL_CHUNK_CNT, __ATOMIC_SEQ_CST);
	a->free_chunks = 0xfffffff0;
	a->free_slots = 0xfffffff0;
	a->fresh_chunk = a->used_chunks = 0xffffffff;
	a->slot[0].agg_chunk = SL_CHUNK_CNT;
	usleep(1200000); /* totals are read once per second */
	__atomic_store_n(&sl_chunk_at(a, a->slot[0].first_chunk)->next, SL_CHUNK_CNT,
			 __ATOMIC_RELEASE);
	usleep(300000);
	return err;
}

/* ---- ids, pids, sums ---- */

static int strings_far(void)
{
	static const uint32_t ids[] = {(1u << 22) - 1, 7, 300, 70000, UINT32_MAX};
	int err = 0;

	for (int n = 0; n < 30; n++) {
		int fd;
		struct sl_arena *a = usual(&fd);

		for (size_t i = 0; i < sizeof(ids) / sizeof(*ids); i++)
			text_of(a, ids[i], "AAAAAAAAAAAAAAAA", 8);
		err |= announce(fd);
	}
	return err;
}

/* Texts of 8 KB under ever new ids. */
static int strings_many(unsigned arenas)
{
	static char text[8100];
	int err = 0;

	memset(text, 'A', sizeof(text));
	for (unsigned n = 0; n < arenas && !err; n++) {
		int fd;
		struct sl_arena *a = usual(&fd);

		for (uint32_t id = 1; id < 3000; id++) {
			snprintf(text, 32, "%u %u ", n, id);
			text[strlen(text)] = 'A';
			text_of(a, id, text, sizeof(text));
		}
		err = announce(fd);
		munmap(a, SL_ARENA_BYTES);
	}
	return err;
}

static int arenas_many(unsigned cnt)
{
	unsigned n;

	for (n = 0; n < cnt; n++) {
		int fd;
		struct sl_arena *a = usual(&fd);

		munmap(a, SL_ARENA_BYTES);
		if (announce(fd))
			break;
	}
	return (int)(cnt - n);
}

/* Process numbers with pids of others; a cycle of parents. */
static int pids(int cnt, char **list)
{
	int fd;
	struct sl_arena *a = usual(&fd);

	for (int i = 0; i < cnt; i++) {
		uint32_t pid = (uint32_t)strtoul(list[i], NULL, 10),
			 next = (uint32_t)strtoul(list[(i + 1) % cnt], NULL, 10);

		thread(a, (uint32_t)i + 1, (uint32_t)i + 2, pid, pid);
		image(a, (uint32_t)i + 1, pid, next);
	}
	a->process_cnt = (uint32_t)cnt + 1;
	return announce(fd);
}

/* Totals and losses near the ends of 64 bits. */
static int sums(void)
{
	static const uint64_t big[] = {UINT64_MAX, INT64_MAX, UINT64_C(1) << 62,
				       (UINT64_C(1) << 63) + 1};
	int fd;
	struct sl_arena *a = usual(&fd);

	for (unsigned n = 0; n < 4; n++) {
		struct sl_agg *agg;

		if (n)
			thread(a, n, 1, (uint32_t)getpid(), (uint32_t)getpid() + n);
		agg = (struct sl_agg *)sl_chunk_at(a, a->slot[n].agg_chunk);
		for (unsigned hook = 0; hook < SL_HOOK_CNT; hook++)
			agg[hook] = (struct sl_agg){big[(hook + n) % 4],
						    big[n],
						    big[n],
						    big[n],
						    big[n],
						    big[n],
						    big[n],
						    big[n]};
		a->slot[n].lost_cnt = big[n];
		a->slot[n].lost_last = big[n];
		a->slot[n].nested_cnt = big[n];
	}
	a->unslotted_cnt = UINT64_MAX;
	a->unslotted_last = UINT64_MAX;
	for (unsigned n = 0; n < 40; n++) {
		uint64_t lost[] = {big[n % 4], big[n % 4], n % 3};

		meta(a, 0, SL_META_LOST, lost, 3, "", 0);
	}
	return announce(fd);
}

/* A text that would act on a terminal, in each kind of note. */
static int notes(void)
{
	static const char text[] = "say \033]0;title\007\033[31mred \302\233";
	int fd;
	struct sl_arena *a = usual(&fd);

	for (uint64_t kind = 0; kind < 4; kind++) {
		uint64_t fixed[] = {kind, sizeof(text) - 1};

		meta(a, 0, SL_META_NOTE, fixed, 2, text, sizeof(text) - 1);
	}
	return announce(fd);
}

/* A ring without an end: two chunks after each other, again and again. */
static int cycle(unsigned ms)
{
	int fd, err;
	struct sl_arena *a = usual(&fd);
	struct sl_chunk *one = sl_chunk_at(a, 1), *two = sl_chunk_at(a, 3);
	uint64_t end = sl_mono_ns() + ms * UINT64_C(1000000);

	err = announce(fd);
	two->slot = 1;
	one->next = 3;
	two->next = 1;
	for (uint32_t seq = 1; (seq - 1) % 65536 || sl_mono_ns() < end; seq += 2) {
		two->seq = seq;
		one->seq = seq + 1;
	}
	return err;
}

/* ---- the keeper ---- */

/* Links where a keeper would write rings; then a memfd with a text of its own. */
static int links(const char *report, const char *target)
{
	static const char text[] = "# written by another user\n";
	char path[600];
	int fd, err;

	snprintf(path, sizeof(path), "%s.rings", report);
	mkdir(path, 0777);
	for (int id = 1; id < 40; id++)
		for (int pid = getpid() - 2; pid < getpid() + 4; pid++) {
			snprintf(path, sizeof(path), "%s.rings/%d-%d-%d.ring", report, id, pid,
				 pid);
			if (symlink(target, path) < 0 && errno != EEXIST)
				return -errno;
		}
	snprintf(path, sizeof(path), "%s.rings/clock", report);
	if (symlink(target, path) < 0)
		return -errno;
	fd = new_memfd();
	if (ftruncate(fd, 1 << 20) < 0 || write(fd, text, sizeof(text) - 1) < 0)
		return -errno;
	err = announce(fd);
	return err;
}

/* Many bytes for the keeper to write. */
static int big(unsigned mib)
{
	static char block[1 << 20];
	int fd = new_memfd();

	memset(block, 'A', sizeof(block));
	for (unsigned i = 0; i < mib; i++)
		if (write(fd, block, sizeof(block)) < 0)
			break;
	fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW);
	return announce(fd);
}

/* ---- random forgeries ---- */

static uint64_t word(void)
{
	switch (next_random() % 12) {
	case 0:
		return next_random();
	case 1:
		return next_random() % 16;
	case 2:
		return next_random() % 4096;
	case 3:
		return (next_random() % 32) | (next_random() % 32) << 32;
	case 4:
		return 0x2e2f2f61006d6f66u ^ (next_random() & 0x0303030303030303u);
	case 5:
		return ticks() - next_random() % 100000000;
	case 6:
		return UINT64_MAX >> next_random() % 64;
	case 7:
		return UINT64_C(1) << next_random() % 64;
	case 8:
		return 0;
	case 9:
		return next_random() % 70000;
	case 10:
		return UINT64_C(0xffffffff) << next_random() % 33;
	default:
		return next_random() % 4;
	}
}

static unsigned some_hook(unsigned shape)
{
	switch (shape) {
	case SL_SHAPE_META:
		return (unsigned)next_random() % 18;
	case SL_SHAPE_NVTX:
	case SL_SHAPE_GPU:
		return (unsigned)next_random() % 28;
	case SL_SHAPE_API:
		return (unsigned)next_random() % 2048;
	default:
		return (unsigned)next_random() % (SL_HOOK_CNT + 3);
	}
}

static void forge_record(struct sl_arena *a, uint32_t i, uint64_t start)
{
	static const unsigned often[] = {SL_SHAPE_META, SL_SHAPE_NVTX, SL_SHAPE_GPU, SL_SHAPE_API};
	unsigned shape = next_random() % 3 ? (unsigned)next_random() % (SL_SHAPE_CNT + 1)
					   : often[next_random() % 4];
	unsigned words = 2 + (unsigned)next_random() % (next_random() % 16 ? 20 : 200);
	unsigned flags = next_random() % 4 ? 0 : (unsigned)next_random() % 8;
	uint64_t payload[SL_REC_MAX_WORDS];
	struct sl_chunk *c;

	if (next_random() % 500 == 0)
		words = SL_REC_MAX_WORDS;
	for (unsigned n = 0; n < words; n++)
		payload[n] = word();
	record(a, i, next_random() % 50 ? start : word(),
	       sl_head(some_hook(shape), words, (unsigned)next_random() % 8, shape, flags),
	       payload);
	/* A duration, where head and length stay. */
	c = last_chunk(a, i);
	c->data[c->committed / 8 - words + 1] |=
		next_random() % 20 ? next_random() % 5000 : (uint32_t)word();
}

/* Of the header and the slots, as the program may change them at any time. */
static void forge_header(struct sl_arena *a)
{
	uint32_t *words = (uint32_t *)&a->free_chunks;
	size_t cnt = (offsetof(struct sl_arena, slot) - offsetof(struct sl_arena, free_chunks)) / 4;

	if (next_random() % 2)
		words[next_random() % cnt] = (uint32_t)word();
	else
		((uint32_t *)&a->slot[next_random() % 4])[next_random() % 32] = (uint32_t)word();
	if (next_random() % 4 == 0)
		a->chunk_cnt = (uint32_t)word();
	if (next_random() % 4 == 0)
		a->chunk_link[next_random() % 64] = (sl_ref)word();
	if (next_random() % 4 == 0) {
		struct sl_chunk *c = sl_chunk_at(a, 1 + (sl_ref)next_random() % 8);

		((uint32_t *)c)[next_random() % 5] = (uint32_t)word();
	}
}

static int forge(unsigned records)
{
	int fd, err;
	struct sl_arena *a = arena(&fd);
	unsigned threads = 1 + (unsigned)next_random() % 3;

	for (uint32_t i = 0; i < threads; i++) {
		uint64_t *agg, start = a->born;

		thread(a, i, next_random() % 4 ? 1 : 1 + (uint32_t)next_random() % 3,
		       (uint32_t)getpid(), (uint32_t)getpid() + i);
		a->slot[i].parent_process = (uint32_t)next_random() % 3;
		if (next_random() % 3)
			image(a, i, (uint32_t)getpid(), (uint32_t)getppid());
		agg = (uint64_t *)sl_chunk_at(a, a->slot[i].agg_chunk);
		for (unsigned n = 0; n < 4096 && next_random() % 2000; n++)
			agg[n] = word();
		for (unsigned n = 0; n < records; n++) {
			start += next_random() % 3000;
			forge_record(a, i, start);
		}
	}
	a->process_cnt = 4;
	err = announce(fd);
	/* Some change while they are read. */
	if (next_random() % 4 == 0) {
		usleep(20000);
		for (unsigned n = 0; n < 20; n++) {
			forge_header(a);
			usleep(1000);
		}
	}
	munmap(a, SL_ARENA_BYTES);
	return err;
}

static int forgeries(const char *seed, unsigned cnt, unsigned records)
{
	int err = 0;

	random_state = strtoull(seed, NULL, 0) * 0x9e3779b97f4a7c15u + 1;
	for (unsigned i = 0; i < cnt && !err; i++)
		err = forge(records);
	return err;
}

static int act(int cnt, char **arg)
{
	const char *mode = arg[0];
	unsigned number = cnt > 1 ? (unsigned)strtoul(arg[1], NULL, 0) : 0;

	random_state = 0x9e3779b97f4a7c15u + number;
	if (strcmp(mode, "plain") == 0)
		return plain();
	if (strcmp(mode, "descriptors") == 0)
		return descriptors();
	if (strcmp(mode, "datagrams") == 0)
		return datagrams(number);
	if (strcmp(mode, "counts") == 0)
		return counts();
	if (strcmp(mode, "strings-far") == 0)
		return strings_far();
	if (strcmp(mode, "strings") == 0)
		return strings_many(number);
	if (strcmp(mode, "arenas") == 0)
		return arenas_many(number);
	if (strcmp(mode, "pids") == 0)
		return pids(cnt - 1, arg + 1);
	if (strcmp(mode, "sums") == 0)
		return sums();
	if (strcmp(mode, "notes") == 0)
		return notes();
	if (strcmp(mode, "cycle") == 0)
		return cycle(number);
	if (strcmp(mode, "links") == 0 && cnt == 3)
		return links(arg[1], arg[2]);
	if (strcmp(mode, "big") == 0)
		return big(number);
	if (strcmp(mode, "random") == 0 && cnt == 4)
		return forgeries(arg[1], (unsigned)strtoul(arg[2], NULL, 0),
				 (unsigned)strtoul(arg[3], NULL, 0));
	if (strcmp(mode, "usual") == 0) {
		int fd;

		usual(&fd);
		return announce(fd);
	}
	return -EINVAL;
}

/* HOSTILE_WAIT: milliseconds that it stays after that. HOSTILE_EXIT: its status. */
int main(int cnt, char **arg)
{
	const char *wait_ms = getenv("HOSTILE_WAIT"), *status = getenv("HOSTILE_EXIT");
	int err;

	if (cnt < 2)
		return 2;
	signal(SIGPIPE, SIG_IGN);
	read_settings();
	err = act(cnt - 1, arg + 1);
	printf("%s %s\n", arg[1], err ? strerror(err < 0 ? -err : EIO) : "sent");
	fflush(stdout);
	usleep((useconds_t)(wait_ms ? strtoul(wait_ms, NULL, 10) : 300) * 1000);
	return status ? atoi(status) : 0;
}
