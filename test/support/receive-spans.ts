import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gunzipSync } from 'node:zlib';

type Value = { readonly stringValue?: string; readonly intValue?: number | string };
type KeyValue = { readonly key: string; readonly value: Value };

/** A span as OTLP's JSON has it; https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding */
type SpanOnTheWire = {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  /** Nanoseconds since the epoch, as text: too long for a number. */
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes?: readonly KeyValue[];
  readonly links?: readonly { readonly traceId: string; readonly spanId: string }[];
  readonly status?: { readonly code?: number };
};

type ExportRequest = {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly KeyValue[] };
    readonly scopeSpans: readonly { readonly spans: readonly SpanOnTheWire[] }[];
  }[];
};

export type ReceivedSpan = Omit<SpanOnTheWire, 'attributes'> & {
  /** `service.name` of the process that made it. */
  readonly service: string;
  readonly attributes: Readonly<Record<string, string | number | undefined>>;
};

export type SpanReceiver = AsyncDisposable & {
  /** For `OTEL_EXPORTER_OTLP_ENDPOINT`, with `OTEL_EXPORTER_OTLP_PROTOCOL` set to `http/json`. */
  readonly endpoint: string;
  /** In order of arrival. */
  readonly spans: readonly ReceivedSpan[];
  /** The bodies as they came. */
  readonly bodies: readonly string[];
  /** What came to any other place than the one of traces. */
  readonly strays: readonly string[];
};

/** Starts an OTLP receiver of spans on loopback that keeps everything it gets. */
export async function receiveSpans(): Promise<SpanReceiver> {
  const spans: ReceivedSpan[] = [];
  const bodies: string[] = [];
  const strays: string[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const bytes = Buffer.concat(chunks);
      const isZipped = request.headers['content-encoding'] === 'gzip';
      const body = (isZipped ? gunzipSync(bytes) : bytes).toString('utf8');
      bodies.push(body);
      if (request.url === '/v1/traces') spans.push(...spansOf(JSON.parse(body) as ExportRequest));
      else strays.push(`${request.method} ${request.url}`);
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    endpoint: `http://127.0.0.1:${port}`,
    spans,
    bodies,
    strays,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const spansOf = ({ resourceSpans }: ExportRequest): ReceivedSpan[] =>
  resourceSpans.flatMap(({ resource, scopeSpans }) => {
    const service = String(namedOf(resource.attributes)['service.name']);
    const all = scopeSpans.flatMap(({ spans }) => spans);
    return all.map((span) => ({ ...span, service, attributes: namedOf(span.attributes ?? []) }));
  });

const namedOf = (attributes: readonly KeyValue[]) =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, value.stringValue ?? Number(value.intValue)]));
