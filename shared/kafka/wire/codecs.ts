import { createRequire } from 'node:module';
import { promisify } from 'node:util';
import { zstdCompress, zstdDecompress } from 'node:zlib';
import type { KafkaJSNonRetriableError } from 'kafkajs';

type Codec = {
  readonly compress: (encoder: { readonly buffer: Buffer }) => Promise<Buffer>;
  readonly decompress: (bytes: Buffer) => Promise<Buffer>;
};

/** The values of a topic's `compression.type` whose records can be read. */
export const READABLE_COMPRESSIONS: ReadonlySet<string> = new Set([
  'producer',
  'uncompressed',
  'gzip',
  'zstd',
]);

/** The numbers of the codecs in the attributes of a record batch; kafkajs itself knows gzip. */
const GZIP = 1;
const ZSTD = 4;
/** Three bits of the attributes. */
const CODECS = [1, 2, 3, 4, 5, 6, 7];
const NAMES: Readonly<Record<number, string>> = { 2: 'snappy', 3: 'lz4' };

const load = createRequire(import.meta.url);
const { KafkaJSNotImplemented } = load('kafkajs/src/errors') as {
  readonly KafkaJSNotImplemented: typeof KafkaJSNonRetriableError;
};

const [compress, decompress] = [promisify(zstdCompress), promisify(zstdDecompress)];
const zstd: Codec = { compress: ({ buffer }) => compress(buffer), decompress: (bytes) => decompress(bytes) };

/**
 * Has kafkajs decode zstd as well. With any other codec the consumer ends its process: the records
 * cannot be skipped, because they may be accepted checks.
 */
export function addCodecs(): void {
  const { Codecs } = load('kafkajs/src/protocol/message/compression') as {
    readonly Codecs: Record<number, () => Codec>;
  };
  for (const number of CODECS.filter((each) => each !== GZIP)) Codecs[number] = () => refuse(number);
  Codecs[ZSTD] = () => zstd;
}

function refuse(number: number): never {
  const name = NAMES[number] ?? `codec ${number}`;
  throw new KafkaJSNotImplemented(
    `the records are compressed by ${name}, which cannot be read: set compression.type of the topic to producer, gzip or zstd`,
  );
}

/**
 * Names the topic and the partition in the error of records that cannot be read. Its class tells
 * kafkajs not to fetch them again.
 */
export function locateUnreadable(error: unknown, topic: string, partition: number): unknown {
  if (!(error instanceof KafkaJSNotImplemented)) return error;
  return new KafkaJSNotImplemented(`${topic}, partition ${partition}: ${error.message}`);
}
