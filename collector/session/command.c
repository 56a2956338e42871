/* command.c - packs and parses packets of the command socket, sends and receives them. */
#include "collector/session/command.h"

#include "collector/base/message.h"
#include "collector/base/now.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

void command_begin(struct command *p)
{
	p->len = 0;
	p->cnt = 0;
	command_add(p, COMMAND_VERSION);
}

void command_add(struct command *p, const char *word)
{
	size_t len = strlen(word) + 1;

	if (p->len > COMMAND_BYTES || len > COMMAND_BYTES - p->len) {
		p->len = COMMAND_BYTES + 1;
		return;
	}
	memcpy(p->text + p->len, word, len);
	p->len += len;
}

int command_read(struct command *p, size_t len)
{
	char *at = p->text;

	p->cnt = 0;
	p->word[0] = NULL;
	p->len = len;
	if (len < sizeof(COMMAND_VERSION) || len > COMMAND_BYTES || p->text[len - 1] != 0 ||
	    memcmp(p->text, COMMAND_VERSION, sizeof(COMMAND_VERSION)) != 0)
		return -EPROTO;
	for (at += sizeof(COMMAND_VERSION); at < p->text + len; at += strlen(at) + 1) {
		if (p->cnt == COMMAND_WORDS)
			return -EPROTO;
		p->word[p->cnt++] = at;
	}
	p->word[p->cnt] = NULL;
	return p->cnt ? 0 : -EPROTO;
}

int command_send(int sock, const struct command *p)
{
	if (p->len > COMMAND_BYTES)
		return -EMSGSIZE;
	return send(sock, p->text, p->len, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}

static int wait_readable(int sock, int timeout_ms)
{
	int64_t end = mono_ms() + timeout_ms;
	struct pollfd p = {.fd = sock, .events = POLLIN};
	int n;

	do {
		int64_t left = timeout_ms < 0 ? -1 : end - mono_ms();

		n = poll(&p, 1, left < 0 && timeout_ms >= 0 ? 0 : (int)left);
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n ? 0 : -ETIMEDOUT;
}

int command_receive(int sock, struct command *p, int timeout_ms)
{
	int err = wait_readable(sock, timeout_ms);
	ssize_t n;

	if (err)
		return err;
	n = recv(sock, p->text, sizeof(p->text), MSG_DONTWAIT | MSG_TRUNC);
	/* Disconnected with the question unread: ECONNRESET comes first, the answer after it. */
	if (n < 0 && errno == ECONNRESET)
		n = recv(sock, p->text, sizeof(p->text), MSG_DONTWAIT | MSG_TRUNC);
	if (n < 0)
		return -errno;
	return n ? command_read(p, (size_t)n) : -ECONNRESET;
}

int command_socket(const char *dir, struct sockaddr_un *addr)
{
	int fd;

	*addr = (struct sockaddr_un){.sun_family = AF_UNIX};
	if ((size_t)snprintf(addr->sun_path, sizeof(addr->sun_path), "%s/command", dir) >=
	    sizeof(addr->sun_path))
		return -ENAMETOOLONG;
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	return fd < 0 ? -errno : fd;
}

int command_connect(const char *dir, uid_t owner)
{
	struct sockaddr_un addr;
	struct ucred cred = {0};
	socklen_t len = sizeof(cred);
	int fd = command_socket(dir, &addr), err;

	if (fd < 0)
		return fd;
	if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0)
		err = -errno;
	else if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0)
		err = -errno;
	else
		err = cred.uid == owner || cred.uid == 0 ? 0 : -EPERM;
	if (!err)
		return fd;
	close(fd);
	return err;
}

/* The answer goes to a terminal, and may come from another user's process. Lines stay. */
static void clean(struct command *p)
{
	for (int i = 0; i < p->cnt; i++)
		for (char *line = p->word[i]; *line; line += *line == '\n') {
			size_t len = strcspn(line, "\n");

			sl_clean(line, len);
			line += len;
		}
}

int command_status(const struct command *p)
{
	char *end;
	long status = p->cnt == 2 ? strtol(p->word[0], &end, 10) : -1;

	if (status < 0 || status > 255 || end == p->word[0] || *end)
		return -EPROTO;
	return (int)status;
}

int command_ask(const char *dir, uid_t owner, struct command *p, int timeout_ms)
{
	int sock = command_connect(dir, owner), err;

	if (sock < 0)
		return sock;
	err = command_send(sock, p);
	/* Disconnected before the question was sent: the reason can be read. */
	if (!err || err == -EPIPE)
		err = command_receive(sock, p, timeout_ms);
	close(sock);
	if (err)
		return err;
	clean(p);
	return command_status(p);
}

const char *command_value(const char *text, const char *key, char *value, size_t size)
{
	size_t len = strlen(key);

	value[0] = 0;
	for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
		if (strncmp(line, key, len) != 0 || line[len] != '=')
			continue;
		line += len + 1;
		snprintf(value, size, "%.*s", (int)strcspn(line, "\n"), line);
		break;
	}
	return value;
}
