package explain

import (
	"fmt"
	"sort"
	"strings"

	"tcdbg/logs"
)

// This file writes the sections of the text report that are about the machinery:
// guards, graphs, kernels, fusion, time, caches, sizes, ranks and remarks.

func (t *textWriter) guards(r *Report) {
	leaves, noise, entries := 0, 0, 0
	var slowest *Compile
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
	t.section(fmt.Sprintf("GUARDS: %s in %s, %d of them about hasattr and dynamic marking", count(leaves, "guard"), count(entries, "entry"), noise))
	if slowest != nil && slowest.Guards.Micros > 0 {
		t.line("  slowest: %s [%s] %s, %.1f us per check", frameTitle(slowest.Frame), idText(slowest.ID), count(slowest.Guards.Leaves, "guard"), slowest.Guards.Micros)
	}
	t.guardDiffs(r)
}

// guardDiffs shows what changed in the guards from entry to entry of a frame.
func (t *textWriter) guardDiffs(r *Report) {
	shown := 0
	for _, fr := range r.Frames {
		var last *Compile
		var before *GuardNode
		for _, c := range fr.Compiles {
			if c.Guards == nil || shown >= 6 {
				continue
			}
			if len(fr.Compiles) == 1 {
				break
			}
			now := c.Guards.Root()
			if last != nil {
				if changes := DiffGuards(before, now); len(changes) > 0 {
					shown++
					differ := "guards differ"
					if len(changes) == 1 {
						differ = "guard differs"
					}
					t.line("  %s [%s] against [%s]: %d %s", frameTitle(fr), idText(c.ID), idText(last.ID), len(changes), differ)
					for i, ch := range changes {
						if i == 3 {
							t.line("      ... and %d more", len(changes)-3)
							break
						}
						t.line("      %s: %s", strings.TrimSpace(ch.Kind+" "+plainSource(ch.Source)), changeText(ch.Old, ch.New))
					}
				}
			}
			last, before = c, now
		}
	}
}

// changeText shows what differs between two checks: of calls the arguments, of
// other checks the words.
func changeText(old, now string) string {
	if old == "" {
		return "new: " + clipText(checkText(now), 100)
	}
	if now == "" {
		return "gone: " + clipText(checkText(old), 100)
	}
	a, b := checkParts(old), checkParts(now)
	if len(a) < 2 || len(b) < 2 || a[0] != b[0] {
		return clipText(checkText(old), 60) + " -> " + clipText(checkText(now), 60)
	}
	if len(a) != len(b) {
		return argumentsText(a, b)
	}
	var out []string
	for i := range a {
		if a[i] != b[i] {
			out = append(out, clipText(a[i], 60)+" -> "+clipText(b[i], 60))
		}
	}
	return strings.Join(out, ", ")
}

// argumentsText tells which arguments only one of two calls has.
func argumentsText(a, b []string) string {
	var out []string
	if s := surplus(plain(a), plain(b)); s != "" {
		out = append(out, "without "+clipText(plainSource(s), 60))
	}
	if s := surplus(plain(b), plain(a)); s != "" {
		out = append(out, "with "+clipText(plainSource(s), 60))
	}
	return a[0] + " " + strings.Join(out, ", ")
}

// checkParts splits a call into its name and arguments, and "len(x) == 2" into
// its sides; other checks are one part.
func checkParts(s string) []string {
	if head, state, ok := strings.Cut(s, " against {"); ok {
		return append([]string{head}, splitFields(strings.TrimSuffix(state, "}"))...)
	}
	if left, right, ok := strings.Cut(s, " == "); ok && !strings.HasSuffix(s, ")") {
		return []string{left, right}
	}
	if i := strings.IndexByte(s, '('); i > 0 && letterOrDigit(s[i-1]) && strings.HasSuffix(s, ")") {
		return append([]string{s[:i]}, splitFields(s[i+1:len(s)-1])...)
	}
	return []string{s}
}

