/* SPDX-License-Identifier: Apache-2.0 */
/**
 * gdbext: the extension module `_goref`. It unpacks arguments, calls one
 * function of the scanner or the profile writer, and wraps the answer in
 * rows. It has no logic and does not use gdb: what a source knows of the
 * target comes as arguments from python/goref.
 *
 * python/goref/_goref.pyi documents everything that Python sees.
 */
#ifndef GR_GDBEXT_H
#define GR_GDBEXT_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "base/cleanup.h"
#include "proto/stamp.h"
#include "scanner.h"

/** `_cleanup_py_ PyObject *object` drops the reference at the end of scope. */
static inline void gr_py_drop(PyObject **object)
{
	Py_XDECREF(*object);
}
#define _cleanup_py_ _cleanup_(gr_py_drop)

// ---------------------------------------------------------------- error.c

/**
 * Make the exceptions and add them to the module.
 *
 * @return 0, or -1 with an exception set.
 */
int gr_py_errors_init(PyObject *module);

/**
 * Raise the exception for an error and free the error. An exception that is
 * already set (a callback raised it) stays.
 *
 * @return NULL, for `return gr_py_raise(err);`
 */
PyObject *gr_py_raise(struct gr_error *err);

/** A value for `return`: None, or NULL after raising @p err. */
PyObject *gr_py_none_or_raise(struct gr_error *err);

/** _goref.ArgumentError, for arguments that only Python can get wrong. */
extern PyObject *gr_py_argument_error;

// ----------------------------------------------------------------- type.c

/**
 * Make a type and add it to the module.
 *
 * @param[out] ret a reference that is never given up, because a script may
 *	delete the name from the module.
 * @return 0, or -1 with an exception set.
 */
int gr_py_type_add(PyObject *module, PyType_Spec *spec, PyTypeObject **ret);

/** Make an object of zeros; NULL with an exception set. */
PyObject *gr_py_type_alloc(PyTypeObject *type);

/** Free an object from gr_py_type_alloc(): the end of its Py_tp_dealloc. */
void gr_py_type_free(PyObject *obj);

// ---------------------------------------------------------------- value.c

/** Make a str from a C string, which need not be UTF-8; None for NULL. */
PyObject *gr_py_string(const char *text);

/**
 * Convert a field of a C struct to a Python object. @p value points to the
 * field.
 *
 * @return a new reference, or NULL with an exception set.
 */
typedef PyObject *gr_py_convert_fn(const void *value);

gr_py_convert_fn gr_py_from_bool;
gr_py_convert_fn gr_py_from_i32;
gr_py_convert_fn gr_py_from_u8;
gr_py_convert_fn gr_py_from_u32;
gr_py_convert_fn gr_py_from_u64;
gr_py_convert_fn gr_py_from_text;	  /**< NULL: None. */
gr_py_convert_fn gr_py_from_text_or_none; /**< NULL and "": None. */
gr_py_convert_fn gr_py_from_i32_or_none;  /**< 0: None. */
gr_py_convert_fn gr_py_from_u64_or_none;  /**< 0: None. */
gr_py_convert_fn gr_py_from_bytes;	  /**< UINT64_MAX: None. */
gr_py_convert_fn gr_py_from_addr; /**< uint64_t; repr() shows it in hex. */
gr_py_convert_fn gr_py_from_addr_or_none; /**< The same, 0: None. */
gr_py_convert_fn gr_py_from_texts;     /**< NULL-terminated array to tuple. */
gr_py_convert_fn gr_py_from_root_kind; /**< The name of the kind. */

/** Make a tuple of the @p count values at @p values, @p stride bytes apart. */
PyObject *gr_py_tuple(const void *values, size_t stride, size_t count,
		      gr_py_convert_fn *convert);

// ---------------------------------------------------------------- stamp.c

/** The stamp of a profile, with what keeps its texts. */
struct gr_py_stamp {
	struct gr_profile_stamp stamp;
	struct gr_profile_tag *tags;
	PyObject *texts;
};

/**
 * Take a sequence of pairs (NULL: none) and a time. @p ret needs
 * gr_py_stamp_deinit() even after an error.
 *
 * @return false with an exception set.
 */
bool gr_py_stamp_parse(PyObject *labels, long long time_ns,
		       struct gr_py_stamp *ret);
void gr_py_stamp_deinit(struct gr_py_stamp *stamp);

// ------------------------------------------------------------------ row.c

