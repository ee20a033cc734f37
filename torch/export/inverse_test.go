package export

import (
	"strings"
	"testing"

	"tcdbg/ops"
	"tcdbg/ops/sym"
)

// TestDump is a scratch listing.
func TestDump(t *testing.T) {
	var yes, no []string
	x := shape{&ops.TensorMeta{DType: ops.Float32, Shape: sym.Consts([]int{2, 3})}}
	for _, row := range ops.All() {
		if row.Tags.Has(ops.TagInternal) {
			continue
		}
		args := make([]ops.Arg, len(row.Params()))
		for i, p := range row.Params() {
			switch {
			case p.HasDef:
				args[i] = p.Default
			default:
				switch p.Base() {
				case "Tensor", "Operand":
					args[i] = x
				case "Tensor[]", "Tensor?[]":
					args[i] = []ops.Value{x}
				case "int", "Scalar":
					args[i] = sym.C(1)
				case "int[]":
					args[i] = sym.Consts([]int{1, 1})
				case "float":
					args[i] = 1.5
				case "bool":
					args[i] = true
				case "dtype":
					args[i] = ops.Float32
				case "str":
					args[i] = "a"
				}
			}
		}
		c, err := ToAten(row, args)
		if err != nil {
			no = append(no, row.FullName()+row.Schema)
			continue
		}
		yes = append(yes, row.FullName()+" -> "+c.Target)
	}
	t.Logf("%d yes, %d no:\n%s", len(yes), len(no), strings.Join(no, "\n"))
}
