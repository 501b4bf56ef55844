// The outputs of apt were recorded on bare machines; `LC_ALL=C apt-cache policy …` after
// `apt-get update`.
import { callModule } from '../call-module.ts';

const call = (name: string, ...args: unknown[]) => callModule('tools/choose-java.mjs', name, ...args);

/** Debian 12: another package refers to Java 21, so apt knows its name and has no candidate. */
const DEBIAN_12 = `openjdk-21-jre-headless:
  Installed: (none)
  Candidate: (none)
  Version table:
openjdk-17-jre-headless:
  Installed: (none)
  Candidate: 17.0.21.1+2-1~deb12u1
  Version table:
     17.0.21.1+2-1~deb12u1 500
        500 http://deb.debian.org/debian-security bookworm-security/main amd64 Packages
     17.0.19+10-1~deb12u2 500
        500 http://deb.debian.org/debian bookworm/main amd64 Packages
`;
/** Debian 13 has two. */
const DEBIAN_13 = `openjdk-25-jre-headless:
  Installed: (none)
  Candidate: 25.0.1+8-1~deb13u1
  Version table:
     25.0.1+8-1~deb13u1 500
        500 http://deb.debian.org/debian trixie/main amd64 Packages
openjdk-21-jre-headless:
  Installed: (none)
  Candidate: 21.0.9+10-1~deb13u1
  Version table:
     21.0.9+10-1~deb13u1 500
        500 http://deb.debian.org/debian-security trixie-security/main amd64 Packages
`;
/** A machine with more than one architecture names it. */
const WITH_ARCHITECTURE = `openjdk-17-jre-headless:amd64:
  Installed: (none)
  Candidate: 17.0.9+9-1
`;

test.each([
  ['Debian 12', DEBIAN_12, 'openjdk-17-jre-headless'],
  ['Debian 13', DEBIAN_13, 'openjdk-25-jre-headless'],
  ['a machine with several architectures', WITH_ARCHITECTURE, 'openjdk-17-jre-headless'],
  [
    'a release that has none of them',
    DEBIAN_12.slice(0, DEBIAN_12.indexOf('openjdk-17')),
    'default-jre-headless',
  ],
  ['a machine without lists', '', 'default-jre-headless'],
])('on %s Java is chosen by candidate', (_, policy, chosen) => {
  expect(call('chooseJavaPackage', policy)).toBe(chosen);
});

test.each([
  ['openjdk version "17.0.15" 2025-04-15', 17],
  ['openjdk version "21" 2023-09-19', 21],
  ['java version "1.8.0_392"', 8],
  ['command not found', 0],
])('reads the major version of %s', (text, major) => {
  expect(call('readJavaMajor', text)).toBe(major);
});

test('a Java that is too old is named with the version that is needed', () => {
  expect(call('explainOldJava', [8, 11])).toBe(
    'The newest Java here is version 11, Kafka needs 17 or later: install one and set JAVA_HOME to its directory.',
  );
  expect(call('explainOldJava', [])).toBe('');
});
