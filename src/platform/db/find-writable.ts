import { setTimeout as sleep } from 'node:timers/promises';
import { Connection } from './pool.ts';
import { createServers } from './servers.ts';
import { isAboutTls, rememberTls, type Tls, tlsAttempts } from './tls.ts';

/** Connection to the writable server. `timeline` can be compared as a string: the greater one is more recent. */
export type WritableServer = { url: string; connection: Connection; timeline: string };

/** Time that a server has to accept a connection and report its role, in milliseconds. */
const answerTimeoutMs = 1_000;
/** After a writable server was found, time to wait for other servers to respond, in milliseconds. */
const othersTimeoutMs = 100;
/**
 * While a server does not respond, interval at which the other servers are queried again, in milliseconds. One of them
 * may have been promoted in the meantime.
 */
const againMs = 200;

/** The first 8 hex digits of a WAL file name are the timeline. Each promotion starts a new timeline. */
const roleSql = `
select pg_is_in_recovery() or current_setting('transaction_read_only')::boolean as read_only,
  case when pg_is_in_recovery() then '' else left(pg_walfile_name(pg_current_wal_lsn()), 8) end as timeline`;

export class ReadOnlyError extends Error {
  /** SQLSTATE code for read_only_sql_transaction. */
  readonly code = '25006';
  constructor() {
    super('the server is read-only');
  }
}

/**
 * Connects to the writable server in a list. Several servers may report that they are writable, for example an isolated
 * primary that has not noticed its isolation yet. In this case, the server on the latest timeline is chosen. The caller
 * must close the connection.
 * @throws the servers' errors; ReadOnlyError if one of them is read-only
 */
export async function findWritable(
  { all }: { all: readonly string[] },
  applicationName: string,
): Promise<WritableServer> {
  const candidates: WritableServer[] = [];
  /** Last error of each server, by server index. */
  const errors = new Map<number, Error>();
  const isOneSilent = (): boolean => candidates.length === 0 && errors.size < all.length;
  const askUntilFound = async (url: string, index: number): Promise<void> => {
    do {
      try {
        return void candidates.push(await ask(url, applicationName));
      } catch (err) {
        errors.set(index, err as Error);
      }
      if (isOneSilent()) await sleep(againMs);
    } while (isOneSilent());
  };
  const connecting = all.map(askUntilFound);
  const answered = Promise.all(connecting);
  await Promise.any([
    answered,
    firstOf(connecting, candidates).then(() => sleep(othersTimeoutMs, undefined, { ref: false })),
  ]);
  const [best, ...others] = candidates.sort((a, b) => b.timeline.localeCompare(a.timeline));
  for (const { connection } of others) connection.destroy();
  void answered.then(() => {
    for (const { connection } of candidates) if (connection !== best?.connection) connection.destroy();
  });
  if (best === undefined) {
    const answers = [...errors.values()];
    throw answers.find((err) => err instanceof ReadOnlyError) ?? answers[0];
  }
  return best;
}

/** Returns the URL of the writable server, for short-lived programs that connect immediately. */
export async function findWritableUrl(databaseUrl: string): Promise<string> {
  const { url, connection } = await findWritable(createServers(databaseUrl), 'perkwire-start');
  connection.destroy();
  return url;
}

/** Resolves when one of the promises has added a candidate. Rejects if all of them end without adding one. */
const firstOf = (connecting: readonly Promise<unknown>[], candidates: readonly unknown[]): Promise<void> =>
  Promise.any(
    connecting.map(async (connected) => {
      await connected;
      if (candidates.length === 0) throw new Error('none yet');
    }),
  );

/**
 * Connects with the first TLS mode allowed by `sslmode` that the server accepts. Later connections use the same mode.
 */
async function ask(url: string, applicationName: string): Promise<WritableServer> {
  const [first, ...others] = tlsAttempts(url);
  let attempt = askBy(url, applicationName, first);
  for (const tls of others)
    attempt = attempt.catch((err) => {
      if (isAboutTls(err)) return askBy(url, applicationName, tls);
      throw err;
    });
  return attempt;
}

async function askBy(url: string, applicationName: string, tls: Tls): Promise<WritableServer> {
  const connection = new Connection({ server: url, application_name: applicationName, keepAlive: true, tls });
  connection.on('error', () => {});
  const timer = setTimeout(() => connection.destroy(new Error('timeout: no answer')), answerTimeoutMs);
  try {
    await connection.connect();
    rememberTls(url, tls);
    const { rows } = await connection.query<{ read_only: boolean; timeline: string }>(roleSql);
    const [role] = rows;
    if (role === undefined || role.read_only) throw new ReadOnlyError();
    return { url, connection, timeline: role.timeline };
  } catch (err) {
    connection.destroy();
    throw err;
  } finally {
    clearTimeout(timer);
  }
}
