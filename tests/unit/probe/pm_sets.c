/*
 * pm_sets.c - the table of metrics against NVIDIA's own library, which knows the hardware counters of all chips and needs no GPU
 * for that (build/toolkits/VERSION/metrics, where PyPI can be reached): every set of every chip takes one pass, what a chip
 * lacks and why is as tests/golden/pm_sets.txt has it (PM_SETS_WRITE=1 writes it), and no spelling is unknown to all chips.
 */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "collector/probe/pm_config.h"
#include "collector/probe/pm_find.h"

#define NEWEST "build/toolkits/13.5/metrics/libcupti.so.13"
#define OLDER  "build/toolkits/12.8/metrics/libcupti.so.12"
#define CHIPS  64u
#define TEXT   4096u

static struct pm_library library;
/* One line for chips that are alike. Children write, so it is shared. */
static struct seen {
	unsigned chips[64][PM_SPELLINGS]; /* that sample a spelling */
	unsigned cnt;
	struct {
		char set[48], chips[128], text[TEXT];
	} at[CHIPS * 3];
} * seen;

static void count(const char *spelling)
{
	for (unsigned i = 0; i < pm_metric_cnt; i++)
		for (unsigned j = 0; j < PM_SPELLINGS && pm_metrics[i].spellings[j]; j++)
			if (strcmp(pm_metrics[i].spellings[j], spelling) == 0)
				seen->chips[i][j]++;
}

static void note(const char *chip, const char *set, const char *text)
{
	unsigned i = 0;

	while (i < seen->cnt &&
	       (strcmp(seen->at[i].set, set) != 0 || strcmp(seen->at[i].text, text) != 0))
		i++;
	assert_true(i < CHIPS * 3);
	seen->cnt += i == seen->cnt;
	snprintf(seen->at[i].set, sizeof(seen->at[i].set), "%s", set);
	memcpy(seen->at[i].text, text, TEXT);
	snprintf(seen->at[i].chips + strlen(seen->at[i].chips),
		 sizeof(seen->at[i].chips) - strlen(seen->at[i].chips), " %s", chip);
}

static void try_set(const char *chip, const char *set)
{
	char why[256] = "", reason[64], text[TEXT] = "";
	struct pm_passes p = PM(pm_passes, passes);
	struct pm_wants wants;
	struct pm_config *c;
	size_t len;

	assert_int_equal(pm_wants_of_groups(&wants, pm_groups_of(chip, set)), 0);
	c = pm_config_new(&library.api, chip, NULL, &wants, why, sizeof(why));
	if (!c)
		fail_msg("%s, %s: %s", chip, set, why);
	p.size = c->image_size;
	p.image = c->image;
	assert_int_equal(library.api.ProfilerHostGetNumOfPasses(&p), 0);
	if (p.passes != 1)
		fail_msg("%s, %s: %zu passes", chip, set, p.passes);
	len = (size_t)snprintf(text, TEXT, "%u metrics\n", c->cnt);
	for (unsigned i = 0; i < wants.cnt; i++) {
		const struct pm_metric *m = &wants.at[i];
		bool has_other = i + 1 < wants.cnt && m[1].is_otherwise && !c->lacks[i + 1];

		if (c->lacks[i] == PM_THERE || m->is_otherwise || has_other)
			continue;
		pm_lack_text(c->lacks[i], reason, sizeof(reason));
		len += (size_t)snprintf(text + len, TEXT - len, "\t%s: %s\n", m->name, reason);
		assert_true(len < TEXT);
	}
	note(chip, set, text);
	for (unsigned i = 0; i < c->cnt; i++)
		count(c->spellings[i]);
	pm_config_free(&library.api, c);
	pm_wants_free(&wants);
}

/* Chips before Turing have no PM sampling: GV100, GM107, T210. */
static bool is_old(const char *chip)
{
	return chip[0] == 'G' ? strchr("MPV", chip[1]) != NULL : chip[0] == 'T' && chip[1] != 'U';
}

