/* hotkey.c - takes one key of the terminal that the program uses, and gives the terminal back. */
#include "collector/run/hotkey.h"
#include "collector/base/now.h"
#include "collector/base/proc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define LOOK_MS   100
#define TREE_MOST 64 /* processes that are asked whether they read */

/* ---- the key ---- */

int hotkey_sequences(const char *key, char sequences[3][8])
{
	/* xterm and its likes, older ones, the Linux console. */
	static const int codes[] = {11, 12, 13, 14, 15, 17, 18, 19, 20, 21, 23, 24};
	long n = key[0] == 'F' || key[0] == 'f' ? strtol(key + 1, NULL, 10) : 0;
	int cnt = 0;

	memset(sequences, 0, 3 * 8);
	if (key[0] && !key[1]) {
		sequences[cnt++][0] = key[0];
		return cnt;
	}
	if (n < 1 || n > 12)
		return 0;
	snprintf(sequences[cnt++], 8, "\033[%d~", codes[n - 1]);
	if (n <= 4)
		snprintf(sequences[cnt++], 8, "\033O%c", (char)('P' + n - 1));
	if (n <= 5)
		snprintf(sequences[cnt++], 8, "\033[[%c", (char)('A' + n - 1));
	return cnt;
}

static void keep(struct hotkey *h, char c)
{
	if (h->kept_len < sizeof(h->kept))
		h->kept[h->kept_len++] = c;
}

/* 1: part is the key; 0: it may become it; -1: it cannot. */
static int compare(const struct hotkey *h)
{
	for (int i = 0; i < 3; i++) {
		size_t len = strlen(h->key[i]);

		if (len && h->part_len <= len && memcmp(h->key[i], h->part, h->part_len) == 0)
			return h->part_len == len;
	}
	return -1;
}

int hotkey_take(struct hotkey *h, const char *bytes, size_t len)
{
	int pressed = 0;

	for (size_t i = 0; i < len; i++) {
		int is_key;

		h->part[h->part_len++] = bytes[i];
		/* Bytes that cannot be the key any more; their end may begin it again. */
		while (h->part_len && (is_key = compare(h)) < 0) {
			keep(h, h->part[0]);
			memmove(h->part, h->part + 1, --h->part_len);
		}
		if (h->part_len && is_key) {
			pressed++;
			h->part_len = 0;
		}
	}
	return pressed;
}

/* ---- does the program read? ---- */

static bool is_terminal(pid_t pid, unsigned long fd, dev_t tty)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "%s/%d/fd/%lu", proc_root(), (int)pid, fd);
	return stat(path, &st) == 0 && S_ISCHR(st.st_mode) &&
	       (st.st_rdev == tty || st.st_rdev == makedev(5, 0) /* /dev/tty */);
}

static bool read_text(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, size - 1);

	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = 0;
	return n > 0;
}

/* Is the thread inside read() of the terminal? Programs that poll() for keys have set modes of their own. */
static bool thread_reads(pid_t pid, const char *tid, dev_t tty)
{
	char path[80], text[160];
	unsigned long fd;
	long number;

	snprintf(path, sizeof(path), "%s/%d/task/%.20s/syscall", proc_root(), (int)pid, tid);
	return read_text(path, text, sizeof(text)) && sscanf(text, "%ld %lx", &number, &fd) == 2 &&
	       (number == SYS_read || number == SYS_readv) && is_terminal(pid, fd, tty);
}

/* The process, and those it came to start; @left: how many more may be asked. */
static bool tree_reads(pid_t pid, dev_t tty, int *left)
{
	char path[80], text[1024];
	const struct dirent *e;
	bool reads = false;
	DIR *d;

	snprintf(path, sizeof(path), "%s/%d/task", proc_root(), (int)pid);
	d = --*left < 0 ? NULL : opendir(path);
	while (d && !reads && (e = readdir(d)) && *left >= 0) {
		if (e->d_name[0] == '.')
			continue;
		--*left;
		reads = thread_reads(pid, e->d_name, tty);
		snprintf(path, sizeof(path), "%s/%d/task/%.20s/children", proc_root(), (int)pid,
			 e->d_name);
		if (reads || !read_text(path, text, sizeof(text)))
			continue;
		for (char *p = text, *end; !reads && *p; p = end) {
			long child = strtol(p, &end, 10);

			if (end == p)
				break;
			reads = tree_reads((pid_t)child, tty, left);
		}
	}
	if (d)
		closedir(d);
	return reads;
}

static bool program_reads(const struct hotkey *h, pid_t program)
{
	int left = TREE_MOST;
	unsigned number; /* of the terminal itself: /dev/tty has one of its own */

	return ioctl(h->tty, TIOCGDEV, &number) < 0 ||
	       tree_reads(program,
			  makedev(number >> 8 & 0xfff, (number & 0xff) | (number >> 12 & 0xfff00)),
			  &left);
}

/* ---- the terminal ---- */

