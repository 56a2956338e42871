/*
 * files.c - names of files by serial: kept while a file is open or was closed lately, and given up by the page.
 */
#include "tests/unit/report/db_test.h"

#include "tests/unit/collect/ring_test.h"

#include "collector/base/budget.h"

struct fixture {
	struct side s;
	struct arena a;
	struct image *im;
};

static void begin(struct fixture *f)
{
	side_open(&f->s, false);
	memset(&f->a, 0, sizeof(f->a));
	f->a.id = 1;
	f->im = model_image_new(&f->s.model, &f->a, 1, model_at(&f->s.model, 100, 1000), 100, 1000);
}

static void end(struct fixture *f)
{
	while (f->a.images) {
		struct image *im = f->a.images;

		f->a.images = im->next;
		model_image_free(&f->s.model, im);
	}
	file_names_release(&f->a.names);
	side_die(&f->s);
}

static void a_name_is_cut_to_its_length_and_set_once(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	file_name_set(&f.a.names, 1, "abcdef", 3);
	assert_string_equal(file_name_find(&f.a.names, 1)->text, "abc");
	assert_int_equal(file_name_find(&f.a.names, 1)->len, 3);
	file_name_set(&f.a.names, 1, "other", 5);
	assert_string_equal(file_name_find(&f.a.names, 1)->text, "abc");
	assert_null(file_name_find(&f.a.names, 2));
	assert_null(file_name_find(&f.a.names, FILE_PAGE * 10));
	end(&f);
}

static void serials_of_a_program_are_not_trusted(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	file_name_set(&f.a.names, 0, "/x", 2);
	file_name_set(&f.a.names, FILE_SERIAL_MAX, "/x", 2);
	file_name_set(&f.a.names, UINT32_MAX, "/x", 2);
	assert_int_equal(f.a.names.pages, 0);
	assert_null(file_open(&f.s.model, f.im, FILE_SERIAL_MAX, 3, "/x", 2, 1000));
	assert_int_equal(f.im->files.pages, 0);
	file_name_set(&f.a.names, FILE_SERIAL_MAX - 1, "/y", 2);
	assert_string_equal(file_name_find(&f.a.names, FILE_SERIAL_MAX - 1)->text, "/y");
	end(&f);
}

/* Opens and closes @cnt files from serial @from on, every other one in calls that have no row. */
static void pass(struct fixture *f, uint32_t from, uint32_t cnt)
{
	for (uint32_t serial = from; serial < from + cnt; serial++) {
		file_open(&f->s.model, f->im, serial, 5, "/passing", 8, serial + 100);
		if (serial % 2)
			file_close_unseen(&f->s.model, f->im, serial, serial + 100);
		else
			file_close(&f->s.model, f->im, serial, serial + 100);
	}
}

static void pages_of_closed_files_are_given_up(void **state)
{
	struct image *other;
	struct fixture f;

	(void)state;
	begin(&f);
	/*
	 * Of the second page one file stays open; of the fourth a forked process may have one, so that it keeps its name; it
	 * has neither page.
	 */
	other = model_image_new(&f.s.model, &f.a, 2, model_at(&f.s.model, 101, 1000), 101, 50);
	other->parent = 1;
	file_open(&f.s.model, other, 400 * FILE_PAGE + 1, 3, "/other", 6, 1);
	pass(&f, 1, FILE_PAGE + 9);
	file_open(&f.s.model, f.im, FILE_PAGE + 10, 6, "/open", 5, 1);
	pass(&f, FILE_PAGE + 11, 2 * FILE_PAGE);
	file_open(&f.s.model, f.im, 3 * FILE_PAGE + 20, 7, "/named", 6, 50);
	file_close(&f.s.model, f.im, 3 * FILE_PAGE + 20, 51);
	pass(&f, 3 * FILE_PAGE + 21, FILE_CLOSED - 2 * FILE_PAGE);
	assert_non_null(file_name_find(&f.a.names, FILE_PAGE + 30));
	pass(&f, 3 * FILE_PAGE + 21 + FILE_CLOSED - 2 * FILE_PAGE, 5 * FILE_PAGE);
	assert_null(file_name_find(&f.a.names, 1));
	assert_null(f.a.names.page[0]);
	assert_null(f.im->files.page[0]);
	assert_null(f.a.names.page[2]);
	assert_string_equal(file_name_find(&f.a.names, FILE_PAGE + 10)->text, "/open");
	assert_true(file_find(f.im, FILE_PAGE + 10)->is_open);
	assert_string_equal(file_name_find(&f.a.names, 3 * FILE_PAGE + 20)->text, "/named");
	assert_non_null(f.im->files.page[3]);
	assert_string_equal(file_name_find(&f.a.names, 400 * FILE_PAGE + 1)->text, "/other");
	end(&f);
}