// checkText words a check that shows an object's address.
func checkText(s string) string {
	if rest, ok := strings.CutPrefix(s, "___check_type_id("); ok {
		src, typ := idCheck(rest)
		if typ == "" { // older releases show its address alone
			return "the type of " + plainSource(src) + " is checked"
		}
		return "the type of " + plainSource(src) + " is " + typ
	}
	if rest, ok := strings.CutPrefix(s, "___check_obj_id("); ok {
		if src, typ := idCheck(rest); typ != "" {
			return plainSource(src) + " is this very object (" + typ + ")"
		}
	}
	return s
}

func (t *textWriter) graphs(r *Report) {
	if len(r.Graphs) == 0 {
		return
	}
	t.section(fmt.Sprintf("GRAPHS: %d, %s", len(r.Graphs), count(r.Totals.Ops, "op")))
	before := ""
	owners := graphOwners(r)
	for i, g := range r.Graphs {
		if i == rows {
			t.more(len(r.Graphs)-rows, "graph")
			return
		}
		var stages []string
		for _, s := range g.Stages {
			stages = append(stages, s.Name)
		}
		stages = distinct(stages)
		name := ""
		if fr := owners[g]; fr != nil {
			name = frameTitle(fr) + ": "
		}
		captured := count(len(g.Ops), "op") + " [" + clipText(strings.Join(g.Ops, ", "), 80) + "]"
		if g.LoadNodes == nil {
			captured = "as captured not recorded"
		}
		t.line("  [%s] %s%s", idText(g.ID), name, captured)
		if all := strings.Join(stages, ", "); all != before { // the same as above is not said again
			t.line("      stages: %s", all)
			before = all
		}
	}
}

// graphOwners tells which frame each graph was captured from.
func graphOwners(r *Report) map[*Graph]*Frame {
	out := map[*Graph]*Frame{}
	for _, fr := range r.Frames {
		for _, c := range fr.Compiles {
			if c.Graph != nil {
				out[c.Graph] = fr
			}
		}
	}
	return out
}

func (t *textWriter) kernels(r *Report) {
	if len(r.Kernels) == 0 {
		return
	}
	t.section(fmt.Sprintf("KERNELS: %d generated, %d extern", r.Totals.Kernels, len(r.Kernels)-r.Totals.Kernels))
	list, total := dearestKernels(r)
	for i, k := range list {
		if i == rows {
			t.more(len(list)-rows, "kernel")
			return
		}
		row := fmt.Sprintf("  [%s] %-44s %-6s ", idText(k.ID), clipText(k.Name, 44), k.Lang)
		if total > 0 {
			row += k.timeText(total) + "  "
		}
		row += clipText(strings.Join(k.Ops, "+"), 50)
		if from := t.names.list(k.Pos); from != "" {
			row += "  from " + clipText(from, 60)
		}
		t.line("%s", row)
	}
}

func (t *textWriter) fusion(r *Report) {
	if len(r.Fusions) == 0 {
		return
	}
	t.section("FUSION")
	for i, f := range r.Fusions {
		if i == rows {
			t.more(len(r.Fusions)-rows, "graph")
			return
		}
		fused := 0
		reasons := map[string]int{}
		for _, s := range f.Steps {
			if s.Fused {
				fused++
			} else {
				reasons[reasonClass(s.Reason)]++
			}
		}
		t.line("  [%s] %s, %d after fusion: %s, %s", idText(f.ID), count(f.Before, "node"), f.After, count(fused, "fusion"), count(len(f.Steps)-fused, "refusal"))
		for j, k := range byCount(reasons) {
			if j == 4 {
				break
			}
			t.line("      %3d x %s", reasons[k], k)
		}
	}
}

// reasonClass drops the numbers of a refusal's reason.
func reasonClass(s string) string {
	for i := 9; i < len(s); i++ {
		if s[i] == '(' || s[i] >= '0' && s[i] <= '9' && s[i-1] == ' ' { // node1 is a word
			s = s[:i]
		}
	}
	return strings.TrimRight(s, " :,")
}

func byCount(m map[string]int) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	sort.Slice(keys, func(i, j int) bool {
		if m[keys[i]] != m[keys[j]] {
			return m[keys[i]] > m[keys[j]]
		}
		return keys[i] < keys[j]
	})
	return keys
}

