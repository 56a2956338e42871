/*
 * count.c - libstandin.so: how often each public function of the stand-ins was called, and the caller (see standin.h). The
 * other stand-ins are compiled with -finstrument-functions and ask here on the way in and out (count_hook.c), so nothing
 * that they export can be forgotten. The file is mapped and each number is kept as text, so it is right at any time,
 * also when the process is killed.
 */
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/prog/raw.h"
#include "tests/standin/count.h"

enum {
	FILE_BYTES = 1 << 20, /* mapped; the file is as long as its lines */
	PLACE_CNT = 8192,     /* functions, public or not; a power of two */
	CALLER_CNT = 24,
	DEPTH_MAX = 24,
	DIGITS = 10,
};

struct place {
	void *function;
	const char *name; /* NULL: not public */
	bool is_stub;
	int library;
	char *lines[CALLER_CNT]; /* the number's last digit, by caller */
};

int standin_counting;
static struct place places[PLACE_CNT];
static const char *callers[CALLER_CNT] = {"program"};
static int caller_cnt = 1;
static char *file;
static size_t file_len;
static int file_fd = -1;
static char *work_lines[4][2]; /* by kind of work; of a graph's node */
static char lock;
static __thread struct {
	int depth;
	int libraries[DEPTH_MAX];
} calls;

/* No mutex, and system calls without libc: what is traced must not change by being counted. */
static void take(void)
{
	while (__atomic_test_and_set(&lock, __ATOMIC_ACQUIRE))
		;
}

static void give(void)
{
	__atomic_clear(&lock, __ATOMIC_RELEASE);
}

static void file_open(void)
{
	const char *folder = getenv("STANDIN_COUNTS");
	char path[4096];

	snprintf(path, sizeof(path), "%s/%d", folder, (int)raw3(SYS_getpid, 0, 0, 0));
	file_fd = raw_open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (file_fd < 0)
		abort(); /* a test must not take it for "no calls" */
	file = (char *)raw_call(SYS_mmap, 0, FILE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
				file_fd, 0);
	if ((long)file < 0)
		abort();
	file_len = 0;
}

/* The child of a fork counts from 0, in a file of its own, once it calls something. */
static void in_child(void)
{
	int i, j;

	__atomic_clear(&lock, __ATOMIC_RELAXED);
	if (file)
		raw3(SYS_munmap, file, FILE_BYTES, 0);
	if (file_fd >= 0)
		raw_close(file_fd);
	file = NULL;
	file_fd = -1;
	calls.depth = 0;
	memset(work_lines, 0, sizeof(work_lines));
	for (i = 0; i < PLACE_CNT; i++)
		for (j = 0; j < CALLER_CNT; j++)
			places[i].lines[j] = NULL;
}

__attribute__((constructor)) static void begin(void)
{
	if (!getenv("STANDIN_COUNTS"))
		return;
	pthread_atfork(NULL, NULL, in_child);
	__atomic_store_n(&standin_counting, 1, __ATOMIC_RELEASE);
}

static int caller_number(const char *path)
{
	const char *base = strrchr(path, '/');
	size_t len;
	int i;

	base = base ? base + 1 : path;
	len = strcspn(base, ".");
	for (i = 1; i < caller_cnt; i++)
		if (strlen(callers[i]) == len && !strncmp(callers[i], base, len))
			return i;
	if (caller_cnt == CALLER_CNT)
		abort();
	callers[caller_cnt] = strndup(base, len);
	return caller_cnt++;
}

static bool is_public(const char *name)
{
	return !strncmp(name, "cu", 2) || !strncmp(name, "nccl", 4) || !strncmp(name, "__cuda", 6);
}

static struct place *place_of(void *function)
{
	size_t i = ((uintptr_t)function >> 4) * 0x9e3779b97f4a7c15u >> 40 & (PLACE_CNT - 1), n;

	for (n = 0; n < PLACE_CNT; n++, i = (i + 1) & (PLACE_CNT - 1))
		if (!places[i].function || places[i].function == function)
			return &places[i];
	abort();
}

/* Returns with the lock, but asks the loader without it: the caller may hold the loader's. */
static struct place *take_place(void *function)
{
	const ElfW(Sym) *symbol = NULL;
	struct place *p;
	Dl_info info;

	take();
	p = place_of(function);
	if (p->function)
		return p;
	give();
	if (!dladdr1(function, &info, (void **)&symbol, RTLD_DL_SYMENT) || !symbol ||
	    info.dli_saddr != function || !is_public(info.dli_sname))
		symbol = NULL;
	take();
	p = place_of(function);
	if (!p->function && symbol) {
		p->name = info.dli_sname;
		p->is_stub = ELF64_ST_BIND(symbol->st_info) == STB_WEAK;
		p->library = caller_number(info.dli_fname);
	}
	p->function = function;
	return p;
}

static char *line_make(const char *name, const char *caller, bool is_stub)
{
	char line[256], *at;
	int len = snprintf(line, sizeof(line), "%0*d %s %s%s\n", DIGITS, 0, name, caller,
			   is_stub ? " unsupported" : "");

	if (!file)
		file_open();
	if (file_len + (size_t)len > FILE_BYTES ||
	    raw3(SYS_ftruncate, file_fd, file_len + (size_t)len, 0))
		abort();
	at = file + file_len;
	memcpy(at, line, (size_t)len);
	file_len += (size_t)len;
	return at + DIGITS - 1;
}

static void add_one(char *digit)
{
	while (*digit == '9')
		*digit-- = '0';
	++*digit;
}

void standin_count_enter(void *function)
{
	int caller = calls.depth ? calls.libraries[calls.depth - 1] : 0;
	struct place *p = take_place(function);

	if (p->name) {
		if (!p->lines[caller])
			p->lines[caller] = line_make(p->name, callers[caller], p->is_stub);
		add_one(p->lines[caller]);
		if (calls.depth == DEPTH_MAX)
			abort();
		calls.libraries[calls.depth++] = p->library;
	}
	give();
}

void standin_count_exit(void *function)
{
	if (take_place(function)->name && calls.depth)
		calls.depth--;
	give();
}

void standin_count_work(unsigned kind, int is_node)
{
	static const char *const names[] = {"kernel", "memcpy", "memset", "graph"};

	take();
	if (!work_lines[kind][is_node])
		work_lines[kind][is_node] =
			line_make(names[kind], is_node ? "node" : "work", false);
	add_one(work_lines[kind][is_node]);
	give();
}
