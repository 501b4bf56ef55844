import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

// A starter is killed -9: its end of the watchdog's input closes, and that is all the watchdog
// learns.
const opened: ChildProcess[] = [];
afterEach(() => {
  for (const child of opened.splice(0)) child.kill('SIGKILL');
});

function startWatchdogProcess(): { watchdog: ChildProcess; exited: Promise<unknown[]> } {
  const child = spawn(process.execPath, [join(__dirname, 'watchdog.ts')], {
    stdio: ['pipe', 'inherit', 'inherit'],
  });
  opened.push(child);
  return { watchdog: child, exited: once(child, 'exit') };
}

/** A process that says when it is ready to ignore, or to obey, SIGTERM. */
async function startVictim(
  onTerm: 'obeys' | 'ignores',
): Promise<{ child: ChildProcess; ended: Promise<unknown[]> }> {
  // The kernel ends who obeys, also on a busy machine.
  const trap = onTerm === 'ignores' ? 'trap "" TERM;' : '';
  const child = spawn('sh', ['-c', `${trap} echo up; exec sleep 3600`], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  opened.push(child);
  const ended = once(child, 'exit');
  if (child.stdout) await once(child.stdout, 'data');
  return { child, ended };
}

test('the watched processes end with the starter, gently where that works and surely where not', async () => {
  const { watchdog, exited } = startWatchdogProcess();
  const [service, stubborn, infrastructure] = await Promise.all([
    startVictim('obeys'),
    startVictim('ignores'),
    startVictim('obeys'),
  ]);
  watchdog.stdin?.write(`+ ${service.child.pid} service\n+ ${stubborn.child.pid} service\n`);
  watchdog.stdin?.write(`+ ${infrastructure.child.pid} infrastructure\n`);
  watchdog.stdin?.destroy();
  expect(await service.ended).toEqual([null, 'SIGTERM']);
  expect(await stubborn.ended).toEqual([null, 'SIGKILL']);
  expect(await infrastructure.ended).toEqual([null, 'SIGTERM']);
  expect(await exited).toEqual([0, null]);
});

test('a process that it no longer watches is left alone', async () => {
  const { watchdog, exited } = startWatchdogProcess();
  const { child } = await startVictim('obeys');
  watchdog.stdin?.end(`+ ${child.pid} service\n- ${child.pid}\n`);
  expect(await exited).toEqual([0, null]);
  expect(child.exitCode ?? child.signalCode).toBeNull();
});

test('a terminal’s Ctrl-C does not end it before its work is done', async () => {
  const { watchdog, exited } = startWatchdogProcess();
  const { child, ended } = await startVictim('obeys');
  await untilItCatchesSignals(watchdog.pid ?? 0);
  watchdog.kill('SIGINT');
  watchdog.kill('SIGTERM');
  watchdog.stdin?.end(`+ ${child.pid} service\n`);
  expect(await ended).toEqual([null, 'SIGTERM']);
  expect(await exited).toEqual([0, null]);
});

/**
 * The kernel tells which signals a process catches, SIGHUP in bit 0 (proc(5)). Node catches the
 * other two from its beginning, to restore the terminal, so SIGHUP shows that the watchdog's own
 * code has run.
 */
async function untilItCatchesSignals(pid: number): Promise<void> {
  for (let poll = 0; poll < 4_000; poll++) {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    if (/SigCgt:\s*[0-9a-f]*[13579bdf]\n/.test(status)) return;
    await delay(25);
  }
  throw new Error('the watchdog did not come up');
}
