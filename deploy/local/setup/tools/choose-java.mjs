/** Kafka 4 needs Java 17. */
export const JAVA_MAJOR_MIN = 17;

/** Newest first; Debian and Ubuntu releases differ in which of them they have. */
export const JAVA_PACKAGES = [
  'openjdk-25-jre-headless',
  'openjdk-21-jre-headless',
  'openjdk-17-jre-headless',
];
/** On every release, in the version that it prefers: the installed one is checked again. */
const JAVA_PACKAGE_DEFAULT = 'default-jre-headless';

/**
 * The newest Java that apt can install.
 *
 * @param policy the output of `apt-cache policy` in English about `JAVA_PACKAGES`. `apt-cache show`
 *   is no help: it also knows packages without a candidate, which other packages merely refer to.
 */
export function chooseJavaPackage(policy) {
  const candidates = readCandidates(policy);
  return JAVA_PACKAGES.find((name) => candidates.has(name)) ?? JAVA_PACKAGE_DEFAULT;
}

/** The packages that have a candidate. */
function readCandidates(policy) {
  const found = new Set();
  let name = '';
  for (const line of policy.split('\n')) {
    const [, title] = /^(\S+):$/.exec(line) ?? [];
    if (title !== undefined) name = title.replace(/:.*/, '');
    const [, version] = /^ +Candidate: (\S.*)$/.exec(line) ?? [];
    if (version !== undefined && version !== '(none)') found.add(name);
  }
  return found;
}

/** The major version that `java -version` prints, on stderr; 0 if it prints none. Until Java 8 it
 * was `1.8`. */
export function readJavaMajor(text) {
  const [, first, second] = /version "(\d+)(?:\.(\d+))?/.exec(text) ?? [];
  return Number((first === '1' ? second : first) ?? 0);
}

/** The message if every Java that was found is too old, by the versions found. */
export function explainOldJava(majors) {
  if (majors.length === 0) return '';
  const newest = Math.max(...majors);
  return `The newest Java here is version ${newest}, Kafka needs ${JAVA_MAJOR_MIN} or later: install one and set JAVA_HOME to its directory.`;
}
