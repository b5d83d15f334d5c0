/* SPDX-License-Identifier: Apache-2.0 */
/** hprof_internal: what the parts of the hprof writer share. */
#ifndef GR_EXPORT_HPROF_INTERNAL_H
#define GR_EXPORT_HPROF_INTERNAL_H

#include "export/hprof.h"

struct gr_answers;
struct gr_stop;

/** Go's addresses have at most 48 bits. */
#define GR_HPROF_FIRST_ID (UINT64_C(1) << 56)

enum gr_hprof_record {
	GR_HPROF_UTF8 = 0x01,
	GR_HPROF_LOAD_CLASS = 0x02,
	GR_HPROF_FRAME = 0x04,
	GR_HPROF_TRACE = 0x05,
	GR_HPROF_SEGMENT = 0x1c,
	GR_HPROF_END = 0x2c,
};

/** Records of a segment. */
enum gr_hprof_dump {
	GR_HPROF_ROOT_JNI_GLOBAL = 0x01,
	GR_HPROF_ROOT_JNI_LOCAL = 0x02,
	GR_HPROF_ROOT_FRAME = 0x03,
	GR_HPROF_ROOT_CLASS = 0x05,
	GR_HPROF_ROOT_MONITOR = 0x07,
	GR_HPROF_ROOT_THREAD = 0x08,
	GR_HPROF_CLASS = 0x20,
	GR_HPROF_INSTANCE = 0x21,
	GR_HPROF_OBJECTS = 0x22,
	GR_HPROF_PRIMITIVES = 0x23,
	GR_HPROF_ROOT_UNKNOWN = 0xff,
};

enum gr_hprof_type {
	GR_HPROF_OBJECT = 2,
	GR_HPROF_BOOLEAN = 4,
	GR_HPROF_CHAR = 5,
	GR_HPROF_FLOAT = 6,
	GR_HPROF_DOUBLE = 7,
	GR_HPROF_BYTE = 8,
	GR_HPROF_SHORT = 9,
	GR_HPROF_INT = 10,
	GR_HPROF_LONG = 11,
	GR_HPROF_NTYPES = 12,
};

/** The classes that readers demand. */
enum gr_hprof_java {
	GR_JAVA_OBJECT,
	GR_JAVA_CLASS,
	GR_JAVA_LOADER,
	GR_JAVA_THREAD,
	GR_JAVA_STRING,
	GR_JAVA_REFERENCE,
	GR_JAVA_SOFT,
	GR_JAVA_WEAK,
	GR_JAVA_FINAL,
	GR_JAVA_PHANTOM,
	GR_JAVA_OBJECTS, /**< Arrays, from here on. */
	GR_JAVA_BOOLEANS,
	GR_JAVA_CHARS,
	GR_JAVA_FLOATS,
	GR_JAVA_DOUBLES,
	GR_JAVA_BYTES,
	GR_JAVA_SHORTS,
	GR_JAVA_INTS,
	GR_JAVA_LONGS,
	GR_NJAVA,
};

enum {
	GR_HPROF_ID_BYTES = 8,
	/** Sizes of headers of objects and of arrays, as readers take them. */
	GR_HPROF_HEADER_BYTES = 16,
	GR_HPROF_ARRAY_HEADER_BYTES = 20,
	/** The trace without frames, which all objects have. */
	GR_HPROF_NO_TRACE = 1,
	/** Readers take the number of static fields for a signed one. */
	GR_HPROF_MAX_STATICS = 32000,
};

/** A field of a class that readers demand. */
struct gr_hprof_field {
	const char *name;
	enum gr_hprof_type type;
};

/** A static field: a pointer of a package variable. */
struct gr_hprof_static {
	const char *name; /**< Interned. */
	uint64_t id;	  /**< An object's, or a list's. */
	uint32_t package;
};
GR_VECTOR(gr_hprof_static_vector, struct gr_hprof_static);

/** A package: a class of its variables and functions. */
struct gr_hprof_package {
	const char *name; /**< Interned. */
	uint64_t id;
	uint32_t serial;
	uint32_t first, nstatics; /**< Its static fields, in their order. */
	uint32_t more; /**< The package with the fields behind these; or 0. */
};
GR_VECTOR(gr_hprof_package_vector, struct gr_hprof_package);

/** The pointers of a root with too many for static fields: an array. */
struct gr_hprof_list {
	gr_vertex root;
	uint64_t id;
};
GR_VECTOR(gr_hprof_list_vector, struct gr_hprof_list);

/** The writer of a file. */
struct gr_hprof {
	struct gr_shapes *shapes;
	struct gr_answers *answers;
	struct gr_exported *done;
	struct gr_stream *out;
	struct gr_stream segment; /**< Whole records of a segment. */
	struct gr_export_sink segment_sink;
	struct gr_keys strings; /**< Numbers of texts by their addresses. */
	struct gr_keys class_names;
	struct gr_keys frames; /**< By pc and depth. */
	uint64_t next_id;
	uint32_t nstrings, nclasses, nframes;
	uint64_t java[GR_NJAVA]; /**< The classes that readers demand. */
	uint64_t first_thread_id;
	struct gr_keys package_keys;
	struct gr_hprof_package_vector packages;
	struct gr_hprof_static_vector statics;
	struct gr_hprof_list_vector lists;
};

