package sym

import "testing"

// TestChecksDecide asks questions about data before and after what is checked of it.
func TestChecksDecide(t *testing.T) {
	e := &Env{}
	u, v := e.NewUnbacked(), e.NewUnbacked()
	ask := func(r Rel, want string) {
		t.Helper()
		got := "unknown"
		if yes, known := r.Known(); known {
			got = map[bool]string{false: "no", true: "yes"}[yes]
		}
		if got != want {
			t.Errorf("%s: %s, want %s", r, got, want)
		}
	}
	ask(Rel{OpLt, u, Const(0)}, "unknown")
	ask(Rel{OpEq, u, u}, "yes")
	Rel{OpLe, Const(2), u}.Assume()
	Rel{OpLt, Add(u, Const(1)), Const(10)}.Assume() // u <= 8
	ask(Rel{OpLt, u, Const(0)}, "no")
	ask(Rel{OpLt, u, Const(9)}, "yes")
	ask(Rel{OpLt, u, Const(8)}, "unknown")
	ask(Rel{OpEq, u, Const(1)}, "no")
	ask(Rel{OpNe, Mul(Const(2), u), Const(17)}, "yes")
	ask(Rel{OpLe, Sub(Const(5), u), Const(3)}, "yes")
	ask(Rel{OpLt, u, v}, "unknown")
	Rel{OpEq, v, Const(4)}.Assume()
	ask(Rel{OpNe, v, Const(4)}, "no")
	if s, _ := u.AsSymbol(); len(s.Checks) != 2 || s.Name != "u0" {
		t.Errorf("%s has %d checks", s.Name, len(s.Checks))
	}
}
