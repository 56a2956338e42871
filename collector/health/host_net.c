/*
 * host_net.c - network interfaces, of the program's network namespace, and InfiniBand ports, whose traffic interfaces do not see.
 */
#include "collector/health/host_devices.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "collector/base/grow.h"

struct net {
	struct host_file file;
	struct host_devices all;
};

static void *open_net(struct host *h)
{
	struct net *n = calloc(1, sizeof(*n));

	if (n && host_file_open(h, &n->file, "/proc/net/dev"))
		return n;
	free(n);
	return NULL;
}

static bool is_our_namespace(const struct host *h, pid_t pid)
{
	char path[PATH_MAX], ours[64] = "", theirs[64] = "";

	snprintf(path, sizeof(path), "%s/proc/self/ns/net", h->root);
	if (readlink(path, ours, sizeof(ours) - 1) < 0)
		return true;
	snprintf(path, sizeof(path), "%s/proc/%d/ns/net", h->root, (int)pid);
	return readlink(path, theirs, sizeof(theirs) - 1) < 0 || strcmp(ours, theirs) == 0;
}

/* The descriptor keeps the namespace, whatever becomes of the process. Interfaces of equal names are others there. */
static void follow_net(struct host *h, void *state, pid_t pid)
{
	struct net *n = state;
	struct host_file file;

	if (is_our_namespace(h, pid) || !host_file_open(h, &file, "/proc/%d/net/dev", (int)pid))
		return;
	host_file_close(&n->file);
	n->file = file;
	for (size_t i = 0; i < n->all.cnt; i++)
		for (int k = 0; k < DEVICE_COUNTERS; k++)
			n->all.list[i].counters[k].epoch = 0;
}

/* Fields behind the colon. */
enum {
	IN_BYTES,
	IN_PACKETS,
	IN_ERRORS,
	IN_DROPS,
	OUT_BYTES = 8,
	OUT_PACKETS,
	OUT_ERRORS,
	OUT_DROPS,
	FIELDS
};

static void read_interface(struct host *h, struct host_device *d, const uint64_t f[FIELDS])
{
	static const struct host_what received = {"Network Received", "B", HOST_USED},
				      sent = {"Network Sent", "B", HOST_USED},
				      packets_in = {"Packets Received", "count", HOST_USED},
				      packets_out = {"Packets Sent", "count", HOST_USED},
				      errors = {"Network Errors", "count", HOST_USED},
				      drops = {"Packets Dropped", "count", HOST_USED};
	const struct host_scope scope = {"nic", -1, d->name};

	host_sum(h, &d->counters[0], &scope, &received, f[IN_BYTES], 0, 1);
	host_sum(h, &d->counters[1], &scope, &sent, f[OUT_BYTES], 0, 1);
	host_sum(h, &d->counters[2], &scope, &packets_in, f[IN_PACKETS], 0, 1);
	host_sum(h, &d->counters[3], &scope, &packets_out, f[OUT_PACKETS], 0, 1);
	host_sum(h, &d->counters[4], &scope, &errors,
		 (uint64_t)figure(f[IN_ERRORS] + f[OUT_ERRORS]), 0, 1);
	host_sum(h, &d->counters[5], &scope, &drops, (uint64_t)figure(f[IN_DROPS] + f[OUT_DROPS]),
		 0, 1);
}

static void read_net(struct host *h, void *state)
{
	struct net *n = state;
	char *text = host_file_read(h, &n->file), *line;
	struct host_device *one;
	uint64_t f[FIELDS];
	bool is_new;

	while (text && (line = host_line(&text))) {
		char *name = line + strspn(line, " "), *colon = strrchr(name, ':');
		unsigned i = 0;

		if (!colon)
			continue;
		*colon = '\0';
		line = colon + 1;
		while (i < FIELDS && host_number(&line, &f[i]))
			i++;
		one = i == FIELDS ? host_device(&n->all, name, &is_new) : NULL;
		if (one && strcmp(name, "lo") != 0)
			read_interface(h, one, f);
	}
}

static void close_net(void *state)
{
	struct net *n = state;

	host_file_close(&n->file);
	free(n->all.list);
	free(n);
}

const struct host_source host_net = {.name = "network",
				     .open = open_net,
				     .follow = follow_net,
				     .read = read_net,
				     .close = close_net};

/* ---- InfiniBand ---- */

#define WORD 4.0 /* port_*_data count words */

struct port {
	char name[2 * HOST_NAME]; /* mlx5_0/1 */
	struct host_file in, out;
	struct host_counter received, sent;
};

struct ports {
	struct port *list;
	size_t cnt, cap;
};

static void add_port(struct host *h, struct ports *p, const char *device, const char *number)
{
	struct port one = {0};
	bool in, out;

	if (p->cnt == DEVICES_MOST || (size_t)snprintf(one.name, sizeof(one.name), "%s/%s", device,
						       number) >= sizeof(one.name))
		return;
	in = host_file_open(h, &one.in, "/sys/class/infiniband/%s/ports/%s/counters/port_rcv_data",
			    device, number);
	out = host_file_open(h, &one.out,
			     "/sys/class/infiniband/%s/ports/%s/counters/port_xmit_data", device,
			     number);
	if ((in || out) && grow(&p->list, p->cnt, &p->cap, sizeof(*p->list))) {
		p->list[p->cnt++] = one;
		return;
	}
	host_file_close(&one.in);
	host_file_close(&one.out);
}

static void add_ports(struct host *h, struct ports *p, const char *device)
{
	char path[PATH_MAX];
	struct dirent *e;
	uint64_t n;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/sys/class/infiniband/%s/ports", h->root, device);
	dir = opendir(path);
	while (dir && (e = readdir(dir)))
		if (host_is_number(e->d_name, &n))
			add_port(h, p, device, e->d_name);
	if (dir)
		closedir(dir);
}

static void *open_ports(struct host *h)
{
	struct ports *p = calloc(1, sizeof(*p));
	char path[PATH_MAX];
	struct dirent *e;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/sys/class/infiniband", h->root);
	dir = p ? opendir(path) : NULL;
	while (dir && (e = readdir(dir)))
		if (e->d_name[0] != '.')
			add_ports(h, p, e->d_name);
	if (dir)
		closedir(dir);
	if (p && p->cnt)
		return p;
	free(p);
	return NULL;
}

static void read_ports(struct host *h, void *state)
{
	static const struct host_key received = {NULL, WORD, {"Network Received", "B", HOST_USED}},
				     sent = {NULL, WORD, {"Network Sent", "B", HOST_USED}};
	struct ports *p = state;

	for (size_t i = 0; i < p->cnt; i++) {
		struct port *one = &p->list[i];
		const struct host_scope scope = {"nic", -1, one->name};

		host_one(h, &one->in, &received, &one->received, &scope);
		host_one(h, &one->out, &sent, &one->sent, &scope);
	}
}

static void close_ports(void *state)
{
	struct ports *p = state;

	for (size_t i = 0; i < p->cnt; i++) {
		host_file_close(&p->list[i].in);
		host_file_close(&p->list[i].out);
	}
	free(p->list);
	free(p);
}

const struct host_source host_infiniband = {
	.name = "InfiniBand", .open = open_ports, .read = read_ports, .close = close_ports};
