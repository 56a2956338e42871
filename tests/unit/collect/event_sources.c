/* event_sources.c - the loops over the event sources: which members are called, for which sources, in which order. */
#include "tests/unit/report/db_test.h"

#include "collector/collect/event_sources.h"

/* Letters of the sources, in the order of their calls. */
static char calls[64];
static int64_t given; /* the last time, number or flag */
static const char *fails,
	*lacks; /* letters of sources that do not open; of those without anything up to a moment */
static unsigned opened;
static struct recording *recording;

static void note(const void *self)
{
	strncat(calls, self, 1);
}

/* A source's state is its letter. */
static bool open_as(char *self, struct recording *r, char letter)
{
	assert_int_equal(*self, 0);
	*self = letter;
	note(self);
	opened++;
	if (strchr(fails, letter))
		recording_say(r, SAY_WARNING, "no %c", letter);
	return !strchr(fails, letter);
}

static void call(void *self)
{
	note(self);
}

static void call_at(void *self, int64_t mono)
{
	note(self);
	given = mono;
}

static bool has_come(const void *self, int64_t mono)
{
	note(self);
	given = mono;
	return !strchr(lacks, *(const char *)self);
}

static int follow(void *self, const struct source_process *p)
{
	note(self);
	given = p->pid;
	return *(const char *)self == 'b' ? -ESRCH : 0;
}

static int poll(void *self, bool all)
{
	note(self);
	given = all;
	return *(const char *)self - 'a' + 1;
}

static unsigned fill(const void *self)
{
	note(self);
	return *(const char *)self == 'c' ? 70 : 10;
}

static unsigned kinds(const void *self)
{
	note(self);
	return 1u << (*(const char *)self - 'a');
}

#define ALL_MEMBERS                                                                        \
	.start.ready = call, .follow = follow,                                             \
	.capture = {call, call_at, call, call_at, has_come}, .poll = poll, .fill = fill,   \
	.kinds = kinds, .note_losses = call, .rotate = call, .finish = call, .stop = call, \
	.close = call
#define SOURCE(letter, held, ...)                                                  \
	static bool open_##letter(void *self, struct recording *r)                 \
	{                                                                          \
		return open_as(self, r, #letter[0]);                               \
	}                                                                          \
	static const struct event_source source_##letter = {.name = #letter,       \
							    .can.be_held = (held), \
							    .bytes = 1,            \
							    .open = open_##letter, \
							    __VA_ARGS__};
SOURCE(a, true, ALL_MEMBERS)
SOURCE(b, true, ALL_MEMBERS)
SOURCE(c, false, ALL_MEMBERS)
SOURCE(d, false, ALL_MEMBERS)
SOURCE(e, true, ALL_MEMBERS)
SOURCE(f, true)

static const struct event_sources sources = {
	.list = {&source_a, &source_b, &source_c, &source_d, &source_e, &source_f}};

static struct open_report report;
static struct clocks clocks;
static struct profile_options options;

/* A collection whose sources are those above; @not_opening: letters of sources that fail. */
static void begin_with(const char *not_opening)
{
	static struct recording r;

	r = (struct recording){
		.sources = &sources, .options = &options, .report = &report, .clocks = &clocks};
	recording = &r;
	report.is_quiet = true;
	report.db = test_open(false);
	fails = not_opening;
	lacks = "";
	calls[0] = 0;
	opened = 0;
	sources_open(&r);
}

static void end(void)
{
	sources_close(recording);
	db_abandon(report.db);
}

/* What was called since the last time. */
static const char *called(void)
{
	static char last[sizeof(calls)];

	memcpy(last, calls, sizeof(calls));
	calls[0] = 0;
	return last;
}

#define CALLED(call, letters) ((call), assert_string_equal(called(), letters))

static void members_are_called_in_the_order_of_the_list(void **state)
{
	const struct source_process p = {.pid = 7};

	(void)state;
	begin_with("");
	CALLED((void)0, "abcdef");
	CALLED(sources_ready(recording), "abcde");
	CALLED(sources_before_begin(recording), "abcde");
	CALLED(sources_begin(recording, 11), "abcde");
	assert_int_equal(given, 11);
	CALLED(sources_before_end(recording), "abcde");
	CALLED(sources_end(recording, 12), "abcde");
	assert_int_equal(given, 12);
	assert_int_equal(sources_follow(recording, &p), -ESRCH);
	assert_int_equal(given, 7);
	CALLED((void)0, "abcde");
	assert_int_equal(sources_poll(recording, true), 15);
	assert_int_equal(given, true);
	CALLED((void)0, "abcde");
	assert_int_equal(sources_fill(recording), 70);
	CALLED((void)0, "abcde");
	assert_int_equal(sources_kinds(recording), 31);
	CALLED((void)0, "abcde");
	CALLED(sources_note_losses(recording), "abcde");
	CALLED(sources_rotate(recording), "abcde");
	CALLED(sources_finish(recording), "abcde");
	end();
}

