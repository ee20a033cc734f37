package triton

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tcdbg/inductor/ir"
	"tcdbg/ops"
	"tcdbg/ops/sym"
)

// This file writes where elements lie: indices, addresses, pointers and the masks
// under which they may be used.

// wideIndex is from how many elements on an address needs 64 bits.
const wideIndex = 1 << 31

// rowIndex names the loops of the rows, each program's block of them.
func (e *emitter) rowIndex() {
	at, column := "tl.program_id(0)", ""
	if e.large() {
		at += ".to(tl.int64)"
	}
	if e.form != pointwise {
		column = "[:, None]"
	}
	e.p("xindex = %s * XBLOCK + tl.arange(0, XBLOCK)%s", at, column)
	e.p("xmask = xindex < xnumel")
	e.decode("xindex", 0, e.outer)
}

// large reports whether some buffer has more elements than 32 bits count.
func (e *emitter) large() bool {
	for i := range e.k.Steps {
		for j := range e.k.Steps[i].Body {
			if b := e.k.Steps[i].Body[j].Buf; b != nil && ir.HintOf(b.Span()) >= wideIndex {
				return true
			}
		}
	}
	return false
}

// decode names the loops first..end from a linear index.
func (e *emitter) decode(linear string, first, end int) {
	for k := end - 1; k >= first; k-- {
		if k == first {
			e.p("%s = %s", e.names[k], linear)
			return
		}
		size := e.size(e.k.Loops[k].Size)
		e.p("%s = %s %% %s", e.names[k], linear, size)
		linear = fmt.Sprintf("(%s // %s)", linear, size)
	}
}

// size is a size as text; what is not known becomes an argument.
func (e *emitter) size(x sym.Int) string {
	if n, ok := x.IsConst(); ok {
		return strconv.FormatInt(n, 10)
	}
	i := slices.IndexFunc(e.sizes, func(y sym.Int) bool { return sym.Same(x, y) })
	if i < 0 {
		i = len(e.sizes)
		e.sizes = append(e.sizes, x)
	}
	return fmt.Sprintf("ks%d", i)
}

func (e *emitter) address(x ir.Index) string { return e.addressOver(x, e.names) }

// addressOver is an address over loops of the given names.
func (e *emitter) addressOver(x ir.Index, names []string) string {
	var parts []string
	for k, c := range x.Coef {
		if !x.Uses(k) {
			continue
		}
		name := names[k]
		if !sym.Is(c, 1) {
			name = e.size(c) + " * " + name
		}
		parts = append(parts, name)
	}
	if !sym.Is(x.Off, 0) || len(parts) == 0 {
		parts = append(parts, e.size(x.Off))
	}
	return strings.Join(parts, " + ")
}

// uses reports whether an address depends on the loops of the rows, on those of
// the columns.
func (e *emitter) uses(x ir.Index) (rows, columns bool) {
	for k := range x.Coef {
		rows = rows || k < e.outer && x.Uses(k)
		columns = columns || k >= e.outer && x.Uses(k)
	}
	return rows, columns
}

// shape is that of a block of rows, with its columns where it is wide.
func (e *emitter) shape(wide bool) string {
	switch {
	case e.form == pointwise:
		return "[XBLOCK]"
	case wide:
		return "[" + e.block[0] + ", " + e.block[1] + "]"
	}
	return "[" + e.block[0] + ", 1]"
}

// mask is the condition under which an iteration is one of the loops'.
func (e *emitter) mask(wide bool) string {
	if wide && e.form != pointwise {
		return e.masks[0] + " & " + e.masks[1]
	}
	return e.masks[0]
}

// place is a pointer and the mask under which it may be used; full ones have one
// element for each iteration, whatever the address depends on.
func (e *emitter) place(b *ir.Buffer, at string, x ir.Index, full, wide bool) (ptr, mask string) {
	ptr = fmt.Sprintf("%s + (%s)", e.ptr(b), at)
	if full {
		return fmt.Sprintf("tl.broadcast_to(%s, %s)", ptr, e.shape(wide)), e.mask(wide)
	}
	switch rows, columns := e.uses(x); {
	case rows && columns:
		return ptr, e.mask(true)
	case columns:
		return ptr, e.masks[1]
	case rows:
		return ptr, e.masks[0]
	}
	return ptr, "" // a single element
}

func (e *emitter) load(i, j int) string {
	v := &e.k.Steps[i].Body[j]
	full, at := false, e.address(v.Index)
	if v.Op == ir.LoadAt {
		full, at = true, at+" + "+e.arg(i, v, 0)
	}
	ptr, mask := e.place(v.Buf, at, v.Index, full, e.wide(i, j))
	return e.loaded(v.Buf.DType, v.DType, ptr, mask)
}

// loaded reads elements of type d into registers of another.
func (e *emitter) loaded(d, register ops.DType, ptr, mask string) string {
	text := fmt.Sprintf("tl.load(%s, %s, other=0)", ptr, mask)
	if mask == "" {
		text = fmt.Sprintf("tl.load(%s)", ptr)
	}
	switch {
	case d == ops.Bool:
		text += ".to(tl.int1)"
	case ir.Narrow(d):
		text += ".to(" + typeName(register) + ")"
	}
	return text
}

func (e *emitter) ptr(b *ir.Buffer) string {
	i := slices.Index(e.bufs, b)
	if i < 0 {
		i = len(e.bufs)
		e.bufs = append(e.bufs, b)
	}
	return e.pointer(i)
}

// pointer is the argument of a buffer.
func (e *emitter) pointer(i int) string {
	if _, own := e.k.Place[e.bufs[i]]; own {
		return fmt.Sprintf("out_ptr%d", i)
	}
	return fmt.Sprintf("in_ptr%d", i)
}

// position is an address itself.
func (e *emitter) position(v *ir.Value) string {
	if rows, columns := e.uses(v.Index); rows || columns {
		return fmt.Sprintf("(%s).to(tl.int64)", e.address(v.Index))
	}
	return fmt.Sprintf("tl.full(%s, %s, tl.int64)", e.one(), e.address(v.Index))
}
