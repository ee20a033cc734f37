package mcp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"tcdbg/explain"
	"tcdbg/logs"
	"tcdbg/logs/printable"
)

// This file is what the tools say of a report. A finding's id is a hash of its stable key, so that
// it is the same in the next run.

type findingsInput struct {
	Trace string `json:"trace,omitempty" jsonschema:"a run id, a path of a trace or bundle, or last (the default)"`
	Kind  string `json:"kind,omitempty" jsonschema:"only these: break, recompile or failure"`
	Limit int    `json:"limit,omitempty" jsonschema:"how many at most (20, at most 50)"`
}

// summary is the findings of a report.
type summary struct {
	Title    string         `json:"title"`
	Engine   string         `json:"engine"`
	Totals   explain.Totals `json:"totals"`
	Remarks  []string       `json:"remarks,omitempty" jsonschema:"what is wrong with the trace"`
	Findings []finding      `json:"findings"`
	LeftOut  int            `json:"left_out" jsonschema:"findings beyond the limit"`
}

// finding is one of them.
type finding struct {
	ID        string `json:"id"`
	Kind      string `json:"kind"`
	Code      string `json:"code,omitempty" jsonschema:"of PyTorch's registry of breaks, such as GB0170"`
	Text      string `json:"text"`
	Function  string `json:"function,omitempty"`
	File      string `json:"file,omitempty"`
	Line      int    `json:"line,omitempty"`
	Source    string `json:"source,omitempty" jsonschema:"the line"`
	Times     int    `json:"times"`
	Cost      string `json:"cost,omitempty"`
	Fix       string `json:"fix,omitempty"`
	Framework bool   `json:"framework,omitempty" jsonschema:"inside torch or the standard library"`

	at    logs.Pos
	stack []logs.Pos
	said  []string
	diff  []string
}

func (t *tools) findings(_ context.Context, _ *sdk.CallToolRequest, in findingsInput) (*sdk.CallToolResult, summary, error) {
	switch in.Kind {
	case "", kindBreak, kindRecompile, kindFailure:
	default:
		return nil, summary{}, fmt.Errorf("kind is %s, %s or %s", kindBreak, kindRecompile, kindFailure)
	}
	trace, err := t.open(in.Trace)
	if err != nil {
		return nil, summary{}, err
	}
	defer trace.Close()
	limit := in.Limit
	if limit <= 0 {
		limit = 20
	}
	return nil, summarize(trace.Report, in.Kind, min(limit, maxFindings)), nil
}

// The kinds of findings.
const (
	kindBreak     = "break"
	kindRecompile = "recompile"
	kindFailure   = "failure"
)

// summarize lists the findings of one kind, or of all.
func summarize(r *explain.Report, kind string, limit int) summary {
	s := summary{Title: brief(r.Title), Engine: brief(r.Engine), Totals: r.Totals, Findings: []finding{}}
	for i, w := range explain.Warnings(r) {
		if i < 10 {
			s.Remarks = append(s.Remarks, brief(w))
		}
	}
	for _, f := range allFindings(r) {
		switch {
		case kind != "" && f.Kind != kind:
		case len(s.Findings) == limit:
			s.LeftOut++
		default:
			s.Findings = append(s.Findings, f)
		}
	}
	return s
}

// allFindings lists failures, breaks of the program, recompiles, and breaks of the framework.
func allFindings(r *explain.Report) []finding {
	var out, noise []finding
	raised, _ := r.Raised()
	for _, f := range raised {
		out = append(out, newFinding(kindFailure, f.Function()+f.Type+f.Title(), 1, f.Place(), f.Fix, finding{
			Code: f.Code, Text: f.Title(), Function: f.Function(), stack: f.Stack, said: f.Details(),
		}))
	}
	for _, g := range r.Breaks {
		f := breakFinding(g)
		if f.Framework {
			noise = append(noise, f)
		} else {
			out = append(out, f)
		}
	}
	out = append(out, recompileFindings(r)...)
	return append(out, noise...)
}

func breakFinding(g *explain.BreakGroup) finding {
	b := g.Lead
	cost := explain.GroupOften(g)
	if len(g.Lost) > 0 {
		cost += ", " + g.LostWords()
	}
	if g.Graphs > 0 {
		cost += ", adds " + explain.Count(g.Graphs, "graph")
	}
	if g.Seconds > 0 {
		cost += ", " + explain.Duration(g.Seconds) + " to compile them"
	}
	f := newFinding(kindBreak, g.Key, g.Times(), b.Pos, g.Fix, finding{
		Code: b.Code, Text: b.Title(), Function: explain.FunctionOf(b.Pos, b.Compile), Cost: cost, Framework: b.Noise,
		stack: b.Stack, said: append([]string{b.Explanation}, b.Hints...),
	})
	if g.Rewrite != nil {
		for _, h := range g.Rewrite.Hunks {
			f.diff = append(append(f.diff, fmt.Sprintf("@@ line %d @@", h.Line)), h.Lines...)
		}
	}
	return f
}

