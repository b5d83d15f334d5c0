// SPDX-License-Identifier: Apache-2.0
#include "savedfile/frames.h"

#include <pthread.h>
#include <zstd.h>

#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/huge.h"
#include "base/thread.h"
#include "savedfile/pages.h"

// Level 3 makes a file of 5 M objects 3 % smaller and takes twice the time of
// this one to write it; level -5 saves no time that can be measured.
enum { LEVEL = 1 };

static const char magic[8] = "goref\x1a\r\n";

/** The head of the file. A file of version 1 has the first two members only. */
struct head {
	char magic[8];
	uint64_t version;
	char goref[GR_SAVED_WRITER_BYTES]; /* the rest is zeros */
	uint64_t check;			   /* of all before it */
};

/** The header of a frame. */
struct header {
	uint32_t kind;
	uint32_t reserved; /* 0 */
	uint64_t bytes;	   /* of the data */
	uint64_t packed_bytes;
	uint64_t check;
};

static uint64_t mix(uint64_t sum, uint64_t value)
{
	sum = (sum ^ value) * UINT64_C(0x9e3779b97f4a7c15);
	return sum ^ sum >> 29;
}

static uint64_t check_head_of(const struct head *head)
{
	uint64_t sum = mix(0, head->version);

	for (size_t i = 0; i < sizeof(head->goref); i += 8)
		sum = mix(sum, gr_load_u64((const uint8_t *)head->goref + i));
	return sum;
}

/* The checksum of a header and of its packed bytes. That of zstd does not cover
 * each bit of its own headers. */
static uint64_t check_of(const struct header *header, uint64_t number,
			 const uint8_t *packed)
{
	uint64_t sum = mix(number + 1, header->kind), last = 0;
	uint64_t bytes = header->packed_bytes;

	sum = mix(sum, header->reserved);
	sum = mix(mix(sum, header->bytes), bytes);
	for (; bytes >= 8; packed += 8, bytes -= 8)
		sum = mix(sum, gr_load_u64(packed));
	if (bytes)
		memcpy(&last, packed, bytes);
	return mix(sum, last);
}

void gr_frame_seal(uint8_t *frame, uint64_t bytes, uint64_t number)
{
	struct header header;

	if (bytes < sizeof(header))
		return;
	memcpy(&header, frame, sizeof(header));
	if (header.packed_bytes > bytes - sizeof(header))
		return;
	header.check = check_of(&header, number, frame + sizeof(header));
	memcpy(frame, &header, sizeof(header));
}

// ----------------------------------------------------------------- writing

struct gr_frame_packer {
	ZSTD_CCtx *zstd;
	uint8_t *packed;
	size_t packed_size;
};

void gr_frame_packer_destroy(struct gr_frame_packer *p)
{
	if (!p)
		return;
	ZSTD_freeCCtx(p->zstd);
	free(p->packed);
	free(p);
}

struct gr_frame_packer *gr_frame_packer_create(void)
{
	struct gr_frame_packer *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->zstd = ZSTD_createCCtx();
	if (!p->zstd) {
		free(p);
		return NULL;
	}
	ZSTD_CCtx_setParameter(p->zstd, ZSTD_c_compressionLevel, LEVEL);
	ZSTD_CCtx_setParameter(p->zstd, ZSTD_c_checksumFlag, 1);
	return p;
}

static struct gr_error *want_packed(struct gr_frame_packer *p, size_t bytes)
{
	if (bytes <= p->packed_size)
		return NULL;
	uint8_t *grown = realloc(p->packed, bytes);
	if (!grown)
		return &gr_enomem;
	p->packed = grown;
	p->packed_size = bytes;
	return NULL;
}

struct gr_error *gr_frame_pack(struct gr_frame_packer *p,
			       enum gr_frame_kind kind, const void *data,
			       size_t bytes, struct gr_packed_frame *ret)
{
	struct gr_error *err = want_packed(p, ZSTD_compressBound(bytes));

	if (err)
		return err;
	size_t n =
		ZSTD_compress2(p->zstd, p->packed, p->packed_size, data, bytes);
	if (ZSTD_isError(n))
		return gr_error_format(GR_ERROR_IO, "cannot compress: %s",
				       ZSTD_getErrorName(n));
	*ret = (struct gr_packed_frame){ kind, bytes, p->packed, n };
	return NULL;
}

