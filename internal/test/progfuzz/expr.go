package progfuzz

import "fmt"

// This file writes expressions. Values stay small (remainders, bounded
// functions), so that programs run for many steps without overflow.

// tensor is an expression of type *torch.Tensor whose last dimension is 3 and
// that broadcasts with the others.
func (g *generator) tensor(s *variables) string {
	x := pickOf(g, s.tensors...)
	switch g.r.Intn(16) {
	case 0:
		return fmt.Sprintf("%s.Add(%s)", x, pickOf(g, s.tensors...))
	case 1:
		return fmt.Sprintf("%s.Mul(%s)", x, g.smallInt(s))
	case 2:
		return fmt.Sprintf("%s.Sub(%s.Tanh(), kw.Alpha(%s))", x, pickOf(g, s.tensors...), g.smallInt(s))
	case 3:
		return fmt.Sprintf("%s.Add(%s.t)", x, g.box(s))
	case 4:
		return fmt.Sprintf("%s.Mul(%s.Mean())", x, pickOf(g, s.tensors...))
	case 5:
		return fmt.Sprintf("%s.Sub(%s.Mean(kw.Dim(-2)))", x, x)
	case 6:
		return fmt.Sprintf("torch.Maximum(%s, %s)", x, pickOf(g, s.tensors...))
	case 7:
		return fmt.Sprintf("%s.Select(-2, 0).Add(%s)", x, x)
	case 8:
		return fmt.Sprintf("%s.Reshape(-1).Reshape(-1, %s.Size(-1))", x, x)
	case 9:
		return fmt.Sprintf("%s.Add(gt)", x)
	case 10:
		return fmt.Sprintf("%s.Mul(%s.s)", x, g.box(s))
	case 11:
		return x
	}
	return fmt.Sprintf("%s.%s()", x, pickOf(g, "Sin", "Cos", "Tanh", "Neg", "Relu", "Sigmoid", "Abs"))
}

// view is an expression that shares memory with a tensor.
func (g *generator) view(s *variables) string {
	x := pickOf(g, s.tensors...)
	return pickOf(g, x+".Select(-2, 0)", x+".Narrow(-2, 0, 1)", x, x+".T().T()", x+".Reshape(-1, 3)", x+".Unsqueeze(0).Squeeze(0)")
}

// int is an expression of type int.
func (g *generator) int(s *variables) string {
	n := pickOf(g, s.ints...)
	switch g.r.Intn(18) {
	case 0:
		return fmt.Sprintf("(%s+%d)", n, g.r.Intn(3))
	case 1:
		return fmt.Sprintf("(%s*2)%%7", n)
	case 2:
		return fmt.Sprintf("(%s-%s)", n, pickOf(g, s.ints...))
	case 3:
		return fmt.Sprintf("len(%s)", g.slice(s))
	case 4:
		return fmt.Sprintf("pick(%s, %s)", g.slice(s), n)
	case 5:
		return fmt.Sprintf("%s.n", g.box(s))
	case 6:
		return fmt.Sprintf("%s.Sum()", g.box(s))
	case 7:
		return fmt.Sprintf("total(%s, %s, %d)", n, pickOf(g, s.ints...), g.r.Intn(4))
	case 8:
		return fmt.Sprintf("%s[%q]", pickOf(g, s.maps...), pickOf(g, "a", "b", "zz"))
	case 9:
		return fmt.Sprintf("%s.arr[mod(%s, 3)]", g.box(s), n)
	case 10:
		return fmt.Sprintf("total(%s...)", g.slice(s))
	case 11:
		return fmt.Sprintf("%s.Size(-2)", pickOf(g, s.tensors...))
	case 12:
		return fmt.Sprintf("len(%s)", pickOf(g, s.maps...))
	case 13:
		return fmt.Sprintf("int(int8(%s))", n)
	}
	return n
}

// smallInt is an int between -2 and 2.
func (g *generator) smallInt(s *variables) string {
	if g.r.Intn(3) == 0 {
		return fmt.Sprint(g.r.Intn(4) - 1)
	}
	return fmt.Sprintf("(%s)%%3", g.int(s))
}

// bool is an expression of type bool.
func (g *generator) bool(s *variables) string {
	switch g.r.Intn(13) {
	case 0:
		return fmt.Sprintf("%s.Sum().Gt(%d).Bool()", pickOf(g, s.tensors...), g.r.Intn(3))
	case 1:
		return fmt.Sprintf("%s == %s", g.box(s), g.box(s))
	case 2:
		return fmt.Sprintf("%s == %s", pickOf(g, s.tensors...), pickOf(g, s.tensors...))
	case 3:
		return fmt.Sprintf("%s.next != nil", g.box(s))
	case 4:
		return fmt.Sprintf("%s > %s && %s < 3", g.int(s), g.int(s), g.int(s))
	case 5:
		return fmt.Sprintf("any(%s) == any(%s)", g.int(s), g.int(s))
	case 6:
		return fmt.Sprintf("mod(%s, 2) == 0", g.int(s))
	case 7:
		return fmt.Sprintf("%s.arr == %s.arr", g.box(s), g.box(s))
	case 8:
		if len(s.shapes) > 0 {
			return fmt.Sprintf("%s == Shape(%s)", pickOf(g, s.shapes...), pickOf(g, g.box(s), "Lit{1, 2}"))
		}
	case 9:
		if len(s.bools) > 0 {
			return "!" + pickOf(g, s.bools...)
		}
	case 10:
		if len(s.bools) > 0 {
			return pickOf(g, s.bools...)
		}
	}
	return fmt.Sprintf("%s %s %d", g.int(s), pickOf(g, "<", ">", "==", "!=", ">="), g.r.Intn(4))
}

func (g *generator) box(s *variables) string { return pickOf(g, s.boxes...) }

func (g *generator) slice(s *variables) string { return pickOf(g, s.slices...) }
