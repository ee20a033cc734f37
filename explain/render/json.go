package render

import (
	"io"
	"slices"
	"time"

	"tcdbg/explain"
	"tcdbg/explain/numerics"
	"tcdbg/logs"
)

// This file writes the report as JSON, as docs/report-json.md describes it. The
// names below are stable: fields are added, never renamed or removed; a new
// meaning raises "version".

// jsonVersion is the version of the layout.
const jsonVersion = 1

type jsonReport struct {
	Version    int              `json:"version"`
	Title      string           `json:"title"`
	Engine     string           `json:"engine"`
	Redacted   bool             `json:"redacted,omitempty"`
	Start      *time.Time       `json:"start,omitempty"`
	PeakMemory int64            `json:"peak_memory,omitempty"`
	Totals     explain.Totals   `json:"totals"`
	ByKind     map[string]int64 `json:"records_by_kind"`
	Damage     jsonDamage       `json:"damage"`
	Frames     []jsonFrame      `json:"frames"`
	Breaks     []jsonGroup      `json:"breaks"`
	Recompiles []jsonRecompile  `json:"recompiles"`
	Failures   []jsonFailure    `json:"failures"`
	Graphs     []jsonGraph      `json:"graphs"`
	Kernels    []jsonKernel     `json:"kernels"`
	Fusions    []jsonFusion     `json:"fusions"`
	NotFused   *jsonApart       `json:"not_fused"` // null: no decisions were recorded
	Autotuned  []jsonAutotuned  `json:"autotuned,omitempty"`
	Phases     []jsonPhase      `json:"phases"`
	Caches     []jsonCache      `json:"caches"`
	Symbols    []jsonSymbol     `json:"symbols"`
	Ranks      []jsonRank       `json:"ranks"`
	RankGroups []jsonRankGroup  `json:"rank_groups"` // of ranks that did the same, the largest first
	Stragglers []jsonStraggler  `json:"stragglers"`
	Divergence []string         `json:"divergence"` // where each rank first does otherwise than the usual one
	Advice     []jsonAdvice     `json:"advice"`
	Remarks    []jsonRemark     `json:"remarks"`
	Numerics   *numerics.Report `json:"numerics,omitempty"`
	Calls      jsonCalls        `json:"calls"`
	Profiles   []jsonProfile    `json:"profiles"`
}

type jsonAutotuned struct {
	jsonID
	*logs.Autotuning
}

type jsonDamage struct {
	BadJSON     int64    `json:"bad_json"`
	MD5Mismatch int64    `json:"md5_mismatch"`
	StrayLines  int64    `json:"stray_lines"`
	Oversized   int64    `json:"oversized"`
	Unlisted    int64    `json:"unlisted_guards,omitempty"`
	LeftOut     int64    `json:"left_out,omitempty"`
	Phases      int64    `json:"phases_left_out,omitempty"`
	Deep        int64    `json:"deep_phases_left_out,omitempty"`
	Instants    int64    `json:"instants_left_out,omitempty"`
	Sources     []string `json:"sources"` // what ended a source early
}

type jsonID struct {
	ID    string `json:"id"` // 0/1
	Epoch int    `json:"epoch"`
	Rank  *int   `json:"rank,omitempty"`
}

type jsonFrame struct {
	jsonID
	Name     string         `json:"name"`
	Pos      *logs.Pos      `json:"pos,omitempty"`
	Resumes  string         `json:"resumes,omitempty"` // function that it goes on with
	Status   explain.Status `json:"status"`
	Calls    *int64         `json:"calls"` // null: unknown
	EagerOps *int64         `json:"eager_ops"`
	Skipped  bool           `json:"skipped_for_good,omitempty"`
	Compiles []jsonCompile  `json:"compiles"`
}

type jsonCompile struct {
	jsonID
	Status      explain.Status   `json:"status"`
	Attempts    int              `json:"attempts"`
	Seconds     float64          `json:"seconds"`
	Ops         *int             `json:"ops"`
	Guards      *int             `json:"guards"`
	GuardMicros float64          `json:"guard_us,omitempty"`
	Cache       string           `json:"cache,omitempty"`
	Restarts    []string         `json:"restarts,omitempty"`
	ShapeGuards []jsonShapeGuard `json:"shape_guards,omitempty"`
	Served      *jsonServed      `json:"served,omitempty"` // nil: not measured
}

