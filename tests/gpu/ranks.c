/*
 * ranks.c - one rank of a job: steps in NVTX ranges "step" that end in a collective, for which one rank comes late.
 *
 *   ranks FILE STEPS WORK_MS LATE_RANK LATE_MS [LATE_STEP]
 *
 * FILE: the ranks begin each step together, by counters in it; when there is FILE.stop, they end. LATE_STEP: only then. Rank and size are those of the launcher: RANK, Open MPI, SLURM.
 * RANKS_DATA names a file: then each step reads from it, and a kernel runs for a millisecond.
 * RANKS_PIPELINE: each rank passes a message to the next one in place of the collective; that works when it has received its own.
 * RANKS_FAULT: the late rank is so in another way than by sleep (late_for()); status 77: not here.
 * RANKS_SAY: at the end it prints number, begin and end of each step (CLOCK_REALTIME, ns).
 * A rank that ends early because the others do not come has exit status 4.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/prog/nvtx_loader.h"
#include "tests/standin/cuda_types.h"

struct unique_id {
	char bytes[128];
};
int ncclGetUniqueId(struct unique_id *);
int ncclCommInitRank(void **, int, struct unique_id, int);
int ncclAllReduce(const void *, void *, size_t, int, int, void *, CUstream);
int ncclSend(const void *, size_t, int, int, void *, CUstream);
int ncclRecv(void *, size_t, int, int, void *, CUstream);
int ncclCommDestroy(void *);
int cudaMalloc(void **, size_t);
int cudaStreamCreateWithFlags(CUstream *, unsigned);
int cudaStreamSynchronize(CUstream);
void **__cudaRegisterFatBinary(void *);
void __cudaRegisterFatBinaryEnd(void **);
void __cudaRegisterFunction(void **, const void *, char *, const char *, int, void *, void *,
			    void *, void *, int *);
int cudaLaunchKernel(const void *, struct cuda_dim3, struct cuda_dim3, void **, size_t, CUstream);

#define DO(call)                                                                                   \
	do {                                                                                       \
		int do_result_ = (call);                                                           \
		if (do_result_) {                                                                  \
			fprintf(stderr, "%s:%d: %s: %d\n", __FILE__, __LINE__, #call, do_result_); \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

enum {
	STEPS_MAX = 32768,
	LINK_BYTES = 128 << 10,
	PATIENCE_MS = 60000, /* the machine may be busy */
};

static char kernel, batch[1 << 20]; /* the kernel's address is what nvcc makes a handle of */

/* The file that steps read; -1: none is asked for. */
static int open_data(void)
{
	static const char image[64] = "image";
	static struct {
		int magic, version;
		const void *data, *more;
	} wrapper = {0x466243b1, 1, image, NULL};
	const char *path = getenv("RANKS_DATA");
	char *name = (char *)(uintptr_t) "_Z15forward_us1000_PKfPf";
	void **binary;

	if (!path)
		return -1;
	binary = __cudaRegisterFatBinary(&wrapper);
	__cudaRegisterFunction(binary, &kernel, name, name, -1, NULL, NULL, NULL, NULL, NULL);
	__cudaRegisterFatBinaryEnd(binary);
	return open(path, O_RDONLY | O_CLOEXEC);
}

static void read_and_launch(int data, CUstream stream)
{
	struct cuda_dim3 one = {1, 1, 1};

	if (data < 0)
		return;
	if (pread(data, batch, sizeof(batch), 0) < 0)
		exit(1);
	DO(cudaLaunchKernel(&kernel, one, one, NULL, 0, stream));
}

static int variable(const char *const *names)
{
	for (; *names; names++)
		if (getenv(*names))
			return atoi(getenv(*names));
	return -1;
}

static void wait_ms(int ms)
{
	usleep((unsigned)ms * 1000u);
}

static int64_t now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void compute(int ms)
{
	int64_t end = now_ns(CLOCK_THREAD_CPUTIME_ID) + (int64_t)ms * 1000000;

	while (now_ns(CLOCK_THREAD_CPUTIME_ID) < end)
		;
}

static void sync_files(const char *beside, int ms)
{
	int64_t end = now_ns(CLOCK_MONOTONIC) + (int64_t)ms * 1000000;
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s.synced", beside);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	do {
		if (pwrite(fd, batch, 4096, 0) < 0 || fsync(fd) < 0)
			exit(1);
	} while (now_ns(CLOCK_MONOTONIC) < end);
	close(fd);
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int held; /* a futex would be a wait of its own */

static void *hold(void *ms)
{
	pthread_mutex_lock(&lock);
	__atomic_store_n(&held, 1, __ATOMIC_RELEASE);
	wait_ms((int)(intptr_t)ms);
	pthread_mutex_unlock(&lock);
	return NULL;
}

