/*
 * schema_image.h - what a new report begins with, made of schema.sql while Sightline is built (scripts/schema_image.c).
 */
#ifndef SL_SCHEMA_IMAGE_H
#define SL_SCHEMA_IMAGE_H

/* The file of a report with the tables that every report has, and no event. */
extern const unsigned char sl_new_report[];
extern const unsigned long sl_new_report_size;

/* Of every table that a report can have. */
struct schema_columns {
	const char *name;
	const char *
		sql; /* CREATE TABLE with columns of the same types and NOT NULL, c0, c1, ..., and without keys */
	unsigned cols;
	unsigned long long not_null; /* bit i: column i, below 64 */
};
extern const struct schema_columns sl_schema_columns[]; /* ends with a NULL name */

#endif
