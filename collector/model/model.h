/*
 * model.h - processes, images, threads and files, and their rows.
 *
 * A process (struct proc) is a process of the kernel: it keeps its pid over exec. A traced image
 * (struct image) is a process number of an arena: it begins with exec or fork and ends with exec or
 * exit. Ids of traced code are those of its own PID namespace; here all are the collector's
 * (proc.c).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "collector/base/clock_map.h"
#include "collector/report/db.h"
#include "collector/report/db_ids.h"
#include "collector/model/decode.h"
#include "collector/model/live.h"
#include "collector/kernel/sched/sched.h"
#include "collector/source/event_source.h"
#include "preload/wire/hooks.h"

struct arena;
struct exec;
struct image;

struct proc {
	struct {
		struct proc *next_in_hash;
		struct proc *next; /* all of them, the youngest first */
		struct proc *next_forked;
	} links;
	uint32_t pid;
	uint32_t parent_pid; /* 0 unknown */
	struct {
		int64_t start_ns, end_ns;
		int pidfd;     /* -1: none */
		void *watcher; /* for model.watch */
		int status;    /* wait status, -1 unknown */
	} life;
	struct {
		bool is_gone;    /* exited, or the pid was used again */
		bool is_known;   /* has a row in SL_PROCESS_TREE */
		bool is_traced;  /* the shim is inside (perhaps it has had nothing to say yet) */
		bool has_fork;   /* start_ns is exact: from an event of the kernel */
		bool is_forked;  /* seen by the kernel, its row not written yet */
		bool in_tree;    /* shown to be a descendant of the root: identity.h */
		bool is_counted; /* the end of the session waits for it */
		bool is_found;   /* in /proc: start_ns is that of a tick of its clock */
		bool is_guest;   /* ended before it was known: end_ns is not before its end */
	} flags;
	struct image *image; /* the traced one, NULL: none */
	uint32_t images;     /* that refer to it: it was one of them, or is */
	struct {
		uint32_t now,
			old; /* arenas it shares or shared: its own, or by fork its parent's; 0 none */
	} homes;
	struct exec *execs;  /* execs.h */
	char *exe, *command; /* its executable, */
	struct {
		/* An image whose hello was read before the kernel's event of its process. */
		int64_t ns; /* 0: none */
		char *exe, *command;
	} late;
	int64_t image_ns; /* start of the youngest traced image, INT64_MIN none */
	struct {
		int64_t exe_ns;      /* since then; */
		char *exe, *command; /* and before */
	} old;
};

struct file {
	uint32_t id; /* fileAccessId, 0: none yet */
	uint16_t is_open, has_row;
	uint32_t live,
		live_report; /* where its sums stand (0: nowhere yet), in which report (struct live) */
	int64_t path_id;     /* StringIds.id, DB_NULL unknown */
	int64_t since;       /* ns, or 0: it was there before */
};

struct image {
	struct image *next; /* of this arena */
	struct arena *arena;
	struct proc *proc;
	uint32_t number; /* in the arena */
	uint32_t parent; /* of the image that it was forked from, 0 none */
	struct {
		uint32_t pid;        /* as it sees itself, */
		bool is_namespaced;  /* in another PID namespace than the collector's: */
		uint64_t pid_ns;     /* its inode; 0 unknown */
		uint32_t parent_pid; /* the collector's view; 0 unknown */
	} inside;
	int64_t start_ns, end_ns;
	bool is_named;
	uint32_t threads;     /* whose slots are not given back yet */
	uint32_t idle_rounds; /* since it was over and had none */
	struct {
		struct file **page; /* pages of FILE_PAGE by serial */
		uint32_t pages;
		uint32_t *fd_serial; /* the present file of each descriptor */
		uint32_t fd_cnt;
	} files;
	struct live_calls *live; /* NULL: no calls yet */
};

struct model {
	struct db *db;
	struct clock_map *clock;
	struct {
		bool file_access;       /* rows in OSRT_FILE_ACCESS_EVENTS */
		bool no_osrt;           /* the shim serves other kinds only: no rows, no totals */
		bool has_kernel_events; /* the tree is seen by sched.h */
		bool keep_all_switches; /* system-wide */
	} wants;
	struct {
		uint32_t pid;
		uint64_t started;    /* struct proc_origin.start; 0: not known */
		char *exe, *command; /* the started program, in case it ends before we can look */
	} root;
	uint32_t file_ids; /* last fileAccessId */
	struct {
		int64_t hook[SL_HOOK_MAX]; /* by hook; 0 not interned yet */
		int64_t syscall[2]
			       [512]; /* of system calls: native, 32-bit; by number; 0 likewise */
	} names;
	struct proc *procs;
	struct proc *hash[1024];
	struct {
		uint32_t alive;         /* processes of the tree that are not gone */
		uint32_t forks;         /* whose rows are not written yet */
		uint32_t traced_images; /* ever */
		uint32_t guests;        /* ever: that were not there when they were looked for */
		uint64_t statusless;    /* that are forgotten: model_statusless() */
		int64_t oom_kills;      /* of the machine, when last looked at; -1: not known */
	} counts;
	struct live live;
	struct event_rows kernel_rows[ROWS_KINDS]; /* since the last commit */
	/* CLOCK_MONOTONIC: the kernel's events up to here have been handed over; 0: none are awaited. */
	uint64_t told_mono;
	struct {
		void (*watch)(void *ctx,
			      struct proc *p); /* a process became known: give it a pidfd */
		void (*ended)(void *ctx,
			      struct proc *p); /* its exit status became known; may be NULL */
		void *ctx;
	} hooks;
};

#define MODEL_SLACK_NS 1000000ll /* between the kernel's times and the shim's */

void model_init(struct model *m, struct db *db, struct clock_map *clock);
void model_release(struct model *m);

