/* tl_spans.c - spans become known in the order of their ends, and are a source in the order of their starts. */
#include "tl_test.h"

struct spans {
	struct said said;
	struct tl_options opt;
	struct tl_run run;
	struct tl_source source;
	struct tl_track *stream;
};

static const struct tl_sink sink = {on_track, on_event, NULL};

static void begin(struct spans *s, unsigned show)
{
	memset(s, 0, sizeof(*s));
	s->said.show = show;
	s->said.last = INT64_MIN;
	s->said.file = open_memstream(&s->said.text, &s->said.len);
	s->run.db = report_of("strings: (4, 'by id');");
	s->run.opt = &s->opt;
	s->run.sink = &sink;
	s->run.self = &s->said;
	s->run.names = tl_names_new(s->run.db);
	s->run.tracks = tl_tracks_new(s->run.db, s->run.names, &sink, &s->said);
	s->run.spans = tl_spans_new();
	assert_non_null(s->run.spans);
	s->stream = tl_track_stream(s->run.tracks, GLOBAL(70, 0), 0, 1, 7);
}

static void add(struct spans *s, int64_t start, int64_t end, const char *name, const char *domain)
{
	struct tl_span span = {.start = start,
			       .end = end,
			       .row = start + 1,
			       .operations = end,
			       .name = {name ? 0 : 5, name, name ? strlen(name) : 0},
			       .thread = GLOBAL(70, 71),
			       .stream = s->stream};

	if (domain)
		span.domain = (struct tl_text){0, domain, strlen(domain)};
	assert_int_equal(tl_spans_add(s->run.spans, &span), 0);
}

/* All of it as text; how many. */
static int64_t end(struct spans *s, char **text)
{
	int rc = tl_spans_open(&s->run, &s->source);

	while (rc > 0) {
		struct tl_event e = {.ts = s->source.ts,
				     .path = -1,
				     .table = s->source.def->table,
				     .category = s->source.def->category};

		assert_int_equal(tl_spans_row(&s->run, &s->source, &e), 0);
		rc = tl_spans_step(&s->source);
	}
	assert_int_equal(rc, 0);
	fclose(s->said.file);
	tl_spans_free(s->run.spans);
	tl_tracks_free(s->run.tracks);
	tl_names_free(s->run.names);
	sqlite3_close(s->run.db);
	*text = s->said.text;
	return (int64_t)s->run.events;
}

static void check_spans(struct spans *s, const char *want)
{
	char *text;

	end(s, &text);
	assert_string_equal(text, want);
	free(text);
}

static void no_spans_are_no_rows(void **state)
{
	struct spans s;

	(void)state;
	begin(&s, 0);
	check_spans(&s, "");
}

static void spans_come_by_start_the_longer_and_the_later_known_first(void **state)
{
	struct spans s;

	(void)state;
	begin(&s, SHOW_ROWS);
	add(&s, 30, 40, "c", NULL);
	add(&s, 10, 40, "inner", NULL);
	add(&s, 10, 40, "outer", NULL);
	add(&s, 10, 50, "longer", NULL);
	add(&s, -20, -20, "none", NULL);
	/* Without an end, and by the id of its name, which is 4 + 1. */
	add(&s, 60, INT64_MAX, NULL, NULL);
	check_spans(&s,
		    "ranges of 71 on stream 7: -20 +0 'none' {operations=-20} "
		    "(NVTX_EVENTS -19, gpu_user_annotation)\n"
		    "ranges of 71 on stream 7: 10 +40 'longer' {operations=50} "
		    "(NVTX_EVENTS 11, gpu_user_annotation)\n"
		    "ranges of 71 on stream 7: 10 +30 'outer' {operations=40} "
		    "(NVTX_EVENTS 11, gpu_user_annotation)\n"
		    "ranges of 71 on stream 7: 10 +30 'inner' {operations=40} "
		    "(NVTX_EVENTS 11, gpu_user_annotation)\n"
		    "ranges of 71 on stream 7: 30 +10 'c' {operations=40} "
		    "(NVTX_EVENTS 31, gpu_user_annotation)\n"
		    "ranges of 71 on stream 7: 60 open 'by id' {operations=9223372036854775807} "
		    "(NVTX_EVENTS 61, gpu_user_annotation)\n");
}

