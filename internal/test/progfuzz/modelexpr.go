package progfuzz

import (
	"fmt"
	"slices"
)

// This file is the table of expressions of model programs: each row picks values
// that fit and gives the text, shape and type of what it makes. Values stay
// small, and nothing jumps at a number that two ways of adding may place on
// either side.

// modelRow writes one expression; false where no value fits.
type modelRow func(m *modelWriter, vs values) (text string, made value, ok bool)

// modelRows are all rows; what is in it twice is twice as frequent.
func modelRows() []modelRow {
	return slices.Concat(
		[]modelRow{mapped, mapped, combined, combined, combined, scaled},
		[]modelRow{reduced, reduced, extreme, allReduced, soft, scanned, ordered},
		[]modelRow{linear, product, batched, convolved, pooled, layerNorm, batchNorm, dropped, attended},
		[]modelRow{joined, joinedSame, stacked, pieceOf, cutOut, selected, transposed, reshaped, widened, flipped, padded},
		[]modelRow{embedded, gathered, scattered, indexed, masked, triangle, onehot},
		[]modelRow{cast, cast, compared, integer, bits, counted, rounded},
		[]modelRow{detached, cloned, closure, fromSize},
	)
}

func (m *modelWriter) float32(vs values) (value, bool) {
	return m.with(vs, func(v value) bool { return v.dtype == "Float32" })
}

// ranked picks a float32 of at least so many dimensions, and one of them.
func (m *modelWriter) ranked(vs values, least int) (value, int, bool) {
	v, ok := m.with(vs, func(v value) bool { return v.dtype == "Float32" && len(v.dims) >= least })
	if !ok {
		return v, 0, false
	}
	return v, m.r.Intn(len(v.dims)), true
}

func made(v value, ds ...string) value { return value{dims: ds, dtype: v.dtype} }

func mapped(m *modelWriter, vs values) (string, value, bool) {
	v, ok := m.with(vs, value.float)
	f := pickOf(m.generator, "Sin()", "Cos()", "Tanh()", "Neg()", "Relu()", "Sigmoid()", "Abs()", "Tanh().Exp()",
		"Square().Tanh()", "Erf()",
		"Abs().Add(0.5).Sqrt()", "Abs().Add(1).Log()", "Clamp(kw.Min(-0.75), kw.Max(1.25))", "Abs().Add(1).Reciprocal()",
		"Tanh().Pow(2)", "Tanh().Pow(3)")
	return v.name + "." + f, made(v, v.dims...), ok
}

func combined(m *modelWriter, vs values) (string, value, bool) {
	v, ok := m.with(vs, value.float)
	w, ok2 := m.with(vs, func(w value) bool { return w.dtype == v.dtype && broadcasts(v.dims, w.dims) })
	if !ok || !ok2 {
		return "", v, false
	}
	f := pickOf(m.generator, "%[1]s.Add(%[2]s)", "%[1]s.Sub(%[2]s, kw.Alpha(0.5))", "%[1]s.Mul(%[2]s.Tanh())",
		"torch.Maximum(%[1]s, %[2]s)",
		"%[1]s.Div(%[2]s.Abs().Add(1))", "torch.Minimum(%[1]s, %[2]s)", "torch.Where(%[1]s.Gt(%[2]s), %[1]s, %[2]s)",
		"%[1]s.Lerp(%[2]s, 0.25)",
		"torch.Atan2(%[1]s, %[2]s.Abs().Add(1))", "torch.Addcmul(%[1]s, %[1]s, %[2]s.Tanh(), kw.Value(0.5))")
	return fmt.Sprintf(f, v.name, w.name), made(v, v.dims...), true
}

// broadcasts reports whether ws stretch to vs.
func broadcasts(vs, ws []string) bool {
	if len(ws) > len(vs) {
		return false
	}
	for i, w := range ws {
		if v := vs[len(vs)-len(ws)+i]; w != v && w != "1" {
			return false
		}
	}
	return true
}

func scaled(m *modelWriter, vs values) (string, value, bool) {
	v, ok := m.with(vs, value.float)
	return fmt.Sprintf("%s.%s(%s)", v.name, pickOf(m.generator, "Mul", "Add", "Sub", "Div"),
		pickOf(m.generator, "0.5", "2", "1.5", "x.Size(0)", "net.Steps%3+1")), made(v, v.dims...), ok
}

