import { execFileSync } from 'node:child_process';
import { parseArgs } from 'node:util';

/**
 * Sends the request of a curl command. A shell splits the command and fills in the variables; fetch
 * sends it, because a new machine may have no curl.
 *
 * @throws TypeError for an option that this function does not know
 *
 * @example
 * await sendCurl(`curl -s 'https://api.example/' -H "x-api-key: $KEY" -d '{}'`, { KEY: 'rck_live_…' });
 */
export function sendCurl(command: string, variables: Readonly<Record<string, string>>): Promise<Response> {
  const args = execFileSync('sh', ['-c', `curl() { printf '%s\\0' "$@"; }; ${command}`], {
    env: { ...process.env, ...variables },
    encoding: 'utf8',
  });
  const { values, positionals } = parseArgs({
    args: args.split('\0').slice(0, -1),
    allowPositionals: true,
    options: {
      silent: { type: 'boolean', short: 's' },
      header: { type: 'string', short: 'H', multiple: true },
      data: { type: 'string', short: 'd' },
    },
  });
  const headers = (values.header ?? []).map((line) => line.split(/: (.*)/, 2) as [string, string]);
  const body = values.data;
  return fetch(positionals.join(), {
    headers,
    ...(body === undefined ? {} : { method: 'POST', body }),
  });
}
