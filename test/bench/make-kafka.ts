import { Kafka, logLevel } from 'kafkajs';

/** A plain client of a broker, for what the project's own producer does not do on purpose. */
export const makeKafka = (brokers: string): Kafka =>
  new Kafka({ clientId: 'bench', brokers: brokers.split(','), logLevel: logLevel.NOTHING });
