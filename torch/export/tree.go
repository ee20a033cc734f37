package export

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// This file reads pytree specs: how values lie in tuples, lists and dicts.

// Tree is a value (Kind Leaf) or a container of trees.
type Tree struct {
	Kind TreeKind
	Keys []string // of a dict, one for each child
	Kids []*Tree
}

// TreeKind is what a Tree is.
type TreeKind uint8

// The kinds.
const (
	Leaf TreeKind = iota
	Tuple
	List
	Dict
	None
)

// maxDepth bounds trees and size expressions.
const maxDepth = 50

type fileTree struct {
	Type    *string     `json:"type"`
	Context *string     `json:"context"`
	Kids    []*fileTree `json:"children_spec"`
}

func (p *Program) readTrees(calls []fileModuleCall) (err error) {
	for _, c := range calls {
		if c.FQN != "" || c.Signature == nil {
			continue
		}
		if p.In, err = readTree(c.Signature.In); err != nil {
			return fmt.Errorf("the inputs: %w", err)
		}
		if p.Out, err = readTree(c.Signature.Out); err != nil {
			return fmt.Errorf("the outputs: %w", err)
		}
		for _, name := range c.Signature.Names {
			p.Names = append(p.Names, clip(name))
		}
		return p.checkTrees()
	}
	return errors.New("the file does not say what its inputs are")
}

func (p *Program) checkTrees() error {
	if p.In.Kind != Tuple || len(p.In.Kids) != 2 || p.In.Kids[0].Kind != Tuple || p.In.Kids[1].Kind != Dict {
		return errors.New("the inputs are no positional and keyword arguments")
	}
	users, results := 0, 0
	for _, in := range p.Inputs {
		if in.Kind == User || in.Kind == Fixed {
			users++
		}
	}
	for _, o := range p.Outputs {
		if o.Kind == Result {
			results++
		}
	}
	if n := p.In.Leaves(); n != users {
		return fmt.Errorf("the program takes %d values and its graph has %d inputs of the caller", n, users)
	}
	if n := p.Out.Leaves(); n != results {
		return fmt.Errorf("the program returns %d values and its graph has %d results", n, results)
	}
	return nil
}

func readTree(text string) (*Tree, error) {
	var spec []json.RawMessage
	if err := json.Unmarshal([]byte(text), &spec); err != nil || len(spec) != 2 {
		return nil, errors.New("their pytree spec is not one of torch.utils._pytree")
	}
	if string(spec[0]) != "1" {
		return nil, fmt.Errorf("their pytree spec has version %s, and version 1 is read", clip(string(spec[0])))
	}
	var f fileTree
	if err := json.Unmarshal(spec[1], &f); err != nil {
		return nil, err
	}
	return makeTree(&f, 0)
}

func makeTree(f *fileTree, depth int) (*Tree, error) {
	switch {
	case f == nil:
		return nil, errors.New("an empty node")
	case depth > maxDepth:
		return nil, errors.New("they are nested too deeply")
	case f.Type == nil:
		return &Tree{}, nil
	}
	t := &Tree{}
	switch name := *f.Type; name {
	case "builtins.tuple":
		t.Kind = Tuple
	case "builtins.list":
		t.Kind = List
	case "builtins.dict", "collections.OrderedDict":
		t.Kind = Dict
		if f.Context == nil || json.Unmarshal([]byte(*f.Context), &t.Keys) != nil || len(t.Keys) != len(f.Kids) {
			return nil, errors.New("a dict whose keys are no strings is not supported")
		}
	default:
		return nil, fmt.Errorf(
			"a %s is not supported: tuples, lists and dicts are; wrap the model in one that takes and returns those", clip(name),
		)
	}
	for _, k := range f.Kids {
		kid, err := makeTree(k, depth+1)
		if err != nil {
			return nil, err
		}
		t.Kids = append(t.Kids, kid)
	}
	return t, nil
}

// Leaves is the number of values.
func (t *Tree) Leaves() int {
	if t.Kind == Leaf {
		return 1
	}
	n := 0
	for _, k := range t.Kids {
		n += k.Leaves()
	}
	return n
}

// Paths names the values as Python reaches them from name: out[0], out['logits'].
func (t *Tree) Paths(name string) []string {
	if t.Kind == Leaf {
		return []string{name}
	}
	var out []string
	for i, k := range t.Kids {
		if t.Kind == Dict {
			out = append(out, k.Paths(name+"['"+clip(t.Keys[i])+"']")...)
		} else {
			out = append(out, k.Paths(fmt.Sprintf("%s[%d]", name, i))...)
		}
	}
	return out
}

// ParameterName is what forward calls its i-th argument.
func (p *Program) ParameterName(i int) string {
	if i < len(p.Names) {
		return p.Names[i]
	}
	return fmt.Sprintf("args[%d]", i)
}

// InputPaths names the values that the program takes as its author does: x, pair[0], kwargs['mask'].
func (p *Program) InputPaths() []string {
	var out []string
	for i, k := range p.In.Kids[0].Kids {
		out = append(out, k.Paths(p.ParameterName(i))...)
	}
	for i, k := range p.In.Kids[1].Kids {
		out = append(out, k.Paths(clip(p.In.Kids[1].Keys[i]))...)
	}
	return out
}

// SourceOf is where a symbol's value comes from: x.size()[0].
func (p *Program) SourceOf(symbol string) string {
	names, at := p.InputPaths(), 0
	for i := range p.Inputs {
		in := &p.Inputs[i]
		if in.Kind != User && in.Kind != Fixed {
			continue
		}
		if in.Tensor != nil {
			for d, s := range in.Tensor.Shape {
				if s.Symbol() == symbol {
					return fmt.Sprintf("%s.size()[%d]", names[at], d)
				}
			}
		}
		at++
	}
	return symbol
}

// String is the tree as Python would write it, with * for values.
func (t *Tree) String() string {
	var parts []string
	for i, k := range t.Kids {
		if t.Kind == Dict {
			parts = append(parts, fmt.Sprintf("'%s': %s", clip(t.Keys[i]), k))
		} else {
			parts = append(parts, k.String())
		}
	}
	all := strings.Join(parts, ", ")
	switch t.Kind {
	case Tuple:
		if len(parts) == 1 {
			all += ","
		}
		return "(" + all + ")"
	case List:
		return "[" + all + "]"
	case Dict:
		return "{" + all + "}"
	}
	return "*"
}
