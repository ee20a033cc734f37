package tui

import (
	"cmp"
	"fmt"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"tcdbg/explain"
	"tcdbg/logs"
	"tcdbg/tui/columns"
	"tcdbg/tui/diff"
	"tcdbg/tui/keys"
	"tcdbg/tui/theme"
)

// This file is screen 5, Guards: what does every call check, who asked for it,
// what does it cost?

// guardsScreen is the Guards screen.
type guardsScreen struct {
	pane
	trees    kept[*explain.GuardNode] // parsed guard trees, by entry
	foldable []leaf                   // lines of the tree that is shown
	foldFrom int                      // its first line in the document
}

func newGuards() screen {
	return &guardsScreen{
		pane: pane{
			columns: columns.Of(
				"compile", "the cache entry", "failed", "how often a guard of it failed", "guards", "how many it has",
				"time", "what checking them takes",
			),
			title: keys.Title{
				Name: "Guards", Short: "Grd", Key: "5",
				Asks: "What does every call check, which line needs it, and what does it cost?",
			},
			leadLines: 2, detailed: true, share: 0.34,
			modes: []string{"tree", "diff against the previous entry"},
			orders: []order{
				{name: "as compiled"},
				{
					name: "slowest check first", lacks: "no check was timed",
					compare: guardOrder(func(a, b *guardRow) int { return cmp.Compare(b.c.Guards.Micros, a.c.Guards.Micros) }),
					has:     func(r row) bool { return r.(*guardRow).c.Guards.Micros > 0 },
				},
				{name: "most guards first", compare: guardOrder(func(a, b *guardRow) int {
					return cmp.Compare(b.c.Guards.Leaves, a.c.Guards.Leaves)
				})},
				{
					name: "most failures first", lacks: "no guard failed",
					compare: guardOrder(func(a, b *guardRow) int { return cmp.Compare(b.fails, a.fails) }),
					has:     func(r row) bool { return r.(*guardRow).fails > 0 },
				},
				{name: "by line", compare: guardOrder(func(a, b *guardRow) int { return comparePos(a.pos(), b.pos()) })},
			},
		},
		trees: newKept[*explain.GuardNode](maxTrees),
	}
}

func guardOrder(compare func(a, b *guardRow) int) func(a, b row) int {
	return func(a, b row) int { return compare(a.(*guardRow), b.(*guardRow)) }
}

func (*guardsScreen) empty(sc *scene) []string {
	if len(sc.report.Frames) == 0 {
		return []string{
			"Nothing was compiled, so nothing is guarded.",
			"A guard is a check before each call that the compiled code is still valid for it.",
		}
	}
	if sc.report.OfGo() {
		return []string{
			"No guards were recorded.",
			"What was compiled depends on nothing that can change, or the run ended before its first entry.",
		}
	}
	return []string{
		"This trace records no guards.",
		"PyTorch writes them as dynamo_cpp_guards_str; old versions and text logs may lack them (TORCH_LOGS=guards).",
	}
}

func (scr *guardsScreen) lead(sc *scene, _ int) []theme.Line {
	c := &sc.facts.counts
	if c.entries == 0 {
		return nil
	}
	l := theme.Line{
		{Text: " " + count(c.guards, "guard"), Style: theme.Bold | theme.Guard},
		{Text: " in " + entries(c.entries)},
	}
	if c.worst > 0 {
		l = append(l, theme.Span{Text: fmt.Sprintf(" · slowest entry %s per call", checkTime(c.worst))})
	}
	if c.noise > 0 {
		l = append(l, theme.Span{Text: fmt.Sprintf(" · %d about hasattr and dynamic marking, folded", c.noise), Style: theme.Faint})
	}
	return []theme.Line{l, sc.callLine()}
}

// checkTime is what a check of an entry takes, three digits of it and never a power of ten.
func checkTime(us float64) string {
	if us >= 999.5 {
		return nanos(int64(us * 1000))
	}
	return fmt.Sprintf("%.3g us", us)
}

// entries is "1 entry", "2 entries".
func entries(n int) string {
	if n == 1 {
		return "1 cache entry"
	}
	return fmt.Sprintf("%d cache entries", n)
}

