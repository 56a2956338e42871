/*
 * db_ingest [-r rounds] [-n rows] [-b rows per commit] [-d directory] - what the report's writer
 * costs beside SQLite's own limit.
 *
 * limit: nine integers per row into a bare table by one INSERT ... SELECT from a virtual table over an
 * array, one transaction, no journal, no reader possible. ours: OSRT_API with its 15 columns through
 * db_row() and db_commit() into a report that can be read all the time (WAL). Both with the same lean
 * SQLite settings, both from open to closed file, each in a process of its own, in turn.
 */
#include "collector/report/db.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define NC 9

static long rows_cnt = 4000000, batch = 65536;
static int rounds = 5;
static const char *dir = "/tmp";
static int64_t (*src)[NC];

struct result {
	double rate;
	long bytes, rss_kib;
};

static double seconds(struct timeval t)
{
	return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

/* Rows as a busy program makes them: rising times, few threads, a few dozen functions. */
static void make_row(int64_t *c, long i, uint64_t *x, int64_t *t)
{
	*x ^= *x << 13;
	*x ^= *x >> 7;
	*x ^= *x << 17;
	*t += 200 + (int64_t)(*x & 2047);
	c[0] = *t;
	c[1] = *t + 100 + (int64_t)(*x >> 16 & 4095);
	c[2] = 27;
	c[3] = INT64_C(1) << 48 | INT64_C(4242) << 24 | (4242 + (int64_t)(*x >> 32 & 3));
	c[4] = 300 + (int64_t)(*x >> 40) % 40;
	c[5] = (*x >> 48) % 3 ? 64 : 4096;
	c[6] = c[7] = 0;
	c[8] = i + 1;
}

/* ---- the virtual table of the limit ---- */

struct cursor {
	sqlite3_vtab_cursor base;
	long i;
};

static int v_connect(sqlite3 *db, void *a, int c, const char *const *v, sqlite3_vtab **out,
		     char **e)
{
	(void)a, (void)c, (void)v, (void)e;
	*out = sqlite3_malloc(sizeof(**out));
	memset(*out, 0, sizeof(**out));
	return sqlite3_declare_vtab(db, "CREATE TABLE x(a,b,c,d,e,f,g,h,i)");
}
static int v_disconnect(sqlite3_vtab *t)
{
	sqlite3_free(t);
	return SQLITE_OK;
}
static int v_best(sqlite3_vtab *t, sqlite3_index_info *info)
{
	(void)t;
	info->estimatedRows = rows_cnt;
	return SQLITE_OK;
}
static int v_open(sqlite3_vtab *t, sqlite3_vtab_cursor **out)
{
	(void)t;
	*out = sqlite3_malloc(sizeof(struct cursor));
	memset(*out, 0, sizeof(struct cursor));
	return SQLITE_OK;
}
static int v_close(sqlite3_vtab_cursor *c)
{
	sqlite3_free(c);
	return SQLITE_OK;
}
static int v_filter(sqlite3_vtab_cursor *c, int n, const char *s, int argc, sqlite3_value **argv)
{
	(void)n, (void)s, (void)argc, (void)argv;
	((struct cursor *)c)->i = 0;
	return SQLITE_OK;
}
static int v_next(sqlite3_vtab_cursor *c)
{
	((struct cursor *)c)->i++;
	return SQLITE_OK;
}
static int v_eof(sqlite3_vtab_cursor *c)
{
	return ((struct cursor *)c)->i >= rows_cnt;
}
static int v_column(sqlite3_vtab_cursor *c, sqlite3_context *out, int k)
{
	sqlite3_result_int64(out, src[((struct cursor *)c)->i][k]);
	return SQLITE_OK;
}
static int v_rowid(sqlite3_vtab_cursor *c, sqlite3_int64 *out)
{
	*out = ((struct cursor *)c)->i;
	return SQLITE_OK;
}
static sqlite3_module module = {
	.xConnect = v_connect,
	.xBestIndex = v_best,
	.xDisconnect = v_disconnect,
	.xOpen = v_open,
	.xClose = v_close,
	.xFilter = v_filter,
	.xNext = v_next,
	.xEof = v_eof,
	.xColumn = v_column,
	.xRowid = v_rowid,
};

static void run_limit(const char *path)
{
	sqlite3 *db;

	sqlite3_config(SQLITE_CONFIG_SINGLETHREAD);
	sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
	if (sqlite3_open_v2(path, &db,
			    SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
			    NULL) != SQLITE_OK ||
	    sqlite3_create_module(db, "arr", &module, NULL) != SQLITE_OK ||
	    sqlite3_exec(db,
			 "PRAGMA page_size=4096; PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;"
			 "PRAGMA locking_mode=EXCLUSIVE; PRAGMA cache_size=-65536;"
			 "CREATE TABLE t(a INTEGER, b INTEGER, c INTEGER, d INTEGER, e INTEGER,"
			 " f INTEGER, g INTEGER, h INTEGER, i INTEGER);"
			 "BEGIN; INSERT INTO t SELECT * FROM arr; COMMIT",
			 NULL, NULL, NULL) != SQLITE_OK) {
		fprintf(stderr, "db_ingest: %s: %s\n", path, sqlite3_errmsg(db));
		_exit(1);
	}
	sqlite3_close(db);
}

static void run_ours(const char *path)
{
	struct db_open how = {.path = path, .overwrite = true, .is_next = true};
	char why[256];
	struct db *db = db_open(&how, why, sizeof(why));
	int err = 0;

	if (!db) {
		fprintf(stderr, "db_ingest: %s\n", why);
		_exit(1);
	}
	for (long i = 0; i < rows_cnt && !err; i++) {
		const int64_t *c = src[i];
		int64_t *r = db_row(db, DB_OSRT_API);

		r[OSRT_START] = c[0];
		r[OSRT_END] = c[1];
		r[OSRT_EVENT_CLASS] = c[2];
		r[OSRT_GLOBAL_TID] = c[3];
		r[OSRT_NAME_ID] = c[4];
		r[OSRT_RETURN_VALUE] = c[5];
		r[OSRT_NESTING_LEVEL] = c[6];
		r[OSRT_CALLCHAIN_ID] = 0;
		r[OSRT_ARGUMENTS_ID] = 0;
		r[OSRT_FD] = 3 + (c[4] & 15);
		r[OSRT_FILE_ACCESS_ID] = 1000 + (c[4] & 15);
		r[OSRT_PATH_ID] = 400 + (c[4] & 15);
		r[OSRT_BYTES_ASKED] = 4096;
		r[OSRT_BYTES_DONE] = 64;
		r[OSRT_FILE_OFFSET] = c[8] * 64;
		r[OSRT_ERRNUM] = DB_NULL;
		if ((i + 1) % batch == 0)
			err = db_commit(db, c[1]);
	}
	if (db_finish(db, src[rows_cnt - 1][1]) || err) {
		fprintf(stderr, "db_ingest: writing failed\n");
		_exit(1);
	}
}

/* In a process of its own: neither inherits the other's caches or settings. */
static struct result measure(void (*run)(const char *), const char *path)
{
	struct result r = {0};
	struct rusage usage;
	struct stat st;
	pid_t pid = fork();
	int status;

	if (!pid) {
		run(path);
		_exit(0);
	}
	if (pid < 0 || wait4(pid, &status, 0, &usage) != pid || status)
		exit(1);
	/* Of CPU time: neither what others run nor a slow disk measures the writer. */
	r.rate = (double)rows_cnt / (seconds(usage.ru_utime) + seconds(usage.ru_stime));
	r.rss_kib = usage.ru_maxrss;
	if (!stat(path, &st))
		r.bytes = st.st_size;
	unlink(path);
	return r;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *v, int n)
{
	qsort(v, (size_t)n, sizeof(*v), by_value);
	return n & 1 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

int main(int argc, char **argv)
{
	double *limit, *ours, *ratio;
	struct result a = {0}, b = {0};
	uint64_t x = 88172645463325252u;
	int64_t t = 1000000000;
	char path[512];
	int c;

	while ((c = getopt(argc, argv, "r:n:b:d:")) != -1) {
		if (c == 'r')
			rounds = atoi(optarg);
		else if (c == 'n')
			rows_cnt = atol(optarg);
		else if (c == 'b')
			batch = atol(optarg);
		else if (c == 'd')
			dir = optarg;
		else
			return 2;
	}
	if (rounds < 1 || rows_cnt < 1 || batch < 1)
		return 2;
	src = malloc((size_t)rows_cnt * sizeof(*src));
	limit = calloc((size_t)rounds * 3, sizeof(*limit));
	if (!src || !limit)
		return 1;
	ours = limit + rounds;
	ratio = ours + rounds;
	for (long i = 0; i < rows_cnt; i++)
		make_row(src[i], i, &x, &t);
	snprintf(path, sizeof(path), "%s/db_ingest.%d.sqlite", dir, (int)getpid());
	for (int i = 0; i < rounds; i++) {
		a = measure(run_limit, path);
		b = measure(run_ours, path);
		limit[i] = a.rate;
		ours[i] = b.rate;
		ratio[i] = b.rate / a.rate;
	}
	printf("%ld rows, %ld per commit, median of %d rounds\n", rows_cnt, batch, rounds);
	printf("limit  %9.0f rows/s of CPU  %5.1f bytes/row\n", median(limit, rounds),
	       (double)a.bytes / (double)rows_cnt);
	printf("ours   %9.0f rows/s of CPU  %5.1f bytes/row  max RSS over the source %ld KiB\n",
	       median(ours, rounds), (double)b.bytes / (double)rows_cnt,
	       b.rss_kib - rows_cnt * (long)sizeof(*src) / 1024);
	printf("ratio  %.2f\n", median(ratio, rounds));
	return 0;
}
