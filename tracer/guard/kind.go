package guard

// This file is the table of guard kinds. To add one: a constant, its row, and a method of
// Set that says when it holds and what it found.

// Kind is a kind of guard.
type Kind uint8

// The kinds of guards; each has a row in kinds.
const (
	EqualsMatch Kind = iota
	TrueMatch
	FalseMatch
	LambdaGuard
	LengthCheck
	DictLength
	NotNone
	IDMatch
	TypeMatch
	DictContains
	ObjectAliasing
	NoAliasing
	TensorMatch
	NoTensorAliasing
	GradMode
	ShapeEnv
	numKinds
)

// kinds is what each kind is called in PyTorch, how its check is worded, and what one test
// of it reads at most: what a hit of a cache entry costs.
var kinds = [numKinds]struct{ name, wording, cost string }{
	EqualsMatch:      {"EQUALS_MATCH", "L['n'] == 3", "the value: a word, or all elements of an array"},
	TrueMatch:        {"TRUE_MATCH", "L['flag'] == true", "a byte"},
	FalseMatch:       {"FALSE_MATCH", "L['flag'] == false", "a byte"},
	LambdaGuard:      {"LAMBDA_GUARD", "L['i'] + 1 < 10", "a word for each value in the expression"},
	LengthCheck:      {"LENGTH_CHECK", "len(L['xs']) == 2", "a header"},
	DictLength:       {"DICT_LENGTH", "len(L['m']) == 2", "a header"},
	NotNone:          {"NOT_NONE", "L['bias'] is not nil", "a word"},
	IDMatch:          {"ID_MATCH", "L['f'].__code__ is main.relu", "a word, or a closure's function"},
	TypeMatch:        {"TYPE_MATCH", "type(L['layer']) == *nn.Linear", "the type word of an interface"},
	DictContains:     {"DICT_CONTAINS", "___dict_contains(\"lr\", L['m'])", "a look-up in the map"},
	ObjectAliasing:   {"OBJECT_ALIASING", "L['a'] is L['b']", "two words"},
	NoAliasing:       {"NO_ALIASING", "L['a'] is not L['b']", "two words; of very many pairs, two each"},
	TensorMatch:      {"TENSOR_MATCH", "check_tensor(L['x'], Tensor, float32, device=cpu, ...)", "a header, and each size and stride"},
	NoTensorAliasing: {"NO_TENSOR_ALIASING", "L['x'] shares no memory with L['y']", "two headers; of very many, one each and a map"},
	GradMode:         {"GRAD_MODE", "grad_mode == True", "the goroutine's gradient mode"},
	ShapeEnv:         {"SHAPE_ENV", "2 <= L['x'].size()[0]", "a size for each symbol in the relation"},
}

// String is PyTorch's name of a kind.
func (k Kind) String() string { return kinds[k].name }
