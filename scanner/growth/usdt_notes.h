/* SPDX-License-Identifier: Apache-2.0 */
/**
 * usdt_notes: the static probes that a program's author has put into it
 * (sys/sdt.h). Each has a note in the section .note.stapsdt, which is not loaded:
 * three addresses, then the provider, the name and the arguments as strings.
 */
#ifndef GR_USDT_NOTES_H
#define GR_USDT_NOTES_H

#include "base/base.h"
#include "base/bytes.h"

/** A static probe. The strings are in the file. */
struct gr_usdt_note {
	const char *provider, *name;
	uint64_t addr; /**< In the file, if it was not linked to another place. */
};

/**
 * Go to the next note.
 *
 * @param notes The bytes of the section. A walk is bounded by them.
 * @param off Where to go on; 0 is the start.
 * @param[out] is_probe False: the note is damaged, or it is not of a probe.
 * @return false at the end, or at a note that does not fit the section.
 */
bool gr_usdt_next(struct gr_bytes notes, uint64_t *off,
		  struct gr_usdt_note *ret, bool *is_probe);

#endif /* GR_USDT_NOTES_H */
