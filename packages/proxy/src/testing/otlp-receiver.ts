import { createServer } from 'node:http';
import type { IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A span as a collector receives it. */
interface ReceivedSpan {
  name: string;
  kind: number;
  traceId: string;
  spanId: string;
  parentSpanId: string;
  isError: boolean;
  links: { traceId: string; spanId: string }[];
  attributes: Record<string, string>;
  resource: Record<string, string>;
}

interface ReceivedMetric {
  name: string;
  unit: string;
  points: { attributes: Record<string, string>; count: number; bounds: number[] }[];
}

/** What a client has sent over OTLP/HTTP, decoded from protobuf (opentelemetry-proto 1.x). */
export interface OtlpReceiver extends AsyncDisposable {
  endpoint: string;
  spans: ReceivedSpan[];
  metrics: ReceivedMetric[];
  headers: IncomingHttpHeaders[];
  /** The status of further responses. */
  status: number;
}

/** Listens as a collector does. */
export async function openOtlpReceiver(): Promise<OtlpReceiver> {
  const received: Omit<OtlpReceiver, keyof AsyncDisposable | 'endpoint'> = {
    spans: [],
    metrics: [],
    headers: [],
    status: 200,
  };
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      received.headers.push(request.headers);
      const body = Buffer.concat(chunks);
      if (received.status === 200 && request.url === '/v1/traces') received.spans.push(...spansIn(body));
      if (received.status === 200 && request.url === '/v1/metrics') received.metrics.push(...metricsIn(body));
      response.writeHead(received.status, { 'content-type': 'application/x-protobuf' }).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return Object.assign(received, {
    endpoint: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  });
}

function spansIn(body: Buffer): ReceivedSpan[] {
  return all(body, 1).flatMap((part) => {
    const resource = attributesIn(all(all(part, 1)[0], 1));
    return all(part, 2).flatMap((scope) =>
      all(scope, 2).map((span) => ({
        name: text(span, 5),
        kind: Number(fieldsOf(span).find(({ number }) => number === 6)?.integer ?? 0n),
        traceId: hex(span, 1),
        spanId: hex(span, 2),
        parentSpanId: hex(span, 4),
        isError: fieldsOf(all(span, 15)[0]).some(({ number, integer }) => number === 3 && integer === 2n),
        links: all(span, 13).map((link) => ({ traceId: hex(link, 1), spanId: hex(link, 2) })),
        attributes: attributesIn(all(span, 9)),
        resource,
      })),
    );
  });
}

function metricsIn(body: Buffer): ReceivedMetric[] {
  const metrics = all(body, 1).flatMap((part) => all(part, 2).flatMap((scope) => all(scope, 2)));
  return metrics.map((metric) => ({
    name: text(metric, 1),
    unit: text(metric, 3),
    points: all(all(metric, 9)[0], 1).map((point) => ({
      attributes: attributesIn(all(point, 9)),
      count: Number(
        fieldsOf(point)
          .find(({ number }) => number === 4)
          ?.bytes.readBigUInt64LE() ?? 0n,
      ),
      bounds: doublesIn(all(point, 7)[0]),
    })),
  }));
}

function attributesIn(pairs: readonly Buffer[]): Record<string, string> {
  return Object.fromEntries(pairs.map((pair) => [text(pair, 1), valueIn(all(pair, 2)[0])]));
}

/** A text or an integer (opentelemetry-proto, AnyValue). */
function valueIn(value: Buffer | undefined): string {
  const integer = fieldsOf(value).find(({ number }) => number === 3)?.integer;
  return integer === undefined ? text(value, 1) : String(integer);
}

function doublesIn(packed: Buffer = Buffer.alloc(0)): number[] {
  return Array.from({ length: packed.length / 8 }, (_, index) => packed.readDoubleLE(index * 8));
}

const all = (message: Buffer | undefined, wanted: number): Buffer[] =>
  fieldsOf(message).flatMap(({ number, bytes }) => (number === wanted ? [bytes] : []));
const text = (message: Buffer | undefined, wanted: number): string =>
  all(message, wanted)[0]?.toString('utf8') ?? '';
const hex = (message: Buffer, wanted: number): string => all(message, wanted)[0]?.toString('hex') ?? '';

interface Field {
  number: number;
  bytes: Buffer;
  integer: bigint | undefined;
}

/** The fields of a protobuf message (Protocol Buffers, Encoding). */
function fieldsOf(message: Buffer = Buffer.alloc(0)): Field[] {
  const fields: Field[] = [];
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = message[at++] ?? 0;
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  const take = (length: number): Buffer => message.subarray(at, (at += length));
  while (at < message.length) {
    const tag = Number(varint());
    const wire = tag & 7;
    const integer = wire === 0 ? varint() : undefined;
    const length = wire === 2 ? Number(varint()) : wire === 1 ? 8 : wire === 5 ? 4 : 0;
    fields.push({ number: tag >> 3, bytes: take(length), integer });
  }
  return fields;
}
