package ops

import (
	"slices"
	"strconv"
	"strings"
	"sync"
)

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
		specialRows, composeRows, furtherLossRows,
		indexingRows, cuttingRows, histogramRows, besselRows, polynomialRows, windowRows, maskedRows, marginLossRows, bceRows, nativeRows, unpoolRows,
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
