/* options.c - options, patterns of -o, triggers, filters, gates; files in JSON. */
#include "tests/fuzz/fuzz.h"

#include "collector/options/output_name.h"
#include "collector/options/profile_options.h"
#include "collector/options/python_functions.h"
#include "collector/options/shell_words.h"
#include "collector/options/trigger.h"
#include "collector/report/json_value.h"
#include "collector/symbols/pylines.h"
#include "exporters/compare/compare.h"
#include "exporters/formats/table_list.h"
#include "exporters/read/db_filter.h"
#include "exporters/sql/tables/percentiles.h"
#include "exporters/stacks/stack_costs.h"
#include "exporters/text/format.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *text_of(const uint8_t *data, size_t len)
{
	char *text = malloc(len + 1);

	memcpy(text, data, len);
	text[len] = 0;
	return text;
}

static void patterns(const char *text)
{
	struct triggers triggers = {0};
	char why[300], *name;
	const char *end;

	triggers_read(&triggers, text, "fuzz");
	time_read(text, &end);
	name = output_name_expand(text, 1, why, sizeof(why));
	free(name);
	name = output_name(&(struct output_ask){.pattern = text, .pid = 1}, why, sizeof(why));
	free(name);
}

static void filters(const char *text)
{
	struct percentiles percentiles = {0};
	struct table_list tables = {0};
	struct db_filter filter = {0};
	struct format_options options;
	char why[300];

	db_filter_time(&filter, text, why, sizeof(why));
	db_filter_nvtx(&filter, text, why, sizeof(why));
	db_filter_pid(&filter, text, why, sizeof(why));
	db_filter_free(&filter);
	percentiles_parse(&percentiles, text, why, sizeof(why));
	stack_costs_parse(text, why, sizeof(why));
	/* Patterns are the user's own; glibc's regcomp() takes for ever for some of repetitions. */
	if (strcspn(text, "+*?{") + 4 >= strlen(text) &&
	    table_list_parse(&tables, text, why, sizeof(why)) == 0)
		table_list_has(&tables, "OSRT_API");
	table_list_free(&tables);
	format_parse(text, &format_csv, &options, why, sizeof(why));
}

static void gates(const char *text)
{
	static struct comparison comparison;
	struct compare_gate gate = {0};
	char why[300];

	compare_gate_parse(&comparison, text, &gate, why, sizeof(why));
	compare_gate_free(&gate);
}

static void run_options(const uint8_t *data, size_t len)
{
	struct profile_options options;
	struct words words = {0};
	char *text;

	if (!len)
		return;
	text = text_of(data + 1, len - 1);
	switch (data[0] % 5) {
	case 0:
		profile_options_from_string(&options, text, "fuzz");
		break;
	case 1:
		if (words_split(&words, "fuzz", text) == 0)
			profile_options_parse(&options, words.argc, words.argv);
		words_release(&words);
		break;
	case 2:
		patterns(text);
		break;
	case 3:
		filters(text);
		break;
	default:
		gates(text);
	}
	free(text);
}

static size_t seed_options(unsigned i, uint8_t to[FUZZ_SEED_MAX])
{
	static const char *const texts[] = {
		"\x05-t cuda,nvtx,osrt -o run%n --osrt-threshold=1000 --env-var=A=B\\,C,D=E",
		"\x05--sample=process-tree --sampling-frequency=100 -c nvtx -p 'range@domain' "
		"--capture-range-end=repeat:3",
		"\x06--flight=30s --trigger='nvtx:step>2x' -y 3 --cpu-core-events=1,2 "
		"--event-sample=system-wide prog a 'b c'",
		"\x06--python-step=train:loop --backtrace=fp --cudabacktrace=kernel:1000 --kill=9 "
		"--wait=primary --stats=true prog",
		"\x07nvtx:step@train>1.5x,osrt:read*>20ms,cuda:cudaMemcpy>3s,gpu-idle:50%>10ms,"
		"exit!=0",
		"\x07run-%h-%p-%q{HOME}-%n%%.sqlite",
		"\x08"
		"12s-15s,100us/:3ms:",
		"\x08range\\@x@*/3",
		"\x08"
		"1,2,3",
		"\x08"
		"50,99,99.9",
		"\x08OSRT_API,CUPTI.*",
		"\x08"
		"csv:nohdr",
		"\x09step.median > +3%",
		"\x09kernel[*gemm*].total > +2ms",
		"\x09gpu_memory > 70GB",
		NULL};

	return fuzz_text_seed(texts, i, to);
}

/* Reports are looked for, and pythons' files: there are none here. */
static void init_options(void)
{
	if (chdir(fuzz_dir()))
		abort();
}

const struct fuzz_target fuzz_options = {"options", run_options, seed_options, init_options};

/* ---- JSON of --python-functions-trace, schemas of NVTX payloads; tables of lines of Python ---- */

static void run_json(const uint8_t *data, size_t len)
{
	struct python_functions functions = {0};
	struct json_error error;
	char path[96], *text;

	if (!len)
		return;
	if (data[0] & 1) {
		for (uint32_t at = 0; at < 64; at += 2)
			pylines_at(data[0] & 2 ? 0x030b : 0x030a, data + 1, len - 1, 1, at);
		return;
	}
	text = text_of(data + 1, len - 1);
	json_free(json_read(text, len - 1, &error));
	free(text);
	snprintf(path, sizeof(path), "%s/functions.json", fuzz_dir());
	fuzz_file(path, data + 1, len - 1);
	if (python_functions_read(&functions, path, "fuzz") == 0)
		python_functions_free(&functions);
}

static size_t seed_json(unsigned i, uint8_t to[FUZZ_SEED_MAX])
{
	static const char *const texts[] = {
		" [{\"domain\": \"a\", \"color\": \"0xff00ff\", \"module\": \"train\", "
		"\"functions\": [\"loop\", {\"function\": \"step\", \"color\": 255}]}]",
		" {\"x\": [1, -2.5e3, true, null, \"\\u00e4\\n\\ud83d\\ude00\"], \"y\": {}}",
		"\x03\xf0\x01\x42\x80\x10\x02\xd8\x04\x05\xe8\x08\xf7",
		"\x01\x04\x01\x06\xff\x80\x02", NULL};

	return fuzz_text_seed(texts, i, to);
}

const struct fuzz_target fuzz_json = {"json", run_json, seed_json, NULL};
