/*
 * job.h - the sessions of a job on many nodes, which share a folder: DATASET/_jobs/RUN/
 *
 *   ask             the last requests to all sessions, the newest last; any of the user's commands replaces it
 *   at/HOST-PID-N   a session: its answers to the requests, and the last steps of its ranks; it alone replaces it
 *
 * Where another user than root or the dataset's owner has made _jobs, and could take folders away, it is _jobs-UID instead, of
 * the sessions and commands of one user.
 *
 * The folder may be on NFS or Lustre: files are written aside and renamed, and there are no locks. A request that another one
 * has overwritten is added again by its sender, which looks for it. Sessions look once per second.
 *
 * Anything may lie in the folder: files count if the user that this process is there, or root, owns them, if they are plain and
 * small; lines that are none of these are passed over, and no line names a file that is opened or a command that is run.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#define JOB_MARK     "sightline-job-1"
#define JOB_FOLDER   "_jobs"
#define JOB_ID       17 /* bytes with the end */
#define JOB_NAME     128
#define JOB_MEMBER   300 /* name of a session's file */
#define JOB_TEXT     512
#define JOB_REQUESTS 16 /* kept */
#define JOB_SERIES   64 /* ranks of a session */
#define JOB_STEPS \
	256 /* kept of each: some seconds, as files are written and read once per second */
#define JOB_SESSIONS 65536
#define JOB_FILE_MAX (256 << 10)

enum job_verb {
	JOB_START,
	JOB_STOP,
	JOB_CANCEL,
	JOB_DUMP,
	JOB_LATE, /* a dump, because a rank is late */
	JOB_VERBS,
};
extern const char *const job_verbs[JOB_VERBS];

struct job_request {
	char id[JOB_ID];
	enum job_verb verb;
	char text[JOB_TEXT]; /* the reason of a dump */
	char to[JOB_TEXT]; /* JOB_LATE: RANK/SESSION/...: the late rank, its session, others whose reports matter */
};
struct job_requests {
	struct job_request at[JOB_REQUESTS];
	size_t cnt;
};

#define JOB_TAKEN (-1) /* in place of a status: not done yet */
struct job_answer {
	char id[JOB_ID];
	int status;
	char text[JOB_TEXT]; /* the report, or why there is none */
};
enum job_part {
#define PART(id, name, text) JOB_##id,
#include "collector/job/parts.def"
	JOB_PARTS
};
/* What the thread of a rank that makes its steps has done in the last seconds. */
struct job_pace {
	int64_t span; /* ns; 0: not known */
	uint32_t steps;
	uint32_t size; /* of the job, by its launcher; 0: not known */
	int64_t part[JOB_PARTS];
};
/* The time that a rank took by itself in each of its last steps. */
struct job_series {
	char name[JOB_NAME];
	struct job_pace pace;
	uint32_t last; /* number of the newest step, from 1 on; 0: none */
	uint32_t cnt;
	int64_t own[JOB_STEPS]; /* ns, the oldest first */
};
struct job_session {
	char host[JOB_NAME];
	uint32_t pid, beat; /* beat: grows while a request is being done */
	bool has_ended;
	struct job_answer answer[JOB_REQUESTS];
	size_t answers;
	struct job_series series[JOB_SERIES];
	size_t series_cnt;
};

/* ---- job_text.c ---- */

void job_requests_read(struct job_requests *r, const char *text);
/* malloc'd; NULL: no memory. */
char *job_requests_write(const struct job_requests *r);
/* Drops the oldest where there is no room. */
void job_requests_add(struct job_requests *r, const struct job_request *q);
const struct job_request *job_request_find(const struct job_requests *r, const char *id);
/* Whether @to of a request names the session of this file. */
bool job_request_is_to(const char *to, const char *name);

/* False: it is no session's. */
bool job_session_read(struct job_session *s, const char *text);
char *job_session_write(const struct job_session *s);
struct job_answer *job_answer_find(struct job_session *s, const char *id);
/* Room for an answer; the oldest is forgotten where there is none. */
struct job_answer *job_answer_add(struct job_session *s, const char *id);
/* A step of the rank @name took so long by itself. */
void job_step_add(struct job_session *s, const char *name, uint32_t step, int64_t own);
/* Takes "SPAN STEPS SIZE PART,PART,... NAME". False: it makes no sense, or there are too many ranks. */
bool job_pace_read(struct job_session *s, const char *line);
/* Writes the same without a newline. */
void job_pace_write(FILE *f, const char *name, const struct job_pace *pace);

/* ---- job_folder.c ---- */

struct job_folder {
	int dir, at; /* DATASET/_jobs/RUN and the folder at in it */
	uid_t owner; /* who this process is there (NFS may map root to another user) */
	uid_t dir_owner;
	char all[24]; /* name of the folder of all jobs in DATASET */
};

/* @make: the folder. 0 or -errno; -EPERM: it is another user's, @f->dir_owner. */
int job_open(struct job_folder *f, const char *dataset, const char *run, bool make);
void job_close(struct job_folder *f);
/* Removes the folder if no session is left in it. */
void job_remove(const struct job_folder *f, const char *dataset, const char *run);
/* The whole file, without NUL; malloc'd. NULL with errno; EPERM: another user's. */
char *job_read(const struct job_folder *f, int dir, const char *name);
/* Aside, then renamed. 0 or -errno. */
int job_write(int dir, const char *name, const char *text);
/* Names in a folder that do not begin with a dot, sorted; malloc'd, each too. */
size_t job_list(int dir, char ***names);
void job_list_free(char **names, size_t cnt);
/* The folder of all jobs, to list it; -1: errno. */
int job_open_all(const char *dataset);

/* ---- job_ask.c ---- */

/* The only job with sessions; malloc'd. NULL after one line that names @cmd; @status has the exit status. */
char *job_choose(const char *dataset, const char *cmd, int *status);

/*
 * Sends the request to all sessions of a job, waits until each has done it, and prints a line for each. @run NULL: the only job
 * there is. @cmd: the command's name. An exit status.
 */
int job_ask(const char *dataset, const char *run, enum job_verb verb, const char *cmd,
	    const char *text);
