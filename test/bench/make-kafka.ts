import { Kafka, logLevel } from 'kafkajs';

/** A plain Kafka client, for operations that the project's own producer deliberately refuses. */
export const makeKafka = (brokers: string): Kafka =>
  new Kafka({ clientId: 'bench', brokers: brokers.split(','), logLevel: logLevel.NOTHING });