/** One field of a row. */
struct gr_py_field {
	const char *name;
	size_t offset; /**< Offset of the converted data in the C struct. */
	gr_py_convert_fn *convert;
};

/**
 * A type of rows: a C struct crosses to Python as a named tuple. The table of
 * fields is its whole definition: one line adds a field. _goref.pyi has the
 * same fields in the same order.
 */
struct gr_py_row {
	const char *name;
	const struct gr_py_field *fields; /**< The last one has no name. */
	PyTypeObject *type;		  /**< NULL until it is used. */
};

// clang-format off
/** The conversion that a field's C type selects. */
#define GR_PY_CONVERT(field)                            \
	_Generic((field),                               \
		bool: gr_py_from_bool,                  \
		int32_t: gr_py_from_i32,                \
		uint8_t: gr_py_from_u8,                 \
		uint32_t: gr_py_from_u32,               \
		uint64_t: gr_py_from_u64,               \
		const char *: gr_py_from_text,          \
		struct gr_total: gr_py_from_total,      \
		struct gr_gaps: gr_py_from_gaps)
// clang-format on

/** The field @p member of the struct @p tag, under its own name. */
#define GR_PY_FIELD(tag, member) \
	GR_PY_FIELD_AS(tag, member, GR_PY_CONVERT(((struct tag *)0)->member))

/** The same with an explicit conversion. */
#define GR_PY_FIELD_AS(tag, member, conversion)                          \
	{                                                                \
		.name = #member, .offset = offsetof(struct tag, member), \
		.convert = conversion                                    \
	}

/** A field that @p convert makes from the whole struct. */
#define GR_PY_FIELD_OF(field, conversion)             \
	{                                             \
		.name = #field, .convert = conversion \
	}

/**
 * Define a conversion for the struct @p tag that makes a tuple of rows from its
 * @p array of @p count structs.
 */
#define GR_PY_DEFINE_ROWS(function, tag, array, count, row)                   \
	static PyObject *function(const void *value)                          \
	{                                                                     \
		const struct tag *of = value;                                 \
                                                                              \
		return gr_py_row_tuple(&(row), of->array, sizeof(*of->array), \
				       of->count);                            \
	}

/** `__getattr__` and `__dir__` of the module, which have the types of rows. Each
 * type is made when it is first used. */
PyObject *gr_py_rows_getattr(PyObject *module, PyObject *name);
PyObject *gr_py_rows_dir(PyObject *module, PyObject *unused);

/** Make a row from the struct at @p value; NULL with an exception set. */
PyObject *gr_py_row_new(struct gr_py_row *row, const void *value);

/** Make rows from the @p count structs at @p values, @p stride bytes apart. */
PyObject *gr_py_row_tuple(struct gr_py_row *row, const void *values,
			  size_t stride, size_t count);
PyObject *gr_py_row_list(struct gr_py_row *row, const void *values,
			 size_t stride, size_t count);

// ----------------------------------------------------------------- rows.c

struct gr_py_scan;

/** Destroy an answer of the scanner. */
typedef void gr_py_destroy_fn(void *answer);

/** Make the type Rows and add it to the module. @return 0, or -1. */
int gr_py_rows_type_init(PyObject *module);

/**
 * Make an object that keeps an answer and its scan. @p answer belongs to it,
 * even if this fails.
 *
 * @return a new reference, or NULL with an exception set.
 */
PyObject *gr_py_owner_new(struct gr_py_scan *scan, void *answer,
			  gr_py_destroy_fn *destroy);

/**
 * Make a sequence of the @p count structs at @p values, @p stride bytes apart,
 * which belong to what @p owner keeps. Each row is made when it is asked for.
 */
PyObject *gr_py_rows_new(PyObject *owner, struct gr_py_row *row,
			 const void *values, size_t stride, size_t count);

/**
 * Define a conversion for a struct @p tag that begins with the struct of an
 * answer, `answer`, which has an @p array of @p count structs, and that has
 * the `owner` of this answer.
 */
#define GR_PY_DEFINE_KEPT_ROWS(function, tag, array, count, row)               \
	static PyObject *function(const void *value)                           \
	{                                                                      \
		const struct tag *kept = value;                                \
                                                                               \
		return gr_py_rows_new(kept->owner, &(row), kept->answer.array, \
				      sizeof(*kept->answer.array),             \
				      kept->answer.count);                     \
	}

/**
 * Define keep_answer() for such a struct: it makes @p row of an answer, and
 * @p destroy is called for the answer with the last of its rows.
 */
