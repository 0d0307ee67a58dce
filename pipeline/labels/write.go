package labels

import (
	"context"
	"fmt"
	"slices"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
	"github.com/slkstream/slkstream/producer"
)

// Write writes records to a labels topic: all or none (see producer.WriteTogether), as half of a split, of a file
// or of a forgetting would teach something else. Each carries what the topic held before: it then counts as later
// than all of that, whatever clock this machine has.
func Write(ctx context.Context, client *topic.Client, records []record.Out) error {
	if len(records) == 0 {
		return nil
	}
	name := records[0].Topic
	spans, err := client.SpansOf(ctx, false, name)
	if err != nil {
		return fmt.Errorf("the end of topic %s: %w", name, err)
	}
	id, err := client.ID(ctx, name)
	if err != nil {
		return err
	}
	var ends Position
	for _, span := range spans {
		ends = append(ends, span.To)
	}
	ends = append(ends, markOf(id)...)
	records = slices.Clone(records)
	for i := range records {
		r := &records[i]
		r.Headers = append(slices.Clip(r.Headers), ends.header())
	}
	return producer.WriteTogether(ctx, client, "labels/"+name, records)
}