type jsonServed struct {
	Inside  jsonSpent `json:"inside"`
	Outside jsonSpent `json:"outside"`
}

type jsonSpent struct {
	Times     int64   `json:"times"`
	Seconds   float64 `json:"seconds"`
	Metered   int64   `json:"metered"`
	Allocated *int64  `json:"allocated"` // null: not counted
	Copied    *int64  `json:"copied"`
}

func servedJSON(s *explain.Served) *jsonServed {
	if s == nil {
		return nil
	}
	return &jsonServed{spentJSON(s.Inside), spentJSON(s.Outside)}
}

func spentJSON(s logs.Spent) jsonSpent {
	j := jsonSpent{Times: s.Times, Seconds: float64(s.Nanos) / 1e9, Metered: s.Metered}
	if s.Metered > 0 {
		j.Allocated, j.Copied = &s.Allocated, &s.Copied
	}
	return j
}

type jsonShapeGuard struct {
	Expr    string   `json:"expr"`
	Pos     logs.Pos `json:"pos"`
	Backend bool     `json:"backend,omitempty"`
}

type jsonGroup struct {
	Key         string       `json:"key"` // stable across runs
	Code        string       `json:"code"`
	Type        string       `json:"type"`
	Short       string       `json:"short"`
	Explanation string       `json:"explanation"`
	Hints       []string     `json:"hints"`
	Context     string       `json:"context,omitempty"`
	Fixability  string       `json:"fixability"`
	Outcome     string       `json:"outcome"`
	Noise       bool         `json:"noise"`
	Pos         logs.Pos     `json:"pos"`
	Value       []logs.Pos   `json:"value,omitempty"`
	Count       int          `json:"count"`
	Compiles    []jsonID     `json:"compiles"`
	Chains      [][]logs.Pos `json:"chains"`
	CausedBy    string       `json:"caused_by,omitempty"` // key
	Graphs      int          `json:"graphs_split"`
	Seconds     float64      `json:"seconds"`
	EagerOps    *int64       `json:"eager_ops"`        // null: unknown
	Memory      *jsonMemory  `json:"memory,omitempty"` // nil: not measured
	Lost        []string     `json:"lost_functions,omitempty"`
	Fix         *jsonFix     `json:"fix,omitempty"`
}

// jsonMemory is bytes of one steady call.
type jsonMemory struct {
	Results int64 `json:"results"`
	Copied  int64 `json:"copied"`
	Outside int64 `json:"outside"`
}

type jsonFix struct {
	Text    string   `json:"text"`
	Lines   []string `json:"lines,omitempty"`
	Settled bool     `json:"settled,omitempty"`
	Row     string   `json:"row,omitempty"`
	Untried bool     `json:"untried,omitempty"`
}

type jsonRecompile struct {
	jsonID
	Key      string             `json:"key"`
	Function string             `json:"function"`
	Pos      logs.Pos           `json:"pos"`
	Limit    bool               `json:"limit,omitempty"`
	Call     int64              `json:"call,omitempty"`
	Seconds  float64            `json:"seconds"`
	Failures []jsonGuardFailure `json:"failures"`
	Fix      *jsonFix           `json:"fix,omitempty"`
}

type jsonGuardFailure struct {
	Entry    string    `json:"entry"`
	Source   string    `json:"source"`
	Kind     string    `json:"kind"`
	Dim      *int      `json:"dim,omitempty"`
	Expected string    `json:"expected"`
	Actual   string    `json:"actual"` // "" where not recorded
	Text     string    `json:"text"`
	Pos      *logs.Pos `json:"pos,omitempty"`
}

type jsonFailure struct {
	jsonID
	Function string     `json:"function"`
	Type     string     `json:"type"`
	Code     string     `json:"code,omitempty"`
	Short    string     `json:"short"`
	Details  []string   `json:"details,omitempty"`
	Reason   string     `json:"reason"`
	Hints    []string   `json:"hints,omitempty"`
	Fix      *jsonFix   `json:"fix,omitempty"`
	Pos      logs.Pos   `json:"pos"`
	Stack    []logs.Pos `json:"stack,omitempty"`
}

type jsonGraph struct {
	jsonID
	Name   string     `json:"name"`
	Ops    []string   `json:"ops"`
	Inputs int        `json:"inputs"`
	Stages []string   `json:"stages"`
	Saved  *jsonSaved `json:"saved,omitempty"`
}

