// Preloaded into evaluators: one kind of message triggers a bug in the handler. Only a programmer
// can make this mistake, no sender can: production code has no such switch.
import { REPLACED } from '../bugs.ts';
import { replaceSource } from './replace-source.ts';

replaceSource(REPLACED.handlerBug);
