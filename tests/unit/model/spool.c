/* spool.c - segments in memory and in files: room, order, and what a disk does to files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "collector/model/spool.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define IN_MEMORY (SPOOL_IN_MEMORY * SPOOL_SEGMENT_CHUNKS)

static char dir[64];
static struct spool *spool;
static int made, gone;

static int set_up(void **state)
{
	(void)state;
	snprintf(dir, sizeof(dir), "/tmp/sl-spool-XXXXXX");
	spool = malloc(sizeof(*spool));
	if (!mkdtemp(dir) || !spool)
		return -1;
	spool_init(spool);
	made = gone = 0;
	return 0;
}

static int tear_down(void **state)
{
	char cmd[128];

	(void)state;
	spool_release(spool);
	free(spool);
	snprintf(cmd, sizeof(cmd), "rm -rf '%s'", dir);
	return system(cmd);
}

static void open_folder(void *ctx, struct spool *s)
{
	(void)ctx;
	s->beside = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	snprintf(s->name, sizeof(s->name), "rings");
	mkdirat(s->beside, s->name, 0700);
	s->folder = openat(s->beside, s->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void on_segment(void *ctx, uint32_t index, int fd)
{
	(void)ctx;
	(void)index;
	*(fd >= 0 ? &made : &gone) += 1;
}

static unsigned files(void)
{
	char cmd[256], text[32] = "";
	FILE *f;

	snprintf(cmd, sizeof(cmd), "ls '%s' '%s/rings' 2>/dev/null | grep -c '[.]spool$'", dir,
		 dir);
	f = popen(cmd, "r");
	assert_non_null(f);
	assert_non_null(fgets(text, sizeof(text), f));
	pclose(f);
	return (unsigned)atoi(text);
}

/* A copy of chunk @seq of a thread, with @words of records. */
static sl_ref put(uint32_t arena, uint32_t slot, uint32_t instance, uint32_t seq, uint32_t words)
{
	sl_ref ref = spool_take(spool);
	struct sl_chunk *c;

	if (!ref)
		return 0;
	c = spool_at(spool, ref);
	c->committed = words * 8;
	c->next = 7;
	c->seq = seq;
	c->slot = slot + 1;
	c->consumed = 0;
	for (uint32_t i = 0; i < words; i++)
		c->data[i] = (uint64_t)seq << 32 | i;
	spool_publish(spool, ref, arena, instance);
	return ref;
}

static void memory_is_bounded(void **state)
{
	sl_ref ref = 0;
	uint32_t cnt = 0;

	(void)state;
	while ((ref = spool_take(spool)))
		cnt++;
	assert_int_equal(cnt, IN_MEMORY);
	assert_int_equal(spool->used, IN_MEMORY);
	assert_int_equal(spool_bytes(spool), (uint64_t)IN_MEMORY * SL_CHUNK_BYTES);
	assert_int_equal(spool_fill(spool), 100);
	spool_give(spool, SL_CHUNK_CNT + 1 + 300);
	assert_int_equal(spool_take(spool), SL_CHUNK_CNT + 1 + 300);
}

static void where_memory_is_scarce_files_begin_earlier(void **state)
{
	(void)state;
	spool->in_memory = 2;
	for (uint32_t i = 0; i < 2 * SPOOL_SEGMENT_CHUNKS; i++)
		assert_int_not_equal(spool_take(spool), 0);
	assert_int_equal(spool_fill(spool), 100);
	spool->open_folder = open_folder;
	assert_true(spool_fill(spool) < 10);
	assert_int_equal(spool_take(spool),
			 SL_CHUNK_CNT + 1 + SPOOL_IN_MEMORY * SPOOL_SEGMENT_CHUNKS);
	assert_int_equal(files(), 1);
}

static void what_does_not_fit_into_memory_is_in_files(void **state)
{
	struct stat st;
	char path[128];

	(void)state;
	spool->open_folder = open_folder;
	spool->on_segment = on_segment;
	for (uint32_t i = 0; i < IN_MEMORY + 300; i++)
		assert_int_not_equal(put(1, 0, 1, i, 4), 0);
	assert_int_equal(files(), 3);
	assert_int_equal(made, SPOOL_IN_MEMORY + 3);
	assert_true(spool_fill(spool) < 20);
	snprintf(path, sizeof(path), "%s/rings/%u" SPOOL_SUFFIX, dir, SPOOL_IN_MEMORY);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_true((uint64_t)st.st_blocks * 512 >= SPOOL_SEGMENT_BYTES);
	/* Given back, all but one segment are gone. */
	spool_drop(spool, 2);
	assert_int_equal(spool->used, IN_MEMORY + 300);
	spool_drop(spool, 1);
	assert_int_equal(spool->used, 0);
	assert_int_equal(files(), 0);
	/* Nor is the folder: the next file may be that of another report. */
	snprintf(path, sizeof(path), "%s/rings", dir);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(spool->folder, -1);
	assert_int_equal(made - gone, 1);
}

