package sym

// Form is what an expression is made of.
type Form uint8

// The forms: a number, a symbol, and what is computed of Args.
const (
	Number Form = iota
	Name
	Sum
	Times
	Quotient // rounded down
	Modulo
	Maximum
	Minimum
)

// Parts takes an expression apart, for who writes it in another language.
func (a Int) Parts() (form Form, args []Int) {
	a = a.resolve()
	if a.x == nil {
		return Number, nil
	}
	return [...]Form{
		kSym: Name, kSum: Sum, kProduct: Times, kFloorDiv: Quotient, kMod: Modulo, kMax: Maximum, kMin: Minimum,
	}[a.x.kind], a.x.args
}
