import type { Toolchain } from './toolchain.ts';

/**
 * How Java is started for Kafka: one thread collects garbage and only the quick compiler runs,
 * because the broker shares a small machine with everything else. The class path is written out,
 * since the class-data archive fits one order only.
 */
export const javaFlags = ({ jars, archive }: Toolchain['kafka']): string[] => [
  ...(archive === null ? [] : [`-XX:SharedArchiveFile=${archive}`]),
  '-XX:+UseSerialGC',
  '-XX:TieredStopAtLevel=1',
  '-cp',
  jars.join(':'),
];
