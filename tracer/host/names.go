package host

import (
	"fmt"
	"go/token"
	"go/types"
	"reflect"
	"runtime"
	"strings"
)

// This file names what compiled code brings in: functions by their address and
// types by reflection.

// methodName is the name of a method of a compiled type, as SSA writes it.
func methodName(r reflect.Type, method string) string {
	star := ""
	if r.Kind() == reflect.Pointer && r.Name() == "" {
		star, r = "*", r.Elem()
	}
	return fmt.Sprintf("(%s%s.%s).%s", star, r.PkgPath(), r.Name(), method)
}

// funcName is the name of a compiled function value as SSA writes it.
func funcName(fn reflect.Value) string {
	f := runtime.FuncForPC(fn.Pointer())
	if f == nil {
		return "func"
	}
	name := strings.TrimSuffix(f.Name(), "-fm")
	i := strings.LastIndex(name, "/") + 1
	path, rest := name[:i], name[i:]
	if pkg, m, ok := strings.Cut(rest, ".("); ok { // a method: pkg.(*T).M
		recv, method, _ := strings.Cut(m, ").")
		star := ""
		if strings.HasPrefix(recv, "*") {
			star, recv = "*", recv[1:]
		}
		return "(" + star + path + pkg + "." + recv + ")." + method
	}
	return name
}

// typeOf returns the types.Type of a compiled type. A type that no package
// exports becomes a named type without methods, one for each reflect.Type.
func (in *Interp) typeOf(r reflect.Type) types.Type {
	if t, ok := in.types.rtypes.Load(r); ok {
		return t.(types.Type)
	}
	t := newTypeOf(in, r)
	got, _ := in.types.rtypes.LoadOrStore(r, t)
	return got.(types.Type)
}

func newTypeOf(in *Interp, r reflect.Type) types.Type {
	if r.PkgPath() != "" {
		return namedOf(in, r)
	}
	if r == tyError {
		return types.Universe.Lookup("error").Type()
	}
	switch r.Kind() {
	case reflect.Pointer:
		return types.NewPointer(in.typeOf(r.Elem()))
	case reflect.Slice:
		return types.NewSlice(in.typeOf(r.Elem()))
	case reflect.Array:
		return types.NewArray(in.typeOf(r.Elem()), int64(r.Len()))
	case reflect.Map:
		return types.NewMap(in.typeOf(r.Key()), in.typeOf(r.Elem()))
	case reflect.Chan:
		dir := map[reflect.ChanDir]types.ChanDir{
			reflect.BothDir: types.SendRecv, reflect.SendDir: types.SendOnly, reflect.RecvDir: types.RecvOnly,
		}
		return types.NewChan(dir[r.ChanDir()], in.typeOf(r.Elem()))
	case reflect.Func:
		return signatureOf(in, r)
	case reflect.Struct:
		var fields []*types.Var
		var tags []string
		for i := range r.NumField() {
			f := r.Field(i)
			fields = append(fields, types.NewField(token.NoPos, nil, f.Name, in.typeOf(f.Type), f.Anonymous))
			tags = append(tags, string(f.Tag))
		}
		return types.NewStruct(fields, tags)
	case reflect.Interface:
		return types.NewInterfaceType(nil, nil).Complete()
	}
	for kind, b := range basicTypes {
		if b == r && types.Typ[kind].Info()&types.IsUntyped == 0 {
			return types.Typ[kind]
		}
	}
	return types.Typ[types.UnsafePointer]
}

func signatureOf(in *Interp, r reflect.Type) types.Type {
	list := func(n int, at func(int) reflect.Type) *types.Tuple {
		var vars []*types.Var
		for i := range n {
			vars = append(vars, types.NewVar(token.NoPos, nil, "", in.typeOf(at(i))))
		}
		return types.NewTuple(vars...)
	}
	return types.NewSignatureType(nil, nil, nil, list(r.NumIn(), r.In), list(r.NumOut(), r.Out), r.IsVariadic())
}

func namedOf(in *Interp, r reflect.Type) types.Type {
	if pkg := in.Prog.typesPackage(r.PkgPath()); pkg != nil {
		if obj, ok := pkg.Scope().Lookup(r.Name()).(*types.TypeName); ok {
			return obj.Type()
		}
	}
	pkg := types.NewPackage(r.PkgPath(), r.PkgPath()[strings.LastIndex(r.PkgPath(), "/")+1:])
	n := types.NewNamed(types.NewTypeName(token.NoPos, pkg, r.Name(), nil), types.NewStruct(nil, nil), nil)
	in.types.foreign.Store(n, r)
	return n
}
