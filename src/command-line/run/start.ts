import { exitCodes, type Run } from '../command.ts';

/** The module is the server: it runs until a signal, and ends the process itself. */
export const start: Run = async () => {
  await import('../../server.ts');
  return exitCodes.ok;
};
