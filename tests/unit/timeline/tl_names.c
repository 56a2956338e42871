/* tl_names.c - texts by their id, names that are made up, and the hash table they are kept in. */
#include "collector/base/map.h"
#include "tl_test.h"

static void assert_text(struct tl_text t, const char *want)
{
	assert_int_equal(t.len, strlen(want));
	assert_memory_equal(t.text, want, t.len);
}

static void a_text_is_the_one_of_its_id(void **state)
{
	sqlite3 *db = report_of("strings: (0, ''), (1, 'read'), (-5, 'below 0'), (8192, 'far'), "
				"(9000000000, 'farther'), (4, CAST(x'610062' AS TEXT));");
	struct tl_names *n = tl_names_new(db);

	(void)state;
	for (int round = 0; round < 2; round++) {
		assert_text(tl_name(n, 1, false), "read");
		assert_int_equal(tl_name(n, 1, false).id, 2);
		assert_text(tl_name(n, 0, false), "");
		assert_int_equal(tl_name(n, 0, false).id, 1);
		assert_text(tl_name(n, 8192, false), "far");
		assert_text(tl_name(n, 9000000000, false), "farther");
		assert_int_equal(tl_name(n, 9000000000, false).id, 9000000001);
		assert_text(tl_name(n, -5, false), "below 0");
		/* A text may hold a byte 0. */
		assert_int_equal(tl_name(n, 4, false).len, 3);
	}
	tl_names_free(n);
	sqlite3_close(db);
}

static void an_unknown_id_is_a_text_with_its_number(void **state)
{
	sqlite3 *db = report_of("strings: (1, 'read');");
	struct tl_names *n = tl_names_new(db);
	struct tl_text two = tl_name(n, 2, false), far = tl_name(n, INT64_MAX, false);

	(void)state;
	assert_text(two, "string 2");
	assert_text(far, "string 9223372036854775807");
	assert_text(tl_name(n, -1, false), "string -1");
	/* Their ids are above those of StringIds, whose last is 1 + 1; and the same each time. */
	assert_true(two.id > 2 && far.id > 2 && two.id != far.id);
	assert_int_equal(tl_name(n, 2, false).id, two.id);
	assert_int_equal(tl_name(n, INT64_MAX, false).id, far.id);
	tl_names_free(n);
	sqlite3_close(db);
}

static void versions_are_taken_off_names_of_cuda_alone(void **state)
{
	static const struct {
		const char *name, *want;
	} cases[] = {{"cudaFree_v3020", "cudaFree"},
		     {"cudaLaunchKernel_v11000", "cudaLaunchKernel"},
		     {"cuMemAlloc_v2", "cuMemAlloc_v2"},
		     {"cuMemAlloc_v200", "cuMemAlloc_v200"},
		     {"cudaFreev3020", "cudaFreev3020"},
		     {"cudaFree_3020", "cudaFree_3020"},
		     {"_v3020", "_v3020"},
		     {"a_v3020", "a"},
		     {"3020", "3020"},
		     {"", ""}};
	sqlite3 *db;
	struct tl_names *n;
	char sql[200];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct tl_text plain, api;

		snprintf(sql, sizeof(sql),
			 "CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value);"
			 "INSERT INTO StringIds VALUES (7, '%s')",
			 cases[i].name);
		db = report_of(sql);
		n = tl_names_new(db);
		api = tl_name(n, 7, true);
		plain = tl_name(n, 7, false);
		assert_text(plain, cases[i].name);
		assert_text(api, cases[i].want);
		/* Another text has another id. */
		assert_int_equal(plain.id == api.id, strcmp(cases[i].name, cases[i].want) == 0);
		assert_text(tl_name(n, 7, true), cases[i].want);
		tl_names_free(n);
		sqlite3_close(db);
	}
}

static void made_names_are_made_once_for_each_key(void **state)
{
	sqlite3 *db = report_of("strings: (1, 'x');");
	struct tl_names *n = tl_names_new(db);
	struct tl_text a = tl_name_made(n, 1, tl_make_memcpy, 0x010002);
	struct tl_text b = tl_name_made(n, 2, tl_make_memset, 0x010002);
	struct tl_text c = tl_name_made(n, 3, tl_make_sync, 0x010002);

	(void)state;
	assert_text(a, "Memcpy HtoD (Pageable -> Device)");
	assert_text(b, "Memset (Device)");
	assert_text(c, "Stream Wait Event");
	assert_true(a.id > 2 && b.id > 2 && c.id > 2 && a.id != b.id && b.id != c.id &&
		    a.id != c.id);
	assert_ptr_equal(tl_name_made(n, 1, tl_make_memcpy, 0x010002).text, a.text);
	assert_ptr_equal(tl_name_made(n, 3, tl_make_sync, 0x010002).text, c.text);
	assert_text(tl_name_made(n, 3, tl_make_sync, 0x010001), "Event Sync");
	tl_names_free(n);
	sqlite3_close(db);
}

