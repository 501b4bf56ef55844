// Broken on purpose: an unreadable balance counts as zero, so the role is taken away.
import { replaceSource } from '../preload/replace-source.ts';

replaceSource(
  '/services/evaluator/domain/judge-rules.ts',
  ': { least: sum, most: undefined, fault };',
  ': { least: sum, most: sum };',
);
