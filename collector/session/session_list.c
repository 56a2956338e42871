/* session_list.c - asks each collector for its status. */
#include "collector/session/session_list.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "collector/base/json.h"
#include "collector/base/message.h"

#define ANSWER_MS 3000
#define SHOWN_NS  2000000000ll /* a shorter lag is usual */

static int64_t number_of(const char *text, const char *key)
{
	char value[32];

	return strtoll(command_value(text, key, value, sizeof(value)), NULL, 10);
}

bool session_info_ask(struct session_info *s)
{
	static struct command p;
	const char *text;

	command_begin(&p);
	command_add(&p, "status");
	snprintf(s->state, sizeof(s->state), s->at.is_alive ? "NoAnswer" : "Dead");
	if (!s->at.is_alive || command_ask(s->at.dir, s->at.owner, &p, ANSWER_MS) != 0)
		return false;
	text = p.cnt > 1 ? p.word[1] : "";
	command_value(text, "state", s->state, sizeof(s->state));
	command_value(text, "kind", s->kind, sizeof(s->kind));
	command_value(text, "program", s->program, sizeof(s->program));
	command_value(text, "report", s->report, sizeof(s->report));
	s->since_s = number_of(text, "since");
	s->root = (uint32_t)number_of(text, "root");
	s->root_runs = number_of(text, "root_runs") != 0;
	s->reports = (uint32_t)number_of(text, "reports");
	s->refused = (uint32_t)number_of(text, "refused");
	s->lost = (uint64_t)number_of(text, "lost");
	s->processes = number_of(text, "processes");
	s->behind_ns = number_of(text, "behind");
	return true;
}

size_t session_list(struct session_info **list, bool all)
{
	struct session_entry *entries = NULL;
	size_t cnt = sessions_scan(&entries, all);

	*list = calloc(cnt + 1, sizeof(**list));
	for (size_t i = 0; *list && i < cnt; i++) {
		(*list)[i].at = entries[i];
		session_info_ask(&(*list)[i]);
	}
	free(entries);
	return *list ? cnt : 0;
}

/* "00:03", "1:02:03"; "-" unknown. */
static const char *age(int64_t since_s, char *text, size_t size)
{
	int64_t s = time(NULL) - since_s;

	if (!since_s || s < 0)
		snprintf(text, size, "-");
	else if (s < 3600)
		snprintf(text, size, "%02d:%02d", (int)(s / 60), (int)(s % 60));
	else
		snprintf(text, size, "%" PRId64 ":%02d:%02d", s / 3600, (int)(s / 60 % 60),
			 (int)(s % 60));
	return text;
}

void session_list_text(const struct session_info *list, size_t cnt, bool header)
{
	char text[32];

	if (header)
		printf("%10s  %10s  %-17s  %6s  %s\n", "ID", "TIME", "STATE", "LAUNCH", "NAME");
	for (size_t i = 0; i < cnt; i++)
		printf("%10d  %10s  %-17s  %6d  %s\n", (int)list[i].at.pid,
		       age(list[i].since_s, text, sizeof(text)), list[i].state, list[i].root_runs,
		       list[i].at.name);
}

void session_list_json(const struct session_info *list, size_t cnt)
{
	struct writer w = {.file = stdout, .is_spaced = true};

	json_open(&w, NULL, '[');
	for (size_t i = 0; i < cnt; i++) {
		const struct session_info *s = &list[i];

		json_line(&w, 2);
		json_open(&w, NULL, '{');
		json_int(&w, "id", s->at.pid);
		json_text(&w, "name", s->at.name);
		json_text(&w, "state", s->state);
		json_text(&w, "kind", s->kind);
		json_text(&w, "directory", s->at.dir);
		json_int(&w, "uid", s->at.owner);
		json_int(&w, "since", s->since_s);
		json_int(&w, "launch", s->root_runs);
		json_int(&w, "pid", s->root);
		json_text(&w, "program", s->program);
		json_int(&w, "processes", s->processes);
		json_text(&w, "report", s->report);
		json_int(&w, "reports", s->reports);
		json_format(&w, "lost", "%" PRIu64, s->lost);
		json_int(&w, "refused", s->refused);
		json_int(&w, "behind_ns", s->behind_ns);
		json_close(&w, '}');
	}
	if (cnt)
		json_line(&w, 0);
	json_close(&w, ']');
	putchar('\n');
}

void session_info_text(const struct session_info *s)
{
	char text[32], dir[sizeof(s->at.dir)];

	/* Sockets of any user are listed by the kernel. */
	memcpy(dir, s->at.dir, sizeof(dir));
	sl_clean(dir, strlen(dir));
	printf("Session        %s (%s)\n", s->at.name, dir);
	printf("State          %s\n", s->state);
	if (!s->kind[0])
		return;
	printf("Since          %s\n", age(s->since_s, text, sizeof(text)));
	printf("Collector      process %d, of '%s'\n", (int)s->at.pid, s->kind);
	if (s->root)
		printf("Program        process %u%s: %s (%" PRId64 " processes)\n", s->root,
		       s->root_runs ? "" : ", ended", s->program, s->processes);
	if (s->report[0])
		printf("Report         %s\n", s->report);
	printf("Reports        %u complete\n", s->reports);
	printf("Lost events    %" PRIu64 "\n", s->lost);
	if (s->behind_ns >= SHOWN_NS)
		printf("Behind         %.1f s: records become rows when a processor is free\n",
		       (double)s->behind_ns / 1e9);
	if (s->refused)
		printf("Refused        %u requests of other users\n", s->refused);
}
