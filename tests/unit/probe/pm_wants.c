/* pm_wants.c - names of sets, by chip, and lists of metrics out of files, which may have anything in them. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "collector/probe/sets.h"

static char path[64];

static void write_file(const char *text, size_t len)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, len, f), len);
	assert_int_equal(fclose(f), 0);
}

static void chips_have_the_sets_of_their_family(void **state)
{
	char alias[32], set[48];
	const char *what;

	(void)state;
	pm_alias("GH100", alias, sizeof(alias));
	assert_string_equal(alias, "gh100");
	pm_alias("GA10B", alias, sizeof(alias));
	assert_string_equal(alias, "ga10b");
	pm_alias("GA102", alias, sizeof(alias));
	assert_string_equal(alias, "ga10x");
	pm_alias("GX999", alias, sizeof(alias));
	assert_string_equal(alias, "gx999");
	assert_int_equal(pm_family_of("TU104")->trigger, PM_CYCLES_KEEP_OLDEST);
	assert_int_equal(pm_family_of("GA100")->trigger, PM_CYCLES);
	assert_int_equal(pm_family_of("GA102")->trigger, PM_TIME);
	assert_null(pm_family_of("GV100"));

	assert_int_equal(pm_groups_of("GH100", "gh100"), PM_GENERAL | PM_LINKS);
	assert_int_equal(pm_groups_of("GH100", "gh100-nvlink"), PM_GENERAL | PM_PACKETS);
	assert_int_equal(pm_groups_of("GH100", "gh100-full"), PM_GENERAL | PM_LINKS | PM_MORE);
	assert_int_equal(pm_groups_of("GX999", "gx999-nvlink"), PM_GENERAL | PM_PACKETS);
	assert_int_equal(pm_groups_of("GH100", "ga100"), 0);
	assert_int_equal(pm_groups_of("GH100", "gh100-"), 0);
	assert_int_equal(pm_groups_of("GH100", ""), 0);
	assert_int_equal(pm_groups_of("AD102", "ad10x-nvlink"), 0);
	assert_true(pm_is_set("gb20x-full"));
	assert_false(pm_is_set("gb20x-nvlink"));
	assert_false(pm_is_set("gx999"));

	assert_true(pm_set_of("AD102", 1, set, sizeof(set), &what));
	assert_string_equal(set, "ad10x-full");
	assert_false(pm_set_of("AD102", 2, set, sizeof(set), &what));
}

static void a_file_has_a_metric_a_line(void **state)
{
	static const char text[] = "# which\n\n  SMs Active [Throughput %]  \r\n"
				   "lts__t_bytes.sum\nMine [Bytes] = dram__bytes_read.sum";
	struct pm_wants w;
	char why[256];

	(void)state;
	write_file(text, sizeof(text) - 1);
	assert_int_equal(pm_wants_of_file(&w, path, why, sizeof(why)), 0);
	assert_int_equal(w.cnt, 3);
	assert_string_equal(w.at[0].name, "SMs Active [Throughput %]");
	assert_string_equal(w.at[0].spellings[0],
			    "sm__cycles_active.avg.pct_of_peak_sustained_elapsed");
	assert_string_equal(w.at[1].name, "lts__t_bytes.sum");
	assert_string_equal(w.at[1].spellings[0], "lts__t_bytes.sum");
	assert_null(w.at[1].spellings[1]);
	assert_string_equal(w.at[2].name, "Mine [Bytes]");
	assert_string_equal(w.at[2].spellings[0], "dram__bytes_read.sum");
	pm_wants_free(&w);
}

static void refused(const char *text, size_t len, const char *reason)
{
	char why[256] = "", want[256];
	struct pm_wants w;

	write_file(text, len);
	assert_int_not_equal(pm_wants_of_file(&w, path, why, sizeof(why)), 0);
	snprintf(want, sizeof(want), "%s%s", path, reason);
	assert_string_equal(why, want);
	assert_null(w.at);
}
#define REFUSED(text, reason) refused(text, sizeof(text) - 1, reason)

static void what_is_wrong_in_a_file_is_one_line_with_its_number(void **state)
{
	static char many[300 * 32], big[70000];
	struct pm_wants w;
	char why[256];
	size_t len = 0;

	(void)state;
	REFUSED("", ": no metric in it");
	REFUSED("# nothing\n\n", ": no metric in it");
	REFUSED("sm__cycles_active.avg\nSMs Activ\n", ":2: neither the name of a metric of sets "
						      "nor one of CUPTI's (unit__counter.rollup)");
	REFUSED("sm__cycles_active\n", ":1: neither the name of a metric of sets nor one of "
				       "CUPTI's (unit__counter.rollup)");
	REFUSED("sm__cycles_active.\n", ":1: neither the name of a metric of sets nor one of "
					"CUPTI's (unit__counter.rollup)");
	REFUSED("a = $(reboot)\n", ":1: neither the name of a metric of sets nor one of CUPTI's "
				   "(unit__counter.rollup)");
	REFUSED("\n = a__b.sum\n", ":2: no name before the =");
	REFUSED("a__b.sum\na__b.sum\n", ":2: a second metric of this name");
	REFUSED("a__b.sum\n\033[2J = a__c.sum\n", ":2: not a line of text");
	REFUSED("a__b.sum\0c__d.sum\n", ": Invalid or incomplete multibyte or wide character");
	for (unsigned i = 0; i < 65; i++)
		len += (size_t)snprintf(many + len, sizeof(many) - len, "a__b%u.sum\n", i);
	refused(many, len, ":65: too many metrics");
	memset(big, 'a', 300);
	refused(big, 300, ":1: the line is too long");
	memset(big, '\n', sizeof(big));
	refused(big, sizeof(big), ": File too large");
	assert_int_equal(pm_wants_of_file(&w, "/", why, sizeof(why)), -EISDIR);
	assert_int_equal(pm_wants_of_file(&w, "/nowhere/x", why, sizeof(why)), -ENOENT);
	assert_string_equal(why, "/nowhere/x: No such file or directory");
}

static void names_are_unique(void **state)
{
	(void)state;
	for (unsigned i = 0; i < pm_metric_cnt; i++) {
		assert_true(strchr(pm_metrics[i].name, '['));
		for (unsigned j = 0; j < i; j++)
			assert_string_not_equal(pm_metrics[i].name, pm_metrics[j].name);
	}
	assert_true(pm_is_percent("SMs Active [Throughput %]"));
	assert_true(pm_is_percent("L2 Hit Rate [%]"));
	assert_false(pm_is_percent("DRAM Read [Bytes]"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chips_have_the_sets_of_their_family),
		cmocka_unit_test(a_file_has_a_metric_a_line),
		cmocka_unit_test(what_is_wrong_in_a_file_is_one_line_with_its_number),
		cmocka_unit_test(names_are_unique),
	};
	int result;

	snprintf(path, sizeof(path), "/tmp/pm_wants.%d", getpid());
	result = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(path);
	return result;
}
