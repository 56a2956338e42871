/*
 * tl_counters.c - event counters as values over time: what stands in a row for an interval becomes a rate from its start on,
 * and 0 from its end where no other interval of that CPU follows (intervals in which nothing was counted have no row).
 */
#include "exporters/timeline/tl_internal.h"

int tl_counters(struct tl_run *r)
{
	static const char make[] =
		"DROP TABLE IF EXISTS temp.SL_TL_EVENTS;"
		"CREATE TEMP TABLE SL_TL_EVENTS AS WITH interval AS MATERIALIZED ("
		" SELECT start, end, cpu, counter_id,"
		" lead(start) OVER (PARTITION BY cpu ORDER BY start) AS next FROM PMU_EVENTS"
		") SELECT start AS timestamp, idx, cpu,"
		" CAST(round(1e9 * value / nullif(end - start, 0)) AS INTEGER) AS value"
		" FROM interval JOIN PMU_EVENT_COUNTERS AS c ON c.id = counter_id"
		" UNION ALL SELECT end, idx, cpu, 0"
		" FROM interval JOIN PMU_EVENT_COUNTERS AS c ON c.id = counter_id"
		" WHERE next IS NULL OR next > end ORDER BY 1, 3, 2";

	if (!(r->opt->activities & TL_ACT_METRIC) || !tl_has_column(r->db, "PMU_EVENTS", "start") ||
	    !tl_has_column(r->db, "PMU_EVENT_COUNTERS", "value"))
		return 0;
	return sqlite3_exec(r->db, make, NULL, NULL, NULL) == SQLITE_OK ? 0 : -1;
}