/* Mounts a disk of so many MiB over the test's folder, for this process alone. False: it may not. */
static bool mount_disk(unsigned mib)
{
	unsigned uid = geteuid();
	char text[64];
	int fd;

	if (unshare(uid ? CLONE_NEWUSER | CLONE_NEWNS : CLONE_NEWNS) < 0)
		return false;
	if (uid) {
		snprintf(text, sizeof(text), "0 %u 1", uid);
		fd = open("/proc/self/uid_map", O_WRONLY | O_CLOEXEC);
		if (fd < 0 || write(fd, text, strlen(text)) < 0)
			return false;
		close(fd);
	}
	snprintf(text, sizeof(text), "size=%um", mib);
	return mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
	       mount("disk", dir, "tmpfs", 0, text) == 0;
}

/* In a process of its own: 0 a chunk found no room, 1 it did, 2 disks cannot be mounted here. */
static int chunk_fits_on_disk(unsigned mib)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		if (!mount_disk(mib))
			_exit(2);
		spool->open_folder = open_folder;
		for (uint32_t i = 0; i < IN_MEMORY; i++)
			spool_take(spool);
		_exit(spool_take(spool) != 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WEXITSTATUS(status);
}

/* A segment of 4 MiB has room in 40, but 64 are the report's. */
static void rest_of_a_disk_is_left_to_the_report(void **state)
{
	int fits = chunk_fits_on_disk(40);

	(void)state;
	if (fits == 2)
		skip();
	assert_int_equal(fits, 0);
	assert_int_equal(chunk_fits_on_disk(80), 1);
}

static unsigned opened;

/* The folder's descriptor is 0, as in a collector without stdin. */
static void open_folder_as_0(void *ctx, struct spool *s)
{
	open_folder(ctx, s);
	if (s->folder > 0) {
		assert_int_equal(dup2(s->folder, 0), 0);
		close(s->folder);
		s->folder = 0;
	}
	opened++;
}

static void folder_may_have_descriptor_0(void **state)
{
	int stdin_fd = dup(STDIN_FILENO);

	(void)state;
	opened = 0;
	spool->open_folder = open_folder_as_0;
	for (uint32_t i = 0; i < IN_MEMORY + 2 * SPOOL_SEGMENT_CHUNKS; i++)
		assert_int_not_equal(put(1, 0, 1, i, 4), 0);
	assert_int_equal(opened, 1);
	assert_int_equal(files(), 2);
	spool_drop(spool, 1);
	assert_int_equal(files(), 0);
	dup2(stdin_fd, STDIN_FILENO);
	close(stdin_fd);
}

/* Free chunks at the beginning are taken first, so that segments at the end become empty. */
static void segments_at_the_end_become_empty(void **state)
{
	(void)state;
	spool->on_segment = on_segment;
	for (uint32_t i = 0; i < 3 * SPOOL_SEGMENT_CHUNKS; i++)
		put(1 + i / SPOOL_SEGMENT_CHUNKS, 0, 1, i, 4);
	spool_drop(spool, 1);
	assert_int_equal(put(9, 0, 1, 0, 4), SL_CHUNK_CNT + 1);
	spool_drop(spool, 3);
	assert_int_equal(gone, 1);
	assert_int_equal(spool_count(spool, 2), SPOOL_SEGMENT_CHUNKS);
	assert_int_equal(spool_count(spool, 9), 1);
}

/* Hands segment @index over as a keeper does. */
static void die_and_adopt(uint32_t index, int fd)
{
	struct spool *next = malloc(sizeof(*next));

	assert_non_null(next);
	spool_init(next);
	assert_true(spool_adopt(next, index, fd));
	/* The folder is not released: files stay, as when a process is killed. */
	if (spool->folder >= 0) {
		close(spool->folder);
		close(spool->beside);
	}
	spool->folder = spool->beside = -1;
	spool_release(spool);
	free(spool);
	spool = next;
}

