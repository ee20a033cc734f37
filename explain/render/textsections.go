package render

import (
	"fmt"
	"strconv"
	"strings"

	"tcdbg/explain"
	"tcdbg/explain/diagnose"
	"tcdbg/logs"
)

// This file writes the sections of the text report that are about the machinery:
// guards, graphs, kernels, fusion, time, caches, sizes, ranks and remarks.

func (t *TextWriter) guards(r *explain.Report) {
	leaves, noise, entries := 0, 0, 0
	var slowest *explain.Compile
	for _, fr := range r.Frames {
		for _, c := range fr.Compiles {
			if c.Guards == nil {
				continue
			}
			entries++
			leaves += c.Guards.Leaves
			noise += c.Guards.Noise
			if slowest == nil || c.Guards.Micros > slowest.Guards.Micros {
				slowest = c
			}
		}
	}
	if entries == 0 {
		return
	}
	t.section(fmt.Sprintf(
		"GUARDS: %s in %s, %d of them about hasattr and dynamic marking", explain.Count(leaves, "guard"),
		explain.Count(entries, "entry"), noise,
	))
	if slowest != nil && slowest.Guards.Micros > 0 {
		t.line(
			"  slowest: %s [%s] %s, %.1f us per check", explain.FrameTitle(slowest.Frame), idText(slowest.ID),
			explain.Count(slowest.Guards.Leaves, "guard"), slowest.Guards.Micros,
		)
	}
	t.guardDiffs(r)
}

// guardDiffs shows what changed in the guards from entry to entry of a frame.
func (t *TextWriter) guardDiffs(r *explain.Report) {
	shown := 0
	for _, fr := range r.Frames {
		var last *explain.Compile
		var before *explain.GuardNode
		for _, c := range fr.Compiles {
			if !c.Guards.Told() || shown >= t.most(6) {
				continue
			}
			if len(fr.Compiles) == 1 {
				break
			}
			now := c.Guards.Root()
			if last != nil {
				if changes := explain.DiffGuards(before, now); len(changes) > 0 {
					shown++
					differ := "guards differ"
					if len(changes) == 1 {
						differ = "guard differs"
					}
					t.line("  %s [%s] against [%s]: %d %s", explain.FrameTitle(fr), idText(c.ID), idText(last.ID), len(changes), differ)
					for i, ch := range changes {
						if i == t.most(3) {
							t.line("      ... and %d more", len(changes)-3)
							break
						}
						t.line("      %s: %s", strings.TrimSpace(ch.Kind+" "+explain.PlainSource(ch.Source)), ChangeText(ch.Old, ch.New))
					}
				}
			}
			last, before = c, now
		}
	}
}

// ChangeText shows what differs between two checks: of calls the arguments, of
// other checks the words.
func ChangeText(old, now string) string {
	if old == "" {
		return "new: " + explain.ClipText(checkText(now), 100)
	}
	if now == "" {
		return "gone: " + explain.ClipText(checkText(old), 100)
	}
	a, b := checkParts(old), checkParts(now)
	if len(a) < 2 || len(b) < 2 || a[0] != b[0] {
		return explain.ClipText(checkText(old), 60) + " -> " + explain.ClipText(checkText(now), 60)
	}
	if len(a) != len(b) {
		return argumentsText(a, b)
	}
	var out []string
	for i := range a {
		if a[i] != b[i] {
			out = append(out, explain.ClipText(a[i], 60)+" -> "+explain.ClipText(b[i], 60))
		}
	}
	return strings.Join(out, ", ")
}

// argumentsText tells which arguments only one of two calls has.
func argumentsText(a, b []string) string {
	var out []string
	if s := diagnose.Surplus(diagnose.Plain(a), diagnose.Plain(b)); s != "" {
		out = append(out, "without "+explain.ClipText(explain.PlainSource(s), 60))
	}
	if s := diagnose.Surplus(diagnose.Plain(b), diagnose.Plain(a)); s != "" {
		out = append(out, "with "+explain.ClipText(explain.PlainSource(s), 60))
	}
	return a[0] + " " + strings.Join(out, ", ")
}

