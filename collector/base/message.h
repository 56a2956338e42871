/*
 * message.h - messages of the commands on stderr, and their exit statuses.
 *
 * Exit statuses of every command: 0 done, 1 failed (one line on stderr has the reason), 2 wrong use
 * (the line names the nearest valid spelling), 3 done, and a finding named by --fail-on exists,
 * 4 abstained: the report lacks the data for an answer; `profile` returns the program's, or 126/127 as a shell does.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define SL_EXIT_FAIL      1
#define SL_EXIT_USAGE     2
#define SL_EXIT_FOUND     3
#define SL_EXIT_ABSTAINED 4
#define SL_EXIT_NOEXEC    126
#define SL_EXIT_NOTFOUND  127

/*
 * Replaces by '?' the sequences that control a terminal, control characters, and bytes that are not
 * UTF-8: texts come from traced programs, other users' collectors and files. The length stays.
 */
void sl_clean(char *text, size_t len);
/* One line on stderr: "sightline: ...", clean. */
void sl_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* True when stdout (1) or stderr (2) may be coloured: a terminal, NO_COLOR unset, TERM not dumb. */
bool sl_colour(int fd);
/* On a terminal: progress of symbolizing in a line that is overwritten; -1 removes the line (db_stacks_progress()). */
void sl_say_names(int percent);
