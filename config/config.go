// Package config defines every setting once: its flag, its variable, its YAML key, its help, its default and limits.
package config
