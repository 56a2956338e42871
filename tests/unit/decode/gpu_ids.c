/*
 * gpu_ids.c - ids of calls in the report: one count for all processes, whatever CUPTI counts from, below 2^31 as long as there are
 * not that many; the same for a call and its work, also after the collector was killed and in the next report.
 */
#include "tests/unit/report/db_test.h"

#include "tests/unit/collect/ring_test.h"

#include "tests/unit/decode/gpu_test.h"
#include "collector/decode/gpu/gpu_internal.h"

#define LIMIT (INT64_C(1) << 31)

static struct gpu_process *process(struct gpu_fixture *f, uint32_t number)
{
	struct gpu_process *p = gpu_process(f->a, number, 100 + number, 0);

	assert_non_null(p);
	return p;
}

static int64_t id_of(struct gpu_fixture *f, struct gpu_process *p, uint32_t correlation)
{
	return gpu_cupti_id(&f->s.arenas, p, correlation);
}

static void ids_of_one_process_are_cuptis(void **state)
{
	struct gpu_fixture f;
	struct gpu_process *p;

	(void)state;
	gpu_begin(&f);
	p = process(&f, 1);
	for (uint32_t c = 1; c < 3000000; c++)
		assert_int_equal(id_of(&f, p, c), c);
	assert_int_equal(p->ids.cnt, 1);
	/* No more numbers than that and half of them again. */
	assert_true(f.s.arenas.gpu.ids_given < 4600000);
	gpu_end(&f);
}

/* Attached to: CUPTI's count is that of its own first call, which may be long ago. */
static void ids_do_not_follow_a_large_count(void **state)
{
	static const uint32_t firsts[] = {1,          4096,       77777,     1u << 31,
					  3000000000, 4294963200, UINT32_MAX};
	struct gpu_fixture f;

	(void)state;
	gpu_begin(&f);
	for (uint32_t i = 0; i < sizeof(firsts) / sizeof(firsts[0]); i++) {
		struct gpu_process *p = process(&f, 1 + i);
		int64_t most = (i + 1) * INT64_C(3) * 4096;

		assert_in_range(id_of(&f, p, firsts[i]), 1, most);
		/* Of a call before it, which is reported later. */
		if (firsts[i] > 1)
			assert_in_range(id_of(&f, p, firsts[i] - 1), 1, most);
		assert_int_equal(id_of(&f, p, firsts[i]), id_of(&f, p, firsts[i]));
	}
	gpu_end(&f);
}

struct given {
	struct db_map ids;
	int64_t most;
};

static void add(struct given *g, int64_t id)
{
	int64_t *mark = db_map_get(&g->ids, id);

	assert_in_range(id, 1, LIMIT - 1);
	assert_non_null(mark);
	assert_int_equal(*mark, 0);
	*mark = 1;
	g->most = id > g->most ? id : g->most;
}

/* Processes take turns; some calls are CUPTI's, in any order of their counts, others are not. */
static void ids_are_unique_and_few(void **state)
{
	enum {
		PROCESSES = 300,
		CALLS = 2000
	};
	struct gpu_fixture f;
	struct given g = {0};
	int64_t *ids = calloc((size_t)PROCESSES * CALLS, sizeof(*ids));

	(void)state;
	gpu_begin(&f);
	assert_non_null(ids);
	for (uint32_t call = 0; call < CALLS; call++)
		for (uint32_t i = 0; i < PROCESSES; i++) {
			uint32_t c = 1000000 * i + 1 + (call ^ 37);

			ids[i * CALLS + call] = id_of(&f, process(&f, 1 + i), c);
			add(&g, ids[i * CALLS + call]);
			if (call % 3 == 0)
				add(&g, gpu_hook_id(&f.s.arenas, process(&f, 1 + i)));
		}
	for (uint32_t i = 0; i < PROCESSES; i++)
		for (uint32_t call = 0; call < CALLS; call++)
			assert_int_equal(
				ids[i * CALLS + call],
				id_of(&f, process(&f, 1 + i), 1000000 * i + 1 + (call ^ 37)));
	/* A run of each kind is all that a process has, or two. */
	assert_true(g.most < (int64_t)PROCESSES * 3 * 4096);
	free(ids);
	db_map_free(&g.ids);
	gpu_end(&f);
}

/* As many as a job of a day makes: what the last launches lead to stays, and little memory does it. */
static void many_calls_of_two_processes(void **state)
{
	struct gpu_fixture f;
	struct gpu_process *p, *q;
	int64_t last = 0, one, other;

	(void)state;
	gpu_begin(&f);
	p = process(&f, 1);
	q = process(&f, 2);
	for (uint32_t c = 4096; c < 400u << 20; c += 4096) {
		one = id_of(&f, p, c);
		other = id_of(&f, q, c);
		assert_true(one != other && one < LIMIT && other < LIMIT);
		assert_int_equal(id_of(&f, p, c + 4095), one + 4095);
		assert_true(one > last);
		last = one;
	}
	assert_in_range(p->ids.cnt, 2, GPU_RUNS);
	/* Two of 400 Mi, and what is left of the last runs. */
	assert_in_range(f.s.arenas.gpu.ids_given, 799ll << 20, 804ll << 20);
	one = id_of(&f, p, 350u << 20);
	assert_int_equal(id_of(&f, p, (350u << 20) + 1), one + 1);
	gpu_end(&f);
}

