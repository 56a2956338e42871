/* fmt_speedscope.c - profiles of speedscope: what opens and closes, samples, weights, more entries than a block holds. */
#include "fmt_test.h"

extern const struct exporter exporter_speedscope;

#define HEAD                                                                                  \
	"{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\"exporter\":"   \
	"\"sightline " SL_VERSION "\",\"name\":\"report.sqlite\",\"activeProfileIndex\":0,\"" \
	"profiles\":["

static const char *of(const char *sql, struct export_options opt)
{
	fmt_report(sql);
	return fmt_export(&exporter_speedscope, &opt);
}

static void an_empty_report_has_no_profile(void **state)
{
	(void)state;
	fmt_same(of("", (struct export_options){0}), HEAD "],\n\"shared\":{\"frames\":[]}}\n");
}

static void ranges_open_and_close(void **state)
{
	(void)state;
	fmt_same(
		of(NAMED RANGE(-10, 50, "'a\"'", T1) RANGE(0, 20, "'b'", T1)
			   RANGE(50, 60, "'b'", T1) RANGE(5, NULL, "'open'", T1B),
		   (struct export_options){0}),
		HEAD
		"\n{\"name\":\"app 100, main thread 100\",\"type\":\"evented\",\"unit\":"
		"\"nanoseconds\",\"startValue\":-10,\"endValue\":60,\"events\":["
		"\n{\"type\":\"O\",\"frame\":2,\"at\":-10},\n{\"type\":\"O\",\"frame\":3,\"at\":0},"
		"\n{\"type\":\"C\",\"frame\":3,\"at\":20},\n{\"type\":\"C\",\"frame\":2,\"at\":50},"
		"\n{\"type\":\"O\",\"frame\":3,\"at\":50},\n{\"type\":\"C\",\"frame\":3,\"at\":60}]"
		"},"
		"\n{\"name\":\"app 100, worker 101\",\"type\":\"evented\",\"unit\":"
		"\"nanoseconds\",\"startValue\":5,\"endValue\":60,\"events\":["
		"\n{\"type\":\"O\",\"frame\":5,\"at\":5},\n{\"type\":\"C\",\"frame\":5,\"at\":60}]}"
		"],\n"
		"\"shared\":{\"frames\":[\n{\"name\":\"app\"},\n{\"name\":\"main thread\"},"
		"\n{\"name\":\"a\\\"\"},\n{\"name\":\"b\"},\n{\"name\":\"worker\"},"
		"\n{\"name\":\"open\"}]}}\n");
}

/* A block holds 256 entries; 255, 256 and 257 ranges, two entries each, of two threads in turn. */
static void more_entries_than_a_block(void **state)
{
	(void)state;
	for (int ranges = 127; ranges <= 257; ranges += ranges == 129 ? 126 : 1) {
		char sql[1024];
		const char *p;

		snprintf(sql, sizeof(sql),
			 "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < "
			 "%d) "
			 "INSERT INTO NVTX_EVENTS (start, end, eventType, text, globalTid) "
			 "SELECT i * 10 + t, i * 10 + 5 + t, 59, 'r', " T1
			 " + t FROM n, (SELECT 0 AS t UNION SELECT 1)",
			 ranges - 1);
		p = of(sql, (struct export_options){0});
		for (int t = 0; t < 2; t++) {
			p = strstr(p, "\"events\":[");
			assert_non_null(p);
			for (int i = 0; i < ranges; i++) {
				char want[128];
				int len = snprintf(want, sizeof(want),
						   "%s\n{\"type\":\"O\",\"frame\":2,\"at\":%d},"
						   "\n{\"type\":\"C\",\"frame\":2,\"at\":%d}",
						   i ? "," : "\"events\":[", i * 10 + t,
						   i * 10 + 5 + t);

				assert_memory_equal(p, want, len);
				p += len;
			}
			assert_memory_equal(p, "]}", 2);
		}
	}
}

#define STACKS                                                                                 \
	"INSERT INTO StringIds VALUES (11, 'main'), (12, 'leaf'), (13, 'libx.so');"            \
	"INSERT INTO SL_FRAMES (id, kind, symbol, module, inlined) VALUES (1, 0, 11, 13, 0), " \
	"(2, 0, 12, 13, 0);"                                                                   \
	"INSERT INTO SL_STACKS VALUES (1, 0, 2), (1, 1, 1), (2, 0, 1);"