func (scr *guardsScreen) rows(in *input) []row {
	fails := map[string]int{}
	for _, rc := range in.report.Recompiles {
		for _, g := range rc.Failures {
			fails[entryKey(rc.Compile, g.Entry)]++
		}
	}
	var rows []row
	for _, f := range in.report.Frames {
		for _, c := range f.Compiles {
			if c.Guards != nil {
				rows = append(rows, &guardRow{
					c, fails[entryKey(c, fmt.Sprintf("%d/%d", c.ID.CompileID.Frame, c.ID.Compile))], scr.columns,
				})
			}
		}
	}
	return rows
}

// find goes to the guards of the compile that is selected elsewhere; another function may begin at the
// selected line, as the rest of one does at its break.
func (scr *guardsScreen) find(want Selection) bool {
	for i := range scr.Len() {
		if r, ok := scr.at(i).(*guardRow); ok && want.HasID && keyOf(r.c.ID) == keyOf(want.ID) {
			scr.set(i)
			return true
		}
	}
	return false
}

// entryKey names a cache entry in any epoch and rank.
func entryKey(c *explain.Compile, entry string) string {
	if c == nil {
		return entry
	}
	return fmt.Sprintf("%d %d %s", c.ID.Rank, c.ID.Epoch, entry)
}

// guardRow is the guards of one entry.
type guardRow struct {
	c     *explain.Compile
	fails int
	shown *columns.Set
}

// pos is where the function begins.
func (r *guardRow) pos() logs.Pos {
	if r.c.Frame == nil {
		return logs.Pos{}
	}
	return r.c.Frame.Pos
}

func (r *guardRow) key() string    { return "guards " + idText(r.c.ID) }
func (r *guardRow) sel() Selection { return compileSel(r.c) }
func (r *guardRow) matches(q string) bool {
	return r.c.Frame != nil && (theme.IndexFold(r.c.Frame.Name, q) >= 0 || about(r.c.ID, r.c.Frame.Pos, q))
}

func (r *guardRow) draw(sc *scene, w int) theme.Line {
	name := ""
	if r.c.Frame != nil {
		name = theme.Clean(r.c.Frame.Title())
	}
	var tail []string
	switch n := r.c.Guards.Leaves; {
	case !r.shown.On("guards"):
	case w >= 48:
		tail = append(tail, count(n, "guard"))
	default:
		tail = append(tail, fmt.Sprint(n))
	}
	if r.c.Guards.Micros > 0 && r.shown.On("time") {
		tail = append(tail, fmt.Sprintf("%.2f us", r.c.Guards.Micros))
	}
	l := theme.Line{{Text: theme.GlyphGuard + " ", Style: theme.Guard}}
	if r.shown.On("compile") {
		l = append(l, theme.Span{Text: sc.idCell(r.c.ID), Style: theme.Faint})
	}
	l = append(l, theme.Span{Text: name})
	if r.fails > 0 && r.shown.On("failed") {
		l = append(l, theme.Span{Text: fmt.Sprintf("  %s failed %s", theme.GlyphRecompile, times(r.fails)), Style: theme.Recompile})
	}
	text := strings.Join(tail, "  ")
	l = l.Fit(max(0, w-theme.Width(text)-1))
	return append(l, theme.Span{Text: " " + text, Style: theme.Faint})
}

// tree parses an entry's guards once, beside the UI.
func (scr *guardsScreen) tree(sc *scene, c *explain.Compile) (*explain.GuardNode, bool) {
	return scr.trees.get(&sc.texts, "guards "+idText(c.ID), func() *explain.GuardNode {
		if root := c.Guards.Root(); root != nil {
			return root
		}
		return &explain.GuardNode{}
	})
}

// maxTrees is how many parsed trees are kept.
const maxTrees = 16

func (scr *guardsScreen) detail(sc *scene, r row, w int) *doc {
	d := newDoc(sc, w)
	gr := r.(*guardRow)
	if !gr.c.Guards.Told() {
		d.wrap(theme.Faint, 0, "The trace is redacted: its guards are counted, and not told.")
		return d
	}
	root, ok := scr.tree(sc, gr.c)
	if !ok {
		d.add(theme.T(theme.Faint, "reading guards …"))
		return d
	}
	if scr.mode == 1 {
		scr.guardDiff(d, gr.c, root)
		return d
	}
	scr.guardTreeDoc(d, gr.c, root)
	return d
}

