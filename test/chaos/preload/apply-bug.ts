import type { Bug } from '../bugs.ts';
import { replaceSource } from './replace-source.ts';

// Preloaded into a service by a broken variant: loads one file of it with the bug of `CHAOS_BUG`.

replaceSource(JSON.parse(process.env['CHAOS_BUG'] ?? '') as Bug);
