/* functions.c - the hook tables by name, as the SQL function sl_function() and the view SL_FUNCTION_KINDS. */
#include "exporters/read/functions.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/search.h"

#define NAME_MAX 40 /* no function has so long a name */

enum { /* ENUM_OSRT_FILE_ACCESS_EVENT_TYPE */
	IO_NONE = 0,
	IO_OPEN = 1,
	IO_CLOSE = 2,
	IO_READ = 3,
	IO_WRITE = 4,
	IO_META = 6
};

enum {
#define SL_HOOK_ONE(fail, op, waits, name) NUMBER_##name,
#define SL_HOOK_MARK(name)                 name, name##_BEFORE = name - 1,
#include "preload/wire/hooks.def"
#undef SL_HOOK_ONE
};

enum {
#define OP(op, io, file, sends) OP_##op,
#include "preload/wire/hook_kinds.def"
	OP_END
};

static const struct {
	uint8_t io;
	bool sends;
	const char *file;
} ops[OP_END] = {
#define OP(op, io, file, sends) [OP_##op] = {IO_##io, sends, file},
#include "preload/wire/hook_kinds.def"
};

enum {
#define WAITS(waits, text) WAITS_##waits,
#include "preload/wire/hook_kinds.def"
	WAITS_END
};

static const char *const waits_for[WAITS_END] = {
#define WAITS(waits, text) [WAITS_##waits] = text,
#include "preload/wire/hook_kinds.def"
};

struct function {
	const char *name;
	uint8_t op, waits;
	bool is_stdio, returns_bytes;
};

#define FAIL_NEG false
#define FAIL_CNT true
#define FAIL_NUL false
#define FAIL_NUM false
#define FAIL_END false
#define FAIL_NEV false

static const struct function functions[] = {
#define SL_HOOK_ONE(fail, op, waits, name) \
	{#name, OP_##op, WAITS_##waits,    \
	 NUMBER_##name >= SL_STDIO_FIRST && NUMBER_##name < SL_STDIO_END, FAIL_##fail},
#include "preload/wire/hooks.def"
#undef SL_HOOK_ONE
#define KNOWN(op, waits, name) {#name, OP_##op, WAITS_##waits, false, false},
#include "preload/libc/known.def"
};
#define FUNCTIONS (sizeof(functions) / sizeof(*functions))

/* ---- by name ---- */

struct name {
	char text[NAME_MAX];
	const struct function *of;
};
/* In alphabetical order: as they are, and without what twins have more. */
static struct name names[FUNCTIONS], plain[FUNCTIONS];

/* Takes @part out of @word wherever it stands. */
static void strip(char *word, const char *part)
{
	for (char *at; (at = strstr(word, part)) != NULL;)
		memmove(at, at + strlen(part), strlen(at + strlen(part)) + 1);
}

static void make_plain(char *word)
{
	strip(word, "__");
	strip(word, "_chk");
	strip(word, "64");
}

/* Of twins the first of the tables, which is the plain function. */
static int by_name(const void *a, const void *b)
{
	const struct name *x = a, *y = b;
	int order = strcmp(x->text, y->text);

	return order ? order : (x->of > y->of) - (x->of < y->of);
}

static void sort_names(void)
{
	for (size_t i = 0; i < FUNCTIONS; i++) {
		names[i].of = plain[i].of = &functions[i];
		strncat(names[i].text, functions[i].name, NAME_MAX - 1);
		strncat(plain[i].text, functions[i].name, NAME_MAX - 1);
		make_plain(plain[i].text);
	}
	qsort(names, FUNCTIONS, sizeof(*names), by_name);
	qsort(plain, FUNCTIONS, sizeof(*plain), by_name);
}

/* Not by pthread_once(): libsightline_sql.so runs on glibc 2.31, whose libc lacks it. */
static void sort_names_once(void)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static atomic_bool is_done; /* acquire and release below are a pair */

	if (atomic_load_explicit(&is_done, memory_order_acquire))
		return;
	pthread_mutex_lock(&lock);
	if (!atomic_load_explicit(&is_done, memory_order_relaxed)) {
		sort_names();
		atomic_store_explicit(&is_done, true, memory_order_release);
	}
	pthread_mutex_unlock(&lock);
}

