// SPDX-License-Identifier: Apache-2.0
// What goref-scan says as JSON.
#include "goref-scan-json.h"

#include <inttypes.h>
#include <stdio.h>

static void put_string(const char *text)
{
	if (!text) {
		printf("null");
		return;
	}
	putchar('"');
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c == '"' || c == '\\')
			printf("\\%c", c);
		else if (c < ' ')
			printf("\\u%04x", c);
		else
			putchar(c);
	}
	putchar('"');
}

static void put_field(const char *key, const char *value)
{
	printf("\"%s\": ", key);
	put_string(value);
}

static void put_total(const char *prefix, const struct gr_total *total)
{
	printf("\"%sobjects\": %" PRIu64 ", \"%sbytes\": %" PRIu64, prefix,
	       total->objects, prefix, total->bytes);
}

static void put_gaps(const struct gr_gaps *gaps)
{
	printf("\"gaps\": {");
	for (size_t i = 0; i < GR_NGAPS; i++)
		printf("%s\"%s\": %" PRIu64, i ? ", " : "",
		       gr_gap_name((enum gr_gap)i), gaps->count[i]);
	printf("}");
}

static void put_ledger(const struct gr_ledger *l)
{
	printf("\"heap\": {");
	put_total("allocated_", &l->allocated);
	printf("},\n\"reached\": {");
	put_total("", &l->reached);
	printf(", ");
	put_total("typed_", &l->typed);
	printf(", ");
	put_total("runtime_type_", &l->runtime_type);
	printf(", ");
	put_total("header_", &l->header);
	printf(", ");
	put_total("masked_", &l->masked);
	printf("},\n\"unreached\": {");
	put_total("", &l->unreached);
	printf("},\n\"folded\": {");
	put_total("", &l->folded);
	printf("},\n");
	put_gaps(&l->gaps);
	printf(",\n");
}

static void put_phases(const struct gr_ledger *l)
{
	static const char *const names[] = {
#define X(name) #name,
		GR_PHASES(X)
#undef X
	};

	printf("\"phases_ms\": {");
	for (size_t i = 0; i < GR_NPHASES; i++)
		printf("%s\"%s\": %.3f", i ? ", " : "", names[i],
		       (double)l->phases_us[i] / 1000);
	printf("},\n\"peak_private_bytes\": %" PRIu64 "\n",
	       l->peak_private_bytes);
}

static void put_roots(const struct gr_result *result)
{
	size_t count;
	const struct gr_root_total *roots = gr_result_roots(result, &count);

	printf("\"roots\": [");
	for (size_t i = 0; i < count; i++) {
		printf("%s\n {", i ? "," : "");
		put_field("name", roots[i].name);
		printf(", ");
		put_field("kind", gr_root_kind_name(roots[i].kind));
		printf(", ");
		if (roots[i].goroutine_state) {
			put_field("goroutine_state", roots[i].goroutine_state);
			printf(", ");
		}
		if (roots[i].goroutine_id)
			printf("\"goroutine_id\": %" PRIu64 ", ",
			       roots[i].goroutine_id);
		put_total("", &roots[i].total);
		printf("}");
	}
	printf("],\n");
}

static void put_types(const struct gr_result *result)
{
	size_t count;
	const struct gr_type_total *types = gr_result_types(result, &count);

	printf("\"types\": [");
	for (size_t i = 0; i < count; i++) {
		printf("%s\n {", i ? "," : "");
		put_field("type", types[i].type);
		printf(", ");
		put_total("", &types[i].total);
		printf("}");
	}
	printf("],\n");
}

void put_result(const struct gr_scan_info *info, const struct gr_result *result)
{
	printf("{");
	put_field("tool_version", PACKAGE_VERSION);
	printf(",\n");
	put_field("go_version", info->go_version);
	printf(",\n");
	put_field("gc_phase", info->gc_phase);
	printf(",\n\"target\": {");
	put_field("exe", info->exe_path);
	printf(", ");
	put_field("core", info->core_path);
	printf(", \"pid\": %d},\n", (int)info->pid);
	put_ledger(gr_result_ledger(result));
	put_roots(result);
	put_types(result);
	put_phases(gr_result_ledger(result));
	printf("}\n");
}

static void put_classes(const struct gr_verdict *v)
{
	printf("\"classes\": [");
	for (size_t i = 0; i < v->nclasses; i++) {
		const struct gr_class_total *class = &v->classes[i];

		printf("%s\n {\"spanclass\": %u, \"slot_bytes\": %" PRIu64 ", ",
		       i ? "," : "", class->spanclass, class->elem_bytes);
		put_total("allocated_", &class->allocated);
		printf(", ");
		put_total("reached_", &class->reached);
		printf("}");
	}
	printf("],\n");
}

static void put_differences(const struct gr_verdict *v)
{
	printf("\"differences\": [");
	for (size_t i = 0; i < v->ndifferences; i++) {
		const struct gr_difference *d = &v->differences[i];

		printf("%s\n {\"address\": \"0x%" PRIx64
		       "\", \"bytes\": %" PRIu64 ", ",
		       i ? "," : "", d->addr, d->bytes);
		put_field("type", *d->type ? d->type : NULL);
		printf(", ");
		put_field("reason", d->reason);
		printf("}");
	}
	printf("],\n");
}

static void put_figure(const char *key, bool has_stats, uint64_t read,
		       uint64_t rebuilt)
{
	printf("\"%s\": {\"read\": ", key);
	if (has_stats)
		printf("%" PRIu64, read);
	else
		printf("null");
	printf(", \"rebuilt\": %" PRIu64 "},\n", rebuilt);
}

static void put_free_slots(const struct gr_verdict *v)
{
	printf("\"free_slots\": [");
	for (size_t i = 0; i < v->nfree_slots; i++) {
		const struct gr_free_slot *slot = &v->free_slots[i];

		printf("%s{\"address\": \"0x%" PRIx64 "\", \"held_by\": ",
		       i ? ", " : "", slot->addr);
		if (slot->held_by)
			printf("\"0x%" PRIx64 "\"}", slot->held_by);
		else
			printf("null}");
	}
	printf("],\n");
}

void put_verdict(const struct gr_scan_info *info, const struct gr_verdict *v)
{
	printf("{");
	put_field("go_version", info->go_version);
	printf(",\n");
	put_field("gc_phase", info->gc_phase);
	printf(",\n");
	put_total("allocated_", &v->allocated);
	printf(",\n");
	put_total("reached_", &v->reached);
	printf(",\n");
	put_figure("heap_alloc", v->has_stats, v->stats.bytes,
		   v->rebuilt.bytes);
	put_figure("heap_objects", v->has_stats, v->stats.objects,
		   v->rebuilt.objects);
	put_classes(v);
	put_differences(v);
	put_gaps(&v->gaps);
	printf(",\n");
	put_free_slots(v);
	printf("\"free_slot_pointers\": %" PRIu64
	       ", \"missed_pointers\": %" PRIu64 ", \"unexplained\": %" PRIu64
	       "}\n",
	       v->free_slot_pointers, v->missed_pointers, v->unexplained);
}
