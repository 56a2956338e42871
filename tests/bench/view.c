/*
 * view.c - view REPORT.sqlite VIEWPORTS - what the index of sightline view costs, and what it answers at which speed: one
 * line per figure, "name value unit". Times are of this thread's CPU, so that neighbours do not count.
 *
 * A viewport is 40 lanes by 1600 pixels, at random places and scales, as tiles of 256 pixels.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "exporters/view/server/route.h"
#include "exporters/view/build/build.h"
#include "exporters/view/index/lod.h"
#include "exporters/view/answers/answer.h"

#define LANES 40
#define TILES 7 /* of 256 px, for 1600 */

static uint64_t seed = 42;

static uint64_t below(uint64_t n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (seed ^ seed >> 31) % n;
}

static double cpu(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static double process_cpu(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static long rss_kb(const char *what)
{
	FILE *f = fopen("/proc/self/status", "r");
	char line[256];
	long kb = 0;

	while (f && fgets(line, sizeof(line), f))
		if (strncmp(line, what, strlen(what)) == 0)
			kb = atol(line + strlen(what));
	if (f)
		fclose(f);
	return kb;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

struct seen {
	double cpu;
	uint64_t rects;
};

static struct seen viewport(struct view_store *v, const uint32_t *lanes, uint32_t lane_cnt)
{
	static struct view_rect rects[VIEW_TILE_MAX];
	uint32_t most = 0, k;
	struct seen seen = {0};
	double start;
	int64_t first;

	while (((int64_t)VIEW_TILE_PX * TILES << most) < v->last)
		most++;
	/* Six decades of zoom. */
	k = most - (uint32_t)below(most < 20 ? most : 20);
	first = (int64_t)below((uint64_t)(v->last >> (k + 8)) + 1);
	start = cpu();
	for (int i = 0; i < LANES; i++) {
		struct view_reader r;

		if (!view_reader_begin(&r, v, lanes[below(lane_cnt)]))
			continue;
		for (int t = 0; t < TILES; t++)
			seen.rects += view_tile(&r, k, first + t, rects);
		view_reader_end(&r);
	}
	seen.cpu = cpu() - start;
	return seen;
}

static void ask(struct view_server *s, const char *name, bool is_post, const char *path,
		const char *query, const char *body)
{
	struct view_request q = {.server = s,
				 .is_post = is_post,
				 .path = path,
				 .query = query,
				 .body = (const uint8_t *)body,
				 .len = strlen(body)};
	struct view_reply a;
	double start = cpu();

	view_route(&q, &a);
	printf("%s %.3f s\n", name, cpu() - start);
	if (a.status != 200)
		fprintf(stderr, "%s: %d %.*s\n", path, a.status, (int)a.body.len, a.body.data);
	writer_free(&a.body);
}

static void viewports(struct view_store *v, int cnt)
{
	double *times = calloc((size_t)cnt, sizeof(*times));
	uint32_t *lanes = calloc(v->lane_cnt, sizeof(*lanes)), lane_cnt = 0;
	uint64_t rects = 0;

	for (uint32_t i = 0; i < v->lane_cnt; i++)
		if (!v->lanes[i]->is_counter)
			lanes[lane_cnt++] = i + 1;
	for (int i = 0; i < cnt; i++) {
		struct seen seen = viewport(v, lanes, lane_cnt);

		times[i] = seen.cpu;
		rects += seen.rects;
	}
	qsort(times, (size_t)cnt, sizeof(*times), by_value);
	printf("viewport_median %.3f ms\nviewport_p99 %.3f ms\nviewport_max %.3f ms\nrects %.0f "
	       "each\n",
	       times[cnt / 2] * 1e3, times[cnt - 1 - cnt / 100] * 1e3, times[cnt - 1] * 1e3,
	       (double)rects / cnt);
	free(times);
	free(lanes);
}

/* ---- the first picture of a report whose index is being made ---- */

struct builder {
	struct view_store *v;
	const bool *stop;
	int rc;
};

static void *build(void *arg)
{
	struct builder *b = arg;

	b->rc = view_build(b->v, b->stop);
	return NULL;
}

/* The builder's CPU when something is to be seen. */
static int build_watched(struct view_store *v, const bool *stop)
{
	struct builder b = {v, stop, -1};
	pthread_t thread;
	clockid_t clock;
	bool is_seen = false;

	if (pthread_create(&thread, NULL, build, &b) != 0)
		return -1;
	pthread_getcpuclockid(thread, &clock);
	while (!is_seen) {
		struct timespec ts;

		nanosleep(&(struct timespec){0, 2000000}, NULL);
		pthread_rwlock_rdlock(&v->lock);
		is_seen = v->indexed > 0 || v->state != VIEW_BUILDING;
		if (is_seen && v->state == VIEW_BUILDING && clock_gettime(clock, &ts) == 0)
			printf("first_part %.3f s\n", (double)ts.tv_sec + (double)ts.tv_nsec / 1e9);
		pthread_rwlock_unlock(&v->lock);
	}
	pthread_join(thread, NULL);
	return b.rc;
}

int main(int argc, char **argv)
{
	struct view_report report = {.lock = PTHREAD_MUTEX_INITIALIZER,
				     .why_lock = PTHREAD_MUTEX_INITIALIZER};
	struct view_server server = {.reports = &report, .report_cnt = 1};
	struct view_store *v;
	struct stat st;
	char side[4096];
	double start;

	if (argc < 3)
		return 2;
	snprintf(side, sizeof(side), "%s.view", argv[1]);
	unlink(side);
	v = report.store = view_store_new(argv[1]);
	start = process_cpu();
	if (build_watched(v, &server.stop) < 0 || v->events == 0) {
		fprintf(stderr, "%s\n", v->message);
		return 1;
	}
	start = process_cpu() - start;
	printf("events %llu\nbuild_rate %.3f M/s\nbuild_rss %ld KiB\n",
	       (unsigned long long)v->events, (double)v->events / start / 1e6, rss_kb("VmHWM:"));
	if (stat(side, &st) == 0)
		printf("bytes_per_event %.2f B\n", (double)st.st_size / (double)v->events);
	view_store_free(v);
	v = report.store = view_store_new(argv[1]);
	start = cpu();
	view_build(v, &server.stop);
	printf("open %.3f ms\n", (cpu() - start) * 1e3);
	viewports(v, atoi(argv[2]));
	ask(&server, "select_all", true, "/v1/select", NULL, "{\"lanes\": []}");
	ask(&server, "search", false, "/v1/search", "q=launch&t=0", "");
	printf("rss %ld KiB\n", rss_kb("VmRSS:"));
	while (report.idle_cnt > 0)
		sqlite3_close(report.idle[--report.idle_cnt]);
	view_store_free(v);
	return 0;
}
