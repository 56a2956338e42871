/* fetch.h - a span of chosen ranks out of reports, as one report. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "exporters/ranks/rank_of_file.h"
#include "exporters/read/db_filter.h"

struct fetch {
	const char *folder, *run; /* of the dataset */
	const char *ranks;        /* "3,7" */
	const char *time; /* as --filter-time has it, since the start of the run; NULL: all */
	const char *output;
	bool force;
	char **reports; /* REPORT, or REPORT=RANK */
	size_t reports_cnt;
	const char *rank_from; /* pattern of their names; NULL: none */
	struct db_filter span; /* by fetch_check() */
	struct ranked *ranked; /* likewise, one of each report */
};

/* Are the options well formed? -1 after one sentence in @why. */
int fetch_check(struct fetch *f, char *why, size_t why_len);
int fetch_ranks(struct fetch *f, char *why, size_t why_len);
void fetch_free(struct fetch *f);
