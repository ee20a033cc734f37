package gate

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"

	"tcdbg/explain"
	"tcdbg/explain/diagnose"
	"tcdbg/logs"
)

// This file compares two reports. Causes are matched by what they are, not by
// compile id or line: lines inserted above, a renamed function or file and swapped
// breaks give "moved", not "new" and "fixed".

// Cause is one break, recompile or failure as a comparison sees it.
type Cause struct {
	Key   string   `json:"key"`
	What  string   `json:"what"`
	Pos   logs.Pos `json:"pos"`
	Count int      `json:"count"`
	Noise bool     `json:"noise,omitempty"`

	Code, function, text string
	epoch                int    // of a recompile
	Place                string // under the brief name that its own report gives the file
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
	Before, After explain.Totals `json:"-"`
	Breaks        Changes        `json:"breaks"`
	Recompiles    Changes        `json:"recompiles"`
	Failures      Changes        `json:"failures"` // of compiles that met no break
	KernelsNew    []string       `json:"kernels_new"`
	KernelsGone   []string       `json:"kernels_gone"`
	Graphs        []string       `json:"graphs"` // functions whose graphs differ, in words
	Code          []string       `json:"code"`   // graphs of the same size that compute something else, in words
	Caches        []string       `json:"caches"` // caches that answered otherwise, in words
}

// Empty says whether nothing differs but time.
func (d *Difference) Empty() bool {
	return d.Breaks.Empty() && d.Recompiles.Empty() && d.Failures.Empty() &&
		len(d.KernelsNew)+len(d.KernelsGone)+len(d.Graphs)+len(d.Code)+len(d.Caches) == 0
}

// Worse says whether the later report has what the earlier one had not: a break, a
// recompile or a failure, or one of them more often.
func (d *Difference) Worse() bool {
	return d.Breaks.worse() || d.Recompiles.worse() || d.Failures.worse()
}

func (c *Changes) worse() bool { return len(c.New) > 0 || len(c.more()) > 0 }

// more are the causes of both reports that the later one met more often.
func (c *Changes) more() []Moved {
	var out []Moved
	for _, list := range [][]Moved{c.Moved, c.Counted} {
		for _, m := range list {
			if m.To.Count > m.From.Count {
				out = append(out, m)
			}
		}
	}
	return out
}

// Empty reports whether nothing changed.
func (c *Changes) Empty() bool { return len(c.New)+len(c.Fixed)+len(c.Moved)+len(c.Counted) == 0 }

// name gives the causes their places; each report has its own names, since it may
// lie in another folder.
func (c *Changes) name(before, after explain.Names) {
	for i := range c.New {
		c.New[i].Place = after.Place(c.New[i].Pos)
	}
	for i := range c.Fixed {
		c.Fixed[i].Place = before.Place(c.Fixed[i].Pos)
	}
	for _, list := range [][]Moved{c.Moved, c.Counted} {
		for i := range list {
			list[i].From.Place, list[i].To.Place = before.Place(list[i].From.Pos), after.Place(list[i].To.Pos)
		}
	}
}

// Diff compares report b with the earlier report a.
func Diff(a, b *explain.Report) *Difference {
	d := &Difference{Before: a.Totals, After: b.Totals}
	d.Breaks = match(breakCauses(a), breakCauses(b))
	d.Recompiles = match(recompileCauses(a), recompileCauses(b))
	d.Failures = match(FailureCauses(a), FailureCauses(b))
	before, after := explain.BriefNames(a), explain.BriefNames(b)
	for _, c := range []*Changes{&d.Breaks, &d.Recompiles, &d.Failures} {
		c.name(before, after)
	}
	d.Caches = cacheChanges(a, b)
	d.KernelsGone, d.KernelsNew = differ(kernelNames(a), kernelNames(b))
	d.Graphs = GraphChanges(a, b)
	d.Code = codeChanges(a, b)
	return d
}

// breakCauses lists the breaks by root cause. What came up while another break was
// handled goes with it: not every release tells it.
func breakCauses(r *explain.Report) []Cause {
	var out []Cause
	for _, g := range r.Breaks {
		if g.Times() == 0 {
			continue
		}
		p := g.Lead.Pos
		out = append(out, Cause{
			Key: g.Key, What: strings.TrimSpace(g.Lead.Code + " " + g.Lead.Title()), Pos: p, Count: g.Times(), Noise: g.Lead.Noise,
			Code: g.Lead.Code + g.Lead.Type, function: filepath.Base(p.File) + "|" + explain.FunctionOf(p, g.Lead.Compile),
			text: explain.Squeeze(p.Code),
		})
	}
	return out
}

// recompileCauses lists the recompiles by cause, and the limits that refused one.
func recompileCauses(r *explain.Report) []Cause {
	return countCauses(len(r.Recompiles), func(i int) Cause { return recompileCause(r.Recompiles[i]) })
}

func recompileCause(rc *explain.Recompile) Cause {
	fr := rc.Compile.Frame
	fn := explain.FunctionOf(logs.Pos{Func: fr.Name}, nil)
	c := Cause{
		Key: rc.Key, What: "recompile of " + fn, Pos: fr.Pos, function: filepath.Base(fr.Pos.File) + "|" + fn,
		epoch: rc.Compile.ID.Epoch,
	}
	if rc.Compile.Status == explain.Limit {
		c.Key, c.What, c.Code = "limit|"+rc.Key, "recompile limit reached by "+fn, "limit|"
	}
	if rank := rc.Compile.ID.Rank; rank >= 0 {
		c.What += " on rank " + strconv.Itoa(rank)
		c.Code += "rank " + strconv.Itoa(rank) + "|"
	}
	if len(rc.Failures) > 0 {
		g := &rc.Failures[0]
		c.What += ": " + explain.FailureText(g)
		c.Code += g.Kind + "|" + strconv.Itoa(g.Dim)
		c.text = g.Source + "|" + explain.Squeeze(g.Pos.Code)
	}
	return c
}

