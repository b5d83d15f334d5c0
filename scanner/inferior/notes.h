/* SPDX-License-Identifier: Apache-2.0 */
/**
 * notes: the records in an ELF file's note segments.
 *
 * Iterates over notes and decodes those that goref needs: threads, auxiliary
 * vector, mapped files, build IDs. The bytes are not trusted.
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

/** NT_PRSTATUS: the signal that the thread got; 0: none, or not known. */
int32_t gr_note_signal(const struct gr_note *note);

/** NT_PRPSINFO: the number of the process; 0 if the note is too short. */
int32_t gr_note_pid(const struct gr_note *note);

/** NT_SIGINFO: a signal, and where it came from. */
struct gr_core_signal {
	int32_t number;	     /**< 0: there is none. */
	int32_t code;	     /**< si_code; 0 and less: a process has sent it. */
	int32_t sender_pid;  /**< If a process has sent it. */
	uint64_t fault_addr; /**< If it is that of a fault. */
};

/** All zeros if the note is too short. */
struct gr_core_signal gr_note_siginfo(const struct gr_note *note);

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
	uint64_t entry;	 /**< AT_ENTRY: run-time entry point. */
	uint64_t phdr;	 /**< AT_PHDR: run-time program headers. */
	uint64_t random; /**< AT_RANDOM: address of 16 random bytes. */
	uint64_t execfn; /**< AT_EXECFN: address of the executable's name. */
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