/* Restored without a name, it stays open though no name of its page is left. */
static void an_open_file_without_a_name_keeps_its_page(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	file_restore(&f.s.model, f.im, 7, 42, true, "", 0);
	pass(&f, 8, FILE_CLOSED + 3 * FILE_PAGE);
	assert_non_null(f.im->files.page[0]);
	assert_int_equal(file_find(f.im, 7)->id, 42);
	assert_true(file_find(f.im, 7)->is_open);
	assert_null(f.a.names.page[1]);
	end(&f);
}

static void a_descriptor_that_is_used_again_closes_the_older_file(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	file_open(&f.s.model, f.im, 1, 3, "/a", 2, 10);
	file_open(&f.s.model, f.im, 2, 3, "/b", 2, 20);
	assert_false(file_find(f.im, 1)->is_open);
	assert_true(file_find(f.im, 2)->is_open);
	/* The record of an older serial, read late, is of the past. */
	file_open(&f.s.model, f.im, 5, 9, "/c", 2, 30);
	file_open(&f.s.model, f.im, 4, 9, "/d", 2, 25);
	assert_true(file_find(f.im, 5)->is_open);
	assert_int_equal(f.im->files.fd_serial[9], 5);
	file_forget_all(&f.a);
	assert_int_equal(file_find(f.im, 2)->id, 0);
	assert_int_equal(f.im->files.fd_serial[9], 0);
	assert_true(f.a.flags.files_changed);
	end(&f);
}

/* A page of files for each serial: as many as the budget has room for, the others are counted. */
static void serials_far_apart_are_bounded_in_memory(void **state)
{
	size_t page = FILE_PAGE * sizeof(struct file);
	struct fixture f;
	uint32_t cnt = 0;

	(void)state;
	begin(&f);
	for (; cnt < FILE_SERIAL_MAX / FILE_PAGE - 1; cnt++) {
		file_restore(&f.s.model, f.im, cnt * FILE_PAGE + 1, cnt, false, "", 0);
		if (!file_find(f.im, cnt * FILE_PAGE + 1))
			break;
	}
	assert_int_equal(cnt, BUDGET_KEPT / page);
	assert_int_equal(f.a.names.lost, 1);
	file_name_set(&f.a.names, 1, "/a", 2);
	assert_int_equal(f.a.names.lost, 2);
	end(&f);
	/* All of it has come back. */
	assert_true(budget_take(BUDGET_KEPT));
	budget_give(BUDGET_KEPT);
}

/* What the main thread keeps is not symbols, also where it grew while they were read. */
static void what_is_kept_is_not_taken_for_symbols(void **state)
{
	size_t size = 32u << 20;
	uint64_t before, after;
	char *kept;

	(void)state;
	before = budget_without_symbols(budget_memory());
	budget_symbols_begin();
	kept = malloc(size);
	assert_non_null(kept);
	memset(kept, 1, size);
	assert_true(budget_take(size / 2));
	budget_note((int64_t)size / 2);
	after = budget_without_symbols(budget_memory());
	assert_true(after >= before + size);
	budget_symbols_end();
	assert_true(budget_without_symbols(budget_memory()) >= before + size);
	budget_give(size / 2);
	budget_note(-(int64_t)size / 2);
	free(kept);
}

/* The own address of a socket has a row where its file has one: not of a serial that only has a name. */
static void address_of_a_socket_has_a_row_with_its_file(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	file_name_set(&f.a.names, 5, "tcp:1.2.3.4:80", 14);
	/* No file has been seen in its page. */
	assert_null(file_find(f.im, 5));
	file_local(&f.s.model, f.im, 5, "tcp:127.0.0.1:5");
	file_restore(&f.s.model, f.im, 6, 60, false, "tcp:1.2.3.4:80", 14);
	file_local(&f.s.model, f.im, 6, "tcp:127.0.0.1:6");
	file_restore(&f.s.model, f.im, 7, 70, true, "tcp:1.2.3.4:80", 14);
	file_local(&f.s.model, f.im, 7, "tcp:127.0.0.1:7");
	/* It has an address: another one is not taken. */
	file_local(&f.s.model, f.im, 7, "tcp:127.0.0.1:8");
	/* Without a name there is nothing that an address could be of. */
	file_local(&f.s.model, f.im, 9, "tcp:127.0.0.1:9");
	assert_int_equal(db_commit(f.s.db, 1), 0);
	assert_string_equal(ask("SELECT group_concat(fileAccessId || ' ' || localAddress) FROM "
				"SL_SOCKETS"),
			    "70 tcp:127.0.0.1:7");
	end(&f);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, test_setup, test_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_name_is_cut_to_its_length_and_set_once),
		TEST(serials_of_a_program_are_not_trusted),
		TEST(pages_of_closed_files_are_given_up),
		TEST(an_open_file_without_a_name_keeps_its_page),
		TEST(a_descriptor_that_is_used_again_closes_the_older_file),
		TEST(serials_far_apart_are_bounded_in_memory),
		TEST(what_is_kept_is_not_taken_for_symbols),
		TEST(address_of_a_socket_has_a_row_with_its_file),
	};

	return cmocka_run_group_tests_name("files", tests, NULL, NULL);
}
