import { ValueType } from '@opentelemetry/api';
import type { Attributes, HrTime } from '@opentelemetry/api';
import type { Resource } from '@opentelemetry/resources';
import type {
  AggregationTemporality,
  CollectionResult,
  DataPointType,
  HistogramMetricData,
  MetricProducer,
} from '@opentelemetry/sdk-metrics';

/** The bounds that the conventions for MCP give, in seconds. */
const bounds = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300];
/** How many series one histogram has, as in the SDK. All further ones are one. */
const maxSeries = 2_000;
const overflow: Attributes = { 'otel.metric.overflow': true };

/** How the figures of a reader are given to it. */
export interface HistogramForm {
  scope: string;
  resource: Resource;
  temporality: AggregationTemporality;
  /** Whether each reading contains only what was recorded since the one before. */
  isDelta: boolean;
  dataPointType: DataPointType.HISTOGRAM;
}

/**
 * Histograms of durations for a reader of the OpenTelemetry SDK. The SDK sorts and writes out the attributes of a series for
 * each value, which takes longer than everything else that it does. These histograms know a series by a key of the caller.
 */
export class DurationHistograms implements MetricProducer {
  readonly #form: HistogramForm;
  readonly #all: DurationHistogram[] = [];

  constructor(form: HistogramForm) {
    this.#form = form;
  }

  open(name: string, description: string): DurationHistogram {
    const histogram = new DurationHistogram(name, description);
    this.#all.push(histogram);
    return histogram;
  }

  async collect(): Promise<CollectionResult> {
    const metrics = this.#all.flatMap((histogram) => histogram.read(this.#form) ?? []);
    const { resource, scope: name } = this.#form;
    const scopeMetrics = metrics.length === 0 ? [] : [{ scope: { name }, metrics }];
    return { resourceMetrics: { resource, scopeMetrics }, errors: [] };
  }
}

/** One histogram. Durations are in seconds. */
export class DurationHistogram {
  readonly #name: string;
  readonly #description: string;
  #series = new Map<string, Series>();
  #overflow: Series | undefined;
  /** When the figures were read last, if each reading is of what came since. */
  #sinceMs: number | undefined;

  constructor(name: string, description: string) {
    this.#name = name;
    this.#description = description;
  }

  /** Returns the series with a key, until the next reading. Undefined if it must be added. */
  find(key: string): Series | undefined {
    return this.#series.get(key);
  }

  /** Adds a series, or returns the one of everything that is too much. */
  add(key: string, attributes: Attributes): Series {
    // One of them is the overflow.
    if (this.#series.size >= maxSeries - 1) return (this.#overflow ??= new Series(overflow));
    const series = new Series(attributes);
    this.#series.set(key, series);
    return series;
  }

  /** The figures, as the SDK exports them. Undefined if there are none. */
  read({ temporality, isDelta, dataPointType }: HistogramForm): HistogramMetricData | undefined {
    const all = [...this.#series.values(), ...(this.#overflow === undefined ? [] : [this.#overflow])];
    const nowMs = Date.now();
    const since = this.#sinceMs;
    if (isDelta) {
      this.#series = new Map();
      this.#overflow = undefined;
      this.#sinceMs = nowMs;
    }
    if (all.length === 0) return undefined;
    return {
      descriptor: {
        name: this.#name,
        description: this.#description,
        unit: 's',
        valueType: ValueType.DOUBLE,
      },
      aggregationTemporality: temporality,
      dataPointType,
      dataPoints: all.map((series) => series.read(since, nowMs)),
    };
  }
}

/** The durations with the same attributes. */
export class Series {
  readonly #attributes: Attributes;
  readonly #startMs = Date.now();
  readonly #counts = Array<number>(bounds.length + 1).fill(0);
  #count = 0;
  #sum = 0;
  #min = Infinity;
  #max = -Infinity;

  constructor(attributes: Attributes) {
    this.#attributes = attributes;
  }

  record(seconds: number): void {
    this.#count += 1;
    this.#sum += seconds;
    if (seconds < this.#min) this.#min = seconds;
    if (seconds > this.#max) this.#max = seconds;
    let at = 0;
    while (at < bounds.length && (bounds[at] ?? Infinity) < seconds) at += 1;
    this.#counts[at] = (this.#counts[at] ?? 0) + 1;
  }

  read(sinceMs: number | undefined, nowMs: number): HistogramMetricData['dataPoints'][number] {
    return {
      attributes: this.#attributes,
      startTime: timeOf(sinceMs ?? this.#startMs),
      endTime: timeOf(nowMs),
      value: {
        min: this.#min,
        max: this.#max,
        sum: this.#sum,
        count: this.#count,
        buckets: { boundaries: [...bounds], counts: [...this.#counts] },
      },
    };
  }
}

function timeOf(ms: number): HrTime {
  return [Math.trunc(ms / 1000), (ms % 1000) * 1_000_000];
}
