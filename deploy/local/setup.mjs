// Prepares this machine and runs the command that follows:
// `node setup.mjs node deploy/local/start.ts …`. It runs before any package is installed, so it
// uses nothing but Node ≥ 20, and it writes to stderr only, because the command may owe its caller
// one line of JSON on stdout. With `--with-browser` in front of the command a Chromium is among the
// needed tools, with `--with-packages` a Prometheus, an nginx and a Caddy: tests use them, `npm start`
// does not.
// `--own-session` runs the command in a session of its own.
import { constants } from 'node:os';
import { report, stopChildren } from './setup/run.mjs';
import { runCommand } from './setup/run-command.mjs';
import { withSetupLock } from './setup/setup-lock.mjs';
import { readStamp, writeStamp } from './setup/stamp.mjs';
import { fetchKafka } from './setup/tools/fetch-kafka.mjs';
import { ensureTools } from './setup/tools/find-tools.mjs';
import { installPackages, packagesAreInstalled } from './setup/tools/install-packages.mjs';
import { locate } from './setup/tools/locate.mjs';
import { makeKafkaArchive } from './setup/tools/make-kafka-archive.mjs';
import { findPackage, PACKAGE_NAMES, unpackPackage } from './setup/tools/unpack-package.mjs';
import { writeCertificates } from './setup/trust-certificates.mjs';

const places = locate();
const words = process.argv.slice(2);
const wishes = new Set();
while (/^--(with-|own-session$)/.test(words[0])) wishes.add(words.shift());
const wanted = { browser: wishes.has('--with-browser'), packages: wishes.has('--with-packages') };
const command = words;

try {
  if (!readStamp(places, wanted)) await withSetupLock(places, prepare);
} catch (error) {
  report(`set-up failed: ${error.message}`);
  process.exit(1);
}
if (command.length > 0) runCommand(places, command, { ownSession: wishes.has('--own-session') });

/** Tools first: missing ones are named at once, before minutes of downloading. */
async function prepare() {
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, giveUp);
  if (!readStamp(places, wanted)) {
    places.certificates = writeCertificates(places.cache);
    const tools = await ensureTools(places, wanted);
    const packages = packagesAreInstalled(places) ? undefined : installPackages(places);
    const [jars] = await Promise.all([fetchKafka(places, tools), packages]);
    const kafka = { ...jars, archive: await makeKafkaArchive(places, tools.java, jars) };
    const unpacked = {};
    for (const name of PACKAGE_NAMES)
      unpacked[name] = await (wanted.packages ? unpackPackage : findPackage)(places, name);
    const { java, redis, browser } = tools;
    writeStamp(places, { java, redis, browser, ...unpacked, kafka });
    report('this machine is ready');
  }
  for (const signal of ['SIGINT', 'SIGTERM']) process.off(signal, giveUp);
}

function giveUp(signal) {
  stopChildren();
  process.exit(128 + constants.signals[signal]);
}