// leaf is one line of a flattened tree.
type leaf struct {
	g     *explain.GuardNode
	depth int
	path  string
	inner int // guards folded away below a manager
}

// flatten lists a tree; managers in folds are closed, noise is counted only.
func flatten(root *explain.GuardNode, folds map[string]bool) (lines []leaf, noise int) {
	var visit func(g *explain.GuardNode, depth int, path string)
	visit = func(g *explain.GuardNode, depth int, path string) {
		path += "/" + g.Source + g.Kind
		if g.Noise {
			noise += max(1, leaves(g))
			return
		}
		if g.Kind == "" && folds[path] {
			noise += noiseIn(g)
			lines = append(lines, leaf{g, depth, path, leaves(g)})
			return
		}
		if g.Kind != "" || g.Source != "" {
			lines = append(lines, leaf{g, depth, path, 0})
			depth++
		}
		for _, c := range g.Children {
			visit(c, depth, path)
		}
	}
	visit(root, 0, "")
	return lines, noise
}

// noiseIn counts the noise of a subtree.
func noiseIn(g *explain.GuardNode) int {
	if g.Noise {
		return max(1, leaves(g))
	}
	n := 0
	for _, c := range g.Children {
		n += noiseIn(c)
	}
	return n
}

// leaves counts the guards of a subtree.
func leaves(g *explain.GuardNode) int {
	n := 0
	if g.Kind != "" {
		n = 1
	}
	for _, c := range g.Children {
		n += leaves(c)
	}
	return n
}

// guardTreeDoc draws the tree, folded by source.
func (scr *guardsScreen) guardTreeDoc(d *doc, c *explain.Compile, root *explain.GuardNode) {
	lines, noise := flatten(root, scr.folds)
	scr.foldable = lines
	d.add(theme.T(theme.Bold, fmt.Sprintf("%s %s", idText(c.ID), count(c.Guards.Leaves, "guard"))))
	if noise > 0 {
		d.add(theme.T(theme.Noise, "not shown: "+count(noise, "guard")+" about hasattr and dynamic marking"))
	}
	then := d.sc.guardsThen(c)
	docGuardsThen(d, &then)
	d.blank()
	scr.foldFrom = d.Len()
	d.parts = append(d.parts, part{
		n:    len(lines),
		line: func(i int) theme.Line { return guardLine(d.sc, lines[i], then.mark(lines[i].g), d.width) },
		text: func(i int) string { return lines[i].g.Source + " " + lines[i].g.Kind + " " + lines[i].g.Text },
		target: func(i int) (Selection, bool) {
			g := lines[i].g
			s := compileSel(c)
			if g.Pos.Line > 0 {
				s.Pos = placeOnly(g.Pos)
			}
			return s, g.Pos.Line > 0
		},
	})
}

// guardLine draws a manager or a leaf, after its mark, with the line that asked for it.
func guardLine(sc *scene, l leaf, mark theme.Span, w int) theme.Line {
	indent := theme.Span{Text: theme.Spaces(2 * min(l.depth, 16))}
	g := l.g
	if g.Kind == "" {
		glyph, tail := theme.GlyphOpen, ""
		if l.inner > 0 {
			glyph, tail = theme.GlyphFolded, fmt.Sprintf("  %s", count(l.inner, "guard"))
		}
		typ := ""
		if g.Type != "" {
			typ = "  " + g.Type
		}
		return theme.Line{indent, {Text: glyph + " ", Style: theme.Faint}, theme.T(theme.Bold, g.Source), theme.T(theme.Faint, typ+tail)}
	}
	by := ""
	if g.Pos.Line > 0 {
		by = sc.place(g.Pos)
		if code := strings.TrimSpace(g.Code); code != "" && w > 90 {
			by += "  " + theme.Cut(theme.Clean(code), 30)
		}
	}
	line := theme.Line{
		indent,
		mark,
		theme.T(theme.Plain, g.Kind+" "),
		theme.T(theme.Faint, demand(g)),
	}
	if by == "" {
		return line
	}
	bw := min(theme.Width(by), w/2)
	return append(line.Fit(max(0, w-bw-2)), theme.Span{Text: "  " + theme.Cut(by, bw), Style: theme.Accent})
}

