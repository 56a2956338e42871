/*
 * job_watch.c - the process beside a session that looks into the job's folder, once per second. A file system that hangs holds
 * up this process, and neither the session nor the program.
 *
 * Requests are passed on to the session as the user's own commands would be (command.h). The first session of the folder, by
 * the names of their files, compares the steps of all ranks; where its file has stayed the same for LEADER_S, the next one. Files of
 * sessions that were killed stay in the folder. A late rank is requested of the sessions that matter for it (job_late.h).
 */
#include "collector/job/job_watch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "collector/base/grow.h"
#include "collector/base/message.h"
#include "collector/base/now.h"
#include "collector/session/command.h"

#define LOOK_MS    1000
#define BEAT_LOOKS 5 /* while a request is being done the file is another one after so many */
#define ALIVE_LOOKS \
	5 /* it is written again after so many, so that its time shows that the session lives */
#define LEADER_S 30
#define DOUBT_S \
	3 /* of a file that has stayed the same for so long the next one is looked at, too */
#define SEEN_MAX   4096
#define LIST_LOOKS 10 /* while the leader is alive the folder is listed once in so many looks */
#define SEND_NS \
	INT64_C(5000000000) /* a request that another one has overwritten is added again for so long */
#define LINGER_S 3          /* an answer can be read for so long after the session */
#define INPUT    4096

struct running {
	char id[JOB_ID];
	int sock; /* -1: none */
};

/* The file of a session before the own one. */
struct seen {
	char name[JOB_MEMBER];
	struct stat st;
	int64_t since; /* it has been like that */
};

struct watch {
	const struct job_watch_ask *ask;
	struct job_folder folder;
	char name[JOB_MEMBER]; /* of the own file */
	struct job_session own;
	struct job_requests known; /* of before, or taken */
	struct running running[JOB_REQUESTS];
	bool is_changed;
	char input[INPUT];
	size_t input_len;
	int64_t dumped; /* for a late rank, CLOCK_MONOTONIC; 0 never */
	unsigned looks;
	struct {
		struct seen *seen;
		size_t cnt, room;
		size_t at; /* of seen: alive at the last look */
		unsigned looks;
	} leader;
	struct {
		struct job_late *ranks; /* of the leader; NULL: another session is */
		struct job_request request;
		int64_t sent; /* CLOCK_MONOTONIC; 0: none */
	} late;
};

static void publish(struct watch *w)
{
	char *text = w->is_changed ? job_session_write(&w->own) : NULL;

	if (text && job_write(w->folder.at, w->name, text) == 0)
		w->is_changed = false;
	free(text);
}

/* ---- requests ---- */

static void done(struct watch *w, const char *id, int status, const char *text)
{
	struct job_answer *a = job_answer_find(&w->own, id);

	w->is_changed = true;
	if (!a)
		return;
	a->status = status;
	snprintf(a->text, sizeof(a->text), "%.*s", (int)strcspn(text, "\n"), text);
}

static struct running *free_place(struct watch *w)
{
	for (size_t i = 0; i < JOB_REQUESTS; i++)
		if (w->running[i].sock < 0)
			return &w->running[i];
	return NULL;
}

/* As the commands of the same names do. */
static int pass_on(struct watch *w, const struct job_request *q, struct running *r)
{
	static struct command p;
	int sock = command_connect(w->ask->session, geteuid()), err;

	if (sock < 0)
		return sock;
	command_begin(&p);
	command_add(&p, q->verb == JOB_LATE ? job_verbs[JOB_DUMP] : job_verbs[q->verb]);
	if (q->verb == JOB_START)
		command_add(&p, "-");
	else if (q->verb == JOB_DUMP || q->verb == JOB_LATE)
		command_add(&p, q->text[0] ? q->text : "sightline dump --job");
	err = command_send(sock, &p);
	if (err) {
		close(sock);
		return err;
	}
	r->sock = sock;
	memcpy(r->id, q->id, sizeof(r->id));
	return 0;
}

