/* embed.h - texts that are part of the binary: schema.sql, reports, rules (made by scripts/embed). */
#pragma once

struct embedded {
	const char *
		name; /* path below collector/ or exporters/: "schema.sql", "stats/reports/osrt_sum.sql" */
	const char *text;   /* its contents, followed by a NUL */
	unsigned long size; /* without that NUL */
};

extern const struct embedded sl_embedded[]; /* ends with a NULL name */
