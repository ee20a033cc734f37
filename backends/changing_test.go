package backends

import (
	"encoding/json"
	"strings"
	"testing"

	"tcdbg/logs"
)

// This file tests what counts as a parameter in programs: what depends on parameters
// alone runs once, and an activation is none.

// onceSink keeps the scheduler's refusals because one of a pair runs once.
type onceSink struct {
	nowhere
	once []string
}

func (s *onceSink) Emit(o logs.Out) {
	meta, _ := o.Meta.(map[string]string)
	var step struct{ Data logs.FusionStep }
	if meta["name"] == "tcdbg_fusion_step" && json.Unmarshal(o.Payload, &step) == nil && step.Data.Reason == "runs once" {
		s.once = append(s.once, step.Data.A+" with "+step.Data.B)
	}
}

// TestActivationsAreNoParameters runs methods whose graphs after a break get
// activations, wherever they are.
func TestActivationsAreNoParameters(t *testing.T) {
	for _, c := range []struct {
		name, body string
		once       bool // something does depend on parameters alone
	}{
		{name: "of a resumed method", body: `
func (m *model) Forward(x *torch.Tensor) *torch.Tensor {
	h := x.Matmul(m.w).Tanh()
	if h.Sum().Gt(10).Bool() {
		h = h.Mul(2)
	}
	return h.Mul(3).Add(1).Sum()
}`},
		{name: "of a caller's frame", body: `
func (m *model) act(h *torch.Tensor) *torch.Tensor {
	if h.Sum().Gt(10).Bool() {
		h = h.Mul(2)
	}
	return h.Exp()
}
func (m *model) Forward(x *torch.Tensor) *torch.Tensor {
	h := x.Detach().Mul(2)
	g := m.act(x.Matmul(m.w))
	return h.Sin().Mul(g).Sum()
}`},
		{name: "in a field that the method sets", body: `
func (m *model) Forward(x *torch.Tensor) *torch.Tensor {
	m.st.h = x.Detach().Mul(2)
	y := x.Matmul(m.w)
	if y.Sum().Gt(10).Bool() {
		y = y.Mul(2)
	}
	return m.st.h.Sin().Mul(y).Sum()
}`},
		{name: "a buffer", once: true, body: `
func (m *model) Forward(x *torch.Tensor) *torch.Tensor {
	return x.Matmul(m.w).Mul(m.st.b.Sin().Exp()).Sum()
}`},
		{name: "a parameter whose gradient is wanted: each step changes it", body: `
func (m *model) Forward(x *torch.Tensor) *torch.Tensor {
	return x.Mul(m.w.Detach().Sin()).Sum().Add(m.w.Sum())
}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			prog, err := loadText(t, `
type state struct{ h, b *torch.Tensor }
type model struct{ w *torch.Tensor; st *state }
`+c.body+`
func main() {
	torch.ManualSeed(1)
	m := &model{torch.Randn(8, 8).RequiresGrad_(), &state{b: torch.Randn(8)}}
	f := torch.Compile(m.Forward)
	for range 4 {
		y := f(torch.Randn(8, 8))
		y.Backward()
		fmt.Println(y.Item(), m.w.Grad().Sum().Item())
	}
	torch.NoGrad(func() { m.w.Mul_(2); m.st.b.Add_(1) })
	fmt.Println(f(torch.Ones(8, 8)).Item())
}`)
			if err != nil {
				t.Fatal(err)
			}
			want, _, _ := runText(prog, nil, "")
			sink := &onceSink{}
			got, code, stderr := runLogged(prog, NewSet(Config{CC: "none", Stderr: new(strings.Builder)}), "inductor", sink)
			if d := differs(want, got); d != "" || code != 0 {
				t.Errorf("exit %d\n%s%s", code, d, stderr)
			}
			if !c.once && len(sink.once) > 0 {
				t.Errorf("said to run once: %v", sink.once)
			}
			if c.once && len(sink.once) == 0 {
				t.Error("nothing runs once")
			}
		})
	}
}