type jsonSaved struct {
	Values int     `json:"values"`
	Bytes  int64   `json:"bytes"`
	Read   int64   `json:"read"`
	Again  int     `json:"again"`
	Budget float64 `json:"budget"`
	Limit  *int64  `json:"limit,omitempty"`
	Over   bool    `json:"over,omitempty"`
}

func savedJSON(s *logs.SavedValues) *jsonSaved {
	if s == nil {
		return nil
	}
	j := &jsonSaved{Values: s.Values, Bytes: s.Bytes, Read: s.Read, Again: s.Again, Budget: s.Budget, Over: s.Over}
	if s.Budget < 1 {
		j.Limit = &s.Limit
	}
	return j
}

type jsonKernel struct {
	jsonID
	Name   string     `json:"name"`
	Lang   string     `json:"lang"`
	Reason string     `json:"reason,omitempty"`
	Ops    []string   `json:"ops"`
	Nodes  []string   `json:"nodes,omitempty"`
	Pos    []logs.Pos `json:"pos,omitempty"`
	From   int        `json:"from_line"`
	To     int        `json:"to_line"`
	Path   string     `json:"output_code,omitempty"`
	Calls  int64      `json:"calls,omitempty"`
	Timed  int64      `json:"timed_calls,omitempty"`
	Nanos  *int64     `json:"ns"` // null: unknown
	Bytes  *int64     `json:"bytes"`
	FLOPs  *int64     `json:"flops"`
}

type jsonPhase struct {
	Name    string  `json:"name"`
	Count   int     `json:"count"`
	Seconds float64 `json:"seconds"`
	Self    float64 `json:"self_seconds"`
}

type jsonCache struct {
	jsonID
	Cache  string `json:"cache"`
	Result string `json:"result"`
	Key    string `json:"key,omitempty"`
	Reason string `json:"reason,omitempty"`
}

type jsonSymbol struct {
	jsonID
	Name        string   `json:"name"`
	Source      string   `json:"source"`
	Hint        string   `json:"hint,omitempty"`
	Range       string   `json:"range,omitempty"`
	Specialized string   `json:"specialized,omitempty"`
	Reason      string   `json:"reason,omitempty"`
	Pos         logs.Pos `json:"pos"`
}

type jsonRank struct {
	Rank     int            `json:"rank"`
	Path     string         `json:"path"`
	Totals   explain.Totals `json:"totals"`
	Caches   string         `json:"caches,omitempty"`
	Diverged []string       `json:"diverged"`
}

type jsonRankGroup struct {
	Ranks   []int    `json:"ranks"`
	Usual   bool     `json:"usual"`
	Kind    string   `json:"parted_by,omitempty"`
	Parted  string   `json:"parted,omitempty"`
	Differs []string `json:"differs"`
}

type jsonStraggler struct {
	Rank    int             `json:"rank"`
	Seconds float64         `json:"seconds"`
	Usual   float64         `json:"usual_seconds"`
	Phases  []jsonSlowPhase `json:"phases"`
}

type jsonSlowPhase struct {
	Name    string  `json:"name"`
	Seconds float64 `json:"seconds"`
	Usual   float64 `json:"usual_seconds"`
}

type jsonAdvice struct {
	Text string   `json:"text"`
	Pos  logs.Pos `json:"pos"`
	Cost string   `json:"cost"`
	Fix  jsonFix  `json:"fix"`
}

type jsonRemark struct {
	jsonID
	Kind string `json:"kind"`
	Text string `json:"text"`
}

// WriteJSON writes the report as documented JSON.
func WriteJSON(w io.Writer, r *explain.Report) error {
	e := explain.JSONEncoder(w)
	e.SetIndent("", " ")
	return e.Encode(toJSON(r))
}

