package explain

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"tcdbg/logs"
)

// This file compares two reports. Causes are matched by what they are, not by
// compile id or line: lines inserted above, a renamed function and swapped
// breaks give "moved", not "new" and "fixed".

// Cause is one break, recompile or failure as a comparison sees it.
type Cause struct {
	Key   string   `json:"key"`
	What  string   `json:"what"`
	Pos   logs.Pos `json:"pos"`
	Count int      `json:"count"`
	Noise bool     `json:"noise,omitempty"`

	code, function, text string
	place                string // under the brief name that its own report gives the file
}

// Moved is one cause that is in both reports at another place, or as often
// not as before.
type Moved struct {
	From Cause `json:"from"`
	To   Cause `json:"to"`
}

// Changes is how one kind of cause differs.
type Changes struct {
	New   []Cause `json:"new"`
	Fixed []Cause `json:"fixed"`
	Moved []Moved `json:"moved"`
	// Counted are at the same place, but another number of times.
	Counted []Moved `json:"counted"`
	Same    int     `json:"same"`
}

// Difference is what Diff finds.
type Difference struct {
	Before, After Totals   `json:"-"`
	Breaks        Changes  `json:"breaks"`
	Recompiles    Changes  `json:"recompiles"`
	Failures      Changes  `json:"failures"` // of compiles that met no break
	KernelsNew    []string `json:"kernels_new"`
	KernelsGone   []string `json:"kernels_gone"`
	Graphs        []string `json:"graphs"` // functions whose graphs differ, in words
	Caches        []string `json:"caches"` // caches that answered otherwise, in words
}

// Empty says whether nothing differs but time.
func (d *Difference) Empty() bool {
	return d.Breaks.empty() && d.Recompiles.empty() && d.Failures.empty() && len(d.KernelsNew)+len(d.KernelsGone)+len(d.Graphs)+len(d.Caches) == 0
}

func (c *Changes) empty() bool { return len(c.New)+len(c.Fixed)+len(c.Moved)+len(c.Counted) == 0 }

// name gives the causes their places; each report has its own names, since it may
// lie in another folder.
func (c *Changes) name(before, after Names) {
	for i := range c.New {
		c.New[i].place = after.place(c.New[i].Pos)
	}
	for i := range c.Fixed {
		c.Fixed[i].place = before.place(c.Fixed[i].Pos)
	}
	for _, list := range [][]Moved{c.Moved, c.Counted} {
		for i := range list {
			list[i].From.place, list[i].To.place = before.place(list[i].From.Pos), after.place(list[i].To.Pos)
		}
	}
}

// Diff compares report b with the earlier report a.
func Diff(a, b *Report) *Difference {
	d := &Difference{Before: a.Totals, After: b.Totals}
	d.Breaks = match(breakCauses(a), breakCauses(b))
	d.Recompiles = match(recompileCauses(a), recompileCauses(b))
	d.Failures = match(failureCauses(a), failureCauses(b))
	before, after := BriefNames(a), BriefNames(b)
	for _, c := range []*Changes{&d.Breaks, &d.Recompiles, &d.Failures} {
		c.name(before, after)
	}
	d.Caches = cacheChanges(a, b)
	d.KernelsGone, d.KernelsNew = differ(kernelNames(a), kernelNames(b))
	d.Graphs = graphChanges(a, b)
	return d
}

func breakCauses(r *Report) []Cause {
	var out []Cause
	told := map[*Break]bool{} // while another break was handled; not every release tells them
	for _, g := range r.Breaks {
		for _, b := range g.Breaks {
			for _, ch := range b.Chained {
				told[ch] = true
			}
		}
	}
	for _, g := range r.Breaks {
		p := g.Lead.Pos
		if g.CausedBy != nil && !slices.ContainsFunc(g.Breaks, func(b *Break) bool { return !told[b] }) {
			continue // goes with its cause
		}
		out = append(out, Cause{
			Key: g.Key, What: strings.TrimSpace(g.Lead.Code + " " + g.Lead.Title()), Pos: p, Count: len(g.Breaks), Noise: g.Lead.Noise,
			code: g.Lead.Code + g.Lead.Type, function: filepath.Base(p.File) + "|" + functionOf(p, g.Lead.Compile), text: squeeze(p.Code),
		})
	}
	return out
}

