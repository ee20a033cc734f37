package backends

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"tcdbg/internal/test/progfuzz"
)

// This file runs steps of training that are captured as one graph, forward, backward and
// optimizer, under each backend, beside the same programs uncompiled: written ones, and
// random ones:
//
//	TCDBG_FUZZ=2000 TCDBG_FUZZ_FROM=1 go test ./backends -run TestRandomWholeSteps -timeout 0

// wholeStep is a step around the function of a random model. What the function returns has
// its gradients computed inside; the program then finds nothing that wants any.
const wholeStep = `
func whole(
	net *Net, x, y, z, ids, mask *torch.Tensor, list []*torch.Tensor, named map[string]*torch.Tensor,
) []*torch.Tensor {
	out := f(net, x, y, z, ids, mask, list, named)
	var loss *torch.Tensor
	for _, r := range out {
		if r.RequiresGrad() {
			s := r.To(torch.Float32).Square().Mean()
			if loss == nil {
				loss = s
			} else {
				loss = loss.Add(s)
			}
		}
	}
	if loss != nil {
		loss.Backward()
	}
	left := make([]*torch.Tensor, len(out))
	for i, r := range out {
		left[i] = r.Detach()
	}
	return left
}
`

// whole is the model program of a seed with its backward pass in the compiled function.
func whole(seed int64) (prelude, body string) {
	prelude, body = model(seed)
	body = strings.ReplaceAll(body, "torch.Compile(f", "torch.Compile(whole, kw.CaptureBackward(true)")
	return prelude + wholeStep, body
}

func TestRandomWholeSteps(t *testing.T) {
	if _, body := whole(1); !strings.Contains(body, "torch.Compile(whole, ") {
		t.Fatal("no program has the option")
	}
	comparePrograms(t, whole, fuzzSeeds(t), os.Getenv("TCDBG_FUZZ") == "")
}

// TestGradientsOfOneGraphAreKept: whatever the mode, a gradient is the program's.
func TestGradientsOfOneGraphAreKept(t *testing.T) {
	const text = `
func main() {
	w := torch.Arange(8).Reshape(2, 4).Div(4).RequiresGrad_()
	opt := optim.NewAdam([]*torch.Tensor{w})
	step := torch.Compile(func(x *torch.Tensor) *torch.Tensor {
		opt.ZeroGrad()
		loss := w.Matmul(x).Tanh().Sum()
		loss.Backward()
		opt.Step()
		return loss
	}, kw.CaptureBackward(true), kw.Mode("reduce-overhead"))
	var kept []*torch.Tensor
	for i := range 5 {
		fmt.Println(step(torch.Arange(12).Reshape(4, 3).Sin().Mul(i + 1)).Item())
		kept = append(kept, w.Grad())
	}
	for _, g := range kept {
		fmt.Println(g)
	}
	fmt.Println(w.Detach())
}`
	prog, err := loadText(t, progfuzz.ModelPrelude+text)
	if err != nil {
		t.Fatal(err)
	}
	want, _, _ := runText(prog, nil, "")
	for _, w := range differentials(t) {
		if w.backend != "inductor" {
			continue // the mode is its own
		}
		sink := &codeSink{}
		got, _, stderr := runLogged(prog, NewSet(w.cfg), w.backend, sink)
		if d := differs(want, got); d != "" {
			t.Errorf("under %s: %s\n%s", w.name, d, stderr)
		}
		if len(sink.text) != 1 {
			t.Errorf("under %s: %d graphs, want one", w.name, len(sink.text))
		}
	}
}

// TestReplacedGradientsGoBackAtOnce: the graphs of a step that forgets gradients first need not run
// beside those of the last step; what the program has of them stays.
func TestReplacedGradientsGoBackAtOnce(t *testing.T) {
	for _, whole := range []bool{true, false} {
		t.Run(fmt.Sprintf("whole=%v", whole), func(t *testing.T) { replacedGradientsGoBack(t, whole) })
	}
}

func replacedGradientsGoBack(t *testing.T, whole bool) {
	t.Helper()
	text := fmt.Sprintf(`
func main() {
	w := torch.Arange(1 << 20).Reshape(1024, 1024).Sin().RequiresGrad_()
	opt := optim.NewSGD([]*torch.Tensor{w}, kw.Lr(0.5))
	x := torch.Ones(1024, 4)
	step := torch.Compile(func() {
		opt.ZeroGrad()
		w.Matmul(x).Tanh().Sum().Backward()
		opt.Step()
	}, kw.CaptureBackward(%v))
	step()
	step()
	before := torch.Memory().Live
	for range 8 {
		step()
	}
	fmt.Println(max(0, torch.Memory().Live-before) >> 20)
	reader := torch.Compile(func() *torch.Tensor { return w.Grad() })
	flat := torch.Compile(func() (out *torch.Tensor) {
		torch.NoGrad(func() { out = w.Grad().Reshape(-1) })
		return out
	})
	var kept, sums []*torch.Tensor
	for i := range 6 {
		step()
		switch i %% 3 {
		case 0:
			kept = append(kept, w.Grad())
		case 1:
			kept = append(kept, reader())
		default:
			kept = append(kept, flat())
		}
		sums = append(sums, kept[i].Sum())
	}
	for i, g := range kept {
		fmt.Println(g.Sum().Item() == sums[i].Item(), g.Numel())
	}
}`, whole)
	prog, err := loadText(t, progfuzz.ModelPrelude+text)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range differentials(t) {
		if w.backend != "inductor" {
			continue // others make tensors that the collector finds
		}
		got, _, stderr := runLogged(prog, NewSet(w.cfg), w.backend, &codeSink{})
		if want := "0\n" + strings.Repeat("true 1048576\n", 6); got != want {
			t.Errorf("under %s: MB more after eight steps, then what is kept:\n%s\n%s", w.name, got, stderr)
		}
	}
}
