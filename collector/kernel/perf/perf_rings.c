/* perf_rings.c - maps the rings, reads records from them, counts records that the kernel lost. */
#include "collector/kernel/perf/perf_rings.h"
#include "collector/base/privilege.h"
#include "collector/base/proc.h"

#include <dirent.h>
#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define RECORD_MOST 65536u
#define RINGS_LEAST ((size_t)64 << 20) /* of all CPUs together; more where there is much memory */
#define RINGS_MOST  ((size_t)512 << 20)
#define RINGS_PART  128u               /* of the machine's memory */
#define RING_MOST   ((size_t)16 << 20) /* of each CPU; unprivileged users get less */

unsigned perf_cpu_cnt(void)
{
	unsigned cnt = (unsigned)sysconf(_SC_NPROCESSORS_ONLN), low, high;
	FILE *f = fopen("/sys/devices/system/cpu/online", "re");

	if (!f)
		return cnt;
	for (int c = ','; c == ','; c = fgetc(f)) { /* "0-3,8" */
		if (fscanf(f, "%u", &low) != 1)
			break;
		if (fscanf(f, "-%u", &high) != 1)
			high = low;
		if (high + 1 > cnt)
			cnt = high + 1;
	}
	fclose(f);
	return cnt;
}

/* Bytes that all rings together may lock, less the share of context switches. */
static size_t may_lock(unsigned cpus)
{
	struct rlimit most;
	size_t free = (size_t)perf_rings_setting("perf_event_mlock_kb", 516) * 1024 * cpus;

	if (privilege_has(CAP_IPC_LOCK) || getrlimit(RLIMIT_MEMLOCK, &most) ||
	    most.rlim_cur == RLIM_INFINITY)
		return SIZE_MAX;
	return most.rlim_cur > free ? free / 2 + (size_t)most.rlim_cur / 2 : free;
}

size_t perf_rings_bytes(unsigned cpus, size_t least)
{
	size_t bytes = RING_MOST, page = (size_t)sysconf(_SC_PAGESIZE), lock = may_lock(cpus),
	       all = (size_t)sysconf(_SC_PHYS_PAGES) / RINGS_PART * page;

	if (all < RINGS_LEAST)
		all = RINGS_LEAST;
	if (all > RINGS_MOST)
		all = RINGS_MOST;
	while (bytes > least && (bytes * cpus > all || (bytes + page) * cpus > lock))
		bytes /= 2;
	return bytes;
}

int perf_rings_init(struct perf_rings *rs, unsigned cpus, size_t bytes, size_t least)
{
	*rs = (struct perf_rings){.cpus = cpus, .bytes = bytes, .least = least};
	rs->ring = calloc(cpus, sizeof(*rs->ring));
	rs->scratch = malloc(RECORD_MOST);
	return rs->ring && rs->scratch ? 0 : -ENOMEM;
}

void perf_rings_release(struct perf_rings *rs)
{
	for (unsigned cpu = 0; rs->ring && cpu < rs->cpus; cpu++)
		if (rs->ring[cpu].page)
			munmap(rs->ring[cpu].page, (size_t)sysconf(_SC_PAGESIZE) + rs->bytes);
	free(rs->ring);
	free(rs->scratch);
	rs->ring = NULL;
	rs->scratch = NULL;
}

