package backends

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"

	"tcdbg/graph"
	"tcdbg/inductor"
	"tcdbg/inductor/codegen/cpp"
	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/torch"
	"tcdbg/tracer"
)

// This file times every kernel of a ResNet-50: where a call's milliseconds go, and
// what each convolution reaches of the peak.

// convLayer is a convolution and the normalization after it, by its sizes and its
// parameters: weight, mean, variance, gamma and beta.
type convLayer struct {
	in, out, kernel, stride int
	params                  [5]ops.Value
}

// resnetLayers are the convolutions of a ResNet-50 in the order of their use; that
// of a shortcut follows the three that it skips.
func resnetLayers() []convLayer {
	layers := []convLayer{{in: 3, out: 64, kernel: 7, stride: 2}}
	in := 64
	for stage, blocks := range []int{3, 4, 6, 3} {
		width := 64 << stage
		for i := range blocks {
			stride := 1
			if i == 0 && stage > 0 {
				stride = 2
			}
			layers = append(layers, convLayer{in: in, out: width, kernel: 1, stride: 1},
				convLayer{in: width, out: width, kernel: 3, stride: stride}, convLayer{in: width, out: 4 * width, kernel: 1, stride: 1})
			if i == 0 {
				layers = append(layers, convLayer{in: in, out: 4 * width, kernel: 1, stride: stride})
			}
			in = 4 * width
		}
	}
	return layers
}

// addParams makes the layer's parameters, which keep the size of what passes.
func (l *convLayer) addParams(g *testGraph, seed int) {
	taps := l.in * l.kernel * l.kernel
	l.params[0] = g.param(filled(ops.Float32, seed, l.out, l.in, l.kernel, l.kernel))
	for i := 1; i < len(l.params); i++ {
		t := filled(ops.Float32, seed+i, l.out)
		if i == 2 {
			t = t.Abs().Add(1).Mul(3 * taps)
		}
		l.params[i] = g.param(t)
	}
}

// apply is the layer on x.
func (l *convLayer) apply(g *testGraph, x ops.Value) ops.Value {
	p, pad := &l.params, l.kernel/2
	y := g.Emit(ops.Convolution, x, p[0], nil, ints(l.stride, l.stride), ints(pad, pad), ints(1, 1), false, ints(0, 0), sym.C(1))
	return g.Emit(ops.BatchNorm, y, p[1], p[2], p[3], p[4], false, 0.1, 1e-5)
}

// resnet50 is the model on so many images of size x size.
func resnet50(images, size int) (*graph.Module, []torch.Value) {
	g := newTestGraph("resnet50")
	image := g.input(filled(ops.Float32, 0, images, 3, size, size))
	layers := resnetLayers()
	for i := range layers {
		layers[i].addParams(g, 5*i+1)
	}
	w, bias := g.param(filled(ops.Float32, 1, 1000, 2048)), g.param(filled(ops.Float32, 2, 1000))
	relu := func(x ops.Value) ops.Value { return g.Emit(ops.Relu, x) }
	x := relu(layers[0].apply(g, image))
	x = g.EmitN(ops.MaxPool2d, x, ints(3, 3), ints(2, 2), ints(1, 1), ints(1, 1), false)[0]
	for rest := layers[1:]; len(rest) > 0; {
		block := rest[:3]
		rest = rest[3:]
		y := block[2].apply(g, relu(block[1].apply(g, relu(block[0].apply(g, x)))))
		if len(rest) > 0 && rest[0].in == block[0].in && rest[0].out == block[2].out && rest[0].kernel == 1 {
			x = rest[0].apply(g, x)
			rest = rest[1:]
		}
		x = relu(g.Emit(ops.Add, y, x))
	}
	x = g.Emit(ops.Reshape, g.Emit(ops.AdaptiveAvgPool2d, x, ints(1, 1)), ints(images, 2048))
	return g.outputs(g.Emit(ops.Linear, x, w, bias)), g.in
}

// programAndRun compiles a module for this machine as a call plan runs it.
func programAndRun(tb testing.TB, m *graph.Module, in []torch.Value) (*executable, func()) {
	tb.Helper()
	e := NewSet(Config{CacheDir: sharedCache}).engine()
	x, err := e.compile(m.G, &tracer.Request{Module: m, Example: in}, inductor.Options{Params: paramInputs(m.G, nil, nil)})
	if err != nil {
		tb.Fatal(err)
	}
	p := x.newPlan()
	return x, func() { p.run(in) }
}

// BenchmarkResNet50 is a call of the whole model on one image, and on two.
func BenchmarkResNet50(b *testing.B) {
	for _, images := range []int{1, 2} {
		b.Run(fmt.Sprint(images), func(b *testing.B) {
			m, in := resnet50(images, 224)
			benchmarkModel(b, m, in)
		})
	}
}

