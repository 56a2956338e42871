/* cmd_job.c - the process beside a session of --ranks, which a collector starts (run/ranks.c): collector/job/job.h. */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "collector/base/commands.h"
#include "collector/base/message.h"
#include "collector/job/job_watch.h"

/* DATASET RUN SESSION PID CALM-NS [MEDIANS NS FLOOR-NS STEPS TRIGGER], and steps on standard input. */
int cmd_job(int argc, char **argv)
{
	struct job_watch_ask ask = {.input = STDIN_FILENO};

	if (argc != 6 && argc != 11) {
		sl_warn("job is started by a collector; use 'sightline profile --ranks=FOLDER'");
		return SL_EXIT_USAGE;
	}
	ask.dataset = argv[1];
	ask.run = argv[2];
	ask.session = argv[3];
	ask.pid = (uint32_t)strtoul(argv[4], NULL, 10);
	ask.limit.calm_ns = strtoll(argv[5], NULL, 10);
	if (argc == 11) {
		ask.limit.medians = strtod(argv[6], NULL);
		ask.limit.ns = strtoll(argv[7], NULL, 10);
		ask.limit.floor_ns = strtoll(argv[8], NULL, 10);
		ask.limit.steps = (uint32_t)strtoul(argv[9], NULL, 10);
		ask.trigger = argv[10];
	}
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	fcntl(STDIN_FILENO, F_SETFL, fcntl(STDIN_FILENO, F_GETFL) | O_NONBLOCK);
	return job_watch(&ask);
}