int perf_rings_event(struct perf_event_attr *attr, pid_t tid, int cpu)
{
	long fd = syscall(SYS_perf_event_open, attr, tid, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : (int)fd;
}

uint64_t perf_rings_event_lost(int fd)
{
	uint64_t counts[2]; /* value, lost */

	return read(fd, counts, sizeof(counts)) == sizeof(counts) ? counts[1] : 0;
}

uint64_t perf_rings_event_cnt(int fd)
{
	uint64_t counts[2]; /* the second with PERF_RINGS_FORMAT_LOST */

	return read(fd, counts, sizeof(counts)) > 0 ? counts[0] : 0;
}

int perf_follow_threads(pid_t pid, int (*one)(void *ctx, pid_t pid, uint32_t tid), void *ctx)
{
	char path[64];
	int found, err;

	snprintf(path, sizeof(path), "%s/%d/task", proc_root(), pid);
	do {
		DIR *dir = opendir(path);
		struct dirent *e;

		if (!dir)
			return errno == ENOENT ? -ESRCH : -errno;
		found = err = 0;
		while (err >= 0 && (e = readdir(dir))) {
			uint32_t tid = (uint32_t)strtoul(e->d_name, NULL, 10);

			err = tid ? one(ctx, pid, tid) : 0;
			found += err == 1;
		}
		closedir(dir);
	} while (err >= 0 && found > 0);
	return err < 0 ? err : 0;
}

long perf_rings_setting(const char *name, long otherwise)
{
	char path[96];
	long value;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/sys/kernel/%s", name);
	f = fopen(path, "re");
	if (!f)
		return otherwise;
	if (fscanf(f, "%ld", &value) != 1)
		value = otherwise;
	fclose(f);
	return value;
}

/* Uses less where the limit on locked memory requires it. */
static int ring_map(struct perf_rings *rs, struct perf_ring *r, int fd)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *memory;

	for (;; rs->bytes /= 2) {
		memory = mmap(NULL, page + rs->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (memory != MAP_FAILED)
			break;
		/* Rings have one size: only the first may shrink it. */
		if (errno != EPERM || rs->is_mapped || rs->bytes <= rs->least)
			return -errno;
	}
	rs->is_mapped = true;
	r->page = memory;
	r->fd = fd;
	return 1;
}

int perf_rings_join(struct perf_rings *rs, unsigned cpu, int fd)
{
	struct perf_ring *r = &rs->ring[cpu];

	if (!r->page)
		return ring_map(rs, r, fd);
	return ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, r->fd) ? -errno : 0;
}

void perf_rings_look(struct perf_rings *rs)
{
	for (unsigned cpu = 0; cpu < rs->cpus; cpu++) {
		struct perf_ring *r = &rs->ring[cpu];

		/* Pairs with the kernel's store of data_head behind a write barrier. */
		if (r->page)
			r->head = __atomic_load_n(&r->page->data_head, __ATOMIC_ACQUIRE);
	}
}

const struct perf_event_header *perf_rings_first(struct perf_rings *rs, unsigned cpu)
{
	const struct perf_ring *r = &rs->ring[cpu];
	const struct perf_event_header *record;
	size_t at, first;
	char *data;

	if (!r->page || r->tail == r->head)
		return NULL;
	data = (char *)r->page + r->page->data_offset;
	at = r->tail & (rs->bytes - 1);
	record = (void *)(data + at);
	if (at + record->size <= rs->bytes)
		return record;
	first = rs->bytes - at;
	memcpy(rs->scratch, record, first);
	memcpy(rs->scratch + first, data, record->size - first);
	return (void *)rs->scratch;
}

void perf_rings_take(struct perf_rings *rs, unsigned cpu)
{
	/* A head is in one piece: sizes are multiples of it. */
	rs->ring[cpu].tail += perf_rings_first(rs, cpu)->size;
}

void perf_rings_done(struct perf_rings *rs)
{
	for (unsigned cpu = 0; cpu < rs->cpus; cpu++) {
		struct perf_ring *r = &rs->ring[cpu];

		/* Pairs with the kernel's load of data_tail: records were read before room is given. */
		if (r->page)
			__atomic_store_n(&r->page->data_tail, r->tail, __ATOMIC_RELEASE);
	}
}

unsigned perf_rings_fill(const struct perf_rings *rs)
{
	uint64_t most = 0;

	for (unsigned cpu = 0; cpu < rs->cpus; cpu++) {
		const struct perf_ring *r = &rs->ring[cpu];
		uint64_t fill = 0;

		if (r->page)
			fill = __atomic_load_n(&r->page->data_head, __ATOMIC_RELAXED) - r->tail;
		most = fill > most ? fill : most;
	}
	return (unsigned)(most * 100 / rs->bytes);
}
