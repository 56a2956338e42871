/* nsysrep_files.c - reports of Nsight Systems that are no good files, and where their databases are kept. */
#include <signal.h>

#include "tests/unit/read/nsysrep_test.h"

/* ---- what is no good file ---- */

static void fails(const char *part)
{
	assert_int_equal(convert_file(), -1);
	if (!strstr(why, part))
		fail_msg("'%s' has no '%s'", why, part);
}

static void put_file(const void *data, size_t len)
{
	FILE *f = fopen(report, "w");

	assert_int_equal(fwrite(data, 1, len, f), len);
	fclose(f);
}

static void a_file_of_another_kind_is_named(void **state)
{
	char noise[2048];
	uint32_t x = 1;

	(void)state;
	put_file("", 0);
	fails("is empty");
	put_file("hello, world", 12);
	fails("is no report of Nsight Systems: its first bytes");
	put_file("\x1f\x8b\x08", 3);
	fails("is no report of Nsight Systems: it is packed by gzip");
	put_file("version https://git-lfs.github.com/spec/v1", 42);
	fails("the pointer that git-lfs has");
	for (size_t i = 0; i < sizeof(noise); i++)
		noise[i] = (char)((x = x * 1103515245 + 12345) >> 16);
	put_file(noise, sizeof(noise));
	fails("encrypted or packed");
	for (size_t i = 0; i < sizeof(noise); i++)
		noise[i] = "a text of some length, "[i % 23];
	put_file(noise, sizeof(noise));
	fails("its first bytes are not those of one");
	put_file("NVIDIA Tegra Profiler Report ", 29);
	fails("its first line does not end");
	put_file("NVIDIA Tegra Profiler Report 1.", 31);
	fails("is cut off, or still being written");
	unlink(report);
	fails("No such file");
}

static void a_file_that_is_cut_off_is_refused_wherever_it_ends(void **state)
{
	struct proto file;

	(void)state;
	rep_call(&r, 0, 1, 1, 2, 3);
	proto_init(&file);
	rep_make(&r, &file);
	for (size_t len = 0; len < proto_len(&file); len++) {
		put_file(file.buf, len);
		assert_int_equal(convert_file(), -1);
		assert_true(*why);
	}
	proto_free(&file);
}

static void counts_of_the_header_must_be_met(void **state)
{
	(void)state;
	rep_call(&r, 0, 1, 1, 2, 3);
	r.more_events = -1;
	assert_int_equal(convert(), -1);
	assert_non_null(
		strstr(why, "it has 0 events and 6 strings, but its header counts 0 and 5"));
	r.more_events = 0;
	r.more_strings = 1;
	assert_int_equal(convert(), -1);
	r.more_strings = 0;
	r.more_threads = 1;
	assert_int_equal(convert(), -1);
	assert_non_null(strstr(why, "names of 1 threads, but its header counts 2"));
	r.more_threads = 0;
	assert_int_equal(convert(), 0);
}

static void messages_behind_the_known_ones_are_counted_as_long_as_they_are_few(void **state)
{
	(void)state;
	r.messages = 3;
	assert_int_equal(convert(), 0);
	assert_string_equal(notes, "3 unknown messages were left out");
	r.messages = 1000;
	assert_int_equal(convert(), -1);
	assert_non_null(strstr(why, "is damaged: "));
}

static void parts_may_have_names_of_any_length(void **state)
{
	char name[301];

	(void)state;
	memset(name, 'n', sizeof(name));
	r.more_part = name;
	for (size_t len = 0; len < sizeof(name); len += len == 60              ? 1
							: len > 60 && len < 68 ? 1
									       : 30) {
		name[len] = 0;
		assert_int_equal(convert(), 0);
		name[len] = 'n';
	}
}

static void lengths_that_are_not_true_are_damage(void **state)
{
	(void)state;
	rep_call(&r, 0, 1, 1, 2, 3);
	r.more_part = "more";
	assert_int_equal(convert(), 0);
	for (uint64_t size = 1 << 20; size; size <<= 11) {
		r.more_size = size;
		assert_int_equal(convert(), -1);
		assert_non_null(strstr(why, "its part 'more' lies outside of the file"));
	}
	r.more_size = 0;
	r.more_plain = 1;
	assert_int_equal(convert(), -1);
	assert_non_null(strstr(why, "cannot be unpacked"));
	r.more_plain = 0;
	rep_length(&r.events, 1000);
	assert_int_equal(convert(), -1);
	assert_non_null(strstr(why, "a record in it is longer than its block"));
	r.more_plain = UINT64_MAX;
	assert_int_equal(convert(), -1);
	r.more_plain = 1ull << 32;
	assert_int_equal(convert(), -1);
	assert_non_null(strstr(why, "has no length that can be"));
}

static void a_newer_container_is_refused_with_its_version(void **state)
{
	(void)state;
	r.text_mark = "QDTEXT01";
	assert_int_equal(convert(), -1);
	assert_non_null(strstr(why,
			       "container version '01', which is newer than known here (written "
			       "by nsys 2026.1.1.204-261137176666v0): 'nsys export"));
	r.text_mark = "QDTEXT00";
	r.codec = "zstd";
	assert_int_equal(convert(), -1);
	assert_non_null(strstr(why, "events packed by 'zstd', which is newer"));
}

