/*
 * control_server.c - the command socket: whatever comes in, in whatever pieces, from however many clients, the session
 * continues and a valid request is answered.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "collector/session/control_server.h"
#include "collector/options/profile_options.h"

#define NOBODY 65534

static struct control k;
static char dir[64];
static unsigned pings, others;
static uint64_t seed;

static uint32_t rnd(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)(seed >> 16);
}

static void serve_question(void *to, int client, int cnt, char **word)
{
	assert_ptr_equal(to, &pings);
	assert_true(cnt >= 1 && word[cnt] == NULL);
	for (int i = 0; i < cnt; i++)
		assert_true(strlen(word[i]) < COMMAND_BYTES);
	if (strcmp(word[0], "ping") == 0 && cnt == 1) {
		pings++;
		control_answer(&k, client, 0, "pong");
	} else if (strcmp(word[0], "keep") == 0) {
		control_keep(&k, client, 7, word[1]);
	} else {
		others++;
		control_answer(&k, client, 2, "what?");
	}
}

static int set_up(void **state)
{
	(void)state;
	seed = 88172645463325252ull;
	pings = others = 0;
	strcpy(dir, "/tmp/sl-control-XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	return control_open(&k, dir, serve_question, &pings);
}

static int tear_down(void **state)
{
	char path[96];

	(void)state;
	control_close(&k);
	snprintf(path, sizeof(path), "%s/command", dir);
	unlink(path);
	return rmdir(dir);
}

static int connect_raw(void)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/command", dir);
	if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)) == 0)
		return fd;
	close(fd);
	return -1;
}

/* A proper question in the middle of everything. */
static void ping(void)
{
	static struct command p;
	unsigned before = pings;
	int fd = connect_raw();

	assert_true(fd >= 0);
	command_begin(&p);
	command_add(&p, "ping");
	assert_int_equal(command_send(fd, &p), 0);
	control_serve(&k);
	assert_int_equal(pings, before + 1);
	assert_int_equal(command_receive(fd, &p, 1000), 0);
	assert_int_equal(command_status(&p), 0);
	assert_string_equal(p.word[1], "pong");
	assert_int_equal(command_receive(fd, &p, 1000), -ECONNRESET);
	close(fd);
}

static int open_descriptors(void)
{
	int cnt = 0;

	for (int fd = 0; fd < 1024; fd++)
		cnt += fcntl(fd, F_GETFD) >= 0;
	return cnt;
}

static int clients(void)
{
	int cnt = 0;

	for (int i = 0; i < CONTROL_CLIENTS; i++)
		cnt += k.client[i].fd >= 0;
	return cnt;
}

/* ---- garbage ---- */

static size_t make_valid(char *to)
{
	static const char *const words[] = {
		"ping", "keep",     "start", "--output=/tmp/x",     "status", "",
		"-",    "shutdown", "9",     "--capture-range=nvtx"};
	static struct command p;

	command_begin(&p);
	for (uint32_t n = rnd() % 5; n; n--)
		command_add(&p, words[rnd() % 10]);
	memcpy(to, p.text, p.len);
	return p.len;
}

static size_t make_packet(char *to, size_t room)
{
	size_t len = make_valid(to);

	switch (rnd() % 6) {
	case 0: /* noise */
		len = rnd() % 8 ? rnd() % 200 : rnd() % room;
		for (size_t i = 0; i < len; i++)
			to[i] = (char)rnd();
		return len;
	case 1: /* cut off */
		return rnd() % (len + 1);
	case 2: /* some bytes are others */
		for (uint32_t n = 1 + rnd() % 4; n; n--)
			to[rnd() % len] = (char)rnd();
		return len;
	case 3: /* more words than there may be */
		memset(to + len, 0, 300);
		return len + rnd() % 300;
	case 4: /* longer than may be */
		memset(to + len, 'x', room - len);
		to[room - 1] = 0;
		return COMMAND_BYTES - 5 + rnd() % 10;
	default:
		return len;
	}
}

