/*
 * library_calls.c - calls into GPU libraries, and the kernels that were launched in them: sl_library_calls(SIZES) counts
 * them and gives the number of a table for sl_stats_rows(), of which each key is an id of the table library_key,
 * which is filled.
 *
 * Calls are put in order of thread and time for their launches, then in order of their ids for their arguments.
 */
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "exporters/events/gpu_work.h"
#include "exporters/events/launches.h"
#include "exporters/read/sql_rows.h"
#include "exporters/sql/projection_internal.h"

static const char read_calls[] =
	"SELECT globalTid, start, end, callId, -1, nameId FROM CUBLAS_EVENTS "
	"UNION ALL SELECT globalTid, start, end, callId, -2, nameId FROM CUDNN_EVENTS "
	"UNION ALL SELECT globalTid, start, end, callId, library, nameId FROM SL_LIBRARY_API";
static const char read_arguments[] = "SELECT callId, role, value FROM SL_GPU_ARGUMENTS "
				     "WHERE role IN (0, 26, 33, 34, 35, 36, 37)";
static const char read_name[] =
	"SELECT CASE ?1 WHEN -1 THEN 'cublas' WHEN -2 THEN 'cudnn' ELSE (SELECT value FROM "
	"StringIds WHERE id = ?1) END, coalesce(value, '[unknown ' || id || ']'), "
	"value LIKE '%gemm%', value GLOB 'cublas[CZ]*' "
	"FROM (SELECT ?2 AS id) LEFT JOIN StringIds USING (id)";
static const char add_key[] = "INSERT INTO temp.library_key VALUES(?1, ?2, ?3, ?4, ?5, ?6, CASE ?7 "
			      "WHEN 1 THEN ?8 || ' x ' || ?9 || coalesce(' x ' || ?10, '') || "
			      "iif(?11 > 1, ' * ' || ?11, '') "
			      "WHEN 2 THEN ?8 || ' bytes' WHEN 3 THEN ?8 || ' elements' END)";

enum library_call {
	L_TID,
	L_START,
	L_MINUS_END,
	L_ID,
	L_KEYS,
	L_LIBRARY = L_KEYS, /* below 0: of a table of its own */
	L_NAME,
	L_WORDS,
};

enum counted_call {
	N_ID,
	N_KEYS,
	N_LIBRARY = N_KEYS,
	N_NAME,
	N_DUR,
	N_KERNELS,
	N_GPU,
	N_WORDS,
};

/* The function that a name stands for. */
struct name {
	int64_t library, function; /* of texts */
	bool gemm, complex;
};

struct key {
	int64_t name; /* of distinct names */
	int64_t kind; /* of the size: 1 a product, 2 bytes, 3 elements, 0 none */
	int64_t size[4];
};

struct key_sums {
	int64_t kernels, gpu;
	double work;
	bool any_work;
};

struct arguments { /* HIST_NULL: none */
	int64_t m, n, k, batch, bytes, elements;
	bool complex;
};

struct library {
	struct sorter *calls, *launches, *counted, *arguments;
	bool sizes;
	sqlite3_stmt *read_name;
	struct pool texts; /* a byte in front of each: is it NULL? */
	struct pool ids;   /* library and name as they stand in the tables */
	struct name *name; /* of an id */
	size_t names, name_room;
	struct pool told; /* library and function, as texts */
	struct pool keys;
	struct key_sums *sums; /* of a key */
	size_t sum_cnt, sum_room;
	struct hist *stats;
};

/* ---- reading rows ---- */

static int64_t value_or(sqlite3_stmt *q, int col, int64_t none)
{
	int64_t value = sqlite3_column_int64(q, col);

	return is_none(q, col, value) ? none : value;
}

