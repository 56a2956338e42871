/* symbols_cache.c - names kept for later recordings: names found again, changed files, forged files. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "collector/symbols/symbols_cache.h"

#define ROOM 128

static char dir[64], image[96], debug[96], kept[128];
static const uint8_t build_id[] = {1, 2, 3, 4, 5, 6, 7, 8};
static const struct cached_key key = {build_id, sizeof(build_id), image, -1};
static const struct symbols_frame inner = {"inner", "in.c", 7, true, false},
				  outer = {"outer", "out.c", 70, false, true},
				  nameless = {NULL, NULL, 0, false, false};

static void put(const char *path, const char *text)
{
	FILE *f = fopen(path, "we");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	fclose(f);
}

static void begin_anew(void)
{
	unlink(kept);
	put(image, "program");
	put(debug, "debug information");
	usleep(20000); /* the clock of files is coarse */
}

/* One recording: writes an answer for a span, beside those of @before. */
static bool keep(uint64_t from, uint32_t bytes, const struct symbols_frame *frame, size_t cnt)
{
	struct symbols_cache *c = symbols_cache_open();
	const struct cached_span of = {from, bytes};
	bool is_good;

	assert_non_null(c);
	symbols_cache_begin(c);
	is_good = symbols_cache_add(c, &key, debug, symbols_cache_module(c, &key));
	if (is_good) {
		symbols_cache_answer(c, &of, frame, cnt);
		is_good = symbols_cache_end(c);
	}
	symbols_cache_close(c);
	return is_good;
}

/* "function file line inlined interpreter|..." of an address; "none": not known. */
static const char *look_up(const struct cached_key *of, uint64_t address)
{
	static char text[4096];
	struct symbols_cache *c = symbols_cache_open();
	const struct cached_module *m = c ? symbols_cache_module(c, of) : NULL;
	struct symbols_frame frame[ROOM];
	size_t cnt = 0, len = 0;

	strcpy(text, "none");
	if (m && symbols_cache_find(m, address, frame, ROOM, &cnt))
		for (text[0] = 0; len < sizeof(text) / 2 && cnt-- > 0;)
			len += (size_t)snprintf(
				text + len, sizeof(text) - len, "%s%s %s %d %d %d", len ? "|" : "",
				frame[cnt].function ? frame[cnt].function : "-",
				frame[cnt].file ? frame[cnt].file : "-", frame[cnt].line,
				frame[cnt].is_inlined, frame[cnt].is_interpreter);
	symbols_cache_close(c);
	return text;
}

static void an_answer_is_found_by_each_address_of_its_span(void **state)
{
	const struct symbols_frame both[] = {inner, outer};

	(void)state;
	begin_anew();
	assert_string_equal(look_up(&key, 100), "none");
	assert_true(keep(100, 4, both, 2));
	assert_string_equal(look_up(&key, 99), "none");
	assert_string_equal(look_up(&key, 100), "outer out.c 70 0 1|inner in.c 7 1 0");
	assert_string_equal(look_up(&key, 103), "outer out.c 70 0 1|inner in.c 7 1 0");
	assert_string_equal(look_up(&key, 104), "none");
}

static void a_later_recording_adds_to_an_earlier_one(void **state)
{
	(void)state;
	begin_anew();
	assert_true(keep(100, 4, &inner, 1));
	assert_true(keep(10, 1, &outer, 1));
	assert_true(keep(200, 8, NULL, 0));
	assert_true(keep(300, 1, &nameless, 1));
	assert_string_equal(look_up(&key, 101), "inner in.c 7 1 0");
	assert_string_equal(look_up(&key, 10), "outer out.c 70 0 1");
	assert_string_equal(look_up(&key, 207), "");
	assert_string_equal(look_up(&key, 300), "- - 0 0 0");
	/* Spans that overlap: an address has one answer. */
	assert_true(keep(98, 3, &inner, 1));
	assert_string_equal(look_up(&key, 98), "inner in.c 7 1 0");
	assert_string_equal(look_up(&key, 100), "inner in.c 7 1 0");
	assert_string_equal(look_up(&key, 103), "inner in.c 7 1 0");
	assert_string_equal(look_up(&key, 104), "none");
}