static void garbage_harms_nothing(void **state)
{
	static char packet[COMMAND_BYTES + 4096];
	int before = open_descriptors();

	(void)state;
	for (int i = 0; i < 50000; i++) {
		int fd = connect_raw();
		size_t len = make_packet(packet, sizeof(packet));

		assert_true(fd >= 0);
		if (len)
			(void)!send(fd, packet, len, MSG_NOSIGNAL);
		if (rnd() % 4 == 0)
			close(fd), fd = -1;
		control_serve(&k);
		/* One packet more than there should be. */
		if (fd >= 0 && rnd() % 8 == 0)
			(void)!send(fd, packet, len, MSG_NOSIGNAL);
		if (fd >= 0)
			close(fd);
		if (i % 500 == 0)
			ping();
	}
	control_serve(&k);
	assert_true(k.nonsense > 10000);
	assert_true(others > 1000);
	assert_int_equal(k.refused, 0);
	assert_int_equal(clients(), 0);
	assert_int_equal(open_descriptors(), before);
}

/* What garbage may still come to in the collector: words that are taken for options. */
static void garbage_is_no_option(void **state)
{
	static const char *const names[] = {"--output",
					    "--capture-range",
					    "--nvtx-capture",
					    "-c",
					    "--capture-range-end",
					    "--duration",
					    "--delay",
					    "-o",
					    "--kill",
					    "--hotkey-capture",
					    "--command-file",
					    "--",
					    "--help",
					    "--trace",
					    "x",
					    "--session-new"};
	static const char *const values[] = {"nvtx", "repeat:3", "a@b",    "-1",
					     "",     "1e9",      "hotkey", "99999999999999999999",
					     "F13",  "none",     "%q{",    "\\@"};
	int null = open("/dev/null", O_WRONLY), err = dup(2), out = dup(1), taken = 0;
	struct profile_options o;

	(void)state;
	profile_options_init(&o);
	fflush(stdout);
	dup2(null, 2);
	dup2(null, 1);
	for (int i = 0; i < 30000; i++) {
		char text[4][64], *word[5] = {0};
		int cnt = (int)(rnd() % 4) + 1;

		for (int j = 0; j < cnt; j++) {
			snprintf(text[j], sizeof(text[j]), "%s%s%s", names[rnd() % 16],
				 rnd() % 5 ? "=" : "", values[rnd() % 12]);
			if (rnd() % 4 == 0)
				text[j][rnd() % (strlen(text[j]) + 1)] = (char)rnd();
			word[j] = text[j];
		}
		taken += profile_options_add(&o, OPTIONS_START, word) == 0;
		assert_true(o.program.duration_s >= 0 && o.capture.delay_s >= 0);
		assert_true(memchr(o.capture.nvtx_range, 0, SL_CAPTURE_NAME_BYTES) != NULL);
	}
	fflush(stdout);
	dup2(err, 2);
	dup2(out, 1);
	close(null);
	close(err);
	close(out);
	assert_true(taken > 1000 && taken < 29000);
}

/* ---- many, and silent ones ---- */

static void half_open_connections_do_not_fill_the_server(void **state)
{
	int fds[600], cnt = 0, before = open_descriptors();

	(void)state;
	for (int i = 0; i < 600; i++) {
		fds[i] = connect_raw();
		cnt += fds[i] >= 0;
		if (i % 40 == 39)
			control_serve(&k);
		assert_true(clients() <= CONTROL_CLIENTS);
	}
	assert_int_equal(cnt, 600);
	/* A valid request is answered though silent clients take all places. */
	ping();
	assert_true(k.nonsense >= 600 - CONTROL_CLIENTS);
	for (int i = 0; i < 600; i++)
		close(fds[i]);
	control_serve(&k);
	assert_int_equal(clients(), 0);
	assert_int_equal(open_descriptors(), before);
}

static void a_silent_client_is_hung_up_on(void **state)
{
	struct pollfd p = {.fd = control_fd(&k), .events = POLLIN};
	static struct command c;
	int fd;

	(void)state;
	k.silent_ms = 20;
	fd = connect_raw();
	control_serve(&k);
	assert_int_equal(clients(), 1);
	/* The descriptor is readable when there is something to do. */
	while (clients()) {
		assert_int_equal(poll(&p, 1, 5000), 1);
		control_serve(&k);
	}
	assert_int_equal(k.nonsense, 1);
	assert_int_equal(command_receive(fd, &c, 1000), -ECONNRESET);
	close(fd);
	/* And without clients it is not. */
	assert_int_equal(poll(&p, 1, 60), 0);
}

