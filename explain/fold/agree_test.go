package fold

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tcdbg/explain"
	"tcdbg/explain/diagnose"
	"tcdbg/explain/render"
	"tcdbg/internal/test/traces"
	"tcdbg/logs"
	"tcdbg/logs/printable"
	"tcdbg/tracer/breaks"
)

// These tests hold together what is told more than once: a run by its trace and by
// its text log, a cause by every report.

// facts are what a report says of causes: breaks and recompiles with their advice.
// Ids and times are left out, which a text log does not have.
func facts(r *explain.Report) string {
	var out []string
	for _, g := range r.Breaks {
		b := g.Lead
		out = append(out, fmt.Sprintf("break %s %s at %s:%d %s in %d places, %s: fix %q", b.Code, b.Title(),
			filepath.Base(b.Pos.File), b.Pos.Line, b.Pos.Func, len(g.Breaks), b.Fixability, g.Fix.Text))
	}
	for _, rc := range r.Recompiles {
		for _, g := range rc.Failures {
			out = append(out, fmt.Sprintf("recompile of %s, entry %s: %s at line %d: fix %q", codeName(rc.Compile.Frame), g.Entry,
				explain.FailureText(&g), g.Pos.Line, rc.Fix.Text))
		}
	}
	for _, a := range r.Advice {
		if strings.HasSuffix(a.Text, ", which this line calls") { // a text log does not say which function was compiled
			continue
		}
		out = append(out, fmt.Sprintf("advice at %s:%d: %s: %q", filepath.Base(a.Pos.File), a.Pos.Line, a.Text, a.Fix.Text))
	}
	slices.Sort(out)
	return strings.Join(out, "\n")
}

// codeName is the name of the function that Dynamo compiled: a text log without guards
// does not tell which module a wrapper calls.
func codeName(fr *explain.Frame) string {
	if fr.Wraps != nil {
		return fr.Wraps.Func
	}
	return fr.Name
}

// partialSizes is what advice on a size says where it is not recorded which others changed
// with it, as in text logs.
const partialSizes = ", and the same for every other input that has this size"

// TestTextTellsWhatTheTraceTells: breaks, causes and advice are the same, whichever
// of the two a run has left.
func TestTextTellsWhatTheTraceTells(t *testing.T) {
	for _, name := range []string{"nested_gb", "loops", "train_small", "ddp_train"} {
		trace := "../testdata/traces/pytorch-2.15/" + name
		if name != "ddp_train" {
			trace += ".log.zst"
		}
		want := facts(report(t, trace))
		if got := facts(report(t, "../testdata/traces/pytorch-2.15/"+name+".txt.zst")); strings.ReplaceAll(got, partialSizes,
			"") != strings.ReplaceAll(want, partialSizes, "") {
			t.Errorf("%s: the text against the trace:\n%s", name, lineDiff(want, got))
		}
		if len(want) < 200 {
			t.Errorf("%s: only %d bytes were compared", name, len(want))
		}
	}
}

// programFact is a break or a recompile as the program has it: read off its lines and
// what it does, not off a report.
type programFact struct {
	code  string // of the kind of break, or the kind of guard
	line  int    // where it is; 0: recompiles of a function
	fn    string
	times int
	words string // of the title, or of what changed
	fix   string // what the advice must name; "" where there is none to give
}