func reduced(m *modelWriter, vs values) (string, value, bool) {
	v, d, ok := m.ranked(vs, 1)
	if !ok {
		return "", v, false
	}
	f := pickOf(m.generator, "Sum", "Mean", "Amax", "Amin", "Logsumexp", "Norm")
	at := d
	if m.r.Intn(2) == 0 {
		at = d - len(v.dims)
	}
	arg := fmt.Sprintf("kw.Dim(%d)", at)
	switch f {
	case "Logsumexp":
		arg = fmt.Sprintf("[]int{%d}", at)
	case "Norm":
		arg = fmt.Sprintf("kw.Dim(%d)", at)
	}
	if m.r.Intn(2) == 0 {
		keep := slices.Clone(v.dims)
		keep[d] = "1"
		return fmt.Sprintf("%s.%s(%s, kw.Keepdim(true))", v.name, f, arg), made(v, keep...), true
	}
	return fmt.Sprintf("%s.%s(%s)", v.name, f, arg), made(v, dropDim(v.dims, d)...), true
}

func extreme(m *modelWriter, vs values) (string, value, bool) {
	v, d, ok := m.ranked(vs, 1)
	if !ok {
		return "", v, false
	}
	rest := dropDim(v.dims, d)
	switch m.r.Intn(4) {
	case 0:
		return fmt.Sprintf("%s.Var(kw.Dim(%d), kw.Correction(0))", v.name, d), made(v, rest...), true
	case 1:
		return fmt.Sprintf("%s.Tanh().Prod(kw.Dim(%d))", v.name, d), made(v, rest...), true
	case 2:
		return fmt.Sprintf("func() *torch.Tensor { v, _ := %s.MaxDim(%d); return v }()", v.name, d), made(v, rest...), true
	}
	return fmt.Sprintf("%s.Std(kw.Dim(%d), kw.Correction(0), kw.Keepdim(true)).Add(0.5).Mean(kw.Dim(%d))", v.name, d, d),
		made(v, rest...), v.dims[d] != "1"
}

func allReduced(m *modelWriter, vs values) (string, value, bool) {
	v, ok := m.float32(vs)
	return v.name + "." + pickOf(m.generator, "Sum()", "Mean()", "Max()", "Min()"), made(v), ok
}

func soft(m *modelWriter, vs values) (string, value, bool) {
	v, d, ok := m.ranked(vs, 1)
	return fmt.Sprintf("%s.%s(%d)", v.name, pickOf(m.generator, "Softmax", "LogSoftmax"), d), made(v, v.dims...), ok
}

func scanned(m *modelWriter, vs values) (string, value, bool) {
	v, d, ok := m.ranked(vs, 1)
	f := pickOf(
		m.generator, "%s.Cumsum(%d)", "%s.Tanh().Cumprod(%d)", "%s.Logcumsumexp(%d)",
		"func() *torch.Tensor { v, _ := %s.Cummax(%d); return v }()",
	)
	return fmt.Sprintf(f, v.name, d), made(v, v.dims...), ok
}

func ordered(m *modelWriter, vs values) (string, value, bool) {
	v, d, ok := m.ranked(vs, 1)
	if !ok {
		return "", v, false
	}
	if n := number(v.dims[d]); n > 1 && m.r.Intn(2) == 0 {
		ds := slices.Clone(v.dims)
		ds[d] = "2"
		return fmt.Sprintf("func() *torch.Tensor { v, _ := %s.Topk(2, kw.Dim(%d)); return v }()", v.name, d), made(v, ds...), true
	}
	return fmt.Sprintf("func() *torch.Tensor { v, _ := %s.Sort(kw.Dim(%d)); return v }()", v.name, d), made(v, v.dims...), true
}

// rows4 picks a float32 whose last dimension is 4.
func (m *modelWriter) rows4(vs values, least int) (value, bool) {
	return m.with(vs, func(v value) bool {
		return v.dtype == "Float32" && len(v.dims) >= least && v.dims[len(v.dims)-1] == "4"
	})
}

func linear(m *modelWriter, vs values) (string, value, bool) {
	v, ok := m.rows4(vs, 1)
	return fmt.Sprintf(pickOf(m.generator, "net.Lin.Forward(%s)", "%s.Matmul(net.Lin.Weight.T())"), v.name), made(v, v.dims...), ok
}

