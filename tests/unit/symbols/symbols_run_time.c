/*
 * symbols_run_time.c - names that stand in no file of the program: code that was made while it ran, by the maps and dumps
 * that say so; the kernel's.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "collector/symbols/symbols_internal.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void a_map_names_code_made_at_run_time(void **state)
{
	struct symbols *s = symbols_open();
	struct symbols_frame frame;
	char path[64];
	FILE *f;

	(void)state;
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	f = fopen(path, "we");
	assert_non_null(f);
	fputs("7f0000001000 100 first\n"
	      "0x7f0000001080 80 second with blanks (int)\n"
	      "nonsense\n7f0000002000\n7f0000003000 zz x\n\n"
	      "7f0000004000 10 _ZN3geo5outerEi\n"
	      "7f0000005000 10 cut",
	      f);
	fclose(f);
	assert_true(symbols_jit(s, getpid(), 0x7f0000001010, 5, &frame));
	assert_string_equal(frame.function, "first");
	assert_null(frame.file);
	assert_true(symbols_jit(s, getpid(), 0x7f00000010ff, 5, &frame));
	assert_string_equal(frame.function, "second with blanks (int)");
	assert_true(symbols_jit(s, getpid(), 0x7f0000004000, 5, &frame));
	assert_string_equal(frame.function, "geo::outer");
	assert_false(symbols_jit(s, getpid(), 0x7f0000001100, 5, &frame));
	assert_false(symbols_jit(s, getpid(), 0x7f0000000fff, 5, &frame));
	assert_false(
		symbols_jit(s, getpid(), 0x7f0000005000, 5, &frame)); /* not written to its end */
	assert_false(symbols_jit(s, 1 << 30, 0x7f0000001010, 5, &frame));
	symbols_close(s);
	unlink(path);
}

/* A process in a root of its own, which has written its map there; -1: not permitted. */
static pid_t start_apart(const char *root, int *until)
{
	int go[2], ready[2];
	char byte, path[64];
	pid_t pid;

	assert_int_equal(pipe(go) | pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		FILE *f;

		close(go[1]);
		if (chroot(root) != 0 && (unshare(CLONE_NEWUSER) != 0 || chroot(root) != 0))
			_exit(1);
		snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
		f = fopen(path, "we");
		if (!f || fputs("7f0000001000 100 apart\n", f) < 0 || fclose(f) != 0)
			_exit(1);
		if (write(ready[1], "", 1) == 1 && read(go[0], &byte, 1) < 0)
			_exit(1);
		_exit(0);
	}
	close(go[0]);
	close(ready[1]);
	if (read(ready[0], &byte, 1) != 1)
		pid = -1;
	close(ready[0]);
	*until = go[1];
	return pid;
}

static void the_map_of_a_process_in_another_root_outlives_it(void **state)
{
	char root[] = "/tmp/symbols.XXXXXX", path[64];
	struct symbols *s = symbols_open();
	struct symbols_frame frame;
	int until;
	pid_t pid;

	(void)state;
	assert_non_null(mkdtemp(root));
	snprintf(path, sizeof(path), "%s/tmp", root);
	assert_int_equal(mkdir(path, 0777), 0);
	pid = start_apart(root, &until);
	if (pid > 0) {
		assert_true(symbols_jit_keep(pid));
		assert_true(symbols_jit_keep(pid)); /* in place of the first */
		close(until);
		assert_int_equal(waitpid(pid, NULL, 0), pid);
		assert_true(symbols_jit(s, pid, 0x7f0000001010, 5, &frame));
		assert_string_equal(frame.function, "apart");
		snprintf(path, sizeof(path), "%s/tmp/perf-%d.map", root, (int)pid);
		unlink(path);
	}
	symbols_close(s);
	snprintf(path, sizeof(path), "%s/tmp", root);
	rmdir(path);
	rmdir(root);
	if (pid < 0)
		skip();
}

static void a_map_in_the_same_root_is_not_kept(void **state)
{
	char path[64];

	(void)state;
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	unlink(path);
	assert_false(symbols_jit_keep(getpid())); /* not there yet */
	fclose(fopen(path, "we"));
	assert_true(symbols_jit_keep(getpid()));
	assert_int_equal(symbols_jit_kept(getpid()), -1);
	assert_true(symbols_jit_keep(1 << 30)); /* no such process */
	unlink(path);
}

struct record {
	uint32_t id, size;
	uint64_t time;
};

