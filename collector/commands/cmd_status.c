/*
 * cmd_status.c - kinds of events that this machine can record, and the commands that enable the
 * others.
 *
 * Nothing is guessed from versions: each line is tried, the way a run would do it.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "collector/base/beside.h"
#include "collector/base/clock_map.h"
#include "collector/base/commands.h"
#include "collector/base/json.h"
#include "collector/base/message.h"
#include "collector/base/privilege.h"
#include "collector/base/options.h"
#include "collector/run/launch.h"
#include "collector/kernel/sample/sample.h"
#include "collector/kernel/sched/sched.h"
#include "collector/options/profile_values.h"
#include "collector/session/session.h"
#include "collector/session/session_list.h"
#include "preload/wire/clock.h"

enum state {
	OK,
	LIMITED,
	NO
};

struct finding {
	const char *key, *title;
	enum state state;
	bool needed;      /* without it no library call can be recorded */
	char detail[320]; /* the finding, or the reason of a failure */
	char fix[640];    /* a command, or "" */
};

static const char *const state_names[] = {"ok", "limited", "no"};

static enum state found(struct finding *f, enum state state, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
static enum state found(struct finding *f, enum state state, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(f->detail, sizeof(f->detail), format, ap);
	va_end(ap);
	f->state = state;
	return state;
}

#define FIX(f, ...) snprintf((f)->fix, sizeof((f)->fix), __VA_ARGS__)

/* First line of a small file of /proc or /sys; "" when it cannot be read. */
static const char *read_line(const char *path, char *line, size_t len)
{
	FILE *file = fopen(path, "re");

	line[0] = '\0';
	if (!file)
		return line;
	if (!fgets(line, (int)len, file))
		line[0] = '\0';
	fclose(file);
	line[strcspn(line, "\n")] = '\0';
	return line;
}

/* The value after "NAME:" in /proc/self/status, in hexadecimal or decimal. */
static uint64_t own_status(const char *name, int base)
{
	FILE *file = fopen("/proc/self/status", "re");
	size_t len = strlen(name);
	uint64_t value = 0;
	char line[256];

	while (file && fgets(line, sizeof(line), file)) {
		if (strncmp(line, name, len) == 0 && line[len] == ':') {
			value = strtoull(line + len + 1, NULL, base);
			break;
		}
	}
	if (file)
		fclose(file);
	return value;
}

/* ---- requirements of library calls ---- */

static void check_kernel(struct finding *f)
{
	struct utsname u;

	if (uname(&u) < 0)
		found(f, LIMITED, "unknown: %s", strerror(errno));
	else
		found(f, OK, "%s %s, %s, %ld processors", u.sysname, u.release, u.machine,
		      sysconf(_SC_NPROCESSORS_ONLN));
}

/* Does the dynamic linker of programs like this one take the file? */
static int same_kind_of_elf(const char *path)
{
	Elf64_Ehdr own = {0}, its = {0};
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int rc = 0;

	if (fd < 0 || read(fd, &own, sizeof(own)) != sizeof(own))
		rc = -EIO;
	if (fd >= 0)
		close(fd);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (rc == 0 && (read(fd, &its, sizeof(its)) != sizeof(its) ||
			memcmp(its.e_ident, own.e_ident, EI_DATA + 1) != 0 ||
			its.e_machine != own.e_machine || its.e_type != ET_DYN))
		rc = -ENOEXEC;
	close(fd);
	return rc;
}

static void check_shim(struct finding *f)
{
	static const char *const places[] = {"", "../lib/sightline/", "../lib64/sightline/"};
	char exe[PATH_MAX], path[PATH_MAX + 64], real[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	char *slash;

	exe[len > 0 ? len : 0] = '\0';
	slash = strrchr(exe, '/');
	if (!slash) {
		found(f, NO, "/proc is not mounted: the folder of this program is unknown");
		return;
	}
	slash[1] = '\0';
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		int rc;

		snprintf(path, sizeof(path), "%s%slibtrace.so", exe, places[i]);
		if (access(path, F_OK) < 0 || !realpath(path, real))
			continue;
		rc = same_kind_of_elf(real);
		if (rc < 0) {
			found(f, NO, "%s cannot be used: %s", real, strerror(-rc));
		} else if (!strpbrk(real, SL_PRELOAD_REFUSED)) {
			found(f, OK, "%s", real);
		} else if (session_can_link(real)) {
			found(f, LIMITED,
			      "%s: programs that profile and launch start; LD_PRELOAD cannot have "
			      "this path, only a link to it",
			      real);
		} else {
			found(f, NO,
			      "%s: LD_PRELOAD cannot have this path, nor the session's folder a "
			      "link",
			      real);
			FIX(f, "move it to a folder without spaces, colons and dollar signs");
		}
		return;
	}
	found(f, NO, "libtrace.so is neither beside this program nor in ../lib/sightline");
	FIX(f, "make install PREFIX=... (or build it: make)");
}

static void check_memfd(struct finding *f)
{
	const size_t bytes = 1 << 20;
	int fd = memfd_create("sightline-status", MFD_CLOEXEC);
	void *map = MAP_FAILED;

	if (fd >= 0 && ftruncate(fd, (off_t)bytes) == 0)
		map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED) {
		found(f, NO, "memfd_create or mmap: %s", strerror(errno));
	} else {
		memset(map, 1, bytes);
		munmap(map, bytes);
		found(f, OK, "memfd_create and shared mappings work");
	}
	if (fd >= 0)
		close(fd);
}

