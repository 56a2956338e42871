/*
 * profile_options.c - the table of `sightline profile`, and where its words come from: command
 * lines, command files, the environment, other processes. Their meaning: profile_values.c.
 *
 * Everything is parsed into one static place that the table points to, then checked and copied out:
 * nothing half-parsed ever reaches the caller.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/options/profile_options.h"

#include "collector/base/message.h"
#include "collector/base/options.h"
#include "collector/options/output_name.h"
#include "collector/options/profile_values.h"
#include "collector/options/shell_words.h"

/* Kinds of --trace; the first two have an effect. */
static const char trace_kinds[] =
	"osrt,none,cuda,cuda-hw,cuda-sw,nvtx,cufft,opengl,opengl-annotations,cudnn,cublas,"
	"cublas-verbose,cusolver,cusolver-verbose,cusparse,cusparse-verbose,cudla,"
	"cudla-verbose,openacc,openmp,mpi,nccl,ucx,oshmem,openxr,openxr-annotations,python-gil,"
	"python-gc,gds,s3,s3-verbose,syscall,tegra-accelerators,vulkan,vulkan-annotations,dx11,"
	"dx11-annotations,dx12,dx12-annotations,wddm,nvvideo,nvmedia";

static struct profile_words raw, raw_base; /* _base: before the first `start` */

#define PROFILE                     OPTIONS_PROFILE
#define LAUNCH                      OPTIONS_LAUNCH
#define START                       OPTIONS_START
#define FOR(sides)                  {.kind = OPT_GROUP, .short_name = (char)(sides)},
#define GROUP(title)                {.kind = OPT_GROUP, .help = title},
#define LATER(letter, name, values) {letter, name, OPT_LATER, values, NULL, "", NULL, NULL},
#define OLD(letter, name, values)   {letter, name, OPT_LATER, values, NULL, NULL, NULL, NULL},
static const struct opt all_options[] = {
#include "collector/options/profile_options.def"
	{0},
};
#define OPTION_CNT (sizeof(all_options) / sizeof(all_options[0]))

static const struct command_side {
	enum option_side side;
	const char *cmd, *usage, *examples;
} sides[] = {
	{OPTIONS_PROFILE, "profile", "sightline profile [options] PROGRAM [ARGUMENTS...]",
	 "Example:\n"
	 "  sightline profile -o run-%h python3 train.py --epochs 2\n"
	 "  sightline stats run-$(hostname).sqlite\n"
	 "The exit status is the program's; 127 when it is not found, 126 when it cannot be "
	 "executed."},
	{OPTIONS_LAUNCH, "launch", "sightline launch [options] PROGRAM [ARGUMENTS...]",
	 "Example:\n"
	 "  sightline launch --session-new=train python3 train.py      # in one terminal\n"
	 "  sightline start --session=train -o steps                   # in another, when it is "
	 "time\n"
	 "  sightline stop --session=train\n"
	 "The exit status is the program's; 127 when it is not found, 126 when it cannot be "
	 "executed."},
	{OPTIONS_START, "start", "sightline start [options]",
	 "Example:\n"
	 "  sightline start -o steps && sleep 10 && sightline stop\n"
	 "Without a session, one is made that waits for 'sightline launch'."},
};

static const struct command_side *side_now(void)
{
	size_t i = 0;

	while (sides[i].side != raw.parse.side)
		i++;
	return &sides[i];
}

static const char *taken_by(int mask)
{
	return mask & OPTIONS_PROFILE && !(mask & ~OPTIONS_PROFILE) ? "profile"
	       : mask & OPTIONS_LAUNCH                              ? "launch"
								    : "start";
}

/* The lines of one command; others' stay known, to say whose they are. A heading comes with its first line. */
static void make_table(struct opt *to, const struct command_side *c)
{
	const struct opt *group = NULL;
	int mask = 0;

	*to++ = (struct opt){.kind = OPT_ABOUT, .values = c->usage, .help = c->examples};
	for (const struct opt *o = all_options; o < all_options + OPTION_CNT - 1; o++) {
		if (o->kind == OPT_GROUP && !o->help) {
			mask = (unsigned char)o->short_name;
		} else if (o->kind == OPT_GROUP) {
			group = o;
		} else if (mask & (int)c->side) {
			if (group && o->kind != OPT_LATER && o->help)
				*to++ = *group;
			group = o->kind != OPT_LATER && o->help ? NULL : group;
			*to++ = *o;
		} else if (c->side != OPTIONS_PROFILE) {
			*to = *o;
			to->kind = OPT_ELSEWHERE;
			to->values = taken_by(mask);
			to->help = NULL;
			to++;
		}
	}
	*to = (struct opt){0};
}

