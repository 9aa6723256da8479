// The OTLP receiver of the OpenTelemetry Collector. Prints what it receives, as OTLP JSON, one request per line.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
)

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func main() {
	factory := otlpreceiver.NewFactory()
	config := factory.CreateDefaultConfig()
	check(confmap.NewFromStringMap(map[string]any{
		"protocols": map[string]any{"http": map[string]any{"endpoint": os.Args[1]}},
	}).Unmarshal(config))
	settings := receiver.Settings{
		ID:                component.NewID(factory.Type()),
		TelemetrySettings: componenttest.NewNopTelemetrySettings(),
	}
	lines := make(chan []byte)
	go func() {
		for line := range lines {
			fmt.Println(string(line))
		}
	}()
	traces, err := consumer.NewTraces(func(_ context.Context, received ptrace.Traces) error {
		line, err := (&ptrace.JSONMarshaler{}).MarshalTraces(received)
		lines <- line
		return err
	})
	check(err)
	metrics, err := consumer.NewMetrics(func(_ context.Context, received pmetric.Metrics) error {
		line, err := (&pmetric.JSONMarshaler{}).MarshalMetrics(received)
		lines <- line
		return err
	})
	check(err)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	traceReceiver, err := factory.CreateTraces(ctx, settings, config, traces)
	check(err)
	metricReceiver, err := factory.CreateMetrics(ctx, settings, config, metrics)
	check(err)
	check(traceReceiver.Start(ctx, componenttest.NewNopHost()))
	check(metricReceiver.Start(ctx, componenttest.NewNopHost()))
	fmt.Println("ready")
	<-ctx.Done()
	_ = traceReceiver.Shutdown(context.Background())
	_ = metricReceiver.Shutdown(context.Background())
}
