// SPDX-License-Identifier: Apache-2.0
#include "waste/checks/map_memory.h"

#include "base/cleanup.h"

enum {
	MAX_B = 48,
	MAX_PIECE_BYTES = 1 << 16, /* of a bucket or group: 2 kB are usual */
	LEAST_DOUBLE_LOAD = 12,	   /* of all releases: Go 1.20 */
};

/** An object that a word of a map leads to. */
struct piece {
	gr_obj obj;
	uint64_t addr, bytes; /* behind the malloc header */
	uint64_t slot_bytes;
	const uint8_t *host; /* NULL: it holds no pointers, or is not there */
	bool is_noscan;
};

/** The pieces of a map while they are added up. */
struct sum {
	const struct gr_heap *heap;
	const struct gr_map_facts *map;
	uint64_t *steps;
	uint64_t bytes;
	bool is_noscan; /* its groups hold no pointers */
	bool is_broken; /* a piece is not there */
	struct gr_error *err;
};

/* The object that begins at an address. */
static bool find_piece(const struct gr_heap *heap, uint64_t addr,
		       struct piece *ret)
{
	const struct gr_span *span;
	gr_obj obj = gr_heap_object_at(heap, addr, &span);

	if (obj == GR_OBJ_NONE)
		return false;
	uint64_t slot = gr_span_slot_addr(span, obj - span->first_obj);
	*ret = (struct piece){
		.obj = obj,
		.addr = slot + span->header_bytes,
		.bytes = span->elem_bytes - span->header_bytes,
		.slot_bytes = span->elem_bytes,
		.host = span->host ? span->host + (addr - span->base_addr) :
				     NULL,
		.is_noscan = span->is_noscan,
	};
	return addr == ret->addr;
}

// ------------------------------------------------------------------- headers

/* The load of the runtime's own constants, or the least of all releases: it
 * makes fresh maps larger. */
static uint64_t double_load_of(const struct gr_runtime *rt)
{
	int64_t number = 0, part = 0;

	for (size_t i = 0; i < rt->nmodules; i++)
		if (rt->modules[i].dwarf &&
		    gr_dwarf_find_constant(rt->modules[i].dwarf,
					   "runtime.loadFactorNum", &number) &&
		    gr_dwarf_find_constant(rt->modules[i].dwarf,
					   "runtime.loadFactorDen", &part) &&
		    part > 0 && number >= part && number < part * GR_MAP_SLOTS)
			return (uint64_t)(2 * number / part);
	return LEAST_DOUBLE_LOAD;
}

/* Do the keys, or the elements, of all slots lie inside a piece? */
static bool is_part_sound(const struct gr_types *types,
			  const struct gr_map_shape *shape,
			  const struct gr_map_part *part, gr_type_id type)
{
	uint64_t bytes = gr_map_part_bytes(types, part, type);

	return shape->bytes >= GR_MAP_SLOTS &&
	       shape->bytes <= MAX_PIECE_BYTES &&
	       part->off_bytes <= shape->bytes &&
	       part->stride <= MAX_PIECE_BYTES && bytes <= MAX_PIECE_BYTES &&
	       part->off_bytes + (GR_MAP_SLOTS - 1) * part->stride + bytes <=
		       shape->bytes;
}

