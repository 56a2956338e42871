/* host_internal.h - shared by the sources of host counters (host_*.c), and private to them. */
#pragma once

#include <string.h>

#include "collector/base/figure.h"
#include "collector/health/host.h"

#define HOST_SLOW_NS \
	500000000ull /* ticks of 10 ms: shorter intervals would show steps of 10 per cent */
#define HOST_IDLE_NS 1000000000ull /* for files that change slowly, or are dear to read */
#define HOST_NAME    128

/* ---- files (host_file.c) ---- */

/* Opened once; each reading begins at its start. */
struct host_file {
	int fd;  /* -1: none */
	int err; /* why it could not be opened or read, 0: it could */
};

/* @format: the path, below the root. False: file->err has the reason. */
bool host_file_open(const struct host *h, struct host_file *file, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/*
 * The whole text, until the next file is read: NUL-terminated, without NULs inside. NULL: it is gone. h->at is the middle of
 * the reading.
 */
char *host_file_read(struct host *h, struct host_file *file);
void host_file_close(struct host_file *file);
/* The first word of a small file; false: there is none. */
bool host_file_word(const struct host *h, char *word, size_t len, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
bool host_is_there(const struct host *h, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* The next line of a text, which it cuts there; NULL: the end. */
char *host_line(char **text);
/* The next word likewise, after blanks; NULL: none. */
char *host_word(char **line);
/* The next word as a number, cut to FIGURE_MAX; false: it is none. */
bool host_number(char **line, uint64_t *n);
bool host_is_number(const char *word, uint64_t *n);

/* ---- counters and their samples (host_series.c) ---- */

struct host_scope {
	const char *kind; /* SL_COUNTERS.scope; a constant */
	int64_t id;       /* -1: none */
	const char *name; /* NULL: none */
};

/* Description of a counter; texts are constants. */
struct host_what {
	const char *name, *unit;
	enum host_form {
		HOST_LEVEL,
		HOST_RARE, /* a level that hardly ever changes: a row where it does */
		HOST_SUM,
		HOST_USED, /* the sum of a facility that may never be used: no rows before its first use */
	} form;
};

/* One counter; zeroed at first. */
struct host_counter {
	uint32_t number; /* of its series + 1; 0: it has none yet */
	uint32_t epoch;  /* of host_begin(), in which it was read last */
	bool has_row;    /* in that */
	uint64_t last;   /* sums: as read */
	uint64_t last_at;
	double level; /* of its row */
};

void host_level(struct host *h, struct host_counter *c, const struct host_scope *scope,
		const struct host_what *what, double value);
/*
 * @raw: the running sum as read. A sum below the last one has wrapped at @wrap (0: it never wraps),
 * or begun again at 0: the count before that is unknown. @scale: value of one in the unit of the
 * counter.
 */
void host_sum(struct host *h, struct host_counter *c, const struct host_scope *scope,
	      const struct host_what *what, uint64_t raw, uint64_t wrap, double scale);
/* A sum of the kernel that is known to move back now and then, by a little: that is 0. */
void host_sum_shaky(struct host *h, struct host_counter *c, const struct host_scope *scope,
		    const struct host_what *what, uint64_t raw, double scale);

/* ---- texts of lines "key number" ---- */

struct host_key {
	const char *key; /* as it stands in the file, without the colon */
	double scale;
	struct host_what what;
};
#define HOST_KEYS 16

void host_value(struct host *h, const struct host_key *key, struct host_counter *c,
		const struct host_scope *scope, uint64_t n);
/* Lines whose first word is one of @keys (which end with NULL) give a value of @counters, in the same order. */
void host_keys(struct host *h, char *text, const struct host_key *keys,
	       struct host_counter *counters, const struct host_scope *scope);
/* A file of one number; other words ("max") are none. */
void host_one(struct host *h, struct host_file *file, const struct host_key *key,
	      struct host_counter *counter, const struct host_scope *scope);
/* Lines of pressure files: "some avg10=... total=US". @what: of some and full; a NULL name: not wanted. */
void host_pressure(struct host *h, struct host_file *file, const struct host_what what[2],
		   struct host_counter counters[2], const struct host_scope *scope);

/* ---- sources ---- */

struct host_source {
	const char *name;
	uint64_t period;               /* read so often at most, ns; 0: at each tick */
	void *(*open)(struct host *h); /* NULL: nothing to read */
	void (*follow)(struct host *h, void *state, pid_t pid);
	void (*read)(struct host *h, void *state);
	void (*close)(void *state);
};

extern const struct host_source host_cpu, host_clock, host_memory, host_vmstat, host_psi,
	host_cgroup, host_process, host_disk, host_net, host_infiniband, host_power;

/* A sentence for host_why(). */
void host_say(struct host *h, const char *format, ...) __attribute__((format(printf, 2, 3)));

struct host_sample {
	uint64_t at; /* CLOCK_MONOTONIC */
	uint32_t series;
	double value; /* NAN: not known */
};

struct host_series {
	struct host_what what;
	const char *kind;
	int64_t id;
	char *name;
	int64_t row;       /* SL_COUNTERS.id, the same in all reports; 0: none yet */
	bool is_in_report; /* it has a sample there */
};

#define HOST_SOURCES 11
struct host {
	const char *root;
	uint64_t period, keep;
	uint64_t at;    /* of the reading at hand */
	uint32_t epoch; /* host_begin() so far */
	bool is_on;
	struct {
		void *state[HOST_SOURCES];
		uint64_t due[HOST_SOURCES];
	} source;
	struct {
		struct host_series *list;
		size_t cnt, cap;
	} series;
	struct {
		struct host_sample *list;
		size_t cnt, cap;
	} waiting;
	uint64_t lost;
	struct {
		char *bytes;
		size_t cap;
	} text; /* of the file at hand */
	struct {
		char text[8][200];
		unsigned cnt, said;
	} why;
};
