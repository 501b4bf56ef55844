import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { delimiter, join } from 'node:path';
import { report } from './run.mjs';

/** How often the parent is checked, and how long the command may take to end by itself once the
 * parent is gone. */
const PARENT_POLL_MS = 250;
const ORPHAN_GRACE_MS = 500;

/** Read before set-up: npm may be killed while it runs. */
const LAUNCHED_BY = process.ppid;

const FORWARDED = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGUSR2'];

/**
 * Runs the command with the project's own Node first on the PATH, hands every signal on, and ends
 * as it ends: with the same exit code, or by the same signal.
 *
 * With `ownSession` the command runs in a session of its own: Linux shares the CPU between
 * sessions, so programs in the terminal's session take less from it. Signals go to all processes of
 * that session, as a terminal sends them.
 */
export function runCommand({ binaries, modules, cache }, [name, ...args], { ownSession }) {
  const path = [binaries, process.env.PATH].filter(Boolean).join(delimiter);
  const program = name === 'node' ? join(modules, 'node', 'bin', 'node') : name;
  // Before the command runs, which may end this process by a signal at once.
  for (const signal of FORWARDED) process.on(signal, () => send(signal));
  const child = spawn(program, args, {
    stdio: 'inherit',
    detached: ownSession,
    env: {
      // Compiled sources are kept between runs, so that every process starts sooner.
      NODE_COMPILE_CACHE: join(cache, 'node'),
      ...process.env,
      PATH: path,
      ROLECALL_LAUNCHER_PID: String(process.pid),
    },
  });
  const send = (signal) => (ownSession ? signalGroup(child.pid, signal) : child.kill(signal));
  child.on('error', (error) => {
    report(`${name} could not be started: ${error.message}`);
    process.exit(127);
  });
  child.on('exit', (code, signal) => {
    if (signal === null) process.exit(code);
    for (const forwarded of FORWARDED) process.removeAllListeners(forwarded);
    process.kill(process.pid, signal);
    // The signal ends no process: report it as a shell does.
    process.exit(128 + constants.signals[signal]);
  });
  if (process.env.npm_lifecycle_event) endWithParent(send);
}

function signalGroup(pid, signal) {
  try {
    process.kill(-pid, signal);
  } catch {
    // All of its processes have ended.
  }
}

/**
 * npm that is killed -9 cannot pass a signal on. The command must not outlive it, so a new parent
 * ends the command, gently first. The scripts of package.json start set-up by `exec`, so the parent
 * is npm itself and no shell; who started npm may end at any time, as a shell does that put it into
 * the background. Without npm nothing is watched.
 */
function endWithParent(send) {
  const poll = setInterval(() => {
    if (process.ppid === LAUNCHED_BY) return;
    clearInterval(poll);
    send('SIGTERM');
    setTimeout(() => send('SIGKILL'), ORPHAN_GRACE_MS);
  }, PARENT_POLL_MS);
  poll.unref();
}
