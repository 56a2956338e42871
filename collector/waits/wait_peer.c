/* wait_peer.c - searches /proc for descriptors of the same pipe, and for the socket with the same two addresses. */
#include "collector/waits/wait_peer.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "collector/base/proc.h"
#include "collector/base/proc_numbers.h"

#define LOOKS_MOST 65536u     /* descriptors */
#define TABLE_MOST (4u << 20) /* bytes */
#define LISTENS    0x0a       /* TCP_LISTEN */
#define ANSWER_US  100000     /* of the kernel */

/* Processes that have a file open. */
struct holders {
	uint32_t pid, cnt; /* the first one, how many processes */
	bool has_self, has_unseen;
	unsigned left; /* descriptors that may still be looked at */
};

/* 0 read only, 1 write only, 2 both; -1: not known. */
static int access_of(uint32_t pid, uint32_t fd)
{
	char path[320], line[64];
	unsigned flags;
	int mode = -1;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%u/fdinfo/%u", proc_root(), pid, fd);
	f = fopen(path, "re");
	while (f && mode < 0 && fgets(line, sizeof(line), f))
		if (sscanf(line, "flags: %o", &flags) == 1)
			mode = (int)(flags & O_ACCMODE);
	if (f)
		fclose(f);
	return mode;
}

static bool has_open(struct holders *h, uint32_t pid, const char *target, int no_access)
{
	struct proc_numbers fds = proc_numbers_open(pid, "fd");
	char path[96], link[64];
	bool has = false;
	uint32_t fd;

	h->has_unseen |= !fds.dir && errno != ENOENT;
	while (!has && h->left && proc_numbers_next(&fds, &fd)) {
		ssize_t len;

		h->left--;
		snprintf(path, sizeof(path), "%s/%u/fd/%u", proc_root(), pid, fd);
		len = readlink(path, link, sizeof(link) - 1);
		link[len > 0 ? len : 0] = '\0';
		has = strcmp(link, target) == 0 && access_of(pid, fd) != no_access;
	}
	proc_numbers_close(&fds);
	return has;
}

/* @no_access: descriptors with this access are those of the same end; -1: all count. */
static void find_holders(struct holders *h, uint32_t self, const char *target, int no_access)
{
	struct proc_numbers processes = proc_numbers_open(0, NULL);
	uint32_t pid;

	while (h->left && proc_numbers_next(&processes, &pid)) {
		if (pid == (uint32_t)getpid() || !has_open(h, pid, target, no_access))
			continue;
		if (pid == self) {
			h->has_self = true;
			continue;
		}
		if (!h->cnt++)
			h->pid = pid;
	}
	proc_numbers_close(&processes);
}

static void name_of(uint32_t pid, char name[32])
{
	char path[64];
	FILE *f;

	*name = '\0';
	snprintf(path, sizeof(path), "%s/%u/comm", proc_root(), pid);
	f = fopen(path, "re");
	if (f && fgets(name, 32, f))
		name[strcspn(name, "\n")] = '\0';
	if (f)
		fclose(f);
}

static void say(struct wait_peer *peer, const struct holders *h)
{
	size_t at = strlen(peer->text);
	char *text = peer->text + at, name[32];
	size_t len = sizeof(peer->text) - at;

	if (h->cnt)
		name_of(h->pid, name);
	if (h->cnt == 1 && h->has_self)
		snprintf(text, len, "process %u (%s) and this one have the other end", h->pid,
			 name);
	else if (h->cnt == 1)
		snprintf(text, len, "process %u (%s) has the other end", h->pid, name);
	else if (h->cnt)
		snprintf(text, len, "%u processes have the other end, such as %u (%s)",
			 h->cnt + h->has_self, h->pid, name);
	else if (h->has_self)
		snprintf(text, len, "only this process has the other end");
	else
		snprintf(text, len, "no process that this user may see has the other end");
	peer->pid = h->cnt == 1 ? h->pid : 0;
	peer->has_self = h->has_self;
	peer->is_alone = !h->cnt && h->left && !h->has_unseen;
}

/* ---- addresses of TCP ---- */

struct tcp_row {
	char local[48], remote[48]; /* as the table has them */
	unsigned state;
	unsigned long long inode;
};

static bool parse_row(const char *line, struct tcp_row *r)
{
	return sscanf(line, " %*d: %47s %47s %x %*s %*s %*s %*u %*d %llu", r->local, r->remote,
		      &r->state, &r->inode) == 4;
}

/* "0100007F:0050": words of the address in the order of this machine's bytes. */
static void put_address(const char *from, char *text, size_t len)
{
	uint32_t words[4] = {0};
	const char *colon = strchr(from, ':');
	size_t digits = colon ? (size_t)(colon - from) : 0, cnt = digits / 8;
	char name[INET6_ADDRSTRLEN] = "?";

	for (size_t i = 0; i < cnt && i < 4; i++) {
		char word[9] = "";

		memcpy(word, from + 8 * i, 8);
		words[i] = (uint32_t)strtoul(word, NULL, 16);
	}
	if (cnt == 4 && !words[0] && !words[1] && words[2] == htonl(0xffff))
		inet_ntop(AF_INET, &words[3], name, sizeof(name));
	else if (cnt == 4)
		inet_ntop(AF_INET6, words, name, sizeof(name));
	else if (cnt == 1)
		inet_ntop(AF_INET, words, name, sizeof(name));
	snprintf(text, len, strchr(name, ':') ? "[%s]:%lu" : "%s:%lu", name,
		 colon ? strtoul(colon + 1, NULL, 16) : 0);
}

