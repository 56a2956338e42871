/* workers.c - as many threads as requests are answered at once, up to a limit. */
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "exporters/view/server/route.h"
#include "exporters/view/server/workers.h"

#define PATIENCE_S 2  /* at the end, for requests that are being answered */
#define THREADS    32 /* as many as connections: some wait for news */

struct view_workers {
	pthread_mutex_t lock;
	pthread_cond_t more;
	struct view_job *todo, **todo_end, *done, **done_end;
	pthread_t thread[THREADS];
	int cnt, idle, ready;
	bool stop;
};

struct view_workers *view_workers_new(int *ready)
{
	struct view_workers *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->ready = *ready = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->more, NULL);
	w->todo_end = &w->todo;
	w->done_end = &w->done;
	if (w->ready >= 0)
		return w;
	free(w);
	return NULL;
}

static void *work(void *arg)
{
	struct view_workers *w = arg;

	pthread_mutex_lock(&w->lock);
	while (!w->stop) {
		struct view_job *job = w->todo;
		uint64_t one = 1;

		if (!job) {
			w->idle++;
			pthread_cond_wait(&w->more, &w->lock);
			w->idle--;
			continue;
		}
		w->todo = job->next;
		if (!w->todo)
			w->todo_end = &w->todo;
		pthread_mutex_unlock(&w->lock);
		view_route(&job->q, &job->a);
		pthread_mutex_lock(&w->lock);
		job->next = NULL;
		*w->done_end = job;
		w->done_end = &job->next;
		if (write(w->ready, &one, sizeof(one)) < 0)
			break; /* cannot be: the counter does not get full */
	}
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

void view_workers_do(struct view_workers *w, struct view_job *job)
{
	int waiting = 1;

	pthread_mutex_lock(&w->lock);
	job->next = NULL;
	*w->todo_end = job;
	w->todo_end = &job->next;
	for (const struct view_job *j = w->todo; j->next; j = j->next)
		waiting++;
	if (w->idle < waiting && w->cnt < THREADS &&
	    pthread_create(&w->thread[w->cnt], NULL, work, w) == 0)
		w->cnt++;
	pthread_cond_signal(&w->more);
	pthread_mutex_unlock(&w->lock);
}

struct view_job *view_workers_done(struct view_workers *w)
{
	struct view_job *job;
	uint64_t cnt;

	pthread_mutex_lock(&w->lock);
	job = w->done;
	if (job)
		w->done = job->next;
	if (!w->done)
		w->done_end = &w->done;
	pthread_mutex_unlock(&w->lock);
	if (!job && read(w->ready, &cnt, sizeof(cnt)) < 0)
		return NULL;
	return job;
}

void view_job_free(struct view_job *job)
{
	if (!job)
		return;
	writer_free(&job->a.body);
	free(job->path);
	free(job->query);
	free(job->body);
	free(job);
}

bool view_workers_free(struct view_workers *w)
{
	struct view_job *lists[2];
	struct timespec until;

	if (!w)
		return true;
	pthread_mutex_lock(&w->lock);
	w->stop = true;
	pthread_cond_broadcast(&w->more);
	pthread_mutex_unlock(&w->lock);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += PATIENCE_S;
	for (int i = 0; i < w->cnt; i++)
		if (pthread_timedjoin_np(w->thread[i], NULL, &until) != 0)
			return false;
	lists[0] = w->todo;
	lists[1] = w->done;
	for (int i = 0; i < 2; i++)
		for (struct view_job *j = lists[i], *next; j; j = next) {
			next = j->next;
			view_job_free(j);
		}
	close(w->ready);
	free(w);
	return true;
}
