/* route.c - the table of messages. */
#include <string.h>

#include "exporters/view/server/route.h"

static const struct {
	const char *path;
	bool is_post;
	view_answer *answer;
} messages[] = {
	{"/v1/report", false, view_answer_report},     {"/v1/live", false, view_answer_live},
	{"/v1/tiles", true, view_answer_tiles},        {"/v1/counters", true, view_answer_counters},
	{"/v1/event", false, view_answer_event},       {"/v1/flow", false, view_answer_flow},
	{"/v1/select", true, view_answer_select},      {"/v1/search", false, view_answer_search},
	{"/v1/events", true, view_answer_events},      {"/v1/why", false, view_answer_why},
	{"/v1/track", false, view_answer_track},       {"/v1/steps", false, view_answer_steps},
	{"/v1/findings", false, view_answer_findings}, {"/v1/sql", true, view_answer_sql},
	{"/v1/schema", false, view_answer_schema},     {"/v1/save", true, view_answer_save},
	{"/v1/locks", false, view_answer_locks},       {"/v1/notes", false, view_answer_notes},
	{"/v1/note", true, view_answer_note},
};

void view_route(struct view_request *q, struct view_reply *a)
{
	int64_t number = 0;

	*a = view_reply_begin();
	for (size_t i = 0; i < sizeof(messages) / sizeof(messages[0]); i++) {
		if (strcmp(messages[i].path, q->path) != 0)
			continue;
		if (messages[i].is_post != q->is_post) {
			view_refuse(a, 405,
				    messages[i].is_post ? "that takes POST" : "that takes GET");
			return;
		}
		if (view_param_int(q, "r", &number) &&
		    (number < 0 || number >= q->server->report_cnt)) {
			view_refuse(a, 404, "there is no such report");
			return;
		}
		q->report = &q->server->reports[number];
		q->store = q->report->store;
		messages[i].answer(q, a);
		if (a->body.failed)
			view_refuse(a, 503, "out of memory");
		return;
	}
	view_refuse(a, 404, "there is nothing of that name");
}
