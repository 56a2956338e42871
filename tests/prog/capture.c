/*
 * capture.c - runs the steps of its argument one by one, and keeps a log of it (capture_log.h): recognisable calls
 * inside and outside of what begins and ends a capture, in threads, forked and spawned processes.
 *
 *   CAPTURE_LOG=FILE capture 'STEP...'
 *
 *   call N            N calls: pread of one byte at offsets 0, 1, ... counted on in each thread
 *   long MS           one call that takes so long: usleep
 *   flood FLAG N US   N calls, US microseconds of sleep, and so on until FLAG is raised
 *   start stop        cudaProfilerStart, ...Stop; cu-start cu-stop: of the driver
 *   launch N          kernels; sync: until they have run
 *   push NAME pop [@DOMAIN] mark NAME range NAME end NAME
 *                     NVTX; NAME@DOMAIN; with = before it the message is a registered string
 *   fork { STEP... }  in a child; spawn { }: in a new process; exec { }: in this one, anew; wait: for all children
 *   daemon { }        in a child without a parent
 *   thread NAME { }   in a thread; join: all threads of this process
 *   sleep MS          without a call
 *   raise FLAG await FLAG meet FLAG N   letters, of all processes; until N have met
 *   gone FILE         until there is no such file
 *   repeat N { }      N times
 *   file NAME         opens a file, the next calls read it
 *   say TEXT          to stdout
 *   die N exit N      by signal; at once
 *
 * Nothing of NVTX or CUDA is needed unless a step is about it.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "tests/prog/capture_log.h"
#include "tests/prog/nvtx_loader.h"
#include "tests/standin/cuda_types.h"

extern char **environ;
static const char *self;
static int data_fd = -1;
static volatile uint32_t *flags; /* one per letter, shared by all processes */

struct steps {
	char **word;
	int cnt;
};
static void run(struct steps s);

static void fail(const char *what, const char *detail)
{
	fprintf(stderr, "capture: %s: %s\n", what, detail);
	exit(3);
}

/* ---- calls ---- */

static void calls(long n)
{
	struct log_note *note;
	char byte;

	while (n-- > 0) {
		note = log_begin(LOG_CALL, 0, NULL);
		note->number = log_number++;
		log_done(note, (int)pread(data_fd, &byte, 1, note->number));
	}
}

static volatile uint32_t *flag_of(const char *name)
{
	if (name[0] < 'a' || name[0] > 'z' || name[1])
		fail("a flag is a letter", name);
	return &flags[name[0] - 'a'];
}

static void flood(const char *name, long n, long us)
{
	const volatile uint32_t *flag = flag_of(name);
	long ts[2] = {0, us * 1000};

	while (!*flag) {
		calls(n);
		raw3(SYS_nanosleep, ts, 0, 0);
	}
}

static void await(const char *name)
{
	const volatile uint32_t *flag = flag_of(name);
	long ts[2] = {0, 100000};

	while (!*flag)
		raw3(SYS_nanosleep, ts, 0, 0);
}

/* Waits until @n have come; again and again. */
static void meet(const char *name, long n)
{
	volatile uint32_t *flag = flag_of(name);
	uint32_t mine = __atomic_fetch_add(flag, 1, __ATOMIC_SEQ_CST);
	uint32_t all = (mine / (uint32_t)n + 1) * (uint32_t)n;
	long ts[2] = {0, 100000};

	while (*flag < all)
		raw3(SYS_nanosleep, ts, 0, 0);
}

static void long_call(long ms)
{
	struct log_note *note = log_begin(LOG_LONG, ms, NULL);

	log_done(note, usleep((useconds_t)ms * 1000));
}

