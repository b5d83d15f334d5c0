// SPDX-License-Identifier: Apache-2.0
#include "base/cleanup.h"
#include "dwarf/internal.h"
#include "dwarf/names.h"
#include "dwarf/store_check.h"
#include "dwarf/store_format.h"

// This file packs the tables into one block of bytes and unpacks them. A block
// has a header, the rows as they are in memory, then all names, each ending in
// NUL. A row in memory has a pointer to a name; the block has the name's
// offset among the names in its place. The first name is empty, and offset 0
// stands for NULL.
//
// A block may come from a damaged file. Every value that could lead out of a
// table is checked before use. The stamp tells the form of the block: saved
// files have the version of the format (store_format.h), so that every build of
// that version reads them; files of the cache have the checksum of this room's
// sources.

enum section {
	TYPES,
	FIELDS,
	VARIABLES,
	FUNCTIONS,
	CONSTANTS,
	CANONICAL,
	TYPES_BY_NAME,
	TYPES_BY_RUNTIME_TYPE,
	VARIABLES_BY_NAME,
	CONSTANTS_BY_NAME,
	ANSWERS,
	LOCALS,
	CAPTURES,
	NAMES,
	NSECTIONS,
};

static const size_t row_bytes[NSECTIONS] = {
	[TYPES] = sizeof(struct gr_dwarf_type),
	[FIELDS] = sizeof(struct gr_dwarf_field),
	[VARIABLES] = sizeof(struct gr_dwarf_variable),
	[FUNCTIONS] = sizeof(struct gr_dwarf_function),
	[CONSTANTS] = sizeof(struct gr_dwarf_constant),
	[CANONICAL] = sizeof(uint32_t),
	[TYPES_BY_NAME] = sizeof(uint32_t),
	[TYPES_BY_RUNTIME_TYPE] = sizeof(uint32_t),
	[VARIABLES_BY_NAME] = sizeof(uint32_t),
	[CONSTANTS_BY_NAME] = sizeof(uint32_t),
	[ANSWERS] = sizeof(struct gr_answer),
	[LOCALS] = sizeof(struct gr_dwarf_local),
	[CAPTURES] = sizeof(struct gr_dwarf_capture),
	[NAMES] = 1,
};

struct header {
	char magic[8];
	uint64_t stamp;
	uint64_t checksum; // of all that follows
	struct gr_dwarf_key key;
	const char *producer; // an offset, as in rows
	struct {
		uint64_t off, count;
	} sections[NSECTIONS];
};

static const char magic[8] = "goref\r\n";

GR_STORED_PLACE(header, stamp, 8, 8);
GR_STORED_PLACE(header, checksum, 16, 8);
GR_STORED_PLACE(header, key, 24, 272);
GR_STORED_PLACE(header, producer, 296, 8);
GR_STORED_PLACE(header, sections, 304, NSECTIONS * 16);
_Static_assert(NSECTIONS == 14, GR_STORED_CHANGED);

// Bytes that are read or copied between two polls.
enum { PIECE_BYTES = 1 << 20 };

static uint64_t sum_words(uint64_t sum, const uint8_t *data, size_t bytes)
{
	const uint64_t prime = 0x9e3779b97f4a7c15u;

	for (; bytes >= 8; data += 8, bytes -= 8) {
		sum = (sum ^ gr_load_u64(data)) * prime;
		sum ^= sum >> 32;
	}
	for (; bytes; data++, bytes--)
		sum = (sum ^ *data) * prime;
	return sum;
}

// The checksum of a block. It is incomplete if the check was ended.
static uint64_t checksum(struct gr_store_check *check, const void *block,
			 size_t bytes)
{
	const size_t from = offsetof(struct header, key);
	const uint8_t *data = (const uint8_t *)block + from;
	uint64_t sum = (bytes -= from) * 0x9e3779b97f4a7c15u;

	for (size_t n; bytes; data += n, bytes -= n) {
		n = bytes < PIECE_BYTES ? bytes : PIECE_BYTES;
		sum = sum_words(sum, data, n);
		if (!gr_store_check_bytes(check, n))
			break;
	}
	return sum ^ sum >> 32;
}

