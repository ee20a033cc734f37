package logs

import "bytes"

// Compile ids are not unique: a reset starts them again at 0/0. This file
// counts these restarts, so that (rank, epoch, id) names one compile.

// epochOf gives the epoch of r and notes what r begins or ends. The caller
// holds st.mu.
func (st *Store) epochOf(src *source, r *Record) int {
	if !src.hasEpoch {
		st.newEpoch(src, r.Rank)
	}
	if !r.HasID {
		return src.epoch
	}
	if src.Rank < 0 && r.Rank >= 0 {
		src.mu.Lock()
		src.Rank = r.Rank
		src.mu.Unlock()
		st.newEpoch(src, r.Rank)
	}
	key := compileKey{r.Autograd, r.ID.Frame, r.ID.Compile}
	switch r.Kind {
	case "dynamo_start": // without a named attempt a retry looks like a new beginning
		ended, begun := src.seen[key]
		if begun && r.ID.Attempt == 0 && (ended || r.hasTry) {
			st.newEpoch(src, r.Rank)
		}
		if !begun || r.ID.Attempt == 0 {
			src.seen[key] = false
		}
	case "compilation_metrics":
		if _, begun := src.seen[key]; begun {
			src.seen[key] = true
		}
	case "chromium_event":
		if _, begun := src.seen[key]; begun && r.ID.Attempt == 0 && opensCompile(r.payload) {
			st.newEpoch(src, r.Rank)
		}
	}
	return src.epoch
}

func (st *Store) newEpoch(src *source, rank int) {
	src.epoch = st.epochs[rank]
	st.epochs[rank]++
	src.hasEpoch = true
	clear(src.seen)
}

// opensCompile says whether a chromium event is the begin of a frame's
// compilation, which is written before dynamo_start. It reads the raw payload
// without parsing it: the name stands in front.
func opensCompile(payload []byte) bool {
	head := payload[:min(len(payload), 80)]
	return (bytes.Contains(head, []byte(`"name": "dynamo"`)) || bytes.Contains(head, []byte(`"name": "entire_frame_compile"`))) &&
		bytes.Contains(payload, []byte(`"ph": "B"`))
}
