/*
 * pm_session.c - begins and ends sampling. A session that samples otherwise (rate, buffer) is a new one: to configure one anew
 * crashes later, in the decoder.
 */
#include "collector/probe/pm_session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUFFER_BYTES  (64u << 20) /* of the GPU's samples, in memory that it sees */
#define LEAST_SAMPLES 128         /* of a round of the decoder */
#define MOST_SAMPLES  4096
#define STOP_ROUNDS   8

/* Samples of a round of 100 ms, and a quarter more. */
unsigned pm_session_samples(const struct pm_rate *r)
{
	int64_t cnt = r->hz / 8;

	return (unsigned)(cnt < LEAST_SAMPLES  ? LEAST_SAMPLES
			  : cnt > MOST_SAMPLES ? MOST_SAMPLES
					       : cnt);
}

static int configure(struct pm_session *s)
{
	struct pm_set_config set =
		PM(pm_set_config, append, .object = s->object, .config_size = s->config->image_size,
		   .config = s->config->image, .buffer_size = s->buffer ? s->buffer : BUFFER_BYTES);
	const struct pm_library *l = s->device->library;
	int result;

	if (l->api.version < PM_APPEND_MODE)
		set.struct_size = PM_BYTES(struct pm_set_config, trigger);
	do {
		set.interval = s->rate.interval;
		set.trigger = s->rate.trigger;
		set.append = s->rate.append;
		result = l->api.PmSamplingSetConfig(&set);
	} while ((result == PM_INVALID_PARAMETER || result == PM_NOT_SUPPORTED) &&
		 pm_rate_other(&s->rate));
	return result;
}

static int make_image(struct pm_session *s)
{
	const struct pm_api *api = &s->device->library->api;
	struct pm_data_size size =
		PM(pm_data_size, size, .object = s->object, .names = s->config->spellings,
		   .cnt = s->config->cnt, .samples = pm_session_samples(&s->rate));
	struct pm_data_init init = PM(pm_data_init, image, .object = s->object);
	int result = api->PmSamplingGetCounterDataSize(&size);

	if (result)
		return result;
	s->image_size = init.size = size.size;
	s->image = init.image = malloc(size.size);
	s->blank = malloc(size.size);
	if (!s->image || !s->blank)
		return PM_OUT_OF_MEMORY;
	result = api->PmSamplingCounterDataImageInitialize(&init);
	if (!result)
		memcpy(s->blank, s->image, s->image_size);
	return result;
}

bool pm_session_start(struct pm_session *s, struct source_why *why)
{
	const struct pm_api *api = &s->device->library->api;
	struct pm_enable enable = PM(pm_enable, object, .device = s->device->ordinal);
	struct pm_object start = PM(pm_object, object);
	const char *step = "PM sampling";
	int result;

	pm_lock();
	result = api->PmSamplingEnable(&enable);
	if (!result) {
		s->object = start.object = enable.object;
		step = "the configuration of PM sampling";
		result = configure(s);
	}
	if (!result) {
		step = "the image of samples";
		result = make_image(s);
	}
	if (!result) {
		step = "the start of PM sampling";
		result = api->PmSamplingStart(&start);
	}
	s->is_started = !result;
	pm_unlock();
	if (result) {
		pm_session_stop(s);
		pm_explain(s->device, why, step, result, false);
	}
	return !result;
}

void pm_session_stop(struct pm_session *s)
{
	struct pm_object object = PM(pm_object, object, .object = s->object);
	const struct pm_api *api = &s->device->library->api;

	pm_lock();
	if (s->is_started)
		api->PmSamplingStop(&object);
	if (s->object)
		api->PmSamplingDisable(&object);
	s->object = NULL;
	s->is_started = false;
	pm_unlock();
	free(s->image);
	free(s->blank);
	s->image = s->blank = NULL;
}
