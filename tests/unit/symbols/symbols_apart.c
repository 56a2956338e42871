/*
 * symbols_apart.c - files of other users are read by a process with their owner's rights alone, and whatever that process does
 * costs their names, which are counted. The process is this program, or one that does as it should not.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <limits.h>
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/symbols/symbols_answer.h"
#include "collector/symbols/symbols_apart.h"
#include "collector/symbols/symbols_serve.h"

#define OWNER 12345u
#define ROOM  8

static char dir[] = "/tmp/symbols_apart.XXXXXX";

int known_function(int n);
__attribute__((noinline)) int known_function(int n)
{
	return n * 3 + getppid();
}

/* ---- messages ---- */

static const struct symbols_frame frames[] = {
	{.function = "inner", .file = "/a/b.c", .line = 7, .is_inlined = true},
	{.function = NULL, .file = "/a/c.c", .line = INT_MAX},
	{.function = "outer", .file = NULL, .is_interpreter = true},
};
#define FRAMES 3u
static const struct symbols_answer head_of_three = {.what = SYMBOLS_ASK, .file = 9, .cnt = FRAMES};
static uint8_t message[4096];

static bool reads(size_t len, uint32_t what, uint32_t file, size_t most)
{
	struct symbols_frame got[FRAMES];
	struct symbols_answer head;
	uint8_t *copy = malloc(len); /* no byte more */
	bool is_sound;

	memcpy(copy, message, len);
	is_sound = symbols_answer_read(copy, len, what, file, &head, got, most);
	free(copy);
	return is_sound;
}

static void answers_come_back_as_they_were(void **state)
{
	size_t len = symbols_answer_write(message, sizeof(message), &head_of_three, frames);
	struct symbols_frame got[FRAMES];
	struct symbols_answer head;

	(void)state;
	assert_true(symbols_answer_read(message, len, SYMBOLS_ASK, 9, &head, got, FRAMES));
	assert_memory_equal(&head, &head_of_three, sizeof(head));
	assert_string_equal(got[0].function, "inner");
	assert_string_equal(got[0].file, "/a/b.c");
	assert_null(got[1].function);
	assert_string_equal(got[1].file, "/a/c.c");
	assert_string_equal(got[2].function, "outer");
	assert_null(got[2].file);
	for (unsigned i = 0; i < FRAMES; i++) {
		assert_int_equal(got[i].line, frames[i].line);
		assert_int_equal(got[i].is_inlined, frames[i].is_inlined);
		assert_int_equal(got[i].is_interpreter, frames[i].is_interpreter);
	}
}

static void outer_frames_come_before_inner_ones(void **state)
{
	size_t whole = symbols_answer_write(message, sizeof(message), &head_of_three, frames);
	size_t len = symbols_answer_write(message, whole - 1, &head_of_three, frames);
	struct symbols_frame got[FRAMES];
	struct symbols_answer head;

	(void)state;
	assert_true(len < whole);
	assert_true(symbols_answer_read(message, len, SYMBOLS_ASK, 9, &head, got, FRAMES));
	assert_int_equal(head.cnt, FRAMES - 1);
	assert_string_equal(got[0].file, "/a/c.c");
	assert_string_equal(got[1].function, "outer");
	assert_int_equal(symbols_answer_write(message, sizeof(head) - 1, &head_of_three, frames),
			 0);
	len = symbols_answer_write(message, sizeof(head), &head_of_three, frames);
	assert_int_equal(len, sizeof(head));
}

