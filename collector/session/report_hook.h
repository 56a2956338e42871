/* report_hook.h - commands of the user's that are run beside a collection (--after-collection-start and the like). */
#ifndef SL_CALLBACK_H
#define SL_CALLBACK_H

/*
 * Has sh run @command; nobody waits for it. @option: its name without hyphens; all three go into its environment,
 * as SIGHTLINE_ and as NSYS_ variables. 0 or -errno.
 */
int callback_run(const char *command, const char *option, const char *session, const char *report);

#endif