/* In a child: two versions in one process would share libnvperf_host. */
static void try_library(const char *path)
{
	struct pm_chips chips = PM(pm_chips, chips);
	char why[512], set[48];
	const char *what;

	/* The stand-in, by its file: the libraries ask for it by name. */
	setenv("STANDIN_EXPORTS", "1", 1);
	assert_non_null(dlopen("build/tests/standin/libcuda.so.1", RTLD_NOW | RTLD_GLOBAL));
	if (pm_load(&library, path, why, sizeof(why)))
		fail_msg("%s", why);
	assert_int_equal(library.api.ProfilerHostGetSupportedChips(&chips), 0);
	assert_in_range(chips.cnt, 20, CHIPS);
	for (size_t i = 0; i < chips.cnt; i++) {
		if (is_old(chips.chips[i]))
			continue;
		if (!pm_family_of(chips.chips[i]))
			fail_msg("%s: no alias in sets.def", chips.chips[i]);
		for (unsigned n = 0; pm_set_of(chips.chips[i], n, set, sizeof(set), &what); n++)
			try_set(chips.chips[i], set);
	}
}

static void in_child(const char *path)
{
	int status;
	pid_t child;

	if (access(path, R_OK) || access("build/tests/standin/libcuda.so.1", R_OK)) {
		print_message("no %s (PyPI was not reached), or no stand-ins\n", path);
		skip();
	}
	memset(seen->at, 0, sizeof(seen->at));
	seen->cnt = 0;
	fflush(NULL);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		setenv("CMOCKA_TEST_ABORT", "1", 1);
		try_library(path);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static void every_set_takes_one_pass_and_what_a_chip_lacks_is_listed(void **state)
{
	char got[64], command[256];
	FILE *to;

	(void)state;
	in_child(NEWEST);
	snprintf(got, sizeof(got), "/tmp/pm_sets.%d", getpid());
	to = fopen(getenv("PM_SETS_WRITE") ? "tests/golden/pm_sets.txt" : got, "w");
	assert_non_null(to);
	fprintf(to, "# What is sampled of each set: by NVIDIA's libcupti of CUDA 13.5.\n# SET: "
		    "CHIP...: how many metrics; below: those that are not, and why\n");
	for (unsigned i = 0; i < seen->cnt; i++)
		fprintf(to, "%s:%s: %s", seen->at[i].set, seen->at[i].chips, seen->at[i].text);
	assert_int_equal(fclose(to), 0);
	if (getenv("PM_SETS_WRITE"))
		return;
	snprintf(command, sizeof(command), "diff -u tests/golden/pm_sets.txt %s >&2", got);
	assert_int_equal(system(command), 0);
	unlink(got);
}

static void an_older_library_has_the_sets_of_its_chips(void **state)
{
	bool has_hopper = false;

	(void)state;
	in_child(OLDER);
	for (unsigned i = 0; i < seen->cnt; i++)
		has_hopper |= strcmp(seen->at[i].set, "gh100") == 0 &&
			      strncmp(seen->at[i].text, "16 ", 3) == 0;
	assert_true(has_hopper);
}

/* By one library or the other: older ones have names with a prefix. */
static void no_spelling_is_unknown_to_all_chips(void **state)
{
	unsigned bad = 0;

	(void)state;
	if (access(NEWEST, R_OK) || access(OLDER, R_OK))
		skip();
	for (unsigned i = 0; i < pm_metric_cnt; i++)
		for (unsigned j = 0; j < PM_SPELLINGS && pm_metrics[i].spellings[j]; j++)
			if (!seen->chips[i][j]) {
				print_message("no chip samples %s\n", pm_metrics[i].spellings[j]);
				bad++;
			}
	assert_int_equal(bad, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_set_takes_one_pass_and_what_a_chip_lacks_is_listed),
		cmocka_unit_test(an_older_library_has_the_sets_of_its_chips),
		cmocka_unit_test(no_spelling_is_unknown_to_all_chips),
	};

	seen = mmap(NULL, sizeof(*seen), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (seen == MAP_FAILED || pm_metric_cnt > 64)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
