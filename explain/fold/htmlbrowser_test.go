package fold

import (
	"context"
	"html"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"tcdbg/explain"
	"tcdbg/logs"
)

// This file opens the HTML report in a browser without a window and looks at what its script has made of it.

// browser is a Chromium; the test is skipped where there is none.
func browser(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("no Chromium is installed: the HTML report's script is not tried")
	return ""
}

// opened is the page as a browser has it after its scripts ran, at an address with a query and a hash.
func opened(t *testing.T, page, query, hash string) string {
	t.Helper()
	path := browser(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "report.html")
	if err := os.WriteFile(file, []byte(page), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	address := url.URL{Scheme: "file", Path: file, RawQuery: query, Fragment: hash}
	c := exec.CommandContext(
		ctx, path, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--user-data-dir="+filepath.Join(dir, "profile"),
		"--virtual-time-budget=4000", "--dump-dom", address.String(),
	)
	c.Env = append(os.Environ(), "HOME="+dir)
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return string(out)
}

// tagOf is the opening tag of the element with an id.
func tagOf(t *testing.T, page, id string) string {
	t.Helper()
	tag := regexp.MustCompile(`<[a-z]+ [^<>]*id="` + regexp.QuoteMeta(id) + `"[^<>]*>`).FindString(page)
	if tag == "" {
		t.Fatalf("no element %s", id)
	}
	return tag
}

func idLike(t *testing.T, page, pattern string) string {
	t.Helper()
	m := regexp.MustCompile(`id="(` + pattern + `)"`).FindStringSubmatch(page)
	if m == nil {
		t.Fatalf("no id like %s", pattern)
	}
	return m[1]
}

// TestHashOpensItsTarget: the address of a break, of a graph's stage in closed sections, of guards opens them and unpacks
// the text; one that is not there is said to be so.
func TestHashOpensItsTarget(t *testing.T) {
	page := htmlOf(t, report(t, "../testdata/traces/pytorch-2.11/trace_00_gb_cpu.log.zst"))
	if id := idLike(t, page, `break-GB[^"]*`); !strings.Contains(tagOf(t, opened(t, page, "", id), id), " open") {
		t.Error("the break's row is closed")
	}
	id := idLike(t, page, `graph-[^"]*-post-grad`)
	got := opened(t, page, "", id)
	if !strings.Contains(tagOf(t, got, id), " open") {
		t.Error("the stage is closed")
	}
	_, graphs, _ := strings.Cut(got, `<section id="graphs"`)
	if !strings.HasPrefix(graphs[strings.Index(graphs, "<details"):], `<details class="section" open`) {
		t.Error("the section of graphs is closed")
	}
	_, stage, _ := strings.Cut(got, `id="`+id+`"`)
	if !strings.Contains(stage[:min(len(stage), 2000)], "torch.ops.aten.") {
		t.Errorf("the stage is not unpacked: %.600s", stage)
	}
	if got := opened(t, page, "", "break-of-no-run"); !strings.Contains(got, "#break-of-no-run is not on this page") {
		t.Error("nothing is said of a target that is not there")
	}
}

// TestFilterOfTheAddress: ?q= filters, counts, opens and leaves the rest out.
func TestFilterOfTheAddress(t *testing.T) {
	page := htmlOf(t, report(t, "../testdata/traces/pytorch-2.11/trace_00_gb_cpu.log.zst"))
	got := opened(t, page, "q=nonzero", "")
	m := regexp.MustCompile(`<span id="count" role="status">(\d+) of (\d+) rows: [^<]*Breaks 1`).FindStringSubmatch(got)
	if m == nil {
		t.Fatalf("no count: %.300s", got[strings.Index(got, `id="count"`):])
	}
	if hidden := strings.Count(got, ` hidden"`); hidden == 0 || m[1] == m[2] {
		t.Errorf("%d rows are hidden, %s of %s match", hidden, m[1], m[2])
	}
	if row := regexp.MustCompile(`<details class="row break" id="[^"]*" open`).FindAllString(got, -1); len(row) != 1 {
		t.Errorf("%d breaks are open", len(row))
	}
}

// TestPageOfHostileText: markup in a trace stays text, in rows, attributes, ids and packed texts.
func TestPageOfHostileText(t *testing.T) {
	evil := `"'></pre></script><img src=x onerror=document.title='owned'><script>document.title='owned'</script>` + "\x1b[2J"
	pos := logs.Pos{File: "/w/" + evil + ".py", Line: 3, Func: evil, Code: evil}
	c := &explain.Compile{Status: explain.Compiled, Stack: []logs.Pos{pos}}
	c.LoadMetrics = func() map[string]any { return map[string]any{evil: evil} }
	fr := &explain.Frame{Name: evil, Pos: pos, Compiles: []*explain.Compile{c}, Status: explain.Compiled}
	stage := explain.Stage{Name: evil, Load: func() string { return strings.Repeat(evil, 9) }}
	c.Frame, c.Graph = fr, &explain.Graph{Ops: []string{evil}, Stages: []explain.Stage{stage}}
	b := &explain.Break{Code: evil, Type: evil, Explanation: evil, Hints: []string{evil}, Context: evil, Pos: pos, Compile: c}
	r := &explain.Report{
		Title: evil, Engine: evil, Frames: []*explain.Frame{fr}, Graphs: []*explain.Graph{c.Graph},
		Breaks:   []*explain.BreakGroup{{Key: evil, Lead: b, Breaks: []*explain.Break{b}, Chains: [][]logs.Pos{{pos}}}},
		Failures: []*explain.Failure{{Type: evil, Reason: evil, Pos: pos, Frame: evil}},
		Kernels:  []*explain.Kernel{{Name: evil, Ops: []string{evil}, Pos: []logs.Pos{pos}, Load: func() string { return evil }}},
		Side:     []explain.SideNote{{Kind: evil, Text: evil}},
		Sources:  []logs.Source{{Path: "/w/" + evil}},
	}
	page := htmlOf(t, r)
	if strings.Contains(page, "<img") || strings.Contains(page, "\x1b") {
		t.Error("markup or a control character of the trace is in the page")
	}
	got := opened(t, page, "q=owned", "graphs")
	if strings.Contains(got, "<img") || strings.Contains(html.UnescapeString(got), "<title>owned") {
		t.Error("markup of the trace is in the page's tree")
	}
	if strings.Count(got, "<script") != strings.Count(page, "<script") {
		t.Error("a script came with the trace")
	}
}
