// Types of the program in the messages of torch, and a checkpoint as programs
// write it.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"tcdbg/torch"
	"tcdbg/torch/nn"
)

type pair struct{ a, b int }

func try(f func()) {
	defer func() { fmt.Println(recover()) }()
	f()
}

func main() {
	x := torch.Ones(3, 3)
	try(func() { x.At(pair{1, 2}) })
	try(func() { x.At([]pair{}) })
	try(func() { x.Add(pair{}) })
	try(func() { torch.Ones(map[string]*pair{}) })

	dir, err := os.MkdirTemp("", "messages")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "net.pt")
	fmt.Println(torch.Save(map[string]any{"pair": pair{1, 2}}, path))

	net := nn.NewSequential(nn.NewLinear(2, 3), nn.NewBatchNorm1d(3))
	fmt.Println(torch.Save(map[string]any{"epoch": 3, "model": nn.StateDict(net)}, path))
	loaded, err := torch.Load(path)
	fmt.Println(err)
	model := loaded.(torch.OrderedDict).Get("model").(torch.OrderedDict)
	for _, item := range model {
		fmt.Println(item.Key, item.Value.(*torch.Tensor).Shape())
	}
	fmt.Println(nn.LoadStateDict(net, model.Tensors(), true))
}