#define GR_PY_DEFINE_KEEP_ANSWER(tag, type, destroy, row)              \
	static void destroy_answer(void *answer)                       \
	{                                                              \
		destroy(answer);                                       \
	}                                                              \
                                                                       \
	static PyObject *keep_answer(struct gr_py_scan *scan,          \
				     struct type *answer)              \
	{                                                              \
		struct tag kept = { .answer = *answer };               \
		_cleanup_py_ PyObject *owner =                         \
			gr_py_owner_new(scan, answer, destroy_answer); \
                                                                       \
		kept.owner = owner;                                    \
		return owner ? gr_py_row_new(&(row), &kept) : NULL;    \
	}

/** A place in the source as a row, for fields that are one. */
PyObject *gr_py_from_location(const void *value);

/** Each row is defined beside the methods that return it. */
extern struct gr_py_row gr_py_total_row;	   /**< ledger.c */
extern struct gr_py_row gr_py_gaps_row;		   /**< ledger.c */
extern struct gr_py_row gr_py_phases_row;	   /**< ledger.c */
extern struct gr_py_row gr_py_ledger_row;	   /**< ledger.c */
extern struct gr_py_row gr_py_root_total_row;	   /**< result.c */
extern struct gr_py_row gr_py_type_total_row;	   /**< result.c */
extern struct gr_py_row gr_py_profile_stats_row;   /**< profile.c */
extern struct gr_py_row gr_py_sampling_row;	   /**< result.c */
extern struct gr_py_row gr_py_info_row;		   /**< info.c */
extern struct gr_py_row gr_py_estimate_row;	   /**< live.c */
extern struct gr_py_row gr_py_place_row;	   /**< place.c */
extern struct gr_py_row gr_py_held_row;		   /**< variable.c */
extern struct gr_py_row gr_py_variable_row;	   /**< variable.c */
extern struct gr_py_row gr_py_hop_row;		   /**< why.c */
extern struct gr_py_row gr_py_why_row;		   /**< why.c */
extern struct gr_py_row gr_py_scheduler_p_row;	   /**< scheduler.c */
extern struct gr_py_row gr_py_scheduler_m_row;	   /**< scheduler.c */
extern struct gr_py_row gr_py_scheduler_row;	   /**< scheduler.c */
extern struct gr_py_row gr_py_location_row;	   /**< goroutines.c */
extern struct gr_py_row gr_py_label_row;	   /**< goroutines.c */
extern struct gr_py_row gr_py_panic_value_row;	   /**< panic.c */
extern struct gr_py_row gr_py_panic_row;	   /**< panic.c */
extern struct gr_py_row gr_py_goroutine_row;	   /**< goroutines.c */
extern struct gr_py_row gr_py_goroutine_group_row; /**< goroutines.c */
extern struct gr_py_row gr_py_goroutine_list_row;  /**< goroutines.c */
extern struct gr_py_row gr_py_call_row;		   /**< goroutines.c */
extern struct gr_py_row gr_py_call_variable_row;   /**< goroutines.c */
extern struct gr_py_row gr_py_backtrace_row;	   /**< goroutines.c */
extern struct gr_py_row gr_py_rss_class_row;	   /**< rss.c */
extern struct gr_py_row gr_py_collector_row;	   /**< rss.c */
extern struct gr_py_row gr_py_rss_row;		   /**< rss.c */
extern struct gr_py_row gr_py_wait_owner_row;	   /**< owners.c */
extern struct gr_py_row gr_py_wait_group_row;	   /**< owners.c */
extern struct gr_py_row gr_py_deadlock_row;	   /**< owners.c */
extern struct gr_py_row gr_py_wait_blocker_row;	   /**< owners.c */
extern struct gr_py_row gr_py_wait_report_row;	   /**< owners.c */
extern struct gr_py_row gr_py_reference_row;	   /**< object.c */
extern struct gr_py_row gr_py_reference_group_row; /**< object.c */
extern struct gr_py_row gr_py_references_row;	   /**< object.c */
extern struct gr_py_row gr_py_special_row;	   /**< object.c */
extern struct gr_py_row gr_py_object_info_row;	   /**< object.c */
extern struct gr_py_row gr_py_goroutine_brief_row; /**< holders.c */
extern struct gr_py_row gr_py_path_hop_row;	   /**< holders.c */
extern struct gr_py_row gr_py_path_row;		   /**< holders.c */
extern struct gr_py_row gr_py_reaching_root_row;   /**< holders.c */
extern struct gr_py_row gr_py_root_group_row;	   /**< holders.c */
extern struct gr_py_row gr_py_holder_row;	   /**< holders.c */
extern struct gr_py_row gr_py_holders_row;	   /**< holders.c */
extern struct gr_py_row gr_py_merged_branch_row;   /**< merged_types.c */
extern struct gr_py_row gr_py_merged_types_row;	   /**< merged_types.c */
extern struct gr_py_row gr_py_vertex_row;	   /**< graph.c */
extern struct gr_py_row gr_py_graph_phases_row;	   /**< graph.c */
extern struct gr_py_row gr_py_named_link_row;	   /**< view.c */
extern struct gr_py_row gr_py_graph_size_row;	   /**< view.c */
extern struct gr_py_row gr_py_dominator_row;	   /**< dominators.c */
extern struct gr_py_row gr_py_dominators_row;	   /**< dominators.c */
extern struct gr_py_row gr_py_class_total_row;	   /**< verify.c */
extern struct gr_py_row gr_py_difference_row;	   /**< verify.c */
extern struct gr_py_row gr_py_free_slot_row;	   /**< verify.c */
extern struct gr_py_row gr_py_verdict_row;	   /**< verify.c */
extern struct gr_py_row gr_py_goroutine_count_row; /**< info.c */
extern struct gr_py_row gr_py_suspect_hop_row;	   /**< suspects.c */
extern struct gr_py_row gr_py_suspect_content_row; /**< suspects.c */
extern struct gr_py_row gr_py_suspect_row;	   /**< suspects.c */
extern struct gr_py_row gr_py_suspects_row;	   /**< suspects.c */
extern struct gr_py_row gr_py_leak_group_row;	   /**< leaks.c */
extern struct gr_py_row gr_py_leak_ignored_row;	   /**< leaks.c */
extern struct gr_py_row gr_py_blocked_place_row;   /**< leaks.c */
extern struct gr_py_row gr_py_leaks_row;	   /**< leaks.c */
extern struct gr_py_row gr_py_histogram_row_row;   /**< histogram.c */
extern struct gr_py_row gr_py_histogram_row;	   /**< histogram.c */
extern struct gr_py_row gr_py_listed_row;	   /**< listing.c */
extern struct gr_py_row gr_py_exported_row;	   /**< export.c */
extern struct gr_py_row gr_py_elf_facts_row;	   /**< facts.c */
extern struct gr_py_row gr_py_core_facts_row;	   /**< facts.c */
extern struct gr_py_row gr_py_module_row;	   /**< facts.c */
extern struct gr_py_row gr_py_core_modules_row;	   /**< facts.c */
extern struct gr_py_row gr_py_wait_row;		   /**< waits.c */
extern struct gr_py_row gr_py_goroutine_wait_row;  /**< waits.c */
extern struct gr_py_row gr_py_field_info_row;	   /**< values.c */
extern struct gr_py_row gr_py_type_info_row;	   /**< values.c */
extern struct gr_py_row gr_py_dynamic_type_row;	   /**< values.c */
extern struct gr_py_row gr_py_value_place_row;	   /**< values.c */
extern struct gr_py_row gr_py_local_value_row;	   /**< values.c */

