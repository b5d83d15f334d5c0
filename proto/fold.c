// SPDX-License-Identifier: Apache-2.0
// Leaves are not folded one by one: one weight is selected as the limit, and
// every path that is not heavier folds.
#include "base/cleanup.h"
#include "proto/paths.h"

// The weight of a path and all paths below it, as a number. Paths fold in the
// order of these numbers: roots after all others, then by bytes, then by
// objects (fewer than 2^32), then the later path first. A parent has at least
// the bytes and objects of its child and an earlier number, so it folds after
// the child.
struct weight {
	uint64_t high, low;
};

enum {
	DIGIT_BITS = 8,
	NDIGITS = 128 / DIGIT_BITS,
	BASE = 1 << DIGIT_BITS,
	// Classes of weights: 32 for each power of two, once for roots and once
	// for all other paths.
	CLASS_BITS = 5,
	NCLASSES = 2 * 64 << CLASS_BITS,
	FIRST_ROOT_CLASS = NCLASSES / 2,
};

// Return the weight of a path. Its sums include all paths below it.
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

// Return the weight that has @rank others before it. Changes the order of
// @weights.
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

// Return the class of a weight: a range of similar weights. Classes of heavier
// weights have higher numbers.
static unsigned int class_of(struct weight w)
{
	uint64_t bytes = w.high & INT64_MAX;
	unsigned int ret = w.high >> 63 ? FIRST_ROOT_CLASS : 0;

	if (!(bytes >> CLASS_BITS))
		return ret + (unsigned int)bytes;
	unsigned int shift =
		63 - CLASS_BITS - (unsigned int)__builtin_clzll(bytes);
	return ret + (shift << CLASS_BITS) + (unsigned int)(bytes >> shift);
}

// The sample of a path moves to its parent when the path folds, so the number
// of samples does not change.
#define MOVES_SAMPLE ((uint16_t)1 << 15)
static_assert(NCLASSES <= MOVES_SAMPLE, "a class leaves room for the flag");

struct fold {
	struct gr_paths *paths;
	// The heir of each path: the path itself if it has objects of its own,
	// else the first of its children to fold. GR_PATH_NONE: there are no
	// children with objects. The last entry is the heir of the roots.
	uint32_t *heirs;
	uint16_t *classes; // of the weights of paths with objects; 0: others
	uint64_t count[NCLASSES]; // paths whose samples do not move
	uint64_t npaths;	  // with objects
};

static void fold_deinit(struct fold *f)
{
	free(f->heirs);
	free(f->classes);
}

static struct gr_error *fold_init(struct fold *f)
{
	size_t n = f->paths->npaths;

	f->heirs = malloc((n + 1) * sizeof(*f->heirs));
	f->classes = calloc(n + 1, sizeof(*f->classes));
	if (!f->heirs || !f->classes)
		return &gr_enomem;
	memset(f->heirs, 0xff, (n + 1) * sizeof(*f->heirs));
	return NULL;
}

// Make @path the heir of its parent if it is.
static void find_heir(struct fold *f, uint32_t path)
{
	const struct gr_path *paths = f->paths->paths;
	uint32_t above = paths[path].parent;
	uint32_t *heir =
		&f->heirs[above == GR_PATH_NONE ? f->paths->npaths : above];

	// The first child is added to objects of the parent's own.
	if (*heir == GR_PATH_NONE && above != GR_PATH_NONE &&
	    paths[above].objects)
		*heir = above;
	if (*heir == GR_PATH_NONE ||
	    (*heir != above && folds_before(weight_of(&paths[path], path),
					    weight_of(&paths[*heir], *heir))))
		*heir = path;
}

// Note that the sample of the heir @path moves to its parent.
static void move_sample(struct fold *f, uint32_t path)
{
	f->count[f->classes[path]]--;
	f->classes[path] |= MOVES_SAMPLE;
}

