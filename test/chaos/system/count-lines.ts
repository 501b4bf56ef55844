import { createWriteStream } from 'node:fs';
import { createInterface } from 'node:readline';
import type { Lines } from '../../../deploy/local/processes/lines.ts';

export type CountedLines = Lines & {
  /** The starter's own lines so far. */
  readonly said: () => readonly string[];
  /** The most lines that one process printed in one second between two instants, epoch ms. */
  readonly mostPerSecond: (fromMs: number, toMs: number) => number;
};

/** Writes all output of a system to a file, and counts its lines by process and second. */
export function countLines(file: string): CountedLines {
  const output = createWriteStream(file, { flags: 'a' });
  const counts = new Map<string, Map<number, number>>();
  const count = (name: string): void => {
    const ofProcess = counts.get(name) ?? new Map<number, number>();
    counts.set(name, ofProcess);
    const second = Math.floor(Date.now() / 1_000);
    ofProcess.set(second, (ofProcess.get(second) ?? 0) + 1);
  };
  const said: string[] = [];
  return {
    said: () => said,
    say(line) {
      said.push(line);
      output.write(`starter ${line}\n`);
    },
    follow(name, ...inputs) {
      for (const input of inputs)
        if (input)
          createInterface({ input }).on('line', (line) => {
            count(name);
            output.write(`${name} ${line}\n`);
          });
    },
    mostPerSecond(fromMs, toMs) {
      const within = (second: number) => second >= Math.floor(fromMs / 1_000) && second <= toMs / 1_000;
      const all = [...counts.values()].flatMap((ofProcess) => [...ofProcess]);
      return Math.max(0, ...all.flatMap(([second, lines]) => (within(second) ? [lines] : [])));
    },
  };
}
