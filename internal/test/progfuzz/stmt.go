package progfuzz

import "fmt"

// This file is the tables of statements.

// statement writes one statement into the scope s; nested ones get depth+1.
type statement func(g *generator, s *variables, depth int)

// maxDepth bounds the nesting of blocks.
const maxDepth = 3

// block writes n statements.
func (g *generator) block(s *variables, n, depth int) {
	for range n {
		table := simpleTable()
		if depth < maxDepth && g.r.Intn(3) == 0 {
			table = nestedTable()
		}
		table[g.r.Intn(len(table))](g, s, depth)
	}
}

// body writes a nested block and its closing brace.
func (g *generator) body(s *variables, depth int) {
	g.block(s, 1+g.r.Intn(3), depth+1)
	g.line("}")
}

// assignable is a variable of type int that may be written.
func (g *generator) assignable(s *variables) string {
	switch g.r.Intn(4) {
	case 0:
		return g.box(s) + ".n"
	case 1:
		return fmt.Sprintf("%s.arr[mod(%s, 3)]", g.box(s), g.int(s))
	}
	return pickOf(g, s.ints...)
}

// simpleTable are statements without blocks of random statements.
func simpleTable() []statement {
	return []statement{
		func(g *generator, s *variables, _ int) { g.newTensor(s, g.tensor(s)) },
		func(g *generator, s *variables, _ int) { g.newTensor(s, g.tensor(s)) },
		func(g *generator, s *variables, _ int) { g.newTensor(s, g.tensor(s)) },
		func(g *generator, s *variables, _ int) { g.line("%s = %s", pickOf(g, s.tensors...), g.tensor(s)) },
		func(g *generator, s *variables, _ int) { g.newTensor(s, g.view(s)) },
		func(g *generator, s *variables, _ int) { g.line("%s.Add_(%s)", g.view(s), pickOf(g, "0.5", "1", "gt")) },
		func(g *generator, s *variables, _ int) {
			g.line("%s.%s()", g.view(s), pickOf(g, "Sin_", "Neg_", "Tanh_"))
		},
		func(g *generator, s *variables, _ int) {
			n := g.fresh("k")
			g.line("%s := %s", n, g.int(s))
			g.line("_ = %s", n)
			s.ints = append(s.ints, n)
		},
		func(g *generator, s *variables, _ int) { g.line("%s = %s", g.assignable(s), g.int(s)) },
		func(g *generator, s *variables, _ int) { g.line("%s++", g.assignable(s)) },
		func(g *generator, s *variables, _ int) { g.line("fmt.Println(\"p\", %s, %s)", g.int(s), g.bool(s)) },
		func(g *generator, s *variables, _ int) { g.line("say(\"say\", %s)", g.int(s)) },
		func(g *generator, s *variables, _ int) {
			n := g.fresh("k")
			g.line("%s := int(%s.Mean().Item() * 4)", n, pickOf(g, s.tensors...))
			g.line("_ = %s", n)
			s.ints = append(s.ints, n)
		},
		func(g *generator, s *variables, _ int) {
			g.line("%s.t = %s", g.box(s), pickOf(g, "gt", "gt.Neg()", "gt.Mul(2)"))
		},
		func(g *generator, s *variables, _ int) { g.line("gt = gt.Add(%s.t)", g.box(s)) },
		func(g *generator, s *variables, _ int) { g.line("%s.Bump(%s)", g.box(s), g.int(s)) },
		func(g *generator, s *variables, _ int) {
			g.line("%s[%q] = %s", pickOf(g, s.maps...), pickOf(g, "a", "c"), g.int(s))
		},
		func(g *generator, s *variables, _ int) {
			g.line("delete(%s, %q)", pickOf(g, s.maps...), pickOf(g, "a", "b"))
		},
		func(g *generator, s *variables, _ int) {
			x := g.slice(s)
			g.line("if len(%s) > 1 { %s[1] = %s }", x, x, g.int(s))
		},
		func(g *generator, s *variables, _ int) {
			x := g.slice(s)
			g.line("%s = append(%s, %s)", x, x, g.int(s))
		},
		func(g *generator, s *variables, _ int) {
			n, x := g.fresh("xs"), g.slice(s)
			g.line("%s := %s", n, pickOf(g, x, x+"[:len("+x+")/2]", "append([]int{7}, "+x+"...)", "make([]int, 2, 5)", "[]int{1, 2, 3}"))
			g.line("_ = %s", n)
			s.slices = append(s.slices, n)
		},
		func(g *generator, s *variables, _ int) { g.line("copy(%s, %s)", g.slice(s), g.slice(s)) },
		func(g *generator, s *variables, _ int) {
			n, b := g.fresh("b"), g.box(s)
			g.line("%s := &Box{n: %s, t: %s.t, next: %s, xs: %s}", n, g.int(s), b, b, g.slice(s))
			g.line("_ = %s", n)
			s.boxes = append(s.boxes, n)
		},
		func(g *generator, s *variables, _ int) {
			n := g.fresh("b")
			g.line("%s := *%s", n, g.box(s))
			g.line("%s.n, %s.arr[0] = %s, 9", n, n, g.int(s))
			s.boxes = append(s.boxes, "(&"+n+")")
		},
		func(g *generator, s *variables, _ int) {
			g.line("if %s.next != nil { %s.next.n++ }", g.box(s), "gb")
		},
		func(g *generator, s *variables, _ int) {
			g.line("%s.next = %s", g.box(s), g.box(s))
		},
		func(g *generator, s *variables, _ int) {
			if g.helpers == 0 {
				return
			}
			t, n := g.fresh("t"), g.fresh("k")
			g.line("%s, %s := h%d(%s, %s, %s)", t, n, g.r.Intn(g.helpers), pickOf(g, s.tensors...), g.int(s), g.box(s))
			g.line("_, _ = %s, %s", t, n)
			s.tensors, s.ints = append(s.tensors, t), append(s.ints, n)
		},
		func(g *generator, s *variables, _ int) {
			n := g.fresh("k")
			g.line("%s := safe(%s, %s)", n, g.int(s), g.slice(s))
			g.line("_ = %s", n)
			s.ints = append(s.ints, n)
		},
		func(g *generator, s *variables, _ int) { g.line("if %s { panic(%q) }", g.bool(s), g.fresh("panic")) },
		func(g *generator, s *variables, _ int) { g.line("compiler.GraphBreak()") },
		func(g *generator, s *variables, _ int) {
			if len(s.shapes) > 0 {
				g.newTensor(s, fmt.Sprintf("%s.Apply(%s)", pickOf(g, s.shapes...), pickOf(g, s.tensors...)))
			}
		},
		func(g *generator, s *variables, _ int) {
			n := g.fresh("v")
			g.line(
				"%s := Shape(%s)", n,
				pickOf(g, g.box(s), fmt.Sprintf("Lit{%s, 1}", g.int(s)), fmt.Sprintf("&Box{n: 1, t: %s.t}", g.box(s))),
			)
			g.line("_ = %s", n)
			s.shapes = append(s.shapes, n)
		},
		func(g *generator, s *variables, _ int) {
			n := g.fresh("t")
			g.newTensor(s, fmt.Sprintf("Op(func(%s *torch.Tensor) *torch.Tensor { return %s.Add(%s) }).Twice(%s)", n, n,
				g.smallInt(s), pickOf(g, s.tensors...)))
		},
		func(g *generator, s *variables, _ int) {
			n := g.fresh("k")
			g.line("%s := (*Box).Bump", n)
			g.line("%s(%s, 1)", n, g.box(s))
		},
		func(g *generator, s *variables, _ int) {
			n, b := g.fresh("fn"), g.box(s)
			g.line("%s := %s.Bump", n, b)
			g.line("%s.n += %s(2)", g.box(s), n)
		},
		func(g *generator, s *variables, _ int) {
			n := g.fresh("st")
			g.line("var %s Stack[int]", n)
			g.line("%s.Push(%s)", n, g.int(s))
			g.line("%s.Push(2)", n)
			s.slices = append(s.slices, n+".items")
			s.ints = append(s.ints, n+".items[0]")
		},
		func(g *generator, s *variables, _ int) {
			n := g.fresh("l")
			g.line("%s := []*torch.Tensor{%s, %s}", n, pickOf(g, s.tensors...), g.tensor(s))
			g.line("_ = %s", n)
			s.tensors = append(s.tensors, n+"[0]", n+"[1]")
		},
		func(g *generator, s *variables, _ int) {
			n := g.fresh("m")
			g.line("%s := map[string]int{\"a\": %s, \"b\": 1}", n, g.int(s))
			g.line("_ = %s", n)
			s.maps = append(s.maps, n)
		},
		func(g *generator, s *variables, _ int) {
			n := g.fresh("d")
			g.line("%s := %s.Sum(kw.Dim(-2)).Data()", n, pickOf(g, s.tensors...))
			g.newTensor(s, fmt.Sprintf("torch.NewTensor([]float64{math.Floor(%s[0]), %s[1], 1}, kw.Dtype(torch.Float32))", n, n))
		},
	}
}