static void map_flags(void)
{
	const char *base = getenv("CAPTURE_LOG");
	char path[4200];
	int fd;

	snprintf(path, sizeof(path), "%s.flags", base ? base : "/tmp/capture");
	fd = raw_open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	raw3(SYS_ftruncate, fd, 4096, 0);
	flags = (uint32_t *)raw_call(SYS_mmap, 0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	raw_close(fd);
}

static pthread_t threads[64];
static int thread_cnt;

/* ---- CUDA, opened with the first step that needs it ---- */

static void *cuda_function(const char *library, const char *name)
{
	void *lib = dlopen(library, RTLD_NOW | RTLD_GLOBAL), *fn = lib ? dlsym(lib, name) : NULL;

	if (!fn)
		fail(name, dlerror());
	return fn;
}
#define RUNTIME(name, ...) \
	(((int (*)(__VA_ARGS__))(uintptr_t)cuda_function("libcudart.so.13", name)))

/* The lowest free descriptor: what asks the collector must give back its own, and may not have it for long. */
static long free_fd(void)
{
	long fd = raw3(SYS_fcntl, 0, F_DUPFD, 0);

	raw_close((int)fd);
	return fd;
}

static void profiler(const char *library, const char *name, int kind)
{
	int (*fn)(void) = (int (*)(void))(uintptr_t)cuda_function(library, name);
	long fd = free_fd();
	struct log_note *note = log_begin(kind, 0, name);

	errno = 12345;
	log_done(note, fn());
	if (errno != 12345 || (!thread_cnt && free_fd() != fd))
		fail(name, "errno or the table of descriptors is another");
}

static char kernel; /* its address is what nvcc makes a handle of */

static void registration(void)
{
	static const char image[64] = "image";
	static struct {
		int magic, version;
		const void *data, *more;
	} wrapper = {0x466243b1, 1, image, NULL};
	void **(*binary)(void *) = (void **(*)(void *))(uintptr_t)cuda_function(
		"libcudart.so.13", "__cudaRegisterFatBinary");
	void **handle = binary(&wrapper);
	static char name[] = "_Z12kernel_us10_Pf";

	((void (*)(void **, const void *, char *, const char *, int, void *, void *, void *, void *,
		   int *))(uintptr_t)cuda_function("libcudart.so.13", "__cudaRegisterFunction"))(
		handle, &kernel, name, name, -1, NULL, NULL, NULL, NULL, NULL);
	((void (*)(void **))(uintptr_t)cuda_function("libcudart.so.13",
						     "__cudaRegisterFatBinaryEnd"))(handle);
}

static void launch(long n)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	int (*fn)(const void *, struct cuda_dim3, struct cuda_dim3, void **, size_t, CUstream);
	struct cuda_dim3 grid = {2, 1, 1}, block = {32, 1, 1};

	pthread_once(&once, registration);
	fn = RUNTIME("cudaLaunchKernel", const void *, struct cuda_dim3, struct cuda_dim3, void **,
		     size_t, CUstream);
	while (n-- > 0) {
		struct log_note *note = log_begin(LOG_LAUNCH, 0, NULL);

		log_done(note, fn(&kernel, grid, block, NULL, 0, NULL));
	}
}

/* ---- NVTX ---- */

static void *domain_of(const char *text)
{
	static struct {
		char name[32];
		void *handle;
	} known[16];
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	const char *name = strchr(text, '@');
	void *handle = NULL;
	int i = 0;

	if (!name++)
		return NULL;
	pthread_mutex_lock(&lock);
	while (i < 16 && known[i].handle && strcmp(known[i].name, name) != 0)
		i++;
	if (i == 16)
		fail("too many domains", name);
	if (!known[i].handle) {
		snprintf(known[i].name, sizeof(known[i].name), "%s", name);
		known[i].handle = domain_create(name);
	}
	handle = known[i].handle;
	pthread_mutex_unlock(&lock);
	return handle;
}

static struct nvtx_attr message(void *domain, const char *text, char *plain)
{
	const char *name = text[0] == '=' ? text + 1 : text;

	snprintf(plain, 64, "%.*s", (int)strcspn(name, "@"), name);
	if (text[0] == '=')
		return attr_of(3, string_register(domain, plain));
	return attr_of(1, plain);
}

/* Ranges of any thread's that are open, by name; the latest first. */
static struct {
	char text[32];
	uint64_t id;
	int64_t pair;
} ranges[256];
static int range_cnt;
static int64_t pair_cnt;

