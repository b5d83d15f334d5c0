// SPDX-License-Identifier: Apache-2.0
/*
 * This file finds moduledata (runtime/symtab.go) by the table of functions to
 * which its first word points (pcHeader). It also checks a layout against the
 * moduledata and the runtime's types.
 */
#include "goruntime/search/search_internal.h"

#include "base/cleanup.h"
#include "goruntime/layout/names.h"
#include "goruntime/layout/pclntab.h"
#include "goruntime/types/types.h"

#include <string.h>

enum {
	MAX_TABLES = 64, /* a program may carry other programs as data */
	MAX_MODULEDATAS = 64,
	MAX_FUNCTIONS = 1 << 26,
	HEADER_BYTES = 72,
	CHUNK_BYTES = 1 << 16,
};

/* runtime.pcHeader since Go 1.18. */
struct header {
	uint64_t nfunc;
	uint64_t tables[5]; /* offsets: funcname, cu, file, pc, pcln */
};

static bool parse_header(const uint8_t *p, struct header *ret)
{
	uint32_t magic = gr_load_u32(p);

	// Two magics, zero padding, a PC quantum, 8 bytes per pointer.
	if ((magic != 0xfffffff0 && magic != 0xfffffff1) || p[4] || p[5] ||
	    (p[6] != 1 && p[6] != 2 && p[6] != 4) || p[7] != 8)
		return false;
	ret->nfunc = gr_load_u64(p + 8);
	for (size_t i = 0; i < GR_ARRAY_SIZE(ret->tables); i++) {
		ret->tables[i] = gr_load_u64(p + 32 + i * 8);
		if (ret->tables[i] < (i ? ret->tables[i - 1] : HEADER_BYTES) ||
		    ret->tables[i] > UINT32_MAX)
			return false;
	}
	return ret->nfunc && ret->nfunc <= MAX_FUNCTIONS;
}

/* Find the run-time addresses of function tables in a segment of the file. */
static struct gr_error *find_tables(struct gr_search *s,
				    const Elf64_Phdr *segment,
				    struct gr_bytes bytes,
				    struct gr_addr_vector *tables)
{
	uint64_t first = -segment->p_vaddr % GR_WORD_BYTES;
	struct header header;

	for (uint64_t off = first; gr_bytes_has(bytes, off, HEADER_BYTES);
	     off += GR_WORD_BYTES) {
		if (off % CHUNK_BYTES == first) {
			struct gr_error *err =
				gr_runtime_step(s->rt, GR_POLL_STEPS / 8);
			if (err)
				return err;
		}
		if (parse_header(bytes.data + off, &header) &&
		    (tables->size == MAX_TABLES ||
		     !gr_addr_vector_append(tables,
					    segment->p_vaddr + off + s->bias)))
			return tables->size == MAX_TABLES ? NULL : &gr_enomem;
	}
	return NULL;
}

static bool has(const struct gr_addr_vector *v, uint64_t addr)
{
	for (size_t i = 0; i < v->size; i++)
		if (v->data[i] == addr)
			return true;
	return false;
}

/* Find the words of a segment that point to a table. The words of the target
 * are relocated. */
static struct gr_error *find_pointers(struct gr_search *s,
				      const Elf64_Phdr *segment,
				      struct gr_bytes bytes_of,
				      const struct gr_addr_vector *tables)
{
	uint64_t at = (segment->p_vaddr + s->bias + 7) & ~UINT64_C(7);
	uint64_t end = segment->p_vaddr + s->bias + bytes_of.size;
	uint8_t chunk[CHUNK_BYTES];

	for (; at < end; at += sizeof(chunk)) {
		uint64_t bytes = end - at < sizeof(chunk) ? end - at :
							    sizeof(chunk);
		struct gr_error *err =
			gr_runtime_step(s->rt, GR_POLL_STEPS / 4);
		if (!err)
			err = gr_image_read(s->rt->image, at, chunk, bytes);
		if (gr_error_catch(&err, GR_ERROR_FAULT))
			continue;
		if (err)
			return err;
		for (uint64_t i = 0; i + GR_WORD_BYTES <= bytes; i += 8)
			if (has(tables, gr_load_u64(chunk + i)) &&
			    s->moduledatas.size < MAX_MODULEDATAS &&
			    !gr_addr_vector_append(&s->moduledatas, at + i))
				return &gr_enomem;
	}
	return NULL;
}

static void addr_vector_cleanup(struct gr_addr_vector *v)
{
	gr_addr_vector_deinit(v);
}

