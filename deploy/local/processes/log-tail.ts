import { closeSync, fstatSync, openSync, readSync } from 'node:fs';

const TAIL_BYTES_MAX = 2_048;

/** The last lines of a log file, for an error; empty if there is none. */
export function logTail(file: string): string {
  let fd: number | undefined;
  try {
    fd = openSync(file, 'r');
    const { size } = fstatSync(fd);
    const bytes = Math.min(size, TAIL_BYTES_MAX);
    const buffer = Buffer.alloc(bytes);
    readSync(fd, buffer, 0, bytes, size - bytes);
    const text = buffer.toString('utf8');
    // The first line is cut off somewhere in its middle.
    return bytes < size ? text.slice(text.indexOf('\n') + 1) : text;
  } catch {
    return '';
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}
