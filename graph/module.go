package graph

// Module is a graph with what surrounds it: it implements torch.GraphImpl.
type Module struct {
	G *Graph
}
