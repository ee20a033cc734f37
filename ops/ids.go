package ops

// ID is the dense index of a row. torch's eager kernels, inductor's lowerings
// and everything else that is keyed by operator are arrays over it.
//
// The in-place form of operator X is numFunctional+X: see InPlace.
type ID uint16

// The operators, by family. Their order has no meaning and may change; nothing
// on disk holds an ID.
const (
	None ID = iota

	// pointwise, unary
	Abs
	Neg
	Exp
	Exp2
	Expm1
	Log
	Log2
	Log10
	Log1p
	Sqrt
	Rsqrt
	Square
	Reciprocal
	Sin
	Cos
	Tan
	Asin
	Acos
	Atan
	Sinh
	Cosh
	Asinh
	Acosh
	Atanh
	Tanh
	Sigmoid
	Logit
	Erf
	Erfc
	Erfinv
	Lgamma
	Digamma
	Sign
	Floor
	Ceil
	Round
	Trunc
	Frac
	Isnan
	Isinf
	Isfinite
	LogicalNot
	BitwiseNot
	NanToNum

	// activations
	Relu
	Relu6
	Gelu
	Silu
	Mish
	Elu
	Selu
	Celu
	LeakyRelu
	Softplus
	Hardtanh
	Hardswish
	Hardsigmoid
	Logsigmoid
	Softsign
	Tanhshrink
	Softshrink
	Hardshrink
	Threshold
	Glu
	Clamp
	ClampMin
	ClampMax
	ClampTensor

	// pointwise, binary and more
	Add
	Sub
	Rsub
	Mul
	Div
	TrueDivide
	FloorDivide
	Pow
	Maximum
	Minimum
	Fmod
	Remainder
	Atan2
	Hypot
	Copysign
	Logaddexp
	Lt
	Le
	Gt
	Ge
	Eq
	Ne
	LogicalAnd
	LogicalOr
	LogicalXor
	BitwiseAnd
	BitwiseOr
	BitwiseXor
	BitwiseLeftShift
	BitwiseRightShift
	Lerp
	Addcmul
	Addcdiv
	Where

	// reductions
	Sum
	Mean
	Prod
	Amax
	Amin
	Max
	MaxDim
	Min
	MinDim
	Argmax
	Argmin
	Var
	Std
	VarMean
	Norm
	Any
	AllOf
	Logsumexp
	Cumsum
	Cumprod
	Nansum
	CountNonzero

	// matrix products
	Mm
	Bmm
	Matmul
	Addmm
	Baddbmm
	Mv
	Dot
	Outer
	Linear

	// normalisation
	Softmax
	LogSoftmax
	LayerNorm

	// views and layout
	View
	Reshape
	Transpose
	T
	Permute
	Expand
	Unsqueeze
	Squeeze
	Flatten
	Slice
	Select
	Narrow
	AsStrided
	Alias
	Contiguous
	Clone
	Detach
	WithData
	Flip

	// data and casts
	To
	Item
	Copy
	Fill
	Zero
	ToCopy
	Cat
	Stack
	Gather
	Scatter
	ScatterAdd
	IndexAdd
	IndexSelect
	SliceScatter
	SelectScatter

	// factories
	Full
	Zeros
	Ones
	Empty
	Arange
	Rand
	Randn
	FullLike
	ZerosLike
	OnesLike
	EmptyLike

	// random
	Uniform
	Normal
	Bernoulli
	Exponential
	Multinomial
	RandLike
	RandnLike
	Randint
	Randperm
	Dropout

	// rearranging
	Split
	SplitWithSizes
	Chunk
	Unbind
	Unfold
	Movedim
	Moveaxis
	Swapaxes
	Swapdims
	Diagonal
	DiagonalScatter
	Diag
	DiagEmbed
	Rot90
	Fliplr
	Flipud
	Unflatten
	PixelShuffle
	PixelUnshuffle
	ChannelShuffle
	Repeat
	Tile
	Roll
	Meshgrid
	BroadcastTensors
	BroadcastTo
	ExpandAs
	ViewAs
	ReshapeAs
	Ravel
	SumToSize
	RepeatInterleave
	RepeatIndex

	// sorting and searching
	Topk
	Sort
	Argsort
	Msort
	Kthvalue
	Cummax
	Cummin
	MedianDim
	Searchsorted
	Bucketize
	MaskedSelect
	Nonzero
	Unique
	UniqueConsecutive
	Bincount

	// indexing
	Index
	IndexPut
	TakeAlongDim
	Take
	Embedding
	Tril
	Triu
	MaskedFill
	ScatterReduce

	// convolution and pooling
	Conv1d
	Conv2d
	Conv3d
	ConvTranspose1d
	ConvTranspose2d
	ConvTranspose3d
	Convolution
	ConvolutionBackward
	MaxPool1d
	MaxPool2d
	MaxPool3d
	MaxPool1dIndices
	MaxPool2dIndices
	MaxPool3dIndices
	AvgPool1d
	AvgPool2d
	AvgPool3d
	AvgPoolBackward
	AdaptiveAvgPool1d
	AdaptiveAvgPool2d
	AdaptiveAvgPool3d
	AdaptiveAvgPoolBackward
	AdaptiveMaxPool1d
	AdaptiveMaxPool2d
	AdaptiveMaxPool3d
	AdaptiveMaxPool1dIndices
	AdaptiveMaxPool2dIndices
	AdaptiveMaxPool3dIndices
	ConstantPadNd
	Pad
	Im2col
	Interpolate
	GridSample

	// further normalisations
	BatchNorm
	InstanceNorm
	GroupNorm
	RmsNorm
	Normalize
	LocalResponseNorm

	// losses and distances
	MseLoss
	L1Loss
	SmoothL1Loss
	HuberLoss
	BceWithLogits
	Bce
	KlDiv
	NllLoss
	CrossEntropy
	MarginRankingLoss
	CosineSimilarity
	Cdist
	PairwiseDistance

	// attention
	Sdpa
	FlashAttention
	Einsum

	// further factories
	Linspace
	Eye
	OneHot
	ClassIndex
	NewZeros
	NewOnes
	NewFull

	// special and further pointwise functions
	Polygamma
	Zeta
	Logaddexp2
	Fmax
	Fmin
	Nextafter
	Heaviside
	Gcd
	Lcm
	Igamma
	Igammac
	Xlogy
	Xlog1py
	Sinc
	Positive
	Sgn
	Signbit
	Isposinf
	Isneginf
	Isreal
	Isclose
	Allclose
	Equal
	Deg2rad
	Rad2deg
	FloatPower
	Ldexp
	I0
	I0e
	I1
	I1e
	Ndtr
	LogNdtr
	Ndtri
	Entr
	Erfcx
	Mvlgamma

	// further compositions
	Aminmax
	Nanmean
	StdMean
	Median
	Logcumsumexp
	Trace
	MT
	Hstack
	Vstack
	Dstack
	ColumnStack
	Atleast1d
	Atleast2d
	Atleast3d
	BlockDiag
	CartesianProd
	Kron
	Inner
	Vdot
	Tensordot
	Addbmm
	Addmv
	Addr
	Cross
	Diff
	Trapezoid
	CumulativeTrapezoid
	Diagflat
	Dist
	Argwhere
	TensorSplit
	Hsplit
	Vsplit
	Dsplit
	TrilIndices
	TriuIndices
	Logspace
	ScalarTensor
	Renorm
	Isin
	Vander
	MatrixPower
	Cov
	Corrcoef

	// further activations and losses
	Prelu
	Softmin
	CosineEmbeddingLoss
	HingeEmbeddingLoss
	PoissonNllLoss
	GaussianNllLoss
	SoftMarginLoss
	MultilabelSoftMarginLoss
	TripletMarginLoss
	Bilinear

	// further indexing
	ScatterBy
	IndexCopy
	IndexFill
	IndexReduce
	Put
	AsStridedScatter
	MaskedScatter
	UnsafeMaskedIndex
	UnsafeMaskedIndexPut
	NonzeroStatic
	Combinations
	UnravelIndex
	IntTensor

	// runs and pieces
	Gradient
	ChunkCat
	SegmentReduce
	Histc

	// Bessel functions
	BesselJ0
	BesselJ1
	BesselY0
	BesselY1
	ModifiedBesselI0
	ModifiedBesselI1
	ModifiedBesselK0
	ModifiedBesselK1
	ScaledModifiedBesselK0
	ScaledModifiedBesselK1
	SphericalBesselJ0
	AiryAi

	// polynomials
	ChebyshevT
	ChebyshevU
	ChebyshevV
	ChebyshevW
	ShiftedChebyshevT
	ShiftedChebyshevU
	ShiftedChebyshevV
	ShiftedChebyshevW
	HermiteH
	HermiteHe
	LaguerreL
	LegendreP

	// windows
	WindowBartlett
	WindowBlackman
	WindowCosine
	WindowExponential
	WindowGaussian
	WindowGeneralCosine
	WindowGeneralHamming
	WindowHamming
	WindowHann
	WindowKaiser
	WindowNuttall

	// torch.masked
	MaskedSum
	MaskedProd
	MaskedCumsum
	MaskedCumprod
	MaskedAmax
	MaskedAmin
	MaskedArgmax
	MaskedArgmin
	MaskedMean
	MaskedMedian
	MaskedLogsumexp
	MaskedLogaddexp
	MaskedNorm
	MaskedNormalize
	MaskedSoftmax
	MaskedLogSoftmax
	MaskedSoftmin
	MaskedVar
	MaskedStd

	// losses over classes
	MultiMarginLoss
	MultilabelMarginLoss
	CtcLoss
	LinearCrossEntropy
	CtcGrad
	CtcAlpha

	// with statistics
	NativeBatchNorm
	NativeBatchNormLegit
	NativeDropoutBackward
	SoftmaxBackwardData
	NativeLayerNorm
	NativeGroupNorm

	// unpooling
	MaxUnpool1d
	MaxUnpool2d
	MaxUnpool3d
	MaxPool2dIndicesBackward

	// order statistics
	Mode
	NanmedianDim
	Nanmedian
	Quantile
	Nanquantile
	Frexp
	EmbeddingBag
	MultiHeadAttention

	// linear algebra
	CholeskyEx
	LinalgCholesky
	Cholesky
	LinalgQr
	HouseholderProduct
	LinalgSolve
	InvEx
	LinalgInv
	Inverse
	LinalgDet
	Det
	LinalgSlogdet
	Slogdet
	Logdet
	CholeskySolve
	CholeskyInverse
	LinalgTensorinv
	LinalgTensorsolve
	SolveTriangular
	SolveEx
	LinalgEigh
	LinalgEigvalsh
	LinalgSvd
	LinalgSvdvals
	Svd
	MatrixSqrth
	LinalgPinv
	Pinverse
	LinalgMatrixRank
	LinalgLstsq
	LinalgPolar
	LstsqSolution
	LinalgVectorNorm
	LinalgMatrixNorm
	LinalgNorm
	LinalgCond
	LinalgMatrixPower
	LinalgMatrixExp
	LinalgVecdot
	LinalgMultiDot
	LinalgCross
	MatrixExp

	// distances
	Pdist
	UpsampleBilinear2dAA
	GridSampler2d
	GridSampler3d

	// complex numbers
	Complex
	Polar
	Conj
	ConjPhysical
	ConjCopy
	FillDiagonal
	Real
	Imag
	Angle
	ViewAsReal
	ViewAsComplex

	// counts between edges
	Histogram

	numFunctional
)

// NumIDs is the number of IDs.
const NumIDs = 2 * numFunctional
