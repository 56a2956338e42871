/* run_command.h - what the commands that collect share. */
#ifndef SL_RUN_COMMAND_H
#define SL_RUN_COMMAND_H

int cmd_profile(int argc, char **argv);
int cmd_collect(int argc, char **argv);
int cmd_recover(int argc, char **argv);

void raise_descriptor_limit(void);
/* malloc'd */
char *absolute_path(const char *path);

#endif
