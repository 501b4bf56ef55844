import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { styleText } from 'node:util';
import { prettyFactory } from 'pino-pretty';

/** How much output may wait for a slow reader. Beyond it lines are dropped, and their number is
 * printed. */
const PENDING_BYTES_MAX = 1024 * 1024;

const PREFIX_COLOURS = ['cyan', 'green', 'magenta', 'yellow', 'blue'] as const;

export type Lines = {
  /** A line of the starter's own. */
  say(line: string): void;
  /** Shows everything that a process prints, under its name. */
  follow(name: string, ...outputs: readonly (Readable | null)[]): void;
};

type LinesOptions = {
  readonly output: Writable;
  readonly colour: boolean;
  /** Names are padded to this width, so that the lines are aligned. */
  readonly nameChars: number;
};

/** Whether colours are wanted: on a terminal, unless `NO_COLOR` is set and not empty
 * (https://no-color.org). */
export const wantsColour = (
  output: { readonly isTTY?: boolean },
  env: Readonly<Record<string, string | undefined>>,
): boolean => output.isTTY === true && !env['NO_COLOR'];

/**
 * Writes the output for people: the starter's own lines, and those of the services under their
 * names, with the JSON of their logger turned into words.
 *
 * @example
 * const lines = makeLines({ output: process.stdout, colour: true, nameChars: 18 });
 * lines.follow('gateway', child.stdout, child.stderr);
 */
export function makeLines({ output, colour, nameChars }: LinesOptions): Lines {
  let dropped = 0;
  const write = (line: string): void => {
    if (output.writableLength > PENDING_BYTES_MAX) {
      dropped++;
      return;
    }
    if (dropped > 0) output.write(`(${dropped} lines were dropped: the reader is too slow)\n`);
    dropped = 0;
    output.write(`${line}\n`);
  };
  const paint = (style: (typeof PREFIX_COLOURS)[number] | 'bold', text: string): string =>
    colour ? styleText(style, text, { validateStream: false }) : text;
  const format = makeLineFormat(colour);
  const colours = new Map<string, (typeof PREFIX_COLOURS)[number]>();

  return {
    say: (line) => write(`${paint('bold', 'rolecall'.padEnd(nameChars))} ${line}`),
    follow(name, ...outputs) {
      const style = colours.get(name) ?? PREFIX_COLOURS[colours.size % PREFIX_COLOURS.length] ?? 'cyan';
      colours.set(name, style);
      const prefix = paint(style, name.padEnd(nameChars));
      for (const input of outputs)
        if (input) createInterface({ input }).on('line', (line) => write(`${prefix} ${format(line)}`));
    },
  };
}

/** A line of JSON as time, level, message and fields; any other line as it is. */
export function makeLineFormat(colour: boolean): (line: string) => string {
  const pretty = prettyFactory({
    colorize: colour,
    translateTime: 'HH:MM:ss.l',
    ignore: 'pid,hostname,service',
    singleLine: true,
    // A field named `error` is a field like any other, on the same line.
    errorLikeObjectKeys: [],
  });
  return (line) => (line.startsWith('{') ? pretty(line).trimEnd() : line);
}
