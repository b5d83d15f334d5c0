// SPDX-License-Identifier: Apache-2.0
/* Types that a person may have meant by a wrong name. */
#include "goruntime/types/near_names.h"

#include "base/nearest.h"

#include "polls.h"
#include "types_memory.h"

enum { MANY = 3000 };

struct fixture {
	struct types_memory m;
};

static void add(struct fixture *f, const char *name)
{
	types_memory_add(&f->m, (gr_type_id)f->m.types.types.size,
			 (struct gr_type){ .name = name,
					   .elem = GR_TYPE_NONE,
					   .key = GR_TYPE_NONE });
}

static struct fixture *start(void)
{
	static const char *const names[] = {
		"int",
		"string",
		"main.Session",
		"*main.Session",
		"main.Sessions",
		"main.Item",
		"main.item",
		"main.Cat",
		"example.org/a/b.Widget",
		"main.main.func1",
	};
	struct fixture *f = suite_alloc(sizeof(*f));

	types_memory_init(&f->m, 16);
	for (size_t i = 0; i < GR_ARRAY_SIZE(names); i++)
		add(f, names[i]);
	return f;
}

#define FIXTURE struct fixture *f, start, types_memory_stop

TEST_F(errors)
{
	static const struct {
		const char *name, *want;
	} rows[] = {
		{ "main.Sesion",
		  "there is no type main.Sesion; did you mean main.Session or "
		  "main.Sessions?" },
		{ "main.Itm",
		  "there is no type main.Itm; did you mean main.Item or "
		  "main.item?" },
		{ "[]main.Sesion",
		  "there is no type main.Sesion; did you mean main.Session or "
		  "main.Sessions?" },
		{ "[3][]main.Caf", "there is no type main.Caf; did you mean "
				   "main.Cat?" },
		{ "begins with main.Caf",
		  "there is no type main.Caf; did you mean main.Cat?" },
		{ "*main.Sesion",
		  "there is no type *main.Sesion; did you mean *main.Session?" },
		{ "b.Widget", "there is no type b.Widget; did you mean "
			      "example.org/a/b.Widget?" },
		{ "xyz.Nothing", "there is no type xyz.Nothing; `goref "
				 "histogram' lists the types" },
		{ "", "there is no type ; `goref histogram' lists the types" },
	};

	for (size_t i = 0; i < GR_ARRAY_SIZE(rows); i++) {
		struct gr_error *err =
			gr_types_no_such(&f->m.types, rows[i].name);

		assert_non_null(err);
		assert_int_equal(err->code, GR_ERROR_NOT_FOUND);
		assert_string_equal(err->message, rows[i].want);
		gr_error_destroy(err);
	}
}

TEST_F(names)
{
	static const struct {
		const char *name;
		bool want;
	} rows[] = {
		{ "main.Session", true },
		{ "[]main.Session", true },
		{ "[48]main.Session", true },
		{ "[][2]main.Session", true },
		{ "string", true },
		{ "begins with main.Item", true },
		{ "main.main.func1", true },
		{ "main.Sesion", false },
		{ "[]", false },
		{ "[x]main.Session", false },
		{ "begins with ", false },
		{ "", false },
	};
	bool is_name;

	for (size_t i = 0; i < GR_ARRAY_SIZE(rows); i++) {
		assert_null(
			gr_types_is_name(&f->m.types, rows[i].name, &is_name));
		if (is_name != rows[i].want)
			fail_msg("%s", rows[i].name);
	}
}

/* Many types are compared in steps, and the search ends when it may not go
 * on. */
TEST_F(many)
{
	struct polls polls = { .last = 0 };
	char name[GR_NEAR_BYTES + 1];

	memset(name, 'm', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	for (int i = 0; i < MANY; i++)
		add(f, name);
	f->m.rt.poll = polls_call;
	f->m.rt.poll_ctx = &polls;
	struct gr_error *err = gr_types_no_such(&f->m.types, "main.Sesion");
	assert_int_equal(err->code, GR_ERROR_NOT_FOUND);
	gr_error_destroy(err);
	assert_true(polls.seen >= MANY * GR_NEAR_BYTES / GR_POLL_STEPS);
	polls = (struct polls){ .last = 2 };
	err = gr_types_no_such(&f->m.types, "main.Sesion");
	assert_int_equal(err->code, GR_ERROR_INTERRUPTED);
	gr_error_destroy(err);
	assert_int_equal(polls.seen, 2);
}

GR_SUITE("near names")
