const POLL_MS = 250;

/**
 * Set-up starts this process and hands signals on; if it is killed -9 it cannot. Then this process
 * ends at once and leaves the rest to the watchdog, which keeps to its 5 s.
 */
export function followLauncher(launcherPid: string | undefined): void {
  if (launcherPid !== String(process.ppid)) return;
  setInterval(() => {
    if (String(process.ppid) !== launcherPid) process.exit(1);
  }, POLL_MS).unref();
}