static void check_session(struct finding *f)
{
	const struct sl_session settings = {.magic = SL_SESSION_MAGIC, .bytes = sizeof(settings)};
	struct session s = {0};
	char why[256] = "", dir[SESSION_DIR_MAX], cwd[PATH_MAX], report[PATH_MAX + 8];

	snprintf(report, sizeof(report), "%s/status", getcwd(cwd, sizeof(cwd)) ? cwd : "/tmp");
	if (session_create(&s, &settings, report, why, sizeof(why)) < 0) {
		found(f, NO, "%s", why);
		FIX(f, "export TMPDIR=/a/folder/that/is/writable");
		return;
	}
	snprintf(dir, sizeof(dir), "%s", s.dir);
	session_remove(&s);
	found(f, OK, "folder and socket can be made (%s)", dir);
}

static void check_clock(struct finding *f)
{
	const char *asked = getenv("SIGHTLINE_CLOCK");
	char source[64];

	read_line("/sys/devices/system/clocksource/clocksource0/current_clocksource", source,
		  sizeof(source));
	if (!source[0])
		snprintf(source, sizeof(source), "unknown");
	if (clock_mode_detect() == SL_CLOCK_TSC) {
		found(f, OK, "the processor's counter is read directly (kernel clock source: %s)",
		      source);
		return;
	}
	if (asked && strcmp(asked, "monotonic") == 0) {
		found(f, OK, "CLOCK_MONOTONIC is read, as SIGHTLINE_CLOCK asks");
		return;
	}
	found(f, LIMITED, "CLOCK_MONOTONIC is read: more time per call (kernel clock source: %s)",
	      source);
	FIX(f,
	    "echo tsc | sudo tee /sys/devices/system/clocksource/clocksource0/current_clocksource");
}

/* ---- requirements of context switches ---- */

#define CAP_SYS_ADMIN_BIT 21
#define CAP_PERFMON_BIT   38
#define CAP_BPF_BIT       39

