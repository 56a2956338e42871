/* stacks_test.h - what tests of names share: this very program as the one whose stacks are named. */
#pragma once

#include "tests/unit/report/db_test.h"

#include <link.h>

#include "collector/report/db_internal.h"
#include "collector/report/db_stacks.h"
#include "preload/wire/frame.h"

#define SPACE      INT64_C(0x100000001)
#define STACK(n)   (INT64_C(0x100000000) + (n))
#define GPID(pid)  (INT64_C(1) << 48 | (int64_t)(pid) << 24)
#define EXACT(at)  (SL_FRAME_EXACT | (uint64_t)(uintptr_t)(at))
#define BEHIND(at) ((uint64_t)(uintptr_t)(at) + 1)

static volatile int sink;
static uint64_t bias;
static char self[512];

/* What an interpreter's loop is called; and functions around it. */
void _PyEval_EvalFrameDefault(void);
void Py_RunMain(void);
void leaf(void);
__attribute__((noinline)) void _PyEval_EvalFrameDefault(void)
{
	sink = 1;
}
__attribute__((noinline)) void Py_RunMain(void)
{
	sink = 2;
}
__attribute__((noinline)) void leaf(void)
{
	sink = 3;
}

static inline int first_object(struct dl_phdr_info *info, size_t size, void *to)
{
	(void)size;
	*(uint64_t *)to = info->dlpi_addr;
	return 1;
}

static inline int setup(void **state)
{
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);

	dl_iterate_phdr(first_object, &bias);
	return len > 0 ? test_setup(state) : -1;
}

/* ---- raw tables ---- */

static inline void run(struct db *db, const char *format, ...)
{
	va_list ap;
	char *sql;

	va_start(ap, format);
	sql = sqlite3_vmprintf(format, ap);
	va_end(ap);
	assert_int_equal(db_exec(db, sql), 0);
	sqlite3_free(sql);
}

static inline struct db *begin(void)
{
	static const char *const tables[] = {"SL_SPACES", "SL_MODULES", "SL_RAW_STACKS",
					     "SL_CODES"};
	struct db *db = test_open(false);

	assert_int_equal(db_begin(db), 0);
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		assert_int_equal(db_table_need(db, tables[i]), 0);
	run(db, "INSERT INTO SL_SPACES VALUES(%lld, NULL, %lld)", SPACE, GPID(77));
	return db;
}

static inline void module(struct db *db, int64_t space, uint64_t start, uint64_t end,
			  uint64_t at_bias, int64_t since, const char *path)
{
	run(db, "INSERT INTO SL_MODULES VALUES(%lld, %lld, %lld, %lld, %lld, %lld, NULL)", space,
	    (int64_t)start, (int64_t)end, (int64_t)at_bias, since,
	    db_string(db, path, strlen(path)));
}

static inline void self_module(struct db *db, int64_t space)
{
	module(db, space, bias, bias + (1u << 24), bias, 0, self);
}

static inline void raw(struct db *db, int64_t id, int64_t space, int64_t since,
		       const uint64_t *frames, size_t cnt)
{
	sqlite3_stmt *stmt;

	assert_int_equal(
		db_prepare(db, "INSERT INTO SL_RAW_STACKS VALUES(?1, ?2, ?3, ?1, ?4)", &stmt), 0);
	sqlite3_bind_int64(stmt, 1, id);
	sqlite3_bind_int64(stmt, 2, space);
	sqlite3_bind_int64(stmt, 3, since);
	sqlite3_bind_blob(stmt, 4, frames, (int)(cnt * sizeof(*frames)), SQLITE_STATIC);
	assert_int_equal(sqlite3_step(stmt), SQLITE_DONE);
	sqlite3_finalize(stmt);
}
#define RAW(db, id, ...)                                         \
	raw(db, id, SPACE, 100, (const uint64_t[]){__VA_ARGS__}, \
	    sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

static inline void code(struct db *db, int64_t id, const char *file, const char *name, int line)
{
	run(db, "INSERT INTO SL_CODES VALUES(%lld, %Q, %Q, %d, 0, NULL)", id, file, name, line);
}

static inline void call(struct db *db, int64_t chain)
{
	int64_t *r = db_row(db, DB_OSRT_API);

	for (int i = 0; i < OSRT_COL_CNT; i++)
		r[i] = DB_NULL;
	r[OSRT_START] = 1;
	r[OSRT_END] = 2;
	r[OSRT_EVENT_CLASS] = 27;
	r[OSRT_CALLCHAIN_ID] = chain;
}

static inline void end(struct db *db)
{
	assert_int_equal(db_commit(db, 1000), 0);
	assert_int_equal(db_finish(db, 1000), 0);
}

/* "symbol|symbol|..." of a stack, the innermost first. */
static inline const char *symbols_of(int64_t id)
{
	char sql[512];

	snprintf(sql, sizeof(sql),
		 "SELECT group_concat(value, '|') FROM (SELECT value FROM SL_STACKS s"
		 " JOIN SL_FRAMES f ON f.id = s.frameId JOIN StringIds n ON n.id = f.symbol"
		 " WHERE s.id = %lld ORDER BY depth)",
		 (long long)id);
	return ask(sql);
}
