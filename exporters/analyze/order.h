/*
 * order.h - many rows in order, in little memory: sorted in runs, which go to a temporary file where there are several.
 */
#ifndef SL_ORDER_H
#define SL_ORDER_H

#include <stdint.h>
#include <stddef.h>

/* In the order of key[0], key[1], minor. */
struct order_row {
	int64_t key[2], value[2];
	uint32_t minor, tag;
};

struct order;

/* Rows of a run; tests make it small. */
extern size_t order_run_rows;

struct order *order_new(void); /* NULL: no memory */
void order_free(struct order *o);

/* SQLite's result codes: SQLITE_FULL where the temporary file has no room. */
int order_add(struct order *o, const struct order_row *row);
int order_sort(struct order *o); /* after the last row */
/* SQLITE_ROW, or SQLITE_DONE behind the last one. */
int order_next(struct order *o, struct order_row *row);

#endif
