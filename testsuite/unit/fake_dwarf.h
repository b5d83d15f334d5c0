// SPDX-License-Identifier: Apache-2.0
/* Debug information made up by a test, in place of a file's. */
#pragma once

#include "goruntime/layout/layout.h"

#include "suite.h"

enum { MAX_TYPES = 2048, MAX_MEMBERS = 4096, MAX_NAMED = 512 };

/** Stands for the real one: a test and layout.c see the same functions. */
struct gr_dwarf {
	struct gr_dwarf_type types[MAX_TYPES];
	size_t ntypes;
	struct {
		uint32_t owner;
		struct gr_dwarf_field field;
	} members[MAX_MEMBERS];
	size_t nmembers;
	struct gr_dwarf_field fields[MAX_MEMBERS];
	struct gr_dwarf_variable variables[MAX_NAMED];
	size_t nvariables;
	struct gr_dwarf_constant constants[MAX_NAMED];
	size_t nconstants;
	char names[1 << 17];
	size_t names_used;
};

const struct gr_dwarf_type *gr_dwarf_types(const struct gr_dwarf *dwarf,
					   size_t *count)
{
	*count = dwarf->ntypes;
	return dwarf->types;
}

const struct gr_dwarf_field *gr_dwarf_fields(const struct gr_dwarf *dwarf)
{
	return dwarf->fields;
}

const struct gr_dwarf_variable *gr_dwarf_variables(const struct gr_dwarf *dwarf,
						   size_t *count)
{
	*count = dwarf->nvariables;
	return dwarf->variables;
}

uint32_t gr_dwarf_find_type(const struct gr_dwarf *dwarf, const char *name)
{
	for (size_t i = 0; i < dwarf->ntypes; i++)
		if (!strcmp(dwarf->types[i].name, name))
			return i;
	return GR_DWARF_NONE;
}

uint32_t gr_dwarf_find_variable(const struct gr_dwarf *dwarf, const char *name)
{
	for (size_t i = 0; i < dwarf->nvariables; i++)
		if (!strcmp(dwarf->variables[i].name, name))
			return i;
	return GR_DWARF_NONE;
}

bool gr_dwarf_find_constant(const struct gr_dwarf *dwarf, const char *name,
			    int64_t *ret)
{
	for (size_t i = 0; i < dwarf->nconstants; i++) {
		if (strcmp(dwarf->constants[i].name, name))
			continue;
		*ret = dwarf->constants[i].value;
		return true;
	}
	return false;
}

static inline const char *keep_name(struct gr_dwarf *d, const char *name,
				    size_t len)
{
	char *copy = d->names + d->names_used;

	assert_true(d->names_used + len < sizeof(d->names));
	memcpy(copy, name, len);
	d->names_used += len + 1;
	return copy;
}

static inline uint32_t add_type(struct gr_dwarf *d, const char *name,
				size_t len, uint64_t size)
{
	assert_true(d->ntypes < MAX_TYPES);
	d->types[d->ntypes].name = keep_name(d, name, len);
	d->types[d->ntypes].size_bytes = size;
	return d->ntypes++;
}

static inline struct gr_dwarf_field *
find_member(struct gr_dwarf *d, uint32_t owner, const char *name, size_t len)
{
	for (size_t i = 0; i < d->nmembers; i++)
		if (d->members[i].owner == owner &&
		    strlen(d->members[i].field.name) == len &&
		    !memcmp(d->members[i].field.name, name, len))
			return &d->members[i].field;
	return NULL;
}

/* The last field of a dotted path; what leads to it is made where missing. */
static inline struct gr_dwarf_field *add_path(struct gr_dwarf *d,
					      uint32_t owner, const char *path,
					      size_t bytes, uint64_t off,
					      uint64_t size)
{
	enum { STEP = 16 };
	const char *end = path + bytes;

	for (;;) {
		size_t len = 0;
		while (path + len < end && path[len] != '.')
			len++;
		bool is_last = path + len == end;
		struct gr_dwarf_field *field = find_member(d, owner, path, len);
		if (!field) {
			assert_true(d->nmembers < MAX_MEMBERS);
			d->members[d->nmembers].owner = owner;
			field = &d->members[d->nmembers++].field;
			field->name = keep_name(d, path, len);
			field->off_bytes = is_last ? off : STEP;
			field->type = add_type(d, "?", 1, size);
		}
		if (is_last)
			return field;
		off -= field->off_bytes;
		owner = field->type;
		path += len + 1;
	}
}

/* Members side by side, as the real tables have them. */
static inline void finish(struct gr_dwarf *d)
{
	size_t n = 0;

	for (uint32_t type = 0; type < d->ntypes; type++) {
		d->types[type].first_field = n;
		for (size_t i = 0; i < d->nmembers; i++)
			if (d->members[i].owner == type)
				d->fields[n++] = d->members[i].field;
		d->types[type].nfields = n - d->types[type].first_field;
	}
}
