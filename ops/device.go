package ops

import (
	"regexp"
	"slices"
	"strings"
)

// This file is devices: which there are, how they are written, and which tensors of one
// call may lie on different ones.

// Device is where a tensor lives.
type Device string

// CPU is the host; Meta tensors have a shape but no data.
const (
	CPU  Device = "cpu"
	Meta Device = "meta"
)

// deviceTypes are the types that PyTorch's device strings begin with, in its order.
var deviceTypes = []string{
	"cpu", "cuda", "ipu", "xpu", "mkldnn", "opengl", "opencl", "ideep", "hip", "ve", "fpga", "maia", "xla", "lazy",
	"vulkan", "mps", "meta", "hpu", "mtia", "privateuseone",
}

var deviceIndex = regexp.MustCompile(`^(0|[1-9][0-9]*)$`)

// ParseDevice reads a device string: cpu or meta, with or without an index, which
// means nothing for either. Devices that PyTorch has and we lack are refused as a
// PyTorch does that was built without them.
func ParseDevice(text string) (Device, error) {
	kind, err := DeviceType(text)
	switch {
	case err != nil:
		return "", err
	case kind == "cpu":
		return CPU, nil
	case kind == "meta":
		return Meta, nil
	}
	return "", &Error{Kind: "AssertionError", Msg: "Torch not compiled with " + strings.ToUpper(kind) + " enabled"}
}

// DeviceType is the type of a device string, of any that PyTorch has.
func DeviceType(text string) (string, error) {
	kind, index, indexed := strings.Cut(text, ":")
	switch {
	case text == "":
		return "", Errorf("Device string must not be empty")
	case !slices.Contains(deviceTypes, kind):
		return "", Errorf("Expected one of %s device type at start of device string: %s", strings.Join(deviceTypes, ", "), kind)
	case indexed && !deviceIndex.MatchString(index):
		return "", Errorf("Invalid device string: '%s'", text)
	}
	return kind, nil
}

// deviceArg reads the device that a call was given.
func deviceArg(a Arg) (Device, error) {
	switch a := a.(type) {
	case Device:
		return ParseDevice(string(a))
	case string:
		return ParseDevice(a)
	}
	return "", Errorf("expected a device, got %T", a)
}

// copies are the operators whose tensors may lie on different devices: from a tensor
// to a device. A tensor without data gives none.
func copies(op *Op, args []Arg) (from, to Device, ok bool) {
	switch strings.TrimSuffix(op.Name, "_") {
	case "copy":
		if dst, src := MetaOf(args[0]), MetaOf(args[1]); dst != nil && src != nil {
			return src.Device, dst.Device, true
		}
	case "to", "_to_copy":
		m := MetaOf(args[0])
		to = m.Device
		if d, given := args[2].(Device); given {
			to = d
		}
		return m.Device, to, true
	}
	return "", "", false
}

// deviceFirst puts the device of x.To(device, dtype) where the schema has it.
func deviceFirst(op *Op, pos []Arg) []Arg {
	if op.ID != To || len(pos) < 2 {
		return pos
	}
	switch pos[1].(type) {
	case string, Device:
	default:
		return pos
	}
	out := []Arg{pos[0], nil, pos[1]}
	if len(pos) > 2 {
		out[1] = pos[2]
		out = append(out, pos[3:]...)
	}
	return out
}

// CheckDevices refuses tensors of different devices in one call. A CPU tensor without
// dimensions goes along with any device, and so do whole numbers on the CPU that
// select from a tensor elsewhere.
func CheckDevices(op *Op, args []Arg) error {
	if from, to, ok := copies(op, args); ok {
		if from == Meta && to != Meta {
			return &Error{Kind: "NotImplementedError", Msg: "Cannot copy out of meta tensor; no data!"}
		}
		return nil
	}
	want := Device("")
	eachTensor(args, func(m *TensorMeta, _ int) {
		if want == "" && !(m.Device == CPU && len(m.Shape) == 0) {
			want = m.Device
		}
	})
	selects := strings.HasPrefix(op.Name, "index")
	var err error
	eachTensor(args, func(m *TensorMeta, i int) {
		along := m.Device == CPU && (len(m.Shape) == 0 || selects && i > 0)
		if m.Device != want && !along && want != "" && err == nil {
			err = Errorf("Tensor on device %s is not on the expected device %s!", m.Device, want)
		}
	})
	return err
}

// eachTensor calls f for the tensors among arguments, those of lists too.
func eachTensor(args []Arg, f func(m *TensorMeta, i int)) {
	i := 0
	visit := func(a Arg) {
		if isNil(a) {
			return
		}
		if m := MetaOf(a); m != nil {
			f(m, i)
			i++
		}
	}
	for _, a := range args {
		if list, ok := a.([]Value); ok {
			for _, v := range list {
				visit(v)
			}
			continue
		}
		visit(a)
	}
}
