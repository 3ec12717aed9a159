/** How large frames and the backlog of a connection may become. */

/** Far above any request that is let in; a length beyond it is garbage, not a frame. */
export const MAX_FRAME_BYTES = 256 * 1024 * 1024;

/** From here on a connection counts as congested: its peer does not read as fast as we write. */
export const MAX_BACKLOG_BYTES = 64 * 1024 * 1024;

export const PREFIX_BYTES = 4;
