/*
 * ahead.c - files of symbols that are opened before anybody asks, by a thread: the answers are the same, and what happens
 * to the files afterwards, or while they are read, does no harm.
 */
#include "tests/unit/db_test.h"

#include <dirent.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "collector/bus_error.h"
#include "collector/db_internal.h"
#include "collector/db_stacks.h"
#include "collector/symbols.h"
#include "preload/frame.h"

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

static int threads(void)
{
	DIR *d = opendir("/proc/self/task");
	int cnt = 0;

	while (readdir(d))
		cnt++;
	closedir(d);
	return cnt - 2;
}

/* ---- symbols.h ---- */

static const char *name_in(struct symbols *s, struct symbols_module *m)
{
	struct symbols_frame frame[4];
	size_t cnt = symbols_at(s, m, known() - bias, frame, 4);

	return cnt && frame[cnt - 1].function ? frame[cnt - 1].function : "";
}

static void what_was_opened_ahead_needs_no_file(void **state)
{
	struct symbols *s = symbols_open();
	struct symbols_module *m;
	struct symbols_frame frame;
	const char *module;

	(void)state;
	make_copy();
	m = symbols_module(s, copy, NULL, 0);
	symbols_ahead(s, m);
	symbols_ahead(s, m);
	symbols_ahead(s, NULL);
	wait_for(copy);
	symbols_settle(s);
	symbols_settle(s);
	unlink(copy);
	assert_string_equal(name_in(s, m), "known_function");
	symbols_kernel(s, FOREIGN_ADDRESS, &frame, &module);
	symbols_close(s);
}

/* A queue that is full, and one that nobody waits for. */
static void more_than_can_wait_is_opened_later(void **state)
{
	struct symbols *s = symbols_open();
	struct symbols_module *m = symbols_module(s, self, NULL, 0);
	char name[32];

	(void)state;
	for (int i = 0; i < 5000; i++) {
		snprintf(name, sizeof(name), "/nowhere/%d", i);
		symbols_ahead(s, symbols_module(s, name, NULL, 0));
	}
	symbols_ahead(s, m);
	symbols_settle(s);
	assert_string_equal(name_in(s, m), "known_function");
	symbols_ahead(s, m); /* once more, and closed without being settled */
	symbols_close(s);
}

static void a_file_that_is_cut_ahead_is_given_up(void **state)
{
	struct symbols *s = symbols_open();
	struct symbols_module *m, *other = symbols_module(s, self, NULL, 0);

	(void)state;
	make_copy();
	m = symbols_module(s, copy, NULL, 0);
	symbols_ahead(s, m);
	wait_for(copy);
	assert_int_equal(truncate(copy, 0), 0); /* perhaps while it is read */
	symbols_settle(s);
	assert_string_equal(name_in(s, m), "");
	assert_string_equal(name_in(s, other), "known_function");
	symbols_close(s);
	unlink(copy);
}

/* ---- bus_error.h ---- */

static const volatile uint8_t *cut_mapping(void)
{
	char name[] = "/tmp/sl-ahead-XXXXXX";
	int fd = mkstemp(name);
	void *at;

	unlink(name);
	assert_int_equal(ftruncate(fd, 4 << 12), 0);
	at = mmap(NULL, 4 << 12, PROT_READ, MAP_PRIVATE, fd, 0);
	assert_true(at != MAP_FAILED);
	assert_int_equal(ftruncate(fd, 0), 0);
	close(fd);
	return at;
}

struct reading {
	const volatile uint8_t *at;
	bool is_through;
};

static void read_it(void *of)
{
	struct reading *r = of;

	(void)*r->at;
	r->is_through = true;
}

static void *try_often(void *of)
{
	intptr_t left = 0;

	for (int i = 0; i < 2000; i++) {
		struct reading r = {of, false};

		left += !bus_error_try(read_it, &r) && !r.is_through;
	}
	return (void *)left;
}