static void unsound_answers_are_refused(void **state)
{
	size_t len = symbols_answer_write(message, sizeof(message), &head_of_three, frames);
	uint32_t *first = (uint32_t *)(message + sizeof(head_of_three)); /* line, flags, lengths */

	(void)state;
	for (size_t cut = 0; cut < len; cut++)
		assert_false(reads(cut, SYMBOLS_ASK, 9, FRAMES));
	assert_true(reads(len, SYMBOLS_ASK, 9, FRAMES));
	assert_false(reads(len + 1, SYMBOLS_ASK, 9, FRAMES));
	assert_false(reads(len, SYMBOLS_OPEN, 9, FRAMES));
	assert_false(reads(len, SYMBOLS_ASK, 8, FRAMES));
	assert_false(reads(len, SYMBOLS_ASK, 9, FRAMES - 1));
	for (int i = 0; i < 4; i++) {
		static const uint32_t wrong[] = {(uint32_t)INT_MAX + 1, 4, 5, UINT32_MAX};
		uint32_t right = first[i];

		first[i] = wrong[i];
		assert_false(reads(len, SYMBOLS_ASK, 9, FRAMES));
		first[i] = right;
	}
	/* "inner", whose NUL is elsewhere. */
	message[sizeof(head_of_three) + 16 + 2] = 0;
	assert_false(reads(len, SYMBOLS_ASK, 9, FRAMES));
	symbols_answer_write(message, sizeof(message), &head_of_three, frames);
	message[sizeof(head_of_three) + 16 + 5] = 'x';
	assert_false(reads(len, SYMBOLS_ASK, 9, FRAMES));
}

/* ---- processes ---- */

static int bias_of(struct dl_phdr_info *info, size_t size, void *to)
{
	(void)size;
	*(uint64_t *)to = info->dlpi_addr;
	return 1; /* the program is the first */
}

static uint64_t known_address(void)
{
	uint64_t bias = 0;

	dl_iterate_phdr(bias_of, &bias);
	return (uintptr_t)known_function - bias;
}

static void needs_root(void)
{
	if (geteuid() != 0)
		skip();
}

/* A copy of this program that belongs to @owner, and that others may not read. */
static const char *copy_of(uid_t owner)
{
	static char path[128];
	char command[512];

	snprintf(path, sizeof(path), "%s/program-%u", dir, (unsigned)owner);
	snprintf(command, sizeof(command),
		 "cp /proc/%d/exe '%s' && chmod 700 '%s' && chown %u '%s'", (int)getpid(), path,
		 path, (unsigned)owner, path);
	assert_int_equal(system(command), 0);
	return path;
}

static void use(const char *script)
{
	static char path[128];
	FILE *f;

	if (!script) {
		symbols_apart_by("/proc/self/exe");
		return;
	}
	snprintf(path, sizeof(path), "%s/script", dir);
	f = fopen(path, "w");
	fprintf(f, "#!/bin/sh\n%s\n", script);
	fclose(f);
	assert_int_equal(chmod(path, 0700), 0);
	symbols_apart_by(path);
}

static void check_known(struct symbols *s, const char *path)
{
	struct symbols_frame frame[ROOM];

	assert_int_equal(
		symbols_at(s, symbols_module(s, path, NULL, 0), known_address(), frame, ROOM), 1);
	assert_string_equal(frame[0].function, "known_function");
}

static void names_of_another_users_file_are_the_same(void **state)
{
	struct symbols_lost lost;
	struct symbols *s;

	(void)state;
	needs_root();
	use(NULL);
	s = symbols_open();
	check_known(s, copy_of(0));
	check_known(s, copy_of(OWNER));
	check_known(s, copy_of(OWNER + 1));
	assert_false(symbols_lost(s, 0, &lost));
	symbols_close(s);
}

static pid_t only_child(void)
{
	char path[64], text[256] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
	f = fopen(path, "re");
	assert_non_null(f);
	assert_non_null(fgets(text, sizeof(text), f));
	fclose(f);
	return (pid_t)atoi(text);
}

static void has_line(pid_t pid, const char *file, const char *line)
{
	char path[64], text[512];
	bool found = false;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
	f = fopen(path, "re");
	assert_non_null(f);
	while (!found && fgets(text, sizeof(text), f))
		found = strncmp(text, line, strlen(line)) == 0;
	fclose(f);
	if (!found)
		fail_msg("no line '%s' in %s", line, file);
}

