/*
 * symbolize_prefetch.c - modules that a thread prefetches: the answers are the same as without, and what happens to the
 * files afterwards, or while they are read, does no harm.
 */
#include "tests/unit/report/db_test.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "collector/report/db_internal.h"
#include "collector/report/db_stacks.h"
#include "collector/symbols/symbols_internal.h"
#include "preload/wire/frame.h"

#define SPACE           INT64_C(0x100000001)
#define CHILD           INT64_C(0x100000002)
#define STACK           INT64_C(0x100000001)
#define FOREIGN_ADDRESS UINT64_C(0x10)
#define WAIT_MS         20000

static char self[512], copy[64] = "/tmp/sl-ahead-XXXXXX";
static uint64_t bias;

void known_function(void);
__attribute__((noinline)) void known_function(void)
{
	__asm__ volatile("");
}

static uint64_t known(void)
{
	return (uint64_t)(uintptr_t)known_function;
}

static int first_object(struct dl_phdr_info *info, size_t size, void *to)
{
	(void)size;
	*(uint64_t *)to = info->dlpi_addr;
	return 1;
}

/* A file with the symbols of this program, which is the test's to delete and to cut. */
static void make_copy(void)
{
	char command[700];
	int fd;

	strcpy(copy, "/tmp/sl-ahead-XXXXXX");
	fd = mkstemp(copy);
	assert_true(fd >= 0);
	close(fd);
	snprintf(command, sizeof(command), "cp '%s' %s", self, copy);
	assert_int_equal(system(command), 0);
}

static int setup(void **state)
{
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);

	dl_iterate_phdr(first_object, &bias);
	return len > 0 ? test_setup(state) : -1;
}

static bool maps(const char *path)
{
	FILE *f = fopen("/proc/self/maps", "re");
	char line[4096];
	bool is = false;

	while (f && !is && fgets(line, sizeof(line), f))
		is = strstr(line, path);
	fclose(f);
	return is;
}

/* Until the thread has begun with it. */
static void wait_for(const char *path)
{
	for (int ms = 0; !maps(path); ms++) {
		assert_true(ms < WAIT_MS);
		usleep(1000);
	}
}

#ifdef __SANITIZE_THREAD__
#define OTHERS 1 /* a thread of its own, from our first one on */
#else
#define OTHERS 0
#endif

static int threads(void)
{
	DIR *d = opendir("/proc/self/task");
	int cnt = 0;

	while (readdir(d))
		cnt++;
	closedir(d);
	return cnt - 2 - OTHERS;
}

/* One that was left ends by itself. */
static void wait_for_threads(int wanted)
{
	for (int ms = 0; threads() != wanted; ms++) {
		assert_true(ms < WAIT_MS);
		usleep(1000);
	}
}

/* ---- symbols.h ---- */

static const char *name_in(struct symbols *s, struct symbols_module *m)
{
	struct symbols_frame frame[4];
	size_t cnt = symbols_at(s, m, known() - bias, frame, 4);

	return cnt && frame[cnt - 1].function ? frame[cnt - 1].function : "";
}

static void ask_ahead(struct symbols *s, struct symbols_module *m)
{
	symbols_prefetch(s, m, known() - bias);
}

static void what_was_asked_ahead_needs_no_file(void **state)
{
	struct symbols *s = symbols_open();
	struct symbols_module *m;
	struct symbols_frame frame;
	const char *module;

	(void)state;
	make_copy();
	m = symbols_module(s, copy, NULL, 0);
	ask_ahead(s, m);
	ask_ahead(s, m);
	symbols_prefetch(s, NULL, 0);
	wait_for(copy);
	symbols_settle(s);
	symbols_settle(s);
	assert_int_equal(truncate(copy, 0), 0);
	unlink(copy);
	assert_string_equal(name_in(s, m), "known_function");
	symbols_kernel(s, FOREIGN_ADDRESS, &frame, &module);
	symbols_close(s);
}

