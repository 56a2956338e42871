/*
 * symbols_apart.c - starts the processes that read files of other users, asks them, and judges their answers.
 *
 * One process for each owner, as long as it answers soundly and in time. Whatever it does else, it is killed, the file that it
 * was asked about is lost and counted, and the next file has a new process.
 */
#include "collector/symbols/symbols_apart.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "collector/base/now.h"
#include "collector/symbols/symbols_answer.h"
#include "collector/symbols/symbols_owner.h"

#define CHILDREN  16u /* owners with a process at one time */
#define OWNERS    64u
#define LOOK_MS   50
#define TEXT_MOST (256u << 20) /* bytes of a session's answers */
#define REAP_MS   100

int symbols_apart_cpu_ms = 10000, symbols_apart_wait_ms = 30000, symbols_apart_vain_ms = 60000;

enum why {
	WHY_NONE,
	WHY_START,
	WHY_ENDED,
	WHY_SLOW,
	WHY_UNSOUND,
	WHY_ROOM,
	WHY_INTERRUPTED,
	WHY_CNT
};
static const char *const why_words[WHY_CNT] = {
	[WHY_START] = "the process that reads files of other users cannot be started",
	[WHY_ENDED] = "the process that read them ended",
	[WHY_SLOW] = "reading them took too long",
	[WHY_UNSOUND] = "the process that read them did not answer as agreed",
	[WHY_ROOM] = "their names are too large",
	[WHY_INTERRUPTED] = "interrupted",
};

struct child {
	uid_t owner;
	pid_t pid; /* 0: none */
	int sock;
	uint32_t files;
	uint64_t life;
};

struct symbols_apart {
	struct child child[CHILDREN];
	unsigned next; /* gives way to a new one */
	uint64_t lives, text_bytes;
	struct {
		uid_t owner;
		int64_t vain_ms; /* spent on files that are lost */
	} owner[OWNERS];
	unsigned owners;
	struct {
		uint64_t files;
		char *first; /* path */
		uid_t owner; /* of it */
	} lost[WHY_CNT];
	uint8_t answer[SYMBOLS_ANSWER_BYTES];
};

static const char *program;

void symbols_apart_by(const char *path)
{
	program = path;
	symbols_owner_refuse();
}

struct symbols_apart *symbols_apart_new(void)
{
	return calloc(1, sizeof(struct symbols_apart));
}

/* ---- processes ---- */

/* A process in a call that no signal ends, as of a file server that is away, is left for the parent of this one to reap. */
static void end(struct child *c)
{
	if (!c->pid)
		return;
	close(c->sock);
	kill(c->pid, SIGKILL);
	for (int i = 0; i < REAP_MS && waitpid(c->pid, NULL, WNOHANG) == 0; i++)
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	c->pid = 0;
}

void symbols_apart_free(struct symbols_apart *a)
{
	if (!a)
		return;
	for (unsigned i = 0; i < CHILDREN; i++)
		end(&a->child[i]);
	for (unsigned i = 0; i < WHY_CNT; i++)
		free(a->lost[i].first);
	free(a);
}

/* Only where downloads of debuginfod are: nothing of the environment is for another user. */
static void cache_variables(char **to, char *text, size_t room)
{
	static const char *const names[] = {"DEBUGINFOD_URLS", "DEBUGINFOD_CACHE_PATH",
					    "XDG_CACHE_HOME", "HOME"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const char *value = getenv(names[i]);
		int len = value ? snprintf(text, room, "%s=%s", names[i], value) : 0;

		if (len <= 0 || (size_t)len >= room)
			continue;
		*to++ = text;
		text += len + 1;
		room -= (size_t)len + 1;
	}
	*to = NULL;
}

