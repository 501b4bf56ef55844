import { isTracing, withSpan } from '#shared/telemetry/tracing.ts';
import type { RecordAt } from './work-record.ts';

/*
 * The spans of a message's two ends, named as OpenTelemetry's conventions for Kafka have it
 * (https://opentelemetry.io/docs/specs/semconv/messaging/kafka/). Where no spans are made both only call on.
 */

/** Works a record inside a span that continues the trace of its header, and hands it on with that span. */
export function inConsumerSpan<T>(
  at: RecordAt,
  groupId: string,
  work: (at: RecordAt) => Promise<T>,
): Promise<T> {
  if (!isTracing()) return work(at);
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
  return withSpan(`process ${at.topic}`, span, (traceparent) => work({ ...at, traceparent }));
}

/** Sends a message inside a span, and hands over the traceparent that is to travel with it. */
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
