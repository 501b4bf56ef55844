type SampleRequest = {
  readonly method: string;
  /** Without names: `filledPath`. */
  readonly path: string;
  readonly body?: unknown;
  /** The operation needs no API key. */
  readonly isPublic?: boolean;
};

export type SampleOptions = { readonly baseUrl: string; readonly apiKey: string };

/**
 * A path with the examples of its names. An id that the service gives is a name in capitals, which
 * the reader replaces.
 *
 * @example
 * filledPath('/watches/{id}/members/{member}', { id: 'members', member: 'discord:42' }); // '/watches/members/members/discord:42'
 * filledPath('/responses/{requestId}', {}); // '/responses/REQUEST_ID'
 */
export const filledPath = (path: string, examples: Readonly<Record<string, string>>): string =>
  path.replace(
    /\{([^}]+)\}/g,
    (_whole, name: string) => examples[name] ?? name.replace(/([a-z])([A-Z])/g, '$1_$2').toUpperCase(),
  );

const indent = (text: string, by: string): string => text.replaceAll('\n', `\n${by}`);

function curl({ method, path, body, isPublic }: SampleRequest, { baseUrl, apiKey }: SampleOptions): string {
  const lines = [`curl -s${method === 'GET' ? '' : ` -X ${method}`} "${baseUrl}${path}"`];
  if (!isPublic) lines.push(`-H "x-api-key: ${apiKey}"`);
  if (body !== undefined)
    lines.push("-H 'content-type: application/json'", `-d '${JSON.stringify(body, null, 2)}'`);
  return lines.join(' \\\n  ');
}

function typescript(
  { method, path, body, isPublic }: SampleRequest,
  { baseUrl, apiKey }: SampleOptions,
): string {
  const headers = [
    ...(isPublic ? [] : [`'x-api-key': '${apiKey}'`]),
    ...(body === undefined ? [] : ["'content-type': 'application/json'"]),
  ];
  const options = [
    ...(method === 'GET' ? [] : [`method: '${method}'`]),
    ...(headers.length === 0 ? [] : [`headers: { ${headers.join(', ')} }`]),
    ...(body === undefined ? [] : [`body: JSON.stringify(${indent(JSON.stringify(body, null, 2), '  ')})`]),
  ];
  const second = options.length === 0 ? '' : `, {\n  ${options.join(',\n  ')},\n}`;
  return `const response = await fetch('${baseUrl}${path}'${second});\nconsole.log(response.status, await response.text());`;
}

/** JSON as a Python literal: the names of three values differ. */
const pythonLiteral = (value: unknown): string =>
  JSON.stringify(value, null, 4).replace(
    /"(?:[^"\\]|\\.)*"|\b(true|false|null)\b/g,
    (whole, word: string | undefined) =>
      word === undefined ? whole : { true: 'True', false: 'False', null: 'None' }[word as 'true'],
  );

function python({ method, path, body, isPublic }: SampleRequest, { baseUrl, apiKey }: SampleOptions): string {
  const options = [
    ...(isPublic ? [] : [`headers={"x-api-key": "${apiKey}"}`]),
    ...(body === undefined ? [] : [`json=${indent(pythonLiteral(body), '    ')}`]),
  ];
  const rest = options.map((option) => `,\n    ${option}`).join('');
  return `import requests\n\nresponse = requests.${method.toLowerCase()}(\n    "${baseUrl}${path}"${rest},\n)\nprint(response.status_code, response.text)`;
}

export const samplesOf = (request: SampleRequest, options: SampleOptions) => [
  { name: 'curl', language: 'bash', code: curl(request, options) },
  { name: 'TypeScript', language: 'ts', code: typescript(request, options) },
  { name: 'Python', language: 'python', code: python(request, options) },
];
