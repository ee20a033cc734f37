package ops

import (
	"strings"
	"testing"

	"tcdbg/ops/sym"
)

type fake struct{ m *TensorMeta }

func (f fake) TensorMeta() *TensorMeta { return f.m }

func tensor(shape ...int) Value { return fake{NewMeta(Float32, CPU, sym.Consts(shape))} }

func TestEveryRowParses(t *testing.T) {
	for _, op := range All() {
		if len(op.Params()) == 0 {
			t.Errorf("%s has no parameters", op.FullName())
		}
		if op.Meta == nil {
			t.Errorf("%s has no rule", op.FullName())
		}
		if len(op.Returns()) == 0 || op.Returns()[0] == "" {
			t.Errorf("%s returns nothing: %s", op.FullName(), op.Schema)
		}
		if Get(op.ID) != op {
			t.Errorf("Get(%s) is another row", op.FullName())
		}
	}
}

func run(t *testing.T, name string, args ...Arg) (*TensorMeta, error) {
	t.Helper()
	op, ok := Lookup(name)
	if !ok {
		t.Fatalf("no row %s", name)
	}
	bound, err := Bind(op, args, nil)
	if err != nil {
		return nil, err
	}
	res, err := op.Meta(&Call{op, bound})
	if err != nil {
		return nil, err
	}
	return res[0].(*TensorMeta), nil
}

func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		name string
		args []Arg
		want string
	}{
		{"add", []Arg{tensor(3), tensor(4)}, "The size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 0"},
		{"linear", []Arg{tensor(1, 802816), tensor(10, 64)}, "mat1 and mat2 shapes cannot be multiplied (1x802816 and 64x10)"},
		{"view", []Arg{tensor(5), []int{2, 3}}, "shape '[2, 3]' is invalid for input of size 5"},
		{"softmax", []Arg{tensor(3), 2}, "Dimension out of range (expected to be in range of [-1, 0], but got 2)"},
		{"mm", []Arg{tensor(3), tensor(3)}, "mm: self must be a matrix, got 1-D tensor"},
		{"add", []Arg{tensor(3)}, "add(): missing required argument 'other'"},
		{"add_", []Arg{tensor(3), tensor(2, 3)}, "output with shape [3] doesn't match the broadcast shape [2, 3]"},
	} {
		_, err := run(t, c.name, c.args...)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", c.name, err, c.want)
		}
	}
}

func TestSymbolicBroadcastLeavesNoGuardWhereFormDecides(t *testing.T) {
	env := &sym.Env{}
	s := env.NewSymbol("s0", "L.x", 8)
	x := fake{NewMeta(Float32, CPU, []sym.Int{s, sym.C(4)})}
	m, err := run(t, "add", x, tensor(4))
	if err != nil {
		t.Fatal(err)
	}
	if got := ShapeText(m.Shape); got != "[s0, 4]" {
		t.Errorf("shape %s", got)
	}
	m, err = run(t, "view", x, []sym.Int{sym.C(-1)})
	if err != nil || ShapeText(m.Shape) != "[4*s0]" {
		t.Errorf("view: %v %v", m, err)
	}
	if len(env.Guards) != 0 {
		t.Errorf("guards: %v", env.Guards)
	}
}

// An operator is differentiable through its derivative or its decomposition,
// or says that it is not.
func TestDerivativesHaveNoGap(t *testing.T) {
	known := map[string]bool{
		// backward operators: second derivatives are not offered
		"_ctc_loss_backward": true,
		"median.dim":         false,
	}
	for _, op := range All() {
		if op.Backward == nil && op.Decompose == nil && !op.Tags.Has(TagNoGrad) && op.ID != Detach && !known[op.FullName()] &&
			!op.Tags.Has(TagInPlace) {
			t.Errorf("%s has neither derivative nor decomposition", op.FullName())
		}
	}
}

func TestBindNamesTheArgument(t *testing.T) {
	op, _ := Lookup("softmax")
	for want, kw := range map[string]map[string]Arg{
		"softmax(): got an unexpected keyword argument 'axis'":        {"dim": 1, "axis": 2},
		"softmax(): missing required argument 'dim'":                  {},
		"softmax(): argument 'dim' (position 2) must be int, not str": {"dim": "x"},
	} {
		if _, err := Bind(op, []Arg{tensor(2, 3)}, kw); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// What a row says that it writes are its statistics, or the table of an embedding.
func TestMutatedArguments(t *testing.T) {
	found := 0
	for _, op := range All() {
		if (op.Mutates != nil) != op.Tags.Has(TagMutates) {
			t.Errorf("%s: TagMutates and Mutates differ", op.FullName())
		}
		args := make([]Arg, len(op.Params()))
		if got := Mutated(op, args); got != nil {
			t.Errorf("%s without its flag: %v", op.FullName(), got)
		}
		for i := range args {
			args[i] = true
		}
		for _, at := range Mutated(op, args) {
			found++
			switch name := op.Params()[at].Name; name {
			case "running_mean", "running_var", "weight":
				if name != "weight" || strings.HasPrefix(op.Name, "embedding") {
					continue
				}
				fallthrough
			default:
				t.Errorf("%s writes %s", op.FullName(), name)
			}
		}
	}
	if found < 8 {
		t.Errorf("%d arguments are written", found)
	}
}