// programFacts are those of the programs beside the traces. How often a break is met
// is counted below, at handCounts.
var programFacts = map[string][]programFact{
	"nested_gb": {
		{"GB0059", 8, "leaf", 6, "print call", "Print outside"},
		{"GB0170", 31, "br", 1, "branch on a tensor", "torch.where"},
		{"GB0170", 32, "br", 2, "branch on a tensor", "repairs them, choose with torch.where"}, // nan_to_num
		{"GB0059", 45, "<listcomp>", 2, "print call", "Print outside"},
		{"GB7000", 45, "<listcomp>", 1, "inside a loop", "leave the loop outside"},
		{"GB0088", 52, "fstr", 1, "exception", "run it without torch.compile"}, // len of an f-string: no error when run
		{"GB0059", 57, "__setattr__", 1, "print call", "Print outside"},
		{"GB0291", 66, "logwarn", 1, "logging", "Log outside"},
		{"GB0025", 73, "side", 1, "explicit graph break", "Remove the call of graph_break"},
		{"GB0098", 80, "dis", 1, "disabled function", "Leave the call of third outside"},
		{"GB0059", 86, "trywrap", 1, "print call", "Print outside"},
		{"GB0059", 95, "withno", 1, "print call", "Print outside"},
		{"GB0275", 106, "step", 1, "step_unsupported", "step_unsupported"},
		{"GB4297", 111, "skip", 1, "skip of the frame", "Remove the call of torch._dynamo.skip_frame()"},
	},
	"loops": {
		{"GB0025", 9, "fl", 1, "explicit graph break", "Remove the call of graph_break"},
		{"GB7000", 9, "fl", 1, "inside a loop", "leave the loop outside"},
		{"GB0170", 13, "dl", 2, "branch on a tensor", "compile its body"}, // a while loop has no two sides
		{"GB0059", 16, "inner", 4, "print call", "Print outside"},
		{"GB7000", 16, "inner", 3, "inside a loop", "leave the loop outside"},
		{"GB8977", 24, "noresume", 1, "class defined", ""},
		{"GB0025", 30, "tr", 1, "explicit graph break", "Remove the call of graph_break"},
		{"GB0025", 37, "gen", 1, "explicit graph break", "Remove the call of graph_break"},
		{"GB0170", 45, "guard_dd", 1, "branch on a number", "has no value while tracing"},
	},
	"marks": {
		{"GB0170", 13, "unb", 1, "branch on a number", "compare the tensor"},
		{"GB0036", 30, "nz", 1, "data-dependent output shape", "work on all of them with a mask"},
		{breaks.ShapeRelation, 0, "f", 1, "2 <= x.size()[0] <= 16", "an entry for each side"},
		{breaks.MarkingChanged, 0, "dyn", 1, "mark_dynamic, expected {0}, actual {1}", "mark the same ones"},
		{breaks.SizeChanged, 0, "static", 3, "x dim 0", "as with dynamic=False"},
		{breaks.ShapeRelation, 0, "r", 1, "(x.size()[0] // 4), expected 1", "one entry more is normal"}, // 4 is one row
	},
	"transforms": {
		{"GB0059", 22, "noisy", 2, "print call", "Print outside"},
		{"GB0149", 21, "noisy", 1, "functorch", "torch.func"}, // called by grad, which runs eagerly
		{"GB0170", 36, "one", 2, "branch on a tensor", "torch.where"},
		{"GB0149", 35, "one", 1, "functorch", "torch.func"},
		{"GB0264", 108, "__init__", 1, "Parameter", "the call that leads there"}, // of torch/nn
		{breaks.SizeChanged, 0, "per_sample", 1, "xs dim 0, expected 3, actual 5", "mark_dynamic(xs, 0)"},
	},
	"operators": {
		{"GB0059", 49, "forward", 2, "print call", "Print outside"},
		{"GB0059", 100, "part", 1, "print call", "Print outside"},
		{"GB0036", 877, "__call__", 1, "data-dependent output shape", "the call that leads there"}, // a custom operator's, within torch
		{breaks.TypeChanged, 0, "forward", 1, "self, expected __main__.Deep", "several classes"},
	},
	"strict": {
		{"GB0059", 6, "helper", 3, "print call", "Print outside"},
		{"GB0170", 41, "leaf", 4, "branch on a tensor", "torch.where"},
		{breaks.SizeChanged, 0, "<lambda>", 1, "x dim 0, expected 2, actual 3", "mark_dynamic(x, 0)"},
	},
	"varied": {
		{"GB0124", 18, "masked", 1, "read as a number", "mask what is beyond it"},      // the bound of a slice
		{"GB0170", 27, "topk_loop", 1, "branch on a tensor", "leave the loop outside"}, // in a loop
		{"GB7000", 27, "topk_loop", 1, "inside a loop", "leave the loop outside"},
		{"GB0291", 47, "out", 1, "logging", "Log outside"},
		{"GB0291", 1488, "info", 1, "logging", "the call that leads there"}, // of the standard library
		{"GB0036", 63, "uniq", 1, "data-dependent output shape", "capture_dynamic_output_shape_ops"},
		{"GB0170", 68, "nanfix", 1, "branch on a tensor", "repairs them, choose with torch.where"},
		{"GB0170", 88, "early", 1, "branch on a tensor", "leave the loop outside"},
		{"GB7000", 88, "early", 1, "inside a loop", "leave the loop outside"},
		{"GB0363", 103, "seeded", 1, "opaque object", "draw such numbers outside"},
		{"GB7650", 103, "seeded", 1, "torch.Generator method", "draw such numbers outside"},
		{"GB0055", 104, "seeded", 1, "put in a graph", "draw such numbers outside"},
		{"GB0036", 109, "tl", 1, "data-dependent output shape", "torch.where"},
		{"GB0109", 109, "tl", 1, "read out as a list", "Leave out .tolist()"},
		{breaks.SizeChanged, 0, "pad", 1, "xs[0] dim 0, expected 2, actual 3", "mark_dynamic(xs[0], 0)"},
		{breaks.SizeChanged, 0, "cached", 1, "x dim 0, expected 3, actual 4", "mark_dynamic(x, 0)"},
		{breaks.ValueChanged, 0, "choose", 1, "mode, expected 'a'", "an entry for each value of mode"},
		{breaks.NoneChanged, 0, "dd", 1, "d['b'], expected None", "two entries"},
		{breaks.DictKeyChanged, 0, "dd", 1, "keys of a map changed: d", "set of keys"},
	},
	"generate": {
		// the first token after a prompt
		{breaks.LengthChanged, 0, "wrapper", 1, "kwargs, expected 6", "comes with attention_mask"},
		// longer prompts, larger caches, two prompts
		{breaks.SizeChanged, 0, "wrapper", 4, "kwargs['input_ids'] dim 1, expected 5, actual 9", "maybe_mark_dynamic(input_ids, 1)"},
	},
	"flex": {
		{"GB0088", 35, "<module>", 2, "exception", "run it without torch.compile"},
		{breaks.SizeChanged, 0, "flex_attention", 1, "query dim 2, expected 128, actual 256", "mark_dynamic(query, 2)"},
		{breaks.IdentityChanged, 0, "flex_attention", 1, "block_mask.mask_mod.__code__", "make each once"},
		{breaks.ClosureChanged, 0, "flex_attention", 1, "n, expected 16", ""},
		{breaks.NoneChanged, 0, "flex_attention", 1, "score_mod", "two entries"},
		{breaks.GlobalStateChanged, 0, "flex_attention", 1, "grad_mode", "leaves no entry"},
	},
	"unet": {
		{"GB0170", 59, "step", 11, "branch on a tensor", "torch.where"},
		{breaks.ValueChanged, 0, "denoise", 1, "t, expected 999", "t is an input from this compile on"},
		{breaks.AttributeChanged, 0, "denoise", 6, "net.calls", "the compiled function"},
		{breaks.SizeChanged, 0, "denoise", 1, "x dim 2, expected 16, actual 32", "mark_dynamic(x, 2)"},
		{breaks.ValueChanged, 0, "step", 1, "t, expected 999", "t is an input from this compile on"},
		// denoise, which calls it, runs eagerly
		{breaks.SizeChanged, 0, "step", 1, "x dim 2", "from this compile on it is open"},
		// no caller knows x0
		{breaks.SizeChanged, 0, "torch_dynamo_resume_in_step_at_59", 1, "x0 dim 2", "follows from the graph break at unet.py:59"},
	},
	"train_small": {
		{"GB0170", 15, "loss_fn", 2, "branch on a tensor", "torch.where"},
		{"GB0025", 78, "_use_grad", 2, "explicit graph break", "the call that leads there"}, // of torch/optim
		{breaks.SizeChanged, 0, "forward", 1, "x dim 0, expected 16, actual 9", "mark_dynamic(x, 0)"},
		{breaks.SizeChanged, 0, "loss_fn", 1, "o dim 0, expected 16, actual 9", "mark_dynamic(o, 0)"},
	},
	"ddp_train": {
		{"GB0059", 11, "forward", 2, "print call", "Print outside"},
		{"GB0007", 105, "__init__", 4, "skipped function", "the call that leads there"},        // of contextlib
		{"GB0156", 1779, "_pre_forward", 4, "unsupported method", "the call that leads there"}, // of torch/nn/parallel
		{breaks.SizeChanged, 0, "forward", 2, "x dim 0, expected 8, actual 6", "mark_dynamic(x, 0)"},
		{breaks.SizeChanged, 0, "inner", 2, "args[0] dim 0, expected 8, actual 6", ""}, // nothing of DDP's own wrapper is compiled
		{
			breaks.SizeChanged, 0, "torch_dynamo_resume_in_forward_at_11", 1, "h dim 0, expected 8, actual 6",
			"follows from the graph break at ddp_train.py:11",
		},
	},
}

