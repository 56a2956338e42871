/* job.c - files that sessions of a job leave each other in a folder (collector/job/job.h), and comparing what they hold. */
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "collector/job/job.h"

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
	static const struct job_limit limits[] = {{.medians = 1.5}, {.ns = 1000}};
	static struct job_session s, other;
	struct job_session *all[] = {&s, &other};
	char why[JOB_TEXT];

	if (!job_session_read(&s, text))
		return;
	other = s;
	other.series_cnt /= 2;
	for (unsigned i = 0; i < 2; i++) {
		struct job_late l = {0};

		for (unsigned n = 0; n < 3; n++)
			job_late_find(&l, &limits[i], all, 2, why, sizeof(why));
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
			 "9223372036854775807,1 process 9\n",
		JOB_MARK "\n0123456789abcdef dump a reason\nfedcba9876543210 stop \n"
			 "00000000000000ff late trigger 'rank-late > 2x median': rank 3\n",
		NULL};

	return fuzz_text_seed(texts, i, to);
}

const struct fuzz_target fuzz_job = {"job", run, seed, NULL};