struct gr_error *gr_map_kind_create(const struct gr_heap *heap,
				    const struct gr_size_classes *classes,
				    gr_type_id map, struct gr_map_kind **ret)
{
	const struct gr_layout *layout = &heap->rt->layout;
	bool is_swiss = layout->swiss_map.size_bytes;
	// A copy, because types may be made.
	struct gr_type type = *gr_types_get(heap->types, map);
	_cleanup_free_ struct gr_map_kind *kind = calloc(1, sizeof(*kind));

	*ret = NULL;
	if (!kind)
		return &gr_enomem;
	if (type.kind != GR_KIND_MAP || type.key == GR_TYPE_NONE ||
	    type.elem == GR_TYPE_NONE)
		return NULL;
	struct gr_error *err =
		gr_map_find_shape(layout, heap->types, &type, &kind->shape);
	if (err)
		return err;
	kind->heap = heap;
	kind->key = type.key;
	kind->elem = type.elem;
	kind->pieces = (struct gr_map_pieces){
		.classes = classes,
		.piece_bytes = kind->shape.bytes,
		.header_bytes = is_swiss ? layout->swiss_map.size_bytes :
					   layout->hmap.size_bytes,
		.table_bytes = layout->swiss_table.size_bytes,
		.extra_bytes = layout->mapextra.size_bytes,
		.double_load = double_load_of(heap->rt),
	};
	kind->header_slot_bytes =
		gr_slot_of(classes, kind->pieces.header_bytes, false);
	if (!is_part_sound(heap->types, &kind->shape, &kind->shape.key,
			   type.key) ||
	    !is_part_sound(heap->types, &kind->shape, &kind->shape.elem,
			   type.elem) ||
	    !kind->pieces.header_bytes ||
	    (is_swiss && !kind->pieces.table_bytes))
		return NULL;
	*ret = steal_ptr(kind);
	return NULL;
}

static bool read_swiss(const struct gr_heap *heap, struct gr_map_facts *map)
{
	const typeof(heap->rt->layout.swiss_map) *f =
		&heap->rt->layout.swiss_map;
	uint64_t dir_len = gr_field_uint(map->host, f->dir_len);
	struct piece array;

	map->entries = gr_field_uint(map->host, f->used);
	map->array = gr_field_word(map->host, f->dir_ptr);
	if (!map->array)
		return !dir_len && !map->entries;
	if (!find_piece(heap, map->array, &array))
		return false;
	map->slots = dir_len ? UINT64_MAX : GR_MAP_SLOTS;
	if (!dir_len)
		return array.bytes >= map->kind->shape.bytes;
	return array.host && !(dir_len & (dir_len - 1)) &&
	       dir_len <= array.bytes / GR_WORD_BYTES;
}

static bool read_hmap(const struct gr_heap *heap, struct gr_map_facts *map)
{
	const typeof(heap->rt->layout.hmap) *f = &heap->rt->layout.hmap;
	uint64_t log = gr_field_uint(map->host, f->b);
	struct piece array;

	map->entries = gr_field_uint(map->host, f->count);
	map->array = gr_field_word(map->host, f->buckets);
	if (!map->array)
		return !log && !map->entries;
	map->slots = UINT64_MAX; // buckets have any number of overflow buckets
	return log <= MAX_B && find_piece(heap, map->array, &array) &&
	       UINT64_C(1) << log <= array.bytes / map->kind->shape.bytes;
}

bool gr_map_facts_read(const struct gr_map_kind *kind, uint64_t slot_bytes,
		       const uint8_t *host, struct gr_map_facts *ret)
{
	if (slot_bytes != kind->header_slot_bytes || !host)
		return false;
	*ret = (struct gr_map_facts){ .kind = kind, .host = host };
	return (kind->pieces.table_bytes ? read_swiss(kind->heap, ret) :
					   read_hmap(kind->heap, ret)) &&
	       ret->entries <= ret->slots && ret->entries < GR_MAP_MAX_ENTRIES;
}

/* Would a fresh map have as many buckets, and does the map not grow? */
static bool is_dense(const struct gr_map_kind *kind, const uint8_t *host)
{
	const typeof(kind->heap->rt->layout.hmap) *f =
		&kind->heap->rt->layout.hmap;
	uint64_t log = gr_field_uint(host, f->b);
	uint64_t entries = gr_field_uint(host, f->count);

	if (!entries || log > MAX_B || gr_field_word(host, f->oldbuckets))
		return false;
	return !log || (entries > GR_MAP_SLOTS &&
			entries * 2 > kind->pieces.double_load << (log - 1));
}