struct gr_frame_writer {
	struct gr_frame_sink sink;
	struct gr_frame_packer *packer;
	uint64_t count; /* of frames so far */
};

void gr_frame_writer_destroy(struct gr_frame_writer *w)
{
	if (!w)
		return;
	gr_frame_packer_destroy(w->packer);
	free(w);
}
GR_DEFINE_CLEANUP(writer, struct gr_frame_writer, gr_frame_writer_destroy)

struct gr_error *gr_frame_writer_create(struct gr_frame_sink sink,
					uint64_t version,
					struct gr_frame_writer **ret)
{
	_cleanup_(gr_cleanup_writer) struct gr_frame_writer *w =
		calloc(1, sizeof(*w));
	struct head head = { .version = version };

	if (!w)
		return &gr_enomem;
	w->sink = sink;
	w->packer = gr_frame_packer_create();
	if (!w->packer)
		return &gr_enomem;
	memcpy(head.magic, magic, sizeof(magic));
	snprintf(head.goref, sizeof(head.goref), "%s", PACKAGE_VERSION);
	head.check = check_head_of(&head);
	struct gr_error *err = sink.write(sink.ctx, &head, sizeof(head));
	if (!err)
		*ret = steal_ptr(w);
	return err;
}

struct gr_error *gr_frame_write_packed(struct gr_frame_writer *w,
				       const struct gr_packed_frame *frame)
{
	struct header header = {
		.kind = frame->kind,
		.bytes = frame->bytes,
		.packed_bytes = frame->packed_bytes,
	};
	struct gr_error *err;

	header.check = check_of(&header, w->count++, frame->packed);
	err = w->sink.write(w->sink.ctx, &header, sizeof(header));
	return err || !frame->packed_bytes ?
		       err :
		       w->sink.write(w->sink.ctx, frame->packed,
				     frame->packed_bytes);
}

static struct gr_error *write_one(struct gr_frame_writer *w,
				  enum gr_frame_kind kind, const void *data,
				  size_t bytes)
{
	struct gr_packed_frame frame;
	struct gr_error *err =
		gr_frame_pack(w->packer, kind, data, bytes, &frame);

	return err ? err : gr_frame_write_packed(w, &frame);
}

struct gr_error *gr_frame_write(struct gr_frame_writer *w,
				enum gr_frame_kind kind, const void *data,
				size_t bytes)
{
	struct gr_error *err = NULL;

	for (size_t done = 0; !err && done < bytes;) {
		size_t n = bytes - done < GR_FRAME_MAX_BYTES ?
				   bytes - done :
				   GR_FRAME_MAX_BYTES;

		err = write_one(w, kind, (const uint8_t *)data + done, n);
		done += n;
	}
	return err;
}

struct gr_error *gr_frame_writer_end(struct gr_frame_writer *w)
{
	const struct gr_packed_frame end = { .kind = GR_FRAME_END };

	return gr_frame_write_packed(w, &end);
}

// ----------------------------------------------------------------- reading

/** A frame that is unpacked, by a thread of its own if one can be had. */
struct unpacking {
	struct header header;
	struct gr_error *err; /* why there is no such frame */
	const uint8_t *packed;
	ZSTD_DCtx *zstd;
	uint8_t *data;
	size_t data_size; /* allocated */
	size_t result;	  /* of zstd */
	pthread_t thread;
	bool is_started;
};

/*
 * While the caller looks at a frame, the next one is unpacked. Invariant between
 * two calls: `next` is NULL before the first frame and after an error or the
 * last frame; else it is begun.
 */
struct gr_frame_reader {
	const char *path;
	struct gr_bytes file;
	struct head head;
	uint64_t off;
	uint64_t count; /* of frames so far */
	struct unpacking frames[2];
	struct unpacking *next;
	uint64_t unpacked; /* bytes of all frames but pages */
	struct gr_error *(*want)(void *ctx, uint64_t bytes);
	void *ctx;
};

static void wait_for(struct unpacking *u)
{
	if (u->is_started)
		pthread_join(u->thread, NULL);
	u->is_started = false;
}

