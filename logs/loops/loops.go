// Package loops reads what Inductor's scheduler prints of its nodes before and after fusion
// (TORCH_LOGS=ir_pre_fusion,ir_post_fusion): what each reads and writes, at which addresses and
// in which loops, and how large the buffers are.
//
// It imports nothing of ours. Open this file first, then text.go, which cuts the log's forms.
package loops

import "strings"

// Program is the nodes of one schedule.
type Program struct {
	Nodes   map[string]*Node
	Buffers map[string]*Buffer
	writers map[string]string
}

// Writer is the node that writes a buffer, "" where none is known.
func (p *Program) Writer(buffer string) string { return p.writers[buffer] }

// Node is one node of the scheduler.
type Node struct {
	Name     string
	Ranges   string // its loops as printed: ([2, 4], [16]); "" where it has none
	Accesses []Access
}

// Access is one read or write of a node.
type Access struct {
	Buffer string
	Write  bool
	Index  string // 64*c0 + c1; "" for a whole buffer
	Loops  []Loop
	Whole  bool // StarDep: an unknown part of the buffer, at most all of it
	Mode   string
}

// Loop is one variable of an access's index.
type Loop struct {
	Name string
	Size int64 // -1: not a number
}

// Buffer is what the nodes read and write.
type Buffer struct {
	Bytes int64 // -1: unknown
	Item  int64 // bytes of an element, 0: unknown
	// Users are the nodes that read it, in the order of the log; Known says that they were printed.
	Users []string
	Known bool
	// Output says that it is a result of the graph, which is written in any case.
	Output bool
}

// maxNodes bounds what one log of a schedule is taken to hold.
const maxNodes = 1 << 16

// Parse reads the text of a schedule, nil where it holds no node.
func Parse(text string) *Program {
	p := &parser{program: Program{Nodes: map[string]*Node{}, Buffers: map[string]*Buffer{}, writers: map[string]string{}}}
	p.read(text)
	if len(p.program.Nodes) == 0 {
		return nil
	}
	return &p.program
}

// Size is roughly what the program holds in memory.
func (p *Program) Size() int {
	n := 0
	for _, x := range p.Nodes {
		n += 160
		for _, a := range x.Accesses {
			n += 120 + len(a.Index) + 24*len(a.Loops)
		}
	}
	for _, b := range p.Buffers {
		n += 96 + 16*len(b.Users)
	}
	return n
}

// Bytes are how many of the buffer's bytes the access touches at most, -1 where that is not
// known: an index that is read from memory, or a size that is not a number.
func (p *Program) Bytes(a *Access) int64 {
	b := p.Buffers[a.Buffer]
	if b == nil || b.Bytes < 0 || b.Item <= 0 {
		return -1
	}
	if a.Whole {
		return b.Bytes
	}
	if indirect(a.Index) {
		return -1
	}
	n := b.Item
	for _, l := range a.Loops {
		if !mentions(a.Index, l.Name) {
			continue
		}
		if l.Size < 0 {
			return -1
		}
		if n *= max(1, l.Size); n > b.Bytes {
			return b.Bytes
		}
	}
	return min(n, b.Bytes)
}

// indirect says whether an index depends on values in memory.
func indirect(index string) bool {
	return strings.Contains(index, "tmp") || strings.Contains(index, "indirect")
}

// mentions says whether an index uses a variable.
func mentions(index, name string) bool {
	for at := 0; ; {
		i := strings.Index(index[at:], name)
		if i < 0 {
			return false
		}
		from, to := at+i, at+i+len(name)
		if (from == 0 || !word(index[from-1])) && (to == len(index) || !word(index[to])) {
			return true
		}
		at = to
	}
}

func word(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}
