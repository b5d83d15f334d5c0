// SPDX-License-Identifier: Apache-2.0
/* Writing the target to a file: what of it is kept, and its description. */
#include "save/save.h"

#include <time.h>

#include "goruntime/layout/symbols.h"
#include "goruntime/types/dictionary.h"
#include "save/save_internal.h"
#include "savedfile/batches.h"
#include "savedfile/saved.h"
#include "savedfile/skeleton.h"
#include "scan/enter.h"
#include "scan/residency.h"

static const char *origin_of(struct gr_stop *stop)
{
	switch (stop->target.kind) {
	case GR_TARGET_CORE:
		return gr_arena_internf(&stop->program->arena, "core %s",
					stop->target.core_path);
	case GR_TARGET_NATIVE:
		return gr_arena_internf(&stop->program->arena, "process %d",
					(int)stop->target.pid);
	case GR_TARGET_SNAPSHOT:
		return gr_arena_internf(&stop->program->arena,
					"snapshot of process %d",
					(int)stop->target.pid);
	case GR_TARGET_SAVED:
		return stop->saved->origin;
	case GR_TARGET_REMOTE:
		break;
	}
	return "remote process";
}

/* Symbols of a module, by their addresses in the file. */
struct symbols {
	const struct gr_program *program;
	size_t module;
	struct gr_kept_symbol *rows;
	size_t count;
};

static void add_symbol(struct symbols *symbols, uint8_t type, const char *name,
		       uint64_t addr, uint64_t bytes)
{
	struct gr_image *image = symbols->program->rt.image;

	if (gr_image_module_at(image, addr) == symbols->module)
		symbols->rows[symbols->count++] = (struct gr_kept_symbol){
			.name = name,
			.addr = addr - gr_image_bias(image, symbols->module),
			.bytes = bytes,
			.type = type,
		};
}

/* The dictionaries, without debug information the names of variables, and the
 * functions of C that answers have named. */
static struct gr_error *list_symbols(struct symbols *symbols)
{
	const struct gr_program *program = symbols->program;
	const struct gr_runtime *rt = &program->rt;
	size_t n;
	const struct gr_dictionary *list =
		gr_dictionaries_list(program->types, &n);

	symbols->rows = calloc(n + rt->nsymbols + rt->nc_functions +
				       rt->c_variables.nkept + 1,
			       sizeof(*symbols->rows));
	if (!symbols->rows)
		return &gr_enomem;
	for (size_t i = 0; i < n; i++)
		add_symbol(symbols, STT_OBJECT, list[i].name, list[i].addr,
			   list[i].words * GR_WORD_BYTES);
	for (size_t i = 0; i < rt->nsymbols; i++)
		add_symbol(symbols, STT_OBJECT, rt->symbols[i].name,
			   rt->symbols[i].addr, rt->symbols[i].bytes);
	for (size_t i = 0; i < rt->nc_functions; i++)
		add_symbol(symbols, STT_FUNC, rt->c_functions[i].name,
			   rt->c_functions[i].addr, rt->c_functions[i].bytes);
	for (size_t i = 0; i < rt->c_variables.nkept; i++)
		add_symbol(symbols, STT_OBJECT, rt->c_variables.kept[i].name,
			   rt->c_variables.kept[i].addr,
			   rt->c_variables.kept[i].bytes);
	return NULL;
}

static struct gr_error *make_image(const struct gr_program *program,
				   size_t module, struct gr_byte_vector *out)
{
	const struct gr_elf *elf = gr_image_elf(program->rt.image, module);
	struct symbols symbols = { .program = program, .module = module };

	// A file other than the one that is loaded has no image.
	if (!elf)
		return NULL;
	struct gr_error *err = list_symbols(&symbols);
	if (!err && !gr_skeleton_make(elf, symbols.rows, symbols.count, out))
		err = &gr_enomem;
	free(symbols.rows);
	return err;
}

/* Describe the modules. Tables of those without debug information are empty. */
static struct gr_error *add_modules(struct gr_stop *stop,
				    struct gr_saved *saved,
				    struct gr_byte_vector *images)
{
	size_t n = stop->target.nmodules, off = 0;
	_cleanup_free_ size_t *ends = calloc(n + 1, sizeof(*ends));
	struct gr_error *err = NULL;

