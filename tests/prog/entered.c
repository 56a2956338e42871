/*
 * entered.c - a program that is entered while it runs: ./entered THREADS. Takes one command in each line of its input, and answers
 * with one line.
 *   calls N   each thread makes N calls of pread(); "called"
 *   spin      threads make calls all the time; "spinning"
 *   rest      until then; "rested", the calls that they have made
 *   load FILE opens a library, makes the call of its function calls() by that, and closes it; "loaded RESULT"
 *   slots     a hash of all slots of the loaded objects, that the loader may fill with addresses of functions, and their number
 * The end of its input ends it, with status 7.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <inttypes.h>
#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static unsigned order,
	done; /* numbers of the last order, and of threads that have carried it out */
static long calls;
static bool rest;
static uint64_t spun;
static int zero;

static void *work(void *arg)
{
	unsigned seen = 0;
	uint64_t made;
	char byte;
	long n;

	(void)arg;
	for (;;) {
		pthread_mutex_lock(&lock);
		while (order == seen)
			pthread_cond_wait(&changed, &lock);
		seen = order;
		n = calls;
		pthread_mutex_unlock(&lock);
		for (made = 0; n ? made < (uint64_t)n : !__atomic_load_n(&rest, __ATOMIC_ACQUIRE);
		     made++)
			if (pread(zero, &byte, 1, 0) != 1)
				abort();
		pthread_mutex_lock(&lock);
		spun += made;
		done++;
		pthread_cond_broadcast(&changed);
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

static void start(long n)
{
	pthread_mutex_lock(&lock);
	calls = n;
	rest = false;
	done = 0;
	spun = 0;
	order++;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

static void wait_for(unsigned threads)
{
	pthread_mutex_lock(&lock);
	while (done < threads)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
}

struct slots {
	uint64_t hash, cnt;
};

static void add_slot(struct slots *s, uint64_t value)
{
	s->hash = (s->hash ^ value) * UINT64_C(0x100000001b3);
	s->cnt++;
}

static void add_slots(struct slots *s, ElfW(Addr) base, const ElfW(Rela) * r, size_t bytes)
{
	for (size_t i = 0; r && i < bytes / sizeof(*r); i++) {
		unsigned type = (unsigned)ELF64_R_TYPE(r[i].r_info);
		uint64_t value;

#ifdef __x86_64__
		if (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT)
			continue;
#else
		if (type != R_AARCH64_JUMP_SLOT && type != R_AARCH64_GLOB_DAT)
			continue;
#endif
		memcpy(&value, (const void *)(base + r[i].r_offset), sizeof(value));
		add_slot(s, value);
	}
}

static int look_at(struct dl_phdr_info *info, size_t size, void *arg)
{
	const ElfW(Rela) *plt = NULL, *rest_of = NULL;
	size_t plt_bytes = 0, rest_bytes = 0;
	const ElfW(Dyn) *d = NULL;

	(void)size;
	/* Not the tracer's own objects, and not libc's, which resolves some of its own when a thread is started. */
	if (strstr(info->dlpi_name, "libtrace") || strstr(info->dlpi_name, "vdso") ||
	    strstr(info->dlpi_name, "libc.so"))
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
			d = (const ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
	for (; d && d->d_tag != DT_NULL; d++) {
		if (d->d_tag == DT_JMPREL)
			plt = (const ElfW(Rela) *)d->d_un.d_ptr;
		else if (d->d_tag == DT_PLTRELSZ)
			plt_bytes = d->d_un.d_val;
		else if (d->d_tag == DT_RELA)
			rest_of = (const ElfW(Rela) *)d->d_un.d_ptr;
		else if (d->d_tag == DT_RELASZ)
			rest_bytes = d->d_un.d_val;
	}
	add_slots(arg, info->dlpi_addr, plt, plt_bytes);
	add_slots(arg, info->dlpi_addr, rest_of, rest_bytes);
	return 0;
}

static void load(const char *path)
{
	void *library = dlopen(path, RTLD_NOW);
	int (*function)(void) = library ? (int (*)(void))dlsym(library, "calls") : NULL;

	printf("loaded %d\n", function ? function() : -1);
	if (library)
		dlclose(library);
}

int main(int argc, char **argv)
{
	unsigned threads = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
	pthread_attr_t small;
	char line[4200];
	pthread_t t;

	zero = open("/dev/zero", O_RDONLY);
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 128 << 10);
	for (unsigned i = 0; i < threads; i++)
		if (pthread_create(&t, &small, work, NULL) != 0)
			return 1;
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("ready %d\n", (int)getpid());
	while (fgets(line, sizeof(line), stdin)) {
		struct slots s = {UINT64_C(0xcbf29ce484222325), 0};

		line[strcspn(line, "\n")] = 0;
		if (strncmp(line, "calls ", 6) == 0) {
			start(atol(line + 6));
			wait_for(threads);
			puts("called");
		} else if (strcmp(line, "spin") == 0) {
			start(0);
			puts("spinning");
		} else if (strcmp(line, "rest") == 0) {
			__atomic_store_n(&rest, true, __ATOMIC_RELEASE);
			wait_for(threads);
			printf("rested %" PRIu64 "\n", spun);
		} else if (strncmp(line, "load ", 5) == 0) {
			load(line + 5);
		} else if (strcmp(line, "slots") == 0) {
			dl_iterate_phdr(look_at, &s);
			printf("slots %016" PRIx64 " %" PRIu64 "\n", s.hash, s.cnt);
		} else {
			puts("what?");
		}
	}
	return 7;
}
