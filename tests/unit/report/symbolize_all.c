/* symbolize_all.c - raw stacks get names: by hand-made raw tables about this very program. */
#include "tests/unit/report/stacks_test.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/statvfs.h>

static __attribute__((noinline)) uint64_t behind(void)
{
	return (uint64_t)(uintptr_t)__builtin_return_address(0);
}
static int caller_line;
uint64_t caller(void);
__attribute__((noinline)) uint64_t caller(void)
{
	caller_line = __LINE__ + 1;
	uint64_t at = behind();

	sink = 4;
	return at;
}

/* A call of CUDA or a library above it. */
static void gpu_call(struct db *db, enum db_table table, int cols, int column, int64_t chain)
{
	int64_t *r = db_row(db, table);

	for (int i = 0; i < cols; i++)
		r[i] = 0;
	r[column] = chain;
}

/* ---- tests ---- */

static void functions_have_names_files_and_lines(void **state)
{
	char where[600];
	struct db *db = begin();

	(void)state;
	self_module(db, SPACE);
	RAW(db, STACK(1), caller(), BEHIND(Py_RunMain) | SL_FRAME_BY_FP, 0x10);
	call(db, STACK(1));
	call(db, 0);
	end(db);
	assert_string_equal(symbols_of(STACK(1)), "caller|Py_RunMain|0x10");
#if SL_HAVE_LIBDW
	snprintf(where, sizeof(where), "%s:%d", "symbolize_all.c", caller_line);
	assert_string_equal(ask("SELECT replace(value, rtrim(value, replace(value, '/', '')), '')"
				" || ':' || line FROM SL_FRAMES f JOIN StringIds s ON s.id = f.file"
				" WHERE f.id = 1"),
			    where);
#endif
	snprintf(where, sizeof(where), "%s|[Unknown]", self);
	assert_string_equal(ask("SELECT group_concat(value, '|') FROM (SELECT DISTINCT value FROM"
				" SL_FRAMES f JOIN StringIds s ON s.id = f.module ORDER BY f.id)"),
			    where);
	assert_string_equal(ask("SELECT group_concat(unwindMethod || unresolved || kind, ' ')"
				" FROM SL_FRAMES"),
			    "600 100 610");
	assert_string_equal(ask("SELECT count(*) FROM OSRT_CALLCHAINS WHERE id = 4294967297"), "3");
	assert_string_equal(ask("SELECT group_concat(c.stackDepth || s.value, ' ') FROM OSRT_API o"
				" JOIN OSRT_CALLCHAINS c ON c.id = o.callchainId JOIN StringIds s"
				" ON s.id = c.symbol"),
			    "0caller 1Py_RunMain 20x10");
	assert_string_equal(ask("SELECT count(*) FROM sqlite_schema WHERE name IN"
				" ('SL_RAW_STACKS', 'SL_CODES', 'CUDA_CALLCHAINS')"),
			    "0");
}

