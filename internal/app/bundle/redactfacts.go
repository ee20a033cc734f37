package bundle

import (
	"bytes"
	"crypto/md5"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"tcdbg/explain"
	"tcdbg/explain/diagnose"
	"tcdbg/logs"
	"tcdbg/logs/fx"
)

// This file keeps what a report counts by of records whose payloads go: how many guards an entry
// has and which module of PyTorch's they are of, and where a trace of operators stopped. A
// record of ours stands in their place.

// factsOf are the facts of a payload; false where the record is none that a report counts by.
func factsOf(name string, payload []byte) (*logs.Redacted, bool) {
	text := string(payload)
	facts := &logs.Redacted{Of: name}
	switch name {
	case logs.GuardsRecord:
		facts.Guards, facts.Noise, facts.Micros = explain.ScanGuards(text)
		facts.Class, facts.Held = diagnose.WrappedClass(text), diagnose.HeldSizes(text)
	case logs.GoGuardsRecord:
		var v struct {
			Data struct{ Guards []json.RawMessage }
		}
		if json.Unmarshal(payload, &v) != nil {
			return nil, false
		}
		facts.Guards = len(v.Data.Guards)
	case logs.GraphRecord, logs.ExportRecord:
		g := fx.Parse(text)
		if g == nil {
			return nil, false
		}
		facts.Operators, facts.Inputs = g.Operators(), g.Placeholders()
		for _, n := range explain.NodesOf(g) {
			if n.Pos.Func != "" {
				facts.At = &logs.Pos{File: n.Pos.File, Line: n.Pos.Line, Func: n.Pos.Func}
				break
			}
		}
	case logs.PartialTraceRecord:
		last, at := explain.LastTraced(text)
		at.Code = ""
		if facts.Last = last; at.File != "" {
			facts.At = &at
		}
	default:
		return nil, false
	}
	return facts, true
}

// facts is a record of ours in the place of one of these, nil where it is none. The head of a graph's stays beside it: it
// has sizes.
func (r *record) facts(start []byte, of map[string]json.RawMessage) (text []byte, instead bool) {
	name := recordName(of)
	for _, kind := range []string{logs.GuardsRecord, logs.GraphRecord, logs.ExportRecord} {
		if of[kind] != nil {
			name = kind
		}
	}
	if name == logs.ExportRecord && of["frame_id"] != nil {
		return nil, false // a stage of a graph that is told already
	}
	if r.payload.Len() == 0 || r.cut {
		return nil, false
	}
	facts, ok := factsOf(name, bytes.TrimSuffix(r.payload.Bytes(), []byte("\n")))
	if !ok {
		return nil, false
	}
	kind, version := facts.ArtifactName()
	payload, err := json.Marshal(map[string]any{"v": version, "data": facts})
	if err != nil {
		return nil, false
	}
	sum := md5.Sum(payload)
	var head strings.Builder
	fmt.Fprintf(&head, `{"artifact": {"encoding":"json","name":"%s"}`, kind)
	for _, key := range contextKeys {
		if value, has := of[key]; has && !slices.Contains([]string{"has_payload", "stack"}, key) {
			fmt.Fprintf(&head, `, "%s": %s`, key, scrubJSON(value))
		}
	}
	return fmt.Appendf(nil, "%s%s, \"has_payload\": \"%s\"}\n\t%s\n", start, head.String(), hex.EncodeToString(sum[:]), payload),
		name != logs.GraphRecord && name != logs.ExportRecord
}
