import { spawnSync } from 'node:child_process';
import { networkEnvironment } from '../network.mjs';
import { run } from '../run.mjs';

/** Runs `apt-get` by the machine's proxy and certificates, and reports its progress. */
export async function aptGet(places, args, options = {}) {
  const env = {
    ...process.env,
    ...networkEnvironment(process.env),
    DEBIAN_FRONTEND: 'noninteractive',
    LC_ALL: 'C',
  };
  await run('apt-get', [...certificateOptions(places), ...args], {
    ...options,
    env,
    progress: { what: `apt-get ${args[0]}` },
  });
}

/** The output of `apt-cache policy` about the packages, in English. */
export function aptPolicy(names) {
  const env = { ...process.env, LC_ALL: 'C', LANGUAGE: '' };
  return spawnSync('apt-cache', ['policy', ...names], { encoding: 'utf8', env }).stdout ?? '';
}

/** apt trusts one file instead of the system's certificates, so it gets both, unless it is
 * configured already. */
function certificateOptions({ certificates }) {
  if (!certificates) return [];
  const configured = spawnSync('apt-config', ['shell', 'FILE', 'Acquire::https::CAInfo'], {
    encoding: 'utf8',
  });
  return configured.stdout?.trim() ? [] : ['-o', `Acquire::https::CAInfo=${certificates.pem}`];
}