func recompileCauses(r *Report) []Cause {
	byKey := map[string]*Cause{}
	var order []*Cause
	for _, rc := range r.Recompiles {
		c := byKey[rc.Key]
		if c == nil {
			fr := rc.Compile.Frame
			fn := functionOf(logs.Pos{Func: fr.Name}, nil)
			c = &Cause{Key: rc.Key, What: "recompile of " + fn, Pos: fr.Pos, function: filepath.Base(fr.Pos.File) + "|" + fn}
			if len(rc.Failures) > 0 {
				g := &rc.Failures[0]
				c.What += ": " + failureText(g)
				c.code = g.Kind + "|" + itoa(g.Dim)
				c.text = g.Source + "|" + squeeze(g.Pos.Code)
			}
			byKey[rc.Key] = c
			order = append(order, c)
		}
		c.Count++
	}
	out := make([]Cause, len(order))
	for i, c := range order {
		out[i] = *c
	}
	return out
}

// failureCauses lists the failures that no break of the same compile tells.
func failureCauses(r *Report) []Cause {
	broken := map[ID]bool{}
	for _, fr := range r.Frames {
		for _, c := range fr.Compiles {
			if len(c.Breaks) > 0 {
				broken[c.ID] = true
			}
		}
	}
	var out []Cause
	at := map[string]int{}
	for _, f := range r.Failures {
		if broken[f.ID] {
			continue
		}
		c := Cause{What: f.What(), Pos: f.Pos, code: f.Code + keyType(f), function: filepath.Base(f.Pos.File) + "|" + f.Frame, text: squeeze(f.Pos.Code)}
		c.Key = c.code + "|" + c.function + "|" + c.text
		if i, again := at[c.Key]; again {
			out[i].Count++
			continue
		}
		at[c.Key] = len(out)
		c.Count = 1
		out = append(out, c)
	}
	return out
}

// keyType is the type of a failure in a stable key: what releases since 2.8 call an
// InductorError was before that of any backend.
func keyType(f *Failure) string {
	if f.backendOf() == "inductor" {
		return "InductorError"
	}
	return f.Type
}

// cacheChanges words the answers of each cache that differ.
func cacheChanges(a, b *Report) []string {
	answers := func(r *Report) map[string][]string {
		out := map[string][]string{}
		for _, c := range r.Caches {
			out[c.Cache] = append(out[c.Cache], c.Hit)
		}
		return out
	}
	before, after := answers(a), answers(b)
	names := map[string]bool{}
	for _, of := range []map[string][]string{before, after} {
		for name := range of {
			names[name] = true
		}
	}
	out := []string{}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if x, y := tallied(before[name]), tallied(after[name]); x != y {
			out = append(out, name+": "+orNothing(y)+", before "+orNothing(x))
		}
	}
	return out
}

// match pairs causes: by key, then by cause and text whatever the function is
// called, then by cause and function where the line was edited a little.
func match(a, b []Cause) Changes {
	ch := Changes{New: []Cause{}, Fixed: []Cause{}, Moved: []Moved{}, Counted: []Moved{}}
	usedA, usedB := make([]bool, len(a)), make([]bool, len(b))
	pair := func(i, j int) {
		usedA[i], usedB[j] = true, true
		switch {
		case a[i].Pos.Line != b[j].Pos.Line || a[i].function != b[j].function || !sameText(&a[i], &b[j]):
			ch.Moved = append(ch.Moved, Moved{a[i], b[j]})
		case a[i].Count != b[j].Count:
			ch.Counted = append(ch.Counted, Moved{a[i], b[j]})
		default:
			ch.Same++
		}
	}
	for _, r := range likenesses {
		free := map[string][]int{}
		for j := range b {
			if !usedB[j] {
				free[r.key(&b[j])] = append(free[r.key(&b[j])], j)
			}
		}
		for i := range a {
			if usedA[i] {
				continue
			}
			if j := nearest(&a[i], b, free[r.key(&a[i])], usedB, r.same); j >= 0 {
				pair(i, j)
			}
		}
	}
	for i := range a {
		if !usedA[i] {
			ch.Fixed = append(ch.Fixed, a[i])
		}
	}
	for j := range b {
		if !usedB[j] {
			ch.New = append(ch.New, b[j])
		}
	}
	return ch
}

