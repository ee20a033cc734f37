package oracle

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tcdbg/backends"
	"tcdbg/internal/test/golden"
)

// TestOracle runs PyTorch's cases: those of testdata, and those of the folder
// that TCDBG_ORACLE names. It prints passed/total for each operator and fails
// where a case of the committed list no longer passes.
func TestOracle(t *testing.T) {
	var suites []*Suite
	for _, name := range []string{"ops", "draws", "fresh"} {
		suites = append(suites, load(t, name, filepath.Join("testdata", name)))
	}
	if dir := os.Getenv("TCDBG_ORACLE"); dir != "" {
		if !filepath.IsAbs(dir) { // from the root of the repository, where make runs
			dir = filepath.Join("..", "..", dir)
		}
		suites = append(suites, load(t, filepath.Base(dir), dir))
	}
	for _, s := range suites {
		for _, b := range backendsUnderTest(t) {
			t.Run(s.Name+"/"+b.Name, func(t *testing.T) { runSuite(t, s, b) })
		}
	}
}

func load(t *testing.T, name, dir string) *Suite {
	t.Helper()
	s, err := Load(name, dir)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

type tally struct{ passed, total int }

func runSuite(t *testing.T, s *Suite, b Backend) {
	want := readList(listPath(s, b), s)
	passed := map[string]bool{}
	byOp := map[string]*tally{}
	var failures []string
	part := selected(t)
	for i, c := range s.Cases {
		if !part.holds(i, c) {
			continue
		}
		op := byOp[c.Op]
		if op == nil {
			op = &tally{}
			byOp[c.Op] = op
		}
		op.total++
		if err := s.Run(c, b); err != nil {
			failures = append(failures, fmt.Sprintf("%s %s %s: %v", c.Op, c.Variant, c.Name, err))
			if want[c.Name] {
				t.Errorf("%s (%s) passed before: %v", c.Name, c.Op, err)
			}
			continue
		}
		op.passed++
		passed[c.Name] = true
	}
	report(t, byOp, failures)
	if part.whole() && (len(want) > 0 || golden.Updating()) {
		checkReasons(t, s, b, byOp)
	}
	if golden.Updating() {
		writeList(t, listPath(s, b), s, want, passed)
	}
}

// selection is the part of a suite that a run is limited to.
type selection struct {
	ops   map[string]bool // none: every operator
	nth   int             // of parts: cases in turn
	parts int
}

// selected reads TCDBG_ORACLE_OP (names of operators, by commas) and
// TCDBG_ORACLE_PART ("2/5": the second of five runs that share the cases out).
func selected(t *testing.T) selection {
	s := selection{nth: 1, parts: 1}
	if names := os.Getenv("TCDBG_ORACLE_OP"); names != "" {
		s.ops = map[string]bool{}
		for _, n := range strings.Split(names, ",") {
			s.ops[n] = true
		}
	}
	if p := os.Getenv("TCDBG_ORACLE_PART"); p != "" {
		if _, err := fmt.Sscanf(p, "%d/%d", &s.nth, &s.parts); err != nil || s.nth < 1 || s.nth > s.parts {
			t.Fatalf("TCDBG_ORACLE_PART=%s is not a part such as 2/5", p)
		}
	}
	return s
}

func (s selection) holds(i int, c *Case) bool {
	return i%s.parts == s.nth-1 && (s.ops == nil || s.ops[c.Op])
}

func (s selection) whole() bool { return s.ops == nil && s.parts == 1 }

// checkReasons holds the list of operators that are not whole: each has its
// reason, for all backends ("name: reason") or for one ("name@backend: reason").
func checkReasons(t *testing.T, s *Suite, b Backend, byOp map[string]*tally) {
	text, err := os.ReadFile(filepath.Join("testdata", s.Name+"-reasons.txt"))
	if err != nil {
		return
	}
	reasons := map[string]bool{}
	for _, line := range strings.Split(string(text), "\n") {
		name, reason, _ := strings.Cut(line, ": ")
		if reason != "" && !strings.HasPrefix(line, "#") {
			reasons[name] = true
		}
	}
	for name, c := range byOp {
		if c.passed < c.total && !reasons[name] && !reasons[name+"@"+b.Name] {
			t.Errorf("%s is not whole (%d/%d) and %s-reasons.txt does not say why", name, c.passed, c.total, s.Name)
		}
		if c.passed == c.total && reasons[name+"@"+b.Name] {
			t.Logf("%s is whole under %s: take it off the list of reasons", name, b.Name)
		}
	}
}

func report(t *testing.T, byOp map[string]*tally, failures []string) {
	names := make([]string, 0, len(byOp))
	passed, total, whole := 0, 0, 0
	for n, c := range byOp {
		names = append(names, n)
		passed, total = passed+c.passed, total+c.total
		if c.passed == c.total {
			whole++
		}
	}
	slices.Sort(names)
	var full, part strings.Builder
	for _, n := range names {
		c := byOp[n]
		to := &full
		if c.passed < c.total {
			to = &part
		}
		fmt.Fprintf(to, "%s %d/%d  ", n, c.passed, c.total)
	}
	t.Logf("%d/%d cases, %d/%d operators whole", passed, total, whole, len(names))
	t.Logf("whole: %s", full.String())
	if part.Len() > 0 {
		t.Logf("not whole: %s", part.String())
	}
	if os.Getenv("TCDBG_ORACLE_FAILURES") != "" {
		for _, f := range failures {
			t.Log(f)
		}
	}
}

// listPath is the committed list of a suite and backend.
func listPath(s *Suite, b Backend) string {
	return filepath.Join("testdata", s.Name+"-"+b.Name+".txt")
}

// readList reads the cases that passed before. A list of other cases (another
// folder of the same name) counts as none: its first line names the cases.
func readList(path string, s *Suite) map[string]bool {
	out := map[string]bool{}
	f, err := os.Open(path)
	if err != nil {
		return out
	}
	defer f.Close()
	sc := bufio.NewScanner(f)
	if !sc.Scan() || sc.Text() != "# "+s.Hash {
		return out
	}
	for sc.Scan() {
		for _, name := range strings.Fields(sc.Text()) {
			out[name] = true
		}
	}
	return out
}

func writeList(t *testing.T, path string, s *Suite, old, passed map[string]bool) {
	for n := range old {
		passed[n] = true
	}
	names := make([]string, 0, len(passed))
	for n := range passed {
		names = append(names, n)
	}
	slices.Sort(names)
	var sb strings.Builder
	fmt.Fprintf(&sb, "# %s\n", s.Hash)
	for i, n := range names {
		sb.WriteString(n)
		if i%12 == 11 || i == len(names)-1 {
			sb.WriteByte('\n')
		} else {
			sb.WriteByte(' ')
		}
	}
	if err := os.WriteFile(path, []byte(sb.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// backendsUnderTest are eager and those that TCDBG_ORACLE_BACKENDS lists:
// compiling thousands of kernels takes minutes.
func backendsUnderTest(t *testing.T) []Backend {
	t.Helper()
	out := []Backend{Eager()}
	cache := os.Getenv("TCDBG_ORACLE_CACHE") // kernels of the last run
	if cache == "" {
		cache = t.TempDir()
	}
	set := backends.NewSet(backends.Config{CacheDir: cache})
	for _, name := range strings.Fields(strings.ReplaceAll(os.Getenv("TCDBG_ORACLE_BACKENDS"), ",", " ")) {
		b, err := set.Get(name)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, Compiled(b))
	}
	return out
}
