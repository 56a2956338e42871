/*
 * big_array.c - an array is a range of addresses over pieces of the file: the first piece, another of its size, and further ones,
 * each of which doubles the array. A piece is allocated in the file before it is mapped, so that a full disk is no SIGBUS.
 */
#include "exporters/events/big_array.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "collector/base/budget.h"
#include "collector/base/grow.h"
#include "collector/base/now.h"
#include "exporters/events/spill.h"

#define LOOK_US    2000
#define SORT_BYTES (1u << 20) /* of a part that qsort_r() sorts, with a copy of it in memory */

struct big {
	char *at;
	size_t first, bytes; /* of the first piece; of all */
	uint64_t in_file;    /* a bit for each piece */
};

static struct {
	struct big *list;
	size_t cnt, room;
	FILE *file; /* NULL: arrays are memory as any other */
	off_t end;  /* of its pieces */
	size_t budget;
	volatile sig_atomic_t is_changing; /* the list, or an array of it */
	struct sigaction before;
	sqlite3_vfs vfs; /* the standard one, but for its sleep */
} bigs;

/* ---- pages ---- */

/* The first byte of piece @i, and its size. */
static size_t piece_at(const struct big *b, unsigned i, size_t *bytes)
{
	*bytes = i ? b->first << (i - 1) : b->first;
	return i ? *bytes : 0;
}

/* A piece that is memory would lose its content. */
static size_t drop(const struct big *b)
{
	size_t at, bytes, sum = 0;

	for (unsigned i = 0; (at = piece_at(b, i, &bytes)) < b->bytes; i++)
		if (b->in_file >> i & 1 && madvise(b->at + at, bytes, MADV_DONTNEED) == 0)
			sum += bytes;
	return sum;
}

size_t big_arrays_drop(void)
{
	size_t sum = 0;

	for (size_t i = 0; i < bigs.cnt; i++)
		sum += drop(&bigs.list[i]);
	return sum;
}

/* Of the timer: interrupts the only thread that uses arrays. Timers of CPU time go by the kernel's tick, 10 ms where it is slow. */
static void look(int signal)
{
	int err = errno;

	(void)signal;
	if (!bigs.is_changing && budget_files() > bigs.budget)
		big_arrays_drop();
	errno = err;
}

/* nanosleep() ends with the first signal: what SQLite takes for seconds of patience with a writer would be milliseconds. */
static int sleep_whole(sqlite3_vfs *vfs, int us)
{
	int64_t end = mono_ns() + us * INT64_C(1000);
	const struct timespec until = {end / 1000000000, end % 1000000000};

	(void)vfs;
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
		continue;
	return us;
}

/* Connections opened from here on sleep so. */
static void sleep_through_signals(void)
{
	bigs.vfs = *sqlite3_vfs_find(NULL);
	bigs.vfs.zName = "big_array";
	bigs.vfs.xSleep = sleep_whole;
	sqlite3_vfs_register(&bigs.vfs, 1);
}

static void set_timer(long us)
{
	const struct itimerval every = {{0, us}, {0, us}};

	setitimer(ITIMER_REAL, &every, NULL);
}

bool big_arrays_begin(size_t budget)
{
	struct sigaction act = {.sa_handler = look, .sa_flags = SA_RESTART};

	bigs.file = spill_file();
	if (!bigs.file)
		return false;
	bigs.end = 0;
	bigs.budget = budget;
	budget_files(); /* opens its file here rather than in the signal */
	sigaction(SIGALRM, &act, &bigs.before);
	sleep_through_signals();
	set_timer(LOOK_US);
	return true;
}

void big_arrays_end(void)
{
	if (!bigs.file)
		return;
	set_timer(0);
	sqlite3_vfs_unregister(&bigs.vfs);
	/* A signal that is pending is for look(), too. */
	bigs.is_changing = true;
	fclose(bigs.file);
	bigs.file = NULL;
	free(bigs.list);
	bigs.list = NULL;
	bigs.cnt = bigs.room = 0;
	bigs.is_changing = false;
	sigaction(SIGALRM, &bigs.before, NULL);
}

/* Between the two the signal leaves arrays as they are. */
static void change(void)
{
	bigs.is_changing = true;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

static void changed(void)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	bigs.is_changing = false;
}

/* ---- pieces ---- */

/* The offset of @bytes that the disk has room for; -1: none. Beyond RLIMIT_FSIZE the kernel would send SIGXFSZ. */
static off_t allocate(size_t bytes)
{
	struct rlimit most;
	off_t at = bigs.end;

	if (getrlimit(RLIMIT_FSIZE, &most) < 0 || (rlim_t)at + bytes > most.rlim_cur)
		return -1;
	/* posix_fallocate() would write zeros where the file system cannot allocate. */
	while (fallocate(fileno(bigs.file), 0, at, (off_t)bytes) < 0)
		if (errno != EINTR)
			return -1;
	bigs.end += (off_t)bytes;
	return at;
}

/* Maps zeros of the file at @at, or anywhere (NULL). MAP_FAILED: not possible. */
static void *map_file(void *at, size_t bytes)
{
	off_t offset = allocate(bytes);

	return offset < 0 ? MAP_FAILED
			  : mmap(at, bytes, PROT_READ | PROT_WRITE,
				 MAP_SHARED | (at ? MAP_FIXED : 0), fileno(bigs.file), offset);
}

