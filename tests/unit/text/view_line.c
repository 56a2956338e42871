/* view_line.c - the command that opens the timeline at a place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

#include "exporters/text/view_line.h"

static void assert_line(const char *report, const char *row, int64_t start, int64_t end,
			const char *want)
{
	char *line = NULL;
	size_t len;
	FILE *out = open_memstream(&line, &len);

	assert_non_null(out);
	text_put_view(out, report, row, start, end);
	fclose(out);
	assert_string_equal(line, want);
	free(line);
}

/* Half of the length on both sides; as many decimals as a twentieth of it needs. */
static void spans(void **state)
{
	(void)state;
	assert_line("run.sqlite", "4711", 60388000000, 60400000000,
		    "sightline view run.sqlite --at 60.3880s --row 4711 --span 60.3820s-60.4060s");
	assert_line("r", "1", 5000000000, 25000000000,
		    "sightline view r --at 5s --row 1 --span 0s-35s");
	assert_line("r", "1", 5000000000, 24999999999,
		    "sightline view r --at 5.0s --row 1 --span 0.0s-35.0s");
	assert_line("r", "1", 100, 119,
		    "sightline view r --at 0.000000100s --row 1 --span "
		    "0.000000091s-0.000000128s");
	/* Not before the report's zero, unless the place itself is earlier. */
	assert_line("r", "1", 1000, 5000,
		    "sightline view r --at 0.0000010s --row 1 --span 0.0000000s-0.0000070s");
	assert_line("r", "1", -1000, 1000,
		    "sightline view r --at -0.0000010s --row 1 --span -0.0000020s-0.0000020s");
}

static void instants(void **state)
{
	(void)state;
	assert_line("r", "GPU 1", 300000000, 300000000,
		    "sightline view r --at 0.300000s --row 'GPU 1' --span 0.299000s-0.301000s");
}

static void no_row(void **state)
{
	(void)state;
	assert_line("r", NULL, 0, 20,
		    "sightline view r --at 0.000000000s --span "
		    "0.000000000s-0.000000030s");
	assert_line("r", "", 0, 20,
		    "sightline view r --at 0.000000000s --span "
		    "0.000000000s-0.000000030s");
}

/* Names are words of a shell. */
static void words(void **state)
{
	(void)state;
	assert_line("it's; rm -rf.sqlite", "a$b", 0, 0,
		    "sightline view 'it'\\''s; rm -rf.sqlite' --at 0.000000s --row 'a$b' --span "
		    "0.000000s-0.001000s");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(spans),
		cmocka_unit_test(instants),
		cmocka_unit_test(no_row),
		cmocka_unit_test(words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
