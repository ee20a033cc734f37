package fx

import (
	"slices"
	"strings"
)

// This file reads print_tabular's table and the "graph():" listing.

var opcodes = map[string]bool{
	"placeholder": true, "get_attr": true, "call_function": true, "call_method": true, "call_module": true, "output": true,
}

// IsTableHead says whether a line is the head of print_tabular's table.
func IsTableHead(line string) bool {
	f := strings.Fields(line)
	return len(f) >= 4 && f[0] == "opcode" && f[1] == "name" && f[2] == "target" && f[3] == "args"
}

func parseTable(text string) *Graph {
	var g *Graph
	var cols []int
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimRight(line, "\r ")
		switch {
		case g == nil:
			if IsTableHead(line) {
				g = &Graph{}
				cols = headColumns(line)
			}
		case strings.HasPrefix(line, "---"):
			cols = ruleColumns(line)
		default:
			cells := cutColumns(line, cols)
			if len(cells) < 3 || !opcodes[cells[0]] || len(g.Nodes) >= maxNodes {
				return g
			}
			g.Nodes = append(g.Nodes, tableNode(g, cells))
		}
	}
	return g
}

func tableNode(g *Graph, cells []string) Node {
	n := Node{Op: cells[0], Name: cells[1], Target: cleanTarget(cells[2])}
	if len(cells) > 3 {
		n.Text = cells[3]
	}
	known := map[string]bool{}
	for i := range g.Nodes {
		known[g.Nodes[i].Name] = true
	}
	n.Args = (&codeParser{}).names(&class{known: known}, n.Text)
	return n
}

// cleanTarget turns "<built-in function add>" and
// "<built-in method abs of type object at 0x7f..>" into the function's name.
func cleanTarget(s string) string {
	if !strings.HasPrefix(s, "<") {
		return s
	}
	f := strings.Fields(strings.Trim(s, "<>"))
	for i, w := range f {
		if (w == "function" || w == "method") && i+1 < len(f) {
			return f[i+1]
		}
	}
	return s
}

func headColumns(line string) []int {
	var cols []int
	for i := 0; i < len(line); i++ {
		if line[i] != ' ' && (i == 0 || line[i-1] == ' ') {
			cols = append(cols, i)
		}
	}
	return cols
}

func ruleColumns(line string) []int {
	var cols []int
	for i := 0; i < len(line); i++ {
		if line[i] == '-' && (i == 0 || line[i-1] == ' ') {
			cols = append(cols, i)
		}
	}
	return cols
}

// cutColumns cuts a row at columns. Pasted tables may be shifted, so a column
// that does not begin after a space is looked for by double spaces.
func cutColumns(line string, cols []int) []string {
	shifted := false
	for _, c := range cols[min(1, len(cols)):] {
		if c > 0 && c < len(line) && line[c-1] != ' ' {
			shifted = true
		}
	}
	var out []string
	if shifted || len(cols) < 4 {
		for cell := range strings.SplitSeq(line, "  ") {
			if cell = strings.TrimSpace(cell); cell != "" {
				out = append(out, cell)
			}
		}
		return out
	}
	for i, c := range cols {
		end := len(line)
		if i+1 < len(cols) {
			end = min(cols[i+1], len(line))
		}
		if c >= len(line) {
			break
		}
		out = append(out, strings.TrimSpace(line[c:end]))
	}
	return out
}

// parseListing reads "%add : [num_users=1] = call_function[target=T](args = (%x, 1), kwargs = {})".
func parseListing(text string) *Graph {
	g := &Graph{}
	for line := range strings.SplitSeq(text, "\n") {
		if n, ok := ParseListingLine(line); ok && len(g.Nodes) < maxNodes {
			g.Nodes = append(g.Nodes, n)
		}
	}
	return g
}

// ParseListingLine reads one line of a listing, after an optional "#".
func ParseListingLine(line string) (Node, bool) {
	line = strings.TrimLeft(line, "# \t")
	if rest, ok := strings.CutPrefix(line, "return "); ok {
		return Node{Op: "output", Name: "output", Target: "output", Text: rest, Args: percentNames(rest)},
			strings.HasPrefix(rest, "%") || strings.HasPrefix(rest, "(")
	}
	if !strings.HasPrefix(line, "%") {
		return Node{}, false
	}
	lhs, rhs, ok := strings.Cut(line, " = ")
	if !ok {
		return Node{}, false
	}
	name, typ, _ := strings.Cut(lhs[1:], " : ")
	n := Node{Name: strings.TrimSpace(name)}
	if i := strings.IndexByte(typ, '"'); i >= 0 {
		if j := strings.LastIndexByte(typ, '"'); j > i {
			n.Type = typ[i+1 : j]
		}
	}
	op, rest, ok := strings.Cut(rhs, "[target=")
	if !ok {
		return Node{}, false
	}
	n.Op = strings.ToLower(op)
	target, args, _ := strings.Cut(rest, "]")
	n.Target, n.Text = target, args
	n.Args = percentNames(args)
	return n, opcodes[n.Op]
}

func percentNames(s string) []string {
	var out []string
	for i := 0; i < len(s); i++ {
		if s[i] != '%' {
			continue
		}
		if name := headName(s[i+1:]); name != "" && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}
