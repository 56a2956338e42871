/*
 * session_join.c - joins the session: once per process image (in the constructor, or at the first traced call
 * if that comes earlier), and once per forked child. The library's constructor and destructor.
 *
 * Rule: on any error the program runs untraced. At most one line on stderr, and only where the user started
 * the tracing (bare preload); children of an ended session are silent.
 */
#include "preload/core/arena_map.h"
#include "preload/core/clockless.h"
#include "preload/core/session_folder.h"
#include "preload/core/session_join.h"
#include "preload/core/session_socket.h"
#include "preload/core/environment.h"
#include "preload/core/hook.h"
#include "preload/core/leaving.h"
#include "preload/core/part.h"
#include "preload/core/rank_variables.h"
#include "preload/core/seccomp.h"
#include "preload/core/stack.h"

#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "preload/base/libc.h"
#include "preload/base/object.h"
#include "preload/base/valgrind.h"
#include "preload/wire/late.h"
#include "preload/wire/sys.h"
#include "preload/unwind/pystack.h"
#include "preload/unwind/unwind.h"

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#define MADV_KEEPONFORK 19
#endif
#ifndef MFD_CLOEXEC
#define MFD_CLOEXEC       1
#define MFD_ALLOW_SEALING 2
#endif

enum {
	START_NOT_YET,
	START_RUNNING,
	START_DONE,
	START_FAILED
};
#define LEAVE_MS 1000
static uint32_t start_state;
static SL_APART char path_buffer[4096];
static struct {
	int argc; /* 0: not known */
	char **argv;
} program;
static bool has_maps; /* of the arena of a session that was entered late */
static bool is_late;  /* the library was not preloaded: no session, until sl_process_enter() */
static const char no_session[] = SL_SESSION_ENV "=none";

/* One line on stderr: "sightline: WHAT: WHY". */
static void sl_print_message(const char *what, const char *why)
{
	const char *parts[] = {"sightline: ", what, why ? ": " : "", why ? why : "", "\n"};
	struct iovec v[sizeof(parts) / sizeof(parts[0])];

	for (unsigned i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		v[i] = (struct iovec){(void *)(uintptr_t)parts[i], strlen(parts[i])};
	sl_sys3(SYS_writev, 2, v, sizeof(v) / sizeof(v[0]));
}

/* Variables: not checked by Valgrind, and those that are not in the file not in a core dump. */
static void keep_variables_apart(const ElfW(Phdr) * p, uintptr_t bias)
{
	uintptr_t begin = bias + p->p_vaddr, end = begin + p->p_memsz;
	uintptr_t zeros = (begin + p->p_filesz + SL_PAGE_MAX - 1) & ~(uintptr_t)(SL_PAGE_MAX - 1);

	sl_valgrind_ignore((const void *)begin, p->p_memsz);
	if (zeros < end)
		sl_sys3(SYS_madvise, zeros, end - zeros, MADV_DONTDUMP);
}

static int find_self(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size;
	if (!sl_object_contains(info, &start_state))
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_LOAD && info->dlpi_phdr[i].p_flags & PF_W)
			keep_variables_apart(&info->dlpi_phdr[i], info->dlpi_addr);
	*(const char **)arg = info->dlpi_name;
	return 1;
}

/* The absolute path of this library; relative paths are completed while the working directory is unchanged. */
static const char *own_path(void)
{
	const char *name = NULL;
	long n;

	dl_iterate_phdr(find_self, (void *)&name);
	if (!name || name[0] == '/')
		return name;
	n = sl_sys2(SYS_getcwd, path_buffer, sizeof(path_buffer));
	if (n <= 0 || (size_t)n + strlen(name) + 1 > sizeof(path_buffer))
		return NULL;
	path_buffer[n - 1] = '/';
	memcpy(path_buffer + n, name, strlen(name) + 1);
	return path_buffer;
}

