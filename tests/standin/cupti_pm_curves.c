/* cupti_pm_curves.c - the stand-in for libcupti: what its samples are, and on which clock. */
#include "tests/standin/cupti_pm.h"

#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define NS      1000000000
#define KERNELS 65536u
#define STEP    (3ll * NS)
#define SLOW_HZ 1200000000u
#define FAST_HZ 1900000000u

static int64_t begun; /* the first question after the clock */

static int64_t since_begin(int64_t mono)
{
	if (!begun)
		begun = (int64_t)standin_now();
	return mono - begun;
}

uint64_t standin_pm_sys_hz(size_t device, int64_t at)
{
	const char *chip = standin_pm_chip(device);

	if (strncmp(chip, "TU", 2) != 0 && strcmp(chip, "GA100") != 0)
		return FAST_HZ;
	return since_begin(at) < (int64_t)standin_env("STANDIN_PM_CLOCK_MS", 2000) * 1000000
		       ? SLOW_HZ
		       : FAST_HZ;
}

/* CLOCK_REALTIME, which is set while the process runs. */
uint64_t standin_pm_time(int64_t mono)
{
	long forward = standin_pm_mood("step"), back = standin_pm_mood("back");
	int64_t offset = standin_clock_offset(false), since = since_begin(mono);

	if (forward >= 0 && since >= forward * 1000000)
		offset += STEP;
	if (back >= 0 && since >= back * 1000000)
		offset -= STEP;
	return (uint64_t)(mono + offset);
}

bool standin_pm_sets_clock(void)
{
	return standin_pm_mood("step") >= 0 || standin_pm_mood("back") >= 0;
}

/* ---- kernels of other processes ---- */

struct kernels {
	uint64_t cnt;
	struct {
		int64_t start, end;
	} at[KERNELS];
};

static struct kernels *kernels(void)
{
	static struct kernels *map;
	const char *path = getenv("STANDIN_PM_KERNELS");
	int fd;

	if (map || !path)
		return map;
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	if (fd >= 0 && ftruncate(fd, sizeof(*map)) == 0)
		map = mmap(NULL, sizeof(*map), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (fd >= 0)
		close(fd);
	return map = map == MAP_FAILED ? NULL : map;
}

void standin_pm_kernel(int64_t start, int64_t end)
{
	struct kernels *k = kernels();
	uint64_t i;

	if (!k)
		return;
	i = __atomic_fetch_add(&k->cnt, 1, __ATOMIC_ACQ_REL) % KERNELS;
	k->at[i].start = start;
	/* Release: pairs with covered(). */
	__atomic_store_n(&k->at[i].end, end, __ATOMIC_RELEASE);
}

/* Per cent of the span in which kernels ran; they do not overlap. */
static double covered(int64_t t0, int64_t t1)
{
	const struct kernels *k = kernels();
	uint64_t cnt = k ? __atomic_load_n(&k->cnt, __ATOMIC_ACQUIRE) : 0;
	int64_t sum = 0;

	for (uint64_t i = cnt; i && cnt - i < KERNELS; i--) {
		int64_t end = __atomic_load_n(&k->at[(i - 1) % KERNELS].end, __ATOMIC_ACQUIRE);
		int64_t start = k->at[(i - 1) % KERNELS].start;

		if (end + NS < t0)
			break;
		start = start > t0 ? start : t0;
		end = end < t1 ? end : t1;
		sum += end > start ? end - start : 0;
	}
	sum = sum < t1 - t0 ? sum : t1 - t0;
	return t1 > t0 ? 100. * (double)sum / (double)(t1 - t0) : 0;
}

/* ---- curves ---- */

enum curve {
	UNKNOWN,
	GPC,
	SYS,
	ACTIVE,
	READ,
	WRITE,
	TENSOR,
	RATE,
	SUM,
	CONSTANT
};

static enum curve curve_of(const char *name)
{
	static const struct {
		const char *part;
		enum curve curve;
	} parts[] = {
		{"gpc__cycles_elapsed", GPC},
		{"sys__cycles_elapsed", SYS},
		{"sm__cycles_active", ACTIVE},
		{"__read_throughput", READ},
		{"__write_throughput", WRITE},
		{"sm__pipe_tensor", TENSOR},
		{"sm__pipe_shared", TENSOR},
		{".per_second", RATE},
		{"pct", CONSTANT},
		{".sum", SUM},
	};

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		if (strstr(name, parts[i].part))
			return parts[i].curve;
	return CONSTANT;
}

double standin_pm_value(uint32_t metric, size_t device, uint64_t number, int64_t t0, int64_t t1)
{
	static enum curve curves[PM_METRICS];
	double ramp = (double)(t0 % (10ll * NS)) / (10. * NS) * 100;

	if (curves[metric] == UNKNOWN)
		curves[metric] = curve_of(standin_pm_metric(metric));
	switch (curves[metric]) {
	case GPC:
		return 1e9 + (double)number;
	case SYS:
		return (double)standin_pm_sys_hz(device, t0);
	case ACTIVE:
		return t0 / NS % 2 ? 20 : 80;
	case READ:
		return ramp;
	case WRITE:
		return number % 997 ? 100 - ramp : NAN;
	case TENSOR:
		return covered(t0, t1);
	case RATE:
		return 2e9;
	case SUM:
		return 4096 + metric;
	default:
		return metric % 100;
	}
}