func product(m *modelWriter, vs values) (string, value, bool) {
	v, ok := m.with(vs, func(v value) bool { return v.is("Float32", "B", "4") })
	w, ok2 := m.with(vs, func(v value) bool { return v.is("Float32", "B", "4") })
	if m.r.Intn(2) == 0 {
		return fmt.Sprintf("%s.T().Mm(%s)", v.name, w.name), made(v, "4", "4"), ok && ok2
	}
	return fmt.Sprintf("%s.Mm(%s.T())", v.name, w.name), made(v, "B", "B"), ok && ok2
}

func batched(m *modelWriter, vs values) (string, value, bool) {
	is := func(v value) bool { return v.is("Float32", "B", "3", "4") }
	v, ok := m.with(vs, is)
	w, ok2 := m.with(vs, is)
	return fmt.Sprintf("%s.Bmm(%s.Transpose(1, 2))", v.name, w.name), made(v, "B", "3", "3"), ok && ok2
}

func convolved(m *modelWriter, vs values) (string, value, bool) {
	v, ok := m.with(vs, func(v value) bool { return v.is("Float32", "B", "3", "4") })
	return fmt.Sprintf("torch.Conv1d(%s, net.Lin.Weight.Narrow(0, 0, 3).Narrow(1, 0, 3).Unsqueeze(-1).Expand(3, 3, 3), "+
		"kw.Padding(1))", v.name), made(v, v.dims...), ok
}

func pooled(m *modelWriter, vs values) (string, value, bool) {
	v, ok := m.with(vs, func(v value) bool { return v.is("Float32", "B", "3", "4") })
	return fmt.Sprintf("torch.%s(%s, 2)", pickOf(m.generator, "MaxPool1d", "AvgPool1d"), v.name), made(v, "B", "3", "2"), ok
}

func layerNorm(m *modelWriter, vs values) (string, value, bool) {
	v, ok := m.rows4(vs, 1)
	return fmt.Sprintf("torch.LayerNorm(%s, []int{4}, kw.Weight(net.Scale), kw.Eps(0.1))", v.name), made(v, v.dims...), ok
}

func batchNorm(m *modelWriter, vs values) (string, value, bool) {
	v, ok := m.with(vs, func(v value) bool { return v.is("Float32", "B", "4") })
	m.norm = m.norm || ok
	return fmt.Sprintf("net.Norm.Forward(%s)", v.name), made(v, v.dims...), ok
}

func dropped(m *modelWriter, vs values) (string, value, bool) {
	v, ok := m.float32(vs)
	return fmt.Sprintf("net.Drop.Forward(%s)", v.name), made(v, v.dims...), ok
}

func attended(m *modelWriter, vs values) (string, value, bool) {
	v, ok := m.with(vs, func(v value) bool { return v.is("Float32", "B", "3", "4") })
	return fmt.Sprintf("F.ScaledDotProductAttention(%[1]s, %[1]s.Tanh(), %[1]s, kw.IsCausal(%[2]v))", v.name, m.r.Intn(2) == 0),
		made(v, v.dims...), ok
}

func joined(m *modelWriter, vs values) (string, value, bool) {
	v, ok := m.with(vs, func(v value) bool { return v.dtype == "Float32" && len(v.dims) >= 2 && number(v.dims[1]) > 0 })
	w, ok2 := m.with(vs, func(w value) bool {
		return w.dtype == "Float32" && len(w.dims) == len(v.dims) && len(v.dims) >= 2 && number(w.dims[1]) > 0 &&
			slices.Equal(dropDim(v.dims, 1), dropDim(w.dims, 1)) && number(v.dims[1])+number(w.dims[1]) < 12
	})
	if !ok || !ok2 {
		return "", v, false
	}
	ds := slices.Clone(v.dims)
	ds[1] = fmt.Sprint(number(v.dims[1]) + number(w.dims[1]))
	return fmt.Sprintf("torch.Cat([]*torch.Tensor{%s, %s}, kw.Dim(1))", v.name, w.name), made(v, ds...), true
}

func joinedSame(m *modelWriter, vs values) (string, value, bool) {
	v, ok := m.with(vs, func(v value) bool { return v.dtype == "Float32" && len(v.dims) >= 2 && v.dims[0] == "B" })
	return fmt.Sprintf("torch.Cat([]*torch.Tensor{%[1]s, %[1]s.Neg()}).Narrow(0, %[2]s, x.Size(0))", v.name,
		pickOf(m.generator, "0", "1", "x.Size(0)")), made(v, v.dims...), ok
}

