import { type DestinationStream, type Logger, pino, stdTimeFunctions } from 'pino';
import { activeTraceId } from './tracing.ts';

export type { Logger };

/**
 * The logger of a process: one JSON line an event, a constant message, facts in fields.
 *
 * Fields are an allow-list by habit (`requestId`, `code`, counts); the paths below are the net
 * beneath it.
 */
export function makeLogger(service: string, level: string, destination?: DestinationStream): Logger {
  const options = {
    base: { service, pid: process.pid },
    level,
    timestamp: stdTimeFunctions.isoTime,
    // A line that names its trace itself keeps that one.
    mixin: () => {
      const traceId = activeTraceId();
      return traceId === undefined ? {} : { traceId };
    },
    formatters: { level: (label: string) => ({ level: label }) },
    redact: {
      paths: [
        'apiKey',
        'secret',
        'password',
        'url',
        'headers',
        '*.apiKey',
        '*.secret',
        '*.password',
        '*.url',
      ],
      censor: '[redacted]',
    },
  };
  return destination ? pino(options, destination) : pino(options);
}

/** A logger that says nothing, for tests. */
export const makeSilentLogger = (): Logger => pino({ level: 'silent' });
