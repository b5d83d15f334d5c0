/* SPDX-License-Identifier: Apache-2.0 */
/**
 * recorder: what the scanner has read of the target. A saved file without values
 * has the words that were read and no others. If only some bytes of a word were
 * read, the file has zeros for the others.
 *
 * The image records what it copies for a reader, and what gr_image_map() gives.
 * Who reads through a pointer of gr_image_map_torn(), which is to memory with
 * values, notes what it read. One thread reads while there is a recorder.
 */
#ifndef GR_RECORDER_H
#define GR_RECORDER_H

#include "base/base.h"
#include "base/error.h"
#include "base/word_set.h"
#include "inferior/ranges.h"

struct gr_recorded_page;
struct gr_parts_page;

/** Zero-initialised, nothing is recorded. */
struct gr_recorder {
	struct gr_word_set words; /**< All their bytes were read. */
	/** Pages with words of which some bytes were read, or that count as 0: a
	 * uthash table. */
	struct gr_parts_page *parts;
	struct gr_parts_page *last_parts; /**< The one that was used last. */
	/** Pages whose words were read from a live target: a uthash table. */
	struct gr_recorded_page *pages;
	/** Memory that the image gave pointers to, by its host address. */
	struct gr_range_vector hosts;
	bool are_hosts_sorted;
	size_t last_host;
	unsigned int pauses;
	/** Ranges that were read by searches that have not ended. */
	struct gr_range_vector tried;
	unsigned int searches;
	bool is_out_of_memory;
};

void gr_recorder_deinit(struct gr_recorder *recorder);

/** Record that [addr, addr + bytes) was read. */
void gr_recorder_add(struct gr_recorder *recorder, uint64_t addr,
		     uint64_t bytes);

/** Record the words of a page of which @p bits has a bit. @p page is its address;
 * bits from @p nwords on do not count. */
void gr_recorder_add_bits(struct gr_recorder *recorder, uint64_t page,
			  const uint64_t *bits, uint64_t nwords);

/** Record the word at @p addr as 0, unless it is recorded as it is. */
void gr_recorder_add_blank(struct gr_recorder *recorder, uint64_t addr);

/** gr_recorder_add() of memory that the image does not keep: @p data has the
 * bytes. */
void gr_recorder_add_data(struct gr_recorder *recorder, uint64_t addr,
			  const void *data, uint64_t bytes);

/** Add all words of which anything was read to @p ret. @return false if no memory
 * is left. */
bool gr_recorder_list_words(const struct gr_recorder *recorder,
			    struct gr_word_set *ret);

/** Set the bytes of a page that nobody has read to 0 in all words of which others
 * were read. */
void gr_recorder_clear_unread(struct gr_recorder *recorder, uint64_t page,
			      uint64_t words[GR_SET_PAGE_WORDS]);

/** The bytes of a page that were recorded with their data, or NULL. */
const uint8_t *gr_recorder_page(const struct gr_recorder *recorder,
				uint64_t page);

/** The image has the bytes of [range.start, range.end) at range.host. */
void gr_recorder_add_host(struct gr_recorder *recorder, struct gr_range range);

/** gr_recorder_note() with a recorder. */
void gr_recorder_note_host(struct gr_recorder *recorder, const void *host,
			   uint64_t bytes);

/**
 * Note that @p bytes at @p host were read, where the image gave the pointer.
 * @p recorder may be NULL; memory that is not the image's is passed.
 */
static inline void gr_recorder_note(struct gr_recorder *recorder,
				    const void *host, uint64_t bytes)
{
	if (GR_UNLIKELY(recorder != NULL))
		gr_recorder_note_host(recorder, host, bytes);
}

/**
 * Record nothing until gr_recorder_resume(): what is read now may have values,
 * or is searched only. @p recorder may be NULL. Pauses nest.
 */
static inline void gr_recorder_pause(struct gr_recorder *recorder)
{
	if (recorder)
		recorder->pauses++;
}

static inline void gr_recorder_resume(struct gr_recorder *recorder)
{
	if (recorder)
		recorder->pauses--;
}

/**
 * Begin to look at what may be a record of some kind: the words that are read
 * now are recorded if it is one, which gr_recorder_end_search() tells. What is
 * none may have values. @p recorder may be NULL. Searches nest.
 */
static inline size_t gr_recorder_search(struct gr_recorder *recorder)
{
	if (!recorder)
		return 0;
	recorder->searches++;
	return recorder->tried.size;
}

/** End the search that returned @p mark. */
void gr_recorder_end_search(struct gr_recorder *recorder, size_t mark,
			    bool found);

#endif /* GR_RECORDER_H */
