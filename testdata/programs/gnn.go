package main

import (
	"fmt"
	"maps"
	"slices"

	"tcdbg/torch"
	"tcdbg/torch/kw"
	"tcdbg/torch/nn"
)

type Graph struct {
	X        *torch.Tensor
	Src, Dst *torch.Tensor
	Feats    map[string]*torch.Tensor
	N        int
}

type GCN struct{ Layers []*nn.Linear }

func (g *GCN) Forward(gr *Graph) *torch.Tensor {
	x := gr.X
	for name, f := range gr.Feats {
		_ = name
		x = x.Add(f)
	}
	deg := torch.Zeros(gr.N).ScatterAdd(0, gr.Dst, torch.OnesLike(gr.Dst).To(torch.Float32)).Clamp(kw.Min(1))
	for i, l := range g.Layers {
		h := l.Forward(x)
		m := h.IndexSelect(0, gr.Src).Div(deg.At(gr.Src).Sqrt().Unsqueeze(1))
		x = torch.ZerosLike(h).IndexAdd(0, gr.Dst, m).Div(deg.Sqrt().Unsqueeze(1))
		if i+1 < len(g.Layers) {
			x = x.Relu()
		}
	}
	return x.LogSoftmax(-1)
}

func (g *GCN) ForwardSorted(gr *Graph) *torch.Tensor {
	x := gr.X
	for _, k := range slices.Sorted(maps.Keys(gr.Feats)) {
		x = x.Add(gr.Feats[k])
	}
	return g.Layers[0].Forward(x)
}

func bfs(adj map[int][]int, from int) []int {
	seen := map[int]bool{from: true}
	q := []int{from}
	var out []int
	for len(q) > 0 {
		n := q[0]
		q = q[1:]
		out = append(out, n)
		for _, m := range adj[n] {
			if !seen[m] {
				seen[m] = true
				q = append(q, m)
			}
		}
	}
	return out
}

func main() {
	torch.ManualSeed(0)
	g := &GCN{[]*nn.Linear{nn.NewLinear(4, 6), nn.NewLinear(6, 3)}}
	f, fs := torch.Compile(g.Forward), torch.Compile(g.ForwardSorted)
	adj := map[int][]int{0: {1, 2}, 1: {2}, 2: {0, 3}, 3: {}}
	for i := range 3 {
		var s, d []int
		for _, n := range bfs(adj, 0) {
			for _, m := range adj[n] {
				s, d = append(s, n), append(d, m)
			}
		}
		gr := &Graph{X: torch.Randn(4+i, 4), Src: torch.NewTensor(s), Dst: torch.NewTensor(d), N: 4 + i, Feats: map[string]*torch.Tensor{"a": torch.Ones(4), "b": torch.Full([]int{4}, 2.0)}}
		y := f(gr)
		fmt.Println(y.Detach(), fs(gr).Sum().Detach())
		y.At(torch.Colon, 0).Sum().Neg().Backward()
		adj[3] = append(adj[3], i)
	}
	fmt.Println(g.Layers[0].Weight.Grad().At(0))
}
