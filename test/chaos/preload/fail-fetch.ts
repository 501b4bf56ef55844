// Preloaded into a consumer: at SIGUSR2 the next fetch gets the answer of a broker to a client that
// may not read a topic (any more), which kafkajs treats as final.
import { createRequire } from 'node:module';

type Broker = { prototype: { fetch: (...args: unknown[]) => Promise<unknown> } };
type Errors = { createErrorFromCode: (code: number) => Error };

/** TOPIC_AUTHORIZATION_FAILED. Source: https://kafka.apache.org/protocol#protocol_error_codes */
const NOT_AUTHORIZED = 29;

const load = createRequire(import.meta.url);
const { prototype } = load('kafkajs/src/broker') as Broker;
const { createErrorFromCode } = load('kafkajs/src/protocol/error') as Errors;
const { fetch } = prototype;
let isArmed = false;
process.on('SIGUSR2', () => {
  isArmed = true;
});
prototype.fetch = function fetchUnlessArmed(...args) {
  if (!isArmed) return fetch.apply(this, args);
  isArmed = false;
  return Promise.reject(createErrorFromCode(NOT_AUTHORIZED));
};