static void nvtx_step(const char *what, const char *text)
{
	void *domain = domain_of(text);
	char plain[64];
	struct nvtx_attr a = message(domain, text, plain);
	struct log_note *note;

	if (strcmp(what, "push") == 0) {
		note = log_begin(LOG_PUSH, 0, text);
		log_done(note, push_ex(domain, &a));
	} else if (strcmp(what, "mark") == 0) {
		note = log_begin(LOG_MARK, 0, text);
		mark_ex(domain, &a);
		log_done(note, 0);
	} else if (strcmp(what, "range") == 0) {
		int i = range_cnt++ % 256;

		snprintf(ranges[i].text, sizeof(ranges[i].text), "%s", text);
		ranges[i].pair = pair_cnt++;
		note = log_begin(LOG_RANGE, ranges[i].pair, text);
		ranges[i].id = start_ex(domain, &a);
		log_done(note, 0);
	} else {
		int i = range_cnt;

		while (i > 0 && strcmp(ranges[i - 1].text, text) != 0)
			i--;
		if (!i)
			fail("no such range", text);
		note = log_begin(LOG_END, ranges[i - 1].pair, text);
		end_ex(domain, ranges[i - 1].id);
		log_done(note, 0);
		ranges[i - 1].text[0] = 0;
	}
}

static void pop_step(const char *text)
{
	void *domain = domain_of(text);
	struct log_note *note = log_begin(LOG_POP, 0, text);

	log_done(note, pop_ex(domain));
}

/* ---- threads and processes ---- */

struct thread_ask {
	struct steps s;
	const char *name;
};

static void name_step(const char *name)
{
	struct log_note *note = log_begin(LOG_NAME, 0, name);

	log_done(note, prctl(PR_SET_NAME, name));
}

static void *thread_main(void *what)
{
	struct thread_ask ask = *(struct thread_ask *)what;

	free(what);
	name_step(ask.name);
	run(ask.s);
	return NULL;
}

static void thread_step(const char *name, struct steps s)
{
	struct thread_ask *ask = malloc(sizeof(*ask));

	*ask = (struct thread_ask){s, name};
	if (thread_cnt == 64 || pthread_create(&threads[thread_cnt++], NULL, thread_main, ask) != 0)
		fail("no thread", name);
}

static void join(void)
{
	while (thread_cnt > 0)
		pthread_join(threads[--thread_cnt], NULL);
}

static void fork_step(struct steps s, int is_daemon)
{
	struct log_note *note = log_begin(LOG_CHILD, 0, NULL);
	pid_t pid = fork();

	if (pid == 0) {
		log_forked();
		thread_cnt = 0;
		log_number = 0;
		if (is_daemon && (setsid() < 0 || fork() != 0))
			_exit(0);
		run(s);
		log_begin(LOG_GONE, 0, NULL);
		exit(0);
	}
	note->number = pid;
	log_done(note, 0);
	if (is_daemon)
		waitpid(pid, NULL, 0);
}

/* The block as one word again. */
static char *text_of(struct steps s)
{
	size_t size = 1;
	char *text;

	for (int i = 0; i < s.cnt; i++)
		size += strlen(s.word[i]) + 1;
	text = calloc(1, size);
	for (int i = 0; i < s.cnt; i++) {
		strcat(text, s.word[i]);
		strcat(text, " ");
	}
	return text;
}

static void spawn_step(struct steps s, int is_exec)
{
	char *argv[] = {(char *)(uintptr_t) "capture", text_of(s), NULL};
	struct log_note *note;
	pid_t pid = 0;

	if (is_exec) {
		execv(self, argv);
		fail("exec", self);
	}
	note = log_begin(LOG_CHILD, 0, NULL);
	if (posix_spawn(&pid, self, NULL, NULL, argv, environ) != 0)
		fail("spawn", self);
	note->number = pid;
	log_done(note, 0);
	free(argv[1]);
}

static void wait_step(void)
{
	int status;

	while (wait(&status) > 0)
		if (status)
			fprintf(stderr, "capture: a child ended with %x\n", (unsigned)status);
}

static void file_step(const char *name)
{
	data_fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	if (data_fd < 0 || raw3(SYS_ftruncate, data_fd, 1 << 22, 0) < 0)
		fail("file", name);
}

/* ---- steps ---- */

/* The words between @at, a "{", and its "}". */
static struct steps block(struct steps s, int at)
{
	int depth = 0, i;

	if (at >= s.cnt || strcmp(s.word[at], "{") != 0)
		fail("no block after", s.word[at - 1]);
	for (i = at; i < s.cnt; i++) {
		depth += strcmp(s.word[i], "{") == 0;
		depth -= strcmp(s.word[i], "}") == 0;
		if (!depth)
			return (struct steps){s.word + at + 1, i - at - 1};
	}
	fail("no end of block after", s.word[at - 1]);
	return s;
}

static int is(const char *a, const char *b)
{
	return strcmp(a, b) == 0;
}

