// SPDX-License-Identifier: Apache-2.0
/* Location expressions: any operations with any operands. */
#include "dwarf/location.h"
#include "fuzz.h"

#include <libdwarf/dwarf.h>

static void check(const struct gr_location *location)
{
	if (location->npieces > GR_DWARF_PIECES_MAX)
		abort();
	for (uint32_t i = 1; i < location->npieces; i++)
		if (location->pieces[i].off_bytes <
		    location->pieces[i - 1].off_bytes)
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct fuzz_input in = { data, bytes };
	struct gr_location_op ops[2 * GR_LOCATION_OPS_MAX];
	struct gr_location_piece base = { .kind = fuzz_take(&in, 1) % 6 };
	uint64_t size_bytes = fuzz_take(&in, 1 + fuzz_take(&in, 1) % 8);
	size_t nops = 0;

	base.offset = fuzz_take(&in, 8);
	for (; in.bytes && nops < GR_ARRAY_SIZE(ops); nops++) {
		ops[nops].atom = fuzz_take(&in, 1);
		ops[nops].operand1 = fuzz_take(&in, 1 + ops[nops].atom % 8);
		ops[nops].operand2 =
			ops[nops].atom == DW_OP_bregx ? fuzz_take(&in, 8) : 0;
	}
	struct gr_location location = gr_location_decode(ops, nops, base);
	check(&location);
	gr_location_is_present(&location);
	gr_location_fit(&location, size_bytes);
	check(&location);
	return 0;
}
