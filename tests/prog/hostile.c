/*
 * hostile.c - a traced program that lies to its collector: descriptors, pids, ids, counts, lengths, records of every kind.
 *
 *   hostile MODE [ARGUMENT...]
 *
 * The session is that of SIGHTLINE_SESSION, or of HOSTILE_DIR (a stranger's). Prints one line: what it did.
 */
#include "tests/prog/hostile.h"

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

/* Files with numbers far apart, or (@paths) ever new long paths. */
static int files_many(unsigned arenas, bool paths)
{
	static uint64_t payload[SL_REC_MAX_WORDS];
	int err = 0;

	memset(payload, 'A', sizeof(payload));
	for (unsigned n = 0; n < arenas && !err; n++) {
		unsigned words = paths ? 1000 : 5, cnt = paths ? 5000 : 65000;
		int fd;
		struct sl_arena *a = usual(&fd);

		for (unsigned i = 1; i < cnt; i++) {
			payload[0] = 3;
			payload[1] = sl_fd_serial(3, i * 256);
			payload[2] = paths ? (words - 5) * 8 : 0;
			payload[3] = n * UINT64_C(1000000) + i;
			if (!record(a, 0, ticks(),
				    sl_head(0, words, 0, paths ? SL_SHAPE_PATH : SL_SHAPE_FD, 0),
				    payload))
				break;
		}
		err = announce(fd);
		munmap(a, SL_ARENA_BYTES);
	}
	return err;
}

/* As many threads as an arena has, each in a process of its own. */
static int threads_many(unsigned arenas)
{
	int err = 0;

	for (unsigned n = 0; n < arenas && !err; n++) {
		int fd;
		struct sl_arena *a = arena(&fd);

		for (uint32_t i = 0; i < SL_SLOT_CNT - 2; i++) {
			thread(a, i, i + 1, (uint32_t)getpid(), (uint32_t)getpid());
			image(a, i, (uint32_t)getpid(), (uint32_t)getppid());
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

/* As many threads as there can be, all with the same two chunks, full and in a circle; a file that no ring describes. */
static int circles(void)
{
	int fd;
	struct sl_arena *a = arena(&fd);
	uint64_t payload[] = {3, sl_fd_serial(3, 77), 0};
	struct sl_chunk *one, *two;

	thread(a, 0, 1, (uint32_t)getpid(), (uint32_t)getpid());
	image(a, 0, (uint32_t)getpid(), (uint32_t)getppid());
	while (sl_chunk_at(a, 1)->committed < SL_CHUNK_BYTES - 256)
		record(a, 0, ticks(), sl_head(0, 4, 0, SL_SHAPE_FD, 0), payload);
	a->fresh_chunk = 3;
	one = sl_chunk_at(a, 1);
	two = sl_chunk_at(a, 3);
	*two = *one;
	two->seq = 1;
	for (uint32_t i = 1; i < SL_SLOT_CNT; i++) {
		a->slot[i] = a->slot[0];
		a->slot[i].tid += i;
	}
	a->fresh_slot = SL_SLOT_CNT;
	one->next = 3;
	two->next = 1;
	return announce(fd);
}

/* Threads and processes without end, at the price of their slots. */
static int slots_many(unsigned arenas)
{
	int err = 0;

	for (unsigned n = 0; n < arenas && !err; n++) {
		int fd;
		struct sl_arena *a = usual(&fd);

		for (uint32_t i = 1; i < SL_SLOT_CNT; i++) {
			a->slot[i] = a->slot[0];
			a->slot[i].tid += i;
			a->slot[i].process = i + 1;
		}
		a->fresh_slot = SL_SLOT_CNT;
		err = announce(fd);
		munmap(a, SL_ARENA_BYTES);
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
	if (strcmp(mode, "files") == 0)
		return files_many(number, false);
	if (strcmp(mode, "paths") == 0)
		return files_many(number, true);
	if (strcmp(mode, "threads") == 0)
		return threads_many(number);
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
	if (strcmp(mode, "slots") == 0)
		return slots_many(number);
	if (strcmp(mode, "circles") == 0)
		return circles();
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