static void labels_are_of_their_table(void **state)
{
	sqlite3 *db = report_of("strings: (1, 'x');"
				"ENUM_A(id, label): (1, 'one'), (2, '');"
				"ENUM_B(id, label): (1, 'eins');");
	struct tl_names *n = tl_names_new(db);

	(void)state;
	for (int round = 0; round < 2; round++) {
		assert_text(tl_name_enum(n, 1, "ENUM_A", 1), "one");
		assert_text(tl_name_enum(n, 2, "ENUM_B", 1), "eins");
		assert_text(tl_name_enum(n, 1, "ENUM_A", 2), "2");
		assert_text(tl_name_enum(n, 1, "ENUM_A", -3), "-3");
		assert_text(tl_name_enum(n, 3, "ENUM_NONE", 4), "4");
	}
	tl_names_free(n);
	sqlite3_close(db);
}

static void texts_of_more_than_48_MiB_are_forgotten(void **state)
{
	sqlite3 *db = report_of(
		"CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value);"
		"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < "
		"60)INSERT INTO StringIds SELECT i, printf('%.*c', 1000000, 'x') FROM n");
	struct tl_names *n = tl_names_new(db);
	bool is_trimmed = false;
	int64_t id = 0;

	(void)state;
	while (!is_trimmed && id < 60) {
		assert_int_equal(tl_name(n, ++id, false).len, 1000000);
		is_trimmed = tl_names_trim(n);
	}
	/* 48 * 2^20 = 50,331,648 bytes: 51 texts of a million are the first that are more. */
	assert_int_equal(id, 51);
	assert_false(tl_names_trim(n));
	/* And are looked up again. */
	assert_int_equal(tl_name(n, 3, false).len, 1000000);
	assert_int_equal(tl_name(n, 3, false).id, 4);
	tl_names_free(n);
	sqlite3_close(db);
}

/* ---- the hash table ---- */

/* Against an array: each key is there with its value as long as it has not been removed. */
static void a_map_has_what_was_put_into_it_and_not_removed(void **state)
{
	enum {
		KEYS = 2000
	};
	static uint64_t value[KEYS]; /* 0: not there */
	struct map m = {0};
	uint64_t seed = 5, cnt = 0;

	(void)state;
	assert_null(map_at(&m, 0, false));
	map_remove(&m, 0);
	for (int i = 0; i < 40000; i++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		uint64_t k = (seed >> 33) % KEYS;
		/* Small ones, and such that only differ in their upper half; 0 and all ones among them. */
		uint64_t key = k == 0 ? 0 : k == 1 ? UINT64_MAX : k % 2 ? k : k << 40;

		if (seed >> 20 & 1) {
			uint64_t *at = map_at(&m, key, true);

			cnt += value[k] == 0;
			assert_int_equal(*at, value[k]);
			*at = value[k] = seed | 1;
		} else {
			cnt -= value[k] != 0;
			map_remove(&m, key);
			value[k] = 0;
			assert_null(map_at(&m, key, false));
		}
		assert_int_equal(m.cnt, cnt);
		assert_true(m.cnt * 4 <= m.size * 3 + 4);
	}
	for (uint64_t k = 0; k < KEYS; k++) {
		uint64_t *at = map_at(&m,
				      k == 0   ? 0
				      : k == 1 ? UINT64_MAX
				      : k % 2  ? k
					       : k << 40,
				      false);

		assert_int_equal(at ? *at : 0, value[k]);
	}
	map_free(&m);
	assert_int_equal(m.size, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_text_is_the_one_of_its_id),
		cmocka_unit_test(an_unknown_id_is_a_text_with_its_number),
		cmocka_unit_test(versions_are_taken_off_names_of_cuda_alone),
		cmocka_unit_test(made_names_are_made_once_for_each_key),
		cmocka_unit_test(labels_are_of_their_table),
		cmocka_unit_test(texts_of_more_than_48_MiB_are_forgotten),
		cmocka_unit_test(a_map_has_what_was_put_into_it_and_not_removed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
