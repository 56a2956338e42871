/* projection_rewrite.c - where tables of ours stand in for a report's lines. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/embed.h"
#include "exporters/sql/projection.h"

#define COLUMNS                                                                              \
	"id, parent, lvl, children, kind, style, tid, domain, start, end, text, textId, n, " \
	"first, last"

static const struct part {
	const char *begin;  /* of its first line */
	const char *report; /* that has it */
	const char *sql;    /* what stands in for it */
	bool behind; /* it needs what is in front of it: without that, it is not ours either */
} parts[] = {
	{"-- [projection]", "stats/reports/nvtx_gpu_proj_trace.sql",
	 "CREATE TEMP VIEW projected AS SELECT " COLUMNS " FROM sl_projection;\n", false},
	{"-- [numbers]", "stats/reports/nvtx_gpu_proj_trace.sql",
	 "CREATE TEMP VIEW numbered AS SELECT " COLUMNS
	 ", number, above, path FROM sl_projection;\n",
	 true},
	{"-- [stacks]", "stats/reports/nvtx_pushpop_trace.sql",
	 "CREATE TEMP VIEW stacked AS SELECT start, end, tid, domain, text, textId, lvl, children, "
	 "n AS inside, number, above, path FROM sl_range_stacks;\n",
	 false},
	{"-- [range-kernels]", "stats/reports/nvtx_kern_sum.sql",
	 "CREATE TEMP TABLE figure AS SELECT key, extra AS ranges, calls, time, mean, med, least, "
	 "most, squares/* percentiles: , p{i} */ FROM sl_figures_rows(sl_range_kernels(CASE WHEN "
	 ":base THEN 'shortName' WHEN :mangled THEN 'mangledName' ELSE 'demangledName' END));\n",
	 false},
	{"-- [library-calls]", "stats/reports/gpu_library_sum.sql",
	 "CREATE TEMP TABLE library_key(id INTEGER PRIMARY KEY, kernels, gpu, work, library, name, "
	 "size);\n"
	 "CREATE TEMP TABLE figure AS SELECT calls, time, mean, med, least, most, squares"
	 "/* percentiles: , p{i} */, kernels, gpu, work, library, name, size "
	 "FROM sl_figures_rows(sl_library_calls(:sizes)) CROSS JOIN library_key ON id = key;\n",
	 false},
};

/* From its first line to the one that ends it; 0: it is not there. */
static size_t find_part(const char *sql, const struct part *part, const char **at)
{
	const char *end;

	*at = strstr(sql, part->begin);
	end = *at ? strstr(*at, "-- [end]\n") : NULL;
	return end ? (size_t)(end - *at) : 0;
}

static const char *our_report(const struct part *part)
{
	for (size_t i = 0; sl_embedded[i].name; i++)
		if (strcmp(sl_embedded[i].name, part->report) == 0)
			return sl_embedded[i].text;
	return "";
}

char *projection_rewrite(const char *sql)
{
	char *text = NULL;
	size_t size;
	bool before = false;
	FILE *out = open_memstream(&text, &size);

	for (size_t i = 0; out && i < sizeof(parts) / sizeof(parts[0]); i++) {
		const char *at, *ours;
		size_t len = find_part(sql, &parts[i], &at);

		before = (before || !parts[i].behind) && len > 0 &&
			 find_part(our_report(&parts[i]), &parts[i], &ours) == len &&
			 memcmp(at, ours, len) == 0;
		if (!before)
			continue;
		fprintf(out, "%.*s%s", (int)(at - sql), sql, parts[i].sql);
		sql = at + len;
	}
	if (out)
		fprintf(out, "%s", sql);
	if (out && fclose(out) != 0) {
		free(text);
		text = NULL;
	}
	return text;
}
