import { type Call, exitCodes, type Run, untilStopped } from '../../command-line/command.ts';
import { counted } from '../../command-line/counted.ts';
import { hasDatabase, noDatabaseText, openDatabase } from '../../command-line/open-database.ts';
import { ConfigError } from '../../config/config-error.ts';
import { type Config, loadConfig } from '../../config.ts';
import { createPool } from '../../platform/db/pool.ts';
import { openCheckedDatabase } from '../../platform/db/startup-checks.ts';
import { existingSecrets } from '../secrets.ts';
import { checkAddress, checkDatabase, type Finding } from './doctor-checks.ts';

const signs = { good: '✓', warning: '!', bad: '✗' } as const;
/** Time to wait for a database that does not respond, in milliseconds. */
const databaseWaitMs = 3000;

/** Checks an installation without changing anything. Exits with code 1 if a problem must be fixed. */
export const doctor: Run = async (call) => {
  const { env, out } = call;
  const findings: Finding[] = [];
  const add = (finding: Finding): void => {
    findings.push(finding);
    out.data(finding);
    out.line(`${signs[finding.state]} ${finding.check}: ${finding.text}`);
    if (finding.fix !== undefined) out.line(`    ${finding.fix}`);
  };
  const isInstalled = hasDatabase(call);
  if (!isInstalled) add({ check: 'Database', state: 'bad', text: noDatabaseText(env) });
  const config = isInstalled ? readConfig(env, add) : null;
  if (config !== null) {
    add(await untilStopped(call, checkAddress(config)));
    await inspectDatabase(config, add, call);
  }
  const bad = findings.filter(({ state }) => state === 'bad').length;
  out.line(bad === 0 ? 'No problems found.' : `${counted(bad, 'problem')} found.`);
  return bad === 0 ? exitCodes.ok : exitCodes.problem;
};

function readConfig(env: Readonly<Record<string, string | undefined>>, add: (finding: Finding) => void): Config | null {
  const check = 'Configuration';
  try {
    const config = loadConfig({ ...env }, existingSecrets);
    add({ check, state: 'good', text: `valid; roles: ${config.roles.join(', ')}` });
    return config;
  } catch (err) {
    if (!(err instanceof ConfigError)) throw err;
    for (const problem of err.problems)
      add({ check, state: 'bad', text: problem, fix: 'Correct the variable. See .env.example.' });
    return null;
  }
}

async function inspectDatabase(config: Config, add: (finding: Finding) => void, call: Call): Promise<void> {
  const { signal } = call;
  const check = 'Database';
  let database: { url: string; stop: () => Promise<unknown> };
  try {
    database =
      config.databaseUrl === null
        ? await openDatabase(call)
        : {
            url: await untilStopped(call, openCheckedDatabase(config.databaseUrl, databaseWaitMs)),
            stop: async () => {},
          };
  } catch (err) {
    signal.throwIfAborted();
    add({ check, state: 'bad', text: (err as Error).message });
    return;
  }
  const pool = createPool({
    url: database.url,
    size: 2,
    applicationName: 'perkwire-doctor',
    onError: () => {},
    signal,
  });
  try {
    for await (const finding of checkDatabase(pool, config)) add(finding);
  } catch (err) {
    signal.throwIfAborted();
    add({ check, state: 'bad', text: (err as Error).message });
  } finally {
    await pool.end();
    await database.stop();
  }
}