// sameText says whether two causes have one line's text, as far as both record it:
// older releases leave it out.
func sameText(x, y *Cause) bool { return x.text == y.text || x.text == "" || y.text == "" }

// likeness is one way in which two causes can be the same: those with one key are
// compared.
type likeness struct {
	key  func(c *Cause) string
	same func(x, y *Cause) bool
}

// likenesses are the ways, the surest first.
var likenesses = []likeness{
	{func(c *Cause) string { return c.Key }, func(*Cause, *Cause) bool { return true }},
	{
		func(c *Cause) string { return c.code + "\x00" + c.text },
		func(x, _ *Cause) bool { return x.text != "" },
	},
	{codeAndFunction, func(x, y *Cause) bool { return alike(x.text, y.text) >= 0.6 }},
	{codeAndFunction, func(x, y *Cause) bool {
		return x.text == y.text || x.Pos.Line == y.Pos.Line && sameText(x, y)
	}},
}

func codeAndFunction(c *Cause) string { return c.code + "\x00" + c.function }

// nearest is the free cause among those at that is the same and closest by line.
func nearest(c *Cause, list []Cause, at []int, used []bool, same func(x, y *Cause) bool) int {
	best := -1
	for _, j := range at {
		if used[j] || !same(c, &list[j]) {
			continue
		}
		if best < 0 || abs(list[j].Pos.Line-c.Pos.Line) < abs(list[best].Pos.Line-c.Pos.Line) {
			best = j
		}
	}
	return best
}

func abs(n int) int { return max(n, -n) }

// alike is the share of words that two lines have in common.
func alike(a, b string) float64 {
	wa, wb := words(a), words(b)
	if len(wa) == 0 || len(wb) == 0 {
		return 0
	}
	n := 0
	for w := range wa {
		if wb[w] {
			n++
		}
	}
	return float64(2*n) / float64(len(wa)+len(wb))
}

func words(s string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.FieldsFunc(s, func(r rune) bool { return r < 128 && !letterOrDigit(byte(r)) }) {
		out[w] = true
	}
	return out
}

func kernelNames(r *Report) map[string]int {
	out := map[string]int{}
	for _, k := range r.Kernels {
		out[k.Name]++
	}
	return out
}

// differ lists what a has more of than b, and b than a.
func differ(a, b map[string]int) (gone, fresh []string) {
	gone, fresh = []string{}, []string{}
	for k, n := range a {
		if n > b[k] {
			gone = append(gone, k)
		}
	}
	for k, n := range b {
		if n > a[k] {
			fresh = append(fresh, k)
		}
	}
	sort.Strings(gone)
	sort.Strings(fresh)
	return gone, fresh
}

// graphChanges compares the graphs of each function, resumed parts included.
func graphChanges(a, b *Report) []string {
	fa, fb := graphSizes(a), graphSizes(b)
	var names []string
	for n := range fa {
		names = append(names, n)
	}
	for n := range fb {
		if _, ok := fa[n]; !ok {
			names = append(names, n)
		}
	}
	sort.Strings(names)
	dropRenamed(fa, fb, names)
	out := []string{}
	for _, n := range names {
		if fa[n] != fb[n] {
			out = append(out, fmt.Sprintf("%s: graphs of [%s] operators, before [%s]", n, fb[n], fa[n]))
		}
	}
	return out
}

