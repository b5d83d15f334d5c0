// SPDX-License-Identifier: Apache-2.0
/* The classes of Java that readers look for by name. */
#include "export/hprof_internal.h"

/* A class. An array has no bytes. */
struct java {
	const char *name;
	enum gr_hprof_java super;
	uint32_t bytes; /* of an instance, its header included */
	const struct gr_hprof_field *fields;
	uint32_t nfields;
};

/* hprof_threads.c writes these. */
static const struct gr_hprof_field thread_fields[] = {
	{ "name", GR_HPROF_OBJECT },
	{ "g", GR_HPROF_OBJECT },
	{ "tid", GR_HPROF_LONG },
	{ "priority", GR_HPROF_INT },
	{ "daemon", GR_HPROF_BOOLEAN }
};
static const struct gr_hprof_field string_fields[] = { { "value",
							 GR_HPROF_OBJECT } };
/* Readers leave this field out when they look for what keeps an object alive. */
static const struct gr_hprof_field reference_fields[] = { { "referent",
							    GR_HPROF_OBJECT } };

#define FIELDS(of) of, GR_ARRAY_SIZE(of)

enum {
	HEADER = GR_HPROF_HEADER_BYTES,
	REFERENCE = HEADER + GR_HPROF_ID_BYTES,
	THREAD = HEADER + 2 * GR_HPROF_ID_BYTES + 16,
};

static const struct java classes[GR_NJAVA] = {
	[GR_JAVA_OBJECT] = { "java/lang/Object", GR_NJAVA, HEADER, NULL, 0 },
	[GR_JAVA_CLASS] = { "java/lang/Class", GR_JAVA_OBJECT, HEADER, NULL,
			    0 },
	[GR_JAVA_LOADER] = { "java/lang/ClassLoader", GR_JAVA_OBJECT, HEADER,
			     NULL, 0 },
	[GR_JAVA_THREAD] = { "java/lang/Thread", GR_JAVA_OBJECT, THREAD,
			     FIELDS(thread_fields) },
	[GR_JAVA_STRING] = { "java/lang/String", GR_JAVA_OBJECT, REFERENCE,
			     FIELDS(string_fields) },
	[GR_JAVA_REFERENCE] = { "java/lang/ref/Reference", GR_JAVA_OBJECT,
				REFERENCE, FIELDS(reference_fields) },
	[GR_JAVA_SOFT] = { "java/lang/ref/SoftReference", GR_JAVA_REFERENCE,
			   REFERENCE, NULL, 0 },
	[GR_JAVA_WEAK] = { "java/lang/ref/WeakReference", GR_JAVA_REFERENCE,
			   REFERENCE, NULL, 0 },
	[GR_JAVA_FINAL] = { "java/lang/ref/FinalReference", GR_JAVA_REFERENCE,
			    REFERENCE, NULL, 0 },
	[GR_JAVA_PHANTOM] = { "java/lang/ref/PhantomReference",
			      GR_JAVA_REFERENCE, REFERENCE, NULL, 0 },
	[GR_JAVA_OBJECTS] = { "[Ljava/lang/Object;", GR_JAVA_OBJECT, 0, NULL,
			      0 },
	[GR_JAVA_BOOLEANS] = { "[Z", GR_JAVA_OBJECT, 0, NULL, 0 },
	[GR_JAVA_CHARS] = { "[C", GR_JAVA_OBJECT, 0, NULL, 0 },
	[GR_JAVA_FLOATS] = { "[F", GR_JAVA_OBJECT, 0, NULL, 0 },
	[GR_JAVA_DOUBLES] = { "[D", GR_JAVA_OBJECT, 0, NULL, 0 },
	[GR_JAVA_BYTES] = { "[B", GR_JAVA_OBJECT, 0, NULL, 0 },
	[GR_JAVA_SHORTS] = { "[S", GR_JAVA_OBJECT, 0, NULL, 0 },
	[GR_JAVA_INTS] = { "[I", GR_JAVA_OBJECT, 0, NULL, 0 },
	[GR_JAVA_LONGS] = { "[J", GR_JAVA_OBJECT, 0, NULL, 0 },
};

struct gr_error *gr_hprof_load_java(struct gr_hprof *h)
{
	struct gr_error *err = NULL;
	uint64_t string;

	for (size_t i = 0; !err && i < GR_NJAVA; i++) {
		h->java[i] = gr_hprof_new_id(h);
		err = gr_hprof_load_class(h, classes[i].name, h->java[i]);
		for (size_t k = 0; !err && k < classes[i].nfields; k++)
			err = gr_hprof_string(h, classes[i].fields[k].name,
					      &string);
	}
	return err;
}

void gr_hprof_put_java(struct gr_hprof *h)
{
	for (size_t i = 0; i < GR_NJAVA; i++) {
		const struct java *class = &classes[i];
		gr_hprof_put_class(
			h, h->java[i],
			class->super == GR_NJAVA ? 0 : h->java[class->super],
			class->bytes, class->fields, class->nfields);
	}
}
