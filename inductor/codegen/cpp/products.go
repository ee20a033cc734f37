package cpp

import (
	"fmt"

	"tcdbg/inductor/ir"
	"tcdbg/inductor/plan"
	"tcdbg/inductor/tune"
	"tcdbg/ops/sym"
)

// This file lists the products of a program with what could be chosen for them by timing.

// Products are the products that run in every call, in the order of their kernels. Those of unknown sizes have nothing
// to choose.
func Products(m Machine, p *plan.Plan) []tune.Product {
	var out []tune.Product
	for i, g := range p.Groups {
		if !g.Template || g.Hoisted || p.Kernels[i] == nil {
			continue
		}
		n := g.TemplateNode()
		if !sym.AllConst(n.Outer) || !sym.AllConst([]sym.Int{n.MM.K}) {
			continue
		}
		form := plan.ConvForm(0)
		pack := p.PackOf(i)
		if n.MM.Conv != nil {
			form = unpackedForm(m.Lanes, n)
		}
		if pack != nil {
			form = pack.Form
		}
		out = append(out, product(m, n, p.Names[i], form, pack != nil))
	}
	return out
}

// product describes one; a convolution's form can be another where its weight is packed for it.
func product(m Machine, n *ir.Node, kernel string, form plan.ConvForm, packed bool) tune.Product {
	out := tune.Product{Kernel: kernel, Form: int(form), Tiled: true}
	switch form {
	case plan.ConvDepthwise, plan.ConvDirect, plan.ConvTiles:
		out.Tiled = false
	}
	if n.MM.Conv != nil {
		out.Op, out.Shapes, out.Key = "convolution", convShapes(n), convKey(n)
		for _, f := range convForms(m.Lanes, n) {
			if packed && form != plan.ConvTiles {
				out.Forms = append(out.Forms, int(f))
			}
		}
		return out
	}
	out.Op = "mm"
	nb := len(n.Outer) - 2
	rows, cols, batch := ir.HintOf(n.Outer[nb]), ir.HintOf(n.Outer[nb+1]), ""
	for _, b := range n.Outer[:nb] {
		batch += fmt.Sprintf("%dx", ir.HintOf(b))
		out.Op = "bmm"
	}
	k := ir.HintOf(n.MM.K)
	out.Shapes = []string{fmt.Sprintf("%s%dx%d", batch, rows, k), fmt.Sprintf("%s%dx%d", batch, k, cols)}
	out.Key = fmt.Sprintf("%s %v %s packed=%v", out.Op, out.Shapes, n.MM.A.DType.Short(), packed)
	return out
}

// FormName is the name of a convolution's form.
func FormName(f int) string {
	switch plan.ConvForm(f) {
	case plan.ConvColumns:
		return "columns"
	case plan.ConvPixels:
		return "pixels"
	case plan.ConvWinograd:
		return "winograd"
	case plan.ConvDepthwise:
		return "depthwise"
	case plan.ConvDirect:
		return "direct"
	case plan.ConvTiles:
		return "bfloat16"
	}
	return "product"
}

// convShapes are an image and a weight as PyTorch has them.
func convShapes(n *ir.Node) []string {
	v, c := n.ConvView(), n.MM.Conv
	groups, per := ir.HintOf(v.Groups), ir.HintOf(n.MM.K)/(c.KH*c.KW)
	return []string{
		fmt.Sprintf("%dx%dx%dx%d", ir.HintOf(v.Images), groups*per, c.Height, c.Width),
		fmt.Sprintf("%dx%dx%dx%d", ir.HintOf(v.Channels), per, c.KH, c.KW),
	}
}

// convKey is the same for convolutions of the same sizes, whose images lie alike.
func convKey(n *ir.Node) string {
	return fmt.Sprintf("convolution %v %v", convShapes(n), n.MM.Conv.Numbers())
}

// convForms are the forms in which a convolution can run, the weight being packed for each.
func convForms(lanes int, n *ir.Node) []plan.ConvForm {
	c, v := n.MM.Conv, n.ConvView()
	if n.Depthwise() || !sym.Is(v.Groups, 1) || !sym.AllConst([]sym.Int{v.Channels, v.Pixels, n.MM.K}) {
		return nil
	}
	var out []plan.ConvForm
	if winogradFits(lanes, c) {
		out = append(out, plan.ConvWinograd)
	}
	planes := c.Block == 1 && c.Lanes == 1
	if !planes || c.KH*c.KW > 1 {
		out = append(out, plan.ConvDirect)
	}
	if planes {
		out = append(out, plan.ConvColumns, plan.ConvPixels)
	}
	return out
}