	saved->modules =
		gr_arena_alloc(&saved->arena, n * sizeof(*saved->modules));
	saved->tables =
		gr_arena_alloc(&saved->arena, n * sizeof(*saved->tables));
	if (!ends || !saved->modules || !saved->tables)
		return &gr_enomem;
	memset(saved->tables, 0, n * sizeof(*saved->tables));
	saved->nmodules = n;
	for (size_t i = 0; !err && i < n; i++) {
		saved->modules[i] = (struct gr_target_module){
			.path = gr_target_module_name(&stop->target.modules[i]),
			.bias = gr_image_bias(stop->image, i),
		};
		err = make_image(stop->program, i, images);
		ends[i] = images->size;
		if (err || !stop->program->dwarfs[i])
			continue;
		saved->tables[i].block = gr_dwarf_pack(stop->program->dwarfs[i],
						       &saved->tables[i].bytes);
		if (!saved->tables[i].block)
			err = &gr_enomem;
	}
	for (size_t i = 0; i < n; off = ends[i++])
		saved->modules[i].image =
			(struct gr_bytes){ images->data + off,
					   err ? 0 : ends[i] - off };
	return err;
}

/* List mappings and resident pages. With values, the lists are those of the image;
 * forget_lists() goes before gr_saved_deinit(). */
static struct gr_error *share_lists(struct gr_stop *stop, bool with_values,
				    struct gr_saved *saved)
{
	saved->has_residency = stop->pages.has_residency;
	if (stop->pages.has_residency)
		saved->residency = stop->pages.residency;
	saved->residency.swapped = (struct gr_resident_vector){ 0 };
	saved->residency.mappings = (struct gr_mappings){ 0 };
	if (!with_values)
		return gr_save_copy_mappings(stop, saved);
	saved->segments = *gr_image_segments(stop->image);
	saved->files = *gr_image_file_mappings(stop->image);
	if (stop->pages.has_residency)
		saved->residency.mappings = stop->pages.residency.mappings;
	return NULL;
}

static void forget_lists(bool with_values, struct gr_saved *saved)
{
	saved->residency.ranges = (struct gr_resident_vector){ 0 };
	if (!with_values) // they are copies
		return;
	saved->segments = (struct gr_mappings){ 0 };
	saved->files = (struct gr_mappings){ 0 };
	saved->residency.mappings = (struct gr_mappings){ 0 };
}

static struct gr_error *add_threads(struct gr_runtime *rt, bool with_values,
				    struct gr_saved *saved)
{
	enum { THREAD_STEPS = GR_REGS_MAX };
	size_t n;
	const struct gr_target_thread *threads =
		gr_image_threads(rt->image, &n);

	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < n; i++) {
		struct gr_target_thread thread = threads[i];

		if (!with_values)
			gr_save_scrub_registers(rt, &thread.regs);
		if (!gr_thread_vector_append(&saved->threads, thread))
			return &gr_enomem;
		err = gr_runtime_step(rt, THREAD_STEPS);
	}
	return err;
}

/* Without debug information, the layout cannot be found again: the search needs
 * memory that the file does not have. */
static struct gr_error *add_layout(const struct gr_runtime *rt,
				   struct gr_saved *saved)
{
	if (rt->nmodules && rt->modules[0].dwarf)
		return NULL;
	_cleanup_free_ char *text = gr_layout_save(&rt->layout);
	size_t bytes = text ? strlen(text) : 0;
	uint8_t *copy = gr_arena_alloc(&saved->arena, bytes + 1);
	if (!text || !copy)
		return &gr_enomem;
	memcpy(copy, text, bytes);
	saved->layout = (struct gr_bytes){ copy, bytes };
	return NULL;
}

