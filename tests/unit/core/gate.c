/* gate.c - what is recorded while the gate is open, closed, and on its edges; which ranges open it. */
#include "tests/unit/report/db_test.h"

#include "tests/unit/core/gate_host.h"

#include "preload/wire/nvtx_wire.h"

static const struct sl_session osrt = {.trace = SL_TRACE_OSRT, .on_full = SL_FULL_DROP};
static const struct sl_session counted = {
	.trace = SL_TRACE_OSRT, .on_full = SL_FULL_DROP, .threshold_ticks = UINT64_MAX};

/* ---- what came, as one line ---- */

struct story {
	char text[4096];
	uint32_t serial[64]; /* of META_FILE and opened paths */
	char name[64][64];
	int names;
	unsigned images, forks, execs, notes;
	char note[256];
};

__attribute__((format(printf, 2, 3))) static void add(struct story *s, const char *format, ...)
{
	size_t at = strlen(s->text);
	va_list ap;

	va_start(ap, format);
	vsnprintf(s->text + at, sizeof(s->text) - at, format, ap);
	va_end(ap);
}

static const char *name_of(const struct story *s, uint32_t serial)
{
	for (int i = s->names - 1; i >= 0; i--)
		if (s->serial[i] == serial)
			return s->name[i];
	return "?";
}

static void learn(struct story *s, uint64_t word, const uint64_t *text)
{
	if (s->names == 64 || !(word >> 32))
		return;
	s->serial[s->names] = (uint32_t)(word >> 32);
	snprintf(s->name[s->names++], 64, "%.*s", (int)(text[0] & 0xffff), (const char *)&text[1]);
}

static void tell_meta(struct story *s, const struct record *r)
{
	s->images += r->hook == SL_META_IMAGE && r->payload[1] == SL_IMAGE_START;
	s->forks += r->hook == SL_META_IMAGE && r->payload[1] == SL_IMAGE_FORK;
	s->execs += r->hook == SL_META_EXEC;
	if (r->hook == SL_META_NOTE) {
		s->notes++;
		snprintf(s->note, sizeof(s->note), "%.*s", (int)(r->payload[1] & 0xffff),
			 (const char *)&r->payload[2]);
	}
	if (r->hook == SL_META_FILE)
		learn(s, r->payload[0], r->payload + 2);
}

/* Paths of access(), what read() was from, NVTX ranges, calls of the profiler's functions. */
static void tell(void *to, const struct record *r)
{
	struct story *s = to;

	if (r->shape == SL_SHAPE_META)
		tell_meta(s, r);
	else if (r->shape == SL_SHAPE_API)
		add(s, "API ");
	else if (r->shape == SL_SHAPE_PATH && r->hook == SL_H_access)
		add(s, "%.*s ", (int)(r->payload[2] & 0xffff), (const char *)&r->payload[3]);
	else if (r->shape == SL_SHAPE_PATH)
		learn(s, r->payload[1], r->payload + 2);
	if (r->shape == SL_SHAPE_PATH && r->hook != SL_H_access && r->payload[1] >> 32)
		add(s, "open:%s ", name_of(s, (uint32_t)(r->payload[1] >> 32)));
	if (r->shape == SL_SHAPE_IO && r->hook == SL_H_read)
		add(s, "read:%s ", name_of(s, (uint32_t)(r->payload[1] >> 32)));
}

static struct story story_of(struct host *h)
{
	struct story s = {0};

	host_records(h, tell, &s);
	return s;
}

static struct story run(struct host *h, struct sl_session settings, const char *what,
			const char *how)
{
	host_start(h, settings);
	assert_int_equal(host_run(h, what, how), 0);
	return story_of(h);
}

/* "+1-1": requests to open (+) and close (-), ranges by their numbers. */
static const char *asked(const struct host *h)
{
	static char text[ASKED * 12];

	*text = 0;
	for (int i = 0; i < h->asked_cnt; i++)
		sprintf(text + strlen(text), "%c%u", h->asked[i].what, h->asked[i].range);
	return text;
}

/* ---- the gate ---- */

static void calls_are_recorded_while_it_is_open(void **state)
{
	struct host h;
	struct story s = run(&h, osrt, "phases", NULL);

	(void)state;
	assert_string_equal(s.text, "/open/1 /open/1 /open/2 ");
	assert_int_equal(s.images, 1);
	host_end(&h);
}

static void descriptors_are_looked_at_anew(void **state)
{
	struct host h;
	struct story s = run(&h, osrt, "fds", NULL);

	(void)state;
	assert_string_equal(s.text, "open:/dev/zero read:/dev/zero read:/dev/null open:/dev/full ");
	host_end(&h);
}