static void a_thread_has_a_track_on_each_stream_that_is_announced_once(void **state)
{
	struct tl_span span = {.start = 1, .end = 2, .name = {0, "x", 1}, .thread = GLOBAL(70, 71)};
	struct spans s;

	(void)state;
	begin(&s, SHOW_TRACKS);
	/* Another thread, device, context, process and stream each are another track; 3 rounds, that each occurs again. */
	for (int round = 0; round < 3; round++) {
		span.stream = s.stream;
		tl_spans_add(s.run.spans, &span);
		span.thread = GLOBAL(70, 72);
		tl_spans_add(s.run.spans, &span);
		span.thread = GLOBAL(70, 71);
		span.stream = tl_track_stream(s.run.tracks, GLOBAL(70, 0), 1, 1, 7);
		tl_spans_add(s.run.spans, &span);
		span.stream = tl_track_stream(s.run.tracks, GLOBAL(70, 0), 0, 2, 7);
		tl_spans_add(s.run.spans, &span);
		span.stream = tl_track_stream(s.run.tracks, GLOBAL(80, 0), 0, 1, 7);
		tl_spans_add(s.run.spans, &span);
		span.stream = tl_track_stream(s.run.tracks, GLOBAL(70, 0), 0, 1, 8);
		tl_spans_add(s.run.spans, &span);
	}
	/* 2 processes, 3 GPUs and 5 streams before. */
	assert_int_equal(s.said.tracks, 10);
	check_spans(&s, "1: process 70 '' in 0, pid 70 tid 0 sort 70\n"
			"2: gpu 0 of 70 'GPU 0' in 1, pid 16777216 tid 0 sort 0\n"
			"3: stream 7 'stream 7' in 2, pid 16777216 tid 7 sort 14\n"
			"4: gpu 1 of 70 'GPU 1' in 1, pid 16777217 tid 0 sort 1\n"
			"5: stream 7 'stream 7' in 4, pid 16777217 tid 7 sort 14\n"
			"6: stream 7 'stream 7' in 2, pid 16777216 tid 16777218 sort 14\n"
			"7: process 80 '' in 0, pid 80 tid 0 sort 80\n"
			"8: gpu 0 of 80 'GPU 0' in 7, pid 16777219 tid 0 sort 0\n"
			"9: stream 7 'stream 7' in 8, pid 16777219 tid 7 sort 14\n"
			"10: stream 8 'stream 8' in 2, pid 16777216 tid 8 sort 16\n"
			"11: ranges of 71 on stream 8 'NVTX of thread 71 on stream 8' in 2, pid "
			"16777216 tid "
			"16777220 sort 15\n"
			"ranges of 71 on stream 8: 1 +1 'x' {operations=0}\n"
			"12: ranges of 71 on stream 7 'NVTX of thread 71 on stream 7' in 8, pid "
			"16777219 tid "
			"16777221 sort 13\n"
			"ranges of 71 on stream 7: 1 +1 'x' {operations=0}\n"
			"13: ranges of 71 on stream 7 'NVTX of thread 71 on stream 7' in 2, pid "
			"16777216 tid "
			"16777222 sort 13\n"
			"ranges of 71 on stream 7: 1 +1 'x' {operations=0}\n"
			"14: ranges of 71 on stream 7 'NVTX of thread 71 on stream 7' in 4, pid "
			"16777217 tid "
			"16777223 sort 13\n"
			"ranges of 71 on stream 7: 1 +1 'x' {operations=0}\n"
			"15: ranges of 72 on stream 7 'NVTX of thread 72 on stream 7' in 2, pid "
			"16777216 tid "
			"16777224 sort 13\n"
			"ranges of 72 on stream 7: 1 +1 'x' {operations=0}\n"
			"16: ranges of 71 on stream 7 'NVTX of thread 71 on stream 7' in 2, pid "
			"16777216 tid "
			"16777225 sort 13\n"
			"ranges of 71 on stream 7: 1 +1 'x' {operations=0}\n"
			"ranges of 71 on stream 8: 1 +1 'x' {operations=0}\n"
			"ranges of 71 on stream 7: 1 +1 'x' {operations=0}\n"
			"ranges of 71 on stream 7: 1 +1 'x' {operations=0}\n"
			"ranges of 71 on stream 7: 1 +1 'x' {operations=0}\n"
			"ranges of 72 on stream 7: 1 +1 'x' {operations=0}\n"
			"ranges of 71 on stream 7: 1 +1 'x' {operations=0}\n"
			"ranges of 71 on stream 8: 1 +1 'x' {operations=0}\n"
			"ranges of 71 on stream 7: 1 +1 'x' {operations=0}\n"
			"ranges of 71 on stream 7: 1 +1 'x' {operations=0}\n"
			"ranges of 71 on stream 7: 1 +1 'x' {operations=0}\n"
			"ranges of 72 on stream 7: 1 +1 'x' {operations=0}\n"
			"ranges of 71 on stream 7: 1 +1 'x' {operations=0}\n");
}

