package tui

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"tcdbg/explain"
	"tcdbg/logs"
	"tcdbg/tui/keys"
)

// These tests are about what must be in view without a key, and where.

// manyFrames adds functions to a report, as a large model has them.
func manyFrames(r *explain.Report, n int) {
	for i := range n {
		addFrame(r, 100+i, fmt.Sprintf("Block%d.Forward", i), at(18, fmt.Sprintf("Block%d.Forward", i), "x"), []string{"add"})
	}
}

// What to do first is in view at every size, however many functions there are; so is
// what failed.
func TestFirstAdviceInView(t *testing.T) {
	for _, size := range []string{"60x15", "80x24", "120x40", "160x50"} {
		f := richFeed()
		manyFrames(f.report, 42)
		f.report.Failures = []*explain.Failure{{ID: cid(1, 1), Type: "TorchRuntimeError", Reason: "failed", Seq: 3}}
		d := newDriver(t, f, Options{}, 80, 24)
		d.script("size " + size + "\nexpect FAILED\nexpect FIRST\nexpect 1 ✂\nexpect fix: b = torch.Where")
	}
	f := richFeed()
	long := strings.Repeat("one line of the program after the other ", 12)
	for i := range 9 {
		f.report.Failures = append(f.report.Failures,
			&explain.Failure{
				ID: cid(1, i), Type: "TorchRuntimeError", Reason: fmt.Sprint("failed ", i),
				Fix: explain.Fix{Text: long}, Seq: 3,
			})
	}
	for _, size := range []string{"80x24", "120x40", "160x50"} {
		d := newDriver(t, f, Options{}, 80, 24)
		d.script("size " + size + "\nexpect failed 0\nexpect FIRST\nexpect 1 ✂\nkeys G\nexpect failed 8")
	}
	for _, fl := range f.report.Failures {
		fl.Eager = true // told by the advice on their breaks, which comes first
	}
	d := newDriver(t, f, Options{}, 80, 24)
	d.script("expect ▸ 1 ✂\nexpect 9 left their functions to run eagerly")
	if text := d.plain(); strings.Index(text, "FIRST") > strings.Index(text, "FAILED") {
		t.Errorf("the advice comes after a pointer to it:\n%s", text)
	}
	f = richFeed()
	for i := range 5 {
		f.report.Advice = append(f.report.Advice, explain.Advice{Text: fmt.Sprintf("advice %d", i), Pos: f.report.Advice[0].Pos})
	}
	newDriver(t, f, Options{}, 160, 50).script(`
		expect and 4 more after the functions
		expect MORE ADVICE
		expect 7 · model.go:52
	`)
}

// The first entry of the advice and its fix are in view at every size, whatever failed
// and however long what is said of it is; where nothing failed and where everything did.
func TestFirstAdviceInViewWhateverFailed(t *testing.T) {
	long := strings.Repeat("one line of the program after the other ", 30)
	for _, failures := range []int{0, 1, 3, 40} {
		for _, frames := range []int{0, 1, 3, 40} {
			f := richFeed()
			manyFrames(f.report, frames)
			for i := range failures {
				f.report.Failures = append(f.report.Failures, &explain.Failure{
					ID: cid(1, i), Type: "TorchRuntimeError", Reason: fmt.Sprintf("failed %d:\n\n%s\n%s", i, long, long),
					Fix: explain.Fix{Text: long}, Seq: 3,
				})
			}
			d := newDriver(t, f, Options{}, 80, 24)
			for _, w := range []int{40, 60, 80, 99, 100, 120, 160, 200} {
				for _, h := range []int{10, 11, 13, 15, 17, 18, 20, 24, 40, 60} {
					d.script(fmt.Sprintf("size %dx%d\nexpect FIRST\nexpect 1 ✂\nexpect fix: b =", w, h))
					if failures > 0 {
						d.script("expect TorchRuntimeError")
					}
					if t.Failed() {
						t.Fatalf("%d failures, %d functions, %dx%d", failures, frames, w, h)
					}
				}
			}
		}
	}
}