func toJSON(r *explain.Report) *jsonReport {
	j := &jsonReport{
		Version: jsonVersion, Title: r.Title, Engine: r.Engine, Redacted: r.Redacted, PeakMemory: r.State.Peak,
		Totals: r.Totals, ByKind: r.ByKind,
		Damage: jsonDamage{
			r.Stats.BadJSON, r.Stats.MD5Mismatch, r.Stats.Stray, r.Stats.Oversized, r.UnlistedGuards, r.LeftOut,
			r.PhasesLeftOut, r.DeepPhases, r.InstantsLeftOut,
			[]string{},
		},
	}
	for _, s := range r.Sources {
		if s.Err != nil {
			j.Damage.Sources = append(j.Damage.Sources, s.Path+": "+s.Err.Error())
		}
	}
	if !r.Start.IsZero() {
		start := r.Start.UTC()
		j.Start = &start
	}
	skipped := r.SkippedForGood()
	j.Frames = list(r.Frames, func(f *explain.Frame) jsonFrame {
		out := frameJSON(f)
		out.Skipped = slices.Contains(skipped, f)
		return out
	})
	j.Breaks = list(r.Breaks, groupJSON)
	j.Recompiles = list(r.Recompiles, recompileJSON)
	j.Failures = list(r.Failures, func(f *explain.Failure) jsonFailure {
		return jsonFailure{idJSON(f.ID), f.Frame, f.Type, f.Code, f.Title(), f.Details(), f.Reason, f.Hints, fixJSON(f.Fix), f.Pos, f.Stack}
	})
	j.Graphs = list(r.Graphs, func(g *explain.Graph) jsonGraph {
		var stages []string
		for _, s := range g.Stages {
			stages = append(stages, s.Name)
		}
		return jsonGraph{idJSON(g.ID), g.Name, orEmpty(g.Ops), g.Inputs, orEmpty(stages), savedJSON(g.Saved)}
	})
	j.Kernels = list(r.Kernels, kernelJSON)
	j.Fusions, j.NotFused = fusionJSON(r)
	j.Phases = list(r.PhaseSums, func(p explain.PhaseSum) jsonPhase { return jsonPhase(p) })
	j.Caches = list(r.Caches, func(c explain.CacheEvent) jsonCache { return jsonCache{idJSON(c.ID), c.Cache, c.Hit, c.Key, c.Reason} })
	j.Autotuned = list(r.Autotuned, func(a *explain.Autotuned) jsonAutotuned { return jsonAutotuned{idJSON(a.ID), a.Autotuning} })
	j.Symbols = list(r.Symbols, func(s *explain.Symbol) jsonSymbol {
		return jsonSymbol{idJSON(s.ID), s.Name, s.Source, s.Hint, s.Range, s.Specialized, s.Reason, s.Pos}
	})
	j.Ranks = list(r.Ranks, func(k *explain.Rank) jsonRank {
		return jsonRank{k.Rank, k.Path, k.Totals, k.Caches, orEmpty(k.Diverged)}
	})
	j.RankGroups = list(r.RankGroups, func(g *explain.RankGroup) jsonRankGroup {
		return jsonRankGroup{g.Ranks, g.Usual, string(g.Parted.Kind), g.Parted.Text, orEmpty(g.Differs)}
	})
	j.Stragglers = list(r.Stragglers, func(s explain.Straggler) jsonStraggler {
		return jsonStraggler{s.Rank, s.Seconds, s.Usual, list(s.Phases, func(p explain.SlowPhase) jsonSlowPhase {
			return jsonSlowPhase{p.Name, p.Seconds, p.Usual}
		})}
	})
	j.Divergence, j.Numerics = orEmpty(r.Divergence), r.Numerics
	j.Calls = callsJSON(&r.Calls)
	j.Advice = list(r.Advice, func(a explain.Advice) jsonAdvice { return jsonAdvice{a.Text, a.Pos, a.Cost, jsonFix(a.Fix)} })
	remarks := r.Side
	if r.Exports {
		remarks = append(
			remarks[:len(remarks):len(remarks)],
			explain.SideNote{ID: explain.ID{Rank: -1, CompileID: logs.NoCompile}, Kind: "torch.export", Text: explain.ExportUnrecorded},
		)
	}
	j.Remarks = list(remarks, func(s explain.SideNote) jsonRemark { return jsonRemark{idJSON(s.ID), s.Kind, s.Text} })
	j.Profiles = list(r.Profiles, profileJSON)
	return j
}

// list maps a slice and is never nil, so that JSON shows [] and not null.
func list[T, U any](in []T, f func(T) U) []U {
	out := make([]U, len(in))
	for i, x := range in {
		out[i] = f(x)
	}
	return out
}

func orEmpty(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}

