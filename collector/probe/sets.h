/*
 * sets.h - metrics, chips and sets of sets.def, and lists of metrics out of a file.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum pm_group {
	PM_GENERAL = 1,
	PM_LINKS = 2,   /* NVLink, as totals */
	PM_PACKETS = 4, /* NVLink, by kind of packet */
	PM_MORE = 8,
};

/* How samples are triggered, and their fate where the buffer is full. */
enum pm_trigger {
	PM_TIME,               /* by a clock of fixed rate; the latest samples are kept */
	PM_CYCLES,             /* by cycles of the SYS clock, whose rate changes */
	PM_CYCLES_KEEP_OLDEST, /* the same; the buffer keeps the oldest samples, and sampling ends */
};

#define PM_SPELLINGS 3u

struct pm_metric {
	const char *name; /* with its unit in brackets */
	enum pm_group group;
	bool is_otherwise; /* only where the metric before it is not there */
	const char *spellings[PM_SPELLINGS + 1];
};

struct pm_family {
	const char *alias, *chips;
	enum pm_trigger trigger;
	bool has_nvlink; /* some do */
	const char *begins[3];
};

extern const struct pm_metric pm_metrics[];
extern const unsigned pm_metric_cnt;
extern const struct pm_family pm_families[];
extern const unsigned pm_family_cnt;

/* NULL: none of the table's. */
const struct pm_family *pm_family_of(const char *chip);
/* The alias of the chip's general set. */
void pm_alias(const char *chip, char *alias, size_t size);
/* The groups of a set's name; 0: not a set of this chip. The alias alone: the general one. */
unsigned pm_groups_of(const char *chip, const char *set);
/* Names and descriptions of a chip's sets, one after the other; false: no more. */
bool pm_set_of(const char *chip, unsigned n, char *set, size_t size, const char **what);
/* True: the name is a set's of some chip in the table. */
bool pm_is_set(const char *set);
/* Whether the unit is per cent. */
bool pm_is_percent(const char *name);

/* Metrics that are wanted, in the order of importance. */
struct pm_wants {
	struct pm_metric *at;
	unsigned cnt;
	char *text; /* of a file's, which the strings lie in */
};

/* 0 or -ENOMEM. */
int pm_wants_of_groups(struct pm_wants *w, unsigned groups);
/*
 * A metric a line: a name of the table, or a metric of CUPTI's with its rollup, or NAME = such a metric. Lines that begin with
 * # and empty ones are left out. 0 or -errno; why: one line, "FILE:LINE: what".
 */
int pm_wants_of_file(struct pm_wants *w, const char *path, char *why, size_t why_size);
void pm_wants_free(struct pm_wants *w);
