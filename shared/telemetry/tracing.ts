import {
  type Attributes,
  context,
  type DiagLogger,
  DiagLogLevel,
  diag,
  isSpanContextValid,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import type { Logger } from 'pino';
import { describeError } from '#shared/errors.ts';
import { within } from '#shared/wait-for.ts';
import { makeLogThrottle } from './log-throttle.ts';
import { formatTraceparent, newTraceparent, parseTraceparent } from './traceparent.ts';

/** How long the last spans may take to the collector when the process stops. */
const FLUSH_MS_MAX = 2_000;
/** An unreachable collector is logged once a minute. */
const LOG_INTERVAL_MS = 60_000;
const LOG_CHARS_MAX = 300;

const KINDS = {
  internal: SpanKind.INTERNAL,
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  producer: SpanKind.PRODUCER,
  consumer: SpanKind.CONSUMER,
} as const;

/** Set once by `startTracing`; while it is false a span costs one comparison. */
let exporting = false;

/** Whether spans are made: data that only a span needs is not collected otherwise. */
export const isTracing = (): boolean => exporting;

type SpanOptions = {
  readonly parent?: string | undefined;
  /** Other traces to point at, for example the client's. Their sampled flags are not trusted. */
  readonly links?: readonly (string | undefined)[];
  readonly attributes?: Attributes;
  readonly kind?: keyof typeof KINDS;
};

/** Adds attributes that are known only later; `error.type` among them marks the span as failed. */
type NoteOnSpan = (attributes: Attributes) => void;

const noteNothing: NoteOnSpan = () => undefined;

/**
 * Runs `work` inside a span and hands it the traceparent to send on.
 *
 * @example
 * await withSpan('check judged', { parent: record.traceparent }, (traceparent) => publish({ traceparent }));
 */
export async function withSpan<T>(
  name: string,
  options: SpanOptions,
  work: (traceparent: string, note: NoteOnSpan) => Promise<T>,
): Promise<T> {
  if (!exporting) return work(options.parent ?? newTraceparent(), noteNothing);
  const parent = parseTraceparent(options.parent);
  const links = (options.links ?? []).flatMap((text) => {
    const linked = parseTraceparent(text);
    return linked ? [{ context: linked }] : [];
  });
  const base = parent ? trace.setSpanContext(ROOT_CONTEXT, parent) : ROOT_CONTEXT;
  const { kind = 'internal', attributes = {} } = options;
  const span = trace.getTracer('rolecall').startSpan(name, { kind: KINDS[kind], attributes, links }, base);
  const note: NoteOnSpan = (more) => {
    span.setAttributes(more);
    if (more['error.type'] !== undefined) span.setStatus({ code: SpanStatusCode.ERROR });
  };
  try {
    const traceparent = formatTraceparent(span.spanContext());
    return await context.with(trace.setSpan(base, span), () => work(traceparent, note));
  } catch (error) {
    // The code alone: a message may hold data that only the log may show.
    note({ 'error.type': describeError(error).code });
    throw error;
  } finally {
    span.end();
  }
}

/** The trace in which this line of execution runs, for log lines; undefined if no spans are
 * made. */
export function activeTraceId(): string | undefined {
  return exporting ? trace.getSpanContext(context.active())?.traceId : undefined;
}

/**
 * Starts the export of spans to `OTEL_EXPORTER_OTLP_ENDPOINT`; the SDK reads that and its other
 * variables (`OTEL_EXPORTER_OTLP_PROTOCOL`, `OTEL_TRACES_SAMPLER`, …) itself. Spans that the
 * collector does not take are dropped beyond a bounded queue and never hold anything up.
 *
 * The SDK is loaded only here: it costs 100 ms and 30 MB.
 */
export async function startTracing(service: string, log: Logger): Promise<AsyncDisposable> {
  const { NodeSDK } = await import('@opentelemetry/sdk-node');
  const { envDetector, hostDetector, serviceInstanceIdDetector } = await import('@opentelemetry/resources');
  // Only spans: Prometheus scrapes the metrics, and logs go to stdout.
  const sdk = new NodeSDK({
    serviceName: `rolecall-${service}`,
    // Without `processDetector`, which would export the command line and the user's name.
    resourceDetectors: [serviceInstanceIdDetector, hostDetector, envDetector],
    metricReaders: [],
    logRecordProcessors: [],
  });
  diag.setLogger(makeDiagLogger(log), { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true });
  sdk.start();
  // The SDK's own variables may have switched it off.
  exporting = isSpanContextValid(trace.getTracer('rolecall').startSpan('start').spanContext());
  return {
    async [Symbol.asyncDispose]() {
      exporting = false;
      await within(
        FLUSH_MS_MAX,
        sdk.shutdown().catch(() => undefined),
      );
    },
  };
}

/** Logs the SDK's complaints, mostly about an unreachable collector. */
function makeDiagLogger(log: Logger): DiagLogger {
  const suppressedCount = makeLogThrottle(LOG_INTERVAL_MS);
  const warn = (message: string): void => {
    if (suppressedCount() === undefined) return;
    log.warn({ detail: String(message).slice(0, LOG_CHARS_MAX) }, 'spans not exported');
  };
  const ignore = (): void => undefined;
  return { error: warn, warn, info: ignore, debug: ignore, verbose: ignore };
}
