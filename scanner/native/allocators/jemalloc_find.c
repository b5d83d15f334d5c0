// SPDX-License-Identifier: Apache-2.0
/*
 * The roots of jemalloc lie in data of the file that has it. None is exported by
 * a stripped library, but each proves itself: base blocks are aligned to 2 MiB,
 * and a base lies in its own first block, behind the header of that. The base of
 * an arena leads to blocks, one of which has the arena. The page tree leads from
 * the addresses of slabs that bins name to these slabs.
 */
#include "native/allocators/jemalloc.h"
#include "native/allocators/module_search.h"

#include "base/chain.h"

enum {
	BASE_HEADER_BYTES = 192, /* sizeof(base_block_t), rounded up */
	MOST_FIRST_BLOCK_BYTES = 1 << 30,
	MAX_BASES = 64, /* words in data that lead to different ones */
	MAX_BASE_STEPS = 1 << 22, /* along all chains that are tried */
	MAX_TRIES = 64,		  /* whole arrays */
	MAX_ROOT_TRIES = 1 << 16, /* addresses */
	MAX_KNOWN_ROOTS = 8,	  /* slabs that are tried at each word */
	BIN_INFO_BYTES = 40,
};

/* 5.2.1 with Debian 11, 5.3.0 with Debian 12 (48 bits) and 13 (57 bits). */
static const struct gr_jemalloc_shape shapes[] = {
	{ .levels = 2, .bits = 18, .root_bit = 30, .entry_bytes = 8 },
	{ .levels = 3, .bits = 15, .root_bit = 42, .entry_bytes = 16 },
};

// --------------------------------------------------------------------- bases

/* May the base of arena 0 be at @p addr? Most words are no such address. */
static inline bool may_be_base(uint64_t addr)
{
	return addr % GR_JE_BASE_BYTES == BASE_HEADER_BYTES &&
	       addr > GR_JE_BASE_BYTES;
}

/* Is there the first block of a base? */
static bool has_first_block(struct gr_native_reader *r, struct gr_view *view,
			    uint64_t base)
{
	uint64_t block = base - BASE_HEADER_BYTES, bytes;

	return gr_view_word(view, block, &bytes) && bytes &&
	       bytes % GR_JE_BASE_BYTES == 0 &&
	       bytes <= MOST_FIRST_BLOCK_BYTES &&
	       gr_view_has(view, block + GR_WORD_BYTES, 0) &&
	       block <= UINT64_MAX - bytes &&
	       !gr_reader_meets_go(r, block, block + bytes);
}

static struct gr_error *add_base(struct gr_native_reader *r, const char *path,
				 uint64_t at, uint64_t addr,
				 struct gr_jemalloc_base_vector *ret)
{
	const struct gr_jemalloc_base base = { path, addr, at };

	if (ret->size >= MAX_BASES || !has_first_block(r, &r->view, addr))
		return NULL;
	for (size_t i = 0; i < ret->size; i++)
		if (ret->data[i].addr == addr)
			return NULL;
	return gr_runtime_append(r->spec->rt, gr_jemalloc_base_vector, ret,
				 base);
}

/* Search one mapping, as far as it is at hand. */
static struct gr_error *find_bases_in(struct gr_native_reader *r,
				      const struct gr_module_data *data,
				      struct gr_jemalloc_base_vector *ret)
{
	uint64_t start = data->mapping.start;
	struct gr_error *err = NULL;
	struct gr_range piece;

	while (!err &&
	       gr_view_part(&r->view, start, data->mapping.end, &piece)) {
		uint64_t n = (piece.end - piece.start) / GR_WORD_BYTES;

		for (uint64_t i = 0; !err && i < n; i++) {
			uint64_t word =
				gr_load_u64(piece.host + i * GR_WORD_BYTES);

			if (GR_LIKELY(!may_be_base(word)))
				continue;
			err = add_base(r, data->path,
				       piece.start + i * GR_WORD_BYTES, word,
				       ret);
			if (!err)
				err = gr_runtime_step(r->spec->rt, 8);
		}
		if (!err)
			err = gr_runtime_step(r->spec->rt, n / 16 + 1);
		start = piece.end;
	}
	return err;
}

struct gr_error *gr_jemalloc_find_bases(struct gr_native_reader *r,
					struct gr_jemalloc_base_vector *ret)
{
	struct gr_module_data data = { 0 };
	struct gr_error *err = NULL;

	while (!err && gr_module_data_next(r, &data))
		err = find_bases_in(r, &data, ret);
	return err;
}