/* The process that has this pid now; NULL: never heard of. */
struct proc *model_find(struct model *m, uint32_t pid);
/* As model_find(), or the one that had it last. */
struct proc *model_find_newest(struct model *m, uint32_t pid);
struct proc *model_get(struct model *m, uint32_t pid, int64_t now_ns);
/* A new one, that is not watched. */
struct proc *model_add(struct model *m, uint32_t pid, int64_t now_ns);
/* The process that had this pid at @ns: its records may be read after its end. Made when unknown. */
struct proc *model_at(struct model *m, uint32_t pid, int64_t ns);
/* The same; NULL when unknown. */
struct proc *model_known_at(struct model *m, uint32_t pid, int64_t ns);
/* The end of the session waits for it; @is_descendant: it is in the tree, too. */
void model_admit(struct model *m, struct proc *p, bool is_descendant);

/* A traced image of @arena appeared; ends the one that the process had before. */
struct image *model_image_new(struct model *m, struct arena *arena, uint32_t number, struct proc *p,
			      uint32_t ns_pid, int64_t ns);
void model_image_free(struct model *m, struct image *im);
/* Ends an image by exec or exit: it writes no more. Closes its files. */
void model_image_end(struct model *m, struct image *im, int64_t ns);
static inline bool model_image_is_over(const struct image *im)
{
	return im->proc->flags.is_gone || im->proc->image != im;
}

/* The process has ended. @status: wait status, -1 unknown. */
void model_exit(struct model *m, struct proc *p, int64_t ns, int status);

/* A process that ran already at @start_ns, which is before the session. Its row is written by model_settle(). */
void model_found(struct model *m, uint32_t pid, uint32_t parent_pid, int64_t start_ns);

/* SL_META_IMAGE and SL_META_EXEC of @im. */
void model_on_image(struct model *m, struct image *im, const struct meta *meta, int64_t ns);
void model_on_exec(struct model *m, struct image *im, const struct meta *meta, int64_t ns);
void model_on_exec_failed(struct image *im);
/* SL_META_RANK: "NAME=value" '\0' ..., @len bytes. */
void model_on_rank(struct model *m, const struct image *im, const char *text, size_t len);

/* Session time 0 moves by so many ns. Images are the caller's, by arena. */
void model_shift(struct model *m, int64_t shift);

/* Does a living process share this arena? */
bool model_has_guests(const struct model *m, uint32_t arena_id);

/* Rows of forks, and of execs that no traced image followed for a while. @all: at once. */
void model_settle(struct model *m, int64_t now_ns, bool all);

/* Frees processes whose rows are complete, half a minute after their end. */
void model_forget(struct model *m, int64_t now_ns);
/* Processes of the tree, ever, that have ended without a word of how. */
uint64_t model_statusless(const struct model *m);

/* Priority as ThreadNames shows it (20 = nice 0). */
int model_priority(uint32_t tid);

/* Callbacks for sched_poll(); ctx is the model. */
extern const struct sched_ops model_sched_ops;

/* ---- files.c ---- */

#define FILE_PAGE       256u
#define FILE_SERIAL_MAX (1u << 24) /* beyond it files stay nameless */

struct file_name {
	char *text;
	uint32_t len;
	int64_t path_id; /* DB_NULL not interned yet */
	char *local;     /* own address of a socket; NULL: none is known */
};

struct file_name_page {
	uint32_t cnt; /* names */
	struct file_name at[FILE_PAGE];
};

#define FILE_CLOSED 65536u /* names that are kept, though their files were closed */

/* Names of the files of an arena, by serial. */
struct file_names {
	struct file_name_page **page;
	uint32_t pages;
	uint32_t *closed; /* [FILE_CLOSED], a ring; NULL none */
	uint32_t closed_cnt;
	size_t bytes;  /* of all texts */
	uint64_t lost; /* names that were not kept */
};

static inline struct file *file_find(const struct image *im, uint32_t serial)
{
	uint32_t page = serial / FILE_PAGE;

	if (page >= im->files.pages || !im->files.page[page])
		return NULL;
	return &im->files.page[page][serial % FILE_PAGE];
}

/* The file behind @serial with its id and path; makes it known first. NULL when serial is 0 or absurd. */
struct file *file_get(struct model *m, struct image *im, uint32_t serial, int64_t fd, int64_t ns);
/* @serial is @text from @ns on (0: inherited). */
struct file *file_open(struct model *m, struct image *im, uint32_t serial, int64_t fd,
		       const char *text, uint32_t len, int64_t ns);
/* As a previous collector knew it. */
void file_restore(struct model *m, struct image *im, uint32_t serial, uint32_t id, bool has_row,
		  const char *text, uint32_t len);
void file_close(struct model *m, struct image *im, uint32_t serial, int64_t ns);
void file_close_all(struct model *m, struct image *im, int64_t ns);
void file_release(struct image *im);
/* Descriptors may mean something else by now: each is a new file from here on. */
void file_forget_all(struct arena *a);
/*
 * @serial was closed by a call that has no row (flight recorder): its name may go in a while, so that a program that opens
 * files for ever takes no memory for ever. Others may still have it: those that forked, calls not read yet.
 */
void file_close_unseen(struct model *m, struct image *im, uint32_t serial, int64_t ns);
void file_names_release(struct file_names *names);
/* Gives @serial a name, unless it has one. */
void file_name_set(struct file_names *names, uint32_t serial, const char *text, uint32_t len);
/* The own address of a socket that has a name: for each process that has it open. */
void file_local_set(struct file_names *names, uint32_t serial, const char *text);
/* The same, and its row for this image. */
void file_local(struct model *m, struct image *im, uint32_t serial, const char *text);
struct file_name *file_name_find(const struct file_names *names, uint32_t serial);
