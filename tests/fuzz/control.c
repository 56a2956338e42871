/*
 * control.c - messages of other processes: of traced programs (hello), of commands (questions and answers), of a collector to
 * its keeper.
 */
#include "tests/fuzz/fuzz.h"

#include "collector/session/control_server.h"
#include "collector/session/hello.h"
#include "collector/session/ring_keeper.h"
#include "preload/wire/wire.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static volatile size_t kept; /* what is read must be there */

/* One packet with @cnt descriptors. */
static void send_packet(int sock, const void *data, size_t len, unsigned cnt)
{
	union {
		char room[CMSG_SPACE(8 * sizeof(int))];
		struct cmsghdr align;
	} control = {0};
	struct iovec iov = {(void *)(uintptr_t)data, len};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};

	cnt %= 9;
	if (cnt) {
		int fds[8];

		for (unsigned i = 0; i < cnt; i++)
			fds[i] = STDIN_FILENO;
		msg.msg_control = control.room;
		msg.msg_controllen = CMSG_SPACE(cnt * sizeof(int));
		control.align.cmsg_level = SOL_SOCKET;
		control.align.cmsg_type = SCM_RIGHTS;
		control.align.cmsg_len = CMSG_LEN(cnt * sizeof(int));
		memcpy(CMSG_DATA(&control.align), fds, cnt * sizeof(int));
	}
	sendmsg(sock, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void hello(const uint8_t *data, size_t len, unsigned cnt)
{
	struct hello h = {.fd = -1};
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		abort();
	send_packet(pair[0], data, len, cnt);
	if (hello_receive(pair[1], &h) == 1 && h.fd >= 0)
		close(h.fd);
	close(pair[0]);
	close(pair[1]);
}

static void keeper(const uint8_t *data, size_t len, unsigned cnt)
{
	static struct keeper_message m;
	int pair[2], fd = -1;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair))
		abort();
	send_packet(pair[0], data, len, cnt);
	if (keeper_receive(pair[1], &m, &fd) > 0)
		kept = strnlen(m.report, sizeof(m.report)) + strnlen(m.dir, sizeof(m.dir));
	if (fd >= 0)
		close(fd);
	close(pair[0]);
	close(pair[1]);
}

/* ---- the command socket ---- */

static struct control server;

static void on_question(void *to, int client, int cnt, char **word)
{
	size_t sum = 0;

	(void)to;
	for (int i = 0; i < cnt; i++)
		sum += strlen(word[i]);
	kept = sum;
	if (sum % 3 == 0)
		control_keep(&server, client, 1, word[0]);
	else
		control_answer(&server, client, (int)(sum % 4), word[0]);
}

static void question(const uint8_t *data, size_t len, unsigned cnt)
{
	static struct command answer;
	int sock = command_connect(fuzz_dir(), geteuid());

	if (sock < 0)
		abort();
	send_packet(sock, data, len, cnt);
	control_serve(&server);
	control_answer_kept(&server, 1, NULL, 0, "a=b\nc=d");
	command_receive(sock, &answer, 0);
	close(sock);
	control_serve(&server);
}

static void answer(const uint8_t *data, size_t len)
{
	static struct command p;
	char value[16];

	memcpy(p.text, data, len < COMMAND_BYTES ? len : COMMAND_BYTES);
	if (command_read(&p, len) == 0) {
		command_status(&p);
		for (int i = 0; i < p.cnt; i++)
			command_value(p.word[i], "report", value, sizeof(value));
	}
}

static void run(const uint8_t *data, size_t len)
{
	if (len < 2)
		return;
	switch (data[0] % 4) {
	case 0:
		hello(data + 2, len - 2, data[1]);
		break;
	case 1:
		keeper(data + 2, len - 2, data[1]);
		break;
	case 2:
		question(data + 2, len - 2, data[1]);
		break;
	default:
		answer(data + 2, len - 2);
	}
}

static void init(void)
{
	if (control_open(&server, fuzz_dir(), on_question, NULL))
		abort();
}

static size_t seed(unsigned i, uint8_t to[FUZZ_SEED_MAX])
{
	struct sl_hello h = {.magic = SL_HELLO_MAGIC,
			     .wire_version = SL_WIRE_VERSION,
			     .kind = SL_HELLO_ARENA,
			     .pid = 7};
	struct keeper_message m = {
		.kind = KEEPER_SETUP, .dir = "/tmp/sightline-0-1", .report = "/tmp/report.sqlite"};
	static const char asked[] = COMMAND_VERSION "\0status\0x", answered[] = COMMAND_VERSION
								   "\0"
								   "0\0report=/tmp/x\nstate=Active";

	memset(to, 0, 8);
	to[0] = (uint8_t)i;
	to[1] = i == 0;
	switch (i) {
	case 0:
		memcpy(to + 2, &h, sizeof(h));
		return 2 + sizeof(h);
	case 1:
		memcpy(to + 2, &m, sizeof(m));
		return 2 + sizeof(m);
	case 2:
		memcpy(to + 2, asked, sizeof(asked));
		return 2 + sizeof(asked);
	case 3:
		memcpy(to + 2, answered, sizeof(answered));
		return 2 + sizeof(answered);
	default:
		return 0;
	}
}

const struct fuzz_target fuzz_control = {"control", run, seed, init};
