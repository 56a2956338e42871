/*
 * health_intake.c - messages and frames of sl-gpu, as they should be, and forged: nothing that it sends harms the collector, and
 * what makes sense among it becomes rows.
 */
#include "tests/unit/report/db_test.h"

#include "collector/base/capture_window.h"
#include "collector/health/health_internal.h"

#include <fcntl.h>
#include <math.h>
#include <sys/mman.h>
#include <sys/socket.h>

#define RING 65536u

static int their_socket;
static unsigned lines;

static int64_t number_of(void *ctx, const uint8_t uuid[16], const struct probe_gpu_info *info)
{
	(void)ctx;
	(void)info;
	return uuid[15];
}

static void gpu_row(void *ctx, int64_t id, const struct probe_gpu_info *info)
{
	(void)ctx;
	(void)id;
	(void)info;
}

static void say(void *ctx, int severity, const char *text)
{
	(void)ctx;
	assert_in_range(severity, 1, 2);
	for (const char *p = text; *p; p++)
		assert_true((unsigned char)*p >= ' ');
	lines++;
}

/* As health_open(), without a process. */
static struct health *make(void)
{
	struct health *h = calloc(1, sizeof(*h));
	int pair[2];

	assert_non_null(h);
	h->ask = (struct health_ask){
		.number = number_of, .gpu = gpu_row, .say = say, .keep_bytes = 1 << 20};
	h->process.ring_fd = h->process.timer = -1;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, pair), 0);
	h->process.socket = pair[0];
	their_socket = pair[1];
	h->ring.map = mmap(NULL, PROBE_RING_DATA + RING, PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(h->ring.map != MAP_FAILED);
	h->ring.bytes = RING;
	return h;
}

static void done(struct health *h)
{
	close(their_socket);
	close(h->process.socket);
	h->process.socket = -1;
	h->ended_at = 1;
	for (unsigned i = 0; i < PROBE_STREAMS; i++)
		health_stream_free(h->stream[i]);
	munmap(h->ring.map, PROBE_RING_DATA + RING);
	free(h->event);
	free(h->metric);
	free(h);
}

static void message(const void *m, size_t bytes)
{
	assert_int_equal(send(their_socket, m, bytes, 0), (ssize_t)bytes);
}

static void hello(void)
{
	const struct probe_hello m = {PROBE_HELLO, PROBE_VERSION};

	message(&m, sizeof(m));
}

static void gpu(uint32_t no)
{
	struct probe_gpu_info m = {.kind = PROBE_GPU, .gpu = no, .name = "GPU"};

	snprintf(m.uuid, sizeof(m.uuid), "GPU-00000000-0000-0000-0000-0000000000%02x", no);
	message(&m, sizeof(m));
}

static void stream(uint16_t no, uint32_t of, uint8_t what, uint8_t clock, unsigned names)
{
	struct {
		struct probe_stream s;
		struct probe_name name[PROBE_VALUES_MAX];
	} m = {.s = {.kind = PROBE_STREAM,
		     .stream = no,
		     .what = what,
		     .clock = clock,
		     .gpu = of,
		     .names = names,
		     .source = "pm",
		     .set = "set",
		     .asked_mhz = 1000000,
		     .real_mhz = 1000000,
		     .clocks_locked = -1}};

	for (unsigned i = 0; i < names; i++)
		snprintf(m.name[i].name, sizeof(m.name[i].name), "name %u", i);
	message(&m, sizeof(m.s) + names * sizeof(m.name[0]));
}

static void frame(struct health *h, uint16_t no, uint8_t kind, int64_t t0, int64_t t1, unsigned cnt,
		  double value)
{
	uint64_t head = h->ring.map->head, at = head % RING, left = RING - at;
	uint32_t bytes = (uint32_t)(sizeof(struct probe_frame) + cnt * sizeof(double));
	struct probe_frame *f;

	if (left < bytes) {
		if (left >= sizeof(*f)) {
			f = (struct probe_frame *)((char *)h->ring.map + PROBE_RING_DATA + at);
			*f = (struct probe_frame){.bytes = (uint32_t)left, .kind = PROBE_PAD};
		}
		head += left;
		at = 0;
	}
	f = (struct probe_frame *)((char *)h->ring.map + PROBE_RING_DATA + at);
	*f = (struct probe_frame){bytes, no, kind, PROBE_OVERFLOW, t0, t1};
	for (unsigned i = 0; i < cnt; i++)
		f->value[i] = value + i;
	h->ring.map->head = head + bytes;
}

static struct event_rows write_all(struct health *h, struct db *db)
{
	struct window w = {.from = 0, .to = UINT64_MAX, .from_mono = 0, .to_mono = INT64_MAX};
	const struct windows windows = {&w, 1, 1, 0};

	return health_write(h, db, &windows, 0, INT64_MAX, true);
}