void gr_store_seal(void *block, size_t bytes)
{
	struct gr_store_check check = { 0 };
	struct header *header = block;

	if (bytes >= sizeof(*header))
		header->checksum = checksum(&check, block, bytes);
}

// ------------------------------------------------------------------- names

// A function that is called for the names of all rows.
typedef bool visit_name(struct gr_names *names, const char **slot,
			bool may_lack);

static bool each_name(struct gr_names *names, visit_name *visit, void *slot,
		      size_t count, size_t stride, bool may_lack)
{
	for (size_t i = 0; i < count; i++)
		if (!visit(names, (const char **)((char *)slot + i * stride),
			   may_lack) ||
		    !gr_store_check_step(names->check, 1))
			return false;
	return true;
}

#define EACH_NAME(rows, count, member, may_lack)                         \
	each_name(names, visit, &(rows)->member, count, sizeof(*(rows)), \
		  may_lack)

static bool visit_names(struct gr_names *names, visit_name *visit,
			struct header *header)
{
	size_t n[NSECTIONS];
	void *at[NSECTIONS];

	for (int i = 0; i < NSECTIONS; i++) {
		at[i] = (char *)header + header->sections[i].off;
		n[i] = header->sections[i].count;
	}
	struct gr_dwarf_type *types = at[TYPES];
	struct gr_dwarf_field *fields = at[FIELDS];
	struct gr_dwarf_variable *variables = at[VARIABLES];
	struct gr_dwarf_function *functions = at[FUNCTIONS];
	struct gr_dwarf_constant *constants = at[CONSTANTS];
	struct gr_dwarf_local *locals = at[LOCALS];
	struct gr_dwarf_capture *captures = at[CAPTURES];
	return visit(names, &header->producer, true) &&
	       EACH_NAME(types, n[TYPES], name, false) &&
	       EACH_NAME(fields, n[FIELDS], name, false) &&
	       EACH_NAME(variables, n[VARIABLES], name, false) &&
	       EACH_NAME(functions, n[FUNCTIONS], name, false) &&
	       EACH_NAME(constants, n[CONSTANTS], name, false) &&
	       EACH_NAME(locals, n[LOCALS], name, false) &&
	       EACH_NAME(locals, n[LOCALS], function, false) &&
	       EACH_NAME(locals, n[LOCALS], file, true) &&
	       EACH_NAME(captures, n[CAPTURES], name, false);
}

// ----------------------------------------------------------------- packing

// Make a sorted array of all answers, each question once. The caller frees it
// with free(). NULL: no memory.
static struct gr_answer *sort_answers(const struct gr_dwarf *dwarf,
				      size_t *count)
{
	const struct gr_answer_vector *rows = &dwarf->answers.rows;
	struct gr_answer *sorted = calloc(rows->size + 1, sizeof(*sorted));
	size_t kept = 0;

	if (!sorted)
		return NULL;
	if (rows->size)
		memcpy(sorted, rows->data, rows->size * sizeof(*sorted));
	qsort(sorted, rows->size, sizeof(*sorted), gr_answer_compare);
	for (size_t i = 0; i < rows->size; i++)
		if (!kept || gr_answer_compare(&sorted[kept - 1], &sorted[i]))
			sorted[kept++] = sorted[i];
	*count = kept;
	return sorted;
}

struct rows {
	const void *data;
	size_t count;
};

static size_t index_slots(const struct gr_index *index)
{
	return (size_t)index->mask + 1;
}

