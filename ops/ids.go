package ops

// ID is the dense index of a row. torch's eager kernels, inductor's lowerings
// and everything else that is keyed by operator are arrays over it.
//
// The in-place form of operator X is numFunctional+X: see InPlace.
type ID uint16

// The operators are in zz_ids.go, which cmd/genrows writes from the rows. Here are those
// whose rows are made in loops. Their order has no meaning and may change; nothing on disk
// holds an ID.
const (
	Conv1d = numNamed + iota
	Conv2d
	Conv3d
	ConvTranspose1d
	ConvTranspose2d
	ConvTranspose3d
	MaxPool1d
	MaxPool2d
	MaxPool3d
	MaxPool1dIndices
	MaxPool2dIndices
	MaxPool3dIndices
	AvgPool1d
	AvgPool2d
	AvgPool3d
	AdaptiveAvgPool1d
	AdaptiveAvgPool2d
	AdaptiveAvgPool3d
	AdaptiveMaxPool1d
	AdaptiveMaxPool2d
	AdaptiveMaxPool3d
	AdaptiveMaxPool1dIndices
	AdaptiveMaxPool2dIndices
	AdaptiveMaxPool3dIndices
	MaxUnpool1d
	MaxUnpool2d
	MaxUnpool3d

	numFunctional
)

// NumIDs is the number of IDs.
const NumIDs = 2 * numFunctional