func idJSON(id explain.ID) jsonID {
	j := jsonID{ID: id.CompileID.String(), Epoch: id.Epoch}
	if id.Rank >= 0 {
		rank := id.Rank
		j.Rank = &rank
	}
	return j
}

func known(n int64) *int64 {
	if n < 0 {
		return nil
	}
	return &n
}

func posJSON(p logs.Pos) *logs.Pos {
	if p.File == "" {
		return nil
	}
	return &p
}

func fixJSON(f explain.Fix) *jsonFix {
	if f.Text == "" {
		return nil
	}
	j := jsonFix(f)
	return &j
}

func frameJSON(f *explain.Frame) jsonFrame {
	j := jsonFrame{
		jsonID: idJSON(f.ID), Name: f.Name, Pos: posJSON(f.Pos), Status: f.Status, Calls: known(f.Calls),
		EagerOps: known(f.EagerOps),
	}
	if f.Parent != nil {
		j.Resumes = f.Parent.Name
	}
	j.Compiles = list(f.Compiles, func(c *explain.Compile) jsonCompile {
		jc := jsonCompile{
			jsonID: idJSON(c.ID), Status: c.Status, Attempts: c.Attempts, Seconds: c.Seconds, Cache: c.Cache,
			Restarts: c.Restarts, Served: servedJSON(c.Served),
		}
		if c.Ops >= 0 {
			ops := c.Ops
			jc.Ops = &ops
		}
		if c.Guards != nil {
			n := c.Guards.Leaves
			jc.Guards, jc.GuardMicros = &n, c.Guards.Micros
		}
		for _, g := range c.ShapeGuards {
			jc.ShapeGuards = append(jc.ShapeGuards, jsonShapeGuard{g.Expr, g.Pos, g.Backend})
		}
		return jc
	})
	return j
}

func groupJSON(g *explain.BreakGroup) jsonGroup {
	b := g.Lead
	j := jsonGroup{
		Key: g.Key, Code: b.Code, Type: b.Type, Short: b.Title(), Explanation: b.Explanation, Hints: orEmpty(b.Hints),
		Context: b.Context, Fixability: b.Fixability, Outcome: b.Outcome, Noise: b.Noise, Pos: b.Pos, Value: b.Value,
		Count: g.Times(), Chains: g.Chains, Graphs: g.Graphs, Seconds: g.Seconds, EagerOps: known(g.EagerOps), Lost: g.Lost,
		Fix: fixJSON(g.Fix),
	}
	if j.Chains == nil {
		j.Chains = [][]logs.Pos{}
	}
	if g.CausedBy != nil {
		j.CausedBy = g.CausedBy.Key
	}
	if m := g.Memory; m != nil {
		j.Memory = &jsonMemory{m.Results, m.Copied, m.Outside}
	}
	j.Compiles = list(g.Breaks, func(b *explain.Break) jsonID { return idJSON(b.Compile.ID) })
	return j
}

func recompileJSON(rc *explain.Recompile) jsonRecompile {
	fr := rc.Compile.Frame
	j := jsonRecompile{
		jsonID: idJSON(rc.Compile.ID), Key: rc.Key, Function: fr.Name, Pos: fr.Pos, Limit: rc.Compile.Status == explain.Limit,
		Call: rc.Call, Seconds: rc.Compile.Seconds, Fix: fixJSON(rc.Fix),
	}
	j.Failures = list(rc.Failures, func(g explain.GuardFailure) jsonGuardFailure {
		jg := jsonGuardFailure{
			Entry: g.Entry, Source: g.Source, Kind: g.Kind, Expected: g.Expected, Actual: g.Actual, Text: g.Text,
			Pos: posJSON(g.Pos),
		}
		if g.Dim >= 0 {
			dim := g.Dim
			jg.Dim = &dim
		}
		return jg
	})
	return j
}

func kernelJSON(k *explain.Kernel) jsonKernel {
	j := jsonKernel{
		jsonID: idJSON(k.ID), Name: k.Name, Lang: k.Lang, Reason: k.Reason, Ops: orEmpty(k.Ops), Nodes: k.Nodes, Pos: k.Pos,
		From: k.From, To: k.To, Calls: max(0, k.Calls), Timed: k.Timed, Nanos: known(k.Nanos), Bytes: known(k.Bytes), FLOPs: known(k.FLOPs),
	}
	if k.Output != nil {
		j.Path = k.Output.Path
	}
	return j
}