static void check_privileges(struct finding *f)
{
	uint64_t caps = own_status("CapEff", 16);
	bool admin = caps >> CAP_SYS_ADMIN_BIT & 1;
	bool both = (caps >> CAP_BPF_BIT & 1) && (caps >> CAP_PERFMON_BIT & 1);
	const char *who = geteuid() == 0 ? "root" : "an ordinary user";

	if (admin || both) {
		found(f, OK, "%s with %s", who, both ? "CAP_BPF and CAP_PERFMON" : "CAP_SYS_ADMIN");
		return;
	}
	found(f, LIMITED, "%s without CAP_BPF and CAP_PERFMON: no eBPF", who);
	privilege_fix("cap_bpf,cap_perfmon", f->fix, sizeof(f->fix));
}

static void check_btf(struct finding *f)
{
	if (access("/sys/kernel/btf/vmlinux", R_OK) == 0) {
		found(f, OK, "/sys/kernel/btf/vmlinux");
		return;
	}
	found(f, LIMITED,
	      "/sys/kernel/btf/vmlinux: %s; eBPF programs cannot fit themselves to this kernel",
	      strerror(errno));
	FIX(f, "boot a kernel built with CONFIG_DEBUG_INFO_BTF=y");
}

static enum state check_backend(struct finding *f, enum sched_backend backend, const char *works)
{
	char why[256] = "";

	if (sched_probe(backend, why, sizeof(why), f->fix, sizeof(f->fix)) < 0)
		return found(f, NO, "%s", why);
	f->fix[0] = '\0';
	return found(f, OK, "%s%s%s", works, why[0] ? "; " : "", why);
}

static void check_bpf(struct finding *f)
{
	if (check_backend(f, SCHED_BACKEND_BPF,
			  "context switches with wakers, process-tree and system-wide") == NO)
		f->state = LIMITED; /* perf may do instead: see its own line */
}

static void check_perf(struct finding *f)
{
	char level[32], works[120];

	read_line("/proc/sys/kernel/perf_event_paranoid", level, sizeof(level));
	snprintf(works, sizeof(works),
		 "the fallback for context switches works (perf_event_paranoid %s)",
		 level[0] ? level : "unknown");
	check_backend(f, SCHED_BACKEND_PERF, works);
}

/* As a run without options takes them, of this process. */
static void check_samples(struct finding *f)
{
	struct sched_ask lives = {.want = SCHED_BACKEND_BPF, .lives = true};
	char why[512] = "", no_python[512] = "", level[32];
	struct sched_maps maps;
	struct sched *sched = sched_open_for(&lives, why, sizeof(why));
	struct sample_ask ask = {.scope = SCHED_MODE_TREE,
				 .frequency = SAMPLE_HZ_UNASKED,
				 .per_stack = 1,
				 .stack_bytes = SAMPLE_STACK_BYTES,
				 .python = true,
				 .off_cpu_ns = -1,
				 .kernel = sched_maps(sched, &maps) ? &maps : NULL};
	struct sample *sample = sample_open(&ask, why, no_python, sizeof(why));
	int err = sample ? sample_follow(sample, getpid(), false) : 0;

	read_line("/proc/sys/kernel/perf_event_paranoid", level, sizeof(level));
	if (!sample) {
		found(f, NO, "%s", why);
		privilege_fix("cap_bpf,cap_perfmon", f->fix, sizeof(f->fix));
	} else if (err) {
		found(f, NO, "events of threads: %s", strerror(-err));
	} else if (why[0] || no_python[0]) {
		found(f, LIMITED, "%s%s%s", why, why[0] && no_python[0] ? "; " : "", no_python);
		privilege_fix("cap_bpf,cap_perfmon", f->fix, sizeof(f->fix));
	} else {
		found(f, OK,
		      "%d per second of CPU time, with stacks, Python's lines and page faults "
		      "(eBPF; perf_event_paranoid %s)",
		      SAMPLE_HZ_UNASKED, level[0] ? level : "unknown");
	}
	sample_close(sample);
	sched_close(sched);
}

static void check_kptr(struct finding *f)
{
	char level[32];

	read_line("/proc/sys/kernel/kptr_restrict", level, sizeof(level));
	found(f, OK, "kptr_restrict %s (kernel addresses are not recorded)",
	      level[0] ? level : "unknown");
}

