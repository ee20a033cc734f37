package cpp

import (
	"fmt"
	"strings"
)

// This file has an entry function of many kernels walk a table of them: a compiler reads a row
// of numbers ten times sooner than the statements that say the same.

// callTable is the calls of an entry function as tables.
type callTable struct {
	rows, products []string
	slots, given   []string
	widest         int // pointers that one kernel is given
}

// fixed reports whether the call is the same in every call of the program.
func (c *Code) fixed() bool {
	return !c.Pack && c.attention == nil && !strings.Contains(c.Units+c.Grain+c.Gemm+c.operands[0].off+c.operands[1].off, "S[")
}

// add appends the call of a kernel.
func (t *callTable) add(c *Code) {
	given := -1
	if len(c.given) > 0 {
		given = len(t.given)
		for _, x := range c.given {
			t.given = append(t.given, fmt.Sprint(x))
		}
	}
	row := fmt.Sprintf("{\"%s\", %d, %d, %d, ", c.Name, len(t.slots), len(c.Slots), given)
	for _, s := range c.Slots {
		t.slots = append(t.slots, fmt.Sprint(s))
	}
	t.widest = max(t.widest, len(c.Slots))
	if c.Gemm == "" {
		row += fmt.Sprintf("%s, %s, %s}", c.onWholeRows(), c.Units, c.Grain)
	} else {
		row += fmt.Sprintf("0, %d, 0, {%s, %s}}", len(t.products), c.operands[0].row(), c.operands[1].row())
		t.products = append(t.products, c.product("0", "0"))
	}
	t.rows = append(t.rows, row)
}

// callsText runs rows of the table.
const callsText = `typedef struct {
  const char *name;
  i64 slots, count, given;
  tc_kernel loop;
  i64 units, grain; /* of a product units is its number */
  i64 operands[4]; /* of a product: buffer and bytes of the left one, of the right one */
} tc_call;
static void tc_calls(const tc_call *c, const tc_call *end, void *const *B, const i64 *S, const tc_runtime *R) {
  for (; c < end; c++) {
    void *L[%d];
    for (i64 i = 0; i < c->count; i++) L[i] = B[tc_slots[c->slots + i]];
    const i64 *sizes = c->given < 0 ? S : tc_given + c->given;
    if (c->loop) {
      R->parfor(c->loop, L, sizes, c->units, c->grain, c->name);
    } else {
      tc_gemm_args g = tc_products[c->units];
      g.a = (const float *)((const char *)B[c->operands[0]] + c->operands[1]);
      g.b = (const float *)((const char *)B[c->operands[2]] + c->operands[3]);
      R->gemm(&g, L, sizes, c->name);
    }
  }
}
`

func (t *callTable) text() string {
	if len(t.rows) == 0 {
		return ""
	}
	var sb strings.Builder
	table := func(kind, name string, rows []string) {
		if len(rows) == 0 {
			rows = []string{"{0}"}
		}
		fmt.Fprintf(&sb, "static const %s %s[] = {\n%s,\n};\n", kind, name, strings.Join(rows, ",\n"))
	}
	numbers := func(kind, name string, xs []string) {
		table(kind, name, []string{strings.Join(append(xs, "0"), ", ")})
	}
	numbers("int", "tc_slots", t.slots)
	numbers("i64", "tc_given", t.given)
	table("tc_gemm_args", "tc_products", t.products)
	fmt.Fprintf(&sb, callsText, max(1, t.widest))
	table("tc_call", "tc_rows", t.rows)
	return sb.String()
}
