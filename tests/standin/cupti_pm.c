/* cupti_pm.c - the stand-in for libcupti: sessions of PM sampling, and the hardware's buffer. */
#include "tests/standin/cupti_pm.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define OBJECT_MAGIC 0x6a626f6d70u
#define SAMPLE_BYTES 256 /* in the hardware's buffer */
#define NS           1000000000

struct session {
	uint64_t magic;
	size_t device;
	bool is_enabled, is_configured, is_started, is_full;
	int lock;
	/* What it was configured with. */
	const uint8_t *config;
	struct pm_image_head head;
	uint64_t interval;
	int trigger, append;
	uint64_t room; /* samples */
	/* The next sample that the decoder has not handed out, and that is its first one. */
	uint64_t number;
	int64_t next;
	bool is_first;
	unsigned starts;
};
static struct session sessions[PM_GPUS];
static uint64_t rounds; /* of all decoders */
static int64_t begun;
static bool is_initialized;

/* ---- moods, arguments ---- */

long standin_pm_mood(const char *name)
{
	const char *list = getenv("SL_STANDIN_PM");
	size_t len = strlen(name);

	for (; list && *list; list = strchr(list, ',') ? strchr(list, ',') + 1 : NULL) {
		if (strncmp(list, name, len) != 0)
			continue;
		if (!list[len] || list[len] == ',')
			return 0;
		if (list[len] == '=')
			return atol(list + len + 1);
	}
	return -1;
}

int standin_pm_check_size(const void *params, size_t size)
{
	const struct pm_none *p = params;

	return p && p->struct_size == size && !p->priv ? PM_OK : PM_INVALID_PARAMETER;
}

int standin_pm_check(const char *function, const void *params, size_t size, size_t other)
{
	const struct pm_none *p = params;
	int result = standin_fails(function, 0);

	if (result)
		return result;
	if (!p || (p->struct_size != size && (!other || p->struct_size != other)) || p->priv)
		return PM_INVALID_PARAMETER;
	return PM_OK;
}

bool standin_pm_initialized(void)
{
	return is_initialized;
}

static int ask_driver(const char *name, int *value)
{
	void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
	int (*ask)(int *) = driver ? (int (*)(int *))dlsym(driver, name) : NULL;

	return ask ? ask(value) : PM_UNKNOWN;
}

const char *standin_pm_chip(size_t device)
{
	static char names[PM_GPUS][16];
	const char *list = getenv("STANDIN_PM_CHIPS");
	int cnt = 0;

	if (ask_driver("cuDeviceGetCount", &cnt) || device >= (size_t)cnt || device >= PM_GPUS)
		return NULL;
	list = list ? list : "GH100";
	for (size_t i = 0; i < device && strchr(list, ','); i++)
		list = strchr(list, ',') + 1;
	snprintf(names[device], sizeof(names[device]), "%.*s", (int)strcspn(list, ","), list);
	return names[device];
}

PM_EXPORT int cuptiProfilerInitialize(struct pm_none *p)
{
	int cnt;

	PM_CHECK("ProfilerInitialize", p, 16, 0);
	if (ask_driver("cuDeviceGetCount", &cnt))
		return PM_UNKNOWN;
	is_initialized = true;
	return PM_OK;
}

PM_EXPORT int cuptiProfilerDeInitialize(struct pm_none *p)
{
	PM_CHECK("ProfilerDeInitialize", p, 16, 0);
	if (!is_initialized)
		standin_wrong("cuptiProfilerDeInitialize a second time");
	is_initialized = false;
	return PM_OK;
}

PM_EXPORT int cuptiProfilerDeviceSupported(struct pm_device_supported *p)
{
	PM_CHECK("ProfilerDeviceSupported", p, 52, 0);
	if (p->api != PM_PROFILER_API || !standin_pm_chip((size_t)p->device))
		return PM_INVALID_PARAMETER;
	p->is_supported = p->architecture = p->sli = p->vgpu = p->confidential = p->mining =
		p->wsl = PM_LEVEL_SUPPORTED;
	if (standin_pm_mood("vgpu") >= 0)
		p->is_supported = p->vgpu = 2;
	return PM_OK;
}

/* A context of this process, which takes memory of the GPU. */
static bool has_context(int device)
{
	void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
	int (*ask)(int, unsigned *, int *) = driver ? (int (*)(int, unsigned *, int *))dlsym(
							      driver, "cuDevicePrimaryCtxGetState")
						    : NULL;
	unsigned flags;
	int is_active = 0;

	return ask && ask(device, &flags, &is_active) == 0 && is_active;
}

