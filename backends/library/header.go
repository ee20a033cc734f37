package library

import (
	"fmt"
	"strings"

	"tcdbg/ops"
	"tcdbg/ops/sym"
)

// This file writes the header.

// Header is the text of NAME.h.
func (l *Library) Header() string {
	var dtypes []string
	for d := range ops.NumDTypes {
		dtypes = append(dtypes, fmt.Sprintf("  %s_%s = %d", strings.ToUpper(l.Name), strings.ToUpper(d.Name()), d))
	}
	return strings.NewReplacer(
		"{NAME}", strings.ToUpper(l.Name), "{name}", l.Name,
		"{listing}", l.listing(), "{processor}", l.processor(), "{dtypes}", strings.Join(dtypes, ",\n"),
		"{inputs}", fmt.Sprint(l.given()), "{outputs}", fmt.Sprint(len(l.Outputs)),
	).Replace(header)
}

const header = `/* lib{name}.so, a compiled program. Written by tcdbg.

{listing}
{processor}

   Link with -l{name}; nothing else is needed: the weights are in the library. */
#ifndef {NAME}_H
#define {NAME}_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { {NAME}_NUM_INPUTS = {inputs}, {NAME}_NUM_OUTPUTS = {outputs} };

/* What functions return. {name}_error says more. */
enum {
  {NAME}_OK = 0,
  {NAME}_ERROR_ARGUMENT = 1,  /* an argument is not what the library was made for */
  {NAME}_ERROR_PROCESSOR = 2, /* the processor lacks instructions that the library was built with */
  {NAME}_ERROR_MEMORY = 3,    /* there is not enough memory */
  {NAME}_ERROR_DATA = 4,      /* an index is outside of its dimension, or an integer was divided by zero */
  {NAME}_ERROR_STATE = 5      /* it is too late for this call */
};

/* Types of elements. A bool is a byte, 0 or 1; a complex64 is two floats. */
enum {
{dtypes}
};

/* A tensor in the caller's memory. Its elements lie one after the other, the last dimension's side by side,
   and data must have room for all of them. Inputs are not written, and must not overlap with outputs. */
typedef struct {
  void *data;
  int dtype;
  int ndim;
  const int64_t *sizes; /* ndim of them */
} {name}_tensor;

/* What an input or an output is. A size of -1 may differ from call to call. */
typedef struct {
  const char *name;
  int dtype;
  int ndim;
  const int64_t *sizes;
} {name}_info;

/* {name}_run computes all outputs. Types and sizes of both, which the caller gives, are checked. It may be
   called from several threads; one call runs at a time. The first one brings weights into the form
   that kernels read, and starts threads that are kept: a process that has forked since must not call it. */
int {name}_run(const {name}_tensor *inputs, int num_inputs, const {name}_tensor *outputs, int num_outputs);

/* {name}_output_sizes gives the sizes of an output for such inputs, whose data is not read. */
int {name}_output_sizes(const {name}_tensor *inputs, int num_inputs, int output, int64_t *sizes);

/* {name}_threads sets with how many threads, the caller's included, the library runs; it must be called
   before the first run. Without it there is one for each processor that the process may use. */
int {name}_threads(int n);

/* {name}_error is what went wrong in the last call that this thread made; "" where nothing did. */
const char *{name}_error(void);

/* {name}_input and {name}_output describe inputs and outputs, by number; 0 where there is none. */
const {name}_info *{name}_input(int i);
const {name}_info *{name}_output(int i);

#ifdef __cplusplus
}
#endif

#endif
`

// listing is inputs and outputs, a line each.
func (l *Library) listing() string {
	var sb strings.Builder
	p := l.Program
	line := func(n int, name string, d ops.DType, shape []sym.Int) {
		var sizes []string
		for _, x := range shape {
			sizes = append(sizes, sizeText(x.String()))
		}
		fmt.Fprintf(&sb, "     %d  %s  %s[%s]\n", n, Printable(name), d.Name(), strings.Join(sizes, ", "))
	}
	sb.WriteString("   Inputs:\n")
	for k, buf := range p.Inputs {
		if l.Inputs[k].Given {
			line(l.argument(k), l.Inputs[k].Name, p.Buffers[buf].DType, p.Buffers[buf].Shape)
		}
	}
	sb.WriteString("   Outputs:\n")
	for k := range p.Outputs {
		o := &p.Outputs[k]
		line(k, l.Outputs[k], l.result(k), o.Shape)
	}
	for i := range p.Symbols {
		s := &p.Symbols[i]
		fmt.Fprintf(&sb, "   %s is a size of input %d, dimension %d: %d to %d\n",
			Printable(s.Sym.Name), l.argument(s.Input), s.Dim, s.Sym.Min, min(s.Sym.Max, maxSize))
	}
	for _, g := range l.Guards {
		fmt.Fprintf(&sb, "   %s must hold\n", sizeText(g.String()))
	}
	return sb.String()
}

// processor says where the library runs.
func (l *Library) processor() string {
	names := make([]string, len(l.Features))
	for i, f := range l.Features {
		names[i] = f.Name
	}
	text := "   Built on " + Printable(l.BuiltOn)
	if len(names) == 0 {
		return text + ", for all processors of its kind."
	}
	return text + " for processors with\n   " + strings.Join(names, ", ") + "; on others " + l.Name + "_run returns an error."
}
