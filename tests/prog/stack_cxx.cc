/*
 * stack_cxx.cc TRUTH N - C++ whose stacks are known (shadow.h): inlined and virtual functions, templates, lambdas,
 * exceptions that were thrown and are being handled, destructors that run while one flies.
 */
#include <algorithm>
#include <exception>
#include <functional>
#include <stdexcept>
#include <vector>

#include "tests/prog/shadow.h"

#define NOINLINE __attribute__((noinline))

namespace shapes
{
struct Shape {
	virtual ~Shape() = default;
	virtual void draw(shadow *s, int n) = 0;
};

template <typename T> NOINLINE void each(shadow *s, T count)
{
	IN(s);
	for (T i = 0; i < count; i++)
		TRACED(s);
	OUT(s);
}

struct Circle : Shape {
	void inlined(shadow *s, int n)
	{
		IN(s);
		HERE(s, each<int>(s, n % 2 + 1));
		OUT(s);
	}
	NOINLINE void draw(shadow *s, int n) override
	{
		IN(s);
		HERE(s, inlined(s, n));
		OUT(s);
	}
};

struct Square : Shape {
	NOINLINE void draw(shadow *s, int n) override
	{
		IN(s);
		HERE(s, each<long>(s, 1 + n % 3));
		TRACED(s);
		OUT(s);
	}
};
} // namespace shapes

struct Guard {
	shadow *s;
	int depth;
	explicit Guard(shadow *to) : s(to), depth(to->depth) {}
	NOINLINE ~Guard()
	{
		int was = s->depth;

		s->depth = depth; /* what threw has gone from the stack */
		/* Where it is called then is nowhere in the source: what compilers say of it is of no line or of any. */
		if (std::uncaught_exceptions())
			s->at[depth - 1].line = 0;
		shadow_in(s, "~Guard", __FILE__);
		TRACED(s);
		s->depth = was;
	}
};

NOINLINE static void throws(shadow *s, int n)
{
	IN(s);
	TRACED(s);
	if (n % 3 == 0)
		throw std::runtime_error("third");
	OUT(s);
}

NOINLINE static void handled(shadow *s, int n)
{
	IN(s);
	int depth = s->depth;

	try {
		{ Guard guard(s); HERE(s, throws(s, n)); }
		TRACED(s);
	} catch (const std::exception &) {
		s->depth = depth;
		TRACED(s);
	}
	OUT(s);
}

NOINLINE static void applied(shadow *s, const std::function<void(int)> &f, int n)
{
	IN(s);
	HERE(s, f(n));
	OUT(s);
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	shadow *s = shadow_new(argv[1], 0);
	shapes::Circle circle;
	shapes::Square square;
	std::vector<shapes::Shape *> all{&circle, &square};

	IN(s);
	for (int i = 0; i < atoi(argv[2]); i++) {
		HERE(s, all[(size_t)i % 2]->draw(s, i));
		HERE(s, handled(s, i));
		HERE(s, applied(s, [s](int m) { IN(s); HERE(s, shapes::each<short>(s, short(m % 2 + 1))); OUT(s); }, i));
		{ Guard guard(s); s->at[0].line = __LINE__; }
	}
	shadow_free(s);
	return 0;
}