/* ---- surroundings ---- */

static void check_container(struct finding *f)
{
	/* Inode of the initial PID namespace: PROC_PID_INIT_INO of the kernel. */
	const ino_t initial = 0xEFFFFFFCU;
	const char *container = access("/.dockerenv", F_OK) == 0          ? " (Docker)"
				: access("/run/.containerenv", F_OK) == 0 ? " (Podman)"
									  : "";
	struct stat st;

	if (stat("/proc/self/ns/pid", &st) < 0)
		found(f, LIMITED, "/proc/self/ns/pid: %s", strerror(errno));
	else if (st.st_ino == initial)
		found(f, OK, "the machine's own process ids%s", container);
	else
		found(f, OK, "a PID namespace%s: the report holds the ids seen in here", container);
}

static void check_seccomp(struct finding *f)
{
	if (own_status("Seccomp", 10) == 0)
		found(f, OK, "no filter of system calls");
	else
		found(f, OK, "a filter of system calls is on; the lines above were tried under it");
}

static void check_files(struct finding *f)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		found(f, LIMITED, "%s", strerror(errno));
	else if (limit.rlim_max >= 4096)
		found(f, OK, "%" PRIu64 " (up to %" PRIu64 ")", (uint64_t)limit.rlim_cur,
		      (uint64_t)limit.rlim_max);
	else
		found(f, LIMITED, "%" PRIu64 ": each traced process takes one while it lives",
		      (uint64_t)limit.rlim_max);
}

static void check_disk(struct finding *f)
{
	struct statvfs fs;
	uint64_t mib;

	if (access(".", W_OK | X_OK) < 0) {
		found(f, LIMITED, "this folder is not writable: %s; name another with -o",
		      strerror(errno));
		return;
	}
	if (statvfs(".", &fs) < 0) {
		found(f, LIMITED, "free space is unknown: %s", strerror(errno));
		return;
	}
	mib = (uint64_t)fs.f_bavail * fs.f_frsize >> 20;
	found(f, mib < 1024 ? LIMITED : OK, "%" PRIu64 " MiB free for reports in this folder", mib);
}

/* A libcupti that a program without one of its own would get: as libtrace-cuda.so looks for it. */
static const char *find_cupti(char *path, size_t len)
{
	static const char *const below[] = {"lib64", "extras/CUPTI/lib64", "targets/*/lib"};
	const char *given = getenv("SIGHTLINE_CUPTI"), *home = getenv("CUDA_HOME");
	const char *roots[] = {home ? home : "/usr/local/cuda", "/usr/local/cuda*"};
	char pattern[PATH_MAX];
	glob_t found;

	path[0] = '\0';
	if (given && access(given, R_OK) == 0)
		snprintf(path, len, "%s", given);
	for (size_t r = 0; r < sizeof(roots) / sizeof(*roots); r++)
		for (size_t i = 0; !path[0] && i < sizeof(below) / sizeof(*below); i++) {
			snprintf(pattern, sizeof(pattern), "%s/%s/libcupti.so*", roots[r],
				 below[i]);
			if (glob(pattern, 0, NULL, &found))
				continue;
			snprintf(path, len, "%s", found.gl_pathv[found.gl_pathc - 1]);
			globfree(&found);
		}
	return path;
}