/* A queue that is full, and one that is closed without waiting. */
static void more_than_can_wait_is_looked_up_later(void **state)
{
	struct symbols *s = symbols_open();
	struct symbols_module *m = symbols_module(s, self, NULL, 0);
	char name[32];

	(void)state;
	for (int i = 0; i < 40000; i++) {
		snprintf(name, sizeof(name), "/nowhere/%d", i);
		symbols_prefetch(s, symbols_module(s, name, NULL, 0), 0);
	}
	symbols_prefetch(s, m, known() - bias);
	symbols_settle(s);
	assert_string_equal(name_in(s, m), "known_function");
	ask_ahead(s, m); /* once more, and closed without being settled */
	symbols_close(s);
	wait_for_threads(1);
}

static void a_file_that_is_cut_ahead_is_given_up(void **state)
{
	struct symbols *s = symbols_open();
	struct symbols_module *m, *other = symbols_module(s, self, NULL, 0);

	(void)state;
	make_copy();
	m = symbols_module(s, copy, NULL, 0);
	symbols_prefetch(s, m, 0);
	wait_for(copy);
	assert_int_equal(truncate(copy, 0), 0); /* perhaps while it is read */
	symbols_settle(s);
	assert_string_equal(name_in(s, m), "");
	assert_string_equal(name_in(s, other), "known_function");
	symbols_close(s);
	unlink(copy);
}

/* ---- what is no file, or one that lies ---- */

/* With the path in $f. */
static void run_shell(const char *path, const char *script)
{
	char command[2048];

	snprintf(command, sizeof(command), "f='%s' me='%s'; %s", path, self, script);
	assert_int_equal(system(command), 0);
}

static void check_opens(const char *path)
{
	struct symbols *s = symbols_open();
	struct symbols_module *m = symbols_module(s, path, NULL, 0);

	ask_ahead(s, m);
	symbols_settle(s);
	name_in(s, m);
	symbols_close(s);
}

/* The header of each section in turn claims as many bytes as a number can hold, or that offset. */
static void claim(const char *path, uint64_t bytes, bool is_offset)
{
	ElfW(Ehdr) h;
	int fd = open(path, O_RDWR);

	assert_int_equal(pread(fd, &h, sizeof(h), 0), sizeof(h));
	for (unsigned i = 0; i < h.e_shnum; i++) {
		ElfW(Shdr) was, is;
		off_t at = (off_t)(h.e_shoff + i * sizeof(is));

		assert_int_equal(pread(fd, &was, sizeof(was), at), sizeof(was));
		is = was;
		if (is_offset)
			is.sh_offset = bytes;
		else
			is.sh_size = bytes;
		assert_int_equal(pwrite(fd, &is, sizeof(is), at), sizeof(is));
		check_opens(path);
		assert_int_equal(pwrite(fd, &was, sizeof(was), at), sizeof(was));
	}
	close(fd);
}

static void files_may_be_anything(void **state)
{
	static const char *const shapes[] = {
		"mkfifo $f",           "mkdir $f",          "ln -s $f $f", "ln -s /dev/zero $f",
		"ln -s /proc/kmsg $f", "truncate -s 4G $f", /* without a block */
	};

	(void)state;
	make_copy();
	for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++) {
		run_shell(copy, "rm -rf $f");
		run_shell(copy, shapes[i]);
		check_opens(copy);
	}
	run_shell(copy, "rm $f; cp $me $f; truncate -s 4G $f");
	check_opens(copy);
	run_shell(copy, "cp $me $f");
	claim(copy, UINT64_C(1) << 60, false);
	claim(copy, UINT64_MAX, false);
	claim(copy, UINT64_C(1) << 60, true);
	claim(copy, UINT64_MAX - 8, true);
	unlink(copy);
}

/* ---- a server that never answers, in a prefetch that is longer than any wait ---- */

static char server[64];
static pid_t asked;

/* What the stand-in for debuginfod-find has written; 0: nothing yet. */
static pid_t read_asked(void)
{
	char path[128], text[32] = "";
	FILE *f;

	snprintf(path, sizeof(path), "%s/asked", server);
	f = fopen(path, "re");
	if (f && !fgets(text, sizeof(text), f))
		text[0] = 0;
	if (f)
		fclose(f);
	return strchr(text, '\n') ? atoi(text) : 0;
}

