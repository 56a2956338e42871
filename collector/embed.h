/* embed.h - texts that are part of the binary: schema.sql and the reports (made by scripts/embed). */
#ifndef SL_EMBED_H
#define SL_EMBED_H

struct embedded {
	const char *name; /* file name, e.g. "osrt_sum.sql" */
	const char *text; /* its contents */
};

extern const struct embedded sl_embedded[]; /* ends with a NULL name */

#endif