// checkParts splits a call into its name and arguments, and "len(x) == 2" into
// its sides; other checks are one part.
func checkParts(s string) []string {
	if head, state, ok := strings.Cut(s, " against {"); ok {
		return append([]string{head}, explain.SplitFields(strings.TrimSuffix(state, "}"))...)
	}
	if left, right, ok := strings.Cut(s, " == "); ok && !strings.HasSuffix(s, ")") {
		return []string{left, right}
	}
	if i := strings.IndexByte(s, '('); i > 0 && explain.LetterOrDigit(s[i-1]) && strings.HasSuffix(s, ")") {
		return append([]string{s[:i]}, explain.SplitFields(s[i+1:len(s)-1])...)
	}
	return []string{s}
}

// checkText words a check that shows an object's address.
func checkText(s string) string {
	if rest, ok := strings.CutPrefix(s, "___check_type_id("); ok {
		src, typ := explain.IDCheck(rest)
		if typ == "" { // older releases show its address alone
			return "the type of " + explain.PlainSource(src) + " is checked"
		}
		return "the type of " + explain.PlainSource(src) + " is " + typ
	}
	if rest, ok := strings.CutPrefix(s, "___check_obj_id("); ok {
		if src, typ := explain.IDCheck(rest); typ != "" {
			return explain.PlainSource(src) + " is this very object (" + typ + ")"
		}
	}
	return s
}

func (t *TextWriter) graphs(r *explain.Report) {
	if len(r.Graphs) == 0 {
		return
	}
	t.section(fmt.Sprintf("GRAPHS: %d, %s", len(r.Graphs), explain.Count(r.Totals.Ops, "op")))
	before := ""
	owners := graphOwners(r)
	graphs := listed(t, r.Graphs, func(g *explain.Graph) explain.ID { return g.ID })
	for i, g := range graphs {
		if i == t.most(Rows) {
			t.more(len(graphs)-t.most(Rows), "graph")
			return
		}
		var stages []string
		for _, s := range g.Stages {
			stages = append(stages, s.Name)
		}
		stages = explain.Distinct(stages)
		name := ""
		if fr := owners[g]; fr != nil {
			name = explain.FrameTitle(fr) + ": "
		}
		captured := explain.Count(len(g.Ops), "op") + " [" + explain.ClipText(strings.Join(g.Ops, ", "), 80) + "]"
		if !g.Named() {
			captured = "as captured not recorded"
		}
		t.line("  [%s] %s%s", idText(g.ID), name, captured)
		if s := g.SavedText(); s != "" {
			t.line("      %s", s)
		}
		if all := strings.Join(stages, ", "); all != before { // the same as above is not said again
			t.line("      stages: %s", all)
			before = all
		}
	}
}

// graphOwners tells which frame each graph was captured from.
func graphOwners(r *explain.Report) map[*explain.Graph]*explain.Frame {
	out := map[*explain.Graph]*explain.Frame{}
	for _, fr := range r.Frames {
		for _, c := range fr.Compiles {
			if c.Graph != nil {
				out[c.Graph] = fr
			}
		}
	}
	return out
}

func (t *TextWriter) Kernels(r *explain.Report) {
	if len(r.Kernels) == 0 {
		return
	}
	t.section(fmt.Sprintf("KERNELS: %d generated, %d extern", r.Totals.Kernels, len(r.Kernels)-r.Totals.Kernels))
	list, total := explain.CostliestKernels(r)
	list = listed(t, list, func(k *explain.Kernel) explain.ID { return k.ID })
	for i, k := range list {
		if i == t.most(Rows) {
			t.more(len(list)-t.most(Rows), "kernel")
			return
		}
		row := fmt.Sprintf("  [%s] %-44s %-6s ", idText(k.ID), explain.ClipText(k.Name, 44), k.Lang)
		if total > 0 {
			row += k.TimeText(total) + "  "
		}
		row += explain.ClipText(strings.Join(k.Ops, "+"), 50)
		if from := t.names.List(k.Pos); from != "" {
			row += "  from " + explain.ClipText(from, 60)
		}
		t.line("%s", row)
	}
}

