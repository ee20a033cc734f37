package timeline

import (
	"sync"

	"tcdbg/explain"
	"tcdbg/logs"
	"tcdbg/logs/bounds"
	"tcdbg/logs/chrome"
)

// This file reads the Chrome traces of a report, each once.

// Files are the Chrome traces that were read. It is safe for concurrent use.
type Files struct {
	mu   sync.Mutex
	have map[string]*file
}

// file is a trace that was read, or why it could not be.
type file struct {
	tracks *chrome.Tracks
	err    error
}

// Of reads the traces of a report, as far as that was not done; one that cannot be read is nil.
func (f *Files) Of(r *explain.Report) []*chrome.Tracks {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.have == nil {
		f.have = map[string]*file{}
	}
	out := make([]*chrome.Tracks, len(r.Traces))
	for i, t := range r.Traces {
		if f.have[t.File] == nil {
			tracks, err := logs.ReadTracks(t.File)
			f.have[t.File] = &file{tracks, err}
			f.bound()
		}
		out[i] = f.have[t.File].tracks
	}
	return out
}

// maxSpans bounds the spans of all traces together, as many as one may have.
var maxSpans = 4 << 20

// bound leaves each trace its longest spans, as many as all can have.
func (f *Files) bound() {
	var counts []int
	all := 0
	for _, have := range f.have {
		if have.tracks != nil {
			counts = append(counts, len(have.tracks.Spans))
			all += len(have.tracks.Spans)
		}
	}
	if all <= maxSpans {
		return
	}
	share := bounds.EvenShare(counts, maxSpans)
	for _, have := range f.have {
		if have.tracks != nil {
			have.tracks = have.tracks.Longest(share)
		}
	}
}

// Read are the traces of a report that have been read; while some are being read, none.
func (f *Files) Read(r *explain.Report) []*chrome.Tracks {
	if !f.mu.TryLock() {
		return nil
	}
	defer f.mu.Unlock()
	var out []*chrome.Tracks
	for _, t := range r.Traces {
		if have := f.have[t.File]; have != nil && have.tracks != nil {
			out = append(out, have.tracks)
		}
	}
	return out
}

// Problems says which traces of a report could not be read; while some are being read, of none.
func (f *Files) Problems(r *explain.Report) []string {
	if len(r.Traces) == 0 || !f.mu.TryLock() {
		return nil
	}
	defer f.mu.Unlock()
	var out []string
	for _, t := range r.Traces {
		if have := f.have[t.File]; have != nil && have.err != nil {
			out = append(out, t.File+": "+have.err.Error())
		}
	}
	return out
}
