package export

import (
	"strings"
	"testing"

	"tcdbg/internal/test/golden"
	"tcdbg/ops"
	"tcdbg/ops/sym"
)

// TestFormsInAten asks for aten's form of a call of each operator: which have one is written down. ToAten itself
// reads what it answers again.
func TestFormsInAten(t *testing.T) {
	var sb strings.Builder
	for _, row := range ops.All() {
		if row.Tags.Has(ops.TagInternal) {
			continue
		}
		target := "none"
		if c, err := ToAten(row, plainArgs(row)); err == nil {
			target = strings.TrimPrefix(c.Target, "torch.ops.")
		}
		sb.WriteString(row.FullName() + ": " + target + "\n")
	}
	golden.Equal(t, "testdata/forms.txt", []byte(sb.String()))
}

// plainArgs are arguments for a call: a tensor, small numbers, defaults.
func plainArgs(row *ops.Op) []ops.Arg {
	x := shape{&ops.TensorMeta{DType: ops.Float32, Shape: sym.Consts([]int{2, 3})}}
	values := map[string]ops.Arg{
		"Tensor": x, "Operand": x, "Tensor[]": []ops.Value{x}, "Tensor?[]": []ops.Value{x}, "int": sym.C(1), "Scalar": sym.C(1),
		"int[]": sym.Consts([]int{1, 1}), "float": 1.5, "bool": true, "dtype": ops.Float32, "str": "a",
	}
	args := make([]ops.Arg, len(row.Params()))
	for i, p := range row.Params() {
		if args[i] = values[p.Base()]; p.HasDef {
			args[i] = p.Default
		}
	}
	return args
}

// TestArgumentsInAten: numbers by position up to the last that is no default, and what aten says otherwise.
func TestArgumentsInAten(t *testing.T) {
	x := shape{&ops.TensorMeta{DType: ops.Float32, Shape: sym.Consts([]int{2, 3, 8, 8})}}
	two := sym.Consts([]int{2, 2})
	for _, c := range []struct {
		op   string
		args map[string]ops.Arg
		want string
	}{
		{"add", map[string]ops.Arg{"self": x, "other": 2}, "aten.add.Scalar self other=2"},
		{"add", map[string]ops.Arg{"self": x, "other": x, "alpha": 2}, "aten.add.Tensor self other alpha=2"},
		{"max_pool2d", map[string]ops.Arg{"input": x, "kernel_size": two}, "aten.max_pool2d.default self kernel_size=[2, 2] stride=[2, 2]"},
		{
			"max_pool2d",
			map[string]ops.Arg{"input": x, "kernel_size": two, "ceil_mode": true},
			"aten.max_pool2d.default self kernel_size=[2, 2] stride=[2, 2] padding=[0, 0] dilation=[1, 1] ceil_mode=True",
		},
		{"mse_loss", map[string]ops.Arg{"input": x, "target": x, "reduction": "sum"}, "aten.mse_loss.default self target reduction=2"},
		{"dropout", map[string]ops.Arg{"input": x, "training": false}, "aten.dropout.default input p=0.5 train=False"},
	} {
		row, _ := ops.Lookup(c.op)
		bound, err := ops.Bind(row, nil, c.args)
		if err != nil {
			t.Fatal(err)
		}
		call, err := ToAten(row, bound)
		if err != nil {
			t.Errorf("%s: %v", c.op, err)
			continue
		}
		got := strings.TrimPrefix(call.Target, "torch.ops.")
		for _, a := range call.Args {
			got += " " + a.Name
			switch v := a.Value.(type) {
			case sym.Int:
				got += "=" + v.String()
			case []sym.Int:
				got += "=" + ops.ShapeText(v)
			case float64, bool:
				got += "=" + argText(v)
			}
		}
		if got != c.want {
			t.Errorf("%s\nwant %s", got, c.want)
		}
	}
}