static int library_row(void *ctx, sqlite3_stmt *q)
{
	const struct library *l = ctx;
	int64_t end = value_or(q, 2, HIST_NULL);
	const int64_t c[L_WORDS] = {
		[L_TID] = value_or(q, 0, HIST_NULL),
		[L_START] = sqlite3_column_int64(q, 1),
		[L_MINUS_END] = -end,
		[L_ID] = value_or(q, 3, HIST_NULL),
		[L_LIBRARY] = value_or(q, 4, HIST_NULL),
		[L_NAME] = value_or(q, 5, HIST_NULL),
	};

	return end == HIST_NULL ? SQLITE_OK : sorter_add(l->calls, c);
}

static int argument_row(void *ctx, sqlite3_stmt *q)
{
	const struct library *l = ctx;
	const int64_t a[3] = {sqlite3_column_int64(q, 0), sqlite3_column_int64(q, 1),
			      value_or(q, 2, HIST_NULL)};

	return a[2] == HIST_NULL ? SQLITE_OK : sorter_add(l->arguments, a);
}

/* ---- launches ---- */

/* The kernels of a call so far. */
struct launched {
	struct sorter *launches; /* by thread and time */
	int64_t kernels, ns;
};

/* The kernel's time. */
static int add_kernel(void *ctx, const struct launch_call *call, const int64_t *words)
{
	struct launched *k = ctx;

	(void)call;
	k->kernels++;
	k->ns += words[0] == LAUNCH_NONE ? 0 : words[0];
	return SQLITE_OK;
}

static int add_launch(void *ctx, const struct launch_call *call)
{
	struct launched *k = ctx;
	const int64_t launch[4] = {call->tid, call->start, k->kernels, k->ns};

	k->kernels = k->ns = 0;
	return sorter_add(k->launches, launch);
}

static int read_launches(sqlite3 *db, struct sorter *launches)
{
	static const struct launch_reader reader = {add_kernel, add_launch};
	struct launched k = {.launches = launches};
	struct launches *l = launches_new(1);
	int rc = l ? launches_read_calls(l, db) : SQLITE_NOMEM;

	if (rc == SQLITE_OK)
		rc = launches_read_work(l, db, 1u << GPU_WORK_KERNEL, "end - start",
					"WHERE graphNodeId IS NULL");
	if (rc == SQLITE_OK)
		rc = launches_join(l, &reader, &k);
	launches_free(l);
	return rc == SQLITE_OK ? sorter_rewind(launches) : rc;
}

/* ---- launches in calls ---- */

struct outermost {
	bool any;
	int64_t call[L_WORDS];
	int64_t until; /* the last end of all so far in the thread */
	int64_t kernels, gpu;
};

static int count_call(struct library *l, const int64_t *c, int64_t kernels, int64_t gpu)
{
	const int64_t n[N_WORDS] = {
		[N_ID] = c[L_ID],      [N_LIBRARY] = c[L_LIBRARY],
		[N_NAME] = c[L_NAME],  [N_DUR] = -c[L_MINUS_END] - c[L_START],
		[N_KERNELS] = kernels, [N_GPU] = gpu,
	};

	return sorter_add(l->counted, n);
}

static int close_outermost(struct library *l, struct outermost *o)
{
	bool any = o->any;

	o->any = false;
	return any ? count_call(l, o->call, o->kernels, o->gpu) : SQLITE_OK;
}

/* The launches in front of the call belong to the last outermost one before, where that had not ended. */
static int give_launches(struct library *l, struct outermost *o, const int64_t **launch,
			 const int64_t *before)
{
	int rc = SQLITE_OK;

	for (; rc == SQLITE_OK && *launch; rc = sweep_next(l->launches, launch)) {
		const int64_t *at = *launch;

		if (before &&
		    (at[0] > before[L_TID] || (at[0] == before[L_TID] && at[1] >= before[L_START])))
			break;
		if (o->any && at[0] == o->call[L_TID] && at[1] <= -o->call[L_MINUS_END]) {
			o->kernels += at[2];
			o->gpu += at[3];
		}
	}
	return rc;
}

