/* A frame of a replay as text and JSON; the command and the view tell the same. */
#ifndef AOT_TUI_REPLAY_REPORT_H
#define AOT_TUI_REPLAY_REPORT_H

#include <jansson.h>

#include "base/str.h"
#include "session/replay_unit.h"

/* Where the frame stands: "forward  gelu  aten.gelu.default  model.py:12". */
void aot_replay_print_place(aot_sb *out, const aot_replay_unit *u, const aot_replay_frame *f);
/* Its values with their histograms, live bytes and generator, lines indented by two blanks. */
void aot_replay_print_frame(aot_sb *out, const aot_replay_unit *u, const aot_replay_frame *f,
                            bool ascii);
/* The same without the live bytes. */
void aot_replay_print_values(aot_sb *out, const aot_replay_unit *u, const aot_replay_frame *f,
                             bool ascii);
/* The breaks that hold there: "nan, node:gelu"; "" if none. */
void aot_replay_print_stops(aot_sb *out, const aot_replay *r, size_t frame);
/* {"node", "side", "op", "source", "values": [{..}], "live_bytes", "generator": {..} or null,
 * "stops": [..]} */
json_t *aot_replay_frame_json(const aot_replay_unit *u, size_t frame);
/* AOT_STATS_BINS characters. */

/* What a run came to, up to the frames known. */
typedef struct aot_replay_sum {
    size_t n_nodes, n_draws;
    int64_t peak_bytes[AOT_REPLAY_N_SIDES];
    size_t peak_at[AOT_REPLAY_N_SIDES];
    size_t n_recorded, n_recorded_differ;       /* values compared with the recorded run */
    size_t n_again, n_again_differ;             /* values that the backward computed again */
} aot_replay_sum;
void aot_replay_sum_up(aot_replay_sum *out, const aot_replay_unit *u);
void aot_replay_print_sum(aot_sb *out, const aot_replay_unit *u);
json_t *aot_replay_sum_json(const aot_replay_unit *u);

/* Where a replay stops if nothing else is asked for, in the command and in the view. */
enum { AOT_REPLAY_N_DEFAULT_BREAKS = 3 };
extern const char *const aot_replay_default_breaks[AOT_REPLAY_N_DEFAULT_BREAKS];

#endif