func (t *TextWriter) autotuned(r *explain.Report) {
	if len(r.Autotuned) == 0 {
		return
	}
	t.section("AUTOTUNED: " + explain.Count(len(r.Autotuned), "graph"))
	for i, a := range r.Autotuned {
		if i == t.most(Rows) {
			t.more(len(r.Autotuned)-t.most(Rows), "graph")
			return
		}
		t.line("  [%s] %s: %s", idText(a.ID), a.Graph, a.Summary())
		changes := a.Changes()
		for j, c := range changes {
			if j == t.most(tunedRows) {
				t.line("      ... and %s", explain.Count(len(changes)-j, "more choice"))
				break
			}
			t.line("      %s %s: %s instead of %s%s", explain.ClipText(c.Title(), 60), c.What, c.Chosen, c.Was, saved(c))
		}
	}
}

// tunedRows is how many choices of a graph are listed.
const tunedRows = 6

func saved(c *logs.Tuning) string {
	if ns := c.Saved(); ns > 0 {
		return fmt.Sprintf(", %.1f us less a call", float64(ns)/1e3)
	}
	return ""
}

func (t *TextWriter) time(r *explain.Report) {
	if len(r.PhaseSums) == 0 {
		return
	}
	total := "unknown" // no compile has ended
	if r.Totals.CompileSeconds > 0 {
		total = explain.Duration(r.Totals.CompileSeconds)
	}
	t.section("COMPILE TIME: " + total)
	if n := r.PhasesLeftOut; n > 0 {
		t.line("  %s not kept one by one; these sums have them", explain.Are(int(n), "phase"))
	}
	t.line("  %-44s %7s %10s %10s", "phase", "times", "total s", "self s")
	for i, p := range r.PhaseSums {
		if i == t.most(Rows) {
			t.more(len(r.PhaseSums)-t.most(Rows), "phase")
			return
		}
		t.line("  %-44s %7d %10.3f %10.3f", explain.ClipText(p.Name, 44), p.Count, p.Seconds, p.Self)
	}
}

func (t *TextWriter) caches(r *explain.Report) {
	if len(r.Caches) == 0 {
		return
	}
	n := map[string]int{}
	for _, c := range r.Caches {
		n[c.Cache+" "+c.Hit]++
	}
	var parts []string
	for _, k := range explain.ByCount(n) {
		parts = append(parts, fmt.Sprintf("%s %d", k, n[k]))
	}
	t.section("CACHES: " + strings.Join(parts, ", "))
	bypassed := map[string]int{}
	for _, c := range r.Caches {
		if c.Hit == "bypass" && c.Reason != "" {
			bypassed[c.Cache+" bypassed: "+explain.ClipText(c.Reason, 100)]++
		}
	}
	for i, why := range explain.ByCount(bypassed) {
		if i == t.most(Rows) {
			t.more(len(bypassed)-t.most(Rows), "reason")
			return
		}
		t.line("  %d x %s", bypassed[why], why)
	}
}

func (t *TextWriter) symbols(r *explain.Report) {
	if len(r.Symbols) == 0 {
		return
	}
	t.section(fmt.Sprintf("DYNAMIC SIZES: %d", len(r.Symbols)))
	for i, s := range r.Symbols {
		if i == t.most(Rows) {
			t.more(len(r.Symbols)-t.most(Rows), "symbol")
			return
		}
		end := ""
		if s.Specialized != "" {
			end = fmt.Sprintf("  specialised to %s (%s)", s.Specialized, s.Reason)
		}
		if s.Hint != "" {
			end = " first " + s.Hint + end
		}
		name := s.Name
		if s.Source != "" {
			name += " = " + s.Source
		}
		t.line("  [%s] %s in %s%s  %s", idText(s.ID), name, s.Range, end, t.names.Place(s.Pos))
	}
}

func (t *TextWriter) ranks(r *explain.Report) {
	if len(r.Ranks) == 0 {
		return
	}
	t.section(fmt.Sprintf("RANKS: %d", len(r.Ranks)))
	if len(r.RankGroups) == 0 { // one rank
		t.line("  %s", rankTotals("rank "+strconv.Itoa(r.Ranks[0].Rank), r.Ranks[:1]))
	}
	byRank := map[int]*explain.Rank{}
	for _, k := range r.Ranks {
		byRank[k.Rank] = k
	}
	for i, g := range r.RankGroups {
		if i == t.most(Rows) {
			t.more(len(r.RankGroups)-Rows, "group")
			break
		}
		t.line("  %s", rankTotals(groupTitle(g), ranksOf(g, byRank)))
		if g.Parted.Text != "" {
			t.line("      first difference (%s): %s", g.Parted.Kind, g.Parted.Text)
		}
		for j, d := range g.Differs {
			if j == t.most(5) {
				t.line("      ... and %d more", len(g.Differs)-5)
				break
			}
			if d != g.Parted.Text {
				t.line("      differs: %s", d)
			}
		}
	}
	for i := range r.Stragglers {
		if i == t.most(Rows) {
			t.more(len(r.Stragglers)-Rows, "straggler")
			break
		}
		t.line("  straggler: rank %d %s", r.Stragglers[i].Rank, r.Stragglers[i].Text())
	}
}