static void put_record(FILE *f, uint32_t id, uint64_t time, const void *body, size_t len,
		       const char *name, size_t code)
{
	struct record r = {id, (uint32_t)(sizeof(r) + len + (name ? strlen(name) + 1 : 0) + code),
			   time};
	uint8_t nop[16] = {0};

	fwrite(&r, sizeof(r), 1, f);
	fwrite(body, len, 1, f);
	if (name)
		fwrite(name, strlen(name) + 1, 1, f);
	fwrite(nop, code, 1, f);
}

static void put_load(FILE *f, uint64_t time, uint64_t at, const char *name)
{
	struct {
		uint32_t pid, tid;
		uint64_t vma, at, size, index;
	} load = {1, 1, at, at, 16, time};

	put_record(f, 0, time, &load, sizeof(load), name, 16);
}

static void put_lines(FILE *f, uint64_t time, uint64_t at)
{
	uint8_t body[128];
	size_t len = 0;
	uint64_t head[2] = {at, 3};
	static const char *const names[] = {"/src/f.js", "\xff", "/src/g.js"};

	memcpy(body, head, 16);
	len = 16;
	for (uint32_t i = 0; i < 3; i++) {
		uint64_t where = at + i * 4;
		uint32_t line[2] = {10 + i, 0};

		memcpy(body + len, &where, 8);
		memcpy(body + len + 8, line, 8);
		memcpy(body + len + 16, names[i], strlen(names[i]) + 1);
		len += 16 + strlen(names[i]) + 1;
	}
	put_record(f, 2, time, body, len, NULL, 0);
}

/* The same memory holds one function after the other; the time selects one. */
static void a_dump_names_code_by_time(void **state)
{
	struct {
		uint32_t magic, version, size, machine, pad, pid;
		uint64_t time, flags;
	} head = {0x4a695444, 1, sizeof(head), 62, 0, 1, 0, 0};
	struct {
		uint32_t pid, tid;
		uint64_t vma, from, to, size, index;
	} move = {1, 1, 0, 0x1000, 0x5000, 16, 1};
	struct symbols *s = symbols_open();
	struct symbols_frame frame;
	char path[64];
	FILE *f;

	(void)state;
	snprintf(path, sizeof(path), "/tmp/jit-%d.dump", (int)getpid());
	f = fopen(path, "we");
	assert_non_null(f);
	fwrite(&head, sizeof(head), 1, f);
	put_lines(f, 100, 0x1000);
	put_load(f, 100, 0x1000, "one");
	put_load(f, 200, 0x1000, "two");
	put_record(f, 1, 300, &move, sizeof(move), NULL, 0);
	put_record(f, 9, 300, "unknown", 8, NULL, 0);
	put_lines(f, 500, 0x6000);
	put_load(f, 500, 0x6000, "lined");
	move.from = 0x6000;
	move.to = 0x7000;
	put_record(f, 1, 600, &move, sizeof(move), NULL, 0);
	put_load(f, 400, 0x3000, "cut");
	fseek(f, -4, SEEK_END);
	assert_int_equal(fflush(f), 0);
	assert_int_equal(ftruncate(fileno(f), ftell(f)), 0);
	fclose(f);
	assert_true(symbols_jit(s, getpid(), 0x1009, 150, &frame));
	assert_string_equal(frame.function, "one");
	assert_string_equal(frame.file, "/src/g.js");
	assert_int_equal(frame.line, 12);
	assert_true(symbols_jit(s, getpid(), 0x1005, 150, &frame));
	assert_string_equal(frame.file, "/src/f.js");
	assert_int_equal(frame.line, 11);
	assert_true(symbols_jit(s, getpid(), 0x1000, 250, &frame));
	assert_string_equal(frame.function, "two");
	assert_null(frame.file);
	assert_true(symbols_jit(s, getpid(), 0x1000, 50, &frame)); /* a little late */
	assert_string_equal(frame.function, "one");
	assert_true(symbols_jit(s, getpid(), 0x5000, 350, &frame));
	assert_string_equal(frame.function, "two");
	assert_false(symbols_jit(s, getpid(), 0x3000, 500, &frame));
	/* Its lines are by the addresses from before. */
	assert_true(symbols_jit(s, getpid(), 0x6001, 550, &frame));
	assert_string_equal(frame.file, "/src/f.js");
	assert_true(symbols_jit(s, getpid(), 0x7001, 650, &frame));
	assert_string_equal(frame.function, "lined");
	assert_null(frame.file);
	symbols_close(s);
	unlink(path);
}

/* Whether a session finds what the map of this process names. */
static bool finds_map(void)
{
	struct symbols *s = symbols_open();
	struct symbols_frame frame;
	bool found = symbols_jit(s, getpid(), 0x1000, 5, &frame);

	symbols_close(s);
	return found;
}

