/*
 * profile_values.h - the words of the options of `profile`, `launch` and `start`, and their
 * meaning.
 */
#pragma once

#include "collector/options/profile_options.h"

/* Targets of the table of options: words as given, and in @o values that need no more reading. */
struct profile_words {
	struct profile_options o;
	struct {
		const char *trace, *cpuctxsw, *syscall, *sample, *off_cpu, *wait, *kill, *on_full,
			*live, *export, *command_file, *block_io;
		const char *cuda_cupti, *cuda_graph_trace, *cuda_event_trace;
	} word;
	struct {
		bool cuda_memory_usage;
		bool sample_hz, python_sampling;
	} has;
	int64_t python_hz; /* 0: not given */
	struct capture_words capture;
	struct stack_words stacks;
	struct event_words events;
	struct health_words health;
	bool may_help; /* lists may be printed: stdout is read by a user */
	const char *session;
	struct {
		/* Of this parse. */
		enum option_side side;
		bool is_more;    /* parsed over earlier values */
		bool is_joined;  /* the program's half is known, too */
		const char *cmd; /* for messages, while they are read */
	} parse;
};

#define OFF_CPU_MOST_NS 1000000000000

/*
 * Samples per second of CPU time: where an option asks for samples, as many as nsys takes; else a
 * rate that costs less than 1 % in a virtual machine, where a sample with its stack and Python's
 * frames takes up to 40 us. No divisor or multiple of rates at which programs and kernels work.
 */
#define SAMPLE_HZ         1000
#define SAMPLE_HZ_UNASKED 199

/* @text: value of --off-cpu-threshold, NULL: not given. 0, or -SL_EXIT_USAGE after one line. */
int profile_read_off_cpu(const char *word, int64_t *ns, const char *cmd);
/* auto, true, false */
enum wish profile_wish(const char *word);

void profile_words_init(struct profile_words *w, enum option_side side);

/*
 * From words to @options, which is left alone when something is wrong. 0, or less than 0 after a line for the user;
 * @cmd is the command's name in it.
 */
int profile_words_settle(struct profile_words *w, const char *cmd, struct profile_options *options);
