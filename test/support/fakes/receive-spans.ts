import { gunzipSync } from 'node:zlib';
import { serveOnLoopback } from './serve-on-loopback.ts';

type Value = { readonly stringValue?: string; readonly intValue?: number | string };
type KeyValue = { readonly key: string; readonly value: Value };

/** A span in OTLP's JSON encoding;
 * https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding */
type SpanOnTheWire = {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  /** Nanoseconds since the epoch, as text: too large for a number. */
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
  /** `service.name` of the exporting process. */
  readonly service: string;
  readonly attributes: Readonly<Record<string, string | number | undefined>>;
};

export type SpanReceiver = AsyncDisposable & {
  /** For `OTEL_EXPORTER_OTLP_ENDPOINT`, with `OTEL_EXPORTER_OTLP_PROTOCOL` set to `http/json`. */
  readonly endpoint: string;
  /** In order of arrival. */
  readonly spans: readonly ReceivedSpan[];
  /** The raw bodies. */
  readonly bodies: readonly string[];
  /** Requests to any path but the one for traces. */
  readonly strays: readonly string[];
};

/** Starts an OTLP span receiver on loopback that keeps everything it gets. */
export async function receiveSpans(): Promise<SpanReceiver> {
  const spans: ReceivedSpan[] = [];
  const bodies: string[] = [];
  const strays: string[] = [];
  const server = await serveOnLoopback((request, response) => {
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
  return {
    endpoint: server.url,
    spans,
    bodies,
    strays,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
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
