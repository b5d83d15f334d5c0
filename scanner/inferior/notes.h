/* SPDX-License-Identifier: Apache-2.0 */
/**
 * notes: the records in an ELF file's note segments.
 *
 * Iterates over notes and decodes those that a debugger needs: threads,
 * auxiliary vector, mapped files, build IDs. The bytes are not trusted.
 */
#ifndef GR_NOTES_H
#define GR_NOTES_H

#include "base/base.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/vector.h"
#include "inferior/elf.h"
#include "inferior/target.h"

/** One note. The views point into the segment. */
struct gr_note {
	uint32_t type;
	struct gr_bytes owner; /**< Without the NUL; Delve writes none. */
	struct gr_bytes desc;
};

/**
 * Read the note at *@p off and move *@p off behind it.
 *
 * @return false at the end, or where a note does not fit its segment.
 */
bool gr_note_next(struct gr_bytes notes, uint64_t *off, struct gr_note *ret);

/** True if the owner is exactly @p owner. */
bool gr_note_is_owned_by(const struct gr_note *note, const char *owner);

/** NT_PRSTATUS: one thread. false if the note is too short. */
bool gr_note_thread(const struct gr_note *note, const struct gr_arch *arch,
		    struct gr_target_thread *ret);

/** Types of the notes in a core that Delve wrote. */
enum {
	GR_NOTE_DELVE_HEADER = 0x444C5645,
	GR_NOTE_DELVE_THREAD = 0x444C5654,
};

/** GR_NOTE_DELVE_THREAD: one thread. false if the note is too short. */
bool gr_note_delve_thread(const struct gr_note *note,
			  const struct gr_arch *arch,
			  struct gr_target_thread *ret);

/** GR_NOTE_DELVE_HEADER: the entry point's address; false if absent. */
bool gr_note_delve_entry(const struct gr_note *note, uint64_t *ret);

/** The needed values of the auxiliary vector; 0 if absent. */
struct gr_auxv {
	uint64_t entry; /**< AT_ENTRY: run-time entry point. */
	uint64_t phdr;	/**< AT_PHDR: run-time program headers. */
};

struct gr_auxv gr_auxv_parse(struct gr_bytes auxv);

/** Build IDs. An absent ID has 0 bytes. */
struct gr_build_id {
	uint8_t gnu[64]; /**< .note.gnu.build-id */
	size_t gnu_bytes;
	char go[256]; /**< .note.go.buildid; no NUL */
	size_t go_bytes;
};

/** Add the build IDs in a note segment to @p id. */
void gr_build_id_collect(struct gr_bytes notes, struct gr_build_id *id);

/** The build ids of a file. */
struct gr_build_id gr_build_id_of(const struct gr_elf *elf);

#endif /* GR_NOTES_H */
