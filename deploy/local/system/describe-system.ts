import { type DemoSystem, demoCheck } from '../demo/demo.ts';
import type { ReadyLine } from './ready-line.ts';

/** The next steps of a person: the addresses, the key, and a command to paste for each mode. */
export function describeSystem(system: ReadyLine): string[] {
  const { gateways, kafka, redis, chain, app, portal, operator } = system;
  return [
    '',
    `API           ${gateways.join(', ')}`,
    `its reference ${gateways[0]}/docs (OpenAPI: ${gateways[0]}/openapi.json)`,
    `API key       ${app.apiKey}`,
    `webhooks      are signed with ${app.webhookSecret}`,
    `portal        ${portal}: sign in as ${operator.email} with ${operator.password}`,
    ...(chain === null
      ? []
      : [`demo chain    ${chain.rpc} (chain id ${chain.chainId}), which begins anew at each start`]),
    `Kafka, Redis  ${kafka}, ${redis}`,
    ...(chain === null ? [] : describeModes({ ...system, chain })),
    '',
    'Ctrl-C stops everything.',
  ];
}

function describeModes(system: DemoSystem): string[] {
  const check = demoCheck(system);
  const { rules } = check;
  const short = { ...check, rules: rules.slice(0, 1) };
  const url = `${system.gateways[0]}/access-control/check-roles`;
  const key = `-H 'x-api-key: ${system.app.apiKey}'`;
  const post = (body: unknown): string =>
    `curl -s ${url} ${key} -H 'content-type: application/json' -d '${JSON.stringify(body)}'`;
  return [
    '',
    'answered at once:',
    `  ${post(short)}`,
    'answered later, fetched with the requestId:',
    `  ${post({ ...short, async: true })}`,
    `  curl -s ${url}/responses/REQUEST_ID ${key} -H 'prefer: wait=10'`,
    'answered later, posted to a receiver of yours:',
    `  ${post({ ...short, callbackUrl: 'http://127.0.0.1:9000/webhook' })}`,
  ];
}