static void images_execs_and_names_are_always_recorded(void **state)
{
	struct host h;
	struct story s = run(&h, osrt, "who", NULL);
	bool renamed = false;

	(void)state;
	assert_string_equal(s.text, "/open/child ");
	/* Two images: the exec kept what traces it in an empty environment. */
	assert_int_equal(s.images, 2);
	assert_int_equal(s.forks, 2);
	assert_int_equal(s.execs, 1);
	for (int i = 0; i < h.arenas; i++)
		for (uint32_t k = 0; k < h.arena[i]->fresh_slot; k++)
			renamed |= !strcmp(h.arena[i]->slot[k].comm, "renamed");
	assert_true(renamed);
	host_end(&h);
}

static void a_vfork_child_writes_nothing(void **state)
{
	struct host h;
	struct story s = run(&h, osrt, "vfork", NULL);

	(void)state;
	assert_string_equal(s.text, "/open/1 ");
	host_end(&h);
}

/* ---- totals ---- */

static struct {
	uint32_t epoch;
	struct sl_agg agg;
} seen[16];
static int seen_cnt;

static void see_totals(struct host *h, char letter)
{
	struct sl_arena *a = h->arena[0];
	const struct sl_agg *agg = (const struct sl_agg *)sl_chunk_at(a, a->slot[0].agg_chunk);

	if (letter != 'c')
		return;
	seen[seen_cnt].epoch = __atomic_load_n(&a->slot[0].epoch, __ATOMIC_ACQUIRE);
	seen[seen_cnt++].agg = agg[SL_H_access];
}

static void totals_belong_to_a_report(void **state)
{
	static const unsigned want[] = {100, 120, 7};
	struct host h;

	(void)state;
	host_start(&h, counted);
	h.on_letter = see_totals;
	assert_int_equal(host_run(&h, "totals", NULL), 0);
	assert_int_equal(seen_cnt, 3);
	for (int i = 0; i < 3; i++) {
		const struct sl_agg *a = &seen[i].agg;

		assert_int_equal(seen[i].epoch, i < 2 ? 1 : 2);
		assert_int_equal(a->count, want[i]);
		assert_true(a->min > 0 && a->min <= a->max);
		assert_true(a->total >= a->min * a->count && a->total <= a->max * a->count);
	}
	/* Those of the second report are its own. */
	assert_true(seen[2].agg.total < seen[1].agg.total);
	host_end(&h);
}

/* ---- edges ---- */

#define TURNS 1000

static void turn_often(struct host *h)
{
	for (int i = 0; i < TURNS; i++) {
		h->control->epoch++;
		host_turn(h, true);
		usleep(300);
		host_turn(h, false);
		usleep(300);
	}
}

struct strays {
	const struct host *host;
	uint64_t records, late;
	const struct sl_slot *slot; /* of the last stray, and the window that it came after */
	int window;
};

static void find_stray(void *to, const struct record *r)
{
	struct strays *s = to;
	int low = 0, high = s->host->windows;

	if (r->shape >= SL_SHAPE_META)
		return;
	s->records++;
	/* The last window that began before the call. */
	while (low < high) {
		int mid = (low + high) / 2;

		if (s->host->window[mid].from <= r->start)
			low = mid + 1;
		else
			high = mid;
	}
	assert_true(low > 0);
	low--;
	if (r->start <= s->host->window[low].to)
		return;
	/* A thread may be held up between its look at the gate and its look at the clock: once for each end. */
	assert_false(s->slot == r->slot && s->window == low);
	s->slot = r->slot;
	s->window = low;
	s->late++;
}

static void assert_no_loss(const struct host *h)
{
	for (int i = 0; i < h->arenas; i++) {
		struct sl_arena *a = h->arena[i];

		assert_int_equal(a->unslotted_cnt, 0);
		for (uint32_t k = 0; k < a->fresh_slot; k++) {
			const struct sl_agg *agg =
				(const struct sl_agg *)sl_chunk_at(a, a->slot[k].agg_chunk);

			assert_int_equal(a->slot[k].lost_cnt | a->slot[k].nested_cnt, 0);
			for (int n = 0; n < SL_HOOK_CNT; n++)
				assert_int_equal(agg[n].lost_count, 0);
		}
	}
}

static void eight_threads_go_on_while_the_gate_opens_a_thousand_times(void **state)
{
	struct strays s = {0};
	struct host h;

	(void)state;
	host_start(&h, osrt);
	h.on_threads = turn_often;
	assert_int_equal(host_run(&h, "threads", NULL), 0);
	assert_int_equal(h.windows, TURNS);
	s.host = &h;
	host_records(&h, find_stray, &s);
	assert_true(s.records > 1000);
	assert_no_loss(&h);
	print_message("%lu records, %lu of them a little late\n", (unsigned long)s.records,
		      (unsigned long)s.late);
	host_end(&h);
}