static pid_t spawn(int sock, uid_t owner)
{
	char name[] = "sightline", command[] = "symbols", number[16], text[4096], *variables[8];
	char *argv[] = {name, command, number, NULL};
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	sigset_t none, all;
	pid_t pid = 0;

	snprintf(number, sizeof(number), "%u", (unsigned)owner);
	cache_variables(variables, text, sizeof(text));
	sigemptyset(&none);
	sigfillset(&all);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setsigdefault(&attr, &all);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
						POSIX_SPAWN_SETSID);
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_adddup2(&files, sock, STDIN_FILENO);
	posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_RDWR, 0);
	posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_RDWR, 0);
	if (posix_spawn(&pid, program, &files, &attr, argv, variables))
		pid = 0;
	posix_spawn_file_actions_destroy(&files);
	posix_spawnattr_destroy(&attr);
	return pid;
}

static bool start(struct child *c, uid_t owner)
{
	int pair[2];

	if (!program || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return false;
	*c = (struct child){.owner = owner, .sock = pair[0], .pid = spawn(pair[1], owner)};
	close(pair[1]);
	if (!c->pid)
		close(c->sock);
	return c->pid;
}

static struct child *child_of(struct symbols_apart *a, uid_t owner)
{
	for (unsigned i = 0; i < CHILDREN; i++)
		if (a->child[i].pid && a->child[i].owner == owner)
			return &a->child[i];
	return NULL;
}

static struct child *child_for(struct symbols_apart *a, uid_t owner)
{
	struct child *c = child_of(a, owner);

	if (c)
		return c;
	c = &a->child[a->next++ % CHILDREN];
	end(c);
	if (!start(c, owner))
		return NULL;
	c->life = ++a->lives;
	return c;
}

/* ---- losses ---- */

static int64_t *vain_of(struct symbols_apart *a, uid_t owner)
{
	for (unsigned i = 0; i < a->owners; i++)
		if (a->owner[i].owner == owner)
			return &a->owner[i].vain_ms;
	if (a->owners == OWNERS) /* one sum for all others */
		return &a->owner[OWNERS - 1].vain_ms;
	a->owner[a->owners].owner = owner;
	return &a->owner[a->owners++].vain_ms;
}

static enum symbols_apart_result lose(struct symbols_apart *a, struct child *c, uid_t owner,
				      const char *path, enum why why)
{
	if (c)
		end(c);
	if (!a->lost[why].files++) {
		a->lost[why].first = strdup(path);
		a->lost[why].owner = owner;
	}
	return SYMBOLS_APART_LOST;
}

bool symbols_apart_lost(const struct symbols_apart *a, unsigned i, struct symbols_lost *lost)
{
	for (unsigned why = WHY_NONE + 1; why < WHY_CNT; why++) {
		if (!a->lost[why].files || i--)
			continue;
		*lost = (struct symbols_lost){
			.why = why_words[why],
			.first = a->lost[why].first ? a->lost[why].first : "",
			.owner = a->lost[why].owner,
			.files = a->lost[why].files,
		};
		return true;
	}
	return false;
}

/* ---- questions ---- */

/* A path may have become a link to a file that its owner may not read: a file of another owner is not handed over. */
static bool is_of(int fd, uid_t owner)
{
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0 && st.st_uid == owner;
}

static bool tell(const struct child *c, const struct symbols_request *r, int fd)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = {.bytes = {0}};
	struct iovec part = {(void *)r, sizeof(*r)};
	struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1};

	if (fd >= 0) {
		struct cmsghdr *head;

		m.msg_control = control.bytes;
		m.msg_controllen = sizeof(control.bytes);
		head = CMSG_FIRSTHDR(&m);
		head->cmsg_level = SOL_SOCKET;
		head->cmsg_type = SCM_RIGHTS;
		head->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(head), &fd, sizeof(fd));
	}
	return sendmsg(c->sock, &m, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)sizeof(*r);
}

/* Processor time of the process, in ms. */
static int64_t cpu_ms(pid_t pid)
{
	clockid_t clock;

	return clock_getcpuclockid(pid, &clock) ? 0 : clock_ns(clock) / 1000000;
}

