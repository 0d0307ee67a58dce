package main

import (
	"github.com/slkstream/slkstream/config"
	"github.com/slkstream/slkstream/solver"
	"github.com/slkstream/slkstream/solver/stream"
)

// solverSettings are the preset's, with what was given in their place.
func solverSettings(c config.Solver) (solver.Settings, error) {
	s, err := solver.Preset(c.Preset)
	if err != nil {
		return s, err
	}
	give(&s, c)
	return s, nil
}

// give puts what was given in the place of what s says.
func give(s *solver.Settings, c config.Solver) {
	replace(&s.Method, c.Method)
	replace(&s.Lambda, c.Lambda)
	replace(&s.Rho, c.Rho)
	replace(&s.Tau, c.Tau)
	replace(&s.U, c.U)
	replace(&s.Kappa, c.Kappa)
	replace(&s.Sigma, c.Sigma)
	replace(&s.Beta, c.Beta)
	replace(&s.CPI, c.CPI)
	replace(&s.WS, c.WS)
	replace(&s.Outer, c.Outer)
	replace(&s.Inner, c.Inner)
	replace(&s.Tolerance, c.Tolerance)
	replace(&s.Power, c.Power)
	replace(&s.MetricRank, c.MetricRank)
	replace(&s.MetricShrink, c.MetricShrink)
	replace(&s.BiasCorrection, c.BiasCorrection)
	s.Seed = c.Seed
}

func replace[T any](value *T, given *T) {
	if given != nil {
		*value = *given
	}
}

// memorySettings are how the streams of a stage answer and learn.
func memorySettings(c *config.Config) (stream.Settings, error) {
	solving, err := solverSettings(c.Solver)
	solving.Index, solving.RecallFloor = c.Index.Method, c.Index.RecallFloor
	s := stream.Defaults(solving)
	s.Warm, s.Discover, s.UnknownRate, s.ReviewRate = c.Memory.Warm, c.Memory.Discover, c.Memory.UnknownRate, c.Memory.ReviewRate
	if c.Memory.ShareMetric {
		s.Share = stream.NewSharedMetric()
	}
	return s, err
}
