// How programs that set-up starts reach the network: by the proxy and the certificates of its
// environment, in the form that each of them understands. npm, Node and pip read the environment as
// it is.

const PROXY_VARIABLES = ['http_proxy', 'https_proxy', 'no_proxy'];

/** The first that is set, of a variable's two spellings. */
const proxyOf = (env, name) => env[name] || env[name.toUpperCase()] || '';

/** apt reads these variables in lower case only. */
export function networkEnvironment(env) {
  const set = PROXY_VARIABLES.map((name) => [name, proxyOf(env, name)]).filter(([, value]) => value !== '');
  return Object.fromEntries(set);
}

/**
 * Java reads neither the variables of a proxy nor `NODE_EXTRA_CA_CERTS`: these are its own words
 * for them. What `MAVEN_OPTS` says already stays as it is.
 *
 * @param trustStore the file that Java trusts instead of its own certificates, if there is one
 */
export function javaNetworkOptions(env, trustStore) {
  const said = env.MAVEN_OPTS ?? '';
  const proxies = ['http', 'https'].flatMap((scheme) =>
    proxyOptions(scheme, proxyOf(env, `${scheme}_proxy`)),
  );
  const noProxy = proxyOf(env, 'no_proxy');
  const exceptions = noProxy === '' ? [] : [`-Dhttp.nonProxyHosts=${nonProxyHosts(noProxy)}`];
  return [
    ...(said.includes('.proxyHost=') || proxies.length === 0
      ? []
      : [...proxies, ...exceptions, USE_PROPERTIES]),
    ...(trustStore === undefined || said.includes('javax.net.ssl.trustStore=')
      ? []
      : [`-Djavax.net.ssl.trustStore=${trustStore}`, '-Djavax.net.ssl.trustStoreType=JKS']),
  ];
}

/** Maven 3.9 and later look at the properties of a proxy only if told to. */
const USE_PROPERTIES = '-Daether.connector.http.useSystemProperties=true';

function proxyOptions(scheme, address) {
  if (address === '') return [];
  const url = URL.parse(address.includes('://') ? address : `http://${address}`);
  if (!url?.hostname)
    throw new Error(`${scheme.toUpperCase()}_PROXY must be a URL such as http://proxy.example:3128`);
  const port = url.port || (url.protocol === 'https:' ? '443' : '80');
  const login = {
    proxyUser: decodeURIComponent(url.username),
    proxyPassword: decodeURIComponent(url.password),
  };
  return [
    `-D${scheme}.proxyHost=${url.hostname}`,
    `-D${scheme}.proxyPort=${port}`,
    ...Object.entries(login).flatMap(([name, value]) =>
      value === '' ? [] : [`-D${scheme}.${name}=${value}`],
    ),
  ];
}

/** `example.com,10.0.0.1` becomes `example.com|*.example.com|10.0.0.1`; Java has no words for
 * blocks of addresses. */
const nonProxyHosts = (list) =>
  list
    .split(',')
    .map((host) =>
      host
        .trim()
        .replace(/^\*?\./, '')
        .replace(/:\d+$/, ''),
    )
    .filter(Boolean)
    .flatMap((host) => (/^[\d.:*]+$/.test(host) ? [host] : [host, `*.${host}`]))
    .join('|');