void gr_jemalloc_record_base(struct gr_native_reader *r,
			     const struct gr_jemalloc_base *base)
{
	struct gr_view view = r->view;

	view.is_recording = true;
	if (gr_view_has(&view, base->at, base->addr))
		has_first_block(r, &view, base->addr);
}

/* Has @p base the number @p ind? And does its list of blocks end with the block
 * that has it? One of these must have @p arena; *@p bytes are those of all. */
static bool is_base(struct gr_jemalloc *j, struct gr_view *view, uint64_t base,
		    uint64_t ind, uint64_t arena, uint64_t *bytes)
{
	struct gr_chain chain = { .limit = GR_JE_MOST_BLOCKS };
	uint64_t at, size, next, word;
	bool is_inside = false;

	*bytes = 0;
	if (!may_be_base(base) || !gr_view_word(view, base, &word) ||
	    (uint32_t)word != ind ||
	    !gr_view_word(view, base + j->layout->base_blocks, &at))
		return false;
	for (; gr_chain_step(&chain, at); at = next) {
		if (j->base_steps++ >= MAX_BASE_STEPS || !at ||
		    at % GR_JE_BASE_BYTES || !gr_view_word(view, at, &size) ||
		    !size || size % GR_JE_BASE_BYTES ||
		    size > UINT64_C(1) << 46 ||
		    !gr_view_word(view, at + GR_WORD_BYTES, &next))
			return false;
		*bytes += size;
		is_inside |= arena - at < size;
		if (!next)
			return at + BASE_HEADER_BYTES == base && is_inside;
	}
	return false;
}

// -------------------------------------------------------------------- arenas

/* Is arena @p ind at @p addr? */
static bool is_arena(struct gr_jemalloc *j, struct gr_view *view, uint64_t addr,
		     uint64_t ind, struct gr_jemalloc_arena *ret)
{
	const struct gr_jemalloc_layout *layout = j->layout;
	uint64_t word;

	*ret = (struct gr_jemalloc_arena){ .addr = addr, .ind = ind };
	if (addr % 64 || addr < GR_JE_BASE_BYTES || addr >> 56 ||
	    !gr_view_word(view, addr + layout->arena_base, &ret->base))
		return false;
	if (layout->arena_ind &&
	    (!gr_view_word(view, addr + layout->arena_ind, &word) ||
	     (uint32_t)word != ind))
		return false;
	return is_base(j, view, ret->base, ind, addr, &ret->base_bytes);
}

/* Append the arenas of the array at @p at, unless something else is in it. What
 * is not at hand was never written, or is missing: the counters of the others
 * tell. */
static struct gr_error *read_array(struct gr_jemalloc *j, struct gr_view *view,
				   uint64_t at,
				   struct gr_jemalloc_arena_vector *ret)
{
	struct gr_error *err = NULL;
	struct gr_jemalloc_arena arena;
	uint64_t word;

	for (unsigned int i = 0; !err && i < GR_JE_MOST_ARENAS; i++) {
		uint64_t steps = j->base_steps;

		if (!gr_view_word(view, at + i * GR_WORD_BYTES, &word) || !word)
			continue;
		if (!is_arena(j, view, word, i, &arena)) {
			ret->size = 0;
			return NULL;
		}
		err = gr_runtime_append(view->rt, gr_jemalloc_arena_vector, ret,
					arena);
		if (!err)
			err = gr_runtime_step(view->rt,
					      4 + j->base_steps - steps);
	}
	return err ? err : gr_runtime_step(view->rt, GR_JE_MOST_ARENAS / 4);
}

/* Look whether the array of arenas is at @p at. The one with most is it: data
 * may lead to arena 0 at other places, too. */
static struct gr_error *try_array(struct gr_jemalloc *j, uint64_t at)
{
	struct gr_jemalloc_arena_vector found = { 0 };
	struct gr_jemalloc_arena first;
	struct gr_view *view = &j->r->view;
	uint64_t word;

	if (!gr_view_word(view, at, &word) ||
	    !gr_view_has(view, word + j->layout->arena_base, j->base) ||
	    !is_arena(j, view, word, 0, &first) || j->tries++ >= MAX_TRIES)
		return NULL;
	struct gr_error *err = read_array(j, view, at, &found);
	if (!err && found.size > j->arenas.size) {
		struct gr_jemalloc_arena_vector worse = j->arenas;

		j->arenas = found;
		j->arenas_at = at;
		found = worse;
	}
	gr_jemalloc_arena_vector_deinit(&found);
	return err;
}

