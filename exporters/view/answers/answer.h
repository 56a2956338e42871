/* answer.h - a request, its reply, and the functions that answer: one for each message. They run in threads of workers. */
#pragma once

#include "exporters/view/answers/js.h"
#include "exporters/view/index/store.h"

struct view_why;

/* An answer that costs much, for as long as the index is the same. */
struct view_kept {
	char *text; /* NULL: none yet */
	size_t len;
	uint32_t generation;
};

struct view_report {
	struct view_store *store;
	pthread_t builder;
	bool has_builder;
	/* handles that no worker uses now */
	pthread_mutex_t lock;
	sqlite3 *idle[8];
	int idle_cnt;
	/* wait_reasons.c */
	pthread_mutex_t why_lock;
	struct view_why *why;
	struct view_kept findings;
};
void view_why_free(struct view_why *w);

struct view_server {
	struct view_report *reports;
	int report_cnt;
	bool stop; /* atomic: workers and builders end */
};

struct view_request {
	struct view_server *server;
	bool is_post;
	const char *path;  /* without the query */
	const char *query; /* NULL: none */
	const uint8_t *body;
	size_t len;
	/* of the parameter r */
	struct view_report *report;
	struct view_store *store;
};

struct view_reply {
	int status;
	const char *type;
	bool is_deflated;
	struct writer body;
};

/* A reply in JSON, whose texts the page shows. */
static inline struct view_reply view_reply_begin(void)
{
	return (struct view_reply){
		.status = 200, .type = "application/json", .body.is_marked = true};
}

/* ---- for the answering functions ---- */

/* A status other than 200 and a sentence. Returns -1. */
int view_refuse(struct view_reply *a, int status, const char *why);
/* A parameter of the query. False: not there, or no number. */
bool view_param_int(const struct view_request *q, const char *name, int64_t *value);
/* Decoded; malloc'd; NULL: not there, or no memory. */
char *view_param_text(const struct view_request *q, const char *name);

/* A handle to the report for this worker; NULL after a refusal. */
sqlite3 *view_db_take(struct view_request *q, struct view_reply *a);
void view_db_put(struct view_request *q, sqlite3 *db);

typedef void view_answer(struct view_request *q, struct view_reply *a);
view_answer view_answer_report, view_answer_live, view_answer_tiles, view_answer_counters,
	view_answer_event, view_answer_flow, view_answer_select, view_answer_search,
	view_answer_events, view_answer_why, view_answer_track, view_answer_findings,
	view_answer_steps, view_answer_sql, view_answer_schema, view_answer_save, view_answer_locks,
	view_answer_notes, view_answer_note;

/* details.c: a value as JSON; a blob in hexadecimal; long ones are cut. */
void view_put_value(struct writer *b, sqlite3_value *value);