/* Calls and NVTX need nothing; the GPU's work needs the driver, CUPTI and libtrace-cuda.so. */
static void check_cuda(struct finding *f)
{
	char driver[160], cupti[200], ours[PATH_MAX];
	const char *kernel, *slash;
	char *shim;

	read_line("/proc/driver/nvidia/version", driver, sizeof(driver));
	if (!driver[0]) {
		found(f, NO,
		      "no NVIDIA driver is loaded; calls into CUDA and NVTX ranges would be "
		      "recorded");
		return;
	}
	kernel = strstr(driver, "Kernel Module");
	find_cupti(cupti, sizeof(cupti));
	shim = launch_preload();
	slash = shim ? strrchr(shim, '/') : NULL;
	snprintf(ours, sizeof(ours), "%.*s/libtrace-cuda.so", slash ? (int)(slash - shim) : 0,
		 shim ? shim : "");
	free(shim);
	if (access(ours, R_OK) < 0) {
		found(f, LIMITED, "calls only: libtrace-cuda.so is not beside libtrace.so");
	} else if (!cupti[0]) {
		found(f, LIMITED,
		      "calls, and what the GPU does where the program brings a libcupti (PyTorch "
		      "does)");
		FIX(f, "SIGHTLINE_CUPTI=/path/to/libcupti.so, or install the CUDA toolkit");
	} else {
		found(f, OK, "calls and what the GPU does: %s; %s", cupti,
		      kernel ? kernel : driver);
	}
}

/* Whether the driver keeps PM sampling for the administrator. */
static bool is_restricted(void)
{
	char line[160];
	FILE *f = fopen("/proc/driver/nvidia/params", "re");
	bool is = false;

	while (f && fgets(line, sizeof(line), f))
		is |= !strncmp(line, "RmProfilingAdminOnly: 1", 23);
	if (f)
		fclose(f);
	return is && geteuid() != 0 && !privilege_has(CAP_PERFMON_BIT) &&
	       !privilege_has(CAP_SYS_ADMIN_BIT);
}

static void check_metrics(struct finding *f)
{
	char *helper = beside_find("sl-gpu", "SIGHTLINE_SL_GPU");
	bool is_there = helper != NULL;

	free(helper);
	if (!is_there) {
		found(f, NO, "sl-gpu is neither beside this program nor in ../lib/sightline");
		FIX(f, "make install PREFIX=... (or build it: make)");
	} else if (access("/proc/driver/nvidia/version", F_OK) < 0 &&
		   access("/dev/dxg", F_OK) < 0) {
		found(f, NO, "no NVIDIA driver is loaded");
	} else if (is_restricted()) {
		found(f, LIMITED,
		      "health, and hardware metrics by GPM (Hopper and later): the driver keeps PM "
		      "sampling for root");
		FIX(f, "setcap cap_perfmon+ep .../lib/sightline/sl-gpu, or "
		       "NVreg_RestrictProfilingToAdminUsers=0");
	} else {
		found(f, OK,
		      "health and hardware metrics: sightline profile --gpu-metrics-devices=help "
		      "lists the GPUs");
	}
}

static struct check {
	const char *key, *title;
	bool needed;
	void (*run)(struct finding *f);
} const checks[] = {
	{"kernel", "Kernel", false, check_kernel},
	{"shim", "Library calls", true, check_shim},
	{"shared_memory", "Shared memory", true, check_memfd},
	{"session", "Session folder", true, check_session},
	{"clock", "Clock", false, check_clock},
	{"privileges", "Privileges", false, check_privileges},
	{"btf", "Kernel types (BTF)", false, check_btf},
	{"ebpf", "eBPF", false, check_bpf},
	{"perf", "perf_event_open", false, check_perf},
	{"samples", "CPU samples", false, check_samples},
	{"kptr", "Kernel pointers", false, check_kptr},
	{"pid_namespace", "Process ids", false, check_container},
	{"seccomp", "Seccomp", false, check_seccomp},
	{"open_files", "Open files", false, check_files},
	{"disk", "Disk", false, check_disk},
	{"cuda", "CUDA", false, check_cuda},
	{"gpu_metrics", "GPU metrics", false, check_metrics},
};

#define CHECK_CNT (sizeof(checks) / sizeof(checks[0]))

/* ---- output ---- */