/* A file of which only a server has debug information. */
static struct symbols_module *ask_server(struct symbols *s)
{
	struct symbols_module *m = symbols_module(s, copy, NULL, 0);

	ask_ahead(s, m);
	for (int ms = 0; !(asked = read_asked()); ms++) {
		assert_true(ms < WAIT_MS);
		usleep(1000);
	}
	assert_int_equal(kill(asked, 0), 0);
	return m;
}

static bool is_there(pid_t pid)
{
	char path[64], text[256] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "re");
	if (!f)
		return false;
	if (!fgets(text, sizeof(text), f))
		text[0] = 0;
	fclose(f);
	return text[0] && !strstr(text, ") Z ");
}

static void wait_for_end(pid_t pid)
{
	for (int ms = 0; is_there(pid); ms++) {
		assert_true(ms < WAIT_MS);
		usleep(1000);
	}
}

static int server_setup(void **state)
{
	char path[4096], cache[128];
	FILE *f;

	(void)state;
	strcpy(server, "/tmp/sl-ahead-server-XXXXXX");
	if (!mkdtemp(server))
		return -1;
	snprintf(path, sizeof(path), "%s/debuginfod-find", server);
	f = fopen(path, "we");
	fprintf(f, "#!/bin/sh\necho $$ >%s/asked\nexec sleep 1000\n", server);
	fclose(f);
	chmod(path, 0755);
	snprintf(path, sizeof(path), "%s:%s", server, getenv("PATH"));
	setenv("PATH", path, 1);
	snprintf(cache, sizeof(cache), "%s/cache", server);
	setenv("DEBUGINFOD_CACHE_PATH", cache, 1);
	setenv("DEBUGINFOD_URLS", "http://localhost:1", 1);
	make_copy();
	run_shell(copy, "objcopy --strip-debug $f");
	symbols_debuginfod_ms = INT_MAX;
	alarm(300);
	return 0;
}

static int server_teardown(void **state)
{
	(void)state;
	alarm(0);
	unsetenv("DEBUGINFOD_URLS");
	unlink(copy);
	run_shell(server, "rm -r $f");
	return 0;
}

static void who_leaves_waits_for_no_server(void **state)
{
	struct symbols *s = symbols_open();

	(void)state;
	ask_server(s);
	symbols_close(s);
	wait_for_end(asked);
	wait_for_threads(1);
}

