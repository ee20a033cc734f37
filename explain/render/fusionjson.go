package render

import (
	"tcdbg/explain"
	"tcdbg/explain/fusion"
	"tcdbg/logs"
)

// This file is the part of the JSON report on fusion: the decisions, and what stayed apart by the bytes that it costs.

// The bounds of what the JSON report lists of the pairs that stayed apart; the decisions themselves are all there.
const (
	mostApart   = 1000 // pairs of a run
	mostShared  = 8    // buffers of a pair
	mostOfLines = 8    // lines of the program of a node
)

type jsonFusion struct {
	jsonID
	Graph   string           `json:"graph,omitempty"`
	Before  int              `json:"before"`
	After   int              `json:"after"`
	Saved   *int64           `json:"saved_bytes"` // null: of none it is known
	Unknown int              `json:"saved_unknown,omitempty"`
	Reasons []jsonReason     `json:"reasons"`
	Steps   []jsonFusionStep `json:"steps"`
}

// jsonReason is all refusals of one reason in a graph.
type jsonReason struct {
	Reason string `json:"reason"`
	Means  string `json:"means,omitempty"`
	Times  int    `json:"times"`
	Pairs  int    `json:"pairs"`
	Bytes  *int64 `json:"bytes"`
}

type jsonFusionStep struct {
	Round  int    `json:"round"`
	A      string `json:"a"`
	B      string `json:"b"`
	Fused  bool   `json:"fused"`
	Kind   string `json:"kind,omitempty"`
	Reason string `json:"reason,omitempty"`
	Why    string `json:"why,omitempty"`
	Score  int64  `json:"score,omitempty"`
	Result string `json:"result,omitempty"`
	// Together: refused, and yet the kernels run together.
	Together bool `json:"together,omitempty"`
	// Once: one of them runs only when parameters change.
	Once bool `json:"once,omitempty"`
}

// jsonApart is what stayed apart in all graphs.
type jsonApart struct {
	Pairs   int        `json:"pairs"`
	Unknown int        `json:"unknown"`
	List    []jsonPair `json:"list"`
}

type jsonPair struct {
	jsonID
	Graph    string       `json:"graph,omitempty"`
	A        jsonApartOf  `json:"a"`
	B        jsonApartOf  `json:"b"`
	Reason   string       `json:"reason"`
	Means    string       `json:"means,omitempty"`
	Refusals int          `json:"refusals"`
	Bytes    *int64       `json:"bytes"`
	Shared   []jsonShared `json:"shared,omitempty"`
}

type jsonApartOf struct {
	Node string     `json:"node"`
	Ops  string     `json:"ops,omitempty"`
	Pos  []logs.Pos `json:"pos,omitempty"`
}

type jsonShared struct {
	Buffer string   `json:"buffer"`
	Bytes  *int64   `json:"bytes"`
	A      []string `json:"a"`
	B      []string `json:"b"`
}

// fusionJSON are the decisions by graph, and the pairs that stayed apart, the costliest first.
func fusionJSON(r *explain.Report) ([]jsonFusion, *jsonApart) {
	views := fusion.OfAll(r)
	byGraph := list(views, func(v *fusion.View) jsonFusion {
		f := v.Fusion
		j := jsonFusion{jsonID: idJSON(f.ID), Graph: f.Graph, Before: f.Before, After: f.After, Unknown: v.Unknown}
		if v.Unknown < v.Fused {
			j.Saved = &v.Saved
		}
		j.Reasons = list(v.Reasons, func(x fusion.Reason) jsonReason {
			return jsonReason{x.Words, x.Means, x.Times, x.Pairs, known(x.Bytes)}
		})
		j.Steps = list(f.Steps, stepJSON)
		return j
	})
	if len(views) == 0 {
		return byGraph, nil
	}
	pairs := fusion.Apart(views)
	out := &jsonApart{Pairs: len(pairs)}
	for _, p := range pairs {
		if p.Loss().Bytes < 0 {
			out.Unknown++
		}
	}
	lines := nodeLines{r: r}
	out.List = list(pairs[:min(len(pairs), mostApart)], func(p fusion.Pair) jsonPair { return pairJSON(p, &lines) })
	return byGraph, out
}

func pairJSON(p fusion.Pair, lines *nodeLines) jsonPair {
	f, l := p.View.Fusion, p.Loss()
	of := func(node string) jsonApartOf {
		j := jsonApartOf{Node: node, Pos: lines.of(f, node)}
		j.Pos = j.Pos[:min(len(j.Pos), mostOfLines)]
		if ops := f.Label(node); ops != node {
			j.Ops = ops
		}
		return j
	}
	j := jsonPair{
		jsonID: idJSON(f.ID), Graph: f.Graph, A: of(l.A), B: of(l.B), Reason: l.Reason, Means: fusion.Means(l.Reason),
		Refusals: len(l.Steps), Bytes: known(l.Bytes),
	}
	shared, _ := p.View.Shared(l.Step())
	for i := range shared[:min(len(shared), mostShared)] {
		s := &shared[i]
		j.Shared = append(j.Shared, jsonShared{s.Buffer, known(s.Bytes), orEmpty(s.A), orEmpty(s.B)})
	}
	return j
}

func stepJSON(s logs.FusionStep) jsonFusionStep {
	return jsonFusionStep{s.Round, s.A, s.B, s.Fused, s.Kind, s.Reason, s.Why, s.Score, s.Result, s.Together, s.Once}
}

// nodeLines are the lines of the program by graph and node, read when they are first asked for.
type nodeLines struct {
	r    *explain.Report
	read map[*explain.Fusion]fusion.Lines
}

func (n *nodeLines) of(f *explain.Fusion, node string) []logs.Pos {
	lines, ok := n.read[f]
	if !ok {
		if n.read == nil {
			n.read = map[*explain.Fusion]fusion.Lines{}
		}
		lines = fusion.LinesOf(n.r, f)
		n.read[f] = lines
	}
	return lines.Of(node)
}