/* Waits for an answer; *len: its bytes. */
static enum why hear(struct symbols_apart *a, const struct child *c,
		     const struct symbols_server *server, size_t *len)
{
	int64_t begun = mono_ms(), cpu = cpu_ms(c->pid);
	struct pollfd p = {.fd = c->sock, .events = POLLIN};
	ssize_t n;

	while (poll(&p, 1, LOOK_MS) <= 0) {
		if (symbols_is_interrupted(server))
			return WHY_INTERRUPTED;
		if (cpu_ms(c->pid) - cpu > symbols_apart_cpu_ms ||
		    mono_ms() - begun > symbols_apart_wait_ms)
			return WHY_SLOW;
	}
	/* The whole length, though not all has room. Descriptors have no place to come to. */
	n = recv(c->sock, a->answer, sizeof(a->answer), MSG_DONTWAIT | MSG_TRUNC);
	if (n <= 0)
		return WHY_ENDED;
	*len = (size_t)n;
	return *len <= sizeof(a->answer) ? WHY_NONE : WHY_UNSOUND;
}

static enum why ask(struct symbols_apart *a, const struct child *c, struct symbols *s,
		    const struct symbols_request *r, int fd, struct symbols_answer *head,
		    struct symbols_frame *frame, size_t room)
{
	enum why why;
	size_t len = 0;

	if (!tell(c, r, fd))
		return WHY_ENDED;
	why = hear(a, c, symbols_server(s), &len);
	if (why)
		return why;
	if (!symbols_answer_read(a->answer, len, r->what, r->file, head, frame, room))
		return WHY_UNSOUND;
	a->text_bytes += len;
	return a->text_bytes > TEXT_MOST ? WHY_ROOM : WHY_NONE;
}

enum symbols_apart_result symbols_apart_open(struct symbols_apart *a, struct symbols *s,
					     struct symbols_apart_file *f, const char *path, int fd,
					     const uint8_t *id, size_t id_len)
{
	struct symbols_request r = {.what = SYMBOLS_OPEN, .id_len = (uint32_t)id_len};
	int64_t *vain = vain_of(a, f->owner), begun = mono_ms();
	struct symbols_answer head;
	struct child *c;
	enum why why;

	if (*vain > symbols_apart_vain_ms)
		return lose(a, NULL, f->owner, path, WHY_SLOW);
	if (strlen(path) >= sizeof(r.path) || id_len > sizeof(r.id))
		return lose(a, NULL, f->owner, path, WHY_ROOM);
	c = child_for(a, f->owner);
	if (!c)
		return lose(a, NULL, f->owner, path, WHY_START);
	strcpy(r.path, path);
	if (id_len)
		memcpy(r.id, id, id_len);
	f->number = r.file = c->files++;
	f->life = c->life;
	why = ask(a, c, s, &r, is_of(fd, f->owner) ? fd : -1, &head, NULL, 0);
	if (why) {
		*vain += mono_ms() - begun;
		return lose(a, c, f->owner, path, why);
	}
	f->state = head.state;
	return SYMBOLS_APART_DONE;
}

static bool intern(struct symbols *s, const char **text)
{
	if (*text)
		*text = symbols_text(s, *text);
	return *text;
}

enum symbols_apart_result symbols_apart_ask(struct symbols_apart *a, struct symbols *s,
					    const struct symbols_apart_file *f, const char *path,
					    uint64_t address, struct symbols_frame *frame,
					    size_t room, size_t *cnt)
{
	struct symbols_request r = {.what = SYMBOLS_ASK, .file = f->number, .address = address};
	struct child *c = child_of(a, f->owner);
	struct symbols_answer head;
	int64_t begun = mono_ms();
	enum why why;

	*cnt = 0;
	if (!c || c->life != f->life)
		return SYMBOLS_APART_ANEW;
	why = ask(a, c, s, &r, -1, &head, frame, room);
	if (why) {
		*vain_of(a, f->owner) += mono_ms() - begun;
		return lose(a, c, f->owner, path, why);
	}
	*cnt = head.cnt;
	for (size_t i = 0; i < *cnt; i++) {
		intern(s, &frame[i].function);
		if (!intern(s, &frame[i].file))
			frame[i].line = 0;
	}
	return SYMBOLS_APART_DONE;
}
