import {
  type Attributes,
  context,
  type Link,
  ROOT_CONTEXT,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import { makeRandomHex } from '#shared/random-pool.ts';

/** `00-<trace id>-<span id>-<flags>`, W3C Trace Context level 1. */
const TRACEPARENT = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;

/** A trace of our own, sampled. Every check has one, whether spans are exported or not. */
export const newTraceparent = (): string => `00-${newTraceId()}-${newSpanId()}-01`;

const newTraceId = makeRandomHex(16);
const newSpanId = makeRandomHex(8);

export const traceIdOf = (traceparent: string): string => traceparent.slice(3, 35);

export function parseTraceparent(text: string | undefined): SpanContext | undefined {
  const match = TRACEPARENT.exec(text ?? '');
  if (!match?.[1] || !match[2] || /^0+$/.test(match[1]) || /^0+$/.test(match[2])) return undefined;
  return {
    traceId: match[1],
    spanId: match[2],
    traceFlags: Number.parseInt(match[3] ?? '0', 16),
    isRemote: true,
  };
}

const formatTraceparent = ({ traceId, spanId }: SpanContext): string => `00-${traceId}-${spanId}-01`;

/** Set once by `startTracing`; while it is false a span costs one comparison. */
let exporting = false;

export type SpanOptions = {
  /** The parent's traceparent. */
  readonly parent?: string | undefined;
  /** Another trace to point at, for example the client's. Its sampled flag is not trusted. */
  readonly linkTo?: string | undefined;
  readonly attributes?: Attributes;
  readonly kind?: SpanKind;
};

/**
 * Runs `work` inside a span and hands it the traceparent to send on.
 *
 * @example
 * await withSpan('check judged', { parent: headers.traceparent }, (traceparent) => publish({ traceparent }));
 */
export async function withSpan<T>(
  name: string,
  options: SpanOptions,
  work: (traceparent: string) => Promise<T>,
): Promise<T> {
  if (!exporting) return work(options.parent ?? newTraceparent());
  const parent = parseTraceparent(options.parent);
  const linked = parseTraceparent(options.linkTo);
  const links: Link[] = linked ? [{ context: linked }] : [];
  const base = parent ? trace.setSpanContext(ROOT_CONTEXT, parent) : ROOT_CONTEXT;
  const span = trace
    .getTracer('rolecall')
    .startSpan(
      name,
      { kind: options.kind ?? SpanKind.INTERNAL, attributes: options.attributes ?? {}, links },
      base,
    );
  try {
    return await context.with(trace.setSpan(base, span), () => work(formatTraceparent(span.spanContext())));
  } catch (error) {
    span.setStatus({ code: SpanStatusCode.ERROR });
    throw error;
  } finally {
    span.end();
  }
}

/** Starts the export of spans. The SDK is loaded only here: it costs 100 ms and 30 MB. */
export async function startTracing(service: string): Promise<AsyncDisposable> {
  const { NodeSDK } = await import('@opentelemetry/sdk-node');
  const sdk = new NodeSDK({ serviceName: `rolecall-${service}` });
  sdk.start();
  exporting = true;
  return {
    async [Symbol.asyncDispose]() {
      exporting = false;
      await sdk.shutdown();
    },
  };
}
