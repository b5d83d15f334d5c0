// SPDX-License-Identifier: Apache-2.0
// Names of classes from the symbols of vtables; expected are those of c++filt.
#include "native/class_name.h"

#include "suite.h"

static void check(const char *symbol, const char *expected)
{
	struct gr_arena arena = { 0 };
	const char *name;

	assert_null(gr_class_name(&arena, symbol, &name));
	if (expected)
		assert_string_equal(name, expected);
	else
		assert_null(name);
	gr_arena_deinit(&arena);
}

TEST(names)
{
	check("_ZTV5Shape", "Shape");
	check("_ZTVN8geometry6CircleE", "geometry::Circle");
	check("_ZTVN12_GLOBAL__N_16HiddenE", "(anonymous namespace)::Hidden");
	check("_ZTVSt9exception", "std::exception");
	check("_ZTVZ10make_localvE5Local", "make_local()::Local");
	check("_ZTVZL10make_localiPKcE5Local_0",
	      "make_local(int, char const*)::Local");
	check("_ZTVZNK1A3runEvE5Local", "A::run() const::Local");
	check("_ZTVNSt7__cxx1118basic_stringstreamIcSt11char_traitsIcESaIcEEE",
	      "std::__cxx11::basic_stringstream<char, std::char_traits<char>, "
	      "std::allocator<char> >");
}

TEST(arguments)
{
	check("_ZTVN8geometry3BoxIiLi3EEE", "geometry::Box<int, 3>");
	check("_ZTVN8geometry3BoxIPKNS_5ShapeELi2EEE",
	      "geometry::Box<geometry::Shape const*, 2>");
	check("_ZTV3BoxIPFvicELj4ELb1ELln5EE",
	      "Box<void (*)(int, char), 4u, true, -5l>");
	check("_ZTV3BoxIRA3_iM1AFvvEMS2_iE",
	      "Box<int (&) [3], void (A::*)(), int A::*>");
	check("_ZTV3BoxIS_IiEJcdEE", "Box<Box<int>, char, double>");
	check("_ZTV3BoxIJEE", "Box<>");
	check("_ZTVNSt6thread11_State_implINS_8_InvokerISt5tupleIJZ4mainE"
	      "UlvE_EEEEEE",
	      "std::thread::_State_impl<std::thread::_Invoker<std::tuple<"
	      "main::{lambda()#1}> > >");
}

static void check_variable(const char *symbol, const char *expected)
{
	struct gr_arena arena = { 0 };
	const char *name;

	assert_null(gr_variable_name(&arena, symbol, &name));
	assert_string_equal(name, expected);
	gr_arena_deinit(&arena);
}

TEST(variables)
{
	check_variable("_ZL6shapes", "shapes");
	check_variable("_ZN8geometry5Shape4lastE", "geometry::Shape::last");
	check_variable("_ZZ11lose_shapesiE6holder", "lose_shapes(int)::holder");
	check_variable("_ZN3BoxIiE5countE", "Box<int>::count");
	check_variable("_ZL6shapes in libgeometry.so",
		       "shapes in libgeometry.so");
	// Others stay as they are.
	check_variable("shapes", "shapes");
	check_variable("_Z", "_Z");
	check_variable("_ZL6shap", "_ZL6shap");
	check_variable("_ZL6shapes.0", "_ZL6shapes.0");
	check_variable("_ZN8geometry3runEv", "_ZN8geometry3runEv");
	check_variable("_ZTV5Shape", "_ZTV5Shape");
	check_variable("_ZGVL6shapes", "_ZGVL6shapes");
}

TEST(none)
{
	check("", NULL);
	check("shapes", NULL);
	check("_ZTI5Shape", NULL);
	check("_ZTV", NULL);
	check("_ZTV9Shape", NULL);
	check("_ZTV5Shapes", NULL);
	check("_ZTVN5Shape", NULL);
	check("_ZTVS0_", NULL);
	check("_ZTV3BoxIXadL_Z4mainEEE", NULL); // an expression
	check("_ZTV99999999999999999999x", NULL);
}

/* A short symbol that stands for 2^32 times its first part, and one that is
 * nested more deeply than any name. */
TEST(limits)
{
	static const char ids[] = "3456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	char text[2048];
	size_t n =
		(size_t)snprintf(text, sizeof(text), "_ZTV1aI1bIccE1cIS1_S1_E");

	for (size_t i = 0; ids[i]; i++) {
		n += (size_t)snprintf(text + n, sizeof(text) - n,
				      "S2_IS%c_S%c_E", ids[i], ids[i]);
		// Each but the first few is too long, and none takes long.
		snprintf(text + n, sizeof(text) - n, "E");
		if (!i)
			check(text, "a<b<char, char>, c<b<char, char>, b<char, "
				    "char> >, c<c<b<char, char>, b<char, "
				    "char> >, c<b<char, char>, b<char, "
				    "char> > > >");
	}
	check(text, NULL);
	memset(text, 'P', 1000);
	memcpy(text, "_ZTV1aI", 7);
	snprintf(text + 1000, sizeof(text) - 1000, "iE");
	check(text, NULL);
}

/* A long name with so many pointers that their texts together are too long. The
 * pool is full when the next pointer is to be written. */
TEST(pointers)
{
	enum { PREFIX = 4, POINTERS = 60, LETTERS = 1100 };
	char text[2048] = "_ZTV";

	memset(text + PREFIX, 'P', POINTERS);
	memcpy(text + PREFIX + POINTERS, "1100", 4);
	memset(text + PREFIX + POINTERS + 4, 'a', LETTERS);
	text[PREFIX + POINTERS + 4 + LETTERS] = '\0';
	check(text, NULL);
}

/* No part of a name is read as anything else: each cut is told or is not. */
TEST(cut)
{
	static const char whole[] =
		"_ZTVNSt6thread11_State_implINS_8_InvokerISt5tupleIJZN1AC1EiE"
		"UlvE_PFvRA3_KcELm7EMS5_iSaISsEEEEEE";
	char part[sizeof(whole)];

	for (size_t n = 0; n < sizeof(whole) - 1; n++) {
		struct gr_arena arena = { 0 };
		const char *name;

		memcpy(part, whole, n);
		part[n] = '\0';
		assert_null(gr_class_name(&arena, part, &name));
		assert_null(name);
		gr_arena_deinit(&arena);
	}
}

GR_SUITE("names of classes")
