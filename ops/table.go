package ops

import (
	"slices"
	"strconv"
	"strings"
	"sync"
)

// This file is the table, which is built on first use, so that importing the package costs
// nothing, and the rows of in-place operators, which are derived.

// The table is built on first use, so that importing the package costs nothing.

type table struct {
	rows   [NumIDs]*Op
	byName map[string]*Op
	sorted []*Op
}

var build = sync.OnceValue(func() *table {
	t := &table{byName: map[string]*Op{}}
	for _, family := range []func() []*Op{
		unaryRows, binaryRows, activationRows, reductionRows, matmulRows, normRows,
		viewRows, dataRows, factoryRows, indexRows, randomRows,
		rearrangeRows, sortRows, convRows, poolRows, padRows, batchNormRows, lossRows, attentionRows,
		specialRows, productRows, sequenceRows, pairReductionRows, furtherLossRows,
		indexingRows, runRows, histogramRows, besselRows, polynomialRows, windowRows, maskedRows, marginLossRows, bceRows,
		nativeRows, unpoolRows,
		quantileRows, embeddingBagRows, multiheadRows, linalgRows, distanceRows, antialiasRows, gridSamplerRows, complexRows,
	} {
		for _, row := range family() {
			t.add(row)
		}
	}
	slices.SortFunc(t.sorted, func(a, b *Op) int { return strings.Compare(a.FullName(), b.FullName()) })
	return t
})

func (t *table) add(row *Op) {
	name := row.FullName()
	if t.rows[row.ID] != nil || t.byName[name] != nil {
		panic("ops: two rows for " + name)
	}
	if holomorphic(row) {
		row.Backward = conjugated(row.Backward)
	}
	t.rows[row.ID] = row
	t.byName[name] = row
	t.sorted = append(t.sorted, row)
	for _, alias := range row.Aliases {
		t.byName[alias] = row
	}
	if row.Tags.Has(TagHasInPlace) {
		f := inPlaceRow(row)
		t.add(f)
		for _, alias := range row.Aliases {
			t.byName[alias+"_"] = f
		}
	}
}

// Get returns the row of id. It panics for an unknown id.
func Get(id ID) *Op {
	if row := build().rows[id]; row != nil {
		return row
	}
	panic("ops: no row for operator " + strconv.Itoa(int(id)))
}

// Lookup finds a row by PyTorch's name: "add", "max.dim", "add_"; second names
// ("absolute") find the row of the first.
func Lookup(name string) (*Op, bool) {
	row, ok := build().byName[name]
	return row, ok
}

// All returns the rows in the order of their names. The caller must not
// change the list.
func All() []*Op { return build().sorted }

// InPlace returns the in-place form of a functional operator; None when
// PyTorch has none.
func InPlace(id ID) ID {
	if id < numFunctional && build().rows[id+numFunctional] != nil {
		return id + numFunctional
	}
	return None
}

// Functional returns the operator whose result an in-place one writes; id
// itself when it is not in place.
func Functional(id ID) ID {
	if id >= numFunctional {
		return id - numFunctional
	}
	return id
}

// InPlaceOffset added to the ID of an operator gives that of its in-place form.
const InPlaceOffset = numFunctional

// AliasNames lists PyTorch's second names of operators in order, the in-place ones after
// them.
func AliasNames() []string {
	var names, inPlace []string
	for _, row := range All() {
		names = append(names, row.Aliases...)
		for _, name := range row.Aliases {
			if row.Tags.Has(TagHasInPlace) {
				inPlace = append(inPlace, name+"_")
			}
		}
	}
	slices.Sort(names)
	slices.Sort(inPlace)
	return append(names, inPlace...)
}

// Reshapes reports whether an in-place operator changes the shape or strides
// of its tensor and leaves its numbers alone.
func Reshapes(op *Op) bool {
	return op.Tags.Has(TagInPlace) && Get(Functional(op.ID)).Tags.Has(TagView)
}

