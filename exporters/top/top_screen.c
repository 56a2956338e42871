/*
 * top_screen.c - the table on a terminal.
 *
 * The terminal is given back on every way out: signals that end the process only set a flag, by which the loop ends; signals
 * of a crash give the terminal back at once.
 */
#include "exporters/top/top.h"

#ifdef SL_HAVE_NCURSES
#include <langinfo.h>
#include <locale.h>
#include <ncursesw/curses.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "collector/base/message.h"
#include "collector/base/now.h"
#include "exporters/text/cell.h"

#define WHY        2048
#define FILTER_MAX 64

enum {
	COLOUR_WARN = 1,
	COLOUR_HEAD
};

struct screen {
	struct top_watch *w;
	struct top *t;
	struct top_rows rows;
	size_t first; /* row at the top of the table */
	char filter[FILTER_MAX];
	char note[160]; /* below the head, until the next key */
	bool is_typing, is_paused, is_help, is_over, has_colours;
	int64_t next_ns, looks;
	char *path; /* of a report that came after the first */
};

static volatile sig_atomic_t ended_by;

static void on_end(int sig)
{
	ended_by = sig;
}

/* endwin() is not safe in a signal handler; but the terminal is worth more than the rest of a process that is dying. */
static void on_crash(int sig)
{
	endwin();
	signal(sig, SIG_DFL);
	raise(sig);
}

bool top_has_screen(void)
{
	return true;
}

/* ---- drawing ---- */

/* Where the terminal has no UTF-8, a character beyond ASCII becomes '?', and the mark of cut text '~'. */
static void to_ascii(char *text)
{
	char *to = text;

	for (const char *p = text; *p;) {
		size_t len = strlen(p);
		bool is_mark = strncmp(p, "\xe2\x80\xa6", 3) == 0;
		int32_t cp;

		len = utf8_next(p, len, &cp);
		*to++ = cp >= 0 && cp < 128 ? (char)cp : is_mark ? '~' : '?';
		p += len;
	}
	*to = 0;
}

static void put_line(int y, const char *text, attr_t attributes, short colour)
{
	size_t used;
	char *shown = text_people(text, strlen(text), COLS > 0 ? (size_t)COLS : 1, &used);

	if (shown && strcmp(nl_langinfo(CODESET), "UTF-8") != 0)
		to_ascii(shown);
	attr_set(attributes, colour, NULL);
	if (shown)
		mvaddstr(y, 0, shown);
	/* Bars go to the edge. */
	if (attributes & A_REVERSE)
		for (int x = getcurx(stdscr);
		     shown && x < COLS && getcury(stdscr) == y && x >= (int)used;)
			mvaddch(y, x++, ' ');
	attr_set(A_NORMAL, 0, NULL);
	free(shown);
}

static void draw_views(const struct screen *s, int y)
{
	static const char *const name[] = {"1 Processes", "2 Functions", "3 Files",
					   "4 CUDA and GPUs"};
	static const enum top_view view[] = {VIEW_PROCESSES, VIEW_FUNCTIONS, VIEW_FILES, VIEW_CUDA};
	enum top_view shown = s->w->ask.view == VIEW_THREADS ? VIEW_PROCESSES : s->w->ask.view;

	move(y, 0);
	for (size_t i = 0; i < sizeof(view) / sizeof(*view); i++) {
		const char *text = view[i] == VIEW_PROCESSES && s->w->ask.view == VIEW_THREADS
					   ? "1 Threads"
					   : name[i];

		if (getcurx(stdscr) + (int)strlen(text) + 2 > COLS)
			break;
		attr_set(view[i] == shown ? A_BOLD | A_UNDERLINE : A_NORMAL, 0, NULL);
		addstr(text);
		attr_set(A_NORMAL, 0, NULL);
		addstr("  ");
	}
}

static void draw_foot(const struct screen *s, int y)
{
	char text[512];

	if (s->is_typing)
		snprintf(text, sizeof(text), "filter: %s_   (Enter keeps it, Esc drops it)",
			 s->filter);
	else if (*s->note)
		snprintf(text, sizeof(text), "%s", s->note);
	else
		snprintf(text, sizeof(text), "%s%s%s%s%severy %g s   h help   q quit",
			 s->is_paused ? "PAUSED   " : "", *s->filter ? "filter: " : "", s->filter,
			 *s->filter ? "   " : "",
			 s->w->ask.totals || s->t->has_totals ? "totals   " : "", s->w->interval);
	put_line(y, text, s->is_paused || s->is_typing ? A_BOLD : A_DIM, 0);
}