struct gr_error *gr_search_find_moduledatas(struct gr_search *s)
{
	_cleanup_(addr_vector_cleanup) struct gr_addr_vector tables = { 0 };
	uint64_t known = s->symbols.vars.firstmoduledata;
	struct gr_error *err = NULL;

	if (known)
		return gr_addr_vector_append(&s->moduledatas, known) ?
			       NULL :
			       &gr_enomem;
	struct gr_segments segments = { .elf = s->elf };
	struct gr_bytes bytes;
	Elf64_Phdr segment;

	while (!err && gr_segments_next(&segments, PT_LOAD, &segment, &bytes))
		err = find_tables(s, &segment, bytes, &tables);
	if (!err && !tables.size)
		return gr_error_format(GR_ERROR_NOT_GO,
				       "it has no table of Go functions "
				       "(pclntab)");
	segments = (struct gr_segments){ .elf = s->elf };
	while (!err && gr_segments_next(&segments, PT_LOAD, &segment, &bytes))
		if (!(segment.p_flags & PF_X))
			err = find_pointers(s, &segment, bytes, &tables);
	if (!err && !s->moduledatas.size)
		return gr_error_format(GR_ERROR_NO_DWARF,
				       "there is no debug information, and "
				       "the program's moduledata could not be "
				       "found");
	return err;
}

/* True if the slices of tables begin at the addresses in the header. */
static bool tables_agree(const struct gr_layout *layout, const uint8_t *record,
			 const struct header *header)
{
	const typeof(layout->moduledata) *md = &layout->moduledata;
	const struct gr_field fields[] = { md->funcnametab, md->cutab,
					   md->filetab, md->pctab,
					   md->pclntable };
	uint64_t start = gr_field_word(record, md->pc_header);

	for (size_t i = 0; i < GR_ARRAY_SIZE(fields); i++)
		if (gr_field_word(record, fields[i]) !=
		    start + header->tables[i])
			return false;
	return gr_field_word(record, md->ftab) ==
		       gr_field_word(record, md->pclntable) &&
	       gr_load_u64(record + md->ftab.off + 8) == header->nfunc + 1;
}

/* True if [start, end) is a range with one bit per word in the bit vector at
 * `mask`. */
static bool mask_agrees(const struct gr_layout *layout, const uint8_t *record,
			struct gr_field start, struct gr_field end,
			struct gr_field mask)
{
	uint64_t lo = gr_field_uint(record, start);
	uint64_t hi = gr_field_uint(record, end);
	const uint8_t *vector = record + mask.off;
	uint64_t bits = gr_field_uint(vector, layout->bitvector.n);

	return lo && lo <= hi &&
	       (bits == (hi - lo) / 8 || bits == (hi - lo + 7) / 8) &&
	       (!bits || gr_field_word(vector, layout->bitvector.bytedata));
}

static bool is_range(const uint8_t *record, struct gr_field start,
		     struct gr_field end)
{
	return gr_field_uint(record, start) &&
	       gr_field_uint(record, start) <= gr_field_uint(record, end);
}

static bool ranges_agree(const struct gr_layout *layout, const uint8_t *record)
{
	const typeof(layout->moduledata) *md = &layout->moduledata;
	uint64_t next = gr_field_word(record, md->next);

	return is_range(record, md->text, md->minpc) &&
	       is_range(record, md->minpc, md->maxpc) &&
	       is_range(record, md->maxpc, md->etext) &&
	       is_range(record, md->types, md->etypes) &&
	       is_range(record, md->noptrdata, md->enoptrdata) &&
	       is_range(record, md->noptrbss, md->enoptrbss) &&
	       gr_field_uint(record, md->types) !=
		       gr_field_uint(record, md->etypes) &&
	       mask_agrees(layout, record, md->data, md->edata,
			   md->gcdatamask) &&
	       mask_agrees(layout, record, md->bss, md->ebss, md->gcbssmask) &&
	       next % GR_WORD_BYTES == 0;
}

/* Is there a moduledata at @p addr by the layout? */
static struct gr_error *check_record(struct gr_search *s, uint64_t addr)
{
	const struct gr_layout *layout = &s->rt->layout;
	uint64_t bytes = layout->moduledata.size_bytes;
	uint8_t record[GR_SEARCH_MAX_RECORD], header_bytes[HEADER_BYTES];
	struct header header;
	struct gr_error *err;

