// SPDX-License-Identifier: Apache-2.0
/*
 * A file of the symbol cache, patched by the input and cut off, under the
 * right stamp, key and checksum: refused, or safe to use.
 */
#include "fuzz.h"
#include "testsuite/unit/dwarf_tables.h"

static struct fuzz_base block;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	// Magic, stamp, checksum; and the key, which says of which file it is.
	const size_t head = 3 * sizeof(uint64_t);
	const size_t key = head + sizeof(struct gr_dwarf_key);
	size_t bytes;

	(void)argc;
	(void)argv;
	fuzz_base_set(&block, tables_pack(&bytes), bytes);
	// Where tables begin and end is worth more than what is in them.
	for (int i = 0; i < 4; i++)
		fuzz_base_add(&block, key, 256);
	fuzz_base_add(&block, key, bytes - key);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct fuzz_input in = { data, bytes };
	uint64_t cut = fuzz_take(&in, 2);
	struct gr_dwarf *dwarf = tables_create_empty();
	size_t size = block.file.bytes;

	// Most are whole.
	size -= cut & 0x8000 ? cut % size : 0;
	fuzz_base_patch(&block, &in, NULL);
	// Exactly as large, for AddressSanitizer.
	void *copy = malloc(size);
	if (!copy)
		abort();
	memcpy(copy, block.file.data, size);
	gr_store_seal(copy, size);
	if (tables_unpack(dwarf, copy, size) != GR_STORED_FINE)
		free(copy);
	else if (!tables_use(dwarf))
		abort();
	gr_dwarf_destroy(dwarf);
	fuzz_base_restore(&block);
	return 0;
}