/* Two GPUs, whose samples come in batches: rows are in the order of time, a gap is marked once. */
static void samples_are_merged_and_gaps_marked(void **state)
{
	struct db *db = test_open(false);
	struct health *h = make();

	(void)state;
	hello();
	gpu(0);
	gpu(1);
	stream(0, 0, PROBE_METRICS, PROBE_MONOTONIC, 2);
	stream(1, 1, PROBE_METRICS, PROBE_MONOTONIC, 2);
	for (int k = 0; k < 10; k++)
		if (k < 4 || k > 6)
			frame(h, 0, PROBE_VALUES, k * 1000000, (k + 1) * 1000000, 2, k);
	frame(h, 1, PROBE_VALUES, 500000, 1500000, 2, 50);
	frame(h, 1, PROBE_VALUES, 1500000, 2500000, 2, NAN);
	frame(h, 1, PROBE_VALUES, 2500000, 3500000, 2, 60);
	assert_int_equal(write_all(h, db).cnt, 9);
	assert_int_equal(h->ring.bad, 0);
	done(h);
	assert_int_equal(db_finish(db, 0), 0);
	assert_string_equal(
		ask("SELECT group_concat((timestamp / 1000) || ':' || (typeId & 255) || ':' || "
		    "value, ' ') FROM "
		    "GPU_METRICS WHERE metricId = 1"),
		"0:0:0 500:1:50 1000:0:1 2000:0:2 2500:1:60 3000:0:3 7000:0:7 8000:0:8 9000:0:9");
	assert_string_equal(
		ask("SELECT group_concat((typeId & 255) || ' ' || (start / 1000) || ' ' "
		    "|| (end / 1000) || ' ' || why, ', ') "
		    "FROM (SELECT * FROM SL_GPU_METRIC_GAPS WHERE end < 1000000000 "
		    "ORDER BY start)"),
		"1 1500 2500 late, 0 4000 7000 late");
}

/* Times of another clock wait for their pair; set while it runs, samples stay where they were. */
static void another_clock(void **state)
{
	struct db *db = test_open(false);
	struct health *h = make();
	const int64_t off = 1000000000000, jump = 3000000000;

	(void)state;
	hello();
	gpu(0);
	stream(0, 0, PROBE_METRICS, PROBE_OTHER, 1);
	frame(h, 0, PROBE_CLOCK, off, 0, 0, 0);
	for (int k = 0; k < 100; k++)
		frame(h, 0, PROBE_VALUES, off + k * 1000000 + (k < 60 ? 0 : jump),
		      off + (k + 1) * 1000000 + (k + 1 < 60 ? 0 : jump), 1, k);
	assert_int_equal(write_all(h, db).cnt, 0);
	frame(h, 0, PROBE_CLOCK, off + jump + 100000000, 100000000, 0, 0);
	assert_int_equal(write_all(h, db).cnt, 100);
	done(h);
	assert_int_equal(db_finish(db, 0), 0);
	assert_string_equal(
		ask("SELECT count(*) FROM GPU_METRICS WHERE timestamp / 1000000 <> value"), "0");
}

static uint64_t seed;

static uint64_t draw(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

static void forge_message(void)
{
	static char m[PROBE_MESSAGE_MAX + 64];
	size_t bytes = draw() % 4 ? draw() % 3000 : draw() % sizeof(m);
	uint32_t kind = (uint32_t)(draw() % 8);

	for (size_t i = 0; i < bytes; i++)
		m[i] = (char)(draw() % 3 ? draw() % 4 : draw());
	if (bytes >= sizeof(kind))
		memcpy(m, &kind, sizeof(kind));
	switch (draw() % 4) { /* sizes that are right */
	case 0:
		bytes = sizeof(struct probe_event);
		break;
	case 1:
		bytes = sizeof(struct probe_note);
		break;
	case 2:
		bytes = sizeof(struct probe_stream) + draw() % 66 * sizeof(struct probe_name);
		break;
	default:
		break;
	}
	if (bytes <= sizeof(m))
		send(their_socket, m, bytes, 0);
}

static void forge_ring(struct health *h)
{
	char *data = (char *)h->ring.map + PROBE_RING_DATA;
	struct probe_frame f = {.bytes = (uint32_t)(draw() % 5 ? 24 + draw() % 20 * 8 : draw()),
				.stream = (uint16_t)(draw() % 6 ? draw() % 3 : draw()),
				.kind = (uint8_t)(draw() % 6),
				.why = (uint8_t)(draw() % 9),
				.t0 = (int64_t)(draw() % 3 ? draw() % 100000000 : draw()),
				.t1 = (int64_t)(draw() % 3 ? draw() % 100000000 : draw())};

	for (int i = 0; i < 64; i++)
		memcpy(data + draw() % (RING / 8 - 8) * 8, &f, sizeof(f));
	memcpy(data + h->ring.tail % RING / 8 * 8, &f,
	       RING - h->ring.tail % RING < sizeof(f) ? 8 : sizeof(f));
	h->ring.map->head = draw() % 8 ? h->ring.tail + f.bytes : draw();
	h->ring.map->dropped = draw();
	h->ring.map->bytes = draw();
	h->ring.map->tail = draw();
}

static void forged(void **state)
{
	struct db *db = test_open(false);
	struct health *h = make();

	(void)state;
	seed = getenv("SEED") ? strtoull(getenv("SEED"), NULL, 10) : 88172645463325252u;
	hello();
	gpu(0);
	gpu(255);
	stream(0, 0, PROBE_METRICS, PROBE_OTHER, 3);
	stream(1, 0, PROBE_METRICS, PROBE_MONOTONIC, 64);
	stream(2, 0, PROBE_COUNTERS, PROBE_MONOTONIC, 2);
	assert_true(health_messages(h));
	assert_null(h->stream[3]);
	for (int i = 0; i < 30000; i++) {
		forge_ring(h);
		for (int k = draw() % 3; k; k--)
			forge_message();
		write_all(h, db);
		if (i % 1000 == 0)
			assert_int_equal(db_commit(db, 0), 0);
		assert_true(h->bytes <= 2u << 20);
	}
	assert_true(h->ring.bad > 0);
	assert_true(lines > 0);
	done(h);
	assert_int_equal(db_finish(db, 0), 0);
	assert_string_equal(ask("PRAGMA integrity_check"), "ok");
}

int main(void)
{
#define T(test) cmocka_unit_test_setup_teardown(test, test_setup, test_teardown)
	const struct CMUnitTest tests[] = {
		T(samples_are_merged_and_gaps_marked),
		T(another_clock),
		T(forged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
