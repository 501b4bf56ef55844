// Prepares this machine and runs the command that follows: `node setup.mjs node deploy/local/start.ts …`.
// It runs before any package is installed, so it uses nothing but Node ≥ 20, and it writes to stderr only,
// because the command may owe its caller one line of JSON on stdout. With `--with-browser` in front of the
// command a Chromium is among what is needed: tests drive one, `npm start` does not.
import { constants } from 'node:os';
import { fetchKafka } from './setup/fetch-kafka.mjs';
import { ensureTools } from './setup/find-tools.mjs';
import { installPackages, packagesAreInstalled } from './setup/install-packages.mjs';
import { locate } from './setup/locate.mjs';
import { makeKafkaArchive } from './setup/make-kafka-archive.mjs';
import { report, stopChildren } from './setup/run.mjs';
import { runCommand } from './setup/run-command.mjs';
import { withSetupLock } from './setup/setup-lock.mjs';
import { readStamp, writeStamp } from './setup/stamp.mjs';

const places = locate();
const [first, ...rest] = process.argv.slice(2);
const browser = first === '--with-browser';
const command = browser ? rest : process.argv.slice(2);

try {
  if (!readStamp(places, { browser })) await withSetupLock(places, prepare);
} catch (error) {
  report(`cannot go on: ${error.message}`);
  process.exit(1);
}
if (command.length > 0) runCommand(places, command);

/** Tools first: what is missing is named at once, before minutes of downloading. */
async function prepare() {
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, giveUp);
  if (!readStamp(places, { browser })) {
    const tools = await ensureTools(places, { browser });
    const packages = packagesAreInstalled(places) ? undefined : installPackages(places);
    const [jars] = await Promise.all([fetchKafka(places, tools), packages]);
    const kafka = { ...jars, archive: await makeKafkaArchive(places, tools.java, jars) };
    writeStamp(places, { java: tools.java, redis: tools.redis, browser: tools.browser, kafka });
    report('this machine is ready');
  }
  for (const signal of ['SIGINT', 'SIGTERM']) process.off(signal, giveUp);
}

function giveUp(signal) {
  stopChildren();
  process.exit(128 + constants.signals[signal]);
}
