/* format.c - formats and their modifiers; tables larger than what is looked ahead over. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "exporters/text/format.h"

static char why[512];

static const struct format *parse(const char *spec, struct format_options *opt)
{
	why[0] = '\0';
	return format_parse(spec, &format_csv, opt, why, sizeof(why));
}

static void formats_are_found_by_name(void **state)
{
	struct format_options opt;

	(void)state;
	for (size_t i = 0; format_list[i]; i++)
		assert_ptr_equal(parse(format_list[i]->name, &opt), format_list[i]);
	assert_ptr_equal(parse(".", &opt), &format_csv);
	assert_null(parse("tabel", &opt));
	assert_non_null(strstr(why, "'table'"));
	assert_null(parse("xyzzy", &opt));
	assert_null(strstr(why, "did you mean"));
}

static void modifiers_of_formats_are_parsed(void **state)
{
	struct format_options opt;

	(void)state;
	assert_non_null(parse("column:nohdr:nolimit:nofmt:12:.:0", &opt));
	assert_true(opt.no_header && opt.no_limit && opt.no_grouping && !opt.escape);
	assert_int_equal(opt.width_cnt, 3);
	assert_int_equal(opt.widths[0], 12);
	assert_int_equal(opt.widths[1], WIDTH_AUTO);
	assert_int_equal(opt.widths[2], 0);
	assert_non_null(parse("tsv:esc", &opt));
	assert_true(opt.escape);
	assert_non_null(parse("hdoc:title=A b:css=x.css", &opt));
	assert_string_equal(opt.title, "A b");
	assert_string_equal(opt.css, "x.css");
	assert_null(parse("csv:12", &opt));
	assert_null(parse("json:nohdr", &opt));
	assert_non_null(strstr(why, "no modifiers"));
	assert_null(parse("column:nohd", &opt));
	assert_null(parse("column:12x", &opt));
	assert_null(parse("column:99999999999999999999", &opt));
	assert_null(parse("htable:title=x", &opt));
}

/* Writes @rows rows (a number, and a text that gets longer at the end) and returns what came out. */
static char *write_table(const struct format *f, const char *spec, int rows, size_t *len)
{
	const char *heads[] = {"Num", "Text"};
	struct sheet s = {.title = "T", .name = "t", .cols = 2, .heads = heads};
	char *text = NULL;

	assert_non_null(parse(spec, &s.opt));
	s.out = open_memstream(&text, len);
	assert_int_equal(f->begin(&s), 0);
	for (int i = 0; i < rows; i++) {
		const char *word = i == rows - 1 ? "the last is longest" : "w";
		struct cell cells[] = {
			{.kind = CELL_INT, .num = i},
			{.kind = CELL_TEXT, .text = word, .len = strlen(word)},
		};

		assert_int_equal(f->row(&s, cells), 0);
	}
	assert_int_equal(f->end(&s), 0);
	fclose(s.out);
	return text;
}

static void nothing_is_lost_behind_the_lookahead(void **state)
{
	static const int sizes[] = {0, 1, 4999, 5000, 5001, 12000};

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		size_t len;
		char *text = write_table(&format_column, "column:nofmt", sizes[i], &len);
		char *p = text;
		int lines = 0;

		for (; (p = strchr(p, '\n')) != NULL; p++)
			lines++;
		assert_int_equal(lines, sizes[i] + 2);
		if (sizes[i] > 0)
			assert_non_null(strstr(text, "the last is longest\n"));
		free(text);
	}
}

static void empty_tables_are_well_formed(void **state)
{
	size_t len;
	char *text;

	(void)state;
	text = write_table(&format_json, "json", 0, &len);
	assert_string_equal(text, "[]\n");
	free(text);
	text = write_table(&format_csv, "csv", 0, &len);
	assert_string_equal(text, "Num,Text\n");
	free(text);
	text = write_table(&format_table, "table", 0, &len);
	assert_string_equal(text,
			    " +-----+------+\n | Num | Text |\n +-----+------+\n +-----+------+\n");
	free(text);
}

static void a_table_has_a_frame(void **state)
{
	size_t len;
	char *text = write_table(&format_table, "table:.:5", 2, &len);

	(void)state;
	assert_string_equal(text, " +-----+-------+\n"
				  " | Num | Text  |\n"
				  " +-----+-------+\n"
				  " |   0 | w     |\n"
				  " |   1 | the … |\n"
				  " +-----+-------+\n");
	free(text);
}

/* A path, two numbers, a column without values, a text. */
static char *write_fitted(size_t width, const char *spec, size_t *len)
{
	static const char path[] = "/usr/lib/python3/dist-packages/torch/nn/modules/module.py";
	const char *heads[] = {"Path", "One", "Two", "Three", "None", "Text"};
	struct cell cells[] = {{.kind = CELL_TEXT, .text = path, .len = sizeof(path) - 1},
			       {.kind = CELL_INT, .num = 1000},
			       {.kind = CELL_INT, .num = 2000},
			       {.kind = CELL_INT, .num = 3000},
			       {.kind = CELL_NULL},
			       {.kind = CELL_TEXT, .text = "end", .len = 3}};
	struct sheet s = {.title = "T", .name = "t", .cols = 6, .heads = heads, .width = width};
	char *text = NULL;

	assert_non_null(parse(spec, &s.opt));
	s.out = open_memstream(&text, len);
	assert_int_equal(format_column.begin(&s), 0);
	assert_int_equal(format_column.row(&s, cells), 0);
	assert_int_equal(format_column.end(&s), 0);
	fclose(s.out);
	return text;
}

static void assert_fitted(size_t width, const char *spec, const char *want)
{
	size_t len;
	char *text = write_fitted(width, spec, &len);

	assert_string_equal(text, want);
	free(text);
}

static void a_path_keeps_its_end_where_the_terminal_is_narrow(void **state)
{
	(void)state;
	assert_fitted(0, "column:nohdr",
		      " /usr/lib/python3/dist-packages/torch/nn/modules/module.py"
		      "  1,000  2,000  3,000    end\n");
	assert_fitted(70, "column:nohdr",
		      " \u2026dist-packages/torch/nn/modules/module.py"
		      "  1,000  2,000  3,000    end\n");
}

/* Columns without values first, then the last numbers, down to two; the path takes what they leave. */
static void numbers_without_room_are_left_out_and_counted(void **state)
{
	(void)state;
	assert_fitted(40, "column:nohdr",
		      " \u2026n/modules/module.py  1,000  2,000  end\n"
		      " \u2026 2 more columns (-r t --all)\n");
	assert_fitted(1, "column:nohdr",
		      " \u2026dule.py  1,000  2,000  end\n"
		      " \u2026 2 more columns (-r t --all)\n");
	/* What was asked for stays. */
	assert_fitted(40, "column:nohdr:nolimit",
		      " /usr/lib/python3/dist-packages/torch/nn/modules/module.py"
		      "  1,000  2,000  3,000    end\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(formats_are_found_by_name),
		cmocka_unit_test(modifiers_of_formats_are_parsed),
		cmocka_unit_test(nothing_is_lost_behind_the_lookahead),
		cmocka_unit_test(empty_tables_are_well_formed),
		cmocka_unit_test(a_table_has_a_frame),
		cmocka_unit_test(a_path_keeps_its_end_where_the_terminal_is_narrow),
		cmocka_unit_test(numbers_without_room_are_left_out_and_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