static void draw_help(int y)
{
	static const char *const lines[] = {
		"1 2 3 4, Tab   processes, functions, files, CUDA and GPUs",
		"t              threads, not processes; functions and files by process",
		"< >  s         sort by the column to the left, to the right, the next",
		"r              the other way round",
		"c              totals since the recording began, or what happens per second",
		"/              show only rows with this text in a name, path or id",
		"arrows, PgUp, PgDn, Home   move in the table",
		"space          pause: the recording goes on",
		"+ -            longer or shorter time between two looks",
		"h              this help          q   quit",
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines) && y < LINES - 1; i++)
		put_line(y++, lines[i], A_NORMAL, 0);
}

static void draw_table(struct screen *s, int y)
{
	struct top_ask ask = s->w->ask;
	size_t room = LINES - 2 - y > 0 ? (size_t)(LINES - 2 - y) : 0;
	char *line;

	ask.totals |= s->t->has_totals;
	ask.filter = s->filter;
	top_rows(s->t, &ask, &s->rows);
	if (s->first >= s->rows.cnt)
		s->first = s->rows.cnt ? s->rows.cnt - 1 : 0;
	line = top_line(&ask, NULL, (size_t)COLS);
	if (line)
		put_line(y, line, A_REVERSE, s->has_colours ? COLOUR_HEAD : 0);
	free(line);
	for (size_t i = 0; i < room && s->first + i < s->rows.cnt; i++) {
		line = top_line(&ask, &s->rows.row[s->first + i], (size_t)COLS);
		if (line)
			put_line(y + 1 + (int)i, line, A_NORMAL, 0);
		free(line);
	}
	if (!s->rows.cnt && room)
		put_line(y + 1, *s->filter ? "  nothing has this in its name" : "  (none)", A_DIM,
			 0);
}

static void draw(struct screen *s)
{
	char text[4096];
	bool warn;
	int y = 0;

	erase();
	for (unsigned i = 0; top_head(s->t, i, text, sizeof(text), &warn) && y < LINES - 1; i++)
		if (*text)
			put_line(y++, text,
				 warn     ? A_BOLD
				 : i == 0 ? A_BOLD
					  : A_NORMAL,
				 warn && s->has_colours ? COLOUR_WARN : 0);
	if (y < LINES - 1)
		draw_views(s, y++);
	if (s->is_help)
		draw_help(y + 1);
	else if (y < LINES - 2)
		draw_table(s, y);
	if (LINES > 1)
		draw_foot(s, LINES - 1);
	refresh();
}

/* ---- looking ---- */

/* To the report that the session writes now, if it is another one. */
static void follow(struct screen *s)
{
	char *path = NULL;
	int now = s->w->next ? s->w->next(s->w->next_to, &path) : -1;

	if (now <= 0 || (s->t->path && strcmp(path, s->t->path) == 0)) {
		if (now < 0 && s->w->next) {
			s->w->next = NULL;
			snprintf(s->note, sizeof(s->note), "The session has ended; q quits.");
		}
		free(path);
		return;
	}
	top_restart(s->t, path);
	free(s->path);
	s->path = path;
	s->w->ask.totals = false;
	s->note[0] = 0;
}

static bool is_over(const struct top *t)
{
	return !t->path || t->status == TOP_FINISHED || t->status == TOP_LEFT;
}

/* False: the report cannot be read any more. */
static bool look(struct screen *s, char *why)
{
	bool was_over = is_over(s->t);

	if (was_over)
		follow(s);
	s->looks++;
	if (!s->t->path || (was_over && is_over(s->t)))
		return true;
	if (top_read(s->t, why, WHY) < 0)
		return false;
	if (s->t->status == TOP_FINISHED && !s->t->has_totals) {
		/* The last figures stay, as sums: a recording that is over has no rates. */
		s->w->ask.totals = true;
		snprintf(s->note, sizeof(s->note),
			 "The recording is finished. These are the sums up to its last second; q "
			 "quits.");
	}
	return true;
}