PM_EXPORT int cuptiDeviceGetChipName(struct pm_chip_name *p)
{
	if (!is_initialized)
		standin_wrong("cuptiDeviceGetChipName before cuptiProfilerInitialize, where the "
			      "real one crashes");
	PM_CHECK("DeviceGetChipName", p, 32, 0);
	p->chip = standin_pm_chip(p->device);
	if (!p->chip)
		return PM_INVALID_PARAMETER;
	if (standin_pm_mood("context") >= 0)
		return has_context((int)p->device) ? PM_OK : PM_UNKNOWN;
	if (has_context((int)p->device))
		standin_wrong("a context without need");
	return PM_OK;
}

PM_EXPORT int cuptiPmSamplingGetCounterAvailability(struct pm_availability *p)
{
	PM_CHECK("PmSamplingGetCounterAvailability", p, 40, 0);
	if (!is_initialized || !standin_pm_chip(p->device))
		return PM_INVALID_PARAMETER;
	if (standin_pm_mood("denied-early") >= 0)
		return PM_INSUFFICIENT_PRIVILEGES;
	if (!p->image) {
		p->image_size = 512;
		return PM_OK;
	}
	if (p->image_size < 512)
		return PM_INVALID_PARAMETER;
	memset(p->image, 0x5a, 512);
	return PM_OK;
}

/* ---- sessions ---- */

static struct session *session_of(void *object)
{
	struct session *s = object;

	if (!s || s->magic != OBJECT_MAGIC || !s->is_enabled)
		standin_wrong("an object of PM sampling that is not enabled");
	return s;
}

/* False: another client samples this GPU. */
static bool take_gpu(struct session *s)
{
	const char *folder = getenv("STANDIN_PM_LOCK");
	char path[4096];

	s->lock = -1;
	if (!folder)
		return true;
	snprintf(path, sizeof(path), "%s/gpu%zu", folder, s->device);
	s->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	if (s->lock >= 0 && flock(s->lock, LOCK_EX | LOCK_NB) == 0)
		return true;
	if (s->lock >= 0)
		close(s->lock);
	s->lock = -1;
	return false;
}

PM_EXPORT int cuptiPmSamplingEnable(struct pm_enable *p)
{
	struct session *s;
	long held = standin_pm_mood("held");

	PM_CHECK("PmSamplingEnable", p, 32, 0);
	if (!is_initialized || !standin_pm_chip(p->device))
		return PM_INVALID_PARAMETER;
	if (standin_timestamp)
		standin_wrong("a timestamp callback, through which times of samples would go");
	s = &sessions[p->device];
	if (s->is_enabled)
		return PM_INVALID_OPERATION;
	if (standin_pm_mood("denied") >= 0)
		return PM_INSUFFICIENT_PRIVILEGES;
	if (held >= 0)
		return held ? (int)held : PM_HARDWARE_BUSY;
	s->device = p->device;
	if (!take_gpu(s))
		return PM_HARDWARE_BUSY;
	s->magic = OBJECT_MAGIC;
	s->is_enabled = true;
	s->is_configured = s->is_started = s->is_full = false;
	p->object = s;
	return PM_OK;
}

PM_EXPORT int cuptiPmSamplingDisable(struct pm_object *p)
{
	struct session *s;

	PM_CHECK("PmSamplingDisable", p, 24, 0);
	s = session_of(p->object);
	s->is_enabled = s->is_started = false;
	if (s->lock >= 0)
		close(s->lock);
	return PM_OK;
}

PM_EXPORT int cuptiPmSamplingSetConfig(struct pm_set_config *p)
{
	bool has_append = standin_version() >= PM_APPEND_MODE, is_turing;
	struct session *s;
	const char *chip;

	PM_CHECK("PmSamplingSetConfig", p, has_append ? 64 : 60, 0);
	s = session_of(p->object);
	chip = standin_pm_chip(s->device);
	is_turing = strncmp(chip, "TU", 2) == 0;
	if (s->is_configured)
		standin_wrong("a session is configured anew");
	if (!p->config || p->config_size < sizeof(s->head) || !p->interval)
		return PM_INVALID_PARAMETER;
	memcpy(&s->head, p->config, sizeof(s->head));
	if (s->head.magic != PM_CONFIG_MAGIC)
		return PM_INVALID_PARAMETER;
	if (s->head.passes != 1)
		return PM_NOT_SUPPORTED;
	if (p->trigger == PM_TRIGGER_TIME && (is_turing || strcmp(chip, "GA100") == 0))
		return PM_NOT_SUPPORTED;
	s->append = has_append ? p->append : PM_KEEP_OLDEST;
	if (s->append == PM_KEEP_LATEST && is_turing)
		return PM_INVALID_PARAMETER;
	s->config = p->config;
	s->interval = p->interval;
	s->trigger = p->trigger;
	s->room = standin_env("STANDIN_PM_SAMPLES", p->buffer_size / SAMPLE_BYTES);
	s->is_configured = true;
	return PM_OK;
}