static void list_rows(const struct gr_dwarf *dwarf, struct rows *rows)
{
#define ROWS(id, vector) \
	rows[id] = (struct rows){ (vector).data, (vector).size }
#define SLOTS(id, index)                             \
	rows[id] = (struct rows)                     \
	{                                            \
		(index).slots, index_slots(&(index)) \
	}
	ROWS(TYPES, dwarf->types);
	ROWS(FIELDS, dwarf->fields);
	ROWS(VARIABLES, dwarf->variables);
	ROWS(FUNCTIONS, dwarf->functions);
	ROWS(CONSTANTS, dwarf->constants);
	rows[CANONICAL] = (struct rows){ dwarf->canonical, dwarf->types.size };
	SLOTS(TYPES_BY_NAME, dwarf->types_by_name);
	SLOTS(TYPES_BY_RUNTIME_TYPE, dwarf->types_by_runtime_type);
	SLOTS(VARIABLES_BY_NAME, dwarf->variables_by_name);
	SLOTS(CONSTANTS_BY_NAME, dwarf->constants_by_name);
	ROWS(LOCALS, dwarf->answers.locals);
	ROWS(CAPTURES, dwarf->answers.captures);
#undef ROWS
#undef SLOTS
}

/* Bytes of a row that no member has; see store_format.h. */
static const struct {
	enum section section;
	uint16_t off, bytes;
} padding[] = {
	{ FIELDS, 21, 3 },   { VARIABLES, 20, 4 }, { CONSTANTS, 20, 4 },
	{ LOCALS, 25, 3 },   { LOCALS, 36, 4 },	   { LOCALS, 436, 4 },
	{ CAPTURES, 21, 3 },
};

/* Set to 0 what is between the members of rows, and the pieces that a variable
 * does not have: memory of ours is no part of a file. */
static void clear_padding(struct header *header)
{
	char *base = (char *)header;

	for (size_t i = 0; i < GR_ARRAY_SIZE(padding); i++) {
		enum section id = padding[i].section;
		char *row = base + header->sections[id].off;

		for (uint64_t n = header->sections[id].count; n;
		     n--, row += row_bytes[id])
			memset(row + padding[i].off, 0, padding[i].bytes);
	}
	struct gr_dwarf_local *locals =
		(struct gr_dwarf_local *)(base + header->sections[LOCALS].off);
	for (uint64_t i = 0; i < header->sections[LOCALS].count; i++) {
		struct gr_dwarf_local *local = &locals[i];

		for (uint32_t n = 0; n < GR_ARRAY_SIZE(local->pieces); n++)
			if (n >= local->npieces)
				memset(&local->pieces[n], 0,
				       sizeof(local->pieces[n]));
			else
				memset((char *)&local->pieces[n] + 14, 0, 2);
	}
}

static struct header *pack_rows(const struct gr_dwarf *dwarf,
				const struct rows *rows, uint64_t stamp,
				size_t *ret_bytes)
{
	size_t bytes = sizeof(struct header);
	struct header *header;

	for (int i = 0; i < NSECTIONS; i++)
		bytes += (rows[i].count * row_bytes[i] + 7) & ~(size_t)7;
	header = calloc(1, bytes);
	if (!header)
		return NULL;
	*ret_bytes = bytes;
	memcpy(header->magic, magic, sizeof(magic));
	header->stamp = stamp;
	header->key = dwarf->key;
	header->producer = dwarf->producer;
	bytes = sizeof(struct header);
	for (int i = 0; i < NSECTIONS; i++) {
		size_t part = rows[i].count * row_bytes[i];
		header->sections[i].off = bytes;
		header->sections[i].count = rows[i].count;
		if (part)
			memcpy((char *)header + bytes, rows[i].data, part);
		bytes += (part + 7) & ~(size_t)7;
	}
	clear_padding(header);
	return header;
}