static void wait_for_lock(int ms)
{
	pthread_t holder;

	held = 0;
	if (pthread_create(&holder, NULL, hold, (void *)(intptr_t)ms))
		exit(1);
	while (!__atomic_load_n(&held, __ATOMIC_ACQUIRE))
		sched_yield();
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
	pthread_join(holder, NULL);
}

static void wait_for_child(int ms)
{
	pid_t child = fork();

	if (child == 0) {
		wait_ms(ms);
		_exit(0);
	}
	if (child < 0 || waitpid(child, NULL, 0) != child)
		exit(1);
}

/* Many calls for a few bytes each. */
static void read_small(const char *beside, int ms)
{
	int64_t end = now_ns(CLOCK_MONOTONIC) + (int64_t)ms * 1000000;
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s.small", beside);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (pwrite(fd, batch, 65536, 0) < 0)
		exit(1);
	for (off_t at = 0; now_ns(CLOCK_MONOTONIC) < end; at = (at + 8) % 65536)
		if (pread(fd, batch, 8, at) != 8)
			exit(1);
	close(fd);
}

/* Pages that are mapped, touched first and given back. */
static void touch_memory(int ms)
{
	const size_t size = 4u << 20;
	int64_t end = now_ns(CLOCK_THREAD_CPUTIME_ID) + (int64_t)ms * 1000000;

	while (now_ns(CLOCK_THREAD_CPUTIME_ID) < end) {
		char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			       0);

		if (p == MAP_FAILED)
			exit(1);
		for (size_t at = 0; at < size; at += 4096)
			p[at] = 1;
		munmap(p, size);
	}
}

/* A process that helps, and reads bytes from its end of the socket. */
static int helper = -1;

/* Takes the CPU of the rank for as long as it is asked for, by a priority that the rank does not have. */
static void take_cpu(int sock)
{
	const struct sched_param first = {1};
	char ms;

	(void)!write(sock, sched_setscheduler(0, SCHED_FIFO, &first) ? "n" : "y", 1);
	while (read(sock, &ms, 1) == 1)
		compute(ms);
	_exit(0);
}

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static void exchange(void)
{
	if (write(helper, "x", 1) != 1 ||
	    recv(helper, batch, LINK_BYTES, MSG_WAITALL) != LINK_BYTES)
		exit(1);
}

static void start_helper(int both[2], void (*help)(int))
{
	pid_t child = fork();

	if (child == 0) {
		close(both[0]);
		help(both[1]);
	}
	if (child < 0)
		exit(1);
	close(both[1]);
	helper = both[0];
}

/*
 * Connects to the server of this rank, which sends LINK_BYTES for each byte: RANKS_LINK is "ADDRESS PORT PORT ...", a port for each
 * rank. The server is no process of the job: of that, why knows what it waits for itself.
 */
static void connect_link(int rank)
{
	struct sockaddr_in to = {.sin_family = AF_INET};
	const char *at = getenv("RANKS_LINK");
	char address[64] = "";

	if (!at || sscanf(at, "%63s", address) != 1 ||
	    inet_pton(AF_INET, address, &to.sin_addr) != 1)
		exit(77);
	for (int i = 0; i <= rank && at; i++)
		at = strchr(at + 1, ' ');
	to.sin_port = htons((uint16_t)(at ? atoi(at) : 0));
	helper = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (connect(helper, (struct sockaddr *)&to, sizeof(to)))
		exit(1);
}

static bool has_fault(const char *name)
{
	const char *fault = getenv("RANKS_FAULT");

	return fault && strcmp(fault, name) == 0;
}

/* What a fault needs before the first step. Status 77: it cannot be made here. */
static void prepare(int rank, bool is_late)
{
	int both[2];
	char byte = 0;

	if (has_fault("link")) {
		connect_link(rank);
	} else if (has_fault("taken")) {
		pin(is_late ? 0 : 1);
		if (!is_late)
			return;
		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, both))
			exit(1);
		start_helper(both, take_cpu);
		if (read(helper, &byte, 1) != 1 || byte != 'y')
			exit(77);
	}
}

/* The way in which the rank is late. */
static void late_for(const char *beside, int ms)
{
	char byte = (char)ms;

	if (!getenv("RANKS_FAULT") || has_fault("sleep"))
		wait_ms(ms);
	else if (has_fault("compute"))
		compute(ms);
	else if (has_fault("fsync"))
		sync_files(beside, ms);
	else if (has_fault("lock"))
		wait_for_lock(ms);
	else if (has_fault("child"))
		wait_for_child(ms);
	else if (has_fault("reads"))
		read_small(beside, ms);
	else if (has_fault("memory"))
		touch_memory(ms);
	else if (has_fault("link"))
		exchange();
	else if (has_fault("taken"))
		(void)!write(helper, &byte, 1);
	else
		exit(2);
}