void gr_frame_reader_destroy(struct gr_frame_reader *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < GR_ARRAY_SIZE(r->frames); i++) {
		wait_for(&r->frames[i]);
		gr_error_destroy(r->frames[i].err);
		ZSTD_freeDCtx(r->frames[i].zstd);
		free(r->frames[i].data);
	}
	free(r);
}
GR_DEFINE_CLEANUP(reader, struct gr_frame_reader, gr_frame_reader_destroy)

struct gr_error *gr_frame_damage(const struct gr_frame_reader *r,
				 const char *what)
{
	return gr_error_format(GR_ERROR_FORMAT,
			       "%s is damaged (%s): copy or save it again",
			       r->path, what);
}

struct gr_error *gr_saved_other_version(const char *path, const char *what,
					uint64_t version, uint64_t ours,
					const char *goref)
{
	return gr_error_format(
		GR_ERROR_FORMAT,
		"%s has %s %llu, and this goref (%s) reads %s %llu: open it "
		"with the goref that wrote it (%s)%s",
		path, what, (unsigned long long)version, PACKAGE_VERSION, what,
		(unsigned long long)ours, goref,
		version > ours ? " or a newer one" : ", or save it again");
}

static struct gr_error *no_saved_file(const struct gr_frame_reader *r)
{
	return gr_error_format(GR_ERROR_FORMAT,
			       "%s is not a file that `goref save' has written",
			       r->path);
}

static bool is_text(const char *text, size_t bytes)
{
	size_t length = strnlen(text, bytes);

	for (size_t i = 0; i < length; i++)
		if (text[i] <= ' ' || text[i] > '~')
			return false;
	return length && length < bytes;
}

static struct gr_error *read_file_head(struct gr_frame_reader *r)
{
	struct head *head = &r->head;
	const size_t first_bytes = offsetof(struct head, goref);

	if (!gr_bytes_get(r->file, 0, head, first_bytes) ||
	    memcmp(head->magic, magic, sizeof(magic)))
		return no_saved_file(r);
	if (head->version == 1)
		return gr_saved_other_version(r->path, "format", 1,
					      GR_SAVED_VERSION, "0.1.0");
	if (!gr_bytes_get(r->file, 0, head, sizeof(*head)))
		return gr_frame_damage(r, "it ends too early");
	if (head->check != check_head_of(head) ||
	    !is_text(head->goref, sizeof(head->goref)))
		return gr_frame_damage(r, "its head makes no sense");
	if (head->version != GR_SAVED_VERSION)
		return gr_saved_other_version(r->path, "format", head->version,
					      GR_SAVED_VERSION, head->goref);
	return NULL;
}

const char *gr_frame_reader_goref(const struct gr_frame_reader *r)
{
	return r->head.goref;
}

struct gr_error *gr_frame_reader_create(const char *path, const uint8_t *file,
					uint64_t bytes,
					struct gr_frame_reader **ret)
{
	_cleanup_(gr_cleanup_reader) struct gr_frame_reader *r =
		calloc(1, sizeof(*r));

	if (!r)
		return &gr_enomem;
	r->path = path;
	r->file = (struct gr_bytes){ file, bytes };
	r->off = sizeof(struct head);
	struct gr_error *err = read_file_head(r);
	if (err)
		return err;
	for (size_t i = 0; i < GR_ARRAY_SIZE(r->frames); i++) {
		r->frames[i].zstd = ZSTD_createDCtx();
		if (!r->frames[i].zstd)
			return &gr_enomem;
	}
	*ret = steal_ptr(r);
	return NULL;
}

void gr_frame_reader_ask(struct gr_frame_reader *r,
			 struct gr_error *(*want)(void *ctx, uint64_t bytes),
			 void *ctx)
{
	r->want = want;
	r->ctx = ctx;
}

uint64_t gr_frame_reader_most(const struct gr_frame_reader *r)
{
	uint64_t most;

	return __builtin_mul_overflow(r->file.size, GR_FRAME_EXPANSION, &most) ?
		       UINT64_MAX :
		       most;
}

/* Is the unpacked size in proportion to the file? Pages do not count: any number
 * of equal words becomes a few bytes, and their memory is asked for. */