static int add_call(struct library *l, struct outermost *o, const int64_t *c)
{
	bool same = o->call[L_TID] == c[L_TID] && o->until != HIST_NULL;
	int rc;

	if (same && c[L_START] < o->until) {
		if (-c[L_MINUS_END] > o->until)
			o->until = -c[L_MINUS_END];
		return count_call(l, c, 0, 0);
	}
	rc = close_outermost(l, o);
	if (!same || -c[L_MINUS_END] > o->until)
		o->until = -c[L_MINUS_END];
	memcpy(o->call, c, sizeof(o->call));
	o->any = true;
	o->kernels = o->gpu = 0;
	return rc;
}

static int join_calls(struct library *l)
{
	struct outermost o = {.until = HIST_NULL};
	const int64_t *call = NULL, *launch = NULL;
	int rc = sorter_rewind(l->calls);

	if (rc == SQLITE_OK)
		rc = sweep_next(l->launches, &launch);
	if (rc == SQLITE_OK)
		rc = sweep_next(l->calls, &call);
	while (rc == SQLITE_OK && call) {
		rc = give_launches(l, &o, &launch, call);
		if (rc == SQLITE_OK)
			rc = add_call(l, &o, call);
		if (rc == SQLITE_OK)
			rc = sweep_next(l->calls, &call);
	}
	if (rc == SQLITE_OK)
		rc = give_launches(l, &o, &launch, NULL);
	if (rc == SQLITE_OK)
		rc = close_outermost(l, &o);
	return rc == SQLITE_OK ? sorter_rewind(l->counted) : rc;
}

/* ---- keys ---- */

static int add_text(struct library *l, sqlite3_stmt *q, int col, int64_t *number)
{
	const char *text = (const char *)sqlite3_column_text(q, col);
	int len = sqlite3_column_bytes(q, col);
	char *with = sqlite3_mprintf("%c%s", text ? '+' : '-', text ? text : "");
	int rc = with ? hist_pool_add(&l->texts, with, (uint32_t)len + 1, number) : SQLITE_NOMEM;

	sqlite3_free(with);
	return rc;
}

static int name_of(struct library *l, const int64_t *c, const struct name **name)
{
	const int64_t id[2] = {c[N_LIBRARY], c[N_NAME]};
	sqlite3_stmt *q = l->read_name;
	struct name *new;
	int64_t number;
	int rc = hist_pool_add(&l->ids, (const char *)id, sizeof(id), &number);

	if (rc == SQLITE_OK && (size_t)number == l->names) {
		if (!grow(&l->name, l->names, &l->name_room, sizeof(*l->name)))
			return SQLITE_NOMEM;
		new = &l->name[l->names++];
		sqlite3_bind_int64(q, 1, id[0]);
		sqlite3_bind_int64(q, 2, id[1]);
		rc = sqlite3_step(q);
		if (rc == SQLITE_ROW) {
			rc = add_text(l, q, 0, &new->library);
			if (rc == SQLITE_OK)
				rc = add_text(l, q, 1, &new->function);
			new->gemm = sqlite3_column_int(q, 2);
			new->complex = sqlite3_column_int(q, 3);
		}
		sqlite3_reset(q);
	}
	if (rc == SQLITE_OK)
		*name = &l->name[number];
	return rc;
}

static int key_of(struct library *l, const struct name *name, const struct arguments *a,
		  int64_t *key)
{
	const int64_t told[2] = {name->library, name->function};
	struct key k = {.kind = 0};
	int rc = hist_pool_add(&l->told, (const char *)told, sizeof(told), &k.name);

	if (l->sizes && a->m != HIST_NULL && a->n != HIST_NULL) {
		k.kind = 1;
		k.size[0] = a->m;
		k.size[1] = a->n;
		k.size[2] = a->k;
		k.size[3] = a->batch > 1 ? a->batch : 1;
	} else if (l->sizes && a->bytes != HIST_NULL) {
		k.kind = 2;
		k.size[0] = a->bytes;
	} else if (l->sizes && a->elements != HIST_NULL) {
		k.kind = 3;
		k.size[0] = a->elements;
	}
	if (rc == SQLITE_OK)
		rc = hist_pool_add(&l->keys, (const char *)&k, sizeof(k), key);
	if (rc == SQLITE_OK && (size_t)*key == l->sum_cnt) {
		if (!grow(&l->sums, l->sum_cnt, &l->sum_room, sizeof(*l->sums)))
			return SQLITE_NOMEM;
		l->sums[l->sum_cnt++] = (struct key_sums){.kernels = 0};
	}
	return rc;
}