// TestReportsTellWhatTheProgramDoes: trace and text name every break and recompile of
// the program, no other ones, and for each an advice that fits its line.
func TestReportsTellWhatTheProgramDoes(t *testing.T) {
	for name, want := range programFacts {
		trace := "../testdata/traces/pytorch-2.15/" + name
		if name != "ddp_train" {
			trace += ".log.zst"
		}
		paths := []string{trace}
		if text := "../testdata/traces/pytorch-2.15/" + name + ".txt.zst"; exists(text) {
			paths = append(paths, text)
		}
		for _, path := range paths {
			told := toldFacts(report(t, path))
			for _, w := range want {
				key := fmt.Sprintf("%s:%d %s", w.code, w.line, w.fn)
				got, ok := told[key]
				switch delete(told, key); {
				case !ok:
					t.Errorf("%s: %s is not told", path, key)
				case got.times != w.times || !strings.Contains(got.words, w.words) || !strings.Contains(got.fix, w.fix) ||
					w.fix == "" && got.fix != "":
					t.Errorf("%s: %s: %+v, want %+v", path, key, got, w)
				}
			}
			for key := range told {
				t.Errorf("%s: the program has no %s", path, key)
			}
		}
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// toldFacts are a report's breaks and recompiles, by kind, line and function.
func toldFacts(r *explain.Report) map[string]*programFact {
	out := map[string]*programFact{}
	for _, g := range r.Breaks {
		b := g.Lead
		out[fmt.Sprintf("%s:%d %s", b.Code, b.Pos.Line, b.Pos.Func)] = &programFact{times: len(g.Breaks), words: b.Title(), fix: g.Fix.Text}
	}
	for _, rc := range r.Recompiles {
		f := &rc.Failures[0]
		key := fmt.Sprintf("%s:0 %s", f.Kind, codeName(rc.Compile.Frame))
		if out[key] == nil {
			out[key] = &programFact{words: explain.FailureText(f), fix: rc.Fix.Text}
		}
		out[key].times++
	}
	return out
}

// TestAdviceOnLocals: a local that the line of a break sets is no argument; what was
// empty is no flag.
func TestAdviceOnLocals(t *testing.T) {
	parent := &explain.Frame{Name: "f", Pos: logs.Pos{File: "/w/a.py", Line: 8}}
	parent.Compiles = []*explain.Compile{{
		Frame:  parent,
		Breaks: []*explain.Break{{Code: breaks.TimeFunction, Pos: logs.Pos{File: "/w/a.py", Line: 9, Code: "start  = time.time()"}}},
	}}
	resume := &explain.Frame{Name: "torch_dynamo_resume_in_f_at_9", Parent: parent, Pos: parent.Pos}
	parent.Resumes = []*explain.Frame{resume}
	for reason, want := range map[string]string{
		"0/0: L['start'] == 38724.1": "start is set by the call that breaks the graph at a.py:9",
		"0/0: not L['history']":      "history was false or empty",
	} {
		rc := &explain.Recompile{Compile: &explain.Compile{Frame: resume}, Failures: []explain.GuardFailure{explain.ParseReason(reason)}}
		if got := diagnose.FixRecompile(rc, "PyTorch 2.15.0").Text; !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q", reason, got)
		}
	}
	if resume.Title() != "f from line 9 on" {
		t.Error(resume.Title())
	}
}

// TestDrawnNumbers: a number that Python draws is told by the value's name, wherever
// the condition is.
func TestDrawnNumbers(t *testing.T) {
	b := &explain.Break{Code: breaks.DataDependentBranching, Value: []logs.Pos{{Func: "random_value_0: graph input (random_value_0)"}}}
	b.Pos.Code = "if chance < 0.1:"
	if got := diagnose.FixBreak(b, "PyTorch 2.15.0").Text; !strings.HasPrefix(got, "Draw the random number") {
		t.Error(got)
	}
	b.Value = []logs.Pos{{Func: "rand = rand(())"}, {Func: "lt = lt(rand, 0.1)"}}
	if got := diagnose.FixBreak(b, "PyTorch 2.15.0").Text; !strings.HasPrefix(got, "Draw the random number") {
		t.Errorf("of torch: %q", got)
	}
	b.Value = append(b.Value[:1:1], logs.Pos{Func: "exp = exp(energy)"}, logs.Pos{Func: "lt = lt(rand, exp)"})
	if got := diagnose.FixBreak(b, "PyTorch 2.15.0").Text; !strings.HasPrefix(got, "Compute both sides") {
		t.Errorf("a number that decides with a computed one: %q", got)
	}
}

// TestAdviceOnTheLine: what the line shows goes before what the code of a break says.
func TestAdviceOnTheLine(t *testing.T) {
	for _, c := range []struct{ code, line, raw, want string }{
		{breaks.DataDependentBranching, "while x.sum() < 10: x = x + 1", "", "Leave the loop outside"},
		{breaks.DataDependentBranching, "if x.sum() < 10: x = x + 1", "", "Compute both sides"},
		{breaks.DataDependentBranching, "if random.random() < 0.1:", "", "Draw the random number outside"},
		{breaks.DataDependentBranching, "if np.random.random() < x.sum():", "", "Compute both sides"},
		{breaks.DataDependentBranching, "if y is not None and torch.rand(()) < p:", "", "Draw the random number outside"},
		{breaks.DataDependentBranching, "if x.sum() > 0: x = torch.rand(3)", "", "Compute both sides"},
		{breaks.DataDependentBranching, "if h.isnan().any():", "", "Check the values outside"},
		{
			"GB0155", `s = f"{y.sum()}"`, "Encountered graph break when converting / formatting an f-string value",
			"Format the string outside",
		},
	} {
		b := &explain.Break{Code: c.code, Raw: c.raw}
		b.Pos.Code = c.line
		if got := diagnose.FixBreak(b, "PyTorch 2.15.0").Text; !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %q", c.line, got)
		}
		if got := diagnose.FixBreak(b, "tcdbg 0.1").Text; strings.HasPrefix(got, "Leave") || strings.HasPrefix(got, "Draw") ||
			strings.HasPrefix(got, "Check") || strings.HasPrefix(got, "Format") {
			t.Errorf("%s, in Go: %q", c.line, got)
		}
	}
}