gr_py_convert_fn gr_py_from_total;
gr_py_convert_fn gr_py_from_gaps;

// --------------------------------------------------------------- target.c

/** A gr_target and all memory that it points to. */
struct gr_py_target {
	struct gr_target target;
	char *core_path;
	char *saved_path;
	struct gr_target_module *modules;
	struct gr_target_thread *threads;
};

/**
 * Fill in a target from Python's description of it.
 *
 * @param modules sequence of (path, debug path or None, bias or None), and the
 *	name in answers if that is not the path
 * @param threads sequence of (lwp, registers as of read_registers()), or a
 *	Process that is held
 * @return 0, or -1 with an exception set.
 */
int gr_py_target_init(struct gr_py_target *t, const char *kind,
		      const char *core_path, int pid, const char *saved_path,
		      PyObject *modules, PyObject *threads);
void gr_py_target_deinit(struct gr_py_target *t);

/** The name of an enum gr_target_kind, as gr_py_target_init() takes it. */
gr_py_convert_fn gr_py_from_target_kind;

/**
 * Make an array, for free(), from a sequence of threads as above.
 *
 * @return 0, or -1 with an exception set.
 */
int gr_py_threads(PyObject *threads, struct gr_target_thread **ret,
		  size_t *count);

// -------------------------------------------------------------- process.c