static void python_takes_the_place_of_its_interpreter(void **state)
{
	const uint64_t loop = BEHIND(_PyEval_EvalFrameDefault);
	struct db *db = begin();

	(void)state;
	self_module(db, SPACE);
	code(db, STACK(1), "/a.py", "inner", 5);
	code(db, STACK(2), "/a.py", "outer", 9);
	code(db, STACK(3), "/a.py", "<module>", 1);
	/* 3.10: a loop for each. */
	RAW(db, STACK(1), EXACT(leaf), loop, loop, loop, BEHIND(Py_RunMain),
	    sl_frame_python(1, 4) | SL_FRAME_ENTRY, sl_frame_python(2, 4) | SL_FRAME_ENTRY,
	    sl_frame_python(3, 4) | SL_FRAME_ENTRY);
	/* 3.11: one for all. */
	RAW(db, STACK(2), EXACT(leaf), loop, BEHIND(Py_RunMain), sl_frame_python(1, 4),
	    sl_frame_python(2, 4), sl_frame_python(3, 4) | SL_FRAME_ENTRY);
	/* Only Python's. */
	RAW(db, STACK(3), sl_frame_python(1, 4), sl_frame_python(3, 4) | SL_FRAME_ENTRY);
	/* Cut at its depth. */
	RAW(db, STACK(4), EXACT(leaf), loop, SL_FRAME_REMARK | SL_REMARK_DEPTH,
	    sl_frame_python(1, 4) | SL_FRAME_ENTRY, sl_frame_python(2, 4) | SL_FRAME_ENTRY);
	/* A Python that is not known, and a code object without a record. */
	RAW(db, STACK(5), EXACT(leaf), loop, SL_FRAME_REMARK | SL_REMARK_PYTHON);
	RAW(db, STACK(6), sl_frame_python(9, 4) | SL_FRAME_ENTRY);
	/* A run of the loop in which no frame is left, and lines by the table: 4 bytes of no line, then 2 further on. */
	run(db, "INSERT INTO SL_CODES VALUES(%lld, '/b.py', 'lined', 20, 779, X'F9E70000')",
	    STACK(4));
	RAW(db, STACK(7), EXACT(leaf), EXACT(_PyEval_EvalFrameDefault), loop, BEHIND(Py_RunMain),
	    sl_frame_python(0, 0x1fffffe) | SL_FRAME_ENTRY, sl_frame_python(4, 4) | SL_FRAME_ENTRY);
	end(db);
	assert_string_equal(symbols_of(STACK(1)), "leaf|inner|outer|<module>|Py_RunMain");
	assert_string_equal(symbols_of(STACK(2)), "leaf|inner|outer|<module>|Py_RunMain");
	assert_string_equal(symbols_of(STACK(3)), "inner|<module>");
	assert_string_equal(symbols_of(STACK(4)), "leaf|inner|[Max depth]|outer");
	assert_string_equal(symbols_of(STACK(5)), "leaf|[Unknown Python]|_PyEval_EvalFrameDefault");
	assert_string_equal(symbols_of(STACK(6)), "[Python code 9]");
	assert_string_equal(symbols_of(STACK(7)), "leaf|lined|Py_RunMain");
	assert_string_equal(ask("SELECT group_concat(n.value || ' ' || m.value || ':' || line, ' ')"
				" FROM SL_FRAMES f JOIN StringIds n ON n.id = f.symbol"
				" JOIN StringIds m ON m.id = f.file WHERE kind = 1"
				" AND f.file = f.module AND originalIP IS NULL"),
			    "inner /a.py:5 outer /a.py:9 <module> /a.py:1 lined /b.py:22");
	/* Of the interpreter there is what a stack shows. */
	assert_string_equal(ask("SELECT count(*) FROM SL_FRAMES WHERE id NOT IN (SELECT frameId "
				"FROM SL_STACKS)"),
			    "0");
}

/* A line of Python that calls CUDA and cuBLAS has one stack; what only a library refers to is there, too. */
static void calls_of_libraries_share_the_table_of_cuda(void **state)
{
	struct db *db = begin();

	(void)state;
	self_module(db, SPACE);
	RAW(db, STACK(1), EXACT(leaf), BEHIND(Py_RunMain));
	RAW(db, STACK(2), EXACT(Py_RunMain));
	RAW(db, STACK(3), EXACT(leaf));
	gpu_call(db, DB_CUPTI_ACTIVITY_KIND_RUNTIME, RT_COL_CNT, RT_CALLCHAIN_ID, STACK(1));
	gpu_call(db, DB_CUBLAS_EVENTS, BLAS_COL_CNT, BLAS_CALLCHAIN_ID, STACK(1));
	gpu_call(db, DB_CUBLAS_EVENTS, BLAS_COL_CNT, BLAS_CALLCHAIN_ID, STACK(2));
	gpu_call(db, DB_CUDNN_EVENTS, DNN_COL_CNT, DNN_CALLCHAIN_ID, STACK(3));
	gpu_call(db, DB_CUDNN_EVENTS, DNN_COL_CNT, DNN_CALLCHAIN_ID, DB_NULL);
	gpu_call(db, DB_SL_LIBRARY_API, LIB_COL_CNT, LIB_CALLCHAIN_ID, STACK(4));
	end(db);
	assert_string_equal(
		ask("SELECT group_concat((id - 4294967296) || '.' || stackDepth || value,"
		    " ' ') FROM (SELECT * FROM CUDA_CALLCHAINS c JOIN StringIds s"
		    " ON s.id = c.symbol ORDER BY c.id, stackDepth)"),
		"1.0leaf 1.1Py_RunMain 2.0Py_RunMain 3.0leaf 4.0[Lost stack]");
}