static struct opt tables[3][OPTION_CNT + 2];
static unsigned char given[OPTION_CNT + 2]; /* by entry of the table in use */

static struct opt *table_now(void)
{
	struct opt *t = tables[side_now() - sides];

	if (!t[0].kind)
		make_table(t, side_now());
	return t;
}

static void raw_init(enum option_side side)
{
	memset(given, 0, sizeof(given));
	profile_words_init(&raw, side);
}

/*
 * Parses @text into raw, over earlier values. The words stay allocated: options point into them,
 * and there are at most two such texts in the life of a process.
 */
static int parse_text(const char *text, const char *source)
{
	static struct words kept[2];
	static size_t kept_cnt;
	struct words *w = &kept[kept_cnt++ % 2];
	char cmd[300];
	int rc;

	words_release(w);
	rc = words_split(w, source, text);
	if (rc < 0) {
		sl_warn("%s: %s: %s", side_now()->cmd, source,
			rc == -EINVAL ? "a quote is never closed" : "out of memory");
		return -SL_EXIT_USAGE;
	}
	/* Help would go to the output of the program that is to be traced. */
	for (int i = 1; i < w->argc; i++) {
		if (strcmp(w->argv[i], "--help") == 0 || strcmp(w->argv[i], "-h") == 0 ||
		    strcmp(w->argv[i], "--completion-data") == 0) {
			sl_warn("%s: %s: '%s' makes no sense here", side_now()->cmd, source,
				w->argv[i]);
			return -SL_EXIT_USAGE;
		}
	}
	snprintf(cmd, sizeof(cmd), "%s: %s", side_now()->cmd, source);
	rc = opt_parse_given(table_now(), w->argc, w->argv, cmd, given);
	if (rc >= 0 && rc < w->argc) {
		sl_warn("%s: %s: '%s' is no option; programs are named on the command line "
			"only",
			side_now()->cmd, source, w->argv[rc]);
		rc = -SL_EXIT_USAGE;
	}
	return rc < 0 ? rc : 0;
}

#define COMMAND_FILE_MAX 65536

static int parse_file(const char *path)
{
	char *text = NULL;
	size_t len = 0;
	FILE *f = fopen(path, "re");
	int rc = -SL_EXIT_USAGE;

	if (f)
		text = malloc(COMMAND_FILE_MAX + 1);
	if (text) {
		errno = 0;
		len = fread(text, 1, COMMAND_FILE_MAX + 1, f);
	}
	if (!text || ferror(f)) {
		sl_warn("%s: cannot read the command file '%s': %s", side_now()->cmd, path,
			strerror(errno));
	} else if (len > COMMAND_FILE_MAX || memchr(text, 0, len)) {
		sl_warn("%s: '%s' is no command file (more than 64 KiB, or binary)",
			side_now()->cmd, path);
	} else {
		text[len] = '\0';
		raw.word.command_file = NULL;
		rc = parse_text(text, path);
		if (rc == 0 && raw.word.command_file) {
			sl_warn("%s: %s: a command file cannot name another one", side_now()->cmd,
				path);
			rc = -SL_EXIT_USAGE;
		}
	}
	free(text);
	if (f)
		fclose(f);
	return rc;
}

int profile_options_parse_for(struct profile_options *options, enum option_side side, int argc,
			      char **argv, const char **session)
{
	const char *file;
	int first, rc;

	raw_init(side);
	first = opt_parse_given(table_now(), argc, argv, side_now()->cmd, given);
	if (first < 0)
		return first;
	file = raw.word.command_file;
	if (file) {
		/* Again from the start, the file first, so that the command line has the last word. */
		raw_init(side);
		rc = parse_file(file);
		if (rc < 0)
			return rc;
		first = opt_parse_given(table_now(), argc, argv, side_now()->cmd, given);
		if (first < 0)
			return first;
	}
	raw.may_help = true;
	rc = profile_words_settle(&raw, side_now()->cmd, options);
	raw.may_help = false;
	if (session)
		*session = raw.session;
	return rc < 0 ? rc : first;
}

int profile_options_parse(struct profile_options *options, int argc, char **argv)
{
	return profile_options_parse_for(options, OPTIONS_PROFILE, argc, argv, NULL);
}

/* ---- from process to process ---- */

