// SPDX-License-Identifier: Apache-2.0
#include "inferior/go_build.h"

enum {
	FLAGS_AT = 15,
	HAS_TEXTS = 2, /* a flag, since Go 1.18 */
	ALIGN_BYTES = 16,
	MAX_VERSION_BYTES = 100,
	MAX_LINES_BYTES = 1 << 20,
};

static const char magic[] = "\xff Go buildinf:";
enum { MAGIC_BYTES = sizeof(magic) - 1 };

void gr_go_build_make_head(uint8_t ret[GR_GO_BUILD_HEAD_BYTES])
{
	memset(ret, 0, GR_GO_BUILD_HEAD_BYTES);
	memcpy(ret, magic, MAGIC_BYTES);
	ret[MAGIC_BYTES] = sizeof(uint64_t);
	ret[FLAGS_AT] = HAS_TEXTS;
}

/* A length, then so many bytes. */
static bool read_text(struct gr_bytes bytes, uint64_t *off, uint64_t max,
		      struct gr_bytes *ret)
{
	uint64_t len;

	if (!gr_bytes_uvarint(bytes, off, &len) || len > max ||
	    !gr_bytes_has(bytes, *off, len))
		return false;
	*ret = gr_bytes_slice(bytes, *off, len);
	*off += len;
	return true;
}

/* The lines lie between two marks, the second one behind the end of a line. */
static struct gr_bytes without_marks(struct gr_bytes text)
{
	enum { MARK = GR_GO_BUILD_MARK_BYTES };

	if (text.size <= 2 * MARK || text.data[text.size - MARK - 1] != '\n')
		return (struct gr_bytes){ NULL, 0 };
	return gr_bytes_slice(text, MARK, text.size - 2 * MARK);
}

static bool read_at(struct gr_bytes bytes, struct gr_go_build *ret)
{
	uint64_t off = GR_GO_BUILD_HEAD_BYTES;
	struct gr_bytes text;

	*ret = (struct gr_go_build){ 0 };
	if (!gr_bytes_has(bytes, 0, GR_GO_BUILD_HEAD_BYTES) ||
	    memcmp(bytes.data, magic, MAGIC_BYTES) != 0 ||
	    !(bytes.data[FLAGS_AT] & HAS_TEXTS) ||
	    !read_text(bytes, &off, MAX_VERSION_BYTES, &ret->version))
		return false;
	if (read_text(bytes, &off, MAX_LINES_BYTES, &text))
		ret->lines = without_marks(text);
	return true;
}

/* A program that reads the build information of others has the magic bytes as a
 * constant, too. */
static bool search(struct gr_bytes bytes, struct gr_go_build *ret)
{
	uint64_t off = 0;

	while (off < bytes.size) {
		const uint8_t *found = memmem(
			bytes.data + off, bytes.size - off, magic, MAGIC_BYTES);
		if (!found)
			return false;
		off = found - bytes.data;
		if (off % ALIGN_BYTES == 0 &&
		    read_at(gr_bytes_slice(bytes, off, bytes.size - off), ret))
			return true;
		off++;
	}
	return false;
}

bool gr_go_build_find(const struct gr_elf *elf, struct gr_go_build *ret)
{
	struct gr_segments segments = { .elf = elf };
	struct gr_bytes bytes;
	Elf64_Phdr segment;

	if (read_at(gr_elf_section(elf, GR_GO_BUILD_SECTION, NULL), ret))
		return true;
	while (gr_segments_next(&segments, PT_LOAD, &segment, &bytes))
		if (bytes.size && search(bytes, ret))
			return true;
	return false;
}

/* The bytes up to a separator, or all. */
static struct gr_bytes cut(struct gr_bytes text, char separator)
{
	const uint8_t *end =
		text.size ? memchr(text.data, separator, text.size) : NULL;

	return end ? gr_bytes_slice(text, 0, end - text.data) : text;
}

bool gr_go_build_next(struct gr_bytes lines, uint64_t *off,
		      struct gr_go_build_line *ret)
{
	struct gr_bytes rest = { NULL, 0 };

	if (*off >= lines.size)
		return false;
	struct gr_bytes line =
		cut(gr_bytes_slice(lines, *off, lines.size - *off), '\n');
	*off += line.size + 1;
	ret->kind = cut(line, '\t');
	if (ret->kind.size < line.size)
		rest = gr_bytes_slice(line, ret->kind.size + 1,
				      line.size - ret->kind.size - 1);
	ret->path = cut(rest, '\t');
	return true;
}

bool gr_go_build_is(const struct gr_go_build_line *line, const char *kind)
{
	return line->kind.size == strlen(kind) &&
	       !memcmp(line->kind.data, kind, line->kind.size);
}