/* Of the sample that begins then. */
static int64_t length_at(const struct session *s, int64_t at)
{
	if (s->trigger == PM_TRIGGER_TIME)
		return (int64_t)s->interval;
	return (int64_t)(s->interval * NS / standin_pm_sys_hz(s->device, at));
}

PM_EXPORT int cuptiPmSamplingStart(struct pm_object *p)
{
	int64_t now = (int64_t)standin_now();
	struct session *s;

	PM_CHECK("PmSamplingStart", p, 24, 0);
	s = session_of(p->object);
	if (!s->is_configured || s->is_started)
		return PM_INVALID_OPERATION;
	if (!begun)
		begun = now;
	/* Numbers go on as if it had never stopped: what is missing shows. */
	if (!s->next)
		s->next = now - now % (int64_t)s->interval;
	while (s->next < now) {
		s->next += length_at(s, s->next);
		s->number++;
	}
	s->is_started = s->is_first = true;
	s->starts++;
	s->is_full = false;
	return PM_OK;
}

PM_EXPORT int cuptiPmSamplingStop(struct pm_object *p)
{
	struct session *s;

	PM_CHECK("PmSamplingStop", p, 24, 0);
	s = session_of(p->object);
	if (!s->is_started)
		return PM_INVALID_OPERATION;
	s->is_started = false;
	return PM_OK;
}

/* ---- images ---- */

#define IMAGE_MAGIC 0x6567616d696d70u
struct image {
	uint64_t magic, blank; /* blank: as initialized; a round needs that */
	uint64_t most, cnt, completed;
	uint64_t sum; /* of the samples */
	struct sample {
		uint64_t number, start, end;
		int64_t t0, t1;
		bool is_wild; /* the first one after a start */
	} at[];
};

/* As long as a real one, of which a reset costs what it costs there. */
static size_t image_bytes(uint64_t most)
{
	size_t each = standin_env("STANDIN_PM_IMAGE", 512);

	return sizeof(struct image) +
	       most * (each > sizeof(struct sample) ? each : sizeof(struct sample));
}

PM_EXPORT int cuptiPmSamplingGetCounterDataSize(struct pm_data_size *p)
{
	struct session *s;

	PM_CHECK("PmSamplingGetCounterDataSize", p, 56, 0);
	s = session_of(p->object);
	if (!p->samples || p->cnt != s->head.cnt)
		return PM_INVALID_PARAMETER;
	for (size_t i = 0; i < p->cnt; i++)
		if (strcmp(p->names[i], standin_pm_metric(s->head.metrics[i])) != 0)
			return PM_INVALID_PARAMETER;
	p->size = image_bytes(p->samples);
	return PM_OK;
}

PM_EXPORT int cuptiPmSamplingCounterDataImageInitialize(struct pm_data_init *p)
{
	size_t each = image_bytes(1) - image_bytes(0);
	struct image *image = (struct image *)p->image;

	PM_CHECK("PmSamplingCounterDataImageInitialize", p, 40, 0);
	session_of(p->object);
	if (!image || p->size < image_bytes(1))
		return PM_INVALID_PARAMETER;
	memset(image, 0, p->size);
	image->magic = image->blank = IMAGE_MAGIC;
	image->most = (p->size - sizeof(*image)) / each;
	return PM_OK;
}

static const struct image *image_of(const uint8_t *bytes)
{
	const struct image *image = (const struct image *)bytes;

	return image && image->magic == IMAGE_MAGIC ? image : NULL;
}

PM_EXPORT int cuptiPmSamplingGetCounterDataInfo(struct pm_data_info *p)
{
	const struct image *image;

	PM_CHECK("PmSamplingGetCounterDataInfo", p, 56, 0);
	image = image_of(p->image);
	if (!image)
		return PM_INVALID_PARAMETER;
	p->total = image->most;
	p->populated = image->cnt;
	p->completed = image->completed;
	return PM_OK;
}

PM_EXPORT int cuptiPmSamplingCounterDataGetSampleInfo(struct pm_sample_info *p)
{
	const struct image *image;

	if (standin_pm_check_size(p, 64))
		return PM_INVALID_PARAMETER;
	image = image_of(p->image);
	if (!image || p->index >= image->completed)
		return PM_INVALID_PARAMETER;
	p->start = image->at[p->index].start;
	p->end = image->at[p->index].end;
	return PM_OK;
}

