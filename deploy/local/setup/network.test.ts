import { callModule } from './call-module.ts';

const networkEnvironment = (env: object) => callModule('network.mjs', 'networkEnvironment', env);
const javaNetworkOptions = (env: object, trustStore?: string) =>
  callModule('network.mjs', 'javaNetworkOptions', env, ...(trustStore === undefined ? [] : [trustStore]));

const PROXY = {
  HTTP_PROXY: 'http://proxy.example:3128',
  https_proxy: 'proxy.example:3129',
  NO_PROXY: '.example.org,10.0.0.1:80',
};

test('apt gets the proxies in the spelling that it reads', () => {
  expect(networkEnvironment(PROXY)).toEqual({
    http_proxy: 'http://proxy.example:3128',
    https_proxy: 'proxy.example:3129',
    no_proxy: '.example.org,10.0.0.1:80',
  });
  expect(networkEnvironment({})).toEqual({});
});

test('proxy and certificate settings are translated into Java properties', () => {
  expect(javaNetworkOptions(PROXY, '/cache/certificates.jks')).toEqual([
    '-Dhttp.proxyHost=proxy.example',
    '-Dhttp.proxyPort=3128',
    '-Dhttps.proxyHost=proxy.example',
    '-Dhttps.proxyPort=3129',
    '-Dhttp.nonProxyHosts=example.org|*.example.org|10.0.0.1',
    '-Daether.connector.http.useSystemProperties=true',
    '-Djavax.net.ssl.trustStore=/cache/certificates.jks',
    '-Djavax.net.ssl.trustStoreType=JKS',
  ]);
  expect(javaNetworkOptions({ HTTPS_PROXY: 'http://me:p%40ss@proxy.example:1' })).toEqual(
    expect.arrayContaining(['-Dhttps.proxyUser=me', '-Dhttps.proxyPassword=p@ss']),
  );
});

test('MAVEN_OPTS stays as it is, and an empty environment adds no option', () => {
  const said = '-Dhttps.proxyHost=mine -Djavax.net.ssl.trustStore=/mine';
  expect(javaNetworkOptions({ ...PROXY, MAVEN_OPTS: said }, '/cache/certificates.jks')).toEqual([]);
  expect(javaNetworkOptions({ MAVEN_OPTS: '-Xmx256m' })).toEqual([]);
});

test('a proxy that is not an address is named, and its password is not', () => {
  expect(() => javaNetworkOptions({ HTTPS_PROXY: 'http://me:secret@:x' })).toThrow(
    'HTTPS_PROXY must be a URL such as http://proxy.example:3128',
  );
});
