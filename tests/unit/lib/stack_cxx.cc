// stack_cxx.cc - stacks of C++ functions: inlined, virtual, with exceptions passing through.
#include "tests/unit/lib/stack_cases.h"

#include <memory>
#include <string>

namespace
{
struct shape {
	virtual ~shape() = default;
	virtual void visit(int depth) = 0;
};

struct leaf : shape {
	CASE void visit(int) override
	{
		NOTE();
		truth.probe();
		HERE();
	}
};

struct node : shape {
	std::unique_ptr<shape> next;
	CASE void visit(int depth) override
	{
		NOTE();
		next->visit(depth - 1);
		HERE();
	}
};

CASE void throws(int depth)
{
	std::string keeps(static_cast<size_t>(depth) + 40, 'x');

	if (depth == 0)
		throw std::string("thrown");
	throws(depth - 1);
	__asm__ volatile("" ::"r"(keeps.data()) : "memory");
}

struct guard {
	CASE ~guard()
	{
		NOTE();
		truth.probe();
		HERE();
	}
};

// In the destructor, while an exception passes: frames of the unwinding library lie between.
CASE void unwound(int depth)
{
	guard g;

	NOTE();
	throws(depth);
	HERE();
}

inline __attribute__((always_inline)) void twice(int depth)
{
	if (depth > 0) {
		truth.probe();
		HERE();
	}
}
} // namespace

void case_virtual(int depth)
{
	std::unique_ptr<shape> all = std::make_unique<leaf>();

	NOTE();
	for (int i = 0; i < depth; i++) {
		auto n = std::make_unique<node>();

		n->next = std::move(all);
		all = std::move(n);
	}
	all->visit(depth);
	HERE();
}

void case_exception(int depth)
{
	NOTE();
	try {
		unwound(depth);
	} catch (const std::string &) {
		HERE();
	}
}

void case_inlined(int depth)
{
	NOTE();
	twice(depth);
	HERE();
}
