// SPDX-License-Identifier: Apache-2.0
// Leaves are not taken one after the other: one weight is selected, and all
// that is not heavier folds.
#include "base/cleanup.h"
#include "proto/paths.h"

// A path with all below it, as the number that orders it: roots after all
// others, then by bytes, by objects (there are no 2^32), the later one first.
// A parent counts no less than its child and is earlier, so it comes later:
// the order in which leaves fold is that of these numbers.
struct weight {
	uint64_t high, low;
};

enum {
	DIGIT_BITS = 8,
	NDIGITS = 128 / DIGIT_BITS,
	BASE = 1 << DIGIT_BITS,
	// Classes of weights: a power of two in 32 parts, twice for roots.
	CLASS_BITS = 5,
	NCLASSES = 2 * 64 << CLASS_BITS,
};

// Of a path with all below it.
static struct weight weight_of(const struct gr_path *p, uint32_t path)
{
	uint64_t objects = p->objects < UINT32_MAX ? p->objects : UINT32_MAX;
	uint64_t is_root = p->parent == GR_PATH_NONE;

	return (struct weight){ is_root << 63 | (p->bytes & INT64_MAX),
				objects << 32 | (uint32_t)~path };
}

static bool folds_before(struct weight a, struct weight b)
{
	return a.high != b.high ? a.high < b.high : a.low < b.low;
}

static unsigned int digit_of(struct weight w, unsigned int digit)
{
	unsigned int shift = digit * DIGIT_BITS;

	return (shift < 64 ? w.low >> shift : w.high >> (shift - 64)) % BASE;
}

// The weight that has @rank others before it. Changes the order of @weights.
static struct weight select_weight(struct weight *weights, size_t n,
				   size_t rank)
{
	for (unsigned int digit = NDIGITS; digit-- > 0 && n > 1;) {
		size_t count[BASE] = { 0 }, kept = 0;
		unsigned int value = 0;

		for (size_t i = 0; i < n; i++)
			count[digit_of(weights[i], digit)]++;
		for (; rank >= count[value]; value++)
			rank -= count[value];
		if (count[value] == n)
			continue;
		for (size_t i = 0; i < n; i++) {
			if (digit_of(weights[i], digit) == value)
				weights[kept++] = weights[i];
		}
		n = kept;
	}
	return weights[0];
}

// A class of weights that lie together: heavier ones have higher numbers.
static unsigned int class_of(struct weight w)
{
	uint64_t bytes = w.high & INT64_MAX;
	unsigned int ret = w.high >> 63 ? NCLASSES / 2 : 0;

	if (!(bytes >> CLASS_BITS))
		return ret + (unsigned int)bytes;
	unsigned int shift =
		63 - CLASS_BITS - (unsigned int)__builtin_clzll(bytes);
	return ret + (shift << CLASS_BITS) + (unsigned int)(bytes >> shift);
}

struct fold {
	struct gr_paths *paths;
	// Of each path itself, if it has objects of its own; else the first of
	// its children to fold: its sample moves, there are not fewer then.
	// The last one is that of the roots.
	uint32_t *heirs;
};

static uint32_t parent_of(const struct fold *f, uint32_t path)
{
	uint32_t parent = f->paths->paths[path].parent;

	return parent == GR_PATH_NONE ? (uint32_t)f->paths->npaths : parent;
}

// Count what lies below each path on it, and find the heirs.
static struct gr_error *gather(struct fold *f)
{
	struct gr_path *paths = f->paths->paths;
	uint32_t n = (uint32_t)f->paths->npaths;

