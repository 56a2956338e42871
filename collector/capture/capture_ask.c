/* capture_ask.c - requests of programs to begin and end captures: cudaProfilerStart and Stop, NVTX ranges. */
#include "collector/base/grow.h"
#include "collector/capture/capture.h"
#include "collector/collect/collector.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "collector/session/hello.h"
#include "collector/base/message.h"
#include "preload/wire/clock.h"

#define SECOND_NS INT64_C(1000000000)

static bool opener_is(const struct capture_opener *o, uint32_t pid, uint32_t range)
{
	return o->pid == pid && o->range == range;
}

static void add_opener(struct capture *p, uint32_t pid, uint32_t range)
{
	for (size_t i = 0; i < p->clients.openers; i++)
		if (opener_is(&p->clients.opener[i], pid, range))
			return;
	if (!grow(&p->clients.opener, p->clients.openers, &p->clients.opener_cap,
		  sizeof(*p->clients.opener)))
		return;
	p->clients.opener[p->clients.openers++] = (struct capture_opener){pid, range};
}

static bool drop_opener(struct capture *p, uint32_t pid, uint32_t range)
{
	for (size_t i = 0; i < p->clients.openers; i++) {
		if (!opener_is(&p->clients.opener[i], pid, range))
			continue;
		p->clients.opener[i] = p->clients.opener[--p->clients.openers];
		return true;
	}
	return false;
}

/* A capture is under way, or waits for the report before. */
/* A capture is under way, or waits for the report before. */
static bool capture_is_going_on(const struct capture *p)
{
	return p->state == CAPTURE_ON ||
	       (p->state == CAPTURE_ENDING && p->next.is_there && !p->next.to);
}

/* -EBUSY: ask again later. */
static int asked_to_open(struct collector *c, uint32_t pid, uint32_t range)
{
	struct capture *p = c->capture;
	struct capture_ask ask = {.source = range ? CAPTURE_SOURCE_NVTX : CAPTURE_SOURCE_CUDA,
				  .duration_ns = c->options->program.duration_s * SECOND_NS};
	char why[512] = "";
	int err;

	/* Before --delay is over, nothing counts. */
	if (p->at.delay && (int64_t)sl_mono_ns() < p->at.delay)
		return 0;
	/* After the next capture has begun nothing of this one is read, so CUPTI's records must be in first. */
	if (p->state == CAPTURE_ENDING && !p->next.is_there && !capture_gpu_is_read(c))
		return -EBUSY;
	err = capture_is_going_on(p) ? -EALREADY : capture_begin(c, &ask, why, sizeof(why));
	if (!err || err == -EALREADY)
		add_opener(p, pid, range);
	else if (why[0])
		sl_warn("nothing is recorded: %s", why);
	return err;
}

static bool hold(struct capture *p, int sock, const struct hello *h)
{
	struct capture_held *more =
		realloc(p->clients.held, (p->clients.held_cnt + 1) * sizeof(*more));

	if (!more)
		return false;
	p->clients.held = more;
	p->clients.held[p->clients.held_cnt++] = (struct capture_held){sock, h->pid, h->range};
	return true;
}

void capture_ask_again(struct collector *c)
{
	struct capture *p = c->capture;
	size_t left = 0;

	for (size_t i = 0; i < p->clients.held_cnt; i++) {
		if (asked_to_open(c, p->clients.held[i].pid, p->clients.held[i].range) == -EBUSY)
			p->clients.held[left++] = p->clients.held[i];
		else
			close(p->clients.held[i].sock);
	}
	p->clients.held_cnt = left;
}

/*
 * The capture ends when all its openers have closed it: several ranks may each have their own steps. A
 * cudaProfilerStop of a process that has opened nothing (a launcher) closes it for all.
 */
static bool asked_to_close(struct collector *c, const struct hello *h)
{
	struct capture *p = c->capture;
	bool was_opener;

	if (!capture_is_going_on(p) || p->options->end == CAPTURE_END_NONE)
		return false;
	was_opener = drop_opener(p, h->pid, h->range);
	if ((was_opener && p->clients.openers) || (!was_opener && h->range))
		return false;
	return capture_end(c, h->range ? CAPTURE_SOURCE_NVTX : CAPTURE_SOURCE_CUDA) == 0;
}

static bool keep_waiting(struct capture *p, int sock)
{
	int *more = realloc(p->clients.waiting, (p->clients.waiting_cnt + 1) * sizeof(*more));

	if (!more)
		return false;
	p->clients.waiting = more;
	p->clients.waiting[p->clients.waiting_cnt++] = sock;
	return true;
}

void capture_asked(struct collector *c, int sock, const struct hello *h)
{
	struct capture *p = c->capture;
	uint32_t wanted = h->range ? SL_CAPTURE_BY_NVTX : SL_CAPTURE_BY_CUDA;
	bool has_ended = false;

	if (!p->options || !(p->options->by & wanted) || !c->session.control) {
		close(sock);
		return;
	}
	if (h->kind == SL_HELLO_CLOSE)
		has_ended = asked_to_close(c, h);
	else if (asked_to_open(c, h->pid, h->range) == -EBUSY && hold(p, sock, h))
		return;
	if (has_ended && p->state == CAPTURE_ENDING && p->options->wait == CAPTURE_WAIT_SYNC &&
	    keep_waiting(p, sock))
		return;
	close(sock);
}

/* Drops openers that have ended; ends a capture that has no opener left. */
void capture_drop_gone(struct collector *c)
{
	struct capture *p = c->capture;

	for (size_t i = 0; i < p->clients.openers;) {
		if (model_find(&c->model, p->clients.opener[i].pid))
			i++;
		else
			p->clients.opener[i] = p->clients.opener[--p->clients.openers];
	}
	/* The last opener exited inside its range: no process will close it. */
	if (!p->clients.openers && p->state == CAPTURE_ON && p->options->end != CAPTURE_END_NONE &&
	    c->model.counts.alive)
		capture_end(c, p->begun);
}
