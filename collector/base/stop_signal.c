/* stop_signal.c - looks for a blocked signal that asks the command to stop. */
#include "collector/base/stop_signal.h"

#include <signal.h>
#include <stddef.h>

int stop_signal_pending(void)
{
	static const int ends[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP};
	struct sigaction now;
	sigset_t pending;

	if (sigpending(&pending))
		return 0;
	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		/* A blocked signal is pending even if it is ignored, as after nohup. */
		if (sigismember(&pending, ends[i]) && !sigaction(ends[i], NULL, &now) &&
		    now.sa_handler != SIG_IGN)
			return ends[i];
	return 0;
}
