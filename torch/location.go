package torch

import (
	"fmt"
	"strings"

	"tcdbg/ops"
)

// This file says where torch.Load puts what a file holds: map_location.

// location gives the device on which a storage goes that was on another one, named as
// in the file.
type location func(tag string) (Device, error)

// locationOf reads the options of Load.
func locationOf(opts []Option) (location, error) {
	target := func(tag string) string { return tag }
	for _, o := range opts {
		if o.Name != "map_location" {
			return nil, fmt.Errorf("load() got an unexpected keyword argument '%s'", o.Name)
		}
		switch to := o.Value.(type) {
		case nil:
		case Device:
			target = func(string) string { return string(to) }
		case string:
			target = func(string) string { return to }
		case map[string]string:
			target = func(tag string) string {
				if d, ok := to[tag]; ok {
					return d
				}
				return tag
			}
		default:
			return nil, fmt.Errorf("map_location is a device, a string or a map[string]string, not %T", to)
		}
	}
	return func(tag string) (Device, error) { return restored(target(tag)) }, nil
}

// restored is the device of a name, refused as PyTorch does that lacks it.
func restored(tag string) (Device, error) {
	kind, err := ops.DeviceType(tag)
	switch {
	case err != nil:
	case kind == "cpu":
		return ops.CPU, nil
	case kind == "meta":
		return ops.Meta, nil
	case kind == "cuda" || kind == "xpu" || kind == "hpu":
		//nolint:staticcheck // PyTorch's words, its full stop with them
		return "", fmt.Errorf("Attempting to deserialize object on a %s device but torch.%s.is_available() is False. "+
			"If you are running on a CPU-only machine, please use torch.load with map_location=torch.device('cpu') to map your "+
			"storages to the CPU.", strings.ToUpper(kind), kind)
	}
	return "", fmt.Errorf("don't know how to restore data location of torch.storage.UntypedStorage (tagged with %s)", tag)
}
