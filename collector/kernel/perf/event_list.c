/* event_list.c - the fixed events of the kernel and of every PMU, and the choice from both lists. */
#include "collector/kernel/perf/event_list.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collector/kernel/perf/event_sysfs.h"

#define CACHE(which, op, result)                                                             \
	PERF_TYPE_HW_CACHE, PERF_COUNT_HW_CACHE_##which | PERF_COUNT_HW_CACHE_OP_##op << 8 | \
				    PERF_COUNT_HW_CACHE_RESULT_##result << 16
#define HARD(which) PERF_TYPE_HARDWARE, PERF_COUNT_HW_##which
#define SOFT(which) PERF_TYPE_SOFTWARE, PERF_COUNT_SW_##which

/* Numbers stay: scripts have them. 2 is nsys's default. */
/* clang-format off */
static const struct known {
	unsigned id;
	enum event_kind kind;
	const char *name;
	uint32_t type;
	uint64_t config;
	const char *about;
	bool in_kernel;
} known[] = {
	{1, EVENT_CORE, "cpu-cycles", HARD(CPU_CYCLES), "cycles; their length follows the CPU's frequency", false},
	{2, EVENT_CORE, "instructions", HARD(INSTRUCTIONS), "instructions retired", false},
	{3, EVENT_CORE, "cache-references", HARD(CACHE_REFERENCES), "accesses to the last level of the caches", false},
	{4, EVENT_CORE, "cache-misses", HARD(CACHE_MISSES), "those that found nothing there", false},
	{5, EVENT_CORE, "branch-instructions", HARD(BRANCH_INSTRUCTIONS), "branches retired", false},
	{6, EVENT_CORE, "branch-misses", HARD(BRANCH_MISSES), "branches that were predicted wrongly", false},
	{7, EVENT_CORE, "bus-cycles", HARD(BUS_CYCLES), "cycles of the bus", false},
	{8, EVENT_CORE, "stalled-cycles-frontend", HARD(STALLED_CYCLES_FRONTEND), "cycles without an instruction to begin", false},
	{9, EVENT_CORE, "stalled-cycles-backend", HARD(STALLED_CYCLES_BACKEND), "cycles in which results or memory were waited for", false},
	{10, EVENT_CORE, "ref-cycles", HARD(REF_CPU_CYCLES), "cycles of a clock that does not follow the frequency", false},
	{20, EVENT_CORE, "L1-dcache-loads", CACHE(L1D, READ, ACCESS), "reads of the first level's data cache", false},
	{21, EVENT_CORE, "L1-dcache-load-misses", CACHE(L1D, READ, MISS), "those that found nothing there", false},
	{22, EVENT_CORE, "L1-icache-load-misses", CACHE(L1I, READ, MISS), "instructions that were not in the first level", false},
	{23, EVENT_CORE, "LLC-loads", CACHE(LL, READ, ACCESS), "reads of the last level", false},
	{24, EVENT_CORE, "LLC-load-misses", CACHE(LL, READ, MISS), "those that went to memory", false},
	{25, EVENT_CORE, "LLC-stores", CACHE(LL, WRITE, ACCESS), "writes to the last level", false},
	{26, EVENT_CORE, "LLC-store-misses", CACHE(LL, WRITE, MISS), "those that went to memory", false},
	{27, EVENT_CORE, "dTLB-loads", CACHE(DTLB, READ, ACCESS), "addresses of data that were translated", false},
	{28, EVENT_CORE, "dTLB-load-misses", CACHE(DTLB, READ, MISS), "those for which page tables had to be read", false},
	{29, EVENT_CORE, "iTLB-load-misses", CACHE(ITLB, READ, MISS), "the same of addresses of instructions", false},
	{30, EVENT_CORE, "node-loads", CACHE(NODE, READ, ACCESS), "reads of memory of this NUMA node", false},
	{31, EVENT_CORE, "node-load-misses", CACHE(NODE, READ, MISS), "reads of memory of another one", false},
	{1, EVENT_OS, "page-faults", SOFT(PAGE_FAULTS), "pages that were touched and not mapped", false},
	{2, EVENT_OS, "minor-faults", SOFT(PAGE_FAULTS_MIN), "those that took no reading from a disk", false},
	{3, EVENT_OS, "major-faults", SOFT(PAGE_FAULTS_MAJ), "those that did", false},
	{4, EVENT_OS, "context-switches", SOFT(CONTEXT_SWITCHES), "threads that left a CPU", true},
	{5, EVENT_OS, "cpu-migrations", SOFT(CPU_MIGRATIONS), "threads that moved to another CPU", true},
	{6, EVENT_OS, "alignment-faults", SOFT(ALIGNMENT_FAULTS), "unaligned accesses that the kernel had to mend", false},
	{7, EVENT_OS, "emulation-faults", SOFT(EMULATION_FAULTS), "instructions that the kernel had to stand in for", false},
};
/* clang-format on */
#define KNOWN_CNT (sizeof(known) / sizeof(known[0]))

