package logs

import (
	"bytes"
	"sort"
	"strings"
)

// Compile ids are not unique: a reset starts them again at 0/0. This file
// counts these restarts, so that (rank, epoch, id) names one compile.

// epochState is where one rank of a source is: a text log may hold several
// ranks in one file.
type epochState struct {
	epoch  int
	seen   map[compileKey]bool // compiles begun in this epoch; true: ended
	starts []epochStart
}

// maxSeen bounds what is kept of one rank's compiles and epochs: a hostile log
// could begin another one with every line.
const maxSeen = 1 << 18

// epochStart is when an epoch began, by the clock of the log's lines.
type epochStart struct {
	micros int64
	epoch  int
}

// at is the epoch at a time.
func (es *epochState) at(micros int64) int {
	i := sort.Search(len(es.starts), func(i int) bool { return es.starts[i].micros > micros })
	return es.starts[max(i-1, 0)].epoch
}

// epochOf gives the epoch of r and notes what r begins or ends. The caller
// holds st.mu.
func (st *Store) epochOf(src *source, r *Record) int {
	if src.beside {
		return st.companionEpoch(r)
	}
	es := src.epochs[r.Rank]
	if es == nil && !r.HasID && strings.HasPrefix(r.Name, "tcdbg_") {
		return st.firstEpoch(r) // of a file of ours beside PyTorch's, whose compiles it has not
	}
	if src.process == 0 {
		src.process = r.Thread
	}
	if es == nil {
		es = &epochState{seen: map[compileKey]bool{}}
		src.epochs[r.Rank] = es
		st.newEpoch(es, r)
	}
	if !r.HasID {
		return es.epoch
	}
	if src.Rank < 0 && r.Rank >= 0 && src.Format == FormatTrace {
		src.mu.Lock()
		src.Rank = r.Rank
		src.mu.Unlock()
	}
	key := compileKey{r.Autograd, r.ID.Frame, r.ID.Compile}
	switch r.Kind {
	case "dynamo_start": // without a named attempt a retry looks like a new beginning
		ended, begun := es.seen[key]
		if begun && r.ID.Attempt == 0 && (ended || r.hasTry) {
			st.newEpoch(es, r)
		}
		if begun && r.ID.Attempt == 0 || !begun && len(es.seen) < maxSeen {
			es.seen[key] = false
		}
	case "compilation_metrics":
		if _, begun := es.seen[key]; begun {
			es.seen[key] = true
		}
	case "chromium_event":
		if ended := es.seen[key]; ended && r.ID.Attempt == 0 && opensCompile(r.payload) {
			st.newEpoch(es, r)
		}
	}
	return es.epoch
}

func (st *Store) newEpoch(es *epochState, r *Record) {
	es.epoch = st.epochs[r.Rank]
	st.epochs[r.Rank]++
	if len(es.starts) < maxSeen {
		es.starts = append(es.starts, epochStart{r.Micros, es.epoch})
	}
	clear(es.seen)
}

// companionEpoch gives the rank and epoch of a text log's record that lies
// beside traces: those of the trace of the same process at its time. Without
// one its id names no compile.
func (st *Store) companionEpoch(r *Record) int {
	for _, s := range st.sources {
		if s.Format != FormatTrace || s.process != r.Thread {
			continue
		}
		rank := r.Rank
		if rank < 0 {
			rank = s.Rank
		}
		if es := s.epochs[rank]; es != nil {
			r.Rank = rank
			return es.at(r.Micros)
		}
	}
	r.HasID, r.ID = false, NoCompile
	return 0
}

// firstEpoch is the epoch in which the trace of a record's process begins, 0 where that is not
// known.
func (st *Store) firstEpoch(r *Record) int {
	for _, s := range st.sources {
		if s.Format == FormatTrace && s.process == r.Thread {
			if es := s.epochs[r.Rank]; es != nil {
				return es.starts[0].epoch
			}
		}
	}
	return 0
}

// opensCompile says whether a chromium event is the begin of a frame's
// compilation. Releases differ in which of the two comes before dynamo_start,
// so it tells a new compile only after the end of the one before. It reads the
// raw payload without parsing it: the name comes first.
func opensCompile(payload []byte) bool {
	head := payload[:min(len(payload), 80)]
	return (bytes.Contains(head, []byte(`"name": "dynamo"`)) || bytes.Contains(head, []byte(`"name": "entire_frame_compile"`))) &&
		bytes.Contains(payload, []byte(`"ph": "B"`))
}
