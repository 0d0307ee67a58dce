package main

import (
	"cmp"
	"fmt"
	"reflect"
	"strings"

	"github.com/slkstream/slkstream/config"
	"github.com/slkstream/slkstream/solver"
	"github.com/slkstream/slkstream/solver/stream"
)

// solverSettings returns the preset's settings, with given values replaced. Its error is a usageError.
func solverSettings(c config.Solver) (solver.Settings, error) {
	s, err := solver.Preset(c.Preset()).Settings()
	s.Method = cmp.Or(solver.Method(c.Method()), s.Method)
	return withGiven(s, c, err)
}

// withGiven replaces the numbers and the seed of s with those that were given. Its error is a usageError, and
// err if that is not nil.
func withGiven(s solver.Settings, c config.Solver, err error) (solver.Settings, error) {
	if err == nil {
		s.Seed = c.Seed
		giveNumbers(&s, c)
		_, err = solver.New(s)
	}
	if err != nil {
		return s, usageError{err}
	}
	return s, nil
}

// giveNumbers replaces the numbers of s with those that were given: the fields of c that are pointers.
func giveNumbers(s *solver.Settings, c config.Solver) {
	for of, given := range reflect.ValueOf(c).Fields() {
		if given.Kind() == reflect.Pointer && !given.IsNil() {
			number(s, of.Name).Set(given.Elem())
		}
	}
}

// number is the field of the solver's settings that has a setting's name, whatever its hyphens and capitals.
func number(s *solver.Settings, name string) reflect.Value {
	is := func(field string) bool { return strings.EqualFold(field, strings.ReplaceAll(name, "-", "")) }
	if field := reflect.ValueOf(s).Elem().FieldByNameFunc(is); field.IsValid() {
		return field
	}
	return reflect.ValueOf(&s.Paper).Elem().FieldByNameFunc(is)
}

// memorySettings returns the settings by which streams answer and learn.
func memorySettings(c *config.Config) (stream.Settings, error) {
	solving, err := solverSettings(c.Solver)
	solving.Index, solving.RecallFloor = c.Index.Method, c.Index.RecallFloor
	s := stream.Defaults()
	s.Solver = solving
	s.Warm, s.Discover, s.UnknownRate, s.ReviewRate = c.Memory.Warm, c.Memory.Discover, c.Memory.UnknownRate, c.Memory.ReviewRate
	s.DiscoverDistance, s.MaxWrong = c.Memory.DiscoverDistance, c.Memory.MaxWrong
	s.Time, s.FrameWeight, s.TrackTTL = c.Memory.Time, c.Memory.FrameWeight, c.Memory.TrackTTL
	return s, err
}

// solverValues returns the numbers of a solver file, formatted.
func solverValues(purpose string, s solver.Settings) map[string]string {
	values := map[string]string{}
	for _, n := range config.Default("run").Numbers() {
		if values[n.Name] = n.Value(); values[n.Name] == "" && n.Name != "for" {
			values[n.Name] = fmt.Sprint(number(&s, n.Name))
		}
	}
	values["for"] = purpose
	return values
}