// groupTitle names the ranks of a group, with how many they are.
func groupTitle(g *explain.RankGroup) string {
	if len(g.Ranks) > 1 {
		return fmt.Sprintf("%s (%d alike)", g.Title(), len(g.Ranks))
	}
	return g.Title()
}

// rankTotals is a line of the totals of ranks that did the same.
func rankTotals(title string, ranks []*explain.Rank) string {
	n := &ranks[0].Totals
	low, high := n.CompileSeconds, n.CompileSeconds
	for _, k := range ranks {
		low, high = min(low, k.Totals.CompileSeconds), max(high, k.Totals.CompileSeconds)
	}
	took := seconds(low)
	if s := seconds(high); s != took {
		took += " to " + s
	}
	each := ""
	if len(ranks) > 1 {
		each = "each "
	}
	return fmt.Sprintf(
		"%s: %s%s, %s, %s, %s, %s%s", title, each, explain.Count(n.Frames, "frame"),
		explain.Count(n.Graphs, "graph"), explain.Count(n.Breaks, "break"),
		explain.Count(n.Recompiles, "recompile"), took, cacheWords(ranks[0].Caches),
	)
}

// cacheWords tells how often the caches of a rank hit, missed or were bypassed.
func cacheWords(sequence string) string {
	out := ""
	for _, c := range []struct{ mark, one, more string }{{"H", "hit", "hits"}, {"M", "miss", "misses"}, {"B", "bypass", "bypasses"}} {
		switch n := strings.Count(sequence, c.mark); {
		case n == 1:
			out += ", 1 cache " + c.one
		case n > 1:
			out += fmt.Sprintf(", %d cache %s", n, c.more)
		}
	}
	return out
}

// Announced is the first line of a remark, with the next where it only
// announces that.
func Announced(text string) string {
	if strings.HasPrefix(text, "[") || strings.HasPrefix(text, "{") {
		return oneLine(text)
	}
	head, rest, _ := strings.Cut(strings.TrimLeft(text, "\n "), "\n")
	if strings.HasSuffix(strings.TrimSpace(head), ":") {
		head += " " + explain.FirstLine(rest)
	}
	return head
}

func (t *TextWriter) notes(r *explain.Report) {
	n := map[string]int{}
	said := map[string]map[string]int{} // by kind
	for _, s := range r.Side {
		if said[s.Kind] == nil {
			said[s.Kind] = map[string]int{}
		}
		n[s.Kind]++
		said[s.Kind][explain.ClipText(Announced(s.Text), 160)]++
	}
	if len(n) == 0 {
		return
	}
	t.section("REMARKS")
	for i, kind := range explain.ByCount(n) {
		if i == t.most(Rows) {
			t.more(len(n)-t.most(Rows), "kind")
			return
		}
		t.remarks(kind, said[kind])
	}
}

// remarksEach is how many different remarks of a kind are listed.
const remarksEach = 3

// remarks lists those of one kind, each text once.
func (t *TextWriter) remarks(kind string, said map[string]int) {
	left := 0
	for i, text := range explain.ByCount(said) {
		if i < t.most(remarksEach) {
			t.line("  %d x %s: %s", said[text], kind, text)
		} else {
			left += said[text]
		}
	}
	if left > 0 {
		t.line("      ... and %d more of %s", left, kind)
	}
}

// oneLine is a JSON value as one line: a list of names as these, other values
// without their white space.
func oneLine(text string) string {
	if names := logs.JSONStrings([]byte(text)); len(names) > 0 && !strings.ContainsAny(strings.Join(names, ""), "[{") {
		return strings.Join(names, ", ")
	}
	return strings.Join(strings.Fields(text), " ")
}