// recompileFindings are the recompiles by cause.
func recompileFindings(r *explain.Report) []finding {
	var out []finding
	at := map[string]int{}
	for _, rc := range r.Recompiles {
		i, ok := at[rc.Key]
		if !ok {
			i = len(out)
			at[rc.Key] = i
			f := finding{Text: "recompiled, reason not recorded", Function: rc.Compile.Frame.Title(), stack: rc.Compile.Stack}
			pos := rc.Compile.Frame.Pos
			if len(rc.Failures) > 0 {
				f.Text = "recompiled: " + explain.FailureText(&rc.Failures[0])
				f.said = []string{"the guard that failed: " + rc.Failures[0].Text}
				if p := rc.Failures[0].Pos; p.File != "" {
					pos = p
				}
			}
			out = append(out, newFinding(kindRecompile, rc.Key, 0, pos, rc.Fix, f))
		}
		out[i].Times++
		if out[i].Fix == "" {
			out[i].Fix = brief(rc.Fix.Text)
		}
	}
	return out
}

// newFinding completes one.
func newFinding(kind, key string, times int, at logs.Pos, fix explain.Fix, f finding) finding {
	sum := sha256.Sum256([]byte(key))
	f.ID, f.Kind, f.Times, f.at = kind+"-"+hex.EncodeToString(sum[:5]), kind, times, at
	f.File, f.Line, f.Source = brief(at.File), at.Line, brief(explain.FirstLine(at.Code))
	f.Code, f.Text, f.Function, f.Cost, f.Fix = brief(f.Code), brief(f.Text), brief(f.Function), brief(f.Cost), brief(fix.Text)
	f.diff = fix.Lines
	return f
}

// brief is text of a trace on one line, cut.
func brief(s string) string { return printable.Clean(explain.ClipText(s, 400)) }

type sourceInput struct {
	Trace   string `json:"trace,omitempty" jsonschema:"a run id, a path of a trace or bundle, or last (the default)"`
	Finding string `json:"finding" jsonschema:"the id that findings gave"`
	Context int    `json:"context,omitempty" jsonschema:"lines before and after (8, at most 60)"`
}

func (t *tools) source(_ context.Context, _ *sdk.CallToolRequest, in sourceInput) (*sdk.CallToolResult, text, error) {
	trace, err := t.open(in.Trace)
	if err != nil {
		return nil, text{}, err
	}
	defer trace.Close()
	for _, f := range allFindings(trace.Report) {
		if f.ID == in.Finding {
			around := in.Context
			if around <= 0 {
				around = 8
			}
			return nil, text{Text: bounded(f.words(trace, min(around, maxContext)))}, nil
		}
	}
	return nil, text{}, fmt.Errorf("this trace has no finding %q: findings lists them", brief(in.Finding))
}

// words is all that is said of a finding.
func (f *finding) words(t *Trace, around int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s %s\n", f.Kind, f.Code, f.Text)
	if f.File != "" {
		fmt.Fprintf(&b, "at %s:%d in %s\n\n", f.File, f.Line, f.Function)
		b.WriteString(linesAround(t, f.at, around) + "\n")
	}
	if len(f.stack) > 0 {
		b.WriteString("called through:\n")
		stack := f.stack[max(0, len(f.stack)-20):]
		for _, p := range stack {
			fmt.Fprintf(&b, "  %s:%d in %s  %s\n", brief(p.File), p.Line, brief(p.Func), brief(explain.FirstLine(p.Code)))
		}
	}
	for _, s := range f.said {
		if s != "" {
			b.WriteString(brief(s) + "\n")
		}
	}
	if f.Cost != "" {
		b.WriteString("cost: " + f.Cost + "\n")
	}
	if f.Fix != "" {
		b.WriteString("fix: " + f.Fix + "\n")
	}
	for _, l := range f.diff {
		b.WriteString("  " + l + "\n")
	}
	return b.String()
}

// linesAround are numbered lines, of the file where it has the recorded line there, else the
// recorded line alone: a trace may be a stranger's, and name any file.
func linesAround(t *Trace, at logs.Pos, around int) string {
	lines, err := t.Source(at.File)
	if err != nil || !explain.TellsFile(at) || !explain.SameLine(lines, at) {
		return fmt.Sprintf("> %5d  %s\n(the file is not here as the trace has it)\n", at.Line, brief(explain.FirstLine(at.Code)))
	}
	var b strings.Builder
	last := min(len(lines), at.Line+around)
	for n := max(1, at.Line-around); n <= last; n++ {
		if left := min(explain.LeftOutFrom(lines, n), last-n+1); left > 0 {
			fmt.Fprintf(&b, "        (%s not in this bundle)\n", explain.Are(left, "line"))
			n += left - 1
			continue
		}
		mark := " "
		if n == at.Line {
			mark = ">"
		}
		l := lines[n-1]
		if len(l) > 300 {
			l = strings.ToValidUTF8(l[:300], "") + "..."
		}
		fmt.Fprintf(&b, "%s %5d  %s\n", mark, n, l)
	}
	return b.String()
}