/* Moves the first @cnt pieces. False: they are where they were. */
static bool move(const struct big *b, char *from, char *to, unsigned cnt)
{
	size_t bytes;

	for (unsigned i = 0; i < cnt; i++) {
		size_t at = piece_at(b, i, &bytes);

		if (mremap(from + at, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, to + at) ==
		    MAP_FAILED) {
			move(b, to, from, i);
			return false;
		}
	}
	return true;
}

/* Pieces of an array; each but the first doubles it. */
static unsigned pieces_of(const struct big *b)
{
	return 1 + (unsigned)__builtin_ctzll(b->bytes / b->first);
}

static bool double_big(struct big *b)
{
	unsigned cnt = pieces_of(b);
	char *to = mmap(NULL, b->bytes * 2, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (to == MAP_FAILED)
		return false;
	/* Where the disk is full, the new piece is memory. */
	if (map_file(to + b->bytes, b->bytes) != MAP_FAILED)
		b->in_file |= UINT64_C(1) << cnt;
	if (!move(b, b->at, to, cnt)) {
		b->in_file &= ~(UINT64_C(1) << cnt);
		munmap(to, b->bytes * 2);
		return false;
	}
	b->at = to;
	b->bytes *= 2;
	return true;
}

/* ---- arrays ---- */

static struct big *find(const void *at)
{
	for (size_t i = bigs.cnt; at && i-- > 0;)
		if (bigs.list[i].at == at)
			return &bigs.list[i];
	return NULL;
}

/* An array in the file, zeroed; NULL: it has to be memory. */
static void *new_big(size_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct big b = {.in_file = 1};

	if (!bigs.file || bytes < BIG_ARRAY_FROM || bytes > SIZE_MAX / 4)
		return NULL;
	b.first = b.bytes = (bytes + page - 1) / page * page;
	change();
	b.at = grow(&bigs.list, bigs.cnt, &bigs.room, sizeof(b)) ? map_file(NULL, b.bytes)
								 : MAP_FAILED;
	if (b.at != MAP_FAILED)
		bigs.list[bigs.cnt++] = b;
	changed();
	return b.at == MAP_FAILED ? NULL : b.at;
}

bool big_array_double(void *list, size_t *room, size_t size)
{
	size_t want = *room ? *room * 2 : 16, bytes;
	void **at = list, *more;
	struct big *b = find(*at);

	if (b) {
		bool ok;

		change();
		ok = double_big(b);
		changed();
		*at = b->at;
		*room = ok ? want : *room;
		return ok;
	}
	more = __builtin_mul_overflow(want, size, &bytes) ? NULL : new_big(bytes);
	if (!more)
		return grow(list, *room, room, size);
	if (*room)
		memcpy(more, *at, *room * size);
	free(*at);
	*at = more;
	*room = want;
	return true;
}

void *big_calloc(size_t cnt, size_t size)
{
	size_t bytes;
	void *at;

	if (__builtin_mul_overflow(cnt, size, &bytes))
		return NULL;
	at = new_big(bytes);
	return at ? at : calloc(cnt, size);
}

void big_free(void *list)
{
	struct big *b = find(list);

	if (!b) {
		free(list);
		return;
	}
	change();
	munmap(b->at, b->bytes);
	*b = bigs.list[--bigs.cnt];
	/* The room of the file is free again when nothing lies in it. */
	if (!bigs.cnt && ftruncate(fileno(bigs.file), 0) == 0)
		bigs.end = 0;
	changed();
}

/* ---- sorting ---- */

struct sorting {
	size_t size;
	int (*order)(const void *a, const void *b, void *ctx);
	void *ctx;
	char *copy; /* of the first half */
};

/* Merges two parts in order, which follow each other. Most are in order already, or overlap little. */
static void merge(const struct sorting *s, char *list, char *mid, const char *end)
{
	size_t size = s->size;
	const char *a = s->copy, *last, *b = mid;

	if (s->order(mid - size, mid, s->ctx) <= 0)
		return;
	while (s->order(list, mid, s->ctx) <= 0)
		list += size;
	last = a + (mid - list);
	memcpy(s->copy, list, (size_t)(mid - list));
	for (; a < last; list += size) {
		const char **from = b < end && s->order(a, b, s->ctx) > 0 ? &b : &a;

		memcpy(list, *from, size);
		*from += size;
	}
}

void big_sort(void *list, size_t cnt, size_t size,
	      int (*order)(const void *a, const void *b, void *ctx), void *ctx)
{
	size_t part = SORT_BYTES / size + 1, width;
	struct sorting s = {size, order, ctx, NULL};
	char *at = list;

	/* The last merge has the longest first half: the greatest width below the count. */
	for (width = part; width < cnt && width * 2 < cnt;)
		width *= 2;
	if (bigs.file && cnt > part)
		s.copy = big_calloc(width, size);
	if (!s.copy) {
		if (cnt)
			qsort_r(list, cnt, size, order, ctx);
		return;
	}
	for (size_t i = 0; i < cnt; i += part)
		qsort_r(at + i * size, cnt - i < part ? cnt - i : part, size, order, ctx);
	for (width = part; width < cnt; width *= 2)
		for (size_t i = 0; i + width < cnt; i += 2 * width) {
			size_t end = cnt - i < 2 * width ? cnt : i + 2 * width;

			merge(&s, at + i * size, at + (i + width) * size, at + end * size);
		}
	big_free(s.copy);
}
