/* job_text.c - reads and writes the files of a job as text; lines that make no sense are passed over. */
#include "collector/job/job.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/message.h"

const char *const job_verbs[JOB_VERBS] = {[JOB_START] = "start",
					  [JOB_STOP] = "stop",
					  [JOB_CANCEL] = "cancel",
					  [JOB_DUMP] = "dump",
					  [JOB_LATE] = "late"};

/* ---- words of a line ---- */

/* Copies the text up to @end, clean; a text that is too long is cut. */
static void copy(char *to, size_t room, const char *from, const char *end)
{
	size_t len = (size_t)(end - from);

	if (len >= room)
		len = room - 1;
	memset(to, 0, room);
	memcpy(to, from, len);
	sl_clean(to, len);
}

static const char *line_end(const char *at)
{
	return at + strcspn(at, "\n");
}

/* The line begins with @word and a blank: where it goes on. NULL: it does not. */
static const char *after(const char *line, const char *word)
{
	size_t len = strlen(word);

	return strncmp(line, word, len) == 0 && line[len] == ' ' ? line + len + 1 : NULL;
}

/* A number of decimal digits up to @most; where it ends, NULL: none. */
static const char *number(const char *at, int64_t most, int64_t *value)
{
	*value = 0;
	if (*at < '0' || *at > '9')
		return NULL;
	for (; *at >= '0' && *at <= '9'; at++) {
		if (*value > (most - (*at - '0')) / 10)
			return NULL;
		*value = *value * 10 + (*at - '0');
	}
	return at;
}

static const char *id(const char *at, char *to)
{
	if (strspn(at, "0123456789abcdef") != JOB_ID - 1)
		return NULL;
	memcpy(to, at, JOB_ID - 1);
	to[JOB_ID - 1] = 0;
	return at + JOB_ID - 1;
}

static bool is_marked(const char *text)
{
	return strncmp(text, JOB_MARK "\n", sizeof(JOB_MARK)) == 0;
}

/* ---- requests ---- */

static bool request(struct job_request *q, const char *line)
{
	const char *at = id(line, q->id), *rest, *word;

	for (unsigned v = 0; at && v < JOB_VERBS; v++) {
		size_t len = strlen(job_verbs[v]);

		if (*at != ' ' || strncmp(at + 1, job_verbs[v], len) != 0 ||
		    (at[1 + len] != ' ' && at[1 + len] != '\n' && at[1 + len]))
			continue;
		q->verb = (enum job_verb)v;
		rest = at + 1 + len + (at[1 + len] == ' ');
		word = v == JOB_LATE ? rest + strcspn(rest, " \n") : rest;
		copy(q->to, sizeof(q->to), rest, word);
		rest = word + (word != rest && *word == ' ');
		copy(q->text, sizeof(q->text), rest, line_end(rest));
		return true;
	}
	return false;
}

void job_requests_add(struct job_requests *r, const struct job_request *q)
{
	if (r->cnt == JOB_REQUESTS)
		memmove(r->at, r->at + 1, --r->cnt * sizeof(*r->at));
	r->at[r->cnt++] = *q;
}

void job_requests_read(struct job_requests *r, const char *text)
{
	struct job_request q = {.id = ""};

	memset(r, 0, sizeof(*r));
	if (!is_marked(text))
		return;
	for (const char *line = text; *line; line = line_end(line), line += *line == '\n')
		if (request(&q, line) && !job_request_find(r, q.id))
			job_requests_add(r, &q);
}

const struct job_request *job_request_find(const struct job_requests *r, const char *wanted)
{
	for (size_t i = 0; i < r->cnt; i++)
		if (strcmp(r->at[i].id, wanted) == 0)
			return &r->at[i];
	return NULL;
}

bool job_request_is_to(const char *to, const char *name)
{
	size_t len = strlen(name);

	for (const char *at = strchr(to, '/'); at; at = strchr(at + 1, '/'))
		if (strncmp(at + 1, name, len) == 0 && (at[1 + len] == '/' || !at[1 + len]))
			return true;
	return false;
}

char *job_requests_write(const struct job_requests *r)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return NULL;
	fprintf(f, "%s\n", JOB_MARK);
	for (size_t i = 0; i < r->cnt; i++)
		fprintf(f, "%s %s %s%s%.*s\n", r->at[i].id, job_verbs[r->at[i].verb], r->at[i].to,
			r->at[i].to[0] ? " " : "", (int)strcspn(r->at[i].text, "\n"),
			r->at[i].text);
	if (fclose(f) == 0)
		return text;
	free(text);
	return NULL;
}

/* ---- sessions ---- */

struct job_answer *job_answer_find(struct job_session *s, const char *wanted)
{
	for (size_t i = 0; i < s->answers; i++)
		if (strcmp(s->answer[i].id, wanted) == 0)
			return &s->answer[i];
	return NULL;
}

struct job_answer *job_answer_add(struct job_session *s, const char *of)
{
	struct job_answer *a;

	if (s->answers == JOB_REQUESTS)
		memmove(s->answer, s->answer + 1, --s->answers * sizeof(*s->answer));
	a = &s->answer[s->answers++];
	*a = (struct job_answer){.status = JOB_TAKEN};
	snprintf(a->id, sizeof(a->id), "%s", of);
	return a;
}

static struct job_series *series_of(struct job_session *s, const char *name)
{
	for (size_t i = 0; i < s->series_cnt; i++)
		if (strcmp(s->series[i].name, name) == 0)
			return &s->series[i];
	if (s->series_cnt == JOB_SERIES)
		return NULL;
	s->series[s->series_cnt] = (struct job_series){.last = 0};
	snprintf(s->series[s->series_cnt].name, JOB_NAME, "%s", name);
	return &s->series[s->series_cnt++];
}