/* SAMPLING_CALLCHAINS reads COMPOSITE_EVENTS: without that table nothing could read the view. */
static void page_faults_without_samples_have_no_view(void **state)
{
	struct db *db = begin();

	(void)state;
	self_module(db, SPACE);
	RAW(db, STACK(1), EXACT(leaf), BEHIND(Py_RunMain));
	gpu_call(db, DB_SL_PAGE_FAULTS, FAULT_COL_CNT, FAULT_STACK_ID, STACK(1));
	end(db);
	assert_string_equal(symbols_of(STACK(1)), "leaf|Py_RunMain");
	assert_string_equal(ask("SELECT count(*) FROM sqlite_schema WHERE type = 'view'"), "0");
}

static void lines_of_python_are_those_of_its_instructions(void **state)
{
	struct db *db = begin();

	(void)state;
	/* 3.10: 4 bytes of code of the line after the first, 6 more of two lines on. */
	run(db, "INSERT INTO SL_CODES VALUES(%lld, '/a.py', 'f', 5, %d, x'04010602')", STACK(1),
	    0x030a);
	RAW(db, STACK(1), sl_frame_python(1, 2) | SL_FRAME_ENTRY,
	    sl_frame_python(1, 4) | SL_FRAME_ENTRY,
	    sl_frame_python(1, 2 * 0xffffff) | SL_FRAME_ENTRY,
	    sl_frame_python(1, 100) | SL_FRAME_ENTRY);
	end(db);
	assert_string_equal(ask("SELECT group_concat(ifnull(line, 'none'), ' ') FROM SL_FRAMES"),
			    "6 8 5 none");
}

static void a_space_has_what_its_parent_had_and_what_came_later(void **state)
{
	const int64_t child = SPACE + 1;
	const uint64_t frame[] = {EXACT(leaf)};
	struct db *db = begin();

	(void)state;
	run(db, "INSERT INTO SL_SPACES VALUES(%lld, %lld, %lld)", child, SPACE, GPID(78));
	module(db, SPACE, bias, bias + (1u << 24), 0, 10, "/nowhere/old.so");
	module(db, SPACE, bias, bias + (1u << 24), bias, 50, self);
	raw(db, STACK(1), SPACE, 20, frame, 1); /* while the old one was there */
	raw(db, STACK(2), SPACE, 60, frame, 1);
	raw(db, STACK(3), child, 60, frame, 1);
	raw(db, STACK(4), SPACE, 5, frame, 1); /* a little late */
	end(db);
	assert_ptr_equal(strstr(symbols_of(STACK(1)), "0x"), symbols_of(STACK(1)));
	assert_string_equal(symbols_of(STACK(2)), "leaf");
	assert_string_equal(symbols_of(STACK(3)), "leaf");
	assert_string_equal(ask("SELECT value FROM SL_STACKS s JOIN SL_FRAMES f ON f.id = s.frameId"
				" JOIN StringIds n ON n.id = f.module WHERE s.id = 4294967300"),
			    "/nowhere/old.so");
}

static void lost_stacks_are_marked(void **state)
{
	struct db *db = begin();

	(void)state;
	RAW(db, STACK(1), SL_FRAME_REMARK | SL_REMARK_BROKEN);
	call(db, STACK(1));
	call(db, STACK(7));
	call(db, STACK(7));
	end(db);
	assert_string_equal(symbols_of(STACK(7)), "[Lost stack]");
	assert_string_equal(ask("SELECT count(*) || sum(specialEntry) FROM OSRT_CALLCHAINS"), "22");
}