/** Looks at a word of data that is not 0. */
typedef struct gr_error *word_fn(struct gr_jemalloc *j, uint64_t at,
				 uint64_t word);

/* Look at all words of the file's data, as far as they are at hand. */
static struct gr_error *each_word(struct gr_jemalloc *j, word_fn *look)
{
	struct gr_view *view = &j->r->view;
	struct gr_module_data data = { 0 };
	struct gr_error *err = NULL;
	struct gr_range piece;

	while (!err && gr_module_data_next(j->r, &data)) {
		uint64_t start = data.mapping.start;

		while (!err && !strcmp(data.path, j->path) &&
		       gr_view_part(view, start, data.mapping.end, &piece)) {
			uint64_t n = (piece.end - piece.start) / GR_WORD_BYTES;

			for (uint64_t i = 0; !err && i < n; i++) {
				uint64_t word = gr_load_u64(piece.host +
							    i * GR_WORD_BYTES);

				if (word)
					err = look(j,
						   piece.start +
							   i * GR_WORD_BYTES,
						   word);
			}
			if (!err)
				err = gr_runtime_step(view->rt, n / 16 + 1);
			start = piece.end;
		}
	}
	return err;
}

static struct gr_error *look_for_arenas(struct gr_jemalloc *j, uint64_t at,
					uint64_t word)
{
	uint64_t base, steps = j->base_steps;

	if (word % 64 || word < GR_JE_BASE_BYTES ||
	    !gr_view_word(&j->r->view, word + j->layout->arena_base, &base) ||
	    base != j->base)
		return NULL;
	struct gr_error *err = try_array(j, at);
	return err ? err :
		     gr_runtime_step(j->r->spec->rt, 4 + j->base_steps - steps);
}

/* The address of the first symbol of the file that ends in a name; 0: none. */
static struct gr_error *find_symbol(struct gr_jemalloc *j, const char *name,
				    uint64_t *ret)
{
	const char *const names[] = { name };
	struct gr_module_symbols symbols = { .names = names, .count = 1 };
	size_t module = gr_image_module_at(j->r->spec->rt->image, j->base_at);
	struct gr_error *err = NULL;

	*ret = 0;
	if (module != SIZE_MAX)
		err = gr_module_find_symbols(j->r, module, &symbols);
	if (!err)
		*ret = symbols.found[0];
	return err;
}

struct gr_error *gr_jemalloc_find_arenas(struct gr_jemalloc *j)
{
	uint64_t at;
	struct gr_error *err = find_symbol(j, "je_arenas", &at);

	j->arenas.size = 0;
	j->tries = 0;
	if (!err && at)
		err = try_array(j, at);
	return err || j->arenas.size ? err : each_word(j, look_for_arenas);
}

// ---------------------------------------------------------------------- bins

/* Read bin_info_t number @p i; false if it is none. */
static bool read_bin(struct gr_view *view, uint64_t at, unsigned int i,
		     struct gr_jemalloc_bin *ret)
{
	uint64_t reg_bytes, slab_bytes, counts;

	at += i * BIN_INFO_BYTES;
	if (!gr_view_word(view, at, &reg_bytes) ||
	    reg_bytes != gr_jemalloc_class_bytes(i) ||
	    !gr_view_word(view, at + 8, &slab_bytes) || !slab_bytes ||
	    slab_bytes % GR_PAGE_BYTES || slab_bytes > 1 << 30 ||
	    !gr_view_word(view, at + 16, &counts))
		return false;
	ret->slab_bytes = slab_bytes;
	ret->nregs = (uint32_t)counts;
	ret->nshards = counts >> 32;
	return ret->nregs == slab_bytes / reg_bytes && ret->nregs &&
	       ret->nregs <= GR_JE_MOST_REGIONS && ret->nshards &&
	       ret->nshards <= GR_JE_MOST_SHARDS;
}

/* Does each bin of arena 0 name a slab of its size, or none? */
static bool do_bins_fit(struct gr_jemalloc *j)
{
	struct gr_view *view = &j->r->view;

	for (unsigned int i = 0; i < GR_JE_NBINS; i++)
		for (unsigned int k = 0; k < j->bins[i].nshards; k++) {
			uint64_t bin = gr_jemalloc_bin_at(
				j, j->arenas.data[0].addr, i, k);
			uint64_t slab, bits;

			if (!bin ||
			    !gr_view_word(view, bin + j->layout->bin_slabcur,
					  &slab) ||
			    !slab)
				continue;
			if (!gr_view_word(view, slab, &bits) ||
			    gr_jemalloc_szind(j, bits) != i)
				return false;
		}
	return true;
}

