// Preloaded into evaluators: after SIGHUP the process kills itself once it has saved the result of a
// sync check and before it publishes the result, unless another SIGHUP comes first.
import { REPLACED } from '../bugs.ts';
import { replaceSource } from './replace-source.ts';

let isArmed = false;
process.on('SIGHUP', () => {
  isArmed = !isArmed;
});
Object.assign(globalThis, {
  dieIfArmed: () => {
    if (isArmed) process.kill(process.pid, 'SIGKILL');
  },
});
replaceSource(REPLACED.dieAfterSave);