/* ---- asking ---- */

static struct sl_session by_nvtx(const char *range, const char *domain, uint32_t flags)
{
	struct sl_session s = osrt;

	s.trace |= SL_TRACE_NVTX;
	s.capture_by = SL_CAPTURE_BY_NVTX | flags;
	snprintf(s.nvtx_range, sizeof(s.nvtx_range), "%s", range);
	snprintf(s.nvtx_domain, sizeof(s.nvtx_domain), "%s", domain);
	return s;
}

#define REGISTERED         "/registered /nested /nested-2 /two /one /popped-by-extension "
#define ONE(a, b, c, d, e) "+" #a "-" #a "+" #b "-" #b "+" #c "+" #d "-" #c "-" #d "+" #e "-" #e

static void a_range_of_the_default_domain_opens_the_gate(void **state)
{
	struct host h;
	struct story s = run(&h, by_nvtx("step", "", 0), "nvtx", NULL);

	(void)state;
	assert_string_equal(s.text, REGISTERED);
	assert_string_equal(asked(&h), ONE(1, 2, 3, 4, 5));
	host_end(&h);
}

static void a_range_of_a_named_domain_opens_the_gate(void **state)
{
	struct host h;
	struct story s = run(&h, by_nvtx("step", "named", 0), "nvtx", NULL);

	(void)state;
	assert_string_equal(s.text, REGISTERED);
	assert_string_equal(asked(&h), ONE(1, 2, 3, 4, 5));
	host_end(&h);
}

static void ranges_of_any_domain_open_the_gate(void **state)
{
	struct host h;
	struct story s = run(&h, by_nvtx("step", "*", 0), "nvtx", NULL);

	(void)state;
	assert_string_equal(s.text, REGISTERED REGISTERED REGISTERED);
	assert_string_equal(asked(&h),
			    ONE(1, 2, 3, 4, 5) ONE(6, 7, 8, 9, 10) ONE(11, 12, 13, 14, 15));
	host_end(&h);
}

static void ranges_with_plain_texts_open_the_gate(void **state)
{
	struct host h;
	struct story s = run(&h, by_nvtx("step", "", SL_CAPTURE_NVTX_PLAIN), "nvtx", NULL);

	(void)state;
	assert_string_equal(s.text, "/plain /wide /start /start-wide " REGISTERED);
	assert_string_equal(asked(&h), "+1-1+2-2+3-3+4-4" ONE(5, 6, 7, 8, 9));
	host_end(&h);
}

static void a_range_that_never_comes_opens_nothing(void **state)
{
	struct host h;
	struct story s = run(&h, by_nvtx("ste", "*", SL_CAPTURE_NVTX_PLAIN), "nvtx", NULL);

	(void)state;
	assert_string_equal(s.text, "");
	assert_string_equal(asked(&h), "");
	host_end(&h);
}

/* The records of a range lie inside the time that it asked for. */
struct ranges {
	const struct host *host;
	int pushes, pops, in;
};

static void find_range(void *to, const struct record *r)
{
	struct ranges *s = to;

	if (r->shape != SL_SHAPE_NVTX || (r->hook != SL_NVTX_PUSH && r->hook != SL_NVTX_POP))
		return;
	s->pushes += r->hook == SL_NVTX_PUSH;
	s->pops += r->hook == SL_NVTX_POP;
	for (int i = 0; i < s->host->windows; i++)
		s->in += r->start >= s->host->window[i].from && r->start <= s->host->window[i].to;
}

static void nvtx_passes_and_the_range_is_whole(void **state)
{
	struct ranges s = {0};
	struct host h;

	(void)state;
	run(&h, by_nvtx("step", "named", 0), "nvtx", NULL);
	s.host = &h;
	host_records(&h, find_range, &s);
	/* 2 texts, 6 in each of three domains, 2 between them; the capture's own three, and one more inside of one. */
	assert_int_equal(s.pushes, 2 + 3 * 6 + 2);
	assert_int_equal(s.pops, s.pushes);
	assert_int_equal(s.in, 2 * 4);
	host_end(&h);
}

static void nvtx_is_not_recorded_where_it_is_not_traced(void **state)
{
	struct sl_session settings = by_nvtx("step", "", 0);
	struct ranges ranges = {0};
	struct story s;
	struct host h;

	(void)state;
	settings.trace = SL_TRACE_OSRT;
	s = run(&h, settings, "nvtx", NULL);
	assert_string_equal(s.text, REGISTERED);
	ranges.host = &h;
	host_records(&h, find_range, &ranges);
	assert_int_equal(ranges.pushes, 0);
	host_end(&h);
}