static const char *next_line(const char *at)
{
	const char *end = strchr(at, '\n');

	return end ? end + 1 : at + strlen(at);
}

bool wait_peer_in_table(const char *table, uint64_t inode, uint64_t *other, char *text, size_t len)
{
	struct tcp_row own = {.state = 0}, r;
	char local[64], remote[64];

	*other = 0;
	for (const char *at = table; *at && !own.state; at = next_line(at))
		if (parse_row(at, &r) && r.inode == inode)
			own = r;
	if (!own.state)
		return false;
	put_address(own.local, local, sizeof(local));
	put_address(own.remote, remote, sizeof(remote));
	if (own.state == LISTENS)
		snprintf(text, len, "listens at %s", local);
	else
		snprintf(text, len, "%s to %s", local, remote);
	for (const char *at = table; *at && own.state != LISTENS; at = next_line(at))
		if (parse_row(at, &r) && r.inode && strcmp(r.local, own.remote) == 0 &&
		    strcmp(r.remote, own.local) == 0)
			*other = r.inode;
	return true;
}

static char *read_table(uint32_t pid, const char *name)
{
	char path[64], *table = malloc(TABLE_MOST + 1);
	FILE *f;

	snprintf(path, sizeof(path), "%s/%u/net/%s", proc_root(), pid, name);
	f = table ? fopen(path, "re") : NULL;
	if (table)
		table[f ? fread(table, 1, TABLE_MOST, f) : 0] = '\0';
	if (f)
		fclose(f);
	return table;
}

/* ---- sockets of one machine ---- */

/* The inode of the peer of a connected unix socket; 0: none, or the kernel does not say. */
static uint64_t unix_peer(uint64_t inode)
{
	struct {
		struct nlmsghdr head;
		struct unix_diag_req ask;
	} ask = {.head = {sizeof(ask), SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST, 1, 0},
		 .ask = {.sdiag_family = AF_UNIX,
			 .udiag_states = UINT32_MAX,
			 .udiag_ino = (uint32_t)inode,
			 .udiag_show = UDIAG_SHOW_PEER,
			 .udiag_cookie = {UINT32_MAX, UINT32_MAX}}};
	_Alignas(8) char answer[1024];
	const struct nlmsghdr *head = (const struct nlmsghdr *)answer;
	const struct timeval limit = {.tv_usec = ANSWER_US};
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	uint32_t peer = 0;
	ssize_t got = -1;

	if (fd < 0)
		return 0;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	if (send(fd, &ask, sizeof(ask), 0) == (ssize_t)sizeof(ask))
		got = recv(fd, answer, sizeof(answer), 0);
	close(fd);
	if (got < (ssize_t)NLMSG_LENGTH(sizeof(struct unix_diag_msg)) ||
	    head->nlmsg_type != SOCK_DIAG_BY_FAMILY || head->nlmsg_len > (size_t)got)
		return 0;
	for (size_t at = NLMSG_LENGTH(sizeof(struct unix_diag_msg)); at + 8 <= head->nlmsg_len;) {
		uint16_t len, type;

		memcpy(&len, answer + at, sizeof(len));
		memcpy(&type, answer + at + 2, sizeof(type));
		if (type == UNIX_DIAG_PEER && len >= 8)
			memcpy(&peer, answer + at + 4, sizeof(peer));
		if (len < 4)
			break;
		at += (len + 3u) & ~3u;
	}
	return peer;
}

static void of_socket(struct wait_peer *peer, uint32_t pid, uint64_t inode)
{
	static const char *const tables[] = {"tcp", "tcp6"};
	struct holders h = {.left = LOOKS_MOST};
	uint64_t other = 0;
	bool is_tcp = false;
	char target[64];

	for (size_t i = 0; i < 2 && !is_tcp; i++) {
		char *table = read_table(pid, tables[i]), text[160] = "";

		is_tcp = table && wait_peer_in_table(table, inode, &other, text, sizeof(text));
		free(table);
		if (is_tcp)
			snprintf(peer->text, sizeof(peer->text), "%s", text);
	}
	if (!is_tcp)
		other = unix_peer(inode);
	if (!other)
		return;
	if (is_tcp)
		strcat(peer->text, "; ");
	peer->is_local = !is_tcp;
	snprintf(target, sizeof(target), "socket:[%llu]", (unsigned long long)other);
	find_holders(&h, pid, target, -1);
	say(peer, &h);
}

void wait_peer_find(struct wait_peer *peer, uint32_t pid, int64_t fd, const char *target,
		    bool reads)
{
	struct holders h = {.left = LOOKS_MOST};
	unsigned long long inode;

	*peer = (struct wait_peer){.pid = 0};
	if (sscanf(target, "socket:[%llu]", &inode) == 1) {
		of_socket(peer, pid, inode);
		return;
	}
	if (strncmp(target, "pipe:[", 6) != 0 || access_of(pid, (uint32_t)fd) < 0)
		return;
	peer->is_local = true;
	find_holders(&h, pid, target, reads ? O_RDONLY : O_WRONLY);
	say(peer, &h);
}