static void stop_and_close_go_the_other_way(void **state)
{
	(void)state;
	begin_with("");
	called();
	CALLED(sources_stop(recording), "edcba");
	CALLED(sources_close(recording), "edcba");
	CALLED(sources_close(recording), "");
	CALLED(sources_begin(recording, 1), "");
	end();
}

static void source_that_fails_to_open_is_said_once_and_the_others_go_on(void **state)
{
	(void)state;
	begin_with("bd");
	CALLED((void)0, "abcdef");
	for (int i = 0; i < 2; i++) {
		CALLED(sources_before_begin(recording), "ace");
		CALLED(sources_begin(recording, i), "ace");
		CALLED(sources_poll(recording, false), "ace");
		CALLED(sources_end(recording, i), "ace");
		CALLED(sources_note_losses(recording), "ace");
		CALLED(sources_rotate(recording), "ace");
	}
	CALLED(sources_stop(recording), "eca");
	CALLED(sources_close(recording), "eca");
	assert_int_equal(opened, 6);
	assert_int_equal(db_commit(report.db, 1), 0);
	assert_string_equal(ask("SELECT group_concat(text) FROM DIAGNOSTIC_EVENT"), "no b,no d");
	end();
}

/* A report waits for all; the first that lacks something decides. */
static void report_waits_for_the_events_of_every_source(void **state)
{
	(void)state;
	begin_with("");
	called();
	assert_true(sources_have_come(recording, 5));
	assert_int_equal(given, 5);
	CALLED((void)0, "abcde");
	lacks = "ce";
	assert_false(sources_have_come(recording, 5));
	CALLED((void)0, "abc");
	end();
}

/* `attach` follows thousands of processes: one that has ended costs no more than that. */
static void process_that_runs_is_asked_for_until_one_fails(void **state)
{
	const struct source_process p = {.pid = 7, .is_running = true};

	(void)state;
	begin_with("");
	called();
	assert_int_equal(sources_follow(recording, &p), -ESRCH);
	CALLED((void)0, "ab");
	end();
}

static void flight_recorder_opens_what_can_be_held(void **state)
{
	(void)state;
	options.capture.flight_ns = 1;
	begin_with("");
	options.capture.flight_ns = 0;
	CALLED((void)0, "abef");
	CALLED(sources_begin(recording, 1), "abe");
	CALLED(sources_close(recording), "eba");
	end();
}

/* Block requests and samples use the maps of the process tree. */
static void list_of_collections_has_the_process_tree_before_its_users(void **state)
{
	unsigned tree = EVENT_SOURCES;
	static const char *const users[] = {"CPU samples", "requests to block devices"};

	(void)state;
	for (unsigned i = 0; i < EVENT_SOURCES && event_sources.list[i]; i++) {
		const struct event_source *s = event_sources.list[i];

		assert_true(s && s->name && s->open && s->poll && s->close);
		if (!strcmp(s->name, "context switches"))
			tree = i;
		for (unsigned u = 0; u < 2; u++)
			assert_true(strcmp(s->name, users[u]) != 0 || tree < i);
	}
	assert_true(tree < EVENT_SOURCES);
}

/* ---- recording.h ---- */

static void rows_of_sources_add_up_until_the_commit(void **state)
{
	struct event_rows pending[ROWS_KINDS] = {{0}};

	(void)state;
	begin_with("");
	recording->rows.pending = pending;
	report.is_busy = false;
	recording_wrote(recording, ROWS_BLOCK, &(struct event_rows){0, 5, 6});
	assert_false(report.is_busy);
	recording_wrote(recording, ROWS_BLOCK, &(struct event_rows){2, 5, 6});
	recording_wrote(recording, ROWS_BLOCK, &(struct event_rows){3, 7, 9});
	assert_true(report.is_busy);
	assert_int_equal(pending[ROWS_BLOCK].cnt, 5);
	assert_int_equal(pending[ROWS_BLOCK].first, 5);
	assert_int_equal(pending[ROWS_BLOCK].last, 9);
	assert_int_equal(pending[ROWS_SWITCH].cnt, 0);
	end();
}

static void rows_of_failed_commits_are_lost_by_their_kind(void **state)
{
	struct event_rows pending[ROWS_KINDS] = {
		[ROWS_CALL] = {4, 10, 20}, [ROWS_FAULT] = {1, 3, 3}};

	(void)state;
	begin_with("");
	recording->rows.pending = pending;
	recording_failed(recording);
	pending[ROWS_FAULT] = (struct event_rows){0};
	recording_failed(recording);
	assert_int_equal(recording_lost_rows(recording, "disk full"), 9);
	assert_int_equal(recording_lost_rows(recording, "disk full"), 0);
	assert_int_equal(db_commit(report.db, 1), 0);
	assert_string_equal(
		ask("SELECT group_concat(what || ' ' || count || ' ' || start || ' ' || end, ';') "
		    "FROM SL_LOST_EVENTS"),
		"system calls: disk full 8 10 20;page faults: disk full 1 3 3");
	end();
}

