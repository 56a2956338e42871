/* run_command.h - what the commands that collect share. */
#ifndef SL_RUN_COMMAND_H
#define SL_RUN_COMMAND_H

int cmd_profile(int argc, char **argv);
int cmd_collect(int argc, char **argv);
int cmd_recover(int argc, char **argv);

struct collector;

/* One line on stderr by errno, and the exit status of a shell. */
int program_not_found(const char *name);
/* Stops recording and sends @sig (0: none) to what still runs. */
void end_tree(struct collector *c, int sig);
/* A line each for what a collector names as complete; "--stats" below one asks for its tables. */
void say_reports(char *lines);
/* The default tables. */
int print_stats(const char *report);

#endif