void job_step_add(struct job_session *s, const char *name, uint32_t step, int64_t own)
{
	struct job_series *k = series_of(s, name);

	if (!k || !step)
		return;
	/* A step that is missing between them would shift the others. */
	if (step != k->last + 1)
		k->cnt = 0;
	if (k->cnt == JOB_STEPS)
		memmove(k->own, k->own + 1, --k->cnt * sizeof(*k->own));
	k->own[k->cnt++] = own;
	k->last = step;
}

/* Numbers with commas between them, up to @most of them; where they end, NULL: none. */
static const char *numbers(const char *at, int64_t *to, uint32_t most, uint32_t *cnt)
{
	*cnt = 0;
	while (*cnt < most && (at = number(at, INT64_MAX, &to[*cnt]))) {
		++*cnt;
		if (*at != ',')
			break;
		at++;
	}
	return at;
}

/* The number and a blank; NULL: another text. */
static const char *number_word(const char *at, int64_t most, int64_t *value)
{
	at = at ? number(at, most, value) : NULL;
	return at && *at == ' ' ? at + 1 : NULL;
}

bool job_pace_read(struct job_session *s, const char *line)
{
	int64_t steps, size;
	struct job_pace pace;
	struct job_series *k;
	char name[JOB_NAME];
	uint32_t cnt = 0;
	const char *at = number_word(line, INT64_MAX, &pace.span);

	at = number_word(at, UINT32_MAX, &steps);
	at = number_word(at, UINT32_MAX, &size);
	at = at ? numbers(at, pace.part, JOB_PARTS, &cnt) : NULL;
	if (!at || *at++ != ' ' || cnt != JOB_PARTS)
		return false;
	copy(name, sizeof(name), at, line_end(at));
	k = series_of(s, name);
	if (!k)
		return false;
	pace.steps = (uint32_t)steps;
	pace.size = (uint32_t)size;
	k->pace = pace;
	return true;
}

void job_pace_write(FILE *f, const char *name, const struct job_pace *pace)
{
	fprintf(f, "%" PRId64 " %u %u ", pace->span, pace->steps, pace->size);
	for (unsigned i = 0; i < JOB_PARTS; i++)
		fprintf(f, "%s%" PRId64, i ? "," : "", pace->part[i]);
	fprintf(f, " %s", name);
}

/* "steps LAST NS,NS,... NAME" */
static void read_steps(struct job_session *s, const char *at)
{
	int64_t last, own[JOB_STEPS];
	char name[JOB_NAME];
	uint32_t cnt = 0;

	at = number(at, UINT32_MAX, &last);
	if (!at || *at++ != ' ')
		return;
	at = numbers(at, own, JOB_STEPS, &cnt);
	if (!at || *at++ != ' ' || cnt > last)
		return;
	copy(name, sizeof(name), at, line_end(at));
	for (uint32_t i = 0; i < cnt; i++)
		job_step_add(s, name, (uint32_t)(last - cnt + i + 1), own[i]);
}

/* "answer ID STATUS TEXT"; STATUS "-": taken. */
static void read_answer(struct job_session *s, const char *at)
{
	char of[JOB_ID];
	struct job_answer *a;
	int64_t status = JOB_TAKEN;

	at = id(at, of);
	if (!at || *at++ != ' ')
		return;
	at = *at == '-' ? at + 1 : number(at, 255, &status);
	if (!at || job_answer_find(s, of))
		return;
	a = job_answer_add(s, of);
	a->status = (int)status;
	if (*at == ' ')
		copy(a->text, sizeof(a->text), at + 1, line_end(at));
}

bool job_session_read(struct job_session *s, const char *text)
{
	int64_t value;

	memset(s, 0, sizeof(*s));
	if (!is_marked(text))
		return false;
	for (const char *line = text; *line; line = line_end(line), line += *line == '\n') {
		const char *at;

		if ((at = after(line, "host")))
			copy(s->host, sizeof(s->host), at, line_end(at));
		else if ((at = after(line, "pid")) && number(at, UINT32_MAX, &value))
			s->pid = (uint32_t)value;
		else if ((at = after(line, "beat")) && number(at, UINT32_MAX, &value))
			s->beat = (uint32_t)value;
		else if (after(line, "ended"))
			s->has_ended = true;
		else if ((at = after(line, "answer")))
			read_answer(s, at);
		else if ((at = after(line, "steps")))
			read_steps(s, at);
		else if ((at = after(line, "pace")))
			job_pace_read(s, at);
	}
	return s->host[0] != 0;
}

char *job_session_write(const struct job_session *s)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return NULL;
	fprintf(f, "%s\nhost %s\npid %u\nbeat %u\n%s", JOB_MARK, s->host, s->pid, s->beat,
		s->has_ended ? "ended 1\n" : "");
	for (size_t i = 0; i < s->answers; i++) {
		const struct job_answer *a = &s->answer[i];

		fprintf(f, "answer %s ", a->id);
		if (a->status == JOB_TAKEN)
			fprintf(f, "-\n");
		else
			fprintf(f, "%d %.*s\n", a->status, (int)strcspn(a->text, "\n"), a->text);
	}
	for (size_t i = 0; i < s->series_cnt; i++) {
		const struct job_series *k = &s->series[i];

		if (k->pace.span) {
			fprintf(f, "pace ");
			job_pace_write(f, k->name, &k->pace);
			fprintf(f, "\n");
		}
		if (!k->cnt)
			continue;
		fprintf(f, "steps %u ", k->last);
		for (uint32_t n = 0; n < k->cnt; n++)
			fprintf(f, "%s%" PRId64, n ? "," : "", k->own[n]);
		fprintf(f, " %s\n", k->name);
	}
	if (fclose(f) == 0)
		return text;
	free(text);
	return NULL;
}
