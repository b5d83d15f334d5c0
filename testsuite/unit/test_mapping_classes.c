// SPDX-License-Identifier: Apache-2.0
/* mapping_classes: the class of most pieces of each mapping. */
#include "growth/mapping_classes.h"

#include "suite.h"

/** Some mappings, and what was found of them. */
struct world {
	struct gr_mapping_vector mappings;
	struct gr_mapping_classes classes;
};

static struct world *start(void)
{
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	w->classes.mappings = &w->mappings;
	for (uint64_t i = 1; i < 5; i++)
		assert_true(gr_mapping_vector_append(
			&w->mappings,
			(struct gr_mapping){ .start = i * 1000,
					     .end = i * 1000 + 500 }));
	return w;
}

static void stop(struct world *w)
{
	gr_mapping_vector_deinit(&w->mappings);
	gr_mapping_classes_deinit(&w->classes);
	free(w);
}

#define FIXTURE struct world *w, start, stop

static const struct gr_mapping_class *end(struct world *w, size_t wanted)
{
	gr_mapping_classes_end(&w->classes);
	assert_int_equal(w->classes.list.size, wanted);
	assert_false(w->classes.is_short_of_memory);
	return w->classes.list.data;
}

TEST_F(the_class_of_most)
{
	gr_mapping_classes_add(&w->classes, GR_RSS_UNKNOWN, 1000, 1100);
	gr_mapping_classes_add(&w->classes, GR_RSS_MODULES, 1100, 1300);
	gr_mapping_classes_add(&w->classes, GR_RSS_UNKNOWN, 1400, 1450);
	gr_mapping_classes_add(&w->classes, GR_RSS_SHARED, 3000, 3001);
	const struct gr_mapping_class *found = end(w, 2);

	assert_int_equal(found[0].start, 1000);
	assert_int_equal(found[0].end, 1500);
	assert_string_equal(found[0].class, "modules");
	assert_int_equal(found[1].start, 3000);
	assert_string_equal(found[1].class, "shared");
}

TEST_F(parts_of_a_whole)
{
	gr_mapping_classes_add(&w->classes, GR_RSS_STACKS, 1000, 1100);
	gr_mapping_classes_add(&w->classes, GR_RSS_IDLE, 1100, 1200);
	gr_mapping_classes_add(&w->classes, GR_RSS_RUNTIME, 1200, 1350);
	gr_mapping_classes_add(&w->classes, GR_RSS_RUNTIME_PAGES, 2000, 2200);
	gr_mapping_classes_add(&w->classes, GR_RSS_C_FREE, 2200, 2300);
	gr_mapping_classes_add(&w->classes, GR_RSS_C_FREE, 4000, 4100);
	gr_mapping_classes_add(&w->classes, GR_RSS_C_HELD_BY_GO, 4100, 4200);
	gr_mapping_classes_add(&w->classes, GR_RSS_THREAD_STACKS, 4200, 4350);
	const struct gr_mapping_class *found = end(w, 3);

	assert_string_equal(found[0].class, "go_heap");
	assert_string_equal(found[1].class, "go_runtime");
	assert_string_equal(found[1].class_text, "Go runtime");
	assert_string_equal(found[2].class, "c_heap");
	assert_string_equal(found[2].class_text, "C heap");
}

TEST_F(nothing)
{
	end(w, 0);
}

/* Pieces behind all mappings are those of nobody. */
TEST_F(behind_all)
{
	gr_mapping_classes_add(&w->classes, GR_RSS_FILES, 4100, 4200);
	gr_mapping_classes_add(&w->classes, GR_RSS_MODULES, 9000, 9900);
	gr_mapping_classes_add(&w->classes, GR_RSS_MODULES, 9900, 9950);
	assert_string_equal(end(w, 1)[0].class, "mapped_files");
}

GR_SUITE("classes of mappings")
