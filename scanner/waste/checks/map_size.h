/* SPDX-License-Identifier: Apache-2.0 */
/**
 * map_size: the memory of a map that is made with the right size hint, and then
 * filled. Source: runtime/map.go (makemap, makeBucketArray, overLoadFactor),
 * internal/runtime/maps (NewMap, newTable, table.rehash).
 */
#ifndef GR_MAP_SIZE_H
#define GR_MAP_SIZE_H

#include "waste/objects/size_classes.h"

/** The pieces of maps of one type, and of one design. */
struct gr_map_pieces {
	const struct gr_size_classes *classes;
	uint64_t piece_bytes; /**< A bucket or group. */
	bool is_noscan;	      /**< It holds no pointers. */
	uint64_t header_bytes;
	/** A table of a Swiss map; 0: the map has buckets. */
	uint64_t table_bytes;
	uint64_t extra_bytes; /**< runtime.mapextra */
	/** Twice the number of entries that a bucket has on average before a
	 * map grows. */
	uint64_t double_load;
};

/** A map's entries fill no more slots than memory has room for. */
#define GR_MAP_MAX_ENTRIES (UINT64_C(1) << 48)

/**
 * The slots of all pieces of a map with so many entries, its header included.
 * It depends on the hash function how many tables are split and how many
 * buckets overflow: this is more than nearly all such maps have (three standard
 * deviations above the mean).
 */
uint64_t gr_map_fresh_bytes(const struct gr_map_pieces *pieces,
			    uint64_t entries);

#endif /* GR_MAP_SIZE_H */