static struct hotkey *taken; /* for the handler below */

/* After a crash the modes must be put back here. Async-signal-safe. */
static void on_crash(int sig)
{
	if (taken && taken->has_taken)
		tcsetattr(taken->tty, TCSANOW, &taken->theirs);
	raise(sig); /* as it would have been: SA_RESETHAND */
}

static void watch_crashes(bool on)
{
	static const int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
	struct sigaction sa = {.sa_handler = on ? on_crash : SIG_DFL,
			       .sa_flags = (int)SA_RESETHAND};

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		sigaction(signals[i], &sa, NULL);
}

static bool is_ours(const struct hotkey *h, const struct termios *now)
{
	return now->c_lflag == h->ours.c_lflag && now->c_iflag == h->ours.c_iflag &&
	       now->c_oflag == h->ours.c_oflag;
}

static bool is_ordinary(const struct termios *now)
{
	return (now->c_lflag & (ICANON | ECHO)) == (ICANON | ECHO);
}

/* Puts typed keys back into the terminal's queue, where that is allowed. */
static void give_back_keys(struct hotkey *h)
{
	for (size_t i = 0; i < h->part_len; i++)
		keep(h, h->part[i]);
	for (size_t i = 0; i < h->kept_len; i++)
		if (ioctl(h->tty, TIOCSTI, &h->kept[i]) < 0)
			break;
	h->kept_len = h->part_len = 0;
}

static void put_back(struct hotkey *h)
{
	struct termios now;

	if (!h->has_taken)
		return;
	h->has_taken = false;
	/* Another process group has it: the shell's, when this one is in the background. */
	if (tcgetattr(h->tty, &now) < 0 || !is_ours(h, &now))
		return;
	tcsetattr(h->tty, TCSANOW, &h->theirs);
	give_back_keys(h);
}

static void take(struct hotkey *h, const struct termios *now)
{
	h->theirs = h->ours = *now;
	h->ours.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	/* 1, not 0: a program that does read finds no end of file. */
	h->ours.c_cc[VMIN] = 1;
	h->ours.c_cc[VTIME] = 0;
	h->has_taken = tcsetattr(h->tty, TCSANOW, &h->ours) == 0;
}

void hotkey_look(struct hotkey *h, pid_t program)
{
	struct termios now;
	int64_t ms;

	if (!h->is_open)
		return;
	ms = mono_ms();
	if (ms - h->looked_ms < LOOK_MS)
		return;
	h->looked_ms = ms;
	if (tcgetpgrp(h->tty) != getpgrp() || tcgetattr(h->tty, &now) < 0) {
		h->has_taken = false;
		return;
	}
	/* A program that found these modes restores them when it is done with its own. */
	h->has_taken = h->ours.c_cc[VMIN] && is_ours(h, &now);
	if (program_reads(h, program))
		put_back(h);
	else if (!h->has_taken && is_ordinary(&now))
		take(h, &now);
}

int hotkey_open(struct hotkey *h, const char *key)
{
	int fd = open("/dev/tty", O_RDWR | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	memset(h, 0, sizeof(*h));
	if (fd < 0)
		return -errno;
	/* Out of the way of the numbers that a program expects to get. */
	h->tty = fcntl(fd, F_DUPFD_CLOEXEC, 200);
	if (h->tty < 0)
		h->tty = fd;
	else
		close(fd);
	if (!hotkey_sequences(key, h->key)) {
		close(h->tty);
		return -EINVAL;
	}
	h->is_open = true;
	taken = h;
	watch_crashes(true);
	return 0;
}

int hotkey_fd(const struct hotkey *h)
{
	return h->is_open && h->has_taken ? h->tty : -1;
}

int hotkey_read(struct hotkey *h)
{
	char bytes[64];
	ssize_t n;

	if (!h->is_open || !h->has_taken)
		return 0;
	n = read(h->tty, bytes, sizeof(bytes));
	return n > 0 ? hotkey_take(h, bytes, (size_t)n) : 0;
}

void hotkey_yield(struct hotkey *h)
{
	if (h->is_open)
		put_back(h);
}

void hotkey_close(struct hotkey *h)
{
	struct termios now;

	if (!h->is_open)
		return;
	put_back(h);
	/* A program died with modes derived from these: lines and echo were turned off here. */
	if (h->ours.c_cc[VMIN] && tcgetpgrp(h->tty) == getpgrp() && tcgetattr(h->tty, &now) == 0 &&
	    !(now.c_lflag & ICANON)) {
		now.c_lflag |= h->theirs.c_lflag & (ICANON | ECHO);
		now.c_cc[VMIN] = h->theirs.c_cc[VMIN];
		now.c_cc[VTIME] = h->theirs.c_cc[VTIME];
		tcsetattr(h->tty, TCSANOW, &now);
	}
	watch_crashes(false);
	taken = NULL;
	close(h->tty);
	h->is_open = false;
}