func (t *textWriter) time(r *Report) {
	if len(r.PhaseSums) == 0 {
		return
	}
	total := "unknown" // no compile has ended
	if r.Totals.CompileSeconds > 0 {
		total = duration(r.Totals.CompileSeconds)
	}
	t.section("COMPILE TIME: " + total)
	t.line("  %-44s %7s %10s %10s", "phase", "times", "total s", "self s")
	for i, p := range r.PhaseSums {
		if i == rows {
			t.more(len(r.PhaseSums)-rows, "phase")
			return
		}
		t.line("  %-44s %7d %10.3f %10.3f", clipText(p.Name, 44), p.Count, p.Seconds, p.Self)
	}
}

func (t *textWriter) caches(r *Report) {
	if len(r.Caches) == 0 {
		return
	}
	n := map[string]int{}
	for _, c := range r.Caches {
		n[c.Cache+" "+c.Hit]++
	}
	var parts []string
	for _, k := range byCount(n) {
		parts = append(parts, fmt.Sprintf("%s %d", k, n[k]))
	}
	t.section("CACHES: " + strings.Join(parts, ", "))
	bypassed := map[string]int{}
	for _, c := range r.Caches {
		if c.Hit == "bypass" && c.Reason != "" {
			bypassed[c.Cache+" bypassed: "+clipText(c.Reason, 100)]++
		}
	}
	for i, why := range byCount(bypassed) {
		if i == rows {
			t.more(len(bypassed)-rows, "reason")
			return
		}
		t.line("  %d x %s", bypassed[why], why)
	}
}

func (t *textWriter) symbols(r *Report) {
	if len(r.Symbols) == 0 {
		return
	}
	t.section(fmt.Sprintf("DYNAMIC SIZES: %d", len(r.Symbols)))
	for i, s := range r.Symbols {
		if i == rows {
			t.more(len(r.Symbols)-rows, "symbol")
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
		t.line("  [%s] %s in %s%s  %s", idText(s.ID), name, s.Range, end, t.names.place(s.Pos))
	}
}

func (t *textWriter) ranks(r *Report) {
	if len(r.Ranks) == 0 {
		return
	}
	t.section(fmt.Sprintf("RANKS: %d", len(r.Ranks)))
	for i, d := range r.Divergence {
		if i == 5 {
			t.line("  ... and %d more rank pairs differ", len(r.Divergence)-5)
			break
		}
		t.line("  first difference: %s", d)
	}
	for _, k := range r.Ranks {
		n := &k.Totals
		t.line("  rank %d: %s, %s, %s, %s, %s%s", k.Rank, count(n.Frames, "frame"), count(n.Graphs, "graph"), count(n.Breaks, "break"), count(n.Recompiles, "recompile"), seconds(n.CompileSeconds), cacheWords(k.Caches))
		for i, d := range k.Diverged {
			if i == 5 {
				t.line("      ... and %d more", len(k.Diverged)-5)
				break
			}
			t.line("      differs: %s", d)
		}
	}
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

// announced is the first line of a remark, with the next where it only
// announces that.
func announced(text string) string {
	if strings.HasPrefix(text, "[") || strings.HasPrefix(text, "{") {
		return oneLine(text)
	}
	head, rest, _ := strings.Cut(strings.TrimLeft(text, "\n "), "\n")
	if strings.HasSuffix(strings.TrimSpace(head), ":") {
		head += " " + firstLine(rest)
	}
	return head
}

func (t *textWriter) notes(r *Report) {
	n := map[string]int{}
	said := map[string]map[string]int{} // by kind
	for _, s := range r.Side {
		if said[s.Kind] == nil {
			said[s.Kind] = map[string]int{}
		}
		n[s.Kind]++
		said[s.Kind][clipText(announced(s.Text), 160)]++
	}
	if len(n) == 0 {
		return
	}
	t.section("REMARKS")
	for i, kind := range byCount(n) {
		if i == rows {
			t.more(len(n)-rows, "kind")
			return
		}
		t.remarks(kind, said[kind])
	}
}

// remarksEach is how many different remarks of a kind are listed.
const remarksEach = 3

// remarks lists those of one kind, each text once.
func (t *textWriter) remarks(kind string, said map[string]int) {
	left := 0
	for i, text := range byCount(said) {
		if i < remarksEach {
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
