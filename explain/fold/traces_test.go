package fold

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"tcdbg/explain"
	"tcdbg/explain/render"
	"tcdbg/internal/test/golden"
	"tcdbg/internal/test/traces"
)

func report(t testing.TB, paths ...string) *explain.Report {
	t.Helper()
	r, err := All(traces.Open(t, paths...), traces.Title(paths...))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestEveryTraceIsExplained: no record of a real trace is left unread, nothing
// is broken, and the text report is the one that was reviewed.
func TestEveryTraceIsExplained(t *testing.T) {
	for _, path := range traces.Files(t, "../testdata/traces") {
		t.Run(path, func(t *testing.T) {
			r := report(t, path)
			if n := r.Totals.UnexplainedRecords; n != 0 {
				t.Errorf("%d unexplained records: %v", n, r.ByKind)
			}
			if s := r.Stats; s.BadJSON+s.MD5Mismatch+s.Stray+s.Oversized != 0 {
				t.Errorf("damage in a sound file: %+v", s)
			}
			var text bytes.Buffer
			if err := render.WriteText(&text, r); err != nil {
				t.Fatal(err)
			}
			rel, err := filepath.Rel("../testdata/traces", strings.TrimSuffix(path, ".zst"))
			if err != nil {
				t.Fatal(err)
			}
			golden.Equal(t, filepath.Join("../testdata/reports", rel+".report"), text.Bytes())
		})
	}
}

// TestReportsAreDeterministic: the same trace gives the same bytes.
func TestReportsAreDeterministic(t *testing.T) {
	for _, path := range traces.Files(t, "../testdata/traces")[:8] {
		var a, b bytes.Buffer
		if err := render.WriteJSON(&a, report(t, path)); err != nil {
			t.Fatal(err)
		}
		if err := render.WriteJSON(&b, report(t, path)); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(a.Bytes(), b.Bytes()) {
			t.Errorf("%s: two runs differ:\n%s", path, golden.Diff(a.String(), b.String()))
		}
	}
}

// TestJSONIsStable: the documented layout of the JSON report.
func TestJSONIsStable(t *testing.T) {
	var b bytes.Buffer
	if err := render.WriteJSON(&b, report(t, "../testdata/traces/pytorch-2.15/loops.log.zst")); err != nil {
		t.Fatal(err)
	}
	golden.Equal(t, "../testdata/reports/pytorch-2.15/loops.json", b.Bytes())
	var top map[string]json.RawMessage
	if err := json.Unmarshal(b.Bytes(), &top); err != nil {
		t.Fatal(err)
	}
	var totals map[string]float64
	if err := json.Unmarshal(top["totals"], &totals); err != nil {
		t.Fatal(err)
	}
	for _, k := range []string{
		"records", "unexplained_records", "frames", "compiles", "graphs", "breaks", "distinct_breaks",
		"recompiles", "kernels", "failures", "restarts", "compile_seconds",
	} {
		if _, ok := totals[k]; !ok {
			t.Errorf("totals lack %q", k)
		}
	}
	var kinds map[string]int64
	if err := json.Unmarshal(top["records_by_kind"], &kinds); err != nil {
		t.Fatal(err)
	}
	if kinds["artifact:dynamo_graph_break_reason"] != 12 {
		t.Errorf("%d records of breaks, want the 12 that the file holds", kinds["artifact:dynamo_graph_break_reason"])
	}
}

// counts are figures taken by hand from a program and what it printed.
type counts struct {
	frames, breaks, distinct, recompiles, failures int
}

// handCounts: each figure is explained; none was copied from our output.
var handCounts = map[string]counts{
	// 20 functions. A function with a break that resumes makes two frames.
	//   pr 2, br 2 (the branch not taken is never compiled), item 2,
	//   nest: nest, inner, resume of inner, resume of nest = 4, asrt 1, tm 2,
	//   nz 2, loop 1, tr 1, io: io and one resume after open and one after
	//   read = 3, ctx 2, dis 2, tl 1 (fails in the resumed Python code),
	//   wn: wn, resumes after warnings.warn, in getLogger's comparison and
	//   after the logger = 4, sl 2, os 2, dp 1, err 1: 35. (gen is a
	//   generator and is never compiled.)
	// Breaks: pr, br, item, nest and inner meet the same graph_break = 2, tm,
	//   nz, loop, tr, io 2 (open, read), ctx, dis, tl, wn 3 (warn, a
	//   comparison, the logger), sl, os, dp = 20; one place less, since nest
	//   and inner share theirs: 19.
	// Failures: loop and tr lose their frame, dp and err fail.
	"pytorch-2.11/trace_00_gb_cpu.log": {35, 20, 19, 0, 4},

	// Frames: nested off: outer, mid, leaf, their three resumes, and the second
	//   call's resume = 7; nested on: outer and two resumes = 3; br: itself and
	//   the resumes after line 31, after the first and the second operand of
	//   the or in line 32 = 4; eogb 1; comp: comp, <listcomp>, resume = 3;
	//   fstr 1; storeattr 1 (nothing left after the last set); logwarn 2;
	//   side 2; dis 2; trywrap 1; withno 2; fg 1; empty 1; step 1; skip 1: 33.
	// Breaks: the print of leaf under 4 frames with nesting off, under 2 with
	//   it on; br 31, 32, 32; comp and <listcomp> the same print; fstr,
	//   storeattr, logwarn, side, dis, trywrap, withno, step, skip one each:
	//   6 + 3 + 2 + 9 = 20. eogb and fg raise: errors, no breaks.
	// Places: leaf 8; br 31 and 32; comp 45; the nine others: 13.
	// Failures: eogb and fg raise; <listcomp>, fstr, trywrap, step and skip
	//   lose their frames.
	"pytorch-2.15/nested_gb.log": {33, 20, 13, 0, 7},

	// Frames: fl 1; dl 3 (itself, and a resume of each kind after the test);
	//   calls, inner, resume of inner = 3, the same again with nesting = 3;
	//   noresume 2; tr 1; gen 1; gen under fullgraph 1; unb 1; guard_dd 2;
	//   guard_dd under fullgraph 1; nothing 1: 20.
	// Breaks: fl; dl 2; calls and inner, twice = 4; noresume; tr; gen, which
	//   meets the same break at its retry = 1; guard_dd: 11.
	// Places: lines 9, 13, 16, 24, 30, 37, 45 = 7.
	// Failures: fl, calls, calls, tr, gen lose their frames; gen and guard_dd
	//   under fullgraph raise.
	"pytorch-2.15/loops.log": {20, 11, 7, 0, 7},

	// Frames: forward; loss_fn and the resume after its branch; step; the
	//   optimizer's wrapper and the resume after it; Adam's step: 7.
	// Breaks: the branch, in both compiles of loss_fn; the optimizer's own
	//   graph_break, seen from step and from wrapper: 4 at 2 places.
	// Recompiles: the last batch is smaller, for forward and for loss_fn.
	"pytorch-2.15/train_small.log": {7, 4, 2, 2, 0},

	// Frames: f, g and h. g and h fail, since their code makes a size a constant
	// that is marked dynamic; g is tried again with another size, which replaces
	// nothing and is no recompile.
	"pytorch-2.15/mark_dynamic.log": {3, 0, 0, 0, 2},

	// f: an int, then a float, then the int as a size: 2 recompiles. g: texts of 8
	// lengths are 8 entries, 7 recompiles; under fullgraph the ninth is an error.
	"pytorch-2.15/limits.log": {2, 0, 0, 9, 1},

	// Frames: outer and its resume, inner and its resume, net, the layers' forward.
	// Breaks: the graph_break of inner, met from outer and in itself. The layers
	// differ in a number: 8 entries, then the limit.
	"pytorch-2.15/regional.log": {6, 2, 1, 7, 0},

	// The model that is compiled ahead of time, and an export that fails at a branch.
	"pytorch-2.15/export_aoti.log": {2, 0, 0, 0, 2},

	// Frames: forward and its resume, postprocess_detections (which loses its frame:
	// the break is within a loop), _topk_min, decode_single, clip_boxes_to_image and
	// batched_nms. The break is met from forward and within the function. The third
	// image has another size, and the compile that leaves it open fails.
	"pytorch-2.15/retinanet.log": {7, 2, 1, 1, 2},

	// Frames: f; unb and its resume; dyn; static; nz and its resume, and nz again after
	//   the reset, when its sizes may be open; r: 9.
	// Breaks: unb asks a size that is marked unbacked; nonzero.
	// Recompiles: f beyond 16; dyn, whose second dimension is marked; static for 3, 4 and
	//   5; r after a first call with 4: 6. dyn's fails: its code needs the size 8.
	"pytorch-2.15/marks.log": {9, 2, 2, 6, 1},

	// Frames: a, which may not break; b, helper and the resumes after helper, in b twice;
	//   deep and its resume with nesting; deep, mid, leaf and a resume of each without;
	//   full; the lambda: 1 + 5 + 2 + 6 + 1 + 1 = 16.
	// Breaks: the print, in b, in helper and in b's first resume; the branch in deep with
	//   nesting, and in deep, mid and leaf without: 3 + 4 at 2 places.
	// Recompiles: the lambda's, which is an error. Failures: that, a and full.
	"pytorch-2.15/strict.log": {16, 7, 2, 1, 3},

	// Frames: masked, topk_loop and early lose theirs = 3; pad, to_np, cached, choose, dd
	//   and asg go through = 6; out, with its resume, the logger's info, with its resume,
	//   and the data class's __init__ = 5; uniq, nanfix and tl with a resume each = 6;
	//   seeded with 3: 24.
	// Breaks: masked; topk_loop; early; out's logger and what that calls = 2; uniq;
	//   nanfix; seeded makes a generator, seeds it and draws with it = 3; tl selects and
	//   makes a list = 2: 12, each at its place.
	// Recompiles: pad for other lengths, cached for a second size, choose for the second
	//   mode, dd when b comes and when c does: 5.
	// Failures: the three that lose their frames.
	"pytorch-2.15/varied.log": {24, 12, 12, 5, 3},

	// One function, the wrapper of the model's forward. Each of three generations has a
	// call for the prompt and some for single tokens: 6 compiles.
	"pytorch-2.15/generate.log": {1, 0, 0, 5, 0},

	// Frames: flex_attention, and three functions that it calls, once it runs eagerly.
	// Breaks: backward on a CPU is refused, in flex_attention and in the function that
	//   refuses it; both are told at the program's line.
	// Recompiles: another length, another mask function, another number in it, a score
	//   function, gradients: 5. Failures: the two that are refused.
	"pytorch-2.15/flex.log": {4, 2, 1, 5, 2},

	// Frames: denoise, step, what follows the branch in step.
	// Breaks: the branch, met in 8 compiles of denoise and 3 of step: 11 at 1 place.
	// Recompiles: the counter and the step's number change with every call. denoise has 8
	//   entries, 7 recompiles; the limit refuses the next. step: an open number, an open
	//   size = 2. What follows it: an open size: 10.
	"pytorch-2.15/unet.log": {3, 11, 1, 10, 0},

	// Three functions; one calls an operator without a rule for shapes.
	"pytorch-2.15/custom_op.log": {3, 0, 0, 0, 1},

	// Frames: each of the 16 functions, of which clipped, scaled, shown, picked,
	//   logged, calls_third, listed, warned and opened go on after a break once and
	//   timed twice = 11; nested, with helper, which it calls, and a resume of each =
	//   3 more: 30. (guarded, within and looped lose their frame, numpy_out is whole,
	//   wrong fails.)
	// Breaks: one in each but numpy_out and wrong, and one more in timed (the second
	//   reading of the clock), in opened (the context manager after open) and for
	//   helper, which breaks on its own as well: 17, of which that of helper is the
	//   print that nested met: 16 places.
	// Failures: guarded, within and what is left of opened cannot go on; wrong.
	"pytorch-2.7/breaks.log": {30, 17, 16, 0, 4},

	// Frames: 12 functions, the forward of Net and by_grad: 14, the two functions
	//   that make returns sharing one code.
	// Recompiles: one in by_int and by_float, which leave their number open then, in
	//   by_shape, by_global, by_flag, by_dict, by_stride, inner and forward (whose
	//   number is open from the second step on) = 9; two in by_dtype, by_list,
	//   by_str and by_grad (requires_grad, autocast) = 8. by_none returns its
	//   argument, has nothing to compile and is never asked again: 17.
	"pytorch-2.7/recomp.log": {14, 0, 0, 17, 0},

	// Frames: f, mismatch, prints, the custom operator's, the limit's, raises, raises
	//   under fullgraph, Odd's lambda and forward with a resume each = 4, gen,
	//   inductor_fails: 13.
	// Breaks: the print of forward, met from the lambda and in forward itself; raises;
	//   the generator in sum: 4 at 3 places.
	// Recompiles: texts of 8 lengths are 8 entries.
	// Failures: the backend, the shapes, print under fullgraph, the operator without a
	//   shape rule, the limit, raises twice, the compiler.
	"pytorch-2.7/crash.log": {13, 4, 3, 7, 8},

	// The second run, with a backward pass from the cache, which this release traces:
	//   step, the resume after backward(), cast of typing, and the 10 parts of the
	//   wrapper's call, which has 9 calls that break.
	// Breaks: backward() and those 9, which are folded: nobody wrote those lines.
	"pytorch-2.7/warm_cache.log": {13, 10, 10, 0, 0},

	// The same program, ../breaks.py: the loop's lost frame is a failure of its own in this
	// release.
	"pytorch-2.14/breaks.log": {30, 17, 16, 0, 5},

	// One rank: forward, which breaks where it calls its sharded module, and its resume.
	"pytorch-2.15/fsdp.log": {2, 1, 1, 0, 0},

	// One rank of a model without a forward of its own: inner, helper and __init__ of
	//   contextlib, a resume of __init__, metric, reduced.
	// Breaks: DDP's logger in both compiles of inner, contextlib twice.
	// Recompiles: the third batch is smaller: inner and metric.
	"pytorch-2.15/ddp_sequential.log": {6, 4, 2, 2, 0},

	// One function, whose operator has no shape when the backend asks.
	"pytorch-2.15/failed_trace.log": {1, 0, 0, 0, 1},

	// Each rank: inner (the wrapper of the call), helper and __init__ of
	//   contextlib, a resume of __init__, forward = 5; rank 1 has the resume
	//   after its print too: 11.
	// Breaks: DDP's logger in both compiles of inner and contextlib twice = 4 a
	//   rank; the print of rank 1 in both compiles of forward: 10. Places:
	//   distributed.py, contextlib.py, line 11 = 3.
	// Recompiles: the third batch is smaller: inner and forward on each rank,
	//   the resume on rank 1: 5.
	"pytorch-2.15/ddp_train": {11, 10, 3, 5, 0},
}

func TestCountsByHand(t *testing.T) {
	for path, want := range handCounts {
		full := "../testdata/traces/" + path
		if strings.HasSuffix(path, ".log") {
			full += ".zst"
		}
		n := report(t, full).Totals
		if got := (counts{n.Frames, n.Breaks, n.DistinctBreaks, n.Recompiles, n.Failures}); got != want {
			t.Errorf("%s: frames, breaks, places, recompiles, failures are %v, want %v", path, got, want)
		}
	}
}

// TestTextLogsAgreeWithTraces: the text log of a run tells the same breaks and
// recompiles as its trace.
func TestTextLogsAgreeWithTraces(t *testing.T) {
	for _, name := range []string{"nested_gb", "loops", "train_small", "ddp_train"} {
		trace := "../testdata/traces/pytorch-2.15/" + name
		if name != "ddp_train" {
			trace += ".log.zst"
		}
		a := report(t, trace).Totals
		b := report(t, "../testdata/traces/pytorch-2.15/"+name+".txt.zst").Totals
		if a.Breaks != b.Breaks || a.DistinctBreaks != b.DistinctBreaks || a.Recompiles != b.Recompiles {
			t.Errorf("%s: trace %d breaks at %d places, %d recompiles; text %d at %d, %d", name,
				a.Breaks, a.DistinctBreaks, a.Recompiles, b.Breaks, b.DistinctBreaks, b.Recompiles)
		}
	}
}
