/* cmd_export.h - the options of sightline export, and its state. */
#pragma once

#include <time.h>

#include "collector/base/options.h"
#include "exporters/read/db_filter.h"
#include "exporters/formats/export.h"
#include "exporters/why/answer/tracks.h"

#define EXPORT_WHY 2048

struct export
{
	const char *type, *output, *activities, *tables, *times, *time, *nvtx, *pid, *shift,
		*dynamic, *flame, *frames, *explain;
	bool force, append, lazy, normalize, blobs, json, separate, anonymize, quiet, python_only;
	char *input, *target; /* target: "-" is stdout */
	const struct exporter *exporter;
	enum out_packing packing;
	struct db_filter filter;
	struct export_job job;
	sqlite3 *all; /* the report without filters, for tracks */
	struct why_tracks tracks;
	int64_t began, told; /* mono_ns() */
	bool show;           /* progress */
	char why[EXPORT_WHY];
};

extern const char export_usage[];

/* 0, OPT_HELP_SHOWN, or an exit status after one line on stderr. */
int export_parse(struct export *x, int argc, char **argv);
