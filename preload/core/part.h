/*
 * part.h - parts of the shim above core/ (GPU, Python, wrappers of the C library) as core/ calls them: it walks a table
 * and knows no part by name. preload/parts.c fills the table.
 */
#pragma once

#pragma GCC visibility push(hidden)

/* NULL: nothing to do. All run in a thread that may write records, but forked and resumed, which must not. */
struct sl_part {
	void (*scan)(void);  /* objects may have been loaded */
	void (*start)(void); /* in the constructor, after the first scan */
	void (*end)(void);   /* in the destructor */
	void (*forked)(
		void); /* in a forked child, before its first record: other threads' locks are stale */
	void (*resumed)(
		void); /* recording starts: changes that were not observed make caches stale */
	void (*flush)(void);  /* a capture is about to end: buffered records are due */
	void (*follow)(void); /* the gate may have changed */
};

/* A section of its own: the linker defines its bounds, so core/ refers to no object of a higher floor. */
#define SL_PART_SECTION "sl_parts"
extern const struct sl_part __start_sl_parts[], __stop_sl_parts[];

/* Calls @member of each part, in the order of the table. */
#define SL_PARTS_CALL(member)                                                               \
	do {                                                                                \
		for (const struct sl_part *part = __start_sl_parts; part < __stop_sl_parts; \
		     part++)                                                                \
			if (part->member)                                                   \
				part->member();                                             \
	} while (0)

#pragma GCC visibility pop