static void print_text(const struct finding *findings)
{
	static const char *const colours[] = {"\033[32m", "\033[33m", "\033[31m"};
	bool colour = sl_colour(STDOUT_FILENO);

	printf("sightline %s\n\n", SL_VERSION);
	for (size_t i = 0; i < CHECK_CNT; i++) {
		const struct finding *f = &findings[i];

		printf("%-20s %s%-8s%s %s\n", f->title, colour ? colours[f->state] : "",
		       state_names[f->state], colour ? "\033[0m" : "", f->detail);
		if (f->fix[0])
			printf("%-29s try: %s\n", "", f->fix);
	}
}

static void print_json(const struct finding *findings)
{
	struct writer w = {.file = stdout, .is_spaced = true};

	json_open(&w, NULL, '{');
	json_text(&w, "version", SL_VERSION);
	json_open(&w, "checks", '[');
	for (size_t i = 0; i < CHECK_CNT; i++) {
		const struct finding *f = &findings[i];

		json_line(&w, 2);
		json_open(&w, NULL, '{');
		json_text(&w, "name", f->key);
		json_text(&w, "state", state_names[f->state]);
		json_text(&w, "detail", f->detail);
		json_text(&w, "fix", f->fix[0] ? f->fix : NULL);
		json_close(&w, '}');
	}
	json_line(&w, 0);
	json_close(&w, ']');
	json_close(&w, '}');
	putchar('\n');
}

/* ---- sessions ---- */

static int tell_session(const char *name, bool json)
{
	struct session_info s = {0};
	int status = session_choose(name, "status", &s.at);

	if (status)
		return status;
	session_info_ask(&s);
	if (json)
		session_list_json(&s, 1);
	else
		session_info_text(&s);
	return 0;
}

static void tell_sessions(void)
{
	struct session_info *list = NULL;
	size_t cnt = session_list(&list, false);

	for (size_t i = 0; i < cnt; i++) {
		session_info_text(&list[i]);
		putchar('\n');
	}
	if (!cnt)
		printf("No sessions\n\n");
	free(list);
}

int cmd_status(int argc, char **argv)
{
	static struct finding findings[CHECK_CNT];
	static const char *format = "text", *session;
	static bool environment, all;
	static const struct opt opts[] = {
		{.kind = OPT_ABOUT,
		 .values = "sightline status [options]",
		 .help = "States: ok, limited (a run goes on with less), no.\n"
			 "The exit status is 1 when library calls cannot be recorded here.\n"
			 "Example:\n"
			 "  sightline status --session=train"},
		{.kind = OPT_GROUP, .help = "Options:"},
		{'e', "environment", OPT_FLAG, NULL, NULL,
		 "what works on this machine (the default)", &environment, NULL},
		{0, "format", OPT_ENUM, "text,json", "FORMAT", "text or json (default: text)",
		 &format, NULL},
		{'n', "network", OPT_LATER, "", NULL, "", NULL, NULL},
		{0, "session", OPT_STRING, NULL, "NAME", "show this session instead", &session,
		 NULL},
		{0, "all", OPT_FLAG, NULL, NULL, "show all sessions, too", &all, NULL},
		{0},
	};
	int first = opt_parse(opts, argc, argv, "status");
	int status = 0;

	if (first < 0)
		return first == OPT_HELP_SHOWN ? 0 : -first;
	if (first < argc) {
		sl_warn("status: '%s' is too much (see 'sightline status --help')", argv[first]);
		return SL_EXIT_USAGE;
	}
	if (session)
		return tell_session(session, strcmp(format, "json") == 0);
	if (all && strcmp(format, "text") == 0)
		tell_sessions();
	for (size_t i = 0; i < CHECK_CNT; i++) {
		struct finding *f = &findings[i];

		f->key = checks[i].key;
		f->title = checks[i].title;
		f->needed = checks[i].needed;
		checks[i].run(f);
		if (f->needed && f->state == NO)
			status = SL_EXIT_FAIL;
	}
	if (strcmp(format, "json") == 0)
		print_json(findings);
	else
		print_text(findings);
	return status;
}
