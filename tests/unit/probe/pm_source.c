/*
 * pm_source.c - PM sampling on the stand-in for libcupti, which enforces CUPTI's contract: every value of every sample is that of
 * its curve, what is missing is marked, and what goes wrong is one line. Each case runs in a process of its own, with the
 * functions of out.c that are below.
 */
#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "collector/probe/pm_find.h"
#include "collector/probe/source.h"

#define NS      1000000000ll
#define FRAMES  100000u
#define VALUES  26u
#define STREAMS 128u
#define STANDIN "build/tests/standin/libcupti.so.13"

struct frame {
	unsigned stream;
	enum probe_why why; /* of a gap; 0: values */
	int64_t t0, t1;
	double value[VALUES];
};
/* What a case has handed out. */
static struct record {
	unsigned cnt, streams, notes, beats;
	struct probe_stream stream[STREAMS];
	struct probe_name name[STREAMS][VALUES];
	char note[8][1024], why[SOURCE_WHY];
	bool is_open, is_over, is_final;
	struct frame at[FRAMES];
} * record;

/* ---- out.c ---- */

int64_t out_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * NS + t.tv_nsec;
}

bool out_stream(struct out *o, struct probe_stream *stream, const struct probe_name *name,
		unsigned cnt)
{
	(void)o;
	if (record->streams == STREAMS || cnt > VALUES)
		abort();
	stream->stream = (uint16_t)record->streams;
	stream->names = cnt;
	memcpy(&record->stream[record->streams], stream, sizeof(*stream));
	memcpy(record->name[record->streams++], name, cnt * sizeof(*name));
	return true;
}

static struct frame *add(unsigned stream, int64_t t0, int64_t t1)
{
	struct frame *f = &record->at[record->cnt];

	if (record->cnt == FRAMES - 1)
		return f;
	record->cnt++;
	f->stream = stream;
	f->why = PROBE_WHY_NONE;
	f->t0 = t0;
	f->t1 = t1;
	return f;
}

bool out_values(struct out *o, unsigned stream, int64_t t0, int64_t t1, const double *value,
		unsigned cnt)
{
	(void)o;
	memcpy(add(stream, t0, t1)->value, value, cnt * sizeof(*value));
	return true;
}

void out_gap(struct out *o, unsigned stream, int64_t t0, int64_t t1, enum probe_why why)
{
	(void)o;
	add(stream, t0, t1)->why = why;
}

void out_note(struct out *o, unsigned severity, const char *format, ...)
{
	va_list args;

	(void)o;
	(void)severity;
	va_start(args, format);
	if (record->notes < 8)
		vsnprintf(record->note[record->notes++], sizeof(record->note[0]), format, args);
	va_end(args);
}

void out_beat(struct out *o)
{
	(void)o;
	record->beats++;
}

void out_patience(struct out *o, unsigned ms)
{
	(void)o;
	(void)ms;
}

/* ---- cases ---- */

struct setup {
	const char *moods, *chips, *more; /* more: NAME=VALUE */
	const char *set;
	int64_t hz, rows;
	unsigned ms;    /* to sample */
	unsigned pause; /* then nothing is read for so long, once */
};

static void set_up(const struct setup *s)
{
	char *more;

	setenv("SIGHTLINE_CUPTI", STANDIN, 1);
	/* For the trial in a process of its own; here by its file. */
	setenv("LD_LIBRARY_PATH", "build/tests/standin", 1);
	if (!dlopen("build/tests/standin/libcuda.so.1", RTLD_NOW | RTLD_GLOBAL))
		abort();
	setenv("SL_STANDIN_PM", s->moods ? s->moods : "", 1);
	setenv("STANDIN_PM_CHIPS", s->chips ? s->chips : "GH100", 1);
	for (more = s->more ? strdup(s->more) : NULL; more && *more;) {
		char *word = strsep(&more, " ");

		putenv(word);
	}
}

static void nap(int64_t until)
{
	int64_t left = until - out_now();
	struct timespec t = {left / NS, left % NS};

	if (left > 0)
		nanosleep(&t, NULL);
}

