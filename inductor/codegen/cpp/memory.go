package cpp

import (
	"fmt"
	"slices"
	"strings"

	"tcdbg/inductor/ir"
	"tcdbg/inductor/sched"
	"tcdbg/ops/sym"
)

// memory is where a kernel's elements lie, as C text: pointers, rows of the thread, sizes
// and addresses.
type memory struct {
	env   *Env
	k     *sched.Kernel
	names []string     // C text of each loop variable
	local []*ir.Buffer // the kernel's own table of pointers
	slots []int        // positions of local in the program's table
	kept  []*ir.Buffer // buffers that are rows of the thread
}

// size is a loop bound or stride as C text.
func (m *memory) size(x sym.Int) string {
	if v, ok := x.IsConst(); ok {
		return fmt.Sprint(v)
	}
	return fmt.Sprintf("S[%d]", m.env.Size(x))
}

// number is a stride or an offset as C text, in which alike kernels may differ.
func (m *memory) number(x sym.Int) string {
	if v, ok := x.IsConst(); ok && v > 1 {
		return marked(v)
	}
	return m.size(x)
}

// address is the C text of an index in which loop k is called name(k).
func (m *memory) address(x ir.Index) string {
	var parts []string
	for k, c := range x.Coef {
		v, isConst := c.IsConst()
		switch {
		case isConst && v == 0 || m.names[k] == "0":
		case isConst && v == 1:
			parts = append(parts, m.names[k])
		default:
			name := m.names[k]
			if strings.ContainsAny(name, " +") {
				name = "(" + name + ")"
			}
			parts = append(parts, m.number(c)+" * "+name)
		}
	}
	if !sym.Is(x.Off, 0) || len(parts) == 0 {
		parts = append(parts, m.number(x.Off))
	}
	return strings.Join(parts, " + ")
}

func (m *memory) ptr(b *ir.Buffer) string { return fmt.Sprintf("p%d", m.slot(b)) }

// slot is the position of a buffer in the kernel's own table.
func (m *memory) slot(b *ir.Buffer) int {
	i := slices.Index(m.local, b)
	if i < 0 {
		i = len(m.local)
		m.local = append(m.local, b)
		m.slots = append(m.slots, m.env.Slot(b))
	}
	return i
}

func (m *memory) row(b *ir.Buffer) string {
	i := slices.Index(m.kept, b)
	if i < 0 {
		i = len(m.kept)
		m.kept = append(m.kept, b)
	}
	return fmt.Sprintf("row%d", i)
}

func (m *memory) own(b *ir.Buffer) bool { _, ok := m.k.Place[b]; return ok }

func (m *memory) contiguous(x ir.Index) bool { return sym.Is(x.Coef[m.k.Vec], 1) }

func (m *memory) usesInner(x ir.Index) bool {
	for k := m.k.Outer; k < len(x.Coef); k++ {
		if x.Uses(k) {
			return true
		}
	}
	return false
}