static const char *option_of(enum event_kind kind)
{
	return kind == EVENT_CORE ? "--cpu-core-events" : "--os-events";
}

/* ---- the list ---- */

int event_list_make(struct event_list *l, enum event_kind kind, const char *sysfs)
{
	*l = (struct event_list){.list = calloc(KNOWN_CNT, sizeof(*l->list))};
	if (!l->list)
		return -ENOMEM;
	for (const struct known *k = known; k < known + KNOWN_CNT; k++) {
		struct event_def *e = &l->list[l->cnt];

		if (k->kind != kind)
			continue;
		*e = (struct event_def){.id = k->id,
					.kind = kind,
					.in_kernel = k->in_kernel,
					.type = k->type,
					.config = {k->config}};
		snprintf(e->name, sizeof(e->name), "%s", k->name);
		snprintf(e->about, sizeof(e->about), "%s", k->about);
		l->cnt++;
	}
	return kind == EVENT_CORE ? event_sysfs_add(l, sysfs) : 0;
}

void event_list_free(struct event_list *l)
{
	free(l->list);
	*l = (struct event_list){0};
}

/* rHEX: only the number is known. */
static bool find_raw(const char *word, size_t len, struct event_def *found)
{
	char text[24], *end;

	if (len < 2 || len >= sizeof(text) || word[0] != 'r' ||
	    strspn(word + 1, "0123456789abcdefABCDEF") < len - 1)
		return false;
	memcpy(text, word, len);
	text[len] = 0;
	*found = (struct event_def){.id = EVENT_RAW_ID, .kind = EVENT_CORE, .type = PERF_TYPE_RAW};
	errno = 0;
	found->config[0] = strtoull(text + 1, &end, 16);
	memcpy(found->name, text, len + 1);
	snprintf(found->about, sizeof(found->about), "raw event, see the CPU's manual");
	return !*end && !errno;
}

bool event_find(const struct event_list *l, enum event_kind kind, const char *word, size_t len,
		struct event_def *found)
{
	size_t digits = strspn(word, "0123456789");
	unsigned long id = strtoul(word, NULL, 10);

	for (size_t i = 0; i < l->cnt; i++) {
		const struct event_def *e = &l->list[i];

		if ((len && digits >= len && e->id == id) ||
		    (strlen(e->name) == len && strncasecmp(e->name, word, len) == 0)) {
			*found = *e;
			return true;
		}
	}
	return kind == EVENT_CORE && find_raw(word, len, found);
}

/* ---- the kernel ---- */

int event_open(const struct event_def *e, const struct event_how *how)
{
	struct perf_event_attr attr = {
		.type = e->type,
		.size = sizeof(attr),
		.config = e->config[0],
		.config1 = e->config[1],
		.config2 = e->config[2],
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
		.inherit = how->inherit,
		.disabled = how->disabled,
		.enable_on_exec = how->at_exec,
		.exclude_kernel = how->no_kernel,
		.exclude_hv = how->no_kernel,
	};
	long fd = syscall(SYS_perf_event_open, &attr, how->tid, how->cpu, how->group,
			  PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : (int)fd;
}

/* 0: it can be counted here; else -errno: -ENOENT and the like where there is no such counter, -EACCES and -EPERM. */
static int event_probe(const struct event_def *e)
{
	struct event_how how = {.cpu = -1, .group = -1, .disabled = true};
	int fd = event_open(e, &how);

	if ((fd == -EACCES || fd == -EPERM) && !e->in_kernel) {
		how.no_kernel = true;
		fd = event_open(e, &how);
	}
	if (fd >= 0)
		close(fd);
	return fd < 0 ? fd : 0;
}

bool event_of_samples(struct event_def *e, uint64_t period)
{
	static const unsigned wanted[] = {PERF_COUNT_HW_REF_CPU_CYCLES, PERF_COUNT_HW_CPU_CYCLES};

	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		struct perf_event_attr attr = {.type = PERF_TYPE_HARDWARE,
					       .size = sizeof(attr),
					       .config = wanted[i],
					       .sample_period = period,
					       .disabled = 1,
					       .exclude_kernel = 1,
					       .exclude_hv = 1};
		long fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);

		*e = (struct event_def){.type = PERF_TYPE_HARDWARE, .config = {wanted[i]}};
		if (fd < 0)
			continue;
		close((int)fd);
		return true;
	}
	return false;
}

