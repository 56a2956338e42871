/* kernel_types_kept.c - types kept for later recordings: found again, and not those of another kernel or a damaged file. */
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

#ifndef SL_HAVE_BPF
int main(void)
{
	return 0;
}
#else

#include "collector/kernel/bpf/kernel_types_kept.h"

static char dir[] = "/tmp/sightline-types.XXXXXX", notes[64], kept[96];
static const char *const names[] = {"task_struct", "walk"};
static char btf[] = "not looked into";
static uint32_t real[] = {70, 0, 127000};
static const struct kernel_types types = {btf, sizeof(btf), real, 3};

/* Notes as the kernel has them: one of another kind first, unless @bytes is 0; then a build id that begins with @first. */
static void put_notes(uint8_t first, uint32_t bytes)
{
	uint32_t other[] = {4, 3, 0x101, 0x006e6558, 0xffffff}, head[] = {4, bytes, 3, 0x00554e47};
	uint8_t id[64] = {first, 2, 3};
	FILE *f = fopen(notes, "we");

	assert_non_null(f);
	fwrite(other, sizeof(other), 1, f);
	if (bytes) {
		fwrite(head, sizeof(head), 1, f);
		fwrite(id, bytes, 1, f);
	}
	assert_int_equal(fclose(f), 0);
}

static struct kernel_types_key key_of(uint8_t first)
{
	struct kernel_types_key key;

	put_notes(first, 20);
	assert_true(kernel_types_key(&key, notes, 5520359, names, 2));
	assert_int_equal(key.build_id_len, 20);
	assert_int_equal(key.build_id[0], first);
	return key;
}

static bool is_recalled(const struct kernel_types_key *key)
{
	struct kernel_types t = {0};
	bool is = kernel_types_recall(&t, key);

	if (is) {
		assert_int_equal(t.bytes, sizeof(btf));
		assert_memory_equal(t.btf, btf, sizeof(btf));
		assert_int_equal(t.cnt, 3);
		assert_memory_equal(t.real, real, sizeof(real));
	} else {
		assert_null(t.btf);
	}
	kernel_types_free(&t);
	return is;
}

static void types_are_recalled_for_the_same_kernel_and_names(void **state)
{
	const struct kernel_types_key key = key_of(1), other = key_of(9);
	struct kernel_types_key fewer, longer;

	(void)state;
	unlink(kept);
	assert_false(is_recalled(&key));
	kernel_types_keep(&types, &key);
	assert_true(is_recalled(&key));
	assert_false(is_recalled(&other));
	assert_true(kernel_types_key(&fewer, notes, 5520359, names, 1));
	assert_false(is_recalled(&fewer));
	put_notes(1, 20);
	assert_true(kernel_types_key(&longer, notes, 5520360, names, 2));
	assert_false(is_recalled(&longer));
	/* The last one stays. */
	kernel_types_keep(&types, &other);
	assert_true(is_recalled(&other));
	assert_false(is_recalled(&key));
}

static void kernel_without_a_build_id_has_no_key(void **state)
{
	struct kernel_types_key key;

	(void)state;
	put_notes(1, 0);
	assert_false(kernel_types_key(&key, notes, 1, names, 2));
	put_notes(1, 20);
	assert_int_equal(truncate(notes, 50), 0);
	assert_false(kernel_types_key(&key, notes, 1, names, 2));
	unlink(notes);
	assert_false(kernel_types_key(&key, notes, 1, names, 2));
}

/* Each byte of the file decides. */
static void damaged_file_is_as_none(void **state)
{
	const struct kernel_types_key key = key_of(1);
	struct stat st;
	FILE *f;
	int c;

	(void)state;
	unlink(kept);
	kernel_types_keep(&types, &key);
	assert_int_equal(stat(kept, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	for (long at = 0; at < st.st_size; at++) {
		f = fopen(kept, "r+e");
		fseek(f, at, SEEK_SET);
		c = fgetc(f);
		fseek(f, at, SEEK_SET);
		fputc(c ^ 1, f);
		fclose(f);
		if (is_recalled(&key))
			fail_msg("byte %ld", at);
		f = fopen(kept, "r+e");
		fseek(f, at, SEEK_SET);
		fputc(c, f);
		fclose(f);
	}
	assert_true(is_recalled(&key));
	assert_int_equal(truncate(kept, st.st_size - 1), 0);
	assert_false(is_recalled(&key));
	assert_int_equal(truncate(kept, 8), 0);
	assert_false(is_recalled(&key));
	kernel_types_keep(&types, &key);
	assert_int_equal(chmod(kept, 0622), 0);
	assert_false(is_recalled(&key));
}

static int make_folder(void **state)
{
	(void)state;
	if (!mkdtemp(dir))
		return -1;
	snprintf(notes, sizeof(notes), "%s/notes", dir);
	snprintf(kept, sizeof(kept), "%s/sightline/kernel-types", dir);
	return setenv("XDG_CACHE_HOME", dir, 1);
}

static int remove_folder(void **state)
{
	char folder[64];

	(void)state;
	snprintf(folder, sizeof(folder), "%s/sightline", dir);
	unlink(kept);
	unlink(notes);
	rmdir(folder);
	return rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(types_are_recalled_for_the_same_kernel_and_names),
		cmocka_unit_test(kernel_without_a_build_id_has_no_key),
		cmocka_unit_test(damaged_file_is_as_none),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

#endif
