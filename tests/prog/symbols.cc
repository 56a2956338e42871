/*
 * symbols.cc - prints where its functions are: a line for each place, "ADDRESS CHAIN". The address is of the call there,
 * in the file's terms; the chain is what a stack should show for it, the innermost first: "function:line|function:line".
 * All but the last are inlined. Lines are made by #line, in a file called shapes.cc.
 */
#include <cstdio>
#include <vector>

extern "C" char __executable_start;
volatile int sink;

extern "C" __attribute__((noinline)) void mark(const char *chain)
{
	std::printf("%lx %s\n",
		    (unsigned long)__builtin_return_address(0) - 1 - (unsigned long)&__executable_start,
		    chain);
}

#define ALWAYS __attribute__((always_inline)) inline
#define NEVER  __attribute__((noinline))

namespace geo {

struct Base {
	int v;
	ALWAYS Base(int x, const char *chain)
	{
#line 100 "shapes.cc"
		mark(chain);
		v = sink = x;
	}
};

template <typename T, int N> struct Box : Base {
#line 110 "shapes.cc"
	ALWAYS Box(int x, const char *chain) : Base(x, chain) {}

	ALWAYS T get(const char *chain) const
	{
#line 120 "shapes.cc"
		mark(chain);
		sink = v;
		return T(v + N);
	}
	NEVER T put(int x) const
	{
#line 130 "shapes.cc"
		mark("geo::Box<long, 3>::put:130");
		sink = x;
		return T(x + v);
	}
	NEVER bool operator<(const Box &other) const
	{
#line 135 "shapes.cc"
		mark("geo::Box<long, 3>::operator<:135");
		sink = v;
		return v < other.v;
	}
};

namespace {
ALWAYS int hidden(int x, const char *chain)
{
#line 140 "shapes.cc"
	mark(chain);
	sink = x;
	return x * sink;
}
NEVER int unseen(int x)
{
#line 150 "shapes.cc"
	mark("geo::(anonymous namespace)::unseen:150");
	sink = x;
	return x;
}
} // namespace

NEVER int outer(int x)
{
#line 200 "shapes.cc"
	Box<long, 3> box(x, "geo::Base::Base:100|geo::Box<long, 3>::Box:110|geo::outer:200");
#line 210 "shapes.cc"
	int sum = hidden(x, "geo::(anonymous namespace)::hidden:140|geo::outer:210");
#line 220 "shapes.cc"
	sum += (int)box.get("geo::Box<long, 3>::get:120|geo::outer:220");
	auto inside = [&](int y) NEVER {
#line 230 "shapes.cc"
		mark("geo::outer::{lambda(int)#1}::operator():230");
		sink = y + box.v;
		return sink + sum;
	};
#line 240 "shapes.cc"
	mark("geo::outer:240");
	sum += inside(x) + (int)box.put(x) + unseen(x) + (box < box);
	return sum + sink;
}

template <class T> NEVER T twice(T x, const char *chain)
{
#line 300 "shapes.cc"
	mark(chain);
	sink = (int)x;
	return x + x;
}

} // namespace geo

NEVER int rarely(int x)
{
	if (__builtin_expect(sink == 12345, 0)) {
#line 400 "shapes.cc"
		mark("rarely:400");
		sink = x;
	}
	return sink;
}

extern "C" NEVER int plain(int x)
{
#line 500 "shapes.cc"
	mark("plain:500");
	return sink = x;
}

int main()
{
	std::vector<int> list(4, 1);
	int sum = geo::outer(list[0]);

	sum += geo::twice<int>(sum, "geo::twice<int>:300");
	sum += (int)geo::twice<double>(sum, "geo::twice<double>:300");
	sink = 12345;
	sum += rarely(sum) + plain(sum);
#line 600 "shapes.cc"
	mark("main:600");
	return (sum ^ sum) + sink * 0;
}
