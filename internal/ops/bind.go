package ops

// Get returns the row of id. It panics for an unknown id.
func Get(id ID) *Op { panic("contract") }

// Lookup finds a row by PyTorch's name: "add", "max.dim", "add_".
func Lookup(name string) (*Op, bool) { panic("contract") }

// All returns the rows in the order of their names.
func All() []*Op { panic("contract") }

// Param is one parameter of a schema.
type Param struct {
	Name    string
	Type    string // "Tensor", "Tensor?", "Tensor[]", "Operand", "Scalar", "int", "int[]", "float", "bool", "str", "dtype", "device", with ? when optional
	KwOnly  bool
	Default Arg
	HasDef  bool
}

// Params returns op's parsed schema.
func (op *Op) Params() []Param { panic("contract") }

// Bind checks positional and keyword arguments against op's schema, converts
// Go numbers to the Arg forms, fills in defaults and returns one Arg for each
// parameter. The error names the operator and the argument, as PyTorch does.
func Bind(op *Op, pos []Arg, kw map[string]Arg) ([]Arg, error) { panic("contract") }
