package ops

import "tcdbg/ops/sym"

// This file gives rules typed access to the arguments of a call.

// Tensor describes tensor argument i; nil when it is a number or None.
func (c *Call) Tensor(i int) *TensorMeta { return MetaOf(c.Args[i]) }

// Value returns tensor argument i, nil when it is a number or None.
func (c *Call) Value(i int) Value {
	if MetaOf(c.Args[i]) == nil {
		return nil
	}
	return c.Args[i].(Value)
}

// Values returns a list argument.
func (c *Call) Values(i int) []Value {
	v, _ := c.Args[i].([]Value)
	return v
}

// Int returns integer argument i.
func (c *Call) Int(i int) sym.Int {
	v, _ := c.Args[i].(sym.Int)
	return v
}

// Num returns integer argument i as a plain number, specialising a symbol.
func (c *Call) Num(i int) int { return int(sym.Force(c.Int(i))) }

// Ints returns a list of sizes; nil for None.
func (c *Call) Ints(i int) []sym.Int {
	v, _ := c.Args[i].([]sym.Int)
	return v
}

// Nums is Ints as plain numbers.
func (c *Call) Nums(i int) []int {
	v := c.Ints(i)
	out := make([]int, len(v))
	for j, x := range v {
		out[j] = int(sym.Force(x))
	}
	return out
}

// Bool returns boolean argument i.
func (c *Call) Bool(i int) bool {
	v, _ := c.Args[i].(bool)
	return v
}

// Str returns string argument i.
func (c *Call) Str(i int) string {
	v, _ := c.Args[i].(string)
	return v
}

// Float returns a number as float64.
func (c *Call) Float(i int) float64 { return NumberOf(c.Args[i]) }

// NumberOf reads a scalar argument as float64.
func NumberOf(a Arg) float64 {
	switch x := a.(type) {
	case float64:
		return x
	case sym.Int:
		return float64(sym.Force(x))
	case bool:
		if x {
			return 1
		}
	}
	return 0
}

// DTypeOr returns dtype argument i, or d for None.
func (c *Call) DTypeOr(i int, d DType) DType {
	if v, ok := c.Args[i].(DType); ok {
		return v
	}
	return d
}

// DeviceOr returns device argument i, or d for None.
func (c *Call) DeviceOr(i int, d Device) Device {
	if v, ok := c.Args[i].(Device); ok {
		return v
	}
	return d
}

// IsNone reports whether argument i was left out.
func (c *Call) IsNone(i int) bool { return c.Args[i] == nil }

// one is the result list of an operator with one tensor result.
func one(m *TensorMeta) []Result { return []Result{m} }
