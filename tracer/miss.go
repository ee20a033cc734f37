package tracer

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"tcdbg/logs"
	"tcdbg/torch"
	"tcdbg/torch/compiler"
	"tcdbg/tracer/guard"
	"tcdbg/tracer/host"
	"tcdbg/tracer/replay"
	"tcdbg/tracer/value"
)

// This file is what happens when no cache entry fits: the failed guards are reported, and
// what changed is dynamic in the next one.

// missWindow is how many entries, the newest, a miss looks at: with all of them, a
// function that is compiled thousands of times would take quadratic time and space.
const missWindow = 16

// newest are the entries that a miss looks at.
func newest(old []*replay.Entry) []*replay.Entry { return old[max(0, len(old)-missWindow):] }

// logMiss writes why no entry of a frame fits: every failing guard of each of the newest
// entries.
func (t *Tracer) logMiss(fc *frameCache, id logs.CompileID, fs []*host.Frame, old []*replay.Entry, l limit) (reasons []string) {
	miss := logs.GuardMiss{Call: fc.calls.Load(), Limit: l.hit, Older: len(old) - len(newest(old)), Setting: l.other, At: l.at}
	for _, entry := range slices.Backward(newest(old)) { // newest first, as PyTorch lists them
		fails := guard.Failures(entry.ID.Compile, entry.Guards, guard.NewAddresses(t.in, fs, entry.Sources))
		miss.Failures = append(miss.Failures, fails...)
		if len(fails) > 0 {
			reasons = append(reasons, fmt.Sprintf("%d/%d: %s", fc.id, entry.ID.Compile, fails[0].Message))
		}
	}
	body, _ := json.MarshalIndent(reasons, "", "")
	t.sink.Emit(logs.Out{
		Kind: "artifact", ID: id, Payload: body, Place: logs.Here(),
		Meta: map[string]string{"name": "recompile_reasons", "encoding": "json"},
	})
	t.sink.Emit(logs.Artifact(id, miss))
	if l.hit {
		r := &recorder{t: t, id: id, fc: fc, begun: time.Now(), graph: time.Now()}
		r.limitReached(reasons)
	}
	return reasons
}

// limitReached writes the metrics of a frame that is given up.
func (r *recorder) limitReached(reasons []string) {
	reason := "Dynamo recompile limit exceeded"
	if len(reasons) > 0 {
		reason += ": " + reasons[0]
	}
	r.t.sink.Emit(logs.Out{Kind: "compilation_metrics", ID: r.id, Place: logs.Here(), Meta: map[string]any{
		"compile_id": fmt.Sprintf("%d/%d", r.id.Frame, r.id.Compile), "co_name": r.fc.name, "co_filename": r.fc.at.File,
		"co_firstlineno": r.fc.at.Line,
		"fail_type":      "Unsupported", "fail_reason": reason, "guard_count": nil, "has_guarded_code": nil,
		"cache_size": r.id.Compile, "recompile_reason": strings.Join(reasons, "\n"), "log_format_version": 3,
		"start_time_us": r.begun.UnixMicro(), "end_time_us": time.Now().UnixMicro(),
	}})
}

// limit is whether a frame may have no more entries, and which limit says so.
type limit struct {
	hit   bool
	other string // the name of the setting, where it is not recompile_limit
	at    int
}

// limitOf holds a frame of n entries to the limits.
func (c *Compiled) limitOf(fc *frameCache, n int) limit {
	all := compiler.Config().AccumulatedRecompileLimit
	if n >= all || fc.total.Load() >= int64(all) {
		return limit{true, "accumulated_recompile_limit", all}
	}
	return limit{hit: n >= c.opts.limit, at: c.opts.limit}
}

func (l limit) String() string {
	if l.other != "" {
		return fmt.Sprintf("the accumulated recompile limit (%d)", l.at)
	}
	return fmt.Sprintf("the recompile limit (%d)", l.at)
}

// miss reports why no entry fits and decides whether another may be made.
func (c *Compiled) miss(th *host.Thread, fc *frameCache, frames []*host.Frame, id logs.CompileID) bool {
	old := fc.entries.List()
	lim := c.limitOf(fc, len(old))
	c.stopAtMiss(th, frames, id, old)
	reasons := c.t.logMiss(fc, id, frames, old, lim)
	config := compiler.Config()
	if config.ErrorOnRecompile && len(old) > 0 {
		panic(&torch.Error{Op: "torch.Compile", Kind: "RecompileError", Msg: recompiling(fc, reasons)})
	}
	c.learnDynamic(th, fc, frames, old)
	if !lim.hit {
		return true
	}
	fc.eager.Store(true)
	if config.FailOnRecompileLimitHit {
		panic(&torch.Error{
			Op: "torch.Compile", Kind: "FailOnRecompileLimitHit",
			Msg: fmt.Sprintf("%s hit %s: hard failure due to fail_on_recompile_limit_hit", fc.name, lim),
		})
	}
	if c.opts.fullgraph {
		panic(&torch.Error{Op: "torch.Compile", Msg: fmt.Sprintf("%s hit %s under fullgraph", fc.name, lim)})
	}
	return false
}

// recompiling is what PyTorch says of a recompile.
func recompiling(fc *frameCache, reasons []string) string {
	return fmt.Sprintf("Recompiling function %s in %s:%d\n    triggered by the following guard failure(s):\n    - %s",
		fc.name, fc.at.File, fc.at.Line, strings.Join(reasons, "\n    - "))
}

// learnDynamic records which sizes and numbers differ from those of the newest entries;
// they become symbolic in the next one (automatic dynamic shapes).
func (c *Compiled) learnDynamic(th *host.Thread, fc *frameCache, frames []*host.Frame, old []*replay.Entry) {
	if c.opts.dynamic == dynamicNever {
		return
	}
	unspec := compiler.Config().AllowUnspecIntOnNNModule
	for _, s := range newest(old) {
		a := guard.NewAddresses(th.In, frames, s.Sources)
		for _, was := range s.Seen {
			p := a.At(was.Src)
			if p == nil || *(**torch.Tensor)(p) == nil {
				continue
			}
			shape, _, _ := (*(**torch.Tensor)(p)).Layout()
			if len(shape) != len(was.Shape) {
				continue
			}
			for d, n := range shape {
				if n != was.Shape[d] {
					markDim(fc.dynamic, was.Src.Name, d)
				}
			}
		}
		for _, was := range s.Numbers {
			kind := value.KindOf(was.Src.Type)
			opens := s.Opens(was.Src) || unspec && kind.Class == value.SignedInt
			if p := a.At(was.Src); p != nil && opens && !kind.Load(p).Same(was.Val) {
				markDim(fc.dynamic, was.Src.Name, guard.AnyDim)
			}
		}
	}
}

func markDim(m map[string]map[int]bool, name string, d int) {
	if m[name] == nil {
		m[name] = map[int]bool{}
	}
	m[name][d] = true
}