static void samples_one_by_one(void **state)
{
	(void)state;
	fmt_same(of(NAMED STACKS "INSERT INTO COMPOSITE_EVENTS (id, start, cpu, globalTid, "
				 "cpuCycles, stackId) VALUES "
				 "(1, 10, 0, " T1 ", 1, 1), (2, 20, 0, " T1
				 ", 1, 2), (3, 30, 0, " T1 ", 1, 1), "
				 "(4, 40, 0, " T1B ", 1, NULL)",
		    (struct export_options){0}),
		 HEAD
		 "\n{\"name\":\"app 100, main thread 100\",\"type\":\"sampled\",\"unit\":\"none\","
		 "\"samples\":[\n[3,2],\n[3],\n[3,2]],\"weights\":[1,1,1],\"startValue\":0,"
		 "\"endValue\":3}],\n\"shared\":{\"frames\":[\n{\"name\":\"app\"},"
		 "\n{\"name\":\"main thread\"},\n{\"name\":\"leaf\"},\n{\"name\":\"main\"},"
		 /* a thread without a stack has no profile, but it is known */
		 "\n{\"name\":\"worker\"}]}}\n");
}

/* 300 samples of two frames: a stack lies across the end of a block. */
static void samples_across_blocks(void **state)
{
	const char *p;

	(void)state;
	p = of(STACKS
	       "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300) "
	       "INSERT INTO COMPOSITE_EVENTS (id, start, cpu, globalTid, cpuCycles, stackId) "
	       "SELECT i, i, 0, " T1 ", 1, 1 + (i = 1) FROM n",
	       (struct export_options){0});
	assert_non_null(strstr(p, "\"samples\":[\n[2],\n[2,3],\n[2,3],"));
	assert_int_equal(fmt_count(p, "\n[2,3]"), 299);
	assert_non_null(strstr(p, "\n[2,3]],\"weights\":[1,1,1,"));
	assert_non_null(strstr(p, ",1],\"startValue\":0,\"endValue\":300}]"));
}

static void weights_have_a_profile_each(void **state)
{
	const struct export_options opt = {.flame = COST_BIT(COST_CPU) | COST_BIT(COST_OFF_CPU) |
						    COST_BIT(COST_CALLS)};

	(void)state;
	fmt_same(of(NAMED STACKS "INSERT INTO StringIds VALUES (7, 'read');" CALL(0, 30, 7, T1)
			    CALL(50, 51, 7, T1)
				    CALL(60, 60, 7, T2) "INSERT INTO COMPOSITE_EVENTS (id, start, "
							"cpu, globalTid, cpuCycles, stackId) "
							"VALUES (1, 10, 0, " T1B
							", 1, 1), (2, 20, 0, " T1B ", 1, 1)",
		    opt),
		 HEAD
		 "\n{\"name\":\"cpu\",\"type\":\"sampled\",\"unit\":\"none\",\"samples\":["
		 "\n[4,5,1,0]],\"weights\":[2],\"startValue\":0,\"endValue\":2},"
		 "\n{\"name\":\"off-cpu\",\"type\":\"sampled\",\"unit\":\"nanoseconds\","
		 "\"samples\":["
		 "\n[6,7,2,3]],\"weights\":[31],\"startValue\":0,\"endValue\":31},"
		 "\n{\"name\":\"calls\",\"type\":\"sampled\",\"unit\":\"none\",\"samples\":["
		 "\n[6,7,2,3],\n[8,9,2,3]],\"weights\":[2,1],\"startValue\":0,\"endValue\":3}],\n"
		 "\"shared\":{\"frames\":[\n{\"name\":\"leaf\"},\n{\"name\":\"main\"},"
		 "\n{\"name\":\"[no stack]\"},\n{\"name\":\"read\"},"
		 "\n{\"name\":\"app\"},\n{\"name\":\"worker\"},"
		 "\n{\"name\":\"app\"},\n{\"name\":\"main thread\"},"
		 "\n{\"name\":\"other\"},\n{\"name\":\"thread\"}]}}\n");
}

static void nothing_to_weigh(void **state)
{
	(void)state;
	fmt_same(
		of("", (struct export_options){.flame = COST_BIT(COST_GPU)}), HEAD
		"\n{\"name\":\"gpu\",\"type\":\"sampled\",\"unit\":\"nanoseconds\",\"samples\":[],"
		"\"weights\":[],\"startValue\":0,\"endValue\":0}],\n\"shared\":{\"frames\":[]}}\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_report_has_no_profile),
		cmocka_unit_test(ranges_open_and_close),
		cmocka_unit_test(more_entries_than_a_block),
		cmocka_unit_test(samples_one_by_one),
		cmocka_unit_test(samples_across_blocks),
		cmocka_unit_test(weights_have_a_profile_each),
		cmocka_unit_test(nothing_to_weigh),
	};

	return cmocka_run_group_tests(tests, fmt_set_up, fmt_tear_down);
}