static void names_may_not_be_wanted(void **state)
{
	struct db *db = begin();

	(void)state;
	self_module(db, SPACE);
	db_meta_capture(db, "SL_RESOLVE_SYMBOLS", "false");
	code(db, STACK(1), "/a.py", "f", 5);
	RAW(db, STACK(1), EXACT(leaf), SL_FRAME_KERNEL | 0x1000,
	    sl_frame_python(1, 0) | SL_FRAME_ENTRY);
	end(db);
	assert_string_equal(ask("SELECT group_concat(unresolved, '') FROM SL_FRAMES"), "110");
}

static void kernel_frames_are_marked(void **state)
{
	struct db *db = begin();

	(void)state;
	RAW(db, STACK(1), EXACT(SL_FRAME_KERNEL | 0xffff0000000010));
	end(db);
	assert_string_equal(
		ask("SELECT kernelMode || unwindMethod || kind || value FROM SL_FRAMES f"
		    " JOIN StringIds s ON s.id = f.module"),
		"152[kernel.kallsyms]");
}

/* A report that fails half way keeps its raw stacks and has a diagnostic. */
static void what_fails_leaves_the_raw_stacks(void **state)
{
	struct db *db = begin();

	(void)state;
	self_module(db, SPACE);
	RAW(db, STACK(1), EXACT(leaf));
	RAW(db, STACK(2), EXACT(Py_RunMain));
	call(db, STACK(1));
	assert_int_equal(db_commit(db, 1000), 0);
	/* Another program has made a table of that name: as good as a damaged file. */
	run(db, "CREATE TABLE OSRT_CALLCHAINS(a)");
	assert_int_equal(db_finish(db, 1000), 0);
	assert_string_equal(ask("SELECT count(*) FROM SL_RAW_STACKS"), "2");
	assert_string_equal(ask("SELECT count(*) FROM DIAGNOSTIC_EVENT WHERE text LIKE 'Stacks%'"),
			    "1");
	assert_string_equal(ask("SELECT value FROM META_DATA_EXPORT WHERE name = 'SL_COMPLETE'"),
			    "1");
	assert_string_equal(ask("PRAGMA integrity_check"), "ok");
}

/* No room for names: the report is sound without them, and not complete, so that it can be symbolized where there is room. */
static void a_full_disk_leaves_the_raw_stacks(void **state)
{
	uint64_t frames[100];
	char path[160], block[4096] = "";
	struct db *db;
	int fd;

	(void)state;
	if (mount("tmpfs", test_dir, "tmpfs", 0, "size=24m"))
		skip();
	db = begin();
	self_module(db, SPACE);
	for (uint64_t i = 0; i < 4000; i++) {
		for (uint64_t k = 0; k < 100; k++)
			frames[k] = 0x1000 + (i * 100 + k) * 16;
		raw(db, STACK((int64_t)i), SPACE, 100, frames, 100);
	}
	assert_int_equal(db_commit(db, 1000), 0);
	snprintf(path, sizeof(path), "%s/other-data", test_dir);
	fd = open(path, O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);
	while (write(fd, block, sizeof(block)) > 0)
		;
	close(fd);
	assert_int_equal(db_finish(db, 1000), -ENOSPC);
	assert_string_equal(ask("PRAGMA integrity_check"), "ok");
	assert_string_equal(ask("SELECT count(*) FROM SL_RAW_STACKS"), "4000");
	assert_string_equal(ask("SELECT count(*) FROM sqlite_schema WHERE name IN"
				" ('SL_STACKS', 'SL_FRAMES')"),
			    "0");
	assert_string_equal(
		ask("SELECT text FROM DIAGNOSTIC_EVENT"),
		"Stacks are left as they were taken, without names: no room on the disk.");
	assert_string_equal(ask("SELECT value FROM META_DATA_EXPORT WHERE name = 'SL_COMPLETE'"),
			    "0");
	assert_string_equal(ask("SELECT key FROM SL_STATE"), DB_STATE_RECORDED);
	test_unmount();
}

