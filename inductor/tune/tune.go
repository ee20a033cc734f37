// Package tune is what can be chosen for a graph by timing it instead of by cost models: how images lie, in which
// form each convolution runs, how many threads run a kernel and which tiles of a product make a task.
//
// It imports nothing. Who times candidates is package backends/autotune; open this file.
package tune

// Layouts of the images between convolutions.
const (
	LayoutWeighed = ""       // regions that the cost model finds worth it lie in blocks of channels
	LayoutPlanes  = "planes" // none
	LayoutBlocks  = "blocks" // all that can
)

// Choices are what was chosen for a graph. The zero value is what cost models say.
type Choices struct {
	Layout string `json:"layout,omitempty"`
	// Externs has convolutions whose results lie in another order run as calls of the eager operator, instead of as
	// products after which a loop orders them.
	Externs bool `json:"externs,omitempty"`
	// Optimize has a graph compiled with all passes of -O2.
	Optimize bool `json:"optimize,omitempty"`
	// Unfused keeps what reads a product's result out of its kernel; MaxFusion bounds the nodes of a kernel, 0: the default.
	Unfused   bool `json:"unfused,omitempty"`
	MaxFusion int  `json:"max_fusion,omitempty"`
	// Forms are those of convolutions, by what they compute (Product.Key), as numbers of the runtime library.
	Forms map[string]int `json:"forms,omitempty"`
	// Runs say how kernels run, by their names.
	Runs map[string]Run `json:"runs,omitempty"`
}

// Run is how a kernel runs; zeros leave it to the runtime library.
type Run struct {
	Threads int `json:"threads,omitempty"`
	// Rows and Cols are the register tiles of one task of a product.
	Rows int `json:"rows,omitempty"`
	Cols int `json:"cols,omitempty"`
}

// Product is a kernel that multiplies matrices or convolves.
type Product struct {
	Kernel string
	// Key is the same for kernels that compute the same with other data.
	Key string
	// Op and Shapes are what people read: convolution, [2x64x16x16 64x64x3x3].
	Op     string
	Shapes []string
	// Form is the form of a convolution, 0 for other products; Forms are all in which it can run.
	Form  int
	Forms []int
	Tiled bool // Rows and Cols have a meaning
}