/* Steps without anything behind them. */
static int plain_step(const char *w)
{
	if (is(w, "start"))
		profiler("libcudart.so.13", "cudaProfilerStart", LOG_START);
	else if (is(w, "stop"))
		profiler("libcudart.so.13", "cudaProfilerStop", LOG_STOP);
	else if (is(w, "cu-start"))
		profiler("libcuda.so.1", "cuProfilerStart", LOG_START);
	else if (is(w, "cu-stop"))
		profiler("libcuda.so.1", "cuProfilerStop", LOG_STOP);
	else if (is(w, "sync"))
		RUNTIME("cudaDeviceSynchronize", void)();
	else if (is(w, "join"))
		join();
	else if (is(w, "wait"))
		wait_step();
	else
		return 0;
	return 1;
}

/* Steps with one word behind them. */
static int word_step(const char *w, const char *arg)
{
	if (is(w, "call"))
		calls(atol(arg));
	else if (is(w, "long"))
		long_call(atol(arg));
	else if (is(w, "sleep"))
		raw_sleep_ms(atol(arg));
	else if (is(w, "launch"))
		launch(atol(arg));
	else if (is(w, "push") || is(w, "mark") || is(w, "range") || is(w, "end"))
		nvtx_step(w, arg);
	else if (is(w, "raise"))
		*flag_of(arg) = 1;
	else if (is(w, "await"))
		await(arg);
	else if (is(w, "gone"))
		while (raw3(SYS_faccessat, AT_FDCWD, arg, 0) == 0)
			raw_sleep_ms(5);
	else if (is(w, "file"))
		file_step(arg);
	else if (is(w, "name"))
		name_step(arg);
	else if (is(w, "say"))
		printf("%s\n", arg), fflush(stdout);
	else if (is(w, "die"))
		log_begin(LOG_GONE, 0, w), raise(atoi(arg));
	else if (is(w, "exit"))
		log_begin(LOG_GONE, 0, w), _exit(atoi(arg));
	else
		return 0;
	return 1;
}

static void run(struct steps s)
{
	struct steps b;
	int i = 0;

	while (i < s.cnt) {
		const char *w = s.word[i++], *arg = i < s.cnt ? s.word[i] : "";

		if (plain_step(w))
			continue;
		if (is(w, "pop")) {
			pop_step(arg[0] == '@' ? arg : "");
			i += arg[0] == '@';
		} else if (is(w, "fork") || is(w, "daemon") || is(w, "spawn") || is(w, "exec")) {
			b = block(s, i);
			i += b.cnt + 2;
			if (is(w, "fork") || is(w, "daemon"))
				fork_step(b, is(w, "daemon"));
			else
				spawn_step(b, is(w, "exec"));
		} else if (is(w, "thread") || is(w, "repeat")) {
			b = block(s, i + 1);
			i += b.cnt + 3;
			if (is(w, "thread"))
				thread_step(arg, b);
			else
				for (long n = atol(arg); n > 0; n--)
					run(b);
		} else if (is(w, "flood")) {
			if (i + 2 >= s.cnt)
				fail("flood FLAG N US", "too little");
			flood(arg, atol(s.word[i + 1]), atol(s.word[i + 2]));
			i += 3;
		} else if (is(w, "meet") && i + 1 < s.cnt) {
			meet(arg, atol(s.word[i + 1]));
			i += 2;
		} else if (word_step(w, arg)) {
			i++;
		} else {
			fail("no such step", w);
		}
	}
}

int main(int argc, char **argv)
{
	static char self_path[4096];
	char *word[1024], *save = NULL;
	struct steps s = {word, 0};
	const char *base = getenv("CAPTURE_LOG");
	char data[4200];

	if (argc != 2)
		fail("usage", "capture 'STEP...'");
	if (readlink("/proc/self/exe", self_path, sizeof(self_path) - 1) < 0)
		return 3;
	self = self_path;
	map_flags();
	nvtx_load();
	snprintf(data, sizeof(data), "%s.data", base ? base : "/tmp/capture");
	file_step(data);
	for (char *w = strtok_r(argv[1], " \n\t", &save); w && s.cnt < 1024;
	     w = strtok_r(NULL, " \n\t", &save))
		word[s.cnt++] = w;
	run(s);
	join();
	wait_step();
	log_begin(LOG_GONE, 0, NULL);
	return 0;
}
