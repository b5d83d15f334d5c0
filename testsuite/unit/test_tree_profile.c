// SPDX-License-Identifier: Apache-2.0
// A tree with values below zero, read back with protobuf-c, and trees that make
// no sense.
#include "profile_reader.h"

#include "proto/tree_profile.h"

static const struct gr_tree_place places[] = {
	{ "main.cache", "a.go", 3 },
	{ "next. (*main.T)", NULL, 0 },
	{ "main.unused", NULL, 0 },
};

static const struct gr_profile_tag base[] = { { "pprof::base", "true" } };
static const struct gr_tree_labels labels[] = { { NULL, 0 }, { base, 1 } };
static const struct gr_profile_target target = { .tool_version = "1",
						 .partial = "cut" };

static struct gr_tree_profile tree_of(const struct gr_tree_node *nodes,
				      size_t count)
{
	return (struct gr_tree_profile){ .places = places,
					 .nplaces = 3,
					 .labels = labels,
					 .nlabels = 2,
					 .nodes = nodes,
					 .nnodes = count,
					 .comment = "new minus old" };
}

TEST(values)
{
	static const struct gr_tree_node nodes[] = {
		{ GR_TREE_NO_PARENT, 0, 0, 0, 0 },
		{ 0, 1, 0, 5, 320 },
		{ GR_TREE_NO_PARENT, 0, 1, -1, -8 },
		{ 2, 1, 1, -2, INT64_MIN },
	};
	struct gr_tree_profile tree = tree_of(nodes, 4);

	assert_null(
		gr_tree_profile_write(&tree, &target, file_path("t.pb.gz")));
	Gr__Pprof__Profile *p = read_profile(file_path("t.pb.gz"));
	assert_int_equal(p->n_sample, 3);
	assert_int_equal(p->n_location, 2);
	assert_int_equal(p->sample[0]->n_location_id, 2);
	assert_int_equal(p->sample[0]->value[1], 320);
	assert_int_equal(p->sample[0]->n_label, 0);
	assert_int_equal(p->sample[1]->n_location_id, 1);
	assert_int_equal(p->sample[1]->value[0], -1);
	assert_int_equal(p->sample[2]->value[1], INT64_MIN);
	assert_int_equal(p->sample[2]->n_label, 1);
	// The leaf comes first: it is the same in both trees.
	assert_int_equal(p->sample[2]->location_id[0],
			 p->sample[0]->location_id[0]);
	assert_int_equal(p->n_comment, 3);
	gr__pprof__profile__free_unpacked(p, NULL);
}

static void refused(const struct gr_tree_node *nodes, size_t count)
{
	struct gr_tree_profile tree = tree_of(nodes, count);
	struct gr_error *err =
		gr_tree_profile_write(&tree, &target, file_path("none.gz"));

	assert_true(gr_error_catch(&err, GR_ERROR_ARGUMENT));
	assert_int_equal(access(file_path("none.gz"), F_OK), -1);
}

TEST(no_trees)
{
	static const struct gr_tree_node own_parent = { 0, 0, 0, 1, 1 };
	static const struct gr_tree_node no_place = { GR_TREE_NO_PARENT, 3, 0,
						      1, 1 };
	static const struct gr_tree_node no_labels = { GR_TREE_NO_PARENT, 0, 2,
						       1, 1 };
	static struct gr_tree_node deep[GR_TREE_MAX_DEPTH + 1];
	struct gr_tree_profile tree = tree_of(deep, GR_TREE_MAX_DEPTH);

	refused(&own_parent, 1);
	refused(&no_place, 1);
	refused(&no_labels, 1);
	deep[0] = (struct gr_tree_node){ GR_TREE_NO_PARENT, 0, 0, 1, 1 };
	for (uint32_t i = 1; i <= GR_TREE_MAX_DEPTH; i++)
		deep[i] = (struct gr_tree_node){ i - 1, 1, 0, 1, 1 };
	refused(deep, GR_TREE_MAX_DEPTH + 1);
	assert_null(
		gr_tree_profile_write(&tree, &target, file_path("t.pb.gz")));
}

GR_SUITE_WITH("tree profile", make_dir, remove_dir)
