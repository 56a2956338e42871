/* job.c - files that sessions of a job leave each other in a folder (collector/job/job.h), and comparing what they hold. */
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "collector/job/job_late.h"

/* What was read reads the same when it was written. */
static void session(const char *text)
{
	static struct job_session s, again;
	char *written;

	if (!job_session_read(&s, text))
		return;
	written = job_session_write(&s);
	if (!written || !job_session_read(&again, written) || again.answers != s.answers ||
	    again.pid != s.pid)
		abort();
	free(written);
}

static void requests(const char *text)
{
	static struct job_requests r, again;
	char *written;

	job_requests_read(&r, text);
	written = job_requests_write(&r);
	if (!written)
		abort();
	job_requests_read(&again, written);
	if (memcmp(&r, &again, sizeof(r)) != 0)
		abort();
	free(written);
}

static void late(const char *text)
{
	static const struct job_limit limits[] = {{.medians = 1.5, .steps = 2}, {.ns = 1000}};
	static struct job_session s;
	struct job_event event = {.to = "rank_3/a"};

	if (!job_session_read(&s, text))
		return;
	for (unsigned i = 0; i < 2; i++) {
		struct job_late *l = job_late_new();

		if (!l)
			return;
		for (int64_t now = 1; now < 20; now++) {
			s.series_cnt -= now % 3 == 0 && s.series_cnt;
			job_late_take(l, now % 2 ? "a" : "b", &s, now * 2000000000);
			job_late_find(l, &limits[i], now * 2000000000, now == 9, &event);
			job_late_known(l, event.to, now * 2000000000);
		}
		job_late_free(l);
	}
}

static void run(const uint8_t *data, size_t len)
{
	char *text = malloc(len + 1);

	if (!text)
		return;
	memcpy(text, data, len);
	text[len] = 0;
	session(text);
	requests(text);
	late(text);
	free(text);
}

static size_t seed(unsigned i, uint8_t to[FUZZ_SEED_MAX])
{
	static const char *const texts[] = {
		JOB_MARK "\nhost g017\npid 4711\nbeat 3\nanswer 0123456789abcdef -\nanswer "
			 "fedcba9876543210 1 no room\nsteps 7 100,200,150 rank 3\nsteps 4294967295 "
			 "9223372036854775807,1 process 9\npace 5000000000 90 8 "
			 "1,2,3,4,5,6,7,8,9,10 rank 3\n",
		JOB_MARK
		"\n0123456789abcdef dump a reason\nfedcba9876543210 stop \n"
		"00000000000000ff late rank_3/n1-2-00ff trigger 'rank-late > 2x median': rank 3\n",
		NULL};

	return fuzz_text_seed(texts, i, to);
}

const struct fuzz_target fuzz_job = {"job", run, seed, NULL};
