// Broken on purpose: the offset is committed although the work is not done, so a crash loses what was in hand.
import { replaceSource } from '../preload/replace-source.ts';

replaceSource(
  '/shared/kafka/consumer/partition-window.ts',
  'return this.#unfinished[0]?.offset ?? this.#nextOffset;',
  'return this.#nextOffset;',
);