static void a_signal_ends_the_wait_for_a_server(void **state)
{
	struct symbols *s = symbols_open();
	struct symbols_module *m, *other = symbols_module(s, self, NULL, 0);
	sigset_t set, before;
	int sig;

	(void)state;
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	pthread_sigmask(SIG_BLOCK, &set, &before);
	m = ask_server(s);
	kill(getpid(), SIGINT);
	symbols_settle(s);
	assert_false(is_there(asked));
	assert_string_equal(name_in(s, m), "known_function");
	assert_string_equal(name_in(s, other), "known_function");
	symbols_close(s);
	sigwait(&set, &sig);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* Outside of a wait, signals are for the caller. */
static void a_signal_before_that_does_not(void **state)
{
	struct symbols *s = symbols_open();
	sigset_t set, before;
	int sig;

	(void)state;
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	pthread_sigmask(SIG_BLOCK, &set, &before);
	kill(getpid(), SIGINT);
	ask_server(s);
	usleep(200000); /* it is looked at meanwhile; not seen, all is well, too */
	assert_true(is_there(asked));
	sigwait(&set, &sig);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	symbols_close(s);
	wait_for_end(asked);
	wait_for_threads(1);
}

static void a_killed_process_leaves_no_child(void **state)
{
	pid_t pid = fork();
	int status;

	(void)state;
	if (pid == 0) {
		struct symbols *s = symbols_open();

		ask_server(s);
		kill(getpid(), SIGKILL);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	asked = read_asked();
	assert_true(asked > 0);
	wait_for_end(asked);
}

/* ---- db_stacks.h ---- */

static struct db *begin(const char *resolve)
{
	struct db *db = test_open(false);

	unlink(test_path); /* each test its own; SQLite has it open */
	db_meta_capture(db, "SL_RESOLVE_SYMBOLS", resolve);
	assert_int_equal(db_commit(db, 0), 0);
	return db;
}

static void tell(struct db *db, int64_t space, const char *path)
{
	struct db_module m = {.space = space,
			      .start = bias,
			      .end = bias + (1u << 24),
			      .bias = bias,
			      .path = path};

	assert_int_equal(db_module(db, &m), 0);
}

static void stack(struct db *db, int64_t id, int64_t space, uint64_t address)
{
	uint64_t frames[] = {SL_FRAME_EXACT | address, SL_FRAME_REMARK | SL_REMARK_DEPTH};

	assert_int_equal(db_stack(db, id, space, 0, frames, 2), 0);
}

static void stacks_have_their_files_opened(void **state)
{
	struct db *db = begin("true");

	(void)state;
	make_copy();
	/* A forked process: what it has is its parent's, whose module comes after its first stack. */
	db_space(db, CHILD, SPACE, 0);
	stack(db, STACK, CHILD, known());
	stack(db, STACK + 1, CHILD, FOREIGN_ADDRESS);
	db_space(db, SPACE, 0, 0);
	assert_int_equal(threads(), 1);
	tell(db, SPACE, copy);
	stack(db, STACK + 2, CHILD, known());
	wait_for(copy);
	assert_int_equal(threads(), 2);
	db_abandon(db);
	wait_for_threads(1);
	unlink(copy);
}

static void nothing_is_opened_for_names_that_are_not_wanted(void **state)
{
	struct db *db = begin("false");

	(void)state;
	db_space(db, SPACE, 0, 0);
	tell(db, SPACE, self);
	stack(db, STACK, SPACE, known());
	assert_int_equal(threads(), 1);
	db_abandon(db);
}

static void names_come_from_the_file_as_it_was(void **state)
{
	struct db *db = test_open(false);
	int64_t *r;

	(void)state;
	make_copy();
	db_space(db, SPACE, 0, 0);
	tell(db, SPACE, copy);
	stack(db, STACK, SPACE, known());
	r = db_row(db, DB_OSRT_API);
	for (int i = 0; i < OSRT_COL_CNT; i++)
		r[i] = DB_NULL;
	r[OSRT_START] = 1;
	r[OSRT_END] = 2;
	r[OSRT_EVENT_CLASS] = 27;
	r[OSRT_CALLCHAIN_ID] = db_stack_number(db, STACK);
	wait_for(copy);
	unlink(copy);
	assert_int_equal(db_finish(db, 10), 0);
	assert_int_equal(threads(), 1);
	assert_string_equal(
		ask("SELECT s.value FROM OSRT_CALLCHAINS c JOIN StringIds s ON s.id = c.symbol"
		    " WHERE stackDepth = 0"),
		"known_function");
}

/* A file that loses its end while it is read is given up with what libdw has of it (sigbus_guard.h). */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:symbols_dwarf_open";
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_asked_ahead_needs_no_file),
		cmocka_unit_test(more_than_can_wait_is_looked_up_later),
		cmocka_unit_test(a_file_that_is_cut_ahead_is_given_up),
		cmocka_unit_test(files_may_be_anything),
		cmocka_unit_test_setup_teardown(who_leaves_waits_for_no_server, server_setup,
						server_teardown),
		cmocka_unit_test_setup_teardown(a_signal_ends_the_wait_for_a_server, server_setup,
						server_teardown),
		cmocka_unit_test_setup_teardown(a_signal_before_that_does_not, server_setup,
						server_teardown),
		cmocka_unit_test_setup_teardown(a_killed_process_leaves_no_child, server_setup,
						server_teardown),
		cmocka_unit_test(stacks_have_their_files_opened),
		cmocka_unit_test(nothing_is_opened_for_names_that_are_not_wanted),
		cmocka_unit_test(names_come_from_the_file_as_it_was),
	};

	return cmocka_run_group_tests(tests, setup, test_teardown);
}