static void texts_of_names_and_domains_are_kept(void **state)
{
	struct spans s;
	char name[2001], *text, want[2400];

	(void)state;
	begin(&s, 0);
	memset(name, 'n', 2000);
	name[2000] = '\0';
	add(&s, 3, 4, name, "two");
	add(&s, 1, 2, "", "one");
	add(&s, 5, 6, "three", "");
	name[3] = '\0';
	add(&s, 7, 8, NULL, name);
	assert_int_equal(end(&s, &text), 4);
	name[3] = 'n';
	snprintf(want, sizeof(want),
		 "ranges of 71 on stream 7: 1 +1 '' {domain='one', operations=2}\n"
		 "ranges of 71 on stream 7: 3 +1 '%s' {domain='two', operations=4}\n"
		 "ranges of 71 on stream 7: 5 +1 'three' {domain='', operations=6}\n"
		 "ranges of 71 on stream 7: 7 +1 'by id' {domain='nnn', operations=8}\n",
		 name);
	assert_string_equal(text, want);
	free(text);
}

static void a_sink_without_arguments_gets_none(void **state)
{
	struct spans s;

	(void)state;
	begin(&s, 0);
	s.opt.no_args = true;
	s.opt.shift = 100;
	add(&s, 3, 4, "a", "domain");
	check_spans(&s, "ranges of 71 on stream 7: 103 +1 'a'\n");
}

static void spans_in_any_order_come_sorted(void **state)
{
	struct spans s;
	char *text, *line;
	int64_t last = 0;

	(void)state;
	begin(&s, 0);
	/* 7919 is no divisor of 20,000: each start once, all of one length, so that each follows the one before it. */
	for (int64_t i = 0; i < 20000; i++)
		add(&s, i * 7919 % 20000 * 10, i * 7919 % 20000 * 10 + 10, NULL, NULL);
	assert_int_equal(end(&s, &text), 20000);
	line = text;
	for (; last < 20000; last++) {
		char want[100];

		snprintf(want, sizeof(want),
			 "ranges of 71 on stream 7: %lld +10 'by id' {operations=%lld}\n",
			 (long long)last * 10, (long long)last * 10 + 10);
		assert_memory_equal(line, want, strlen(want));
		line += strlen(want);
	}
	assert_string_equal(line, "");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_spans_are_no_rows),
		cmocka_unit_test(spans_come_by_start_the_longer_and_the_later_known_first),
		cmocka_unit_test(a_thread_has_a_track_on_each_stream_that_is_announced_once),
		cmocka_unit_test(texts_of_names_and_domains_are_kept),
		cmocka_unit_test(a_sink_without_arguments_gets_none),
		cmocka_unit_test(spans_in_any_order_come_sorted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
