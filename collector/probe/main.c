/*
 * main.c - sl-gpu: samples GPUs for `sightline`, which starts it, and lists them.
 *
 *   sl-gpu list     GPUs, one a line; sl-gpu sets: metric sets
 *   sl-gpu sample   with the descriptors that frame.h names
 */
#include "collector/probe/choose.h"
#include "collector/probe/gpus.h"
#include "collector/probe/out.h"
#include "collector/probe/pm_find.h"

#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define END_MS 700 /* for the last samples; then the process ends, whatever its threads do */

/* No library is to load tools into this process; GPUs have the order of their PCI addresses, and all are there. */
static void clean_environment(void)
{
	static const char *const names[] = {"NVTX_INJECTION32_PATH", "NVTX_INJECTION64_PATH",
					    "CUDA_INJECTION32_PATH", "CUDA_INJECTION64_PATH",
					    "CUDA_VISIBLE_DEVICES",  "LD_AUDIT"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		unsetenv(names[i]);
	setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID", 1);
}

/* ---- list ---- */

/* In the form that nsys has. */
static void print_gpu(struct probe_gpu *g, const char *chip)
{
	if (g->parent)
		printf("    %u: %s MIG[%d.%d]\n", g->index, g->info.name, g->info.instance,
		       g->info.sub_instance);
	else
		printf("    %u: %s%s%s PCI[%s]\n", g->index, chip, *chip ? " | " : "", g->info.name,
		       g->info.bus);
}

static int list(void)
{
	static struct gpus gpus;
	bool absent, has_other = false;
	char why[512];
	const struct nvml *n = nvml_load(why, sizeof(why), &absent);
	static struct {
		char chip[16], why[SOURCE_WHY];
		bool is_supported;
	} about[GPUS_MOST];

	if (n)
		gpus_find(&gpus, n);
	puts("Possible --gpu-metrics-devices values are:");
	for (unsigned i = 0; n && i < gpus.cnt; i++) {
		struct nvml_gpm_support gpm = {.version = 1};
		struct probe_gpu *g = &gpus.gpu[i];

		about[i].is_supported =
			source_pm_supports(g, about[i].chip, about[i].why, sizeof(about[i].why));
		if (n->gpm_support &&
		    n->gpm_support(g->parent ? g->parent : g->device, &gpm) == NVML_SUCCESS &&
		    gpm.supported)
			about[i].is_supported = true;
		has_other |= !about[i].is_supported;
		if (about[i].is_supported)
			print_gpu(g, about[i].chip);
	}
	puts("    all: Select all supported GPUs\n"
	     "    cuda-visible: Select GPUs that match CUDA_VISIBLE_DEVICES\n"
	     "    none: Disable GPU Metrics [Default]");
	if (has_other)
		puts("Some GPUs are not supported:");
	for (unsigned i = 0; i < gpus.cnt; i++) {
		if (about[i].is_supported)
			continue;
		print_gpu(&gpus.gpu[i], about[i].chip);
		if (about[i].why[0])
			printf("       %s\n", about[i].why);
	}
	if (gpus.denied)
		printf("%u more: no permission\n", gpus.denied);
	if (!n)
		printf("There is no GPU: %s\n", why);
	return 0;
}

static int sets(void)
{
	puts("Possible --gpu-metrics-set values are:");
	source_pm_print_sets(stdout);
	puts("    file:<file name> : use metric set from a given file");
	return 0;
}

/* ---- sample ---- */

struct sample {
	struct out *out;
	struct choose_ask ask;
};

static void *run(void *arg)
{
	struct sample *s = arg;

	choose_run(s->out, &s->ask);
	if (!out_is_over(s->out)) /* there is nothing to sample */
		_exit(0);
	return NULL;
}

/* The other end is closed, or its reader wants no more. */
static void wait_for_end(void)
{
	struct pollfd p = {.fd = PROBE_SOCKET_FD, .events = POLLIN};
	char byte[64];

	for (;;) {
		ssize_t n;

		if (poll(&p, 1, -1) < 0 && errno == EINTR)
			continue;
		n = recv(PROBE_SOCKET_FD, byte, sizeof(byte), MSG_DONTWAIT);
		if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
			return;
	}
}

static int sample(struct sample *s)
{
	struct probe_hello hello = {PROBE_HELLO, PROBE_VERSION};
	struct timespec until;
	sigset_t all;
	pthread_t thread;

	/* Signals of the terminal are for the program; the collector ends this process with the recording. */
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	s->out = out_open(PROBE_SOCKET_FD, PROBE_RING_FD);
	if (!s->out) {
		fprintf(stderr, "sl-gpu: is started by sightline\n");
		return 2;
	}
	out_send(s->out, &hello, sizeof(hello));
	if (pthread_create(&thread, NULL, run, s))
		return 1;
	wait_for_end();
	out_end(s->out);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += END_MS * 1000000L;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_timedjoin_np(thread, NULL, &until);
	_exit(0); /* exit handlers of the libraries may hang */
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{"devices", 1, NULL, 'd'}, {"visible", 1, NULL, 'v'},
		{"set", 1, NULL, 's'},     {"frequency", 1, NULL, 'f'},
		{"rows", 1, NULL, 'r'},    {"health", 1, NULL, 'h'},
		{"default", 0, NULL, 'q'}, {0}};
	struct sample s = {.ask = {.rows = 200000}};
	int c;

	clean_environment();
	if (argc == 2 && !strcmp(argv[1], "list"))
		return list();
	if (argc == 2 && !strcmp(argv[1], "sets"))
		return sets();
	if (argc == 3 && !strcmp(argv[1], PM_FIND_TRY))
		return pm_find_try(argv[2]);
	if (argc < 2 || strcmp(argv[1], "sample") != 0) {
		fprintf(stderr, "usage: sl-gpu list|sets\n");
		return 2;
	}
	while ((c = getopt_long(argc - 1, argv + 1, "", options, NULL)) >= 0) {
		switch (c) {
		case 'd':
			s.ask.devices = optarg;
			break;
		case 'v':
			s.ask.visible = optarg;
			break;
		case 's':
			s.ask.set = optarg;
			break;
		case 'f':
			s.ask.frequency = optarg;
			break;
		case 'r':
			s.ask.rows = atoll(optarg);
			break;
		case 'h':
			s.ask.health_hz = atoi(optarg);
			break;
		case 'q':
			s.ask.is_default = true;
			break;
		default:
			return 2;
		}
	}
	return sample(&s);
}
