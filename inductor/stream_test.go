package inductor

import (
	"slices"
	"strings"
	"testing"

	"tcdbg/inductor/codegen/cpp"
	"tcdbg/ops"
	"tcdbg/ops/sym"
)

// TestStreams has programs with one store that goes past the caches or not. Buffers
// are of 64 KB.
func TestStreams(t *testing.T) {
	const size = 64 << 10
	vector := func(b *build) ops.Value { return b.input(size / 4) }
	for _, c := range []struct {
		name     string
		make     func(b *build) []ops.Value
		replaces map[int]int
		cache    int64
		want     string // the buffers that are stored past the caches
	}{
		{"a loop that moves more than the cache holds", func(b *build) []ops.Value {
			return []ops.Value{b.Emit(ops.Add, vector(b), vector(b))}
		}, nil, 2 * size, "buf0"},
		{"a loop that fits into the cache", func(b *build) []ops.Value {
			return []ops.Value{b.Emit(ops.Add, vector(b), vector(b))}
		}, nil, 3 * size, ""},
		{"in place of an input that the loop reads", func(b *build) []ops.Value {
			return []ops.Value{b.Emit(ops.Add, vector(b), vector(b))}
		}, map[int]int{0: 0}, 2 * size, ""},
		{"in place of an input that nobody reads", func(b *build) []ops.Value {
			vector(b)
			return []ops.Value{b.Emit(ops.Add, vector(b), vector(b))}
		}, map[int]int{0: 0}, 2 * size, "buf0"},
		{"in place of an input that a loop shortly before read", func(b *build) []ops.Value {
			x := b.input(128, 128)
			return []ops.Value{b.Emit(ops.Mul, b.Emit(ops.Sum, b.Emit(ops.Matmul, x, b.input(128, 128))), b.input(128, 128))}
		}, map[int]int{0: 0}, 7 * size / 2, ""},
		{"in place of an input that a loop long before read", func(b *build) []ops.Value {
			x := b.input(128, 128)
			return []ops.Value{b.Emit(ops.Mul, b.Emit(ops.Sum, b.Emit(ops.Matmul, x, b.input(128, 128))), b.input(128, 128))}
		}, map[int]int{0: 0}, 3 * size / 2, "buf2"},
		{"a value that the loop itself uses again at once", func(b *build) []ops.Value {
			sum := b.Emit(ops.Add, vector(b), vector(b))
			return []ops.Value{sum, b.Emit(ops.Mul, sum, sum)}
		}, nil, 2 * size, "buf0 buf1"},
		{"rows that the loop itself loads again", func(b *build) []ops.Value {
			sum := b.Emit(ops.Add, b.input(16, 1024), b.input(16, 1024))
			return []ops.Value{sum, b.Emit(ops.Softmax, sum, sym.C(-1))}
		}, nil, 2 * size, "buf4"},
		{"a result that the next loop reads from the cache", func(b *build) []ops.Value {
			sum := b.Emit(ops.Add, b.input(128, 128), b.input(128, 128))
			return []ops.Value{sum, b.Emit(ops.Matmul, sum, b.param(128, 128))}
		}, nil, 7 * size / 2, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBuild("f")
			outs := c.make(b)
			args := make([]ops.Arg, len(outs))
			for i, o := range outs {
				args[i] = o
			}
			b.G.SetOutput(args)
			p, err := Compile(b.G, Options{
				Machine: cpp.Machine{Lanes: 8, Cache: c.cache}, Cores: 1, Params: b.params,
				Replaces: c.replaces,
			})
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(streamed(p.Wrapper), " "); got != c.want {
				t.Errorf("past a cache of %d bytes goes %q, want %q:\n%s", c.cache, got, c.want, p.Wrapper)
			}
		})
	}
}

// streamed lists the buffers that the kernels of an output code store past the caches.
func streamed(code string) []string {
	var out []string
	name := map[string]string{} // pointer of the kernel -> buffer
	for l := range strings.Lines(code) {
		if declared, buffer, ok := strings.Cut(l, ";  // "); ok {
			if _, p, ok := strings.Cut(declared, "*const "); ok {
				p, _, _ = strings.Cut(p, " ")
				name[p] = strings.TrimSpace(buffer)
			}
		}
		if _, rest, ok := strings.Cut(l, " nt_f8("); ok {
			p, _, _ := strings.Cut(rest, " ")
			if !slices.Contains(out, name[p]) { // a loop's body is there several times
				out = append(out, name[p])
			}
		}
	}
	return out
}
