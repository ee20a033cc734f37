package pickle

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Object is a value that its global makes when called with Args.
type Object struct {
	Global Global
	Args   Tuple
}

// Persistent is an object stored outside the stream, under its id.
type Persistent struct{ ID Tuple }

// OrderedDict is a Dict that is written as Python's OrderedDict.
type OrderedDict struct{ Dict }

// Write encodes a value in protocol 2, as torch.save does: nil, bool, int,
// float64, string, Tuple, *List, *Dict, *OrderedDict, Global, Object,
// Persistent. It keeps no memo.
func Write(v any) ([]byte, error) {
	w := &writer{out: []byte{0x80, 2}}
	if err := w.value(v); err != nil {
		return nil, err
	}
	return append(w.out, '.'), nil
}

type writer struct{ out []byte }

func (w *writer) put(b ...byte) { w.out = append(w.out, b...) }

func (w *writer) value(v any) error {
	switch v := v.(type) {
	case nil:
		w.put('N')
	case bool:
		if v {
			w.put(0x88)
		} else {
			w.put(0x89)
		}
	case int:
		w.int(v)
	case float64:
		w.put('G')
		w.out = binary.BigEndian.AppendUint64(w.out, math.Float64bits(v))
	case string:
		w.put('X')
		w.out = binary.LittleEndian.AppendUint32(w.out, uint32(len(v)))
		w.out = append(w.out, v...)
	case Tuple:
		return w.tuple(v)
	case *List:
		w.put(']', '(')
		return w.each('e', v.Items)
	case *Dict:
		w.put('}')
		return w.items(v)
	case *OrderedDict:
		w.global(Global{"collections", "OrderedDict"})
		w.put(')', 'R')
		return w.items(&v.Dict)
	case Global:
		w.global(v)
	case Object:
		w.global(v.Global)
		if err := w.tuple(v.Args); err != nil {
			return err
		}
		w.put('R')
	case Persistent:
		if err := w.tuple(v.ID); err != nil {
			return err
		}
		w.put('Q')
	default:
		return fmt.Errorf("pickle: values of type %T cannot be written", v)
	}
	return nil
}

func (w *writer) int(v int) {
	switch {
	case v >= 0 && v < 1<<8:
		w.put('K', byte(v))
	case v >= 0 && v < 1<<16:
		w.put('M', byte(v), byte(v>>8))
	case v >= math.MinInt32 && v <= math.MaxInt32:
		w.put('J')
		w.out = binary.LittleEndian.AppendUint32(w.out, uint32(int32(v)))
	default:
		w.put(0x8a, 8)
		w.out = binary.LittleEndian.AppendUint64(w.out, uint64(v))
	}
}

func (w *writer) global(g Global) {
	w.put('c')
	w.out = append(w.out, g.Module+"\n"+g.Name+"\n"...)
}

func (w *writer) tuple(t Tuple) error {
	if len(t) == 0 {
		w.put(')')
		return nil
	}
	w.put('(')
	return w.each('t', t)
}

func (w *writer) each(end byte, items []any) error {
	for _, v := range items {
		if err := w.value(v); err != nil {
			return err
		}
	}
	w.put(end)
	return nil
}

func (w *writer) items(d *Dict) error {
	w.put('(')
	for _, it := range d.Items {
		if err := w.value(it.Key); err != nil {
			return err
		}
		if err := w.value(it.Value); err != nil {
			return err
		}
	}
	w.put('u')
	return nil
}
