/* analyze.h - findings and evidence of rules, kept until the ranking is known. */
#pragma once

#include "exporters/analyze/findings.h"
#include "exporters/stats/tables.h"

enum outcome {
	OUTCOME_DONE,
	OUTCOME_NO_DATA,
	OUTCOME_FAILED
};

/* Evidence of one job of the plan: a rule of an input. */
struct evidence {
	enum outcome outcome;
	char *text; /* the table in the job's format */
	size_t len;
	long long rows;
	size_t first, found; /* findings: the order of the first, how many */
	char missing[128];   /* NO_DATA: the name of the missing data */
	struct wall wall;
};

struct analyze {
	struct tables t;
	struct evidence *ev; /* one per job */
	char **head; /* one per input: where its time went, as text or JSON; NULL: not asked for */
	struct findings fs;
	const char *fail_on;
};

/* The ranked list of @input's findings, of all for NULL. 0, or -1 when memory ran out. */
int analyze_list(const struct analyze *a, const struct format *format,
		 const struct format_options *opt, const char *input, FILE *out, bool console);

/* Did no rule find the data that it looks at, and is nothing known of where the time went? */
bool analyze_abstains(const struct analyze *a);

/* The job whose evidence a finding rests on; job_cnt: none. */
size_t analyze_job_of(const struct analyze *a, const struct finding *f);

/* Finds how busy each GPU of each report was, and the imbalance that follows. 0, or -1 (@why, or no memory). */
struct rank {
	const char *input;
	long long ns;
	int device;
	long long kernels;
};

struct ranks {
	struct rank *list;
	size_t cnt;
	long long wall_ns;
};

int ranks_add(struct ranks *r, struct analysis *a, char *why, size_t why_len);
int ranks_judge(struct ranks *r, struct findings *fs);
