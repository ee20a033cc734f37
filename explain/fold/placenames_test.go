package fold

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"tcdbg/explain"
	"tcdbg/explain/diagnose"
	"tcdbg/explain/gate"
	"tcdbg/explain/render"
	"tcdbg/logs"
)

// TestBriefNames: a file is told by its last element, and by as many folders
// more as tell it apart from the report's other files.
func TestBriefNames(t *testing.T) {
	for _, c := range []struct{ files, want string }{
		{"/home/ann/m/net.py /home/ann/m/loss.py", "net.py loss.py"},
		{"/a/x/net.py /b/x/net.py /b/y/net.py", "a/x/net.py b/x/net.py y/net.py"},
		{"/net.py /x/net.py", "/net.py x/net.py"},
		{"/x/net.py /a/x/net.py", "/x/net.py a/x/net.py"},
		{"x/net.py y/net.py", "x/net.py y/net.py"},
		{"x/net.py y/x/net.py", "x/net.py y/x/net.py"},
		{"ann/x/net.py /home/ann/x/net.py", "net.py net.py"}, // one file, as guards and as stacks print it
		{"/1/a/b/c/d/e/f/g/h/net.py /2/a/b/c/d/e/f/g/h/net.py", "/1/a/b/c/d/e/f/g/h/net.py /2/a/b/c/d/e/f/g/h/net.py"},
		{"<string> <eval_with_key>.3", "<string> <eval_with_key>.3"},
	} {
		files := strings.Fields(c.files)
		for range 2 { // whatever comes first
			var got []string
			n := explain.BriefNames(reportOf(files))
			for _, f := range strings.Fields(c.files) {
				got = append(got, n.File(f))
			}
			if s := strings.Join(got, " "); s != c.want {
				t.Errorf("%v: %s, want %s", files, s, c.want)
			}
			slices.Reverse(files)
		}
	}
}

// reportOf is a report with a frame in each file.
func reportOf(files []string) *explain.Report {
	r := &explain.Report{}
	for _, f := range files {
		r.Frames = append(r.Frames, &explain.Frame{
			ID: explain.ID{Rank: -1}, Name: "forward",
			Pos: logs.Pos{File: f, Line: 7, Func: "forward"}, Status: explain.Compiled,
		})
	}
	return r
}

// TestEveryReportNamesFilesAlike: a comparison, a check, a Chrome trace and the ranks tell
// files apart as the text does.
func TestEveryReportNamesFilesAlike(t *testing.T) {
	r := reportOf([]string{"/home/ann/one/net.py", "/home/ann/two/net.py"})
	r.Frames[1].Pos.Line = 9
	r.Ranks = []*explain.Rank{{Rank: 0}, {Rank: 1}}
	for i, fr := range r.Frames {
		c := &explain.Compile{Frame: fr, Status: explain.Compiled, Start: time.Unix(int64(i+1), 0)}
		fr.ID.Rank, fr.Compiles = i, []*explain.Compile{c}
		c.ID = fr.ID
		b := &explain.Break{Code: "GB0025", Pos: fr.Pos, Compile: c}
		c.Breaks = []*explain.Break{b}
		r.Breaks = append(r.Breaks, &explain.BreakGroup{Key: fr.Pos.File, Lead: b, Breaks: c.Breaks})
		r.Totals.Breaks++
	}
	same := &explain.Frame{ID: explain.ID{Rank: 1}, Name: r.Frames[0].Name, Pos: r.Frames[0].Pos} // but without the break
	same.Compiles = []*explain.Compile{{ID: same.ID, Frame: same, Status: explain.Compiled, Start: time.Unix(5, 0)}}
	r.Frames = append(r.Frames, same)
	diagnose.CompareRanks(r)
	l := gate.NoLimits
	l.MaxBreaks = 0
	var diff, check, chrome bytes.Buffer
	if err := errors.Join(render.WriteDiffText(&diff, gate.Diff(&explain.Report{}, r)),
		gate.WriteViolations(&check, gate.Check(r, l, nil)), render.WriteChrome(&chrome, r)); err != nil {
		t.Fatal(err)
	}
	var ranks []string
	for _, rk := range r.Ranks {
		ranks = append(ranks, rk.Diverged...)
	}
	if want := "breaks here alone: GB0025 explicit graph break at one/net.py:7"; !strings.Contains(strings.Join(ranks, "\n"), want) {
		t.Errorf("ranks lack %q: %q", want, ranks)
	}
	for name, text := range map[string]string{
		"diff": diff.String(), "check": check.String(), "chrome": chrome.String(),
		"ranks": strings.Join(ranks, "\n"),
	} {
		for _, want := range []string{"one/net.py:7", "two/net.py:9"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s lacks %s:\n%s", name, want, text)
			}
		}
	}
}

// TestRanksOfTwoMachines: a program that lies elsewhere on another rank's machine is the
// same program.
func TestRanksOfTwoMachines(t *testing.T) {
	r := reportOf([]string{"/home/ann/net.py", "/home/bob/net.py"})
	r.Ranks = []*explain.Rank{{Rank: 0}, {Rank: 1}}
	for i, fr := range r.Frames {
		c := &explain.Compile{Frame: fr, Status: explain.Compiled, Start: time.Unix(int64(i+1), 0)}
		c.Breaks = []*explain.Break{{Code: "GB0025", Pos: fr.Pos, Compile: c}}
		fr.ID.Rank, fr.Compiles = i, []*explain.Compile{c}
	}
	diagnose.CompareRanks(r)
	for _, rk := range r.Ranks {
		if len(rk.Diverged) > 0 {
			t.Errorf("rank %d: %q", rk.Rank, rk.Diverged)
		}
	}
}

// TestReportsTellFilesApart: text and HTML name alike what is alike, and apart
// what is not; a name that leaves no room for its folders goes without them.
func TestReportsTellFilesApart(t *testing.T) {
	r := reportOf([]string{"/home/ann/one/net.py", "/home/ann/two/net.py", "/home/ann/two/loss.py"})
	r.Frames[1].Name = strings.Repeat("long", 8)
	for name, write := range map[string]func(*bytes.Buffer) error{
		"text": func(b *bytes.Buffer) error { return render.WriteText(b, r) },
		"HTML": func(b *bytes.Buffer) error { return render.WriteHTML(b, r) },
	} {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"one/net.py:7", "loss.py:7"} {
			if !strings.Contains(b.String(), want) {
				t.Errorf("%s lacks %s", name, want)
			}
		}
		for _, wrong := range []string{"two/loss.py", "ann/one"} {
			if strings.Contains(b.String(), wrong) {
				t.Errorf("%s has %s", name, wrong)
			}
		}
		if long := r.Frames[1].Name; name == "text" && !strings.Contains(b.String(), long+" net.py:7") {
			t.Errorf("the place of a long name is cut:\n%s", b.String())
		}
	}
}
