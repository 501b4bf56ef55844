import { registerHooks } from 'node:module';
import type { Bug } from '../bugs.ts';

/**
 * Loads one source file of the project with a part of it replaced, in this process only.
 *
 * @throws Error when the file is loaded and has no such part: an unchanged file would prove nothing
 *
 * @example
 * replaceSource({ file: 'shared/kafka/consumer/partition-window.ts', part: '?? this.#nextOffset', by: '?? 0' });
 */
export function replaceSource({ file, part, by }: Bug): void {
  registerHooks({
    load(url, context, nextLoad) {
      const loaded = nextLoad(url, context);
      if (!url.endsWith(`/${file}`)) return loaded;
      const source = String(loaded.source);
      const replaced = source.replace(part, by);
      if (replaced === source) throw new Error(`${file} has changed: there is nothing to replace`);
      return { ...loaded, source: replaced };
    },
  });
}
