package pickle

import (
	"errors"
	"fmt"
)

// This file is the opcodes that build objects from others.

func (r *reader) build(op byte) error {
	switch op {
	case 't':
		items, err := r.popMark()
		r.push(Tuple(items))
		return err
	case 0x85, 0x86, 0x87:
		return r.tuple(int(op - 0x84))
	case 'a':
		v, err := r.pop()
		if err != nil {
			return err
		}
		return r.extend([]any{v})
	case 'e':
		items, err := r.popMark()
		if err != nil {
			return err
		}
		return r.extend(items)
	case 's':
		items, err := r.popN(2)
		if err != nil {
			return err
		}
		return r.setItems(items)
	case 'u':
		items, err := r.popMark()
		if err != nil {
			return err
		}
		return r.setItems(items)
	case 0x93: // STACK_GLOBAL
		return r.stackGlobal()
	case 'R':
		return r.reduce()
	case 'Q':
		id, err := r.pop()
		if err != nil {
			return err
		}
		v, err := r.with.Persistent(id)
		r.push(v)
		return err
	case 'b':
		return r.state()
	case '0':
		_, err := r.pop()
		return err
	}
	return errors.New("not supported in saved tensors")
}

func (r *reader) tuple(n int) error {
	items, err := r.popN(n)
	r.push(Tuple(items))
	return err
}

func (r *reader) extend(items []any) error {
	if len(r.stack) == 0 {
		return errStack
	}
	l, ok := r.stack[len(r.stack)-1].(*List)
	if !ok {
		return fmt.Errorf("items for %T", r.stack[len(r.stack)-1])
	}
	l.Items = append(l.Items, items...)
	return nil
}

func (r *reader) setItems(items []any) error {
	if len(r.stack) == 0 || len(items)%2 != 0 {
		return errStack
	}
	d, ok := r.stack[len(r.stack)-1].(*Dict)
	if !ok {
		return fmt.Errorf("entries for %T", r.stack[len(r.stack)-1])
	}
	for i := 0; i < len(items); i += 2 {
		if err := d.Set(items[i], items[i+1]); err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) stackGlobal() error {
	name, err := r.pop()
	if err != nil {
		return err
	}
	module, err := r.pop()
	if err != nil {
		return err
	}
	m, ok := module.(string)
	n, ok2 := name.(string)
	if !ok || !ok2 {
		return errors.New("a global without name")
	}
	r.push(Global{m, n})
	return nil
}

// reduce calls a global. An OrderedDict is made here, since later opcodes fill it.
func (r *reader) reduce() error {
	args, err := r.pop()
	if err != nil {
		return err
	}
	f, err := r.pop()
	if err != nil {
		return err
	}
	t, ok := args.(Tuple)
	g, ok2 := f.(Global)
	if !ok || !ok2 {
		return fmt.Errorf("a call of %T with %T", f, args)
	}
	if g == (Global{"collections", "OrderedDict"}) && len(t) == 0 {
		r.push(&Dict{})
		return nil
	}
	v, err := r.with.Call(g, t)
	r.push(v)
	return err
}

// state is BUILD: the attributes of an object. Dicts have some that mean
// nothing here (_metadata of a state_dict); other objects are refused.
func (r *reader) state() error {
	if _, err := r.pop(); err != nil {
		return err
	}
	if len(r.stack) == 0 {
		return errStack
	}
	if _, ok := r.stack[len(r.stack)-1].(*Dict); !ok {
		return fmt.Errorf("attributes for %T", r.stack[len(r.stack)-1])
	}
	return nil
}