/** Make the type Process and add it to the module. @return 0, or -1. */
int gr_py_process_init(PyObject *module);

/**
 * The threads of a Process that is held, as an array for free().
 *
 * @return 1; 0 if @p obj is no Process; or -1 with an exception set.
 */
int gr_py_process_threads(PyObject *obj, struct gr_target_thread **ret,
			  size_t *count);

/** Rows of process.c. */
extern struct gr_py_row gr_py_late_row;
extern struct gr_py_row gr_py_stop_row;

// ----------------------------------------------------------------- scan.c

/** One opened target. */
struct gr_py_scan {
	PyObject_HEAD struct gr_scan *scan;
	struct gr_py_target target;
	PyObject *read;	    /**< Callable (address, length) -> buffer. */
	PyObject *progress; /**< Callable () or NULL. */
	uint64_t polled_ns; /**< Time of the last check for Ctrl-C. */
	bool is_busy;	    /**< A call runs; callbacks must not start one. */
	bool is_prepared;   /**< Prepared, not finished: no questions yet. */
};

/** Make the types. @return 0, or -1 with an exception set. */
int gr_py_scan_init(PyObject *module);
int gr_py_result_init(PyObject *module);
int gr_py_view_init(PyObject *module);
int gr_py_maps_init(PyObject *module);

/** Claim the scanner for one call; false with an exception set if busy. */
bool gr_py_scan_enter(struct gr_py_scan *self);
void gr_py_scan_leave(struct gr_py_scan *self);
/** The same for the calls between prepare and finish. */
bool gr_py_scan_enter_prepared(struct gr_py_scan *self);

// ------------------------------------------------------------ callbacks.c

/** Set gr_py_scan.read or .progress; None is NULL. */
void gr_py_set_callable(PyObject **where, PyObject *value);

/**
 * The gr_target_ops of a scan, which is the context. The first calls Python's
 * read callback; the second checks for Ctrl-C and calls the progress callback.
 */
struct gr_error *gr_py_scan_read(void *ctx, uint64_t addr, void *buf,
				 size_t bytes);
struct gr_error *gr_py_scan_poll(void *ctx);

/** The error for an exception that is set; gr_py_raise() keeps that one. */
struct gr_error *gr_py_interrupted(void);

// ---------------------------------------------------------------- methods

/** A method whose arguments may be given by name: see GR_PY_METHOD. */
typedef PyObject *gr_py_method_fn(PyObject *self, PyObject *args,
				  PyObject *kwargs);

/** A method without arguments: see GR_PY_GETTER. */
typedef PyObject *gr_py_getter_fn(PyObject *self, PyObject *unused);

/**
 * A row of a PyMethodDef array whose arguments may be given by name.
 * @p signature is the text that Python shows: "($self, addr, max_depth)".
 */
#define GR_PY_METHOD(name, function, signature)                     \
	{                                                           \
		.ml_name = #name,                                   \
		.ml_meth = (PyCFunction)(void (*)(void))(function), \
		.ml_flags = METH_VARARGS | METH_KEYWORDS,           \
		.ml_doc = #name signature "\n--\n\nSee _goref.pyi." \
	}

/** The same for a method without arguments. */
#define GR_PY_GETTER(name, function)                             \
	{                                                        \
		.ml_name = #name, .ml_meth = function,           \
		.ml_flags = METH_NOARGS,                         \
		.ml_doc = #name "($self)\n--\n\nSee _goref.pyi." \
	}

/** Parse an argument of several methods. False with an exception set. */
bool gr_py_parse_attribution(const char *text, enum gr_attribution *ret);

/**
 * Make an array, for free(), of the places in a sequence. Their names belong to
 * the scan.
 *
 * @return NULL with an exception set.
 */
struct gr_place *gr_py_parse_places(struct gr_scan *scan, PyObject *sequence,
				    size_t *count);

/** Wrap a result and take ownership of it. The wrapper keeps the scan alive. */
PyObject *gr_py_result_new(struct gr_py_scan *scan, struct gr_result *result);

/** Rows of profiles.c. */
extern struct gr_py_row gr_py_stack_frame_row;
extern struct gr_py_row gr_py_goroutine_stack_row;
extern struct gr_py_row gr_py_goroutine_sample_row;
extern struct gr_py_row gr_py_goroutine_profile_row;
extern struct gr_py_row gr_py_bucket_profile_row;

/** Rows of sites.c. */
extern struct gr_py_row gr_py_site_row;
extern struct gr_py_row gr_py_site_table_row;
extern struct gr_py_row gr_py_allocation_row;

