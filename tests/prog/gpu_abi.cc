/*
 * gpu_abi.cc DIRECTORY - calls functions of GPU libraries (tests/prog/lib/abi_*.c, found in DIRECTORY under the names of
 * the real ones) with recognizable arguments, and checks that they arrive as they were given; leaves calls by exceptions and
 * longjmp; unwinds through them. Prints what it did: the same with and without the tracer.
 */
#include <csetjmp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <string>
#include <unwind.h>

struct dim3 {
	unsigned x, y, z;
};
struct extent {
	size_t width, height, depth;
};

static unsigned char want[512];
static size_t want_len;
static unsigned char *noted;
static size_t *noted_len;
static int failures;

static void add() {}
template <typename T, typename... Rest> static void add(T first, Rest... rest)
{
	memcpy(want + want_len, &first, sizeof(first));
	want_len += sizeof(first);
	add(rest...);
}

static void *library(const std::string &dir, const char *name)
{
	void *h = dlopen((dir + "/" + name).c_str(), RTLD_NOW | RTLD_LOCAL);

	if (!h) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	noted = static_cast<unsigned char *>(dlsym(h, "abi_noted"));
	noted_len = static_cast<size_t *>(dlsym(h, "abi_len"));
	return h;
}

template <typename... Args> static void call(void *h, const char *name, int result, Args... args)
{
	auto f = reinterpret_cast<int (*)(Args...)>(dlsym(h, name));
	int rc = f(args...);

	want_len = 0;
	add(args...);
	bool ok = rc == result && want_len == *noted_len && memcmp(want, noted, want_len) == 0;
	printf("%s %s\n", name, ok ? "ok" : "WRONG");
	failures += !ok;
}

static jmp_buf away;
static int frames;

static _Unwind_Reason_Code count_frame(_Unwind_Context *, void *)
{
	frames++;
	return _URC_NO_REASON;
}
static void leave_by_throw()
{
	throw 42;
}
static void leave_by_jump()
{
	longjmp(away, 1);
}
static void unwind()
{
	frames = 0;
	_Unwind_Backtrace(count_frame, nullptr);
}

int main(int argc, char **argv)
{
	std::string dir = argc > 1 ? argv[1] : ".";
	void *rt = library(dir, "libcudart.so.13");
	auto p = [](uintptr_t v) { return reinterpret_cast<void *>(v); };
	auto during = static_cast<void (**)()>(dlsym(rt, "abi_during"));
	void *out = nullptr, *pitched[4] = {};

	call(rt, "cudaMemcpyAsync", 0, p(0x1122334455667788), p(0x99), size_t(1) << 40, 3, p(0xabc));
	call(rt, "cudaLaunchKernel", 0, p(0xf), dim3{1, 2, 3}, dim3{4, 5, 6}, static_cast<void **>(nullptr),
	     size_t(48), p(0x5));
	call(rt, "cudaMalloc3D", 0, &pitched, extent{11, 22, 33});
	call(rt, "cudaMemcpy2DArrayToArray", 0, p(1), size_t(2), size_t(3), p(4), size_t(5), size_t(6), size_t(7),
	     size_t(8), 9);
	call(rt, "cudaMalloc", 0, &out, size_t(4096));
	call(rt, "cudaFree", 17, p(0x7000));
	printf("allocated %p\n", out);

	auto sync = reinterpret_cast<int (*)()>(dlsym(rt, "cudaDeviceSynchronize"));
	*during = leave_by_throw;
	try {
		sync();
		printf("not thrown\n");
	} catch (int n) {
		printf("caught %d\n", n);
	}
	*during = leave_by_jump;
	if (setjmp(away) == 0)
		sync();
	else
		printf("jumped\n");
	*during = unwind;
	sync();
	printf("unwound %s\n", frames >= 4 ? "to the end" : "not far");
	*during = nullptr;
	printf("last %d\n", sync());

	void *dnn = library(dir, "libcudnn.so.9");
	call(dnn, "cudnnSetDropoutDescriptor", 0, p(1), p(2), 0.25f, p(3), size_t(4), uint64_t(5));
	call(dnn, "cudnnSetActivationDescriptor", 3000, p(1), 2, 3, 1.5);

	/* Unloaded and loaded again, perhaps elsewhere. */
	for (int i = 0; i < 3; i++) {
		dlclose(dnn);
		dnn = library(dir, "libcudnn.so.9");
		call(dnn, "cudnnSetActivationDescriptor", 3000, p(4), 5, 6, 2.5);
	}
	return failures != 0;
}