/* ---- the database that is kept ---- */

static char kept[128];

/* Whether the database is the one of the last call, whose time of change is long ago. */
static bool is_same(void)
{
	const struct timespec old[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
	struct stat st;
	bool same = stat(kept, &st) == 0 && st.st_mtim.tv_sec == 1000;

	utimensat(AT_FDCWD, kept, old, 0);
	return same;
}

static void take_database(void)
{
	char *name = nsysrep_database(report, why, sizeof(why));

	assert_string_equal(name, kept);
	free(name);
}

static void the_database_is_kept_while_the_report_stays_the_same(void **state)
{
	sqlite3 *read;

	(void)state;
	snprintf(kept, sizeof(kept), "%s.sqlite", report);
	rep_call(&r, 0, 1, 1, 2, 3);
	assert_true(rep_write(&r, report));
	assert_true(db_read_is_of_nsys(report));
	take_database();
	assert_false(is_same());
	take_database();
	assert_true(is_same());
	/* Damaged: made anew. */
	assert_int_equal(truncate(kept, 4096), 0);
	read = db_read_open(report, why, sizeof(why));
	assert_non_null(read);
	sqlite3_close(read);
	assert_false(is_same());
	/* One that others may have written: made anew. */
	assert_int_equal(chmod(kept, 0666), 0);
	take_database();
	assert_false(is_same());
	/* Another report: made anew. */
	rep_call(&r, 0, 1, 4, 5, 6);
	assert_true(rep_write(&r, report));
	take_database();
	assert_false(is_same());
	unlink(kept);
	/* A bad one leaves nothing. */
	put_file("NVIDIA Tegra Profiler Report 1.", 31);
	assert_null(db_read_open(report, why, sizeof(why)));
	assert_non_null(strstr(why, "is cut off"));
	assert_int_not_equal(access(kept, F_OK), 0);
}

static void a_folder_that_cannot_be_written_to_has_its_databases_in_the_cache(void **state)
{
	char cache[128], want[160], *name;

	(void)state;
	/* A folder in its place, which stops root, too. */
	snprintf(want, sizeof(want), "%s.sqlite", report);
	assert_int_equal(mkdir(want, 0700), 0);
	snprintf(cache, sizeof(cache), "%s/cache", dir);
	assert_true(rep_write(&r, report));
	setenv("XDG_CACHE_HOME", cache, 1);
	name = nsysrep_database(report, why, sizeof(why));
	assert_non_null(name);
	snprintf(want, sizeof(want), "%s/sightline/", cache);
	assert_int_equal(strncmp(name, want, strlen(want)), 0);
	free(name);
	unsetenv("XDG_CACHE_HOME");
	setenv("HOME", dir, 1);
	name = nsysrep_database(report, why, sizeof(why));
	assert_non_null(name);
	snprintf(want, sizeof(want), "%s/.cache/sightline/", dir);
	assert_int_equal(strncmp(name, want, strlen(want)), 0);
	free(name);
	snprintf(want, sizeof(want), "%s.sqlite", report);
	rmdir(want);
}

static void users_who_may_not_read_the_report_may_not_read_its_database(void **state)
{
	static const mode_t modes[] = {0600, 0640, 0604, 0666};
	mode_t mask = umask(0);
	struct stat st;

	(void)state;
	snprintf(kept, sizeof(kept), "%s.sqlite", report);
	for (size_t i = 0; i < 4; i++) {
		unlink(kept);
		assert_true(rep_write(&r, report));
		assert_int_equal(chmod(report, modes[i]), 0);
		take_database();
		assert_int_equal(stat(kept, &st), 0);
		assert_int_equal(st.st_mode & 0777, modes[i] & 0644);
	}
	umask(mask);
	unlink(kept);
}

static void a_signal_leaves_no_half_of_a_database(void **state)
{
	char command[128];
	sigset_t term;
	int got;

	(void)state;
	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	sigprocmask(SIG_BLOCK, &term, NULL);
	assert_true(rep_write(&r, report));
	raise(SIGTERM);
	assert_null(nsysrep_database(report, why, sizeof(why)));
	assert_non_null(strstr(why, "stopped"));
	assert_int_equal(sigwait(&term, &got), 0);
	assert_int_equal(got, SIGTERM);
	sigprocmask(SIG_UNBLOCK, &term, NULL);
	snprintf(command, sizeof(command), "test -z \"$(ls %s | grep sqlite)\"", dir);
	assert_int_equal(system(command), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(a_file_of_another_kind_is_named),
		TEST(a_file_that_is_cut_off_is_refused_wherever_it_ends),
		TEST(counts_of_the_header_must_be_met),
		TEST(messages_behind_the_known_ones_are_counted_as_long_as_they_are_few),
		TEST(parts_may_have_names_of_any_length),
		TEST(lengths_that_are_not_true_are_damage),
		TEST(a_newer_container_is_refused_with_its_version),
		TEST(the_database_is_kept_while_the_report_stays_the_same),
		TEST(users_who_may_not_read_the_report_may_not_read_its_database),
		TEST(a_signal_leaves_no_half_of_a_database),
		TEST(a_folder_that_cannot_be_written_to_has_its_databases_in_the_cache),
	};
#undef TEST

#ifndef SL_HAVE_LZ4
	return 0;
#endif
	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
