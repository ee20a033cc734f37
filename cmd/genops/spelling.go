package main

import (
	"fmt"
	"slices"
	"strings"

	"tcdbg/ops"
)

// This file is the part of the spelling that no rule gives.

// byHand are operators whose Go function is written by hand.
var byHand = map[string]bool{"item": true, "detach": true}

// functionalInPlace are the functions of nn.functional whose in-place form has a
// name there.
var functionalInPlace = map[string]bool{
	"celu_": true, "elu_": true, "hardtanh_": true, "leaky_relu_": true, "selu_": true, "threshold_": true,
}

// wrapped are functions of nn.functional that a function written by hand calls:
// their generated names are not exported there.
var wrapped = map[string]bool{"embedding": true}

// alsoFunctional are operators of torch that nn.functional has too.
var alsoFunctional = map[string]bool{
	"relu": true, "relu_": true, "softmax": true, "log_softmax": true, "sigmoid": true, "tanh": true, "embedding": true,
	"conv1d": true, "conv2d": true, "conv3d": true, "cosine_similarity": true, "selu": true, "celu": true,
}

// alsoTorch are operators of nn.functional that torch has too.
var alsoTorch = map[string]bool{
	"layer_norm": true, "group_norm": true, "instance_norm": true, "batch_norm": true, "embedding": true, "selu": true,
	"celu": true, "threshold": true,
	"conv1d": true, "conv2d": true, "conv3d": true, "conv_transpose1d": true, "conv_transpose2d": true, "conv_transpose3d": true,
	"max_pool1d": true, "max_pool2d": true, "max_pool3d": true, "avg_pool1d": true, "adaptive_avg_pool1d": true,
	"pixel_shuffle": true, "cosine_similarity": true, "prelu": true, "cdist": true, "rms_norm": true, "channel_shuffle": true,
	"bilinear": true, "pairwise_distance": true, "pdist": true, "pixel_unshuffle": true, "hardshrink": true,
}

// lists are operators whose int[] argument is written as ...int.
var lists = map[string]string{
	"view": "size", "reshape": "shape", "permute": "dims", "expand": "size", "squeeze": "dim", "squeeze_": "dim", "flip": "dims",
	"repeat": "repeats", "tile": "dims",
	"sum_to_size": "size", "broadcast_to": "size",
}

// variadicOf says what the final parameter of an operator holds.
func variadicOf(row *ops.Op) (kind string, arg int) {
	name := row.Name
	if want, ok := lists[name]; ok && row.Overload == "" {
		for i, p := range row.Params() {
			if p.Name == want {
				return "Ints", i
			}
		}
	}
	switch name {
	case "zeros", "ones", "empty", "rand", "randn":
		return "Mixed", 0
	case "arange", "to", "uniform_", "normal_", "bernoulli_", "exponential_":
		return "Positional", -1
	case "meshgrid", "broadcast_tensors", "cartesian_prod", "block_diag":
		return "Tensors", 0
	case "einsum":
		return "Tensors", 1
	}
	return "", -1
}

// idName is the Go name of an operator's ID.
func (g *generator) idName(row *ops.Op) string {
	if row.Tags.Has(ops.TagInPlace) {
		return g.names[ops.Functional(row.ID)] + "+ops.InPlaceOffset"
	}
	return g.names[row.ID]
}

