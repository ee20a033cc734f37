package host

import (
	"strconv"
	"strings"
	"unsafe"

	"tcdbg/tracer/host/rt"
)

// This file is %T for values of the program's types: it becomes a %s of the type's
// name, since fmt would name the type of the box.

// formatArgs reads the format and arguments at position i.
func formatArgs(a []unsafe.Pointer, i int) (string, []any) {
	format, args := arg[string](a, i), arg[[]any](a, i+1)
	if !strings.Contains(format, "T") {
		return format, args
	}
	return rewriteTypes(format, args)
}

// rewriteTypes replaces the %T of boxed arguments. Where the format has explicit
// indexes, every verb of the new one has: an argument that is added for a name
// must not shift those behind it.
func rewriteTypes(format string, args []any) (string, []any) {
	r := typeRewriter{format: format, args: append([]any(nil), args...), given: len(args), indexed: strings.Contains(format, "[")}
	for r.at < len(format) {
		i := strings.IndexByte(format[r.at:], '%')
		if i < 0 {
			break
		}
		r.copyTo(r.at + i + 1)
		if !r.directive() {
			return format, args // not well formed: fmt says what is wrong
		}
	}
	r.copyTo(len(format))
	return r.out.String(), r.args
}

type typeRewriter struct {
	format  string
	at      int // in format
	args    []any
	given   int // arguments of the program
	next    int // argument of the next verb
	indexed bool
	out     strings.Builder
}

func (r *typeRewriter) copyTo(end int) {
	r.out.WriteString(r.format[r.at:end])
	r.at = end
}

// directive rewrites what follows a percent sign; false: it is not well formed.
func (r *typeRewriter) directive() bool {
	for r.at < len(r.format) {
		if r.format[r.at] == '[' && !r.index() {
			return false
		}
		switch c := r.format[r.at]; {
		case c == '%':
			r.copyTo(r.at + 1)
			return true
		case c == '*':
			r.argument(r.next)
			r.copyTo(r.at + 1)
		case strings.IndexByte("+-# 0123456789.", c) >= 0:
			r.copyTo(r.at + 1)
		default:
			return r.verb()
		}
	}
	return true // fmt says that a verb is missing
}

// index reads an explicit index, behind which something follows.
func (r *typeRewriter) index() bool {
	digits, _, closed := strings.Cut(r.format[r.at+1:], "]")
	n, err := strconv.Atoi(digits)
	if err != nil || !closed || n < 1 || n > r.given {
		return false
	}
	r.next = n - 1
	r.at += len(digits) + 2
	return r.at < len(r.format)
}

// argument takes the next argument and, in a format with indexes, names the one
// that stands for it.
func (r *typeRewriter) argument(i int) {
	r.next++
	if r.indexed {
		r.out.WriteString("[" + strconv.Itoa(i+1) + "]")
	}
}

func (r *typeRewriter) verb() bool {
	if r.next >= r.given {
		r.copyTo(r.at + 1)
		return !r.indexed
	}
	b, boxed := r.args[r.next].(rt.Boxed)
	if r.format[r.at] != 'T' || !boxed {
		r.argument(r.next)
		r.copyTo(r.at + 1)
		return true
	}
	i := r.next
	if r.indexed { // another verb may want the value
		i = len(r.args)
		r.args = append(r.args, nil)
	}
	r.args[i] = typeString(b.T.Type)
	r.argument(i)
	r.out.WriteByte('s')
	r.at++
	return true
}
