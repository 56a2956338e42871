/* causes.h - the model of sightline why, kept with a report, and its causes as JSON. */
#pragma once

#include "exporters/view/answers/answer.h"
#include "exporters/why/answer/pieces.h"
#include "exporters/why/answer/why.h"

/* Read once, kept with the report until its index changes. */
struct view_why {
	sqlite3 *db;
	uint32_t generation; /* of the store when it was read */
	struct why y;
};

/* With why_lock held: a walk changes the model. NULL after a refusal. */
struct view_why *view_why_take(struct view_request *q, struct view_reply *a);

/* Whose time: a thread, or a GPU. */
struct view_whose {
	uint32_t thread;           /* WHY_NONE: of nothing that is known */
	const struct why_gpu *gpu; /* NULL: of the thread */
};
/* Of a row of the index; the GPU of streams and of what is below a GPU. */
struct view_whose view_whose_row(const struct why *y, struct view_store *v, int64_t row);
/* "main thread", "GPU 0"; @buf of at least 96 bytes. */
const char *view_whose_text(const struct why *y, const struct view_whose *who, char *buf,
			    size_t len);

/* Members of an object: reason, colour, text, what (call, object and place), place, thread, and the row of the thread. */
void view_put_cause(struct writer *b, struct view_store *v, const struct why *y,
		    const struct why_cause *c, uint32_t thread);
/* The row of a thread in the index; 0: none. */
uint32_t view_row_of_thread(struct view_store *v, int64_t global_tid);