// FailureCauses lists the failures that no break of the same compile tells.
func FailureCauses(r *explain.Report) []Cause {
	type breakOf struct {
		id   explain.ID
		code string
	}
	told := map[breakOf]bool{}
	for _, fr := range r.Frames {
		for _, c := range fr.Compiles {
			for _, b := range c.Breaks {
				told[breakOf{c.ID, b.Code}] = true
			}
		}
	}
	var keys []diagnose.PlacedKey
	var own []*explain.Failure
	for _, f := range r.Failures {
		if !f.Eager && !(f.Code != "" && told[breakOf{f.ID, f.Code}]) {
			own = append(own, f)
		}
	}
	causes := make([]Cause, len(own))
	for i, f := range own {
		causes[i] = Cause{
			What: f.What(), Pos: f.Pos, Code: f.Code + keyType(f), function: filepath.Base(f.Pos.File) + "|" + f.Frame,
			text: explain.Squeeze(f.Pos.Code),
		}
		c := &causes[i]
		keys = append(keys, diagnose.PlacedKey{To: &c.Key, Base: c.Code + "|" + f.Frame + "|" + c.text, At: f.Pos, Frame: 0})
	}
	diagnose.NumberKeys(keys)
	return countCauses(len(causes), func(i int) Cause { return causes[i] })
}

// countCauses joins those of n causes that have one key.
func countCauses(n int, cause func(i int) Cause) []Cause {
	var out []Cause
	at := map[string]int{}
	for i := range n {
		c := cause(i)
		j, again := at[c.Key]
		if !again {
			j = len(out)
			at[c.Key] = j
			out = append(out, c)
		}
		out[j].Count++
	}
	return out
}

// keyType is the type of a failure in a stable key: what releases since 2.8 call an
// InductorError was before that of any backend.
func keyType(f *explain.Failure) string {
	if diagnose.BackendOf(f) == "inductor" {
		return "InductorError"
	}
	return f.Type
}

// cacheChanges words the answers of each cache that differ.
func cacheChanges(a, b *explain.Report) []string {
	answers := func(r *explain.Report) map[string][]string {
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
		if x, y := diagnose.Tallied(before[name]), diagnose.Tallied(after[name]); x != y {
			out = append(out, name+": "+explain.OrNothing(y)+", before "+explain.OrNothing(x))
		}
	}
	return out
}

// match pairs causes: by key and file, by key, then by cause and text whatever the
// function is called, then by cause and function where the line was edited a little.
func match(a, b []Cause) Changes {
	ch := Changes{New: []Cause{}, Fixed: []Cause{}, Moved: []Moved{}, Counted: []Moved{}}
	usedA, usedB := make([]bool, len(a)), make([]bool, len(b))
	pair := func(i, j int) {
		usedA[i], usedB[j] = true, true
		switch {
		case a[i].Pos.Line != b[j].Pos.Line || a[i].function != b[j].function || a[i].epoch != b[j].epoch || !sameText(&a[i], &b[j]):
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
	{func(c *Cause) string { return withoutNumber(c.Key) + "\x00" + c.function }, func(*Cause, *Cause) bool { return true }},
	{func(c *Cause) string { return withoutNumber(c.Key) }, func(*Cause, *Cause) bool { return true }},
	{
		func(c *Cause) string { return c.Code + "\x00" + c.text },
		func(x, _ *Cause) bool { return x.text != "" },
	},
	{codeAndFunction, func(x, y *Cause) bool { return alike(x.text, y.text) >= 0.6 }},
	{codeAndFunction, func(x, y *Cause) bool {
		return x.text == y.text || x.Pos.Line == y.Pos.Line && sameText(x, y)
	}},
}

// withoutNumber is a key without the number that tells apart what has one key: which of
// them is first depends on the others.
func withoutNumber(key string) string {
	if i := strings.LastIndexByte(key, '#'); i >= 0 && i+1 < len(key) && strings.Trim(key[i+1:], "0123456789") == "" {
		return key[:i]
	}
	return key
}

func codeAndFunction(c *Cause) string { return c.Code + "\x00" + c.function }

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
	for _, w := range strings.FieldsFunc(s, func(r rune) bool { return r < 128 && !explain.LetterOrDigit(byte(r)) }) {
		out[w] = true
	}
	return out
}

func kernelNames(r *explain.Report) map[string]int {
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

// GraphChanges compares the graphs of each function, resumed parts included.
func GraphChanges(a, b *explain.Report) []string {
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

func graphSizes(r *explain.Report) map[string]string {
	sizes := map[string][]string{}
	for _, fr := range r.Frames {
		base := fr.Root()
		name := base.Name
		for _, c := range fr.Compiles {
			if c.Graph != nil {
				sizes[name] = append(sizes[name], strconv.Itoa(len(c.Graph.Ops)))
			}
		}
	}
	out := map[string]string{}
	for name, list := range sizes {
		out[name] = strings.Join(list, " ")
	}
	return out
}

// Often is how often a cause was met, where that is more than once.
func (c *Cause) Often() string {
	if c.Count < 2 {
		return ""
	}
	return ", " + explain.Count(c.Count, "time")
}
