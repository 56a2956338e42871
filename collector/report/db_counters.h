/* db_counters.h - hardware metrics of GPUs, and counters of GPUs and of the machine. Part of db.h, apart for its length. */
#pragma once

#include "collector/report/db.h"

#include <math.h>
#include <string.h>

/* The value of a REAL column for db_row(); NaN and infinity are NULL. */
static inline int64_t db_real(double d)
{
	int64_t bits;

	if (!isfinite(d))
		return DB_NULL;
	d += 0.0; /* -0, whose bits are those of DB_NULL */
	memcpy(&bits, &d, sizeof(bits));
	return bits;
}

/* typeId of a GPU, and that without the GPU (sourceId). @gpu: TARGET_INFO_GPU.id; @instance: MIG GPU instance + 1, or 0. */
#define DB_METRIC_SOURCE (INT64_C(1) << 48 | INT64_C(1) << 32)
static inline int64_t db_metric_type(unsigned gpu, unsigned instance)
{
	return DB_METRIC_SOURCE | (int64_t)(instance & 0xffff) << 8 | (gpu & 0xff);
}

/* A new number for the name of a metric: metricId; the caller gives one to equal names of all GPUs. */
int64_t db_metric_id(struct db *db);
/* A row of TARGET_INFO_GPU_METRICS. */
int db_metric_name(struct db *db, int64_t type_id, const char *type_name, int64_t metric_id,
		   const char *metric_name);
/* A row of GPU_METRICS; @value must be finite. */
static inline void db_metric(struct db *db, int64_t raw, int64_t ns, int64_t type_id,
			     int64_t metric_id, double value)
{
	int64_t *r = db_row(db, DB_GPU_METRICS);
	double whole = nearbyint(value);

	if (whole > 9e18 || whole < -9e18) /* beyond the column's range */
		whole = whole > 0 ? 9e18 : -9e18;
	r[METRIC_RAW_TIMESTAMP] = raw;
	r[METRIC_TIMESTAMP] = ns;
	r[METRIC_TYPE_ID] = type_id;
	r[METRIC_METRIC_ID] = metric_id;
	r[METRIC_VALUE] = (int64_t)whole;
	r[METRIC_EXACT] = whole == value ? DB_NULL : db_real(value);
}

/* A row of SL_GPU_METRIC_SETS. */
struct db_metric_set {
	int64_t id; /* 0: a new one; else that row is replaced */
	int64_t type_id, start;
	const char *uuid, *source, *chip, *set, *reason; /* NULL where the column may be */
	int64_t asked_mhz, real_mhz;                     /* samples per 1000 s */
	int64_t clocks_locked;                           /* DB_NULL: not known */
};
int64_t db_metric_set(struct db *db, const struct db_metric_set *set); /* its id */
int db_metric_gap(struct db *db, int64_t type_id, int64_t start, int64_t end, const char *why);

/* A row of SL_COUNTERS. */
struct db_counter {
	const char *scope;
	int64_t scope_id;       /* DB_NULL: none */
	const char *scope_name; /* NULL: none */
	int64_t gpu;            /* TARGET_INFO_GPU.id; DB_NULL: nothing of a GPU */
	const char *name, *unit;
	bool is_sum;
};
int64_t db_counter(struct db *db, const struct db_counter *counter); /* its id, for samples */
/* A row of SL_COUNTER_SAMPLES. NAN: not known from here on (of a sum: since the sample before). */
static inline void db_counter_sample(struct db *db, int64_t counter, int64_t ns, double value)
{
	int64_t *r = db_row(db, DB_SL_COUNTER_SAMPLES);

	r[COUNTER_COUNTER_ID] = counter;
	r[COUNTER_TIMESTAMP] = ns;
	r[COUNTER_VALUE] = db_real(value);
}

/* A row of SL_GPU_EVENTS; DB_NULL: none. */
int db_gpu_event(struct db *db, int64_t ns, int64_t gpu, const char *kind, int64_t code,
		 int64_t gpu_instance, int64_t compute_instance);