// lineDiff lists the lines that only one of two sorted texts has.
func lineDiff(want, got string) string {
	a, b := strings.Split(want, "\n"), strings.Split(got, "\n")
	var out []string
	for _, l := range a {
		if !slices.Contains(b, l) {
			out = append(out, "- "+l)
		}
	}
	for _, l := range b {
		if !slices.Contains(a, l) {
			out = append(out, "+ "+l)
		}
	}
	return strings.Join(out, "\n")
}

// TestOneCauseHasOneName: text, HTML and JSON use the words that the report has for
// a cause, of breaks, recompiles and failures alike, and the same advice.
func TestOneCauseHasOneName(t *testing.T) {
	told := 0
	for _, path := range traces.Files(t, "../testdata/traces") {
		r := report(t, path)
		var text, page, data bytes.Buffer
		for _, err := range []error{render.WriteText(&text, r), render.WriteHTML(&page, r), render.WriteJSON(&data, r)} {
			if err != nil {
				t.Fatal(err)
			}
		}
		if !json.Valid(data.Bytes()) {
			t.Fatalf("%s: no JSON", path)
		}
		forms := map[string]string{
			"HTML": explain.Squeeze(html.UnescapeString(strings.ReplaceAll(page.String(), "<wbr>", ""))),
			"JSON": explain.Squeeze(unquoted(data.String())),
		}
		check := func(what string) {
			told++
			for form, all := range forms {
				if !strings.Contains(all, explain.Squeeze(printable.Clean(what))) && !strings.Contains(all, explain.Squeeze(what)) {
					t.Errorf("%s: %s lacks %q", path, form, what)
				}
			}
		}
		for _, g := range r.Breaks {
			check(g.Lead.Title())
			check(g.Fix.Text)
		}
		for _, rc := range r.Recompiles {
			check(rc.Fix.Text)
		}
		for _, f := range r.Failures {
			check(f.Title())
			check(f.Fix.Text)
		}
		forms = map[string]string{"text": explain.Squeeze(text.String())}
		for i, g := range r.Breaks {
			if i < render.Rows && !g.Lead.Noise && (g.CausedBy == nil || g.CausedBy.Lead.Noise) {
				check(g.Lead.Title())
			}
		}
		for i, same := range explain.AlikeAdvice(r.Advice) {
			if i < 5 {
				check(r.Advice[same.Lead].Text)
			}
		}
		for i, f := range r.Failures {
			if i < render.Rows {
				check(explain.ClipText(f.Title(), 100))
			}
		}
	}
	if told < 500 {
		t.Errorf("only %d texts were compared", told)
	}
}