/* Makes "--name=value" of the option's present value; false: nothing to send. */
static bool as_word(const struct opt *o, char **word)
{
	const char *text = NULL;
	int len = -1;

	if (!o->name || !o->target || o->target == &raw.session ||
	    o->target == &raw.word.command_file)
		return false;
	if (o->kind == OPT_BOOL || o->kind == OPT_FLAG)
		text = *(const bool *)o->target ? "true" : "false";
	else if (o->kind == OPT_STRING || o->kind == OPT_ENUM || o->kind == OPT_LIST)
		text = *(const char *const *)o->target;
	if (o->kind == OPT_INT)
		len = asprintf(word, "--%s=%lld", o->name, (long long)*(const int64_t *)o->target);
	else if (text)
		len = asprintf(word, "--%s=%s", o->name, text);
	return len >= 0;
}

static int send_output(void (*take)(void *to, const char *word), void *to)
{
	char why[1024], *pattern, *word;
	int len;

	pattern = output_name_send(raw.o.output, why, sizeof(why));
	if (!pattern) {
		sl_warn("%s: %s", side_now()->cmd, why);
		return -SL_EXIT_USAGE;
	}
	len = asprintf(&word, "--output=%s", pattern);
	free(pattern);
	if (len < 0)
		return -SL_EXIT_FAIL;
	take(to, word);
	free(word);
	return 0;
}

int profile_options_send(void (*take)(void *to, const char *word), void *to)
{
	const struct opt *t = table_now();
	char *word;

	for (size_t i = 0; i < OPTION_CNT + 2; i++) {
		if (!given[i] || t[i].target == &raw.o.output || !as_word(&t[i], &word))
			continue;
		take(to, word);
		free(word);
	}
	return raw.parse.side == OPTIONS_LAUNCH ? 0 : send_output(take, to);
}

/* Options point into the words for as long as the process lives. */
static char **keep_words(char **words, int *cnt)
{
	static struct kept_words {
		struct kept_words *next;
		char *word[];
	} * all;
	struct kept_words *k;

	*cnt = 0;
	while (words[*cnt])
		++*cnt;
	k = calloc(1, sizeof(*k) + ((size_t)*cnt + 2) * sizeof(*k->word));
	if (!k)
		return NULL;
	k->next = all;
	all = k;
	k->word[0] = (char *)(uintptr_t)side_now()->cmd;
	for (int i = 0; i < *cnt; i++) {
		k->word[i + 1] = strdup(words[i]);
		if (!k->word[i + 1])
			return NULL;
	}
	++*cnt;
	return k->word;
}

static int add_words(enum option_side side, int cnt, char **words)
{
	int rc;

	raw.parse.side = side;
	raw.parse.is_more = true;
	raw.capture.start_later = false;
	raw.parse.is_joined |= side == OPTIONS_LAUNCH;
	rc = opt_parse(table_now(), cnt, words, side_now()->cmd);
	return rc < 0 || rc < cnt ? -SL_EXIT_USAGE : 0;
}

/*
 * Each `start` begins with the values from before the first one, which include those that launch sends later
 * (session_idle.h).
 */
static int add_over_base(enum option_side side, int cnt, char **words)
{
	struct profile_words with_start = raw;
	int rc;

	if (side == OPTIONS_START) {
		if (raw_base.parse.side)
			raw = raw_base;
		else
			raw_base = raw;
	} else if (raw_base.parse.side) {
		raw = raw_base;
		rc = add_words(side, cnt, words);
		if (rc < 0)
			return rc;
		raw_base = raw;
		raw = with_start;
	}
	return add_words(side, cnt, words);
}

int profile_options_add(struct profile_options *options, enum option_side side, char **words)
{
	struct profile_options settled = *options;
	struct profile_words before, base_before = raw_base;
	int cnt, rc = -SL_EXIT_USAGE;
	char **kept;

	if (!raw.parse.side)
		raw_init(side);
	before = raw;
	raw.parse.is_joined |= raw.parse.side == OPTIONS_PROFILE;
	raw.parse.side = side;
	kept = keep_words(words, &cnt);
	if (kept)
		rc = add_over_base(side, cnt, kept);
	if (rc == 0)
		rc = profile_words_settle(&raw, side_now()->cmd, &settled);
	if (rc < 0) {
		raw = before;
		raw_base = base_before;
		return -SL_EXIT_USAGE;
	}
	*options = settled;
	return 0;
}

void profile_options_set_output(struct profile_options *options, const char *pattern)
{
	options->output = raw.o.output = pattern;
}

int profile_options_from_string(struct profile_options *options, const char *text,
				const char *source)
{
	const char *file;
	int rc;

	raw_init(OPTIONS_PROFILE);
	rc = parse_text(text, source);
	file = raw.word.command_file;
	if (rc == 0 && file) {
		raw_init(OPTIONS_PROFILE);
		rc = parse_file(file);
		if (rc == 0)
			rc = parse_text(text, source);
	}
	return rc < 0 ? rc : profile_words_settle(&raw, side_now()->cmd, options);
}