	f->heirs = malloc((n + 1) * sizeof(*f->heirs));
	if (!f->heirs)
		return &gr_enomem;
	for (uint32_t i = 0; i < n; i++)
		f->heirs[i] = paths[i].objects ? i : GR_PATH_NONE;
	f->heirs[n] = GR_PATH_NONE;
	// Children come after their parents.
	for (uint32_t i = n; i-- > 0;) {
		uint32_t above = parent_of(f, i);
		uint32_t *heir = &f->heirs[above];

		if (above < n) {
			paths[above].objects += paths[i].objects;
			paths[above].bytes += paths[i].bytes;
		}
		if (paths[i].objects && *heir != above &&
		    (*heir == GR_PATH_NONE ||
		     folds_before(weight_of(&paths[i], i),
				  weight_of(&paths[*heir], *heir))))
			*heir = i;
	}
	return NULL;
}

// True if there is a sample less when this path folds.
static bool takes_sample(const struct fold *f, uint32_t path)
{
	return f->paths->paths[path].objects &&
	       f->heirs[parent_of(f, path)] != path;
}

// What the last path to fold weighs, if @ntaken samples are too many.
static struct gr_error *find_limit(const struct fold *f, uint64_t ntaken,
				   struct weight *ret)
{
	const struct gr_path *paths = f->paths->paths;
	uint32_t npaths = (uint32_t)f->paths->npaths;
	uint64_t count[NCLASSES] = { 0 };
	unsigned int class = 0;
	uint64_t rank = ntaken - 1;
	size_t n = 0;

	for (uint32_t i = 0; i < npaths; i++) {
		if (takes_sample(f, i))
			count[class_of(weight_of(&paths[i], i))]++;
	}
	// All but one of the samples are taken by some path.
	for (; rank >= count[class]; class ++)
		rank -= count[class];
	_cleanup_free_ struct weight *weights =
		malloc(count[class] * sizeof(*weights));
	if (!weights)
		return &gr_enomem;
	for (uint32_t i = 0; i < npaths; i++) {
		struct weight w = weight_of(&paths[i], i);

		if (class_of(w) == class && takes_sample(f, i))
			weights[n++] = w;
	}
	*ret = select_weight(weights, n, rank);
	return NULL;
}

// The root that takes folded roots.
static uint32_t other_roots(struct gr_paths *paths)
{
	paths->places[paths->nplaces] =
		(struct gr_path_place){ .name = "$other_roots$" };
	paths->labels[paths->nlabels] =
		(struct gr_path_label){ .root_kind = NULL };
	paths->paths[paths->npaths] = (struct gr_path){
		.parent = GR_PATH_NONE,
		.place = (uint32_t)paths->nplaces++,
		.label = (uint32_t)paths->nlabels++,
		.depth = 1,
	};
	return (uint32_t)paths->npaths++;
}

// Fold what is not heavier than @limit: what a path has counted of those that
// stay is taken off again.
static void fold_all(struct fold *f, struct weight limit)
{
	struct gr_path *paths = f->paths->paths;
	uint32_t n = (uint32_t)f->paths->npaths, others = GR_PATH_NONE;

	for (uint32_t i = 0; i < n; i++) {
		struct gr_path *p = &paths[i];
		bool is_root = p->parent == GR_PATH_NONE;

		if (folds_before(limit, weight_of(p, i))) {
			if (is_root)
				continue;
			paths[p->parent].objects -= p->objects;
			paths[p->parent].bytes -= p->bytes;
			continue;
		}
		if (is_root && others == GR_PATH_NONE)
			others = other_roots(f->paths);
		if (is_root) {
			paths[others].objects += p->objects;
			paths[others].bytes += p->bytes;
		}
		f->paths->folded += p->objects != 0;
		p->objects = 0;
		p->bytes = 0;
	}
}

struct gr_error *gr_paths_fold(struct gr_paths *paths, uint64_t max_samples)
{
	struct fold f = { .paths = paths };
	struct weight limit;

	if (!max_samples)
		max_samples = 1;
	if (paths->samples <= max_samples)
		return NULL;
	struct gr_error *err = gather(&f);
	if (!err)
		err = find_limit(&f, paths->samples - max_samples, &limit);
	if (!err) {
		fold_all(&f, limit);
		paths->samples = max_samples;
	}
	free(f.heirs);
	return err;
}
