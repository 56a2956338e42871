/* lttng.h - the two tracepoints of shim.c; LTTng-UST includes it several times, hence the shape. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER bench
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "tests/bench/lttng.h"

#if !defined(BENCH_LTTNG_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define BENCH_LTTNG_H

#include <lttng/tracepoint.h>
#include <stdint.h>

LTTNG_UST_TRACEPOINT_EVENT(bench, entry, LTTNG_UST_TP_ARGS(int, id, int, arg),
			   LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int, id, id)
						       lttng_ust_field_integer(int, arg, arg)))
LTTNG_UST_TRACEPOINT_EVENT(bench, leave, LTTNG_UST_TP_ARGS(int, id, int64_t, ret),
			   LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int, id, id)
						       lttng_ust_field_integer(int64_t, ret, ret)))
#endif

#include <lttng/tracepoint-event.h>