static void each_thread_leaves_its_own_work(void **state)
{
	const volatile uint8_t *cut = cut_mapping();
	struct reading whole = {(const uint8_t *)self, false};
	pthread_t thread[4];
	void *left;

	(void)state;
	for (int i = 0; i < 4; i++)
		assert_int_equal(
			pthread_create(&thread[i], NULL, try_often, (void *)(uintptr_t)cut), 0);
	for (int i = 0; i < 4; i++) {
		pthread_join(thread[i], &left);
		assert_int_equal((intptr_t)left, 2000);
	}
	assert_true(bus_error_try(read_it, &whole));
	assert_true(whole.is_through);
	munmap((void *)(uintptr_t)cut, 4 << 12);
}

static void covered_memory_reads_as_zeros(void **state)
{
	const volatile uint8_t *cut = cut_mapping();

	(void)state;
	assert_true(bus_error_cover((const void *)(uintptr_t)cut, 4 << 12));
	for (unsigned i = 0; i < 4 << 12; i += 512)
		assert_int_equal(cut[i], 0);
	bus_error_uncover_all();
	munmap((void *)(uintptr_t)cut, 4 << 12);
}

static void on_signal(int sig)
{
	_exit(sig == SIGBUS ? 7 : 8);
}

/* What is not ours is whose it was: @before us, or @after us (who then takes it away again). */
static int end_of_child(void (*before)(int), bool is_taken_meanwhile)
{
	const volatile uint8_t *cut = cut_mapping(), *other = cut_mapping();
	struct reading r = {other, false};
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		signal(SIGBUS, before);
		if (bus_error_try(read_it, &r))
			_exit(1);
		if (is_taken_meanwhile) {
			signal(SIGBUS, SIG_DFL);
			if (bus_error_try(read_it, &r))
				_exit(2);
		}
		(void)*cut;
		_exit(3);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	munmap((void *)(uintptr_t)cut, 4 << 12);
	munmap((void *)(uintptr_t)other, 4 << 12);
	return status;
}

static void other_bus_errors_are_for_others(void **state)
{
	int status;

	(void)state;
	status = end_of_child(SIG_DFL, false);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS);
	status = end_of_child(SIG_DFL, true);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS);
	status = end_of_child(on_signal, false);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
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
	/* A forked process: what it has is its parent's, which is told of after its first stack. */
	db_space(db, CHILD, SPACE, 0);
	stack(db, STACK, CHILD, known());
	assert_int_equal(threads(), 1);
	db_space(db, SPACE, 0, 0);
	tell(db, SPACE, copy);
	stack(db, STACK + 1, CHILD, FOREIGN_ADDRESS);
	assert_int_equal(threads(), 1);
	stack(db, STACK + 2, CHILD, known());
	wait_for(copy);
	assert_int_equal(threads(), 2);
	db_abandon(db);
	assert_int_equal(threads(), 1);
	unlink(copy);
}

static void nothing_is_opened_for_names_that_nobody_wants(void **state)
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
	r[OSRT_CALLCHAIN_ID] = STACK;
	wait_for(copy);
	unlink(copy);
	assert_int_equal(db_finish(db, 10), 0);
	assert_int_equal(threads(), 1);
	assert_string_equal(
		ask("SELECT s.value FROM OSRT_CALLCHAINS c JOIN StringIds s ON s.id = c.symbol"
		    " WHERE stackDepth = 0"),
		"known_function");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_opened_ahead_needs_no_file),
		cmocka_unit_test(more_than_can_wait_is_opened_later),
		cmocka_unit_test(a_file_that_is_cut_ahead_is_given_up),
		cmocka_unit_test(each_thread_leaves_its_own_work),
		cmocka_unit_test(covered_memory_reads_as_zeros),
		cmocka_unit_test(other_bus_errors_are_for_others),
		cmocka_unit_test(stacks_have_their_files_opened),
		cmocka_unit_test(nothing_is_opened_for_names_that_nobody_wants),
		cmocka_unit_test(names_come_from_the_file_as_it_was),
	};

	return cmocka_run_group_tests(tests, setup, test_teardown);
}