/* Everything of @path's disk but for @left bytes. */
static void fill_disk(uint64_t left)
{
	struct statvfs vfs;
	char path[160];
	int fd;

	snprintf(path, sizeof(path), "%s/other-data", test_dir);
	fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	assert_int_equal(fstatvfs(fd, &vfs), 0);
	assert_true(vfs.f_bavail * vfs.f_frsize > left);
	assert_int_equal(posix_fallocate(fd, 0, (off_t)(vfs.f_bavail * vfs.f_frsize - left)), 0);
	close(fd);
}

/* Four thousand calls with stacks of a hundred frames: rows for many commits. @left room for names. */
static int finish_in(uint64_t left)
{
	uint64_t frames[100];
	sqlite3 *reader;
	struct db *db;
	int err;

	assert_int_equal(mount("tmpfs", test_dir, "tmpfs", 0, "size=64m"), 0);
	db = begin();
	for (uint64_t k = 0; k < 100; k++)
		frames[k] = 0x1000 + k * 16;
	for (int64_t i = 1; i <= 4000; i++) {
		raw(db, STACK(i), SPACE, 100, frames, 100);
		call(db, STACK(i));
	}
	assert_int_equal(db_commit(db, 1000), 0);
	fill_disk(left);
	/* A reader is active: the log grows, and nothing of it can be written over. */
	assert_int_equal(sqlite3_open(test_path, &reader), SQLITE_OK);
	assert_int_equal(
		sqlite3_exec(reader, "BEGIN; SELECT count(*) FROM OSRT_API", NULL, NULL, NULL),
		SQLITE_OK);
	err = db_finish(db, 1000);
	sqlite3_close(reader);
	return err;
}

/* Names are whole or not there, wherever the room ends. */
static void a_disk_may_be_full_between_two_commits(void **state)
{
	unsigned taken_back = 0, whole = 0;

	(void)state;
	if (mount("tmpfs", test_dir, "tmpfs", 0, "size=1m"))
		skip();
	umount(test_dir);
	for (uint64_t left = 10 << 19; left <= 50 << 19; left += 5 << 19) {
		int err = finish_in(left);

		assert_true(err == 0 || err == -ENOSPC);
		assert_string_equal(ask("PRAGMA integrity_check"), "ok");
		if (err) {
			assert_string_equal(ask("SELECT count(*) FROM SL_RAW_STACKS"), "4000");
			assert_string_equal(ask("SELECT count(*) FROM sqlite_schema WHERE name IN"
						" ('OSRT_CALLCHAINS', 'SL_STACKS', 'SL_FRAMES')"),
					    "0");
			taken_back += atoi(ask("PRAGMA freelist_count")) > 100;
		} else {
			assert_string_equal(ask("SELECT count(*) FROM OSRT_CALLCHAINS"), "400000");
			whole++;
		}
		test_unmount();
	}
	assert_true(taken_back > 0 && whole > 0);
}

static int unmount_and_clean(void **state)
{
	umount2(test_dir, MNT_DETACH); /* still mounted when a test failed */
	return test_teardown(state);
}

static void a_thousand_stacks_share_frames(void **state)
{
	struct db *db = begin();

	(void)state;
	self_module(db, SPACE);
	for (int i = 0; i < 1000; i++)
		RAW(db, STACK(1 + i), EXACT(leaf), BEHIND(Py_RunMain), 0x1000 + (uint64_t)i);
	end(db);
	assert_string_equal(ask("SELECT count(*) FROM SL_STACKS"), "3000");
	assert_string_equal(ask("SELECT count(*) FROM SL_FRAMES"), "1002");
}

#define T(test) cmocka_unit_test_setup_teardown(test, setup, unmount_and_clean)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(functions_have_names_files_and_lines),
		T(python_takes_the_place_of_its_interpreter),
		T(lines_of_python_are_those_of_its_instructions),
		T(calls_of_libraries_share_the_table_of_cuda),
		T(page_faults_without_samples_have_no_view),
		T(a_space_has_what_its_parent_had_and_what_came_later),
		T(lost_stacks_are_marked),
		T(names_may_not_be_wanted),
		T(kernel_frames_are_marked),
		T(what_fails_leaves_the_raw_stacks),
		T(a_full_disk_leaves_the_raw_stacks),
		T(a_disk_may_be_full_between_two_commits),
		T(a_thousand_stacks_share_frames),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