static void losses_have_a_row_where_there_are_any(void **state)
{
	(void)state;
	begin_with("");
	recording_lost(recording, "none", 0);
	recording_lost(recording, "some", 3);
	recording_number(recording, "NUMBER", -4);
	assert_int_equal(db_commit(report.db, 1), 0);
	assert_string_equal(ask("SELECT group_concat(what || count) FROM SL_LOST_EVENTS"), "some3");
	assert_string_equal(ask("SELECT value FROM META_DATA_CAPTURE WHERE name = 'NUMBER'"), "-4");
	end();
}

static void digits_are_grouped_by_three(void **state)
{
	char text[32];

	(void)state;
	assert_string_equal(recording_grouped(0, text), "0");
	assert_string_equal(recording_grouped(999, text), "999");
	assert_string_equal(recording_grouped(1000, text), "1,000");
	assert_string_equal(recording_grouped(12345678, text), "12,345,678");
	assert_string_equal(recording_grouped(UINT64_MAX, text), "18,446,744,073,709,551,615");
}

/* ---- sources that are opened late ---- */

SOURCE(g, true, ALL_MEMBERS)
static const struct event_source source_h = {.name = "h",
					     .can.be_late = true,
					     .can.be_held = true,
					     .bytes = 1,
					     .open = open_b,
					     ALL_MEMBERS};

static void sources_that_may_be_late_are_opened_followed_and_begun_alone(void **state)
{
	static const struct event_sources three = {.list = {&source_h, &source_a, &source_g}};
	const struct source_process p = {.pid = 9, .is_running = true};

	(void)state;
	begin_with("");
	sources_close(recording);
	recording->sources = &three;
	called();
	CALLED(sources_open(recording), "ag");
	CALLED(sources_begin(recording, 1), "ag");
	CALLED(sources_open_late(recording), "b");
	CALLED(sources_follow_late(recording, &p), "b");
	assert_int_equal(given, 9);
	CALLED(sources_begin_late(recording, 5), "bb");
	assert_int_equal(given, 5);
	CALLED(sources_poll(recording, false), "bag");
	CALLED(sources_close(recording), "gab");
	db_abandon(report.db);
}

static const void *prepared;

static void prepare(void *self, const struct profile_options *o)
{
	assert_ptr_equal(o, &options);
	prepared = self;
	*(char *)self = 0;
}

static bool open_prepared(void *self, struct recording *r)
{
	assert_ptr_equal(self, prepared);
	return open_as(self, r, 'p');
}

static const struct event_source source_p = {
	.name = "p", .bytes = 1, .start.prepare = prepare, .open = open_prepared, .close = call};

static void source_is_prepared_before_it_is_opened_and_closed_in_any_case(void **state)
{
	static const struct event_sources two = {.list = {&source_p, &source_a}};

	(void)state;
	begin_with("");
	sources_close(recording);
	recording->sources = &two;
	called();
	sources_prepare(recording);
	assert_non_null(prepared);
	CALLED(sources_open(recording), "pa");
	CALLED(sources_close(recording), "ap");
	/* The report cannot be opened. */
	sources_prepare(recording);
	*(char *)(uintptr_t)prepared = 'q';
	CALLED(sources_close(recording), "q");
	/* Not opened, for the flight recorder. */
	options.capture.flight_ns = 1;
	prepared = NULL;
	sources_prepare(recording);
	options.capture.flight_ns = 0;
	assert_null(prepared);
	db_abandon(report.db);
}

static void samples_and_block_requests_may_be_late_and_the_process_tree_may_not(void **state)
{
	(void)state;
	for (unsigned i = 0; i < EVENT_SOURCES && event_sources.list[i]; i++)
		assert_int_equal(
			event_sources.list[i]->can.be_late,
			!strcmp(event_sources.list[i]->name, "CPU samples") ||
				!strcmp(event_sources.list[i]->name, "requests to block devices"));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, test_setup, test_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(members_are_called_in_the_order_of_the_list),
		TEST(stop_and_close_go_the_other_way),
		TEST(source_that_fails_to_open_is_said_once_and_the_others_go_on),
		TEST(report_waits_for_the_events_of_every_source),
		TEST(process_that_runs_is_asked_for_until_one_fails),
		TEST(flight_recorder_opens_what_can_be_held),
		TEST(list_of_collections_has_the_process_tree_before_its_users),
		TEST(rows_of_sources_add_up_until_the_commit),
		TEST(rows_of_failed_commits_are_lost_by_their_kind),
		TEST(losses_have_a_row_where_there_are_any),
		TEST(sources_that_may_be_late_are_opened_followed_and_begun_alone),
		TEST(source_is_prepared_before_it_is_opened_and_closed_in_any_case),
		TEST(samples_and_block_requests_may_be_late_and_the_process_tree_may_not),
		TEST(digits_are_grouped_by_three),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