// A text that is cut for want of room says so, and is whole where there is room again.
func TestFailureTextGivesWay(t *testing.T) {
	f := richFeed()
	f.report.Failures = []*explain.Failure{{
		ID: cid(1, 1), Type: "TorchRuntimeError", Reason: "failed",
		Fix: explain.Fix{Text: "the first words of it, " + strings.Repeat("then others, ", 12) + "then the_last_one"}, Seq: 3,
	}}
	d := newDriver(t, f, Options{}, 80, 24)
	d.script("size 60x13\nexpect the first words\nexpect  …\nrefute the_last_one\nexpect 1 ✂")
	d.script("size 60x30\nexpect the_last_one\nexpect 1 ✂\nsize 60x13\nrefute the_last_one")
}

// While nobody moved the cursor a list shows its first row, which is the costliest
// break: rows that come before it do not push it out of view.
func TestCostliestBreakFirst(t *testing.T) {
	f := richFeed()
	all := f.report.Breaks
	one := *f.report
	one.Breaks = all[1:2]
	f.report = &one
	d := newDriver(t, f, Options{}, 100, 30)
	d.script("expect FIRST")
	for n := range 40 {
		next := *f.report
		g := *all[0]
		lead := *all[0].Lead
		lead.Pos.Line = 100 - n
		g.Lead, g.Key, g.Causes = &lead, fmt.Sprint("group ", n), nil
		next.Breaks = append([]*explain.BreakGroup{&g}, next.Breaks...)
		f.report = &next
		d.script("poll")
	}
	d.script("keys 3\nexpect ▸ ✂ model.go:61  \nkeys j\nexpect ▸ ✂ model.go:62  \nkeys 1")
	next := *f.report
	next.Breaks = append([]*explain.BreakGroup{all[0]}, next.Breaks...)
	f.report = &next
	d.script("poll\nkeys 3\nexpect ▸ ✂ model.go:62  ")
}

// The number of the row is under the list, that of the line under the detail.
func TestPositionsBesideWhatTheyCount(t *testing.T) {
	f := richFeed()
	for i := range 60 {
		k := *f.report.Kernels[1]
		k.Name = fmt.Sprintf("fused_more_%d", i)
		text := strings.Repeat("x = y;\n", 500)
		k.Load = func() string { return text }
		f.report.Kernels = append(f.report.Kernels, &k)
	}
	line := func(d *driver, y int) string { return strings.Split(d.plain(), "\n")[y] }
	d := newDriver(t, f, Options{}, 80, 24)
	d.script("keys 8 j j j j")
	fr := d.m.arrange()
	if !fr.Stacked || !strings.Contains(line(d, fr.Divider.Y), "row 5 of 63") || !strings.Contains(line(d, fr.Bottom.Y), " of 501") {
		t.Errorf("stacked:\n%s", d.plain())
	}
	d.script("size 160x50")
	fr = d.m.arrange()
	bottom := []rune(line(d, fr.Bottom.Y))
	if !strings.Contains(string(bottom[:fr.List.W]), "row 5 of 63") || !strings.Contains(string(bottom[fr.Detail.X:]), " of 501") {
		t.Errorf("side by side:\n%s", d.plain())
	}
	newDriver(t, f, Options{}, 60, 15).script("keys 8 j\nexpect ▸\nkeys enter")
}

// A terminal of 160 by 50 has room for whole ids, numbers of guards and titles.
func TestRoomIsUsed(t *testing.T) {
	f := richFeed()
	id := explain.ID{Rank: 12, Epoch: 3, CompileID: logs.CompileID{Frame: 117, Compile: 10, Attempt: 2}}
	for _, fr := range f.report.Frames {
		for _, c := range fr.Compiles {
			c.ID = id
			if c.Guards != nil {
				c.Guards.Leaves, c.Guards.Micros = 1234, 12.5
			}
			if c.Graph != nil {
				c.Graph.ID = id
			}
		}
	}
	for _, k := range f.report.Kernels {
		k.ID = id
	}
	for _, p := range f.report.Phases {
		p.ID = id
	}
	d := newDriver(t, f, Options{}, 160, 50)
	for _, s := range []keys.Screen{keys.Recompiles, keys.Guards, keys.Graph, keys.Kernels, keys.Timeline} {
		d.script("keys " + title(s).Key + "\nexpect [117/10_2 e3 r12]")
	}
	d.script("keys 5\nexpect 1234 guards  12.50 us")
	d.script("keys :")
	for _, b := range New(richFeed(), Options{}).sc.keys.Rows {
		if b.On(keys.Guards) && b.Action > keys.Right && b.Action < keys.OpenScreen {
			d.script("type " + b.Title)
			if row := "▸ " + b.Title + " "; !strings.Contains(d.plain(), row) {
				t.Errorf("no row begins with %q:\n%s", row, d.plain())
			}
			d.script("keys esc\nkeys :")
		}
	}
}