func stacked(m *modelWriter, vs values) (string, value, bool) {
	v, ok := m.with(vs, func(v value) bool { return v.dtype == "Float32" && len(v.dims) < 3 })
	w, ok2 := m.with(vs, func(w value) bool { return w.is(v.dtype, v.dims...) })
	return fmt.Sprintf("torch.Stack([]*torch.Tensor{%s, %s, %s})", v.name, w.name, v.name),
		made(v, append([]string{"3"}, v.dims...)...), ok && ok2
}

func pieceOf(m *modelWriter, vs values) (string, value, bool) {
	v, ok := m.rows4(vs, 1)
	ds := slices.Clone(v.dims)
	if !ok {
		return "", v, false
	}
	ds[len(ds)-1] = "2"
	text := pickOf(
		m.generator, "%s.Chunk(2, kw.Dim(-1))[1]", "%s.Split([]int{2}, kw.Dim(-1))[0]",
		"torch.SplitWithSizes(%s, []int{1, 2, 1}, kw.Dim(-1))[1]",
	)
	return fmt.Sprintf(text, v.name), made(v, ds...), true
}

func cutOut(m *modelWriter, vs values) (string, value, bool) {
	v, ok := m.rows4(vs, 1)
	if !ok {
		return "", v, false
	}
	ds := slices.Clone(v.dims)
	ds[len(ds)-1] = "2"
	text := pickOf(
		m.generator, "%s.Narrow(-1, 1, 2)", "%s.At(torch.Ellipsis, torch.Slice_{Start: 0, Step: 2})",
		"%s.At(torch.Ellipsis, torch.Range(-2, torch.End))",
	)
	return fmt.Sprintf(text, v.name), made(v, ds...), true
}

func selected(m *modelWriter, vs values) (string, value, bool) {
	v, d, ok := m.ranked(vs, 1)
	if !ok {
		return "", v, false
	}
	return fmt.Sprintf("%s.Select(%d, %s)", v.name, d, pickOf(m.generator, "0", "-1")), made(v, dropDim(v.dims, d)...), true
}

func transposed(m *modelWriter, vs values) (string, value, bool) {
	v, ok := m.with(vs, func(v value) bool { return len(v.dims) >= 2 && v.float() })
	if !ok {
		return "", v, false
	}
	ds := slices.Clone(v.dims)
	a, b := m.r.Intn(len(ds)), m.r.Intn(len(ds))
	ds[a], ds[b] = ds[b], ds[a]
	text := fmt.Sprintf("%s.Transpose(%d, %d)", v.name, a, b)
	if m.r.Intn(3) == 0 {
		text += ".Contiguous()"
	}
	return text, made(v, ds...), true
}

func reshaped(m *modelWriter, vs values) (string, value, bool) {
	v, ok := m.with(vs, func(v value) bool { return v.is("Float32", "B", "3", "4") || v.is("Float32", "B", "12") })
	if !ok {
		return "", v, false
	}
	if len(v.dims) == 3 {
		return fmt.Sprintf(pickOf(m.generator, "%s.Reshape(x.Size(0), 12)", "%s.Flatten(kw.StartDim(1))", "%s.Reshape(-1, 12)"),
			v.name), made(v, "B", "12"), true
	}
	return fmt.Sprintf("%s.Reshape(-1, 3, 4)", v.name), made(v, "B", "3", "4"), true
}

func widened(m *modelWriter, vs values) (string, value, bool) {
	v, ok := m.with(vs, func(v value) bool { return v.dtype == "Float32" && len(v.dims) < 3 })
	if !ok {
		return "", v, false
	}
	ds := append([]string{"3"}, v.dims...)
	if m.r.Intn(2) == 0 {
		return fmt.Sprintf("%s.Expand(%s)", v.name, dims(ds)), made(v, ds...), true
	}
	ds[0] = "1"
	return v.name + ".Unsqueeze(0)", made(v, ds...), true
}

func flipped(m *modelWriter, vs values) (string, value, bool) {
	v, d, ok := m.ranked(vs, 1)
	return fmt.Sprintf(pickOf(m.generator, "%s.Flip(%d)", "%s.Roll([]int{1}, kw.Dims([]int{%d}))"), v.name, d), made(v, v.dims...), ok
}