PM_EXPORT int cuptiProfilerHostEvaluateToGpuValues(struct pm_evaluate *p)
{
	const struct pm_host_object *h = p->host;
	const struct image *image;
	const struct sample *sample;
	size_t device;

	if (standin_pm_check_size(p, 72))
		return PM_INVALID_PARAMETER;
	image = image_of(p->image);
	if (!image || !h || p->index >= image->completed || p->cnt != h->config.cnt)
		return PM_INVALID_PARAMETER;
	if (!standin_pm_host_is_good(h))
		standin_wrong("the host object, or its names, are not what they were");
	device = (size_t)image->sum;
	sample = &image->at[p->index];
	for (size_t i = 0; i < p->cnt; i++) {
		if (strcmp(p->names[i], h->texts[i]) != 0)
			return PM_INVALID_METRIC_NAME;
		p->values[i] = !sample->is_wild
				       ? standin_pm_value(h->config.metrics[i], device,
							  sample->number, sample->t0, sample->t1)
				       : 1e19;
	}
	return PM_OK;
}

/* ---- rounds ---- */

/* Samples of which the hardware's buffer has not kept enough. */
static bool overflow(struct session *s, int64_t now)
{
	int64_t length = length_at(s, s->next), waiting = (now - s->next) / length, lost;

	if (waiting <= (int64_t)s->room)
		return false;
	if (s->append == PM_KEEP_OLDEST) {
		s->is_full = true;
		return true;
	}
	lost = waiting - (int64_t)s->room;
	s->number += (uint64_t)lost;
	s->next += lost * length;
	return true;
}

/* A fault of the thread: it comes through where signals are blocked. */
static void crash_here(void)
{
	*(volatile int *)(uintptr_t)standin_env("STANDIN_PM_NOWHERE", 8) = 0;
}

static void trouble(const struct session *s)
{
	long crash = standin_pm_mood("crash"), hang = standin_pm_mood("hang");

	rounds++;
	if (crash >= 0 && rounds > (uint64_t)crash)
		crash_here();
	while (hang >= 0 && rounds > (uint64_t)hang)
		pause();
	if (memcmp(&s->head, s->config, sizeof(s->head)) != 0)
		standin_wrong("the configuration has changed since SetConfig");
}

static void fill(struct session *s, struct image *image, int64_t until, uint64_t most)
{
	while (image->cnt < most) {
		int64_t end = s->next + length_at(s, s->next);
		struct sample *to = &image->at[image->cnt];

		if (end > until)
			break;
		*to = (struct sample){
			s->number,  standin_pm_time(s->next), standin_pm_time(end), s->next, end,
			s->is_first};
		/* The real one has values of anything for the first, and may have no start. */
		if (s->is_first && s->starts == 1)
			to->start = 0;
		s->is_first = false;
		s->next = end;
		s->number++;
		image->cnt++;
	}
	image->completed = image->cnt;
	image->sum = s->device;
}

PM_EXPORT int cuptiPmSamplingDecodeData(struct pm_decode *p)
{
	int64_t now = (int64_t)standin_now(), late = standin_pm_mood("slow") >= 0 ? NS / 2 : 0;
	long lost = standin_pm_mood("lost");
	struct session *s;
	struct image *image;
	uint64_t most;

	PM_CHECK("PmSamplingDecodeData", p, 45, 0);
	s = session_of(p->object);
	image = (struct image *)p->image;
	if (!s->is_started)
		return PM_INVALID_OPERATION;
	if (!image_of(p->image))
		return PM_INVALID_PARAMETER;
	if (image->blank != IMAGE_MAGIC || image->cnt)
		standin_wrong("an image that is not as it was initialized");
	trouble(s);
	if (lost >= 0 && now - begun > lost * 1000000)
		return PM_UNKNOWN;
	p->overflow = overflow(s, now);
	if (s->is_full)
		return PM_OUT_OF_MEMORY;
	/* Each fifth round ends for a reason of its own, with half of the samples. */
	most = rounds % 5 ? image->most : image->most / 2 + 1;
	fill(s, image, now - late, most);
	if (image->cnt)
		image->blank = 0;
	p->stop_reason = s->next + length_at(s, s->next) > now - late ? PM_STOP_END_OF_RECORDS
			 : most < image->most                         ? PM_STOP_OTHER
								      : PM_STOP_FULL;
	return PM_OK;
}
