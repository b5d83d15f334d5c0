// SPDX-License-Identifier: Apache-2.0
// Objects of C++: what they are, only their vtables say, but for two.
#include "types.h"

namespace geometry
{

class Shape
{
    public:
	long id = 1;
	Shape *next = nullptr;
	static Shape *last;
	virtual ~Shape()
	{
	}
	virtual int corners()
	{
		return 0;
	}
};

Shape *Shape::last;

class Circle : public Shape
{
    public:
	double radius = 2;
	int corners() override
	{
		return 1;
	}
};

template <typename T, int N> class Box : public Shape
{
    public:
	T values[N] = {};
	int corners() override
	{
		return N;
	}
};

class Other
{
    public:
	virtual ~Other()
	{
	}
	long other = 3;
};

class Both : public Shape, public Other
{
};

/* No vtable. */
struct Plain {
	Shape *shape;
	long number;
};

} // namespace geometry

namespace
{

class Hidden : public geometry::Circle
{
	int corners() override
	{
		return 7;
	}
};

} // namespace

using namespace geometry;

USED static void *shapes[16];
USED static Shape *base;
USED static Plain *plain;
USED static Other *interior;

static Shape *make_local()
{
	class Local : public Shape
	{
		int corners() override
		{
			return 5;
		}
	};

	return new Local;
}

template <typename T> static T *made(const char *name, T *object,
				     const char *type)
{
	note(name, object, type);
	return object;
}

void lose_shapes(int n)
{
	static Shape *volatile holder;

	for (int i = 0; i < n; i++)
		holder = new Box<long, 20>;
	holder = nullptr;
}

static void *array_of_circles(int n)
{
	Circle *circles = new Circle[n];
	void *block = reinterpret_cast<long *>(circles) - 1;

	note("circles", block, "[]geometry::Circle");
	return circles;
}

void make_shapes(void)
{
	int n = 0;

	shapes[n++] = made("circle", new Circle, "geometry::Circle");
	shapes[n++] = made("box", new Box<int, 3>, "geometry::Box<int, 3>");
	shapes[n++] = made("box of pointers", new Box<const Shape *, 2>,
			   "geometry::Box<geometry::Shape const*, 2>");
	shapes[n++] = made("hidden", new Hidden,
			   "(anonymous namespace)::Hidden");
	shapes[n++] = made("local", make_local(), "make_local()::Local");
	shapes[n++] = array_of_circles(5);
	// One is no proof: a number may stand before an object.
	shapes[n++] = made("no array", new long[4]{ 1, 0, 0, 0 }, "");
	base = made("derived", new Circle, "geometry::Circle");
	base->next = made("next", new Both, "geometry::Both");
	Shape::last = made("last", new Shape, "geometry::Shape");
	plain = made("plain", new Plain(), "geometry::Plain");
	plain->shape = made("of plain", new Circle, "geometry::Circle");
	// The only pointer to it leads to its inside.
	Both *both = new Both;
	interior = both;
	note("interior", both, "geometry::Both");
}