func padded(m *modelWriter, vs values) (string, value, bool) {
	v, ok := m.with(vs, func(v value) bool {
		return v.dtype == "Float32" && len(v.dims) == 3 && number(v.dims[2]) > 2 && number(v.dims[2]) < 9
	})
	if !ok {
		return "", v, false
	}
	mode := pickOf(m.generator, "constant", "reflect", "replicate", "circular")
	ds := slices.Clone(v.dims)
	ds[2] = fmt.Sprint(number(ds[2]) + 3)
	return fmt.Sprintf("F.Pad(%s, []int{1, 2}, kw.Mode(%q))", v.name, mode), made(v, ds...), true
}

func embedded(m *modelWriter, vs values) (string, value, bool) {
	v, ok := m.with(vs, func(v value) bool { return v.is("Int64", "B") })
	return fmt.Sprintf("net.Emb.Forward(%s.Remainder(5))", v.name), value{dims: []string{"B", "4"}, dtype: "Float32"}, ok
}

func gathered(m *modelWriter, vs values) (string, value, bool) {
	v, ok := m.with(vs, func(v value) bool { return v.is("Float32", "B", "4") })
	w, ok2 := m.with(vs, func(v value) bool { return v.is("Int64", "B") })
	if m.r.Intn(2) == 0 {
		return fmt.Sprintf("%s.IndexSelect(0, %s.Remainder(x.Size(0)))", v.name, w.name), made(v, "B", "4"), ok && ok2
	}
	return fmt.Sprintf("%s.Gather(1, %s.Remainder(4).Unsqueeze(1))", v.name, w.name), made(v, "B", "1"), ok && ok2
}

func scattered(m *modelWriter, vs values) (string, value, bool) {
	v, ok := m.with(vs, func(v value) bool { return v.is("Float32", "B", "4") })
	w, ok2 := m.with(vs, func(v value) bool { return v.is("Int64", "B") })
	text := pickOf(m.generator, "%[1]s.IndexAdd(0, %[2]s.Remainder(x.Size(0)), %[1]s.Tanh())",
		"%[1]s.ScatterAdd(1, %[2]s.Remainder(4).Unsqueeze(1), %[1]s)",
		"%[1]s.Scatter(1, %[2]s.Remainder(4).Unsqueeze(1), 0.5)",
		"torch.IndexPut(%[1]s, []*torch.Tensor{%[2]s.Remainder(x.Size(0))}, %[1]s, kw.Accumulate(true))",
		"torch.Zeros(5, 4).IndexAdd(0, %[2]s.Remainder(5), %[1]s).Narrow(0, 0, 1).Add(%[1]s)")
	return fmt.Sprintf(text, v.name, w.name), made(v, "B", "4"), ok && ok2
}

func indexed(m *modelWriter, vs values) (string, value, bool) {
	v, ok := m.with(vs, func(v value) bool { return v.is("Float32", "B", "3", "4") })
	w, ok2 := m.with(vs, func(v value) bool { return v.is("Int64", "B") })
	if m.r.Intn(2) == 0 {
		return fmt.Sprintf("%s.At(torch.Arange(x.Size(0)), %s.Remainder(3))", v.name, w.name), made(v, "B", "4"), ok && ok2
	}
	return fmt.Sprintf("%s.At(torch.Ellipsis, %s.Remainder(4))", v.name, w.name), made(v, "B", "3", "B"), ok && ok2
}

func masked(m *modelWriter, vs values) (string, value, bool) {
	v, ok := m.with(vs, func(v value) bool { return v.is("Float32", "B", "4") })
	w, ok2 := m.with(vs, func(v value) bool { return v.is("Bool", "B", "4") })
	return fmt.Sprintf(pickOf(m.generator, "%s.MaskedFill(%s, 0.5)", "torch.Where(%[2]s, %[1]s, 0)",
		"torch.Where(%[2]s, %[1]s, y)"), v.name, w.name), made(v, v.dims...), ok && ok2
}

func triangle(m *modelWriter, vs values) (string, value, bool) {
	v, ok := m.with(vs, func(v value) bool { return v.dtype == "Float32" && len(v.dims) >= 2 })
	return fmt.Sprintf("%s.%s(kw.Diagonal(%d))", v.name, pickOf(m.generator, "Tril", "Triu"), m.r.Intn(3)-1), made(v, v.dims...), ok
}

func onehot(m *modelWriter, vs values) (string, value, bool) {
	v, ok := m.with(vs, func(v value) bool { return v.is("Int64", "B") })
	return fmt.Sprintf("%s.Remainder(4).Unsqueeze(1).Eq(torch.Arange(4)).To(torch.Float32)", v.name),
		value{dims: []string{"B", "4"}, dtype: "Float32"}, ok
}

