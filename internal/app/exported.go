package app

import (
	"path/filepath"
	"strings"
)

// This file is `tcdbg run model.pt2`: a program that PyTorch exported is run by a small Go
// program of ours, which loads it, calls it and prints what comes out. It is loaded in place of the file's bytes.

// exportedSuffix ends the names that torch.export.save's documentation gives to its files.
const exportedSuffix = ".pt2"

func isExported(path string) bool { return strings.HasSuffix(path, exportedSuffix) }

// exportedOverlay is the text of the program that runs a file of torch.export.save, by the file's path.
func exportedOverlay(paths []string) (map[string][]byte, error) {
	if len(paths) != 1 || !isExported(paths[0]) {
		return nil, nil
	}
	path, err := filepath.Abs(paths[0])
	if err != nil {
		return nil, err
	}
	return map[string][]byte{path: []byte(exportedProgram)}, nil
}

// exportedProgram is the program.
const exportedProgram = `// This program runs what torch.export.save wrote.
package main

import (
	"fmt"
	"os"
	"strconv"

	"tcdbg/torch"
)

func main() {
	inputs, calls := options(os.Args[1:])
	p, err := torch.LoadExported(os.Args[0])
	if err != nil {
		fail(1, err)
	}
	args := arguments(p, inputs)
	var out []torch.Value
	defer func() {
		if v := recover(); v != nil {
			fail(1, os.Args[0]+": "+fmt.Sprint(v))
		}
	}()
	torch.NoGrad(func() {
		for range calls {
			out = p.Call(args...)
		}
	})
	for i, name := range p.OutputNames() {
		if t, ok := out[i].(*torch.Tensor); ok {
			fmt.Printf("%s: %v %v\n", name, t.DType(), t.Shape())
		} else {
			fmt.Printf("%s:\n", name)
		}
		fmt.Println(out[i])
	}
}

func fail(code int, what any) {
	fmt.Fprintln(os.Stderr, what)
	os.Exit(code)
}

func options(args []string) (inputs string, calls int) {
	calls = 1
	for len(args) > 0 {
		if len(args) < 2 {
			fail(2, args[0]+" needs a value: model.pt2 [--inputs example|random|FILE.pt] [--calls N]")
		}
		switch args[0] {
		case "--inputs":
			inputs = args[1]
		case "--calls":
			n, err := strconv.Atoi(args[1])
			if err != nil || n < 1 {
				fail(2, "--calls wants a number from 1 on, not "+args[1])
			}
			calls = n
		default:
			fail(2, args[0]+" is unknown: model.pt2 [--inputs example|random|FILE.pt] [--calls N]")
		}
		args = args[2:]
	}
	return inputs, calls
}

func arguments(p *torch.ExportedProgram, inputs string) []any {
	switch inputs {
	case "", "example":
		if args, ok := p.ExampleInputs(); ok {
			return args
		}
		if inputs == "example" {
			fail(1, os.Args[0]+" keeps no example inputs: use --inputs random, or --inputs FILE.pt with what torch.save wrote")
		}
		fmt.Fprintln(os.Stderr, "the file keeps no example inputs: random ones of the recorded shapes are used")
		return p.RandomInputs()
	case "random":
		return p.RandomInputs()
	}
	v, err := torch.Load(inputs)
	if err != nil {
		fail(1, err)
	}
	switch v := v.(type) {
	case []any:
		return v
	case torch.OrderedDict:
		var args []any
		for _, item := range v {
			name, ok := item.Key.(string)
			if !ok {
				fail(1, inputs+" holds a dict whose keys are no names of arguments")
			}
			args = append(args, torch.Option{Name: name, Value: item.Value})
		}
		return args
	}
	return []any{v}
}
`
