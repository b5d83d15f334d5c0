/* SPDX-License-Identifier: Apache-2.0 */
/**
 * scanner.h: all that gdbext/ and proto/ may include of the scanner; inside of
 * it nothing includes this file. One header a question.
 *
 * A gr_scan is one stopped target, opened once and kept for later questions.
 * A gr_result is one walk of it: the reference tree and the ledger.
 */
#ifndef GR_SCANNER_H
#define GR_SCANNER_H

#include "export/export.h"
#include "facts/core_facts.h"
#include "facts/core_modules.h"
#include "facts/debug_file.h"
#include "facts/elf_facts.h"
#include "goroutines/backtrace.h"
#include "goroutines/goroutine_list.h"
#include "goroutines/goroutine_wait.h"
#include "goroutines/leaks.h"
#include "goroutines/panic.h"
#include "goroutines/scheduler.h"
#include "goroutines/thread_goroutine.h"
#include "goroutines/waits/wait_report.h"
#include "retention/dominators.h"
#include "retention/holders.h"
#include "retention/histogram.h"
#include "retention/listing.h"
#include "naming/locate.h"
#include "retention/merged_types.h"
#include "retention/named_links.h"
#include "retention/object.h"
#include "retention/object_value.h"
#include "walks/reached.h"
#include "scan/graph.h"
#include "scan/open.h"
#include "expr/place.h"
#include "process/process.h"
#include "process/refusal.h"
#include "process/status.h"
#include "profiles/allocation.h"
#include "profiles/bucket_profile.h"
#include "profiles/goroutine_profile.h"
#include "profiles/site_table.h"
#include "profiles/result_sites.h"
#include "walks/result.h"
#include "save/save.h"
#include "resident/rss.h"
#include "retention/result_dominators.h"
#include "retention/result_retained.h"
#include "retention/suspects.h"
#include "values/local_values.h"
#include "values/map_view.h"
#include "values/memory.h"
#include "values/type_view.h"
#include "values/value_place.h"
#include "values/value_text.h"
#include "expr/variable.h"
#include "naming/vertex.h"
#include "retention/graph_view.h"
#include "walks/verify.h"
#include "walks/why.h"

#endif /* GR_SCANNER_H */
