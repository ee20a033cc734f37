package tracer

import "testing"

// This file is what a compiled function stores in the program's memory.

// TestStoresGoWhereTheyWentBefore: a store goes to the object that a pointer led to when the
// function ran it, also where the function has changed that pointer since.
func TestStoresGoWhereTheyWentBefore(t *testing.T) {
	tests := map[string]string{
		"a pointer": `
type Node struct{ N int }
type S struct{ P, Other *Node }

func f(s *S, x *torch.Tensor) *torch.Tensor {
	q := s.P
	s.P = s.Other
	q.N = 5
	return x.Add(1)
}

func main() {
	g := torch.Compile(f)
	for range 3 {
		a, b := &Node{1}, &Node{2}
		s := &S{a, b}
		g(s, torch.Ones(2))
		fmt.Println(a.N, b.N, s.P == b)
	}
}`,
		"an interface": `
type Setter interface{ Set(int) }
type Node struct{ N int }

func (n *Node) Set(v int) { n.N = v }

type S struct{ P, Other Setter }

func f(s *S, x *torch.Tensor) *torch.Tensor {
	q := s.P
	s.P = s.Other
	q.Set(7)
	return x.Add(1)
}

func main() {
	g := torch.Compile(f)
	for range 3 {
		a, b := &Node{1}, &Node{2}
		s := &S{a, b}
		g(s, torch.Ones(2))
		fmt.Println(a.N, b.N, s.P == Setter(b))
	}
}`,
		"a slice": `
type S struct{ P, Other []int }

func f(s *S, x *torch.Tensor) *torch.Tensor {
	q := s.P
	s.P = s.Other
	q[1] = 9
	return x.Add(1)
}

func main() {
	g := torch.Compile(f)
	for range 3 {
		a, b := []int{1, 2}, []int{3, 4}
		s := &S{a, b}
		g(s, torch.Ones(2))
		fmt.Println(a, b, s.P)
	}
}`,
		"a map": `
type S struct{ P, Other map[string]int }

func f(s *S, x *torch.Tensor) *torch.Tensor {
	q := s.P
	s.P = s.Other
	q["k"] = 3
	return x.Add(1)
}

func main() {
	g := torch.Compile(f)
	for range 3 {
		a, b := map[string]int{"k": 1}, map[string]int{"k": 2}
		s := &S{a, b}
		g(s, torch.Ones(2))
		fmt.Println(a, b, s.P)
	}
}`,
		"before a break": `
type Node struct{ N int }
type S struct{ P, Other *Node }

func f(s *S, x *torch.Tensor) *torch.Tensor {
	q := s.P
	s.P = s.Other
	q.N = 5
	x = x.Add(1)
	fmt.Println(x.Sum().Item())
	return x.Add(1)
}

func main() {
	g := torch.Compile(f)
	for range 3 {
		a, b := &Node{1}, &Node{2}
		s := &S{a, b}
		g(s, torch.Ones(2))
		fmt.Println(a.N, b.N, s.P == b)
	}
}`,
	}
	for name, body := range tests {
		t.Run(name, func(t *testing.T) { both(t, body) })
	}
}