// further are keywords that no operator has: of Compile, autograd, modules and
// optimizers.
var further = map[string]string{
	"backend": "any", "fullgraph": "bool", "dynamic": "any", "disable": "bool", "name": "string", "recompile_limit": "int",
	"capture_backward": "bool", "reverse": "bool", "activation_memory_budget": "float64", "dynamic_shapes": "torch.DynamicShapes",
	"options": "map[string]any",
	"mode":    "string", "recursive": "bool", "gradient": "*torch.Tensor", "retain_graph": "bool", "create_graph": "bool",
	"grad_outputs": "[]*torch.Tensor", "grad_tensors": "[]*torch.Tensor", "inputs": "[]*torch.Tensor", "materialize_grads": "bool",
	"allow_unused": "bool",
	"lr":           "any", "momentum": "any", "dampening": "float64", "weight_decay": "float64", "nesterov": "bool",
	"betas": "[2]float64", "eps": "any",
	"amsgrad": "bool", "maximize": "bool", "alpha": "any", "centered": "bool", "lr_decay": "float64",
	"initial_accumulator_value": "float64",
	"bias":                      "any", "p": "any", "affine": "bool", "track_running_stats": "bool", "elementwise_affine": "bool",
	"padding_mode": "string", "inplace": "bool",
	"num_layers": "int", "bidirectional": "bool", "batch_first": "bool", "dropout": "float64", "nonlinearity": "string",
	"kdim": "int", "vdim": "int",
	"nhead": "int", "dim_feedforward": "int", "activation": "any", "layer_norm_eps": "float64", "norm_first": "bool",
	"start_dim": "int", "end_dim": "int",
	"gamma": "float64", "step_size": "int", "t_max": "int", "eta_min": "float64", "last_epoch": "int", "milestones": "[]int",
	"start_factor": "float64", "end_factor": "float64", "total_iters": "int",
	"norm_type": "float64", "error_if_nonfinite": "bool", "batch_size": "int", "shuffle": "bool", "num_workers": "int",
	"drop_last": "bool", "generator": "*torch.Generator", "map_location": "any",
	"dtype": "torch.DType", "device": "any", "requires_grad": "bool", "need_weights": "bool", "attn_mask": "*torch.Tensor",
	"key_padding_mask": "*torch.Tensor", "is_causal": "bool",
	"padding_idx": "any", "scale_grad_by_freq": "bool", "max_norm": "any", "sparse": "bool", "strict": "bool", "assign": "bool",
	"prepend":  "any",
	"append":   "any",
	"tgt_mask": "*torch.Tensor", "memory_mask": "*torch.Tensor", "src_mask": "*torch.Tensor", "tgt_is_causal": "bool",
	"memory_is_causal":     "bool",
	"tgt_key_padding_mask": "*torch.Tensor", "memory_key_padding_mask": "*torch.Tensor", "src_key_padding_mask": "*torch.Tensor",
	"num_channels": "int", "average_attn_weights": "bool",
	"max_iter": "int", "factor": "float64", "patience": "int", "rate": "float64", "a": "float64", "b": "float64",
	"gain": "float64", "rho": "float64", "etas": "[2]float64", "training": "bool",
	"num_classes": "int", "zero_init_residual": "bool", "width_per_group": "int", "bn_size": "int", "drop_rate": "float64",
	"attention_dropout":   "float64",
	"representation_size": "int", "stochastic_depth_prob": "float64", "layer_scale": "float64", "width_mult": "float64",
	"depth_mult": "float64", "batch_norm": "bool",
	"proj_size": "int", "num_parameters": "int", "image_size": "int", "attention_mask": "*torch.Tensor",
	"token_type_ids": "*torch.Tensor", "init": "float64", "d_model": "int", "src_is_causal": "bool", "num_encoder_layers": "int",
	"num_decoder_layers": "int", "add_bias_kv": "bool", "add_zero_attn": "bool", "norm": "any",
	"t_mult": "int", "max_lr": "float64", "total_steps": "int", "pct_start": "float64", "anneal_strategy": "string",
	"div_factor": "float64", "final_div_factor": "float64",
	"three_phase": "bool", "cooldown": "int", "min_lr": "float64", "threshold_mode": "string", "power": "float64",
	"momentum_decay": "float64",
	"atol":           "float64", "rtol": "float64", "raise_exception": "bool", "enforce_sorted": "bool",
	"padding_value": "float64", "total_length": "int",
	"div_value": "float64", "head_bias": "bool", "lower": "float64", "upper": "float64", "output_ratio": "any",
	"random_samples": "*torch.Tensor", "distance_function": "func(a, b *torch.Tensor) *torch.Tensor",
	"t0": "float64", "decoupled_weight_decay": "bool", "step_sizes": "[2]float64", "max_eval": "int",
	"tolerance_grad": "float64", "tolerance_change": "float64", "history_size": "int", "line_search_fn": "string",
	"step_size_up": "int", "step_size_down": "int", "scale_fn": "func(x float64) float64", "scale_mode": "string", "cycle_momentum": "bool",
	"base_momentum": "float64", "max_momentum": "float64", "top_p": "float64", "temperature": "float64",
	"hard": "bool", "n_power_iterations": "int", "beta2_decay": "float64", "d": "float64", "ns_coefficients": "[3]float64",
	"ns_steps": "int", "adjust_lr_fn": "string",
	"seed": "int", "eos_token_id": "any", "pad_token_id": "int",
	"sampler": "any", "batch_sampler": "any", "collate_fn": "any", "replacement": "bool", "num_samples": "int",
}

func (g *generator) collectKeywords(row *ops.Op) {
	for _, p := range row.Params() {
		if p.Name == "self" {
			continue
		}
		t := goType(&p, "torch.")
		if p.Type == "Tensor[]" {
			t = "[]*torch.Tensor"
		}
		if p.Base() == "float" && p.Optional() {
			t = "float64"
		}
		if p.Base() == "float[]" {
			t = "any"
		}
		if old, ok := g.kw[p.Name]; ok && old != t {
			t = "any"
		}
		g.kw[p.Name] = t
	}
}

// keywords writes package kw.
func (g *generator) keywords() string {
	for name, t := range further {
		if old, ok := g.kw[name]; ok && old != t {
			t = "any"
		}
		g.kw[name] = t
	}
	g.kw["dtype"], g.kw["device"] = "torch.DType", "any"
	names := make([]string, 0, len(g.kw))
	for n := range g.kw {
		names = append(names, n)
	}
	slices.Sort(names)
	var sb strings.Builder
	for _, n := range names {
		fmt.Fprintf(&sb, "// %s is the keyword %s.\nfunc %s(value %s) torch.Option { return torch.Option{Name: %q, Value: value} "+
			"}\n\n", camel(n), n, camel(n), g.kw[n], n)
	}
	return sb.String()
}

func (g *generator) bindingsText() string {
	var sb strings.Builder
	sb.WriteString("// Code generated by cmd/genops; DO NOT EDIT.\n\npackage torch\n\nimport (\n\t\"sync\"\n\n\t\"tcdbg/ops\"\n)\n\n")
	sb.WriteString("// Bindings maps full names of Go functions, as ssa.Function.String() gives\n// them " +
		"(\"(*tcdbg/torch.Tensor).Add\", \"tcdbg/torch.Cat\"), to operators. The\n// caller must not change the map.\nfunc " +
		"Bindings() map[string]Binding { return bindings() }\n\n")
	sb.WriteString("var bindings = sync.OnceValue(func() map[string]Binding {\n\treturn map[string]Binding{\n")
	slices.Sort(g.bindings)
	for _, b := range slices.Compact(g.bindings) {
		sb.WriteString(b)
	}
	sb.WriteString("\t}\n})\n")
	return sb.String()
}