bool gr_map_may_be_sparse(const struct gr_map_kind *kind, uint64_t slot_bytes,
			  const uint8_t *host)
{
	const struct gr_layout *layout = &kind->heap->rt->layout;

	if (slot_bytes != kind->header_slot_bytes || !host)
		return false;
	if (!kind->pieces.table_bytes)
		return gr_field_word(host, layout->hmap.buckets) &&
		       !is_dense(kind, host);
	// A small map has one group.
	return gr_field_word(host, layout->swiss_map.dir_ptr) &&
	       (gr_field_uint(host, layout->swiss_map.dir_len) ||
		!gr_field_uint(host, layout->swiss_map.used));
}

// ----------------------------------------------------------------------- sum

/* Add the object at an address. False: there is none, or the sum has ended. */
static bool add_piece(struct sum *sum, uint64_t addr, struct piece *ret)
{
	if (sum->is_broken)
		return false;
	sum->is_broken = !*sum->steps || !find_piece(sum->heap, addr, ret);
	if (sum->is_broken)
		return false;
	--*sum->steps;
	sum->bytes += ret->slot_bytes;
	sum->err = gr_runtime_step(sum->heap->rt, 1);
	sum->is_broken = sum->err;
	return !sum->err;
}

/* Add a table and its groups. @return its slots. */
static uint64_t add_table(struct sum *sum, uint64_t addr)
{
	const typeof(sum->heap->rt->layout.swiss_table) *f =
		&sum->heap->rt->layout.swiss_table;
	struct piece table, groups;

	if (!add_piece(sum, addr, &table))
		return 0;
	if (!table.host || table.bytes < f->size_bytes) {
		sum->is_broken = true;
		return 0;
	}
	uint64_t mask = gr_field_uint(table.host, f->groups_mask);
	if (!add_piece(sum, gr_field_word(table.host, f->groups_data), &groups))
		return 0;
	sum->is_noscan = groups.is_noscan;
	sum->is_broken = mask >= groups.bytes / sum->map->kind->shape.bytes;
	return (mask + 1) * GR_MAP_SLOTS;
}

static void add_tables(struct sum *sum, const struct piece *dir, uint64_t count)
{
	uint64_t last = 0, slots = 0;

	for (uint64_t i = 0; i < count && !sum->is_broken; i++) {
		uint64_t table = gr_load_u64(dir->host + i * GR_WORD_BYTES);

		// Neighbouring entries may lead to one table.
		if (table != last)
			slots += add_table(sum, table);
		else if (!*sum->steps)
			sum->is_broken = true;
		else
			--*sum->steps;
		last = table;
		if (!sum->err)
			sum->err = gr_runtime_step(sum->heap->rt, 1);
		sum->is_broken = sum->is_broken || sum->err;
	}
	if (sum->map->entries > slots)
		sum->is_broken = true;
}

static struct gr_error *sum_swiss(struct sum *sum, uint64_t *fresh)
{
	const typeof(sum->heap->rt->layout.swiss_map) *f =
		&sum->heap->rt->layout.swiss_map;
	struct gr_map_pieces pieces = sum->map->kind->pieces;
	uint64_t dir_len = gr_field_uint(sum->map->host, f->dir_len);
	struct piece array;

	if (!add_piece(sum, sum->map->array, &array))
		return sum->err;
	sum->is_noscan = array.is_noscan;
	if (dir_len)
		add_tables(sum, &array, dir_len);
	pieces.is_noscan = sum->is_noscan;
	if (!sum->is_broken)
		*fresh = gr_map_fresh_bytes(&pieces, sum->map->entries);
	return sum->err;
}

/* Add the overflow buckets of a list in mapextra, which has those without
 * pointers. Those that were made with the buckets lie in @p array. */