static void adopted_copies_are_in_order(void **state)
{
	static const uint32_t seq[] = {12, 10, 13, 11};
	sl_ref first, last = 0;

	(void)state;
	for (unsigned i = 0; i < 4; i++)
		put(3, 5, 2, seq[i], 100);
	put(3, 5, 1, 9, 100);  /* an earlier use of the slot */
	put(3, 6, 2, 9, 100);  /* another slot */
	put(4, 5, 2, 14, 100); /* another arena */
	spool_take(spool);     /* was not published */
	die_and_adopt(0, dup(spool->segment[0].fd));
	assert_int_equal(spool->used, 7);
	first = spool_link(spool, 3, 5, 2, &last);
	for (unsigned i = 10; i < 14; i++) {
		const struct sl_chunk *c = spool_at(spool, first);

		assert_int_equal(c->seq, i);
		assert_int_equal(c->data[99], (uint64_t)i << 32 | 99);
		if (i == 13)
			assert_int_equal(first, last);
		first = c->next;
	}
	assert_int_equal(spool_link(spool, 3, 5, 3, &last), 0);
}

static char file[128];

static int file_of(uint32_t index)
{
	snprintf(file, sizeof(file), "%s/rings/%u" SPOOL_SUFFIX, dir, index);
	return open(file, O_RDWR | O_CLOEXEC);
}

static void fill_files(void)
{
	spool->open_folder = open_folder;
	for (uint32_t i = 0; i < IN_MEMORY + 100; i++)
		put(1, 0, 1, i, 4000);
}

static void a_file_that_is_cut_off_has_what_is_before_the_cut(void **state)
{
	int fd;

	(void)state;
	fill_files();
	fd = file_of(SPOOL_IN_MEMORY);
	assert_int_equal(ftruncate(fd, 10 * SL_CHUNK_BYTES + 100), 0);
	die_and_adopt(SPOOL_IN_MEMORY, fd);
	/* Of the eleventh not even the head is whole. */
	assert_int_equal(spool->used, 10);
	assert_int_equal(spool->damaged, 1);
}

static void damage_is_found_by_the_sum(void **state)
{
	uint64_t word = 42;
	uint32_t other = SPOOL_VERSION + 1;
	int fd;

	(void)state;
	fill_files();
	fd = file_of(SPOOL_IN_MEMORY);
	assert_int_equal(pwrite(fd, &word, 8, 3 * SL_CHUNK_BYTES + 64 + 800), 8);
	/* One of another version. */
	assert_int_equal(pwrite(fd, &other, 4,
				5 * SL_CHUNK_BYTES + offsetof(struct sl_chunk, reserved) +
					4 * SPOOL_WORD_VERSION),
			 4);
	die_and_adopt(SPOOL_IN_MEMORY, fd);
	assert_int_equal(spool->used, 98);
	assert_int_equal(spool->damaged, 2);
}

static void what_is_no_segment_is_refused(void **state)
{
	int fd = memfd_create("other", MFD_CLOEXEC);

	(void)state;
	assert_int_equal(ftruncate(fd, SPOOL_SEGMENT_BYTES + 1), 0);
	assert_false(spool_adopt(spool, 0, dup(fd)));
	assert_int_equal(ftruncate(fd, SPOOL_SEGMENT_BYTES), 0);
	assert_false(spool_adopt(spool, SPOOL_SEGMENTS, dup(fd)));
	assert_false(spool_adopt(spool, 0, open("/", O_RDONLY | O_CLOEXEC)));
	assert_true(spool_adopt(spool, 0, dup(fd)));
	assert_false(spool_adopt(spool, 0, dup(fd)));
	assert_int_equal(spool->used, 0);
	close(fd);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(memory_is_bounded),
		TEST(where_memory_is_scarce_files_begin_earlier),
		TEST(what_does_not_fit_into_memory_is_in_files),
		TEST(rest_of_a_disk_is_left_to_the_report),
		TEST(folder_may_have_descriptor_0),
		TEST(segments_at_the_end_become_empty),
		TEST(adopted_copies_are_in_order),
		TEST(a_file_that_is_cut_off_has_what_is_before_the_cut),
		TEST(damage_is_found_by_the_sum),
		TEST(what_is_no_segment_is_refused),
	};

	return cmocka_run_group_tests_name("spool", tests, NULL, NULL);
}