// unquoted undoes the escapes of JSON strings that words may hold.
func unquoted(s string) string {
	return strings.NewReplacer(`\"`, `"`, `\\`, `\`, `\n`, "\n", `\t`, "\t").Replace(s)
}

// TestTextLogsOfGoPrograms: a text log does not name its engine; the program's
// files do, and the advice is in their language.
func TestTextLogsOfGoPrograms(t *testing.T) {
	for file, want := range map[string]string{
		"/w/model.go": "compiler.MarkDynamic(x, 0)",
		"/w/model.py": "torch._dynamo.maybe_mark_dynamic(x, 0)",
	} {
		r := foldText(t, "Recompiling function step in "+file+
			":40\n    triggered by the following guard failure(s):\n    - 0/0: tensor 'x' size mismatch at index 0. expected 4, actual 8\n")
		if len(r.Recompiles) != 1 || r.Recompiles[0].Complete || !strings.Contains(r.Recompiles[0].Fix.Text, want) {
			t.Errorf("%s, of %s: %+v", file, r.Engine, r.Recompiles)
		}
	}
}

// TestNegatedGuards: a condition that was false is read whole.
func TestNegatedGuards(t *testing.T) {
	for reason, want := range map[string][2]string{
		"not ((L['c'].Steps + 1) > 3)": {"(L['c'].Steps + 1)", "not > 3"},
		"not (L['k'] == 3)":            {"L['k']", "not 3"},
		"not (a > 1) and (b > 2)":      {"not (a > 1) and (b", "> 2)"},
	} {
		if g := explain.ParseReason("0/0: " + reason); g.Source != want[0] || g.Expected != want[1] {
			t.Errorf("%s: %q, %q", reason, g.Source, g.Expected)
		}
	}
	if s := diagnose.FixValue("c.Steps", &explain.GuardFailure{
		Expected: "not > 3",
		Pos:      logs.Pos{Code: "	if c.Steps > 3 {"},
	}).Text; !strings.Contains(s, "whether c.Steps > 3:") {
		t.Error(s)
	}
}