static struct gr_error *look_for_bins(struct gr_jemalloc *j, uint64_t at,
				      uint64_t word)
{
	uint32_t nbins = 0;

	if (j->bins_at || word != gr_jemalloc_class_bytes(0) ||
	    j->tries >= MAX_TRIES)
		return NULL;
	for (unsigned int i = 0; i < GR_JE_NBINS; i++) {
		if (!read_bin(&j->r->view, at, i, &j->bins[i]))
			return gr_runtime_step(j->r->spec->rt, 1 + i);
		j->bins[i].first = nbins;
		nbins += j->bins[i].nshards;
	}
	j->tries++;
	if (do_bins_fit(j)) {
		j->bins_at = at;
		j->nbins = nbins;
	}
	return gr_runtime_step(j->r->spec->rt, 64 + 2 * nbins);
}

static struct gr_error *find_bins(struct gr_jemalloc *j)
{
	uint64_t at;
	struct gr_error *err = find_symbol(j, "je_bin_infos", &at);

	j->tries = 0;
	if (!err && at)
		err = look_for_bins(j, at, gr_jemalloc_class_bytes(0));
	return err || j->bins_at ? err : each_word(j, look_for_bins);
}

// ------------------------------------------------------------------ page tree

/* Find slabs that bins allocate from: the page tree leads to them. */
static void find_known(struct gr_jemalloc *j)
{
	struct gr_view *view = &j->r->view;

	j->nknown = 0;
	// Bounded by the arenas and their bins, of which counters are read, too.
	for (size_t a = 0; a < j->arenas.size && j->nknown < GR_JE_MOST_KNOWN;
	     a++)
		for (unsigned int i = 0;
		     i < GR_JE_NBINS && j->nknown < GR_JE_MOST_KNOWN; i++) {
			struct gr_jemalloc_known *known = &j->known[j->nknown];
			uint64_t bin = gr_jemalloc_bin_at(
				j, j->arenas.data[a].addr, i, 0);

			if (bin &&
			    gr_view_word(view, bin + j->layout->bin_slabcur,
					 &known->extent) &&
			    known->extent &&
			    gr_view_word(view,
					 known->extent + GR_JE_EXTENT_ADDR,
					 &known->addr))
				j->nknown++;
		}
}

static uint64_t index_at(const struct gr_jemalloc_shape *shape,
			 unsigned int level, uint64_t addr)
{
	return addr >> (shape->root_bit - level * shape->bits) &
	       ((UINT64_C(1) << shape->bits) - 1);
}

/* Does a node or leaf below the root lead to the extent? */
static bool leads_to(struct gr_jemalloc *j,
		     const struct gr_jemalloc_shape *shape, uint64_t node,
		     const struct gr_jemalloc_known *known)
{
	struct gr_view *view = &j->r->view;
	unsigned int level = 1;
	uint64_t word;

	for (; level + 1 < shape->levels; level++)
		if (!gr_view_word(view,
				  node + index_at(shape, level, known->addr) *
						  GR_WORD_BYTES,
				  &node) ||
		    !node)
			return false;
	return gr_view_word(view,
			    node + index_at(shape, level, known->addr) *
					    shape->entry_bytes,
			    &word) &&
	       gr_jemalloc_extent_of(j, shape, word) == known->extent;
}

/* Is all of the array nodes of base memory, as far as it is at hand? */
static bool has_nodes(struct gr_jemalloc *j,
		      const struct gr_jemalloc_shape *shape, uint64_t root)
{
	uint64_t at = root, end = root + (GR_WORD_BYTES << shape->bits);
	struct gr_range piece;

	// Bounded by the array.
	for (; gr_view_piece(&j->r->view, at, end, &piece); at = piece.end) {
		// Bounded by the array, too.
		for (at = piece.start; at < piece.end; at += GR_WORD_BYTES) {
			uint64_t word =
				gr_load_u64(piece.host + (at - piece.start));

			if (word &&
			    (word % 64 || !gr_jemalloc_in_base(j, 0, word, 8)))
				return false;
		}
	}
	return true;
}

/* Does the file that has the base have all of the array? */
static bool is_in_module(const struct gr_jemalloc *j,
			 const struct gr_jemalloc_shape *shape, uint64_t root)
{
	struct gr_image *image = j->r->spec->rt->image;
	size_t module = gr_image_module_at(image, j->base_at);
	uint64_t bytes = GR_WORD_BYTES << shape->bits;

	return root <= UINT64_MAX - bytes &&
	       gr_image_module_at(image, root) == module &&
	       gr_image_module_at(image, root + bytes - 1) == module;
}