static struct gr_error *check_sizes(struct gr_frame_reader *r,
				    const struct header *header)
{
	bool is_pages = header->kind == GR_FRAME_PAGES;

	if (header->bytes >
	    (uint64_t)(is_pages ? GR_BATCH_MAX_BYTES : GR_FRAME_MAX_BYTES))
		return gr_frame_damage(r, "a part is too large");
	if (!is_pages)
		r->unpacked += header->bytes;
	return r->unpacked > gr_frame_reader_most(r) ?
		       gr_frame_damage(
			       r, "it unpacks to more than its size allows") :
		       NULL;
}

/* Read a header, whose sizes are then within limits. */
static struct gr_error *read_frame_header(struct gr_frame_reader *r,
					  struct header *ret)
{
	if (!gr_bytes_get(r->file, r->off, ret, sizeof(*ret)))
		return gr_frame_damage(r, "it ends too early");
	r->off += sizeof(*ret);
	if (!gr_bytes_has(r->file, r->off, ret->packed_bytes))
		return gr_frame_damage(r, "it ends too early");
	// The sum of more bytes would take long.
	if (ret->packed_bytes > ZSTD_COMPRESSBOUND((size_t)GR_FRAME_MAX_BYTES))
		return gr_frame_damage(r, "a part is too large");
	if (ret->check != check_of(ret, r->count++, r->file.data + r->off))
		return gr_frame_damage(r, "a checksum is wrong");
	return check_sizes(r, ret);
}

static struct gr_error *make_room(const struct gr_frame_reader *r,
				  struct unpacking *u, uint64_t bytes)
{
	if (bytes <= u->data_size)
		return NULL;
	free(u->data);
	u->data = NULL;
	u->data_size = 0;
	struct gr_error *err = r->want ? r->want(r->ctx, bytes) : NULL;
	if (err)
		return err;
	u->data = malloc(bytes);
	if (!u->data)
		return &gr_enomem;
	gr_huge_advise(u->data, bytes);
	u->data_size = bytes;
	return NULL;
}

static void *unpack(void *arg)
{
	struct unpacking *u = arg;

	u->result = ZSTD_decompressDCtx(u->zstd, u->data, u->header.bytes,
					u->packed, u->header.packed_bytes);
	return NULL;
}

/* Read the header of the next frame, and begin to unpack it. */
static struct gr_error *begin(struct gr_frame_reader *r, struct unpacking *u)
{
	struct header *header = &u->header;
	struct gr_error *err = read_frame_header(r, header);
	bool is_end = header->kind == GR_FRAME_END;

	if (!err && is_end && header->bytes)
		err = gr_frame_damage(r, "its end has data");
	if (!err && !is_end && !header->bytes)
		err = gr_frame_damage(r, "a part is empty");
	if (!err)
		err = make_room(r, u, header->bytes);
	if (err)
		return err;
	if (is_end)
		return r->off == r->file.size ?
			       NULL :
			       gr_frame_damage(r, "bytes follow its end");
	u->packed = r->file.data + r->off;
	r->off += header->packed_bytes;
	u->is_started = gr_thread_start(&u->thread, unpack, u);
	if (!u->is_started)
		unpack(u);
	return NULL;
}

/* Take the frame that has been begun. */
static struct gr_error *finish(const struct gr_frame_reader *r,
			       struct unpacking *u, struct gr_saved_frame *ret)
{
	const struct header *header = &u->header;

	wait_for(u);
	if (u->err)
		return steal_ptr(u->err);
	if (header->kind != GR_FRAME_END &&
	    (ZSTD_isError(u->result) || u->result != header->bytes))
		return gr_frame_damage(r, "a part cannot be unpacked");
	*ret = (struct gr_saved_frame){ header->kind, u->data, header->bytes };
	return NULL;
}

struct gr_error *gr_frame_read(struct gr_frame_reader *r,
			       struct gr_saved_frame *ret)
{
	struct unpacking *now = r->next ?: &r->frames[0];

	if (!r->next)
		now->err = begin(r, now);
	r->next = NULL;
	struct gr_error *err = finish(r, now, ret);
	if (err || ret->kind == GR_FRAME_END)
		return err;
	r->next = &r->frames[now == &r->frames[0]];
	r->next->err = begin(r, r->next);
	return NULL;
}