/* Whether all ranks end before this step: whichever finds the file first, none of them has begun the step after the next. */
static bool is_over(uint32_t *end, const char *stop, int step)
{
	uint32_t none = 0;

	if (access(stop, F_OK) == 0)
		__atomic_compare_exchange_n(end, &none, (uint32_t)step + 2, false, __ATOMIC_SEQ_CST,
					    __ATOMIC_SEQ_CST);
	none = __atomic_load_n(end, __ATOMIC_SEQ_CST);
	return none && (uint32_t)step >= none;
}

/* Until all ranks have begun the step. */
static void meet(uint32_t *arrived, int size)
{
	__atomic_add_fetch(arrived, 1, __ATOMIC_SEQ_CST);
	for (int ms = 0; (int)__atomic_load_n(arrived, __ATOMIC_SEQ_CST) < size; ms++) {
		if (ms > PATIENCE_MS)
			exit(4);
		wait_ms(1);
	}
}

/* A stage of a pipeline: from the rank before, to the one behind. */
static void pass_on(void *data, int rank, int size, void *comm, CUstream stream)
{
	if (rank + 1 < size) {
		DO(ncclSend(data, 1024, 7, rank + 1, comm, stream));
		DO(cudaStreamSynchronize(stream));
	}
}

static void take_from(void *data, int rank, void *comm, CUstream stream)
{
	if (rank > 0) {
		DO(ncclRecv(data, 1024, 7, rank - 1, comm, stream));
		DO(cudaStreamSynchronize(stream));
	}
}

/* When a step began and ended, around its range. */
static int64_t stepped[STEPS_MAX][2];

static void say_steps(int cnt)
{
	for (int i = 0; getenv("RANKS_SAY") && i < cnt; i++)
		printf("%d %lld %lld\n", i + 1, (long long)stepped[i][0], (long long)stepped[i][1]);
}

int main(int argc, char **argv)
{
	static const char *const ranks[] = {"RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID", NULL};
	static const char *const sizes[] = {"WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_NTASKS",
					    NULL};
	int rank = variable(ranks), size = variable(sizes), steps, work, late_rank, late, fd;
	int late_step, is_late, data_fd, made = 0;
	struct unique_id id;
	char stop[4096];
	uint32_t *arrived;
	CUstream stream;
	void *comm, *data;

	if (argc < 6 || rank < 0 || size < 1 || !nvtx_load())
		return 2;
	steps = atoi(argv[2]);
	work = atoi(argv[3]);
	late_rank = atoi(argv[4]);
	late = atoi(argv[5]);
	late_step = argc > 6 ? atoi(argv[6]) : 0;
	snprintf(stop, sizeof(stop), "%s.stop", argv[1]);
	fd = open(argv[1], O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || steps >= STEPS_MAX || ftruncate(fd, STEPS_MAX * sizeof(*arrived)))
		return 3;
	arrived =
		mmap(NULL, STEPS_MAX * sizeof(*arrived), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (arrived == MAP_FAILED)
		return 3;
	setenv("JOB_ID", argv[1], 1);
	data_fd = open_data();
	prepare(rank, rank == late_rank);
	DO(cudaStreamCreateWithFlags(&stream, 1));
	DO(cudaMalloc(&data, 4096));
	DO(ncclGetUniqueId(&id));
	DO(ncclCommInitRank(&comm, size, id, rank));
	for (int i = 0; i < steps && !is_over(&arrived[STEPS_MAX - 1], stop, i); i++) {
		is_late = !late_step || i + 1 == late_step;
		meet(&arrived[i], size);
		stepped[i][0] = now_ns(CLOCK_REALTIME);
		push("step");
		if (getenv("RANKS_PIPELINE"))
			take_from(data, rank, comm, stream);
		wait_ms(work);
		if (is_late && rank == late_rank)
			late_for(argv[1], late);
		else if (has_fault("link"))
			exchange();
		read_and_launch(data_fd, stream);
		if (getenv("RANKS_PIPELINE")) {
			pass_on(data, rank, size, comm, stream);
		} else {
			DO(ncclAllReduce(data, data, 1024, 7, 0, comm, stream));
			DO(cudaStreamSynchronize(stream));
		}
		pop();
		stepped[i][1] = now_ns(CLOCK_REALTIME);
		made = i + 1;
	}
	DO(ncclCommDestroy(comm));
	say_steps(made);
	return 0;
}