void *gr_store_pack(const struct gr_dwarf *dwarf, uint64_t stamp,
		    size_t *ret_bytes)
{
	_cleanup_(gr_names_deinit) struct gr_names names = { 0 };
	_cleanup_free_ struct gr_answer *answers = NULL;
	_cleanup_free_ struct header *header = NULL;
	struct rows rows[NSECTIONS] = { 0 };
	size_t bytes;

	list_rows(dwarf, rows);
	answers = sort_answers(dwarf, &rows[ANSWERS].count);
	rows[ANSWERS].data = answers;
	if (!answers || !gr_names_init(&names))
		return NULL;
	header = pack_rows(dwarf, rows, stamp, &bytes);
	if (!header || !visit_names(&names, gr_names_pack, header))
		return NULL;
	struct header *grown = realloc(header, bytes + names.text_bytes);
	if (!grown)
		return NULL;
	header = grown;
	memcpy((char *)header + bytes, names.text, names.text_bytes);
	header->sections[NAMES].off = bytes;
	header->sections[NAMES].count = names.text_bytes;
	*ret_bytes = bytes + names.text_bytes;
	gr_store_seal(header, *ret_bytes);
	return_ptr(header);
}

// --------------------------------------------------------------- unpacking

static bool sections_fit(const struct header *header, size_t bytes)
{
	for (int i = 0; i < NSECTIONS; i++) {
		uint64_t off = header->sections[i].off;
		uint64_t count = header->sections[i].count;
		if (off % 8 || off < sizeof(*header) || off > bytes ||
		    count > GR_DWARF_COUNT_MAX ||
		    count * row_bytes[i] > bytes - off)
			return false;
	}
	return header->sections[CANONICAL].count ==
	       header->sections[TYPES].count;
}

// Sections may not share bytes: pointers are put into some of them.
static bool sections_are_apart(const struct header *header)
{
	uint64_t end = sizeof(*header);

	for (int i = 0; i < NSECTIONS; i++) {
		if (header->sections[i].off < end)
			return false;
		end = header->sections[i].off +
		      header->sections[i].count * row_bytes[i];
	}
	return true;
}

// Copy rows a piece at a time: each poll accounts for the memory of the piece.
static bool copy_rows(struct gr_store_check *check, void *to, const void *from,
		      size_t bytes)
{
	for (size_t done = 0, n; done < bytes; done += n) {
		n = bytes - done < PIECE_BYTES ? bytes - done : PIECE_BYTES;
		memcpy((char *)to + done, (const char *)from + done, n);
		if (!gr_store_check_bytes(check, n))
			return false;
	}
	return true;
}

// Answers are copied out of the block because their tables can grow.
static bool copy_answers(struct gr_store_check *check, struct gr_dwarf *dwarf,
			 const struct header *header)
{
	const char *base = (const char *)header;

#define COPY(type, vector, id)                                  \
	do {                                                    \
		size_t count = header->sections[id].count;      \
		if (!type##_reserve(&(vector), count + 1) ||    \
		    !copy_rows(check, (vector).data,            \
			       base + header->sections[id].off, \
			       count * row_bytes[id]))          \
			return false;                           \
		(vector).size = count;                          \
	} while (0)
	COPY(gr_answer_vector, dwarf->answers.rows, ANSWERS);
	COPY(gr_local_vector, dwarf->answers.locals, LOCALS);
	COPY(gr_capture_vector, dwarf->answers.captures, CAPTURES);
#undef COPY
	dwarf->answers.nsorted = dwarf->nsaved = dwarf->answers.rows.size;
	return true;
}

static void point_into(struct gr_dwarf *dwarf, struct header *header)
{
	void *at[NSECTIONS];

	for (int i = 0; i < NSECTIONS; i++)
		at[i] = (char *)header + header->sections[i].off;
#define VECTOR(id, vector)      \
	(vector).data = at[id], \
	(vector).size = (vector).capacity = header->sections[id].count
#define INDEX(id, index)        \
	(index).slots = at[id], \
	(index).mask = (uint32_t)header->sections[id].count - 1
	VECTOR(TYPES, dwarf->types);
	VECTOR(FIELDS, dwarf->fields);
	VECTOR(VARIABLES, dwarf->variables);
	VECTOR(FUNCTIONS, dwarf->functions);
	VECTOR(CONSTANTS, dwarf->constants);
	INDEX(TYPES_BY_NAME, dwarf->types_by_name);
	INDEX(TYPES_BY_RUNTIME_TYPE, dwarf->types_by_runtime_type);
	INDEX(VARIABLES_BY_NAME, dwarf->variables_by_name);
	INDEX(CONSTANTS_BY_NAME, dwarf->constants_by_name);
#undef VECTOR
#undef INDEX
	dwarf->canonical = at[CANONICAL];
	dwarf->producer = header->producer;
}

