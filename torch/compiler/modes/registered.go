package modes

import (
	"fmt"
	"slices"
	"sync"
)

// This file is the backends that a program registers under a name.

type registered struct {
	backend any
	tags    []string
}

var registry struct {
	sync.Mutex
	byName map[string]registered
}

// Register gives a backend a name, under which Registered finds it. A name that is taken is refused.
func Register(name string, f any, tags []string) error {
	registry.Lock()
	defer registry.Unlock()
	_, taken := registry.byName[name]
	switch {
	case name == "":
		return fmt.Errorf("a backend needs a name")
	case taken || name == "custom" || slices.ContainsFunc(backends, func(b backend) bool { return b.name == name }):
		return fmt.Errorf("there is a backend %q already", name)
	}
	if registry.byName == nil {
		registry.byName = map[string]registered{}
	}
	registry.byName[name] = registered{f, slices.Clone(tags)}
	return nil
}

// Registered is the backend that a program has registered under a name; nil where there is none.
func Registered(name string) any {
	registry.Lock()
	defer registry.Unlock()
	return registry.byName[name].backend
}

// registeredNames are the names without those that have one of the tags.
func registeredNames(excludeTags []string) []string {
	registry.Lock()
	defer registry.Unlock()
	var out []string
	for name, r := range registry.byName {
		if !slices.ContainsFunc(r.tags, func(tag string) bool { return slices.Contains(excludeTags, tag) }) {
			out = append(out, name)
		}
	}
	return out
}