// The titles of the palette are whole at 80 cells, too, and apart from their keys.
func TestPaletteTitlesAreWhole(t *testing.T) {
	for s := range len(screens()) {
		d := newDriver(t, richFeed(), Options{}, 80, 24)
		d.script("keys " + title(keys.Screen(s)).Key + "\nkeys :")
		for _, b := range d.m.sc.keys.Rows {
			if b.On(keys.Screen(s)) && b.Action > keys.Right && b.Action < keys.OpenScreen {
				d.script("type " + b.Title)
				if row := "▸ " + b.Title + " "; !strings.Contains(d.plain(), row) {
					t.Errorf("no row begins with %q:\n%s", row, d.plain())
				}
				d.script("keys esc\nkeys :")
			}
		}
	}
}

// Watching is seen on every screen, and so is what changed when a run has ended.
func TestWatchingIsSeen(t *testing.T) {
	for _, size := range []string{"80x24", "160x50"} {
		f := richFeed()
		d := newDriver(t, f, Options{}, 80, 24)
		d.script("size " + size + "\nrefute ◉ watching\nkeys w\npoll")
		for s := range len(screens()) {
			d.script("keys " + title(keys.Screen(s)).Key + "\nexpect ◉ watching")
		}
		f.run.Changes = "3 kernels changed"
		d.script("keys 8\npoll\nexpect since the previous run: 3 kernels changed")
	}
}

// A compile that is long in one phase says so in the header, and the Overview says
// which function it is.
func TestLongCompileIsNamed(t *testing.T) {
	f := richFeed()
	t0 := time.UnixMilli(1_800_000_000_000)
	id := cid(1, 0)
	f.report.Phases = append(f.report.Phases,
		&explain.Phase{Name: "inductor", ID: id, Start: t0, Open: true},
		&explain.Phase{Name: "cc", ID: id, Start: t0.Add(time.Second), Open: true, Depth: 1})
	for _, size := range []string{"80x24", "160x50"} {
		d := newDriver(t, f, Options{}, 80, 24)
		d.m.sc.now = func() time.Time { return t0.Add(900 * time.Millisecond) }
		d.script("size " + size + "\nrefute C compiler")
		d.m.sc.now = func() time.Time { return t0.Add(5 * time.Second) }
		d.script("poll\nexpect C compiler 4.00 s\nexpect Decoder.Forward [1/0] is in the C compiler, for 4.00 s so far\nkeys " +
			"8\nexpect C compiler 4.00 s")
		f.run.Live = false
		d.script("poll\nrefute C compiler 4.00 s")
		f.run.Live = true
	}
}

// The lines of a kernel have the numbers that the line above the panes gives them.
func TestKernelLineNumbersAgree(t *testing.T) {
	d := newDriver(t, richFeed(), Options{}, 120, 40)
	d.script("keys 8 j enter j\nexpect line 14 ↔ layer_norm\nexpect ▸14")
	for _, l := range strings.Split(d.plain(), "\n") {
		if strings.Contains(l, "store(out + i") && !strings.Contains(l, "14") {
			t.Errorf("line 14 is numbered otherwise: %q", l)
		}
	}
}

// A Triton kernel of PyTorch opens at the kernel, not at the imports of its file.
func TestTritonOpensAtTheKernel(t *testing.T) {
	f := richFeed()
	head := strings.Repeat("import triton_heuristics\n", 60)
	f.report.Kernels[1].Lang = "triton"
	f.report.Kernels[1].Lines = nil
	f.report.Kernels[1].Load = func() string { return head + "@triton.jit\ndef triton_poi_fused_0(in_ptr0):\n    pass\n" }
	newDriver(t, f, Options{}, 120, 40).script("keys 8 j\nexpect def triton_poi_fused_0")
}

// What never ran says so.
func TestKernelNotRun(t *testing.T) {
	d := newDriver(t, richFeed(), Options{}, 160, 50)
	d.script("keys 8\nexpect CALLS")
	for _, l := range strings.Split(d.plain(), "\n") {
		if strings.Contains(l, "fused_mul_add_gelu_0") && !strings.Contains(l, "not run      0") {
			t.Errorf("%q", l)
		}
	}
}