/* ---- arguments ---- */

static void set_most(int64_t *to, int64_t value)
{
	if (value > *to)
		*to = value;
}

static void add_argument(struct arguments *a, int64_t role, int64_t value)
{
	static const uint32_t complex = 1u << 4 | 1u << 5 | 1u << 6 | 1u << 7 | 1u << 9 | 1u << 11 |
					1u << 13 | 1u << 15 | 1u << 17 | 1u << 19 | 1u << 21 |
					1u << 23 | 1u << 25 | 1u << 27;

	switch (role) {
	case 0:
		set_most(&a->bytes, value);
		break;
	case 26:
		set_most(&a->elements, value);
		break;
	case 33:
		set_most(&a->m, value);
		break;
	case 34:
		set_most(&a->n, value);
		break;
	case 35:
		set_most(&a->k, value);
		break;
	case 36:
		set_most(&a->batch, value);
		break;
	default:
		a->complex |= value >= 0 && value < 32 && complex >> value & 1;
	}
}

/* As SQL multiplies: whole numbers as long as they fit. */
static double product(const struct arguments *a)
{
	const int64_t of[4] = {a->m, a->n, a->k, a->batch != HIST_NULL ? a->batch : 1};
	int64_t whole = of[0];
	double real;
	int i = 1;

	while (i < 4 && !__builtin_mul_overflow(whole, of[i], &whole))
		i++;
	if (i == 4)
		return (double)whole;
	whole = of[0];
	for (int k = 1; k < i; k++)
		whole *= of[k];
	for (real = (double)whole; i < 4; i++)
		real *= (double)of[i];
	return real;
}

static int add_counted(struct library *l, const int64_t *c, const struct arguments *a)
{
	const struct name *name;
	struct group *unused;
	struct key_sums *s;
	int64_t key;
	int rc = name_of(l, c, &name);

	if (rc == SQLITE_OK)
		rc = key_of(l, name, a, &key);
	if (rc != SQLITE_OK)
		return rc;
	s = &l->sums[key];
	s->kernels += c[N_KERNELS];
	s->gpu += c[N_GPU];
	if (name->gemm && a->m != HIST_NULL && a->n != HIST_NULL && a->k != HIST_NULL &&
	    c[N_GPU] > 0) {
		s->work += product(a) * (a->complex || name->complex ? 8.0 : 2.0);
		s->any_work = true;
	}
	return hist_add_value(l->stats, key, c[N_DUR], &unused);
}

static int join_arguments(struct library *l)
{
	const int64_t *call = NULL, *argument = NULL;
	int rc = sorter_rewind(l->arguments);

	if (rc == SQLITE_OK)
		rc = sweep_next(l->arguments, &argument);
	if (rc == SQLITE_OK)
		rc = sweep_next(l->counted, &call);
	while (rc == SQLITE_OK && call) {
		struct arguments a = {HIST_NULL, HIST_NULL, HIST_NULL, HIST_NULL,
				      HIST_NULL, HIST_NULL, false};

		while (rc == SQLITE_OK && argument && argument[0] <= call[N_ID]) {
			if (argument[0] == call[N_ID])
				add_argument(&a, argument[1], argument[2]);
			rc = sweep_next(l->arguments, &argument);
		}
		if (rc == SQLITE_OK)
			rc = add_counted(l, call, &a);
		if (rc == SQLITE_OK)
			rc = sweep_next(l->counted, &call);
	}
	return rc;
}

/* ---- the table of keys ---- */

static void bind_text(sqlite3_stmt *q, int at, const struct library *l, int64_t number)
{
	const struct text *t = &l->texts.text[number];

	if (t->data[0] == '-')
		sqlite3_bind_null(q, at);
	else
		sqlite3_bind_text(q, at, t->data + 1, (int)t->len - 1, SQLITE_STATIC);
}

