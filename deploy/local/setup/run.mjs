import { spawn } from 'node:child_process';

/** Of what a failed command printed, this much of the end is repeated in the error. */
const TAIL_CHARS_MAX = 2_000;

const children = new Set();

export function report(line) {
  process.stderr.write(`setup: ${line}\n`);
}

/** Ends the commands that are under way; called when set-up itself is told to stop. */
export function stopChildren() {
  for (const child of children) child.kill('SIGTERM');
}

/**
 * Runs a command to its end. What it prints is kept back and shown only if it fails, so that a set-up that
 * works stays readable.
 */
export function run(command, args, options = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
    children.add(child);
    let tail = '';
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
      else reject(new Error(`${command} ${args[0]} ended with ${signal ?? `code ${code}`}:\n${tail.trim()}`));
    });
  });
}
