/*
 * export.h - the interface of exporters. A new exporter is one file in this folder and one line in exporters.def.
 *
 * cmd_export.c opens the report, finds the name of the output, makes a temporary one next to it, renames
 * at the end or removes it; the exporter only writes.
 */
#pragma once

#include "exporters/formats/out.h"
#include "exporters/timeline/timeline.h"
#include "exporters/stacks/stack_costs.h"

enum export_shape {
	EXPORT_STREAM, /* bytes: into job->out; may be compressed and go to stdout */
	EXPORT_FOLDER, /* files in job->path, an empty folder */
	EXPORT_FILE,   /* writes the file job->path, which is empty, itself */
};

struct export_options {
	uint32_t activities; /* 0: not given */
	const char *tables;  /* comma list of regular expressions, NULL: all */
	bool lazy;           /* only tables with rows */
	bool include_blobs, include_json;
	bool anonymize;
	int64_t shift;  /* ns, added to times; --ts-normalize is in it */
	bool normalize; /* it was asked for: shift holds it already */
	bool quiet;
	unsigned flame;           /* COST_BIT()s; 0: not given */
	enum stack_frames frames; /* how frames are called */
	bool python_only;         /* of stacks: frames of Python alone */
	/* As they were given, for those who note it down; the views of @db follow them already. NULL: none. */
	const char *time, *nvtx, *pid, *times;
	const char *given_shift; /* --ts-shift */
};

struct export_job {
	sqlite3 *
		db; /* opened by db_read_open(), filtered: unqualified names are the exported rows. NULL: all of a report of nsys, by sqlite */
	const char *input;  /* path of the report */
	const char *output; /* name the result will have; "-": stdout */
	struct out *out;    /* STREAM */
	const char *path;   /* FOLDER, FILE: where to write it now */
	struct export_options opt;
	struct tl_options timeline; /* activities, shift, progress: for timeline_run() */
	uint64_t events;            /* the exporter's count, for the last line of progress */
};

struct exporter {
	const char *name; /* of --type */
	const char *
		extension; /* of the derived output, without dot; one that begins with _ takes none */
	const char *part; /* FOLDER: how the names of its files end, with dot */
	const char *about;
	enum export_shape shape;
	uint32_t activities; /* default of --activities; 0: takes none */
	bool repairs;        /* also takes a damaged report */
	bool flames;         /* takes --flame and --frames */
	bool packs;          /* is gzip whatever its name */
	bool explains;       /* shows job->timeline.made */
	/* 0, or -1 after one sentence in @why ("" where job->out->err has it). */
	int (*run)(struct export_job *job, char *why, size_t why_len);
};

extern const struct exporter
	*const exporter_list[]; /* in the order of exporters.def; ends with NULL */