static void a_file_that_has_changed_has_no_answers(void **state)
{
	const uint8_t other_id[] = {1, 2, 3, 4, 5, 6, 7, 9};
	const struct cached_key other = {other_id, sizeof(other_id), image, -1},
				elsewhere = {build_id, sizeof(build_id), debug, -1},
				shorter = {build_id, sizeof(build_id) - 1, image, -1};

	(void)state;
	begin_anew();
	assert_true(keep(100, 1, &inner, 1));
	assert_string_equal(look_up(&other, 100), "none");
	assert_string_equal(look_up(&elsewhere, 100), "none");
	assert_string_equal(look_up(&shorter, 100), "none");
	assert_string_equal(look_up(&key, 100), "inner in.c 7 1 0");
	put(debug, "another one");
	assert_string_equal(look_up(&key, 100), "none");
	begin_anew();
	assert_true(keep(100, 1, &inner, 1));
	assert_int_equal(chmod(image, 0700), 0);
	assert_string_equal(look_up(&key, 100), "none");
	unlink(image);
	assert_string_equal(look_up(&key, 100), "none");
}

/* One recording of a program of that build id, at a path that has debug information in itself or not. */
static void keep_build(const char *id, const char *information)
{
	struct symbols_cache *c = symbols_cache_open();
	const struct cached_key one = {(const void *)id, strlen(id), image, -1};
	const struct cached_span of = {100, 4};

	assert_non_null(c);
	symbols_cache_begin(c);
	assert_true(symbols_cache_add(c, &one, information, NULL));
	symbols_cache_answer(c, &of, &inner, 1);
	assert_true(symbols_cache_end(c));
	symbols_cache_close(c);
}

static void an_earlier_build_with_debug_information_in_itself_gives_way(void **state)
{
	const struct cached_key first = {(const void *)"first", 5, image, -1},
				second = {(const void *)"second", 6, image, -1};

	(void)state;
	begin_anew();
	keep_build("first", image);
	assert_string_equal(look_up(&first, 100), "inner in.c 7 1 0");
	keep_build("second", image);
	assert_string_equal(look_up(&first, 100), "none");
	assert_string_equal(look_up(&second, 100), "inner in.c 7 1 0");
	/* Apart from it: as files of several containers may have one path. */
	begin_anew();
	keep_build("first", debug);
	keep_build("second", debug);
	assert_string_equal(look_up(&first, 100), "inner in.c 7 1 0");
	assert_string_equal(look_up(&second, 100), "inner in.c 7 1 0");
}

static void a_file_that_changes_meanwhile_is_not_kept(void **state)
{
	struct symbols_cache *c;
	struct cached_key held = key;

	(void)state;
	begin_anew();
	c = symbols_cache_open();
	usleep(20000);
	put(debug, "another one");
	assert_false(symbols_cache_add(c, &key, debug, NULL));
	symbols_cache_close(c);
	begin_anew();
	c = symbols_cache_open();
	held.held = open(debug, O_RDONLY | O_CLOEXEC);
	assert_false(symbols_cache_add(c, &held, debug, NULL));
	close(held.held);
	held.held = open(image, O_RDONLY | O_CLOEXEC);
	assert_true(symbols_cache_add(c, &held, debug, NULL));
	close(held.held);
	symbols_cache_close(c);
}

static void a_file_that_others_may_write_is_not_read(void **state)
{
	char link_to[160];

	(void)state;
	begin_anew();
	assert_true(keep(100, 1, &inner, 1));
	assert_int_equal(chmod(kept, 0620), 0);
	assert_string_equal(look_up(&key, 100), "none");
	assert_int_equal(chmod(kept, 0602), 0);
	assert_string_equal(look_up(&key, 100), "none");
	assert_int_equal(chmod(kept, 0600), 0);
	assert_string_equal(look_up(&key, 100), "inner in.c 7 1 0");
	snprintf(link_to, sizeof(link_to), "%s.there", kept);
	assert_int_equal(rename(kept, link_to), 0);
	assert_int_equal(symlink(link_to, kept), 0);
	assert_string_equal(look_up(&key, 100), "none");
	unlink(kept);
	assert_int_equal(rename(link_to, kept), 0);
	snprintf(link_to, sizeof(link_to), "%s/sightline", dir);
	assert_int_equal(chmod(link_to, 0720), 0);
	assert_string_equal(look_up(&key, 100), "none");
	assert_false(keep(100, 1, &inner, 1));
	assert_int_equal(chmod(link_to, 0700), 0);
	if (geteuid() == 0) {
		assert_int_equal(chown(kept, 65534, (gid_t)-1), 0);
		assert_string_equal(look_up(&key, 100), "none");
	}
}