func cast(m *modelWriter, vs values) (string, value, bool) {
	v, ok := m.with(vs, func(v value) bool { return v.dtype != "Bool" || m.r.Intn(3) == 0 })
	to := pickOf(m.generator, "Float32", "Float16", "Bfloat16", "Float64", "Float32", "Float32")
	return fmt.Sprintf("%s.To(torch.%s)", v.name, to), value{dims: v.dims, dtype: to}, ok
}

func compared(m *modelWriter, vs values) (string, value, bool) {
	v, ok := m.with(vs, func(v value) bool { return v.raw && v.dtype == "Float32" })
	return fmt.Sprintf("%s.%s(0.37)", v.name, pickOf(m.generator, "Gt", "Lt", "Ge")), value{dims: v.dims, dtype: "Bool"}, ok
}

func integer(m *modelWriter, vs values) (string, value, bool) {
	v, ok := m.with(vs, func(v value) bool { return v.dtype == "Int64" })
	f := pickOf(
		m.generator, "%s.Add(2)", "%s.Mul(3).Remainder(7)", "%s.FloorDivide(2)", "%s.Neg().Remainder(5)",
		"%s.Clamp(kw.Max(3))", "%s.Mul(%[1]s)", "%s.Sub(x.Size(0))", "torch.Where(%s.Gt(2), %[1]s, 1)",
	)
	return fmt.Sprintf(f, v.name), made(v, v.dims...), ok
}

func bits(m *modelWriter, vs values) (string, value, bool) {
	v, ok := m.with(vs, func(v value) bool { return v.dtype == "Bool" })
	w, ok2 := m.with(vs, func(w value) bool { return w.is("Bool", v.dims...) })
	f := pickOf(m.generator, "torch.LogicalAnd(%s, %s)", "torch.LogicalXor(%s, %s)", "%s.BitwiseOr(%s)", "torch.LogicalNot(%s).Eq(%s)")
	return fmt.Sprintf(f, v.name, w.name), made(v, v.dims...), ok && ok2
}

func counted(m *modelWriter, vs values) (string, value, bool) {
	v, ok := m.with(vs, func(v value) bool { return (v.dtype == "Bool" || v.dtype == "Int64") && len(v.dims) > 0 })
	if !ok {
		return "", v, false
	}
	last := len(v.dims) - 1
	return fmt.Sprintf("%s.Sum(kw.Dim(-1)).%s", v.name, pickOf(m.generator, "Add(0)", "Remainder(5)")),
		value{dims: dropDim(v.dims, last), dtype: "Int64"}, true
}

func rounded(m *modelWriter, vs values) (string, value, bool) {
	v, ok := m.with(vs, func(v value) bool { return v.raw && v.dtype == "Float32" })
	return fmt.Sprintf("%s.Mul(3).Add(0.03).%s", v.name,
			pickOf(m.generator, "Floor()", "Trunc()", "To(torch.Int32).To(torch.Float32)", "To(torch.Int8).To(torch.Float32)")),
		made(v, v.dims...), ok
}

func detached(m *modelWriter, vs values) (string, value, bool) {
	v, ok := m.with(vs, value.float)
	return v.name + ".Detach()", made(v, v.dims...), ok
}

func cloned(m *modelWriter, vs values) (string, value, bool) {
	v, ok := m.with(vs, value.float)
	return v.name + ".Clone()", made(v, v.dims...), ok
}

func closure(m *modelWriter, vs values) (string, value, bool) {
	v, ok := m.rows4(vs, 1)
	n := m.fresh("u")
	return fmt.Sprintf("twice(func(%[1]s *torch.Tensor) *torch.Tensor { return %[1]s.Mul(net.Scale).Add(list[1]) }, %[2]s)", n,
		v.name), made(v, v.dims...), ok
}

func fromSize(m *modelWriter, vs values) (string, value, bool) {
	return pickOf(m.generator, "torch.Arange(x.Size(0)).To(torch.Float32).Unsqueeze(1).Expand(x.Size(0), 4)",
			"torch.Full([]int{x.Size(0), 4}, 0.5)",
			"torch.Ones(x.Size(0), 4).Mul(x.Size(0))", "torch.Rand(x.Size(0), 4)", "torch.ZerosLike(x)"),
		value{dims: []string{"B", "4"}, dtype: "Float32"}, true
}