/** The calls of a stack as a tuple of rows, the innermost first (profiles.c).
 */
PyObject *gr_py_frames(const struct gr_stacks *stacks, uint32_t stack);

/** Functions of the module: see _goref.pyi. */
gr_py_method_fn gr_py_process_reader;
gr_py_method_fn gr_py_why_not_traced;
gr_py_method_fn gr_py_read_registers;
gr_py_method_fn gr_py_elf_facts;
gr_py_method_fn gr_py_core_facts;
gr_py_method_fn gr_py_core_modules;
gr_py_method_fn gr_py_debug_file;

/** Methods of Scan, each in the file of its topic: see _goref.pyi. */
gr_py_method_fn gr_py_scan_walk;
gr_py_method_fn gr_py_scan_why;
gr_py_method_fn gr_py_scan_verify;
gr_py_method_fn gr_py_scan_allocation;
gr_py_method_fn gr_py_scan_sites;
gr_py_method_fn gr_py_scan_holders;
gr_py_method_fn gr_py_scan_merge_type;
gr_py_method_fn gr_py_scan_object;
gr_py_method_fn gr_py_scan_print_value;
gr_py_method_fn gr_py_scan_objects;
gr_py_method_fn gr_py_scan_variable;
gr_py_method_fn gr_py_scan_resolve;
gr_py_method_fn gr_py_scan_complete;
gr_py_method_fn gr_py_scan_goroutines;
gr_py_method_fn gr_py_scan_backtrace;
gr_py_method_fn gr_py_scan_goroutine_profile;
gr_py_method_fn gr_py_scan_goroutine_wait;
gr_py_method_fn gr_py_scan_panic;
gr_py_method_fn gr_py_scan_bucket_profile;
gr_py_method_fn gr_py_scan_waits;
gr_py_method_fn gr_py_scan_dominators;
gr_py_method_fn gr_py_scan_list_objects;
gr_py_method_fn gr_py_scan_export;
gr_py_method_fn gr_py_scan_histogram;
gr_py_getter_fn gr_py_scan_suspects;
gr_py_method_fn gr_py_scan_leaks;
gr_py_getter_fn gr_py_scan_scheduler;
gr_py_method_fn gr_py_scan_goroutine_of_thread;
gr_py_method_fn gr_py_scan_rss;
gr_py_method_fn gr_py_scan_save;
gr_py_getter_fn gr_py_scan_graph_phases;
gr_py_getter_fn gr_py_scan_gaps;
gr_py_getter_fn gr_py_scan_graph_size;
gr_py_getter_fn gr_py_scan_has_retained;
gr_py_method_fn gr_py_scan_vertex;
gr_py_method_fn gr_py_scan_content;
gr_py_method_fn gr_py_scan_find;
gr_py_method_fn gr_py_scan_dominator;
gr_py_method_fn gr_py_scan_retained;
gr_py_method_fn gr_py_scan_paths;
gr_py_method_fn gr_py_scan_links;
gr_py_method_fn gr_py_scan_type_info;
gr_py_method_fn gr_py_scan_dynamic_type;
gr_py_method_fn gr_py_scan_read_memory;
gr_py_method_fn gr_py_scan_show;
gr_py_method_fn gr_py_scan_value_place;
gr_py_method_fn gr_py_scan_local_values;
gr_py_method_fn gr_py_scan_length;
gr_py_method_fn gr_py_scan_map_find;
gr_py_method_fn gr_py_scan_map_entries;
gr_py_method_fn gr_py_scan_iterate;
gr_py_method_fn gr_py_scan_neighbours;
gr_py_getter_fn gr_py_scan_info;
gr_py_getter_fn gr_py_scan_layout;
gr_py_getter_fn gr_py_scan_estimate;
gr_py_getter_fn gr_py_scan_is_unsettled;
gr_py_getter_fn gr_py_scan_copy_searched;
gr_py_getter_fn gr_py_scan_search_copy;
gr_py_getter_fn gr_py_scan_reserve;
gr_py_method_fn gr_py_scan_capture;
gr_py_getter_fn gr_py_scan_finish;

/** Method of Result. */
PyObject *gr_py_write_profile(struct gr_py_scan *scan,
			      const struct gr_result *result, PyObject *args,
			      PyObject *kwargs);

/** Function of the module. */
gr_py_method_fn gr_py_write_tree_profile;

#endif /* GR_GDBEXT_H */
