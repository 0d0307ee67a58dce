package main

import (
	"fmt"

	"github.com/slkstream/slkstream/config"
	"github.com/slkstream/slkstream/solver"
	"github.com/slkstream/slkstream/solver/metric"
	"github.com/slkstream/slkstream/solver/stream"
)

// solverSettings returns the preset's settings, with given values replaced.
func solverSettings(c config.Solver) (solver.Settings, error) {
	s, err := solver.Preset(c.Preset()).Settings()
	if err != nil {
		return s, err
	}
	if method := c.Method(); method != "" {
		s.Method = solver.Method(method)
	}
	give(&s, c)
	return s, nil
}

// give replaces the numbers of s with those that were given.
func give(s *solver.Settings, c config.Solver) {
	for _, n := range numbers(s, c) {
		n.give()
	}
	s.Seed = c.Seed
}

// number is a solver setting that a preset has a value for: that value, and a function that replaces it with
// the given one.
type number struct {
	name  string
	value func() any
	give  func()
}

// numbers pairs config's settings with the solver's fields.
func numbers(s *solver.Settings, c config.Solver) []number {
	return []number{
		pair("lambda", c.Lambda, &s.Lambda), pair("rho", c.Rho, &s.Rho),
		pair("edge-decay", c.EdgeDecay, &s.EdgeDecay), pair("tau", c.Tau, &s.Tau), pair("u", c.U, &s.U),
		pair("kappa", c.Kappa, &s.Kappa), pair("sigma", c.Sigma, &s.Sigma), pair("beta", c.Beta, &s.Beta),
		pair("cpi", c.CPI, &s.CPI),
		pair("anneal", c.Anneal, &s.Anneal), pair("anneal-steps", c.AnnealSteps, &s.AnnealSteps),
		pair("ws", c.WS, &s.WS), pair("outer", c.Outer, &s.Outer),
		pair("inner", c.Inner, &s.Inner), pair("tolerance", c.Tolerance, &s.Tolerance),
		pair("power", c.Power, &s.Power),
		pair("metric-rank", c.MetricRank, &s.MetricRank), pair("metric-shrink", c.MetricShrink, &s.MetricShrink),
		pair("metric-between", c.MetricBetween, &s.MetricBetween),
		pair("bias-correction", c.BiasCorrection, &s.Paper.BiasCorrection),
	}
}

func pair[T any](name string, given, field *T) number {
	return number{name, func() any { return *field }, func() {
		if given != nil {
			*field = *given
		}
	}}
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
	if c.Memory.ShareMetric {
		s.SharedMetric = metric.NewShared()
	}
	return s, err
}

// solverValues returns the numbers of a solver file, formatted.
func solverValues(purpose string, s solver.Settings) map[string]string {
	values := map[string]string{}
	for _, n := range config.Default("run").Numbers() {
		values[n.Name] = n.Value()
	}
	values["for"], values["method"] = purpose, string(s.Method)
	for _, n := range numbers(&s, config.Solver{}) {
		values[n.name] = fmt.Sprint(n.value())
	}
	return values
}