static void take(struct watch *w, const struct job_request *q)
{
	struct running *r = free_place(w);
	int err;

	job_requests_add(&w->known, q);
	if (q->verb == JOB_LATE && (!job_request_is_to(q->to, w->name) ||
				    (w->dumped && mono_ns() - w->dumped < w->ask->limit.calm_ns)))
		return;
	job_answer_add(&w->own, q->id);
	w->is_changed = true;
	if (q->verb == JOB_LATE)
		w->dumped = mono_ns();
	err = r ? pass_on(w, q, r) : -EBUSY;
	if (err)
		done(w, q->id, SL_EXIT_FAIL, strerror(-err));
}

static void send_late(struct watch *w, struct job_requests *r)
{
	char *text;

	job_requests_add(r, &w->late.request);
	text = job_requests_write(r);
	if (text)
		job_write(w->folder.dir, "ask", text);
	free(text);
}

static void read_requests(struct watch *w, bool are_old)
{
	char *text = job_read(&w->folder, w->folder.dir, "ask");
	struct job_requests r = {.cnt = 0};

	if (text)
		job_requests_read(&r, text);
	free(text);
	if (w->late.sent && mono_ns() - w->late.sent < SEND_NS &&
	    !job_request_find(&r, w->late.request.id))
		send_late(w, &r);
	for (size_t i = 0; i < r.cnt; i++) {
		if (job_request_find(&w->known, r.at[i].id))
			continue;
		if (are_old)
			job_requests_add(&w->known, &r.at[i]);
		else
			take(w, &r.at[i]);
	}
}

static void on_answer(struct watch *w, struct running *r)
{
	static struct command p;
	int err = command_receive(r->sock, &p, 0);
	char text[JOB_TEXT] = "";
	int status;

	if (err == -EAGAIN || err == -ETIMEDOUT)
		return;
	close(r->sock);
	r->sock = -1;
	status = err ? SL_EXIT_FAIL : command_status(&p);
	if (err)
		snprintf(text, sizeof(text), "the session has ended");
	else
		snprintf(text, sizeof(text), "%s", p.cnt == 2 ? p.word[1] : "no answer");
	done(w, r->id, status < 0 ? SL_EXIT_FAIL : status, text);
}

/* ---- steps ---- */

/* "NAME\tSTEP\tNS", or "@" and a pace (job_pace_read()). */
static void on_line(struct watch *w, char *line)
{
	char *step = strchr(line, '\t'), *own = step ? strchr(step + 1, '\t') : NULL;

	if (line[0] == '@')
		w->is_changed |= job_pace_read(&w->own, line + 1);
	if (!own)
		return;
	*step = *own = 0;
	sl_clean(line, strlen(line));
	job_step_add(&w->own, line, (uint32_t)strtoul(step + 1, NULL, 10),
		     strtoll(own + 1, NULL, 10));
	w->is_changed = true;
}

/* False: the session has ended. */
static bool on_input(struct watch *w)
{
	ssize_t n = read(w->ask->input, w->input + w->input_len, INPUT - 1 - w->input_len);
	char *line = w->input, *end;

	if (n <= 0)
		return n < 0 && (errno == EINTR || errno == EAGAIN);
	w->input_len += (size_t)n;
	w->input[w->input_len] = 0;
	while ((end = strchr(line, '\n'))) {
		*end = 0;
		on_line(w, line);
		line = end + 1;
	}
	w->input_len -= (size_t)(line - w->input);
	memmove(w->input, line, w->input_len);
	if (w->input_len == INPUT - 1)
		w->input_len = 0; /* no line */
	return true;
}

/* ---- the first session compares the ranks ---- */

static struct seen *seen_find(struct watch *w, const char *name)
{
	for (size_t i = 0; i < w->leader.cnt; i++)
		if (strcmp(w->leader.seen[i].name, name) == 0)
			return &w->leader.seen[i];
	/* Names that come and go without end are no job's. */
	if (w->leader.cnt == SEEN_MAX)
		w->leader.cnt = 0;
	if (!grow(&w->leader.seen, w->leader.cnt, &w->leader.room, sizeof(*w->leader.seen)))
		return NULL;
	w->leader.seen[w->leader.cnt] = (struct seen){.since = mono_ns()};
	snprintf(w->leader.seen[w->leader.cnt].name, sizeof(w->leader.seen[0].name), "%s", name);
	return &w->leader.seen[w->leader.cnt++];
}