static struct gr_error *describe(struct gr_stop *stop,
				 const struct gr_save_options *options,
				 struct gr_saved *saved,
				 struct gr_byte_vector *images)
{
	saved->tables_version = GR_DWARF_TABLES_VERSION;
	saved->origin = origin_of(stop);
	saved->origin_kind = stop->saved ? stop->saved->origin_kind :
					   stop->target.kind;
	saved->stop = options->stop;
	saved->identity = options->identity;
	saved->warning = gr_image_warning(stop->image);
	saved->time_s = stop->saved ? stop->saved->time_s : time(NULL);
	saved->pid = stop->target.pid;
	saved->has_values = options->with_values;
	saved->mapped_bytes = gr_image_mapped_bytes(stop->image);
	saved->readable_bytes = gr_image_readable_bytes(stop->image);
	saved->missing_bytes = gr_image_missing_bytes(stop->image);
	saved->bad_headers = gr_image_bad_headers(stop->image);
	if (!saved->origin)
		return &gr_enomem;
	struct gr_error *err = add_layout(&stop->program->rt, saved);
	if (!err)
		err = add_threads(&stop->program->rt, options->with_values,
				  saved);
	return err ? err : add_modules(stop, saved, images);
}

/* Where the objects of the span that a page lies in begin. */
static void find_stride(void *ctx, uint64_t page, uint32_t *stride,
			uint32_t *column)
{
	const struct gr_heap *heap = ctx;
	const struct gr_span *span = gr_heap_span_at(heap, page);

	if (!span || span->elem_bytes / GR_WORD_BYTES > GR_SAVED_MAX_STRIDE)
		return;
	*stride = span->elem_bytes / GR_WORD_BYTES;
	*column = (page - span->base_addr) % span->elem_bytes / GR_WORD_BYTES;
}

static struct gr_error *poll(void *ctx)
{
	const struct gr_heap *heap = ctx;

	return gr_runtime_poll(heap->rt);
}

static struct gr_error *write_file(struct gr_stop *stop,
				   const struct gr_save_options *options,
				   unsigned int nthreads)
{
	struct gr_recorder *recorder = gr_image_recorder(stop->image);
	struct gr_saved saved = { 0 };
	struct gr_byte_vector images = { 0 };
	const struct gr_saved_spec spec = {
		.image = stop->image,
		.recorder = recorder,
		.is_whole = options->with_values,
		.saved = &saved,
		.find_stride = find_stride,
		.poll = poll,
		.ctx = stop->heap,
		.nthreads = nthreads < GR_BATCH_THREADS ? nthreads :
							  GR_BATCH_THREADS,
	};
	struct gr_error *err = describe(stop, options, &saved, &images);

	if (!err)
		err = share_lists(stop, options->with_values, &saved);
	if (!err)
		err = gr_saved_write(&spec,
				     (struct gr_frame_sink){ options->write,
							     options->ctx });
	forget_lists(options->with_values, &saved);
	gr_saved_deinit(&saved);
	gr_byte_vector_deinit(&images);
	return err;
}

/* Find out which words the file has. */
static struct gr_error *find_words(struct gr_scan *scan,
				   const struct gr_save_options *options)
{
	struct gr_answers *answers = gr_scan_answers(scan);
	const struct gr_residency *residency;
	const struct gr_recorder *recorder =
		gr_image_recorder(answers->stop->image);
	struct gr_error *err;

	if (!recorder)
		return gr_error_format(GR_ERROR_ARGUMENT,
				       "what was read of the target was not "
				       "recorded: it cannot be saved");
	// A target whose residency cannot be known is saved without it.
	err = gr_stop_residency(answers->stop, &residency);
	gr_error_catch(&err, GR_ERROR_ARGUMENT);
	if (!err)
		err = gr_save_ask(scan, options->with_values);
	if (!err)
		err = gr_save_note_c_words(answers->stop);
	if (!err && !options->with_values)
		err = gr_save_note_pointers(answers->stop);
	if (!err && recorder->is_out_of_memory)
		err = &gr_enomem;
	return err;
}

struct gr_error *gr_scan_save(struct gr_scan *scan,
			      const struct gr_save_options *options)
{
	struct gr_answers *answers;
	struct gr_sigbus_guard guard;
	struct gr_error *err = gr_scan_enter(scan, &guard, &answers);
	unsigned int threads = answers->graph_threads;

	// One thread reads while there is a recorder.
	answers->graph_threads = 1;
	if (!err)
		err = find_words(scan, options);
	answers->graph_threads = threads;
	if (!err)
		err = write_file(answers->stop, options,
				 threads ?: gr_costs_processors());
	return gr_sigbus_guard_end(&guard, err);
}