static void counts_that_jump_give_way_to_the_next(void **state)
{
	struct gpu_fixture f;
	struct gpu_process *p;
	struct given g = {0};

	(void)state;
	gpu_begin(&f);
	p = process(&f, 1);
	for (uint32_t i = 0; i < 3 * GPU_RUNS; i++)
		add(&g, id_of(&f, p, i * 4194304u * 5 + 1));
	assert_int_equal(p->ids.cnt, GPU_RUNS);
	/* The last is there, the first has another number: none that was another's. */
	assert_int_equal(id_of(&f, p, (3 * GPU_RUNS - 1) * 4194304u * 5 + 1), g.most);
	add(&g, id_of(&f, p, 5));
	db_map_free(&g.ids);
	gpu_end(&f);
}

static void a_run_ends_where_the_next_one_begins(void **state)
{
	struct gpu_fixture f;
	struct gpu_process *p;
	struct given g = {0};

	(void)state;
	gpu_begin(&f);
	p = process(&f, 1);
	add(&g, id_of(&f, p, 8192 + 5));
	add(&g, id_of(&f, p, 4096 * 5));
	add(&g, id_of(&f, p, 1));
	for (uint32_t c = 2; c < 4096 * 9; c++)
		if (c != 8192 + 5 && c != 4096 * 5)
			add(&g, id_of(&f, p, c));
	db_map_free(&g.ids);
	gpu_end(&f);
}

/* The next collector goes on with the same ids, and gives none again. */
static void ids_outlive_the_collector(void **state)
{
	struct gpu_fixture f;
	struct gpu_process *p;
	struct given g = {0};
	int64_t far[3], hook;

	(void)state;
	gpu_begin(&f);
	gpu_on(&f.r, f.cupti);
	side_drain(&f.s);
	p = f.a->family.gpu->first;
	for (uint32_t i = 0; i < 3; i++)
		add(&g, far[i] = id_of(&f, p, 100 + i * 5000000));
	add(&g, hook = gpu_hook_id(&f.s.arenas, p));
	gpu_tick(&f);
	side_die(&f.s);
	side_open(&f.s, true);
	f.a = side_attach(&f.s, &f.r, true);
	p = f.a->family.gpu->first;
	assert_non_null(p);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(id_of(&f, p, 100 + i * 5000000), far[i]);
	assert_int_equal(id_of(&f, p, 101), far[0] + 1);
	assert_int_equal(gpu_hook_id(&f.s.arenas, p), hook + 1);
	add(&g, id_of(&f, p, 3000000000));
	db_map_free(&g.ids);
	gpu_end(&f);
}

/* Notes of a collector that died while it wrote them: nothing is read behind their end. */
static void notes_that_break_off(void **state)
{
	struct gpu_fixture f;
	void *blob;
	size_t len;

	(void)state;
	for (size_t cut = 0; cut < 200; cut += 8) {
		gpu_begin(&f);
		gpu_on(&f.r, f.cupti);
		side_drain(&f.s);
		id_of(&f, f.a->family.gpu->first, 100);
		gpu_tick(&f);
		assert_int_equal(db_state_get(f.s.db, "gpu.1", &blob, &len), 0);
		if (cut < len)
			assert_int_equal(db_state_set(f.s.db, "gpu.1", blob, len - cut), 0);
		free(blob);
		side_commit(&f.s);
		side_die(&f.s);
		side_open(&f.s, true);
		f.a = side_attach(&f.s, &f.r, true);
		if (f.a->family.gpu && f.a->family.gpu->first)
			assert_true(id_of(&f, f.a->family.gpu->first, 100) > 0);
		gpu_end(&f);
		unlink(test_path);
	}
}

/* A session of many reports has room for the calls of each. */
static void ids_begin_anew_after_very_many(void **state)
{
	struct gpu_fixture f;
	struct gpu_process *p;

	(void)state;
	gpu_begin(&f);
	p = process(&f, 1);
	assert_int_equal(id_of(&f, p, 7), 7);
	gpu_alias_add(p, 8, 7);
	gpu_ids_renew(&f.s.arenas);
	assert_int_equal(gpu_alias_find(&f.s.arenas, p, 8), 7); /* few: all stays */
	f.s.arenas.gpu.ids_given = (INT64_C(1) << 30) + 5;
	assert_true(id_of(&f, p, 4096) > 1 << 30);
	gpu_ids_renew(&f.s.arenas);
	assert_int_equal(id_of(&f, p, 4096), 1);
	/* An alias of a call of the report before is none. */
	assert_int_equal(gpu_alias_find(&f.s.arenas, p, 4098), 3);
	assert_true(gpu_alias_find(&f.s.arenas, p, 8) != 7);
	gpu_end(&f);
}

static void more_calls_than_31_bits_are_told(void **state)
{
	struct gpu_fixture f;
	struct gpu_process *p;

	(void)state;
	gpu_begin(&f);
	p = process(&f, 1);
	f.s.arenas.gpu.ids_given = LIMIT - 100;
	assert_true(id_of(&f, p, 1) >= LIMIT - 100);
	assert_true(id_of(&f, p, 5000) > LIMIT);
	gpu_tick(&f);
	assert_string_equal(ask("SELECT count(*) || ' ' || max(text) FROM DIAGNOSTIC_EVENT WHERE "
				"text LIKE '%31 bits%'"),
			    "1 Ids of CUDA calls exceed 31 bits: some readers of the report take "
			    "no larger ones.");
	gpu_end(&f);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, test_setup, test_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(ids_of_one_process_are_cuptis),
		TEST(ids_do_not_follow_a_large_count),
		TEST(ids_are_unique_and_few),
		TEST(many_calls_of_two_processes),
		TEST(counts_that_jump_give_way_to_the_next),
		TEST(a_run_ends_where_the_next_one_begins),
		TEST(ids_outlive_the_collector),
		TEST(notes_that_break_off),
		TEST(ids_begin_anew_after_very_many),
		TEST(more_calls_than_31_bits_are_told),
	};

	return cmocka_run_group_tests_name("gpu_ids", tests, NULL, NULL);
}
