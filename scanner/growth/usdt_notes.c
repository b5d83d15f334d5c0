// SPDX-License-Identifier: Apache-2.0
#include "growth/usdt_notes.h"

#include "inferior/notes.h"

enum {
	NOTE_TYPE = 3, /* _SDT_NOTE_TYPE */
	NADDRS = 3,    /* of the probe, of a base, of a semaphore */
};

/* Read the note of a probe. */
static bool read_probe(const struct gr_note *note, struct gr_usdt_note *ret)
{
	uint64_t addrs[NADDRS], off = sizeof(addrs);

	if (note->type != NOTE_TYPE || !gr_note_is_owned_by(note, "stapsdt") ||
	    !gr_bytes_get(note->desc, 0, addrs, sizeof(addrs)))
		return false;
	ret->addr = addrs[0];
	ret->provider = gr_bytes_name(note->desc, off);
	if (!ret->provider)
		return false;
	off += strlen(ret->provider) + 1;
	ret->name = gr_bytes_name(note->desc, off);
	return ret->name != NULL;
}

bool gr_usdt_next(struct gr_bytes notes, uint64_t *off,
		  struct gr_usdt_note *ret, bool *is_probe)
{
	struct gr_note note;

	if (!gr_note_next(notes, off, &note))
		return false;
	*is_probe = read_probe(&note, ret);
	return true;
}
