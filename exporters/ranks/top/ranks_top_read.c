/* ranks_top_read.c - reads the files of a job's sessions. */
#include "exporters/ranks/top/ranks_top.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "collector/base/grow.h"

#define SKEW_S 120 /* clocks of nodes and of the file server differ by less */

void ranks_top_free(struct ranks_top *t)
{
	for (size_t i = 0; i < t->sessions; i++)
		free(t->session[i].file);
	free(t->session);
	free(t->rank);
	t->session = NULL;
	t->rank = NULL;
	t->sessions = t->session_room = t->ranks = t->rank_room = 0;
}

/* "rank 7" */
static int64_t number_of(const char *name)
{
	char *end;
	long long n;

	if (strncmp(name, "rank ", 5) != 0 || name[5] < '0' || name[5] > '9')
		return -1;
	n = strtoll(name + 5, &end, 10);
	return *end ? -1 : n;
}

bool ranks_top_add(struct ranks_top *t, size_t session, const struct job_series *k)
{
	struct top_rank *r;

	if (!grow(&t->rank, t->ranks, &t->rank_room, sizeof(*t->rank)))
		return false;
	r = &t->rank[t->ranks++];
	*r = (struct top_rank){.number = number_of(k->name),
			       .session = session,
			       .pace = k->pace,
			       .reason = JOB_PARTS};
	snprintf(r->name, sizeof(r->name), "%s", k->name);
	t->session[session].ranks++;
	return true;
}

/* Time is that of the file written last; where that is old, too, it is this machine's. */
int64_t ranks_top_silent(int64_t now, int64_t newest, int64_t written)
{
	int64_t by = now - newest < SKEW_S ? newest : now;

	return by > written ? by - written : 0;
}

/* 0, -ENOMEM; a file that is no session's is passed over. */
static int add_session(struct ranks_top *t, const struct job_folder *f, const char *name)
{
	struct job_session *s = malloc(sizeof(*s));
	char *text = s ? job_read(f, f->at, name) : NULL;
	struct top_session *to;
	struct stat st;
	int err = s ? 0 : -ENOMEM;

	if (text && job_session_read(s, text) && !s->has_ended &&
	    fstatat(f->at, name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
		if (grow(&t->session, t->sessions, &t->session_room, sizeof(*t->session))) {
			to = &t->session[t->sessions];
			*to = (struct top_session){.file = strdup(name), .pid = s->pid};
			snprintf(to->host, sizeof(to->host), "%s", s->host);
			to->silent_s = st.st_mtim.tv_sec;
			t->sessions++;
		} else {
			err = -ENOMEM;
		}
		for (size_t i = 0; !err && i < s->series_cnt; i++)
			if (!ranks_top_add(t, t->sessions - 1, &s->series[i]))
				err = -ENOMEM;
	}
	free(text);
	free(s);
	return err;
}

int ranks_top_read(struct ranks_top *t, const char *dataset, int64_t now)
{
	int64_t newest = 0;
	struct job_folder f;
	char **names;
	size_t cnt;
	int err;

	ranks_top_free(t);
	err = job_open(&f, dataset, t->run, false);
	if (err)
		return err;
	cnt = job_list(f.at, &names);
	for (size_t i = 0; i < cnt && !err; i++)
		err = add_session(t, &f, names[i]);
	job_list_free(names, cnt);
	job_close(&f);
	for (size_t i = 0; i < t->sessions; i++)
		newest = t->session[i].silent_s > newest ? t->session[i].silent_s : newest;
	for (size_t i = 0; i < t->sessions; i++)
		t->session[i].silent_s = ranks_top_silent(now, newest, t->session[i].silent_s);
	return err ? err : t->sessions ? 0 : -ENOENT;
}
