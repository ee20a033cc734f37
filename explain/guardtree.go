package explain

import (
	"strconv"
	"strings"

	"tcdbg/logs"
)

// This file reads TREE_GUARD_MANAGER text and compares two trees.

// ScanGuards counts leaves and reads the latency without building a tree.
func ScanGuards(text string) (leaves, noise int, micros float64) {
	for line := range strings.SplitSeq(text, "\n") {
		depth, kind, _ := guardLine(line)
		switch {
		case depth >= 0 && isLeafKind(kind):
			leaves++
			if noiseKind(kind) {
				noise++
			}
		case strings.HasPrefix(line, "Guard "):
			if _, rest, ok := strings.Cut(line, "latency = "); ok {
				num, _, _ := strings.Cut(rest, " ")
				micros, _ = strconv.ParseFloat(num, 64)
			}
		}
	}
	return leaves, noise, micros
}

// guardLine takes "| | +- KIND: text" apart; depth is -1 for other lines.
func guardLine(line string) (depth int, kind, text string) {
	for strings.HasPrefix(line, "| ") {
		line = line[2:]
		depth++
	}
	rest, ok := strings.CutPrefix(line, "+- ")
	if !ok {
		return -1, "", ""
	}
	kind, text, found := strings.Cut(rest, ": ")
	if !found {
		return depth, strings.TrimSpace(strings.TrimSuffix(rest, ":")), ""
	}
	return depth, kind, text
}

// isLeafKind says whether a node is a guard: leaves are written in capitals.
func isLeafKind(kind string) bool {
	return kind != "" && strings.ToUpper(kind) == kind && strings.IndexByte(kind, ' ') < 0
}

func noiseKind(kind string) bool {
	return kind == "DIMENSION_DYNAMIC_MARKING_GUARD" || kind == "NO_HASATTR"
}

// ParseGuards builds the tree; nil when text holds none.
func ParseGuards(text string) *GuardNode {
	var root *GuardNode
	var path []*GuardNode
	count := 0
	for line := range strings.SplitSeq(text, "\n") {
		depth, kind, rest := guardLine(strings.TrimRight(line, "\r"))
		if depth < 0 {
			continue
		}
		if count++; count > 1_000_000 {
			break
		}
		n := guardNode(kind, rest)
		if root == nil {
			root = &GuardNode{Text: "RootGuardManager"}
			path = []*GuardNode{root}
			if depth == 0 && kind == "RootGuardManager" {
				continue
			}
		}
		if depth == 0 && kind == "RootGuardManager" {
			path = path[:1]
			continue
		}
		depth = min(max(depth, 1), len(path))
		parent := path[depth-1]
		if n.Source == "" {
			n.Source = parent.Source
		}
		parent.Children = append(parent.Children, n)
		path = append(path[:depth], n)
	}
	return root
}

func guardNode(kind, text string) *GuardNode {
	n := &GuardNode{Text: text}
	if isLeafKind(kind) {
		n.Kind, n.Noise = kind, noiseKind(kind)
		check, comment := cutComment(text)
		n.Text, n.Pos = check, commentPos(comment)
		n.Code = n.Pos.Code
		if strings.Contains(comment, " and (_inductor/") {
			n.Code = strings.TrimSpace(n.Code + " (bound added by the backend)")
		}
		return n
	}
	n.Text = kind
	for _, part := range SplitFields(text) {
		key, val, ok := strings.Cut(part, "=")
		if !ok {
			continue
		}
		switch key {
		case "source":
			n.Source = val
		case "accessed_by":
			n.Accessor = val
		case "type":
			n.Type = className(val)
		}
	}
	return n
}

// SplitFields splits "source=L['x'], accessed_by=F(a, b), type=T" at the commas
// outside of brackets and quotes.
func SplitFields(s string) []string {
	var out []string
	depth, start := 0, 0
	var quote byte
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"':
			quote = c
		case c == '(' || c == '[' || c == '<' || c == '{':
			depth++
		case c == ')' || c == ']' || c == '>' || c == '}':
			depth--
		case c == ',' && depth == 0:
			out = append(out, strings.TrimSpace(s[start:i]))
			start = i + 1
		}
	}
	return append(out, strings.TrimSpace(s[start:]))
}