	if (bytes > sizeof(record) ||
	    layout->moduledata.gcbssmask.bytes < layout->bitvector.size_bytes ||
	    layout->moduledata.ftab.bytes < 16)
		return gr_error_format(GR_ERROR_LAYOUT,
				       "a layout makes no sense");
	err = gr_image_read(s->rt->image, addr, record, bytes);
	if (!err)
		err = gr_image_read(s->rt->image,
				    gr_field_word(record,
						  layout->moduledata.pc_header),
				    header_bytes, sizeof(header_bytes));
	if (err)
		return err;
	if (parse_header(header_bytes, &header) &&
	    tables_agree(layout, record, &header) &&
	    ranges_agree(layout, record))
		return NULL;
	return gr_error_format(GR_ERROR_LAYOUT,
			       "its moduledata is of another form");
}

/* Check that functions with a function ID have the ID of the layout. */
static struct gr_error *check_func_ids(struct gr_search *s)
{
	const struct gr_layout *layout = &s->rt->layout;
	const struct gr_module *m = &s->rt->modules[0];
	const struct {
		enum gr_name_trait trait;
		bool has;
		int64_t id;
	} known[] = {
		{ GR_NAME_GOEXIT, layout->has.funcid_goexit,
		  layout->consts.funcid_goexit },
		{ GR_NAME_SIGPANIC, layout->has.funcid_sigpanic,
		  layout->consts.funcid_sigpanic },
		{ GR_NAME_DEBUG_CALL, layout->has.funcid_debug_call,
		  layout->consts.funcid_debug_call },
		{ GR_NAME_ASYNC_PREEMPT, layout->has.funcid_async_preempt,
		  layout->consts.funcid_async_preempt },
	};
	struct gr_func func;

	for (uint64_t i = 0; i + 1 < m->nftab; i++) {
		uint64_t pc = m->text + gr_load_u32(m->ftab + i * 8);
		struct gr_error *err = gr_runtime_step(s->rt, 1);

		if (err)
			return err;
		if (!gr_func_find(s->rt, pc, &func) ||
		    !gr_name_is_in_runtime(func.name))
			continue;
		for (size_t j = 0; j < GR_ARRAY_SIZE(known); j++)
			if (known[j].has && func.func_id != known[j].id &&
			    gr_name_has(func.name, known[j].trait))
				return gr_error_format(
					GR_ERROR_LAYOUT,
					"the function ID of %s does not match",
					func.name);
	}
	return NULL;
}

/* These functions use the runtime's own records as a source of types. */
static bool record_find(void *ctx, const char *name, uint32_t *type)
{
	struct gr_types *types = ctx;

	*type = gr_types_find(types, name);
	return *type != GR_TYPE_NONE &&
	       gr_types_get(types, *type)->kind == GR_KIND_STRUCT;
}

static uint64_t record_size(void *ctx, uint32_t type)
{
	struct gr_types *types = ctx;

	return gr_types_get(types, type)->size_bytes;
}

static bool record_member(void *ctx, uint32_t type, const char *name,
			  size_t len, uint64_t *off, uint32_t *field_type)
{
	struct gr_types *types = ctx;
	const struct gr_type *owner = gr_types_get(types, type);

	for (uint32_t i = 0; i < owner->nfields; i++) {
		const struct gr_type_field *f = gr_types_field(types, owner, i);
		if (strlen(f->name) != len || memcmp(f->name, name, len))
			continue;
		*off = f->off_bytes;
		*field_type = f->type;
		return true;
	}
	return false;
}

/* g, m, p, mspan and others are allocated with new(), or such types refer to
 * them. The program has their type records, with names and offsets of all
 * fields. */
static struct gr_error *check_records(struct gr_search *s)
{
	_cleanup_(gr_cleanup_types) struct gr_types *types = NULL;
	struct gr_layout_source source = {
		.find = record_find,
		.size = record_size,
		.member = record_member,
	};
	size_t structs;
	struct gr_error *err = gr_types_create(s->rt, &types);

	if (err)
		return err;
	source.ctx = types;
	bool agrees = gr_layout_agrees(&s->rt->layout, &source, &structs);
	err = gr_types_take_error(types);
	if (err || agrees)
		return err;
	return gr_error_format(GR_ERROR_LAYOUT,
			       "the runtime's types are of another form");
}

void gr_search_forget_modules(struct gr_runtime *rt)
{
	free(rt->modules);
	rt->modules = NULL;
	rt->nmodules = 0;
}

struct gr_error *gr_search_check_module(struct gr_search *s, uint64_t addr)
{
	struct gr_error *err = check_record(s, addr);

	if (err)
		return err;
	s->rt->layout.vars.firstmoduledata = addr;
	err = gr_modules_read(s->rt);
	if (!err)
		err = check_func_ids(s);
	if (!err)
		err = check_records(s);
	return err;
}