static void run(const struct setup *s)
{
	/* "stand-in gpu   " and the number, as the stand-in of the driver has it */
	struct probe_gpu gpu = {
		.info = {.uuid = "GPU-7374616e-642d-696e-2067-707520202000", .instance = -1}};
	struct source_want want = {.set = s->set, .hz = s->hz ? s->hz : 10000, .rows = s->rows};
	struct source_why why = {.text = ""};
	int64_t end, next = 0;
	void *source = source_pm.open(&gpu, &want, NULL, &why);

	record->is_open = source != NULL;
	if (s->pause && source) {
		/* A rate by cycles is known after the first round, or later where the machine is busy. */
		for (int i = 0; i < 100 && !record->cnt; i++) {
			nap(out_now() + 100000000);
			source_pm.poll(source, &why);
		}
		nap(out_now() + s->pause * 1000000ll);
	}
	end = out_now() + s->ms * 1000000ll;
	while (source && next >= 0 && out_now() < end) {
		next = source_pm.poll(source, &why);
		nap(next < end ? next : end);
	}
	record->is_over = next < 0;
	if (source)
		source_pm.close(source);
	snprintf(record->why, sizeof(record->why), "%s", why.text);
	record->is_final = why.is_final;
}

/* The status of a process that did it. */
static int status_of(const struct setup *s)
{
	int status;
	pid_t child;

	if (access(STANDIN, R_OK))
		skip();
	memset(record, 0, offsetof(struct record, at));
	fflush(NULL);
	child = fork();
	if (child == 0) {
		signal(SIGSEGV, SIG_DFL);
		signal(SIGABRT, SIG_DFL);
		set_up(s);
		run(s);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	return status;
}

static void sample(const struct setup *s)
{
	assert_int_equal(status_of(s), 0);
	if (!record->is_open)
		print_message("not open: %s\n", record->why);
	assert_true(record->is_open);
}

/* Its value under a name. */
static double value_of(const struct frame *f, const char *name)
{
	const struct probe_stream *s = &record->stream[f->stream];

	for (unsigned i = 0; i < s->names; i++)
		if (strcmp(record->name[f->stream][i].name, name) == 0)
			return f->value[i];
	fail_msg("no %s", name);
	return 0;
}

/* The sample's number, by the clock that counts them. */
static uint64_t number_of(const struct frame *f)
{
	return (uint64_t)(value_of(f, "GPC Clock Frequency [MHz]") - 1e9);
}

/* A time of the stand-in's is a multiple of the period; clocks are read to the microsecond. */
static int64_t exact(int64_t t, int64_t period)
{
	return (t + period / 2) / period * period;
}

static void check_values(const struct frame *f, int64_t period)
{
	int64_t t0 = exact(f->t0, period);
	double ramp = (double)(t0 % (10 * NS)) / (10. * NS) * 100;
	double write = value_of(f, "DRAM Write Bandwidth [Throughput %]");

	assert_true(llabs(t0 - f->t0) < 50000);
	assert_true(value_of(f, "SMs Active [Throughput %]") == (t0 / NS % 2 ? 20 : 80));
	assert_true(fabs(value_of(f, "DRAM Read Bandwidth [Throughput %]") - ramp) < 1e-6);
	if (number_of(f) % 997)
		assert_true(fabs(write - (100 - ramp)) < 1e-6);
	else
		assert_true(isnan(write));
	assert_true(value_of(f, "Tensor Active [Throughput %]") == 0);
	assert_true(value_of(f, "SYS Clock Frequency [MHz]") == 1.9e9);
}

/* Nothing is missing without a gap, and no gap has samples in it: by numbers and by times. Frames that have values. */
static unsigned check_order(int64_t period)
{
	const struct frame *last = NULL, *gap = NULL;
	unsigned cnt = 0;

	for (unsigned i = 0; i < record->cnt; i++) {
		const struct frame *f = &record->at[i];
		uint64_t missing;

		if (f->why) {
			assert_null(gap);
			gap = f;
			continue;
		}
		cnt++;
		assert_true(f->t1 > f->t0);
		missing = last ? number_of(f) - number_of(last) - 1 : 0;
		if (gap) {
			assert_non_null(last);
			assert_true(gap->t0 == last->t1 && gap->t1 == f->t0);
		}
		if (missing && !gap)
			fail_msg("%llu samples are missing without a gap",
				 (unsigned long long)missing);
		assert_true(!gap || missing);
		if (last && period) {
			assert_true(llabs(f->t0 - last->t0 - (int64_t)(missing + 1) * period) <
				    60000);
			assert_true(f->t0 - last->t0 < period * 3 / 2 || gap);
		}
		last = f;
		gap = NULL;
	}
	return cnt;
}

static unsigned gaps(enum probe_why why)
{
	unsigned cnt = 0;

	for (unsigned i = 0; i < record->cnt; i++)
		cnt += record->at[i].why == why;
	return cnt;
}

static void all_values_are_those_of_the_curves(void **state)
{
	const struct setup s = {.ms = 2500};
	unsigned cnt;

	(void)state;
	sample(&s);
	cnt = check_order(100000);
	for (unsigned i = 0; i < record->cnt; i++)
		if (!record->at[i].why)
			check_values(&record->at[i], 100000);
	/* Up to the end, but for the first sample. */
	assert_true(cnt > 5000);
	assert_int_equal(record->cnt, cnt);
	assert_int_equal(record->streams, 1);
	assert_string_equal(record->stream[0].source, "pm");
	assert_string_equal(record->stream[0].set, "gh100");
	assert_string_equal(record->stream[0].chip, "GH100");
	assert_int_equal(record->stream[0].names, 16);
	assert_int_equal(record->stream[0].asked_mhz, 10000000);
	assert_int_equal(record->stream[0].real_mhz, 10000000);
	assert_int_equal(record->notes, 0);
}

static void a_set_clock_bends_no_curve(void **state)
{
	const struct setup
		forward = {.moods = "step=700", .ms = 1500},
		back = {.moods = "back=700", .ms = 1500},
		/* Several rounds wait when the reader comes, some from before the step. */
		late = {.moods = "step=700", .ms = 600, .pause = 1000};

	(void)state;
	sample(&forward);
	assert_true(check_order(100000) > 5000);
	assert_int_equal(gaps(PROBE_LATE), 0);
	for (unsigned i = 0; i < record->cnt; i++)
		check_values(&record->at[i], 100000);
	sample(&back);
	assert_true(check_order(100000) > 5000);
	assert_int_equal(gaps(PROBE_LATE), 0);
	for (unsigned i = 0; i < record->cnt; i++)
		check_values(&record->at[i], 100000);
	sample(&late);
	assert_true(check_order(100000) > 5000);
	assert_int_equal(gaps(PROBE_LATE), 0);
	for (unsigned i = 0; i < record->cnt; i++)
		check_values(&record->at[i], 100000);
}

static void an_overflow_is_a_gap_and_a_slow_reader_gets_half_the_rate(void **state)
{
	/* Room for 300 samples, of which a round of 100 ms has 1000. */
	const struct setup s = {.more = "STANDIN_PM_SAMPLES=300", .ms = 2500};
	const struct probe_stream *last;

	(void)state;
	sample(&s);
	check_order(0);
	assert_true(gaps(PROBE_OVERFLOW) >= 3);
	assert_int_equal(gaps(PROBE_LATE), 0);
	assert_true(record->streams > 3);
	last = &record->stream[record->streams - 1];
	assert_true(last->real_mhz <= 5000000);
	assert_int_equal(last->asked_mhz, 10000000);
	assert_non_null(strstr(last->reason, "the buffer overflowed: "));
	assert_non_null(strstr(last->reason, " Hz instead of 10000"));
	/* Once. */
	assert_int_equal(record->notes, 1);
	assert_string_equal(
		record->note[0],
		"GPU 0: its buffer of samples overflows at 10000 Hz: it is sampled more slowly");
}

static void a_buffer_that_keeps_the_oldest_is_begun_anew(void **state)
{
	const struct setup s = {.chips = "TU102",
				.more = "STANDIN_PM_SAMPLES=3000 STANDIN_PM_CLOCK_MS=0",
				.ms = 1500,
				.pause = 600};
	const struct frame *gap = NULL;

	(void)state;
	sample(&s);
	check_order(0);
	assert_true(gaps(PROBE_OVERFLOW) >= 1);
	for (unsigned i = 0; i < record->cnt; i++)
		if (record->at[i].why == PROBE_OVERFLOW && !gap)
			gap = &record->at[i];
	assert_true(gap->t1 - gap->t0 > 500000000);
	assert_true(record->cnt > 1000);
}

static void a_rate_by_cycles_follows_the_clock(void **state)
{
	const struct setup s = {.chips = "GA100", .more = "STANDIN_PM_CLOCK_MS=1500", .ms = 5000};
	int64_t early = 0, late = 0;
	unsigned earlies = 0, lates = 0;

	(void)state;
	sample(&s);
	check_order(0);
	for (unsigned i = 0; i < record->cnt; i++) {
		const struct frame *f = &record->at[i];

		if (f->why)
			continue;
		if (value_of(f, "SYS Clock Frequency [MHz]") == 1.2e9) {
			early += f->t1 - f->t0;
			earlies++;
		} else if (f->stream == record->streams - 1) {
			late += f->t1 - f->t0;
			lates++;
		}
	}
	assert_true(earlies > 1000 && lates > 1000);
	assert_true(llabs(early / earlies - 100000) < 2000);
	assert_true(llabs(late / lates - 100000) < 2000);
	assert_true(record->streams >= 2);
	assert_int_equal(gaps(PROBE_RESTART), record->streams - 1);
	for (unsigned i = 0; i < record->streams; i++)
		assert_in_range(record->stream[i].real_mhz, 9800000, 10200000);
}

static void sets_are_chosen_by_name(void **state)
{
	const struct setup full = {.set = "gh100-full", .ms = 100},
			   other = {.set = "ga100", .ms = 100},
			   unknown = {.set = "best", .ms = 100}, few = {.rows = 16000, .ms = 200},
			   turing = {.chips = "TU102", .ms = 300};

	(void)state;
	sample(&full);
	assert_string_equal(record->stream[0].set, "gh100-full");
	assert_int_equal(record->stream[0].names, 24);
	sample(&other);
	assert_string_equal(record->stream[0].set, "gh100");
	assert_string_equal(record->stream[0].reason,
			    "ga100 is a set of another chip than GH100: gh100 instead");
	sample(&unknown);
	assert_string_equal(record->stream[0].reason, "best is no set of GH100: gh100 instead");
	sample(&few);
	assert_int_equal(record->stream[0].real_mhz, 1000000);
	assert_string_equal(record->stream[0].reason,
			    "16 metrics at 10000 Hz are more than the report takes: 1000 Hz");
	sample(&turing);
	assert_true(value_of(&record->at[0], "Tensor Active / FP16 Active [Throughput %]") == 0);
}

static void a_file_of_metrics(void **state)
{
	struct setup s = {.ms = 100};
	char path[64], set[80], want[256];
	FILE *f;

	(void)state;
	snprintf(path, sizeof(path), "/tmp/pm_source.%d", getpid());
	snprintf(set, sizeof(set), "file:%s", path);
	s.set = set;
	f = fopen(path, "w");
	fputs("GPC Clock Frequency [MHz]\nMine [Bytes] = "
	      "lts__t_bytes.sum\nnone__such.sum\nlts__t_sector_hit_rate.pct\n",
	      f);
	fclose(f);
	sample(&s);
	assert_string_equal(record->stream[0].set, "file");
	assert_int_equal(record->stream[0].names, 2);
	assert_string_equal(record->name[0][1].name, "Mine [Bytes]");
	assert_int_equal(record->notes, 2);
	assert_string_equal(record->note[0],
			    "GPU 0 (GH100): none__such.sum is not sampled: unknown");
	assert_string_equal(record->note[1],
			    "GPU 0 (GH100): lts__t_sector_hit_rate.pct is not sampled: 2 passes");
	f = fopen(path, "w");
	fputs("SMs Active [Throughput %]\nwhat is this\n", f);
	fclose(f);
	assert_int_equal(status_of(&s), 0);
	assert_false(record->is_open);
	snprintf(want, sizeof(want),
		 "%s:2: neither the name of a metric of sets nor one of CUPTI's "
		 "(unit__counter.rollup)",
		 path);
	assert_string_equal(record->why, want);
	assert_true(record->is_final);
	unlink(path);
}

static void refused(const char *moods, const char *more, const char *text)
{
	const struct setup s = {.moods = moods, .more = more, .ms = 100};

	assert_int_equal(status_of(&s), 0);
	assert_false(record->is_open);
	if (!strstr(record->why, text))
		fail_msg("%s: %s", moods, record->why);
	assert_null(strchr(record->why, '\n'));
}

static void what_prevents_it_is_one_line_with_the_remedy(void **state)
{
	(void)state;
	refused("denied", NULL, "the driver permits it to administrators only: ");
	refused("denied", "KUBERNETES_SERVICE_HOST=1",
		"start the container with --cap-add=PERFMON");
	refused("denied-early", NULL, "the driver permits it to administrators only: ");
	refused("held", NULL, "another profiler ");
	refused("held=7", NULL, "another profiler ");
	refused("held=999", NULL, "another profiler ");
	refused("vgpu", NULL, "virtual GPUs (vGPU) cannot be sampled");
	refused("nochip", NULL, "has no libnvperf_host.so beside it");
	refused("", "STANDIN_CUPTI_VERSION=22", "is older than CUDA 12.6");
	refused("", "SIGHTLINE_CUPTI=/nowhere/libcupti.so.13",
		"/nowhere/libcupti.so.13: no such file (SIGHTLINE_CUPTI)");
	refused("", "STANDIN_PM_CHIPS=GX100", "CUPTI knows none of the metrics on GX100");
}

static void a_context_is_made_where_the_chip_has_no_name_without(void **state)
{
	const struct setup s = {.moods = "context", .ms = 200};

	(void)state;
	sample(&s);
	assert_true(record->cnt > 100);
}

static void the_first_library_samples_too(void **state)
{
	const struct setup s = {.more = "STANDIN_CUPTI_VERSION=24", .ms = 300};

	(void)state;
	sample(&s);
	assert_true(check_order(100000) > 1000);
}

static void a_gpu_that_is_lost_ends_with_a_gap(void **state)
{
	const struct setup s = {.moods = "lost=400", .ms = 1500};
	const struct frame *last;

	(void)state;
	sample(&s);
	assert_true(record->is_over);
	assert_true(record->cnt > 1000);
	last = &record->at[record->cnt - 1];
	assert_int_equal(last->why, PROBE_LOST);
	assert_true(last->t1 > last->t0);
	assert_true(*record->why);
}

/* Its process ends, or stands still without a beat: that is the collector's to see. */
static void crashes_are_those_of_the_library(void **state)
{
	const struct setup s = {.moods = "crash=3", .ms = 1000};
	int status;

	(void)state;
	status = status_of(&s);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
	assert_true(record->cnt > 100);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_values_are_those_of_the_curves),
		cmocka_unit_test(a_set_clock_bends_no_curve),
		cmocka_unit_test(an_overflow_is_a_gap_and_a_slow_reader_gets_half_the_rate),
		cmocka_unit_test(a_buffer_that_keeps_the_oldest_is_begun_anew),
		cmocka_unit_test(a_rate_by_cycles_follows_the_clock),
		cmocka_unit_test(sets_are_chosen_by_name),
		cmocka_unit_test(a_file_of_metrics),
		cmocka_unit_test(what_prevents_it_is_one_line_with_the_remedy),
		cmocka_unit_test(a_context_is_made_where_the_chip_has_no_name_without),
		cmocka_unit_test(the_first_library_samples_too),
		cmocka_unit_test(a_gpu_that_is_lost_ends_with_a_gap),
		cmocka_unit_test(crashes_are_those_of_the_library),
	};

	if (argc == 3 && strcmp(argv[1], PM_FIND_TRY) == 0)
		return pm_find_try(argv[2]);
	record = mmap(NULL, sizeof(*record), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (record == MAP_FAILED)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
