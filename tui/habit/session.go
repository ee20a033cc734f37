package habit

import (
	"bytes"
	"encoding/json"
	"reflect"
)

// This file is a session: how the screens of a run were left, so that they are opened so again.

// maxSession bounds what is read of a file that says how screens were left.
const maxSession = 1 << 20

// Session is how the screens were left.
type Session struct {
	Screen   string          `json:"screen"`
	Panes    map[string]Pane `json:"panes,omitempty"` // by screen
	Marks    map[string]Mark `json:"marks,omitempty"` // by letter
	Searches []string        `json:"searches,omitempty"`
}

// Pane is how one screen was left.
type Pane struct {
	Row    string  `json:"row,omitempty"` // key of the selected row
	Filter string  `json:"filter,omitempty"`
	Query  string  `json:"query,omitempty"`
	Order  string  `json:"order,omitempty"`
	Mode   int     `json:"mode,omitempty"`
	Share  float64 `json:"share,omitempty"` // of the width for the list, 0: the screen's own
	// Hidden are the names of the columns that are not shown.
	Hidden []string `json:"hidden,omitempty"`
}

// Left says that a screen was left otherwise than it opens.
func (p Pane) Left() bool {
	hides := len(p.Hidden) > 0
	p.Hidden = nil
	return hides || !reflect.DeepEqual(p, Pane{})
}

// ReadSession reads a session; what is none is an empty one.
func ReadSession(text []byte) Session {
	var s Session
	if len(text) > maxSession || json.Unmarshal(text, &s) != nil {
		return Session{}
	}
	return s
}

// Text writes a session.
func (s Session) Text() []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(s) != nil {
		return nil
	}
	return b.Bytes()
}