static bool indexes_are_fine(struct gr_store_check *check,
			     const struct gr_dwarf *dwarf,
			     const struct header *header)
{
	return gr_store_check_index(check, &dwarf->types_by_name,
				    header->sections[TYPES_BY_NAME].count,
				    dwarf->types.size) &&
	       gr_store_check_index(
		       check, &dwarf->types_by_runtime_type,
		       header->sections[TYPES_BY_RUNTIME_TYPE].count,
		       dwarf->types.size) &&
	       gr_store_check_index(check, &dwarf->variables_by_name,
				    header->sections[VARIABLES_BY_NAME].count,
				    dwarf->variables.size) &&
	       gr_store_check_index(check, &dwarf->constants_by_name,
				    header->sections[CONSTANTS_BY_NAME].count,
				    dwarf->constants.size);
}

static bool tables_are_fine(struct gr_store_check *check,
			    struct gr_dwarf *tables, struct header *header,
			    size_t bytes)
{
	struct gr_names names = { .check = check };

	if (!sections_fit(header, bytes) || !sections_are_apart(header))
		return false;
	names.text = (char *)header + header->sections[NAMES].off;
	names.text_bytes = header->sections[NAMES].count;
	if (!gr_names_are_clean(&names) ||
	    !visit_names(&names, gr_names_unpack, header) ||
	    !copy_answers(check, tables, header))
		return false;
	point_into(tables, header);
	return gr_store_check_types(check, tables) &&
	       gr_store_check_answers(check, tables) &&
	       indexes_are_fine(check, tables, header);
}

bool gr_store_key(const void *block, size_t bytes, struct gr_dwarf_key *ret)
{
	const struct header *header = block;

	if (bytes < sizeof(*header))
		return false;
	*ret = header->key;
	return true;
}

// Fill tables of a block whose stamp and sums are right.
static enum gr_stored unpack(struct gr_store_check *check,
			     struct gr_dwarf *dwarf, struct header *header,
			     size_t bytes)
{
	struct gr_dwarf tables = { .key = dwarf->key };

	if (memcmp(&header->key, &dwarf->key, sizeof(dwarf->key)))
		return GR_STORED_OTHER;
	if (!tables_are_fine(check, &tables, header, bytes)) {
		gr_answers_deinit(&tables.answers);
		return GR_STORED_DAMAGED;
	}
	tables.path = dwarf->path;
	tables.fd = dwarf->fd;
	tables.is_cached = dwarf->is_cached;
	tables.is_packed = dwarf->is_packed;
	tables.poll = dwarf->poll;
	tables.ctx = dwarf->ctx;
	tables.is_saved = true;
	tables.block = header;
	*dwarf = tables;
	return GR_STORED_FINE;
}

struct gr_error *gr_store_unpack(struct gr_dwarf *dwarf, void *block,
				 size_t bytes, uint64_t stamp,
				 enum gr_stored *ret)
{
	struct gr_store_check check = { .dwarf = dwarf };
	struct header *header = block;

	*ret = GR_STORED_DAMAGED;
	if (bytes < sizeof(*header) ||
	    memcmp(header->magic, magic, sizeof(magic)))
		return NULL;
	if (header->stamp != stamp) {
		*ret = GR_STORED_OTHER;
		return NULL;
	}
	uint64_t sum = checksum(&check, block, bytes);
	if (!check.err && header->checksum == sum)
		*ret = unpack(&check, dwarf, header, bytes);
	return check.err;
}