static void a_range_in_a_forked_child_is_a_request_of_its_own(void **state)
{
	struct host h;
	struct story s = run(&h, by_nvtx("step", "", 0), "nvtx-fork", NULL);

	(void)state;
	/* Slots in the order of their beginning: the parent's first. */
	assert_string_equal(s.text, "/open/parent /open/still /open/child ");
	assert_string_equal(asked(&h), "+1+2-2-1");
	assert_int_not_equal(h.asked[1].pid, h.asked[0].pid);
	assert_int_equal(h.asked[2].pid, h.asked[1].pid);
	host_end(&h);
}

static struct sl_session by_cuda(uint32_t trace)
{
	struct sl_session s = osrt;

	s.trace |= trace;
	s.capture_by = SL_CAPTURE_BY_CUDA;
	return s;
}

static void the_cuda_profiler_opens_the_gate(void **state)
{
	static const char *const how[] = {"runtime", "driver", "proc"};

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct host h;
		struct story s = run(&h, by_cuda(SL_TRACE_CUDA), "cuda", how[i]);

		/* The beginning is a row, so is the end. */
		assert_string_equal(s.text, "API /open API ");
		assert_string_equal(asked(&h), "+0-0");
		host_end(&h);
		s = run(&h, by_cuda(0), "cuda", how[i]);
		assert_string_equal(s.text, "/open ");
		assert_string_equal(asked(&h), "+0-0");
		host_end(&h);
		s = run(&h, osrt, "cuda", how[i]);
		assert_string_equal(s.text, "");
		assert_string_equal(asked(&h), "");
		host_end(&h);
	}
}

static void several_processes_open_the_gate_by_the_cuda_profiler(void **state)
{
	struct host h;
	struct story s = run(&h, by_cuda(0), "cuda-fork", NULL);

	(void)state;
	assert_string_equal(s.text, "/open /open /open ");
	assert_string_equal(asked(&h), "+0-0+0-0+0-0");
	assert_int_not_equal(h.asked[0].pid, h.asked[2].pid);
	assert_int_not_equal(h.asked[2].pid, h.asked[4].pid);
	host_end(&h);
}

static void a_program_goes_on_without_an_answer(void **state)
{
	struct host h;
	struct story s;

	(void)state;
	host_start(&h, by_cuda(0));
	h.mute = true;
	/* The program goes on, and finds errno as it was. */
	assert_int_equal(host_run(&h, "cuda", "runtime"), 0);
	s = story_of(&h);
	assert_string_equal(s.text, "");
	assert_string_equal(asked(&h), "+0-0");
	/* One line on stderr, once. */
	assert_int_equal(s.notes, 1);
	assert_non_null(strstr(s.note, "does not answer"));
	host_end(&h);
}

static void a_program_under_a_filter_sends_no_request(void **state)
{
	struct host h;
	struct story s = run(&h, by_cuda(0), "cuda-seccomp", NULL);

	(void)state;
	assert_string_equal(s.text, "");
	assert_string_equal(asked(&h), "");
	assert_int_equal(s.notes, 1);
	assert_non_null(strstr(s.note, "seccomp"));
	host_end(&h);
}

static void a_vfork_child_sends_no_request(void **state)
{
	struct host h;
	struct story s = run(&h, by_cuda(0), "cuda-vfork", NULL);

	(void)state;
	assert_string_equal(s.text, "");
	assert_string_equal(asked(&h), "");
	host_end(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_are_recorded_while_it_is_open),
		cmocka_unit_test(descriptors_are_looked_at_anew),
		cmocka_unit_test(images_execs_and_names_are_always_recorded),
		cmocka_unit_test(a_vfork_child_writes_nothing),
		cmocka_unit_test(totals_belong_to_a_report),
		cmocka_unit_test(eight_threads_go_on_while_the_gate_opens_a_thousand_times),
		cmocka_unit_test(a_range_of_the_default_domain_opens_the_gate),
		cmocka_unit_test(a_range_of_a_named_domain_opens_the_gate),
		cmocka_unit_test(ranges_of_any_domain_open_the_gate),
		cmocka_unit_test(ranges_with_plain_texts_open_the_gate),
		cmocka_unit_test(a_range_that_never_comes_opens_nothing),
		cmocka_unit_test(nvtx_passes_and_the_range_is_whole),
		cmocka_unit_test(nvtx_is_not_recorded_where_it_is_not_traced),
		cmocka_unit_test(a_range_in_a_forked_child_is_a_request_of_its_own),
		cmocka_unit_test(the_cuda_profiler_opens_the_gate),
		cmocka_unit_test(several_processes_open_the_gate_by_the_cuda_profiler),
		cmocka_unit_test(a_program_goes_on_without_an_answer),
		cmocka_unit_test(a_program_under_a_filter_sends_no_request),
		cmocka_unit_test(a_vfork_child_sends_no_request),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
