/* look.c - a recording without any event: opens a report, looks at all threads once, closes it. */
#include "collector/run/look.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/now.h"
#include "collector/base/proc.h"
#include "collector/collect/collector.h"
#include "collector/collect/notes.h"
#include "collector/collect/pump.h"
#include "collector/mask/mask.h"
#include "collector/run/collect.h"
#include "collector/session/proc_select.h"
#include "collector/waits/open_waits.h"

/* The processes, and with @children those below them, level by level. */
static int find_processes(struct collector *c, const struct look_ask *ask)
{
	struct running *list;
	int cnt = running_all(&list);
	bool has_more = true, *is_ours;

	if (cnt < 0)
		return cnt;
	is_ours = calloc((size_t)cnt + 1, sizeof(*is_ours));
	for (int i = 0; is_ours && i < cnt; i++)
		for (size_t k = 0; k < ask->cnt; k++)
			is_ours[i] |= list[i].pid == ask->pid[k];
	while (is_ours && ask->children && has_more) {
		has_more = false;
		for (int i = 0; i < cnt; i++)
			for (int k = 0; k < cnt && !is_ours[i]; k++)
				if (is_ours[k] && list[k].pid == list[i].parent)
					is_ours[i] = has_more = true;
	}
	for (int i = 0; is_ours && i < cnt; i++)
		if (is_ours[i])
			model_found(&c->model, list[i].pid, list[i].parent,
				    list[i].start_ns - c->clocks.map.zero);
	free(list);
	if (!is_ours)
		return -ENOMEM;
	free(is_ours);
	return 0;
}

static int open_report(struct collector *c, const struct look_ask *ask,
		       const struct profile_options *options, char *why, size_t why_len)
{
	uint32_t mode = clock_mode_detect();
	struct clock_snapshot zero = clock_snapshot_take(mode, true);
	struct db_open how = {.path = ask->report,
			      .overwrite = ask->overwrite,
			      .utc_epoch_ns = zero.real,
			      .system_clock_ns = zero.mono};
	int err = collect_prepare(c, options);

	if (err)
		return err;
	c->report.is_quiet = true;
	c->report.path = ask->report;
	c->report.zero_real = zero.real;
	c->report.db = db_open(&how, why, why_len);
	if (!c->report.db)
		return -EIO;
	clock_map_init(&c->clocks.map, mode, zero.mono);
	clock_map_add(&c->clocks.map, zero.ticks, zero.mono);
	model_init(&c->model, c->report.db, &c->clocks.map);
	c->arenas =
		(struct arenas){.model = &c->model, .db = c->report.db, .clock = &c->clocks.map};
	c->root.pid = c->model.root.pid = ask->pid[0];
	return 0;
}

static void note_command(struct collector *c)
{
	char *command = proc_command_line(c->root.pid);

	if (command)
		notes_command(c, 1, (char *[]){command, NULL});
	free(command);
}

static int look(struct collector *c, const struct look_ask *ask)
{
	struct db_fate fate;
	int err;

	notes_begin(c);
	err = find_processes(c, ask);
	pump_now(c);
	if (!err && ask->samples.every_ns)
		open_samples_take(c, &ask->samples);
	else if (!err)
		open_waits_dump(c);
	note_command(c);
	if (!ask->samples.every_ns)
		db_meta_capture(c->report.db, "SL_LOOK", "true");
	pump_now(c);
	model_settle(&c->model, c->clocks.now, true);
	pump_clocks(c);
	pump_commit(c);
	open_waits_close(c);
	if (err) {
		db_abandon(c->report.db);
		db_unlink(c->report.path);
	} else {
		err = db_finish_file(c->report.db, c->clocks.now, &fate);
		free(fate.path);
	}
	model_release(&c->model);
	clock_map_release(&c->clocks.map);
	capture_release(c);
	loop_close(&c->loop);
	return err;
}

int look_write(const struct look_ask *ask, char *why, size_t why_len)
{
	static struct collector c;
	struct profile_options options;
	int err;

	profile_options_init(&options);
	options.trace = 0;
	options.capture.start_later = true;
	options.kernel.cpuctxsw = options.kernel.sample = SCHED_MODE_NONE;
	options.kernel.off_cpu_ns = -1;
	options.kernel.python_sampling = true;
	memset(&c, 0, sizeof(c));
	why[0] = '\0';
	err = open_report(&c, ask, &options, why, why_len);
	if (err) {
		if (!why[0])
			snprintf(why, why_len, "%s", strerror(-err));
		return err;
	}
	err = look(&c, ask);
	if (err)
		snprintf(why, why_len, "%s: %s", ask->report, strerror(-err));
	return err;
}