static const struct sl_session *map_session(void)
{
	long fd = sl_session_open("control", sizeof(struct sl_session)), m;
	const struct sl_session *s = &sl_control.session;

	if (fd < 0)
		return NULL;
	/* At the address from which wrappers read the gate, which they believe when the process is set up. */
	m = sl_sys6(SYS_mmap, (long)&sl_control, sizeof(sl_control), PROT_READ,
		    MAP_SHARED | MAP_FIXED, fd, 0);
	sl_sys1(SYS_close, fd);
	return m == (long)s && s->magic == SL_SESSION_MAGIC && s->wire_version == SL_WIRE_VERSION &&
			       s->bytes == sizeof(*s) && s->state == SL_SESSION_ON
		       ? s
		       : NULL;
}

static uint64_t limit_of(int resource)
{
	struct {
		uint64_t cur, max;
	} limit = {0};

	if (sl_sys4(SYS_prlimit64, 0, resource, NULL, &limit) < 0)
		return UINT64_MAX;
	return limit.cur;
}

/*
 * Number of chunks within RLIMIT_FSIZE, as exceeding it is a SIGXFSZ, and within a small part of RLIMIT_AS: the program
 * needs most of it, and the collector, which often has the same limit, maps the arenas of all processes. 0: too few.
 */
static uint32_t chunk_count(void)
{
	uint64_t bytes = limit_of(1 /* RLIMIT_FSIZE */), space = limit_of(9 /* RLIMIT_AS */), cnt;

	if (bytes > space / 16)
		bytes = space / 16;
	/* Memcheck warns of larger mappings. */
	if (sl_valgrind_runs() && bytes > SL_ARENA_BYTES / 2)
		bytes = SL_ARENA_BYTES / 2;
	if (bytes >= SL_ARENA_BYTES)
		return SL_CHUNK_CNT;
	cnt = bytes < SL_ARENA_HEADER_BYTES ? 0 : (bytes - SL_ARENA_HEADER_BYTES) / SL_CHUNK_BYTES;
	return cnt < 16 ? 0 : (uint32_t)cnt;
}

static struct sl_arena *make_arena(long *memfd)
{
	uint32_t chunk_cnt = chunk_count();
	struct sl_arena *a = NULL;