/** A new number for what is no object of the program. */
uint64_t gr_hprof_new_id(struct gr_hprof *h);

/** The number of a text, which lives as long as the scan; written once, before
 * the first segment. */
struct gr_error *gr_hprof_string(struct gr_hprof *h, const char *text,
				 uint64_t *ret) GR_MUST_CHECK;
/** The number of a text that was written. */
uint64_t gr_hprof_string_id(const struct gr_hprof *h, const char *text);

/** Begin a record outside of segments. */
void gr_hprof_begin(struct gr_hprof *h, enum gr_hprof_record tag,
		    uint32_t bytes);

/** Begin a record of @p bytes bytes, the tag included, in a segment.
 * @return Where the rest of it goes. */
struct gr_stream *gr_hprof_dump(struct gr_hprof *h, enum gr_hprof_dump tag,
				uint64_t bytes);

// hprof_java.c
/** Load the classes that readers demand; later, write them. */
struct gr_error *gr_hprof_load_java(struct gr_hprof *h) GR_MUST_CHECK;
void gr_hprof_put_java(struct gr_hprof *h);

// hprof_classes.c
/** Name and number all classes. */
struct gr_error *gr_hprof_load_classes(struct gr_hprof *h) GR_MUST_CHECK;
/** The package of a function or variable: made if it is new. @p rest: what
 * follows the name of the package, an interned text. */
struct gr_error *gr_hprof_package_of(struct gr_hprof *h, const char *name,
				     uint32_t *ret,
				     const char **rest) GR_MUST_CHECK;
/** If the class of a package has no room for another field, go on to the one
 * behind it, which is made if it is new. */
struct gr_error *gr_hprof_package_with_room(struct gr_hprof *h,
					    uint32_t *package) GR_MUST_CHECK;
/** Load a class of this name and number. */
struct gr_error *gr_hprof_load_class(struct gr_hprof *h, const char *name,
				     uint64_t id) GR_MUST_CHECK;
/** Write a class without static fields. */
void gr_hprof_put_class(struct gr_hprof *h, uint64_t id, uint64_t super,
			uint32_t bytes, const struct gr_hprof_field *fields,
			uint32_t nfields);
/** Write all classes, with static fields; in segments. */
void gr_hprof_put_classes(struct gr_hprof *h);
/** Padding behind the references of a record, in words. */
uint32_t gr_hprof_padding(const struct gr_shape *shape);

// hprof_threads.c
/** The number of a goroutine as a thread. */
uint32_t gr_hprof_thread_serial(uint32_t goroutine);
/** Write the frames and traces of all goroutines. */
struct gr_error *gr_hprof_put_traces(struct gr_hprof *h) GR_MUST_CHECK;
/** Write the roots of threads; then, the threads as objects. */
void gr_hprof_put_thread_roots(struct gr_hprof *h);
struct gr_error *gr_hprof_put_threads(struct gr_hprof *h) GR_MUST_CHECK;

/** Finds the calls of frames of one goroutine after the other. */
struct gr_hprof_calls {
	struct gr_hprof *h;
	uint32_t goroutine; /**< The one that was asked for last. */
	/** The innermost call of each of its frames, and one behind all. */
	struct gr_u32_vector first;
};
void gr_hprof_calls_deinit(struct gr_hprof_calls *calls);
/** The number of the call that has a word of a stack, of a variable named
 * `main.f.x' or without a name (NULL); -1: no call has it. */
struct gr_error *gr_hprof_call_at(struct gr_hprof_calls *calls,
				  uint32_t goroutine, uint64_t addr,
				  const char *variable,
				  int32_t *ret) GR_MUST_CHECK;

// hprof_statics.c
/** Make the static fields of package variables. */
struct gr_error *gr_hprof_find_statics(struct gr_hprof *h) GR_MUST_CHECK;
/** Write the arrays that stand for variables with many pointers. */
void gr_hprof_put_lists(struct gr_hprof *h);
/** Is the root a package variable, or a word of one? Those of the runtime are
 * roots of another kind, although they have static fields. */
bool gr_hprof_is_static(const struct gr_stop *stop,
			const struct gr_root_vertex *root);

// hprof_roots.c
/** Write the roots that are no package variables. */
struct gr_error *gr_hprof_put_roots(struct gr_hprof *h) GR_MUST_CHECK;

// hprof_objects.c
/** Write all objects. */
struct gr_error *gr_hprof_put_objects(struct gr_hprof *h) GR_MUST_CHECK;
/** Begin an array of objects; its elements follow. */
struct gr_stream *gr_hprof_begin_array(struct gr_hprof *h, uint64_t id,
				       uint64_t class_id, uint32_t count);

#endif /* GR_EXPORT_HPROF_INTERNAL_H */
