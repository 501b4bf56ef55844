// Broken on purpose: what could not be read counts as nothing, so the role is taken away.
import { replaceSource } from '../preload/replace-source.ts';

replaceSource(
  '/services/evaluator/domain/judge-rules.ts',
  ': { least: sum, most: undefined, fault };',
  ': { least: sum, most: sum };',
);
