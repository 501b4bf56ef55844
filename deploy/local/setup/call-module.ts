import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

/**
 * Calls a function of set-up in a process of its own, as set-up itself runs: by whatever Node there
 * is, in modules that a test cannot import. Arguments and result are JSON.
 *
 * @throws Error with the message of the function's error
 *
 * @example
 * callModule('tools/choose-java.mjs', 'readJavaMajor', 'openjdk version "21"'); // 21
 */
export function callModule(file: string, name: string, ...args: readonly unknown[]): unknown {
  const script = `
    const { ${name} } = await import('${join(__dirname, file)}');
    const args = JSON.parse(process.argv[1]);
    try { console.log(JSON.stringify({ result: ${name}(...args) })); }
    catch (error) { console.log(JSON.stringify({ message: error.message })); }`;
  const { stdout, stderr } = spawnSync(
    process.execPath,
    ['--input-type=module', '-e', script, JSON.stringify(args)],
    { encoding: 'utf8' },
  );
  if (stdout === '') throw new Error(stderr);
  const { result, message } = JSON.parse(stdout) as { result?: unknown; message?: string };
  if (message !== undefined) throw new Error(message);
  return result;
}
