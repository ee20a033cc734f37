package ops

import (
	"strings"

	"tcdbg/ops/sym"
)

// This file holds einsum.

func einsumRow() *Op {
	return composite(Einsum, "einsum", "(str equation, Tensor[] operands) -> Tensor", TagNotMethod, einsum).and(TagComplex)
}

// term is one operand of einsum with the labels of its dimensions.
type term struct {
	x      Value
	labels []byte
}

func (t term) size(l byte) (sym.Int, bool) {
	i := indexByte(t.labels, l)
	if i < 0 {
		return symOne, false
	}
	return t.x.TensorMeta().Shape[i], true
}

func indexByte(s []byte, c byte) int {
	for i, x := range s {
		if x == c {
			return i
		}
	}
	return -1
}

func einsum(b B, c *Call) Value {
	a := In[EinsumArgs](c)
	terms, out := parseEinsum(a.Equation.Str(), a.Operands.Values())
	for i := range terms {
		terms[i] = diagonals(b, terms[i])
	}
	acc := terms[0]
	for i, t := range terms[1:] {
		later := append([]byte{}, out...)
		for _, u := range terms[i+2:] {
			later = append(later, u.labels...)
		}
		acc = contract(b, acc, t, later)
	}
	return project(b, acc, out)
}

// parseEinsum expands ellipses to labels of their own and finds the output.
func parseEinsum(eq string, xs []Value) (terms []term, out []byte) {
	eq = strings.ReplaceAll(eq, " ", "")
	lhs, rhs, explicit := strings.Cut(eq, "->")
	parts := strings.Split(lhs, ",")
	if len(parts) != len(xs) {
		refuse(Errorf("einsum(): more operands were provided than specified in the equation"))
	}
	wide := 0
	for i, p := range parts {
		if strings.Contains(p, "...") {
			wide = max(wide, len(xs[i].TensorMeta().Shape)-(len(p)-3))
		}
	}
	dots := func(n int) string { // ellipsis dimensions count from the right
		var sb strings.Builder
		for i := wide - n; i < wide; i++ {
			sb.WriteByte(byte(1 + i))
		}
		return sb.String()
	}
	count := map[byte]int{}
	for i, p := range parts {
		rank := len(xs[i].TensorMeta().Shape)
		p = strings.Replace(p, "...", dots(rank-(len(p)-3)), 1)
		if len(p) != rank {
			refuse(Errorf(
				"einsum(): the number of subscripts in the equation (%d) does not match the number of dimensions (%d) for operand %d and no ellipsis was given",
				len(p), rank, i,
			))
		}
		for j := range len(p) {
			count[p[j]]++
		}
		terms = append(terms, term{xs[i], []byte(p)})
	}
	if explicit {
		rhs = strings.Replace(rhs, "...", dots(wide), 1)
		for i := range len(rhs) {
			if count[rhs[i]] == 0 {
				refuse(Errorf("einsum(): output subscript %c does not appear in the equation for any input operand", rhs[i]))
			}
		}
		return terms, []byte(rhs)
	}
	out = []byte(dots(wide))
	for l := byte('A'); l <= 'z'; l++ {
		if count[l] == 1 {
			out = append(out, l)
		}
	}
	return terms, out
}

// diagonals replaces repeated labels of one operand by diagonals.
func diagonals(b B, t term) term {
	for i := 0; i < len(t.labels); i++ {
		j := indexByte(t.labels[i+1:], t.labels[i])
		if j < 0 {
			continue
		}
		l := t.labels[i]
		if shape := t.x.TensorMeta().Shape; sym.Ne(shape[i], shape[i+1+j]) {
			refuse(Errorf(
				"einsum(): subscript %c is repeated for an operand but the sizes don't match, %s != %s", l,
				shape[i+1+j], shape[i],
			))
		}
		t.x = b.Emit(Diagonal, t.x, 0, i, i+1+j)
		t.labels = append(without(without(t.labels, i+1+j), i), l)
		i = -1
	}
	return t
}

// sumAlone sums over the labels of x that neither y nor what comes later has.
func sumAlone(b B, x, y term, later []byte) term {
	return keepOnly(b, x, append(append([]byte{}, later...), y.labels...))
}

// keepOnly sums over the labels that are not among kept.
func keepOnly(b B, t term, kept []byte) term {
	for i := len(t.labels) - 1; i >= 0; i-- {
		if indexByte(kept, t.labels[i]) < 0 {
			t.x = b.sum(t.x, false, i)
			t.labels = without(t.labels, i)
		}
	}
	return t
}

// contract multiplies two operands; labels that are not needed later are
// summed, by a batched matrix product.
func contract(b B, x, y term, later []byte) term {
	x, y = sumAlone(b, x, y, later), sumAlone(b, y, x, later)
	var batch, left, right, summed []byte
	for _, l := range x.labels {
		inY, needed := indexByte(y.labels, l) >= 0, indexByte(later, l) >= 0
		switch {
		case inY && needed:
			batch = append(batch, l)
		case inY:
			summed = append(summed, l)
		default:
			left = append(left, l)
		}
	}
	for _, l := range y.labels {
		if indexByte(x.labels, l) < 0 {
			right = append(right, l)
		}
	}
	// A size of 1 broadcasts against the other operand's.
	full := func(l byte) sym.Int {
		s, ok := x.size(l)
		if t, both := y.size(l); !ok || both && sym.Is(s, 1) {
			return t
		}
		return s
	}
	sizes := func(ls []byte) (out []sym.Int) {
		for _, l := range ls {
			out = append(out, full(l))
		}
		return out
	}
	labels := append(append(append([]byte{}, batch...), left...), right...)
	if len(summed) == 0 {
		xs, ys := arrange(b, x, batch, left, nil, full), arrange(b, y, batch, nil, right, full)
		for range right {
			xs = b.unsqueeze(xs, len(xs.TensorMeta().Shape))
		}
		for range left {
			ys = b.unsqueeze(ys, len(batch))
		}
		return term{b.mul(xs, ys), labels}
	}
	n := numel(sizes(batch))
	xs := arrange(b, x, batch, left, summed, full)
	ys := arrange(b, y, batch, summed, right, full)
	p := b.Emit(
		Bmm, b.reshape(xs, n, numel(sizes(left)), numel(sizes(summed))),
		b.reshape(ys, n, numel(sizes(summed)), numel(sizes(right))),
	)
	return term{b.reshape(p, sizes(labels)...), labels}
}

// arrange permutes an operand to the labels of three groups and expands ones.
func arrange(b B, t term, g1, g2, g3 []byte, full func(byte) sym.Int) Value {
	var order []int
	var shape []sym.Int
	for _, g := range [][]byte{g1, g2, g3} {
		for _, l := range g {
			order = append(order, indexByte(t.labels, l))
			shape = append(shape, full(l))
		}
	}
	x := t.x
	if len(order) > 0 {
		x = b.permute(x, order...)
	}
	return expandIf(b, x, shape)
}

// project sums what the output lacks and orders the rest.
func project(b B, t term, out []byte) Value {
	t = keepOnly(b, t, out)
	order := make([]int, len(out))
	for i, l := range out {
		order[i] = indexByte(t.labels, l)
	}
	if len(order) < 2 {
		return t.x
	}
	return b.permute(t.x, order...)
}
