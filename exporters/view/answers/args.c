/* args.c - further values of an event, by their names in the timelines of exports. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "exporters/view/answers/columns.h"

struct args {
	struct writer *b;
	bool is_done; /* more than one event there should not be */
};

static void put(struct writer *b, const struct tl_arg *a)
{
	char text[96];

	json_open(b, NULL, '[');
	js_text(b, NULL, a->key);
	switch (a->kind) {
	case TL_TEXT:
	case TL_JSON:
		json_bytes(b, NULL, a->text.text, a->text.len);
		json_close(b, ']');
		return;
	case TL_REAL:
		snprintf(text, sizeof(text), "%.6g", a->real);
		break;
	case TL_HEX:
		snprintf(text, sizeof(text), "0x%" PRIx64, (uint64_t)a->num);
		break;
	case TL_BOOL:
		snprintf(text, sizeof(text), "%s", a->num ? "true" : "false");
		break;
	case TL_VECTOR:
		snprintf(text, sizeof(text), "%" PRId64 " x %" PRId64 " x %" PRId64, a->vector[0],
			 a->vector[1], a->vector[2]);
		break;
	default:
		snprintf(text, sizeof(text), "%" PRId64, a->num);
	}
	js_text(b, NULL, text);
	json_close(b, ']');
}

static int on_track(void *self, struct tl_track *track)
{
	(void)self;
	(void)track;
	return 0;
}

static int on_event(void *self, const struct tl_event *e)
{
	struct args *args = self;

	for (uint32_t i = 0; i < e->arg_cnt && !args->is_done; i++)
		put(args->b, &e->args[i]);
	args->is_done = true;
	return 0;
}

void view_put_args(struct writer *b, sqlite3 *db, const char *table, int64_t row)
{
	static const struct tl_sink sink = {on_track, on_event, NULL};
	struct tl_options options = {.only_table = table, .only_row = row};
	struct args args = {.b = b};
	char why[256];

	json_open(b, "args", '[');
	for (const struct tl_source_def *d = tl_source_defs; d->table && row > 0; d++) {
		if (strcmp(d->table, table) != 0 || !*d->args)
			continue;
		options.activities = d->activity;
		timeline_run(db, &options, &sink, &args, why, sizeof(why));
		break;
	}
	json_close(b, ']');
}
