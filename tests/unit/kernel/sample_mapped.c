/* sample_mapped.c - lines of /proc/PID/maps, as the kernel writes them, and lines that are none. */
#include "collector/kernel/sample/sample_mapped.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include <cmocka.h>

static char text[512];

static bool parse(const char *line, struct sample_mapped *what)
{
	*what = (struct sample_mapped){.pid = 7};
	snprintf(text, sizeof(text), "%s", line);
	return sample_mapped_parse(text, what);
}

static void every_part_of_a_line_is_read(void **state)
{
	struct sample_mapped m;

	(void)state;
	assert_true(
		parse("7fd435a16000-7fd435b09000 r-xp 000c6000 fe:12 325835                     "
		      "/usr/lib/my lib.so (deleted)\n",
		      &m));
	assert_int_equal(m.start, 0x7fd435a16000);
	assert_int_equal(m.end, 0x7fd435b09000);
	assert_false(m.is_data);
	assert_int_equal(m.offset, 0xc6000);
	assert_int_equal(m.device, makedev(0xfe, 0x12));
	assert_int_equal(m.inode, 325835);
	assert_string_equal(m.path, "/usr/lib/my lib.so (deleted)");
	assert_int_equal(m.pid, 7);
}

static void memory_without_a_file_has_an_empty_path(void **state)
{
	struct sample_mapped m;

	(void)state;
	assert_true(parse("00400000-00403000 rw-p 00000000 00:00 0 \n", &m));
	assert_int_equal(m.start, 0x400000);
	assert_true(m.is_data);
	assert_int_equal(m.inode, 0);
	assert_string_equal(m.path, "");
	assert_true(parse("ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0"
			  "                  [vsyscall]\n",
			  &m));
	assert_int_equal(m.end, 0xffffffffff601000);
	assert_false(m.is_data);
	assert_string_equal(m.path, "[vsyscall]");
}

static void lines_that_are_cut_are_refused(void **state)
{
	const char whole[] = "00400000-00403000 r-xp 00001000 fe:00 12 /a\n";
	struct sample_mapped m;
	char line[sizeof(whole)];

	(void)state;
	for (size_t len = 0; len < strlen("00400000-00403000 r-xp 00001000 fe:00 12 "); len++) {
		memcpy(line, whole, len);
		line[len] = 0;
		assert_false(parse(line, &m));
	}
	assert_true(parse(whole, &m));
	assert_false(parse("00400000 00403000 r-xp 00001000 fe:00 12 /a\n", &m));
	assert_false(parse("00400000-00403000 r-x 00001000 fe:00 12 /a\n", &m));
	assert_false(parse("00400000-00403000 r-xp 00001000 fe.00 12 /a\n", &m));
	assert_false(parse("00400000-00403000 r-xp 00001000 fe:00 c /a\n", &m));
}

/* The C library reads the same of every line of this process. */
static void own_mappings_are_read_as_by_the_c_library(void **state)
{
	FILE *f = fopen("/proc/self/maps", "re");
	char line[512];
	unsigned cnt = 0;

	(void)state;
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		uint64_t start, end, offset, inode;
		unsigned major_nr, minor_nr;
		char may[5], path[512] = "";
		struct sample_mapped m;

		assert_true(sscanf(line,
				   "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64
				   " %511[^\n]",
				   &start, &end, may, &offset, &major_nr, &minor_nr, &inode,
				   path) >= 7);
		assert_true(parse(line, &m));
		assert_int_equal(m.start, start);
		assert_int_equal(m.end, end);
		assert_int_equal(m.is_data, may[2] != 'x');
		assert_int_equal(m.offset, offset);
		assert_int_equal(m.device, makedev(major_nr, minor_nr));
		assert_int_equal(m.inode, inode);
		assert_string_equal(m.path, path);
		cnt++;
	}
	fclose(f);
	assert_true(cnt > 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_part_of_a_line_is_read),
		cmocka_unit_test(memory_without_a_file_has_an_empty_path),
		cmocka_unit_test(lines_that_are_cut_are_refused),
		cmocka_unit_test(own_mappings_are_read_as_by_the_c_library),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