	*memfd = chunk_cnt ? sl_sys2(SYS_memfd_create, "sightline-ring",
				     MFD_CLOEXEC | MFD_ALLOW_SEALING)
			   : -EFBIG;
	if (*memfd < 0)
		return NULL;
	/* Sealed: a truncation would make the collector fault. */
	if (sl_sys2(SYS_ftruncate, *memfd, sl_arena_bytes(chunk_cnt)) == 0 &&
	    sl_sys3(SYS_fcntl, *memfd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
		a = sl_arena_map((int)*memfd, chunk_cnt);
	if (!a) {
		sl_sys1(SYS_close, *memfd);
		return NULL;
	}
	a->wire_version = SL_WIRE_VERSION;
	a->hook_cnt = SL_HOOK_CNT;
	a->hook_hash = sl_hook_hash();
	a->chunk_bytes = SL_CHUNK_BYTES;
	a->slot_cnt = SL_SLOT_CNT;
	a->header_bytes = SL_ARENA_HEADER_BYTES;
	a->creator_pid = (uint32_t)sl_getpid();
	a->clock_mode = sl_global.session->clock_mode;
	return a;
}

/*
 * Does the collector see the same pids? It listens, so the kernel names it here: by another number than it knows itself
 * by, or by none, if not. (Or another collector has taken over: then children send a hello for nothing.)
 */
static bool is_elsewhere(long sock)
{
	struct ucred listener = {0};
	socklen_t len = sizeof(listener);

	return sl_sys5(SYS_getsockopt, sock, SOL_SOCKET, SO_PEERCRED, &listener, &len) < 0 ||
	       (uint32_t)listener.pid != sl_global.session->collector_pid;
}

/* Creates this process's arena and sends it. */
static bool join(void)
{
	struct sl_arena *a;
	uint64_t begun;
	long memfd, sock, sent;

	/* Not sl_ticks(): it reads sl_proc, which is not filled yet. */
	begun = sl_global.session->clock_mode == SL_CLOCK_TSC ? sl_counter() : sl_mono_ns();
	a = make_arena(&memfd);
	if (!a)
		return false;
	a->born = begun;
	/* map_session() has come by the folder. */
	sock = sl_session_connect(0, true);
	if (sock >= 0 && is_elsewhere(sock))
		sl_global.private_pid_ns = 1;
	sent = sock < 0 ? sock : sl_send_hello(sock, SL_HELLO_ARENA, 0, (int)memfd);
	if (sock >= 0)
		sl_sys1(SYS_close, sock);
	sl_sys1(SYS_close, memfd);
	if (sent < 0) {
		sl_arena_unmap(a);
		return false;
	}
	sl_global.arena = a;
	return true;
}

static void fill_proc(uint32_t pid, uint32_t parent_number)
{
	struct sl_proc *p = &sl_proc;

	p->clock_mode = sl_global.session->clock_mode;
	p->pid = pid;
	sl_global.parent_pid = sl_global.pid;
	sl_global.pid = pid;
	p->parent_number = parent_number;
	p->number = __atomic_add_fetch(&sl_global.arena->process_cnt, 1, __ATOMIC_RELAXED);
	p->announced = 0;
	sl_global.number = p->number;
	/* A number that differs from the cookies of threads, copied from the parent. */
	sl_global.last_cookie = sl_global.last_cookie < SL_COOKIE_FIRST ? SL_COOKIE_FIRST
									: sl_global.last_cookie + 1;
	/* Release: a reader of either one reads the other fields. */
	__atomic_store_n(&p->cookie, sl_global.last_cookie, __ATOMIC_RELEASE);
	__atomic_store_n(&p->gate_at,
			 (int64_t)((intptr_t)&sl_global.session->gate - (intptr_t)&sl_no_gate),
			 __ATOMIC_RELEASE);
}

/* DIR:DEVICE:INODE. */
static const char *session_variable(const char **why)
{
	int i = sl_env_find(SL_SESSION_ENV);
	const char *of_parent;

	*why = NULL;
	if (i >= 0)
		return strchr(sl_environ()[i], '=') + 1;
	of_parent = sl_session_of_parent();
	if (of_parent)
		return of_parent;
	sl_global.root = 1;
	return sl_start_collector(sl_global.path, why);
}

/* Of glibc, whose versions are 2.x; 0: another library. */
static unsigned glibc_minor(void)
{
	const char *v = sl_glibc_version();
	unsigned minor = 0;

	if (!v || v[0] != '2' || v[1] != '.')
		return 0;
	for (v += 2; *v >= '0' && *v <= '9'; v++)
		minor = minor * 10 + (unsigned)(*v - '0');
	return minor;
}

/*
 * Offset of the number of waiters in glibc's condition variables, which wrap_lock.c tests as glibc's own signal and
 * broadcast do. The layout is that of 2.25 to 2.41; with another version every signal is timed.
 */
static uint32_t find_cond_wrefs(unsigned minor)
{
	return minor >= 25 && minor <= 41 ? 36 : 0;
}

/* Children get the link in the session's folder where LD_PRELOAD cannot have this library's path. */
static void use_link(void)
{
	static const char name[] = "/libtrace.so";
	static char link[sizeof(sl_global.session_env) + sizeof(name)];
	const char *variable = strchr(sl_global.session_env, '=') + 1;
	uint64_t device, inode;
	size_t len = sl_session_parse(variable, &device, &inode);
	char c;

	if (!sl_global.path || !sl_global.path[strcspn(sl_global.path, SL_PRELOAD_REFUSED)])
		return;
	memcpy(link, variable, len);
	memcpy(link + len, name, sizeof(name));
	if (!link[strcspn(link, SL_PRELOAD_REFUSED)] &&
	    sl_sys4(SYS_readlinkat, AT_FDCWD, link, &c, 1) > 0)
		sl_global.path = link;
}

/* What does not depend on the session; once. */
static void start_base(void)
{
	unsigned minor;

	sl_libc_start();
	minor = glibc_minor();
	sl_global.path = own_path();
	sl_global.is_foreign = !sl_glibc_version();
	sl_global.is_opaque = sl_global.is_foreign || sl_valgrind_runs();
	sl_global.cond_wrefs_at = sl_global.is_opaque ? 0 : find_cond_wrefs(minor);
	/* Before 2.34, libpthread and others that define hooked functions come after libc: all are looked up now, without a lock. */
	if (is_late)
		sl_resolve_start_late();
	else
		sl_resolve_start(minor >= 34 ? sl_libc_map() : NULL);
	sl_seccomp_start();
	sl_unwind_start();
}

/* False: the variable does not fit. */
static bool set_session(const char *variable)
{
	size_t len = strlen(variable);

	if (len + sizeof(SL_SESSION_ENV) + 1 > sizeof(sl_global.session_env))
		return false;
	memcpy(sl_global.session_env, SL_SESSION_ENV "=", sizeof(SL_SESSION_ENV));
	memcpy(sl_global.session_env + sizeof(SL_SESSION_ENV), variable, len + 1);
	return true;
}

/* The process has joined. */
static void begin_process(uint32_t period)
{
	use_link();
	/* The kernel clears the page in children. Without that (Linux < 4.14) the fork wrapper does it. */
	sl_sys3(SYS_madvise, &sl_proc, sizeof(sl_proc), MADV_WIPEONFORK);
	sl_global.period = period;
	fill_proc((uint32_t)sl_getpid(), 0);
}

static bool start(void)
{
	const char *why, *variable;

	start_base();
	variable = session_variable(&why);
	if (!variable || !set_session(variable)) {
		if (why)
			sl_print_message("not tracing", why);
		return false;
	}
	sl_global.session = map_session();
	if (!sl_global.session || !join()) {
		if (sl_global.root)
			sl_print_message("not tracing",
					 "the collector cannot be reached, or there is no memory");
		return false;
	}
	/* The table of descriptors is empty: valid. */
	begin_process(sl_global.session->gate);
	return true;
}

bool sl_process_start(void)
{
	uint32_t expected = START_NOT_YET;

	/* Before that, in IFUNC resolvers, nothing can be started. */
	if (!sl_environ())
		return false;
	if (!__atomic_compare_exchange_n(&start_state, &expected, START_RUNNING, 0,
					 __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		return expected == START_DONE;
	if (getauxval(AT_SECURE) || sl_counter_faults() || !start()) {
		/* One message only: children find an invalid session and are silent. */
		if (sl_global.root)
			sl_env_publish_session(no_session);
		__atomic_store_n(&start_state, START_FAILED, __ATOMIC_RELEASE);
		return false;
	}
	__atomic_store_n(&start_state, START_DONE, __ATOMIC_RELEASE);
	return true;
}

/* ---- a library that came late ---- */

/* Gates grow from session to session, so that no thread takes one for another that it has followed (session.h). */
static bool is_later(uint32_t gate, uint32_t before)
{
	uint32_t step = (gate - before) & SL_GATE_MASK;

	return !before || (step && step <= SL_GATE_MASK / 2);
}

/* False: a thread in a slow path is stopped, or has left it by longjmp(); the maps of the arena stay as they are. */
static bool forget_session(void)
{
	if (has_maps && sl_slow_close(LEAVE_MS)) {
		sl_arena_forget();
		sl_stack_forget();
		has_maps = false;
	}
	return !has_maps;
}

int sl_process_enter(const char *variable)
{
	static uint32_t has_started;
	static uint32_t last_gate;
	uint32_t expected = START_FAILED;

	if (!is_late)
		return SL_LATE_IN_SESSION;
	if (!__atomic_compare_exchange_n(&start_state, &expected, START_RUNNING, 0,
					 __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		return SL_LATE_IN_SESSION;
	if (!has_started && sl_counter_faults()) {
		__atomic_store_n(&start_state, START_FAILED, __ATOMIC_RELEASE);
		return SL_LATE_NO_CLOCK;
	}
	if (!has_started)
		start_base();
	has_started = 1;
	if (!forget_session()) {
		__atomic_store_n(&start_state, START_FAILED, __ATOMIC_RELEASE);
		return SL_LATE_NO_ARENA;
	}
	sl_slow_open();
	sl_global.private_pid_ns = 0;
	sl_global.session = set_session(variable) ? map_session() : NULL;
	if (!sl_global.session || !is_later(sl_global.session->gate, last_gate) || !join()) {
		__atomic_store_n(&start_state, START_FAILED, __ATOMIC_RELEASE);
		return sl_global.session ? SL_LATE_NO_ARENA : SL_LATE_NO_SESSION;
	}
	last_gate = sl_global.session->gate;
	has_maps = true;
	/* What is known of descriptors is an earlier session's. */
	begin_process((uint32_t)SL_GATE_NONE);
	sl_stack_rescan(false);
	__atomic_store_n(&start_state, START_DONE, __ATOMIC_RELEASE);
	return SL_LATE_NO_ERROR;
}

void sl_process_leave(void)
{
	__atomic_store_n(&start_state, START_FAILED, __ATOMIC_RELEASE);
	__atomic_store_n(&sl_proc.cookie, SL_COOKIE_OFF, __ATOMIC_RELEASE);
	__atomic_store_n(&sl_proc.gate_at, 0, __ATOMIC_RELEASE);
	sl_sys3(SYS_madvise, &sl_proc, sizeof(sl_proc), MADV_KEEPONFORK);
	/* An empty page, as before the session. */
	sl_sys6(SYS_mmap, (long)&sl_control, sizeof(sl_control), PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	forget_session();
}

/* By its credentials the collector knows which process it is. Without a way to the socket it looks into /proc. */
static void send_forked(void)
{
	long sock = sl_session_connect(0, false);

	if (sock < 0)
		return;
	sl_send_hello(sock, SL_HELLO_FORKED, sl_proc.number, -1);
	sl_sys1(SYS_close, sock);
}

bool sl_process_child(void)
{
	uint32_t parent = sl_global.number, pid;

	if (__atomic_load_n(&sl_global.session->state, __ATOMIC_RELAXED) != SL_SESSION_ON)
		return false;
	sl_global.root = 0;
	pid = sl_forked_pid();
	if (!pid) {
		sl_proc.cookie = SL_COOKIE_OFF;
		return false;
	}
	/* However it was created: the parent of a namespace's first process is not in it. */
	if (!sl_global.seccomp && sl_sys0(SYS_getppid) == 0)
		sl_global.private_pid_ns = 1;
	sl_slow_forked();
	fill_proc(pid, parent);
	if (sl_global.private_pid_ns && !sl_global.seccomp)
		send_forked();
	SL_PARTS_CALL(forked);
	sl_pystack_forked();
	return true;
}

/* The arguments as the kernel put them, one after the other: what /proc shows, too. 0: they are not, or not known. */
static size_t put_arguments(char *to, size_t room)
{
	size_t bytes = 0;

	for (int i = 0; i < program.argc && bytes < room; i++) {
		if (program.argv[i] != program.argv[0] + bytes)
			return 0;
		bytes += strlen(program.argv[i]) + 1;
	}
	bytes = bytes < room ? bytes : room;
	if (bytes)
		memcpy(to, program.argv[0], bytes);
	return bytes;
}

/* executable '\0' arg0 '\0' arg1 ..., cut. */
static size_t make_image(const void *what, char *to, size_t room)
{
	long n, fd, got;

	(void)what;
	if (room < SL_MADE_BYTES)
		return SL_MADE_CUT;
	n = sl_sys4(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", to, 2048);
	n = n < 0 ? 0 : n;
	to[n++] = 0;
	got = (long)put_arguments(to + n, room - (size_t)n);
	if (got)
		return (size_t)(n + got);
	fd = sl_sys4(SYS_openat, AT_FDCWD, "/proc/self/cmdline", O_RDONLY | O_CLOEXEC, 0);
	if (fd >= 0) {
		got = sl_sys3(SYS_read, fd, to + n, room - (size_t)n);
		n += got > 0 ? got : 0;
		sl_sys1(SYS_close, fd);
	}
	return (size_t)n;
}

void sl_announce(void)
{
	uint64_t parent = sl_global.seccomp ? sl_global.parent_pid : (uint64_t)sl_sys0(SYS_getppid);
	uint64_t p[2] = {sl_proc.pid | parent << 32,
			 sl_proc.parent_number ? SL_IMAGE_FORK : SL_IMAGE_START};

	if (p[1] == SL_IMAGE_FORK) {
		sl_meta(SL_META_IMAGE, sl_ticks(), p, 2, "", 0);
		return;
	}
	sl_meta_made(SL_META_IMAGE, sl_ticks(), p, 2, make_image, NULL);
	sl_rank_announce();
}

/* ---- constructor and destructor ---- */

static void constructor(int argc, char **argv)
{
	/* Not where the loader was run as a program: its arguments come first. Other libraries than glibc hand over none. */
	if (sl_glibc_version() && getauxval(AT_BASE))
		program.argc = argc;
	program.argv = argv;
	is_late = sl_resolve_is_late(sl_libc_map());
	if (is_late) {
		start_state = START_FAILED;
		return;
	}
	/* Joins, unless a traced call of an earlier constructor did, and takes the first thread's slot. */
	if (sl_ready()) {
		uint64_t p[2] = {sl_ticks(), SL_OVERHEAD_START};

		if (sl_tls.gate & 1 && sl_proc.parent_number == 0)
			sl_meta(SL_META_OVERHEAD, sl_global.arena->born, p, 2, NULL, 0);
		if (sl_env_find(SL_SESSION_ENV) < 0) {
			sl_env_publish_session(sl_global.session_env);
			if (sl_global.path && path_buffer[0])
				sl_env_absolute_preload(path_buffer, sl_global.path);
		}
	} else if (start_state == START_FAILED && sl_global.root) {
		sl_env_publish_session(no_session);
	}
	sl_env_drop_runtime();
	if (sl_env_find(SL_CLEAN_ENV) >= 0)
		sl_env_clean();
	SL_PARTS_CALL(scan);
	SL_PARTS_CALL(start);
	sl_stack_rescan(false);
}

/*
 * The root process of a bare preload waits, bounded, until the collector has committed everything, so
 * that the report is complete when the process has exited.
 */
static void destructor(void)
{
	struct {
		long sec, usec;
	} limit = {10, 0};
	char byte;
	long sock;

	/* sl_proc is cleared in a forked child without a traced call. */
	if (is_late || !sl_global.arena || !sl_proc.pid ||
	    (!sl_global.seccomp && (uint32_t)sl_getpid() != sl_proc.pid))
		return;
	SL_PARTS_CALL(end);
	/* A signal handler called exit(). */
	sl_leave_open_calls();
	/* No message: the collector finds the end by the process's pidfd. */
	if (sl_global.seccomp)
		return;
	/* After an exec the process is still the root, although another image started the collector. */
	if (!sl_global.root &&
	    (!sl_global.session->root_waits || sl_global.session->root_pid != sl_proc.pid))
		return;
	sock = sl_session_connect(0, false);
	if (sock < 0)
		return;
	sl_sys5(SYS_setsockopt, sock, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	if (sl_send_hello(sock, SL_HELLO_LEAVING, 0, -1) > 0)
		sl_sys3(SYS_read, sock, &byte,
			1); /* the collector closes the connection when it is done */
	sl_sys1(SYS_close, sock);
}

/* Entries of the linker's tables: the library is linked without the compiler's start files. */
__attribute__((section(".init_array"), used)) static void (*const init)(int, char **) = constructor;
__attribute__((section(".fini_array"), used)) static void (*const fini)(void) = destructor;
