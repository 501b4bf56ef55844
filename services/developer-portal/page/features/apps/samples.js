/**
 * The first check in three languages. Without a key the samples name a variable or a placeholder.
 *
 * @example
 * makeSamples({ gatewayUrl: 'http://localhost:8080', chainId: 1, account: '0x…' }).curl
 */
export function makeSamples({ gatewayUrl, apiKey, chainId, account }) {
  const key = apiKey ?? 'YOUR_API_KEY';
  const rule = { type: 'NATIVE', chainId, minToken: '1', roleId: 'funded' };
  const body = JSON.stringify({ account, rules: [rule] }, null, 2);
  return {
    curl: `curl -s ${gatewayUrl}/access-control/check-roles \\
  -H 'x-api-key: ${key}' \\
  -H 'content-type: application/json' \\
  -d '${body}'`,
    typescript: `// npm install @rolecall/client
import { Rolecall } from '@rolecall/client';

const rolecall = new Rolecall({ baseUrl: '${gatewayUrl}', apiKey: '${key}' });
const { roles, errors } = await rolecall.check({
  account: '${account}',
  rules: [{ type: 'NATIVE', chainId: ${chainId}, minToken: '1', roleId: 'funded' }],
});
console.log(roles, errors);`,
    python: `# pip install requests
import requests

answer = requests.post(
    "${gatewayUrl}/access-control/check-roles",
    headers={"x-api-key": "${key}"},
    json={
        "account": "${account}",
        "rules": [{"type": "NATIVE", "chainId": ${chainId}, "minToken": "1", "roleId": "funded"}],
    },
)
print(answer.status_code, answer.json())`,
  };
}
