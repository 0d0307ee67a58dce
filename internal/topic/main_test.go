package topic_test

import (
	"testing"

	"github.com/slkstream/slkstream/internal/broker/brokertest"
)

func TestMain(m *testing.M) { brokertest.Main(m) }