static int ask_to_keep(const char *what)
{
	static struct command p;
	int fd = connect_raw();

	command_begin(&p);
	command_add(&p, "keep");
	command_add(&p, what);
	assert_int_equal(command_send(fd, &p), 0);
	control_serve(&k);
	return fd;
}

static void a_waiting_client_is_answered_after_any_crowd(void **state)
{
	static struct command p;
	int a = ask_to_keep("/a.sqlite"), b = ask_to_keep("/b.sqlite"),
	    gone = ask_to_keep("/a.sqlite");
	int crowd[200];

	(void)state;
	k.silent_ms = 10;
	close(gone);
	for (int i = 0; i < 200; i++) {
		crowd[i] = connect_raw();
		control_serve(&k);
	}
	usleep(30000);
	control_serve(&k);
	assert_int_equal(clients(), 2);
	assert_int_equal(control_answer_kept(&k, 8, NULL, 0, "not theirs"), 0);
	assert_int_equal(control_answer_kept(&k, 7, "/a.sqlite", 0, "/a.sqlite"), 1);
	assert_int_equal(command_receive(a, &p, 1000), 0);
	assert_string_equal(p.word[1], "/a.sqlite");
	assert_int_equal(command_receive(b, &p, 0), -ETIMEDOUT);
	assert_int_equal(control_answer_kept(&k, 7, NULL, 1, "over"), 1);
	assert_int_equal(command_receive(b, &p, 1000), 0);
	assert_int_equal(command_status(&p), 1);
	close(a);
	close(b);
	for (int i = 0; i < 200; i++)
		close(crowd[i]);
}

/* Descriptors that are sent along go nowhere. */
static void descriptors_are_not_taken(void **state)
{
	int before = open_descriptors();
	char text[] = COMMAND_VERSION "\0ping";
	struct iovec iov = {text, sizeof(text)};
	union {
		char room[CMSG_SPACE(4 * sizeof(int))];
		struct cmsghdr align;
	} c;
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = c.room,
			     .msg_controllen = sizeof(c.room)};
	int four[4] = {0, 0, 0, 0}, fd = connect_raw();

	(void)state;
	memset(&c, 0, sizeof(c));
	c.align.cmsg_level = SOL_SOCKET;
	c.align.cmsg_type = SCM_RIGHTS;
	c.align.cmsg_len = CMSG_LEN(sizeof(four));
	memcpy(CMSG_DATA(&c.align), four, sizeof(four));
	assert_int_equal(sendmsg(fd, &msg, 0), sizeof(text));
	control_serve(&k);
	assert_int_equal(pings, 1);
	close(fd);
	assert_int_equal(open_descriptors(), before);
}

/* ---- permission ---- */

static void only_the_user_can_open_the_socket(void **state)
{
	char path[96];
	struct stat st;

	(void)state;
	snprintf(path, sizeof(path), "%s/command", dir);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
}

/* Should the file's mode ever let them through. */
static void another_user_is_refused(void **state)
{
	static struct command p;
	char path[96];
	int status;
	pid_t pid;

	(void)state;
	if (geteuid() != 0)
		skip();
	snprintf(path, sizeof(path), "%s/command", dir);
	chmod(path, 0666);
	chmod(dir, 0755);
	pid = fork();
	if (pid == 0) {
		if (setgid(NOBODY) < 0 || setuid(NOBODY) < 0)
			_exit(9);
		command_begin(&p);
		command_add(&p, "ping");
		status = command_ask(dir, 0, &p, 5000);
		_exit(status == 1 && strstr(p.word[1], "another user") ? 0 : 7);
	}
	while (waitpid(pid, &status, WNOHANG) == 0) {
		control_serve(&k);
		usleep(1000);
	}
	assert_int_equal(status, 0);
	assert_int_equal(k.refused, 1);
	assert_int_equal(k.last_refused, NOBODY);
	assert_int_equal(pings, 0);
	ping();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(garbage_harms_nothing, set_up, tear_down),
		cmocka_unit_test_setup_teardown(garbage_is_no_option, set_up, tear_down),
		cmocka_unit_test_setup_teardown(half_open_connections_do_not_fill_the_server,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_silent_client_is_hung_up_on, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_waiting_client_is_answered_after_any_crowd,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(descriptors_are_not_taken, set_up, tear_down),
		cmocka_unit_test_setup_teardown(only_the_user_can_open_the_socket, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(another_user_is_refused, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