// benchmarkModel times calls of a module. With TCDBG_BENCH_KERNELS set it lists the
// kernels by what they lose against the peak of multiply-add.
func benchmarkModel(b *testing.B, m *graph.Module, in []torch.Value) {
	b.Helper()
	needCompiler(b)
	x, run := programAndRun(b, m, in)
	prog := x.prog
	x.prof.always = true
	const units = 5000
	ref := reference(b, 2, units, in, filled(ops.Float32, 3, 1024))
	var kernels []int // [] /* call */ its kernel in the provenance
	flops := int64(0)
	for i, k := range prog.Provenance.Kernels {
		if !k.Hoisted {
			kernels = append(kernels, i)
			flops += k.FLOPs
		}
	}
	run()
	best := make([]int64, len(kernels))
	var whole, peak []float64
	for b.Loop() {
		whole = append(whole, seconds(run))
		peak = append(peak, seconds(ref))
		before := x.prof.times()
		run()
		for i, t := range x.prof.times()[:len(kernels)] {
			if nanos := t.Nanos - before[i].Nanos; best[i] == 0 || nanos < best[i] {
				best[i] = nanos
			}
		}
	}
	limit := units * 1000 * 12 * 32 / slices.Min(peak)
	b.ReportMetric(1e3*slices.Min(whole), "ms")
	b.ReportMetric(100*float64(flops)/slices.Min(whole)/limit, "%ref")
	if os.Getenv("TCDBG_BENCH_KERNELS") != "" {
		machine := cpp.Machine{Lanes: thisCPU().Lanes, Cache: thisCPU().Cache}
		// the program that runs has let go of its text
		text, err := inductor.Compile(m.G, inductor.Options{Machine: machine, Cores: 1, Params: paramInputs(m.G, nil, nil)})
		if err != nil {
			b.Fatal(err)
		}
		fmt.Print(kernelTable(text, kernels, best, limit))
	}
}

// kernelTable lists kernels with their times, the costliest loss first.
func kernelTable(prog *inductor.Program, kernels []int, nanos []int64, limit float64) string {
	type row struct {
		text string
		lost float64
	}
	var rows []row
	total, lost := 0.0, 0.0
	for i, k := range kernels {
		entry := &prog.Provenance.Kernels[k]
		ideal := float64(entry.FLOPs) / limit * 1e6
		us := float64(nanos[i]) / 1e3
		total, lost = total+us, lost+us-ideal
		rows = append(rows, row{fmt.Sprintf("%.0f\t%.0f\t%.0f\t%s\t%s\t\n", us, us-ideal, 100*ideal/us, entry.Name,
			convOf(prog, entry.Name)), us - ideal})
	}
	slices.SortStableFunc(rows, func(x, y row) int { return cmp.Compare(y.lost, x.lost) })
	var sb strings.Builder
	w := tabwriter.NewWriter(&sb, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "us\tlost\tof peak\tkernel\tsizes\t")
	for _, r := range rows {
		fmt.Fprint(w, r.text)
	}
	fmt.Fprintf(w, "%.0f\t%.0f\t%.0f\ttotal\t\t\n", total, lost, 100*(total-lost)/total)
	_ = w.Flush() // into memory
	return sb.String()
}

// convOf is what the entry function says of a convolution's sizes.
func convOf(prog *inductor.Program, kernel string) string {
	sizes := productOf(prog.Shards[0], kernel)
	if sizes == "" {
		return ""
	}
	image := ""
	if i := strings.LastIndex(sizes, "{"); strings.HasSuffix(sizes, "}") {
		image = sizes[i:]
	}
	return strings.Join(strings.SplitN(sizes, ",", 4)[:3], " x") + " " + image
}

// productOf is the description of a kernel's product, from its call or from the tables of calls.
func productOf(entry, kernel string) string {
	_, table, _ := strings.Cut(entry, "tc_products[] = {\n")
	products := strings.Split(table, "\n")
	for line := range strings.Lines(entry) {
		if _, sizes, found := strings.Cut(line, "g = {"); found && strings.Contains(line, `"`+kernel+`"`) {
			sizes, _, _ = strings.Cut(sizes, "};")
			return sizes
		}
		if row, found := strings.CutPrefix(line, `{"`+kernel+`", `); found {
			var slots, count, given, number int
			if _, err := fmt.Sscanf(row, "%d, %d, %d, 0, %d, ", &slots, &count, &given, &number); err == nil {
				return strings.TrimSuffix(strings.TrimPrefix(products[number], "{"), "},")
			}
		}
	}
	return ""
}
