import { ConfigError } from '../config.ts';
import type { App } from '../platform/ports.ts';

/** Why an address cannot be listened on, by the code of the system, and what to change. */
const problems: Record<string, string> = {
  EADDRINUSE: 'is in use by another program: set PORT to another one',
  EADDRNOTAVAIL: 'is not an address of this machine: set HOST',
  ENOTFOUND: 'is not an address of this machine: set HOST',
  EACCES: 'may not be listened on by this user: set PORT to one above 1023',
};

/** @throws ConfigError where another address or port helps */
export async function listen(app: Pick<App, 'listen'>, { host, port }: { host: string; port: number }): Promise<void> {
  try {
    await app.listen({ host, port });
  } catch (err) {
    const problem = problems[(err as NodeJS.ErrnoException).code ?? ''];
    throw problem === undefined ? err : new ConfigError([`${host}:${port} ${problem}`]);
  }
}
