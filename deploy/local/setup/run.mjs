import { spawn } from 'node:child_process';

/** How much of the end of a failed command's output is repeated in the error. */
const TAIL_CHARS_MAX = 2_000;
/** How often a long command reports its progress, and how much of its last line is shown. */
const PROGRESS_MS = 5_000;
const LINE_CHARS_MAX = 100;

const children = new Set();

export function report(line) {
  process.stderr.write(`setup: ${line}\n`);
}

/** Ends the commands that are under way; called when set-up itself is asked to stop. */
export function stopChildren() {
  for (const child of children) child.kill('SIGTERM');
}

/**
 * Runs a command to its end. Its output is kept back and shown only if it fails, so that a set-up
 * that works stays readable. A long command reports its progress every 5 s.
 *
 * @param options.progress `what` is under way, and how far it is: by default the last line that it
 *   printed
 */
export function run(command, args, { progress, ...options } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
    children.add(child);
    let tail = '';
    if (progress) reportProgress(child, progress, () => lastLineOf(tail));
    const keep = (chunk) => {
      tail = (tail + chunk).slice(-TAIL_CHARS_MAX);
    };
    child.stdout.on('data', keep);
    child.stderr.on('data', keep);
    child.on('error', (error) => {
      children.delete(child);
      reject(new Error(`${command} could not be started: ${error.message}`));
    });
    child.on('close', (code, signal) => {
      children.delete(child);
      if (code === 0) resolve();
      else
        reject(
          new Error(
            `${progress?.what ?? `${command} ${args[0]}`} ended with ${signal ?? `code ${code}`}:\n${tail.trim()}`,
          ),
        );
    });
  });
}

function reportProgress(child, { what, howFar, intervalMs = PROGRESS_MS }, lastLine) {
  const began = performance.now();
  const timer = setInterval(() => {
    const seconds = Math.round((performance.now() - began) / 1000);
    const state = (howFar ?? lastLine)();
    report(`${what}: ${seconds} s${state === '' ? '' : `, ${state}`}`);
  }, intervalMs);
  child.once('close', () => clearInterval(timer));
  child.once('error', () => clearInterval(timer));
}

const lastLineOf = (text) =>
  (
    text
      .trim()
      .split(/[\r\n]+/)
      .pop() ?? ''
  ).slice(0, LINE_CHARS_MAX);
