package ir

import (
	"strings"
	"testing"
)

// sample has every form of node, value and output.
const sample = `program __compiled_fn_1
input l_x_: f32[s0, 64] stride [64, 1]
input l_w_: f32[64, 64] stride [64, 1] param
input l_m_: b8[64] stride [1]
temp buf0: f32[s0, 64] stride [64, 1]
temp buf1: f32[s0] stride [1]
result buf2: i64[s0] stride [1]
result buf3: f32[s0, 64] stride [64, 1]
result buf4: f32[s0, 64] stride [64, 1]
result buf5: f32[s0, 4, 9] stride [36, 9, 1]
result buf6: b8[64] stride [1]
result buf7: f32[4, 27] stride [27, 1]
op0 = matmul [s0, 64 | 64] // linear
  a l_x_[64*i0 + k]
  b l_w_[64*i1 + k]
  out buf0[64*i0 + i1]
op1 = reduction [s0 | 64] // mean
  t0 = load.f32 buf0[64*i0 + r0]
  t1 = reduce_sum.f32 t0
  t2 = const.f32 64
  t3 = div.f32 t1, t2
  store.f32 buf1[i0], t3
op2 = pointwise [s0]
  t0 = index.i64 [2*i0 + (s0//2)]
  store.i64 buf2[i0], t0
op3 = pointwise [s0, 64] // where lt
  t0 = load.b8 l_m_[i1]
  t1 = load.f32 buf0[64*i0 + i1]
  t2 = load.f32 buf1[i0]
  t3 = where.f32 t0, t1, t2
  store.f32 buf3[64*i0 + i1], t3
op4 = extern rand([s0, 64], <nil>, cpu, false) -> buf4 because random: the numbers must be those of the eager generator
op5 = matmul [s0, 4, 9 | 27] // convolution
  a l_w_[27*i1 + k]
  b l_x_[75*i0]
  out buf5[36*i0 + 9*i1 + i2]
  im2col height=5 width=5 chan=25 row=5 col=1 kh=3 kw=3 sh=2 sw=2 ph=1 pw=1 dh=1 dw=1 outw=3 block=1 lanes=1 fc=0 fh=0 fw=0
op6 = pointwise [64] once // gather
  t0 = const.i64 3
  t1 = const.b8 1
  t2 = check.b8 t1
  t3 = loadat.b8 l_m_[i0], t0
  store.b8 buf6[i0], t3
op7 = extern cond(buf6, buf0) -> buf1 of true_graph_0, false_graph_0 because the data decides
op8 = extern scan(buf1, buf0) -> buf1, buf3 of scan_combine_graph_0 because its graph runs for one slice after the other
op9 = matmul [4, 27 | 9*s0] // convolution_backward
  a buf5[9*i0 + k]
  b l_x_[0]
  out buf7[27*i0 + i1]
  grad 9 36 75 im2col height=5 width=5 chan=25 row=5 col=1 kh=3 kw=3 sh=2 sw=2 ph=1 pw=1 dh=1 dw=1 outw=3 block=1 lanes=1 fc=0 fh=0 fw=0
return buf3 + 0 shape [s0, 64] stride [64, 1]
return buf2 + 1 shape [s0 - 1] stride [1]
return value 2*s0 + 1
return None
`

func TestParsePrintsTheSame(t *testing.T) {
	p, err := Parse(sample)
	if err != nil {
		t.Fatal(err)
	}
	if got := p.String(); got != sample {
		t.Errorf("printed as\n%s", got)
	}
	if err := p.Check(); err != nil {
		t.Error(err)
	}
}

func TestParseAndCheckRefuse(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{"load.f32 buf0[64*i0 + r0]", "load.f32 nobody[r0]", "unknown buffer"},
		{"reduce_sum", "reduce_median", "unknown reduction"},
		{"t3 = div.f32 t1, t2", "t3 = div.f32 t1, t9", "not defined"},
		{"t3 = div.f32 t1, t2", "t9 = div.f32 t1, t2", "not the number"},
		{"64*i0 + r0]", "64*i0 + r7]", "no loop r7"},
		{"op2 = pointwise", "op2 = pointless", "unknown kind"},
		{"t3 = div.f32 t1, t2\n  store.f32 buf1[i0], t3", "t3 = div.f32 t0, t2\n  store.f32 buf1[i0], t3", "not reduced"},
		{"t3 = where.f32 t0, t1, t2", "t3 = where.f32 t1, t1, t2", "operands f32"},
		{"store.i64 buf2[i0], t0", "store.i64 l_x_[i0], t0", "the buffer holds f32"},
		{"a l_x_[64*i0 + k]", "a buf3[64*i0 + k]", "before it is written"},
		{"kh=3 kw=3", "kw=3 kh=3", "want kh=NUMBER"},
		{" outw=3", "", "19 fields"},
		{"outw=3", "outw=0", "outw is 0"},
		{"grad 9 36 75", "grad 9 36", "three numbers"},
		{"grad 9 36 75", "grad 0 36 75", "grad: 0 pixels"},
	} {
		text := strings.Replace(sample, c.old, c.new, 1)
		if text == sample {
			t.Fatalf("the sample does not hold %q", c.old)
		}
		p, err := Parse(text)
		if err == nil {
			err = p.Check()
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: error %v, want one with %q", c.new, err, c.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(sample)
	f.Add("program x\ninput a: f32[] stride []\nop0 = pointwise []\n  t0 = load.f32 a[0]\n")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := Parse(text)
		if err != nil || p.Check() != nil {
			return
		}
		first := p.String()
		q, err := Parse(first)
		if err != nil {
			t.Fatalf("does not read its own print: %v\n%s", err, first)
		}
		if second := q.String(); second != first {
			t.Fatalf("prints differ:\n%s\n%s", first, second)
		}
	})
}