/* Any byte may be wrong: then there is an answer or none, and nothing else happens (`make asan`). */
static void a_forged_file_does_no_harm(void **state)
{
	const struct symbols_frame both[] = {inner, outer};
	static const uint8_t values[] = {0, 1, 0x7f, 0x80, 0xff};
	unsigned char data[4096];
	ssize_t len;
	int fd;

	(void)state;
	begin_anew();
	assert_true(keep(100, 4, both, 2));
	assert_true(keep(200, 4, both, 2));
	fd = open(kept, O_RDWR | O_CLOEXEC);
	len = read(fd, data, sizeof(data));
	assert_true(len > 200 && len < (ssize_t)sizeof(data));
	for (ssize_t i = 0; i < len; i++)
		for (size_t v = 0; v < sizeof(values); v++) {
			assert_int_equal(pwrite(fd, &values[v], 1, i), 1);
			look_up(&key, 100);
			look_up(&key, 203);
			assert_int_equal(pwrite(fd, &data[i], 1, i), 1);
		}
	for (ssize_t cut = len; cut-- > 0;) {
		assert_int_equal(ftruncate(fd, cut), 0);
		assert_string_equal(look_up(&key, 100), "none");
	}
	close(fd);
}

static void the_file_has_a_bound(void **state)
{
	struct symbols_frame frame = {.line = 1};
	struct symbols_cache *c;
	char id[8] = "", name[2048];
	struct stat st;

	(void)state;
	begin_anew();
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = 0;
	frame.function = name;
	c = symbols_cache_open();
	for (unsigned m = 0; m < 6; m++) {
		const struct cached_key one = {(void *)id, sizeof(id), image, -1};

		snprintf(id, sizeof(id), "%u", m);
		assert_true(symbols_cache_add(c, &one, debug, NULL));
		for (unsigned i = 0; i < 1000; i++) {
			const struct cached_span of = {i + 1, 1};

			snprintf(name, 8, "%06u", i);
			name[6] = 'x';
			symbols_cache_answer(c, &of, &frame, 1);
		}
	}
	assert_true(symbols_cache_end(c));
	symbols_cache_close(c);
	assert_int_equal(stat(kept, &st), 0);
	assert_true(st.st_size <= 2 << 20);
	assert_true(st.st_size > 1 << 19);
	assert_int_equal(
		strncmp(look_up(&(struct cached_key){(void *)"0\0\0\0\0\0\0", 8, image, -1}, 1),
			"000000xxx", 9),
		0);
}

static int set_up(void **state)
{
	(void)state;
	strcpy(dir, "/tmp/sightline-cache.XXXXXX");
	assert_non_null(mkdtemp(dir));
	snprintf(image, sizeof(image), "%s/image", dir);
	snprintf(debug, sizeof(debug), "%s/debug", dir);
	snprintf(kept, sizeof(kept), "%s/sightline/symbols", dir);
	return setenv("XDG_CACHE_HOME", dir, 1);
}

static int tear_down(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -r %s", dir);
	return system(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_answer_is_found_by_each_address_of_its_span),
		cmocka_unit_test(a_later_recording_adds_to_an_earlier_one),
		cmocka_unit_test(a_file_that_has_changed_has_no_answers),
		cmocka_unit_test(an_earlier_build_with_debug_information_in_itself_gives_way),
		cmocka_unit_test(a_file_that_changes_meanwhile_is_not_kept),
		cmocka_unit_test(a_file_that_others_may_write_is_not_read),
		cmocka_unit_test(a_forged_file_does_no_harm),
		cmocka_unit_test(the_file_has_a_bound),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