static void the_process_has_its_owners_rights_alone(void **state)
{
	char path[64], at[PATH_MAX] = "";
	unsigned descriptors = 0;
	struct symbols *s;
	struct dirent *e;
	pid_t pid;
	DIR *d;

	(void)state;
	needs_root();
	use(NULL);
	s = symbols_open();
	check_known(s, copy_of(OWNER));
	pid = only_child();
	has_line(pid, "status", "Uid:\t12345\t12345\t12345\t12345");
	has_line(pid, "status", "Gid:\t65534\t65534\t65534\t65534");
	has_line(pid, "status", "Groups:\t \n");
	has_line(pid, "status", "CapPrm:\t0000000000000000");
	has_line(pid, "status", "CapEff:\t0000000000000000");
	has_line(pid, "status", "NoNewPrivs:\t1");
	has_line(pid, "limits", "Max core file size        0 ");
	has_line(pid, "limits", "Max file size             0 ");
	has_line(pid, "limits", "Max processes             0 ");
	has_line(pid, "limits", "Max open files            64 ");
	has_line(pid, "limits", "Max cpu time              300 ");
	snprintf(path, sizeof(path), "/proc/%d/cwd", (int)pid);
	assert_int_equal(readlink(path, at, sizeof(at)), 1);
	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	d = opendir(path);
	assert_non_null(d);
	while ((e = readdir(d)))
		descriptors += e->d_name[0] != '.';
	closedir(d);
	assert_int_equal(descriptors, 3); /* the socket, /dev/null twice */
	symbols_close(s);
	assert_int_equal(kill(pid, 0), -1);
}

static void check_lost(const char *script, const char *why)
{
	struct symbols_frame frame[ROOM];
	struct symbols *s = symbols_open();
	struct symbols_lost lost;
	const char *path = copy_of(OWNER);

	use(script);
	for (int i = 0; i < 2; i++)
		assert_int_equal(symbols_at(s, symbols_module(s, path, NULL, 0), known_address(),
					    frame, ROOM),
				 0);
	assert_true(symbols_lost(s, 0, &lost));
	assert_non_null(strstr(lost.why, why));
	assert_string_equal(lost.first, path);
	assert_int_equal(lost.owner, OWNER);
	assert_int_equal(lost.files, 1);
	assert_false(symbols_lost(s, 1, &lost));
	/* The files of others have their names. */
	use(NULL);
	check_known(s, copy_of(OWNER + 1));
	check_known(s, copy_of(0));
	symbols_close(s);
}

static void a_process_that_ends_loses_its_file(void **state)
{
	(void)state;
	needs_root();
	check_lost("exit 1", "ended");
	check_lost("kill -SEGV $$", "ended");
	/* It hears the question, and ends then. */
	check_lost("head -c 1 >/dev/null", "ended");
}

static void a_process_that_does_not_answer_loses_its_file(void **state)
{
	(void)state;
	needs_root();
	symbols_apart_wait_ms = 300;
	check_lost("exec sleep 1000", "too long");
	symbols_apart_wait_ms = 100000;
	symbols_apart_cpu_ms = 300;
	check_lost("while :; do :; done", "too long");
	symbols_apart_cpu_ms = 10000;
	symbols_apart_wait_ms = 30000;
}

/* The question itself comes back; something longer than any answer. */
static void a_process_that_answers_as_it_likes_loses_its_file(void **state)
{
	(void)state;
	needs_root();
	check_lost("exec cat <&0 >&0", "as agreed");
	check_lost("head -c 1 >/dev/null; exec dd if=/dev/zero bs=150000 count=1 status=none >&0",
		   "as agreed");
}

static void an_owner_whose_files_are_lost_waits_no_more(void **state)
{
	struct symbols_frame frame[ROOM];
	struct symbols_lost lost;
	struct symbols *s;
	char path[128], other[160];

	(void)state;
	needs_root();
	use("exec sleep 1000");
	s = symbols_open();
	symbols_apart_wait_ms = 200;
	symbols_apart_vain_ms = 100;
	snprintf(path, sizeof(path), "%s", copy_of(OWNER));
	snprintf(other, sizeof(other), "%s.other", path);
	assert_int_equal(rename(path, other), 0);
	copy_of(OWNER);
	assert_int_equal(symbols_at(s, symbols_module(s, path, NULL, 0), 1, frame, ROOM), 0);
	/* No process is asked any more, though this one would answer. */
	use(NULL);
	assert_int_equal(
		symbols_at(s, symbols_module(s, other, NULL, 0), known_address(), frame, ROOM), 0);
	assert_true(symbols_lost(s, 0, &lost));
	assert_int_equal(lost.files, 2);
	check_known(s, copy_of(OWNER + 1));
	symbols_close(s);
	symbols_apart_wait_ms = 30000;
	symbols_apart_vain_ms = 60000;
}

