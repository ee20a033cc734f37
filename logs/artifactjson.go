package logs

import (
	"slices"
	"strconv"
)

// This file is what encoding/json makes of the long artifacts that every compile writes, in less time and memory.

func (t TraceSteps) appendJSON(b []byte) []byte {
	b = slices.Grow(b, 200*(len(t.Places)+len(t.Steps))) // most are shorter
	b = appendList(append(b, `{"places":`...), t.Places, Pos.appendJSON)
	b = appendList(append(b, `,"steps":`...), t.Steps, StepOnce.appendJSON)
	if t.Left != 0 {
		b = strconv.AppendInt(append(b, `,"left":`...), int64(t.Left), 10)
	}
	b = appendText(b, `,"end":`, t.End)
	if t.Amid {
		b = append(b, `,"amid":true`...)
	}
	return append(appendText(b, `,"missing":`, t.Missing), '}')
}

func (s StepOnce) appendJSON(b []byte) []byte {
	b = strconv.AppendInt(append(b, `{"at":`...), int64(s.At), 10)
	if s.Depth != 0 {
		b = strconv.AppendInt(append(b, `,"depth":`...), int64(s.Depth), 10)
	}
	b = appendJSONString(append(b, `,"instr":`...), s.Instr)
	b = appendTexts(b, `,"on":`, s.On)
	b = appendText(b, `,"set":`, s.Set)
	b = appendText(b, `,"as":`, s.As)
	b = appendTexts(b, `,"guards":`, s.Guards)
	return append(appendTexts(b, `,"nodes":`, s.Nodes), '}')
}

func (g Guards) appendJSON(b []byte) []byte {
	b = slices.Grow(b, 512*len(g.Guards)) // most are shorter
	return append(appendList(append(b, `{"guards":`...), g.Guards, Guard.appendJSON), '}')
}

func (g Guard) appendJSON(b []byte) []byte {
	b = appendJSONString(append(b, `{"source":`...), g.Source)
	b = appendJSONString(append(b, `,"kind":`...), g.Kind)
	b = appendJSONString(append(b, `,"text":`...), g.Text)
	b = appendJSONString(append(b, `,"expected":`...), g.Expected)
	return append(g.Pos.appendJSON(append(b, `,"pos":`...)), '}')
}

func (g GraphCode) appendJSON(b []byte) []byte {
	b = slices.Grow(b, (len(g.Go)+len(g.Table))/8*9+32*len(g.Ops))
	b = appendJSONString(append(b, `{"name":`...), g.Name)
	b = appendJSONString(append(b, `,"go":`...), g.Go)
	b = appendJSONString(append(b, `,"table":`...), g.Table)
	one := func(s string, b []byte) []byte { return appendJSONString(b, s) }
	return append(appendList(append(b, `,"ops":`...), g.Ops, one), '}')
}

func (p Pos) appendJSON(b []byte) []byte {
	b = appendJSONString(append(b, `{"file":`...), p.File)
	b = strconv.AppendInt(append(b, `,"line":`...), int64(p.Line), 10)
	if p.Col != 0 {
		b = strconv.AppendInt(append(b, `,"col":`...), int64(p.Col), 10)
	}
	if p.EndCol != 0 {
		b = strconv.AppendInt(append(b, `,"endcol":`...), int64(p.EndCol), 10)
	}
	b = appendText(b, `,"func":`, p.Func)
	return append(appendText(b, `,"code":`, p.Code), '}')
}

// appendText writes a field that is left out where it is empty.
func appendText(b []byte, key, s string) []byte {
	if s == "" {
		return b
	}
	return appendJSONString(append(b, key...), s)
}

func appendTexts(b []byte, key string, list []string) []byte {
	if len(list) == 0 {
		return b
	}
	return appendList(append(b, key...), list, func(s string, b []byte) []byte { return appendJSONString(b, s) })
}

func appendList[T any](b []byte, list []T, one func(T, []byte) []byte) []byte {
	if list == nil {
		return append(b, "null"...)
	}
	b = append(b, '[')
	for i, x := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = one(x, b)
	}
	return append(b, ']')
}