/* ---- keys ---- */

static void sort_by(struct top_ask *ask, int way)
{
	int columns = (int)top_views[ask->view].columns;

	/* Columns, and then the name. */
	ask->sort = (ask->sort == SORT_TEXT ? columns : ask->sort) + way;
	if (ask->sort < 0)
		ask->sort = columns;
	if (ask->sort >= columns)
		ask->sort = ask->sort == columns ? SORT_TEXT : 0;
	ask->reverse = false;
}

static void set_view(struct screen *s, enum top_view view)
{
	if (s->w->ask.view != view)
		s->w->ask.sort = 0;
	s->w->ask.view = view;
	s->w->ask.reverse = false;
	s->first = 0;
}

static void next_view(struct screen *s)
{
	switch (s->w->ask.view) {
	case VIEW_PROCESSES:
	case VIEW_THREADS:
		set_view(s, VIEW_FUNCTIONS);
		break;
	case VIEW_FUNCTIONS:
		set_view(s, VIEW_FILES);
		break;
	case VIEW_FILES:
		set_view(s, VIEW_CUDA);
		break;
	default:
		set_view(s, VIEW_PROCESSES);
	}
}

static void toggle(struct screen *s)
{
	struct top_ask *ask = &s->w->ask;

	if (ask->view == VIEW_PROCESSES)
		set_view(s, VIEW_THREADS);
	else if (ask->view == VIEW_THREADS)
		set_view(s, VIEW_PROCESSES);
	else
		ask->by_process = !ask->by_process;
}

static void type(struct screen *s, int key)
{
	size_t len = strlen(s->filter);

	if (key == 27) {
		s->filter[0] = 0;
		s->is_typing = false;
	} else if (key == '\n' || key == '\r' || key == KEY_ENTER) {
		s->is_typing = false;
	} else if ((key == KEY_BACKSPACE || key == 127 || key == 8) && len) {
		/* A whole character. */
		while (len && (s->filter[--len] & 0xc0) == 0x80)
			;
		s->filter[len] = 0;
	} else if (key >= 32 && key < 256 && key != 127 && len + 1 < FILTER_MAX) {
		s->filter[len] = (char)key;
		s->filter[len + 1] = 0;
	}
	s->first = 0;
}

static void set_interval(struct screen *s, double step)
{
	double want = s->w->interval + step;

	s->w->interval = want < 1 ? 1 : want > 60 ? 60 : want;
}

static void scroll_by(struct screen *s, long rows)
{
	if (rows < 0 && s->first < (size_t)-rows)
		s->first = 0;
	else
		s->first += (size_t)rows;
}

static void press(struct screen *s, int key)
{
	long page = LINES > 8 ? LINES - 8 : 1;

	s->note[0] = 0;
	if (s->is_typing && key != KEY_RESIZE) {
		type(s, key);
		return;
	}
	if (key >= '1' && key <= '4') {
		static const enum top_view view[] = {VIEW_PROCESSES, VIEW_FUNCTIONS, VIEW_FILES,
						     VIEW_CUDA};

		set_view(s, view[key - '1']);
		return;
	}
	switch (key) {
	case 'q':
	case 'Q':
		s->is_over = true;
		break;
	case '\t':
		next_view(s);
		break;
	case 't':
		toggle(s);
		break;
	case '<':
	case KEY_LEFT:
		sort_by(&s->w->ask, -1);
		break;
	case '>':
	case 's':
	case KEY_RIGHT:
		sort_by(&s->w->ask, 1);
		break;
	case 'r':
		s->w->ask.reverse = !s->w->ask.reverse;
		break;
	case 'c':
		s->w->ask.totals = !s->w->ask.totals;
		break;
	case '/':
		s->is_typing = true;
		break;
	case ' ':
		s->is_paused = !s->is_paused;
		break;
	case '+':
		set_interval(s, 1);
		break;
	case '-':
		set_interval(s, -1);
		break;
	case 'h':
	case '?':
		s->is_help = !s->is_help;
		break;
	case 27:
		s->is_help = false;
		s->filter[0] = 0;
		break;
	case KEY_UP:
		scroll_by(s, -1);
		break;
	case KEY_DOWN:
		scroll_by(s, 1);
		break;
	case KEY_PPAGE:
		scroll_by(s, -page);
		break;
	case KEY_NPAGE:
		scroll_by(s, page);
		break;
	case KEY_HOME:
		s->first = 0;
		break;
	}
}

