package app

// runScreens runs the engine under the screens.
func (s *session) runScreens(r *Run) error {
	c, err := startEngine(r, s.Stdin, s.Stdout, s.Stderr, false)
	if err != nil {
		return err
	}
	return s.endPlain(c)
}