// dropRenamed leaves out functions that only have another name now: one that is
// gone, and one that is new with the same graphs.
func dropRenamed(fa, fb map[string]string, names []string) {
	gone := map[string][]string{} // graphs -> functions
	for _, n := range names {
		if _, ok := fb[n]; !ok {
			gone[fa[n]] = append(gone[fa[n]], n)
		}
	}
	for _, n := range names {
		_, old := fa[n]
		if list := gone[fb[n]]; !old && len(list) > 0 {
			gone[fb[n]] = list[1:]
			delete(fa, list[0])
			delete(fb, n)
		}
	}
}

func graphSizes(r *Report) map[string]string {
	sizes := map[string][]string{}
	for _, fr := range r.Frames {
		base := fr.root()
		name := base.Name
		for _, c := range fr.Compiles {
			if c.Graph != nil {
				sizes[name] = append(sizes[name], itoa(len(c.Graph.Ops)))
			}
		}
	}
	out := map[string]string{}
	for name, list := range sizes {
		out[name] = strings.Join(list, " ")
	}
	return out
}

// WriteDiffText writes a comparison for people.
func WriteDiffText(w io.Writer, d *Difference) error {
	t := &textWriter{w: bufio.NewWriter(w)}
	t.line("breaks %d -> %d at %d -> %d places, recompiles %d -> %d, graphs %d -> %d, kernels %d -> %d, failures %d -> %d, compile time %.2f s -> %.2f s",
		d.Before.Breaks, d.After.Breaks, d.Before.DistinctBreaks, d.After.DistinctBreaks, d.Before.Recompiles, d.After.Recompiles,
		d.Before.Graphs, d.After.Graphs, d.Before.Kernels, d.After.Kernels, d.Before.Failures, d.After.Failures, d.Before.CompileSeconds, d.After.CompileSeconds)
	t.changes("breaks", &d.Breaks)
	t.changes("recompiles", &d.Recompiles)
	t.changes("failures", &d.Failures)
	for _, g := range d.Graphs {
		t.line("~ %s", g)
	}
	for _, c := range d.Caches {
		t.line("~ cache %s", c)
	}
	if len(d.KernelsNew) > 0 {
		t.line("+ kernels: %s", clipText(strings.Join(d.KernelsNew, ", "), 300))
	}
	if len(d.KernelsGone) > 0 {
		t.line("- kernels: %s", clipText(strings.Join(d.KernelsGone, ", "), 300))
	}
	if d.Empty() {
		t.line("no difference but time")
	}
	return t.w.Flush()
}

func (t *textWriter) changes(kind string, c *Changes) {
	if c.empty() {
		return
	}
	t.line("%s: %d new, %d fixed, %d moved, %d with another count, %d the same", kind, len(c.New), len(c.Fixed), len(c.Moved), len(c.Counted), c.Same)
	for _, x := range c.New {
		t.line("  + new    %s  %s  %s", x.place, x.What, clipText(x.Pos.Code, 80))
	}
	for _, x := range c.Fixed {
		t.line("  - fixed  %s  %s  %s", x.place, x.What, clipText(x.Pos.Code, 80))
	}
	for _, m := range c.Moved {
		t.line("  > moved  %s -> %s  %s", m.From.place, m.To.place, m.To.What)
	}
	for _, m := range c.Counted {
		t.line("  # times  %s  %s: %d -> %d", m.To.place, m.To.What, m.From.Count, m.To.Count)
	}
}

// WriteDiffJSON writes a comparison as JSON.
func WriteDiffJSON(w io.Writer, d *Difference) error {
	e := jsonEncoder(w)
	e.SetIndent("", " ")
	return e.Encode(struct {
		Version int    `json:"version"`
		Before  Totals `json:"before"`
		After   Totals `json:"after"`
		*Difference
	}{jsonVersion, d.Before, d.After, d})
}
