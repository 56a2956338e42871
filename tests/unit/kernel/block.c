/* block.c - requests to block devices: by either way of loading, those of this thread; pauses, reports that follow each other, losses. */
#include "tests/unit/report/db_test.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <time.h>

#include "collector/base/capture_window.h"
#include "collector/kernel/block/block.h"
#include "collector/report/db_ids.h"

#define READS 64
#define BYTES 8192
#define TMPFS 0x01021994

static struct sched *sched;
static struct block *block;
static int file;
static void *memory;

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* A file whose reads go to a device. */
static bool make_file(void)
{
	char path[128];
	struct statfs fs;

	snprintf(path, sizeof(path), "%s/data", test_dir);
	file = open(path, O_RDWR | O_CREAT, 0600);
	assert_true(file >= 0);
	if (posix_memalign(&memory, 4096, BYTES))
		return false;
	memset(memory, 1, BYTES);
	for (int i = 0; i < READS; i++)
		assert_int_equal(write(file, memory, BYTES), BYTES);
	assert_int_equal(fsync(file), 0);
	return !fstatfs(file, &fs) && fs.f_type != TMPFS &&
	       !fcntl(file, F_SETFL, O_RDWR | O_DIRECT) && pread(file, memory, BYTES, 0) == BYTES;
}

static void read_all(void)
{
	for (int i = 0; i < READS; i++)
		assert_int_equal(pread(file, memory, BYTES, (off_t)i * BYTES), BYTES);
}

static bool begin(void)
{
	struct block_ask ask = {0};
	struct sched_maps maps;
	char why[256] = "";

	if (!make_file())
		return false;
	sched = sched_open_for(&(struct sched_ask){.want = SCHED_BACKEND_BPF, .lives = true}, why,
			       sizeof(why));
	if (!sched || !sched_maps(sched, &maps))
		return false;
	assert_int_equal(sched_follow(sched, getpid()), 0);
	ask.kernel = &maps;
	block = block_open(&ask, why, sizeof(why));
	if (!block)
		fail_msg("%s", why);
	return true;
}

static void end(void)
{
	block_close(block);
	sched_close(sched);
	free(memory);
	close(file);
	block = NULL;
	sched = NULL;
	memory = NULL;
}

/* Reads that this thread has made. Before Linux 6.5 the kernel's thread that hands a request on may stand for it. */
static long own(const char *what)
{
	char sql[256];

	snprintf(sql, sizeof(sql),
		 "SELECT %s FROM SL_BLOCK_IO WHERE operation = 0 AND start <= issued AND issued <= "
		 "end AND "
		 "NOT failed AND coalesce(globalTid, %d) IN (%lld, 1)",
		 what, (int)block_tuning.way,
		 (long long)GLOBAL_TID((uint32_t)getpid(), (uint32_t)syscall(SYS_gettid)));
	return atol(ask_file(test_path, sql));
}

/*
 * Rows of @want reads at least, those counted as lost included, or all that come within some seconds: another CPU may take long to
 * finish a record before them. The kernel leaves a program out that interrupts itself, as on a disk that others keep busy.
 */
static long rows_of(struct db *db, const struct windows *windows, int64_t hold, long want)
{
	for (int i = 0; i < 5000; i++) {
		block_write(block, db, windows, 0, hold);
		assert_int_equal(db_commit(db, 1), 0);
		if (own("count(*)") + (long)block_lost(block) >= want)
			break;
		usleep(1000);
	}
	return own("count(*)") + (long)block_lost(block);
}

static void by_way(unsigned way)
{
	struct window list[2] = {{0, 0, 0, INT64_MAX}, {0, 0, 0, INT64_MAX}};
	struct windows windows = {.list = list, .cnt = 1};
	struct db *db = test_open(false);
	int64_t hold;
	long before, lost;

	block_tuning.way = way;
	if (!begin()) {
		db_abandon(db);
		end();
		skip();
	}
	block_record(block, false);
	read_all();
	block_write(block, db, &windows, 0, INT64_MAX);
	assert_int_equal(db_commit(db, 1), 0);
	if (!way)
		assert_int_equal(own("count(*)"), 0);
	block_record(block, true);
	read_all();
	hold = now_ns();
	read_all();
	/* A read that lies in two pieces on the disk is two; what the file system reads for itself comes on top. */
	assert_true(rows_of(db, &windows, hold, READS) >= READS);
	lost = (long)block_lost(block);
	assert_true(own("sum(bytes)") >= (READS - lost) * BYTES);
	assert_true(own("count(DISTINCT sector)") >= READS - lost);
	assert_true(own("min(sector)") > 0);
	/* What began later is for the next report. */
	list[0].from_mono = hold;
	assert_true(rows_of(db, &windows, INT64_MAX, 2 * READS) >= 2 * READS);
	assert_string_equal(ask_file(test_path, "SELECT count(*) FROM SL_BLOCK_IO WHERE diskId IS "
						"NULL OR nameId IS NULL"),
			    "0");
	assert_in_range(block_lost(block), 0, READS / 8);
	block_stop(block);
	before = own("count(*)");
	read_all();
	block_write(block, db, &windows, 0, INT64_MAX);
	assert_int_equal(db_commit(db, 4), 0);
	if (!way)
		assert_int_equal(own("count(*)"), before);
	end();
	db_abandon(db);
	block_tuning.way = 0;
}

static void as_this_kernel_has_it(void **state)
{
	(void)state;
	by_way(0);
}

static void as_older_kernels_have_it(void **state)
{
	(void)state;
	by_way(1);
}

static void what_finds_no_room_is_counted(void **state)
{
	struct db *db = test_open(false);
	int64_t written;

	(void)state;
	block_tuning.ring_bytes = 4096;
	if (!begin()) {
		block_tuning.ring_bytes = 0;
		db_abandon(db);
		end();
		skip();
	}
	read_all();
	written = block_write(block, db, NULL, 0, INT64_MAX).cnt;
	assert_in_range(written, 0, READS - 1);
	assert_true(block_lost(block) > 0);
	end();
	db_abandon(db);
	block_tuning.ring_bytes = 0;
}

static void without_ebpf_there_is_a_reason(void **state)
{
	char why[256] = "";

	(void)state;
	assert_null(block_open(&(struct block_ask){0}, why, sizeof(why)));
	assert_non_null(strstr(why, "no block I/O: "));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(as_this_kernel_has_it, test_setup, test_teardown),
		cmocka_unit_test_setup_teardown(as_older_kernels_have_it, test_setup,
						test_teardown),
		cmocka_unit_test_setup_teardown(what_finds_no_room_is_counted, test_setup,
						test_teardown),
		cmocka_unit_test(without_ebpf_there_is_a_reason),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