static int add_keys(sqlite3 *db, const struct library *l)
{
	sqlite3_stmt *q = NULL;
	int rc = sqlite3_prepare_v2(db, add_key, -1, &q, NULL);

	for (size_t i = 0; i < l->sum_cnt && rc == SQLITE_OK; i++) {
		struct key k;
		int64_t told[2];

		memcpy(&k, l->keys.text[i].data, sizeof(k));
		memcpy(told, l->told.text[k.name].data, sizeof(told));
		sqlite3_clear_bindings(q);
		sqlite3_bind_int64(q, 1, (int64_t)i);
		sqlite3_bind_int64(q, 2, l->sums[i].kernels);
		sqlite3_bind_int64(q, 3, l->sums[i].gpu);
		if (l->sums[i].any_work)
			sqlite3_bind_double(q, 4, l->sums[i].work);
		bind_text(q, 5, l, told[0]);
		bind_text(q, 6, l, told[1]);
		sqlite3_bind_int64(q, 7, k.kind);
		for (int s = 0; s < 4; s++)
			if (k.size[s] != HIST_NULL)
				sqlite3_bind_int64(q, 8 + s, k.size[s]);
		rc = sqlite3_step(q) == SQLITE_DONE ? SQLITE_OK : sqlite3_errcode(db);
		sqlite3_reset(q);
	}
	sqlite3_finalize(q);
	return rc;
}

/* ---- all of it ---- */

static int read_all(sqlite3 *db, struct library *l)
{
	int rc = read_launches(db, l->launches);

	if (rc == SQLITE_OK)
		rc = sql_rows(db, read_calls, library_row, l);
	if (rc == SQLITE_OK)
		rc = join_calls(l);
	sorter_free(l->calls);
	sorter_free(l->launches);
	l->calls = l->launches = NULL;
	if (rc == SQLITE_OK)
		rc = sql_rows(db, read_arguments, argument_row, l);
	return rc == SQLITE_OK ? join_arguments(l) : rc;
}

static int count_library(sqlite3 *db, bool sizes, struct hist *stats)
{
	struct library l = {
		.calls = sorter_new(L_WORDS, L_KEYS),
		.launches = sorter_new(4, 2),
		.counted = sorter_new(N_WORDS, N_KEYS),
		.arguments = sorter_new(3, 1),
		.sizes = sizes,
		.stats = stats,
	};
	int rc = SQLITE_NOMEM;

	if (l.calls && l.launches && l.counted && l.arguments)
		rc = sqlite3_prepare_v2(db, read_name, -1, &l.read_name, NULL);
	if (rc == SQLITE_OK)
		rc = read_all(db, &l);
	if (rc == SQLITE_OK)
		rc = add_keys(db, &l);
	sqlite3_finalize(l.read_name);
	sorter_free(l.calls);
	sorter_free(l.launches);
	sorter_free(l.counted);
	sorter_free(l.arguments);
	hist_pool_free(&l.texts);
	hist_pool_free(&l.ids);
	hist_pool_free(&l.told);
	hist_pool_free(&l.keys);
	free(l.name);
	free(l.sums);
	return rc;
}

static void library_calls(sqlite3_context *out, int argc, sqlite3_value **argv)
{
	struct hist *stats = hist_new(sqlite3_user_data(out), 1);
	int rc = stats ? count_library(sqlite3_context_db_handle(out), sqlite3_value_int(argv[0]),
				       stats)
		       : SQLITE_NOMEM;

	(void)argc;
	if (rc == SQLITE_OK)
		sqlite3_result_int64(out, hist_done(stats));
	else
		hist_fail(out, rc);
}

int library_calls_register(sqlite3 *db, struct hist_of_db *tables)
{
	return sqlite3_create_function(db, "sl_library_calls", 1, SQLITE_UTF8 | SQLITE_DIRECTONLY,
				       tables, library_calls, NULL, NULL);
}
