/* SPDX-License-Identifier: Apache-2.0 */
/**
 * tree_profile: writes a tree of names, whose nodes may have values below zero,
 * as a profile for pprof: the difference of two profiles.
 */
#ifndef GR_TREE_PROFILE_H
#define GR_TREE_PROFILE_H

#include "proto/stack_profile.h"
#include "proto/stamp.h"

#define GR_TREE_NO_PARENT UINT32_MAX

enum { GR_TREE_MAX_DEPTH = 1024 };

/** A name, and where it is declared. */
struct gr_tree_place {
	const char *name;
	const char *file; /**< Or NULL. */
	uint32_t line;
};

/** Labels that samples have in common. */
struct gr_tree_labels {
	const struct gr_profile_tag *tags;
	size_t count;
};

/** A node. It is a sample unless both values are 0. */
struct gr_tree_node {
	uint32_t parent; /**< A smaller index, or GR_TREE_NO_PARENT. */
	uint32_t place;
	uint32_t labels;
	int64_t objects;
	int64_t bytes;
};

/** Strings stay valid for the writing. */
struct gr_tree_profile {
	const struct gr_tree_place *places;
	size_t nplaces;
	const struct gr_tree_labels *labels;
	size_t nlabels;
	const struct gr_tree_node *nodes;
	size_t nnodes;
	const char *comment; /**< Or NULL. */
};

/** Write the samples, with the values and the form of a scan's profile. An index
 * that is out of range, or a path that is too deep, is GR_ERROR_ARGUMENT. */
struct gr_error *gr_tree_profile_write(const struct gr_tree_profile *tree,
				       const struct gr_profile_target *target,
				       const char *path) GR_MUST_CHECK;

#endif /* GR_TREE_PROFILE_H */
