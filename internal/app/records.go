package app

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"tcdbg/logs"
	"tcdbg/tui"
)

// This file lists a store's records for the Logs screen.

// storeRecords is a store as tui.Records.
type storeRecords struct{ store *logs.Store }

// Len implements tui.Records.
func (s storeRecords) Len() int { return s.store.Len() }

// At implements tui.Records: from the index, without reading the record.
func (s storeRecords) At(i int) tui.Record {
	e := s.store.Entry(i)
	when := s.store.Time(&e)
	r := tui.Record{Time: when.Format("15:04:05.000"), When: when, Kind: e.Key(), Rank: e.Rank, Bytes: e.Size}
	if e.HasID && e.ID.Frame >= 0 {
		r.ID = fmt.Sprintf("%d/%d", e.ID.Frame, e.ID.Compile)
		if e.ID.Attempt > 0 {
			r.ID += fmt.Sprintf("_%d", e.ID.Attempt)
		}
	}
	return r
}

// maxShown is how much of a payload the screen gets.
const maxShown = 4 << 20

// Payload implements tui.Records: metadata, then the payload; JSON indented.
func (s storeRecords) Payload(i int) string {
	r, err := s.store.Record(i)
	if err != nil {
		return err.Error()
	}
	var b bytes.Buffer
	if meta := r.Meta(); len(meta) > 2 {
		b.Write(indent(meta))
		b.WriteString("\n\n")
	}
	text := r.Payload()
	if len(text) > maxShown {
		fmt.Fprintf(&b, "(the first %d of %d bytes)\n", maxShown, len(text))
		text = text[:maxShown]
	}
	if len(text) > 0 && (text[0] == '{' || text[0] == '[') {
		text = indent(text)
	}
	b.Write(text)
	return b.String()
}

// indent formats JSON; what is none stays as it is.
func indent(text []byte) []byte {
	var b bytes.Buffer
	if json.Indent(&b, text, "", "  ") != nil {
		return text
	}
	return b.Bytes()
}

// maxHits bounds what a search keeps.
const maxHits = 1 << 20

// Search implements tui.Records.
func (s storeRecords) Search(ctx context.Context, query string, hit func(i int), progress func(done float64)) {
	last := -1
	err := logs.Search(ctx, s.store, logs.Query{Text: query, Fold: true, Limit: maxHits}, func(m logs.Match) {
		if m.Record != last {
			last = m.Record
			hit(m.Record)
		}
	}, func(done, total int64) { progress(float64(done) / float64(max(1, total))) })
	if err != nil && ctx.Err() == nil {
		progress(1) // what could be read was searched
	}
}