/* For how long the file has been the same. */
static int64_t same_for(struct seen *s, const struct stat *st)
{
	if (st->st_ino != s->st.st_ino || st->st_mtim.tv_sec != s->st.st_mtim.tv_sec ||
	    st->st_mtim.tv_nsec != s->st.st_mtim.tv_nsec) {
		s->st = *st;
		s->since = mono_ns();
	}
	return mono_ns() - s->since;
}

/* Is this the first session whose file changes? */
static bool leads(struct watch *w, char **names, size_t cnt)
{
	bool leads = true;

	for (size_t i = 0; i < cnt && strcmp(names[i], w->name) < 0; i++) {
		struct seen *s;
		struct stat st;
		int64_t same;

		if (fstatat(w->folder.at, names[i], &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		s = seen_find(w, names[i]);
		same = s ? same_for(s, &st) : 0;
		leads = leads && same >= LEADER_S * 1000000000ll;
		/* It is alive, or all are as far as is known: those behind it need no look. */
		if (same < DOUBT_S * 1000000000ll) {
			w->leader.at = s ? (size_t)(s - w->leader.seen) : 0;
			return false;
		}
	}
	return leads;
}

static struct job_session *read_session(const struct watch *w, const char *name)
{
	char *text = job_read(&w->folder, w->folder.at, name);
	struct job_session *s = text ? malloc(sizeof(*s)) : NULL;

	if (s && (!job_session_read(s, text) || s->has_ended)) {
		free(s);
		s = NULL;
	}
	free(text);
	return s;
}

/* The next look sends it. */
static void request_dump(struct watch *w, const struct job_event *event)
{
	struct job_request *q = &w->late.request;
	uint64_t number = 0;

	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		return;
	*q = (struct job_request){.verb = JOB_LATE};
	snprintf(q->id, sizeof(q->id), "%016llx", (unsigned long long)number);
	snprintf(q->text, sizeof(q->text), "trigger '%s': %.*s", w->ask->trigger,
		 (int)sizeof(q->text) / 2, event->why);
	memcpy(q->to, event->to, sizeof(q->to));
	w->late.sent = mono_ns();
	read_requests(w, false);
}

/* @is_first: of this leader; what the one before has requested is known. */
static void take_ranks(struct watch *w, char **names, size_t cnt, bool is_first)
{
	int64_t now = mono_ns();

	for (size_t i = 0; i < cnt; i++) {
		struct job_session *s = read_session(w, names[i]);

		if (s)
			job_late_take(w->late.ranks, names[i], s, now);
		free(s);
	}
	for (size_t i = 0; is_first && i < w->known.cnt; i++)
		if (w->known.at[i].verb == JOB_LATE)
			job_late_known(w->late.ranks, w->known.at[i].to, now);
}

/* Is the session alive that led at the last look? Then the folder need not be listed. */
static bool is_led(struct watch *w)
{
	struct stat st;

	return w->leader.at < w->leader.cnt && !w->late.ranks && ++w->leader.looks % LIST_LOOKS &&
	       fstatat(w->folder.at, w->leader.seen[w->leader.at].name, &st, AT_SYMLINK_NOFOLLOW) ==
		       0 &&
	       same_for(&w->leader.seen[w->leader.at], &st) < DOUBT_S * 1000000000ll;
}

static void compare(struct watch *w)
{
	bool is_first = !w->late.ranks, is_held;
	struct job_event event;
	char **names;
	size_t cnt;

	if (is_led(w))
		return;
	cnt = job_list(w->folder.at, &names);
	if (!leads(w, names, cnt)) {
		job_late_free(w->late.ranks);
		w->late.ranks = NULL;
	} else if (w->late.ranks || (w->late.ranks = job_late_new())) {
		take_ranks(w, names, cnt, is_first);
		is_held = w->late.sent && mono_ns() - w->late.sent < w->ask->limit.calm_ns;
		if (job_late_find(w->late.ranks, &w->ask->limit, mono_ns(), is_held, &event))
			request_dump(w, &event);
	}
	job_list_free(names, cnt);
}

/* ---- the loop ---- */

static bool is_busy(const struct watch *w)
{
	for (size_t i = 0; i < JOB_REQUESTS; i++)
		if (w->running[i].sock >= 0)
			return true;
	return false;
}

static void look(struct watch *w)
{
	read_requests(w, false);
	if (++w->looks % BEAT_LOOKS == 0 && is_busy(w)) {
		w->own.beat++;
		w->is_changed = true;
	}
	w->is_changed |= w->looks % ALIVE_LOOKS == 0;
	publish(w);
	if (w->ask->trigger)
		compare(w);
}

/* Waits for input and answers until the next look is due. False: the session has ended. */
static bool wait_ms(struct watch *w, int64_t until)
{
	struct pollfd p[JOB_REQUESTS + 1];
	int64_t left = until - mono_ns();
	bool goes_on = true;

	p[0] = (struct pollfd){.fd = w->ask->input, .events = POLLIN};
	for (size_t i = 0; i < JOB_REQUESTS; i++)
		p[i + 1] = (struct pollfd){.fd = w->running[i].sock, .events = POLLIN};
	if (left < 0 || poll(p, JOB_REQUESTS + 1, (int)(left / 1000000) + 1) <= 0)
		return true;
	for (size_t i = 0; i < JOB_REQUESTS; i++)
		if (p[i + 1].revents && w->running[i].sock >= 0)
			on_answer(w, &w->running[i]);
	if (p[0].revents)
		goes_on = on_input(w);
	return goes_on;
}

/* Handles the session's end: its requests are answered. */
static void end(struct watch *w)
{
	for (size_t i = 0; i < JOB_REQUESTS; i++)
		if (w->running[i].sock >= 0)
			on_answer(w, &w->running[i]);
	for (size_t i = 0; i < JOB_REQUESTS; i++)
		if (w->running[i].sock >= 0)
			done(w, w->running[i].id, SL_EXIT_FAIL, "the session has ended");
	if (w->own.answers) {
		w->own.has_ended = w->is_changed = true;
		publish(w);
		sleep(LINGER_S);
	}
	unlinkat(w->folder.at, w->name, 0);
	job_remove(&w->folder, w->ask->dataset, w->ask->run);
}

int job_watch(const struct job_watch_ask *ask)
{
	static struct watch w;
	uint16_t number;
	int64_t next;
	int err;

	w.ask = ask;
	err = job_open(&w.folder, ask->dataset, ask->run, true);
	if (err) {
		sl_warn("no commands for all sessions of the job: %s/_jobs/%s: %s", ask->dataset,
			ask->run, strerror(-err));
		return SL_EXIT_FAIL;
	}
	gethostname(w.own.host, sizeof(w.own.host) - 1);
	sl_clean(w.own.host, strlen(w.own.host));
	w.own.pid = ask->pid;
	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		number = (uint16_t)mono_ns();
	/* Containers may have one name and one number of a process for several sessions. */
	snprintf(w.name, sizeof(w.name), "%s-%u-%04x", w.own.host, w.own.pid, number);
	for (char *c = w.name; (c = strchr(c, ' '));)
		*c = '_'; /* a word of requests */
	for (size_t i = 0; i < JOB_REQUESTS; i++)
		w.running[i].sock = -1;
	/* Before the session appears: later requests are for this session, too. */
	read_requests(&w, true);
	w.is_changed = true;
	publish(&w);
	next = mono_ns() + LOOK_MS * 1000000ll;
	while (wait_ms(&w, next)) {
		if (mono_ns() < next)
			continue;
		look(&w);
		next = mono_ns() + LOOK_MS * 1000000ll;
	}
	end(&w);
	free(w.leader.seen);
	job_late_free(w.late.ranks);
	return 0;
}