// inPlaceRow is the row of the operator that writes f's result over its first argument.
func inPlaceRow(f *Op) *Op {
	row := &Op{
		ID: f.ID + numFunctional, Name: f.Name + "_", Overload: f.Overload, Schema: f.Schema,
		Tags: f.Tags&^(TagView|TagMaybeView|TagNN|TagNotMethod|TagHasInPlace) | TagInPlace | TagNotFunction, Backward: f.Backward,
		GradName: f.GradName,
	}
	if strings.Contains(f.Schema, inplaceParam) { // of nn.functional, as the operator itself
		row.Schema = strings.Replace(f.Schema, inplaceParam, "", 1)
		row.Tags |= f.Tags&TagNotMethod | TagNN
	}
	if f.ID == Polygamma {
		row.Schema = "(Tensor self, int n) -> Tensor"
	}
	row.Meta = func(c *Call) ([]Result, error) { return inPlaceMeta(f, c) }
	return row
}

// inplaceParam ends the schema of functions that write their result over their
// input where asked to.
const inplaceParam = ", bool inplace=False"

// OverInput is the operator that a call with bound arguments runs: the in-place
// one where the argument inplace is set, which that one does not have.
func OverInput(op *Op, args []Arg) (*Op, []Arg) {
	last := len(args) - 1
	if last < 0 || args[last] != true || op.Params()[last].Name != "inplace" {
		return op, args
	}
	return Get(op.ID + InPlaceOffset), args[:last]
}

// KeepsTape reports whether an in-place operator leaves the gradient of its
// tensor what it was, though it writes truth values: PyTorch's logical ones do.
func KeepsTape(op *Op) bool {
	switch op.ID - numFunctional {
	case LogicalNot, LogicalAnd, LogicalOr, LogicalXor:
		return true
	}
	return false
}

// ByKeyword reports whether an in-place operator is what the argument inplace of
// its functional form asks for.
func ByKeyword(op *Op) bool { return op.Tags.Has(TagInPlace | TagNN) }

// PureArgs turns the arguments of an in-place operator into those of its
// functional form.
func PureArgs(op *Op, args []Arg) []Arg { return pureArgs(Get(Functional(op.ID)), args) }

func pureArgs(f *Op, args []Arg) []Arg {
	if f.ID == Polygamma { // whose order comes first
		return []Arg{args[1], args[0]}
	}
	pure := f.Params()
	if len(args) == len(pure) {
		return args
	}
	return append(args[:len(args):len(args)], pure[len(args)].Default)
}

// SelfArg is the position of the tensor that is written among the arguments
// of the functional form.
func SelfArg(op *Op) int {
	if Functional(op.ID) == Polygamma {
		return 1
	}
	return 0
}

// inPlaceMeta checks that the functional result fits into the first argument.
func inPlaceMeta(f *Op, c *Call) ([]Result, error) {
	res, err := f.Meta(&Call{Op: f, Args: pureArgs(f, c.Args)})
	if err != nil || f.Tags.Has(TagView) {
		return res, err
	}
	self, out := In[SelfArgs](c).Self.Meta(), res[0].(*TensorMeta)
	if f.ID == FloatPower && self.DType != out.DType {
		return nil, Errorf(
			"the base given to float_power_ has dtype %s but the operation's result requires dtype %s",
			self.DType.ScalarType(), out.DType.ScalarType(),
		)
	}
	if !equalShape(self.Shape, out.Shape) {
		return nil, Errorf("output with shape %s doesn't match the broadcast shape %s", ShapeText(self.Shape), ShapeText(out.Shape))
	}
	if !CanCast(out.DType, self.DType) && f.Tags.Has(TagPointwise) && !f.Tags.Has(TagNoGrad) {
		return nil, Errorf("result type %s can't be cast to the desired output type %s", out.DType.ScalarType(), self.DType.ScalarType())
	}
	return one(self), nil
}

// CanCast reports whether a result of type from may be stored in one of type
// to: complex not in real, fractions not in integers, numbers not in bool.
func CanCast(from, to DType) bool {
	switch {
	case from.IsComplex():
		return to.IsComplex()
	case from.IsFloat():
		return to.IsFloat() || to.IsComplex()
	case from != Bool:
		return to != Bool
	}
	return true
}