static void add_list(struct sum *sum, const struct piece *extra, uint64_t off,
		     const struct piece *array)
{
	uint64_t addr = gr_load_u64(extra->host + off);
	struct piece header, list, bucket;

	if (!addr || !add_piece(sum, addr, &header))
		return;
	if (!header.host || header.bytes < 3 * GR_WORD_BYTES) {
		sum->is_broken = true;
		return;
	}
	uint64_t count = gr_load_u64(header.host + GR_WORD_BYTES);
	if (!count || !add_piece(sum, gr_load_u64(header.host), &list))
		return;
	if (!list.host || count > list.bytes / GR_WORD_BYTES) {
		sum->is_broken = true;
		return;
	}
	for (uint64_t i = 0; i < count && !sum->is_broken; i++) {
		addr = gr_load_u64(list.host + i * GR_WORD_BYTES);
		sum->err = gr_runtime_step(sum->heap->rt, 1);
		if (sum->err)
			sum->is_broken = true;
		else if (addr - array->addr >= array->bytes)
			add_piece(sum, addr, &bucket);
	}
}

/* Add the overflow buckets of a chain that lie outside the array. */
static void add_chain(struct sum *sum, const struct piece *array,
		      const uint8_t *bucket)
{
	uint64_t off = sum->map->kind->shape.bytes - GR_WORD_BYTES;
	struct piece next;

	// Bounded by the steps of all maps.
	for (;;) {
		uint64_t addr = gr_load_u64(bucket + off);

		if (!addr || addr - array->addr < array->bytes ||
		    !add_piece(sum, addr, &next))
			return;
		if (!next.host || next.bytes < sum->map->kind->shape.bytes) {
			sum->is_broken = true;
			return;
		}
		bucket = next.host;
	}
}

static void add_buckets(struct sum *sum, const struct piece *array)
{
	uint64_t bytes = sum->map->kind->shape.bytes;

	if (array->is_noscan)
		return; // The lists have them.
	if (!array->host)
		sum->is_broken = true;
	for (uint64_t i = 0; i < array->bytes / bytes && !sum->is_broken; i++) {
		sum->err = gr_runtime_step(sum->heap->rt, 1);
		if (sum->err)
			sum->is_broken = true;
		else
			add_chain(sum, array, array->host + i * bytes);
	}
}

static struct gr_error *sum_hmap(struct sum *sum, uint64_t *fresh)
{
	const struct gr_layout *layout = &sum->heap->rt->layout;
	const typeof(layout->hmap) *f = &layout->hmap;
	struct gr_map_pieces pieces = sum->map->kind->pieces;
	uint64_t old = gr_field_word(sum->map->host, f->oldbuckets);
	uint64_t addr = gr_field_word(sum->map->host, f->extra);
	struct piece array, before = { 0 }, extra;

	if (!add_piece(sum, sum->map->array, &array))
		return sum->err;
	add_buckets(sum, &array);
	if (old && add_piece(sum, old, &before))
		add_buckets(sum, &before);
	if (addr && add_piece(sum, addr, &extra)) {
		if (!extra.host || extra.bytes < layout->mapextra.size_bytes) {
			sum->is_broken = true;
			return NULL;
		}
		add_list(sum, &extra, layout->mapextra.overflow.off, &array);
		add_list(sum, &extra, layout->mapextra.oldoverflow.off,
			 &before);
	}
	pieces.is_noscan = array.is_noscan;
	*fresh = gr_map_fresh_bytes(&pieces, sum->map->entries);
	return sum->err;
}

struct gr_error *gr_map_sum(const struct gr_map_facts *map, uint64_t *steps,
			    uint64_t *now, uint64_t *fresh)
{
	struct sum sum = {
		.heap = map->kind->heap,
		.map = map,
		.steps = steps,
		.bytes = map->kind->header_slot_bytes,
	};
	struct gr_error *err = NULL;

	*now = *fresh = 0;
	if (!map->array)
		return NULL;
	err = map->kind->pieces.table_bytes ? sum_swiss(&sum, fresh) :
					      sum_hmap(&sum, fresh);
	*now = sum.bytes;
	if (sum.is_broken)
		*now = *fresh = 0;
	return err;
}
