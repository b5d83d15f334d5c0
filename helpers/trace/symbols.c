// SPDX-License-Identifier: Apache-2.0
#include "helpers/trace/symbols.h"

#include <gelf.h>

#include "base/sort.h"
#include "base/text.h"

enum {
	MAX_SYMBOLS = 1 << 22, // 64 MiB
	// Functions that begin at or before an address and may hold it.
	NEAR_SYMBOLS = 8,
	RANK_BITS = 2,
};

void gr_func_symbols_deinit(struct gr_func_symbols *symbols)
{
	gr_func_symbol_vector_deinit(&symbols->list);
	symbols->names = (struct gr_bytes){ 0 };
}

static int compare(const void *a, const void *b)
{
	const struct gr_func_symbol *s = a, *t = b;

	return (s->key > t->key) - (s->key < t->key);
}

/* A name that others may use comes last among those of one address. */
static uint64_t rank_of(const GElf_Sym *sym)
{
	int binding = GELF_ST_BIND(sym->st_info);

	return binding == STB_GLOBAL ? 2 : binding == STB_WEAK ? 1 : 0;
}

static bool is_function(const GElf_Sym *sym)
{
	int type = GELF_ST_TYPE(sym->st_info);

	return (type == STT_FUNC || type == STT_GNU_IFUNC) &&
	       sym->st_shndx != SHN_UNDEF && sym->st_name &&
	       sym->st_value < UINT64_MAX >> RANK_BITS;
}

static bool read_table(struct gr_func_symbols *symbols, Elf_Data *data)
{
	size_t count = data->d_size / sizeof(Elf64_Sym);
	GElf_Sym sym;

	if (count > MAX_SYMBOLS)
		return false;
	for (size_t i = 0; i < count; i++) {
		if (!gelf_getsym(data, i, &sym) || !is_function(&sym))
			continue;
		struct gr_func_symbol found = {
			.key = sym.st_value << RANK_BITS | rank_of(&sym),
			.bytes = sym.st_size < UINT32_MAX ? sym.st_size :
							    UINT32_MAX,
			.name = sym.st_name,
		};
		if (!gr_func_symbol_vector_append(&symbols->list, found))
			return false;
	}
	struct gr_error *err = gr_sort(symbols->list.data, symbols->list.size,
				       sizeof(*symbols->list.data), compare,
				       NULL, NULL);
	gr_error_destroy(err);
	return !err && symbols->list.size;
}

bool gr_func_symbols_read(struct gr_func_symbols *symbols, Elf *elf,
			  uint32_t type)
{
	GElf_Shdr shdr;

	// Bounded by the sections, which libelf has counted.
	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn));) {
		if (!gelf_getshdr(scn, &shdr) || shdr.sh_type != type)
			continue;
		Elf_Data *table = elf_getdata(scn, NULL);
		Elf_Scn *strings = elf_getscn(elf, shdr.sh_link);
		Elf_Data *names = strings ? elf_rawdata(strings, NULL) : NULL;
		if (!table || !table->d_buf || !names || !names->d_buf)
			return false;
		symbols->names =
			(struct gr_bytes){ names->d_buf, names->d_size };
		if (read_table(symbols, table))
			return true;
		gr_func_symbols_deinit(symbols);
		return false;
	}
	return false;
}

static bool copy_name(const struct gr_func_symbols *symbols, uint32_t off,
		      char *name, size_t name_bytes)
{
	if (off >= symbols->names.size || !name_bytes)
		return false;
	const char *found = (const char *)symbols->names.data + off;
	size_t bytes = strnlen(found, symbols->names.size - off);
	if (bytes >= name_bytes)
		bytes = name_bytes - 1;
	memcpy(name, found, bytes);
	name[bytes] = '\0';
	gr_text_make_printable(name, bytes);
	return bytes;
}

bool gr_func_symbols_find(const struct gr_func_symbols *symbols, uint64_t addr,
			  char *name, size_t name_bytes)
{
	const struct gr_func_symbol *list = symbols->list.data;
	uint64_t key = (addr + 1) << RANK_BITS;

	if (addr >= UINT64_MAX >> RANK_BITS)
		return false;
	size_t end = gr_count_before(symbols->list.size, i, list[i].key < key);
	for (size_t n = 0; n < NEAR_SYMBOLS && n < end; n++) {
		const struct gr_func_symbol *s = &list[end - 1 - n];

		// Code in assembly may have no size: it ends at the next one.
		if (addr - (s->key >> RANK_BITS) < s->bytes ||
		    (!n && !s->bytes))
			return copy_name(symbols, s->name, name, name_bytes);
	}
	return false;
}