// GuardChange is one difference between the guards of two entries.
type GuardChange struct {
	Source string
	Kind   string
	Old    string // "" when the guard is new
	New    string // "" when it is gone
	Pos    logs.Pos
}

// guardKey is what two guards share that check the same thing; text is the check
// with object addresses left out, "" where only the thing is meant.
type guardKey struct{ source, kind, text string }

// leaf is a guard with the keys that comparisons need.
type leaf struct {
	*GuardNode
	thing, same guardKey
}

func leavesOf(root *GuardNode) []leaf {
	var out []leaf
	WalkGuards(root, func(n *GuardNode) {
		if n.Text == "" { // of a relation, whose text is at its first tensor
			return
		}
		k := guardKey{source: unnumbered(n.Source), kind: n.Kind}
		out = append(out, leaf{n, k, guardKey{k.source, k.kind, unnumbered(dropAddresses(n.Text))}})
	})
	return out
}

// DiffGuards lists what differs between the trees of two entries of a frame;
// object addresses do not count.
func DiffGuards(a, b *GuardNode) []GuardChange {
	before, after := leavesOf(a), leavesOf(b)
	equal := map[guardKey]int{} // guards of a that b has not matched
	for i := range before {
		equal[before[i].same]++
	}
	kept := map[guardKey]int{}
	var fresh []leaf
	for _, n := range after {
		if equal[n.same] > 0 {
			equal[n.same]--
			kept[n.same]++
			continue
		}
		fresh = append(fresh, n)
	}
	old := map[guardKey][]*GuardNode{} // by thing, in order, without those that stayed
	var gone []*GuardNode
	for _, n := range before {
		if kept[n.same] > 0 {
			kept[n.same]--
			continue
		}
		old[n.thing] = append(old[n.thing], n.GuardNode)
		gone = append(gone, n.GuardNode)
	}
	var out []GuardChange
	replaced := map[*GuardNode]bool{}
	for _, n := range fresh {
		c := GuardChange{Source: n.Source, Kind: n.Kind, New: n.Text, Pos: n.Pos}
		if list := old[n.thing]; len(list) > 0 {
			c.Old, old[n.thing] = list[0].Text, list[1:]
			replaced[list[0]] = true
		}
		out = append(out, c)
	}
	for _, n := range gone {
		if !replaced[n] {
			out = append(out, GuardChange{Source: n.Source, Kind: n.Kind, Old: n.Text, Pos: n.Pos})
		}
	}
	return out
}

// WalkGuards calls leaf for n and all below it that are guards.
func WalkGuards(n *GuardNode, leaf func(*GuardNode)) {
	if n == nil {
		return
	}
	if n.Kind != "" {
		leaf(n)
	}
	for _, c := range n.Children {
		WalkGuards(c, leaf)
	}
}

// unnumbered drops the counter of G['__builtins_dict___2'], which each compile
// raises.
func unnumbered(s string) string {
	const name = "__builtins_dict___"
	if !strings.Contains(s, name) {
		return s
	}
	parts := strings.Split(s, name)
	for i, p := range parts[1:] {
		parts[i+1] = strings.TrimLeft(p, "0123456789")
	}
	return strings.Join(parts, name)
}

// dropAddresses replaces runs of ten and more digits, which are addresses.
func dropAddresses(s string) string {
	if !hasAddress(s) {
		return s
	}
	var out strings.Builder
	for i := 0; i < len(s); {
		j := i
		for j < len(s) && s[j] >= '0' && s[j] <= '9' {
			j++
		}
		switch {
		case j-i >= 10:
			out.WriteByte('#')
			i = j
		case j > i:
			out.WriteString(s[i:j])
			i = j
		default:
			out.WriteByte(s[i])
			i++
		}
	}
	return out.String()
}

// hasAddress says whether a check shows a run of ten and more digits.
func hasAddress(s string) bool {
	for i := 9; i < len(s); i += 10 { // a run covers one of these places
		if s[i] < '0' || s[i] > '9' {
			continue
		}
		from, to := i, i
		for from > 0 && s[from-1] >= '0' && s[from-1] <= '9' {
			from--
		}
		for to < len(s) && s[to] >= '0' && s[to] <= '9' {
			to++
		}
		if to-from >= 10 {
			return true
		}
	}
	return false
}