// newTensor declares a tensor variable.
func (g *generator) newTensor(s *variables, value string) {
	n := g.fresh("t")
	if g.grad && g.r.Intn(4) == 0 {
		value += ".Mul(gw)"
	}
	g.line("%s := %s", n, value)
	g.line("_ = %s", n)
	s.tensors = append(s.tensors, n)
}

// nestedTable are statements with blocks.
func nestedTable() []statement {
	return []statement{
		func(g *generator, s *variables, d int) { g.line("if %s {", g.bool(s)); g.body(s.inner(), d) },
		func(g *generator, s *variables, d int) {
			g.line("if %s {", g.bool(s))
			g.block(s.inner(), 1, d+1)
			g.line("} else {")
			g.body(s.inner(), d)
		},
		func(g *generator, s *variables, d int) {
			i := g.fresh("i")
			g.line("for %s := 0; %s < %d; %s++ {", i, i, 1+g.r.Intn(3), i)
			k := g.fresh("k") // a body that wrote i could run for ever
			g.line("%s := %s", k, i)
			g.line("_ = %s", k)
			g.body(s.reading(k), d)
		},
		func(g *generator, s *variables, d int) {
			i := g.fresh("i")
			g.line("for %s := range mod(%s, 4) {", i, g.int(s))
			g.line("_ = %s", i)
			g.body(s.reading(i), d)
		},
		func(g *generator, s *variables, d int) {
			i, v := g.fresh("i"), g.fresh("v")
			g.line("for %s, %s := range %s {", i, v, g.slice(s))
			g.line("if %s > 3 { break }", i)
			g.line("_ = %s", v)
			g.body(s.reading(v), d)
		},
		func(g *generator, s *variables, d int) {
			v := g.fresh("c")
			g.line("for _, %s := range %q {", v, pickOf(g, "ab", "é", "xyz"))
			g.line("_ = %s", v)
			k := g.fresh("k")
			g.line("%s := int(%s %% 4)", k, v)
			g.line("_ = %s", k)
			g.body(s.reading(k), d)
		},
		func(g *generator, s *variables, d int) {
			v := g.fresh("v")
			g.line("for %s := range count(%d) {", v, 1+g.r.Intn(3))
			g.line("if %s > %s { break }", v, g.int(s))
			g.line("_ = %s", v)
			g.body(s.reading(v), d)
		},
		func(g *generator, s *variables, d int) {
			v := g.fresh("v")
			g.line("for _, %s := range [3]int{1, %s, 2} {", v, g.int(s))
			g.line("_ = %s", v)
			g.body(s.reading(v), d)
		},
		func(g *generator, s *variables, _ int) {
			v := g.fresh("v")
			g.line("for _, %s := range %s { gi += mod(%s, 5) }", v, pickOf(g, s.maps...), v)
		},
		func(g *generator, s *variables, d int) {
			g.line("switch mod(%s, 3) {", g.int(s))
			g.line("case 0:")
			g.block(s.inner(), 1, d+1)
			g.line("case 1:")
			g.block(s.inner(), 1, d+1)
			g.line("default:")
			g.body(s.inner(), d)
		},
		func(g *generator, s *variables, d int) {
			if len(s.shapes) == 0 {
				return
			}
			v := g.fresh("w")
			g.line("switch %s := %s.(type) {", v, pickOf(g, s.shapes...))
			g.line("case *Box:")
			c := s.inner()
			c.boxes = append(c.boxes, v)
			g.line("_ = %s", v)
			g.block(c, 1, d+1)
			g.line("case Lit:")
			c = s.inner()
			c.ints = append(c.ints, v+".k")
			g.line("_ = %s", v)
			g.body(c, d)
		},
		func(g *generator, s *variables, d int) {
			fn := g.fresh("fn")
			g.line("%s := func(n%s int) int {", fn, fn)
			c := s.reading("n" + fn)
			g.block(c, 1+g.r.Intn(2), d+1)
			g.line("return %s", g.int(c))
			g.line("}")
			g.line("gi = %s(%s)", fn, g.int(s))
			g.line("%s.n = %s(1)", g.box(s), fn)
		},
		func(g *generator, s *variables, d int) {
			fn := g.fresh("fs")
			g.line("var %s []func() int", fn)
			g.line("for i := range 3 { %s = append(%s, func() int { gi++; return i * %s }) }", fn, fn, g.int(s))
			g.line("gb.n = total(%s[0](), %s[2]())", fn, fn)
		},
		func(g *generator, s *variables, d int) {
			g.line("func() {")
			g.line("defer func() { gi++ }()")
			g.body2(s.inner(), d, "}()")
		},
		func(g *generator, s *variables, d int) {
			g.line("func() {")
			g.line("defer func() {")
			g.line("if e := recover(); e != nil { fmt.Println(\"caught\", e); %s.n++ }", g.box(s))
			g.line("}()")
			g.body2(s.inner(), d, "}()")
		},
		func(g *generator, s *variables, d int) {
			g.line("func() {")
			g.line("defer func() {")
			g.block(s.inner(), 1, d+1)
			g.line("}()")
			g.body2(s.inner(), d, "}()")
		},
		func(g *generator, s *variables, d int) {
			l, i := g.fresh("loop"), g.fresh("i")
			g.line("%s:", l)
			g.line("for %s := range 3 {", i)
			g.line("for j := range 2 {")
			g.line("if %s == j { continue %s }", i, l)
			g.line("if %s { break %s }", g.bool(s), l)
			g.block(s.reading(i), 1, d+2)
			g.line("}")
			g.line("}")
		},
		func(g *generator, s *variables, d int) {
			c := g.fresh("ch")
			g.line("%s := make(chan int, 1)", c)
			g.line("go func() { %s <- %s }()", c, g.int(s))
			g.line("gi += <-%s", c)
		},
		func(g *generator, s *variables, d int) {
			g.line("torch.NoGrad(func() {")
			g.body2(s.inner(), d, "})")
		},
		func(g *generator, s *variables, d int) {
			l, k := g.fresh("again"), g.fresh("k")
			g.line("%s := 0", k)
			g.line("%s:", l)
			g.line("%s++", k)
			g.line("if %s < 3 { %s = %s.Sin(); goto %s }", k, s.tensors[0], s.tensors[0], l)
		},
	}
}

// body2 is body with a closing text of its own.
func (g *generator) body2(s *variables, depth int, end string) {
	g.block(s, 1+g.r.Intn(3), depth+1)
	g.line("%s", end)
}

// reading is an inner scope in which name is an int that is only read.
func (v *variables) reading(name string) *variables {
	c := v.inner()
	c.ints = append(c.ints, name)
	return c
}
