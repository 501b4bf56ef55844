import { registerHooks } from 'node:module';

/**
 * Loads one source file of the project with a part of it replaced, in this process only.
 *
 * @throws Error when the file is loaded and has no such part: an unchanged file would prove nothing
 *
 * @example
 * replaceSource('/shared/kafka/consumer/partition-window.ts', '?? this.#nextOffset', '?? 0');
 */
export function replaceSource(path: string, part: string | RegExp, by: string): void {
  registerHooks({
    load(url, context, nextLoad) {
      const loaded = nextLoad(url, context);
      if (!url.endsWith(path)) return loaded;
      const source = String(loaded.source);
      const replaced = source.replace(part, by);
      if (replaced === source) throw new Error(`${path} has changed: there is nothing to replace`);
      return { ...loaded, source: replaced };
    },
  });
}