/* How many descriptors the process gets with the first question, of a file that @held led to when it was mapped. */
static int handed_over(const char *held)
{
	char name[128], command[512], got[128];
	struct symbols_frame frame[ROOM];
	struct symbols_module *m;
	struct symbols *s;
	int cnt = -1;
	FILE *f;

	snprintf(name, sizeof(name), "%s/name", dir);
	snprintf(got, sizeof(got), "%s/got", dir);
	snprintf(command, sizeof(command),
		 "exec python3 -c 'import socket\n"
		 "collector = socket.socket(fileno=0)\n"
		 "answer = collector.recvmsg(8192, 64)\n"
		 "open(\"%s\", \"w\").write(str(len(answer[1])))'",
		 got);
	use(command);
	s = symbols_open();
	assert_int_equal(symlink(held, name), 0);
	m = symbols_module(s, name, NULL, 0);
	symbols_mapped(s, m, &(struct symbols_mapped){.pid = 1});
	assert_int_equal(unlink(name) | symlink(copy_of(OWNER), name), 0);
	symbols_at(s, m, known_address(), frame, ROOM);
	symbols_close(s);
	f = fopen(got, "re");
	assert_non_null(f);
	assert_int_equal(fscanf(f, "%d", &cnt), 1);
	fclose(f);
	assert_int_equal(unlink(name) | unlink(got), 0);
	return cnt;
}

static void files_that_are_not_the_owners_are_not_handed_over(void **state)
{
	char own[128], secret[128];
	FILE *f;

	(void)state;
	needs_root();
	if (system("python3 -c 0") != 0)
		skip();
	snprintf(own, sizeof(own), "%s", copy_of(OWNER));
	snprintf(secret, sizeof(secret), "%s/secret", dir);
	f = fopen(secret, "we");
	assert_true(f && fputs("of root alone", f) >= 0 && fclose(f) == 0);
	assert_int_equal(chmod(secret, 0600), 0);
	assert_int_equal(handed_over(own), 1);
	assert_int_equal(handed_over(secret), 0);
}

/* Processes give way to each other, and files are opened again. */
static void files_of_many_owners_have_their_names(void **state)
{
	enum {
		MANY = 20
	};
	struct symbols_lost lost;
	struct symbols *s;

	(void)state;
	needs_root();
	use(NULL);
	s = symbols_open();
	for (unsigned i = 0; i < MANY; i++)
		check_known(s, copy_of(OWNER + i));
	for (unsigned i = 0; i < MANY; i++) {
		struct symbols_frame frame[ROOM];
		char path[PATH_MAX];

		snprintf(path, sizeof(path), "%s/program-%u", dir, OWNER + i);
		/* Not asked before. */
		assert_int_equal(symbols_at(s, symbols_module(s, path, NULL, 0),
					    known_address() + 1, frame, ROOM),
				 1);
		assert_string_equal(frame[0].function, "known_function");
	}
	assert_false(symbols_lost(s, 0, &lost));
	symbols_close(s);
}

static int setup(void **state)
{
	(void)state;
	return mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	return system(command);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_come_back_as_they_were),
		cmocka_unit_test(outer_frames_come_before_inner_ones),
		cmocka_unit_test(unsound_answers_are_refused),
		cmocka_unit_test(names_of_another_users_file_are_the_same),
		cmocka_unit_test(the_process_has_its_owners_rights_alone),
		cmocka_unit_test(a_process_that_ends_loses_its_file),
		cmocka_unit_test(a_process_that_does_not_answer_loses_its_file),
		cmocka_unit_test(a_process_that_answers_as_it_likes_loses_its_file),
		cmocka_unit_test(an_owner_whose_files_are_lost_waits_no_more),
		cmocka_unit_test(files_that_are_not_the_owners_are_not_handed_over),
		cmocka_unit_test(files_of_many_owners_have_their_names),
	};

	if (argc == 3 && strcmp(argv[1], "symbols") == 0)
		return symbols_serve((uid_t)strtoul(argv[2], NULL, 10));
	return cmocka_run_group_tests(tests, setup, teardown);
}
