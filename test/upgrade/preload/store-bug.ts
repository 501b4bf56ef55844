// Loaded into the result-store of the earlier version before its own code: it cannot store results that name a role
// `store-bug`, so it dead-letters them. A version without the bug must be able to store them from there.
import { replaceSource } from '../../chaos/preload/replace-source.ts';

replaceSource(
  '/services/result-store/project/handle-result.ts',
  /async function handleResult\(message\) \{/,
  `$& if (message.resultJson.includes('store-bug')) throw new TypeError('a bug, made by a test');`,
);
