/* job_ask.c - sends a request to all sessions of a job, and waits for their answers. */
#include "collector/job/job.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "collector/base/message.h"
#include "collector/base/now.h"

#define LOOK_NS 200000000
#define ANSWER_S \
	20 /* to take the request: sessions look once per second, and a network file system may be late */
#define SILENT_S 60 /* while it is done */

/* A session as it was when the request was sent. */
struct member {
	char *name; /* of its file */
	char host[JOB_NAME];
	uint32_t pid, beat;
	bool is_taken, is_done;
	int64_t heard; /* CLOCK_MONOTONIC, s: its file was another one then */
};

struct asked {
	struct job_folder folder;
	struct member *members;
	size_t cnt;
	struct job_request request;
	const char *cmd;
	int status;
};

static bool has_sessions(const char *dataset, const char *run)
{
	struct job_folder f;
	char **names;
	size_t cnt;

	if (job_open(&f, dataset, run, false) < 0)
		return false;
	cnt = job_list(f.at, &names);
	job_list_free(names, cnt);
	job_close(&f);
	return cnt > 0;
}

char *job_choose(const char *dataset, const char *cmd, int *status)
{
	char **names, all[400] = "", *one = NULL;
	int dir = job_open_all(dataset);
	size_t cnt = dir >= 0 ? job_list(dir, &names) : 0, found = 0;

	for (size_t i = 0; i < cnt; i++) {
		size_t len = strlen(all);

		sl_clean(names[i], strlen(names[i]));
		if (!has_sessions(dataset, names[i]))
			continue;
		found++;
		snprintf(all + len, sizeof(all) - len, "%s%s", len ? ", " : "", names[i]);
		free(one);
		one = strdup(names[i]);
	}
	if (dir >= 0) {
		job_list_free(names, cnt);
		close(dir);
	}
	if (found == 1)
		return one;
	free(one);
	if (found)
		sl_warn("%s: %s has sessions of several runs (--run=NAME): %s", cmd, dataset, all);
	else
		sl_warn("%s: %s has no sessions now (begin them with: sightline profile "
			"--ranks=%s)",
			cmd, dataset, dataset);
	*status = found ? SL_EXIT_USAGE : SL_EXIT_FAIL;
	return NULL;
}

static bool read_session(const struct asked *a, const char *name, struct job_session *s)
{
	char *text = job_read(&a->folder, a->folder.at, name);
	bool ok = text && job_session_read(s, text);

	free(text);
	return ok;
}

static int find_members(struct asked *a)
{
	static struct job_session s;
	char **names;
	size_t cnt = job_list(a->folder.at, &names);

	a->members = calloc(cnt + 1, sizeof(*a->members));
	for (size_t i = 0; a->members && i < cnt; i++) {
		struct member *m = &a->members[a->cnt];

		if (!read_session(a, names[i], &s) || s.has_ended)
			continue;
		m->name = names[i];
		names[i] = NULL;
		snprintf(m->host, sizeof(m->host), "%s", s.host);
		m->pid = s.pid;
		m->beat = s.beat;
		m->heard = mono_ms() / 1000;
		a->cnt++;
	}
	job_list_free(names, cnt);
	return a->members ? 0 : -ENOMEM;
}

static int make_id(char *id)
{
	uint64_t number;

	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		return -EIO;
	snprintf(id, JOB_ID, "%016llx", (unsigned long long)number);
	return 0;
}

/* Adds the request unless it is there already. 0 or -errno. */
static int send(struct asked *a)
{
	char *text = job_read(&a->folder, a->folder.dir, "ask");
	struct job_requests r = {.cnt = 0};
	int err = 0;

	if (text)
		job_requests_read(&r, text);
	free(text);
	if (job_request_find(&r, a->request.id))
		return 0;
	job_requests_add(&r, &a->request);
	text = job_requests_write(&r);
	err = text ? job_write(a->folder.dir, "ask", text) : -ENOMEM;
	free(text);
	return err;
}

static void failed(struct asked *a, const struct member *m, const char *why)
{
	a->status = SL_EXIT_FAIL;
	sl_warn("%s: %s, process %u: %s", a->cmd, m->host, m->pid, why);
}

static void look_at(struct asked *a, struct member *m)
{
	static struct job_session s;
	const struct job_answer *answer;
	int64_t now = mono_ms() / 1000;

	if (!read_session(a, m->name, &s)) {
		m->is_done = true;
		failed(a, m, "the session ended before it answered");
		return;
	}
	answer = job_answer_find(&s, a->request.id);
	if (s.beat != m->beat || (answer && !m->is_taken))
		m->heard = now;
	m->beat = s.beat;
	m->is_taken |= answer != NULL;
	if (answer && answer->status != JOB_TAKEN) {
		m->is_done = true;
		if (answer->status)
			failed(a, m, answer->text);
		else if (answer->text[0])
			sl_warn("%s: report: %s", m->host, answer->text);
	} else if (s.has_ended || now - m->heard > (m->is_taken ? SILENT_S : ANSWER_S)) {
		m->is_done = true;
		failed(a, m, s.has_ended ? "the session ended before it answered" : "no answer");
	}
}

static int wait_for_all(struct asked *a)
{
	const struct timespec nap = {0, LOOK_NS};
	size_t left;
	int err = 0;

	do {
		nanosleep(&nap, NULL);
		left = 0;
		for (size_t i = 0; i < a->cnt; i++) {
			if (!a->members[i].is_done)
				look_at(a, &a->members[i]);
			left += !a->members[i].is_done;
		}
		/* Another command may have replaced the file at the same moment. */
		if (left)
			err = send(a);
	} while (left && !err);
	return err;
}

static int ask(struct asked *a, const char *dataset, const char *run)
{
	int err = job_open(&a->folder, dataset, run, false);

	if (err) {
		sl_warn("%s: %s has no sessions of run %s now", a->cmd, dataset, run);
		return SL_EXIT_FAIL;
	}
	err = find_members(a);
	if (!err && !a->cnt) {
		sl_warn("%s: %s has no sessions of run %s now", a->cmd, dataset, run);
		err = -ENOENT;
	} else if (!err) {
		err = make_id(a->request.id);
		if (!err)
			err = send(a);
		if (!err)
			err = wait_for_all(a);
		if (err)
			sl_warn("%s: the request cannot be put into %s: %s", a->cmd, dataset,
				strerror(-err));
	}
	for (size_t i = 0; i < a->cnt; i++)
		free(a->members[i].name);
	free(a->members);
	job_close(&a->folder);
	return err ? SL_EXIT_FAIL : a->status;
}

int job_ask(const char *dataset, const char *run, enum job_verb verb, const char *cmd,
	    const char *text)
{
	static struct asked a;
	int status = SL_EXIT_FAIL;
	char *one = run ? strdup(run) : job_choose(dataset, cmd, &status);

	a = (struct asked){.request.verb = verb, .cmd = cmd};
	snprintf(a.request.text, sizeof(a.request.text), "%s", text);
	if (one)
		status = ask(&a, dataset, one);
	free(one);
	return status;
}