// TestConvText: an image's description is read as it was printed, with what few have.
func TestConvText(t *testing.T) {
	plain := ConvInfo{Height: 5, Width: 6, KH: 3, KW: 2, StepH: 1, StepW: 1, DilH: 1, DilW: 1, OutW: 6, Block: 16, Lanes: 16}
	rounded, apart, grouped := plain, plain, plain
	rounded.BFloat16 = true
	apart.ApartH, apart.ApartW = 1, 2
	grouped.GroupIn, grouped.GroupOut, grouped.BFloat16 = 4, 8, true
	for _, c := range []ConvInfo{plain, rounded, apart, grouped} {
		text, _ := strings.CutPrefix(c.String(), "im2col ")
		if got, err := parseConv(text); err != nil || *got != c {
			t.Errorf("%s is read as %v: %v", text, got, err)
		}
	}
}

// TestConvAt: an element of the gathered matrix lies where convolution says: at
// stride * output - padding + dilation * kernel, in the padding where that is
// outside.
func TestConvAt(t *testing.T) {
	c := ConvInfo{
		Height: 5, Width: 6, ChanStride: 30, RowStride: 6, Stride: 1, KH: 3, KW: 2, StepH: 2, StepW: 1, PadH: 1, PadW: 1,
		DilH: 1, DilW: 2, OutW: 6, Block: 1, Lanes: 1,
	}
	for _, x := range []struct {
		k, n   int64
		at     int64
		inside bool
	}{
		{0, 0, -7, false},                        // row -1, column -1
		{2*1 + 1, 0, 1, true},                    // kernel row 1, column 1: row 0, column 1
		{6 + 2*2 + 0, 6 + 2, 30 + 3*6 + 1, true}, // channel 1, kernel row 2, output row 1, column 2
		{5, 12 + 5, 5*6 + 6, false},              // row 5, column 6
	} {
		if at, inside := c.At(x.k, x.n); at != x.at || inside != x.inside {
			t.Errorf("element (%d, %d) lies at %d, inside %v; want %d, %v", x.k, x.n, at, inside, x.at, x.inside)
		}
	}
	c.ChanStride, c.RowStride, c.Stride, c.Block = 8*30, 8*6, 8, 8
	if at, inside := c.At(9*6+2*2, 6+2); at != 8*30+8*(3*6+1)+1 || !inside {
		t.Errorf("channel 9 in blocks of 8 lies at %d, inside %v", at, inside)
	}
}

// TestReadsAndWrites: every buffer that a node uses is told, with its address
// where it has one; a store at some places reads what it leaves.
func TestReadsAndWrites(t *testing.T) {
	p, err := Parse(`program p
input a: f32[8, 8] stride [8, 1]
temp b: f32[8, 8] stride [8, 1]
temp c: f32[8, 8] stride [8, 1]
temp d: f32[8, 8] stride [8, 1]
result e: f32[64] stride [1]
op0 = pointwise [8, 8] // sin
  t0 = load.f32 a[8*i0 + i1]
  store.f32 b[i0 + 8*i1], t0
op1 = matmul [8, 8 | 8] // mm
  a a[8*i0 + k]
  b b[8*k + i1]
  out c[8*i0 + i1]
op2 = extern mm(c, b) -> d because tiny
op3 = sequential [8 | 8] // scatter
  t0 = load.f32 d[8*i0 + r0]
  t1 = const.i64 3
  t2 = loadat.f32 c[i0], t1
  storeat.f32 e[8*i0], t1, t0
return e + 0 shape [64] stride [1]
`)
	if err != nil {
		t.Fatal(err)
	}
	want := [...]string{
		"reads a[8*i0 + i1] writes b[i0 + 8*i1]", "reads a b writes c[8*i0 + i1]", "reads c b writes d",
		"reads d[8*i0 + r0] c e writes e",
	}
	for i, n := range p.Nodes {
		got := ""
		use := func(b *Buffer, x *Index) {
			if got += " " + b.Name; x != nil {
				got += "[" + n.IndexText(*x) + "]"
			}
		}
		got += "reads"
		n.Reads(use)
		got += " writes"
		n.Writes(use)
		if got != want[i] {
			t.Errorf("%s %s, want %s", n.Name, got, want[i])
		}
	}
}