// demand is a guard's text without the source that the tree shows above it:
// of check_tensor(L['x'], Tensor, ...) what follows the name.
func demand(g *explain.GuardNode) string {
	text := explain.Squeeze(g.Text)
	if g.Source == "" {
		return text
	}
	if rest, ok := strings.CutPrefix(text, g.Source+" "); ok {
		return rest
	}
	call, rest, ok := strings.Cut(text, "("+g.Source)
	switch {
	case !ok || strings.ContainsAny(call, " ("):
		return text
	case call == "___check_obj_id":
		return "the same object" + ofClass(rest)
	case call == "___check_type_id":
		return "the same type" + ofClass(rest)
	case strings.HasPrefix(rest, ", "):
		return strings.TrimSuffix(rest[2:], ")")
	case strings.HasPrefix(rest, ") "):
		return call + rest[1:]
	}
	return text
}

// ofClass reads the class after a check: ", 139), type=<class 'module'>".
func ofClass(rest string) string {
	_, class, ok := strings.Cut(rest, "type=<class '")
	if !ok {
		return ""
	}
	class, _, _ = strings.Cut(class, "'>")
	return ", a " + class
}

// guardDiff compares an entry with the one before it.
func (scr *guardsScreen) guardDiff(d *doc, c *explain.Compile, root *explain.GuardNode) {
	var before *explain.Compile
	if c.Frame != nil {
		for _, o := range c.Frame.Compiles {
			if o == c || keyOf(o.ID) == keyOf(c.ID) {
				break
			}
			if o.Guards.Told() {
				before = o
			}
		}
	}
	if before == nil {
		d.wrap(
			theme.Faint, 0,
			"This is the first cache entry of its function: there is no previous one to compare with. d shows the tree again.",
		)
		return
	}
	old, ok := scr.tree(d.sc, before)
	if !ok {
		d.add(theme.T(theme.Faint, "reading guards …"))
		return
	}
	a, b := guardTexts(old), guardTexts(root)
	d.add(
		theme.T(theme.Bold, fmt.Sprintf("%s → %s", idText(before.ID), idText(c.ID))),
		theme.T(theme.Faint, "  guards that this entry has and the previous one did not"),
	)
	d.blank()
	same := 0
	for _, e := range diff.Lines(a, b) {
		switch e.Op {
		case '-':
			d.add(theme.T(theme.Red, "- "+e.Text))
		case '+':
			d.add(theme.T(theme.Green, "+ "+e.Text))
		default:
			same++
		}
	}
	d.blank()
	d.add(theme.T(theme.Faint, fmt.Sprintf("%s are the same", count(same, "guard"))))
}

func guardTexts(root *explain.GuardNode) []string {
	lines, _ := flatten(root, nil)
	var out []string
	for _, l := range lines {
		if l.g.Kind != "" {
			out = append(out, l.g.Kind+" "+l.g.Source+" "+explain.Squeeze(l.g.Text))
		}
	}
	return out
}

// act compares the entry with the one before it, or folds its tree.
func (scr *guardsScreen) act(sc *scene, a keys.Action) (tea.Cmd, bool) {
	switch a {
	case keys.DiffEntries:
		scr.mode = 1 - scr.mode
	case keys.Fold:
		scr.fold(sc)
	case keys.FoldAll:
		scr.foldAll()
	default:
		return nil, false
	}
	return nil, true
}

// foldAll folds all managers, or unfolds them.
func (scr *guardsScreen) foldAll() {
	scr.version++
	if len(scr.folds) > 0 {
		clear(scr.folds)
		return
	}
	for _, l := range scr.foldable {
		if l.g.Kind == "" && l.depth > 0 {
			scr.folds[l.path] = true
		}
	}
}

// fold folds or unfolds the manager of the detail's cursor.
func (scr *guardsScreen) fold(sc *scene) {
	scr.version++
	i := scr.docList.Cursor() - scr.foldFrom
	if !scr.inside || i < 0 || i >= len(scr.foldable) {
		sc.say("enter or tab goes into the tree; there z folds the source at the cursor")
		return
	}
	for ; i >= 0; i-- {
		if scr.foldable[i].g.Kind == "" {
			toggle(scr.folds, scr.foldable[i].path)
			scr.docList.Set(docSource{d: scr.doc}, i+scr.foldFrom)
			return
		}
	}
}