/* ---- the loop ---- */

/* Until a key, a signal, another size, or the time for the next look. */
static void wait_for_something(const struct screen *s, const sigset_t *unblocked)
{
	int64_t left = s->next_ns - mono_ns();
	struct timespec ts = {left / 1000000000, left % 1000000000};
	struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};

	if (left > 0)
		ppoll(&in, 1, &ts, unblocked);
	/* The terminal is gone. */
	if (in.revents & (POLLHUP | POLLERR | POLLNVAL))
		ended_by = SIGHUP;
}

static bool is_enough(const struct screen *s)
{
	return s->is_over || ended_by || (s->w->count && s->looks >= s->w->count);
}

static int run(struct screen *s, const sigset_t *unblocked, char *why)
{
	while (!is_enough(s)) {
		int key;

		if (mono_ns() >= s->next_ns) {
			if (!s->is_paused && !look(s, why))
				return SL_EXIT_FAIL;
			s->next_ns = mono_ns() + (int64_t)(s->w->interval * 1e9);
		}
		draw(s);
		if (is_enough(s))
			break;
		wait_for_something(s, unblocked);
		while ((key = getch()) != ERR)
			press(s, key);
	}
	return 0;
}

static void catch_signals(sigset_t *unblocked)
{
	static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
	static const int crashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
	struct sigaction end = {.sa_handler = on_end},
			 crash = {.sa_handler = on_crash, .sa_flags = (int)SA_RESETHAND};
	sigset_t block;

	/* Signals are let in during the wait alone: none is missed between the check of the flag and the wait. */
	sigemptyset(&block);
	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
		sigaction(ends[i], &end, NULL);
		sigaddset(&block, ends[i]);
	}
	sigaddset(&block, SIGWINCH);
	for (size_t i = 0; i < sizeof(crashes) / sizeof(*crashes); i++)
		sigaction(crashes[i], &crash, NULL);
	sigprocmask(SIG_BLOCK, &block, unblocked);
	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		sigdelset(unblocked, ends[i]);
	sigdelset(unblocked, SIGWINCH);
}

static void set_up(struct screen *s)
{
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	set_escdelay(25);
	curs_set(0);
	s->has_colours =
		sl_colour(1) && has_colors() && start_color() == OK && use_default_colors() == OK;
	if (!s->has_colours)
		return;
	init_pair(COLOUR_WARN, COLOR_RED, -1);
	init_pair(COLOUR_HEAD, -1, -1);
}

int top_screen(struct top_watch *w)
{
	struct screen s = {.w = w, .t = w->top};
	char why[WHY] = "";
	sigset_t unblocked;
	SCREEN *terminal;
	int rc;

	/* Errors of the report are printed before the screen is switched. */
	if (w->top->path && top_read(w->top, why, sizeof(why)) < 0) {
		sl_warn("top: %s", why);
		return SL_EXIT_FAIL;
	}
	if (w->ask.filter)
		snprintf(s.filter, sizeof(s.filter), "%s", w->ask.filter);
	s.looks = 1;
	s.next_ns = mono_ns() + (int64_t)(w->interval * 1e9);
	setlocale(LC_CTYPE, "");
	terminal = newterm(NULL, stdout, stdin);
	if (!terminal) {
		const char *name = getenv("TERM");

		sl_warn("top: nothing can be drawn on a terminal of the kind '%s' (TERM): use "
			"--once",
			name ? name : "");
		return SL_EXIT_FAIL;
	}
	catch_signals(&unblocked);
	set_up(&s);
	rc = run(&s, &unblocked, why);
	endwin();
	delscreen(terminal);
	top_rows_free(&s.rows);
	if (rc)
		sl_warn("top: %s", why);
	if (s.path) {
		top_restart(w->top, NULL);
		free(s.path);
	}
	if (ended_by) {
		signal(ended_by, SIG_DFL);
		sigprocmask(SIG_SETMASK, &unblocked, NULL);
		raise(ended_by);
	}
	return rc;
}

#else

bool top_has_screen(void)
{
	return false;
}

int top_screen(struct top_watch *w)
{
	(void)w;
	return 1;
}

#endif