static const struct function *find(const struct name *list, const char *text)
{
	size_t at = search_first(i, 0, FUNCTIONS, strcmp(list[i].text, text) < 0);

	return at < FUNCTIONS && strcmp(list[at].text, text) == 0 ? list[at].of : NULL;
}

bool function_kind(const char *name, struct function_kind *kind)
{
	const struct function *f;
	char word[NAME_MAX];

	if (strlen(name) >= NAME_MAX)
		return false;
	sort_names_once();
	f = find(names, name);
	if (!f) {
		strcpy(word, name);
		make_plain(word);
		f = find(plain, word);
	}
	if (!f)
		return false;
	*kind = (struct function_kind){ops[f->op].file, waits_for[f->waits], ops[f->op].io,
				       f->is_stdio,     ops[f->op].sends,    f->returns_bytes,
				       f->op == OP_COPY};
	return true;
}

/* ---- SQL ---- */

static void result_text(sqlite3_context *ctx, const char *text)
{
	if (text)
		sqlite3_result_text(ctx, text, -1, SQLITE_STATIC);
}

static void column_of(sqlite3_context *ctx, int cnt, sqlite3_value **args)
{
	const char *name = (const char *)sqlite3_value_text(args[0]);
	const char *column = (const char *)sqlite3_value_text(args[1]);
	struct function_kind kind;

	(void)cnt;
	if (!name || !column || !function_kind(name, &kind))
		return;
	if (strcmp(column, "file") == 0)
		result_text(ctx, kind.file);
	else if (strcmp(column, "waits") == 0)
		result_text(ctx, kind.waits);
	else if (strcmp(column, "sends") == 0)
		sqlite3_result_int(ctx, kind.sends);
	else if (strcmp(column, "returnsBytes") == 0)
		sqlite3_result_int(ctx, kind.returns_bytes);
	else if (strcmp(column, "copies") == 0)
		sqlite3_result_int(ctx, kind.copies);
	else if (strcmp(column, "isStdio") == 0)
		sqlite3_result_int(ctx, kind.is_stdio);
	else if (strcmp(column, "io") == 0 && kind.io != IO_NONE)
		sqlite3_result_int(ctx, kind.io);
}

/*
 * A report of nsys has no SL_FUNCTIONS, one of an older version no such columns, a growing one no rows yet. Functions of GPU
 * libraries stay NULL: their names are in none of the hook tables.
 */
static const char view[] =
	"CREATE TEMP VIEW IF NOT EXISTS SL_FUNCTION_KINDS AS "
	"SELECT nameId, library, io, isStdio, "
	"iif(f.waits IS NULL, sl_function(value, 'file'), f.file) AS file, "
	"iif(f.waits IS NULL, sl_function(value, 'waits'), f.waits) AS waits, "
	"iif(f.waits IS NULL, sl_function(value, 'sends'), f.sends) AS sends, "
	"iif(f.waits IS NULL, sl_function(value, 'returnsBytes'), f.returnsBytes) AS returnsBytes, "
	"iif(f.copies IS NULL, sl_function(value, 'copies'), f.copies) AS copies "
	"FROM SL_FUNCTIONS AS f LEFT JOIN StringIds ON id = nameId "
	"UNION ALL "
	"SELECT id, NULL, sl_function(value, 'io'), sl_function(value, 'isStdio'), "
	"sl_function(value, 'file'), sl_function(value, 'waits'), sl_function(value, 'sends'), "
	"sl_function(value, 'returnsBytes'), sl_function(value, 'copies') "
	"FROM StringIds WHERE NOT EXISTS (SELECT 1 FROM SL_FUNCTIONS WHERE waits IS NOT NULL) "
	"AND sl_function(value, 'waits') IS NOT NULL AND id NOT IN (SELECT nameId FROM "
	"SL_FUNCTIONS)";

int functions_register(sqlite3 *db)
{
	int rc = sqlite3_create_function(db, "sl_function", 2,
					 SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS,
					 NULL, column_of, NULL, NULL);

	return rc == SQLITE_OK ? sqlite3_exec(db, view, NULL, NULL, NULL) : rc;
}