static bool is_root(struct gr_jemalloc *j,
		    const struct gr_jemalloc_shape *shape, uint64_t root)
{
	struct gr_view *view = &j->r->view;
	uint64_t node;

	if (j->root_tries++ >= MAX_ROOT_TRIES)
		return false;
	if (!j->layout->is_52 &&
	    !gr_view_has(view, root - j->layout->rtree_root, j->base))
		return false;
	for (size_t i = 0; i < j->nknown; i++)
		if (!gr_view_word(view,
				  root + index_at(shape, 0, j->known[i].addr) *
						  GR_WORD_BYTES,
				  &node) ||
		    !node || !leads_to(j, shape, node, &j->known[i]))
			return false;
	return j->nknown && is_in_module(j, shape, root) &&
	       j->tries++ < MAX_TRIES && has_nodes(j, shape, root);
}

/* Try the root of each shape at an address. */
static void try_root(struct gr_jemalloc *j, uint64_t root)
{
	for (size_t i = 0; i < GR_ARRAY_SIZE(shapes) && !j->root; i++)
		if (is_root(j, &shapes[i], root)) {
			j->root = root;
			j->shape = &shapes[i];
		}
}

/* May a word be the one by which the root leads to a slab? Then the root is at a
 * distance from it that the slab's address tells. */
static struct gr_error *look_for_root(struct gr_jemalloc *j, uint64_t at,
				      uint64_t word)
{
	unsigned int tries = j->tries, root_tries = j->root_tries;

	if (j->root || word % 64 || !gr_jemalloc_in_base(j, 0, word, 8))
		return NULL;
	for (size_t i = 0; i < GR_ARRAY_SIZE(shapes) && !j->root; i++)
		for (size_t k = 0;
		     k < j->nknown && k < MAX_KNOWN_ROOTS && !j->root; k++) {
			uint64_t off =
				GR_WORD_BYTES *
				index_at(&shapes[i], 0, j->known[k].addr);

			if (at < off ||
			    !leads_to(j, &shapes[i], word, &j->known[k]) ||
			    !is_root(j, &shapes[i], at - off))
				continue;
			j->root = at - off;
			j->shape = &shapes[i];
		}
	return gr_runtime_step(j->r->spec->rt,
			       16 + (j->tries - tries) * GR_POLL_STEPS +
				       (j->root_tries - root_tries) * 2 *
					       j->nknown);
}

static struct gr_error *find_root(struct gr_jemalloc *j)
{
	uint64_t at;
	struct gr_error *err = find_symbol(
		j,
		j->layout->is_52 ? "je_extents_rtree" : "je_arena_emap_global",
		&at);

	j->tries = j->root_tries = 0;
	find_known(j);
	if (!err && at)
		try_root(j, at + j->layout->rtree_root);
	return err || j->root ? err : each_word(j, look_for_root);
}

// ----------------------------------------------------------------------- all

/* Record what the searches were decided by: search it once more. */
static struct gr_error *record_found(struct gr_jemalloc *j)
{
	struct gr_view *view = &j->r->view;
	struct gr_jemalloc_arena arena;
	struct gr_jemalloc_bin bin;
	struct gr_error *err = NULL;

	view->is_recording = true;
	j->base_steps = j->tries = j->root_tries = 0;
	if (!gr_view_has(view, j->base_at, j->base) ||
	    !has_first_block(j->r, view, j->base))
		j->root = 0;
	for (size_t i = 0; !err && i < j->arenas.size; i++) {
		const struct gr_jemalloc_arena *a = &j->arenas.data[i];

		if (!gr_view_has(view, j->arenas_at + a->ind * GR_WORD_BYTES,
				 a->addr) ||
		    !is_arena(j, view, a->addr, a->ind, &arena))
			j->root = 0;
		err = gr_runtime_step(view->rt, 64);
	}
	for (unsigned int i = 0; i < GR_JE_NBINS; i++)
		read_bin(view, j->bins_at, i, &bin);
	if (!do_bins_fit(j))
		j->root = 0;
	find_known(j);
	if (j->root && !is_root(j, j->shape, j->root))
		j->root = 0;
	view->is_recording = false;
	return err;
}

struct gr_error *gr_jemalloc_find_tree(struct gr_jemalloc *j)
{
	struct gr_error *err = gr_jemalloc_find_base_blocks(j);

	if (!err)
		err = find_bins(j);
	if (!err && j->bins_at)
		err = find_root(j);
	return !err && j->root ? record_found(j) : err;
}
