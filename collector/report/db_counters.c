/*
 * db_counters.c - hardware metrics of GPUs and counters: names, sets, gaps, events; their samples take batches.
 *
 * Numbers of counters and metrics are given out here, so that those of GPUs and those of the machine are of one series,
 * also in the reports that follow one another.
 */
#include "collector/report/db_counters.h"
#include "collector/report/db_internal.h"

int64_t db_metric_id(struct db *db)
{
	return ++db->ops.ids.metric;
}

int db_metric_name(struct db *db, int64_t type_id, const char *type_name, int64_t metric_id,
		   const char *metric_name)
{
	return db_put_TARGET_INFO_GPU_METRICS(
		db,
		&(struct db_row_TARGET_INFO_GPU_METRICS){.typeId = type_id,
							 .sourceId = type_id & ~INT64_C(0xffffffff),
							 .typeName = type_name,
							 .metricId = metric_id,
							 .metricName = metric_name});
}

int64_t db_metric_set(struct db *db, const struct db_metric_set *s)
{
	int64_t id = s->id ? s->id : ++db->ops.ids.set;

	db_put_SL_GPU_METRIC_SETS(
		db, &(struct db_row_SL_GPU_METRIC_SETS){.id = id,
							.typeId = s->type_id,
							.start = s->start,
							.uuid = s->uuid,
							.source = s->source,
							.chip = s->chip,
							.setName = s->set,
							.askedHz = (double)s->asked_mhz / 1000,
							.realHz = (double)s->real_mhz / 1000,
							.clocksLocked = s->clocks_locked,
							.reason = s->reason});
	return id;
}

int db_metric_gap(struct db *db, int64_t type_id, int64_t start, int64_t end, const char *why)
{
	return db_put_SL_GPU_METRIC_GAPS(
		db, &(struct db_row_SL_GPU_METRIC_GAPS){
			    .typeId = type_id, .start = start, .end = end, .why = why});
}

int64_t db_counter(struct db *db, const struct db_counter *c)
{
	int64_t id = ++db->ops.ids.counter;

	db_put_SL_COUNTERS(db, &(struct db_row_SL_COUNTERS){.id = id,
							    .scope = c->scope,
							    .scopeId = c->scope_id,
							    .scopeName = c->scope_name,
							    .gpuId = c->gpu,
							    .name = c->name,
							    .unit = c->unit,
							    .isSum = c->is_sum});
	return id;
}

int db_gpu_event(struct db *db, int64_t ns, int64_t gpu, const char *kind, int64_t code,
		 int64_t gpu_instance, int64_t compute_instance)
{
	return db_put_SL_GPU_EVENTS(
		db, &(struct db_row_SL_GPU_EVENTS){.timestamp = ns,
						   .gpuId = gpu,
						   .kind = kind,
						   .code = code,
						   .gpuInstance = gpu_instance,
						   .computeInstance = compute_instance});
}

static int load_one(struct db *db, const char *table, const char *column, int64_t *to)
{
	char sql[128];
	sqlite3_stmt *stmt;
	int err;

	if (!db_table_exists(db, table))
		return 0;
	sqlite3_snprintf(sizeof(sql), sql, "SELECT max(%s) FROM main.%s", column, table);
	err = db_prepare(db, sql, &stmt);
	if (err)
		return err;
	if (sqlite3_step(stmt) == SQLITE_ROW)
		*to = sqlite3_column_int64(stmt, 0);
	return db_errno(sqlite3_finalize(stmt));
}

int db_counters_load(struct db *db)
{
	int err = load_one(db, "SL_COUNTERS", "id", &db->ops.ids.counter);

	if (!err)
		err = load_one(db, "SL_GPU_METRIC_SETS", "id", &db->ops.ids.set);
	if (!err)
		err = load_one(db, "TARGET_INFO_GPU_METRICS", "metricId", &db->ops.ids.metric);
	return err;
}