/* Any user may put a file there: before the process is, and with a link to what the user may not read. */
static void a_map_of_strangers_is_left_alone(void **state)
{
	sigset_t interrupt, before;
	char path[64], other[64];
	struct stat st;
	FILE *f;
	int sig;

	(void)state;
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	snprintf(other, sizeof(other), "/tmp/perf-%d.map.other", (int)getpid());
	f = fopen(path, "we");
	assert_non_null(f);
	fputs("1000 100 first\n", f);
	fclose(f);
	assert_true(finds_map());

	sigemptyset(&interrupt);
	sigaddset(&interrupt, SIGINT);
	sigprocmask(SIG_BLOCK, &interrupt, &before);
	raise(SIGINT);
	assert_false(finds_map()); /* Ctrl-C ends it */
	sigwait(&interrupt, &sig);
	sigprocmask(SIG_SETMASK, &before, NULL);
	assert_true(finds_map());

	assert_int_equal(rename(path, other), 0);
	assert_int_equal(symlink(other, path), 0);
	assert_false(finds_map());
	unlink(path);
	assert_int_equal(rename(other, path), 0);

	if (geteuid() == 0 && chown(path, 12345, 12345) == 0 && stat(path, &st) == 0 &&
	    st.st_uid == 12345) {
		assert_false(finds_map());
		symbols_jit_trust(12345);
		assert_true(finds_map());
	}
	assert_int_equal(truncate(path, (off_t)300 << 20), 0);
	assert_false(finds_map());
	unlink(path);
}

/* Files that make reading them long: moves of what was never loaded, functions one over the other, lines without end. */
static void a_dump_takes_bounded_time(void **state)
{
	struct {
		uint32_t magic, version, size, machine, pad, pid;
		uint64_t time, flags;
	} head = {0x4a695444, 1, sizeof(head), 62, 0, 1, 0, 0};
	struct {
		uint32_t pid, tid;
		uint64_t vma, at, size, index;
	} load = {1, 1, 0, 0x1000, 1u << 30, 0};
	struct {
		uint32_t pid, tid;
		uint64_t vma, from, to, size, index;
	} move = {1, 1, 0, 0x999, 0x5000, 16, 1};
	struct symbols *s = symbols_open();
	struct symbols_frame frame;
	struct timespec before, now;
	char path[64];
	FILE *f;

	(void)state;
	snprintf(path, sizeof(path), "/tmp/jit-%d.dump", (int)getpid());
	f = fopen(path, "we");
	assert_non_null(f);
	fwrite(&head, sizeof(head), 1, f);
	for (unsigned i = 0; i < 100000; i++)
		put_record(f, 0, 1, &load, sizeof(load), "n", 0);
	for (unsigned i = 0; i < 300000; i++)
		put_record(f, 1, 1, &move, sizeof(move), NULL, 0);
	fclose(f);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
	assert_true(symbols_jit(s, getpid(), 0x2000, 5, &frame));
	for (unsigned i = 0; i < 100; i++)
		symbols_jit(s, getpid(), 0x2000 + i, 5, &frame);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	/* 3e10 steps would be half a minute of any processor. */
	assert_true(now.tv_sec - before.tv_sec < 10);
	symbols_close(s);
	unlink(path);
}

static void the_kernel_has_names_where_they_are_readable(void **state)
{
	FILE *f = fopen("/proc/kallsyms", "re");
	struct symbols *s = symbols_open();
	struct symbols_frame frame;
	char line[256], type, name[160], *end;
	uint64_t at = 0, wanted = 0;
	const char *module;

	(void)state;
	while (f && fgets(line, sizeof(line), f)) {
		at = strtoull(line, &end, 16);
		if (sscanf(end, " %c %159s", &type, name) == 2 && strcmp(name, "schedule") == 0)
			wanted = at;
	}
	if (f)
		fclose(f);
	if (!wanted) {
		symbols_close(s);
		skip();
	}
	assert_true(symbols_kernel(s, wanted + 1, &frame, &module));
	assert_string_equal(frame.function, "schedule");
	assert_string_equal(module, "[kernel.kallsyms]");
	assert_false(symbols_kernel(s, 16, &frame, &module));
	symbols_close(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_map_names_code_made_at_run_time),
		cmocka_unit_test(the_map_of_a_process_in_another_root_outlives_it),
		cmocka_unit_test(a_map_in_the_same_root_is_not_kept),
		cmocka_unit_test(a_dump_names_code_by_time),
		cmocka_unit_test(a_map_of_strangers_is_left_alone),
		cmocka_unit_test(a_dump_takes_bounded_time),
		cmocka_unit_test(the_kernel_has_names_where_they_are_readable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
