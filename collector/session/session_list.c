/* session_list.c - asks each collector for its status. */
#include "collector/session/session_list.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "collector/base/message.h"

#define ANSWER_MS 3000
#define SHOWN_NS  2000000000ll /* what is behind by less is as usual */

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

static void put_text(const char *key, const char *value)
{
	printf(", \"%s\": ", key);
	sl_put_json(value);
}

void session_list_json(const struct session_info *list, size_t cnt)
{
	printf("[");
	for (size_t i = 0; i < cnt; i++) {
		const struct session_info *s = &list[i];

		printf("%s\n  {\"id\": %d", i ? "," : "", (int)s->at.pid);
		put_text("name", s->at.name);
		put_text("state", s->state);
		put_text("kind", s->kind);
		put_text("directory", s->at.dir);
		printf(", \"uid\": %u, \"since\": %" PRId64 ", \"launch\": %d, \"pid\": %u",
		       (unsigned)s->at.owner, s->since_s, s->root_runs, s->root);
		put_text("program", s->program);
		printf(", \"processes\": %" PRId64, s->processes);
		put_text("report", s->report);
		printf(", \"reports\": %u, \"lost\": %" PRIu64
		       ", \"refused\": %u, \"behind_ns\": %" PRId64 "}",
		       s->reports, s->lost, s->refused, s->behind_ns);
	}
	printf("%s]\n", cnt ? "\n" : "");
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
