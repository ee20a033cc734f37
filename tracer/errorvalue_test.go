package tracer

import "testing"

// TestWrappedErrors makes errors that wrap others inside of a graph: no break,
// and the chain is that of plain Go, with the values of each call.
func TestWrappedErrors(t *testing.T) {
	o := both(t, `
var errBase = errors.New("base")

func inner(n int, err error) error {
	switch n {
	case 0:
		return fmt.Errorf("global: %w", errBase)
	case 1:
		return fmt.Errorf("argument: %w", err)
	case 2:
		return fmt.Errorf("made here: %w", errors.New("own"))
	case 3:
		return fmt.Errorf("two: %w and %w", errBase, fmt.Errorf("inner: %w", err))
	}
	return nil
}

func f(x *torch.Tensor, n, step int, err error) (*torch.Tensor, error) {
	y := x.Sin()
	if e := inner(n, err); e != nil {
		return y, fmt.Errorf("step %d: %w", step, e)
	}
	return y, nil
}

func main() {
	g := torch.Compile(f, kw.Fullgraph(true))
	for n := range 5 {
		for step := range 2 {
			arg := errors.New("argument")
			_, err := g(torch.Ones(2), n, step, arg)
			_, again := g(torch.Ones(2), n, step, arg)
			fmt.Println(n, err, errors.Is(err, errBase), errors.Is(err, arg), err == again)
		}
	}
}`)
	if len(o.recompiles()) != 4 {
		t.Errorf("%d recompiles, want 4: the step is in the text alone", len(o.recompiles()))
	}
}

// TestErrorsOfTheProgram: formatting calls methods of the operands, which may do
// anything where the program wrote them.
func TestErrorsOfTheProgram(t *testing.T) {
	o := both(t, `
type failure struct{ code int }

var asked int

func (f *failure) Error() string { asked++; return fmt.Sprint("failure ", f.code) }

func f(x *torch.Tensor, err error) (*torch.Tensor, error) {
	y := x.Sin()
	return y, fmt.Errorf("outer: %w", err)
}

func main() {
	g := torch.Compile(f)
	for k := range 2 {
		_, err := g(torch.Ones(2), &failure{k})
		var in *failure
		fmt.Println(err, errors.As(err, &in), in.code, asked)
	}
}`)
	if len(o.breaks()) == 0 {
		t.Error("no break in front of a method of the program")
	}
}

// TestInterfacesChangeType returns an argument as a value of another interface
// type: error, fmt.Stringer and any are laid out differently.
func TestInterfacesChangeType(t *testing.T) {
	both(t, `
type number int

func (n number) String() string { return fmt.Sprint("number ", int(n)) }

func f(x *torch.Tensor, err error, s fmt.Stringer, a any) (*torch.Tensor, any, any, fmt.Stringer) {
	return x.Sin(), any(err), any(s), a.(fmt.Stringer)
}

func main() {
	g := torch.Compile(f, kw.Fullgraph(true))
	for k := range 2 {
		fmt.Println(g(torch.Ones(2), fmt.Errorf("error %d", k), number(k), number(k+2)))
	}
}`)
}
