/* SPDX-License-Identifier: Apache-2.0 */
/** cfi: rows of call frame information, as rules. */
#ifndef GR_TRACE_CFI_H
#define GR_TRACE_CFI_H

#include <elfutils/libdw.h>

#include "base/base.h"
#include "helpers/trace/rules.h"

/**
 * Make the rule for an address, in the numbers of the file. Its expressions are
 * added to @p rules.
 *
 * @return false if there is no row, or one that no rule can hold.
 */
bool gr_cfi_rule(Dwarf_CFI *cfi, uint64_t addr, struct gr_rules *rules,
		 struct gr_rule *rule);

#endif /* GR_TRACE_CFI_H */
