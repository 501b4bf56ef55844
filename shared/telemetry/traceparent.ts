import { type SpanContext, TraceFlags } from '@opentelemetry/api';
import { makeRandomHex } from '#shared/random-pool.ts';

/*
 * `<version>-<trace id>-<span id>-<flags>`, W3C Trace Context
 * (https://www.w3.org/TR/trace-context/#traceparent-header). Of a later version the first four
 * parts are read, as section 3.2.4 of it asks; version ff is forbidden.
 */
const TRACEPARENT =
  /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const LENGTH_MAX = 128;

/** The trace and span of a `traceparent` header; nothing if it is malformed. */
export function parseTraceparent(text: string | undefined): SpanContext | undefined {
  if (text === undefined || text.length > LENGTH_MAX) return undefined;
  const [, version, traceId, spanId, flags, more] = TRACEPARENT.exec(text) ?? [];
  if (!traceId || !spanId || !flags || (version === '00' && more !== undefined)) return undefined;
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & TraceFlags.SAMPLED, isRemote: true };
}

/** The header in version 00, which parsers of every later version accept. */
export const formatTraceparent = ({ traceId, spanId, traceFlags }: SpanContext): string =>
  `00-${traceId}-${spanId}-${(traceFlags & TraceFlags.SAMPLED) !== 0 ? '01' : '00'}`;

const newTraceId = makeRandomHex(16);
const newSpanId = makeRandomHex(8);

/**
 * Makes a new trace. Every check has one, whether spans are exported or not, so that logs and
 * problem documents of all processes can name it. It is not marked as sampled: its first span was
 * not recorded.
 */
export const newTraceparent = (): string => `00-${newTraceId()}-${newSpanId()}-00`;

/** The trace that a record carries, or a new one if it is missing or invalid. */
export const adoptTraceparent = (text: string | undefined): string => {
  const parsed = parseTraceparent(text);
  return parsed ? formatTraceparent(parsed) : newTraceparent();
};

export const traceIdOf = (traceparent: string): string => traceparent.slice(3, 35);
