package export

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tcdbg/ops"
	"tcdbg/ops/sym"
)

// This file makes programs of graphs that are there as text alone (package graph/fxtext reads
// it): the file of torch.export.save says more of a call than its text does.

// NewProgram is an empty program. Symbols, Inputs, Nodes and Outputs are its user's to fill in.
func NewProgram() *Program {
	return &Program{values: map[string]*Tensor{}, sizes: map[string]string{}, hints: map[string]int64{}}
}

// SetTensor says what the value of that name is: what a call gives is held against it.
func (p *Program) SetTensor(name string, t *Tensor) { p.values[name] = t }

// SetSize says that the input of that name is a number.
func (p *Program) SetSize(name, expr string) { p.sizes[name] = expr }

// Position names an argument that a text gives by its position.
func Position(i int) string { return "#" + strconv.Itoa(i) }

// storeText keeps the results of a call whose text names all of them together.
func (w *walker) storeText(n *Node, outs []ops.Value) error {
	if n.Results > 0 && len(outs) != n.Results {
		return &Unsupported{
			Op: shortTarget(n.Target), Why: fmt.Sprintf("it has %d results, and the operator here %d", n.Results, len(outs)),
		}
	}
	if n.Results == 1 || n.Results == AnyResult && len(outs) == 1 {
		w.vals[n.Name] = outs[0]
	} else {
		w.vals[n.Name] = outs
	}
	return nil
}

// viewed is the operator of a call of view, which may be one of reshape: PyTorch's operators leave some results
// in another order of memory than ours, and what they show of it takes a copy here.
func viewed(n *Node, row *ops.Op, bound []ops.Arg) (*ops.Op, []ops.Arg) {
	if n.Results == 0 || row.ID != ops.View {
		return row, bound
	}
	if _, err := row.Meta(&ops.Call{Op: row, Args: bound}); err == nil {
		return row, bound
	}
	reshape := ops.Get(ops.Reshape)
	again, err := ops.Bind(reshape, bound, nil)
	if err != nil {
		return row, bound
	}
	return reshape, again
}

// item takes one of several results: max_1[0].
func item(args map[string]ops.Arg) (any, error) {
	list, ok := args[Position(0)].([]ops.Value)
	i, isInt := args[Position(1)].(sym.Int)
	c, isConst := i.IsConst()
	if !ok || !isInt || !isConst {
		return nil, &Unsupported{Op: "operator.getitem", Why: "of a tensor"}
	}
	if c < 0 || c >= int64(len(list)) {
		return nil, fmt.Errorf("operator.getitem: there are %d results, and none is number %d", len(list), c)
	}
	return list[c], nil
}

// pythonOperators are our names of the functions in Python's module operator.
var pythonOperators = map[string]string{
	"truediv": "div", "floordiv": "floor_divide", "mod": "remainder", "and_": "bitwise_and", "or_": "bitwise_or", "xor": "bitwise_xor",
	"invert": "bitwise_not", "lshift": "bitwise_left_shift", "rshift": "bitwise_right_shift",
	"iadd": "add_", "isub": "sub_", "imul": "mul_", "itruediv": "div_",
}

// functionRows are the operators that a function or method of PyTorch's Python interface may be.
func functionRows(target string) []*ops.Op {
	name := target[strings.LastIndexByte(target, '.')+1:]
	if strings.HasPrefix(target, "operator.") {
		if to, ok := pythonOperators[name]; ok {
			name = to
		}
	}
	var rows []*ops.Op
	if row, ok := ops.Lookup(name); ok {
		rows = append(rows, row)
		name = row.Name
	}
	for _, row := range ops.All() {
		if row.Name == name && !slices.Contains(rows, row) {
			rows = append(rows, row)
		}
	}
	if row, ok := ops.Lookup(map[string]string{"max": "maximum", "min": "minimum"}[name]); ok { // of two tensors
		rows = append(rows, row)
	}
	return slices.DeleteFunc(rows, func(row *ops.Op) bool { return row.Tags.Has(ops.TagDataDependent) })
}

// function binds a call of PyTorch's Python interface: to the first of the operators of its name
// that takes its arguments.
func (w *walker) function(n *Node, args map[string]ops.Arg) (*ops.Op, []ops.Arg, error) {
	var why error = &Unsupported{Op: shortTarget(n.Target)}
	for _, row := range functionRows(n.Target) {
		kw, err := byName(row, n, args)
		row, kw := overwriting(row, kw)
		if err == nil {
			var bound []ops.Arg
			if bound, err = bindCall(n, row, rule{}, kw); err == nil {
				return row, bound, nil
			}
		}
		why = err
	}
	return nil, nil, why
}

// overwriting is the operator in place where the argument inplace asks for it and is none of row's.
func overwriting(row *ops.Op, kw map[string]ops.Arg) (*ops.Op, map[string]ops.Arg) {
	own := slices.ContainsFunc(row.Params(), func(p ops.Param) bool { return p.Name == "inplace" })
	over := ops.InPlace(row.ID)
	if kw["inplace"] != true || own || over == ops.None {
		return row, kw
	}
	delete(kw, "inplace")
	return ops.Get(over), kw
}

// gathered makes one list of the sizes of x.view(2, 3) and x.permute(0, 2, 1).
func gathered(row *ops.Op, args map[string]ops.Arg) map[string]ops.Arg {
	params := row.Params()
	if len(params) < 2 || params[1].Base() != "int[]" {
		return args
	}
	var list []sym.Int
	out := map[string]ops.Arg{}
	for i := range args {
		if i[0] != '#' {
			out[i] = args[i]
		}
	}
	for i := 1; ; i++ {
		a, given := args[Position(i)]
		x, isInt := a.(sym.Int)
		if given && !isInt {
			return args
		}
		if !given {
			break
		}
		list = append(list, x)
	}
	if len(list) < 2 {
		return args
	}
	out[Position(0)], out[Position(1)] = args[Position(0)], list
	return out
}

// byName gives arguments that stand by position the names of row's parameters.
func byName(row *ops.Op, n *Node, args map[string]ops.Arg) (map[string]ops.Arg, error) {
	if strings.HasPrefix(n.Target, "Tensor.") {
		args = gathered(row, args)
	}
	params := row.Params()
	out := make(map[string]ops.Arg, len(args))
	for name, a := range args {
		pos, isPos := strings.CutPrefix(name, "#")
		if !isPos {
			out[name] = a
			continue
		}
		i, err := strconv.Atoi(pos)
		if err != nil || i >= len(params) || params[i].KwOnly {
			return nil, &Unsupported{Op: shortTarget(n.Target), Why: "it has more arguments than the operator here"}
		}
		out[params[i].Name] = a
	}
	return out, nil
}
