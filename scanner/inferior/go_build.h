/* SPDX-License-Identifier: Apache-2.0 */
/**
 * go_build: the build information that Go's linker writes into a file, as the
 * package debug/buildinfo reads it: the release, and lines of text.
 *
 * The lines name the main package (`path`), the main module (`mod`), and those
 * that it depends on (`dep`). Lines about the build have flags of compiler and
 * linker, which may be secrets.
 */
#ifndef GR_GO_BUILD_H
#define GR_GO_BUILD_H

#include "inferior/elf.h"

/** The section that has it. */
#define GR_GO_BUILD_SECTION ".go.buildinfo"

enum {
	GR_GO_BUILD_HEAD_BYTES = 32, /**< Before the texts. */
	GR_GO_BUILD_MARK_BYTES = 16, /**< Around the lines. */
};

/** Views of the file. */
struct gr_go_build {
	struct gr_bytes version; /**< "go1.24.4" */
	struct gr_bytes lines;	 /**< Without the marks around them. */
};

/**
 * Find the build information: false if there is none. Releases before Go 1.18
 * wrote pointers to it, which are not followed.
 */
bool gr_go_build_find(const struct gr_elf *elf, struct gr_go_build *ret);

/** A line: what it is about, and the word behind that. */
struct gr_go_build_line {
	struct gr_bytes kind;
	struct gr_bytes path;
};

/** Read the next line from *@p off on, and move *@p off behind it; false at the
 * end. */
bool gr_go_build_next(struct gr_bytes lines, uint64_t *off,
		      struct gr_go_build_line *ret);

/** Is a line about @p kind: "path", "mod", "dep"? */
bool gr_go_build_is(const struct gr_go_build_line *line, const char *kind);

/** The first bytes of the section, which say that texts follow. */
void gr_go_build_make_head(uint8_t ret[GR_GO_BUILD_HEAD_BYTES]);

#endif /* GR_GO_BUILD_H */
