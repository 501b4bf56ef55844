import { isTracing, withSpan } from '#shared/telemetry/tracing.ts';
import type { RecordContext } from './consumer/record.ts';

/*
 * The producer span and the consumer span of a message, named by OpenTelemetry's conventions for
 * Kafka (https://opentelemetry.io/docs/specs/semconv/messaging/kafka/). Without tracing both only
 * call the given function.
 */

/** Processes a record inside a span that continues the trace of its header. */
export function inConsumerSpan<T>(
  at: RecordContext,
  groupId: string,
  process: (at: RecordContext) => Promise<T>,
): Promise<T> {
  if (!isTracing()) return process(at);
  const attributes = {
    'messaging.system': 'kafka',
    'messaging.operation.type': 'process',
    'messaging.destination.name': at.topic,
    'messaging.destination.partition.id': String(at.partition),
    'messaging.consumer.group.name': groupId,
    'messaging.kafka.offset': Number(at.offset),
    'messaging.kafka.message.key': at.key,
  };
  const span = { kind: 'consumer', parent: at.traceparent, attributes } as const;
  return withSpan(`process ${at.topic}`, span, (traceparent) => process({ ...at, traceparent }));
}

/** Sends a message inside a span; `send` gets the traceparent for its header. */
export function inProducerSpan(
  topic: string,
  key: string,
  parent: string,
  send: (traceparent: string) => Promise<void>,
): Promise<void> {
  if (!isTracing()) return send(parent);
  const attributes = {
    'messaging.system': 'kafka',
    'messaging.operation.type': 'send',
    'messaging.destination.name': topic,
    'messaging.kafka.message.key': key,
  };
  return withSpan(`send ${topic}`, { kind: 'producer', parent, attributes }, send);
}
