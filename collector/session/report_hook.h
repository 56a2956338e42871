/* report_hook.h - commands of the user that run at events of a collection (--after-collection-start and the like). */
#pragma once

/*
 * Runs @command by sh, without waiting. @option: its name without hyphens; all three go into its environment, as
 * SIGHTLINE_ and as NSYS_ variables. 0 or -errno.
 */
int report_hook_run(const char *command, const char *option, const char *session,
		    const char *report);
