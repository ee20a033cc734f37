package ops

// This file holds the structs of arguments, for In, that several operators share: the
// first parameters of their schemas, which rules for all of them read.

type (
	// AddOuterArgs is for addr.
	AddOuterArgs struct {
		Self  TensorArg
		Vec1  TensorArg
		Vec2  TensorArg
		Beta  NumberArg
		Alpha NumberArg
	}
	// AddProductArgs is for addmm, baddbmm.
	AddProductArgs struct {
		Self  TensorArg
		_     Arg
		_     Arg
		Beta  NumberArg
		Alpha NumberArg
	}
	// AvgPoolArgs is for avg_pool1d, avg_pool2d, avg_pool3d.
	AvgPoolArgs struct {
		Input           TensorArg
		KernelSize      IntsArg
		Stride          IntsArg
		Padding         IntsArg
		CeilMode        BoolArg
		CountIncludePad BoolArg
		DivisorOverride IntArg
	}
	// BinaryLossArgs is for binary_cross_entropy, binary_cross_entropy_with_logits.
	BinaryLossArgs struct {
		Input       TensorArg
		Target      TensorArg
		Weight      TensorArg
		SizeAverage BoolArg
		Reduce      BoolArg
		Reduction   StrArg
	}
	// ConvArgs is for conv1d, conv2d, conv3d.
	ConvArgs struct {
		Input    TensorArg
		Weight   TensorArg
		Bias     TensorArg
		Stride   IntsArg
		Padding  EitherArg
		Dilation IntsArg
		Groups   IntArg
	}
	// ConvTransposeArgs is for conv_transpose1d, conv_transpose2d, conv_transpose3d.
	ConvTransposeArgs struct {
		Input         TensorArg
		Weight        TensorArg
		Bias          TensorArg
		Stride        IntsArg
		Padding       IntsArg
		OutputPadding IntsArg
		Groups        IntArg
		Dilation      IntsArg
	}
	// FactoryArgs is for empty, ones, rand, randn, zeros.
	FactoryArgs struct {
		Size         IntsArg
		DType        DTypeArg
		Device       DeviceArg
		RequiresGrad BoolArg
	}
	// FilledLikeArgs is for ones_like, zeros_like.
	FilledLikeArgs struct {
		Self         TensorArg
		DType        DTypeArg
		Device       DeviceArg
		RequiresGrad BoolArg
		MemoryFormat StrArg
	}
	// FullLikeArgs is for full_like.
	FullLikeArgs struct {
		Self      TensorArg
		FillValue NumberArg
	}
	// GridSamplerArgs is for grid_sampler_2d, grid_sampler_3d.
	GridSamplerArgs struct {
		Input             TensorArg
		Grid              TensorArg
		InterpolationMode IntArg
		PaddingMode       IntArg
		AlignCorners      BoolArg
	}
	// IndexSourceArgs is for index_add, index_copy, index_reduce.
	IndexSourceArgs struct {
		Self   TensorArg
		Dim    IntArg
		Index  TensorArg
		Source TensorArg
	}
	// InputArgs is for _native_batch_norm_legit, adaptive_avg_pool1d, adaptive_avg_pool2d and 47 more.
	InputArgs struct {
		Input TensorArg
	}
	// InputIndicesArgs is for max_unpool1d, max_unpool2d, max_unpool3d.
	InputIndicesArgs struct {
		Input   TensorArg
		Indices TensorArg
	}
	// InputNormalizedShapeArgs is for layer_norm, native_layer_norm, rms_norm.
	InputNormalizedShapeArgs struct {
		Input           TensorArg
		NormalizedShape IntsArg
	}
	// InputOutputSizeArgs is for adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d and 3 more.
	InputOutputSizeArgs struct {
		Input      TensorArg
		OutputSize IntsArg
	}
	// InputWeightBiasArgs is for conv1d, conv2d, conv3d, conv_transpose1d, conv_transpose2d, conv_transpose3d.
	InputWeightBiasArgs struct {
		Input  TensorArg
		Weight TensorArg
		Bias   TensorArg
	}
	// MaskedNormArgs is for masked.norm.
	MaskedNormArgs struct {
		Input   TensorArg
		Ord     NumberArg
		Dim     IntsArg
		Keepdim BoolArg
	}
	// MaskedNormalizeArgs is for masked.normalize.
	MaskedNormalizeArgs struct {
		Input TensorArg
		Ord   NumberArg
		Dim   IntArg
		Eps   NumberArg
	}
	// MaskedSpreadArgs is for masked.std, masked.var.
	MaskedSpreadArgs struct {
		Input      TensorArg
		Dim        IntsArg
		Unbiased   BoolArg
		Correction NumberArg
		Keepdim    BoolArg
	}
	// MaxPoolArgs is for max_pool1d, max_pool2d, max_pool3d.
	MaxPoolArgs struct {
		Input         TensorArg
		KernelSize    IntsArg
		Stride        IntsArg
		Padding       IntsArg
		Dilation      IntsArg
		CeilMode      BoolArg
		ReturnIndices BoolArg
	}
	// MaxPoolIndicesArgs is for max_pool1d_with_indices, max_pool2d_with_indices, max_pool3d_with_indices.
	MaxPoolIndicesArgs struct {
		Input      TensorArg
		KernelSize IntsArg
		Stride     IntsArg
		Padding    IntsArg
		Dilation   IntsArg
		CeilMode   BoolArg
	}
	// MaxUnpoolArgs is for max_unpool1d, max_unpool2d, max_unpool3d.
	MaxUnpoolArgs struct {
		Input      TensorArg
		Indices    TensorArg
		KernelSize IntsArg
		Stride     IntsArg
		Padding    IntsArg
		OutputSize IntsArg
	}
	// MomentsArgs is for std, std_mean, var, var_mean.
	MomentsArgs struct {
		Self       TensorArg
		Dim        IntsArg
		Correction NumberArg
		Keepdim    BoolArg
	}
	// NormalizedArgs is for layer_norm, native_layer_norm.
	NormalizedArgs struct {
		Input           TensorArg
		NormalizedShape IntsArg
		Weight          TensorArg
		Bias            TensorArg
		Eps             NumberArg
	}
	// PoolWindowArgs is for avg_pool1d, avg_pool2d, avg_pool3d and 3 more.
	PoolWindowArgs struct {
		Input      TensorArg
		KernelSize IntsArg
		Stride     IntsArg
		Padding    IntsArg
	}
	// QuantilesArgs is for nanquantile, quantile.
	QuantilesArgs struct {
		Self          TensorArg
		Q             TensorArg
		Dim           IntArg
		Keepdim       BoolArg
		Interpolation StrArg
	}
	// RunningNormArgs is for batch_norm, instance_norm.
	RunningNormArgs struct {
		Input       TensorArg
		RunningMean TensorArg
		RunningVar  TensorArg
		Weight      TensorArg
		Bias        TensorArg
	}
	// ScatterSrcArgs is for scatter, scatter_add, scatter_reduce.
	ScatterSrcArgs struct {
		Self  TensorArg
		Dim   IntArg
		Index TensorArg
		Src   TensorArg
	}
	// SelfAnyDimArgs is for split, split_with_sizes.
	SelfAnyDimArgs struct {
		Self TensorArg
		_    Arg
		Dim  IntArg
	}
	// SelfArgs is for _conj_copy, abs, acos, acosh, add, addbmm and 198 more.
	SelfArgs struct {
		Self TensorArg
	}
	// SelfDiagonalArgs is for tril, triu.
	SelfDiagonalArgs struct {
		Self     TensorArg
		Diagonal IntArg
	}
	// SelfDim0Dim1Args is for swapaxes, swapdims, transpose.
	SelfDim0Dim1Args struct {
		Self TensorArg
		Dim0 IntArg
		Dim1 IntArg
	}
	// SelfDimArgs is for cummax, cummin, cumprod, cumsum.
	SelfDimArgs struct {
		Self TensorArg
		Dim  IntArg
	}
	// SelfDimDTypeArgs is for cumprod, cumsum, log_softmax, softmax.
	SelfDimDTypeArgs struct {
		Self  TensorArg
		Dim   IntArg
		DType DTypeArg
	}
	// SelfDimKeepdimArgs is for argmax, argmin, max.dim, median.dim, min.dim, mode and 2 more.
	SelfDimKeepdimArgs struct {
		Self    TensorArg
		Dim     IntArg
		Keepdim BoolArg
	}
	// SelfDimsArgs is for all, amax, amin, any, logsumexp, mean and 2 more.
	SelfDimsArgs struct {
		Self TensorArg
		Dim  IntsArg
	}
	// SelfDimsCorrectionArgs is for std, std_mean, var, var_mean.
	SelfDimsCorrectionArgs struct {
		Self       TensorArg
		Dim        IntsArg
		Correction NumberArg
	}
	// SelfDimsKeepdimArgs is for all, amax, amin, any, logsumexp, mean and 2 more.
	SelfDimsKeepdimArgs struct {
		Self    TensorArg
		Dim     IntsArg
		Keepdim BoolArg
	}
	// SelfIndicesOrSectionsArgs is for dsplit, hsplit, vsplit.
	SelfIndicesOrSectionsArgs struct {
		Self              TensorArg
		IndicesOrSections IntsArg
	}
	// SelfMat2Args is for bmm, mm.
	SelfMat2Args struct {
		Self TensorArg
		Mat2 TensorArg
	}
	// SelfNArgs is for linalg.matrix_power, matrix_power.
	SelfNArgs struct {
		Self TensorArg
		N    IntArg
	}
	// SelfOtherAlphaArgs is for add, rsub, sub.
	SelfOtherAlphaArgs struct {
		Self  TensorArg
		Other TensorArg
		Alpha NumberArg
	}
	// SelfOtherArgs is for fmax, fmin, heaviside, linalg.solve_ex, linalg.solve_triangular.
	SelfOtherArgs struct {
		Self  TensorArg
		Other TensorArg
	}
	// SelfSourceDestinationArgs is for moveaxis, movedim.
	SelfSourceDestinationArgs struct {
		Self        TensorArg
		Source      IntsArg
		Destination IntsArg
	}
	// SelfSrcArgs is for diagonal_scatter, select_scatter, slice_scatter.
	SelfSrcArgs struct {
		Self TensorArg
		Src  TensorArg
	}
	// SelfTensor1Tensor2Args is for addcdiv, addcmul.
	SelfTensor1Tensor2Args struct {
		Self    TensorArg
		Tensor1 TensorArg
		Tensor2 TensorArg
	}
	// SizeDTypeArgs is for ones, zeros.
	SizeDTypeArgs struct {
		Size  IntsArg
		DType DTypeArg
	}
	// SmoothLossArgs is for smooth_l1_loss.
	SmoothLossArgs struct {
		Input       TensorArg
		Target      TensorArg
		SizeAverage BoolArg
		Reduce      BoolArg
		Reduction   StrArg
		Beta        NumberArg
	}
	// SumDTypeArgs is for nansum, prod, sum.
	SumDTypeArgs struct {
		Self    TensorArg
		_       Arg
		Keepdim BoolArg
		DType   DTypeArg
	}
	// TensorsArgs is for dstack, hstack, vstack.
	TensorsArgs struct {
		Tensors TensorsArg
	}
)