int event_paranoid(void)
{
	FILE *f = fopen("/proc/sys/kernel/perf_event_paranoid", "re");
	int level = 2;

	if (!f)
		return level;
	if (fscanf(f, "%d", &level) != 1)
		level = 2;
	fclose(f);
	return level;
}

/* ---- the user's list ---- */

static bool has(const struct event_choice *c, const struct event_def *e)
{
	for (unsigned i = 0; i < c->cnt; i++)
		if (c->event[i].kind == e->kind && !strcmp(c->event[i].name, e->name))
			return true;
	return false;
}

static int choose_one(struct event_choice *c, const struct event_list *l, enum event_kind kind,
		      const char *word, size_t len, char *why, size_t why_len)
{
	struct event_def e;

	if (!event_find(l, kind, word, len, &e)) {
		snprintf(why, why_len,
			 "option '%s' does not know the event '%.*s' (%s=help lists them)",
			 option_of(kind), (int)len, word, option_of(kind));
		return -ENOENT;
	}
	if (has(c, &e))
		return 0;
	if (c->cnt == EVENT_MOST) {
		snprintf(why, why_len, "option '%s': more than %u events at a time",
			 option_of(kind), EVENT_MOST);
		return -E2BIG;
	}
	c->event[c->cnt++] = e;
	return 0;
}

static int choose(struct event_choice *c, enum event_kind kind, const char *words, char *why,
		  size_t why_len)
{
	struct event_list l;
	int err = event_list_make(&l, kind, EVENT_SYSFS);

	for (const char *p = words; *p && !err;) {
		size_t len = strcspn(p, ",");

		if (len && !(len == 4 && memcmp(p, "none", 4) == 0))
			err = choose_one(c, &l, kind, p, len, why, why_len);
		p += len + (p[len] == ',');
	}
	event_list_free(&l);
	return err;
}

/* Where rights are missing, the rest of the recording works: that is reported when it begins. */
static int check(const struct event_choice *c, char *why, size_t why_len)
{
	for (unsigned i = 0; i < c->cnt; i++) {
		const struct event_def *e = &c->event[i];
		int err = event_probe(e);

		if (!err || err == -EACCES || err == -EPERM || err == -EMFILE || err == -ENFILE)
			continue;
		snprintf(why, why_len, "this machine cannot count '%s' of '%s': %s%s", e->name,
			 option_of(e->kind),
			 e->kind == EVENT_CORE
				 ? "its CPUs, or the virtual machine, have no such counter"
				 : strerror(-err),
			 e->kind == EVENT_CORE ? " (--cpu-core-events=help lists those there are)"
					       : "");
		return -ENOTSUP;
	}
	return 0;
}

int event_choose(struct event_choice *c, const char *core, const char *os, bool probe, char *why,
		 size_t why_len)
{
	int err = 0;

	c->cnt = 0;
	snprintf(why, why_len, "out of memory");
	if (core)
		err = choose(c, EVENT_CORE, core, why, why_len);
	if (!err && os)
		err = choose(c, EVENT_OS, os, why, why_len);
	return err || !probe ? err : check(c, why, why_len);
}

/* ---- help ---- */

static unsigned show(const struct event_list *l, bool *refused)
{
	unsigned shown = 0;

	for (size_t i = 0; i < l->cnt; i++) {
		const struct event_def *e = &l->list[i];
		int err = event_probe(e);

		*refused |= err == -EACCES || err == -EPERM;
		if (err)
			continue;
		printf("%5u  %-28s  %s\n", e->id, e->name, e->about);
		shown++;
	}
	return shown;
}

void event_help(enum event_kind kind)
{
	bool refused = false;
	struct event_list l;
	unsigned shown;

	if (event_list_make(&l, kind, EVENT_SYSFS))
		return;
	printf("Events for %s, by number or name, separated by commas:\n", option_of(kind));
	shown = show(&l, &refused);
	event_list_free(&l);
	if (refused)
		printf("The kernel hides %s: kernel.perf_event_paranoid is %d (1 or "
		       "lower, or CAP_PERFMON, shows\nthem; a container may need --cap-add "
		       "PERFMON).\n",
		       shown ? "others" : "all", event_paranoid());
	else if (!shown)
		printf("None: this machine has no hardware counters (PMU) that the kernel could "
		       "use. In a virtual machine, its\nhost decides that. --os-events=help lists "
		       "what the kernel counts itself.\n");
	if (shown && kind == EVENT_CORE)
		printf("Also rHEX, a raw event as the CPU's manual has it (r01c2). What is more "
		       "than the CPU has counters for is\ncounted in turns, and scaled up.\n");
	printf("Counted every 10 ms (--event-sampling-interval), per CPU, of the program's threads "
	       "or of all (--event-sample).\n");
}