// Add the objects and bytes below each path to its own, find the heirs, and
// count the classes of weights.
static void gather(struct fold *f)
{
	struct gr_path *paths = f->paths->paths;

	// Children come after their parents.
	for (uint32_t i = (uint32_t)f->paths->npaths; i-- > 0;) {
		struct gr_path *p = &paths[i];

		if (!p->objects)
			continue;
		f->classes[i] = (uint16_t)class_of(weight_of(p, i));
		f->count[f->classes[i]]++;
		f->npaths++;
		if (f->heirs[i] != i && f->heirs[i] != GR_PATH_NONE)
			move_sample(f, f->heirs[i]);
		find_heir(f, i);
		if (p->parent == GR_PATH_NONE)
			continue;
		paths[p->parent].objects += p->objects;
		paths[p->parent].bytes += p->bytes;
	}
	if (f->heirs[f->paths->npaths] != GR_PATH_NONE)
		move_sample(f, f->heirs[f->paths->npaths]);
}

// Find the weight of the last path to fold, if there are @ntaken samples too
// many.
static struct gr_error *find_limit(const struct fold *f, uint64_t ntaken,
				   struct weight *ret)
{
	uint32_t npaths = (uint32_t)f->paths->npaths;
	unsigned int class = 0;
	uint64_t rank = ntaken - 1;
	size_t n = 0;

	// Folding all paths would remove all samples but one, so the class
	// exists.
	for (; rank >= f->count[class]; class ++)
		rank -= f->count[class];
	_cleanup_free_ struct weight *weights =
		malloc(f->count[class] * sizeof(*weights));
	if (!weights)
		return &gr_enomem;
	for (uint32_t i = 0; i < npaths; i++) {
		if (f->classes[i] == class && f->paths->paths[i].objects)
			weights[n++] = weight_of(&f->paths->paths[i], i);
	}
	*ret = select_weight(weights, n, rank);
	return NULL;
}

// Create the root that receives the folded roots.
static void add_other_roots(struct gr_paths *paths, struct gr_total total)
{
	if (!total.objects)
		return;
	paths->places[paths->nplaces] =
		(struct gr_path_place){ .name = "$other_roots$" };
	paths->labels[paths->nlabels] =
		(struct gr_path_label){ .root_kind = NULL };
	paths->paths[paths->npaths++] = (struct gr_path){
		.parent = GR_PATH_NONE,
		.place = (uint32_t)paths->nplaces++,
		.label = (uint32_t)paths->nlabels++,
		.depth = 1,
		.objects = total.objects,
		.bytes = total.bytes,
	};
}

// Keep a path that is heavier than the limit, and take its sums from its
// parent again. All paths above it are kept.
static void keep(struct fold *f, uint32_t path, uint32_t number)
{
	struct gr_path *paths = f->paths->paths, kept = paths[path];

	if (kept.parent != GR_PATH_NONE) {
		kept.parent = f->heirs[kept.parent];
		paths[kept.parent].objects -= kept.objects;
		paths[kept.parent].bytes -= kept.bytes;
	}
	paths[number] = kept;
	f->heirs[path] = number; // the heirs are no longer needed
}

// Drop all paths that are not heavier than @limit. Their parents have their
// sums. The number of a path that is kept may become smaller.
static void fold_all(struct fold *f, struct weight limit)
{
	struct gr_path *paths = f->paths->paths;
	unsigned int class = class_of(limit);
	struct gr_total others = { 0, 0 };
	uint32_t nkept = 0;

	for (uint32_t i = 0; i < f->paths->npaths; i++) {
		unsigned int have = f->classes[i] & ~MOVES_SAMPLE;

		if ((have < class && have < FIRST_ROOT_CLASS) ||
		    !paths[i].objects)
			continue;
		if (have > class ||
		    folds_before(limit, weight_of(&paths[i], i))) {
			keep(f, i, nkept++);
		} else if (paths[i].parent == GR_PATH_NONE) {
			others.objects += paths[i].objects;
			others.bytes += paths[i].bytes;
		}
	}
	f->paths->npaths = nkept;
	f->paths->folded = f->npaths - nkept;
	add_other_roots(f->paths, others);
}

struct gr_error *gr_paths_fold(struct gr_paths *paths, uint64_t max_samples)
{
	_cleanup_(fold_deinit) struct fold f = { .paths = paths };
	struct weight limit;

	if (!max_samples)
		max_samples = 1;
	if (paths->samples <= max_samples)
		return NULL;
	struct gr_error *err = fold_init(&f);
	if (err)
		return err;
	gather(&f);
	err = find_limit(&f, paths->samples - max_samples, &limit);
	if (err)
		return err;
	fold_all(&f, limit);
	paths->samples = max_samples;
	return NULL;
}
